//! What is known about the points that a fit asks for more than once: where it starts, and the best one.

use crate::evaluate::Work;
use crate::points::Points;
use crate::problem::Problem;
use crate::search::{Evaluation, Need};
use dmci::Report;
use std::sync::{Arc, Mutex};

/// A point with everything that the rows to be fitted say about it.
#[derive(Debug)]
pub(crate) struct Known {
    raw: Vec<f64>,
    /// With the Jacobian if the loss is a sum of squares.
    pub evaluation: Evaluation,
    /// All targets of a row one after the other.
    pub predictions: Vec<f64>,
}

/// The last points that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Remembered(Mutex<Vec<Arc<Known>>>);

/// Points that are remembered.
const MOST: usize = 2;

impl Problem {
    /// What is known about a point in raw space.
    pub(crate) fn known(&self, raw: &[f64]) -> Result<Arc<Known>, Report> {
        let same = |known: &&Arc<Known>| known.raw.iter().map(|x| x.to_bits()).eq(raw.iter().map(|x| x.to_bits()));
        let mut remembered = self.remembered.0.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(known) = remembered.iter().find(same) {
            return Ok(known.clone());
        }
        let need = if self.is_least_squares() { Need::Jacobian } else { Need::Gradient };
        let (point, mut work): (Points, Work) = (std::iter::once(raw).collect(), Work::default());
        let mut answers = Default::default();
        self.evaluate_with(point.all(), &self.training, need, &mut answers, &mut work)?;
        let known = Arc::new(Known {
            raw: raw.to_vec(),
            evaluation: answers.found.pop().unwrap_or_default(),
            predictions: self.predictions_of(work, &self.training),
        });
        if remembered.len() == MOST {
            remembered.remove(0);
        }
        remembered.push(known.clone());
        Ok(known)
    }

    /// Gives the memory back.
    pub(crate) fn forget(&self) {
        self.remembered.0.lock().unwrap_or_else(|e| e.into_inner()).clear();
    }
}
