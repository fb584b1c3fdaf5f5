//! Adam (Kingma and Ba, 2015): steps scaled by running means of the gradient and of its square.

use super::{Evaluation, Search, Start, Stop};
use crate::points::{Asked, Points};
use dmci_ops::real::sqrt;
use dmci_stats::linear::length;
use serde::{Deserialize, Serialize};

/// How Adam moves, and when it slows down.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdamOptions {
    /// The length of a step in raw space, about.
    pub rate: f64,
    /// How slowly the mean of the gradient forgets.
    pub beta1: f64,
    /// How slowly the mean of its square forgets.
    pub beta2: f64,
    /// Keeps the division finite.
    pub epsilon: f64,
    /// Longest gradient; longer ones are shortened to it.
    pub clip: Option<f64>,
    /// Steps without progress before the rate is lowered.
    pub patience: usize,
    /// What counts as progress: the loss falls by this share.
    pub tolerance: f64,
    /// The rate is divided by this.
    pub slow_down: f64,
    /// How often the rate is lowered before the search has converged.
    pub reductions: usize,
}

impl Default for AdamOptions {
    fn default() -> Self {
        AdamOptions {
            rate: 0.05,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            clip: None,
            patience: 40,
            tolerance: 1e-4,
            slow_down: 4.0,
            reductions: 4,
        }
    }
}

/// The running means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adam {
    mean: Vec<f64>,
    square: Vec<f64>,
    /// `beta1` and `beta2` to the power of the number of steps: multiplied up, so that no power
    /// function of the platform decides bits.
    powers: (f64, f64),
}

/// Gradients beyond this are as good as this: their squares would be infinite, and stay so.
const HUGE: f64 = 1e150;

impl Adam {
    /// The state before the first step in `dimensions` dimensions.
    pub fn new(dimensions: usize) -> Adam {
        Adam { mean: vec![0.0; dimensions], square: vec![0.0; dimensions], powers: (1.0, 1.0) }
    }

    /// The step against a gradient: what must be subtracted from the point. The rate is an argument
    /// because it may shrink in the course of a search.
    pub fn step(&mut self, gradient: &[f64], rate: f64, options: &AdamOptions) -> Vec<f64> {
        let mut step = Vec::new();
        self.step_into(gradient, rate, options, &mut step);
        step
    }

    /// The same in place of another step.
    fn step_into(&mut self, gradient: &[f64], rate: f64, options: &AdamOptions, step: &mut Vec<f64>) {
        let AdamOptions { beta1, beta2, epsilon, clip, .. } = *options;
        let shrink = clip.map_or(1.0, |longest| {
            let length = length(gradient);
            if length > longest { longest / length } else { 1.0 }
        });
        self.powers = (self.powers.0 * beta1, self.powers.1 * beta2);
        let (correct1, correct2) = (1.0 - self.powers.0, 1.0 - self.powers.1);
        let n = gradient.len();
        step.resize(n, 0.0);
        let (mean, square, step) = (&mut self.mean[..n], &mut self.square[..n], &mut step[..n]);
        for i in 0..n {
            let g = (gradient[i] * shrink).clamp(-HUGE, HUGE);
            mean[i] = beta1 * mean[i] + (1.0 - beta1) * g;
            square[i] = beta2 * square[i] + (1.0 - beta2) * (g * g);
            step[i] = rate * (mean[i] / correct1) / (sqrt(square[i] / correct2) + epsilon);
        }
    }
}

/// One search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AdamSearch {
    options: AdamOptions,
    adam: Adam,
    rate: f64,
    /// The last good point and the step from there to the point that is evaluated next.
    base: Vec<f64>,
    step: Vec<f64>,
    best: (Vec<f64>, Evaluation),
    halvings: usize,
    /// The loss that progress is measured against.
    reference: f64,
    waited: usize,
    reductions: usize,
    stopped: Option<Stop>,
}

/// A step halved this often is nothing.
const MAX_HALVINGS: usize = 60;

impl AdamSearch {
    /// A search from a start.
    pub fn new(options: AdamOptions, start: Start) -> AdamSearch {
        let mut search = AdamSearch {
            adam: Adam::new(start.point.len()),
            rate: options.rate,
            base: start.point.clone(),
            step: Vec::new(),
            best: (start.point.clone(), start.found.clone()),
            halvings: 0,
            reference: f64::INFINITY,
            waited: 0,
            reductions: 0,
            stopped: None,
            options,
        };
        search.accept(&start.point, &start.found);
        search
    }

    fn point(&self) -> impl Iterator<Item = f64> {
        self.base.iter().zip(&self.step).map(|(x, s)| x - s)
    }

    fn step_back(&mut self) {
        self.halvings += 1;
        self.step.iter_mut().for_each(|s| *s *= 0.5);
        if self.halvings > MAX_HALVINGS || self.point().eq(self.base.iter().copied()) {
            self.stopped = Some(Stop::Stuck);
        }
    }

    fn accept(&mut self, point: &[f64], found: &Evaluation) {
        self.halvings = 0;
        if found.loss < self.reference - self.reference.abs() * self.options.tolerance || self.reference.is_infinite() {
            self.reference = found.loss;
            self.waited = 0;
        } else {
            self.waited += 1;
        }
        if found.loss < self.best.1.loss {
            self.best.0.clear();
            self.best.0.extend_from_slice(point);
            self.best.1.copy_from(found);
        }
        if found.gradient.iter().all(|g| *g == 0.0) {
            self.stopped = Some(Stop::Flat);
            return;
        }
        if self.waited >= self.options.patience {
            if self.reductions >= self.options.reductions {
                self.stopped = Some(Stop::Converged);
                return;
            }
            // Shorter steps, from the best point and without the momentum that led away from it.
            self.reductions += 1;
            self.waited = 0;
            self.rate /= self.options.slow_down;
            self.adam = Adam::new(self.base.len());
            self.reference = self.best.1.loss;
            self.base.clone_from(&self.best.0);
            self.adam.step_into(&self.best.1.gradient, self.rate, &self.options, &mut self.step);
            return;
        }
        self.base.clear();
        self.base.extend_from_slice(point);
        self.adam.step_into(&found.gradient, self.rate, &self.options, &mut self.step);
    }
}

impl Search for AdamSearch {
    fn ask(&mut self, points: &mut Points) {
        points.push(self.point());
    }

    fn tell(&mut self, asked: Asked, found: &mut [Evaluation]) {
        for (point, found) in asked.iter().zip(found) {
            if found.is_finite() { self.accept(point, found) } else { self.step_back() }
        }
    }

    fn stopped(&self) -> Option<Stop> {
        self.stopped
    }

    fn rate(&self) -> f64 {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_has_the_length_of_the_rate_in_every_direction() {
        let step = Adam::new(3).step(&[1e-3, -5.0, 1e300], 0.05, &AdamOptions::default());
        for (step, expected) in step.iter().zip([0.05, -0.05, 0.05]) {
            assert!((step - expected).abs() < 1e-6, "{step}");
        }
    }

    #[test]
    fn clipping_shortens_long_gradients_only() {
        let clipped = AdamOptions { clip: Some(1.0), ..AdamOptions::default() };
        let steps = |options: &AdamOptions, gradients: [[f64; 2]; 2]| {
            let mut adam = Adam::new(2);
            gradients.map(|g| adam.step(&g, 0.1, options))
        };
        let long = [[30.0, 40.0], [0.3, 0.4]];
        let short = [[0.6, 0.8], [0.3, 0.4]];
        assert_eq!(steps(&clipped, long), steps(&AdamOptions::default(), short));
        assert_eq!(steps(&clipped, short), steps(&AdamOptions::default(), short));
        assert!(steps(&clipped, [[1e200, 1e200]; 2]).iter().flatten().all(|s| *s > 0.0));
    }
}
