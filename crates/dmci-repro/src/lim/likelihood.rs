//! The likelihood as the engine computes it.

use super::structure::Structure;
use crate::searches::{Objective, options};
use dmci::{Batch, Datum, Mode, Model, Report, Shape, Want};

/// The likelihood of a structure.
#[derive(Debug)]
pub struct Likelihood {
    model: Model,
    batch: Batch,
    places: Vec<usize>,
    width: usize,
    /// Evaluations so far.
    pub evaluations: usize,
}

/// Months of states as a matrix.
pub fn months(states: &[f64], d: usize) -> Datum {
    Datum::Tensor(Shape::Matrix((states.len() / d) as u32, d as u32), states.to_vec())
}

impl Likelihood {
    /// That of some months of states.
    pub fn new(structure: Structure, d: usize, states: &[f64], floor: f64, single: bool) -> Likelihood {
        let mut bindings = structure.constants(d);
        bindings.push(("obs".into(), months(states, d)));
        bindings.push(("floor".into(), Datum::Real(floor)));
        let options = options(Mode::Dmci, single, bindings);
        let model = Model::with_params(structure.source(), structure.parameters(d), &[], options);
        let (places, width) = (structure.places(d), model.numbers());
        Likelihood { model, batch: Batch::default(), places, width, evaluations: 0 }
    }

    /// The losses at some points in one call; what fails is not finite.
    pub fn losses(&mut self, points: &[Vec<f64>]) -> Result<Vec<f64>, Report> {
        self.evaluate(points, Want::Values)?;
        Ok(self.batch.values.clone())
    }

    fn evaluate(&mut self, points: &[Vec<f64>], want: Want) -> Result<(), Report> {
        let mut numbers = vec![0.0; self.width * points.len()];
        for (set, raws) in numbers.chunks_exact_mut(self.width).zip(points) {
            self.places.iter().zip(raws).for_each(|(&place, &raw)| set[place] = raw);
        }
        self.evaluations += points.len();
        self.model.evaluate_into::<f64>(&mut self.batch, &numbers, &[], want)
    }
}

impl Objective for Likelihood {
    fn gradient(&mut self, raws: &[f64]) -> Result<(f64, Vec<f64>), Report> {
        self.evaluate(&[raws.to_vec()], Want::Gradients)?;
        let gradient = self.places.iter().map(|&p| self.batch.gradients[p]).collect();
        Ok((self.batch.values[0], gradient))
    }
}
