//! CMA-ES (Hansen, "The CMA Evolution Strategy: A Tutorial", 2016): samples of a normal distribution
//! whose mean, width and shape follow the better half of each generation.

use super::{Evaluation, Search, Start, Stop};
use crate::points::{Asked, Points};
use dmci_ops::real::{exp, log, sqrt};
use dmci_stats::linear::{eigen, length};
use dmci_stats::random::Stream;
use serde::{Deserialize, Serialize};

/// How the search begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CmaOptions {
    /// Samples of a generation; by default 4 + 3 ln n.
    pub population: Option<usize>,
    /// The width of the first generation, as a share of the spread of starts.
    pub width: f64,
    /// It has converged when losses of the last generations differ by less than this share.
    pub tolerance: f64,
    /// It has converged when samples are nearer to each other than this share of the spread.
    pub step_tolerance: f64,
}

impl Default for CmaOptions {
    fn default() -> Self {
        CmaOptions { population: None, width: 0.5, tolerance: 1e-13, step_tolerance: 1e-12 }
    }
}

/// One search. Coordinates are in units of the spread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cma {
    options: CmaOptions,
    origin: Vec<f64>,
    spread: Vec<f64>,
    mean: Vec<f64>,
    width: f64,
    covariance: Vec<f64>,
    /// Eigenvectors as rows, and square roots of eigenvalues.
    axes: Vec<f64>,
    lengths: Vec<f64>,
    path_width: Vec<f64>,
    path_shape: Vec<f64>,
    weights: Vec<f64>,
    samples: Vec<Vec<f64>>,
    generation: usize,
    decomposed: usize,
    recent: Vec<f64>,
    stream: Stream,
    stopped: Option<Stop>,
}

impl Cma {
    /// A search from a start.
    pub fn new(options: CmaOptions, start: Start) -> Cma {
        let n = start.point.len();
        let population = options.population.unwrap_or(4 + (3.0 * log(n as f64)) as usize).max(4);
        let half = population / 2;
        let raw: Vec<f64> = (0..half).map(|i| log((population as f64 + 1.0) / 2.0) - log(i as f64 + 1.0)).collect();
        let total: f64 = raw.iter().sum();
        let mut identity = vec![0.0; n * n];
        (0..n).for_each(|i| identity[i * n + i] = 1.0);
        let mut search = Cma {
            options,
            origin: start.point,
            spread: start.spread,
            mean: vec![0.0; n],
            width: options.width,
            covariance: identity.clone(),
            axes: identity,
            lengths: vec![1.0; n],
            path_width: vec![0.0; n],
            path_shape: vec![0.0; n],
            weights: raw.iter().map(|w| w / total).collect(),
            samples: vec![Vec::new(); population],
            generation: 0,
            decomposed: 0,
            recent: vec![start.found.loss],
            stream: start.stream,
            stopped: None,
        };
        search.sample();
        search
    }

    fn sample(&mut self) {
        let n = self.mean.len();
        for k in 0..self.samples.len() {
            let z = self.stream.normals(n);
            self.samples[k] = (0..n)
                .map(|j| {
                    let along: f64 = (0..n).map(|i| self.axes[i * n + j] * self.lengths[i] * z[i]).sum();
                    self.mean[j] + self.width * along
                })
                .collect();
        }
    }

    fn update(&mut self, order: &[usize]) {
        let n = self.mean.len();
        let size = n as f64;
        let mass = 1.0 / self.weights.iter().map(|w| w * w).sum::<f64>();
        let c_width = (mass + 2.0) / (size + mass + 5.0);
        let damping = 1.0 + 2.0 * (sqrt((mass - 1.0) / (size + 1.0)) - 1.0).max(0.0) + c_width;
        let c_path = (4.0 + mass / size) / (size + 4.0 + 2.0 * mass / size);
        let c_one = 2.0 / ((size + 1.3) * (size + 1.3) + mass);
        let c_mu = (2.0 * (mass - 2.0 + 1.0 / mass) / ((size + 2.0) * (size + 2.0) + mass)).min(1.0 - c_one);
        let expected = sqrt(size) * (1.0 - 1.0 / (4.0 * size) + 1.0 / (21.0 * size * size));
        let steps: Vec<Vec<f64>> = (0..self.weights.len())
            .map(|k| self.samples[order[k]].iter().zip(&self.mean).map(|(x, m)| (x - m) / self.width).collect())
            .collect();
        let move_by: Vec<f64> = (0..n).map(|j| self.weights.iter().zip(&steps).map(|(w, s)| w * s[j]).sum()).collect();
        self.mean.iter_mut().zip(&move_by).for_each(|(m, d)| *m += self.width * d);
        // The inverse root of the covariance applied to the step of the mean.
        let along: Vec<f64> =
            (0..n).map(|i| (0..n).map(|j| self.axes[i * n + j] * move_by[j]).sum::<f64>() / self.lengths[i]).collect();
        let keep = sqrt(c_width * (2.0 - c_width) * mass);
        for j in 0..n {
            let white: f64 = (0..n).map(|i| self.axes[i * n + j] * along[i]).sum();
            self.path_width[j] = (1.0 - c_width) * self.path_width[j] + keep * white;
        }
        let travelled = length(&self.path_width);
        let decay = 1.0 - exp(2.0 * (self.generation as f64 + 1.0) * log(1.0 - c_width));
        let steady = travelled / sqrt(decay) / expected < 1.4 + 2.0 / (size + 1.0);
        let gain = if steady { sqrt(c_path * (2.0 - c_path) * mass) } else { 0.0 };
        for (p, d) in self.path_shape.iter_mut().zip(&move_by) {
            *p = (1.0 - c_path) * *p + gain * d;
        }
        let lost = if steady { 0.0 } else { c_one * c_path * (2.0 - c_path) };
        for i in 0..n {
            for j in 0..=i {
                let rank: f64 = self.weights.iter().zip(&steps).map(|(w, s)| w * s[i] * s[j]).sum();
                let old = self.covariance[i * n + j];
                let new =
                    (1.0 - c_one - c_mu + lost) * old + c_one * self.path_shape[i] * self.path_shape[j] + c_mu * rank;
                self.covariance[i * n + j] = new;
                self.covariance[j * n + i] = new;
            }
        }
        self.width *= exp((c_width / damping) * (travelled / expected - 1.0)).min(2.0);
        let every = (1.0 / ((c_one + c_mu) * size * 10.0)) as usize;
        if self.generation >= self.decomposed + every.max(1) || self.generation < 2 {
            self.decomposed = self.generation;
            let (values, axes) = eigen(&self.covariance, n);
            self.lengths = values.iter().map(|v| sqrt(v.max(1e-300))).collect();
            self.axes = axes;
        }
    }

    fn finished(&self) -> Option<Stop> {
        let n = self.mean.len();
        let (low, high) =
            self.recent.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
        let long = (0..n).map(|i| sqrt(self.covariance[i * n + i])).fold(0.0, f64::max);
        let reach = 1.0 + length(&self.mean);
        if low == 0.0 {
            return Some(Stop::Exact);
        }
        let enough = self.recent.len() >= 10 + 30 * n / self.samples.len();
        if (enough && high - low <= self.options.tolerance * low.abs())
            || self.width * long <= self.options.step_tolerance * reach
            || !self.width.is_finite()
        {
            return Some(Stop::Converged);
        }
        None
    }
}

impl Search for Cma {
    fn ask(&mut self, points: &mut Points) {
        for sample in &self.samples {
            points.push((0..sample.len()).map(|j| self.origin[j] + self.spread[j] * sample[j]));
        }
    }

    fn tell(&mut self, _: Asked, found: &mut [Evaluation]) {
        let losses: Vec<f64> = found.iter().map(Evaluation::rank).collect();
        let mut order: Vec<usize> = (0..losses.len()).collect();
        order.sort_by(|&a, &b| losses[a].total_cmp(&losses[b]));
        if losses[order[0]].is_infinite() {
            // Nothing but failures: nearer to where it was.
            self.width *= 0.5;
            if self.width < 1e-18 {
                self.stopped = Some(Stop::Stuck);
            }
        } else {
            self.recent.push(losses[order[0]]);
            let keep = 10 + 30 * self.mean.len() / self.samples.len();
            let drop = self.recent.len().saturating_sub(keep);
            self.recent.drain(..drop);
            self.update(&order);
            self.stopped = self.finished();
        }
        self.generation += 1;
        self.sample();
    }

    fn stopped(&self) -> Option<Stop> {
        self.stopped
    }

    fn rate(&self) -> f64 {
        self.width
    }
}
