//! A population of restarts: all that they ask for is evaluated in one call of the model, and each is told
//! what it would be told alone.

use crate::evaluate::Answers;
use crate::member::{Budget, Member};
use crate::points::Points;
use crate::problem::Problem;
use crate::search::{Evaluation, Need, Optimizer, Stop};
use dmci::Report;
use dmci_limits::unstopped;

/// Restarts of one optimiser.
#[derive(Clone, Debug)]
pub struct Population {
    /// The optimiser.
    pub optimizer: Optimizer,
    /// The restarts.
    pub members: Vec<Member>,
    /// Whether parameters that are affine by structure are solved for at every point.
    pub(crate) projects: bool,
    round: Round,
}

/// Memory of a round, kept for the next one.
#[derive(Clone, Debug, Default)]
struct Round {
    /// Members that run, and how many points each asked for.
    running: Vec<(usize, usize)>,
    points: Points,
    answers: Answers,
}

impl Population {
    /// These restarts.
    pub fn of(optimizer: Optimizer, members: Vec<Member>) -> Population {
        Population { optimizer, members, projects: false, round: Round::default() }
    }

    /// So many restarts around a point; the first starts there.
    pub fn new(optimizer: Optimizer, base: &[f64], restarts: usize, seed: u64) -> Population {
        Population::of(optimizer, (0..restarts.max(1)).map(|i| Member::new(i, base, seed)).collect())
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

    /// Somebody interrupted the search, also if its time was over at the same moment.
    pub(crate) fn interrupt(&mut self) {
        self.members
            .iter_mut()
            .filter(|m| m.stopped == Some(Stop::Time))
            .for_each(|m| m.stopped = Some(Stop::Interrupted));
    }

    /// Ends restarts that run far longer than the best one took to converge, unless they fall so fast that they could
    /// still become better than it is.
    pub fn end_race(&mut self) {
        let Some(best) = self.best().filter(|m| m.stopped == Some(Stop::Converged)) else { return };
        let (longest, loss) = (2 * best.epochs + 20, best.loss());
        let is_behind = |m: &&mut Member| m.stopped.is_none() && m.epochs > longest && !m.could_reach(loss);
        self.members.iter_mut().filter(is_behind).for_each(|m| m.stopped = Some(Stop::Overtaken));
    }

    /// One round of questions and answers for everybody who has not stopped. `see` sees every answer.
    /// Fails if the run was cancelled; then nobody was told anything.
    pub fn round(
        &mut self,
        problem: &Problem,
        budget: &Budget,
        see: &mut dyn FnMut(&Evaluation),
    ) -> Result<(), Report> {
        self.round_within(problem, budget, usize::MAX, see).map(|_| ())
    }

    /// The same for as many of them as so many points are enough for; whether they were for all.
    pub(crate) fn round_within(
        &mut self,
        problem: &Problem,
        budget: &Budget,
        most: usize,
        see: &mut dyn FnMut(&Evaluation),
    ) -> Result<bool, Report> {
        let before = self.members.clone_if_random(&self.optimizer);
        let Round { running, points, answers } = &mut self.round;
        running.clear();
        points.clear();
        for (i, member) in self.members.iter_mut().enumerate().filter(|(_, m)| m.stopped.is_none()) {
            let first = points.len();
            member.ask(points);
            running.push((i, points.len() - first));
        }
        let need = self.optimizer.need();
        let mut count = points.len();
        let mut all = true;
        while let Some(&(i, own)) = running.last().filter(|_| count > most) {
            // Who cannot be answered has not asked.
            if let Some(before) = &before {
                self.members[i] = before[i].clone();
            }
            count -= own;
            running.pop();
            all = false;
        }
        if running.is_empty() {
            return Ok(all);
        }
        let projected = if self.projects && need == Need::Jacobian { problem.project(points, count) } else { Ok(()) };
        let asked = points.part(0, count);
        let evaluated = |answers: &mut Answers| {
            projected?;
            if problem.answer_from_memory(asked, need, answers) {
                return Ok(());
            }
            problem.evaluate_on_paths(asked, problem.training(), need, answers)
        };
        if let Err(report) = evaluated(answers) {
            // What was asked is forgotten, so that a later run asks the same again.
            if let Some(before) = before {
                self.members = before;
            }
            return Err(report);
        }
        // What is stopped in the middle of planning a step has no meaning: it is planned again by whoever goes on.
        let n = problem.layout.raws;
        let takes_long = n * n * n.max(problem.training().len()) > WORTH_KEEPING;
        let before = takes_long.then(|| self.members.clone());
        let mut first = 0;
        for &(i, count) in &*running {
            let found = &mut answers.found[first..first + count];
            found.iter().for_each(&mut *see);
            let member = &mut self.members[i];
            answers.paths[first..first + count].iter().for_each(|&paths| member.take_paths(paths));
            let (asked, optimizer) = (points.part(first, count), &self.optimizer);
            match takes_long {
                true => member.tell(asked, found, optimizer, budget),
                false => unstopped(|| member.tell(asked, found, optimizer, budget)),
            }
            first += count;
        }
        if let Some(before) = before.filter(|_| dmci_limits::rings()) {
            self.members = before;
            problem.check_cancel()?;
        }
        Ok(all)
    }
}

/// Operations of a step from which on it may be stopped in the middle.
const WORTH_KEEPING: usize = 1 << 23;

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
