//! Fuses a plan and its loops into one sequence of straight lines and rounds.
//!
//! Loops get slots of their own beside those of the plan, so that every step is before the rounds, in a round, or after
//! them. Known integers and decisions are folded: trip counts, and whether there is an adjoint yet.

use crate::loops::{Steady, fold, simplified};
use crate::plan::{LoopStep, LoopStepKind, Plan, Slot, Step, rows_of};
use rustc_hash::{FxHashMap, FxHashSet};

/// Rounds of a loop that a group of lanes may do while some of them wait for others.
const MOST_WAITED_FOR: u64 = 32;

/// Rounds of a loop of known length, and rows that its way back may find in memory: both must not be far away.
const MOST_ROUNDS: u64 = 4096;
const MOST_REMEMBERED: usize = 4096;

/// Instructions of a step, on the average.
const INSTRUCTIONS_OF_STEP: usize = 8;

/// A plan whose loops are inlined as rounds.
#[derive(Debug, Default)]
pub(super) struct FusedLoops {
    pub parts: Vec<FusedPart>,
    pub slots: usize,
    /// Rows that are remembered for the way back.
    pub remembered: usize,
}

#[derive(Debug)]
pub(super) enum FusedPart {
    Line(Vec<Step>),
    Rounds(FusedRounds),
    /// What was remembered, from one row on, is at hand; as values of their own, if they are needed behind the line.
    Recall {
        from: usize,
        past: Vec<Past>,
        moves: bool,
    },
    /// These are to be remembered. Memory from its first row on is at hand.
    Keep(Vec<Past>),
}

/// Rounds of a loop.
#[derive(Debug, Default)]
pub(super) struct FusedRounds {
    pub steps: Vec<Step>,
    /// Slots at the end of a round with those of the state that they become.
    pub next: Vec<(Slot, Slot)>,
    /// Slots of the state that have reals.
    pub reals: FxHashSet<Slot>,
    pub most: u64,
    /// Lanes leave when they like; none should need all rounds.
    pub leaves: bool,
    /// Where what is remembered begins, and the slots that are at the start of each round.
    pub from: usize,
    pub kept: Vec<Slot>,
    /// What was remembered before: on the way back, of the round and of the one behind it.
    pub past: Vec<Past>,
    /// What is remembered of the end of a round.
    pub stores: Vec<Past>,
    /// By how many rows what is at hand moves on with every round.
    pub moves: i32,
}

/// A slot that is remembered, and where in the rows of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Past {
    pub slot: Slot,
    pub at: usize,
    pub real: bool,
}

impl FusedLoops {
    /// A plan of plain operations and loops of these, if there is nothing in it that only the rows of a block can do.
    pub fn of(plan: &Plan) -> Option<FusedLoops> {
        let mut fusing = Fusing { slots: plan.slots as Slot, ..Fusing::default() };
        for step in &plan.steps {
            match step {
                Step::Loop(number) => fusing.add_loop(plan, *number)?,
                step => fusing.push(step)?,
            }
        }
        fusing.end_line();
        let Fusing { parts, slots, remembered, .. } = fusing;
        Some(FusedLoops { parts, slots: slots as usize, remembered })
    }

    /// Roughly how many instructions are written; a call of a function counts as `function` of them.
    pub fn length(&self, function: u64) -> u64 {
        let of_step = |step: &Step| match step {
            Step::Op { op, .. } if op.has_kernel() => function,
            _ => 1,
        };
        let of_part = |part: &FusedPart| match part {
            FusedPart::Line(steps) => steps.iter().map(of_step).sum(),
            FusedPart::Rounds(rounds) => rounds.steps.iter().map(of_step).sum(),
            FusedPart::Recall { past, .. } => past.len() as u64,
            FusedPart::Keep(kept) => kept.len() as u64,
        };
        self.parts.iter().map(of_part).sum()
    }

    /// Instructions for a group of lanes, roughly: every operation of every round may be a function.
    pub fn cost(&self) -> usize {
        let of_part = |part: &FusedPart| match part {
            FusedPart::Line(steps) => steps.len(),
            FusedPart::Rounds(rounds) => rounds.steps.len().saturating_mul(rounds.most as usize),
            FusedPart::Recall { .. } => 0,
            FusedPart::Keep(kept) => kept.len(),
        };
        self.parts.iter().map(of_part).fold(0, usize::saturating_add).saturating_mul(INSTRUCTIONS_OF_STEP)
    }

    /// All guards are those of its lines: lanes that are in rounds stay on the path.
    pub fn is_guarded(&self) -> bool {
        let is_guard = |step: &Step| matches!(step, Step::Guard { .. });
        self.parts.iter().any(|part| matches!(part, FusedPart::Line(steps) if steps.iter().any(is_guard)))
    }

    /// Whether lanes may not be done behind the last round.
    pub fn may_be_undone(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, FusedPart::Rounds(rounds) if rounds.leaves))
    }
}

#[derive(Default)]
struct Fusing {
    parts: Vec<FusedPart>,
    line: Vec<Step>,
    slots: Slot,
    remembered: usize,
    /// Slots with the same bits in all lanes, and slots that nothing was put into.
    known: FxHashMap<Slot, u64>,
    missing: FxHashSet<Slot>,
    /// Loops that went on: how many rounds they had, and where these are remembered.
    gone: FxHashMap<u32, (u64, usize)>,
}

/// A step on slots that begin elsewhere.
fn moved(step: &Step, by: Slot) -> Step {
    match *step {
        Step::Op { op, d, args } => Step::Op { op, d: d + by, args: args.map(|s| s + by) },
        Step::Constant { d, bits } => Step::Constant { d: d + by, bits },
        Step::Move { d, s, count } => Step::Move { d: d + by, s: s + by, count },
        Step::Guard { test, outcome, index } => Step::Guard { test: test + by, outcome, index },
        other => other,
    }
}

impl Fusing {
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.parts.push(FusedPart::Line(line));
        }
    }

    /// A step of the line that there is.
    fn push(&mut self, step: &Step) -> Option<()> {
        if matches!(step, Step::Tensor(_) | Step::Loop(_)) || step.reads().any(|row| self.missing.contains(&row)) {
            return None;
        }
        let mut step = simplified(step, &FxHashMap::default(), &self.known);
        match step {
            Step::Guard { test, outcome, .. } if let Some(&bits) = self.known.get(&test) => {
                return ((bits != 0) == outcome).then_some(());
            }
            Step::Op { op, d, args } if let Some(bits) = fold(op, args, |row| self.known.get(&row).copied()) => {
                step = Step::Constant { d, bits };
            }
            _ => {}
        }
        let bits = match step {
            Step::Constant { bits, .. } => Some(bits),
            Step::Move { s, count: 1, .. } => self.known.get(&s).copied(),
            _ => None,
        };
        for row in step.writes() {
            self.known.remove(&row);
            self.missing.remove(&row);
            self.known.extend(bits.map(|bits| (row, bits)));
        }
        self.line.push(step);
        Some(())
    }

    fn push_move(&mut self, d: Slot, s: Slot) -> Option<()> {
        self.push(&Step::Move { d, s, count: 1 })
    }

    /// Nobody knows what is in a slot, or it is not there at all.
    fn forget(&mut self, slot: Slot, missing: bool) {
        self.known.remove(&slot);
        if missing {
            self.missing.insert(slot);
        }
    }

    fn add_loop(&mut self, plan: &Plan, number: u32) -> Option<()> {
        let step = &plan.loops[number as usize];
        let steady = step.steady.as_ref()?;
        if !step.body.is_straight() || !step.prelude.iter().all(Step::is_plain) {
            return None;
        }
        let base = self.slots;
        self.slots += step.body.slots as Slot;
        let (first, shared) = step.operands.split_at(step.next.len());
        for (inside, outside) in rows_of(step.shared()).zip(rows_of(shared)) {
            self.push_move(base + inside, outside)?;
        }
        step.prelude.iter().try_for_each(|step| self.push(&moved(step, base)))?;
        for (state, start) in rows_of(step.state()).zip(rows_of(first)) {
            self.push_move(base + state, start)?;
        }
        match step.kind {
            LoopStepKind::Forward { limit, followed } => self.forward(step, steady, base, number, (limit, followed)),
            LoopStepKind::Backward { of } => self.backward(step, steady, base, *self.gone.get(&of)?),
        }
    }

    fn forward(
        &mut self,
        step: &LoopStep,
        steady: &Steady,
        base: Slot,
        number: u32,
        (limit, followed): (u64, bool),
    ) -> Option<()> {
        let leaves = steady.guarded;
        let most = if leaves { MOST_WAITED_FOR.min(limit).min(steady.rounds) } else { steady.rounds };
        if steady.settles || leaves && followed || !(2..=MOST_ROUNDS.min(limit)).contains(&most) {
            return None;
        }
        self.end_line();
        let (from, history) = (self.remembered, &step.remembered.history[..]);
        let kept: Vec<Slot> = history.iter().filter(|_| followed).map(|row| base + row).collect();
        self.remembered += kept.len() * most as usize;
        if self.remembered > MOST_REMEMBERED {
            return None;
        }
        self.gone.insert(number, (most, from));
        let next = moved_pairs(&steady.next, base).collect();
        let moves = kept.len() as i32;
        let rounds = FusedRounds { leaves, from, kept, moves, ..FusedRounds::of(steady, base, next, most) };
        self.parts.push(FusedPart::Rounds(rounds));
        self.results(step, steady, base, (!leaves).then_some(most), |_| false)
    }

    /// The first round back is done apart, since it may differ from others.
    fn backward(&mut self, step: &LoopStep, steady: &Steady, base: Slot, (rounds, from): (u64, usize)) -> Option<()> {
        let later = &step.remembered.later;
        if steady.guarded || steady.rounds < rounds || !step.body.steps.iter().all(Step::is_plain) {
            return None;
        }
        self.end_line();
        let past = |(at, row): (usize, &Slot)| Past { slot: base + row, at, real: steady.reals.contains(row) };
        let mut past: Vec<Past> = step.remembered.history.iter().enumerate().map(past).collect();
        past.iter().for_each(|past| self.forget(past.slot, false));
        let rows = past.len();
        let last = from + (rounds as usize - 1) * rows;
        self.parts.push(FusedPart::Recall { from: last, past: past.clone(), moves: true });
        step.body.steps.iter().try_for_each(|step| self.push(&moved(step, base)))?;
        for (state, next) in rows_of(step.state()).zip(rows_of(&step.next)) {
            self.push_move(base + state, base + next)?;
        }
        self.end_line();
        past.extend(later.iter().map(|l| Past { slot: base + l.state, at: rows + l.at, real: l.real }));
        let is_later = |state: Slot| later.iter().any(|l| l.state == state);
        let next = steady.next.iter().copied().filter(|next| !is_later(next.1));
        let next = moved_pairs(&next.collect::<Vec<_>>(), base).collect();
        let from = from + (rounds as usize - 2) * rows;
        let rounds_left = FusedRounds::of(steady, base, next, rounds - 1);
        self.parts.push(FusedPart::Rounds(FusedRounds { from, past, moves: -(rows as i32), ..rounds_left }));
        self.results(step, steady, base, Some(rounds), is_later)
    }

    /// What a loop ends with; of some states that is not there.
    fn results(
        &mut self,
        step: &LoopStep,
        steady: &Steady,
        base: Slot,
        rounds: Option<u64>,
        is_missing: impl Fn(Slot) -> bool,
    ) -> Option<()> {
        steady.next.iter().for_each(|next| self.forget(base + next.1, false));
        self.push(&Step::Constant { d: step.d, bits: 1 })?;
        for (state, d) in rows_of(step.state()).zip(step.d + 1..) {
            let counter = steady.counters.iter().find(|counter| counter.state == state);
            match (counter, rounds) {
                _ if is_missing(state) => self.forget(d, true),
                (Some(_), None) => self.forget(d, true),
                (Some(counter), Some(rounds)) => self.push(&Step::Constant { d, bits: counter.at(rounds) })?,
                (None, _) => self.push_move(d, base + state)?,
            }
        }
        let d = step.d + step.results() - 1;
        match rounds {
            Some(bits) => self.push(&Step::Constant { d, bits }),
            None => {
                self.forget(d, true);
                Some(())
            }
        }
    }
}

fn moved_pairs(pairs: &[(Slot, Slot)], by: Slot) -> impl Iterator<Item = (Slot, Slot)> {
    pairs.iter().map(move |&(next, state)| (next + by, state + by))
}

impl FusedRounds {
    /// So many rounds of a loop under way.
    fn of(steady: &Steady, base: Slot, next: Vec<(Slot, Slot)>, most: u64) -> FusedRounds {
        FusedRounds {
            steps: steady.steps.iter().map(|step| moved(step, base)).collect(),
            next,
            reals: steady.reals.iter().map(|row| base + row).collect(),
            most,
            ..FusedRounds::default()
        }
    }
}
