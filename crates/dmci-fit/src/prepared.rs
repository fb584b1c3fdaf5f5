//! Columns and parameters of a program that is run over rows.

use crate::binding::constant_input;
use dmci::ErrorCode;
use dmci::{Batch, Column, Datum, Diagnostic, Model, Names, Report, RunOptions, Want};
use dmci_table::{Table, TableColumn, select};

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
    /// Where it is evaluated.
    pub point: Point,
}

/// The numbers of all parameters, once, or for each row if one of them is a column.
pub struct Point {
    numbers: Vec<f64>,
    by_row: bool,
}

impl Point {
    /// Evaluates all rows into a batch.
    pub fn evaluate(&self, model: &Model, columns: &[Column], want: Want, batch: &mut Batch) -> Result<(), Report> {
        match self.by_row {
            true => model.evaluate_pairs_into(batch, &self.numbers, columns, want),
            false => model.evaluate_into(batch, &self.numbers, columns, want),
        }
    }
}

impl Prepared {
    /// Parameters are those of `wrt`, or of the schema, or the reals that are set. A column among them differs by row.
    pub fn new(
        names: &Names,
        table: &Table,
        mut run: RunOptions,
        wrt: Option<&[String]>,
        rows: &[usize],
    ) -> Result<Prepared, Report> {
        let reads_some = table.columns.iter().any(|c| names.mentioned.contains(&c.name));
        let constant = if reads_some { None } else { Some(constant_input(names, table, &[], &run)?) };
        let mut params: Vec<(String, Datum)> = Vec::new();
        let mut own: Vec<Option<Vec<f64>>> = Vec::new();
        for name in wanted(wrt, names, &run) {
            if let Some(column) = table.column(&name).filter(|_| names.mentioned.contains(&name)) {
                own.push(Some(by_row(table, column, rows)?));
                params.push((name, Datum::Real(0.0)));
                continue;
            }
            let given = run.bindings.iter().position(|(n, _)| *n == name).map(|i| run.bindings.remove(i).1);
            let datum = match (given, names.schema.find(&name)) {
                (Some(datum), Some(parameter)) => {
                    let mut moved = parameter.clone();
                    moved.set_start(&datum).then(|| moved.datum())
                }
                (Some(datum), None) => of_reals(&datum),
                (None, parameter) => parameter.map(|p| p.datum()),
            };
            let Some(datum) = datum else {
                let error = Diagnostic::error(ErrorCode::E0701, format!("{name} has no number to differentiate at"));
                return Err(Report::from(error.help(format!("give it one with ‹set {name}=...›"))));
            };
            own.push(None);
            params.push((name, datum));
        }
        let is_parameter = |name: &String| params.iter().any(|p| p.0 == *name);
        let used = table.columns.iter().filter(|c| names.mentioned.contains(&c.name) && !is_parameter(&c.name));
        if let Some((column, row)) = used.clone().find_map(|c| Some((c, c.stray?))) {
            let place = format!("{}: row {} of column {}", table.name, row + 1, column.name);
            let message = format!("{place} must be a number, got {}", column.shown(row));
            let help =
                "correct the field, or remove the row; if it stands for a missing value, declare it with ‹missing›";
            return Err(Report::from(Diagnostic::error(ErrorCode::E0705, message).help(help)));
        }
        let used = used.map(|c| (c.name.clone(), select(&c.values, rows)));
        let (inputs, columns) = used.chain(constant.map(|(name, column)| (name, select(&column, rows)))).unzip();
        let by_row = own.iter().any(Option::is_some);
        let sets = (0..if by_row { rows.len() } else { 1 }).flat_map(|row| {
            params.iter().zip(&own).flat_map(move |((_, datum), own)| match own {
                Some(list) => vec![list[row]],
                None => numbers(datum),
            })
        });
        let point = Point { numbers: sets.collect(), by_row };
        Ok(Prepared { run, params, inputs, columns, point })
    }
}

/// The numbers of a column in these rows, to differentiate by.
fn by_row(table: &Table, column: &TableColumn, rows: &[usize]) -> Result<Vec<f64>, Report> {
    dmci_table::reals(&select(&column.values, rows)).map_err(|row| {
        let place = format!("{}: row {} of column {}", table.name, rows.get(row).unwrap_or(&0) + 1, column.name);
        let message = format!("{place} is no number to differentiate at");
        Report::from(Diagnostic::error(ErrorCode::E0705, message).help("differentiate by columns of numbers"))
    })
}

/// A number, a tensor, or a list or vector of such, with reals in the place of integers; nothing else.
fn of_reals(datum: &Datum) -> Option<Datum> {
    match datum {
        Datum::Tensor(..) => Some(datum.clone()),
        Datum::List(items, None) => Some(Datum::list(items.iter().map(of_reals).collect::<Option<_>>()?)),
        Datum::Vector(items) => Some(Datum::Vector(items.iter().map(of_reals).collect::<Option<_>>()?)),
        other => other.as_f64().map(Datum::Real),
    }
}

/// The names of the parameters.
pub fn wanted(wrt: Option<&[String]>, names: &Names, run: &RunOptions) -> Vec<String> {
    match wrt {
        Some(list) => list.to_vec(),
        None if names.schema.parameters.is_empty() => {
            let reals = run.bindings.iter().filter(|(_, datum)| matches!(datum, Datum::Real(_)));
            reals.map(|(name, _)| name.clone()).collect()
        }
        None => names.schema.parameters.iter().map(|p| p.name.clone()).collect(),
    }
}

/// The numbers of a parameter.
fn numbers(datum: &Datum) -> Vec<f64> {
    match datum {
        Datum::Tensor(_, elements) => elements.clone(),
        Datum::List(items, None) | Datum::Vector(items) => items.iter().flat_map(numbers).collect(),
        other => other.as_f64().into_iter().collect(),
    }
}

/// The names of the numbers of a parameter.
pub fn number_names(name: &str, datum: &Datum) -> Vec<String> {
    match datum {
        Datum::Tensor(shape, _) => (0..shape.len()).map(|i| format!("{name}.{i}")).collect(),
        Datum::List(items, None) | Datum::Vector(items) => {
            let named = items.iter().enumerate();
            named.flat_map(|(i, item)| number_names(&format!("{name}.{i}"), item)).collect()
        }
        _ => vec![name.to_string()],
    }
}

/// Fails if a name that the program reads is both set and a column: one of them would count silently.
pub fn check_settings(names: &Names, table: &Table, run: &RunOptions) -> Result<(), Report> {
    let is_column = |name: &String| table.column(name).is_some() && names.mentioned.contains(name);
    let Some((name, _)) = run.bindings.iter().find(|(name, _)| is_column(name)) else { return Ok(()) };
    let error =
        Diagnostic::error(ErrorCode::E0707, format!("{name} is a column of {} and given with ‹set›", table.name));
    Err(Report::from(error.help(format!("remove ‹set {name}=...›, or rename the column"))))
}

/// The words that a text declares as missing, with commas between them.
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
        return Err(Report::from(Diagnostic::error(ErrorCode::E0708, message).help("check what ‹missing› declares")));
    }
    Ok(rows)
}

/// All other rows.
pub fn present(table: &Table, missing: &[usize]) -> Vec<usize> {
    (0..table.rows).filter(|row| missing.binary_search(row).is_err()).collect()
}
