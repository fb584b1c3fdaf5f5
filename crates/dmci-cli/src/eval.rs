//! `dmci eval`: a program for every row of a table.

mod objective;
mod results;

use crate::args::Eval;
use crate::fit::request::read_fit;
use crate::options::Clock;
use crate::source::Source;
use crate::{files, options, output};
use dmci::ErrorCode;
use dmci::{Diagnostic, Interpreter, Report};
use dmci_fit::{FitRecord, Table, check_settings, fitted_groups, present, rows_without, with_matrices, words};
use objective::objective;
use results::{Results, field};

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
    let fit = args.fit.as_ref().map(|path| read_fit(path)).transpose()?;
    let is_objective = fit.as_ref().is_some_and(FitRecord::is_objective);
    let program = match &fit {
        Some(fit) => fit.program(),
        None => Source::of(args.program.file.as_deref(), args.program.expression.as_deref())?.program(),
    };
    let names = Interpreter::shared().names(&program)?;
    let groups_by = names.schema.parameters.iter().filter_map(|p| p.per.clone());
    let read: Vec<String> = names.mentioned.iter().cloned().chain(groups_by).collect();
    let missing = words(args.missing.as_deref());
    let matrices = fit.as_ref().map(|fit| &fit.data.matrices[..]).unwrap_or_default();
    // Columns of matrices may be any.
    let table = match is_objective || !matrices.is_empty() {
        true => files::read_table(&args.data, &missing)?,
        false => files::read_columns(&args.data, &missing, &read)?,
    };
    let table = with_matrices(&table, matrices)?;
    let table = &*table;
    check_settings(&names, table, &run)?;
    options::stop_on_interrupt(&run.cancel);
    if let Some(fit) = &fit {
        // What the command line sets counts more than what the fit found.
        let given: Vec<String> = run.bindings.iter().map(|(name, _)| name.clone()).collect();
        run.bindings.extend(fit.values().into_iter().filter(|(name, _)| !given.contains(name)));
        if is_objective {
            return objective(args, fit, &program, &names, table, run);
        }
    }
    let missing = rows_without(table, &read)?;
    let groups =
        fit.as_ref().map_or(Ok(Vec::new()), |fit| fitted_groups(fit, &names, table, &present(table, &missing)))?;
    let clock = Clock::start(&run);
    let cancel = run.cancel.clone();
    let targets =
        fit.as_ref().map(|fit| fit.data.targets.clone()).filter(|targets| targets.len() > 1).unwrap_or_default();
    let mut batch = Results::of(targets);
    if groups.is_empty() {
        batch.add(args, &program, &names, table, run, &present(table, &missing))?;
    } else {
        for group in groups {
            let mut run = run.clone();
            run.bindings.extend(group.values);
            batch.add(args, &program, &names, table, run, &group.rows)?;
        }
    }
    batch.failures.sort_by_key(|f| f.0);
    batch.failures.iter_mut().for_each(|(_, report)| explain_columns(report, table));
    batch.failures.iter_mut().for_each(|(_, report)| clock.explain(report));
    if !missing.is_empty() {
        let rows = if missing.len() == 1 { "1 row gives".into() } else { format!("{} rows give", missing.len()) };
        let message = format!("{}: {rows} nan, because something is missing", table.name);
        batch.warnings.append(Report::from(Diagnostic::warning(ErrorCode::W0702, message)));
    }
    report(args, &batch, &missing, cancel.is_cancelled() && !clock.rang())
}

/// A column whose name stands only in a text or quoted form that is evaluated later is not bound: says what to do.
fn explain_columns(report: &mut Report, table: &Table) {
    for diagnostic in report.diagnostics.iter_mut().filter(|d| d.code == ErrorCode::E0301) {
        let column = table.columns.iter().find(|c| diagnostic.message.contains(&format!("variable {} is", c.name)));
        if let Some(column) = column {
            let name = &column.name;
            let why = format!("{name} is a column of {}, which the program mentions only inside of data", table.name);
            diagnostic.help = Some(format!("{why}; mention it outside, for example as (define {name}-column {name})"));
        }
    }
}

/// Writes results and failures, and gives the exit code.
fn report(args: &Eval, batch: &Results, missing: &[usize], interrupted: bool) -> Result<u8, Report> {
    let code = batch.failures.iter().map(|f| f.1.exit_code()).max().unwrap_or(0);
    if args.json {
        write(args, &format!("{}\n", output::of_form("eval", batch.to_json(args.grad, missing))))?;
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
    // One failure stands for all rows that were not done in time.
    let cut = batch.cut.len().saturating_sub(1);
    let more = failed.len().saturating_sub(SHOWN) + if interrupted { 0 } else { cut };
    if more > 0 {
        output::complain(&format!("... and {more} more rows failed"));
    }
    if !cancelled.is_empty() {
        let (left, all) = (cancelled.len() + cut, batch.rows());
        let message = format!("the run was cancelled; {left} of {all} rows have no value");
        output::print_report(&Report::from(Diagnostic::error(ErrorCode::E0409, message)));
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
