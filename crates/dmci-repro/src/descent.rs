//! The fit of experiments F and G: Adam with a clip and patience, keeping the best point.

use crate::adam::{TorchAdam, clip};
use crate::predict::{Predict, Predictions};
use crate::train::squares;
use dmci::Report;

/// What the fit is told.
#[derive(Clone, Copy, Debug)]
pub struct Descent {
    /// The rate of Adam.
    pub rate: f64,
    /// Most epochs.
    pub epochs: usize,
    /// The mean squared error at which it stops.
    pub good: f64,
    /// Epochs without a better one.
    pub patience: usize,
    /// Longest gradient.
    pub clip: f64,
    /// Numbers are single ones.
    pub single: bool,
}

impl Descent {
    /// That of experiments F and G.
    pub fn standard(single: bool) -> Descent {
        Descent { rate: 0.01, epochs: 2000, good: 1e-4, patience: 200, clip: 10.0, single }
    }

    /// The best mean squared error from a start, its point, and the epochs that it took.
    pub fn run(
        &self,
        predictor: &mut dyn Predict,
        target: &[f64],
        start: &[f64],
    ) -> Result<(f64, Vec<f64>, usize), Report> {
        let mut point = start.to_vec();
        let mut adam = TorchAdam::new(point.len(), self.rate, self.single);
        let mut best = (f64::INFINITY, point.clone());
        let mut waited = 0;
        let mut out = Predictions::default();
        for epoch in 0..self.epochs {
            predictor.predict(&point, true, &mut out)?;
            let (loss, mut gradient) = squares(&out.values, &out.jacobian, target, self.single);
            let error = loss / target.len() as f64;
            if error < best.0 {
                best = (error, point.clone());
                waited = 0;
            } else {
                waited += 1;
            }
            if best.0 < self.good || waited >= self.patience {
                return Ok((best.0, best.1, epoch + 1));
            }
            if gradient.iter().all(|g| g.is_finite()) {
                clip(&mut gradient, self.clip);
                adam.step(&mut point, &gradient);
            }
        }
        Ok((best.0, best.1, self.epochs))
    }
}
