//! The search of a problem: over expressions of rows where least squares is all that is asked for, else over seeds with
//! holes that are fitted as whole programs.

use crate::request::{Begun, SearchRequest, contract};
use dmci::{Program, Report};
use dmci_fit::RunSettings;
use dmci_search::funnel::read;
use dmci_search::general::{General, Sources};
use dmci_search::problem::SearchProblem;
use dmci_search::search::{Proposer, Search, Settings};
use dmci_search::worker::Workshop;
use std::collections::VecDeque;

/// What a problem asks for, as a search over expressions takes it.
pub fn request_of(problem: &SearchProblem) -> SearchRequest {
    let (fit, search) = (&problem.fit.problem, &problem.search);
    let shares: Vec<String> = search.proposers.iter().map(|(name, share)| format!("{name}={share}")).collect();
    SearchRequest {
        target: fit.target.first().cloned().unwrap_or_default(),
        ode: search.ode.clone(),
        time: search.time.clone(),
        group: fit.group.clone(),
        inputs: search.inputs.clone(),
        weights: fit.weights.clone(),
        sigma: fit.sigma.clone(),
        sealed: search.sealed.clone(),
        rolling: search.rolling,
        folds: search.folds,
        operations: search.operations.clone(),
        size: search.size,
        seed: search.seed,
        proposer: (!shares.is_empty()).then(|| shares.join(",")),
        islands: search.islands,
        evaluations: problem.budget.evaluations,
        time_limit: problem.budget.time_limit,
        units: problem.units.clone(),
        constants: search.constants,
        ..SearchRequest::default()
    }
}

/// Whether candidates are expressions of rows that least squares fits.
fn is_plain(problem: &SearchProblem, sources: &Sources) -> bool {
    let fit = &problem.fit.problem;
    let least_squares = matches!(fit.loss.as_deref(), None | Some("mse" | "sse"));
    let others = [&fit.group, &fit.trials, &fit.holdout, &fit.start_from];
    let run = RunSettings { seed: problem.fit.run.seed, ..RunSettings::default() };
    let is_row = problem.search.ode.is_empty() && fit.target.len() == 1 && !fit.objective && fit.only.is_none();
    if !is_row || !least_squares || others.iter().any(|o| o.is_some()) || problem.fit.run != run {
        return false;
    }
    if sources.seeds.iter().chain(&sources.baselines).any(|p| has_hole(p) || p.text.contains("(per ")) {
        return false;
    }
    let Ok(workshop) = request_of(problem).workshop(&sources.table) else { return true };
    let mut programs = sources.seeds.iter().chain(&sources.baselines);
    // A seed that names another operation is told so by the search over expressions.
    programs.all(|p| read(&p.text, &contract(&workshop)).is_ok() || is_simple(p))
}

fn has_hole(program: &Program) -> bool {
    program.text.contains("(hole ")
}

/// Whether nothing in a program needs a fit of whole programs.
fn is_simple(program: &Program) -> bool {
    ["(define", "(let", "positive", "unit", "bounded", "(prior"].iter().all(|word| !program.text.contains(word))
}

/// Prepares what does the work of a search.
pub fn workshop(problem: &SearchProblem, sources: Sources) -> Result<Workshop, Report> {
    problem.check()?;
    if is_plain(problem, &sources) {
        return request_of(problem).workshop(&sources.table);
    }
    let limits = problem.limits()?;
    Ok(Workshop::of_seeds(General::new(problem, sources)?, limits.operations, limits.size))
}

/// Begins the search of a problem. Proposers in the order of a text count more than those of the problem.
pub fn begin(problem: &SearchProblem, sources: Sources, proposers: Option<&str>) -> Result<Begun, Report> {
    problem.check()?;
    if is_plain(problem, &sources) {
        let texts =
            |list: &[Program]| list.iter().map(|p| (p.name.to_string(), p.text.to_string())).collect::<Vec<_>>();
        let own = request_of(problem);
        let request = SearchRequest { proposer: proposers.map(String::from).or(own.proposer.clone()), ..own };
        return request.begin(&sources.table, &texts(&sources.seeds), &texts(&sources.baselines));
    }
    let workshop = workshop(problem, sources)?;
    let mut proposers = problem.proposers()?;
    if proposers.is_empty() {
        proposers = match problem.search.ode.is_empty() {
            true => Settings::default().proposers,
            // Whole systems are integrated: what fits each equation alone, and changes of what was found.
            false => vec![(Proposer::Library, 2.0), (Proposer::Grammar, 1.0)],
        };
    }
    let settings = Settings {
        seed: problem.search.seed,
        islands: problem.search.islands,
        proposers,
        evaluations: problem.budget.evaluations,
        exact_at: workshop.data.exact,
        ..Settings::default()
    };
    let seeds = workshop.general().map(General::seeds).unwrap_or_default();
    let search = Search::new(settings, seeds);
    Ok(Begun { workshop, search, pending: VecDeque::new(), own: Vec::new(), seed: problem.search.seed })
}
