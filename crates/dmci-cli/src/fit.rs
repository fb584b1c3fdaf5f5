//! `dmci fit`: parameters from data.

mod progress;
mod table;

use crate::args::Fit as Arguments;
use crate::source::Source;
use crate::{files, options, output};
use dmci::{Diagnostic, Report, RunOptions};
use dmci_fit::plot::{Picture, chart, svg};
use dmci_fit::{AdamOptions, FitOptions, Patience, Problem, ProblemOptions};
use progress::Meter;
use std::ops::ControlFlow;
use std::path::Path;

/// More searches than this would fill the memory.
const MAX_RESTARTS: u64 = 100_000;

/// Fits a program.
pub fn fit(args: &Arguments) -> u8 {
    match run(args) {
        Ok(code) => code,
        Err(report) => output::fail(&report, args.json),
    }
}

fn run(args: &Arguments) -> Result<u8, Report> {
    if args.restarts > MAX_RESTARTS {
        let message = format!("expected at most {MAX_RESTARTS} restarts, got {}", args.restarts);
        return Err(output::usage_error(message, "use several seeds, one after the other"));
    }
    check_outputs(args)?;
    let run = options::run_options(&args.options)?;
    let problem = problem(args, &run)?;
    options::stop_on_interrupt(&run.cancel);
    let fit_options = fit_options(args);
    let mut meter = Meter::new(!args.quiet);
    let result = dmci_fit::fit(&problem, &fit_options, &mut |progress| {
        meter.show(progress);
        if run.cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    meter.clear();
    let fit = result?;
    let json = dmci_fit::to_json(&problem, &fit_options, &fit);
    let picture = Picture::of(&problem, &fit, args.x.as_deref())?;
    if args.json {
        output::print_json(&json);
    } else {
        if !args.quiet {
            output::print(&format!("{}\n{}", table::table(&problem, &fit), chart(&picture)));
        }
        if !fit.warnings.diagnostics.is_empty() {
            output::print_report(&fit.warnings);
        }
    }
    // What was found is on the screen already: a file that cannot be written does not lose it.
    if let Some(path) = &args.out {
        files::write(path, format!("{json:#}\n").as_bytes(), "--out")?;
    }
    if let Some(path) = &args.plot {
        files::write(path, svg(&picture).as_bytes(), "--plot")?;
    }
    Ok(if fit.was_interrupted() { 130 } else { 0 })
}

/// Mistakes in the names of files are reported before anything is computed.
fn check_outputs(args: &Arguments) -> Result<(), Report> {
    if let Some(path) = &args.plot
        && path.extension().is_none_or(|e| !e.eq_ignore_ascii_case("svg"))
    {
        let message = format!("a plot is an .svg file, got --plot {}", path.display());
        let help = format!("write --plot {}", path.with_extension("svg").display());
        return Err(output::usage_error(message, help));
    }
    let inputs = [args.program.file.as_deref(), Some(args.data.as_path())];
    for (path, option) in [(&args.out, "--out"), (&args.plot, "--plot")] {
        let Some(path) = path else { continue };
        files::check_place(path, option)?;
        if inputs.iter().flatten().any(|input| same_file(input, path)) {
            let message = format!("{option} {} would overwrite what the fit reads", path.display());
            return Err(output::usage_error(message, "name another file"));
        }
    }
    Ok(())
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn problem(args: &Arguments, run: &RunOptions) -> Result<Problem, Report> {
    let program = Source::of(args.program.file.as_deref(), args.program.expression.as_deref())?.program();
    let table = files::read_table(&args.data)?;
    let options = ProblemOptions { run: run.clone(), holdout: args.holdout };
    let problem = Problem::new(program, &table, &args.target, options)?;
    if let Some(x) = &args.x {
        let column = dmci_fit::find_column(&table, x)?;
        if !problem.inputs.contains(x) || column.reals().is_err() {
            let message = format!("{x} cannot be the horizontal axis: it is no number that the program reads");
            let help = format!("the program reads {}", problem.inputs.join(", "));
            return Err(Report::of(*Diagnostic::error("E0704", message).help(help)));
        }
    }
    Ok(problem)
}

fn fit_options(args: &Arguments) -> FitOptions {
    let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    FitOptions {
        adam: AdamOptions { rate: args.rate, clip: args.clip, ..AdamOptions::default() },
        patience: Patience { epochs: count(args.epochs), patience: count(args.patience), ..Patience::default() },
        more_restarts: count(args.restarts) - 1,
        seed: args.options.seed,
    }
}
