//! How residuals bend, as far as one step has shown it: how their Jacobian changed along it.

use super::Evaluation;
use dmci_stats::linear::{Damped, Factored, Vector, dot, length, scaled};
use serde::{Deserialize, Serialize};
use smallvec::smallvec;

/// A step, and the Jacobian from where it led.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Curvature {
    step: Vector,
    before: Vec<f64>,
}

/// The curvature of the loss beyond that of linear residuals, `y y' / y's`: exact along the step `s`, none across it.
#[derive(Debug)]
pub struct Secant {
    y: Vector,
    along_step: f64,
    /// What the linear problem answers to `y`, divided by how much longer or shorter the curvature makes it.
    answer: Vector,
}

/// Bends of a step up to this share of it can be trusted.
const MOST: f64 = 0.3;

/// With less of the curvature of linear residuals left than this share, steps would be far too long.
const LEAST_LEFT: f64 = 0.2;

impl Curvature {
    /// Takes a step and the Jacobian from where it led; leaves memory for another one.
    pub fn learn(&mut self, step: &[f64], before: &mut Vec<f64>) {
        self.step.clear();
        self.step.extend_from_slice(step);
        std::mem::swap(&mut self.before, before);
    }

    /// Each row of the Jacobian as it is now, and as it was before.
    fn rows<'a>(&'a self, now: &'a Evaluation) -> impl Iterator<Item = (&'a [f64], &'a [f64])> {
        let n = self.step.len();
        now.jacobian.chunks_exact(n).zip(self.before.chunks_exact(n))
    }

    /// A step with the bend of a geodesic (Transtrum and Sethna 2012), which follows narrow valleys. Their second
    /// derivative along the step takes an evaluation more; here the step before tells it for nothing, as steps along
    /// a valley have nearly the same direction.
    pub fn bent(
        &self,
        now: &Evaluation,
        factored: &Factored,
        solution: &Damped,
        step: &[f64],
        units: &[f64],
    ) -> Vector {
        let (new, old) = (scaled(step, units), scaled(&self.step, units));
        let share = dot(&new, &old) / dot(&old, &old);
        // With new = share * old + rest, all but the part of the rest by the rest is known.
        let direction: Vector =
            step.iter().zip(&self.step).map(|(new, old)| share * (2.0 * new - share * old)).collect();
        let mut right: Vector = smallvec![0.0; step.len()];
        for (row, before) in self.rows(now) {
            let second: f64 = row.iter().zip(before).zip(&direction).map(|((a, b), d)| (a - b) * d).sum();
            right.iter_mut().zip(row).for_each(|(r, x)| *r -= 0.5 * second * x);
        }
        let bend = factored.solve_normal(solution, &right);
        let trusted = 2.0 * length(&scaled(&bend, units)) <= MOST * length(&new);
        step.iter().zip(bend).map(|(s, b)| if trusted { s + b } else { *s }).collect()
    }

    /// The curvature of the loss, unless rounding errors hide it or it would turn a minimum over (the secant condition
    /// of Dennis, Gay and Welsch 1981).
    pub fn of_loss(&self, now: &Evaluation, factored: &Factored, solution: &Damped) -> Option<Secant> {
        let mut y: Vector = smallvec![0.0; self.step.len()];
        for ((row, before), residual) in self.rows(now).zip(&now.residuals) {
            y.iter_mut().zip(row).zip(before).for_each(|((y, a), b)| *y += (a - b) * residual);
        }
        let along_step = dot(&y, &self.step);
        let mut answer = factored.solve_normal(solution, &y);
        let left = 1.0 + dot(&y, &answer) / along_step;
        answer.iter_mut().for_each(|x| *x /= left);
        let shows = along_step.abs() > 1e-8 * length(&y) * length(&self.step);
        (shows && left > LEAST_LEFT).then_some(Secant { y, along_step, answer })
    }
}

impl Secant {
    /// The step of the linear problem, corrected (Sherman and Morrison).
    pub fn corrected(&self, step: &[f64]) -> Vector {
        let by = dot(&self.y, step) / self.along_step;
        step.iter().zip(&self.answer).map(|(s, a)| s - by * a).collect()
    }

    /// What the curvature adds to the loss along a step.
    pub fn along(&self, step: &[f64]) -> f64 {
        let y = dot(&self.y, step);
        y * y / self.along_step
    }
}
