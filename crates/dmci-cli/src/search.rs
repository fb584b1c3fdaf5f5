//! `dmci search` and `dmci score`: programs from data.

#[cfg_attr(not(feature = "journal"), path = "search/unkept.rs")]
mod kept;
mod report;
mod rows;
mod run;
mod show;

use crate::args::search::{Score as ScoreArguments, Search as Arguments, SearchCommand};
use crate::{files, options, output};
use dmci::{Cancel, Report};
use dmci_search::archive::Entry;
use dmci_search::candidate::{Candidate, parameter_names};
use dmci_search::funnel::{Contract, Rejection, Stage, read};
use dmci_search::judge::{Judgement, baselines, judge};
use dmci_search::score::{Score, Scorer};
use dmci_search::search::{Proposer, Search, Settings, Work};
use dmci_search::worker::Workshop;
use rows::wrong;
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::io::BufRead;
use std::path::{Path, PathBuf};

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
    let threads = match args.threads {
        Some(n) => n as usize,
        None => std::thread::available_parallelism().map_or(1, |n| n.get()),
    };
    let limit = |s| std::time::Duration::try_from_secs_f64(s).unwrap_or(std::time::Duration::MAX);
    let time = args.time_limit.map_or(TIME_LIMIT, limit);
    let limits = run::Limits { time, threads, cancel: &cancel, progress: !args.quiet && !args.json };
    let (begun, journal) = match (&args.resume, &args.out) {
        (Some(path), _) => {
            let mut journal = kept::Kept::open(path)?;
            let begun = journal.replay()?;
            (begun, Some(journal))
        }
        (None, Some(path)) => {
            let begun = Begun::new(args)?;
            let journal = kept::Kept::create(path, &begun)?;
            (begun, Some(journal))
        }
        (None, None) => (Begun::new(args)?, None),
    };
    let Begun { workshop, search, pending, own, seed } = begun;
    let done = run::run(&workshop, search, pending, journal, &limits)?;
    let judgement = judged(&workshop, &done.search, &own, seed)?;
    if args.json {
        output::print_json(&show::json(&workshop, &done, &judgement));
    } else {
        output::print(&show::text(&workshop, &done, &judgement));
    }
    if let Some(path) = &args.report {
        files::write(path, report::html(&workshop, &done, &judgement).as_bytes(), "--report")?;
    }
    if let Some(path) = &args.write {
        files::write(path, exported(&workshop, &judgement.best.entry).as_bytes(), "--write")?;
    }
    Ok(if cancel.is_cancelled() { 130 } else { 0 })
}

/// The time of a search if nobody says more.
const TIME_LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

/// A search that has begun, or has come as far as its journal.
pub struct Begun {
    workshop: Workshop,
    search: Search,
    /// Work that was asked for and not told.
    pending: VecDeque<Work>,
    own: Vec<(String, Candidate)>,
    seed: u64,
}

impl Begun {
    /// A search as the command line asks for it.
    fn new(args: &Arguments) -> Result<Begun, Report> {
        let workshop = rows::workshop(&args.rows)?;
        let proposers = match &args.proposer {
            Some(text) => proposers(text)?,
            None => Settings::default().proposers,
        };
        let settings = Settings {
            seed: args.rows.seed,
            islands: args.islands as usize,
            proposers,
            evaluations: args.evaluations,
            exact_at: dmci_search::data::FLOOR * workshop.data.variance,
        };
        let named = |paths: &[PathBuf]| -> Result<Vec<(String, Candidate)>, Report> {
            paths.iter().map(|path| Ok((path.display().to_string(), program(path, &workshop)?))).collect()
        };
        let (seeds, own) = (named(&args.seed_program)?, named(&args.baseline)?);
        let base = baselines(workshop.data.inputs.len(), &workshop.operations);
        let first = base.iter().chain(&seeds).chain(&own).map(|(_, c)| c.clone()).collect();
        let search = Search::new(settings, first);
        Ok(Begun { workshop, search, pending: VecDeque::new(), own, seed: args.rows.seed })
    }
}

fn judged(workshop: &Workshop, search: &Search, own: &[(String, Candidate)], seed: u64) -> Result<Judgement, Report> {
    let validated = search.counts().values().map(|c| c.validated).sum();
    judge(&mut workshop.scorer(), search.front(), own, validated, seed)
        .ok_or_else(|| wrong("no program could be fitted to these rows".into(), "check the columns of the table"))
}

fn exported(workshop: &Workshop, entry: &Entry) -> String {
    entry.candidate.program(&workshop.data.inputs, &entry.score.values) + "\n"
}

/// Looks at a run.
fn look(command: &SearchCommand) -> Result<u8, Report> {
    let path = match command {
        SearchCommand::Show { run, .. } | SearchCommand::Export { run, .. } | SearchCommand::Report { run, .. } => run,
    };
    let Begun { workshop, search, own, seed, .. } = kept::Kept::read(path)?.replay()?;
    let judgement = judged(&workshop, &search, &own, seed)?;
    match command {
        SearchCommand::Show { json, .. } => {
            let done = run::Done::of(search);
            if *json {
                output::print_json(&show::json(&workshop, &done, &judgement));
            } else {
                output::print(&show::text(&workshop, &done, &judgement));
            }
        }
        SearchCommand::Report { out, .. } => {
            let page = report::html(&workshop, &run::Done::of(search), &judgement);
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

/// Reads `grammar=2,library`.
fn proposers(text: &str) -> Result<Vec<(Proposer, f64)>, Report> {
    let mut list = Vec::new();
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let (name, share) = part.split_once('=').unwrap_or((part, "1"));
        let found = Proposer::ALL.into_iter().find(|p| p.name() == name);
        let share = share.parse().ok().filter(|s: &f64| s.is_finite() && *s > 0.0);
        let (Some(proposer), Some(share)) = (found, share) else {
            let known: Vec<&str> = Proposer::ALL.iter().map(|p| p.name()).collect();
            return Err(wrong(
                format!("{part} is not a proposer with a share"),
                &format!("there are {}", known.join(", ")),
            ));
        };
        list.push((proposer, share));
    }
    if list.is_empty() { Err(wrong("no proposer is named".into(), "name one: grammar")) } else { Ok(list) }
}

fn contract(workshop: &Workshop) -> Contract<'_> {
    Contract { inputs: &workshop.data.inputs, operations: &workshop.operations, size: workshop.size }
}

fn program(path: &Path, workshop: &Workshop) -> Result<Candidate, Report> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| files::cannot_read(&name, &error))?;
    read(&text, &contract(workshop)).map_err(|r| wrong(format!("{name} is not a candidate: {}", r.message), &r.hint))
}

/// Scores the programs on standard input, line by line.
pub fn score(args: &ScoreArguments) -> u8 {
    let workshop = match rows::workshop(&args.rows) {
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
