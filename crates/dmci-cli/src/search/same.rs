//! `dmci same`: whether two programs describe the same family of functions.

use super::{SearchProblem, wrong};
use crate::args::search::Same;
use crate::{files, output};
use dmci::{Interpreter, Program, Report};
use dmci_search::same::{Comparison, Failed, Family, Relation, compare};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Compares two programs: 0 if they are the same family.
pub fn same(args: &Same) -> u8 {
    match compared(args) {
        Ok(found) => {
            if args.json {
                output::print_json(&json!({
                    "schema": "dmci-same-1",
                    "relation": found.relation,
                    "same_form": found.same_form,
                    "same_normal_form": found.same_normal_form,
                    "draws": found.draws,
                    "first_failed": found.first_failed,
                    "second_failed": found.second_failed,
                }));
            } else {
                output::print(&text(args, &found));
            }
            u8::from(found.relation != Relation::Same)
        }
        Err(report) => {
            output::fail(&report, args.json);
            2
        }
    }
}

fn compared(args: &Same) -> Result<Comparison, Report> {
    let (data, missing) = match (&args.data, &args.problem) {
        (Some(data), _) => (data.clone(), Vec::new()),
        (None, Some(path)) => {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path).map_err(|error| files::cannot_read(&name, &error))?;
            let folder = path.parent().map(|folder| folder.display().to_string());
            let problem = SearchProblem::from_text(&name, &text)?.in_folder(&folder.unwrap_or_default());
            (PathBuf::from(problem.fit.problem.data_file()?), problem.fit.problem.missing.clone())
        }
        (None, None) => {
            return Err(wrong("the inputs are not named".into(), "name a table with --data FILE, or --problem FILE"));
        }
    };
    let table = files::read_table(Path::new(&data), &missing)?;
    let program = |path: &PathBuf| -> Result<Program, Report> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| files::cannot_read(&name, &error))?;
        Ok(Program::named(&name, &text))
    };
    let programs = [program(&args.first)?, program(&args.second)?];
    let mut inputs: Vec<String> = Vec::new();
    for program in &programs {
        let names = Interpreter::shared().names(program)?;
        let is_input = |name: &&String| table.column(name).is_some() && names.schema.find(name).is_none();
        for name in names.mentioned.iter().filter(is_input) {
            if !inputs.contains(name) {
                inputs.push(name.clone());
            }
        }
    }
    let [a, b] = [Family::read(&programs[0], &inputs)?, Family::read(&programs[1], &inputs)?];
    compare(&a, &b, &table, &inputs, args.seed.unwrap_or(0))
}

fn text(args: &Same, found: &Comparison) -> String {
    let (a, b) = (args.first.display(), args.second.display());
    let mut out = match found.relation {
        Relation::Same if found.same_form => "same: the canonical forms are equal\n".to_string(),
        Relation::Same if found.same_normal_form => "same: the normal forms are equal on these inputs\n".to_string(),
        Relation::Same => "same\n".to_string(),
        Relation::FirstWithinSecond => format!("{a} within {b}\n"),
        Relation::SecondWithinFirst => format!("{b} within {a}\n"),
        Relation::Different => "different\n".to_string(),
    };
    for (from, by, list) in
        [(&args.first, &args.second, &found.first_failed), (&args.second, &args.first, &found.second_failed)]
    {
        let (from, by) = (from.display(), by.display());
        if let Some(worst) = list.iter().max_by(|x, y| x.error.total_cmp(&y.error)) {
            out += &format!("{by} cannot describe {} of {} draws of {from}; ", list.len(), found.draws);
            out += &shown(worst);
        }
    }
    out
}

fn shown(failed: &Failed) -> String {
    let place = if failed.outside { "on the wider range" } else { "on the inputs" };
    let values: Vec<String> = failed.values.iter().map(|v| format!("{v:.4}")).collect();
    format!("{:.1e} of the deviation is left {place} at ({})\n", failed.error, values.join(" "))
}
