//! `dmci same`: whether two programs describe the same family of functions.

use super::rows::{reals, wrong};
use crate::args::search::Same;
use crate::{files, output};
use dmci::{Program, Report};
use dmci_search::candidate::Candidate;
use dmci_search::funnel::{Contract, read};
use dmci_search::operation::{Operation, Operations};
use dmci_search::same::{Comparison, Relation, compare};
use serde_json::json;
use std::path::Path;

/// Compares two programs.
pub fn same(args: &Same) -> u8 {
    match run(args) {
        Ok(()) => 0,
        Err(report) => output::fail(&report, args.json),
    }
}

/// Rows that are drawn without a table.
const ROWS: usize = 120;

/// The largest program that is compared.
const SIZE: usize = 400;

fn run(args: &Same) -> Result<(), Report> {
    let texts = [text(&args.first)?, text(&args.second)?];
    let mut inputs: Vec<String> = Vec::new();
    for text in &texts {
        inputs.extend(Program::new(text).free_names()?);
    }
    inputs.sort();
    inputs.dedup();
    let columns: Vec<Vec<f64>> = match &args.data {
        Some(path) => {
            let table = files::read_table(path, &[])?;
            inputs.iter().map(|name| reals(&table, name)).collect::<Result<_, _>>()?
        }
        // Steps that have no common period fill the range evenly and are the same everywhere.
        None => {
            let place = |i: usize, r: usize| {
                ((r as f64 + 0.5) * [0.618_033_988_7, 0.754_877_666_2, 0.569_840_290_9][i % 3] * (1 + i / 3) as f64)
                    .fract()
            };
            (0..inputs.len()).map(|i| (0..ROWS).map(|r| 0.5 + 2.5 * place(i, r)).collect()).collect()
        }
    };
    let operations = Operations { list: Operation::ALL.to_vec() };
    let contract = Contract { inputs: &inputs, operations: &operations, size: SIZE };
    let candidate = |path: &Path, text: &str| -> Result<Candidate, Report> {
        read(text, &contract)
            .map_err(|r| wrong(format!("{} cannot be compared: {}", path.display(), r.message), &r.hint))
    };
    let (a, b) = (candidate(&args.first, &texts[0])?, candidate(&args.second, &texts[1])?);
    let found = compare(&a, &b, &columns, 0);
    if args.json {
        output::print_json(&json!(found));
    } else {
        output::print_line(&words(args, &found));
    }
    Ok(())
}

fn text(path: &Path) -> Result<String, Report> {
    std::fs::read_to_string(path).map_err(|error| files::cannot_read(&path.display().to_string(), &error))
}

fn words(args: &Same, found: &Comparison) -> String {
    let (a, b) = (args.first.display(), args.second.display());
    let count = |failed: usize| format!("{} of {}", found.draws - failed, found.draws);
    let (of_a, of_b) = (count(found.failed.0.len()), count(found.failed.1.len()));
    match found.relation {
        Relation::Same if found.same_form => "same: both have the same canonical form".into(),
        Relation::Same => format!("same: each fits {} draws of the other", found.draws),
        Relation::FirstWithinSecond => {
            format!("{a} within {b}: {b} fits {of_a} draws of {a}, {a} fits {of_b} draws of {b}")
        }
        Relation::SecondWithinFirst => {
            format!("{b} within {a}: {a} fits {of_b} draws of {b}, {b} fits {of_a} draws of {a}")
        }
        Relation::Different => format!("different: {b} fits {of_a} draws of {a}, {a} fits {of_b} draws of {b}"),
    }
}
