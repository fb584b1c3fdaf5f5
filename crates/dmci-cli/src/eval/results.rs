//! What was found for the rows of a table, as text and as JSON.

use crate::args::Eval;
use crate::options;
use crate::output;
use dmci::{Batch, Datum, Model, ModelOptions, Names, Program, Report, RunOptions, Want};
use dmci_fit::{Prepared, Table, number_names};
use serde_json::{Value as Json, json};
use std::fmt::Write;

/// What was found for rows, in their order in the table.
#[derive(Default)]
pub struct Results {
    pub values: Vec<f64>,
    gradients: Vec<f64>,
    numbers: Vec<String>,
    /// The names of what the program gives for a row; empty if that is one number.
    targets: Vec<String>,
    pub failures: Vec<(usize, Report)>,
    /// Rows without a value because the run was stopped; one of them is among the failures.
    pub cut: Vec<usize>,
    /// What each row printed, if that is wanted.
    printed: Vec<String>,
    /// What is worth knowing about the program.
    pub warnings: Report,
}

impl Results {
    /// Nothing yet, for a program that gives a number for each of these; for none of them, one number.
    pub fn of(targets: Vec<String>) -> Results {
        Results { targets, ..Results::default() }
    }

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
            Prepared::new(names, table, run, options::wrt(args.wrt.as_deref()).as_deref(), rows)?;
        let input_names: Vec<&str> = inputs.iter().map(String::as_str).collect();
        self.numbers = params.iter().flat_map(|(name, datum)| number_names(name, datum)).collect();
        let outputs = self.outputs();
        let options = ModelOptions { output: args.output, outputs, ..options::model_options(run, &args.switches) };
        let model = Model::with_params(program.clone(), params, &input_names, options);
        let mut batch = Batch::default();
        point.evaluate(&model, &columns, if args.grad { Want::Gradients } else { Want::Values }, &mut batch)?;
        self.take(&batch, rows, table.rows, args.output);
        // Groups run the same program: what is worth knowing about it is said once.
        self.warnings = model.warnings();
        Ok(())
    }

    /// How many numbers a row has.
    fn outputs(&self) -> usize {
        self.targets.len().max(1)
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.values.len() / self.outputs()
    }

    fn take(&mut self, batch: &Batch, rows: &[usize], all: usize, output: bool) {
        let m = self.outputs();
        let n = self.numbers.len() * m;
        self.values.resize(all * m, f64::NAN);
        for (i, &row) in rows.iter().enumerate() {
            self.values[row * m..(row + 1) * m].copy_from_slice(&batch.values[i * m..(i + 1) * m]);
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
        self.cut.extend(batch.cut.iter().map(|&i| rows[i]));
    }

    /// The results as a table of text.
    pub fn text(&self, gradients: bool) -> String {
        let mut heads = self.targets.clone();
        if heads.is_empty() {
            heads.push("value".into());
        }
        if gradients {
            let by = |of: &str| self.numbers.iter().map(|name| format!("d{of}/d{name}")).collect::<Vec<_>>();
            match self.targets.is_empty() {
                true => heads.extend(by("")),
                false => self.targets.iter().for_each(|target| heads.extend(by(target))),
            }
        }
        if !self.printed.is_empty() {
            heads.push("output".into());
        }
        let mut text = heads.join(",") + "\n";
        let n = self.numbers.len() * self.outputs();
        for (row, values) in self.values.chunks(self.outputs()).enumerate() {
            text += &values.iter().map(|value| field(*value)).collect::<Vec<_>>().join(",");
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
        let mut nothing = vec![false; self.rows()];
        let without = missing.iter().chain(&self.cut).copied();
        without.chain(self.failures.iter().map(|f| f.0)).for_each(|row| nothing[row] = true);
        let number = |row: usize, x: f64| if nothing[row] { Json::Null } else { Datum::Real(x).to_json() };
        let (m, n) = (self.outputs(), self.numbers.len());
        let values = |of: usize| (0..self.rows()).map(|row| number(row, self.values[row * m + of])).collect();
        let by = |of: usize, i: usize| {
            (0..self.rows()).map(|row| number(row, self.gradients[(row * m + of) * n + i])).collect()
        };
        let gradient = |of: usize| {
            let columns = self.numbers.iter().enumerate().map(|(i, name)| (name.clone(), by(of, i)));
            Json::Object(columns.collect())
        };
        // By target, if there are several.
        let all = |each: &dyn Fn(usize) -> Json| match self.targets.is_empty() {
            true => each(0),
            false => Json::Object(self.targets.iter().enumerate().map(|(i, name)| (name.clone(), each(i))).collect()),
        };
        let mut object = json!({"values": all(&values)});
        if gradients {
            object["gradients"] = all(&gradient);
        }
        if !self.printed.is_empty() {
            object["outputs"] = json!(self.printed);
        }
        let failure = |(row, report): &(usize, Report)| json!({"row": row + 1, "error": output::to_json(report)});
        object["failures"] = self.failures.iter().map(failure).collect();
        if !self.warnings.diagnostics.is_empty() {
            object["warnings"] = output::to_json(&self.warnings);
        }
        object
    }
}

/// A number as a field of a table.
pub fn field(x: f64) -> String {
    if x.is_nan() { "nan".into() } else { format!("{x:?}") }
}
