//! What came out of a fit.

use crate::by_group::Held;
use crate::choice::{Choice, decided_only, selection_loss};
use crate::ending::{optimality, warn};
use crate::fit::FitOptions;
use crate::member::Member;
use crate::optima::Optima;
use crate::optimality::{Examined, Optimality};
use crate::population::Population;
use crate::problem::{Problem, Rows};
use crate::resample::{Bootstrap, Intervals};
use crate::score::{ChiSquare, Criteria, Score};
use crate::search::{Need, Stop};
use crate::uncertainty::{Sureness, Uncertainty, Verdict, uncertainty};
use dmci::ErrorCode;
use dmci::{Diagnostic, Parameter, Report};
use std::time::Duration;

/// One number of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Its name: `k`, `w.0`, `k[site A]`.
    pub name: String,
    /// Where the fit started, in the user's units.
    pub start: f64,
    /// Where it ended.
    pub value: f64,
    /// How sure it is; none if that is not known.
    pub sureness: Option<Sureness>,
    /// Why it has no error although errors were computed, unless `sureness` says it.
    pub missing: Option<String>,
    /// Whether it lies at a bound of its kind, beyond which the loss would fall further.
    pub at_bound: bool,
}

impl Number {
    /// A number that was not fitted.
    fn fixed(name: String, value: f64) -> Number {
        Number { name, start: value, value, sureness: None, missing: None, at_bound: false }
    }
}

/// A parameter after a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// Its name.
    pub name: String,
    /// Its kind, as the schema writes it.
    pub kind: String,
    /// Where its first number started.
    pub start: f64,
    /// Where it ended.
    pub value: f64,
    /// Whether it was fixed.
    pub fixed: bool,
    /// All of its numbers, those of one group after those of another.
    pub numbers: Vec<Number>,
}

/// What became of one restart.
#[derive(Clone, Debug, PartialEq)]
pub struct RestartResult {
    /// The optimiser that ran it.
    pub optimizer: &'static str,
    /// The best loss.
    pub loss: f64,
    /// The parameters there, in the user's units.
    pub values: Vec<f64>,
    /// Rounds of questions.
    pub epochs: usize,
    /// Points evaluated.
    pub evaluations: usize,
    /// Points from which it stepped back because values were not finite.
    pub step_backs: usize,
    /// How often rows took other paths through the program than at the point before.
    pub path_changes: usize,
    /// Why it stopped.
    pub stopped: Stop,
    /// Which of the optima it reached, 0 the lowest; none if it did not come to an end.
    pub optimum: Option<usize>,
    /// The best loss after each round.
    pub trace: Vec<f64>,
}

/// The result of a fit.
#[derive(Clone, Debug)]
pub struct Fit {
    /// All parameters: the fitted ones in the order of the schema, then the fixed ones.
    pub parameters: Vec<Fitted>,
    /// The raw numbers of the result.
    pub raw: Vec<f64>,
    /// Somebody interrupted what came after the search.
    pub(crate) interrupted: bool,
    /// The loss at the schema's values.
    pub start_loss: f64,
    /// How well the rows are predicted that were fitted.
    pub score: Score,
    /// How well the rows are predicted that were held out; none if none were, or if one failed.
    pub held_out: Option<Score>,
    /// What compares models; none if the loss is no likelihood and no sum of squares.
    pub criteria: Option<Criteria>,
    /// Chi-square, if the standard deviations of the target are known.
    pub chi_square: Option<ChiSquare>,
    /// How sure the parameters are; none if that cannot be said.
    pub uncertainty: Option<Uncertainty>,
    /// Why there are no errors, if there are none.
    pub no_errors: Option<String>,
    /// How the intervals were found.
    pub intervals: Intervals,
    /// Fits to resampled rows, if they were asked for.
    pub bootstrap: Option<Bootstrap>,
    /// Predictions of the fitted rows.
    pub predictions: Vec<f64>,
    /// Predictions of the rows held out.
    pub held_out_predictions: Vec<f64>,
    /// What an objective program calls `yhat`, as (row, prediction, whether the row was fitted).
    pub series: Vec<(usize, f64, bool)>,
    /// The restart with the lowest loss.
    pub best: usize,
    /// All restarts of all stages.
    pub restarts: Vec<RestartResult>,
    /// Whether it ended at an optimum.
    pub optimality: Optimality,
    /// The optima that the starts reached.
    pub optima: Optima,
    /// Numbers that were solved for at every point and not searched for (variable projection).
    pub eliminated: Vec<String>,
    /// The optimiser that gave the result, and why it was used.
    pub optimizer: (&'static str, String),
    /// Paths through the program that were recorded.
    pub paths: u64,
    /// What the residuals still know, if that was asked for.
    pub diagnosis: Option<dmci_stats::diagnosis::Diagnosis>,
    /// What is worth knowing.
    pub warnings: Report,
    /// The time it took.
    pub time: Duration,
}

impl Fit {
    /// The restart that gave the result.
    pub fn best_restart(&self) -> &RestartResult {
        &self.restarts[self.best]
    }

    /// Whether somebody interrupted it.
    pub fn was_interrupted(&self) -> bool {
        self.interrupted || self.restarts.iter().any(|r| r.stopped == Stop::Interrupted)
    }

    /// Gives each parameter what is known about its numbers by now.
    pub(crate) fn share_sureness(&mut self, problem: &Problem) {
        let Some(uncertainty) = &self.uncertainty else { return };
        let names = problem.value_names();
        for number in self.parameters.iter_mut().filter(|p| !p.fixed).flat_map(|p| &mut p.numbers) {
            number.sureness = names.iter().position(|n| *n == number.name).map(|k| uncertainty.numbers[k]);
        }
    }

    /// Points evaluated by all restarts.
    pub fn evaluations(&self) -> usize {
        self.restarts.iter().map(|r| r.evaluations).sum()
    }
}

/// Collects the result of stages that have run; `soon` if nobody waits for what takes long.
pub(crate) fn result(
    problem: &Problem,
    options: &FitOptions,
    choice: &Choice,
    stages: &[Population],
    influence: &[bool],
    (examined, soon): (Option<(Vec<f64>, Examined)>, bool),
) -> Result<Fit, Report> {
    let members = members_of(stages);
    let best = best_of(problem, options, choice, &members);
    let (stage, member) = members[best];
    let raw = member.result(&options.budget).map_or_else(|| problem.start().to_vec(), |r| r.0.clone());
    let mut warnings = problem.warnings.clone();
    problem.warn_moved(&mut warnings);
    // Searches without derivatives also fit numbers that occur in decisions only.
    let searched = match stage.optimizer.need() == Need::Loss {
        true => unless_late(soon, decided_only(problem, options.seed), Vec::new)?.len(),
        false => choice.without_derivative.len(),
    };
    let evaluations = members.iter().map(|(_, m)| m.evaluations).sum();
    let late = || Err(LATE.to_string());
    let found = match soon && raw.len() > MOST_AT_THE_END {
        true => late(),
        false => unless_late(soon, uncertainty(problem, &raw, searched, (options.errors, evaluations)), late)?,
    };
    let (mut uncertainty, no_errors) = found.map_or_else(|why| (None, Some(why)), |u| (Some(u), None));
    if let Some(u) = &mut uncertainty {
        // A number that occurs in decisions only has no derivative; that says nothing about the data.
        let decided = |name: &String| choice.without_derivative.contains(name);
        u.directions.retain(|d| !d.moves.iter().all(|(name, _)| decided(name)));
    }
    // What is not known of a result says nothing: NaN.
    let unknown =
        |rows: &Rows| (vec![f64::NAN; rows.target.len()], Score { loss: member.loss(), rmse: f64::NAN, r2: None });
    let found = predicted(problem, &raw, problem.training(), &mut warnings);
    let (predictions, score) = unless_late(soon, found, || unknown(problem.training()))?;
    if let Some(u) = &mut uncertainty {
        let estimated = problem.is_least_squares() && !problem.loss.is_likelihood();
        u.exact = estimated && is_rounding(score.rmse, &predictions);
    }
    let found = predicted(problem, &raw, problem.held_out(), &mut warnings);
    let nothing = || (Vec::new(), Score { loss: f64::NAN, rmse: f64::NAN, r2: None });
    let (held_out_predictions, held_out) = unless_late(soon, found, nothing)?;
    let series = unless_late(soon, problem.series_predictions(&raw), Vec::new)?;
    let (score, held_out) = match series_scores(problem, score.loss, &series) {
        Some((score, held_out)) => (score, held_out),
        None => (score, (!problem.held_out().is_empty() && held_out.loss.is_finite()).then_some(held_out)),
    };
    let unused = match stage.optimizer.need() >= Need::Gradient {
        true => without_influence(problem, influence, choice, &mut warnings),
        false => Vec::new(),
    };
    let all: Vec<&Member> = members.iter().map(|(_, m)| *m).collect();
    let optima = Optima::of(problem, &all)?;
    let restarts = members.iter().enumerate().map(|(i, (s, m))| RestartResult {
        optimizer: s.optimizer.name(),
        loss: m.loss(),
        values: m.best.as_ref().map_or(Vec::new(), |b| problem.values(&b.0)),
        epochs: m.epochs,
        evaluations: m.evaluations,
        step_backs: m.not_finite,
        path_changes: m.path_changes,
        stopped: m.stopped.unwrap_or(Stop::Interrupted),
        optimum: optima.of_search[i],
        trace: m.trace.clone(),
    });
    warnings.append(problem.model.warnings());
    let mut parameters = fitted(problem, &raw, uncertainty.as_ref(), choice);
    forget_errors_at_bounds(problem, &mut parameters, uncertainty.as_mut());
    let restarts: Vec<RestartResult> = restarts.collect();
    let mut optimality = optimality(
        problem,
        (choice, options.errors),
        &raw,
        &restarts,
        best,
        &parameters,
        uncertainty.as_ref(),
        examined,
    )?;
    if !unused.is_empty() && optimality.parameters.iter().all(|name| unused.contains(name)) {
        optimality.next = optimality.next.map(|_| UNUSED.to_string());
    }
    warn(problem, &optimality, &score, (&restarts[best], &unused), &mut warnings);
    Ok(Fit {
        interrupted: false,
        parameters,
        optimality,
        optima,
        eliminated: if options.projects() { eliminated(problem) } else { Vec::new() },
        start_loss: f64::NAN,
        criteria: criteria(problem, score.loss - problem.loss_of_priors(&raw)),
        chi_square: chi_square(problem, score.loss),
        score,
        held_out,
        series,
        uncertainty,
        no_errors,
        intervals: Intervals::default(),
        bootstrap: None,
        predictions,
        held_out_predictions,
        best,
        restarts,
        optimizer: (stage.optimizer.name(), choice.reason.clone()),
        paths: problem.paths(),
        diagnosis: None,
        warnings,
        time: Duration::ZERO,
        raw,
    })
}

/// Why a fit that was ended has no errors.
pub(crate) const LATE: &str = "the time was over before they were known";

/// Matrices of more numbers than this are too large to be made when the time is over.
const MOST_AT_THE_END: usize = 300;

/// What takes the place of a part of a result that was stopped because the time is over.
fn unless_late<T>(soon: bool, found: Result<T, Report>, instead: impl FnOnce() -> T) -> Result<T, Report> {
    match found {
        Err(report) if soon && report.is_cancelled() => Ok(instead()),
        found => found,
    }
}

/// Takes back errors and intervals of numbers at a bound of their kind: the loss need not be level there, so that its
/// curvature says nothing about how far it rises.
fn forget_errors_at_bounds(problem: &Problem, parameters: &mut [Fitted], uncertainty: Option<&mut Uncertainty>) {
    let Some(uncertainty) = uncertainty else { return };
    let names = problem.value_names();
    for number in parameters.iter_mut().flat_map(|p| &mut p.numbers).filter(|n| n.at_bound) {
        let Some(k) = names.iter().position(|name| *name == number.name) else { continue };
        let known = &mut uncertainty.numbers[k];
        (known.error, known.interval) = (None, None);
        number.sureness = Some(*known);
        number.missing = Some("no error: the curvature says nothing at a bound".to_string());
    }
}

/// The names of the numbers that are solved for; of groups that share nothing, those of the first stand for all.
fn eliminated(problem: &Problem) -> Vec<String> {
    match problem.parts() {
        Some([part, ..]) => part.problem.eliminated_names(),
        _ => problem.eliminated_names(),
    }
}

/// All searches with their stages.
fn members_of(stages: &[Population]) -> Vec<(&Population, &Member)> {
    stages.iter().flat_map(|s| s.members.iter().map(move |m| (s, m))).collect()
}

/// The search that gives the result.
fn best_of(problem: &Problem, options: &FitOptions, choice: &Choice, members: &[(&Population, &Member)]) -> usize {
    let loss = |m: &Member| match (choice.by_held_out(), m.best.as_ref()) {
        (true, Some(best)) => selection_loss(problem, &best.0),
        _ => m.result(&options.budget).map_or(f64::INFINITY, |r| r.1),
    };
    let losses: Vec<f64> = members.iter().map(|(_, m)| loss(m)).collect();
    let lowest = losses.iter().copied().fold(f64::INFINITY, f64::min);
    // Of several that reached the same optimum, the first of those with most signs as at the start.
    let same = (0..losses.len()).filter(|&i| losses[i] <= lowest + SAME * lowest.abs());
    same.min_by_key(|&i| (other_signs(problem, members[i].1, options), i)).unwrap_or(0)
}

/// The number of the search that gives the result of some stages.
pub(crate) fn best_index(problem: &Problem, options: &FitOptions, choice: &Choice, stages: &[Population]) -> usize {
    best_of(problem, options, choice, &members_of(stages))
}

/// The search that gives the result of some stages, with its stage.
pub(crate) fn chosen<'a>(
    problem: &Problem,
    options: &FitOptions,
    choice: &Choice,
    stages: &'a [Population],
) -> (&'a Population, &'a Member) {
    let members = members_of(stages);
    members[best_of(problem, options, choice, &members)]
}

/// Losses that differ by less than this share are of the same optimum.
const SAME: f64 = 1e-10;

/// How many numbers of a result have another sign than at the start: a label that the data do not tell.
fn other_signs(problem: &Problem, member: &Member, options: &FitOptions) -> usize {
    let Some((point, _)) = member.result(&options.budget) else { return usize::MAX };
    let pairs = problem.values(point).into_iter().zip(&problem.written_start);
    pairs.filter(|(value, start)| value * **start < 0.0).count()
}

/// Whether what is left over is no more than the rounding of the predictions.
fn is_rounding(rmse: f64, predictions: &[f64]) -> bool {
    rmse <= 8.0 * f64::EPSILON * predictions.iter().fold(0.0, |most: f64, y| most.max(y.abs()))
}

/// Why a number has no error although others have one.
fn missing(uncertainty: &Uncertainty, number: usize, decides: bool) -> Option<String> {
    let sureness = &uncertainty.numbers[number];
    match uncertainty.missing.get(&number) {
        _ if decides => Some("no error: it only decides".to_string()),
        Some(why) => Some(format!("no error: {why}")),
        None if sureness.error.is_none() && sureness.verdict == Verdict::Identifiable => {
            Some("given by its kind".to_string())
        }
        None => None,
    }
}

fn fitted(problem: &Problem, raw: &[f64], uncertainty: Option<&Uncertainty>, choice: &Choice) -> Vec<Fitted> {
    let (values, starts, names) = (problem.values(raw), &problem.written_start, problem.value_names());
    let mut at = 0;
    let mut list = Vec::new();
    for (parameter, block) in problem.parameters.iter().zip(&problem.layout.blocks) {
        let count = block.transform.values() * if block.per_group { problem.layout.groups } else { 1 };
        let number = |k: usize| {
            let (start, value) = (starts[k], values[k]);
            let known = uncertainty.filter(|_| !choice.without_derivative.contains(&names[k]));
            let sureness = known.map(|u| u.numbers[k]);
            let vague = sureness.map(|s| s.verdict != Verdict::Identifiable);
            let at_bound = block.transform.is_at_bound(value, start, vague);
            let missing = uncertainty.and_then(|u| missing(u, k, choice.without_derivative.contains(&names[k])));
            Number { name: names[k].clone(), start, value, sureness, missing, at_bound }
        };
        let numbers: Vec<Number> = (at..at + count).map(number).collect();
        at += count;
        list.push(Fitted {
            name: parameter.name.clone(),
            kind: parameter.shown_kind(),
            start: numbers[0].start,
            value: numbers[0].value,
            fixed: false,
            numbers,
        });
    }
    list.extend(problem.fixed.iter().map(|p| {
        let numbers = p.number_names().into_iter().zip(&p.starts);
        let number = |(name, &x): (String, &f64)| Number::fixed(name, x);
        Fitted {
            name: p.name.clone(),
            kind: p.shown_kind(),
            start: p.init,
            value: p.init,
            fixed: true,
            numbers: numbers.map(number).collect(),
        }
    }));
    list.extend(problem.held.iter().map(|h| held(h, &problem.groups)));
    list
}

/// A parameter that was not fitted and differs by group.
fn held(held: &Held, groups: &[String]) -> Fitted {
    let of_group = |(parameter, group): (&Parameter, &String)| {
        let numbers = parameter.number_names().into_iter().zip(parameter.starts.clone());
        let number = |(name, x)| Number::fixed(format!("{name}[{group}]"), x);
        numbers.map(number).collect::<Vec<Number>>()
    };
    let first = &held.groups[0];
    Fitted {
        name: first.name.clone(),
        kind: first.shown_kind(),
        start: first.init,
        value: first.init,
        fixed: true,
        numbers: held.groups.iter().zip(groups).flat_map(of_group).collect(),
    }
}

/// Twice the gaussian loss, where that is a sum of squares.
fn chi_square(problem: &Problem, loss: f64) -> Option<ChiSquare> {
    let freedom = problem.measurements().saturating_sub(problem.layout.raws);
    let known = problem.is_least_squares() && problem.loss.is_likelihood();
    (known && freedom > 0).then_some(ChiSquare { value: 2.0 * loss, freedom })
}

/// The criteria for a loss without what priors add to it.
fn criteria(problem: &Problem, loss: f64) -> Option<Criteria> {
    let (count, k) = (problem.measurements(), problem.layout.raws);
    let rows = problem.training();
    if problem.is_objective() && problem.is_least_squares() {
        return (loss > 0.0).then(|| Criteria::of_squares(2.0 * loss, &vec![1.0; count], k));
    }
    if problem.is_objective() {
        // An objective is taken for a negative log-likelihood; only its user knows whether it is one.
        return Some(Criteria::new(-loss, k, count));
    }
    if problem.loss.is_likelihood() {
        let left_out = |row: usize| rows.weight[row] * problem.loss.constant(&problem.noise, rows.sigma[row]);
        let constant: f64 = problem.measured_cells().map(left_out).sum();
        return Some(Criteria::new(-(loss + constant), k, count));
    }
    let sum = loss * if problem.loss.is_mean() { problem.divisor(rows) } else { 1.0 };
    let weights: Vec<f64> = problem.measured_cells().map(|row| rows.weight[row]).collect();
    let usable = problem.is_least_squares() && sum > 0.0 && count > 0;
    usable.then(|| Criteria::of_squares(sum, &weights, k))
}

/// The scores of an objective program: of its predictions of the target, in the rows that were fitted and in
/// those that were not. None if it is not one.
fn series_scores(problem: &Problem, loss: f64, series: &[(usize, f64, bool)]) -> Option<(Score, Option<Score>)> {
    let targets = &problem.series()?.targets;
    let nothing = Score { loss, rmse: f64::NAN, r2: None };
    if targets.is_empty() || series.is_empty() {
        return Some((nothing, None));
    }
    let score = |fitted: bool| {
        let part: Vec<_> = series.iter().enumerate().filter(|(_, s)| s.2 == fitted).collect();
        let predictions: Vec<f64> = part.iter().map(|(_, s)| s.1).collect();
        let measured: Vec<f64> = part.iter().map(|(cell, s)| targets[cell % targets.len()].1[s.0]).collect();
        let known = || predictions.iter().zip(&measured).filter(|(_, y)| !y.is_nan());
        let (squares, count) = (known().map(|(p, y)| (p - y) * (p - y)).sum::<f64>(), known().count());
        let loss = if fitted { loss } else { squares / count as f64 };
        (count > 0).then(|| Score::of(loss, &predictions, &measured, targets.len()))
    };
    Some((score(true).unwrap_or(nothing), score(false)))
}

fn predicted(problem: &Problem, raw: &[f64], rows: &Rows, warnings: &mut Report) -> Result<(Vec<f64>, Score), Report> {
    if rows.is_empty() {
        return Ok((Vec::new(), Score { loss: f64::NAN, rmse: f64::NAN, r2: None }));
    }
    let (predictions, loss) = if std::ptr::eq(rows, problem.training()) {
        let known = problem.known(raw)?;
        (known.predictions.clone(), known.evaluation.loss)
    } else {
        let found = problem.evaluate_rows(&[raw.to_vec()], rows, Need::Loss)?.pop();
        (problem.predictions(raw, rows)?, found.map_or(f64::NAN, |f| f.loss - problem.loss_of_priors(raw)))
    };
    let outputs = problem.width();
    let bad = predictions.iter().enumerate().filter(|(_, p)| !p.is_finite());
    for (cell, prediction) in bad.take(5) {
        let row = rows.indices[cell / outputs] + 1;
        let message = format!("{}: the prediction of row {row} is {prediction}", problem.source);
        let help = "dmci eval with the fitted values shows what happens there";
        warnings.append(Report::from(Diagnostic::warning(ErrorCode::W0501, message).help(help)));
    }
    let score = Score::of(loss, &predictions, &rows.target, outputs);
    Ok((predictions, score))
}

/// Warns of parameters whose derivative was 0 in every evaluation. The names of those that no prediction depends on.
fn without_influence(problem: &Problem, influence: &[bool], choice: &Choice, warnings: &mut Report) -> Vec<String> {
    let mut unused = Vec::new();
    for (parameter, block) in problem.parameters.iter().zip(&problem.layout.blocks) {
        let count = block.transform.raws() * if block.per_group { problem.layout.groups } else { 1 };
        let silent = influence[block.raw..block.raw + count].iter().all(|seen| !seen);
        let searched = choice.without_derivative.contains(&parameter.name);
        if silent && !searched {
            let name = &parameter.name;
            let (message, help) = match why_silent(problem, block.value) {
                Some(why) => (format!("the derivative by {name} was zero throughout, so it was not fitted"), why),
                None => {
                    unused.push(name.clone());
                    (format!("no prediction depends on {name}, so it was not fitted"), UNUSED)
                }
            };
            warnings
                .append(parameter.report(&problem.program, Diagnostic::warning(ErrorCode::W0503, message).help(help)));
        }
    }
    unused
}

/// What to do about a parameter that nothing depends on.
const UNUSED: &str = "use it in the program, or remove it from (params ...)";

/// Why the derivative by a number of a set was 0; none if no prediction depends on it.
fn why_silent(problem: &Problem, number: usize) -> Option<&'static str> {
    Some(match problem.structure() {
        Some(structure) if structure.reaches(number) => {
            "the prediction computes with it, but a function is saturated or underflows wherever the search looked: \
             start where it matters, or give it a range or a scale"
        }
        Some(structure) if structure.decides(number) => {
            "it occurs only in decisions, which have no derivative: smooth them, for example with sigmoid, or fit \
             without derivatives"
        }
        Some(_) => return None,
        None => "the prediction does not depend on it here",
    })
}

/// The program with the fitted values as the starts of its schema; a parameter that differs by group keeps
/// its start. Fails if the program is not written as text.
pub fn with_starts(problem: &Problem, fit: &Fit) -> Result<String, Report> {
    let text = &problem.program.text;
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    for (parameter, block) in problem.parameters.iter().zip(&problem.layout.blocks) {
        let (Some((start, end)), false) = (parameter.start_span(), block.per_group) else { continue };
        let Some(fitted) = fit.parameters.iter().find(|p| p.name == parameter.name) else { continue };
        let numbers: Vec<String> = fitted.numbers.iter().map(|n| format!("{:?}", n.value)).collect();
        let new = if let [one] = &numbers[..] { one.clone() } else { format!("({})", numbers.join(" ")) };
        edits.push((start as usize, end as usize, new));
    }
    edits.sort_by_key(|e| e.0);
    let mut out = String::new();
    let mut at = 0;
    for (start, end, new) in edits {
        out += &text[at..start];
        out += &new;
        at = end;
    }
    Ok(out + &text[at..])
}
