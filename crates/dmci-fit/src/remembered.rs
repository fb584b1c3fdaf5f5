//! What is known about the points that a fit asks for more than once: where it starts, and the best one.

use crate::evaluate::{Answers, Work};
use crate::points::{Asked, Points};
use crate::problem::{Problem, Rows};
use crate::search::{Evaluation, Need};
use dmci::Report;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// A point with everything that the rows to be fitted say about it.
#[derive(Debug, Default)]
pub(crate) struct Known {
    raw: Vec<f64>,
    /// With the Jacobian if the loss is a sum of squares and groups share parameters.
    pub evaluation: Evaluation,
    /// All targets of a row one after the other.
    pub predictions: Vec<f64>,
    /// The second derivatives of the loss, once somebody has asked for them.
    pub curvature: OnceLock<Option<Arc<Vec<f64>>>>,
    /// Which paths the rows took.
    paths: u64,
}

/// The first point that was asked for and the best one since, or the last one that was asked for since.
#[derive(Debug, Default)]
pub(crate) struct Remembered(Mutex<Vec<Arc<Known>>>);

impl Remembered {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Known>>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Problem {
    /// What is known about a point in raw space.
    pub(crate) fn known(&self, raw: &[f64]) -> Result<Arc<Known>, Report> {
        if let Some(known) = self.recall(raw) {
            return Ok(known);
        }
        let need = self.most_needed();
        let (point, mut work): (Points, Work) = (std::iter::once(raw).collect(), Work::default());
        let mut answers = Answers::default();
        self.evaluate_with(point.all(), self.training(), need, &mut answers, &mut work)?;
        Ok(self.remember(raw, &answers, &work))
    }

    /// Remembers a point of a search by Jacobians if it is the only one that was asked for, and the best so far. Other
    /// searches take so many steps that to keep each costs more than to evaluate the last one again.
    pub(crate) fn remember_if_best(&self, points: Asked, rows: &Rows, need: Need, answers: &Answers, work: &Work) {
        if points.len() != 1 || need != Need::Jacobian || !std::ptr::eq(rows, self.training()) {
            return;
        }
        let best = match &self.remembered.lock()[..] {
            [] => f64::INFINITY,
            [.., last] => last.evaluation.loss,
        };
        if answers.found[0].loss < best {
            self.remember(points.get(0), answers, work);
        }
    }

    /// Remembers a point in place of the last one, and in its memory if nobody else looks at it.
    fn remember(&self, raw: &[f64], answers: &Answers, work: &Work) -> Arc<Known> {
        let mut remembered = self.remembered.lock();
        let last = if remembered.len() > 1 { remembered.pop() } else { None };
        let mut known = last.and_then(Arc::into_inner).unwrap_or_default();
        known.curvature.take();
        known.raw.clear();
        known.raw.extend_from_slice(raw);
        known.evaluation.copy_from(&answers.found[0]);
        self.predictions_into(work, self.training(), &mut known.predictions);
        known.paths = answers.paths.first().copied().unwrap_or(0);
        let known = Arc::new(known);
        remembered.push(known.clone());
        known
    }

    /// A point that is remembered.
    fn recall(&self, raw: &[f64]) -> Option<Arc<Known>> {
        let same = |known: &&Arc<Known>| known.raw.iter().map(|x| x.to_bits()).eq(raw.iter().map(|x| x.to_bits()));
        self.remembered.lock().iter().find(same).cloned()
    }

    /// How much is found out about points that are remembered.
    fn most_needed(&self) -> Need {
        // The Jacobian of groups that share nothing is mostly zeros: each group has its own.
        let is_whole = self.layout.groups == 1 || self.parts().is_none();
        if self.is_least_squares() && is_whole { Need::Jacobian } else { Need::Gradient }
    }

    /// Answers a question from memory, if it is about one point that is there.
    pub(crate) fn answer_from_memory(&self, points: Asked, need: Need, answers: &mut Answers) -> bool {
        if points.len() != 1 || need != self.most_needed() {
            return false;
        }
        let Some(known) = self.recall(points.get(0)) else { return false };
        answers.found.resize_with(1, Evaluation::default);
        answers.found[0].clone_from(&known.evaluation);
        answers.paths.clear();
        answers.paths.push(known.paths);
        true
    }

    /// Gives the memory back.
    pub(crate) fn forget(&self) {
        self.remembered.lock().clear();
    }
}
