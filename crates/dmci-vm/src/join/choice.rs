//! Decisions inside of the arm that the recorded lane does not take.
//!
//! Such a decision has no outcome that counts: the numbers of the lane are not those of a lane that takes the arm. If it
//! cannot be joined, the arm goes on with the outcome that leads to where the other arm ended, and the guard holds in all
//! lanes but those that take the arm and decide otherwise. So `(if (<= e 1.) (loop a) (if (> e 1.) (loop b) +nan.0))` is
//! one round of a loop, whichever way the recorded lane goes, and lanes where e is not a number leave it.

use super::{Arms, End, Entries, Outcome, Start, Tried};
use crate::calls::Step;
use crate::machine::Vm;
use dmci_tape::NodeId;
use dmci_value::{Error, Value};

/// Where an arm ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    level: usize,
    code: u32,
    end: End,
    /// The procedure that it enters there.
    pub(super) procedure: Option<Value>,
}

impl Place {
    pub(super) fn of(arm: &Outcome, start: &Start) -> Place {
        let procedure = arm.values.first().copied().filter(|_| arm.end == End::Enter);
        Place { level: start.fp, code: start.code, end: arm.end.clone(), procedure }
    }

    /// Whether two arms of the same frame end at the same place.
    fn is(&self, other: &Place) -> bool {
        // Where a frame returns or is given up does not depend on the code that runs in it.
        let code = self.code == other.code || !matches!(self.end, End::At(_));
        code && self.end == other.end && self.procedure == other.procedure
    }
}

impl Vm {
    /// Tries both arms once more; what the dead one decides leads to where the other one ends, if it can.
    pub(super) fn try_choices(
        &mut self,
        test: NodeId,
        start: &Start,
        (yes, no): (usize, usize),
        key: u64,
    ) -> Result<Tried, Error> {
        self.forget(start);
        self.arms.entries = Entries::All;
        let taken = self.world.recording.as_ref().is_some_and(|r| r.recorder.bits(test) != 0);
        let Some(live) = self.try_arm(start, if taken { yes } else { no })? else {
            return Ok(Tried::Parted([None, None]));
        };
        self.forget(start);
        self.arms.entries = Entries::All;
        self.arms.aim = Some(Place::of(&live, start));
        let joined = self.try_arms(test, start, (yes, no))?;
        self.arms.aim = None;
        if let Some(recording) = &mut self.world.recording {
            match joined {
                Tried::Met(..) => recording.chosen.insert(key),
                Tried::Parted(_) => recording.chosen.remove(&key),
            };
        }
        Ok(joined)
    }

    /// Goes on with one arm of a decision inside of a dead arm, which ended at these places; `None` if nothing is to be
    /// chosen.
    pub(super) fn choose(
        &mut self,
        test: Value,
        places: &[Option<Place>; 2],
        (yes, no): (usize, usize),
    ) -> Result<Option<Step>, Error> {
        let Some(outcome) = self.arms.choice(places) else { return Ok(None) };
        let Some(node) = self.world.boolean_node(test)? else { return Ok(None) };
        self.world.guard_as(node, outcome);
        self.pc = if outcome { yes } else { no };
        Ok(Some(Step::Go))
    }
}

impl Arms {
    /// The outcome of a decision inside of a dead arm that leads to where the arm should end, if only one does.
    pub(super) fn choice(&self, places: &[Option<Place>; 2]) -> Option<bool> {
        let aim = self.aim.as_ref().filter(|_| self.dead)?;
        let reaches = |place: &Option<Place>| match place {
            Some(place) if place.level == aim.level => place.is(aim),
            // In a procedure that the arm calls, it is enough to come back from it.
            Some(_) => true,
            None => false,
        };
        let [yes, no] = places.each_ref().map(reaches);
        (yes != no).then_some(yes)
    }
}
