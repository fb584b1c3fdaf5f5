//! Many rounds of a loop in one call of its code.
//!
//! A group of lanes does its rounds while all of them stay in the loop; its state goes to a history before every
//! round, or is read there on the way back. The first round that a lane does not stay in is not counted: the caller
//! takes the states at its start from the history, whatever has become of them, and does it by itself.
//!
//! As many states and shared values as there is room for are in the same registers at the start of every round.

use super::compile::{Compiled, MOST_AT_ONCE};
use super::emit::{Emitter, LISTS_AT, NO_GROUP};
use super::ir::{Action, Home, Instruction, NONE, Value, is_past};
use super::run::NativeSpace;
use super::vex::*;
use crate::loops::Later;
use crate::plan::{LoopStep, LoopStepKind, Slot, rows_of};
use crate::words::Words;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Where code finds the number of rounds and the history, and notes how many rounds are left: loops have no lists.
pub(super) const COUNT_AT: usize = LISTS_AT;
const HISTORY_AT: usize = LISTS_AT + 8;
const LEFT_AT: usize = LISTS_AT + 16;

/// What rounds of a loop do.
#[derive(Clone)]
pub(super) struct Rounds<'a> {
    /// Whether lanes may leave.
    pub guarded: bool,
    /// Rows at the end of a round with those of the state that they become.
    pub next: Vec<(Slot, Slot)>,
    /// Rows of the state that have reals.
    pub reals: FxHashSet<Slot>,
    /// The row in which each lane counts the rounds that it stays in, if lanes may leave; what it is called at the end
    /// of a round, where there is no such row.
    pub counts: Option<(Slot, Slot)>,
    /// Lanes go on until all have left: nobody needs the states in between.
    pub until_done: bool,
    /// The rows that are in the history.
    pub history: Vec<Slot>,
    /// They come from there, the last ones first.
    pub back: bool,
    /// By how many rows the history moves on with every round.
    pub moves: i32,
    /// What comes from the round behind this one.
    pub later: &'a [Later],
}

/// Code for many rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundsCode {
    /// Where it begins.
    pub at: usize,
    /// Where code begins that does the same without a history, if nothing stops it.
    alone_at: Option<usize>,
    /// It runs back.
    back: bool,
    /// Lanes go on until all have left.
    pub until_done: bool,
    /// Where code for the whole loop begins, and how many rows it needs.
    pub whole_loop: Option<(usize, usize)>,
    /// Rows of the history for each round.
    history: usize,
    /// Instructions on vectors in a round.
    pub vectors: usize,
}

impl<'a> Rounds<'a> {
    /// The rounds of a loop. On the way back there is nothing that could stop them.
    pub fn of(step: &'a LoopStep) -> Option<Rounds<'a>> {
        let steady = step.steady.as_ref()?;
        let back = matches!(step.kind, LoopStepKind::Backward { .. });
        let history = step.remembered.history.clone();
        let moves = if back { -(history.len() as i32) } else { history.len() as i32 };
        let leaves = steady.guarded && !back;
        let until_done = leaves && !matches!(step.kind, LoopStepKind::Forward { followed: true, .. });
        let behind = step.body.slots as Slot;
        let counts = leaves.then_some((behind, behind + 1));
        let counted = counts.filter(|_| until_done).map(|(before, after)| (after, before));
        let later = &step.remembered.later;
        let carried = steady.next.iter().filter(|next| later.iter().all(|l| l.state != next.1));
        let next = carried.copied().chain(counted).collect();
        let reals = rows_of(step.state()).filter(|state| steady.reals.contains(state)).collect();
        (!back || !steady.guarded).then_some(Rounds {
            guarded: steady.guarded,
            next,
            reals,
            counts,
            until_done,
            history,
            back,
            moves,
            later,
        })
    }
}

/// Where everything is in a round.
#[derive(Default)]
pub(super) struct Round {
    pub instructions: Vec<Instruction>,
    /// What is in registers at the start of every round: in the group of the same number.
    pub residents: Vec<Value>,
    /// What must be there at the end.
    pub ends: Vec<Value>,
    /// States that are in registers, by row.
    pub states: FxHashMap<Slot, u8>,
    /// Rows that become others at the end, because nothing computes them.
    copied: Vec<(Slot, Slot)>,
}

impl Emitter<'_> {
    /// A function that runs some of the instructions in many rounds, with at most so many values in registers from
    /// round to round; `stays` is where lanes stay in the loop, if they go on until all have left. If it is only tried,
    /// there is no second form of it.
    pub fn rounds(
        &mut self,
        range: Range<usize>,
        rounds: &Rounds<'_>,
        stays: Option<Value>,
        resident: usize,
        tried: bool,
    ) -> RoundsCode {
        if rounds.back {
            let later = rounds.later.iter().map(|l| (l.state, rounds.history.len() + l.at));
            self.past = rounds.history.iter().copied().zip(0..).chain(later).collect();
        }
        let round = self.round(range, rounds, resident, &FxHashSet::default());
        if let Some(stays) = stays {
            self.homes.clone_from(&self.builder.homes);
            let mut vectors = 0;
            let at = self.for_all_lanes(|this| {
                this.code.load_general(R12, RBP, COUNT_AT as i32);
                vectors = this.round_until_done(&round, rounds, stays, &[]);
            });
            return RoundsCode {
                at,
                alone_at: None,
                back: false,
                until_done: true,
                whole_loop: None,
                history: 0,
                vectors,
            };
        }
        let (at, vectors) = self.rounds_of_all_lanes(&round, rounds, !rounds.back);
        let alone = !rounds.back && !rounds.guarded && !tried;
        let alone_at = alone.then(|| self.rounds_of_all_lanes(&round, rounds, false).0);
        self.past.clear();
        RoundsCode {
            at,
            alone_at,
            back: rounds.back,
            until_done: false,
            whole_loop: None,
            history: rounds.history.len(),
            vectors,
        }
    }

    /// A function that does rounds and keeps their states in the history, or not; where it begins, and the instructions
    /// on vectors in a round.
    fn rounds_of_all_lanes(&mut self, round: &Round, rounds: &Rounds<'_>, keeps: bool) -> (usize, usize) {
        // What the same instructions have done with values before is of no use here.
        self.homes.clone_from(&self.builder.homes);
        let mut vectors = 0;
        let at = self.for_all_lanes(|this| {
            this.code.load_general(R12, RBP, COUNT_AT as i32);
            this.code.load_general(R15, RBP, HISTORY_AT as i32);
            vectors = this.round_after_round(round, rounds, keeps, &[]);
            this.code.add_memory(RBP, HISTORY_AT as i32, (8 * this.lanes * this.interleave) as i32);
        });
        (at, vectors)
    }

    /// Does as many rounds for a group of lanes as `r12` says, with the history at `r15`; how many instructions on vectors
    /// there are in a round. Something has come before, which has made shared values.
    pub(super) fn round_after_round(
        &mut self,
        round: &Round,
        rounds: &Rounds<'_>,
        keeps: bool,
        shared: &[Value],
    ) -> usize {
        let (row_bytes, past_bytes) = (self.row_bytes, self.past_bytes);
        let needed = [&round.ends[..], shared].concat();
        self.begin(round);
        let (top, before) = (self.code.position(), self.code.vectors);
        for (at, &row) in rounds.history.iter().enumerate().filter(|_| keeps) {
            let to = (R15, at * past_bytes);
            match round.states.get(&row) {
                Some(&group) => self.store_group(group, to),
                None => self.copy_row(row, to),
            }
        }
        self.line(&round.instructions, &needed);
        let stop = rounds.guarded.then(|| {
            self.code.load_general(RAX, R14, 0);
            for pair in 1..self.lanes * self.interleave / 2 {
                self.code.and_general(RAX, R14, (8 * pair) as i32);
            }
            self.code.compare_rax_with_ones();
            self.code.jump_unless_equal()
        });
        self.put_in_place(round);
        for &(from, to) in &round.copied {
            self.copy((RBX, to as usize * row_bytes), (RBX, from as usize * row_bytes));
        }
        if rounds.moves != 0 {
            self.code.add_general(R15, rounds.moves * past_bytes as i32);
        }
        self.code.count_down(R12, top);
        let vectors = self.code.vectors - before;
        for &(_, row) in &rounds.next {
            self.give_state(row, round.states.get(&row).copied(), rounds.reals.contains(&row));
        }
        if let Some(stop) = stop {
            self.code.land(stop, self.code.position());
            self.code.store_if_larger(R12, RBP, LEFT_AT as i32);
        }
        self.forget_line(&round.instructions, &needed);
        self.wanted.clear();
        vectors
    }

    /// Decides what is in registers from round to round, and what is done with the state at the end; some values are
    /// made in front of the first round.
    pub(super) fn round(
        &mut self,
        range: Range<usize>,
        rounds: &Rounds<'_>,
        resident: usize,
        made: &FxHashSet<Value>,
    ) -> Round {
        let all = &self.builder.instructions[range];
        let is_past = |row: &u32| is_past(*row) || self.past.iter().any(|past| past.0 == *row);
        let row_of = |v: Value| self.builder.row_of(v).filter(|row| !is_past(row));
        let mut uses: FxHashMap<Value, usize> = FxHashMap::default();
        for v in all.iter().flat_map(|i| i.operands).filter(|v| *v != NONE) {
            *uses.entry(v).or_default() += 1;
        }
        let by_row: FxHashMap<Slot, Value> = uses.keys().filter_map(|&v| Some((row_of(v)?, v))).collect();
        let stored = |next: Slot| all.iter().rev().find(|i| matches!(i.action, Action::Store { row } if row == next));
        let with_value = |&(next, state)| Some((next, state, stored(next)?.operands[0]));
        let next: Vec<(Slot, Slot, Value)> = rounds.next.iter().filter_map(with_value).collect();
        // States first, then what is used most; some registers stay free.
        let spare = if self.interleave == 1 { 2 } else { 1 };
        let most = resident.min(self.groups() - spare);
        let mut states: Vec<(Slot, Value)> =
            next.iter().filter_map(|&(_, state, _)| Some((state, *by_row.get(&state)?))).collect();
        states.truncate(most);
        // A state that becomes another one which is not in a register is copied from row to row.
        loop {
            let resident = |row: Slot| states.iter().any(|s| s.0 == row);
            let is_state = |row: Slot| next.iter().any(|n| n.1 == row);
            let late = |v: Value| row_of(v).is_some_and(|row| is_state(row) && !resident(row));
            let Some(i) = states.iter().position(|s| next.iter().any(|n| n.1 == s.0 && late(n.2))) else { break };
            states.remove(i);
        }
        let mut round = Round::default();
        for (group, &(row, v)) in states.iter().enumerate() {
            round.states.insert(row, group as u8);
            round.residents.push(v);
        }
        let mut others: Vec<(bool, usize, Value)> = uses
            .iter()
            .filter(|(v, count)| {
                let constant = matches!(self.builder.homes[v.0 as usize], Home::Constant(_));
                let stays = |row| !next.iter().any(|n| n.1 == row);
                constant && **count > 1 || made.contains(v) || row_of(**v).is_some_and(stays)
            })
            .map(|(&v, &count)| (made.contains(&v) || row_of(v).is_some(), count, v))
            .collect();
        others.sort_unstable_by_key(|&(row, count, v)| (std::cmp::Reverse((row, count)), v.0));
        for (row, _, v) in others {
            if round.residents.len() + if row { 1 } else { 2 } <= most {
                round.residents.push(v);
            }
        }
        round.ends.clone_from(&round.residents);
        let mut late = Vec::new();
        let mut dropped: Vec<Slot> = rounds.later.iter().map(|later| later.next).collect();
        for &(next, state, v) in &next {
            if let Some(&group) = round.states.get(&state) {
                round.ends[group as usize] = v;
                dropped.push(next);
            } else if row_of(v).is_some() {
                round.copied.push((next, state));
            } else {
                let action = Action::Store { row: state };
                late.push(Instruction { action, result: NONE, operands: [v, NONE, NONE, NONE] });
                dropped.push(next);
            }
        }
        dropped.retain(|next| !round.copied.iter().any(|c| c.0 == *next));
        let is_dropped = |i: &Instruction| matches!(i.action, Action::Store { row } if dropped.contains(&row));
        round.instructions = all.iter().filter(|i| !is_dropped(i)).copied().chain(late).collect();
        round
    }

    /// Loads what is in registers from round to round.
    pub(super) fn begin(&mut self, round: &Round) {
        self.free = self.all_groups();
        self.held = [NONE; 32];
        for (group, &v) in round.residents.iter().enumerate() {
            let home = self.homes[v.0 as usize];
            for copy in 0..self.interleave {
                self.code.vector(LOAD, self.register(group as u8, copy), 0, self.home(home, copy), None);
            }
            self.free &= !(1 << group);
            self.held[group] = v;
            self.group_of[v.0 as usize] = group as u8;
        }
        for &group in round.states.values() {
            // Its row is written behind the last round.
            self.homes[round.residents[group as usize].0 as usize] = Home::Nowhere;
            self.wanted.push((round.ends[group as usize], group));
        }
    }

    /// Puts what the next round begins with where it expects it.
    pub(super) fn put_in_place(&mut self, round: &Round) {
        #[derive(Clone, Copy, PartialEq)]
        enum From {
            Group(u8),
            Memory(Home),
        }
        // A state that becomes a constant needs it in all of its registers.
        let in_all = |to: usize, v: Value| !self.is_uniform(v) || round.residents[to] == v;
        let from = |(to, &v): (usize, &Value)| match self.group_of[v.0 as usize] {
            group if group != NO_GROUP && in_all(to, v) => (to as u8, From::Group(group)),
            _ => (to as u8, From::Memory(self.homes[v.0 as usize])),
        };
        let moves = round.ends.iter().enumerate().map(from);
        let mut moves: Vec<(u8, From)> = moves.filter(|&(to, from)| from != From::Group(to)).collect();
        while !moves.is_empty() {
            let needed = |group: u8| moves.iter().any(|m| m.1 == From::Group(group));
            let Some(i) = moves.iter().position(|m| !needed(m.0)) else {
                // All wait for each other: one goes through memory.
                let From::Group(group) = moves[0].1 else { break };
                let home = Home::Spill(self.spill_slot());
                for copy in 0..self.interleave {
                    self.code.vector(STORE, self.register(group, copy), 0, self.home(home, copy), None);
                }
                moves.iter_mut().filter(|m| m.1 == From::Group(group)).for_each(|m| m.1 = From::Memory(home));
                continue;
            };
            let (to, from) = moves.swap_remove(i);
            for copy in 0..self.interleave {
                let place = match from {
                    From::Group(group) => Place::Register(self.register(group, copy)),
                    From::Memory(home) => self.home(home, copy),
                };
                self.code.vector(LOAD, self.register(to, copy), 0, place, None);
            }
        }
    }
}

impl Compiled {
    /// Whether there is code for many rounds.
    pub fn has_rounds(&self) -> bool {
        self.rounds.is_some()
    }

    /// How many rounds one call may do for so many lanes: it must end soon.
    pub fn rounds_at_once(&self, lanes: usize) -> usize {
        let groups = lanes.div_ceil(self.step).max(1);
        self.rounds.map_or(1, |rounds| (MOST_AT_ONCE / (rounds.vectors.max(1) * groups)).max(2))
    }

    /// Makes room for spilled values, and tells code how many rounds there are, where the history is, and how many
    /// rounds are left.
    pub(super) fn prepare(&self, spills: &mut Words, table: [u64; 3]) {
        spills.ensure(self.spill_bytes.div_ceil(8));
        spills[COUNT_AT / 8..][..3].copy_from_slice(&table);
    }

    /// Does so many rounds for so many lanes, a multiple of `step`, if it can without keeping their states.
    pub fn run_alone(
        &self,
        rows: &mut [u64],
        lanes: usize,
        failed: &mut [u32],
        NativeSpace { spills, .. }: &mut NativeSpace,
        count: usize,
    ) -> bool {
        let Some(at) = self.rounds.and_then(|rounds| rounds.alone_at).filter(|_| count > 0) else { return false };
        self.prepare(spills, [count as u64, 0, 0]);
        // SAFETY: the code was found where it was put; it has neither lists nor a history.
        unsafe { self.call(at, rows, (0, lanes), failed, spills) };
        true
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
        let Some(RoundsCode { at, back, history, .. }) = self.rounds.filter(|_| count > 0) else { return count };
        assert!(words == history * self.width && states.len() >= (count + back as usize) * words);
        let first = if back { (count - 1) * words } else { 0 };
        self.prepare(spills, [count as u64, states[first..].as_mut_ptr() as u64, 0]);
        // SAFETY: the code was found where it was put; the history has room for all rounds.
        unsafe { self.call(at, rows, (0, lanes), failed, spills) };
        spills[LEFT_AT / 8] as usize
    }
}
