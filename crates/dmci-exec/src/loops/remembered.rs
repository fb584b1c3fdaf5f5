//! What is remembered of the state of a loop for the way back.

use super::Steady;
use super::steady::{operation, read_anywhere};
use crate::plan::{LoopStep, LoopStepKind, Slot, Step, rows_of};
use rustc_hash::{FxHashMap, FxHashSet};

/// Rows inside of a loop, in the order of its state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Remembered {
    /// At a mark: all that rounds need to be done again from there. What only counts is known without it.
    pub marked: Vec<Slot>,
    /// At each round of a stretch. On the way back these are the rows that it is read into.
    pub history: Vec<Slot>,
    /// On the way back, what is the state of the round before: it is in the history, too.
    pub later: Vec<Later>,
}

/// A number of the state of a loop on the way back that is what one in the history was in the round behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Later {
    pub state: Slot,
    /// Its row at the end of a round.
    pub next: Slot,
    /// Where it is in the history.
    pub at: usize,
    pub real: bool,
}

impl Remembered {
    /// For a loop that goes on, followed back by these.
    pub fn of(step: &LoopStep, steady: Option<&Steady>, followers: &[&LoopStep]) -> Remembered {
        let counts = |row: Slot| steady.is_some_and(|s| s.counters.iter().any(|c| c.state == row));
        let marked: Vec<Slot> = rows_of(step.state()).filter(|&row| !counts(row)).collect();
        // Where a lane may leave in the midst of a stretch, all is needed to begin again from there.
        let may_stop = steady.is_none_or(|s| s.guarded);
        let read: Option<Vec<FxHashSet<Slot>>> = followers.iter().map(|f| read_back(step, f)).collect();
        let history = match read.filter(|_| !may_stop) {
            Some(read) => marked.iter().copied().filter(|row| read.iter().any(|read| read.contains(row))).collect(),
            None => marked.clone(),
        };
        Remembered { marked, history, later: Vec::new() }
    }

    /// For a loop that follows another one back.
    pub fn followed(step: &LoopStep, forward: &LoopStep) -> Remembered {
        let kept: FxHashSet<Slot> = forward.remembered.history.iter().copied().collect();
        let pairs = rows_of(step.followed()).zip(rows_of(forward.state()));
        let history: Vec<Slot> = pairs.filter(|(_, of)| kept.contains(of)).map(|pair| pair.0).collect();
        let pairs: FxHashMap<Slot, Slot> = rows_of(&step.next).zip(rows_of(step.state())).collect();
        let reals = forward.steady.as_ref().map(|steady| &steady.reals);
        let mut later: Vec<Later> = Vec::new();
        for step in &step.body.steps {
            let Step::Move { d, s, count: 1 } = *step else { continue };
            let (Some(at), Some(&state)) = (history.iter().position(|row| *row == s), pairs.get(&d)) else { continue };
            // Each has a place of its own for what it is at first.
            if later.iter().all(|l| l.at != at) {
                let real = reals.is_some_and(|reals| reals.contains(&forward.remembered.history[at]));
                later.push(Later { state, next: d, at, real });
            }
        }
        Remembered { marked: Vec::new(), history, later }
    }
}

/// The rows of the state of a loop that rounds back read, if it is plain operations that do.
fn read_back(step: &LoopStep, follower: &LoopStep) -> Option<FxHashSet<Slot>> {
    let steps = &follower.body.steps;
    let read = steps.iter().all(|s| operation(s).is_some()).then(|| read_anywhere(steps))?;
    let pairs = rows_of(step.state()).zip(rows_of(follower.followed()));
    Some(pairs.filter(|(_, seen)| read.contains(seen)).map(|pair| pair.0).collect())
}

impl LoopStep {
    /// How many rounds it has, if that is the same for all lanes.
    pub(super) fn rounds_known(&self) -> Option<u64> {
        let LoopStepKind::Forward { limit, .. } = self.kind else { return None };
        self.steady.as_ref().filter(|s| !s.guarded).map(|s| s.rounds.min(limit))
    }
}
