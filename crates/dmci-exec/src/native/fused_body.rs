//! Emits a plan with fused loops as one function, from lists to lists.
//!
//! A group of lanes needs no rows: it loads its numbers, does all rounds of a loop and goes on behind them, with
//! everything in registers or in memory of this one group. For the way back, states are remembered in a
//! stretch of memory that all groups use in turn. Lanes that leave a loop one by one wait for others of their group; groups
//! that take too many rounds are counted, and the caller does them again with rows, where lanes that are done make room.

use super::compile::Compiled;
use super::emit::{Emitter, REMEMBERED_AT, UNDONE_AT};
use super::fused_loops::{FusedLoops, FusedPart, FusedRounds, Past};
use super::ir::{Action, Builder, Home, LOCAL_ROWS, NONE, PAST_ROWS, Value};
use super::line::Lowering;
use super::lower::{Form, Formed};
use super::rounds::Rounds;
use super::vex::*;
use crate::plan::Slot;
use crate::words::Words;
use rustc_hash::FxHashSet;
use std::ops::Range;

/// A plan with fused loops, as instructions.
#[derive(Clone)]
pub(super) struct FusedBody {
    pub pieces: Vec<Piece>,
    /// Rows that states have.
    states: u32,
}

#[derive(Clone)]
pub(super) enum Piece {
    Line(Range<usize>),
    Rounds(InnerRounds),
    /// What is remembered, from one row on, is at hand.
    Recall(usize),
}

#[derive(Clone)]
pub(super) struct InnerRounds {
    pub range: Range<usize>,
    rounds: Rounds<'static>,
    /// Where lanes stay in the loop, if they may leave.
    stays: Option<Value>,
    most: u64,
    from: usize,
}

impl Piece {
    pub fn range(&self) -> Option<&Range<usize>> {
        match self {
            Piece::Line(range) | Piece::Rounds(InnerRounds { range, .. }) => Some(range),
            Piece::Recall(..) => None,
        }
    }
}

impl FusedBody {
    /// Instructions of all parts of a plan; results go to lists.
    pub fn of<'a>(fused: &'a FusedLoops, lowering: &mut Lowering<'a>) -> Option<FusedBody> {
        let mut body = FusedBody { pieces: Vec::new(), states: 0 };
        let mut start = 0;
        for part in &fused.parts {
            match part {
                FusedPart::Line(steps) => steps.iter().enumerate().for_each(|(i, step)| lowering.step(i, step)),
                FusedPart::Recall { from, past, moves } => {
                    start = body.end_line(start, lowering);
                    body.pieces.push(Piece::Recall(*from));
                    lowering.recall(past, *moves);
                }
                FusedPart::Keep(kept) => lowering.keep(kept),
                FusedPart::Rounds(rounds) => {
                    let states = rounds.next.iter().map(|next| next.1).zip(LOCAL_ROWS + body.states..).collect();
                    body.states += rounds.next.len() as u32;
                    lowering.store_states(rounds, &states);
                    start = body.end_line(start, lowering);
                    let rounds = lowering.inner_rounds(rounds, &states)?;
                    start = rounds.range.end.max(start);
                    body.pieces.push(Piece::Rounds(rounds));
                }
            }
        }
        lowering.store_results();
        body.end_line(start, lowering);
        Some(body)
    }

    fn end_line(&mut self, start: usize, lowering: &Lowering<'_>) -> usize {
        let end = lowering.builder.instructions.len();
        self.pieces.push(Piece::Line(start..end));
        end
    }

    /// Instructions of rounds.
    pub fn rounds(&self) -> impl Iterator<Item = &Range<usize>> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Rounds(rounds) => Some(&rounds.range),
            _ => None,
        })
    }
}

/// Slots of a state with their rows.
type States = Vec<(Slot, u32)>;

impl<'a> Lowering<'a> {
    /// Slots are what was remembered; as values of their own, if that will not stay where it is.
    fn recall(&mut self, past: &[Past], moves: bool) {
        for past in past {
            let mut value = self.builder.row(PAST_ROWS + past.at as u32);
            if moves {
                value = self.builder.copied(value);
            }
            self.put(past.slot, Formed::new(value, if past.real { Form::Real } else { Form::Bits }));
        }
    }

    /// Puts what is in some slots where it is remembered.
    fn keep(&mut self, kept: &[Past]) {
        for past in kept {
            let x = self.get(past.slot);
            let bits = if past.real { self.builder.upright_on_all(x).value } else { self.builder.exact_bits(x) };
            self.builder.effect(Action::Store { row: PAST_ROWS + past.at as u32 }, &[bits], NONE);
        }
    }

    /// Puts states into their rows in front of the first round.
    fn store_states(&mut self, rounds: &FusedRounds, states: &States) {
        for &(state, row) in states {
            let start = self.get(state);
            let bits = match rounds.reals.contains(&state) {
                true => self.builder.upright_on_all(start).value,
                false => self.builder.exact_bits(start),
            };
            self.builder.effect(Action::Store { row }, &[bits], NONE);
        }
    }

    /// Slots of states are what is in their rows.
    fn take_states(&mut self, rounds: &FusedRounds, states: &States) {
        for &(state, row) in states {
            let form = if rounds.reals.contains(&state) { Form::Real } else { Form::Bits };
            let value = self.builder.row(row);
            self.put(state, Formed::new(value, form));
        }
    }

    fn inner_rounds(&mut self, fused: &'a FusedRounds, states: &States) -> Option<InnerRounds> {
        let row = |state: Slot| states.iter().find(|s| s.0 == state).map(|s| s.1);
        // Rows are those of this code alone: what is not a number may have any bits in them.
        let rounds = Rounds {
            guarded: false,
            next: fused.next.iter().filter_map(|&(next, state)| Some((next, row(state)?))).collect(),
            reals: FxHashSet::default(),
            counts: None,
            until_done: fused.leaves,
            history: match fused.past.is_empty() {
                true => fused.kept.iter().map(|&slot| row(slot)).collect::<Option<_>>()?,
                false => Vec::new(),
            },
            back: !fused.past.is_empty(),
            moves: fused.moves,
            later: &[],
        };
        self.builder.forget();
        self.take_states(fused, states);
        self.recall(&fused.past, false);
        let start = self.builder.instructions.len();
        self.round_in_place(&fused.steps, &fused.next, &fused.reals);
        self.keep(&fused.stores);
        let stays = if fused.leaves { Some(self.builder.keep_going(start, &rounds)?) } else { None };
        let range = start..self.builder.instructions.len();
        self.builder.forget();
        self.take_states(fused, states);
        Some(InnerRounds { range, rounds, stays, most: fused.most, from: fused.from })
    }
}

impl Emitter<'_> {
    /// A function for a plan with loops in it; where it begins, and the instructions on vectors in all rounds. If it is only
    /// tried, there is nothing but these.
    pub fn fused_body(&mut self, body: &FusedBody, resident: usize, tried: bool) -> (usize, usize) {
        self.spills = body.states;
        self.past_bytes = self.isa.bytes() * self.interleave;
        let mut vectors = 0;
        let at = self.for_all_lanes(|this| {
            let mut made = FxHashSet::default();
            for (i, piece) in body.pieces.iter().enumerate() {
                if let Piece::Line(range) = piece {
                    made.extend(
                        this.builder.instructions[range.clone()].iter().map(|i| i.result).filter(|v| *v != NONE),
                    );
                }
                let behind = body.pieces[i..].iter().skip(matches!(piece, Piece::Line(_)) as usize);
                let shared = this.used_by(behind, &made);
                match piece {
                    Piece::Line(_) if tried => shared.iter().for_each(|&v| this.give_home(v)),
                    Piece::Line(range) => this.line_for(range.clone(), &shared),
                    Piece::Recall(from) => this.recall(*from),
                    Piece::Rounds(rounds) => vectors += this.inner_rounds(rounds, resident, (&made, &shared)),
                }
            }
            this.next_in_lists();
        });
        (at, vectors)
    }

    /// Those of the values that were made which some pieces use, each once.
    fn used_by<'p>(&self, pieces: impl Iterator<Item = &'p Piece>, made: &FxHashSet<Value>) -> Vec<Value> {
        let builder: &Builder = self.builder;
        let instructions = pieces.filter_map(Piece::range).flat_map(|range| &builder.instructions[range.clone()]);
        only_made(instructions.flat_map(|i| i.operands), made)
    }

    /// A straight line; some values go to memory behind it, and those that are there stay.
    fn line_for(&mut self, range: Range<usize>, shared: &[Value]) {
        let builder: &Builder = self.builder;
        self.shared_values(&builder.instructions[range], shared);
    }

    /// A value is in memory, as if it had been put there.
    fn give_home(&mut self, v: Value) {
        if self.homes[v.0 as usize] == Home::Nowhere {
            self.homes[v.0 as usize] = Home::Spill(self.spill_slot());
        }
    }

    /// What is remembered, from one row on, is at `r15`.
    fn recall(&mut self, from: usize) {
        self.code.load_general(R15, RBP, REMEMBERED_AT as i32);
        self.code.add_general(R15, (from * self.past_bytes) as i32);
    }

    fn inner_rounds(
        &mut self,
        inner: &InnerRounds,
        resident: usize,
        (made, shared): (&FxHashSet<Value>, &[Value]),
    ) -> usize {
        if inner.rounds.moves != 0 {
            self.recall(inner.from);
        }
        let round = self.round(inner.range.clone(), &inner.rounds, resident, made);
        self.code.constant_general(R12, inner.most);
        let Some(stays) = inner.stays else {
            let keeps = !inner.rounds.back;
            return self.round_after_round(&round, &inner.rounds, keeps, shared);
        };
        let vectors = self.round_until_done(&round, &inner.rounds, stays, shared);
        let undone = self.code.jump_if_zero(R12);
        let over = self.code.jump();
        self.code.land(undone, self.code.position());
        self.code.add_memory(RBP, UNDONE_AT as i32, 1);
        self.code.land(over, self.code.position());
        vectors
    }
}

impl Compiled {
    /// Makes room for what code remembers of rounds, and tells it where.
    #[inline]
    pub(super) fn remember(&self, spills: &mut [u64], remembered: &mut Words) {
        if self.remembered > 0 {
            spills[REMEMBERED_AT / 8] = remembered.ensure(self.remembered).as_mut_ptr() as u64;
        }
    }
}

/// Those of some values that something makes, each once.
pub(super) fn only_made(values: impl Iterator<Item = Value>, made: &FxHashSet<Value>) -> Vec<Value> {
    let mut only: Vec<Value> = values.filter(|v| made.contains(v)).collect();
    only.sort_unstable_by_key(|v| v.0);
    only.dedup();
    only
}
