//! The fit: stages of restarts, until each of them stops, and what came out.

use crate::choice::{Choice, Method, Stage};
use crate::explore::Explorer;
use crate::member::{Budget, Member};
use crate::optimality::{Examined, examine};
use crate::polish::polish;
use crate::population::Population;
use crate::problem::Problem;
use crate::result::{Fit, result};
use crate::search::{Evaluation, Stop};
use crate::separate::{Together, search_parts};
use crate::uncertainty::Errors;
use crate::watch::Watch;
use dmci::ErrorCode;
use dmci::{Cancel, Diagnostic, Reason, Report};
use dmci_limits::{Alarm, within};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// How to fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FitOptions {
    /// Which optimiser searches.
    pub method: Method,
    /// When a restart ends.
    pub budget: Budget,
    /// Searches from other starts, besides the one from the schema's values.
    pub more_restarts: usize,
    /// Decides the other starts, and whatever an optimiser draws.
    pub seed: u64,
    /// The longest time of all searches together.
    pub time: Option<Duration>,
    /// Most points that all searches evaluate together.
    pub evaluations: Option<usize>,
    /// Operations of lanes after which no further starts are drawn, [`SEARCH_WORK`](crate::SEARCH_WORK) if nobody says
    /// otherwise; 0 for none. There are further starts only if the method is chosen and no restarts are asked for.
    pub search_work: Option<f64>,
    /// Search for parameters that are affine by structure, too, instead of solving for them at every point.
    pub no_projection: bool,
    /// How much is done for standard errors once the search has ended.
    pub errors: Errors,
    /// A state to go on from, of [`Progress::snapshot`].
    pub resume: Option<Vec<u8>>,
}

impl FitOptions {
    /// Whether further starts are drawn after the first optimum.
    pub(crate) fn explores(&self) -> bool {
        self.method == Method::Auto && self.more_restarts == 0 && self.search_work != Some(0.0)
    }

    /// Whether parameters that are affine by structure are solved for.
    pub(crate) fn projects(&self) -> bool {
        self.method == Method::Auto && !self.no_projection
    }
}

/// What an observer sees after every round.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Rounds done by the restart that did most.
    pub epoch: usize,
    /// Most rounds.
    pub epochs: usize,
    /// The best loss of all restarts so far.
    pub loss: f64,
    /// The rate of the restart that has it.
    pub rate: f64,
    /// Searches that are not finished.
    pub running: usize,
    /// All searches of this stage.
    pub restarts: usize,
    /// Points evaluated.
    pub evaluations: usize,
    /// The optimiser that runs.
    pub optimizer: &'static str,
    stages: &'a [Population],
    plan: &'a Plan<'a>,
}

/// What a search found, before anything is said about it.
#[derive(Debug)]
pub(crate) struct Searched {
    pub stages: Vec<Population>,
    pub choice: Choice,
    pub influence: Vec<bool>,
    pub start_loss: f64,
    pub examined: Option<(Vec<f64>, Examined)>,
    /// Somebody has interrupted, or a budget is spent: whatever would come next does not.
    pub ended: bool,
    /// The state before the last steps, for a fit that goes on from there; empty unless there are several groups.
    pub state: Vec<u8>,
}

impl Progress<'_> {
    /// Everything that is needed to go on from here, bit for bit, with [`FitOptions::resume`].
    pub fn snapshot(&self) -> Vec<u8> {
        self.plan.snapshot(self.stages)
    }
}

/// The version of snapshots.
const VERSION: u32 = 5;

/// A snapshot that was read.
#[derive(Deserialize, Serialize)]
pub(crate) struct Snapshot(u32, String, f64, Vec<bool>, Vec<Vec<Member>>, Vec<Vec<u8>>);

impl Snapshot {
    /// Reads a snapshot.
    pub fn read(bytes: &[u8]) -> Result<Snapshot, Report> {
        let message = "the checkpoint is damaged";
        let help = "start the fit again without ‹resume›";
        postcard::from_bytes(bytes)
            .map_err(|_| Report::from(Diagnostic::error(ErrorCode::E0905, message.to_string()).help(help)))
    }

    /// The snapshots of groups that were done before.
    pub fn before(&self) -> &[Vec<u8>] {
        &self.5
    }
}

/// What does not change in the course of a fit, and what is noticed on the way.
#[derive(Clone, Debug)]
struct Plan<'a> {
    problem: &'a Problem,
    options: &'a FitOptions,
    choice: &'a Choice,
    start_loss: f64,
    influence: Vec<bool>,
    /// The best point that was looked at, and what was seen.
    examined: Option<(Vec<f64>, Examined)>,
    /// Snapshots of groups that were done before.
    before: &'a [Vec<u8>],
}

/// Fits a problem. The observer is asked after every round whether to go on; if not, the result is
/// the best so far, and the start if nothing was found yet. Fails if the program cannot be evaluated at the start.
pub fn fit(
    problem: &Problem,
    options: &FitOptions,
    observe: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Fit, Report> {
    within(&Alarm::of(problem.cancel.clone()), || fit_within(problem, options, observe))
}

fn fit_within(
    problem: &Problem,
    options: &FitOptions,
    observe: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Fit, Report> {
    let began = Instant::now();
    let watch = options.time.map(|limit| Watch::start(&problem.cancel, Reason::Time, limit));
    let found = match problem.parts() {
        Some(parts) => search_parts(problem, parts, options, began, observe).map(|t| {
            let Together { stages, choice, influence, start_loss, optima, warnings } = t;
            let searched =
                Searched { stages, choice, influence, start_loss, examined: None, ended: false, state: Vec::new() };
            (searched, Some((optima, warnings)))
        }),
        None => search(problem, options, (began, None), observe).map(|searched| (searched, None)),
    };
    let is_over = problem.cancel.lower(Reason::Time) || options.time.is_some_and(|limit| began.elapsed() >= limit);
    let is_interrupted = problem.cancel.lower(Reason::Person);
    if problem.cancel.lower(Reason::Memory) {
        // Nothing more can be computed, and what was found so far is no result of this fit.
        return Err(problem.out_of_memory());
    }
    let (Searched { mut stages, choice, influence, start_loss, examined, .. }, of_groups) = found?;
    if is_interrupted {
        // Also if the time was over at the same moment.
        stages.iter_mut().for_each(Population::interrupt);
    }
    let mut interrupted_late = false;
    let collect = |examined, soon| result(problem, options, &choice, &stages, &influence, (examined, soon));
    // Whoever ended the search wants to see what was found, and not to wait for what takes long.
    let soon = || {
        let untested = |best| (best, Examined { test: "none", ..Examined::default() });
        let examined = examined.clone().or_else(|| best_point(&stages).map(untested));
        within(&Alarm::new(Cancel::default(), ENDING), || collect(examined, true))
    };
    let collected = if is_over || is_interrupted { soon() } else { collect(examined.clone(), false) };
    let collected = match collected {
        Err(report) if report.is_cancelled() => {
            // An interruption at the moment when the time was over is one.
            interrupted_late = problem.cancel.lower(Reason::Person);
            problem.resume();
            soon()
        }
        result => result,
    };
    interrupted_late |= problem.cancel.lower(Reason::Person);
    watch.map(Watch::stop);
    problem.cancel.lower(Reason::Time);
    let mut fit = collected?;
    fit.interrupted |= interrupted_late;
    problem.forget();
    if let Some((optima, warnings)) = of_groups {
        fit.optima = optima;
        fit.warnings.append(warnings);
    }
    fit.start_loss = start_loss;
    fit.time = began.elapsed();
    Ok(fit)
}

/// Searches a problem whose groups share parameters, or that has none: all stages of restarts and all further starts.
/// If nothing was found, the start is.
pub(crate) fn search(
    problem: &Problem,
    options: &FitOptions,
    (began, groups): (Instant, Option<&[Vec<u8>]>),
    observe: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Searched, Report> {
    let choice = match problem.find_start().and_then(|()| Choice::of(problem, options)) {
        Err(report) if report.is_cancelled() => Choice::none(problem),
        Ok(_) if dmci_limits::rang() => Choice::none(problem),
        choice => choice?,
    };
    let influence = vec![false; problem.layout.raws];
    let start_loss = if choice.is_none() { f64::NAN } else { problem.known(problem.start())?.evaluation.loss };
    let mut plan = Plan {
        problem,
        options,
        choice: &choice,
        start_loss,
        influence,
        examined: None,
        before: groups.unwrap_or_default(),
    };
    let mut stages: Vec<Population> = Vec::new();
    if let Some(bytes) = options.resume.as_ref().filter(|_| !choice.is_none()) {
        stages = resumed(bytes, &mut plan)?;
    }
    let mut ended = choice.is_none();
    while !ended {
        if stages.last().is_none_or(|stage| stage.running() == 0) {
            if !choice.goes_on(problem, &stages) {
                match further(&mut plan, &stages) {
                    Ok(Some(population)) => stages.push(population),
                    Ok(None) => break,
                    Err(report) if report.is_cancelled() => break,
                    Err(report) => return Err(report),
                }
                ended = run_stage(&mut stages, &mut plan, began, observe);
                continue;
            }
            let Stage { optimizer, restarts, from_best, points, .. } = choice.stages[stages.len()].clone();
            if !points.is_empty() {
                let zero = vec![0.0; problem.layout.raws];
                let members = points.iter().take(left(options, &stages)).enumerate();
                let members = members.map(|(i, point)| Member::at(i, point, zero.clone(), options.seed)).collect();
                stages.push(Population::of(optimizer, members));
                ended = run_stage(&mut stages, &mut plan, began, observe);
                continue;
            }
            let best = if from_best { best_point(&stages) } else { None };
            let base = best.unwrap_or_else(|| problem.start().to_vec());
            // No more searches than can start.
            let restarts = restarts.min(left(options, &stages));
            stages.push(Population::new(optimizer, &base, restarts, options.seed));
        }
        ended = run_stage(&mut stages, &mut plan, began, observe);
    }
    let is_interrupted = problem.cancel.is_raised(Reason::Person);
    let is_over = problem.cancel.is_raised(Reason::Time) || options.time.is_some_and(|limit| began.elapsed() >= limit);
    if stages.iter().all(|s| s.best().is_none()) {
        // The start is a result, too: who asked to stop has been heard, and is heard again by those who go on.
        let heard = [Reason::Person, Reason::Time].map(|reason| (reason, problem.cancel.lower(reason)));
        let mut start = Population::new(choice.stages[0].optimizer.clone(), problem.start(), 1, options.seed);
        let mut see = |found: &Evaluation| plan.start_loss = found.loss;
        let patience = Watch::start(&problem.cancel, Reason::Part, PATIENCE);
        let done = start.round(problem, &options.budget, &mut see);
        patience.stop();
        problem.cancel.lower(Reason::Part);
        heard.iter().filter(|h| h.1).for_each(|h| problem.cancel.raise(h.0));
        if is_over && !is_interrupted {
            done.map_err(|_| too_short(options))?;
            start.stop(Stop::Time);
        } else {
            done?;
            start.stop(Stop::Interrupted);
        }
        stages = vec![start];
    }
    let state = groups.map_or(Vec::new(), |_| Plan { before: &[], ..plan.clone() }.snapshot(&stages));
    let Plan { start_loss, influence, examined, .. } = plan;
    if !ended && left(options, &stages) > STEPS_AT_THE_END {
        match polish(problem, options, &choice, &mut stages) {
            Err(report) if report.is_cancelled() => ended = true,
            done => done?,
        }
    }
    Ok(Searched { stages, choice, influence, start_loss, examined, ended, state })
}

/// The next searches from elsewhere: from a point that is lower than the best one and near to it, or from further starts.
fn further(plan: &mut Plan<'_>, stages: &[Population]) -> Result<Option<Population>, Report> {
    let Plan { problem, options, choice, .. } = *plan;
    let Some(optimizer) = choice.explores.clone().filter(|_| left(options, stages) > 0) else { return Ok(None) };
    let index = stages.iter().map(|s| s.members.len()).sum();
    let from = |point: Vec<f64>| {
        let zero = vec![0.0; point.len()];
        Population::of(optimizer.clone(), vec![Member::at(index, &point, zero, options.seed)])
    };
    if !choice.without_derivative.is_empty() {
        // Thresholds and all other numbers move in turns.
        let best = stages.iter().filter_map(Population::best).min_by(|a, b| a.loss().total_cmp(&b.loss()));
        let Some((point, loss)) = best.and_then(|m| m.best.as_ref()).filter(|_| stages.len() <= MOST_TURNS) else {
            return Ok(None);
        };
        return Ok(problem.moved_from(point, *loss, &choice.without_derivative)?.map(from));
    }
    if let Some(population) = Explorer::new(problem, options).next(problem, options, choice, stages)? {
        return Ok(Some(population));
    }
    let Some(best) = best_point(stages) else { return Ok(None) };
    let evaluations = stages.iter().map(Population::evaluations).sum();
    let examined = examine(problem, &best, options.errors.budget(evaluations), &[])?;
    // What was stopped on the way has no meaning.
    problem.check_cancel()?;
    let better = examined.better.clone();
    plan.examined = Some((best, examined));
    let escapes = stages.iter().skip(1).filter(|s| s.members.len() == 1).count();
    Ok(better.filter(|_| escapes < MOST_ESCAPES).map(from))
}

/// Points that must be left for the last steps of a search.
const STEPS_AT_THE_END: usize = 4;

/// How often thresholds are moved once all other numbers have been searched.
const MOST_TURNS: usize = 20;

/// How often a search goes on from a lower point near to where it ended.
const MOST_ESCAPES: usize = 5;

/// How long the start may be evaluated if a fit was ended before anything was found: limits and interruptions hold within
/// a tenth of a second.
const PATIENCE: Duration = Duration::from_millis(40);

/// How long whatever is not needed to show a result may take once a search was ended.
const ENDING: Duration = Duration::from_millis(20);

/// The report of a limit within which not even the start could be evaluated.
fn too_short(options: &FitOptions) -> Report {
    let limit = options.time.unwrap_or_default().as_secs_f64();
    let message = format!("the limit of {limit} s was over before the program was evaluated at the start");
    Report::from(Diagnostic::error(ErrorCode::E0405, message).help("raise the limit with ‹time_limit›"))
}

/// Why a search ends that did not end itself.
fn why(problem: &Problem, options: &FitOptions, began: Instant) -> Stop {
    if problem.cancel.is_raised(Reason::Person) {
        Stop::Interrupted
    } else if options.time.is_some_and(|limit| began.elapsed() >= limit) {
        Stop::Time
    } else {
        Stop::Interrupted
    }
}

fn best_point(stages: &[Population]) -> Option<Vec<f64>> {
    let best = stages.iter().filter_map(Population::best).min_by(|a, b| a.loss().total_cmp(&b.loss()))?;
    best.best.as_ref().map(|b| b.0.clone())
}

/// Runs the last stage until all of its restarts stop; whether the whole fit must end.
fn run_stage(
    stages: &mut [Population],
    plan: &mut Plan<'_>,
    began: Instant,
    observe: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> bool {
    let (problem, options) = (plan.problem, plan.options);
    let last = stages.len() - 1;
    stages[last].projects = options.projects();
    while stages[last].running() > 0 {
        let (influence, left) = (&mut plan.influence, left(options, stages));
        let done = stages[last].round_within(problem, &options.budget, left, &mut |found| {
            let count = influence.len();
            for (k, seen) in influence.iter_mut().enumerate().filter(|(_, seen)| !**seen) {
                // Where the fit is exact, the gradient is zero in any case.
                let of_residuals = found.jacobian.iter().skip(k).step_by(count);
                *seen = found.gradient.get(k).into_iter().chain(of_residuals).any(|d| *d != 0.0);
            }
        });
        let Ok(all) = done else {
            stages[last].stop(why(problem, options, began));
            return true;
        };
        if plan.choice.stages.get(last).is_none_or(|stage| stage.race) {
            stages[last].end_race();
        }
        let evaluations = stages.iter().map(Population::evaluations).sum();
        let used_up = if options.time.is_some_and(|limit| began.elapsed() >= limit) {
            Some(Stop::Time)
        } else if !all || options.evaluations.is_some_and(|limit| evaluations >= limit) {
            Some(Stop::Evaluations)
        } else {
            None
        };
        let go_on = observe(&progress(stages, plan, evaluations));
        if go_on.is_break() || used_up.is_some() {
            stages[last].stop(used_up.unwrap_or_else(|| why(problem, options, began)));
            return true;
        }
    }
    false
}

/// How many points may still be evaluated.
fn left(options: &FitOptions, stages: &[Population]) -> usize {
    let used: usize = stages.iter().map(Population::evaluations).sum();
    // The start is a result in any case.
    options.evaluations.map_or(usize::MAX, |limit| limit.max(1).saturating_sub(used))
}

fn progress<'a>(stages: &'a [Population], plan: &'a Plan<'a>, evaluations: usize) -> Progress<'a> {
    let stage = &stages[stages.len() - 1];
    let best = stage.best();
    let losses = stages.iter().filter_map(Population::best).map(Member::loss);
    Progress {
        epoch: stage.members.iter().map(|m| m.epochs).max().unwrap_or(0),
        epochs: plan.options.budget.epochs.unwrap_or(stage.optimizer.epochs()),
        loss: losses.fold(f64::NAN, f64::min),
        rate: best.map_or(f64::NAN, Member::rate),
        running: stage.running(),
        restarts: stage.members.len(),
        evaluations,
        optimizer: stage.optimizer.name(),
        stages,
        plan,
    }
}

impl Plan<'_> {
    /// The state of a search as bytes.
    fn snapshot(&self, stages: &[Population]) -> Vec<u8> {
        let stages: Vec<&[Member]> = stages.iter().map(|p| &p.members[..]).collect();
        let Plan { start_loss, influence, before, .. } = self;
        postcard::to_allocvec(&(VERSION, self.fingerprint(), start_loss, influence, stages, before)).unwrap_or_default()
    }

    /// What must agree between a fit and a state that it goes on from.
    fn fingerprint(&self) -> String {
        let Plan { problem, options, choice, .. } = self;
        let text = format!(
            "{} {} {:?} {:?} {} {:?} {:?} {:?} {:?}",
            dmci_table::hash::of_text(&problem.program.text),
            problem.fingerprint(),
            choice.stages,
            options.budget,
            options.seed,
            problem.targets,
            problem.loss,
            problem.start(),
            (options.search_work, options.no_projection),
        );
        dmci_table::hash::of_text(&text)
    }
}

fn resumed(bytes: &[u8], plan: &mut Plan<'_>) -> Result<Vec<Population>, Report> {
    let wrong =
        |message: &str, help: &str| Report::from(Diagnostic::error(ErrorCode::E0905, message.to_string()).help(help));
    let Snapshot(version, fingerprint, start_loss, influence, stages, _) = Snapshot::read(bytes)?;
    let choice = plan.choice;
    let most = if choice.explores.is_some() { usize::MAX } else { choice.stages.len() };
    if version != VERSION || fingerprint != plan.fingerprint() || stages.len() > most {
        let message = "the checkpoint belongs to another fit: program, data or options differ";
        return Err(wrong(message, "give the same program, data and options as before, or remove ‹resume›"));
    }
    plan.start_loss = start_loss;
    plan.influence = influence;
    let of_stage = |(i, members)| Some(Population::of(choice.optimizer_of(i)?, members));
    Ok(stages.into_iter().enumerate().filter_map(of_stage).collect())
}
