//! `dmci eval`: a program for every row of a table.

use crate::args::Eval;
use crate::fit::stored;
use crate::source::Source;
use crate::{files, options, output};
use dmci::{
    Batch, Column, Datum, Diagnostic, Interpreter, Model, ModelOptions, Names, Program, Report, RunOptions, Want,
};
use dmci_fit::Table;
use dmci_fit::data::select;
use serde_json::Value as Json;
use std::fmt::Write;

/// Failed rows that are shown in full.
const SHOWN: usize = 5;

/// Evaluates all rows.
pub fn eval(args: &Eval) -> u8 {
    match evaluate(args) {
        Ok(failed) => (failed > 0) as u8,
        Err(report) => output::fail(&report, args.json),
    }
}

fn evaluate(args: &Eval) -> Result<usize, Report> {
    let mut run = options::run_options(&args.options)?;
    let fit = args.fit.as_ref().map(|path| stored::read(path)).transpose()?;
    let program = match &fit {
        Some(fit) => stored::program(fit),
        None => Source::of(args.program.file.as_deref(), args.program.expression.as_deref())?.program(),
    };
    let names = Interpreter::shared().names(&program)?;
    let table = files::read_table(&args.data, &[])?;
    options::stop_on_interrupt(&run.cancel);
    if let Some(fit) = &fit {
        // What the command line sets counts more than what the fit found.
        let given: Vec<String> = run.bindings.iter().map(|(name, _)| name.clone()).collect();
        run.bindings.extend(stored::values(fit).into_iter().filter(|(name, _)| !given.contains(name)));
        if fit["loss"]["name"] == "objective" {
            return objective(args, &program, &names, &table, run);
        }
    }
    let groups = fit.as_ref().map_or(Ok(Vec::new()), |fit| groups(fit, &names, &table))?;
    let mut batch = Results::default();
    if groups.is_empty() {
        let all: Vec<usize> = (0..table.rows).collect();
        batch.add(args, &program, &names, &table, run, &all)?;
    } else {
        batch.values = vec![f64::NAN; table.rows];
        for (rows, values) in groups {
            let mut run = run.clone();
            run.bindings.extend(values);
            batch.add(args, &program, &names, &table, run, &rows)?;
        }
    }
    write(args, &batch.text(args.grad))?;
    if !batch.warnings.diagnostics.is_empty() {
        output::print_report(&batch.warnings);
    }
    batch.failures.sort_by_key(|f| f.0);
    for (row, report) in batch.failures.iter().take(SHOWN) {
        output::complain(&format!("row {}:", row + 1));
        output::print_report(report);
    }
    if batch.failures.len() > SHOWN {
        output::complain(&format!("... and {} more rows failed", batch.failures.len() - SHOWN));
    }
    Ok(batch.failures.len())
}

fn write(args: &Eval, text: &str) -> Result<(), Report> {
    match &args.out {
        None => {
            output::print(text);
            Ok(())
        }
        Some(path) => files::write(path, text.as_bytes(), "--out"),
    }
}

/// The rows of each group of a fit, with the parameters that are its own; empty if there are no groups.
#[allow(clippy::type_complexity)]
fn groups(fit: &Json, names: &Names, table: &Table) -> Result<Vec<(Vec<usize>, Vec<(String, Datum)>)>, Report> {
    let Some(parameter) = names.schema.parameters.iter().find(|p| p.per.is_some()) else { return Ok(Vec::new()) };
    let per = parameter.per.as_deref().unwrap_or_default();
    let column = dmci_fit::find_column(table, per)?;
    let known: Vec<&str> = fit["data"]["groups"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let group_of = |row: usize| column.shown(row).trim_matches('"').to_string();
    if let Some(row) = (0..table.rows).find(|&row| !known.contains(&group_of(row).as_str())) {
        let message = format!("row {} is of the group {}, which was not fitted", row + 1, group_of(row));
        return Err(Report::of(*Diagnostic::error("E0705", message).help(format!("groups are {}", known.join(", ")))));
    }
    // The number k[group] of a parameter, or the numbers w.0[group], w.1[group] of a tensor.
    let value = |name: &str, group: &str| {
        let end = format!("[{group}]");
        let numbers = fit["parameters"][name]["numbers"].as_array()?.iter();
        let own = numbers.filter(|n| n["name"].as_str().is_some_and(|n| n.ends_with(&end)));
        let values = own.map(|n| n["value"].as_f64().map(Datum::Real)).collect::<Option<Vec<Datum>>>()?;
        match &values[..] {
            [] => None,
            [one] => Some(one.clone()),
            _ => Some(Datum::list(values)),
        }
    };
    let of_group = |group: &&str| {
        let rows = (0..table.rows).filter(|&row| group_of(row) == *group).collect();
        let own = names.schema.parameters.iter().filter(|p| p.per.is_some());
        let values = own.filter_map(|p| Some((p.name.clone(), value(&p.name, group)?))).collect();
        (rows, values)
    };
    Ok(known.iter().map(of_group).collect())
}

/// What was found for rows, in their order in the table.
#[derive(Default)]
struct Results {
    values: Vec<f64>,
    gradients: Vec<f64>,
    numbers: Vec<String>,
    outputs: usize,
    failures: Vec<(usize, Report)>,
    /// What each row printed, if that is wanted.
    printed: Vec<String>,
    /// What is worth knowing about the program.
    warnings: Report,
}

impl Results {
    fn add(
        &mut self,
        args: &Eval,
        program: &Program,
        names: &Names,
        table: &Table,
        run: RunOptions,
        rows: &[usize],
    ) -> Result<(), Report> {
        let Prepared { run, params, inputs, columns } = Prepared::new(names, table, run, args.wrt.as_deref(), rows)?;
        let input_names: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let theta: Vec<f64> = params.iter().flat_map(|(_, datum)| numbers(datum)).collect();
        self.numbers = params.iter().flat_map(|(name, datum)| number_names(name, datum)).collect();
        self.outputs = 1;
        let options = ModelOptions { output: args.output, ..options::model_options(run, &args.switches) };
        let model = Model::with_params(program.clone(), params, &input_names, options);
        let batch = model.evaluate(&theta, &columns, if args.grad { Want::Gradients } else { Want::Values })?;
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
        self.failures.extend(batch.failures.iter().map(|(i, failure)| (rows[*i], failure.report.clone())));
    }

    fn text(&self, gradients: bool) -> String {
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
}

/// What the names of a program are bound to for rows of a table.
pub struct Prepared {
    /// How it is run; parameters are not bound.
    pub run: RunOptions,
    /// Parameters with their values.
    pub params: Vec<(String, Datum)>,
    /// The columns that the program mentions.
    pub inputs: Vec<String>,
    /// Their values.
    pub columns: Vec<Column>,
}

impl Prepared {
    /// Parameters are those of `wrt`, or of the schema, or the reals that are set.
    pub fn new(
        names: &Names,
        table: &Table,
        mut run: RunOptions,
        wrt: Option<&str>,
        rows: &[usize],
    ) -> Result<Prepared, Report> {
        let mut params: Vec<(String, Datum)> = Vec::new();
        for name in wanted(wrt, names, &run) {
            let given = run.bindings.iter().position(|(n, _)| *n == name).map(|i| run.bindings.remove(i).1);
            let datum = match (given, names.schema.find(&name)) {
                (Some(datum), Some(parameter)) => {
                    let mut moved = parameter.clone();
                    moved.set_start(&datum).then(|| moved.datum())
                }
                (Some(datum), None) => datum.as_f64().map(Datum::Real),
                (None, parameter) => parameter.map(|p| p.datum()),
            };
            let Some(datum) = datum else {
                let error = Diagnostic::error("E0701", format!("{name} has no number to differentiate at"));
                return Err(Report::of(*error.help(format!("give it one with --set {name}=..."))));
            };
            params.push((name, datum));
        }
        let used = table.columns.iter().filter(|c| names.mentioned.contains(&c.name));
        let used: Vec<(String, Column)> = used.map(|c| (c.name.clone(), select(&c.values, rows))).collect();
        if used.is_empty() && !table.columns.is_empty() {
            let error = Diagnostic::error("E0703", "the program mentions none of the columns");
            return Err(Report::of(*error.help("name the columns like the variables of the program")));
        }
        let (inputs, columns) = used.into_iter().unzip();
        Ok(Prepared { run, params, inputs, columns })
    }
}

/// The names of the parameters.
pub fn wanted(wrt: Option<&str>, names: &Names, run: &RunOptions) -> Vec<String> {
    match wrt {
        Some(list) => list.split(',').map(|n| n.trim().to_string()).collect(),
        None if names.schema.parameters.is_empty() => {
            let reals = run.bindings.iter().filter(|(_, datum)| matches!(datum, Datum::Real(_)));
            reals.map(|(name, _)| name.clone()).collect()
        }
        None => names.schema.parameters.iter().map(|p| p.name.clone()).collect(),
    }
}

/// The numbers of a parameter.
pub fn numbers(datum: &Datum) -> Vec<f64> {
    match datum {
        Datum::Tensor(_, elements) => elements.clone(),
        other => other.as_f64().into_iter().collect(),
    }
}

/// The names of the numbers of a parameter.
pub fn number_names(name: &str, datum: &Datum) -> Vec<String> {
    match datum {
        Datum::Tensor(shape, _) => (0..shape.len()).map(|i| format!("{name}.{i}")).collect(),
        _ => vec![name.to_string()],
    }
}

/// The named results of an objective program over whole columns, as a table of those that have a number for
/// every row; single numbers come before it.
fn objective(
    args: &Eval,
    program: &Program,
    names: &Names,
    table: &Table,
    mut run: RunOptions,
) -> Result<usize, Report> {
    // Parameters are bound with the shape that the schema gives them.
    for (name, datum) in &mut run.bindings {
        if let Some(parameter) = names.schema.find(name) {
            let mut moved = parameter.clone();
            if moved.set_start(datum) {
                *datum = moved.datum();
            }
        }
    }
    let results = dmci_fit::results_of(program, names, table, run)?;
    let mut text = String::new();
    let columns: Vec<(&String, Vec<f64>)> =
        results.iter().map(|(name, datum)| (name, dmci_fit::numbers(datum))).collect();
    for (name, list) in columns.iter().filter(|c| c.1.len() == 1) {
        let _ = writeln!(text, "# {name} {}", field(list[0]));
    }
    let series: Vec<&(&String, Vec<f64>)> =
        columns.iter().filter(|c| c.1.len() == table.rows && table.rows > 1).collect();
    if !series.is_empty() {
        let heads: Vec<&str> = series.iter().map(|c| c.0.as_str()).collect();
        let _ = writeln!(text, "{}", heads.join(","));
        for row in 0..table.rows {
            let cells: Vec<String> = series.iter().map(|c| field(c.1[row])).collect();
            let _ = writeln!(text, "{}", cells.join(","));
        }
    }
    write(args, &text)?;
    Ok(0)
}

fn field(x: f64) -> String {
    if x.is_nan() { "nan".into() } else { format!("{x:?}") }
}
