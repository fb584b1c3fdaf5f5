//! One restart: a search with what every search needs around it. It finds a finite start, keeps the
//! best point, counts, and stops the search when something is used up.

use crate::points::{Asked, Points};
use crate::search::{Evaluation, Optimizer, Search, Searching, Start, Stop};
use crate::starts::{offset, spread};
use dmci_stats::random::Stream;
use serde::{Deserialize, Serialize};

/// When a restart ends, whatever its search thinks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// Most rounds of questions; without, what the optimiser is used to.
    pub epochs: Option<usize>,
    /// A loss that is good enough.
    pub target: Option<f64>,
    /// Rounds that a search goes on after it reached the target.
    pub window: usize,
    /// Take the last point instead of the best one.
    pub last: bool,
}

/// Where a restart is.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Phase {
    /// Looking for a finite start: at the base plus the offset, or nearer.
    Starting { offset: Vec<f64>, halvings: usize },
    /// On its way.
    Searching(Searching),
}

/// One restart with a state of its own: what other restarts do changes no bit of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Member {
    /// Its number; 0 starts at the schema's values.
    pub index: usize,
    /// Rounds of questions so far, without the start.
    pub epochs: usize,
    /// Points evaluated.
    pub evaluations: usize,
    /// Points among them at which the loss was not finite.
    pub not_finite: usize,
    /// The best point so far and its loss.
    pub best: Option<(Vec<f64>, f64)>,
    /// The last point with a finite loss.
    pub last: Option<(Vec<f64>, f64)>,
    /// The best loss after each round.
    pub trace: Vec<f64>,
    /// How often rows took other paths through the program than at the point before.
    pub path_changes: usize,
    /// Why it stopped, if it did.
    pub stopped: Option<Stop>,
    /// The paths that rows took last, as a hash.
    paths: Option<u64>,
    base: Vec<f64>,
    seed: u64,
    phase: Phase,
    reached: Option<usize>,
}

/// An offset halved this often is nothing.
const MAX_HALVINGS: usize = 60;

/// Restarts draw the offsets of their starts and their later random numbers from different streams.
const SEARCH_STREAM: u64 = 1 << 40;

impl Member {
    /// The restart of a number: it starts at its own offset from the base.
    pub fn new(index: usize, base: &[f64], seed: u64) -> Member {
        Member::at(index, base, offset(base, index, seed), seed)
    }

    /// A restart that starts at an offset from the base, or nearer to it if the loss is not finite there.
    pub fn at(index: usize, base: &[f64], offset: Vec<f64>, seed: u64) -> Member {
        Member {
            index,
            epochs: 0,
            evaluations: 0,
            not_finite: 0,
            best: None,
            last: None,
            trace: Vec::new(),
            path_changes: 0,
            stopped: None,
            paths: None,
            base: base.to_vec(),
            seed,
            phase: Phase::Starting { offset, halvings: 0 },
            reached: None,
        }
    }

    /// The best loss so far.
    pub fn loss(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |b| b.1)
    }

    /// The point that is its result.
    pub fn result(&self, budget: &Budget) -> Option<&(Vec<f64>, f64)> {
        if budget.last { self.last.as_ref() } else { self.best.as_ref() }
    }

    /// Whether it would come below a loss if it fell as much once more as in the second half of its rounds.
    pub(crate) fn could_reach(&self, loss: f64) -> bool {
        let (half, now) = (self.trace.get(self.trace.len() / 2), self.trace.last());
        half.zip(now).is_none_or(|(half, now)| 2.0 * now - half < loss)
    }

    /// How far a step leads.
    pub fn rate(&self) -> f64 {
        match &self.phase {
            Phase::Starting { .. } => f64::NAN,
            Phase::Searching(search) => search.rate(),
        }
    }

    /// Adds the points to evaluate next.
    pub fn ask(&mut self, points: &mut Points) {
        match &mut self.phase {
            Phase::Starting { offset, .. } => points.push(self.base.iter().zip(offset).map(|(x, o)| x + *o)),
            Phase::Searching(search) => search.ask(points),
        }
    }

    /// Takes which paths the rows took at the next point, as a number.
    pub(crate) fn take_paths(&mut self, paths: u64) {
        self.path_changes += usize::from(self.paths.is_some_and(|before| before != paths));
        self.paths = Some(paths);
    }

    /// Takes what was found at them.
    pub fn tell(&mut self, asked: Asked, found: &mut [Evaluation], optimizer: &Optimizer, budget: &Budget) {
        self.evaluations += asked.len();
        for (point, found) in asked.iter().zip(&*found) {
            if !found.is_finite() {
                self.not_finite += 1;
                continue;
            }
            keep(&mut self.last, point, found.loss);
            if found.loss < self.loss() {
                keep(&mut self.best, point, found.loss);
            }
        }
        match &mut self.phase {
            Phase::Starting { offset, halvings } => {
                let found = found.first_mut().map(std::mem::take).unwrap_or_default();
                if found.is_finite() {
                    self.begin(asked.get(0).to_vec(), found, optimizer);
                } else {
                    offset.iter_mut().for_each(|o| *o *= 0.5);
                    *halvings += 1;
                    if *halvings > MAX_HALVINGS || offset.iter().all(|o| *o == 0.0) {
                        self.stopped = Some(Stop::Stuck);
                    }
                }
            }
            Phase::Searching(search) => {
                self.epochs += 1;
                search.tell(asked, found);
                self.stopped = search.stopped();
            }
        }
        self.trace.push(self.loss());
        self.check(budget, optimizer);
    }

    fn begin(&mut self, point: Vec<f64>, found: Evaluation, optimizer: &Optimizer) {
        let stream = Stream::new(self.seed, SEARCH_STREAM + self.index as u64);
        let search = optimizer.begin(Start { spread: spread(&point), point, found, stream });
        self.stopped = search.stopped();
        self.phase = Phase::Searching(search);
    }

    fn check(&mut self, budget: &Budget, optimizer: &Optimizer) {
        if self.loss() == 0.0 && !matches!(self.phase, Phase::Starting { .. }) && self.stopped != Some(Stop::Stuck) {
            self.stopped = Some(Stop::Exact);
        }
        if self.stopped.is_some() {
            return;
        }
        if budget.target.is_some_and(|target| self.loss() <= target) {
            let since = *self.reached.get_or_insert(self.epochs);
            if self.epochs - since >= budget.window {
                self.stopped = Some(Stop::Target);
            }
        }
        if self.epochs >= budget.epochs.unwrap_or(optimizer.epochs())
            && matches!(self.phase, Phase::Searching(_))
            && self.stopped.is_none()
        {
            self.stopped = Some(Stop::Epochs);
        }
    }
}

/// Keeps a point and its loss in the memory of the one before.
fn keep(place: &mut Option<(Vec<f64>, f64)>, point: &[f64], loss: f64) {
    match place {
        Some(kept) => {
            kept.0.clear();
            kept.0.extend_from_slice(point);
            kept.1 = loss;
        }
        None => *place = Some((point.to_vec(), loss)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_still_falls_could_become_better() {
        let with = |trace: Vec<f64>| Member { trace, ..Member::at(0, &[], Vec::new(), 0) };
        assert!(with(vec![9.0, 8.0, 7.0, 6.0, 5.0, 4.0]).could_reach(2.5));
        assert!(!with(vec![9.0, 4.1, 4.0, 4.0, 4.0, 4.0]).could_reach(2.5));
        assert!(with(vec![f64::INFINITY, f64::INFINITY, f64::INFINITY, 4.0]).could_reach(2.5));
    }
}
