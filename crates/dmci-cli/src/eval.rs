//! `dmci eval`: a program for every row of a table.

use crate::args::{Eval, ProgramArgs, RunArgs};
use crate::source::Source;
use crate::{files, options, output};
use dmci::{Batch, Column, Datum, Diagnostic, Interpreter, Model, ModelOptions, Program, Report, RunOptions, Want};
use std::fmt::Write;
use std::path::Path;

/// Failed rows that are shown in full.
const SHOWN: usize = 5;

/// Evaluates all rows.
pub fn eval(args: &Eval) -> u8 {
    match evaluate(args) {
        Ok(failed) => (failed > 0) as u8,
        Err(report) => output::fail(&report, false),
    }
}

/// A program with a table: what the names of both are bound to.
pub struct Prepared {
    /// The program.
    pub program: Program,
    /// How it is run; parameters are not bound.
    pub run: RunOptions,
    /// Parameters with their values.
    pub params: Vec<(String, f64)>,
    /// The columns that the program mentions.
    pub inputs: Vec<String>,
    /// Their values.
    pub columns: Vec<Column>,
}

impl Prepared {
    /// Reads a program and a table. Parameters are those of `wrt`, or of the schema, or the reals that are set.
    pub fn new(source: &ProgramArgs, options: &RunArgs, wrt: Option<&str>, data: &Path) -> Result<Prepared, Report> {
        let mut run = options::run_options(options)?;
        let program = Source::of(source.file.as_deref(), source.expression.as_deref())?.program();
        let names = Interpreter::shared().names(&program)?;
        let table = files::read_table(data)?;
        let mut params: Vec<(String, f64)> = Vec::new();
        let wanted: Vec<String> = match wrt {
            Some(list) => list.split(',').map(|n| n.trim().to_string()).collect(),
            None if names.schema.parameters.is_empty() => {
                let reals = run.bindings.iter().filter(|(_, datum)| matches!(datum, Datum::Real(_)));
                reals.map(|(name, _)| name.clone()).collect()
            }
            None => names.schema.parameters.iter().map(|p| p.name.clone()).collect(),
        };
        for name in wanted {
            let given = run.bindings.iter().position(|(n, _)| *n == name).map(|i| run.bindings.remove(i).1);
            let value = match given {
                Some(datum) => datum.as_f64(),
                None => names.schema.find(&name).map(|p| p.init),
            };
            let Some(value) = value else {
                let error = Diagnostic::error("E0701", format!("{name} has no number to differentiate at"));
                return Err(Report::of(*error.help(format!("give it one with --set {name}=..."))));
            };
            params.push((name, value));
        }
        let used = table.columns.into_iter().filter(|c| names.mentioned.contains(&c.name));
        let (inputs, columns): (Vec<String>, Vec<Column>) = used.map(|c| (c.name, c.values)).unzip();
        if inputs.is_empty() {
            let error = Diagnostic::error("E0703", "the program mentions none of the columns");
            return Err(Report::of(*error.help("name the columns like the variables of the program")));
        }
        options::stop_on_interrupt(&run.cancel);
        Ok(Prepared { program, run, params, inputs, columns })
    }
}

fn evaluate(args: &Eval) -> Result<usize, Report> {
    let prepared = Prepared::new(&args.program, &args.options, args.wrt.as_deref(), &args.data)?;
    let Prepared { program, run, params, inputs, columns } = prepared;
    let param_names: Vec<&str> = params.iter().map(|p| p.0.as_str()).collect();
    let input_names: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let theta: Vec<f64> = params.iter().map(|p| p.1).collect();
    let options = ModelOptions { output: args.output, ..options::model_options(run, &args.switches) };
    let model = Model::new(program, &param_names, &input_names, options);
    let batch = model.evaluate(&theta, &columns, if args.grad { Want::Gradients } else { Want::Values })?;
    let text = results(&batch, &param_names, args);
    match &args.out {
        None => output::print(&text),
        Some(path) => files::write(path, text.as_bytes(), "--out")?,
    }
    for (row, failure) in batch.failures.iter().take(SHOWN) {
        output::complain(&format!("row {}:", row + 1));
        output::print_report(&failure.report);
    }
    if batch.failures.len() > SHOWN {
        output::complain(&format!("... and {} more rows failed", batch.failures.len() - SHOWN));
    }
    let warnings = model.warnings();
    if !warnings.diagnostics.is_empty() {
        output::print_report(&warnings);
    }
    if batch.walked > 0 {
        output::complain(&format!(
            "{} rows took paths for which there was no room, and were run one by one",
            batch.walked
        ));
    }
    if batch.unkept > 0 {
        output::complain(&format!("the output of {} rows is missing: there was too much of it", batch.unkept));
    }
    Ok(batch.failures.len())
}

fn results(batch: &Batch, params: &[&str], args: &Eval) -> String {
    let mut text = String::from("value");
    if args.grad {
        params.iter().for_each(|name| text += &format!(",d/d{name}"));
    }
    text.push_str(if args.output { ",output\n" } else { "\n" });
    for (row, value) in batch.values.iter().enumerate() {
        let _ = write!(text, "{}", field(*value));
        if args.grad {
            let start = row * params.len();
            for d in &batch.gradients[start..start + params.len()] {
                let _ = write!(text, ",{}", field(*d));
            }
        }
        if args.output {
            let _ = write!(text, ",\"{}\"", batch.output(row).replace('"', "\"\""));
        }
        text.push('\n');
    }
    text
}

fn field(x: f64) -> String {
    if x.is_nan() { "nan".into() } else { format!("{x:?}") }
}
