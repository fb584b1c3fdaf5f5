//! A population of restarts: all that they ask for is evaluated in one call of the model, and each is told
//! what it would be told alone.

use crate::member::{Budget, Member};
use crate::problem::Problem;
use crate::search::{Evaluation, Optimizer, Stop};
use dmci::Report;

/// Restarts of one optimiser.
#[derive(Clone, Debug)]
pub struct Population {
    /// The optimiser.
    pub optimizer: Optimizer,
    /// The restarts.
    pub members: Vec<Member>,
}

impl Population {
    /// So many restarts around a point; the first starts there.
    pub fn new(optimizer: Optimizer, base: &[f64], restarts: usize, seed: u64) -> Population {
        Population { optimizer, members: (0..restarts.max(1)).map(|i| Member::new(i, base, seed)).collect() }
    }

    /// Restarts that are not finished.
    pub fn running(&self) -> usize {
        self.members.iter().filter(|m| m.stopped.is_none()).count()
    }

    /// The restart with the lowest loss, the first one if several have it.
    pub fn best(&self) -> Option<&Member> {
        let found = self.members.iter().filter(|m| m.best.is_some());
        found.min_by(|a, b| a.loss().total_cmp(&b.loss()))
    }

    /// Points evaluated by all.
    pub fn evaluations(&self) -> usize {
        self.members.iter().map(|m| m.evaluations).sum()
    }

    /// Stops what still runs.
    pub fn stop(&mut self, why: Stop) {
        self.members.iter_mut().filter(|m| m.stopped.is_none()).for_each(|m| m.stopped = Some(why));
    }

    /// One round of questions and answers for everybody who has not stopped. `see` sees every answer.
    /// Fails if the run was cancelled; then nobody was told anything.
    pub fn round(
        &mut self,
        problem: &Problem,
        budget: &Budget,
        see: &mut dyn FnMut(&Evaluation),
    ) -> Result<(), Report> {
        let before = self.members.clone_if_random(&self.optimizer);
        let running: Vec<usize> = (0..self.members.len()).filter(|&i| self.members[i].stopped.is_none()).collect();
        let asked: Vec<Vec<Vec<f64>>> = running.iter().map(|&i| self.members[i].ask()).collect();
        let points: Vec<Vec<f64>> = asked.iter().flatten().cloned().collect();
        let (answers, taken) = match problem.evaluate_on_paths(&points, &problem.training, self.optimizer.need()) {
            Ok(answers) => answers,
            Err(report) => {
                // What was asked is forgotten, so that a later run asks the same again.
                if let Some(before) = before {
                    self.members = before;
                }
                return Err(report);
            }
        };
        let mut answers = answers.into_iter();
        let mut taken = taken.into_iter();
        for (&i, points) in running.iter().zip(asked) {
            let found: Vec<Evaluation> = answers.by_ref().take(points.len()).collect();
            found.iter().for_each(&mut *see);
            taken.by_ref().take(points.len()).for_each(|paths| self.members[i].take_paths(paths));
            self.members[i].tell(points, found, &self.optimizer, budget);
        }
        Ok(())
    }
}

/// Members before a question whose asking changes them.
trait BeforeAsking {
    fn clone_if_random(&self, optimizer: &Optimizer) -> Option<Vec<Member>>;
}

impl BeforeAsking for Vec<Member> {
    fn clone_if_random(&self, optimizer: &Optimizer) -> Option<Vec<Member>> {
        // Only these draw random numbers when they ask; for the others asking changes nothing.
        matches!(optimizer, Optimizer::Evolution(_) | Optimizer::Sampling(_)).then(|| self.clone())
    }
}
