//! From arguments to options of a run.

use crate::args::{RunArgs, SwitchArgs};
use crate::source::load_program;
use dmci::{Bindings, Cancel, Datum, Limits, Mode, ModelOptions, Numerics, Passes, Report, RunOptions, SoftChoice};
use std::path::Path;

/// The options of a run; reads the evaluator's file if the mode names one.
pub fn run_options(args: &RunArgs) -> Result<RunOptions, Report> {
    let defaults = Limits::default();
    let limits = Limits {
        fuel: args.fuel.unwrap_or(defaults.fuel),
        heap: args.heap.map_or(defaults.heap, as_usize),
        depth: args.depth.map_or(defaults.depth, as_usize),
        output: args.output_limit.map_or(defaults.output, as_usize),
        time: args.time.unwrap_or(defaults.time),
    };
    let mode = mode(&args.mode)?;
    let bindings = bindings(&args.set)?;
    let soft = SoftChoice { temperature: args.temperature, hard: args.hard, gumbel: args.gumbel };
    Ok(RunOptions {
        mode,
        limits,
        bindings,
        seed: args.seed,
        soft,
        numerics: Numerics { single: args.f32, clamps: args.clamps },
        ..RunOptions::default()
    })
}

/// The mode with this name.
pub fn mode(name: &str) -> Result<Mode, Report> {
    let Some(file) = name.strip_prefix("eval:") else {
        return Mode::parse(name).map_err(|e| Report::of(*e));
    };
    let program = load_program(Path::new(file))?.program();
    Ok(Mode::Evaluator { name: program.name, text: program.text })
}

/// The values of `--set`; all bad ones are reported.
pub fn bindings(settings: &[String]) -> Result<Bindings, Report> {
    let mut bindings = Bindings::new();
    let mut bad: Option<Report> = None;
    for setting in settings {
        match Datum::parse_setting(setting) {
            Ok(binding) => bindings.push(binding),
            Err(report) => match &mut bad {
                None => bad = Some(report),
                Some(bad) => bad.append(report),
            },
        }
    }
    bad.map_or(Ok(bindings), Err)
}

fn as_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// Lets Ctrl-C stop the run; a second Ctrl-C ends the process at once.
pub fn stop_on_interrupt(cancel: &Cancel) {
    let cancel = cancel.clone();
    // Without a handler Ctrl-C still ends the process, so a failure here is no reason to stop.
    let _ = ctrlc::set_handler(move || {
        if cancel.is_cancelled() {
            std::process::exit(130);
        }
        cancel.cancel();
    });
}

/// The passes that are switched on.
pub fn passes(switches: &SwitchArgs) -> Passes {
    Passes { dead: !switches.no_dead, merge: !switches.no_merge, stage: !switches.no_stage }
}

/// How a program is run over rows.
pub fn model_options(run: RunOptions, switches: &SwitchArgs) -> ModelOptions {
    ModelOptions {
        run,
        passes: passes(switches),
        joins: !switches.no_joins,
        loops: !switches.no_loops,
        ..ModelOptions::default()
    }
}
