//! Levenberg and Marquardt's method for least squares, as Moré (1978) and MINPACK do it: steps by the
//! Jacobian of the residuals within a region of trust, in units that the columns of the Jacobian give.

use super::{Evaluation, Search, Start, Stop};
use crate::linear::{Factored, column_lengths, dot, length};
use crate::points::{Asked, Points};
use dmci_ops::real::sqrt;
use serde::{Deserialize, Serialize};

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
        LevenbergOptions { factor: 100.0, loss_tolerance: 1e-15, step_tolerance: 1e-14 }
    }
}

/// One search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Levenberg {
    options: LevenbergOptions,
    point: Vec<f64>,
    found: Evaluation,
    /// The units of each direction: the largest length so far of each column of the Jacobian.
    units: Vec<f64>,
    radius: f64,
    step: Vec<f64>,
    /// How much the loss falls along the step if residuals are linear.
    predicted: f64,
    moved: bool,
    stopped: Option<Stop>,
}

impl Levenberg {
    /// A search from a start.
    pub fn new(options: LevenbergOptions, start: Start) -> Levenberg {
        let n = start.point.len();
        let mut search = Levenberg {
            options,
            point: start.point,
            found: start.found,
            units: vec![0.0; n],
            radius: 0.0,
            step: vec![0.0; n],
            predicted: 0.0,
            moved: false,
            stopped: None,
        };
        search.measure();
        let size = length(&search.scaled(&search.point));
        search.radius = options.factor * if size > 0.0 { size } else { 1.0 };
        search.plan();
        search
    }

    fn scaled(&self, vector: &[f64]) -> Vec<f64> {
        vector.iter().zip(&self.units).map(|(x, u)| x * u).collect()
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
        let factored = Factored::new(&self.found.jacobian, &self.found.residuals, self.point.len());
        let size = |step: &[f64]| length(&self.scaled(step));
        let solve = |damping: f64| {
            let root = sqrt(damping);
            factored.solve(&self.units.iter().map(|u| u * root).collect::<Vec<f64>>())
        };
        let (mut damping, mut step) = (0.0, solve(0.0));
        if factored.rank() < self.point.len() || size(&step.x) > 1.1 * self.radius {
            let slopes: Vec<f64> = self.found.gradient.iter().zip(&self.units).map(|(g, u)| 0.5 * g / u).collect();
            let (mut low, mut high) = (0.0, length(&slopes) / self.radius);
            damping = (1e-3 * high).max(f64::MIN_POSITIVE);
            for _ in 0..20 {
                step = solve(damping);
                let now = size(&step.x);
                if (now - self.radius).abs() <= 0.1 * self.radius {
                    break;
                }
                if now > self.radius {
                    low = damping
                } else {
                    high = damping
                }
                // 1 / size is nearly linear in the damping (Hebden): where a line through this solution meets 1 / radius.
                let slope = factored.shrinking(&step, &self.units) / now;
                let next = damping + (1.0 / self.radius - 1.0 / now) / slope;
                let inside = next.is_finite() && next > low && next < high;
                damping = if inside { next } else { sqrt(low.max(1e-3 * high) * high).max(0.001 * high) };
                if high - low <= 1e-12 * high {
                    break;
                }
            }
        }
        let step: Vec<f64> = step.x.iter().map(|s| -s).collect();
        let linear: f64 = self.found.jacobian.chunks(step.len()).map(|row| dot(row, &step)).map(|x| x * x).sum();
        let scaled = size(&step);
        self.step = step;
        self.predicted = linear + 2.0 * damping * scaled * scaled;
        // Nothing holds the step back, and it promises nothing: to try it would tell nothing.
        if damping == 0.0 && self.predicted <= self.options.loss_tolerance * self.found.loss {
            self.stopped = Some(Stop::Converged);
        }
    }

    fn trial(&self) -> Vec<f64> {
        self.point.iter().zip(&self.step).map(|(x, s)| x + s).collect()
    }
}

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
        if !self.moved {
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
        let loss = self.found.loss;
        let negligible = self.options.loss_tolerance * loss;
        let small = actual.abs() <= negligible && self.predicted <= negligible && ratio <= 2.0;
        if ratio >= 1e-4 && finite {
            self.moved = true;
            self.point = asked.get(0).to_vec();
            // The other one's memory is used for the next point.
            std::mem::swap(&mut self.found, found);
            self.measure();
        }
        let reach = length(&self.scaled(&self.point));
        if small || self.radius <= self.options.step_tolerance * reach || self.trial() == self.point {
            // A step that cannot be told from no step ends a search; so does a region without room.
            self.stopped = Some(if finite || self.moved { Stop::Converged } else { Stop::Stuck });
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
