//! The rows of a search, from a table.

use crate::args::search::RowArgs;
use crate::files;
use dmci::{Diagnostic, ErrorCode, Report};
use dmci_fit::{Table, find_column};
use dmci_search::data::{Data, Folds, Part};
use dmci_search::operation::{DEFAULT, Operations};
use dmci_search::worker::Workshop;

/// An error of the command line.
pub fn wrong(message: String, help: &str) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0910, message).help(help))
}

/// Reads the table and parts its rows.
pub fn workshop(args: &RowArgs) -> Result<Workshop, Report> {
    let operations = Operations::parse(args.ops.as_deref().unwrap_or(DEFAULT))
        .map_err(|message| wrong(message, "name operations with --ops '+ - * /'"))?;
    let Some(data) = &args.data else {
        return Err(wrong("no table is named".into(), "name one with --data FILE"));
    };
    let Some(target_name) = &args.target else {
        return Err(wrong("no column to predict is named".into(), "name one with --target COLUMN"));
    };
    let missing: Vec<String> = args.missing.iter().flat_map(|m| m.split(',')).map(str::to_string).collect();
    let table = files::read_table(data, &missing)?;
    let seal_column = match args.sealed.as_deref() {
        None | Some("none") => None,
        Some(text) => Some(text.strip_prefix("column:").ok_or_else(|| {
            wrong(format!("{text} does not say which rows are sealed"), "write column:NAME, or none")
        })?),
    };
    let aside = [Some(target_name.as_str()), args.weights.as_deref(), args.sigma.as_deref(), seal_column];
    let inputs: Vec<String> = match &args.inputs {
        Some(list) => list.split(',').map(|name| name.trim().to_string()).collect(),
        None => {
            let other = |name: &str| !aside.contains(&Some(name));
            table.columns.iter().filter(|c| other(&c.name)).map(|c| c.name.clone()).collect()
        }
    };
    if inputs.contains(target_name) {
        return Err(wrong(format!("{} is the target and an input", target_name), "drop it from --inputs"));
    }
    let mut columns = inputs.iter().map(|name| reals(&table, name)).collect::<Result<Vec<_>, _>>()?;
    let mut target = reals(&table, target_name)?;
    let mut weights = None;
    if let Some(name) = &args.weights {
        let list = reals(&table, name)?;
        if list.iter().any(|w| *w < 0.0) {
            return Err(wrong(format!("{name} has a weight below 0"), "weights are 0 or more"));
        }
        weights = Some(list.iter().map(|w| w.sqrt()).collect::<Vec<f64>>());
    }
    if let Some(name) = &args.sigma {
        let list = reals(&table, name)?;
        if list.iter().any(|s| *s <= 0.0) {
            return Err(wrong(format!("{name} has a standard deviation that is not above 0"), "check the column"));
        }
        weights = Some(list.iter().map(|s| 1.0 / s).collect());
    }
    let mut sealed: Option<Vec<bool>> = match (seal_column, args.sealed.as_deref()) {
        (Some(name), _) => Some(reals(&table, name)?.iter().map(|x| *x != 0.0).collect()),
        (None, Some(_)) => Some(vec![false; table.rows]),
        (None, None) => None,
    };
    // Rows without a value take no part.
    let has_all = |r: usize| {
        let lists = columns.iter().chain([&target]).chain(&weights);
        lists.into_iter().all(|list| list[r].is_finite())
    };
    let kept: Vec<usize> = (0..table.rows).filter(|&r| has_all(r)).collect();
    let pick = |list: &Vec<f64>| kept.iter().map(|&r| list[r]).collect::<Vec<f64>>();
    (columns, target) = (columns.iter().map(pick).collect(), pick(&target));
    let root_weights = weights.as_ref().map(pick);
    sealed = sealed.map(|marks| kept.iter().map(|&r| marks[r]).collect());
    let open = sealed.as_ref().map_or(kept.len(), |marks| marks.iter().filter(|m| !**m).count());
    if open < 5 {
        let message = format!("{open} rows are left to fit, at least 5 are needed");
        return Err(wrong(message, "check the columns and what is sealed"));
    }
    if columns.is_empty() {
        return Err(wrong("no column is left as an input".into(), "name inputs with --inputs"));
    }
    let folds = args.folds.max(2) as usize;
    let folds = if args.rolling { Folds::Rolling(folds) } else { Folds::Random(folds) };
    let part = Part { columns, target, root_weights };
    let data = Data::new(inputs, target_name, part, sealed.as_deref(), folds, args.seed);
    if data.variance == 0.0 {
        return Err(wrong(format!("{} has the same value in all rows", target_name), "there is nothing to explain"));
    }
    Ok(Workshop::new(data, operations, args.size as usize))
}

/// A column of numbers; what is missing is NaN.
pub fn reals(table: &Table, name: &str) -> Result<Vec<f64>, Report> {
    let column = find_column(table, name)?;
    column.reals().map_err(|row| {
        let shown = column.shown(row);
        let message = format!("{name} has {shown} in row {}, expected a number", row + 1);
        wrong(message, "name the numeric columns with --inputs, or declare missing values with --missing")
    })
}
