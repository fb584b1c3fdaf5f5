//! `dmci compare`: several models of the same rows.

use crate::args::compare::Compare;
use crate::fit::progress::Meter;
use crate::fit::request::{Loaded, read_fit, with_options};
use crate::{options, output};
use dmci::Report;
use dmci_fit::{Entrant, Progress, Validation};
use serde_json::{Map, Value as Json};
use std::path::Path;

/// Compares models.
pub fn compare(args: &Compare) -> u8 {
    run(args).unwrap_or_else(|report| output::fail(&report, args.json))
}

fn run(args: &Compare) -> Result<u8, Report> {
    let validation = args.cv.as_deref().map(Validation::parse).transpose()?;
    let given = options::given(args);
    let mut entrants = Vec::new();
    for model in &args.models {
        entrants.push(entrant(model, of_file(model, given.clone())?, args)?);
    }
    for formula in &args.formulas {
        let mut settings = given.clone();
        settings.insert("formula".into(), formula.as_str().into());
        settings.extend(args.starts.as_deref().map(|starts| ("starts".to_string(), starts.into())));
        entrants.push(entrant(formula, settings, args)?);
    }
    let run = options::run_options(&args.options)?;
    options::stop_on_interrupt(&run.cancel);
    let mut meter = Meter::new(!args.json);
    let mut watch = |progress: &Progress| meter.watch(progress, &run.cancel);
    let found = dmci_fit::compare(&entrants, validation.as_ref(), &run, &mut watch);
    meter.clear();
    let found = found?;
    match args.json {
        true => output::print_json(&found.to_json()),
        false => output::print(&found.text()),
    }
    Ok(0)
}

/// The settings of a model in a file: a program, or a fit, which says where to start and what it predicts.
fn of_file(model: &str, mut settings: Map<String, Json>) -> Result<Map<String, Json>, Report> {
    if !model.to_ascii_lowercase().ends_with(".json") {
        settings.insert("program".into(), model.into());
        return Ok(settings);
    }
    let fit = read_fit(Path::new(model))?;
    settings.insert("text".into(), fit.program.text.as_str().into());
    settings.insert("start_from".into(), model.into());
    settings.entry("target").or_insert_with(|| fit.data.targets.clone().into());
    Ok(settings)
}

/// A model with its table.
fn entrant(name: &str, settings: Map<String, Json>, args: &Compare) -> Result<Entrant, Report> {
    let request = with_options(None, settings, &args.options.set)?;
    Ok(Loaded::read(&request)?.entrant(name))
}
