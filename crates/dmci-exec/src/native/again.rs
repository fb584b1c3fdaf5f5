//! Values that are made again instead of being kept in memory.
//!
//! A processor stores a vector of 512 bits in two cycles or one, and adds two in less. So a sum or difference that has to
//! leave its registers is not stored, if its operands are kept longer than it anyway: it is computed once more where it
//! is needed, from the same operands, with the same bits. A product, too, if more is stored here than fits beside the
//! products.

use super::emit::{Emitter, NO_GROUP, NO_USE, number};
use super::encode::Opcode;
use super::ir::{Action, Builder, Home, Instruction, NONE, Value};

/// What is known of values that can be made again.
pub(super) struct Again {
    /// By value, which instruction makes it.
    makers: Vec<u32>,
    /// Values that others are made from, so that they are stored if they have to leave.
    sources: Vec<bool>,
    /// By value, where its last use in the line is.
    pub last: Vec<u32>,
    /// Cycles in which stores could have been made beside products, and were not.
    spare: i32,
    /// In lines that are run once for each group of lanes.
    pub allowed: bool,
}

const NO_MAKER: u32 = u32::MAX;

impl Again {
    pub fn new(builder: &Builder) -> Again {
        let mut makers = vec![NO_MAKER; builder.homes.len()];
        for (i, instruction) in (0..).zip(&builder.instructions) {
            if let (Action::Binary(Opcode { map: 1, code: 0x58 | 0x59 | 0x5C, .. }, _), result) =
                (instruction.action, instruction.result)
            {
                makers[result.0 as usize] = i;
            }
        }
        let values = builder.homes.len();
        Again { makers, sources: vec![false; values], last: vec![0; values], spare: 0, allowed: false }
    }
}

/// Cycles of a store.
const CYCLES_TO_STORE: i32 = 2;

/// How far stores run behind products, or ahead of them, in what a processor looks at together.
const BEHIND: i32 = 3;
const AHEAD: i32 = 8;

impl Again {
    /// An instruction is written.
    pub fn note(&mut self, action: Action) {
        let product = match action {
            Action::Binary(op, _) => op.map == 1 && matches!(op.code, 0x59 | 0x5E),
            action => matches!(action, Action::Fused { .. }),
        };
        self.spare = (self.spare + product as i32).min(AHEAD);
    }

    /// A store is written that no instruction asks for.
    pub fn note_store(&mut self) {
        self.spare -= CYCLES_TO_STORE;
    }
}

impl Emitter<'_> {
    /// The sum, difference or product that a value is.
    fn maker(&self, v: Value) -> Option<(Opcode, bool, [Value; 2])> {
        let maker = Some(self.again.makers[v.0 as usize]).filter(|i| *i != NO_MAKER)?;
        match self.builder.instructions[maker as usize] {
            Instruction { action: Action::Binary(op, exchange), operands: [a, b, ..], .. } => {
                Some((op, exchange, [a, b]))
            }
            _ => None,
        }
    }

    /// Whether a value can be made again where it is needed next.
    pub(super) fn can_be_made_again(&self, v: Value) -> bool {
        if !self.again.allowed || self.again.sources[v.0 as usize] || self.homes[v.0 as usize] != Home::Nowhere {
            return false;
        }
        let next = self.next[v.0 as usize];
        let is_there = |o: Value| match self.homes[o.0 as usize] {
            Home::Constant(_) => true,
            Home::Again => false,
            _ => self.next[o.0 as usize] != NO_USE && self.again.last[o.0 as usize] >= next,
        };
        let pays = |op: Opcode| op.code != 0x59 || self.again.spare < -BEHIND;
        self.maker(v).is_some_and(|(op, _, operands)| pays(op) && operands.into_iter().all(is_there))
    }

    /// Frees the registers of such a value.
    pub(super) fn leave_to_be_made_again(&mut self, v: Value) {
        let operands = self.maker(v).map_or([NONE; 2], |maker| maker.2);
        operands.into_iter().filter(|o| *o != NONE).for_each(|o| self.again.sources[o.0 as usize] = true);
        self.homes[v.0 as usize] = Home::Again;
        self.release(v);
    }

    /// Makes operands of an instruction again that have left.
    pub(super) fn make_operands_again(&mut self, instruction: &Instruction) {
        for v in instruction.distinct_operands() {
            if self.homes[v.0 as usize] == Home::Again && self.group_of[v.0 as usize] == NO_GROUP {
                self.make_again(v, &instruction.operands);
            }
        }
    }

    fn make_again(&mut self, v: Value, needed: &[Value]) {
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
