//! Programs that give their own objective, over other data than they were fitted to.

use super::{field, write};
use crate::args::Eval;
use crate::output;
use dmci::{Datum, Names, Program, Report, RunOptions};
use dmci_fit::{FitRecord, FittedGroup, Table, fitted_groups};
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;

/// The named results of a run of the program.
type Results = Vec<(String, Datum)>;

/// The named results of an objective program over whole columns, as a table of those that have a number for
/// every row; single numbers come before it. With groups, it is run for each of them, and the objectives add up.
pub fn objective(
    args: &Eval,
    fit: &FitRecord,
    program: &Program,
    names: &Names,
    table: &Table,
    run: RunOptions,
) -> Result<u8, Report> {
    let all: Vec<usize> = (0..table.rows).collect();
    let groups = fitted_groups(fit, names, table, &all)?;
    let mut results = Vec::with_capacity(groups.len());
    for group in &groups {
        let mut run = run.clone();
        let given: Vec<String> = run.bindings.iter().map(|(name, _)| name.clone()).collect();
        run.bindings.extend(group.values.iter().filter(|(name, _)| !given.contains(name)).cloned());
        results.push(dmci_fit::results_of(program, names, table, &group.rows, shaped(names, run))?);
    }
    if groups.is_empty() {
        let results = dmci_fit::results_of(program, names, table, &all, shaped(names, run))?;
        let text = match args.json {
            true => format!("{}\n", output::of_form("eval-objective", json!({"results": object(&results)}))),
            false => text(table.rows, &results, &[]),
        };
        return write(args, &text).map(|()| 0);
    }
    let sum = together(table.rows, &groups, &results);
    let text = if args.json {
        let each = groups.iter().zip(&results).map(|(group, results)| (group.name.clone(), object(results).into()));
        format!(
            "{}\n",
            output::of_form(
                "eval-objective",
                json!({"results": object(&sum), "groups": each.collect::<Map<String, Json>>()})
            )
        )
    } else {
        let own = |name: &str| sum.iter().all(|(other, _)| other != name);
        let single = groups.iter().zip(&results).flat_map(|(group, results)| {
            let single = results.iter().filter(|(name, datum)| own(name) && dmci_fit::numbers(datum).len() == 1);
            single.map(|(name, datum)| (format!("{name}[{}]", group.name), datum.clone()))
        });
        text(table.rows, &sum, &single.collect::<Results>())
    };
    write(args, &text).map(|()| 0)
}

/// Parameters are bound with the shape that the schema gives them.
fn shaped(names: &Names, mut run: RunOptions) -> RunOptions {
    for (name, datum) in &mut run.bindings {
        if let Some(parameter) = names.schema.find(name) {
            let mut moved = parameter.clone();
            if moved.set_start(datum) {
                *datum = moved.datum();
            }
        }
    }
    run
}

/// What all groups give together: the sum of their objectives, and what has a number for every row.
fn together(rows: usize, groups: &[FittedGroup], results: &[Results]) -> Results {
    let mut sum: Results = Vec::new();
    let names = results.first().into_iter().flatten().map(|(name, _)| name);
    for name in names {
        let found = |results: &Results| {
            let datum = results.iter().find(|(other, _)| other == name);
            datum.map_or(Vec::new(), |(_, datum)| dmci_fit::numbers(datum))
        };
        let lists: Vec<Vec<f64>> = results.iter().map(found).collect();
        if name == "loss" {
            let total: f64 = lists.iter().flatten().sum();
            sum.push((name.clone(), Datum::Real(total)));
        } else if lists.iter().zip(groups).all(|(list, group)| list.len() == group.rows.len()) {
            let mut column = vec![Datum::Real(f64::NAN); rows];
            for (group, list) in groups.iter().zip(lists) {
                group.rows.iter().zip(list).for_each(|(&row, x)| column[row] = Datum::Real(x));
            }
            sum.push((name.clone(), Datum::list(column)));
        }
    }
    sum
}

fn object(results: &Results) -> Map<String, Json> {
    results.iter().map(|(name, datum)| (name.clone(), datum.to_json())).collect()
}

/// Single numbers, then those of groups, then the columns.
fn text(rows: usize, results: &Results, of_groups: &[(String, Datum)]) -> String {
    let mut text = String::new();
    let columns: Vec<(&String, Vec<f64>)> =
        results.iter().chain(of_groups).map(|(name, datum)| (name, dmci_fit::numbers(datum))).collect();
    for (name, list) in columns.iter().filter(|c| c.1.len() == 1) {
        let _ = writeln!(text, "# {name} {}", field(list[0]));
    }
    let series: Vec<&(&String, Vec<f64>)> = columns.iter().filter(|c| c.1.len() == rows && rows > 1).collect();
    if !series.is_empty() {
        let heads: Vec<&str> = series.iter().map(|c| c.0.as_str()).collect();
        let _ = writeln!(text, "{}", heads.join(","));
        for row in 0..rows {
            let cells: Vec<String> = series.iter().map(|c| field(c.1[row])).collect();
            let _ = writeln!(text, "{}", cells.join(","));
        }
    }
    text
}
