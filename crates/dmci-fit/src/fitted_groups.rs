//! The groups of a fit, in the rows of a table.

use crate::binding::find_column;
use crate::record::FitRecord;
use dmci::ErrorCode;
use dmci::{Datum, Diagnostic, Names, Report};
use dmci_table::Table;

/// Some rows of a table that belong together.
pub struct FittedGroup {
    /// Its name.
    pub name: String,
    /// The rows.
    pub rows: Vec<usize>,
    /// The parameters that are its own.
    pub values: Vec<(String, Datum)>,
}

/// The groups of a fit among rows of a table, in the order of the rows; empty if the fit has none.
pub fn fitted_groups(
    fit: &FitRecord,
    names: &Names,
    table: &Table,
    rows: &[usize],
) -> Result<Vec<FittedGroup>, Report> {
    let known = &fit.data.groups;
    if known.is_empty() {
        return Ok(Vec::new());
    }
    let column = find_column(table, &group_column(fit, names, table)?)?;
    let mut groups: Vec<FittedGroup> = Vec::new();
    for &row in rows {
        let name = column.shown(row).trim_matches('"').to_string();
        if let Some(group) = groups.iter_mut().find(|group| group.name == name) {
            group.rows.push(row);
            continue;
        }
        let values = fit.values_of(&names.schema, &name);
        // Series that share all parameters may be of any group.
        let differs = names.schema.parameters.iter().any(|p| p.per.is_some());
        if differs && !known.contains(&name) {
            let message = format!("row {} is of the group {name}, which was not fitted", row + 1);
            let help = format!("groups are {}", known.join(", "));
            return Err(Report::from(Diagnostic::error(ErrorCode::E0705, message).help(help)));
        }
        groups.push(FittedGroup { name, rows: vec![row], values });
    }
    Ok(groups)
}

/// The column of the groups. Files of earlier versions do not say it: then it is the one that parameters differ by, or
/// the only one that has no other groups than the fit.
fn group_column(fit: &FitRecord, names: &Names, table: &Table) -> Result<String, Report> {
    if let Some(column) = &fit.data.group {
        return Ok(column.clone());
    }
    if let Some(per) = names.schema.parameters.iter().find_map(|p| p.per.clone()) {
        return Ok(per);
    }
    let known = &fit.data.groups;
    let mut columns = table.columns.iter().filter(|column| {
        (0..table.rows).all(|row| known.iter().any(|group| group == column.shown(row).trim_matches('"')))
    });
    match (columns.next(), columns.next()) {
        (Some(column), None) => Ok(column.name.clone()),
        _ => {
            let message = "the fit has groups, but its file does not name the column that they come from";
            let help = "it is of an earlier version: fit again, and use the new file";
            Err(Report::from(Diagnostic::error(ErrorCode::E0906, message).help(help)))
        }
    }
}
