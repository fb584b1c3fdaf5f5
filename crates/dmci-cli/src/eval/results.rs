//! What was found for the rows of a table, as text and as JSON.

use super::{Prepared, number_names};
use crate::args::Eval;
use crate::options;
use dmci::{Batch, Datum, Model, ModelOptions, Names, Program, Report, RunOptions, Want};
use dmci_fit::Table;
use serde_json::{Value as Json, json};
use std::fmt::Write;

/// What was found for rows, in their order in the table.
#[derive(Default)]
pub struct Results {
    pub values: Vec<f64>,
    gradients: Vec<f64>,
    numbers: Vec<String>,
    outputs: usize,
    pub failures: Vec<(usize, Report)>,
    /// What each row printed, if that is wanted.
    printed: Vec<String>,
    /// What is worth knowing about the program.
    pub warnings: Report,
}

impl Results {
    /// Evaluates rows; the others keep what they have.
    pub fn add(
        &mut self,
        args: &Eval,
        program: &Program,
        names: &Names,
        table: &Table,
        run: RunOptions,
        rows: &[usize],
    ) -> Result<(), Report> {
        let Prepared { run, params, inputs, columns, point } =
            Prepared::new(names, table, run, args.wrt.as_deref(), rows)?;
        let input_names: Vec<&str> = inputs.iter().map(String::as_str).collect();
        self.numbers = params.iter().flat_map(|(name, datum)| number_names(name, datum)).collect();
        self.outputs = 1;
        let options = ModelOptions { output: args.output, ..options::model_options(run, &args.switches) };
        let model = Model::with_params(program.clone(), params, &input_names, options);
        let mut batch = Batch::default();
        point.evaluate(&model, &columns, if args.grad { Want::Gradients } else { Want::Values }, &mut batch)?;
        self.take(&batch, rows, table.rows, args.output);
        // Groups run the same program: what is worth knowing about it is said once.
        self.warnings = model.warnings();
        Ok(())
    }

    fn take(&mut self, batch: &Batch, rows: &[usize], all: usize, output: bool) {
        let n = self.numbers.len();
        self.values.resize(all, f64::NAN);
        for (i, &row) in rows.iter().enumerate() {
            self.values[row] = batch.values[i];
            if output {
                self.printed.resize(all, String::new());
                self.printed[row] = batch.output(i).to_string();
            }
            if !batch.gradients.is_empty() {
                self.gradients.resize(all * n, f64::NAN);
                self.gradients[row * n..(row + 1) * n].copy_from_slice(&batch.gradients[i * n..(i + 1) * n]);
            }
        }
        self.failures.extend(batch.failures.iter().map(|(i, failure)| (rows[*i], failure.clone())));
    }

    /// The results as a table of text.
    pub fn text(&self, gradients: bool) -> String {
        let mut text = String::from("value");
        if gradients {
            self.numbers.iter().for_each(|name| text += &format!(",d/d{name}"));
        }
        text.push_str(if self.printed.is_empty() { "\n" } else { ",output\n" });
        let n = self.numbers.len();
        for (row, value) in self.values.iter().enumerate() {
            let _ = write!(text, "{}", field(*value));
            if gradients {
                for d in &self.gradients[row * n..(row + 1) * n] {
                    let _ = write!(text, ",{}", field(*d));
                }
            }
            if let Some(printed) = self.printed.get(row) {
                let _ = write!(text, ",\"{}\"", printed.replace('"', "\"\""));
            }
            text.push('\n');
        }
        text
    }

    /// The results as one object. A row that fails, or was not evaluated, has null.
    pub fn to_json(&self, gradients: bool, missing: &[usize]) -> Json {
        let mut nothing = vec![false; self.values.len()];
        missing.iter().copied().chain(self.failures.iter().map(|f| f.0)).for_each(|row| nothing[row] = true);
        let number = |row: usize, x: f64| if nothing[row] { Json::Null } else { Datum::Real(x).to_json() };
        let list: Vec<Json> = self.values.iter().enumerate().map(|(row, x)| number(row, *x)).collect();
        let mut object = json!({"values": list});
        if gradients {
            let n = self.numbers.len();
            let column =
                |i: usize| (0..self.values.len()).map(|row| number(row, self.gradients[row * n + i])).collect();
            let columns = self.numbers.iter().enumerate().map(|(i, name)| (name.clone(), column(i)));
            object["gradients"] = Json::Object(columns.collect());
        }
        if !self.printed.is_empty() {
            object["outputs"] = json!(self.printed);
        }
        let failure = |(row, report): &(usize, Report)| json!({"row": row + 1, "error": report.to_json()});
        object["failures"] = self.failures.iter().map(failure).collect();
        if !self.warnings.diagnostics.is_empty() {
            object["warnings"] = self.warnings.to_json();
        }
        object
    }
}

/// A number as a field of a table.
pub fn field(x: f64) -> String {
    if x.is_nan() { "nan".into() } else { format!("{x:?}") }
}
