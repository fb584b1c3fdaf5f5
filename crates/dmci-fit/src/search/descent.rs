//! Descent along central differences, for programs without useful derivatives. All differences of a
//! step are one round of questions, and so are the lengths of a step that are tried.

use super::{Evaluation, Search, Start, Stop, lowest};
use crate::points::{Asked, Points};
use dmci_stats::linear::length;
use serde::{Deserialize, Serialize};

/// How differences and steps are made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DescentOptions {
    /// The distance of a difference, as a share of each number or of 1.
    pub difference: f64,
    /// The first length of a step, as a multiple of the gradient; none searches along the line.
    pub rate: Option<f64>,
    /// It has converged when the loss falls by less than this share, three times in a row.
    pub tolerance: f64,
}

impl Default for DescentOptions {
    fn default() -> Self {
        DescentOptions { difference: 1e-4, rate: None, tolerance: 1e-12 }
    }
}

/// One search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Descent {
    options: DescentOptions,
    point: Vec<f64>,
    loss: f64,
    difference: f64,
    /// Against the gradient; none while differences are asked for.
    direction: Option<Vec<f64>>,
    rate: f64,
    small: usize,
    stopped: Option<Stop>,
}

/// Lengths that are tried at once, each a quarter of the one before.
const TRIED: i32 = 12;

impl Descent {
    /// A search from a start.
    pub fn new(options: DescentOptions, start: Start) -> Descent {
        Descent {
            options,
            point: start.point,
            loss: start.found.loss,
            difference: options.difference,
            direction: None,
            rate: options.rate.unwrap_or(1.0),
            small: 0,
            stopped: None,
        }
    }

    fn distance(&self, j: usize) -> f64 {
        self.difference * self.point[j].abs().max(1.0)
    }

    fn rates(&self) -> Vec<f64> {
        match self.options.rate {
            Some(_) => vec![self.rate],
            None => (0..TRIED).map(|k| self.rate * 4.0 * 0.25f64.powi(k)).collect(),
        }
    }

    fn line(&mut self, asked: Asked, found: &[Evaluation]) {
        let losses: Vec<f64> = found.iter().map(Evaluation::rank).collect();
        let best = lowest(&losses);
        // With a fixed rate a step is taken even if the loss rises, unless it leads nowhere.
        let take = losses[best] < self.loss || (self.options.rate.is_some() && losses[best].is_finite());
        if take {
            self.rate = self.rates()[best];
            let fall = self.loss - losses[best];
            self.small = if fall.abs() <= self.options.tolerance * self.loss.abs() { self.small + 1 } else { 0 };
            self.point = asked.get(best).to_vec();
            self.loss = losses[best];
            if self.small >= 3 {
                self.stopped = Some(Stop::Converged);
            }
        } else if self.options.rate.is_some() {
            self.rate *= 0.5;
        } else if self.difference > 1e-7 {
            // Differences over a long distance point elsewhere than the slope here.
            self.difference *= 0.1;
        } else {
            self.stopped = Some(if losses[best].is_finite() { Stop::Converged } else { Stop::Stuck });
        }
        self.direction = None;
    }

    fn differences(&mut self, found: &[Evaluation]) {
        let n = self.point.len();
        let gradient: Vec<f64> = (0..n)
            .map(|j| {
                let (up, down) = (found[2 * j].rank(), found[2 * j + 1].rank());
                match (up.is_finite(), down.is_finite()) {
                    (true, true) => (up - down) / (2.0 * self.distance(j)),
                    (true, false) => (up - self.loss) / self.distance(j),
                    (false, true) => (self.loss - down) / self.distance(j),
                    (false, false) => 0.0,
                }
            })
            .collect();
        if length(&gradient) == 0.0 {
            self.stopped = Some(Stop::Flat);
        }
        self.direction = Some(gradient.iter().map(|g| -g).collect());
    }
}

impl Search for Descent {
    fn ask(&mut self, points: &mut Points) {
        let mut ask = |by: &dyn Fn(usize) -> f64| points.push((0..self.point.len()).map(|i| self.point[i] + by(i)));
        match &self.direction {
            Some(d) => self.rates().into_iter().for_each(|rate| ask(&|i| rate * d[i])),
            None => (0..2 * self.point.len()).for_each(|k| {
                let by = if k % 2 == 0 { self.distance(k / 2) } else { -self.distance(k / 2) };
                ask(&|i| if i == k / 2 { by } else { 0.0 });
            }),
        }
    }

    fn tell(&mut self, asked: Asked, found: &mut [Evaluation]) {
        match self.direction {
            Some(_) => self.line(asked, found),
            None => self.differences(found),
        }
    }

    fn stopped(&self) -> Option<Stop> {
        self.stopped
    }

    fn rate(&self) -> f64 {
        self.rate
    }
}
