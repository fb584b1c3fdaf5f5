//! Runs rounds of a loop until all lanes of a group are done.
//!
//! Nobody wants the states in between, so a lane that has left need not stop the others: its state stays as it is, by
//! a selection at the end of the round. A round is a function of the state, so what has made a lane leave makes it
//! leave in all later rounds too, and no code has to remember it. Each lane counts the rounds that it has stayed in.

use super::compile::Compiled;
use super::emit::{Emitter, NO_USE};
use super::ir::{Action, Builder, Home, Instruction, NONE, Value};
use super::rounds::{Round, Rounds};
use super::run::NativeSpace;
use super::vex::*;
use crate::plan::Slot;
use dmci_ops::arith::Arith;
use rustc_hash::FxHashMap;

impl Builder {
    /// Makes instructions from one on, those of a round, such that lanes keep their states where a guard fails; where
    /// none does. If they count their rounds, they go on counting.
    pub(super) fn keep_going(&mut self, from: usize, rounds: &Rounds<'_>) -> Option<Value> {
        let round = self.instructions.split_off(from);
        let operands = round.iter().flat_map(|i| i.operands).filter(|v| *v != NONE);
        let mut by_row: FxHashMap<Slot, Value> = operands.filter_map(|v| Some((self.row_of(v)?, v))).collect();
        let mut guards = round.iter().filter(|i| matches!(i.action, Action::Guard { .. })).count();
        let (mut stays, mut ends) = (None, Vec::new());
        for instruction in round {
            let [value, ..] = instruction.operands;
            match instruction.action {
                Action::Guard { outcome, .. } => {
                    stays = Some(self.stays_too(stays, value, outcome));
                    guards -= 1;
                }
                Action::Store { row } => ends.push((row, value)),
                _ => self.instructions.push(instruction),
            }
            // As soon as it is known who stays.
            if let (0, Some(stays)) = (guards, stays) {
                for (row, value) in ends.drain(..) {
                    self.end(rounds, &mut by_row, (row, value), stays);
                }
            }
        }
        let stays = stays?;
        if let Some((counts, after_counts)) = rounds.counts {
            let before = self.row(counts);
            let after = self.int_sub(before, stays);
            self.effect(Action::Store { row: after_counts }, &[after], NONE);
        }
        Some(stays)
    }

    /// The lanes that stay if one more guard holds.
    fn stays_too(&mut self, stays: Option<Value>, test: Value, outcome: bool) -> Value {
        match (stays, outcome) {
            (None, true) => test,
            (None, false) => self.not(test),
            (Some(stays), true) => self.and(stays, test),
            (Some(stays), false) => self.without(test, stays),
        }
    }

    /// A row that becomes a state at the end of a round, for lanes that stay.
    fn end(
        &mut self,
        rounds: &Rounds<'_>,
        by_row: &mut FxHashMap<Slot, Value>,
        (row, value): (Slot, Value),
        stays: Value,
    ) {
        let state = rounds.next.iter().find(|next| next.0 == row).map(|next| next.1);
        let kept = state.map(|state| {
            let before = *by_row.entry(state).or_insert_with(|| self.row(state));
            self.select(stays, value, before)
        });
        self.effect(Action::Store { row }, &[kept.unwrap_or(value)], NONE);
    }
}

impl Emitter<'_> {
    /// Does rounds for a group of lanes until none stays, or until the number of rounds in `r12` has come down to zero;
    /// returns how many vector instructions a round has. Something has come before, which has made shared values.
    pub(super) fn round_until_done(
        &mut self,
        round: &Round,
        rounds: &Rounds<'_>,
        stays: Value,
        shared: &[Value],
    ) -> usize {
        let known = round.instructions.iter().position(|i| i.result == stays).map_or(0, |i| i + 1);
        let (tests, rest) = round.instructions.split_at(known);
        let needed = [&round.ends[..], shared].concat();
        self.begin(round);
        let (top, before) = (self.code.position(), self.code.vectors);
        self.will_need(tests.len(), rest, &needed);
        self.line(tests, &[]);
        let none = self.jump_if_none(stays);
        let states: Vec<(Slot, [Place; 4])> =
            round.states.iter().map(|(&row, &group)| (row, self.places(round.residents[group as usize]))).collect();
        self.forget_needs(rest, &needed);
        self.line(rest, &needed);
        self.put_in_place(round);
        self.code.count_down(R12, top);
        let vectors = self.code.vectors - before;
        for &(_, row) in &rounds.next {
            self.give_state(row, round.states.get(&row).copied(), rounds.reals.contains(&row));
        }
        let done = self.code.jump();
        self.code.land(none, self.code.position());
        self.give_unchanged(&states, rounds);
        self.code.land(done, self.code.position());
        self.forget_line(&round.instructions, &needed);
        self.wanted.clear();
        vectors
    }

    /// Notes that values are needed by instructions behind so many others, or behind those.
    pub(super) fn will_need(&mut self, before: usize, rest: &[Instruction], ends: &[Value]) {
        ends.iter().for_each(|v| self.next[v.0 as usize] = (before + rest.len()) as u32);
        for (i, instruction) in rest.iter().enumerate().rev() {
            for v in instruction.operands.iter().filter(|v| **v != NONE) {
                self.next[v.0 as usize] = (before + i) as u32;
            }
        }
    }

    /// The opposite.
    fn forget_needs(&mut self, rest: &[Instruction], ends: &[Value]) {
        for v in rest.iter().flat_map(|i| i.operands).chain(ends.iter().copied()).filter(|v| *v != NONE) {
            self.next[v.0 as usize] = NO_USE;
        }
    }

    /// A jump, patched later, that is taken if a mask is set in no lane.
    fn jump_if_none(&mut self, mask: Value) -> usize {
        let test = self.test(mask, self.numbers(), &[mask]);
        for copy in 0..self.interleave {
            self.test_bits(&test, copy);
            if copy == 0 {
                self.code.move_general(R15, RAX);
            } else {
                self.code.or_general(R15, RAX);
            }
        }
        self.code.jump_if_zero(R15)
    }

    /// Puts states into their rows that are those at the start of the round. All other registers are free.
    fn give_unchanged(&mut self, states: &[(Slot, [Place; 4])], rounds: &Rounds<'_>) {
        let in_register = |place: &Place| matches!(place, Place::Register(_));
        let spare = self.spare();
        // What is in memory needs a register on its way, which another state may be in.
        for from_registers in [true, false] {
            for (row, places) in states.iter().filter(|s| in_register(&s.1[0]) == from_registers) {
                for (copy, &from) in places.iter().enumerate().take(self.interleave) {
                    let to = self.home(Home::Row(*row), copy);
                    let register = match from {
                        Place::Register(register) => register,
                        memory => {
                            self.code.vector(LOAD, spare, 0, memory, None);
                            spare
                        }
                    };
                    self.code.vector(STORE, register, 0, to, None);
                }
            }
        }
        for &(_, row) in &rounds.next {
            self.give_state(row, None, rounds.reals.contains(&row));
        }
    }
}

impl Compiled {
    /// Instructions in a round for each lane, if there is code for rounds until all lanes have left.
    pub fn runs_until_done(&self) -> Option<usize> {
        self.rounds.filter(|rounds| rounds.until_done).map(|_| self.round_cost())
    }

    /// Instructions in a round for each lane.
    pub fn round_cost(&self) -> usize {
        self.rounds.map_or(0, |rounds| rounds.vectors.div_ceil(self.step))
    }

    /// Does up to so many rounds for so many lanes, a multiple of `step`, each until it leaves. To the counts in the
    /// row behind all others, the rounds are added that each lane has stayed in.
    pub fn run_until_done(
        &self,
        rows: &mut [u64],
        lanes: usize,
        failed: &mut [u32],
        NativeSpace { spills, .. }: &mut NativeSpace,
        count: usize,
    ) {
        let Some(rounds) = self.rounds.filter(|rounds| rounds.until_done && count > 0) else { return };
        self.prepare(spills, [count as u64, 0, 0]);
        // SAFETY: the code was found where it was put; it has neither lists nor a history.
        unsafe { self.call(rounds.at, rows, (0, lanes), failed, spills) };
    }
}
