//! Columns and parameters of a program that is run over rows.

use crate::options;
use dmci::ErrorCode;
use dmci::{Column, Datum, Diagnostic, Names, Report, RunOptions};
use dmci_fit::Table;
use dmci_table::select;

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
        let reads_some = table.columns.iter().any(|c| names.mentioned.contains(&c.name));
        let constant = if reads_some { None } else { Some(dmci_fit::constant_input(names, table, &[], &run)?) };
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
                let error = Diagnostic::error(ErrorCode::E0701, format!("{name} has no number to differentiate at"));
                return Err(Report::from(error.help(format!("give it one with --set {name}=..."))));
            };
            params.push((name, datum));
        }
        let used = table.columns.iter().filter(|c| names.mentioned.contains(&c.name));
        if let Some((column, row)) = used.clone().find_map(|c| Some((c, c.stray?))) {
            let place = format!("{}: row {} of column {}", table.name, row + 1, column.name);
            let message = format!("{place} must be a number, got {}", column.shown(row));
            let help =
                "correct the field, or remove the row; if it stands for a missing value, declare it with --missing";
            return Err(Report::from(Diagnostic::error(ErrorCode::E0705, message).help(help)));
        }
        let used = used.map(|c| (c.name.clone(), select(&c.values, rows)));
        let (inputs, columns) = used.chain(constant.map(|(name, column)| (name, select(&column, rows)))).unzip();
        Ok(Prepared { run, params, inputs, columns })
    }
}

/// The names of the parameters.
pub fn wanted(wrt: Option<&str>, names: &Names, run: &RunOptions) -> Vec<String> {
    match wrt {
        Some(list) => options::names(list),
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

/// Fails if a name that the program reads is both set and a column: one of them would count silently.
pub fn check_settings(names: &Names, table: &Table, run: &RunOptions) -> Result<(), Report> {
    let is_column = |name: &String| table.column(name).is_some() && names.mentioned.contains(name);
    let Some((name, _)) = run.bindings.iter().find(|(name, _)| is_column(name)) else { return Ok(()) };
    let error =
        Diagnostic::error(ErrorCode::E0707, format!("{name} is a column of {} and given with --set", table.name));
    Err(Report::from(error.help(format!("remove --set {name}=..., or rename the column"))))
}

/// The words of `--missing`.
pub fn words(list: Option<&str>) -> Vec<String> {
    list.into_iter().flat_map(|m| m.split(',')).map(|w| w.trim().to_string()).collect()
}

/// The rows that miss something that is read, in order; an error if these are all.
pub fn rows_without(table: &Table, read: &[String]) -> Result<Vec<usize>, Report> {
    let columns = table.columns.iter().filter(|c| read.contains(&c.name));
    let mut rows: Vec<usize> = columns.flat_map(|c| c.missing.iter().copied()).collect();
    rows.sort_unstable();
    rows.dedup();
    if rows.len() == table.rows {
        let message = format!("{}: every row misses something that the program reads", table.name);
        return Err(Report::from(Diagnostic::error(ErrorCode::E0708, message).help("check what --missing declares")));
    }
    Ok(rows)
}

/// All other rows.
pub fn present(table: &Table, missing: &[usize]) -> Vec<usize> {
    (0..table.rows).filter(|row| missing.binary_search(row).is_err()).collect()
}
