//! The (mu, lambda) evolution strategy of the paper: the plain mean of the better half of each generation,
//! and a width that grows while generations improve and shrinks while they do not.

use super::differential::around;
use super::{Evaluation, Search, Start, Stop};
use crate::points::{Asked, Points};
use dmci_stats::random::Stream;
use serde::{Deserialize, Serialize};

/// Sizes and widths; the defaults are the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvolutionOptions {
    /// Samples of a generation.
    pub children: usize,
    /// Samples whose mean is the next centre.
    pub parents: usize,
    /// The first width, in raw space.
    pub width: f64,
}

impl Default for EvolutionOptions {
    fn default() -> Self {
        EvolutionOptions { children: 20, parents: 10, width: 0.5 }
    }
}

/// One search. The centre is evaluated with each generation, because the loss is measured there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Evolution {
    options: EvolutionOptions,
    centre: Vec<f64>,
    ones: Vec<f64>,
    width: f64,
    generation: usize,
    improved: usize,
    last: f64,
    stream: Stream,
    stopped: Option<Stop>,
}

/// Generations between changes of the width.
const PERIOD: usize = 10;

impl Evolution {
    /// A search from a start.
    pub fn new(options: EvolutionOptions, start: Start) -> Evolution {
        Evolution {
            options,
            ones: vec![1.0; start.point.len()],
            centre: start.point,
            width: options.width,
            generation: 0,
            improved: 0,
            last: f64::INFINITY,
            stream: start.stream,
            stopped: None,
        }
    }
}

impl Search for Evolution {
    fn ask(&mut self, points: &mut Points) {
        let children = self.options.children.max(2);
        points.push(self.centre.iter().copied());
        (0..children).for_each(|_| points.push(around(&self.centre, &self.ones, self.width, &mut self.stream)));
    }

    fn tell(&mut self, asked: Asked, found: &mut [Evaluation]) {
        let mut order: Vec<usize> = (1..asked.len()).filter(|&i| found[i].is_finite()).collect();
        order.sort_by(|&a, &b| found[a].loss.total_cmp(&found[b].loss));
        order.truncate(self.options.parents.max(1));
        self.generation += 1;
        if let Some(&best) = order.first() {
            let count = order.len() as f64;
            self.centre =
                (0..self.centre.len()).map(|j| order.iter().map(|&i| asked.get(i)[j]).sum::<f64>() / count).collect();
            self.improved += usize::from(found[best].loss < self.last);
            self.last = found[best].loss;
        }
        if self.generation.is_multiple_of(PERIOD) {
            let share = self.improved as f64 / PERIOD as f64;
            if share > 0.2 {
                self.width *= 1.2;
            } else if share < 0.2 {
                self.width *= 0.83;
            }
            self.improved = 0;
        }
        let reach = self.centre.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        if self.width <= 1e-13 * reach {
            self.stopped = Some(Stop::Converged);
        }
    }

    fn stopped(&self) -> Option<Stop> {
        self.stopped
    }

    fn rate(&self) -> f64 {
        self.width
    }
}
