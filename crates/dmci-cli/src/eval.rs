//! `dmci eval`: a program for every row of a table.

mod prepared;
mod results;

use crate::args::Eval;
use crate::fit::stored;
use crate::options::Clock;
use crate::source::Source;
use crate::{files, options, output};
use dmci::{Datum, Diagnostic, Interpreter, Names, Program, Report, RunOptions};
use dmci_fit::Table;
pub use prepared::{Prepared, check_settings, number_names, numbers, present, rows_without, wanted, words};
use results::{Results, field};
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;

/// Failed rows that are shown in full.
const SHOWN: usize = 5;

/// Evaluates all rows.
pub fn eval(args: &Eval) -> u8 {
    evaluate(args).unwrap_or_else(|report| output::fail(&report, args.json))
}

fn evaluate(args: &Eval) -> Result<u8, Report> {
    if let Some(path) = &args.out {
        files::check_place(path, "--out")?;
    }
    let mut run = options::run_options(&args.options)?;
    let fit = args.fit.as_ref().map(|path| stored::read(path)).transpose()?;
    let is_objective = fit.as_ref().is_some_and(|fit| fit["loss"]["name"] == "objective");
    let program = match &fit {
        Some(fit) => stored::program(fit),
        None => Source::of(args.program.file.as_deref(), args.program.expression.as_deref())?.program(),
    };
    let names = Interpreter::shared().names(&program)?;
    let groups_by = names.schema.parameters.iter().filter_map(|p| p.per.clone());
    let read: Vec<String> = names.mentioned.iter().cloned().chain(groups_by).collect();
    let missing = words(args.missing.as_deref());
    let table = match is_objective {
        true => files::read_table(&args.data, &missing)?,
        false => files::read_columns(&args.data, &missing, &read)?,
    };
    check_settings(&names, &table, &run)?;
    options::stop_on_interrupt(&run.cancel);
    if let Some(fit) = &fit {
        // What the command line sets counts more than what the fit found.
        let given: Vec<String> = run.bindings.iter().map(|(name, _)| name.clone()).collect();
        run.bindings.extend(stored::values(fit).into_iter().filter(|(name, _)| !given.contains(name)));
        if is_objective {
            return objective(args, &program, &names, &table, run);
        }
    }
    let missing = rows_without(&table, &read)?;
    let groups = fit.as_ref().map_or(Ok(Vec::new()), |fit| groups(fit, &names, &table, &missing))?;
    let clock = Clock::start(&run);
    let cancel = run.cancel.clone();
    let mut batch = Results::default();
    if groups.is_empty() {
        batch.add(args, &program, &names, &table, run, &present(&table, &missing))?;
    } else {
        for (rows, values) in groups.into_iter().filter(|(rows, _)| !rows.is_empty()) {
            let mut run = run.clone();
            run.bindings.extend(values);
            batch.add(args, &program, &names, &table, run, &rows)?;
        }
    }
    batch.failures.sort_by_key(|f| f.0);
    batch.failures.iter_mut().for_each(|(_, report)| clock.explain(report));
    if !missing.is_empty() {
        let rows = if missing.len() == 1 { "1 row gives".into() } else { format!("{} rows give", missing.len()) };
        let message = format!("{}: {rows} nan, because something is missing", table.name);
        batch.warnings.append(Report::of(*Diagnostic::warning("W0702", message)));
    }
    report(args, &batch, &missing, cancel.is_cancelled() && !clock.rang())
}

/// Writes results and failures, and gives the exit code.
fn report(args: &Eval, batch: &Results, missing: &[usize], interrupted: bool) -> Result<u8, Report> {
    let code = batch.failures.iter().map(|f| f.1.exit_code()).max().unwrap_or(0);
    if args.json {
        write(args, &format!("{}\n", batch.to_json(args.grad, missing)))?;
        return Ok(code);
    }
    write(args, &batch.text(args.grad))?;
    if !batch.warnings.diagnostics.is_empty() {
        output::print_report(&batch.warnings);
    }
    // An interruption is told once, and not for every row that it leaves without a value.
    let (cancelled, failed): (Vec<_>, Vec<_>) =
        batch.failures.iter().partition(|f| interrupted && f.1.exit_code() == 130);
    for (row, report) in failed.iter().take(SHOWN) {
        output::complain(&format!("row {}:", row + 1));
        output::print_report(report);
    }
    if failed.len() > SHOWN {
        output::complain(&format!("... and {} more rows failed", failed.len() - SHOWN));
    }
    if !cancelled.is_empty() {
        let (left, all) = (cancelled.len(), batch.values.len());
        let message = format!("the run was cancelled; {left} of {all} rows have no value");
        output::print_report(&Report::of(*Diagnostic::error("E0409", message)));
    }
    Ok(code)
}

fn write(args: &Eval, text: &str) -> Result<(), Report> {
    match &args.out {
        None => {
            output::print(text);
            Ok(())
        }
        Some(path) => files::write(path, text.as_bytes(), "--out"),
    }
}

/// The rows of each group of a fit, with the parameters that are its own; empty if there are no groups.
#[allow(clippy::type_complexity)]
fn groups(
    fit: &Json,
    names: &Names,
    table: &Table,
    missing: &[usize],
) -> Result<Vec<(Vec<usize>, Vec<(String, Datum)>)>, Report> {
    let Some(parameter) = names.schema.parameters.iter().find(|p| p.per.is_some()) else { return Ok(Vec::new()) };
    let per = parameter.per.as_deref().unwrap_or_default();
    let column = dmci_fit::find_column(table, per)?;
    let known: Vec<&str> = fit["data"]["groups"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let group_of = |row: usize| column.shown(row).trim_matches('"').to_string();
    let present = present(table, missing);
    if let Some(&row) = present.iter().find(|&&row| !known.contains(&group_of(row).as_str())) {
        let message = format!("row {} is of the group {}, which was not fitted", row + 1, group_of(row));
        return Err(Report::of(*Diagnostic::error("E0705", message).help(format!("groups are {}", known.join(", ")))));
    }
    // The number k[group] of a parameter, or the numbers w.0[group], w.1[group] of a tensor.
    let value = |name: &str, group: &str| {
        let end = format!("[{group}]");
        let numbers = fit["parameters"][name]["numbers"].as_array()?.iter();
        let own = numbers.filter(|n| n["name"].as_str().is_some_and(|n| n.ends_with(&end)));
        let values = own.map(|n| n["value"].as_f64().map(Datum::Real)).collect::<Option<Vec<Datum>>>()?;
        match &values[..] {
            [] => None,
            [one] => Some(one.clone()),
            _ => Some(Datum::list(values)),
        }
    };
    let of_group = |group: &&str| {
        let rows = present.iter().copied().filter(|&row| group_of(row) == *group).collect();
        let own = names.schema.parameters.iter().filter(|p| p.per.is_some());
        let values = own.filter_map(|p| Some((p.name.clone(), value(&p.name, group)?))).collect();
        (rows, values)
    };
    Ok(known.iter().map(of_group).collect())
}

/// The named results of an objective program over whole columns, as a table of those that have a number for
/// every row; single numbers come before it.
fn objective(args: &Eval, program: &Program, names: &Names, table: &Table, mut run: RunOptions) -> Result<u8, Report> {
    // Parameters are bound with the shape that the schema gives them.
    for (name, datum) in &mut run.bindings {
        if let Some(parameter) = names.schema.find(name) {
            let mut moved = parameter.clone();
            if moved.set_start(datum) {
                *datum = moved.datum();
            }
        }
    }
    let results = dmci_fit::results_of(program, names, table, run)?;
    if args.json {
        let named: Map<String, Json> = results.iter().map(|(name, datum)| (name.clone(), datum.to_json())).collect();
        write(args, &format!("{}\n", json!({"results": named})))?;
        return Ok(0);
    }
    let mut text = String::new();
    let columns: Vec<(&String, Vec<f64>)> =
        results.iter().map(|(name, datum)| (name, dmci_fit::numbers(datum))).collect();
    for (name, list) in columns.iter().filter(|c| c.1.len() == 1) {
        let _ = writeln!(text, "# {name} {}", field(list[0]));
    }
    let series: Vec<&(&String, Vec<f64>)> =
        columns.iter().filter(|c| c.1.len() == table.rows && table.rows > 1).collect();
    if !series.is_empty() {
        let heads: Vec<&str> = series.iter().map(|c| c.0.as_str()).collect();
        let _ = writeln!(text, "{}", heads.join(","));
        for row in 0..table.rows {
            let cells: Vec<String> = series.iter().map(|c| field(c.1[row])).collect();
            let _ = writeln!(text, "{}", cells.join(","));
        }
    }
    write(args, &text)?;
    Ok(0)
}
