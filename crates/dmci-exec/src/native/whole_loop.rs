//! One function for a whole loop, from its operands to its results, for one group of lanes after the other.
//!
//! Where lanes iterate until all have left, nothing else is needed between the rows outside of the loop: loop-invariant
//! values are computed before the first round, and results are where states are. Lanes that are not done after the
//! given number of rounds are left to the caller.

use super::compile::Compiled;
use super::emit::Emitter;
use super::fused_body::only_made;
use super::ir::{Builder, Home, Instruction, NONE, Value};
use super::line::Lowering;
use super::rounds::{COUNT_AT, Rounds};
use super::run::NativeSpace;
use super::vex::*;
use crate::loops::Steady;
use crate::plan::{LoopStep, Slot, Step, rows_of};
use dmci_ops::arith::Arith;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// A loop as instructions on rows outside of it.
#[derive(Clone)]
pub(super) struct WholeLoop<'a> {
    rounds: Rounds<'a>,
    /// Loop-invariant code, and a round.
    pub prelude: Range<usize>,
    pub round: Range<usize>,
    stays: Value,
    /// Rows of the first state with those of the results that it is put into.
    starts: Vec<(Slot, Slot)>,
    /// The row that says whether lanes have left, and what it has if so; what counts begin with.
    finished: Slot,
    yes: Value,
    zero: Value,
    /// How many rows it needs.
    rows: usize,
}

impl<'a> WholeLoop<'a> {
    /// The instructions of a loop that lanes may leave, if it is all plain operations.
    pub fn of(step: &'a LoopStep, rounds: &Rounds<'a>, lowering: &mut Lowering<'a>) -> Option<WholeLoop<'a>> {
        let steady = step.steady.as_ref()?;
        if rounds.counts.is_none() || steady.settles || !step.prelude.iter().all(Step::is_plain) {
            return None;
        }
        let (first, shared) = step.operands.split_at(step.next.len());
        let states: Vec<Slot> = rows_of(step.state()).collect();
        let results = |i: usize| step.d + 1 + i as Slot;
        let mut outside: FxHashMap<Slot, Slot> = rows_of(step.shared()).zip(rows_of(shared)).collect();
        outside.extend(states.iter().enumerate().map(|(i, &state)| (state, results(i))));
        let rounds = rounds.outside(&outside, results(states.len()), (step, steady));
        let from = lowering.builder.instructions.len();
        lowering.outside(&step.prelude, &outside, steady);
        let start = lowering.builder.instructions.len();
        lowering.steady(steady);
        let stays = lowering.builder.keep_going(start, &rounds)?;
        let (yes, zero) = (lowering.builder.bits(1), lowering.builder.bits(0));
        let end = lowering.builder.instructions.len();
        let starts = rows_of(first).enumerate().map(|(i, from)| (from, results(i))).collect();
        let results = step.d as usize + step.results() as usize;
        let rows = rows_of(&step.operands).map(|row| row as usize + 1).fold(results, usize::max);
        Some(WholeLoop {
            rows,
            rounds,
            prelude: from..start,
            round: start..end,
            stays,
            starts,
            finished: step.d,
            yes,
            zero,
        })
    }
}

impl<'a> Rounds<'a> {
    /// The same with rows outside.
    fn outside(
        &self,
        outside: &FxHashMap<Slot, Slot>,
        counts: Slot,
        (step, steady): (&LoopStep, &Steady),
    ) -> Rounds<'a> {
        let row = |row: Slot| outside.get(&row).copied().unwrap_or(row);
        let after = self.counts.map_or(0, |counts| counts.1);
        let next = steady.next.iter().map(|&(next, state)| (next, row(state)));
        Rounds {
            guarded: self.guarded,
            next: next.chain([(after, counts)]).collect(),
            counts: Some((counts, after)),
            until_done: true,
            reals: rows_of(step.state()).filter(|state| self.reals.contains(state)).map(row).collect(),
            history: Vec::new(),
            later: &[],
            back: false,
            moves: 0,
        }
    }
}

impl Emitter<'_> {
    /// A function for a loop from its operands to its results; where it begins, and how many rows it needs.
    pub fn whole_loop(&mut self, whole_loop: &WholeLoop<'_>, resident: usize) -> (usize, usize) {
        let builder: &Builder = self.builder;
        let prelude = &builder.instructions[whole_loop.prelude.clone()];
        let made: FxHashSet<Value> = prelude.iter().map(|i| i.result).collect();
        let round = self.round(whole_loop.round.clone(), &whole_loop.rounds, resident, &made);
        let used = round.instructions.iter().flat_map(|i| i.operands).chain([whole_loop.stays]);
        let shared = only_made(used, &made);
        self.homes.clone_from(&self.builder.homes);
        let at = self.for_all_lanes(|this| {
            let row = |row: Slot| row as usize * this.row_bytes;
            let starts: Vec<_> =
                whole_loop.starts.iter().map(|&(from, to)| ((RBX, row(to)), (RBX, row(from)))).collect();
            starts.into_iter().for_each(|(to, from)| this.copy(to, from));
            let counts = whole_loop.rounds.counts.map(|counts| (counts.0, whole_loop.zero));
            for (row, value) in [(whole_loop.finished, whole_loop.yes)].into_iter().chain(counts) {
                this.set_row(row, value);
            }
            this.shared_values(prelude, &shared);
            this.code.load_general(R12, RBP, COUNT_AT as i32);
            this.round_until_done(&round, &whole_loop.rounds, whole_loop.stays, &shared);
        });
        (at, whole_loop.rows)
    }

    /// Puts a constant into a row.
    fn set_row(&mut self, row: Slot, value: Value) {
        let spare = self.spare();
        self.code.vector(LOAD, spare, 0, self.home(self.homes[value.0 as usize], 0), None);
        for copy in 0..self.interleave {
            self.code.vector(STORE, spare, 0, self.home(Home::Row(row), copy), None);
        }
    }

    /// Computes loop-invariant values and spills them.
    pub(super) fn shared_values(&mut self, instructions: &[Instruction], shared: &[Value]) {
        self.free = self.all_groups();
        self.held = [NONE; 32];
        self.will_need(instructions.len(), &[], shared);
        self.line(instructions, &[]);
        for &v in shared {
            self.expand(v, &[v]);
            self.masks.release(v);
            self.spill(v);
        }
        self.forget_line(instructions, shared);
    }
}

impl<'a> Lowering<'a> {
    /// What rounds of a loop share, with states and shared operands in rows outside.
    fn outside(&mut self, prelude: &[Step], outside: &FxHashMap<Slot, Slot>, steady: &'a Steady) {
        self.next_line();
        self.begin_steady(vec![false; prelude.len()], steady);
        outside.iter().for_each(|(&slot, &row)| self.put_outside(slot, row));
        prelude.iter().enumerate().for_each(|(i, step)| self.step(i, step));
    }
}

impl Compiled {
    /// Does a loop from its operands in rows outside to its results there, for so many lanes, a multiple of `step`, in
    /// up to so many rounds. False, and nothing done, if there is no code for that.
    pub fn run_whole_loop(
        &self,
        rows: &mut [u64],
        lanes: usize,
        NativeSpace { spills, .. }: &mut NativeSpace,
        count: usize,
    ) -> bool {
        let Some((at, needed)) = self.rounds.and_then(|r| r.whole_loop).filter(|_| count > 0) else { return false };
        self.prepare(spills, [count as u64, 0, 0]);
        // SAFETY: the code was found where it was put, with the rows that it needs. It has no guards, lists or history.
        unsafe { self.enter(at, (rows, needed), (0, lanes), &mut [], spills) };
        true
    }
}
