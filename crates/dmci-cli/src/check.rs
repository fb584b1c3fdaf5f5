//! `dmci check`.

use crate::args::Check;
use crate::source::Source;
use crate::{files, options, output};
use dmci::{Bindings, Datum, Interpreter, Report, RunOptions};
use serde_json::{Value as Json, json};
use std::path::Path;

/// Checks programs without running them.
pub fn check(args: &Check) -> u8 {
    let bindings = match options::bindings(&args.set).and_then(|set| with_columns(set, args.data.as_deref())) {
        Ok(bindings) => bindings,
        Err(report) => return output::fail(&report, args.json),
    };
    let options = RunOptions { bindings, ..RunOptions::default() };
    let files = args.files.iter().map(|path| (path.display().to_string(), Some(path.as_path()), None));
    let text = args.expression.as_deref().map(|text| ("<text>".to_string(), None, Some(text)));
    let mut code = 0;
    let mut results: Vec<Json> = Vec::new();
    for (name, path, text) in files.chain(text) {
        let report = check_one(path, text, &options);
        code = code.max(report.exit_code());
        if args.json {
            results.push(json!({"file": name, "diagnostics": output::to_json(&report)}));
        } else {
            if !report.diagnostics.is_empty() {
                output::print_report(&report);
            }
            output::print_line(&format!("{name}: {}", summary(&report)));
        }
    }
    if args.json {
        output::print_json(&json!({"ok": code == 0, "files": results}));
    }
    code
}

/// What is set, and a value for every column of a table: only that there is one matters.
fn with_columns(mut bindings: Bindings, data: Option<&Path>) -> Result<Bindings, Report> {
    let Some(path) = data else { return Ok(bindings) };
    let table = files::read_columns(path, &[], &[])?;
    let unset = table.columns.into_iter().filter(|c| bindings.iter().all(|(name, _)| *name != c.name));
    let columns: Bindings = unset.map(|column| (column.name, Datum::Real(0.0))).collect();
    bindings.extend(columns);
    Ok(bindings)
}

fn check_one(path: Option<&Path>, text: Option<&str>, options: &RunOptions) -> Report {
    match Source::of(path, text) {
        Ok(source) => Interpreter::shared().check(&source.program(), options),
        Err(report) => report,
    }
}

fn summary(report: &Report) -> String {
    match report.diagnostics.len() {
        0 => "ok".into(),
        1 => "1 problem".into(),
        n => format!("{n} problems"),
    }
}
