//! `dmci search` and `dmci score`: programs from data.

pub mod consult;
#[cfg_attr(not(feature = "journal"), path = "search/unkept.rs")]
mod kept;
mod meter;
pub mod same;

use crate::args::model::{AskArgs, ModelArgs};
use crate::args::search::{RowArgs, Score as ScoreArguments, Search as Arguments, SearchCommand};
use crate::{files, options, output};
use dmci::{Cancel, Program, Report};
use dmci_driver::control::controls;
use dmci_driver::problem::{begin as begin_problem, request_of, workshop as workshop_of};
use dmci_driver::request::{Begun, SearchRequest, contract, exported, proposers as shares, wrong};
use dmci_driver::{Done, Limits, report, run, show};
use dmci_search::candidate::Candidate;
use dmci_search::funnel::{Rejection, Stage, read};
use dmci_search::general::{General, Sources};
use dmci_search::problem::SearchProblem;
use dmci_search::score::{Score, Scorer};
use dmci_search::units::Constants;
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
    for (path, option) in [(&args.write, "--write"), (&args.report, "--report"), (&args.plot, "--plot")] {
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
    let request = requested(args)?;
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
    let judgement = limits.judging(&done, || Begun::judge(&workshop, &done.search, &own, seed))?;
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
    if let Some(path) = &args.plot {
        files::write(path, report::error_by_complexity(&workshop, &done).svg().as_bytes(), "--plot")?;
    }
    if let Some(path) = &args.write {
        files::write(path, exported(&workshop, &judgement.best.entry).as_bytes(), "--write")?;
    }
    // A search whose model never answered is not what was asked for, whatever else it found.
    asked.map(|_| if cancel.is_cancelled() { 130 } else { 0 })
}

/// The rows that options name, parted for a search.
pub fn workshop(args: &RowArgs) -> Result<Workshop, Report> {
    let problem = problem_of(None, args)?;
    let sources = sources(&problem)?;
    workshop_of(&problem, sources)
}

/// The problem of a file, if there is one, with the options laid over it.
fn problem_of(file: Option<&PathBuf>, args: &RowArgs) -> Result<SearchProblem, Report> {
    let mut problem = match file {
        Some(path) => {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path).map_err(|error| files::cannot_read(&name, &error))?;
            let folder = path.parent().map(|folder| folder.display().to_string());
            SearchProblem::from_text(&name, &text)?.in_folder(&folder.unwrap_or_default())
        }
        None => SearchProblem::default(),
    };
    let shown = |path: &PathBuf| path.display().to_string();
    let (fit, search) = (&mut problem.fit.problem, &mut problem.search);
    let lay = |place: &mut Option<String>, given: &Option<String>| {
        if given.is_some() {
            place.clone_from(given);
        }
    };
    lay(&mut fit.data, &args.data.as_ref().map(shown));
    for (place, given) in [
        (&mut fit.weights, &args.weights),
        (&mut fit.sigma, &args.sigma),
        (&mut fit.group, &args.group),
        (&mut fit.loss, &args.loss),
        (&mut fit.trials, &args.trials),
        (&mut fit.holdout, &args.holdout),
        (&mut search.sealed, &args.sealed),
    ] {
        lay(place, given);
    }
    let names = |list: &String| list.split(',').map(|name| name.trim().to_string()).collect::<Vec<_>>();
    if let Some(target) = &args.target {
        fit.target = vec![target.clone()];
    }
    if let Some(words) = &args.missing {
        fit.missing = words.split(',').map(str::to_string).collect();
    }
    if args.inputs.is_some() {
        search.inputs = args.inputs.as_ref().map(names);
    }
    fit.objective |= args.objective;
    if let Some(states) = &args.ode {
        search.ode = names(states);
    }
    lay(&mut search.time, &args.time);
    search.rolling |= args.rolling;
    let count = |place: &mut usize, given: Option<u64>| *place = given.map_or(*place, |n| n as usize);
    count(&mut search.folds, args.folds);
    count(&mut search.size, args.size);
    search.seed = args.seed.unwrap_or(search.seed);
    match args.constants.as_deref() {
        Some("pure") => search.constants = Constants::Pure,
        Some(_) => search.constants = Constants::Any,
        None => {}
    }
    problem.units.extend(options::units(args.units.as_deref().unwrap_or_default())?);
    let search = &mut problem.search;
    search.operations = args.ops.clone().unwrap_or_else(|| search.operations.clone());
    search.seeds.extend(args.seed_program.iter().map(shown));
    search.baselines.extend(args.baseline.iter().map(shown));
    for (name, datum) in options::bindings(&args.set)? {
        problem.fit.run.set.retain(|(other, _)| *other != name);
        problem.fit.run.set.push((name, datum));
    }
    Ok(problem)
}

/// Who proposes if a model is named and nobody says who else does.
const BESIDE_MODEL: &str = "enumeration,decomposition,library,grammar=3,model";

/// Who proposes, if the command line says so.
fn proposer(args: &Arguments) -> Option<String> {
    match &args.model {
        ModelArgs { discover: true, .. } => Some("model".to_string()),
        ModelArgs { ask: AskArgs { model: Some(_), .. }, .. } if args.proposer.is_none() => {
            Some(BESIDE_MODEL.to_string())
        }
        _ => args.proposer.clone(),
    }
}

/// The problem of a command line.
fn asked(args: &Arguments) -> Result<SearchProblem, Report> {
    let mut problem = problem_of(args.problem.as_ref(), &args.rows)?;
    let islands = if args.model.discover { Some(1) } else { args.islands };
    problem.search.islands = islands.map_or(problem.search.islands, |n| n as usize);
    problem.budget.evaluations = args.evaluations.or(problem.budget.evaluations);
    problem.budget.time_limit = args.time_limit.unwrap_or(problem.budget.time_limit);
    Ok(problem)
}

/// What a command line asks for, as the driver takes it.
fn requested(args: &Arguments) -> Result<SearchRequest, Report> {
    let request = request_of(&asked(args)?);
    let threads = args.threads.map(|n| n as usize);
    let proposer = proposer(args).or(request.proposer.clone());
    Ok(SearchRequest { proposer, threads, controls: args.controls, ..request })
}

/// Reads the files of a problem.
fn sources(problem: &SearchProblem) -> Result<Sources, Report> {
    let settings = &problem.fit.problem;
    let Some(data) = &settings.data else {
        return Err(wrong("no table is named".into(), "name one with --data FILE"));
    };
    if settings.target.is_empty() && !settings.objective && problem.search.ode.is_empty() {
        return Err(wrong(
            "no column to predict is named".into(),
            "name one with --target COLUMN, or the states of a system with --ode",
        ));
    }
    let programs = |paths: &[String]| -> Result<Vec<Program>, Report> {
        let text = |path: &String| {
            let read = std::fs::read_to_string(path).map_err(|error| files::cannot_read(path, &error));
            read.map(|text| Program::named(path, &text))
        };
        paths.iter().map(text).collect()
    };
    let start_from =
        settings.start_from.as_deref().map(|file| crate::fit::request::read_fit(std::path::Path::new(file)));
    Ok(Sources {
        table: files::read_table(std::path::Path::new(data), &settings.missing)?,
        seeds: programs(&problem.search.seeds)?,
        baselines: programs(&problem.search.baselines)?,
        start_from: start_from.transpose()?,
        run: options::options_of(&problem.fit.run)?,
    })
}

/// The search of a command line.
fn begin(args: &Arguments) -> Result<Begun, Report> {
    let names_model = |text: &String| text.split(',').any(|p| p.split('=').next().is_some_and(|n| n.trim() == "model"));
    if args.model.ask.model.is_none() && args.proposer.as_ref().is_some_and(names_model) {
        return Err(wrong("nobody says who the proposer model is".into(), "name it with --model"));
    }
    let mut problem = asked(args)?;
    let sources = sources(&problem)?;
    let proposer = proposer(args);
    if let Some(text) = &proposer {
        problem.search.proposers = shares(text)?.into_iter().map(|(p, share)| (p.name().to_string(), share)).collect();
    }
    begin_problem(&problem, sources, proposer.as_deref())
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
    let prepared = problem_of(args.problem.as_ref(), &args.rows).and_then(|problem| {
        let sources = sources(&problem)?;
        workshop_of(&problem, sources)
    });
    let workshop = match prepared {
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
            output::print_form("score", scored_line(&line, &workshop, &mut scorer));
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
    if let Some(general) = workshop.general() {
        return scored_program(id, text, rung, general, workshop);
    }
    let outcome = read(text, &contract(workshop)).and_then(|c| workshop.admit(c)).and_then(|candidate| {
        let score = if rung == 0 { scorer.screen(&candidate)? } else { scorer.converge(&candidate, STARTS)? };
        let score = if rung >= 2 { scorer.validate(&candidate, &score) } else { score };
        Ok((candidate, score))
    });
    match outcome {
        Ok((candidate, score)) => fitted(id, workshop, &candidate, &score),
        Err(rejection) => rejected(id, &rejection),
    }
}

/// Scores a whole program.
fn scored_program(id: &Json, text: &str, rung: u64, general: &General, workshop: &Workshop) -> Json {
    let made = general.with_program(&Program::new(text)).map_err(|report| Rejection::of(Stage::Read, &report));
    let outcome = made.and_then(|own| {
        let own = Workshop::of_seeds(own, workshop.operations.clone(), workshop.size);
        let candidate = own
            .general()
            .and_then(|g| g.seeds().pop())
            .ok_or_else(|| Rejection::new(Stage::Read, "the line has no program", "add \"program\": \"...\""))?;
        let mut scorer = own.scorer();
        let score = if rung == 0 { scorer.screen(&candidate)? } else { scorer.converge(&candidate, STARTS)? };
        let score = if rung >= 2 { scorer.validate(&candidate, &score) } else { score };
        Ok(fitted(id, &own, &candidate, &score))
    });
    outcome.unwrap_or_else(|rejection| rejected(id, &rejection))
}

/// Starts of a fit to convergence.
const STARTS: usize = 4;

fn fitted(id: &Json, workshop: &Workshop, candidate: &Candidate, score: &Score) -> Json {
    let names = workshop.parameter_names(candidate);
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
        "program": workshop.program(candidate, &score.values),
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
