//! Slow paths: code behind the straight line for what hardly ever happens (guards that fail, arguments beyond the fast
//! kernel's range), and calls of operations that have no instructions of their own.

use super::emit::{ARGUMENT, ARGUMENTS_AT, Emitter, LISTS_AT};
use super::evex::{FROM_GENERAL, Masked};
use super::ir::{COMPARE, DIVIDE, Home, NONE, UNORDERED, Value};
use super::vex::*;
use crate::number::Number;
use dmci_ops::arith::Slow;
use dmci_ops::{MAX_ARITY, Op};

/// Code that the straight line jumps to and that jumps back.
pub(super) enum SlowPath {
    Guard { copy: usize, outcome: bool, index: u32 },
    Usual { result: u8, x: Place, y: Place, slow: Slow, numbers: Numbers },
    Divide { result: u8, x: Place, y: Place },
    Canonical { first: u8 },
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
    op.eval_lanes_in(single, d, args);
}

/// Calls a slow function where a bit is not set.
extern "sysv64" fn call_slow<T: Number, const LANES: usize>(
    x: *const T,
    y: *const T,
    d: *mut T,
    set: u32,
    slow: *const (),
) {
    // SAFETY: the emitter puts the address of such a function into the code.
    let slow: Slow = unsafe { std::mem::transmute(slow) };
    for lane in (0..LANES).filter(|lane| set >> lane & 1 == 0) {
        // SAFETY: the emitter gives addresses of so many lanes.
        unsafe { *d.add(lane) = T::rounded(slow((*x.add(lane)).into(), (*y.add(lane)).into())) };
    }
}

impl Emitter<'_> {
    /// A call: all values go to memory, and the result is found there.
    pub(super) fn call(&mut self, d: Value, op: Op, operands: &[Value]) {
        for v in self.masks.all() {
            if !self.is_dying(v) || operands.contains(&v) {
                self.expand(v, operands);
            }
            self.masks.release(v);
        }
        for group in 0..self.groups() {
            let v = self.held[group];
            if v != NONE {
                if self.is_dying(v) && !operands.contains(&v) { self.release(v) } else { self.spill(v) }
            }
        }
        let home = Home::Spill(self.spill_slot());
        self.homes[d.0 as usize] = home;
        // Operands beyond the arity are the first one again: never the result, which is written.
        let mut addresses = [self.homes[operands[0].0 as usize]; MAX_ARITY];
        for (k, v) in operands.iter().enumerate() {
            addresses[k] = self.homes[v.0 as usize];
        }
        for (k, register) in [RSI, RDX, RCX].into_iter().enumerate() {
            match (addresses[k], self.home(addresses[k], 0)) {
                (Home::Constant(_), constant) => {
                    self.constant_argument(register, k, constant);
                }
                (_, Place::Memory { base, offset }) => self.code.address(register, base, offset),
                _ => {}
            }
        }
        if let Place::Memory { base, offset } = self.home(home, 0) {
            self.code.address(RDI, base, offset);
        }
        self.code.constant_general(R8, op as u64);
        self.code.constant_general(R9, (self.isa.lanes() * self.interleave + 256 * self.single as usize) as u64);
        self.code.raw(&[0xC5, 0xF8, 0x77]);
        self.code.constant_general(RAX, call_operation as *const () as u64);
        self.code.call_rax();
    }

    /// Sets a general register to the address of a constant for all lanes, as an operand of a call.
    fn constant_argument(&mut self, register: u8, operand: usize, constant: Place) {
        let at = (ARGUMENTS_AT + operand * ARGUMENT) as i32;
        self.code.vector(LOAD, 0, 0, constant, None);
        for copy in 0..self.interleave {
            let to = Place::Memory { base: RBP, offset: at + (copy * self.isa.bytes()) as i32 };
            self.code.vector(STORE, 0, 0, to, None);
        }
        self.code.address(register, RBP, at);
    }

    /// Gives what is not a number in lists from one on the bits that operations give. All registers are free.
    fn canonical_lists(&mut self, first: usize) {
        let (numbers, nan, mask) = (0, 1, 1);
        let lists = self.builder.lists;
        let bits = if lists.are_single() { f32::NAN.to_bits().into() } else { f64::NAN.to_bits() };
        let on_numbers = |op: Opcode| Opcode { prefix: !lists.are_single() as u8, ..op };
        self.code.constant_general(RAX, bits);
        self.code.evex(lists.sized(FROM_GENERAL), Masked::default(), (nan, 0), Place::Register(RAX), None);
        for list in first..self.strides.len() {
            self.code.load_general(RAX, RBP, (LISTS_AT + 8 * list) as i32);
            for part in 0..self.strides[list] as usize * self.interleave * (self.lanes / lists.lanes(self.isa)) {
                let at = Place::Memory { base: RAX, offset: (part * self.isa.bytes()) as i32 };
                self.code.vector(LOAD, numbers, 0, at, None);
                self.code.vector(on_numbers(COMPARE), mask, numbers, Place::Register(numbers), Some(UNORDERED));
                self.code.evex(on_numbers(STORE), Masked { by: mask, zero: false }, (nan, 0), at, None);
            }
        }
    }

    pub(super) fn emit_slow_paths(&mut self) {
        for (jump, back, path) in std::mem::take(&mut self.slow_paths) {
            self.code.land(jump, self.code.position());
            match path {
                SlowPath::Guard { copy, outcome, index } => {
                    if outcome {
                        // The other bits: exclusive or with all of them.
                        self.code.exclusive_or_rax((1 << self.lanes) - 1);
                    }
                    for lane in 0..self.lanes {
                        // If the bit is set and no guard failed before, note this one.
                        let at = ((copy * self.lanes + lane) * 4) as i32;
                        self.code.test_rax(1 << lane);
                        self.code.raw(&[0x74, 21]);
                        self.code.raw(&[0x41, 0x83, 0xBE]);
                        self.code.raw(&at.to_le_bytes());
                        self.code.raw(&[0xFF, 0x75, 11]);
                        self.code.raw(&[0x41, 0xC7, 0x86]);
                        self.code.raw(&at.to_le_bytes());
                        self.code.raw(&index.to_le_bytes());
                    }
                }
                SlowPath::Canonical { first } => self.canonical_lists(first as usize),
                SlowPath::Divide { result, x, y } => {
                    self.code.vector(LOAD, result, 0, x, None);
                    self.code.vector(DIVIDE, result, result, y, None);
                }
                SlowPath::Usual { result, x, y, slow, numbers } => {
                    self.code.call(self.save);
                    for (register, place) in [(RDI, x), (RSI, y), (RDX, Place::Register(result))] {
                        match place {
                            Place::Register(r) => {
                                self.code.address(register, RBP, r as i32 * self.isa.bytes() as i32);
                            }
                            Place::Memory { base, offset } => self.code.address(register, base, offset),
                            Place::Constant(_) | Place::Vector(_) => {
                                self.constant_argument(register, (register == RSI) as usize, place)
                            }
                        }
                    }
                    self.code.raw(&[0x89, 0xC1]);
                    self.code.constant_general(R8, slow as *const () as u64);
                    let call = match (numbers.are_single(), numbers.lanes(self.isa)) {
                        (false, 4) => call_slow::<f64, 4> as *const (),
                        (false, _) => call_slow::<f64, 8> as *const (),
                        (true, 4) => call_slow::<f32, 4> as *const (),
                        (true, 8) => call_slow::<f32, 8> as *const (),
                        (true, _) => call_slow::<f32, 16> as *const (),
                    };
                    self.code.constant_general(RAX, call as u64);
                    self.code.call_rax();
                    self.code.call(self.load);
                }
            }
            let jump = self.code.jump();
            self.code.land(jump, back);
        }
    }
}
