//! Instructions as bytes, with the registers that their values have.

use super::evex::{LOAD_MASK, MERGE, STORE_MASK};
use super::ir::{Action, Builder, FLIP, Home, Instruction, NONE, Value};
use super::masks::Masks;
use super::remat::Remat;
use super::slow_path::SlowPath;
use super::vex::*;
use crate::plan::Slot;
use dmci_ops::MAX_ARITY;
use std::ops::Range;

/// Bytes in front of the spilled values: all vector registers, all mask registers, then operands of calls, then where
/// lists are, then where states are remembered, and how many groups of lanes are not done with a loop.
pub(super) const SPILLS_AT: usize = REMEMBERED_AT + 64;
pub(super) const UNDONE_AT: usize = REMEMBERED_AT + 8;
pub(super) const REMEMBERED_AT: usize = LISTS_AT + 8 * MOST_LISTS;
pub(super) const LISTS_AT: usize = ARGUMENTS_AT + MAX_ARITY * ARGUMENT;
/// Lists that code reads and writes by itself.
pub(super) const MOST_LISTS: usize = 16;
pub(super) const MASKS_AT: usize = 32 * 64;
pub(super) const ARGUMENTS_AT: usize = MASKS_AT + 64;
pub(super) const ARGUMENT: usize = 4 * 64;

pub(super) const NO_USE: u32 = u32::MAX;
pub(super) const NO_GROUP: u8 = u8::MAX;

/// A mask whose bits are looked at: the signs of vectors, or a group of mask registers.
pub(super) enum Test {
    Signs(Opcode, [Place; 4]),
    Mask(u8),
}

/// Turns instructions into code.
pub(super) struct Emitter<'a> {
    pub(super) builder: &'a Builder,
    pub(super) homes: Vec<Home>,
    pub(super) code: Code,
    pub(super) interleave: usize,
    /// Distance of rows in memory, in bytes.
    pub(super) row_bytes: usize,
    pub(super) single: bool,
    pub(super) group_of: Vec<u8>,
    pub(super) held: [Value; 32],
    pub(super) free: u32,
    pub(super) masks: Masks,
    /// The next use of each value.
    pub(super) next: Vec<u32>,
    pub(super) remat: Remat,
    pub(super) free_spills: Vec<u32>,
    pub(super) spills: u32,
    pub(super) slow_paths: Vec<(usize, usize, SlowPath)>,
    pub(super) isa: Isa,
    /// Lanes of a vector.
    pub(super) lanes: usize,
    /// Numbers that a lane has in each list.
    pub(super) strides: &'a [u32],
    /// Where patterns begin in the table of constants.
    pub(super) patterns: u32,
    /// Rows that are in the history of a loop, and where from the state of a round on.
    pub(super) past: Vec<(Slot, usize)>,
    /// Distance of rows there, in bytes.
    pub(super) past_bytes: usize,
    /// Groups that values should be in at the end of a round.
    pub(super) wanted: Vec<(Value, u8)>,
    /// The list whose address is in `rax`.
    list: Option<u8>,
    /// Where all registers are saved and loaded again.
    pub(super) save: usize,
    pub(super) load: usize,
}

impl<'a> Emitter<'a> {
    pub fn new(builder: &'a Builder, strides: &'a [u32], interleave: usize, row_bytes: usize, single: bool) -> Self {
        let isa = builder.isa;
        let mut code = Code { isa, ..Code::default() };
        for bits in &builder.constants {
            (0..isa.constant_bytes() / 8).for_each(|_| code.raw(&bits.to_le_bytes()));
        }
        let patterns = code.position().next_multiple_of(isa.bytes());
        if !builder.patterns.is_empty() {
            code.bytes.resize(patterns, 0);
        }
        for number in builder.patterns.iter().flat_map(|(pattern, _)| &pattern[..builder.lists.lanes(isa)]) {
            code.raw(&u64::from(*number).to_le_bytes()[..builder.lists.bytes()]);
        }
        let values = builder.homes.len();
        let mut emitter = Emitter {
            builder,
            homes: builder.homes.clone(),
            code,
            interleave,
            row_bytes,
            single,
            group_of: vec![NO_GROUP; values],
            held: [NONE; 32],
            free: 0,
            masks: Masks::new(values),
            next: vec![NO_USE; values],
            remat: Remat::new(builder),
            free_spills: Vec::new(),
            spills: 0,
            slow_paths: Vec::new(),
            isa,
            lanes: isa.lanes() * if builder.packed { 2 } else { 1 },
            strides,
            patterns: patterns as u32,
            past: Vec::new(),
            past_bytes: row_bytes,
            wanted: Vec::new(),
            list: None,
            save: 0,
            load: 0,
        };
        emitter.save = emitter.code.position();
        emitter.all_registers(STORE, STORE_MASK);
        emitter.code.raw(&[0xC5, 0xF8, 0x77, 0xC3]);
        emitter.load = emitter.code.position();
        emitter.all_registers(LOAD, LOAD_MASK);
        emitter.code.raw(&[0xC3]);
        emitter
    }

    /// Saves all registers, or loads them.
    fn all_registers(&mut self, op: Opcode, on_masks: Opcode) {
        let at = |offset: usize| Place::Memory { base: RBP, offset: offset as i32 };
        for r in 0..self.isa.registers() {
            self.code.vector(op, r as u8, 0, at(r * self.isa.bytes()), None);
        }
        if self.isa == Isa::Avx512 {
            (1..8).for_each(|k| self.code.masks(on_masks, k, None, at(MASKS_AT + 8 * k as usize)));
        }
    }

    /// A function that runs some of the instructions for all lanes; where it begins.
    pub fn function(&mut self, range: Range<usize>) -> usize {
        self.for_all_lanes(|this| {
            this.straight_line(&this.builder.instructions[range]);
            this.next_in_lists();
        })
    }

    /// Lists begin with the next group of lanes.
    pub(super) fn next_in_lists(&mut self) {
        let bytes = self.builder.lists.bytes() * self.lanes * self.interleave;
        for (list, stride) in self.strides.iter().enumerate() {
            self.code.add_memory(RBP, (LISTS_AT + 8 * list) as i32, (*stride as usize * bytes) as i32);
        }
    }

    /// What guards look at.
    pub(super) fn numbers(&self) -> Numbers {
        if self.lanes > self.isa.lanes() { Numbers::Single } else { Numbers::Double }
    }

    /// A function that does something for one group of lanes after the other; where it begins.
    pub(super) fn for_all_lanes(&mut self, group: impl FnOnce(&mut Self)) -> usize {
        let start = self.code.position();
        // Six registers are kept for the caller; the stack is aligned.
        self.code.raw(&[0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, 0x48, 0x83, 0xEC, 8]);
        for (to, from) in [(RBX, RDI), (R13, RSI), (R14, RDX), (RBP, RCX)] {
            self.code.move_general(to, from);
        }
        let top = self.code.position();
        group(self);
        let lanes = self.lanes * self.interleave;
        self.code.add_general(RBX, (8 * lanes) as i32);
        self.code.add_general(R14, (4 * lanes) as i32);
        self.code.raw(&[0x4C, 0x39, 0xEB, 0x0F, 0x82, 0, 0, 0, 0]);
        self.code.land(self.code.position() - 4, top);
        self.code.raw(&[0xC5, 0xF8, 0x77, 0x48, 0x83, 0xC4, 8]);
        self.code.raw(&[0x41, 0x5F, 0x41, 0x5E, 0x41, 0x5D, 0x41, 0x5C, 0x5D, 0x5B, 0xC3]);
        self.emit_slow_paths();
        start
    }

    pub(super) fn straight_line(&mut self, instructions: &[Instruction]) {
        self.free = self.all_groups();
        self.held = [NONE; 32];
        self.remat.allowed = self.isa == Isa::Avx512;
        self.line(instructions, &[]);
        self.remat.allowed = false;
        self.forget_line(instructions, &[]);
    }

    /// A bit for each group of registers.
    pub(super) fn all_groups(&self) -> u32 {
        ((1u64 << self.groups()) - 1) as u32
    }

    /// Groups of registers, one for each vector that is worked on together.
    pub(super) fn groups(&self) -> usize {
        self.isa.registers() / self.interleave
    }

    /// Instructions, with what is in registers before them; some values are still needed behind them.
    pub(super) fn line(&mut self, instructions: &[Instruction], needed_after: &[Value]) {
        self.list = None;
        // What nothing needs is left out; each use knows the next one.
        let mut later = vec![[NO_USE; 4]; instructions.len()];
        let mut needed = vec![true; instructions.len()];
        for v in needed_after {
            self.next[v.0 as usize] = instructions.len() as u32;
            self.remat.last[v.0 as usize] = instructions.len() as u32;
        }
        for (i, instruction) in instructions.iter().enumerate().rev() {
            let result = instruction.result;
            if result != NONE && self.next[result.0 as usize] == NO_USE {
                needed[i] = false;
                continue;
            }
            for (k, v) in instruction.operands.iter().enumerate().filter(|(_, v)| **v != NONE) {
                later[i][k] = self.next[v.0 as usize];
                if later[i][k] == NO_USE {
                    self.remat.last[v.0 as usize] = i as u32;
                }
            }
            for v in instruction.operands.iter().filter(|v| **v != NONE) {
                self.next[v.0 as usize] = i as u32;
            }
        }
        for (i, instruction) in instructions.iter().enumerate().filter(|(i, _)| needed[*i]) {
            for (k, v) in instruction.operands.iter().enumerate().filter(|(_, v)| **v != NONE) {
                self.next[v.0 as usize] = later[i][k];
            }
            self.rematerialise_operands(instruction);
            self.instruction(instruction);
            self.remat.note(instruction.action);
            // Only now: nothing may go to memory that this instruction has read.
            for v in instruction.operands.iter().filter(|v| **v != NONE) {
                self.forget_if_dead(*v);
            }
        }
        needed_after.iter().for_each(|v| self.expand(*v, needed_after));
    }

    /// Nothing of a line is in registers any more.
    pub(super) fn forget_line(&mut self, instructions: &[Instruction], needed_after: &[Value]) {
        for v in self.held.iter().filter(|v| **v != NONE) {
            self.group_of[v.0 as usize] = NO_GROUP;
        }
        self.masks.all().for_each(|v| self.masks.release(v));
        // Constants may be used again by another function.
        for v in instructions.iter().flat_map(|i| i.operands).chain(needed_after.iter().copied()).filter(|v| *v != NONE)
        {
            self.next[v.0 as usize] = NO_USE;
        }
    }

    fn instruction(&mut self, instruction: &Instruction) {
        if self.masked(instruction) {
            return;
        }
        let all = instruction.operands;
        let [a, b, c, _] = all;
        let d = instruction.result;
        match instruction.action {
            Action::Binary(op, exchange) => {
                let swap = exchange && self.group_of[a.0 as usize] == NO_GROUP;
                let (a, b) = if swap { (b, a) } else { (a, b) };
                self.two_operands(op, None, d, a, b);
            }
            Action::WithByte(op, byte) => self.two_operands(op, Some(byte), d, a, b),
            Action::Unary(op, byte) => {
                let from = self.places(a);
                let group = self.result(d, &all);
                for (copy, &from) in from.iter().enumerate().take(self.interleave) {
                    self.code.vector(op, self.register(group, copy), 0, from, byte);
                }
            }
            Action::Shift(op, extension, by) => {
                self.bring(a, &all);
                let from = self.places(a);
                let group = self.result(d, &all);
                for (copy, &from) in from.iter().enumerate().take(self.interleave) {
                    let to = self.register(group, copy);
                    self.code.vector(op, extension, to, from, Some(by));
                }
            }
            Action::Blend(op) => {
                self.bring(a, &all);
                self.bring(c, &all);
                let [mask, set, other] = [a, b, c].map(|v| self.places(v));
                let group = self.result(d, &all);
                for copy in 0..self.interleave {
                    let byte = number(mask[copy]) << 4;
                    self.code.vector(op, self.register(group, copy), number(other[copy]), set[copy], Some(byte));
                }
            }
            Action::Fused { negated, numbers } => self.fused(d, [a, b, c], negated, numbers),
            Action::Flip(op) => {
                self.bring(b, &all);
                let [from, moved, bits] = [a, b, c].map(|v| self.places(v));
                let group = if a != b && self.makes_room(a) { self.replaced(a, d) } else { self.copied(d, &all, from) };
                for copy in 0..self.interleave {
                    self.code.vector(op, self.register(group, copy), number(moved[copy]), bits[copy], Some(FLIP));
                }
            }
            Action::Store { row } => {
                self.bring(a, &all);
                for copy in 0..self.interleave {
                    let to = self.home(Home::Row(row), copy);
                    self.code.vector(STORE, number(self.place(a, copy)), 0, to, None);
                }
            }
            Action::Upper => {
                self.bring(a, &all);
                let from = self.places(a);
                let group = self.result(d, &all);
                for (copy, &from) in from.iter().enumerate().take(self.interleave) {
                    let to = Place::Register(self.register(group, copy));
                    self.code.vector(EXTRACT_UPPER, number(from), 0, to, Some(1));
                }
            }
            Action::LoadRow { row, lane } => {
                let group = self.result(d, &all);
                for copy in 0..self.interleave {
                    let from = self.in_row(row, lane, copy);
                    self.code.vector(LOAD, self.register(group, copy), 0, from, None);
                }
            }
            Action::StoreRow { row, lane } => {
                self.bring(a, &all);
                for copy in 0..self.interleave {
                    let to = self.in_row(row, lane, copy);
                    self.code.vector(STORE, number(self.place(a, copy)), 0, to, None);
                }
            }
            Action::Load { list, lane } => {
                let group = self.result(d, &all);
                for copy in 0..self.interleave {
                    let from = self.in_list(list, self.lanes * copy + lane as usize, 0);
                    self.code.vector(LOAD, self.register(group, copy), 0, from, None);
                }
            }
            Action::LoadPairs { list, at, lane } => {
                let group = self.result(d, &all);
                for copy in 0..self.interleave {
                    let (r, lane) = (self.register(group, copy), self.lanes * copy + lane as usize);
                    let lowest = self.in_list(list, lane, at);
                    self.code.quarter(LOAD, r, lowest);
                    for k in 1..self.isa.lanes() / 2 {
                        let from = self.in_list(list, lane + 2 * k, at);
                        self.code.vector(self.isa.insert_pair(), r, r, from, Some(k as u8));
                    }
                }
            }
            Action::LoadPart { list, part, lane } => {
                let group = self.result(d, &all);
                for copy in 0..self.interleave {
                    let from = self.part(list, part, self.lanes * copy + lane as usize);
                    self.code.vector(LOAD, self.register(group, copy), 0, from, None);
                }
            }
            Action::StorePart { list, part, lane } => {
                self.bring(a, &all);
                for copy in 0..self.interleave {
                    let to = self.part(list, part, self.lanes * copy + lane as usize);
                    self.code.vector(STORE, number(self.place(a, copy)), 0, to, None);
                }
            }
            Action::Merge => {
                self.bring(c, &all);
                let [first, last, pattern] = [a, b, c].map(|v| self.places(v));
                let group =
                    if a != b && self.makes_room(a) { self.replaced(a, d) } else { self.copied(d, &all, first) };
                let merge = self.builder.lists.sized(MERGE);
                for copy in 0..self.interleave {
                    self.code.vector(merge, self.register(group, copy), number(pattern[copy]), last[copy], None);
                }
            }
            Action::StoreList { list, lane } => {
                self.bring(a, &all);
                for copy in 0..self.interleave {
                    let to = self.in_list(list, self.lanes * copy + lane as usize, 0);
                    self.code.vector(STORE, number(self.place(a, copy)), 0, to, None);
                }
            }
            Action::StorePairs { list, at, lane } => {
                self.bring(a, &all);
                for copy in 0..self.interleave {
                    let (r, lane) = (number(self.place(a, copy)), self.lanes * copy + lane as usize);
                    let lowest = self.in_list(list, lane, at);
                    self.code.quarter(STORE, r, lowest);
                    for k in 1..self.isa.lanes() / 2 {
                        let to = self.in_list(list, lane + 2 * k, at);
                        self.code.vector(self.isa.extract_pair(), r, 0, to, Some(k as u8));
                    }
                }
            }
            Action::Canonical { first, numbers } => {
                self.list = None;
                self.bring(a, &all);
                let mask = self.unordered_sum(a, numbers);
                self.mask_bits(mask, 0);
                self.code.compare_rax(0);
                let jump = self.code.jump_unless_equal();
                self.slow_paths.push((jump, self.code.position(), SlowPath::Canonical { first }));
            }
            Action::Guard { outcome, index } => {
                self.list = None;
                let all_set = (1u32 << self.lanes) - 1;
                let test = self.test(a, self.numbers(), &all);
                for copy in 0..self.interleave {
                    self.test_bits(&test, copy);
                    self.code.compare_rax(if outcome { all_set } else { 0 });
                    let jump = self.code.jump_unless_equal();
                    self.slow_paths.push((jump, self.code.position(), SlowPath::Guard { copy, outcome, index }));
                }
            }
            Action::Usual { slow, numbers } => {
                self.list = None;
                self.usual(d, all, numbers, |result, x, y| SlowPath::Usual { result, x, y, slow, numbers });
            }
            Action::Quotient => {
                self.list = None;
                self.usual(d, all, Numbers::Double, |result, x, y| SlowPath::Divide { result, x, y });
            }
            Action::Call(op) => {
                self.list = None;
                self.call(d, op, &all[..op.operands().len()]);
            }
        }
    }

    /// A lane of a group in a row.
    fn in_row(&self, row: u32, lane: u8, copy: usize) -> Place {
        let offset = row as usize * self.row_bytes + (self.lanes * copy + lane as usize) * 8;
        Place::Memory { base: RBX, offset: offset as i32 }
    }

    /// A number of a lane in a list, whose address is brought into a register.
    fn in_list(&mut self, list: u8, lane: usize, at: u32) -> Place {
        if self.list.replace(list) != Some(list) {
            self.code.load_general(RAX, RBP, (LISTS_AT + 8 * list as usize) as i32);
        }
        let number = lane * self.strides[list as usize] as usize + at as usize;
        Place::Memory { base: RAX, offset: (number * self.builder.lists.bytes()) as i32 }
    }

    /// A vector of a list, from a lane on.
    fn part(&mut self, list: u8, part: u8, lane: usize) -> Place {
        self.in_list(list, lane, part as u32 * self.builder.lists.lanes(self.isa) as u32)
    }

    pub(super) fn places(&self, v: Value) -> [Place; 4] {
        let mut places = [Place::Register(0); 4];
        (0..self.interleave).for_each(|copy| places[copy] = self.place(v, copy));
        places
    }

    fn two_operands(&mut self, op: Opcode, byte: Option<u8>, d: Value, a: Value, b: Value) {
        self.bring(a, &[a, b]);
        let (first, last) = (self.places(a), self.places(b));
        let group = self.result(d, &[a, b]);
        for copy in 0..self.interleave {
            self.code.vector(op, self.register(group, copy), number(first[copy]), last[copy], byte);
        }
    }

    /// One operand is overwritten: one that dies if there is one, else a copy. Another one can stay in memory.
    fn fused(&mut self, d: Value, all: [Value; 3], negated: bool, numbers: Numbers) {
        let [a, b, c] = all;
        let once = |v: Value| all.iter().filter(|o| **o == v).count() == 1;
        let resident = |this: &Self, v: Value| this.group_of[v.0 as usize] != NO_GROUP;
        let overwritten = [c, a, b].into_iter().find(|&v| self.makes_room(v) && once(v));
        let outside = |v: &Value| !resident(self, *v) && once(*v);
        let target = overwritten.or_else(|| [c, a, b].into_iter().find(outside)).unwrap_or(c);
        let stays = [c, b, a].into_iter().find(|v| *v != target && outside(v)).unwrap_or(NONE);
        for v in all {
            if v != stays && (v != target || !once(v)) {
                self.bring(v, &all);
            }
        }
        let [pa, pb, pc] = all.map(|v| self.places(v));
        let form = |base: u8| numbers.sized(Opcode { map: 2, ..plain(base + if negated { 4 } else { 0 }) });
        let (by_132, by_213, by_231) = (form(0x98), form(0xA8), form(0xB8));
        // The form, what the result is put over, the operand in the middle, the last one.
        let (op, over, middle, last) = match target {
            t if t == c && b == stays => (by_231, pc, pa, pb),
            t if t == c => (by_231, pc, pb, pa),
            t if t == a && b == stays => (by_132, pa, pc, pb),
            t if t == a => (by_213, pa, pb, pc),
            _ if a == stays => (by_132, pb, pc, pa),
            _ => (by_213, pb, pa, pc),
        };
        let group = match overwritten {
            Some(v) => self.replaced(v, d),
            None => self.copied(d, &all, over),
        };
        for copy in 0..self.interleave {
            self.code.vector(op, self.register(group, copy), number(middle[copy]), last[copy], None);
        }
    }

    /// Brings a mask to where its bits can be looked at.
    pub(super) fn test(&mut self, m: Value, numbers: Numbers, operands: &[Value]) -> Test {
        match self.isa {
            Isa::Avx2 => {
                self.bring(m, operands);
                let op = Opcode { prefix: !numbers.are_single() as u8, short: numbers == Numbers::Short, ..SIGN_BITS };
                Test::Signs(op, self.places(m))
            }
            Isa::Avx512 => Test::Mask(self.bring_mask(m, numbers, operands)),
        }
    }

    /// Brings the bits of a mask into `rax`.
    pub(super) fn test_bits(&mut self, test: &Test, copy: usize) {
        match *test {
            Test::Signs(op, places) => self.code.vector(op, RAX, 0, places[copy], None),
            Test::Mask(group) => self.mask_bits(group, copy),
        }
    }

    /// Whether a value is in registers of its own that nothing needs any more.
    fn makes_room(&self, v: Value) -> bool {
        self.is_dying(v) && !self.is_uniform(v) && self.group_of[v.0 as usize] != NO_GROUP
    }

    /// The registers of a value that dies, for another one.
    fn replaced(&mut self, dies: Value, v: Value) -> u8 {
        let group = self.group_of[dies.0 as usize];
        self.release(dies);
        self.free &= !(1 << group);
        self.held[group as usize] = v;
        self.group_of[v.0 as usize] = group;
        group
    }

    /// Registers for a value, which begin with what is somewhere else.
    pub(super) fn copied(&mut self, v: Value, operands: &[Value], from: [Place; 4]) -> u8 {
        let group = self.take(v, self.mask_of(operands));
        for (copy, &from) in from.iter().enumerate().take(self.interleave) {
            self.code.vector(LOAD, self.register(group, copy), 0, from, None);
        }
        group
    }

    fn usual(&mut self, d: Value, all: [Value; 4], numbers: Numbers, path: impl Fn(u8, Place, Place) -> SlowPath) {
        let [fast, m, x, y] = all;
        self.bring(fast, &all);
        let test = self.test(m, numbers, &all);
        let lanes = numbers.lanes(self.isa);
        let [from, xs, ys] = [fast, x, y].map(|v| self.places(v));
        let group = if self.makes_room(fast) && x != fast && y != fast {
            self.replaced(fast, d)
        } else {
            self.copied(d, &all, from)
        };
        for copy in 0..self.interleave {
            self.test_bits(&test, copy);
            self.code.compare_rax((1 << lanes) - 1);
            let jump = self.code.jump_unless_equal();
            let path = path(self.register(group, copy), xs[copy], ys[copy]);
            self.slow_paths.push((jump, self.code.position(), path));
        }
    }
}

/// The number of a register.
pub(super) fn number(place: Place) -> u8 {
    match place {
        Place::Register(r) => r,
        _ => 0,
    }
}
