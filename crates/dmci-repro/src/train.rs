//! The training loop of experiments A, B and C: Adam on a sum of squares, until a threshold and some more.

use crate::adam::{TorchAdam, fit};
use crate::predict::{Predict, Predictions};
use dmci::Report;
use dmci_table::hash::Hash;

/// How long to train.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// The rate of Adam.
    pub rate: f64,
    /// Most epochs.
    pub epochs: usize,
    /// A run has converged in the first epoch whose loss is below this.
    pub threshold: f64,
    /// Epochs after that.
    pub more: usize,
    /// Numbers are single ones.
    pub single: bool,
}

impl Protocol {
    /// That of experiments A, B and C.
    pub fn standard(single: bool) -> Protocol {
        Protocol { rate: 0.05, epochs: 3000, threshold: 1e-3, more: 50, single }
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// The first epoch with a loss below the threshold.
    pub converged: Option<usize>,
    /// The loss of every epoch, before its step.
    pub losses: Vec<f64>,
    /// The closest that each parameter came to its target.
    pub closest: Vec<f64>,
    /// The point with the lowest loss.
    pub best: Vec<f64>,
}

impl Trained {
    /// The loss of the last epoch.
    pub fn last(&self) -> f64 {
        self.losses.last().copied().unwrap_or(f64::NAN)
    }

    /// The lowest loss.
    pub fn lowest(&self) -> f64 {
        self.losses.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// What tells two trajectories apart: every bit of every loss.
    pub fn hash(&self) -> String {
        let mut hash = Hash::default();
        self.losses.iter().for_each(|l| hash.add_number(*l));
        hash.digits()
    }
}

/// The sum of squared errors and its gradient, added up row by row.
pub fn squares(values: &[f64], jacobian: &[f64], target: &[f64], single: bool) -> (f64, Vec<f64>) {
    let r = |x: f64| fit(x, single);
    let n = if target.is_empty() { 0 } else { jacobian.len() / target.len() };
    let mut gradient = vec![0.0; n];
    let mut loss = 0.0;
    for (row, (y, t)) in values.iter().zip(target).enumerate() {
        let error = r(y - t);
        loss = r(loss + r(error * error));
        let twice = r(2.0 * error);
        for (g, d) in gradient.iter_mut().zip(&jacobian[row * n..]) {
            *g = r(*g + r(twice * d));
        }
    }
    (loss, gradient)
}

/// Something to be made small: losses and gradients at points that lie one after the other.
pub trait Objective {
    /// The loss and its gradient at each point.
    fn evaluate(&mut self, points: &[f64]) -> Result<Vec<(f64, Vec<f64>)>, Report>;
}

/// The sum of squared errors of predictions.
pub struct Squares<'a> {
    /// What predicts.
    pub predictor: &'a mut dyn Predict,
    /// What must be predicted.
    pub target: &'a [f64],
    /// Numbers are single ones.
    pub single: bool,
    out: Predictions,
}

impl<'a> Squares<'a> {
    /// The objective of a predictor.
    pub fn new(predictor: &'a mut dyn Predict, target: &'a [f64], single: bool) -> Squares<'a> {
        Squares { predictor, target, single, out: Predictions::default() }
    }
}

impl Objective for Squares<'_> {
    fn evaluate(&mut self, points: &[f64]) -> Result<Vec<(f64, Vec<f64>)>, Report> {
        self.predictor.predict(points, true, &mut self.out)?;
        let rows = self.target.len();
        let sets = self.out.values.len() / rows;
        let width = self.out.jacobian.len() / sets.max(1);
        let each = self.out.values.chunks(rows).zip(self.out.jacobian.chunks(width.max(1)));
        Ok(each.map(|(values, jacobian)| squares(values, jacobian, self.target, self.single)).collect())
    }
}

/// Trains from all starts at once. Each run is what it would be alone: predictions do not depend on how many
/// points are asked for together.
pub fn train(
    objective: &mut dyn Objective,
    truth: &[f64],
    starts: &[Vec<f64>],
    protocol: Protocol,
) -> Result<Vec<Trained>, Report> {
    let n = starts.first().map_or(0, Vec::len);
    let mut points = starts.to_vec();
    let mut adams = vec![TorchAdam::new(n, protocol.rate, protocol.single); starts.len()];
    let empty =
        Trained { converged: None, losses: Vec::new(), closest: vec![f64::INFINITY; truth.len()], best: Vec::new() };
    let mut runs = vec![empty; starts.len()];
    let mut lowest = vec![f64::INFINITY; starts.len()];
    let mut active: Vec<usize> = (0..starts.len()).collect();
    for epoch in 0..protocol.epochs {
        let asked: Vec<f64> = active.iter().flat_map(|&i| points[i].iter().copied()).collect();
        let found = objective.evaluate(&asked)?;
        for (&i, (loss, gradient)) in active.iter().zip(found) {
            let run = &mut runs[i];
            run.losses.push(loss);
            if loss < lowest[i] || run.best.is_empty() {
                lowest[i] = loss;
                run.best.clone_from(&points[i]);
            }
            for ((closest, x), t) in run.closest.iter_mut().zip(&points[i]).zip(truth) {
                *closest = closest.min((x - t).abs());
            }
            if loss < protocol.threshold && run.converged.is_none() {
                run.converged = Some(epoch);
            }
            adams[i].step(&mut points[i], &gradient);
        }
        active.retain(|&i| runs[i].converged.is_none_or(|at| epoch < at + protocol.more));
        if active.is_empty() {
            break;
        }
    }
    Ok(runs)
}
