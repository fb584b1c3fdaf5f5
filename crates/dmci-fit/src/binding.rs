//! From names to numbers: parameters from the schema, inputs and target from the table.

use crate::data::{Table, TableColumn};
use dmci::{Column, Datum, Diagnostic, Interpreter, Mode, Names, Parameter, Program, Report, RunOptions, Schema};

/// The columns that a fit needs.
pub struct Bound {
    /// Names and values of the program's inputs.
    pub inputs: Vec<(String, Column)>,
    /// The numbers to predict.
    pub target: Vec<f64>,
}

/// The parameters to fit and those that are fixed. A binding of a parameter is its new start, and is
/// taken out of the run's bindings.
pub fn parameters(
    program: &Program,
    schema: &Schema,
    run: &mut RunOptions,
) -> Result<(Vec<Parameter>, Vec<Parameter>), Report> {
    let mut list = schema.parameters.clone();
    for parameter in &mut list {
        check_options(program, parameter)?;
        let Some(i) = run.bindings.iter().rposition(|(name, _)| *name == parameter.name) else { continue };
        let (name, datum) = run.bindings.remove(i);
        run.bindings.retain(|(other, _)| *other != name);
        parameter.init = datum.as_f64().ok_or_else(|| {
            let error = Diagnostic::error("E0701", format!("the parameter {name} must start at a number"));
            Report::of(*error.help(format!("write --set {name}=1.5, for example")))
        })?;
    }
    let (fixed, fitted): (Vec<Parameter>, Vec<Parameter>) = list.into_iter().partition(|p| p.fixed);
    if fitted.is_empty() {
        let (message, help) = if fixed.is_empty() {
            let message = format!("{} declares no parameters to fit", program.name);
            (message, "declare them in the program, for example (params (a positive 1.0) (b unit 0.3))")
        } else {
            let message = format!("all parameters of {} are fixed", program.name);
            (message, "remove the word fixed from those that are to be fitted")
        };
        return Err(Report::of(*Diagnostic::error("E0801", message).help(help)));
    }
    Ok((fitted, fixed))
}

/// Refuses what a fit would have to ignore.
fn check_options(program: &Program, parameter: &Parameter) -> Result<(), Report> {
    let name = &parameter.name;
    if parameter.kind == dmci::ParameterKind::Unknown {
        let error = Diagnostic::error("E0803", format!("a fit does not know the kind of {name}"));
        let help = "the kinds are free, positive, unit, signed-unit and (bounded low high)";
        return Err(parameter.report(program, error.help(help)));
    }
    // A unit of measurement is for the reader.
    if let Some(option) = parameter.options.iter().find(|o| *o != "unit") {
        let error = Diagnostic::error("E0803", format!("a fit does not know the option ({option} ...) of {name}"));
        return Err(parameter.report(program, error.help("remove it; a scale and the word fixed are known")));
    }
    if matches!(parameter.kind, dmci::ParameterKind::Bounded(..)) && parameter.scale.is_some() {
        let error = Diagnostic::error("E0803", format!("{name} has bounds and a scale"));
        return Err(parameter.report(program, error.help("remove the scale: the bounds say how large it is")));
    }
    Ok(())
}

/// Finds the inputs and the target in the table.
pub fn bind_columns(names: &Names, table: &Table, target: &str, run: &RunOptions) -> Result<Bound, Report> {
    let target = find_column(table, target)?;
    let values = numbers(table, target)?;
    let mut inputs = Vec::new();
    for column in table.columns.iter().filter(|c| !c.name.is_empty() && c.name != target.name) {
        let name = &column.name;
        let clash = if names.schema.find(name).is_some() {
            Some("a parameter of the program")
        } else if run.bindings.iter().any(|(n, _)| n == name) && names.mentioned.contains(name) {
            Some("given with --set")
        } else {
            None
        };
        if let Some(clash) = clash {
            let error = Diagnostic::error("E0707", format!("{name} is a column of {} and {clash}", table.name));
            return Err(Report::of(*error.help("rename one of them")));
        }
        if !names.mentioned.contains(name) {
            continue;
        }
        // A column of text is fine where the program wants text, but not with a slip in it.
        if column.stray.is_some() || !matches!(column.values, Column::Data(ref d) if matches!(d[0], Datum::String(_))) {
            numbers(table, column)?;
        }
        inputs.push((name.clone(), column.values.clone()));
    }
    if inputs.is_empty() {
        let message = format!("the program reads none of the columns of {}", table.name);
        let help = format!("name its variables like columns; the table has {}", table.column_names());
        return Err(Report::of(*Diagnostic::error("E0703", message).help(help)));
    }
    Ok(Bound { inputs, target: values })
}

/// The column of a table with this name, or an error that lists what there is.
pub fn find_column<'a>(table: &'a Table, name: &str) -> Result<&'a TableColumn, Report> {
    table.column(name).ok_or_else(|| {
        let message = format!("{} has no column {name}", table.name);
        let similar = table.columns.iter().find(|c| c.name.eq_ignore_ascii_case(name));
        let help = match similar {
            Some(column) => format!("did you mean {}? upper and lower case differ", column.name),
            None => format!("its columns are {}", table.column_names()),
        };
        Report::of(*Diagnostic::error("E0704", message).help(help))
    })
}

/// The finite numbers of a column.
fn numbers(table: &Table, column: &TableColumn) -> Result<Vec<f64>, Report> {
    let place = |row: usize| format!("{}: row {} of column {}", table.name, row + 1, column.name);
    let reals = column.reals().map_err(|row| {
        let message = format!("{} must be a number, got {}", place(row), column.shown(row));
        Report::of(*Diagnostic::error("E0705", message).help("correct the field, or remove the row"))
    })?;
    match reals.iter().position(|x| !x.is_finite()) {
        Some(row) => {
            let message = format!("{} must be a finite number, got {}", place(row), column.shown(row));
            Err(Report::of(*Diagnostic::error("E0706", message).help("remove the row: a fit cannot use it")))
        }
        None => Ok(reals),
    }
}

/// Reports every mistake in the program at once, before anything runs: above all names that are
/// neither parameters nor columns.
pub fn check_program<'a>(
    program: &Program,
    run: &RunOptions,
    given: impl Iterator<Item = &'a String>,
    table: &Table,
    target: &str,
) -> Result<(), Report> {
    // A language of the user's own is not ours to check.
    if matches!(run.mode, Mode::Evaluator { .. }) {
        return Ok(());
    }
    let mut options = run.clone();
    options.bindings.extend(given.map(|name| (name.clone(), Datum::Real(0.0))));
    let mut report = Interpreter::shared().check(program, &options);
    for diagnostic in report.diagnostics.iter_mut().filter(|d| d.code == "E0301") {
        let name = diagnostic.span().map(|span| report.sources.slice(span)).unwrap_or_default();
        let suggested = diagnostic.help.as_ref().is_some_and(|help| help.starts_with("did you mean"));
        let similar = table.columns.iter().find(|c| c.name.eq_ignore_ascii_case(name) && c.name != target);
        diagnostic.help = match similar {
            _ if name == target => Some(format!("{name} is the target: the program predicts it and cannot read it")),
            Some(column) => Some(format!("did you mean the column {}? upper and lower case differ", column.name)),
            None if suggested => continue,
            None => Some(format!(
                "{} has no such column (it has {}); declare it in (params ...), or give it a value with --set {name}=...",
                table.name,
                table.column_names()
            )),
        };
    }
    if report.has_errors() { Err(report) } else { Ok(()) }
}
