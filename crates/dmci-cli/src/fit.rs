//! `dmci fit`: parameters from data.

mod checkpoint;
pub mod progress;
pub mod request;
mod table;

use crate::args::fit::Fit as Arguments;
use crate::{files, options, output};
use checkpoint::Keeper;
use dmci::{Report, Spelling};
use dmci_fit::{FitRecord, FitRequest, OutputFile, Progress};
use dmci_plot::chart;
use progress::Meter;
use request::Loaded;
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
    if args.print_schema {
        output::print_line(&format!("{:#}", FitRequest::schema()));
        return Ok(0);
    }
    let request = request::of(args)?;
    if let Some(form) = &args.print_request {
        let json = || serde_json::to_string_pretty(&request).unwrap_or_default();
        output::print_line(if form == "toml" { request.to_toml()? } else { json() }.trim_end());
        return Ok(0);
    }
    let mut fit_options = request.options()?;
    check_files(&request)?;
    let run = options::options_of(&request.run)?;
    let loaded = Loaded::read(&request)?;
    let problem = loaded.problem(run.clone())?;
    options::stop_on_interrupt(&run.cancel);
    let mut keeper = Keeper::new(request.outputs.checkpoint.as_deref().map(Path::new));
    if request.outputs.resume {
        fit_options.resume = keeper.read()?;
    }
    let mut meter = Meter::new(!args.quiet);
    let mut observe = |progress: &Progress| {
        meter.show(progress);
        keeper.keep(progress);
        if run.cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let result = request.fit(&problem, &fit_options, &mut observe, &|| run.cancel.is_cancelled());
    meter.clear();
    let mut fit = result?;
    fit.warnings = fit.warnings.spelled(Spelling::Flag);
    let mut record = FitRecord::new(&problem, &fit_options, &fit);
    let original = loaded.formula.as_ref().and_then(|formula| formula.original.as_ref());
    let original = original.map(|scale| (&scale.name, scale.score(&problem.training().indices, &fit.predictions)));
    record.original_scale = original.as_ref().map(|(_, score)| score.into());
    let picture = dmci_fit::picture(&problem, &fit, request.outputs.x.as_deref(), request.outputs.log_axes()?)?;
    if args.json {
        output::print_json(&record.to_json());
    } else {
        if !args.quiet {
            // An objective that says nothing about a target leaves nothing to draw.
            let is_drawn = !args.no_chart && !picture.points.is_empty();
            let chart = if is_drawn { format!("\n{}", chart(&picture)) } else { String::new() };
            let names = loaded.formula.as_ref().map_or(String::new(), table::names);
            let scale = original.map_or(String::new(), |(name, score)| table::original_scale(name, &score));
            let residuals = fit.diagnosis.as_ref().map_or(String::new(), |d| format!("\n{}", d.text()));
            let together = if args.correlations { table::correlations(&record) } else { String::new() };
            output::print(&format!("{names}{}{scale}{together}{residuals}{chart}", table::table(&problem, &fit)));
        }
        if !fit.warnings.diagnostics.is_empty() {
            output::print_report(&fit.warnings);
        }
    }
    // What was found is on the screen already: a file that cannot be written does not lose it.
    for OutputFile { setting, path, bytes } in request.outputs(&loaded.program, &problem, &fit, &record)? {
        files::write(Path::new(path), &bytes, &format!("--{setting}"))?;
    }
    keeper.result()?;
    Ok(if fit.was_interrupted() { 130 } else { 0 })
}

/// Mistakes in the names of files are reported before anything is computed.
fn check_files(request: &FitRequest) -> Result<(), Report> {
    let inputs = [request.problem.program.as_deref(), request.problem.data.as_deref()];
    for (setting, path) in request.outputs.files() {
        files::check_place(Path::new(path), &format!("--{setting}"))?;
        if inputs.iter().flatten().any(|input| same_file(Path::new(input), Path::new(path))) {
            let message = format!("--{setting} {path} would overwrite what the fit reads");
            return Err(output::usage_error(message, "name another file"));
        }
    }
    Ok(())
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
