//! The last steps of least squares: Gauss-Newton from where a search ended, as long as they come nearer to the optimum.
//! A search ends when the loss no longer falls; the gradient tells the optimum more sharply than that.

use crate::choice::{Choice, Method};
use crate::fit::FitOptions;
use crate::optimality::{TOLERANCE, gauss_newton};
use crate::population::Population;
use crate::problem::Problem;
use crate::result::best_index;
use dmci::Report;

/// Most steps.
const STEPS: usize = 4;

/// A step must leave at most this share of what another one would gain.
const NEARER: f64 = 0.25;

/// By which share the loss may rise: no more than rounding.
const ROUNDING: f64 = 1e-13;

/// Steps longer than this share of a number are no last ones.
const SHORT: f64 = 1e-3;

/// Polishes the search that gives the result, if it ended at an optimum.
pub(crate) fn polish(
    problem: &Problem,
    options: &FitOptions,
    choice: &Choice,
    stages: &mut [Population],
) -> Result<(), Report> {
    let n = problem.layout.raws;
    if options.method != Method::Auto || options.budget.last || !problem.is_least_squares() || n > 300 {
        return Ok(());
    }
    let index = best_index(problem, options, choice, stages);
    let Some(member) = stages.iter_mut().flat_map(|s| &mut s.members).nth(index) else { return Ok(()) };
    let ended = member.stopped.is_some_and(|stop| stop.is_end());
    let Some((mut point, mut loss)) = member.best.clone().filter(|_| ended) else { return Ok(()) };
    let mut known = problem.known(&point)?;
    for _ in 0..STEPS {
        let (step, gain) = gauss_newton(&known.evaluation, n, &[]);
        let is_short = |(by, x): (&f64, &f64)| by.abs() <= SHORT * x.abs().max(1.0);
        let is_near = gain > 0.0 && gain <= TOLERANCE * loss && step.iter().zip(&point).all(is_short);
        if !is_near {
            break;
        }
        let next: Vec<f64> = point.iter().zip(&step).map(|(x, by)| x + by).collect();
        let there = problem.known(&next)?;
        member.evaluations += 1;
        let (_, gain_there) = gauss_newton(&there.evaluation, n, &[]);
        let lower = there.evaluation.loss <= loss + ROUNDING * loss.abs();
        let is_nearer = there.evaluation.is_finite() && lower && gain_there <= NEARER * gain;
        if !is_nearer {
            break;
        }
        (point, loss, known) = (next, there.evaluation.loss, there);
    }
    member.best = Some((point, loss));
    Ok(())
}
