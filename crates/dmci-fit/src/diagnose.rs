//! The residual report of a fit, with a second look at the numbers before the structure is blamed.

use crate::fit::{FitOptions, fit};
use crate::loss::Loss;
use crate::optimality::Outcome;
use crate::problem::Problem;
use crate::result::Fit;
use crate::uncertainty::Verdict as Identifiable;
use dmci::Report;
use dmci_stats::diagnosis::{Diagnosis, Question, Searched, Verdict, diagnose as report};
use dmci_stats::residuals::{Rows, mean, root_mean_square};
use dmci_table::reals;
use std::ops::ControlFlow;

/// Searches of the second look.
const STARTS: usize = 32;

/// Says what the residuals of a fit still know, and who is to blame. Where something is left and the fit has not looked
/// for other optima itself, it is made again from many starts: a wrong optimum must not pass for a wrong structure. None
/// if there is nothing to compare predictions with.
pub fn diagnose(
    problem: &Problem,
    fitted: &Fit,
    options: &FitOptions,
    stopped: &dyn Fn() -> bool,
) -> Result<Option<Diagnosis>, Report> {
    let mut searched = searched(fitted);
    let Some(found) = diagnosed(problem, fitted, &searched) else { return Ok(None) };
    let fine = searched.converged && options.explores() && 2 * searched.reached >= searched.starts;
    if fine || found.verdict.is_none_or(|v| v == Verdict::AtTheNoise) || stopped() {
        return Ok(Some(found));
    }
    // Both searches have the time of one.
    let left = options.time.map(|limit| limit.saturating_sub(fitted.time));
    if left.is_some_and(|left| left.is_zero()) {
        return Ok(Some(found));
    }
    let more = FitOptions {
        more_restarts: STARTS - 1,
        seed: options.seed.wrapping_add(1),
        time: left,
        ..FitOptions::default()
    };
    let go_on = |_: &crate::fit::Progress| if stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    // A second look that fails says nothing against the first.
    if let Ok(again) = fit(problem, &more, &mut { go_on })
        && !again.was_interrupted()
        && let Some(better) = diagnosed(problem, &again, &searched)
    {
        let lower = again.score.loss < fitted.score.loss;
        searched.retried = Some(if lower { better.rmse.min(found.rmse) } else { found.rmse });
        // An optimum that many starts confirm is one, even if the first search ended beside it.
        searched.converged |= matches!(again.optimality.outcome, Outcome::Converged | Outcome::Unchecked);
    }
    problem.resume();
    Ok(diagnosed(problem, fitted, &searched))
}

fn searched(fit: &Fit) -> Searched {
    let numbers = || fit.parameters.iter().filter(|p| !p.fixed).flat_map(|p| &p.numbers);
    let names = |list: Vec<String>| list.into_iter().take(8).collect();
    let not = |s: crate::uncertainty::Sureness| s.verdict == Identifiable::Not;
    Searched {
        converged: matches!(
            fit.optimality.outcome,
            Outcome::Converged | Outcome::Unchecked | Outcome::Flat | Outcome::AtBound
        ),
        starts: fit.optima.starts,
        reached: fit.optima.best,
        retried: None,
        at_bounds: names(numbers().filter(|n| n.at_bound).map(|n| n.name.clone()).collect()),
        unidentified: names(numbers().filter(|n| n.sureness.is_some_and(not)).map(|n| n.name.clone()).collect()),
    }
}

fn diagnosed(problem: &Problem, fit: &Fit, searched: &Searched) -> Option<Diagnosis> {
    let sides = match problem.series() {
        Some(_) => series(problem, fit)?,
        None => (0..problem.targets.len()).map(|k| side(problem, fit, k)).collect(),
    };
    // Of several targets the one that is predicted worst.
    let share = |s: &Side| root_mean_square(&s.rows.residuals) / s.deviation.max(f64::MIN_POSITIVE);
    let worst = sides.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    Some(report(&Question {
        rows: &worst.rows,
        groups: worst.groups.as_deref(),
        deviation: worst.deviation,
        known_noise: worst.known_noise,
        parameters: fit.raw.len(),
        searched,
    }))
}

/// One target with its predictions.
struct Side {
    rows: Rows,
    groups: Option<Vec<String>>,
    deviation: f64,
    known_noise: bool,
}

fn deviation(target: &[f64]) -> f64 {
    let known: Vec<f64> = target.iter().copied().filter(|y| y.is_finite()).collect();
    let m = mean(&known);
    root_mean_square(&known.iter().map(|y| y - m).collect::<Vec<f64>>())
}

/// The rows of a target of a program that predicts rows. Weights and the noise of counts make residuals comparable.
fn side(problem: &Problem, fit: &Fit, target: usize) -> Side {
    let rows = problem.training();
    let outputs = problem.targets.len();
    let column = |list: &[f64]| list.iter().skip(target).step_by(outputs).copied().collect::<Vec<f64>>();
    let (observed, predictions) = (column(&rows.target), column(&fit.predictions));
    let known_noise = matches!(problem.loss, Loss::Gaussian | Loss::StudentT(_))
        && problem.noise.sigma.is_none()
        && rows.sigma.iter().any(|s| *s != 1.0);
    let unit = |i: usize, prediction: f64| {
        let weight = rows.weight.get(i).map_or(1.0, |w| dmci_ops::real::sqrt(*w));
        let noise = match problem.loss {
            Loss::Poisson | Loss::NegativeBinomial => dmci_ops::real::sqrt(prediction.max(1e-12)),
            _ => rows.sigma.get(i).copied().unwrap_or(1.0),
        };
        weight / noise
    };
    let pairs = observed.iter().zip(&predictions).enumerate();
    let residuals = pairs.map(|(i, (y, p))| (y - p) * unit(i, *p)).collect();
    let inputs = problem.inputs.iter().zip(&rows.columns).filter_map(|(name, c)| Some((name.clone(), reals(c).ok()?)));
    let groups = problem.group.as_ref().map(|_| {
        let name = |g: &usize| problem.groups.get(*g).cloned().unwrap_or_default();
        rows.group.iter().map(name).collect()
    });
    let rows = Rows { residuals, predictions, inputs: inputs.collect() };
    Side { rows, groups, deviation: deviation(&observed), known_noise }
}

/// The rows of an objective program that names its predictions, for each target.
fn series(problem: &Problem, fit: &Fit) -> Option<Vec<Side>> {
    let series = problem.series()?;
    let count = series.targets.len();
    let names = || series.targets.iter().map(|(name, _)| name);
    let group_of = |row: usize| series.rows.iter().position(|list| list.contains(&row)).unwrap_or(0);
    let side = |(k, (_, target)): (usize, &(String, Vec<f64>))| {
        let fitted = fit.series.iter().skip(k).step_by(count).filter(|s| s.2);
        let used: Vec<(usize, f64)> = fitted.map(|s| (s.0, s.1)).collect();
        if used.is_empty() {
            return None;
        }
        let columns = problem.inputs.iter().zip(&series.columns);
        let numeric = columns.filter(|(input, _)| names().all(|name| name != *input));
        let inputs = numeric.filter_map(|(input, column)| {
            let all = reals(column).ok()?;
            Some((input.clone(), used.iter().map(|(row, _)| all[*row]).collect()))
        });
        let residuals: Vec<f64> = used.iter().map(|(row, p)| target[*row] - p).collect();
        let rows = Rows { residuals, predictions: used.iter().map(|u| u.1).collect(), inputs: inputs.collect() };
        let names = || used.iter().map(|(row, _)| problem.groups.get(group_of(*row)).cloned().unwrap_or_default());
        let groups = (series.rows.len() > 1 && used.len() < 20_000).then(|| names().collect());
        Some(Side { rows, groups, deviation: deviation(target), known_noise: false })
    };
    let sides: Vec<Side> = series.targets.iter().enumerate().map(side).collect::<Option<_>>()?;
    Some(sides).filter(|sides| !sides.is_empty())
}
