//! Sums over rows: what a fit needs of a batch.

use super::{Batch, Model};
use dmci_exec::sum_rows;

/// Sums over the rows of each parameter set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    /// All outputs of a set one after the other.
    pub values: Vec<f64>,
    /// Their derivatives by the parameters; empty if the batch has none.
    pub gradients: Vec<f64>,
}

impl Model {
    /// Sums a batch over its rows, in an order that depends on the rows alone. A set with a failed
    /// lane has NaN.
    pub fn sum(&self, batch: &Batch, rows: usize, sums: &mut Sums) {
        let outputs = self.options.outputs;
        let each = |list: &[f64], width: usize, out: &mut Vec<f64>| {
            out.clear();
            if width > 0 && rows > 0 {
                for set in list.chunks(rows * width) {
                    out.extend((0..width).map(|k| sum_rows(set[k..].iter().step_by(width).copied())));
                }
            }
        };
        each(&batch.values, outputs, &mut sums.values);
        each(&batch.gradients, outputs * self.numbers, &mut sums.gradients);
    }
}
