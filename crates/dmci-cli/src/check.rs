//! `dmci check`.

use crate::args::Check;
use crate::source::Source;
use crate::{files, options, output};
use dmci::{Bindings, Datum, Interpreter, Program, Report, RunOptions, UnitOptions};
use dmci_fit::{RunSettings, Table, TableCheck};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Checks programs without running them.
pub fn check(args: &Check) -> u8 {
    let limits = RunSettings::from_map(options::given(&args.limits)).and_then(|s| options::options_of(&s));
    let limits = match limits {
        Ok(options) => options.limits,
        Err(report) => return output::fail(&report, args.json),
    };
    let table = args.data.as_deref().map(|path| files::read_columns(path, &[], &[])).transpose();
    let found = table.and_then(|table| Ok((with_columns(options::bindings(&args.set)?, table.as_ref()), table)));
    let (bindings, table) = match found {
        Ok(found) => found,
        Err(report) => return output::fail(&report, args.json),
    };
    let units = match unit_options(args, table.as_ref()) {
        Ok(units) => units,
        Err(report) => return output::fail(&report, args.json),
    };
    let options = RunOptions { bindings, limits, ..RunOptions::default() };
    let files = args.files.iter().map(|path| (path.display().to_string(), Some(path.as_path()), None));
    let text = args.expression.as_deref().map(|text| ("<text>".to_string(), None, Some(text)));
    let mut code = 0;
    let mut results: Vec<Json> = Vec::new();
    for (name, path, text) in files.chain(text) {
        let (mut report, columns, program) = check_one(path, text, &options, table.as_ref());
        let mut dimensions = None;
        if let (Some(units), Some(program)) = (&units, &program)
            && report.exit_code() == 0
        {
            match Interpreter::shared().check_units(program, units, &options) {
                Ok(found) => {
                    report.append(found.report.clone());
                    dimensions = Some(found);
                }
                Err(failed) => report.append(failed),
            }
        }
        code = code.max(report.exit_code());
        if args.json {
            let mut result = json!({"file": name, "diagnostics": output::to_json(&report)});
            if let Some(columns) = columns {
                result["reads"] = json!(columns.reads);
                result["unused"] = json!(columns.unused);
            }
            if let Some(found) = &dimensions {
                let shown = |d: &Option<dmci_units::Dimension>| d.map(|d| d.to_string());
                let parameters: BTreeMap<&str, _> =
                    found.parameters.iter().map(|(n, d)| (n.as_str(), shown(d))).collect();
                result["units"] = json!({"parameters": parameters, "value": shown(&found.result)});
            }
            results.push(result);
        } else {
            if !report.diagnostics.is_empty() {
                output::print_report(&report);
            }
            output::print_line(&format!("{name}: {}", summary(&report)));
            if let Some(found) = &dimensions {
                let shown = |d: &Option<dmci_units::Dimension>| d.map_or("any unit".to_string(), |d| d.to_string());
                let of = |(n, d): &(String, Option<dmci_units::Dimension>)| format!("{n} {}", shown(d));
                let mut list: Vec<String> = found.parameters.iter().map(of).collect();
                list.push(format!("the value {}", shown(&found.result)));
                output::print_line(&format!("{name}: units: {}", list.join(", ")));
            }
            if let (Some(columns), Some(table)) = (columns, &table) {
                let list = |names: &[String]| if names.is_empty() { "none".to_string() } else { names.join(", ") };
                let (reads, unused) = (list(&columns.reads), list(&columns.unused));
                output::print_line(&format!("{}: columns read: {reads}; not read: {unused}", table.name));
            }
        }
    }
    if args.json {
        output::print_form("check", json!({"ok": code == 0, "files": results}));
    }
    code
}

/// What is set, and a value for every column of a table: only that there is one matters.
fn with_columns(mut bindings: Bindings, table: Option<&Table>) -> Bindings {
    let columns = table.into_iter().flat_map(|table| &table.columns);
    let unset = columns.filter(|c| bindings.iter().all(|(name, _)| *name != c.name));
    let columns: Bindings = unset.map(|column| (column.name.clone(), Datum::Real(0.0))).collect();
    bindings.extend(columns);
    bindings
}

/// What is wrong with a program, and which columns of a table it reads.
fn check_one(
    path: Option<&Path>,
    text: Option<&str>,
    options: &RunOptions,
    table: Option<&Table>,
) -> (Report, Option<TableCheck>, Option<Program>) {
    let program = match Source::of(path, text) {
        Ok(source) => source.program(),
        Err(report) => return (report, None, None),
    };
    let mut report = Interpreter::shared().check(&program, options);
    // A program that cannot be read reads no columns.
    let columns = table.and_then(|table| dmci_fit::check_table(&program, table).ok());
    if let Some(columns) = &columns {
        report.append(columns.warnings.clone());
    }
    (report, columns, Some(program))
}

/// The dimensions of columns and of the target, if they are to be looked at.
fn unit_options(args: &Check, table: Option<&Table>) -> Result<Option<UnitOptions>, Report> {
    let Some(text) = &args.units else { return Ok(None) };
    let given = options::units(text)?;
    // Without a table names are what they are said to be.
    let alone = Table { name: "--units".into(), ..Table::default() };
    let known = match table {
        Some(table) => dmci_search::units::dimensions(&given, table)?,
        None => dmci_search::units::dimensions(&BTreeMap::new(), &Table { units: given, ..alone })?,
    };
    if let Some(target) = &args.target
        && let Some(table) = table
    {
        dmci_fit::find_column(table, target)?;
    }
    let result = args.target.as_ref().and_then(|target| known.get(target).copied());
    Ok(Some(UnitOptions { names: known.into_iter().collect(), result }))
}

fn summary(report: &Report) -> String {
    match report.diagnostics.len() {
        0 => "ok".into(),
        1 => "1 problem".into(),
        n => format!("{n} problems"),
    }
}
