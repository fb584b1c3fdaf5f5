//! Adam in torch's order of operations, in single or double precision. The convergence epochs that the paper
//! prints depend on it: `lerp_`, `addcmul_` and `addcdiv_` round after each operation.

use dmci_ops::real::sqrt;

/// Rounds to single precision if `single`. A single operation on single numbers, done in double precision and
/// rounded, is the operation in single precision.
pub fn fit(x: f64, single: bool) -> f64 {
    if single { x as f32 as f64 } else { x }
}

/// The state of torch's Adam with its default betas and epsilon.
#[derive(Clone, Debug)]
pub struct TorchAdam {
    mean: Vec<f64>,
    square: Vec<f64>,
    powers: (f64, f64),
    rate: f64,
    single: bool,
}

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

impl TorchAdam {
    /// The state before the first step.
    pub fn new(dimensions: usize, rate: f64, single: bool) -> TorchAdam {
        TorchAdam { mean: vec![0.0; dimensions], square: vec![0.0; dimensions], powers: (1.0, 1.0), rate, single }
    }

    /// Moves a point against a gradient.
    pub fn step(&mut self, point: &mut [f64], gradient: &[f64]) {
        let r = |x: f64| fit(x, self.single);
        self.powers = (self.powers.0 * BETA1, self.powers.1 * BETA2);
        let size = r(-(self.rate / (1.0 - self.powers.0)));
        let root = r(sqrt(1.0 - self.powers.1));
        let (weight, keep, add, epsilon) = (r(1.0 - BETA1), r(BETA2), r(1.0 - BETA2), r(EPSILON));
        for (i, &g) in gradient.iter().enumerate() {
            let mean = self.mean[i];
            let mean = r(mean + r(weight * r(g - mean)));
            let square = r(self.square[i] * keep);
            let square = r(square + r(r(add * g) * g));
            let below = r(r(r(sqrt(square)) / root) + epsilon);
            point[i] = r(point[i] + r(r(size * mean) / below));
            (self.mean[i], self.square[i]) = (mean, square);
        }
    }
}

/// Shortens a gradient to a longest length, as torch's `clip_grad_norm_` does.
pub fn clip(gradient: &mut [f64], longest: f64) {
    let length = sqrt(gradient.iter().map(|g| g * g).sum());
    let share = longest / (length + 1e-6);
    if share < 1.0 {
        gradient.iter_mut().for_each(|g| *g *= share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci_fit::AdamOptions;
    use dmci_fit::search::Adam;

    /// In double precision the steps are those of the fitter's Adam, which is tested against optax.
    #[test]
    fn double_steps_are_the_usual_ones() {
        let gradient =
            |p: &[f64]| [2.0 * (p[0] - 1.0) - 40.0 * p[0] * (p[1] - p[0] * p[0]), 20.0 * (p[1] - p[0] * p[0])];
        let mut ours = vec![-1.2, 1.0];
        let mut theirs = ours.clone();
        let (mut torch, mut adam) = (TorchAdam::new(2, 0.05, false), Adam::new(2));
        for _ in 0..200 {
            let slope = gradient(&ours);
            torch.step(&mut ours, &slope);
            let step = adam.step(&gradient(&theirs), 0.05, &AdamOptions::default());
            theirs.iter_mut().zip(step).for_each(|(x, s)| *x -= s);
            assert!(ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() < 1e-9), "{ours:?} {theirs:?}");
        }
    }

    #[test]
    fn single_steps_stay_single() {
        let mut point = vec![0.1f32 as f64];
        let mut torch = TorchAdam::new(1, 0.05, true);
        for _ in 0..50 {
            let gradient = [fit(2.0 * (point[0] - 3.0), true)];
            torch.step(&mut point, &gradient);
            assert_eq!(point[0], point[0] as f32 as f64);
        }
        assert!((point[0] - 2.3).abs() < 0.4, "{point:?}");
    }
}
