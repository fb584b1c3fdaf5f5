//! Many rounds of a loop in one call of its code.
//!
//! A group of lanes does its rounds while all of them stay in the loop; its state goes to a history before every
//! round, or is read there on the way back. The first round that a lane does not stay in is not counted: the caller
//! takes the states at its start from the history, whatever has become of them, and does it by itself.

use super::compile::Compiled;
use super::emit::{Emitter, LISTS_AT, VECTOR};
use super::encode::*;
use super::ir::{Action, Home, Instruction};
use super::run::NativeSpace;
use crate::plan::{LoopStep, LoopStepKind, RowRange, Slot};
use std::ops::Range;

/// Where code finds the number of rounds and the history, and notes how many rounds are left: loops have no lists.
const COUNT_AT: usize = LISTS_AT;
const HISTORY_AT: usize = LISTS_AT + 8;
const LEFT_AT: usize = LISTS_AT + 16;

/// What rounds of a loop do besides their operations.
pub(super) struct Rounds {
    /// The rows that are in the history.
    kept: Vec<Slot>,
    /// They come from there, the last ones first.
    back: bool,
    /// Rows that become others at the end of a round.
    next: Vec<(Slot, Slot)>,
    guarded: bool,
}

/// Code for many rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundsCode {
    /// Where it begins.
    at: usize,
    /// It runs back.
    back: bool,
    /// Rows of the history for each round.
    kept: usize,
}

fn rows_of(ranges: &[RowRange]) -> impl Iterator<Item = Slot> + '_ {
    ranges.iter().flat_map(|&(first, count)| first..first + count)
}

impl Rounds {
    /// The rounds of a loop. On the way back there is nothing that could stop them.
    pub fn of(step: &LoopStep, guarded: bool) -> Option<Rounds> {
        let back = matches!(step.kind, LoopStepKind::Backward { .. });
        let followed = step.next.len()..step.leaves.len() - step.shared().len();
        let kept = if back { rows_of(&step.leaves[followed]).collect() } else { rows_of(step.state()).collect() };
        let next = rows_of(&step.next).zip(rows_of(step.state())).collect();
        (!back || !guarded).then_some(Rounds { kept, back, next, guarded })
    }
}

impl Emitter<'_> {
    /// A function that runs some of the instructions in many rounds.
    pub fn rounds(&mut self, range: Range<usize>, rounds: &Rounds) -> RoundsCode {
        // What the same instructions have done with values before is of no use here.
        self.homes.clone_from(&self.builder.homes);
        if rounds.back {
            self.past.clone_from(&rounds.kept);
        }
        let (instructions, copied) = self.with_late_stores(range, &rounds.next);
        let row_bytes = self.row_bytes;
        let at = self.for_all_lanes(|this| {
            this.code.load_general(R12, RBP, COUNT_AT as i32);
            this.code.load_general(R15, RBP, HISTORY_AT as i32);
            let top = this.code.position();
            for (at, &row) in rounds.kept.iter().enumerate().filter(|_| !rounds.back) {
                this.copy((R15, at * row_bytes), (RBX, row as usize * row_bytes));
            }
            this.straight_line(&instructions);
            let stop = rounds.guarded.then(|| {
                this.code.load_general(RAX, R14, 0);
                for pair in 1..this.lanes * this.interleave / 2 {
                    this.code.and_general(RAX, R14, (8 * pair) as i32);
                }
                this.code.compare_rax_with_ones();
                this.code.jump_unless_equal()
            });
            for &(from, to) in &copied {
                this.copy((RBX, to as usize * row_bytes), (RBX, from as usize * row_bytes));
            }
            let states = (rounds.kept.len() * row_bytes) as i32;
            this.code.add_general(R15, if rounds.back { -states } else { states });
            this.code.count_down(R12, top);
            if let Some(stop) = stop {
                this.code.land(stop, this.code.position());
                this.code.store_if_larger(R12, RBP, LEFT_AT as i32);
            }
            this.code.add_memory(RBP, HISTORY_AT as i32, (8 * this.lanes * this.interleave) as i32);
        });
        self.past.clear();
        RoundsCode { at, back: rounds.back, kept: rounds.kept.len() }
    }

    /// The instructions of a round, with the next state put in the place of the state at the end, when nothing reads that
    /// any more; and what must be copied there, since it is in rows from the start.
    fn with_late_stores(&self, range: Range<usize>, next: &[(Slot, Slot)]) -> (Vec<Instruction>, Vec<(Slot, Slot)>) {
        let (mut instructions, mut late) = (Vec::with_capacity(range.len()), Vec::new());
        let mut copied = next.to_vec();
        for &instruction in &self.builder.instructions[range] {
            let value = instruction.operands[0];
            if let Action::Store { row } = instruction.action
                && !matches!(self.homes[value.0 as usize], Home::Row(_))
                && next.iter().any(|pair| pair.0 == row)
            {
                let states = next.iter().filter(|pair| pair.0 == row);
                late.extend(states.map(|&(_, row)| Instruction { action: Action::Store { row }, ..instruction }));
                copied.retain(|pair| pair.0 != row);
            } else {
                instructions.push(instruction);
            }
        }
        instructions.extend(late);
        (instructions, copied)
    }

    /// Copies a group of lanes from one row to another.
    fn copy(&mut self, (to, to_offset): (u8, usize), (from, from_offset): (u8, usize)) {
        for copy in 0..self.interleave {
            let place = |base, offset: usize| Place::Memory { base, offset: (offset + copy * VECTOR) as i32 };
            self.code.vector(LOAD, 0, 0, place(from, from_offset), None);
            self.code.vector(STORE, 0, 0, place(to, to_offset), None);
        }
    }
}

impl Compiled {
    /// Whether there is code for many rounds.
    pub fn has_rounds(&self) -> bool {
        self.rounds.is_some()
    }

    /// Does up to so many rounds for so many lanes, a multiple of `step`; `states` has those of as many rounds, of so
    /// many words each. How many rounds were not done.
    pub fn run_rounds(
        &self,
        rows: &mut [u64],
        lanes: usize,
        failed: &mut [u32],
        NativeSpace { spills, .. }: &mut NativeSpace,
        (states, words): (&mut [u64], usize),
        count: usize,
    ) -> usize {
        let Some(RoundsCode { at, back, kept }) = self.rounds.filter(|_| count > 0) else { return count };
        assert!(words == kept * self.width && states.len() >= count * words);
        spills.ensure(self.spill_bytes.div_ceil(8));
        let first = if back { (count - 1) * words } else { 0 };
        let table = [count as u64, states[first..].as_mut_ptr() as u64, 0];
        spills[COUNT_AT / 8..][..3].copy_from_slice(&table);
        self.call(at, rows, (0, lanes), failed, spills);
        spills[LEFT_AT / 8] as usize
    }
}
