//! Registers for values, and bytes for instructions.
//!
//! Each value has a group of as many registers as vectors are interleaved. If none is free, the value
//! whose next use is furthest away goes to memory (Belady's rule); a value that has a home in memory,
//! such as a constant, is only forgotten.

// Copies of a value are counted: their registers and places go by the same number.
#![allow(clippy::needless_range_loop)]

use super::encode::*;
use super::ir::{Action, Builder, Home, Instruction, NONE, Value};
use dmci_ops::arith::Slow;
use dmci_ops::{MAX_ARITY, Op};
use std::ops::Range;

/// Bytes in front of the spilled values: all registers, then operands of calls.
pub(super) const SPILLS_AT: usize = 512 + MAX_ARITY * ARGUMENT;
const ARGUMENT: usize = 128;
const VECTOR: usize = 32;

const NO_USE: u32 = u32::MAX;
const NO_GROUP: u8 = u8::MAX;

/// What is not in the straight line, because it hardly ever happens.
enum Cold {
    Guard { copy: usize, outcome: bool, index: u32 },
    Usual { result: u8, x: Place, y: Place, slow: Slow },
}

/// Turns instructions into code.
pub(super) struct Emitter<'a> {
    builder: &'a Builder,
    homes: Vec<Home>,
    pub code: Code,
    interleave: usize,
    /// Distance of rows in memory, in bytes.
    row_bytes: usize,
    single: bool,
    group_of: Vec<u8>,
    held: [Value; 16],
    free: u16,
    /// The next use of each value.
    next: Vec<u32>,
    free_spills: Vec<u32>,
    pub spills: u32,
    cold: Vec<(usize, usize, Cold)>,
    /// Where all registers are saved and loaded again.
    save: usize,
    load: usize,
}

/// Calls an operation on a few lanes.
extern "sysv64" fn call_operation(d: *mut u64, a: *const u64, b: *const u64, c: *const u64, op: u32, lanes: u32) {
    let (lanes, single) = ((lanes & 0xFF) as usize, lanes >> 8 != 0);
    let op = Op::ALL[op as usize];
    // SAFETY: the emitter gives addresses of as many lanes, and the result has rows of its own.
    let (d, args) = unsafe {
        let operand = |p| std::slice::from_raw_parts(p, lanes);
        (std::slice::from_raw_parts_mut(d, lanes), [operand(a), operand(b), operand(c)])
    };
    op.eval_lanes(d, args);
    if single && op.result() == dmci_ops::Type::Real {
        d.iter_mut().for_each(|bits| *bits = dmci_ops::op::single(*bits));
    }
}

/// Calls a slow function where a bit is not set.
extern "sysv64" fn call_slow(x: *const f64, y: *const f64, d: *mut f64, set: u32, slow: *const ()) {
    // SAFETY: the emitter puts the address of such a function into the code.
    let slow: Slow = unsafe { std::mem::transmute(slow) };
    for lane in (0..4).filter(|lane| set >> lane & 1 == 0) {
        // SAFETY: the emitter gives addresses of four lanes.
        unsafe { *d.add(lane) = slow(*x.add(lane), *y.add(lane)) };
    }
}

impl<'a> Emitter<'a> {
    pub fn new(builder: &'a Builder, interleave: usize, row_bytes: usize, single: bool) -> Self {
        let mut code = Code::default();
        for bits in &builder.constants {
            (0..4).for_each(|_| code.raw(&bits.to_le_bytes()));
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
            held: [NONE; 16],
            free: 0,
            next: vec![NO_USE; values],
            free_spills: Vec::new(),
            spills: 0,
            cold: Vec::new(),
            save: 0,
            load: 0,
        };
        emitter.save = emitter.code.position();
        for r in 0..16 {
            let at = Place::Memory { base: RBP, offset: r as i32 * VECTOR as i32 };
            emitter.code.vector(STORE, r, 0, at, None);
        }
        emitter.code.raw(&[0xC5, 0xF8, 0x77, 0xC3]);
        emitter.load = emitter.code.position();
        for r in 0..16 {
            let at = Place::Memory { base: RBP, offset: r as i32 * VECTOR as i32 };
            emitter.code.vector(LOAD_UNALIGNED, r, 0, at, None);
        }
        emitter.code.raw(&[0xC3]);
        emitter
    }

    /// A function that runs some of the instructions for all lanes; where it begins.
    pub fn function(&mut self, range: Range<usize>) -> usize {
        let start = self.code.position();
        // Six registers are kept for the caller; the stack is aligned.
        self.code.raw(&[0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, 0x48, 0x83, 0xEC, 8]);
        for (to, from) in [(RBX, RDI), (R13, RSI), (R14, RDX), (RBP, RCX)] {
            self.code.move_general(to, from);
        }
        let top = self.code.position();
        self.straight_line(range);
        self.code.add_general(RBX, (VECTOR * self.interleave) as i32);
        self.code.add_general(R14, (16 * self.interleave) as i32);
        self.code.raw(&[0x4C, 0x39, 0xEB, 0x0F, 0x82, 0, 0, 0, 0]);
        self.code.land(self.code.position() - 4, top);
        self.code.raw(&[0xC5, 0xF8, 0x77, 0x48, 0x83, 0xC4, 8]);
        self.code.raw(&[0x41, 0x5F, 0x41, 0x5E, 0x41, 0x5D, 0x41, 0x5C, 0x5D, 0x5B, 0xC3]);
        self.cold_code();
        start
    }

    fn straight_line(&mut self, range: Range<usize>) {
        self.free = ((1u32 << (16 / self.interleave)) - 1) as u16;
        self.held = [NONE; 16];
        // What nothing needs is left out; each use knows the next one.
        let builder = self.builder;
        let instructions = &builder.instructions[range];
        let mut later = vec![[NO_USE; 4]; instructions.len()];
        let mut needed = vec![true; instructions.len()];
        for (i, instruction) in instructions.iter().enumerate().rev() {
            let result = instruction.result;
            if result != NONE && self.next[result.0 as usize] == NO_USE {
                needed[i] = false;
                continue;
            }
            for (k, v) in instruction.operands.iter().enumerate().filter(|(_, v)| **v != NONE) {
                later[i][k] = self.next[v.0 as usize];
            }
            for v in instruction.operands.iter().filter(|v| **v != NONE) {
                self.next[v.0 as usize] = i as u32;
            }
        }
        for (i, instruction) in instructions.iter().enumerate().filter(|(i, _)| needed[*i]) {
            for (k, v) in instruction.operands.iter().enumerate().filter(|(_, v)| **v != NONE) {
                self.next[v.0 as usize] = later[i][k];
            }
            self.instruction(instruction);
            // Only now: nothing may go to memory that this instruction has read.
            for v in instruction.operands.iter().filter(|v| **v != NONE) {
                self.forget_if_dead(*v);
            }
        }
        for v in self.held.iter().filter(|v| **v != NONE) {
            self.group_of[v.0 as usize] = NO_GROUP;
        }
        // Constants may be used again by another function.
        self.next.fill(NO_USE);
    }

    fn forget_if_dead(&mut self, v: Value) {
        if self.next[v.0 as usize] != NO_USE {
            return;
        }
        self.release(v);
        if let Home::Spill(s) = self.homes[v.0 as usize] {
            self.homes[v.0 as usize] = Home::Nowhere;
            self.free_spills.push(s);
        }
    }

    /// The register group of a value is free again.
    fn release(&mut self, v: Value) {
        let group = std::mem::replace(&mut self.group_of[v.0 as usize], NO_GROUP);
        if group != NO_GROUP {
            self.held[group as usize] = NONE;
            self.free |= 1 << group;
        }
    }

    fn is_dying(&self, v: Value) -> bool {
        self.next[v.0 as usize] == NO_USE
    }

    fn register(&self, group: u8, copy: usize) -> u8 {
        group * self.interleave as u8 + copy as u8
    }

    fn home(&self, home: Home, copy: usize) -> Place {
        let at = |base, bytes: usize| Place::Memory { base, offset: (bytes + copy * VECTOR) as i32 };
        match home {
            Home::Constant(n) => Place::Constant(n * VECTOR as u32),
            Home::Row(row) => at(RBX, row as usize * self.row_bytes),
            Home::Spill(s) => at(RBP, SPILLS_AT + s as usize * VECTOR * self.interleave),
            // Every value that is used was made before.
            Home::Nowhere => at(RBP, 0),
        }
    }

    /// Where a copy of a value is now.
    fn place(&self, v: Value, copy: usize) -> Place {
        match self.group_of[v.0 as usize] {
            NO_GROUP => self.home(self.homes[v.0 as usize], copy),
            group => Place::Register(self.register(group, copy)),
        }
    }

    fn spill_slot(&mut self) -> u32 {
        self.free_spills.pop().unwrap_or_else(|| {
            self.spills += 1;
            self.spills - 1
        })
    }

    fn spill(&mut self, v: Value) {
        if self.homes[v.0 as usize] == Home::Nowhere {
            let home = Home::Spill(self.spill_slot());
            self.homes[v.0 as usize] = home;
            let group = self.group_of[v.0 as usize];
            for copy in 0..self.interleave {
                self.code.vector(STORE, self.register(group, copy), 0, self.home(home, copy), None);
            }
        }
        self.release(v);
    }

    /// The held value that is used last, outside of some groups.
    fn victim(&self, keep: u16) -> Option<Value> {
        let groups = (0..16 / self.interleave).filter(|g| keep >> g & 1 == 0);
        groups.map(|g| self.held[g]).filter(|v| *v != NONE).max_by_key(|v| self.next[v.0 as usize])
    }

    /// A group for a value; those in `keep` stay as they are.
    fn take(&mut self, v: Value, keep: u16) -> u8 {
        if self.free & !keep == 0
            && let Some(victim) = self.victim(keep)
        {
            self.spill(victim);
        }
        let group = (self.free & !keep).trailing_zeros() as u8;
        self.free &= !(1 << group);
        self.held[group as usize] = v;
        self.group_of[v.0 as usize] = group;
        group
    }

    fn mask_of(&self, values: &[Value]) -> u16 {
        let groups = values.iter().filter(|v| **v != NONE).map(|v| self.group_of[v.0 as usize]);
        groups.filter(|g| *g != NO_GROUP).fold(0, |mask, g| mask | 1 << g)
    }

    /// Brings a value into registers; the operands of its instruction stay there.
    fn bring(&mut self, v: Value, operands: &[Value]) {
        if self.group_of[v.0 as usize] != NO_GROUP {
            return;
        }
        let home = self.homes[v.0 as usize];
        let group = self.take(v, self.mask_of(operands));
        for copy in 0..self.interleave {
            self.code.vector(LOAD, self.register(group, copy), 0, self.home(home, copy), None);
        }
    }

    /// Brings a value into registers if that pays, since it will be used again soon.
    fn bring_if_useful(&mut self, v: Value, operands: &[Value]) {
        let i = v.0 as usize;
        let constant = matches!(self.homes[i], Home::Constant(_));
        if self.group_of[i] != NO_GROUP || self.is_dying(v) || constant {
            return;
        }
        let keep = self.mask_of(operands);
        let room = self.free & !keep != 0
            || self.victim(keep).is_some_and(|victim| self.next[victim.0 as usize] > self.next[i]);
        if room {
            self.bring(v, operands);
        }
    }

    /// A group for the result; operands that die make room.
    fn result(&mut self, v: Value, operands: &[Value]) -> u8 {
        for &o in operands.iter().filter(|o| **o != NONE) {
            if self.is_dying(o) {
                self.release(o);
            }
        }
        self.take(v, self.mask_of(operands))
    }

    fn instruction(&mut self, instruction: &Instruction) {
        let all = instruction.operands;
        let [a, b, c, _] = all;
        let d = instruction.result;
        match instruction.action {
            Action::Binary(op, exchange) => {
                let swap = exchange && self.group_of[a.0 as usize] == NO_GROUP;
                let (a, b) = if swap { (b, a) } else { (a, b) };
                self.two_operands(op, None, d, a, b);
            }
            Action::Compare(how) => self.two_operands(plain(0xC2), Some(how), d, a, b),
            Action::Unary(op, byte) => {
                self.bring_if_useful(a, &all);
                let from = self.places(a);
                let group = self.result(d, &all);
                for copy in 0..self.interleave {
                    self.code.vector(op, self.register(group, copy), 0, from[copy], byte);
                }
            }
            Action::Shift(extension, by) => {
                self.bring(a, &all);
                let from = self.places(a);
                let group = self.result(d, &all);
                for copy in 0..self.interleave {
                    let to = self.register(group, copy);
                    self.code.vector(plain(0x73), extension, to, from[copy], Some(by));
                }
            }
            Action::Blend => {
                self.bring(a, &all);
                self.bring(c, &all);
                self.bring_if_useful(b, &all);
                let [mask, set, other] = [a, b, c].map(|v| self.places(v));
                let group = self.result(d, &all);
                let op = Opcode { map: 3, ..plain(0x4B) };
                for copy in 0..self.interleave {
                    let byte = number(mask[copy]) << 4;
                    self.code.vector(op, self.register(group, copy), number(other[copy]), set[copy], Some(byte));
                }
            }
            Action::Fused { negated } => self.fused(d, a, b, c, negated),
            Action::Single => {
                self.bring_if_useful(a, &all);
                let from = self.places(a);
                let group = self.result(d, &all);
                for copy in 0..self.interleave {
                    let r = self.register(group, copy);
                    self.code.vector(plain(0x5A), r, 0, from[copy], None);
                    self.code.vector(Opcode { prefix: 0, ..plain(0x5A) }, r, 0, Place::Register(r), None);
                }
            }
            Action::Store { row } => {
                self.bring(a, &all);
                for copy in 0..self.interleave {
                    let to = self.home(Home::Row(row), copy);
                    self.code.vector(STORE, number(self.place(a, copy)), 0, to, None);
                }
            }
            Action::Guard { outcome, index } => {
                self.bring(a, &all);
                for copy in 0..self.interleave {
                    self.code.vector(SIGN_BITS, RAX, 0, self.place(a, copy), None);
                    self.code.raw(if outcome { &[0x83, 0xF8, 15] } else { &[0x83, 0xF8, 0] });
                    let jump = self.code.jump_unless_equal();
                    self.cold.push((jump, self.code.position(), Cold::Guard { copy, outcome, index }));
                }
            }
            Action::Usual(slow) => self.usual(d, all, slow),
            Action::Call(op) => self.call(d, op, &all[..op.operands().len()]),
        }
    }

    fn places(&self, v: Value) -> [Place; 4] {
        let mut places = [Place::Register(0); 4];
        (0..self.interleave).for_each(|copy| places[copy] = self.place(v, copy));
        places
    }

    fn two_operands(&mut self, op: Opcode, byte: Option<u8>, d: Value, a: Value, b: Value) {
        self.bring(a, &[a, b]);
        self.bring_if_useful(b, &[a, b]);
        let (first, last) = (self.places(a), self.places(b));
        let group = self.result(d, &[a, b]);
        for copy in 0..self.interleave {
            self.code.vector(op, self.register(group, copy), number(first[copy]), last[copy], byte);
        }
    }

    /// One operand is overwritten: one that dies if there is one, else a copy.
    fn fused(&mut self, d: Value, a: Value, b: Value, c: Value, negated: bool) {
        let all = [a, b, c];
        let once = |v: Value| all.iter().filter(|o| **o == v).count() == 1;
        let resident = |this: &Self, v: Value| this.group_of[v.0 as usize] != NO_GROUP;
        // At most one operand stays in memory: a constant, or one that is not used again.
        let outside = |this: &Self, v: Value| !resident(this, v) && once(v);
        let constant = |this: &Self, v: Value| matches!(this.homes[v.0 as usize], Home::Constant(_));
        let candidates = || [c, b, a].into_iter().filter(|v| outside(self, *v));
        let stays = candidates()
            .find(|v| constant(self, *v))
            .or_else(|| candidates().find(|v| self.is_dying(*v)))
            .unwrap_or(NONE);
        for v in all {
            if v != stays {
                self.bring(v, &all);
            }
        }
        let dying = |this: &Self, v: Value| resident(this, v) && this.is_dying(v) && once(v);
        let [pa, pb, pc] = all.map(|v| self.places(v));
        let form = |base: u8| Opcode { map: 2, prefix: 1, wide: true, code: base + if negated { 4 } else { 0 } };
        let (by_132, by_213, by_231) = (form(0x98), form(0xA8), form(0xB8));
        // The destination, the operand in the middle, the last one, and the form.
        let overwritten = [c, a, b].into_iter().find(|v| dying(self, *v));
        let target = overwritten.unwrap_or(if stays == NONE { c } else { stays });
        let (op, middle, last) = match target {
            t if t == c && b == stays => (by_231, pa, pb),
            t if t == c => (by_231, pb, pa),
            t if t == a && b == stays => (by_132, pc, pb),
            t if t == a => (by_213, pb, pc),
            _ if a == stays => (by_132, pc, pa),
            _ => (by_213, pa, pc),
        };
        let group = match overwritten {
            Some(v) => {
                let group = self.group_of[v.0 as usize];
                self.release(v);
                self.free &= !(1 << group);
                self.held[group as usize] = d;
                self.group_of[d.0 as usize] = group;
                group
            }
            None => {
                let from = if target == c {
                    pc
                } else if target == a {
                    pa
                } else {
                    pb
                };
                let group = self.take(d, self.mask_of(&all));
                for copy in 0..self.interleave {
                    self.code.vector(LOAD, self.register(group, copy), 0, from[copy], None);
                }
                group
            }
        };
        for copy in 0..self.interleave {
            self.code.vector(op, self.register(group, copy), number(middle[copy]), last[copy], None);
        }
    }

    fn usual(&mut self, d: Value, all: [Value; 4], slow: Slow) {
        let [fast, m, x, y] = all;
        self.bring(fast, &all);
        self.bring(m, &all);
        let [from, mask, xs, ys] = [fast, m, x, y].map(|v| self.places(v));
        let group = if self.is_dying(fast) && x != fast && y != fast {
            let group = self.group_of[fast.0 as usize];
            self.release(fast);
            self.free &= !(1 << group);
            self.held[group as usize] = d;
            self.group_of[d.0 as usize] = group;
            group
        } else {
            let group = self.take(d, self.mask_of(&all));
            for copy in 0..self.interleave {
                self.code.vector(LOAD, self.register(group, copy), 0, from[copy], None);
            }
            group
        };
        for copy in 0..self.interleave {
            self.code.vector(SIGN_BITS, RAX, 0, mask[copy], None);
            self.code.raw(&[0x83, 0xF8, 15]);
            let jump = self.code.jump_unless_equal();
            let cold = Cold::Usual { result: self.register(group, copy), x: xs[copy], y: ys[copy], slow };
            self.cold.push((jump, self.code.position(), cold));
        }
    }

    /// A call: all values go to memory, and the result is found there.
    fn call(&mut self, d: Value, op: Op, operands: &[Value]) {
        for group in 0..16 / self.interleave {
            let v = self.held[group];
            if v != NONE {
                if self.is_dying(v) && !operands.contains(&v) { self.release(v) } else { self.spill(v) }
            }
        }
        let home = Home::Spill(self.spill_slot());
        self.homes[d.0 as usize] = home;
        let mut addresses = [home; MAX_ARITY];
        for (k, v) in operands.iter().enumerate() {
            addresses[k] = self.homes[v.0 as usize];
        }
        for (k, register) in [RSI, RDX, RCX].into_iter().enumerate() {
            match (addresses[k], self.home(addresses[k], 0)) {
                (Home::Constant(_), constant) => {
                    let at = 512 + k * ARGUMENT;
                    self.code.vector(LOAD, 0, 0, constant, None);
                    for copy in 0..self.interleave {
                        let to = Place::Memory { base: RBP, offset: (at + copy * VECTOR) as i32 };
                        self.code.vector(STORE, 0, 0, to, None);
                    }
                    self.code.address(register, RBP, at as i32);
                }
                (_, Place::Memory { base, offset }) => self.code.address(register, base, offset),
                _ => {}
            }
        }
        if let Place::Memory { base, offset } = self.home(home, 0) {
            self.code.address(RDI, base, offset);
        }
        self.code.constant_general(R8, op as u64);
        self.code.constant_general(R9, (4 * self.interleave + 256 * self.single as usize) as u64);
        self.code.raw(&[0xC5, 0xF8, 0x77]);
        self.code.constant_general(RAX, call_operation as *const () as u64);
        self.code.call_rax();
    }

    fn cold_code(&mut self) {
        for (jump, back, cold) in std::mem::take(&mut self.cold) {
            self.code.land(jump, self.code.position());
            match cold {
                Cold::Guard { copy, outcome, index } => {
                    if outcome {
                        self.code.raw(&[0x83, 0xF0, 15]);
                    }
                    for lane in 0..4 {
                        // If the bit is set and no guard failed before, note this one.
                        let at = ((copy * 4 + lane) * 4) as i32;
                        self.code.raw(&[0xA8, 1 << lane, 0x74, 21]);
                        self.code.raw(&[0x41, 0x83, 0xBE]);
                        self.code.raw(&at.to_le_bytes());
                        self.code.raw(&[0xFF, 0x75, 11]);
                        self.code.raw(&[0x41, 0xC7, 0x86]);
                        self.code.raw(&at.to_le_bytes());
                        self.code.raw(&index.to_le_bytes());
                    }
                }
                Cold::Usual { result, x, y, slow } => {
                    self.code.call(self.save);
                    for (register, place) in [(RDI, x), (RSI, y), (RDX, Place::Register(result))] {
                        match place {
                            Place::Register(r) => self.code.address(register, RBP, r as i32 * VECTOR as i32),
                            Place::Memory { base, offset } => self.code.address(register, base, offset),
                            Place::Constant(at) => {
                                // The address of a constant, from here.
                                self.code.raw(&[0x48, 0x8D, (register & 7) << 3 | 5]);
                                let end = self.code.position() + 4;
                                self.code.raw(&(at as i32 - end as i32).to_le_bytes());
                            }
                        }
                    }
                    self.code.raw(&[0x89, 0xC1]);
                    self.code.constant_general(R8, slow as *const () as u64);
                    self.code.constant_general(RAX, call_slow as *const () as u64);
                    self.code.call_rax();
                    self.code.call(self.load);
                }
            }
            let jump = self.code.jump();
            self.code.land(jump, back);
        }
    }
}

/// The number of a register.
fn number(place: Place) -> u8 {
    match place {
        Place::Register(r) => r,
        _ => 0,
    }
}
