//! Sums over rows: what a fit needs of a batch.

use super::{Batch, Model};
use dmci_exec::{ColumnSpace, Number, sum_columns};

/// Sums over the rows of each parameter set.
///
/// ```
/// use dmci::{Column, Model, Program, Sums, Want};
///
/// let model = Model::builder(Program::new("(* a x)")).parameter("a").build()?;
/// let batch = model.evaluate(&[2.0, 3.0], &[Column::Reals(vec![1.0, 2.0])], Want::Gradients)?;
/// let mut sums = Sums::default();
/// model.sum(&batch, 2, &mut sums);
/// assert_eq!((sums.values, sums.gradients), (vec![6.0, 9.0], vec![3.0, 3.0]));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    /// All outputs of a set one after the other.
    pub values: Vec<f64>,
    /// Their derivatives by the parameters; empty if the batch has none.
    pub gradients: Vec<f64>,
    space: ColumnSpace,
}

impl Model {
    /// Sums a batch over its rows, in an order that depends on the rows alone. A set with a failed
    /// lane has NaN.
    pub fn sum<N: Number>(&self, batch: &Batch<N>, rows: usize, sums: &mut Sums) {
        let outputs = self.options.outputs;
        let Sums { values, gradients, space } = sums;
        let mut each = |list: &[N], width: usize, out: &mut Vec<f64>| {
            out.clear();
            if width > 0 && rows > 0 {
                list.chunks(rows * width).for_each(|set| sum_columns(set, width, space, out));
            }
        };
        each(&batch.values, outputs, values);
        each(&batch.gradients, outputs * self.numbers, gradients);
    }
}
