//! Rematerialisation: values that are computed twice instead of being spilled.
//!
//! A store of a zmm register takes one cycle or two, an addition less. So a sum or difference that has to leave its
//! registers is not spilled if its operands live at least as long: it is recomputed from them before its next use, with
//! the same bits. A product is recomputed too where the store port is the bottleneck.

use super::emit::{Emitter, NO_GROUP, NO_USE, number};
use super::ir::{Action, Builder, Home, Instruction, NONE, Value};
use super::vex::Opcode;

/// What decides whether a value is rematerialised.
pub(super) struct Remat {
    /// By value: the instruction that computes it, if it may be recomputed.
    makers: Vec<u32>,
    /// Values that others are recomputed from, so that they must be spilled if they have to leave.
    sources: Vec<bool>,
    /// By value: its last use in the line.
    pub last: Vec<u32>,
    /// Cycles in which the store port was idle beside products; negative if stores queue.
    spare: i32,
    /// Only in lines that run once for each group of lanes.
    pub allowed: bool,
}

const NO_MAKER: u32 = u32::MAX;

impl Remat {
    pub fn new(builder: &Builder) -> Remat {
        let mut makers = vec![NO_MAKER; builder.homes.len()];
        for (i, instruction) in (0..).zip(&builder.instructions) {
            if let (Action::Binary(Opcode { map: 1, code: 0x58 | 0x59 | 0x5C, .. }, _), result) =
                (instruction.action, instruction.result)
            {
                makers[result.0 as usize] = i;
            }
        }
        let values = builder.homes.len();
        Remat { makers, sources: vec![false; values], last: vec![0; values], spare: 0, allowed: false }
    }
}

/// Cycles of a zmm store.
const CYCLES_TO_STORE: i32 = 2;

/// How far stores run behind products, or ahead of them, within the reorder window.
const BEHIND: i32 = 3;
const AHEAD: i32 = 8;

impl Remat {
    /// Counts an instruction that is emitted.
    pub fn note(&mut self, action: Action) {
        let product = match action {
            Action::Binary(op, _) => op.map == 1 && matches!(op.code, 0x59 | 0x5E),
            action => matches!(action, Action::Fused { .. }),
        };
        self.spare = (self.spare + product as i32).min(AHEAD);
    }

    /// Counts a spill that is emitted.
    pub fn note_store(&mut self) {
        self.spare -= CYCLES_TO_STORE;
    }
}

impl Emitter<'_> {
    /// The sum, difference or product that computes a value.
    fn maker(&self, v: Value) -> Option<(Opcode, bool, [Value; 2])> {
        let maker = Some(self.remat.makers[v.0 as usize]).filter(|i| *i != NO_MAKER)?;
        match self.builder.instructions[maker as usize] {
            Instruction { action: Action::Binary(op, exchange), operands: [a, b, ..], .. } => {
                Some((op, exchange, [a, b]))
            }
            _ => None,
        }
    }

    /// Whether a value can be recomputed at its next use, and whether that pays.
    pub(super) fn can_rematerialise(&self, v: Value) -> bool {
        if !self.remat.allowed || self.remat.sources[v.0 as usize] || self.homes[v.0 as usize] != Home::Nowhere {
            return false;
        }
        let next = self.next[v.0 as usize];
        let is_there = |o: Value| match self.homes[o.0 as usize] {
            Home::Constant(_) => true,
            Home::Remat => false,
            _ => self.next[o.0 as usize] != NO_USE && self.remat.last[o.0 as usize] >= next,
        };
        let pays = |op: Opcode| op.code != 0x59 || self.remat.spare < -BEHIND;
        self.maker(v).is_some_and(|(op, _, operands)| pays(op) && operands.into_iter().all(is_there))
    }

    /// Frees the registers of a value that is recomputed at its next use.
    pub(super) fn drop_to_rematerialise(&mut self, v: Value) {
        let operands = self.maker(v).map_or([NONE; 2], |maker| maker.2);
        operands.into_iter().filter(|o| *o != NONE).for_each(|o| self.remat.sources[o.0 as usize] = true);
        self.homes[v.0 as usize] = Home::Remat;
        self.release(v);
    }

    /// Recomputes the operands of an instruction that were dropped.
    pub(super) fn rematerialise_operands(&mut self, instruction: &Instruction) {
        for v in instruction.distinct_operands() {
            if self.homes[v.0 as usize] == Home::Remat && self.group_of[v.0 as usize] == NO_GROUP {
                self.rematerialise(v, &instruction.operands);
            }
        }
    }

    fn rematerialise(&mut self, v: Value, needed: &[Value]) {
        let Some((op, exchange, [a, b])) = self.maker(v) else { return };
        let swap = exchange && self.group_of[a.0 as usize] == NO_GROUP;
        let (a, b) = if swap { (b, a) } else { (a, b) };
        let keep = [needed, &[a, b]].concat();
        let (first, last) = (self.places(a), self.places(b));
        self.homes[v.0 as usize] = Home::Nowhere;
        let in_registers = self.group_of[a.0 as usize] != NO_GROUP;
        let group = if in_registers { self.take(v, self.mask_of(&keep)) } else { self.copied(v, &keep, first) };
        for copy in 0..self.interleave {
            let to = self.register(group, copy);
            let first = if in_registers { number(first[copy]) } else { to };
            self.code.vector(op, to, first, last[copy], None);
        }
    }
}
