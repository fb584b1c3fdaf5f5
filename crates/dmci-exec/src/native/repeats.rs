//! Finds loops in straight lines: stretches in which the same operations come again and again.
//!
//! A rollout that collects what it computes is recorded round by round, and so are the ways back through it and whatever
//! is done with each number of a list. In such a stretch, an operand of an operation is what a round before has made at
//! the same distance, or the same value in all rounds, or one value for each round that was made before the stretch.

use crate::plan::{Plan, Slot, Step};
use dmci_ops::{MAX_ARITY, Op, Type};

/// The operations of a round, at most.
const LONGEST_ROUND: usize = 400;

/// Rounds and operations of a stretch, at least.
pub(super) const FEWEST_ROUNDS: usize = 8;
const FEWEST_OPERATIONS: usize = 64;

/// How many rounds ago an operand may have been made.
const FARTHEST: usize = 3;

/// An operation by its number, or a leaf or constant by its number less than zero.
pub(super) type Ref = i64;

/// The operations of a straight line in single assignment.
#[derive(Debug, Default)]
pub(super) struct Operations {
    pub all: Vec<Operation>,
    /// Leaves and constants; a leaf of several numbers is there once for each.
    pub outside: Vec<Type>,
    /// Steps that make leaves and constants, and the numbers of the first ones.
    pub sources: Vec<(Step, usize)>,
    /// Steps that only read, and what: one value for each row.
    pub sinks: Vec<(Step, Vec<Ref>)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub op: Op,
    args: [Ref; MAX_ARITY],
}

impl Operation {
    pub fn args(&self) -> &[Ref] {
        &self.args[..self.op.operands().len()]
    }
}

/// A value that is no operation.
pub(super) fn outside(number: usize) -> Ref {
    -1 - number as Ref
}

impl Operations {
    /// Those of a plan, if there is nothing else in it.
    pub fn of(plan: &Plan) -> Option<Operations> {
        let mut found = Operations::default();
        let mut in_slot: Vec<Ref> = vec![0; plan.slots];
        for step in &plan.steps {
            match *step {
                Step::Leaf { d, count, real, .. } => {
                    found.sources.push((*step, found.outside.len()));
                    for slot in d..d + count {
                        in_slot[slot as usize] = found.add_outside(if real { Type::Real } else { Type::Int });
                    }
                }
                Step::Constant { d, .. } => {
                    found.sources.push((*step, found.outside.len()));
                    // A real or an integer: nothing asks.
                    in_slot[d as usize] = found.add_outside(Type::Real);
                }
                Step::Op { op, d, args } => {
                    let args = args.map(|s| in_slot[s as usize]);
                    in_slot[d as usize] = found.all.len() as Ref;
                    found.all.push(Operation { op, args });
                }
                Step::Guard { .. } | Step::Output { .. } => {
                    let read = step.reads().map(|s: Slot| in_slot[s as usize]).collect();
                    found.sinks.push((*step, read));
                }
                Step::Move { d, s, count } => {
                    (0..count).for_each(|e| in_slot[(d + e) as usize] = in_slot[(s + e) as usize]);
                }
                Step::Tensor(_) | Step::Loop(_) => return None,
            }
        }
        Some(found)
    }

    fn add_outside(&mut self, ty: Type) -> Ref {
        self.outside.push(ty);
        outside(self.outside.len() - 1)
    }

    /// The type of a value; that of a constant may be another one.
    pub fn type_of(&self, value: Ref) -> Type {
        match usize::try_from(value) {
            Ok(k) => self.all[k].op.result(),
            Err(_) => self.outside[(-1 - value) as usize],
        }
    }
}

/// A stretch of rounds: `rounds` of them from the operation `start` on, of `period` operations each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch {
    pub start: usize,
    pub period: usize,
    pub rounds: usize,
}

impl Stretch {
    pub fn end(&self) -> usize {
        self.start + self.period * self.rounds
    }

    /// How many rounds ago an operand at some place of a round was made, and at which place; nothing if that is not the
    /// same in all rounds, or too long ago.
    pub fn carried(&self, operations: &Operations, place: usize, operand: usize) -> Option<(usize, usize)> {
        let i = self.start + place;
        let now = operations.all[i].args()[operand];
        let next = operations.all.get(i + self.period)?.args().get(operand)?;
        let from = usize::try_from(now).ok().filter(|_| *next == now + self.period as Ref)?;
        let behind = (i - from).saturating_sub(place);
        let ago = behind.div_ceil(self.period);
        (ago <= FARTHEST).then(|| (ago, place + ago * self.period - (i - from)))
    }
}

/// Whether an operation may be that of the round before in the same place.
fn is_similar(operations: &[Operation], i: usize, period: usize) -> bool {
    let (now, before) = (&operations[i], &operations[i - period]);
    let near = (FARTHEST * period) as Ref;
    now.op == before.op
        && now.args().iter().zip(before.args()).all(|(&a, &b)| {
            let apart = a - b;
            a < 0 || b < 0 || apart == 0 || apart == period as Ref || i as Ref - a > near
        })
}

/// The stretches of a straight line, in their order. None overlap.
pub(super) fn stretches(operations: &Operations) -> Vec<Stretch> {
    let all = &operations.all;
    let mut runs: Vec<(usize, usize, usize)> = Vec::new();
    for period in 1..=LONGEST_ROUND.min(all.len() / FEWEST_ROUNDS) {
        let least = FEWEST_OPERATIONS.max((FEWEST_ROUNDS - 1) * period);
        if dmci_limits::rings() {
            break;
        }
        let mut i = period;
        while i < all.len() {
            if all[i].op != all[i - period].op || !is_similar(all, i, period) {
                i += 1;
                continue;
            }
            let first = i;
            while i < all.len() && is_similar(all, i, period) {
                i += 1;
            }
            if i - first >= least {
                runs.push((first, i, period));
            }
        }
    }
    runs.sort_by_key(|&(first, end, period)| (std::cmp::Reverse(end - first), period, first));
    let mut taken: Vec<Stretch> = Vec::new();
    for (first, end, period) in runs {
        // What is left of it between stretches that were found before.
        let mut from = first;
        while from + period < end {
            let overlapping = |s: &&Stretch| s.start < end && s.end() > from;
            let behind = taken.iter().filter(overlapping).min_by_key(|s| s.start);
            let to = behind.map_or(end, |s| s.start.max(from));
            if let Some(stretch) = longest(operations, from..to, period) {
                from = stretch.end();
                taken.push(stretch);
                continue;
            }
            from = behind.map_or(end, Stretch::end);
        }
    }
    taken.sort_by_key(|s| s.start);
    taken
}

/// The first rounds in a range that are those of a stretch.
fn longest(operations: &Operations, range: std::ops::Range<usize>, period: usize) -> Option<Stretch> {
    let least = FEWEST_OPERATIONS.max(FEWEST_ROUNDS * period);
    let mut start = range.start;
    while start + least <= range.end {
        let stretch = Stretch { start, period, rounds: (range.end - start) / period };
        let same = same_rounds(operations, stretch);
        if same >= FEWEST_ROUNDS && same * period >= FEWEST_OPERATIONS {
            return Some(Stretch { rounds: same, ..stretch });
        }
        start += (same * period).max(period);
    }
    None
}

/// How many rounds of a stretch are what they should be.
fn same_rounds(operations: &Operations, stretch: Stretch) -> usize {
    let Stretch { start, period, rounds } = stretch;
    let all = &operations.all;
    let carried: Vec<[Option<(usize, usize)>; MAX_ARITY]> = (0..period)
        .map(|place| {
            let count = all[start + place].args().len();
            let mut of_place = [None; MAX_ARITY];
            (0..count).for_each(|operand| of_place[operand] = stretch.carried(operations, place, operand));
            of_place
        })
        .collect();
    for i in start..stretch.end() {
        let place = (i - start) % period;
        let (first, now) = (&all[start + place], &all[i]);
        let is_same = |(operand, &a): (usize, &Ref)| match carried[place][operand] {
            Some(_) => i as Ref - a == (start + place) as Ref - first.args()[operand],
            None => a < start as Ref,
        };
        if now.op != first.op || !now.args().iter().enumerate().all(is_same) {
            return (i - start) / period;
        }
    }
    rounds
}
