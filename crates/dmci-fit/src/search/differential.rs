//! Differential evolution (Storn and Price, 1997; rand/1/bin): the difference of two members is a step
//! for a third. A generation is one round of questions.

use super::{Evaluation, Search, Start, Stop, lowest};
use crate::points::{Asked, Points};
use dmci_stats::random::Stream;
use serde::{Deserialize, Serialize};

/// How a generation is made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DifferentialOptions {
    /// Members; by default ten for each dimension, from 20 to 400.
    pub population: Option<usize>,
    /// The difference of two members is multiplied by a number between these.
    pub weight: (f64, f64),
    /// How likely a number of a member is replaced.
    pub crossover: f64,
    /// It has converged when the losses of a generation differ by less than this share.
    pub tolerance: f64,
}

impl Default for DifferentialOptions {
    fn default() -> Self {
        DifferentialOptions { population: None, weight: (0.5, 0.9), crossover: 0.8, tolerance: 1e-12 }
    }
}

/// One search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Differential {
    options: DifferentialOptions,
    members: Vec<Vec<f64>>,
    losses: Vec<f64>,
    trials: Vec<Vec<f64>>,
    stream: Stream,
    spread: Vec<f64>,
    first: bool,
    stopped: Option<Stop>,
}

impl Differential {
    /// A search from a start.
    pub fn new(options: DifferentialOptions, start: Start) -> Differential {
        let n = start.point.len();
        let population = options.population.unwrap_or((10 * n).clamp(20, 400)).max(4);
        let mut stream = start.stream;
        let mut members = vec![start.point.clone()];
        members.extend((1..population).map(|_| around(&start.point, &start.spread, 1.0, &mut stream)));
        let mut losses = vec![f64::INFINITY; population];
        losses[0] = start.found.loss;
        Differential {
            options,
            trials: members[1..].to_vec(),
            members,
            losses,
            stream,
            spread: start.spread,
            first: true,
            stopped: None,
        }
    }

    fn breed(&mut self) {
        let (count, n) = (self.members.len(), self.spread.len());
        let stream = &mut self.stream;
        self.trials = (0..count)
            .map(|i| {
                let mut other = |taken: &[usize]| loop {
                    let j = stream.below(count);
                    if !taken.contains(&j) {
                        return j;
                    }
                };
                let a = other(&[i]);
                let b = other(&[i, a]);
                let c = other(&[i, a, b]);
                let (low, high) = self.options.weight;
                let weight = low + (high - low) * stream.uniform();
                let kept = stream.below(n);
                let mix = |j: usize, u: f64| {
                    if j == kept || u < self.options.crossover {
                        self.members[a][j] + weight * (self.members[b][j] - self.members[c][j])
                    } else {
                        self.members[i][j]
                    }
                };
                (0..n).map(|j| mix(j, stream.uniform())).collect()
            })
            .collect();
    }
}

/// A point at a normal distance.
pub fn around(centre: &[f64], spread: &[f64], width: f64, stream: &mut Stream) -> Vec<f64> {
    centre.iter().zip(spread).map(|(x, s)| x + width * s * stream.normal()).collect()
}

impl Search for Differential {
    fn ask(&mut self, points: &mut Points) {
        self.trials.iter().for_each(|trial| points.push(trial.iter().copied()));
    }

    fn tell(&mut self, asked: Asked, found: &mut [Evaluation]) {
        let from = usize::from(self.first);
        for (i, (point, found)) in asked.iter().zip(found).enumerate() {
            let loss = found.rank();
            if loss <= self.losses[i + from] || self.first {
                self.members[i + from] = point.to_vec();
                self.losses[i + from] = loss;
            }
        }
        self.first = false;
        let best = self.losses[lowest(&self.losses)];
        let worst = self.losses.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let together = (0..self.spread.len()).all(|j| {
            let low = self.members.iter().map(|m| m[j]).fold(f64::INFINITY, f64::min);
            let high = self.members.iter().map(|m| m[j]).fold(f64::NEG_INFINITY, f64::max);
            high - low <= 1e-10 * (self.spread[j] + low.abs().max(high.abs()))
        });
        if worst - best <= self.options.tolerance * best.abs() && together || best == 0.0 {
            self.stopped = Some(if best == 0.0 { Stop::Exact } else { Stop::Converged });
            return;
        }
        self.breed();
    }

    fn stopped(&self) -> Option<Stop> {
        self.stopped
    }

    fn rate(&self) -> f64 {
        let best = &self.members[lowest(&self.losses)];
        let distance = |m: &Vec<f64>| m.iter().zip(best).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        self.members.iter().map(distance).sum::<f64>() / self.members.len() as f64
    }
}
