//! `dmci fit`: parameters from data.

mod checkpoint;
mod progress;
mod settings;
pub mod stored;
mod table;

use crate::args::ProgramArgs;
use crate::args::fit::{DataArgs, Fit as Arguments};
use crate::source::Source;
use crate::{files, options, output};
use checkpoint::Keeper;
use dmci::ErrorCode;
use dmci::{Diagnostic, Program, Report, RunOptions};
use dmci_fit::literals::{Literal, literals, parametrised, written_back};
use dmci_fit::{Fit, Problem, ProblemOptions};
use dmci_plot::{chart, png, svg};
use progress::Meter;
use std::ops::ControlFlow;
use std::path::Path;

/// Fits a program.
pub fn fit(args: &Arguments) -> u8 {
    match run(args) {
        Ok(code) => code,
        Err(report) => output::fail(&report, args.json),
    }
}

fn run(args: &Arguments) -> Result<u8, Report> {
    let mut fit_options = settings::fit_options(args)?;
    check_outputs(args)?;
    let run = options::run_options(&args.options)?;
    let problem = problem(args, &run)?;
    options::stop_on_interrupt(&run.cancel);
    let mut keeper = Keeper::new(args.checkpoint.as_deref());
    if args.resume {
        fit_options.resume = keeper.read()?;
    }
    let mut meter = Meter::new(!args.quiet);
    let result = dmci_fit::fit(&problem, &fit_options, &mut |progress| {
        meter.show(progress);
        keeper.keep(progress);
        if run.cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    meter.clear();
    let mut fit = result?;
    if !fit.was_interrupted() {
        intervals(args, &problem, &mut fit, &run)?;
    }
    let json = dmci_fit::to_json(&problem, &fit_options, &fit);
    let picture = dmci_fit::picture(&problem, &fit, args.x.as_deref())?;
    if args.json {
        output::print_json(&json);
    } else {
        if !args.quiet {
            // An objective that says nothing about a target leaves nothing to draw.
            let chart = if picture.points.is_empty() { String::new() } else { format!("\n{}", chart(&picture)) };
            output::print(&format!("{}{chart}", table::table(&problem, &fit)));
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
        let bytes = if has_end(path, "png") { png(&picture) } else { svg(&picture).into_bytes() };
        files::write(path, &bytes, "--plot")?;
    }
    if let Some(path) = &args.trace {
        files::write(path, trace(&fit).as_bytes(), "--trace")?;
    }
    if let Some(path) = &args.write {
        files::write(path, rewritten(args, &problem, &fit)?.as_bytes(), "--write")?;
    }
    keeper.result()?;
    Ok(if fit.was_interrupted() { 130 } else { 0 })
}

/// Intervals that cost fits of their own. Ctrl-C ends them and keeps what there is.
fn intervals(args: &Arguments, problem: &Problem, fit: &mut Fit, run: &RunOptions) -> Result<(), Report> {
    let result = match args.bootstrap {
        Some(samples) => {
            let samples = usize::try_from(samples).unwrap_or(usize::MAX);
            dmci_fit::bootstrap(problem, fit, samples, args.options.seed, &|_| !run.cancel.is_cancelled())
        }
        None if args.intervals == "profile" => dmci_fit::profile(problem, fit, &|| !run.cancel.is_cancelled()),
        None => Ok(()),
    };
    // What was found before counts, if the last fit was cut short.
    let cut_short = run.cancel.is_cancelled();
    problem.resume();
    if cut_short { Ok(()) } else { result }
}

fn has_end(path: &Path, end: &str) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case(end))
}

/// The best loss of every search after every epoch, as a table.
fn trace(fit: &Fit) -> String {
    let mut text = String::from("restart,optimizer,epoch,loss\n");
    for (i, restart) in fit.restarts.iter().enumerate() {
        for (epoch, loss) in restart.trace.iter().enumerate() {
            text += &format!("{i},{},{epoch},{loss:?}\n", restart.optimizer);
        }
    }
    text
}

/// Mistakes in the names of files are reported before anything is computed.
fn check_outputs(args: &Arguments) -> Result<(), Report> {
    if let Some(path) = &args.plot
        && !has_end(path, "svg")
        && !has_end(path, "png")
    {
        let message = format!("a plot is an .svg or .png file, got --plot {}", path.display());
        let help = format!("write --plot {}", path.with_extension("svg").display());
        return Err(output::usage_error(message, help));
    }
    if args.plot.is_some() && args.data.objective && args.data.target.is_none() {
        let message = "a plot shows what is predicted beside a target, and there is no --target";
        return Err(output::usage_error(message, "name the column that the result yhat predicts, or remove --plot"));
    }
    let inputs = [args.program.file.as_deref(), Some(args.data.data.as_path())];
    let outputs = [
        (&args.out, "--out"),
        (&args.plot, "--plot"),
        (&args.trace, "--trace"),
        (&args.checkpoint, "--checkpoint"),
        (&args.write, "--write"),
    ];
    for (path, option) in outputs {
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
    let problem = problem_of(&args.program, &args.data, run)?;
    let Some(x) = &args.x else { return Ok(problem) };
    let table = files::read_table(&args.data.data, &settings::missing(&args.data))?;
    let column = dmci_fit::find_column(&table, x)?;
    if !problem.inputs.contains(x) || column.reals().is_err() {
        let message = format!("{x} cannot be the horizontal axis: it is no number that the program reads");
        let help = format!("the program reads {}", problem.inputs.join(", "));
        return Err(Report::from(Diagnostic::error(ErrorCode::E0704, message).help(help)));
    }
    Ok(problem)
}

/// What is to be fitted or sampled.
pub fn problem_of(program: &ProgramArgs, data: &DataArgs, run: &RunOptions) -> Result<Problem, Report> {
    let mut program = Source::of(program.file.as_deref(), program.expression.as_deref())?.program();
    if data.params.is_some() {
        program = literals_of(&program)?;
    }
    check_settings(&program, run)?;
    let table = files::read_table(&data.data, &settings::missing(data))?;
    let mut run = run.clone();
    let mut group_starts = Vec::new();
    if let Some(path) = &data.start_from {
        // What the command line sets counts more than what another fit found.
        let fit = stored::read(path)?;
        let given: Vec<String> = run.bindings.iter().map(|(name, _)| name.clone()).collect();
        run.bindings.extend(stored::values(&fit).into_iter().filter(|(name, _)| !given.contains(name)));
        group_starts = stored::group_starts(&fit, &dmci::Interpreter::shared().names(&program)?.schema);
        group_starts.retain(|start| !given.contains(&start.parameter));
    }
    let options = ProblemOptions {
        run,
        holdout: settings::holdout(data.holdout.as_deref())?,
        loss: settings::loss(data)?,
        weights: data.weights.clone(),
        sigma: data.sigma.clone(),
        trials: data.trials.clone(),
        group: data.group.clone(),
        only: data.only.as_ref().map(|list| list.split(',').map(|n| n.trim().to_string()).collect()),
        group_starts,
    };
    match &data.target {
        target if data.objective => Problem::objective(program, &table, target.as_deref(), options),
        target => Problem::new(program, &table, target.as_deref().unwrap_or_default(), options),
    }
}

/// A name that is set and that the program does not have is a slip: nothing would be set.
fn check_settings(program: &Program, run: &RunOptions) -> Result<(), Report> {
    let names = dmci::Interpreter::shared().names(program)?;
    if names.mentioned.is_empty() {
        return Ok(());
    }
    let is_known = |name: &String| names.mentioned.contains(name) || names.schema.find(name).is_some();
    let Some((name, _)) = run.bindings.iter().find(|(name, _)| !is_known(name)) else { return Ok(()) };
    let parameters: Vec<&str> = names.schema.parameters.iter().map(|p| p.name.as_str()).collect();
    let help = format!("its parameters are {}", parameters.join(", "));
    let message = format!("{} does not mention {name}, which --set sets", program.name);
    Err(Report::from(Diagnostic::error(ErrorCode::E0701, message).help(help)))
}

/// The program with its literals as parameters.
fn literals_of(program: &Program) -> Result<Program, Report> {
    let declared = !dmci::Interpreter::shared().names(program)?.schema.is_empty();
    let found = literals(&program.text);
    if declared || found.is_empty() {
        let (message, help) = match declared {
            true => ("declares its parameters already", "remove --params literals, or (params ...)"),
            false => ("has no real literals", "write numbers with a point: 2.0 is fitted, 2 is not"),
        };
        return Err(Report::from(
            Diagnostic::error(ErrorCode::E0801, format!("{} {message}", program.name)).help(help),
        ));
    }
    Ok(parametrised(program))
}

/// The program with what was found in the place of what it started from.
fn rewritten(args: &Arguments, problem: &Problem, fit: &Fit) -> Result<String, Report> {
    let original = Source::of(args.program.file.as_deref(), args.program.expression.as_deref())?.program();
    if args.data.params.is_some() {
        // What is fixed stands behind what was fitted, so that the order says nothing.
        let value = |(i, literal): (usize, &Literal)| {
            let fitted = fit.parameters.iter().find(|p| p.name == format!("c{}", i + 1));
            fitted.map_or(literal.value, |p| p.value)
        };
        let values: Vec<f64> = literals(&original.text).iter().enumerate().map(value).collect();
        return Ok(written_back(&original.text, &values));
    }
    dmci_fit::with_starts(problem, fit)
}
