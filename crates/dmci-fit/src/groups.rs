//! The groups that rows belong to, and the rows that are left out because something is missing.

use crate::binding::find_column;
use dmci::ErrorCode;
use dmci::{Diagnostic, Parameter, Program, Report};
use dmci_table::Table;

/// The number of the group of a row that has none, because that is missing.
pub const NO_GROUP: usize = usize::MAX;

/// The groups that parameters differ by: their names, and the number of the group of each row.
pub fn groups(
    program: &Program,
    parameters: &[Parameter],
    table: &Table,
    column: Option<&str>,
) -> Result<(Vec<String>, Vec<usize>), Report> {
    let mut wanted: Option<(&Parameter, &str)> = None;
    for parameter in parameters {
        let Some(per) = &parameter.per else { continue };
        match wanted {
            Some((first, column)) if column != per => {
                let message = format!("{} differs by {per}, but {} by {column}", parameter.name, first.name);
                let error = Diagnostic::error(ErrorCode::E0803, message);
                return Err(parameter.report(program, error.help("parameters differ by one column at most")));
            }
            _ => wanted = Some((parameter, per)),
        }
    }
    if let (Some((parameter, per)), Some(column)) = (wanted, column)
        && per != column
    {
        let message = format!("{} differs by {per}, but series are grouped by {column}", parameter.name);
        let error = Diagnostic::error(ErrorCode::E0803, message);
        return Err(parameter.report(program, error.help("use the same column for both")));
    }
    let Some(per) = wanted.map(|w| w.1).or(column) else { return Ok((Vec::new(), vec![0; table.rows])) };
    let column = find_column(table, per)?;
    let mut names: Vec<String> = Vec::new();
    let mut number = std::collections::HashMap::new();
    let rows = (0..table.rows).map(|row| {
        if column.missing.binary_search(&row).is_ok() {
            return NO_GROUP;
        }
        let name = column.shown(row).trim_matches('"').to_string();
        *number.entry(name.clone()).or_insert_with(|| {
            names.push(name);
            names.len() - 1
        })
    });
    let rows = rows.collect();
    Ok((names, rows))
}

/// Rows that are left out, each once and in order; an error if none is left.
pub fn left_out(table: &Table, mut rows: Vec<usize>) -> Result<Vec<usize>, Report> {
    rows.sort_unstable();
    rows.dedup();
    if rows.len() == table.rows {
        let message = format!("{}: every row misses a target or something that the program reads", table.name);
        return Err(Report::from(Diagnostic::error(ErrorCode::E0708, message).help("check what ‹missing› declares")));
    }
    Ok(rows)
}

/// Rows that are left out, those without a group among them.
pub fn without_group(table: &Table, unusable: &[usize], group: &[usize]) -> Result<Vec<usize>, Report> {
    let of_none = (0..group.len()).filter(|&row| group[row] == NO_GROUP);
    left_out(table, unusable.iter().copied().chain(of_none).collect())
}

/// Says how many rows are left out.
pub fn warn_left_out(table: &Table, rows: &[usize]) -> Report {
    let rows = match rows.len() {
        0 => return Report::default(),
        1 => "1 row is".to_string(),
        many => format!("{many} rows are"),
    };
    let message = format!("{}: {rows} left out, because something is missing", table.name);
    Report::from(Diagnostic::warning(ErrorCode::W0702, message))
}
