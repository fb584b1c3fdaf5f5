//! Masks in registers of their own.
//!
//! With vectors of 512 bits, comparisons give masks, which selections, guards and each other take. A mask that is
//! needed as a vector, or that has to make room, becomes all bits of its lanes in a vector register; every vector
//! can become the mask of its signs.

use super::emit::{Emitter, NO_GROUP, number};
use super::evex::{CHOOSE, COLLECT, EXPAND, MASK_BITS, Masked};
use super::ir::{AND, AND_NOT, Action, COMPARE, Home, Instruction, NONE, OR, UNORDERED, Value, XOR, compares_bits};
use super::packed::WIDEN_MASK;
use super::vex::*;

/// What is in mask registers. The first of them stands for no mask and is not used.
pub(super) struct Masks {
    /// By value.
    group_of: Vec<u8>,
    held: [Value; 7],
    /// What was compared.
    numbers: [Numbers; 7],
    /// Whether they are all that there is of a value, and not only its signs.
    whole: [bool; 7],
}

impl Masks {
    pub fn new(values: usize) -> Masks {
        Masks { group_of: vec![NO_GROUP; values], held: [NONE; 7], numbers: [Numbers::Double; 7], whole: [false; 7] }
    }

    /// Whether a value is a mask, and in mask registers.
    pub fn has(&self, v: Value) -> bool {
        self.group(v).is_some_and(|group| self.whole[group as usize])
    }

    /// Whether it is one of as many numbers of single precision as a vector has of double precision.
    fn is_of_half(&self, v: Value) -> bool {
        self.has(v) && self.group(v).is_some_and(|group| self.numbers[group as usize] == Numbers::Short)
    }

    /// The mask registers with the signs of a value.
    fn group(&self, v: Value) -> Option<u8> {
        if v == NONE { None } else { Some(self.group_of[v.0 as usize]).filter(|g| *g != NO_GROUP) }
    }

    /// Nobody needs a value in its mask register any more.
    pub fn release(&mut self, v: Value) {
        let group = std::mem::replace(&mut self.group_of[v.0 as usize], NO_GROUP);
        if group != NO_GROUP {
            self.held[group as usize] = NONE;
        }
    }

    /// All that are in mask registers.
    pub fn all(&self) -> impl Iterator<Item = Value> + use<> {
        self.held.into_iter().filter(|v| *v != NONE)
    }
}

/// The instruction on masks of eight lanes or of sixteen, by the instruction on vectors.
fn on_masks(op: Opcode) -> Option<Opcode> {
    let code = match (Opcode { prefix: 1, ..op.on_all() }) {
        AND => 0x41,
        AND_NOT => 0x42,
        OR => 0x45,
        XOR => 0x47,
        _ => return None,
    };
    // Half as many numbers of single precision are as many as of double precision.
    Some(Opcode { code, prefix: if op.short { 1 } else { op.prefix }, ..op.on_all() })
}

/// What an instruction that has forms for both precisions is about: in the first map they differ by the prefix.
fn numbers_of(op: Opcode) -> Numbers {
    match (if op.map == 1 { op.prefix == 1 } else { op.w }, op.short) {
        (false, true) => Numbers::Short,
        (false, false) => Numbers::Single,
        _ => Numbers::Double,
    }
}

const NOT: u8 = 0x44;
const MOVE: u8 = 0x90;

impl Emitter<'_> {
    /// Does an instruction if it makes or takes masks; otherwise all its operands are vectors afterwards.
    pub(super) fn masked(&mut self, instruction: &Instruction) -> bool {
        if self.isa == Isa::Avx2 {
            return false;
        }
        let all = instruction.operands;
        let [a, b, c, _] = all;
        let d = instruction.result;
        match instruction.action {
            Action::WithByte(op, byte) if op.code == COMPARE.code => self.compared(op, Some(byte), d, a, b),
            Action::Binary(op, _) if compares_bits(op) => self.compared(op, None, d, a, b),
            Action::Binary(op, _) if let Some(on_masks) = on_masks(op) => {
                return self.combined(op, on_masks, d, a, b);
            }
            Action::Unary(WIDEN_MASK, _) if self.masks.is_of_half(a) => self.same_mask(d, a),
            Action::Blend(op) => {
                // The code for single precision is even.
                let numbers = numbers_of(Opcode { w: op.code & 1 == 1, ..op });
                let mask = self.bring_mask(a, numbers, &all);
                self.expand(b, &all);
                self.expand(c, &all);
                self.bring(c, &all);
                let (set, other) = (self.places(b), self.places(c));
                let group = self.result(d, &all);
                for copy in 0..self.interleave {
                    let op = numbers.sized(CHOOSE);
                    let masked = Masked { by: self.mask_register(mask, copy), zero: false };
                    let registers = (self.register(group, copy), number(other[copy]));
                    self.code.evex(op, masked, registers, set[copy], None);
                }
            }
            _ => {
                let takes_mask = |v: Value| match instruction.action {
                    Action::Guard { .. } => v == a,
                    Action::Usual { .. } | Action::Quotient => v == b,
                    _ => false,
                };
                all.into_iter().filter(|v| !takes_mask(*v)).for_each(|v| self.expand(v, &all));
                return false;
            }
        }
        true
    }

    /// A comparison.
    fn compared(&mut self, op: Opcode, byte: Option<u8>, d: Value, a: Value, b: Value) {
        let all = [a, b];
        all.into_iter().for_each(|v| self.expand(v, &all));
        self.bring(a, &all);
        let (first, last) = (self.places(a), self.places(b));
        let mask = self.take_mask(d, numbers_of(op), &all);
        for copy in 0..self.interleave {
            self.code.vector(op, self.mask_register(mask, copy), number(first[copy]), last[copy], byte);
        }
    }

    /// A mask that is set where the sum of all vectors of a value is not a number, which it overwrites.
    pub(super) fn unordered_sum(&mut self, v: Value, numbers: Numbers) -> u8 {
        let registers = self.places(v);
        let [add, compare] = [plain(0x58), COMPARE].map(|op| Opcode { prefix: !numbers.are_single() as u8, ..op });
        let half = self.interleave.div_ceil(2);
        for copy in 1..half {
            for (to, from) in [(0, copy), (half, half + copy)] {
                let to = number(registers[to]);
                self.code.vector(add, to, to, registers[from], None);
            }
        }
        let mask = self.take_mask(v, numbers, &[v]);
        let last = registers[half % self.interleave];
        self.code.vector(compare, self.mask_register(mask, 0), number(registers[0]), last, Some(UNORDERED));
        mask
    }

    /// An operation on bits, if an operand of it is a mask.
    fn combined(&mut self, op: Opcode, on_masks: Opcode, d: Value, a: Value, b: Value) -> bool {
        let all = [a, b];
        let numbers = numbers_of(op);
        match all.map(|v| self.masks.has(v)) {
            [true, true] => {
                let [first, last] = all.map(|v| self.masks.group_of[v.0 as usize]);
                let [first, last] = [first, last].map(|group| self.mask_registers(group));
                self.release_dying(&all);
                let mask = self.take_mask(d, numbers, &all);
                for copy in 0..self.interleave {
                    let last = Place::Register(last[copy]);
                    self.code.masks(on_masks, self.mask_register(mask, copy), Some(first[copy]), last);
                }
                true
            }
            [false, false] => false,
            [one, _] => {
                let (mask, other) = if one { (a, b) } else { (b, a) };
                let whole = Opcode { prefix: 1, ..op.on_all() };
                if whole == AND {
                    self.kept(d, mask, other, Opcode { prefix: op.prefix, short: op.short, ..LOAD });
                } else if whole == XOR && self.is_ones(other) {
                    let from = self.mask_registers(self.masks.group_of[mask.0 as usize]);
                    self.release_dying(&all);
                    let to = self.take_mask(d, numbers, &all);
                    for (copy, &from) in from.iter().enumerate().take(self.interleave) {
                        let op = Opcode { code: NOT, ..on_masks };
                        self.code.masks(op, self.mask_register(to, copy), None, Place::Register(from));
                    }
                } else {
                    self.expand(mask, &all);
                    return false;
                }
                true
            }
        }
    }

    /// A mask of as many lanes in the other precision: half a vector of single precision has as many as a whole one of
    /// double precision.
    fn same_mask(&mut self, d: Value, a: Value) {
        let from = self.mask_registers(self.masks.group_of[a.0 as usize]);
        self.release_dying(&[a]);
        let mask = self.take_mask(d, Numbers::Double, &[a]);
        for (copy, &from) in from.iter().enumerate().take(self.interleave) {
            let to = self.mask_register(mask, copy);
            if to != from {
                self.code.masks(Opcode { prefix: 0, ..plain(MOVE) }, to, None, Place::Register(from));
            }
        }
    }

    /// A vector in the lanes of a mask, zero in others.
    fn kept(&mut self, d: Value, mask: Value, other: Value, load: Opcode) {
        let all = [mask, other];
        let masks = self.mask_registers(self.masks.group_of[mask.0 as usize]);
        let from = self.places(other);
        let group = self.result(d, &all);
        for copy in 0..self.interleave {
            let masked = Masked { by: masks[copy], zero: true };
            self.code.evex(load, masked, (self.register(group, copy), 0), from[copy], None);
        }
    }

    fn is_ones(&self, v: Value) -> bool {
        matches!(self.builder.homes[v.0 as usize], Home::Constant(n) if self.builder.constants[n as usize] == u64::MAX)
    }

    fn mask_registers(&self, group: u8) -> [u8; 4] {
        std::array::from_fn(|copy| self.mask_register(group, copy))
    }

    fn mask_register(&self, group: u8, copy: usize) -> u8 {
        1 + group * self.interleave as u8 + copy as u8
    }

    fn release_dying(&mut self, operands: &[Value]) {
        for &v in operands {
            if self.is_dying(v) {
                self.masks.release(v);
            }
        }
    }

    /// A group of mask registers for a value; operands that are in vector registers stay there.
    fn take_mask(&mut self, v: Value, numbers: Numbers, operands: &[Value]) -> u8 {
        let groups = 7 / self.interleave;
        let group = (0..groups).find(|&g| self.masks.held[g] == NONE).unwrap_or_else(|| {
            let used_last = |g: &usize| self.next[self.masks.held[*g].0 as usize];
            let group = (0..groups).max_by_key(used_last).unwrap_or(0);
            let victim = self.masks.held[group];
            self.expand(victim, operands);
            self.masks.release(victim);
            group
        });
        self.masks.held[group] = v;
        self.masks.numbers[group] = numbers;
        self.masks.whole[group] = true;
        self.masks.group_of[v.0 as usize] = group as u8;
        group as u8
    }

    /// Brings a value into mask registers: the signs of a vector.
    pub(super) fn bring_mask(&mut self, v: Value, numbers: Numbers, operands: &[Value]) -> u8 {
        if let Some(group) = self.masks.group(v) {
            return group;
        }
        self.bring(v, operands);
        let from = self.places(v);
        let group = self.take_mask(v, numbers, operands);
        self.masks.whole[group as usize] = false;
        for (copy, &from) in from.iter().enumerate().take(self.interleave) {
            self.code.vector(numbers.sized(COLLECT), self.mask_register(group, copy), 0, from, None);
        }
        group
    }

    /// Brings the bits of a mask into `rax`.
    pub(super) fn mask_bits(&mut self, group: u8, copy: usize) {
        let from = Place::Register(self.mask_register(group, copy));
        self.code.masks(MASK_BITS, RAX, None, from);
    }

    /// Makes a value that is only a mask a vector too; the operands of an instruction stay in registers.
    pub(super) fn expand(&mut self, v: Value, operands: &[Value]) {
        if !self.masks.has(v) || self.group_of[v.0 as usize] != NO_GROUP || self.homes[v.0 as usize] != Home::Nowhere {
            return;
        }
        let group = self.masks.group_of[v.0 as usize];
        let op = self.masks.numbers[group as usize].sized(EXPAND);
        let to = self.take(v, self.mask_of(operands));
        for copy in 0..self.interleave {
            let from = Place::Register(self.mask_register(group, copy));
            self.code.vector(op, self.register(to, copy), 0, from, None);
        }
    }
}
