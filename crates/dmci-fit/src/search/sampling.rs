//! Random search: points around the best one, nearer when they do not help. A baseline for the others.

use super::differential::around;
use super::{Evaluation, Search, Start, Stop, lowest};
use crate::points::{Asked, Points};
use dmci_stats::random::Stream;
use serde::{Deserialize, Serialize};

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SamplingOptions {
    /// Points of a round.
    pub points: usize,
}

impl Default for SamplingOptions {
    fn default() -> Self {
        SamplingOptions { points: 32 }
    }
}

/// One search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sampling {
    options: SamplingOptions,
    point: Vec<f64>,
    loss: f64,
    spread: Vec<f64>,
    width: f64,
    stream: Stream,
    stopped: Option<Stop>,
}

impl Sampling {
    /// A search from a start.
    pub fn new(options: SamplingOptions, start: Start) -> Sampling {
        Sampling {
            options,
            point: start.point,
            loss: start.found.loss,
            spread: start.spread,
            width: 1.0,
            stream: start.stream,
            stopped: None,
        }
    }
}

impl Search for Sampling {
    fn ask(&mut self, points: &mut Points) {
        // Half of them at the width of the last success, half at any smaller one.
        let count = self.options.points.max(2);
        for i in 0..count {
            let narrow = if i % 2 == 0 { 1.0 } else { 0.1 * self.stream.uniform() };
            points.push(around(&self.point, &self.spread, self.width * narrow, &mut self.stream));
        }
    }

    fn tell(&mut self, asked: Asked, found: &mut [Evaluation]) {
        let losses: Vec<f64> = found.iter().map(Evaluation::rank).collect();
        let best = lowest(&losses);
        if losses[best] < self.loss {
            self.loss = losses[best];
            self.point = asked.get(best).to_vec();
            self.width = (self.width * 1.5).min(1.0);
        } else {
            self.width *= 0.9;
            if self.width < 1e-14 {
                self.stopped = Some(Stop::Converged);
            }
        }
    }

    fn stopped(&self) -> Option<Stop> {
        self.stopped
    }

    fn rate(&self) -> f64 {
        self.width
    }
}
