//! `dmci tape`: what is recorded of a program, and why.

use crate::args::Tape;
use crate::grad::{failed, grad_options};
use crate::options::Clock;
use crate::output::{self, print_form};
use crate::source::Source;
use crate::{files, options, run};
use dmci::{Batch, Interpreter, ModelOptions, Report, TapeOptions, TapeReport, Want};
use dmci_fit::{Prepared, check_settings, present, rows_without, words};
use serde_json::json;

/// Shows what a run recorded, or what the rows of a table need.
pub fn tape(args: &Tape) -> u8 {
    let shown = match &args.data {
        Some(_) => many(args),
        None => one(args),
    };
    shown.unwrap_or_else(|report| output::fail(&report, args.json))
}

/// One recording.
fn one(args: &Tape) -> Result<u8, Report> {
    let grad = grad_options(&args.options, args.wrt.as_deref(), false)?;
    let program = Source::of(args.program.file.as_deref(), args.program.expression.as_deref())?.program();
    options::stop_on_interrupt(&grad.run.cancel);
    let options = TapeOptions { grad, joins: !args.switches.no_joins, loops: !args.switches.no_loops };
    let recorded = match Interpreter::shared().explain(&program, &options) {
        Ok(recorded) => recorded,
        Err(failure) => return Ok(failed(&failure, args.json)),
    };
    let report = TapeReport::new(&recorded.tape, options::passes(&args.switches));
    if args.json {
        let mut object = report.to_json(args.plan);
        object["decisions"] = recorded.decisions.to_json();
        object["output"] = recorded.output.into();
        print_form("tape", object);
    } else {
        let text = report.print(args.plan) + &recorded.decisions.print();
        output::print(&(run::with_newline(&recorded.output) + &text));
    }
    Ok(0)
}

/// All recordings for the rows of a table.
fn many(args: &Tape) -> Result<u8, Report> {
    let Some(data) = &args.data else { return Ok(0) };
    let run = options::run_options(&args.options)?;
    let program = Source::of(args.program.file.as_deref(), args.program.expression.as_deref())?.program();
    let names = Interpreter::shared().names(&program)?;
    let table = files::read_columns(data, &words(args.missing.as_deref()), &names.mentioned)?;
    check_settings(&names, &table, &run)?;
    let rows = present(&table, &rows_without(&table, &names.mentioned)?);
    options::stop_on_interrupt(&run.cancel);
    let (clock, cancel) = (Clock::start(&run), run.cancel.clone());
    let Prepared { run, params, inputs, columns, point } =
        Prepared::new(&names, &table, run, options::wrt(args.wrt.as_deref()).as_deref(), &rows)?;
    let options = ModelOptions { explain: true, output: false, ..options::model_options(run, &args.switches) };
    let input_names: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let model = dmci::Model::with_params(program, params, &input_names, options);
    let mut batch = Batch::default();
    point.evaluate(&model, &columns, Want::Gradients, &mut batch)?;
    let first = model.statistics();
    point.evaluate(&model, &columns, Want::Gradients, &mut batch)?;
    clock.check(&cancel)?;
    let all = model.statistics();
    let (rows, walked, failed) = (batch.values.len(), batch.walked, batch.failures.len());
    let again = all.recordings - first.recordings;
    let decisions = model.decisions();
    if args.json {
        print_form(
            "tapes",
            json!({
                "rows": rows,
                "recordings": first.recordings,
                "again": again,
                "paths": all.paths,
                "hits": [first.hits, all.hits - first.hits],
                "walked": walked,
                "failed": failed,
                "decisions": decisions.to_json(),
            }),
        );
    } else {
        let hits = all.hits - first.hits;
        output::print(&format!(
            "{rows} rows: {} recordings, {} paths kept, {} rows on a path of another one\n\
             once more: {again} recordings, {hits} rows on known paths, {walked} walked, {failed} failed\n{}",
            first.recordings,
            all.paths,
            first.hits,
            decisions.print()
        ));
    }
    Ok(0)
}
