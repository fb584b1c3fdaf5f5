//! Levenberg and Marquardt's method for least squares, as Moré (1978) and MINPACK do it: steps by the
//! Jacobian of the residuals within a region of trust, in units that the columns of the Jacobian give. How the
//! Jacobian changed along the last step tells how residuals bend, and corrects the next one.

use super::curvature::Curvature;
use super::{Evaluation, Search, Start, Stop};
use crate::points::{Asked, Points};
use dmci_ops::real::sqrt;
use dmci_stats::linear::{Damped, Factored, Vector, column_lengths, dot, length, scaled};
use serde::{Deserialize, Serialize};
use smallvec::smallvec;

/// How the region of trust is set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevenbergOptions {
    /// The first region, as a multiple of the start's length.
    pub factor: f64,
    /// It has converged when the loss can fall by this share only.
    pub loss_tolerance: f64,
    /// It has converged when steps are shorter than this share of the point.
    pub step_tolerance: f64,
}

impl Default for LevenbergOptions {
    fn default() -> Self {
        LevenbergOptions { factor: 100.0, loss_tolerance: 1e-12, step_tolerance: 1e-14 }
    }
}

/// One search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Levenberg {
    options: LevenbergOptions,
    point: Vector,
    found: Evaluation,
    /// The units of each direction: the largest length so far of each column of the Jacobian.
    units: Vector,
    radius: f64,
    step: Vector,
    /// How much the loss falls along the step if residuals are linear, or the loss is as curved as it was.
    predicted: f64,
    /// How little counts as nothing.
    negligible: f64,
    /// What the last step that led on has shown, and by what share the loss fell there.
    curvature: Option<(Curvature, f64)>,
    stopped: Option<Stop>,
    /// Memory for the next factorisation.
    #[serde(skip)]
    columns: Vec<f64>,
}

impl Levenberg {
    /// A search from a start.
    pub fn new(options: LevenbergOptions, start: Start) -> Levenberg {
        let n = start.point.len();
        let mut search = Levenberg {
            options,
            point: start.point.into(),
            found: start.found,
            units: smallvec![0.0; n],
            radius: 0.0,
            step: smallvec![0.0; n],
            predicted: 0.0,
            negligible: 0.0,
            curvature: None,
            stopped: None,
            columns: Vec::new(),
        };
        search.measure();
        let size = length(&search.scaled(&search.point));
        search.radius = options.factor * if size > 0.0 { size } else { 1.0 };
        search.plan();
        search
    }

    fn scaled(&self, vector: &[f64]) -> Vector {
        scaled(vector, &self.units)
    }

    /// Takes the units of the Jacobian.
    fn measure(&mut self) {
        let lengths = column_lengths(&self.found.jacobian, self.point.len());
        self.units.iter_mut().zip(lengths).for_each(|(unit, length)| *unit = unit.max(length));
        // A direction without influence, so far, has the unit 1.
        self.units.iter_mut().filter(|u| **u == 0.0).for_each(|u| *u = 1.0);
    }

    /// Finds the step that is best inside of the region.
    fn plan(&mut self) {
        if self.found.gradient.iter().all(|g| *g == 0.0) {
            self.stopped = Some(Stop::Flat);
            return;
        }
        let n = self.point.len();
        let factored = Factored::new(&self.found.jacobian, &self.found.residuals, n, &mut self.columns);
        let (damping, solution) = self.inside(&factored);
        let mut step: Vector = solution.x.iter().map(|s| -s).collect();
        let mut curved = 0.0;
        if let Some((curvature, fell)) = &self.curvature {
            if *fell < if damping == 0.0 { NEAR } else { NEAR_WITH_DAMPING }
                && let Some(secant) = curvature.of_loss(&self.found, &factored, &solution)
                && let corrected = secant.corrected(&step)
                && length(&self.scaled(&corrected)) <= 1.1 * self.radius
            {
                step = corrected;
                curved = secant.along(&step);
            }
            self.step = curvature.bent(&self.found, &factored, &solution, &step, &self.units);
        } else {
            self.step.clone_from(&step);
        }
        let linear: f64 = self.found.jacobian.chunks(step.len()).map(|row| dot(row, &step)).map(|x| x * x).sum();
        self.predicted = -dot(&self.found.gradient, &step) - linear - curved;
        let free = damping == 0.0;
        let same_digits = || self.point.iter().zip(&self.step).all(|(x, s)| s.abs() <= SAME_DIGITS * x.abs());
        self.negligible = self.options.loss_tolerance * self.found.loss;
        if free && !same_digits() {
            // Where convergence is slow, the sum of the steps to come is much more than the next one.
            self.negligible *= 1e-3;
        }
        // Nothing holds the step back, and it promises nothing: to try it would tell nothing.
        if free && self.predicted <= self.negligible {
            self.stopped = Some(Stop::Converged);
        }
    }

    /// The solution of the linear problem inside of the region, and the damping that holds it there.
    fn inside(&self, factored: &Factored) -> (f64, Damped) {
        let size = |solution: &Damped| length(&self.scaled(&solution.x));
        let solve = |damping: f64| {
            let root = sqrt(damping);
            factored.solve(&self.units.iter().map(|u| u * root).collect::<Vector>())
        };
        let mut solution = solve(0.0);
        // Also if columns depend on each other: then the numbers of some stay as they are, and no digit of the loss is
        // lost by that.
        if size(&solution) <= 1.1 * self.radius {
            return (0.0, solution);
        }
        let slopes: Vector = self.found.gradient.iter().zip(&self.units).map(|(g, u)| 0.5 * g / u).collect();
        let (mut low, mut high) = (0.0, length(&slopes) / self.radius);
        let mut damping = (1e-3 * high).max(f64::MIN_POSITIVE);
        for _ in 0..20 {
            solution = solve(damping);
            let now = size(&solution);
            if (now - self.radius).abs() <= 0.1 * self.radius {
                break;
            }
            if now > self.radius {
                low = damping
            } else {
                high = damping
            }
            // 1 / size is nearly linear in the damping (Hebden): where a line through this solution meets 1 / radius.
            let slope = factored.shrinking(&solution, &self.units) / now;
            let next = damping + (1.0 / self.radius - 1.0 / now) / slope;
            let inside = next.is_finite() && next > low && next < high;
            damping = if inside { next } else { sqrt(low.max(1e-3 * high) * high).max(0.001 * high) };
            if high - low <= 1e-12 * high {
                break;
            }
        }
        (damping, solution)
    }

    fn trial(&self) -> Vector {
        self.point.iter().zip(&self.step).map(|(x, s)| x + s).collect()
    }
}

/// Numbers that differ by less than this share are the same to whoever reads them.
const SAME_DIGITS: f64 = 1e-7;

/// The end is near when the loss fell by less than this share: then the curvature of the loss makes steps better,
/// and before it makes them worse.
const NEAR: f64 = 1e-2;

/// The same inside of a region that holds steps back: in a narrow valley the loss falls slowly everywhere.
const NEAR_WITH_DAMPING: f64 = 1e-6;

impl Search for Levenberg {
    fn ask(&mut self, points: &mut Points) {
        points.push(self.trial());
    }

    fn tell(&mut self, asked: Asked, found: &mut [Evaluation]) {
        let Some(found) = found.first_mut() else { return };
        let finite = found.is_finite();
        let actual = if finite { self.found.loss - found.loss } else { f64::NEG_INFINITY };
        let ratio = if self.predicted > 0.0 { actual / self.predicted } else { 0.0 };
        let size = length(&self.scaled(&self.step));
        let moved = self.curvature.is_some();
        if !moved {
            // The first step shows how large steps are.
            self.radius = self.radius.min(size);
        }
        if ratio <= 0.25 {
            let slope = dot(&self.found.gradient, &self.step);
            let shrink = if actual >= 0.0 { 0.5 } else { (0.5 * slope / (slope + actual)).clamp(0.1, 0.5) };
            let shrink = if found.loss > 100.0 * self.found.loss || !finite { 0.1 } else { shrink };
            self.radius = shrink * self.radius.min(10.0 * size);
        } else if ratio >= 0.75 {
            self.radius = self.radius.max(2.0 * size);
        }
        // Whoever evaluated the point may have moved it to one that is better.
        self.step.iter_mut().zip(asked.get(0)).zip(&self.point).for_each(|((s, to), from)| *s = to - from);
        let loss = self.found.loss;
        let small = actual <= self.negligible && self.predicted <= self.negligible;
        if ratio >= 1e-4 && finite {
            self.point.copy_from_slice(asked.get(0));
            std::mem::swap(&mut self.found, found);
            // The other one's memory is used for the next point.
            let (curvature, fell) = self.curvature.get_or_insert_default();
            curvature.learn(&self.step, &mut found.jacobian);
            *fell = actual / loss;
            self.measure();
        }
        let reach = length(&self.scaled(&self.point));
        if small || self.radius <= self.options.step_tolerance * reach || self.trial() == self.point {
            // A step that cannot be told from no step ends a search; so does a region without room.
            self.stopped = Some(if finite || moved { Stop::Converged } else { Stop::Stuck });
            return;
        }
        self.plan();
        if self.stopped.is_none() && self.trial() == self.point {
            self.stopped = Some(Stop::Converged);
        }
    }

    fn stopped(&self) -> Option<Stop> {
        self.stopped
    }

    fn rate(&self) -> f64 {
        length(&self.step)
    }
}
