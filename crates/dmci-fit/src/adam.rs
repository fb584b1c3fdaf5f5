//! Adam (Kingma and Ba, 2015): steps scaled by running means of the gradient and of its square.

use dmci_ops::real::sqrt;

/// How Adam moves.
#[derive(Clone, Copy, Debug, PartialEq)]
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
}

impl Default for AdamOptions {
    fn default() -> Self {
        AdamOptions { rate: 0.05, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, clip: None }
    }
}

/// The state of one search.
#[derive(Clone, Debug, PartialEq)]
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
        let AdamOptions { beta1, beta2, epsilon, clip, .. } = *options;
        let shrink = clip.map_or(1.0, |longest| {
            let length = length(gradient);
            if length > longest { longest / length } else { 1.0 }
        });
        self.powers = (self.powers.0 * beta1, self.powers.1 * beta2);
        let (correct1, correct2) = (1.0 - self.powers.0, 1.0 - self.powers.1);
        let means = self.mean.iter_mut().zip(&mut self.square);
        means
            .zip(gradient)
            .map(|((mean, square), g)| {
                let g = (g * shrink).clamp(-HUGE, HUGE);
                *mean = beta1 * *mean + (1.0 - beta1) * g;
                *square = beta2 * *square + (1.0 - beta2) * (g * g);
                rate * (*mean / correct1) / (sqrt(*square / correct2) + epsilon)
            })
            .collect()
    }
}

/// The Euclidean length, without overflow on the way.
fn length(vector: &[f64]) -> f64 {
    let largest = vector.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    if largest == 0.0 || largest.is_infinite() {
        return largest;
    }
    largest * sqrt(vector.iter().map(|x| (x / largest) * (x / largest)).sum())
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
