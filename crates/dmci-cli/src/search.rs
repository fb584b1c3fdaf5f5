//! `dmci search` and `dmci score`: programs from data.

pub mod consult;
#[cfg_attr(not(feature = "journal"), path = "search/unkept.rs")]
mod kept;
mod meter;

use crate::args::model::ModelArgs;
use crate::args::search::{RowArgs, Score as ScoreArguments, Search as Arguments, SearchCommand};
use crate::{files, options, output};
use dmci::{Cancel, Report};
use dmci_driver::control::controls;
use dmci_driver::request::{Begun, SearchRequest, contract, exported, wrong};
use dmci_driver::{Done, Limits, report, run, show};
use dmci_search::candidate::{Candidate, parameter_names};
use dmci_search::funnel::{Rejection, Stage, read};
use dmci_search::score::{Score, Scorer};
use dmci_search::worker::Workshop;
use serde_json::{Value as Json, json};
use std::io::{BufRead, Write};
use std::path::PathBuf;

/// Searches for a program.
pub fn search(args: &Arguments) -> u8 {
    match run_search(args) {
        Ok(code) => code,
        Err(report) => output::fail(&report, args.json),
    }
}

fn run_search(args: &Arguments) -> Result<u8, Report> {
    if let Some(command) = &args.command {
        return look(command);
    }
    for (path, option) in [(&args.write, "--write"), (&args.report, "--report")] {
        if let Some(path) = path {
            files::check_place(path, option)?;
        }
    }
    let cancel = Cancel::default();
    options::stop_on_interrupt(&cancel);
    let (begun, model, mut journal) = match (&args.resume, &args.out) {
        (Some(path), _) => {
            let mut journal = kept::Kept::open(path)?;
            let (begun, model) = journal.replay()?;
            (begun, model, Some(journal))
        }
        (None, Some(path)) => {
            let begun = begin(args)?;
            let journal = kept::Kept::create(path, &begun)?;
            (begun, args.model.clone(), Some(journal))
        }
        (None, None) => (begin(args)?, args.model.clone(), None),
    };
    let Begun { workshop, search, pending, own, seed } = begun;
    let request = requested(args);
    let run_file = args.resume.as_deref().or(args.out.as_deref());
    let consultant = consult::Consultant::new(&model, run_file, &workshop, &cancel)?;
    let asked = consultant.as_ref().map(|asked| asked as &dyn dmci_driver::Consult);
    let limits = Limits { consultant: asked, ..request.limits(&cancel) };
    let mut meter = meter::Meter::new(!args.quiet && !args.json, limits.time);
    let mut keep = |search: &_, told: &_| journal.as_mut().map_or(Ok(()), |j| j.tell(&workshop, search, told));
    let done = run(&workshop, search, pending, &limits, &mut keep, &mut |search, elapsed| meter.show(search, elapsed));
    meter.clear();
    let mut done = done?;
    let asked = consultant.as_ref().map(consult::Consultant::summary).transpose();
    if let Ok(Some(summary)) = &asked
        && !args.json
        && !args.quiet
    {
        output::complain(summary.trim_end());
    }
    if args.controls && !cancel.is_cancelled() {
        done.controls = controls(&request, &workshop, done.search.evaluations(), &limits)?;
    }
    let judgement = Begun::judge(&workshop, &done.search, &own, seed)?;
    if args.json {
        output::print_json(&show::json(&workshop, &done, &judgement));
    } else {
        output::print(&show::text(&workshop, &done, &judgement));
        if !args.quiet {
            let _ = writeln!(std::io::stderr().lock(), "{}", show::times(&done));
        }
    }
    if let Some(path) = &args.report {
        files::write(path, report::html(&workshop, &done, &judgement).as_bytes(), "--report")?;
    }
    if let Some(path) = &args.write {
        files::write(path, exported(&workshop, &judgement.best.entry).as_bytes(), "--write")?;
    }
    // A search whose model never answered is not what was asked for, whatever else it found.
    asked.map(|_| if cancel.is_cancelled() { 130 } else { 0 })
}

/// The rows that options name, parted for a search.
pub fn workshop(args: &RowArgs) -> Result<Workshop, Report> {
    requested_rows(args).workshop(&table(args)?)
}

/// What the options about rows ask for.
fn requested_rows(args: &RowArgs) -> SearchRequest {
    let usual = SearchRequest::default();
    let count = |given: Option<u64>, otherwise: usize| given.map_or(otherwise, |n| n as usize);
    let names = |list: &String| list.split(',').map(|name| name.trim().to_string()).collect();
    SearchRequest {
        target: args.target.clone().unwrap_or_default(),
        inputs: args.inputs.as_ref().map(names),
        weights: args.weights.clone(),
        sigma: args.sigma.clone(),
        sealed: args.sealed.clone(),
        rolling: args.rolling,
        folds: count(args.folds, usual.folds),
        operations: args.ops.clone().unwrap_or(usual.operations.clone()),
        size: count(args.size, usual.size),
        seed: args.seed.unwrap_or(usual.seed),
        ..usual
    }
}

/// Who proposes if a model is named and nobody says who else does.
const BESIDE_MODEL: &str = "enumeration,library,grammar=3,model";

/// What a command line asks for.
fn requested(args: &Arguments) -> SearchRequest {
    let usual = requested_rows(&args.rows);
    let islands = if args.model.discover { Some(1) } else { args.islands };
    let proposer = match &args.model {
        ModelArgs { discover: true, .. } => Some("model".to_string()),
        ModelArgs { model: Some(_), .. } if args.proposer.is_none() => Some(BESIDE_MODEL.to_string()),
        _ => args.proposer.clone(),
    };
    SearchRequest {
        proposer,
        islands: islands.map_or(usual.islands, |n| n as usize),
        evaluations: args.evaluations,
        time_limit: args.time_limit.unwrap_or(usual.time_limit),
        threads: args.threads.map(|n| n as usize),
        controls: args.controls,
        ..usual
    }
}

fn table(args: &RowArgs) -> Result<dmci_fit::Table, Report> {
    let Some(data) = &args.data else {
        return Err(wrong("no table is named".into(), "name one with --data FILE"));
    };
    if args.target.is_none() {
        return Err(wrong("no column to predict is named".into(), "name one with --target COLUMN"));
    }
    let missing: Vec<String> = args.missing.iter().flat_map(|m| m.split(',')).map(str::to_string).collect();
    files::read_table(data, &missing)
}

/// The search of a command line.
fn begin(args: &Arguments) -> Result<Begun, Report> {
    let names_model = |text: &String| text.split(',').any(|p| p.split('=').next().is_some_and(|n| n.trim() == "model"));
    if args.model.model.is_none() && args.proposer.as_ref().is_some_and(names_model) {
        return Err(wrong("nobody says who the proposer model is".into(), "name it with --model"));
    }
    let texts = |paths: &[PathBuf]| -> Result<Vec<(String, String)>, Report> {
        let text = |path: &PathBuf| {
            let name = path.display().to_string();
            std::fs::read_to_string(path).map(|t| (name.clone(), t)).map_err(|error| files::cannot_read(&name, &error))
        };
        paths.iter().map(text).collect()
    };
    requested(args).begin(&table(&args.rows)?, &texts(&args.seed_program)?, &texts(&args.baseline)?)
}

/// Looks at a run.
fn look(command: &SearchCommand) -> Result<u8, Report> {
    let path = match command {
        SearchCommand::Show { run, .. } | SearchCommand::Export { run, .. } | SearchCommand::Report { run, .. } => run,
    };
    let Begun { workshop, search, own, seed, .. } = kept::Kept::read(path)?.replay()?.0;
    let judgement = Begun::judge(&workshop, &search, &own, seed)?;
    match command {
        SearchCommand::Show { json, .. } => {
            let done = Done::of(search);
            if *json {
                output::print_json(&show::json(&workshop, &done, &judgement));
            } else {
                output::print(&show::text(&workshop, &done, &judgement));
            }
        }
        SearchCommand::Report { out, .. } => {
            let page = report::html(&workshop, &Done::of(search), &judgement);
            files::write(out, page.as_bytes(), "--out")?;
        }
        SearchCommand::Export { id, .. } => {
            let place = id.parse::<usize>().ok().and_then(|n| search.front().get(n.checked_sub(1)?));
            let entry = if id == "best" { Some(&judgement.best.entry) } else { place };
            let Some(entry) = entry else {
                let help = format!("write best, or a number from 1 to {}", search.front().len());
                return Err(wrong(format!("the run has no program {id}"), &help));
            };
            output::print(&exported(&workshop, entry));
        }
    }
    Ok(0)
}

/// Scores the programs on standard input, line by line.
pub fn score(args: &ScoreArguments) -> u8 {
    let workshop = match workshop(&args.rows) {
        Ok(workshop) => workshop,
        Err(report) => return output::fail(&report, true),
    };
    let mut scorer = workshop.scorer();
    for line in std::io::stdin().lock().lines() {
        let line = match line {
            Ok(line) => line,
            Err(error) => return output::fail(&files::cannot_read("<stdin>", &error), true),
        };
        if !line.trim().is_empty() {
            output::print_json(&scored_line(&line, &workshop, &mut scorer));
        }
    }
    0
}

fn scored_line(line: &str, workshop: &Workshop, scorer: &mut Scorer<'_>) -> Json {
    let request: Json = match serde_json::from_str(line) {
        Ok(request) => request,
        Err(error) => {
            let rejection =
                Rejection::new(Stage::Read, &format!("the line is not JSON: {error}"), "write one object a line");
            return rejected(&Json::Null, &rejection);
        }
    };
    let id = &request["id"];
    let Some(text) = request["program"].as_str() else {
        return rejected(id, &Rejection::new(Stage::Read, "the line has no program", "add \"program\": \"...\""));
    };
    let rung = request["rung"].as_u64().unwrap_or(1);
    let outcome = read(text, &contract(workshop)).and_then(|candidate| {
        let score = if rung == 0 { scorer.screen(&candidate)? } else { scorer.converge(&candidate, STARTS)? };
        let score = if rung >= 2 { scorer.validate(&candidate, &score) } else { score };
        Ok((candidate, score))
    });
    match outcome {
        Ok((candidate, score)) => fitted(id, workshop, &candidate, &score),
        Err(rejection) => rejected(id, &rejection),
    }
}

/// Starts of a fit to convergence.
const STARTS: usize = 4;

fn fitted(id: &Json, workshop: &Workshop, candidate: &Candidate, score: &Score) -> Json {
    let names = parameter_names(score.values.len(), &workshop.data.inputs);
    let parameters: serde_json::Map<String, Json> =
        names.into_iter().zip(&score.values).map(|(name, v)| (name, json!({"value": v}))).collect();
    json!({
        "id": id,
        "hash": format!("{:016x}", candidate.hash),
        "stage": "fitted",
        "rung": score.rung,
        "score": score.score,
        "loss": score.loss,
        "validation": score.validation,
        "nodes": score.nodes,
        "program": candidate.program(&workshop.data.inputs, &score.values),
        "parameters": parameters,
        "optima": {"starts": score.starts.0, "best": score.starts.1, "distinct": score.distinct},
        "converged": score.converged,
        "work": score.work,
    })
}

fn rejected(id: &Json, rejection: &Rejection) -> Json {
    json!({
        "id": id,
        "stage": rejection.stage.name(),
        "code": rejection.code,
        "place": rejection.place,
        "message": rejection.message,
        "hint": rejection.hint,
    })
}
