//! The fit: all restarts as one population, until each of them stops.

use crate::adam::AdamOptions;
use crate::loss::Score;
use crate::problem::{Problem, Rows};
use crate::restart::{Patience, Restart, Stop};
use crate::starts::offset;
use dmci::{Diagnostic, Parameter, ParameterKind, Report};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// How to fit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FitOptions {
    /// How the optimiser moves.
    pub adam: AdamOptions,
    /// When a search stops.
    pub patience: Patience,
    /// Searches from other starts, besides the one from the schema's values.
    pub more_restarts: usize,
    /// Decides the other starts.
    pub seed: u64,
}

/// What an observer sees after every epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Epochs done.
    pub epoch: usize,
    /// Most epochs.
    pub epochs: usize,
    /// The best loss of all restarts so far.
    pub loss: f64,
    /// The rate of the restart that has it.
    pub rate: f64,
    /// Searches that are not finished.
    pub running: usize,
    /// All searches.
    pub restarts: usize,
}

/// A parameter after a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: ParameterKind,
    /// Where the fit started, in the user's units.
    pub start: f64,
    /// Where it ended.
    pub value: f64,
    /// Whether it was fixed.
    pub fixed: bool,
}

/// What became of one restart.
#[derive(Clone, Debug, PartialEq)]
pub struct RestartResult {
    /// The best loss.
    pub loss: f64,
    /// The parameters there, in the user's units.
    pub values: Vec<f64>,
    /// Steps tried.
    pub epochs: usize,
    /// Steps that were halved because values were not finite.
    pub step_backs: usize,
    /// Why it stopped.
    pub stopped: Stop,
}

/// The result of a fit.
#[derive(Clone, Debug)]
pub struct Fit {
    /// All parameters: the fitted ones in the order of the schema, then the fixed ones.
    pub parameters: Vec<Fitted>,
    /// The loss at the schema's values.
    pub start_loss: f64,
    /// How well the rows are predicted that were fitted.
    pub score: Score,
    /// How well the rows are predicted that were held out; none if none were, or if one failed.
    pub held_out: Option<Score>,
    /// Predictions of the fitted rows.
    pub predictions: Vec<f64>,
    /// Predictions of the rows held out.
    pub held_out_predictions: Vec<f64>,
    /// The restart with the lowest loss.
    pub best: usize,
    /// All restarts.
    pub restarts: Vec<RestartResult>,
    /// Paths through the program that were recorded.
    pub paths: u64,
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
        self.restarts.iter().any(|r| r.stopped == Stop::Interrupted)
    }
}

/// Fits a problem. The observer is asked after every epoch whether to go on; if not, the result is
/// the best so far. Fails if the program cannot be evaluated at the start.
pub fn fit(
    problem: &Problem,
    options: &FitOptions,
    observe: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Fit, Report> {
    let began = Instant::now();
    problem.check_start()?;
    let mut population: Vec<Restart> = (0..=options.more_restarts)
        .map(|index| {
            let offset = offset(problem.start(), index, options.seed);
            Restart::new(index, problem.start().to_vec(), offset, options.adam, options.patience)
        })
        .collect();
    let mut start_loss = None;
    let mut influence = vec![false; problem.parameters.len()];
    loop {
        let mut running: Vec<&mut Restart> = population.iter_mut().filter(|r| r.stopped.is_none()).collect();
        if running.is_empty() {
            break;
        }
        let points: Vec<Vec<f64>> = running.iter().map(|r| r.point()).collect();
        let Ok(evaluations) = problem.evaluate(&points) else { break };
        start_loss.get_or_insert(evaluations[0].loss);
        for (restart, evaluation) in running.iter_mut().zip(evaluations) {
            for (seen, g) in influence.iter_mut().zip(&evaluation.gradient) {
                *seen |= *g != 0.0;
            }
            restart.tell(evaluation);
        }
        if observe(&progress(&population, options)).is_break() {
            break;
        }
    }
    for restart in population.iter_mut().filter(|r| r.stopped.is_none()) {
        restart.stopped = Some(Stop::Interrupted);
    }
    problem.resume();
    let mut fit = result(problem, &population)?;
    fit.start_loss = start_loss.unwrap_or(f64::NAN);
    for (parameter, _) in problem.parameters.iter().zip(influence).filter(|(_, seen)| !seen) {
        fit.warnings.append(without_influence(problem, parameter));
    }
    fit.time = began.elapsed();
    Ok(fit)
}

fn progress(population: &[Restart], options: &FitOptions) -> Progress {
    let best = best_of(population);
    Progress {
        epoch: population.iter().map(|r| r.epochs).max().unwrap_or(0),
        epochs: options.patience.epochs,
        loss: best.map_or(f64::NAN, loss_of),
        rate: best.map_or(f64::NAN, |r| r.rate),
        running: population.iter().filter(|r| r.stopped.is_none()).count(),
        restarts: population.len(),
    }
}

fn loss_of(restart: &Restart) -> f64 {
    restart.best.as_ref().map_or(f64::INFINITY, |b| b.evaluation.loss)
}

/// The restart with the lowest loss, the first one if several have it.
fn best_of(population: &[Restart]) -> Option<&Restart> {
    population.iter().filter(|r| r.best.is_some()).min_by(|a, b| loss_of(a).total_cmp(&loss_of(b)))
}

fn result(problem: &Problem, population: &[Restart]) -> Result<Fit, Report> {
    let cancelled = || Report::of(*Diagnostic::error("E0409", "interrupted before the first epoch was done"));
    let best = best_of(population).ok_or_else(cancelled)?;
    let values = |restart: &Restart| restart.best.as_ref().map_or(Vec::new(), |b| problem.values(&b.point));
    let fitted = problem.parameters.iter().zip(values(best));
    let fixed = problem.fixed.iter().map(|p| (p, p.init));
    let parameters = fitted.chain(fixed).map(|(p, value)| Fitted {
        name: p.name.clone(),
        kind: p.kind,
        start: p.init,
        value,
        fixed: p.fixed,
    });
    let restarts = population.iter().map(|r| RestartResult {
        loss: loss_of(r),
        values: values(r),
        epochs: r.epochs,
        step_backs: r.step_backs,
        stopped: r.stopped.unwrap_or(Stop::Interrupted),
    });
    let mut warnings = problem.warnings.clone();
    let (predictions, score) = predict(problem, &values(best), &problem.training, &mut warnings)?;
    let (held_out_predictions, held_out) = predict(problem, &values(best), &problem.held_out, &mut warnings)?;
    Ok(Fit {
        parameters: parameters.collect(),
        start_loss: f64::NAN,
        score,
        held_out: (!problem.held_out.target.is_empty() && held_out.loss.is_finite()).then_some(held_out),
        predictions,
        held_out_predictions,
        best: best.index,
        restarts: restarts.collect(),
        paths: problem.paths(),
        warnings,
        time: Duration::ZERO,
    })
}

fn predict(problem: &Problem, values: &[f64], rows: &Rows, warnings: &mut Report) -> Result<(Vec<f64>, Score), Report> {
    let predictions = if rows.target.is_empty() { Vec::new() } else { problem.predict(values, &rows.columns)?.values };
    for (prediction, index) in predictions.iter().zip(&rows.indices).filter(|(p, _)| !p.is_finite()).take(5) {
        let message = format!("{}: the prediction of row {} is {prediction}", problem.data, index + 1);
        let help = "dmci eval with the fitted values shows what happens there";
        warnings.append(Report::of(*Diagnostic::warning("W0501", message).help(help)));
    }
    let score = Score::of(&predictions, &rows.target);
    Ok((predictions, score))
}

fn without_influence(problem: &Problem, parameter: &Parameter) -> Report {
    let message = format!("the derivative by {} was zero throughout, so it was not fitted", parameter.name);
    let help = "the prediction does not depend on it, or only through the test of an if";
    parameter.report(&problem.program, Diagnostic::warning("W0503", message).help(help))
}
