//! Second derivatives of a loss by raw numbers, from differences of exact gradients, for rows that no recording serves.
//!
//! Differences ask for what fits have anyway, whatever the loss, its noise, its priors and the transforms are. Each
//! number finds its own step: neither its size nor its unit says on which scale the loss bends along it.

use crate::problem::Problem;
use crate::search::{Evaluation, Need};
use dmci::Report;
use dmci_ops::real::sqrt;

/// Twice the rise of the loss along a step, as a parabola has it: above the first, bends of higher order begin to show,
/// and below the last, rounding does.
const MOST: f64 = 1e-4;
const WANTED: f64 = 1e-5;
const LEAST: f64 = 1e-10;

/// By which share curvatures over one and two steps may differ where the loss is a parabola.
const AGREE: f64 = 1e-2;

/// Steps that are tried for a number.
const ROUNDS: usize = 20;

/// The shifts that a step is tried with, in steps.
const SHIFTS: [f64; 4] = [1.0, -1.0, 2.0, -2.0];

/// What is known about the step along one number.
struct Step {
    /// The number.
    index: usize,
    /// The step to try next.
    size: f64,
    /// The largest step that is too small, and the smallest that is too large.
    between: (f64, f64),
    /// By which share curvatures differed where they differed least, and the derivatives of the gradient there.
    best: Option<(f64, Vec<f64>)>,
    settled: bool,
}

/// Second derivatives of the loss by raw numbers, row by row; none where gradients are not finite nearby.
pub(crate) fn differences(problem: &Problem, raw: &[f64]) -> Result<Option<Vec<f64>>, Report> {
    let n = raw.len();
    let first = |j: usize| Step {
        index: j,
        size: 1e-4 * raw[j].abs().max(1.0),
        between: (0.0, f64::INFINITY),
        best: None,
        settled: false,
    };
    let mut steps: Vec<Step> = (0..n).map(first).collect();
    for _ in 0..ROUNDS {
        // All gradients of a round are lanes of one call.
        let mut open: Vec<&mut Step> = steps.iter_mut().filter(|step| !step.settled).collect();
        if open.is_empty() {
            break;
        }
        let points: Vec<Vec<f64>> = open.iter().flat_map(|step| SHIFTS.map(|shift| step.point(raw, shift))).collect();
        let found = problem.evaluate(&points, Need::Gradient)?;
        for (step, (points, found)) in open.iter_mut().zip(points.chunks(4).zip(found.chunks(4))) {
            step.learn(raw, points, found);
        }
    }
    let columns: Option<Vec<Vec<f64>>> = steps.into_iter().map(|step| Some(step.best?.1)).collect();
    Ok(columns.map(|columns| {
        let mean = |k: usize| 0.5 * (columns[k / n][k % n] + columns[k % n][k / n]);
        (0..n * n).map(mean).collect()
    }))
}

impl Step {
    fn point(&self, raw: &[f64], shift: f64) -> Vec<f64> {
        let mut point = raw.to_vec();
        point[self.index] += shift * self.size;
        point
    }

    /// Takes the gradients at the four points, and chooses the next step if this one was not good.
    fn learn(&mut self, raw: &[f64], points: &[Vec<f64>], found: &[Evaluation]) {
        let j = self.index;
        if found.iter().any(|f| !f.is_finite()) {
            return self.go_on(1e-2, raw);
        }
        let slopes = |a: usize, b: usize| -> Vec<f64> {
            // The distance that was really moved, after rounding.
            let distance = points[a][j] - points[b][j];
            found[a].gradient.iter().zip(&found[b].gradient).map(|(x, y)| (x - y) / distance).collect()
        };
        let (one, two) = (slopes(0, 1), slopes(2, 3));
        let rise = self.size * self.size * one[j].abs();
        let doubt = if one[j] == two[j] { 0.0 } else { (two[j] / one[j] - 1.0).abs() };
        let is_better = self.best.as_ref().is_none_or(|(before, _)| doubt < *before);
        if rise <= MOST && (is_better || doubt <= AGREE) {
            // Over two distances, so that the error of the first kind cancels.
            self.best = Some((doubt, one.iter().zip(&two).map(|(a, b)| (4.0 * a - b) / 3.0).collect()));
        }
        let is_flat = found.iter().all(|f| f.gradient[j] == 0.0);
        if is_flat || doubt <= AGREE && (LEAST..=MOST).contains(&rise) {
            self.settled = true;
        } else if rise > MOST {
            self.go_on(sqrt(WANTED / rise).max(1e-6), raw);
        } else if rise >= LEAST {
            self.go_on(0.1, raw);
        } else {
            self.go_on(if rise > 0.0 { sqrt(WANTED / rise).min(1e6) } else { 1e4 }, raw);
        }
    }

    /// Goes on to a step longer or shorter by a factor, between those that are known to be wrong.
    fn go_on(&mut self, factor: f64, raw: &[f64]) {
        let (low, high) = &mut self.between;
        if factor > 1.0 {
            *low = low.max(self.size);
        } else {
            *high = high.min(self.size);
        }
        let next = self.size * factor;
        self.size = if next > *low && next < *high { next } else { sqrt(*low) * sqrt(*high) };
        let shortest = 64.0 * f64::EPSILON * raw[self.index].abs();
        self.settled = *high < 2.0 * *low || !self.size.is_normal() || self.size < shortest;
    }
}
