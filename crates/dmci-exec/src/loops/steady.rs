//! What a round still has to do once a loop is under way.
//!
//! A state that every round sets to the same number is that number from the second round on, such as whether there is
//! an adjoint already. A counter that begins with a known number and changes by a known one needs no work in any lane:
//! the round in which a test of it turns out differently is known beforehand. Neither changes what lanes compute.

use crate::plan::{LoopStep, LoopStepKind, Slot, Step, rows_of};
use dmci_ops::{INT_LIMIT, MAX_ARITY, Op, Type};
use rustc_hash::{FxHashMap, FxHashSet};

/// A round of a loop under way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Steady {
    pub steps: Vec<Step>,
    /// Rows at the end of a round with those of the state that they become.
    pub next: Vec<(Slot, Slot)>,
    /// States that only count.
    pub counters: Vec<Counter>,
    /// Rounds, from the first one on, in which no test of a counter ends the loop.
    pub rounds: u64,
    /// Whether the first round of a lane is different.
    pub settles: bool,
    /// Whether lanes may leave the loop.
    pub guarded: bool,
    /// Rows that are there from the start of a round on and have reals.
    pub reals: FxHashSet<Slot>,
}

/// A state that changes by the same number in every round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Counter {
    pub state: Slot,
    start: i64,
    by: i64,
}

impl Counter {
    /// Its bits at the start of a round.
    pub fn at(&self, round: u64) -> u64 {
        self.start.wrapping_add(self.by.wrapping_mul(round as i64)) as u64
    }
}

/// What is known of a row.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    Bits(u64),
    /// A counter, and what was added to it.
    Linear(usize, i64),
    /// Whether a counter is in a range; so many rounds go by until that is no longer so.
    Test {
        holds: u64,
        fails: u64,
    },
}

/// The row that a step writes and those that it reads, if it is a plain operation.
pub(super) fn operation(step: &Step) -> Option<(Slot, &[Slot])> {
    match step {
        Step::Op { op, d, args } => Some((*d, &args[..op.operands().len()])),
        Step::Constant { d, .. } => Some((*d, &[])),
        Step::Move { d, s, count: 1 } => Some((*d, std::slice::from_ref(s))),
        _ => None,
    }
}

/// Which steps make what a round ends with.
pub(crate) fn ends(steps: &[Step], next: &[(Slot, Slot)]) -> Vec<bool> {
    let mut ends = vec![false; steps.len()];
    for (next, _) in next {
        if let Some(i) = steps.iter().rposition(|step| step.writes().contains(next)) {
            ends[i] = true;
        }
    }
    ends
}

/// The steps that others, or the rows that are live behind them, need; `live` are then the rows that they read first.
fn needed<'a>(steps: impl DoubleEndedIterator<Item = &'a Step>, live: &mut FxHashSet<Slot>) -> Vec<Step> {
    let mut needed = Vec::new();
    for step in steps.rev() {
        if let Step::Guard { test, .. } = step {
            live.insert(*test);
            needed.push(*step);
        } else if let Some((d, from)) = operation(step)
            && live.remove(&d)
        {
            live.extend(from);
            needed.push(*step);
        }
    }
    needed.reverse();
    needed
}

impl Steady {
    /// The rounds of a loop of plain operations, followed back by these.
    pub fn of(step: &LoopStep, followers: &[&LoopStep]) -> Option<Steady> {
        let plain = |step: &Step| matches!(step, Step::Guard { .. }) || step.is_plain();
        if !step.body.steps.iter().all(plain) {
            return None;
        }
        let known = known_rows(&step.prelude);
        let pairs: Vec<(Slot, Slot)> = rows_of(&step.next).zip(rows_of(step.state())).collect();
        let writer = |row: Slot| step.body.steps.iter().rev().find(|s| operation(s).is_some_and(|(d, _)| d == row));
        let kept: FxHashSet<Slot> = rows_of(&step.kept).collect();
        let settled: FxHashMap<Slot, Slot> = pairs
            .iter()
            .filter_map(|&(next, state)| match writer(next) {
                Some(&Step::Move { s, .. }) if kept.contains(&s) => Some((state, s)),
                _ => None,
            })
            .collect();
        let steps: Vec<Step> = step.body.steps.iter().map(|s| simplified(s, &settled, &known)).collect();
        let candidates = counters(step, followers, &pairs, &known, writer);
        let (rounds, tests) = bounds(&steps, &candidates, &known);
        let mut steady = Steady {
            steps: Vec::new(),
            next: Vec::new(),
            counters: candidates,
            rounds,
            settles: !settled.is_empty(),
            guarded: false,
            reals: reals(&steps, &pairs, rows_of(&step.leaves).chain(rows_of(&step.kept)).collect()),
        };
        // Counters that something else reads are states like any other.
        loop {
            let counts = |state: &Slot| steady.counters.iter().any(|c| c.state == *state);
            let carried = pairs.iter().filter(|(_, state)| !settled.contains_key(state) && !counts(state));
            steady.next = carried.copied().collect();
            let mut live: FxHashSet<Slot> = steady.next.iter().map(|pair| pair.0).collect();
            let left: Vec<&Step> = steps.iter().enumerate().filter(|(i, _)| !tests.contains(i)).map(|s| s.1).collect();
            let needed = needed(left.into_iter(), &mut live);
            let before = steady.counters.len();
            steady.counters.retain(|c| !live.contains(&c.state));
            if steady.counters.len() == before {
                let constants = known.iter().filter(|(row, _)| live.contains(row));
                let mut constants: Vec<(Slot, u64)> = constants.map(|(&row, &bits)| (row, bits)).collect();
                constants.sort_unstable();
                steady.steps = constants.into_iter().map(|(d, bits)| Step::Constant { d, bits }).collect();
                steady.steps.extend(needed);
                break;
            }
        }
        steady.guarded = steady.steps.iter().any(|s| matches!(s, Step::Guard { .. }));
        Some(steady)
    }
}

/// Which of some rows, that steps only read, have reals: those that are used as such, and what becomes of them.
fn reals(steps: &[Step], pairs: &[(Slot, Slot)], rows: FxHashSet<Slot>) -> FxHashSet<Slot> {
    let mut reals = FxHashSet::default();
    loop {
        let before = reals.len();
        // The row that a row is a copy of, or whether a real was computed there.
        let mut copies: FxHashMap<Slot, Result<Slot, bool>> = rows.iter().map(|&row| (row, Ok(row))).collect();
        for step in steps {
            match *step {
                Step::Op { op, d, args } => {
                    for (&row, &ty) in args.iter().zip(op.operands()) {
                        if let (Some(Ok(from)), Type::Real) = (copies.get(&row), ty) {
                            reals.insert(*from);
                        }
                    }
                    copies.insert(d, Err(op.result() == Type::Real));
                }
                Step::Move { d, s, .. } => {
                    let from = copies.get(&s).copied().unwrap_or(Err(false));
                    copies.insert(d, from);
                }
                _ => {}
            }
        }
        for (next, state) in pairs {
            match copies.get(next) {
                Some(Ok(from)) if reals.contains(from) => reals.insert(*state),
                Some(Ok(from)) if reals.contains(state) => reals.insert(*from),
                Some(Err(true)) => reals.insert(*state),
                _ => false,
            };
        }
        if reals.len() == before {
            return reals;
        }
    }
}

/// Rows that have the same known bits in all lanes and rounds.
fn known_rows(prelude: &[Step]) -> FxHashMap<Slot, u64> {
    let mut known = FxHashMap::default();
    for step in prelude {
        match *step {
            Step::Constant { d, bits } => {
                known.insert(d, bits);
            }
            Step::Op { op, d, args } => {
                if let Some(bits) = fold(op, args, |row| known.get(&row).copied()) {
                    known.insert(d, bits);
                }
            }
            _ => {}
        }
    }
    known
}

/// The result of an operation on known integers and booleans.
pub(crate) fn fold(op: Op, args: [Slot; MAX_ARITY], known: impl Fn(Slot) -> Option<u64>) -> Option<u64> {
    let operands = op.operands();
    if op.result() == Type::Real || operands.contains(&Type::Real) {
        return None;
    }
    let mut bits = [0; MAX_ARITY];
    for (bits, &row) in bits.iter_mut().zip(&args[..operands.len()]) {
        *bits = known(row)?;
    }
    Some(op.eval(bits))
}

/// A step that reads what a state has become for good.
pub(crate) fn simplified(step: &Step, settled: &FxHashMap<Slot, Slot>, known: &FxHashMap<Slot, u64>) -> Step {
    let settle = |row: Slot| settled.get(&row).copied().unwrap_or(row);
    match *step {
        Step::Op { op, d, args } => {
            let args = args.map(settle);
            match known.get(&args[0]) {
                Some(&set) if matches!(op, Op::Select | Op::BoolSelect) => {
                    Step::Move { d, s: if set != 0 { args[1] } else { args[2] }, count: 1 }
                }
                _ => Step::Op { op, d, args },
            }
        }
        Step::Move { d, s, count } => Step::Move { d, s: settle(s), count },
        Step::Guard { test, outcome, index } => Step::Guard { test: settle(test), outcome, index },
        other => other,
    }
}

/// States that begin with a known integer and change by a known one; no follower reads them.
fn counters<'a>(
    step: &LoopStep,
    followers: &[&LoopStep],
    pairs: &[(Slot, Slot)],
    known: &FxHashMap<Slot, u64>,
    writer: impl Fn(Slot) -> Option<&'a Step>,
) -> Vec<Counter> {
    if !matches!(step.kind, LoopStepKind::Forward { .. }) || pairs.len() != step.starts.len() {
        return Vec::new();
    }
    let read = |f: &&LoopStep| (read_anywhere(&f.body.steps), rows_of(f.followed()).collect());
    let read: Vec<(FxHashSet<Slot>, Vec<Slot>)> = followers.iter().map(read).collect();
    let mut found = Vec::new();
    for (i, (&(next, state), start)) in pairs.iter().zip(&step.starts).enumerate() {
        let by = match writer(next) {
            Some(&Step::Op { op: Op::IntAdd, args: [a, b, _], .. }) if a == state => known.get(&b).copied(),
            Some(&Step::Op { op: Op::IntAdd, args: [a, b, _], .. }) if b == state => known.get(&a).copied(),
            Some(&Step::Op { op: Op::IntSub, args: [a, b, _], .. }) if a == state => {
                known.get(&b).map(|&by| (by as i64).wrapping_neg() as u64)
            }
            _ => None,
        };
        let unread = read.iter().all(|(read, rows)| rows.get(i).is_some_and(|row| !read.contains(row)));
        if let (Some(start), Some(by), true) = (start, by, unread) {
            found.push(Counter { state, start: *start, by: by as i64 });
        }
    }
    found
}

/// All rows that steps read.
pub(super) fn read_anywhere(steps: &[Step]) -> FxHashSet<Slot> {
    steps.iter().flat_map(Step::reads).collect()
}

/// The rounds for which tests of counters go as recorded, and which guards these are.
fn bounds(steps: &[Step], counters: &[Counter], known: &FxHashMap<Slot, u64>) -> (u64, FxHashSet<usize>) {
    let mut meanings: FxHashMap<Slot, Meaning> = known.iter().map(|(&row, &bits)| (row, Meaning::Bits(bits))).collect();
    meanings.extend(counters.iter().enumerate().map(|(i, c)| (c.state, Meaning::Linear(i, 0))));
    let (mut rounds, mut tests) = (u64::MAX, FxHashSet::default());
    for (i, step) in steps.iter().enumerate() {
        match *step {
            Step::Op { op, d, args } => {
                let bits = |row: Slot| match meanings.get(&row) {
                    Some(Meaning::Bits(bits)) => Some(*bits),
                    _ => None,
                };
                let folded = fold(op, args, bits).map(Meaning::Bits);
                let meaning = folded.or_else(|| meaning(op, args.map(|row| meanings.get(&row).copied()), counters));
                match meaning {
                    Some(meaning) => meanings.insert(d, meaning),
                    None => meanings.remove(&d),
                };
            }
            Step::Constant { d, bits } => {
                meanings.insert(d, Meaning::Bits(bits));
            }
            Step::Move { d, s, .. } => {
                match meanings.get(&s).copied() {
                    Some(meaning) => meanings.insert(d, meaning),
                    None => meanings.remove(&d),
                };
            }
            Step::Guard { test, outcome, .. } => {
                if let Some(Meaning::Test { holds, fails }) = meanings.get(&test) {
                    rounds = rounds.min(if outcome { *holds } else { *fails });
                    tests.insert(i);
                }
            }
            _ => {}
        }
    }
    // Nothing is known of integers that no longer fit.
    for counter in counters {
        rounds = rounds.min(while_at_most(counter.start, counter.by, INT_LIMIT as i128));
        rounds = rounds.min(while_at_least(counter.start, counter.by, -(INT_LIMIT as i128)));
    }
    (rounds, tests)
}

/// What an operation makes of a counter.
fn meaning(op: Op, args: [Option<Meaning>; MAX_ARITY], counters: &[Counter]) -> Option<Meaning> {
    use Meaning::*;
    let test = |i: usize, off: i64, at_least: i128, at_most: i128| {
        let Counter { start, by, .. } = counters[i];
        let start = start.checked_add(off)?;
        let inside = while_at_least(start, by, at_least).min(while_at_most(start, by, at_most));
        // Until it is inside: as long as it is below, or above.
        let below = while_at_most(start, by, at_least - 1);
        let above = while_at_least(start, by, at_most + 1);
        Some(Test { holds: inside, fails: below.max(above) })
    };
    let all = i128::from(i64::MAX);
    match (op, args) {
        (Op::IntAdd, [Some(Linear(i, off)), Some(Bits(k)), _])
        | (Op::IntAdd, [Some(Bits(k)), Some(Linear(i, off)), _]) => Some(Linear(i, off.checked_add(k as i64)?)),
        (Op::IntSub, [Some(Linear(i, off)), Some(Bits(k)), _]) => Some(Linear(i, off.checked_sub(k as i64)?)),
        (Op::IntEq, [Some(Linear(i, off)), Some(Bits(k)), _])
        | (Op::IntEq, [Some(Bits(k)), Some(Linear(i, off)), _]) => {
            let k = i128::from(k as i64);
            let Counter { start, by, .. } = counters[i];
            let Test { holds, .. } = test(i, off, k, k)? else { return None };
            // It may step over the number.
            let distance = k - i128::from(start.checked_add(off)?);
            let never = by == 0 && distance != 0
                || by != 0 && (distance % i128::from(by) != 0 || distance / i128::from(by) < 0);
            let fails = if never {
                u64::MAX
            } else if by == 0 {
                0
            } else {
                (distance / i128::from(by)) as u64
            };
            Some(Test { holds, fails })
        }
        (Op::IntLt, [Some(Linear(i, off)), Some(Bits(k)), _]) => test(i, off, -2 * all, i128::from(k as i64) - 1),
        (Op::IntLe, [Some(Linear(i, off)), Some(Bits(k)), _]) => test(i, off, -2 * all, i128::from(k as i64)),
        (Op::IntLt, [Some(Bits(k)), Some(Linear(i, off)), _]) => test(i, off, i128::from(k as i64) + 1, 2 * all),
        (Op::IntLe, [Some(Bits(k)), Some(Linear(i, off)), _]) => test(i, off, i128::from(k as i64), 2 * all),
        (Op::IntFits, [Some(Linear(i, off)), ..]) => test(i, off, 1 - i128::from(INT_LIMIT), i128::from(INT_LIMIT) - 1),
        (Op::Not, [Some(Test { holds, fails }), ..]) => Some(Test { holds: fails, fails: holds }),
        _ => None,
    }
}

/// Rounds from the first on in which a counter is at most a number.
fn while_at_most(start: i64, by: i64, most: i128) -> u64 {
    let (start, by) = (i128::from(start), i128::from(by));
    if start > most {
        0
    } else if by <= 0 {
        u64::MAX
    } else {
        u64::try_from((most - start) / by + 1).unwrap_or(u64::MAX)
    }
}

/// The same for at least a number.
fn while_at_least(start: i64, by: i64, least: i128) -> u64 {
    let (start, by) = (i128::from(start), i128::from(by));
    if start < least {
        0
    } else if by >= 0 {
        u64::MAX
    } else {
        u64::try_from((start - least) / -by + 1).unwrap_or(u64::MAX)
    }
}
