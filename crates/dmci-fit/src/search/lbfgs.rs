//! L-BFGS (Nocedal and Wright, algorithms 7.4, 3.5 and 3.6): steps by an approximation of the inverse
//! Hessian from the last gradients, with a line search for the strong Wolfe conditions.

use super::{Evaluation, Search, Start, Stop};
use crate::points::{Asked, Points};
use dmci_ops::real::sqrt;
use dmci_stats::linear::{dot, length};
use serde::{Deserialize, Serialize};

/// How the search moves, and when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LbfgsOptions {
    /// Steps that are remembered.
    pub memory: usize,
    /// The share of the predicted fall that a step must reach.
    pub fall: f64,
    /// The share of the slope that may be left after a step.
    pub slope: f64,
    /// It has converged when the loss falls by less than this share, three times in a row.
    pub tolerance: f64,
    /// It has converged when the gradient is shorter than this.
    pub gradient: f64,
}

impl Default for LbfgsOptions {
    fn default() -> Self {
        LbfgsOptions { memory: 20, fall: 1e-4, slope: 0.9, tolerance: 1e-13, gradient: 1e-14 }
    }
}

/// A place on the line of the search.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Trial {
    at: f64,
    loss: f64,
    slope: f64,
    gradient: Vec<f64>,
}

/// What the line search looks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Phase {
    /// A pair of places with good ones between them; the last place that was still falling.
    Bracket(Trial),
    /// A good place between two; the first has the lower loss.
    Zoom(Trial, Trial),
}

/// One search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lbfgs {
    options: LbfgsOptions,
    point: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
    /// Steps, changes of the gradient along them, and one divided by their product.
    memory: Vec<(Vec<f64>, Vec<f64>, f64)>,
    direction: Vec<f64>,
    at: f64,
    phase: Phase,
    tries: usize,
    small: usize,
    finite: bool,
    stopped: Option<Stop>,
}

/// Places on one line before the search gives it up.
const MAX_TRIES: usize = 40;

impl Lbfgs {
    /// A search from a start.
    pub fn new(options: LbfgsOptions, start: Start) -> Lbfgs {
        let n = start.point.len();
        let mut search = Lbfgs {
            options,
            point: start.point,
            loss: start.found.loss,
            gradient: start.found.gradient,
            memory: Vec::new(),
            direction: vec![0.0; n],
            at: 1.0,
            phase: Phase::Bracket(Trial { at: 0.0, loss: 0.0, slope: 0.0, gradient: Vec::new() }),
            tries: 0,
            small: 0,
            finite: true,
            stopped: None,
        };
        search.aim();
        search
    }

    /// Chooses the next line.
    fn aim(&mut self) {
        let size = length(&self.gradient);
        if size == 0.0 {
            self.stopped = Some(Stop::Flat);
            return;
        }
        if size <= self.options.gradient {
            self.stopped = Some(Stop::Converged);
            return;
        }
        self.direction = self.gradient.iter().map(|g| -g).collect();
        let mut factors = Vec::new();
        for (s, y, rho) in self.memory.iter().rev() {
            let factor = rho * dot(s, &self.direction);
            self.direction.iter_mut().zip(y).for_each(|(d, y)| *d -= factor * y);
            factors.push(factor);
        }
        if let Some((_, y, rho)) = self.memory.last() {
            let scale = 1.0 / (rho * dot(y, y));
            self.direction.iter_mut().for_each(|d| *d *= scale);
        }
        for ((s, y, rho), factor) in self.memory.iter().zip(factors.into_iter().rev()) {
            let back = rho * dot(y, &self.direction);
            self.direction.iter_mut().zip(s).for_each(|(d, s)| *d += (factor - back) * s);
        }
        let mut slope = dot(&self.gradient, &self.direction);
        if slope >= 0.0 || !slope.is_finite() {
            self.memory.clear();
            self.direction = self.gradient.iter().map(|g| -g).collect();
            slope = -size * size;
        }
        self.at = if self.memory.is_empty() { (1.0 / size).min(1.0) } else { 1.0 };
        let here = Trial { at: 0.0, loss: self.loss, slope, gradient: self.gradient.clone() };
        self.phase = Phase::Bracket(here);
        self.tries = 0;
    }

    fn slope_here(&self) -> f64 {
        dot(&self.gradient, &self.direction)
    }

    fn accept(&mut self, trial: Trial) {
        let step: Vec<f64> = self.direction.iter().map(|d| trial.at * d).collect();
        let change: Vec<f64> = trial.gradient.iter().zip(&self.gradient).map(|(a, b)| a - b).collect();
        let product = dot(&step, &change);
        if product > f64::EPSILON * sqrt(dot(&step, &step) * dot(&change, &change)) {
            self.memory.push((step.clone(), change, 1.0 / product));
            if self.memory.len() > self.options.memory {
                self.memory.remove(0);
            }
        }
        let fall = self.loss - trial.loss;
        self.small =
            if fall <= self.options.tolerance * self.loss.abs().max(trial.loss.abs()) { self.small + 1 } else { 0 };
        let moved: Vec<f64> = self.point.iter().zip(step).map(|(x, s)| x + s).collect();
        let still = moved == self.point;
        self.point = moved;
        self.loss = trial.loss;
        self.gradient = trial.gradient;
        if self.small >= 3 || still {
            self.stopped = Some(Stop::Converged);
            return;
        }
        self.aim();
    }

    /// No place on the line is good enough.
    fn give_up_line(&mut self) {
        let fallen = match &self.phase {
            Phase::Bracket(t) | Phase::Zoom(t, _) if t.at > 0.0 && t.loss < self.loss => Some(t.clone()),
            _ => None,
        };
        match fallen {
            Some(trial) => self.accept(trial),
            // Once more straight downhill, without what is remembered.
            None if !self.memory.is_empty() => {
                self.memory.clear();
                self.aim();
            }
            None => self.stopped = Some(if self.finite { Stop::Converged } else { Stop::Stuck }),
        }
    }

    /// A place between two: by a cubic through losses and slopes, kept away from the ends.
    fn between(low: &Trial, high: &Trial) -> f64 {
        let (a, b) = (low.at, high.at);
        let middle = 0.5 * (a + b);
        if !high.loss.is_finite() || !high.slope.is_finite() {
            return a + 0.2 * (b - a);
        }
        let d1 = low.slope + high.slope - 3.0 * (low.loss - high.loss) / (a - b);
        let root = sqrt(d1 * d1 - low.slope * high.slope) * (b - a).signum();
        let at = b - (b - a) * (high.slope + root - d1) / (high.slope - low.slope + 2.0 * root);
        let (left, right) = (a.min(b), a.max(b));
        let margin = 0.1 * (right - left);
        if at.is_finite() && at > left + margin && at < right - margin { at } else { middle }
    }

    fn zoom(&mut self, low: Trial, high: Trial) {
        self.at = Lbfgs::between(&low, &high);
        let narrow = (high.at - low.at).abs() <= 1e-16 * high.at.abs().max(low.at.abs());
        self.phase = Phase::Zoom(low, high);
        if narrow {
            self.give_up_line();
        }
    }
}

impl Search for Lbfgs {
    fn ask(&mut self, points: &mut Points) {
        points.push(self.point.iter().zip(&self.direction).map(|(x, d)| x + self.at * d));
    }

    fn tell(&mut self, _: Asked, found: &mut [Evaluation]) {
        let Some(found) = found.first_mut() else { return };
        self.finite = found.is_finite();
        self.tries += 1;
        let slope = if self.finite { dot(&found.gradient, &self.direction) } else { f64::INFINITY };
        let trial = Trial { at: self.at, loss: found.rank(), slope, gradient: std::mem::take(&mut found.gradient) };
        let steep = self.slope_here();
        let good_fall = trial.loss <= self.loss + self.options.fall * trial.at * steep;
        let level = trial.slope.abs() <= -self.options.slope * steep;
        if good_fall && level {
            return self.accept(trial);
        }
        if self.tries >= MAX_TRIES {
            return self.give_up_line();
        }
        match self.phase.clone() {
            Phase::Bracket(before) => {
                if !good_fall || (before.at > 0.0 && trial.loss >= before.loss) {
                    self.zoom(before, trial);
                } else if trial.slope >= 0.0 {
                    self.zoom(trial, before);
                } else {
                    self.at = 2.5 * trial.at;
                    self.phase = Phase::Bracket(trial);
                }
            }
            Phase::Zoom(low, high) => {
                if !good_fall || trial.loss >= low.loss {
                    self.zoom(low, trial);
                } else if trial.slope * (high.at - low.at) >= 0.0 {
                    self.zoom(trial, low);
                } else {
                    self.zoom(trial, high);
                }
            }
        }
    }

    fn stopped(&self) -> Option<Stop> {
        self.stopped
    }

    fn rate(&self) -> f64 {
        self.at * length(&self.direction)
    }
}
