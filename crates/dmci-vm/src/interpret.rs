//! The instruction loop.
//!
//! Registers and instructions are reached through raw pointers: measured on `fib`, bounds checks on
//! both cost a third of the time. What makes that sound: code comes from our own generator, which
//! keeps every register below `Code::registers` and every jump inside the function; entering a
//! procedure makes room for all its registers; codes are never removed while the machine runs; and
//! whatever may move the stack (growing it) or change the frame is followed by `load!`.

use crate::calls::Step;
use crate::loops::Head;
use crate::machine::Vm;
use crate::prims;
use crate::traced;
use dmci_compile::bytecode::{HEADER, Instr, Reg};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Kind, Value, num};

impl Vm {
    /// Enters the procedure in the current frame with `n` arguments and runs until the stack is empty.
    pub(crate) fn interpret(&mut self, n: usize) -> Result<Value, Error> {
        let alarm = self.world.heap.alarm.clone();
        dmci_limits::within(&alarm, || self.start(n))
    }

    fn start(&mut self, n: usize) -> Result<Value, Error> {
        match self.enter(n, false) {
            Ok(Step::Go) => {}
            Ok(Step::Done(v)) => return Ok(v),
            Err(e) => {
                if let Step::Done(v) = self.deliver(e)? {
                    return Ok(v);
                }
            }
        }
        if self.world.numerics.single { self.run::<true, false>() } else { self.run::<false, false>() }
    }

    /// Goes on at `code`, `pc`, `fp`. In single precision the loop leaves all arithmetic on reals to
    /// `traced`, which rounds. In an arm of a decision it stops where the arm may meet the other.
    pub(crate) fn run<const SINGLE: bool, const ARM: bool>(&mut self) -> Result<Value, Error> {
        let mut start: *const Instr;
        let mut ip: *const Instr;
        let mut regs: *mut Value;
        let mut frame: usize;
        let constants = self.constants.as_ptr();

        macro_rules! load {
            () => {{
                let code = &self.codes[self.code as usize].code;
                start = code.instrs.as_ptr();
                frame = code.registers as usize;
                // SAFETY: `pc` is an index into `instrs`; `fp` is inside the stack (see the module comment).
                unsafe {
                    ip = start.add(self.pc);
                    regs = self.stack.as_mut_ptr().add(self.fp);
                }
            }};
        }
        macro_rules! get {
            ($r:expr) => {
                // SAFETY: see the module comment.
                unsafe { *regs.add($r as usize) }
            };
        }
        macro_rules! set {
            ($r:expr, $v:expr) => {{
                let v = $v;
                // SAFETY: see the module comment.
                unsafe { *regs.add($r as usize) = v }
            }};
        }
        // The index of the instruction that is running (`ip` is already past it).
        macro_rules! here {
            () => {
                // SAFETY: both point into the same function's instructions.
                unsafe { ip.offset_from(start) as usize - 1 }
            };
        }
        macro_rules! fail {
            ($e:expr) => {{
                self.pc = here!();
                match self.deliver($e)? {
                    Step::Go => {
                        load!();
                        continue;
                    }
                    Step::Done(v) => return Ok(v),
                }
            }};
        }
        macro_rules! attempt {
            ($e:expr) => {
                match $e {
                    Ok(v) => {
                        if self.world.placing {
                            self.place_nodes(here!());
                        }
                        v
                    }
                    Err(e) => fail!(e),
                }
            };
        }
        macro_rules! tick {
            () => {
                self.world.heap.poll -= 1;
                if self.world.heap.poll < 0 {
                    attempt!(self.poll(self.fp + frame));
                }
            };
        }
        macro_rules! jump {
            ($to:expr) => {
                // SAFETY: jump targets are instructions of the same function.
                ip = unsafe { start.add($to as usize) }
            };
        }
        macro_rules! hop {
            ($off:expr) => {
                // SAFETY: jump targets are instructions of the same function.
                ip = unsafe { ip.offset($off as isize) }
            };
        }
        macro_rules! arithmetic {
            ($d:expr, $a:expr, $b:expr, $fix:ident, $op:tt, $slow:path) => {{
                let (a, b) = (get!($a), get!($b));
                if !SINGLE && let (Some(x), Some(y)) = (a.as_real(), b.as_real()) {
                    set!($d, Value::real_result(x $op y));
                } else if let Some(v) = a.$fix(b) {
                    set!($d, v);
                } else {
                    set!($d, attempt!($slow(&mut self.world, a, b)));
                }
            }};
        }
        // A comparison as a value, and as a test that decides.
        macro_rules! compare {
            ($d:expr, $a:expr, $b:expr, $op:tt, $slow:path) => {{
                let (a, b): (Value, Value) = ($a, $b);
                if let (Some(x), Some(y)) = (a.as_fixnum(), b.as_fixnum()) {
                    set!($d, Value::boolean(x $op y));
                } else if !SINGLE && let (Some(x), Some(y)) = (a.as_real(), b.as_real()) {
                    set!($d, Value::boolean(x $op y));
                } else {
                    set!($d, attempt!($slow(&mut self.world, a, b)));
                }
            }};
        }
        // Whether a traced boolean is true; if both arms of the branch can be recorded, the machine
        // goes on where they meet.
        macro_rules! decide {
            ($v:expr, $no:expr) => {{
                let v = $v;
                if self.world.joins && v.is_traced() {
                    let pc = here!();
                    self.pc = pc;
                    match self.join(v, pc, $no) {
                        // Arms that were tried may have made the stack grow, and so moved it.
                        // SAFETY: see the module comment.
                        Ok(None) => unsafe { regs = self.stack.as_mut_ptr().add(self.fp) },
                        Ok(Some(Step::Go)) => {
                            load!();
                            continue;
                        }
                        Ok(Some(Step::Done(v))) => return Ok(v),
                        Err(e) => fail!(e),
                    }
                }
                self.world.is_true(v)
            }};
        }
        macro_rules! unless {
            ($off:expr, $a:expr, $b:expr, $op:tt, $slow:path) => {{
                let (a, b): (Value, Value) = ($a, $b);
                let holds = if let (Some(x), Some(y)) = (a.as_fixnum(), b.as_fixnum()) {
                    x $op y
                } else if !SINGLE && let (Some(x), Some(y)) = (a.as_real(), b.as_real()) {
                    x $op y
                } else {
                    let result = attempt!($slow(&mut self.world, a, b));
                    decide!(result, (here!() as isize + 1 + $off as isize) as usize)
                };
                if !holds {
                    hop!($off);
                }
            }};
        }

        load!();
        loop {
            if ARM && self.fp == self.arms.level {
                // SAFETY: both point into the same function's instructions.
                let pc = unsafe { ip.offset_from(start) as usize };
                if self.arms.stops_at(self.code, pc) {
                    return Ok(self.meet_here(pc));
                }
            }
            // SAFETY: the last instruction of every path returns, calls in tail position or jumps.
            let instr = unsafe { *ip };
            // SAFETY: as above; one past the last instruction is never read.
            ip = unsafe { ip.add(1) };
            match instr {
                // SAFETY: constant indices were relocated when the code was loaded.
                Instr::Const { d, k } => set!(d, unsafe { *constants.add(k as usize) }),
                Instr::Int { d, i } => set!(d, Value::fixnum(i.into())),
                Instr::Unspecified { d } => set!(d, Value::UNSPECIFIED),
                Instr::Move { d, s } => set!(d, get!(s)),
                Instr::Move2 { d, s } => {
                    set!(d[0], get!(s[0]));
                    set!(d[1], get!(s[1]));
                }
                Instr::Move3 { d, s } => {
                    set!(d[0], get!(s[0]));
                    set!(d[1], get!(s[1]));
                    set!(d[2], get!(s[2]));
                }
                Instr::Capture { d, i } => set!(d, self.capture(i)),
                Instr::SelfClosure { d } => set!(d, self.stack[self.fp - 1]),
                Instr::Global { d, k } => {
                    // SAFETY: as for constants.
                    let v = self.cell_value(unsafe { *constants.add(k as usize) });
                    if v == Value::UNBOUND {
                        fail!(self.unbound(k));
                    }
                    set!(d, v);
                }
                Instr::SetGlobal { s, k } => attempt!(self.set_global(k, get!(s))),
                Instr::Define { s, k } => self.define_global(k, get!(s)),
                Instr::Cell { d, s } => {
                    let cell = self.world.heap.alloc(Kind::Cell, &[get!(s), Value::FALSE]);
                    set!(d, cell);
                }
                Instr::EmptyCell { d, k } => {
                    let name = self.constants[k as usize];
                    let cell = self.world.heap.alloc(Kind::Cell, &[Value::UNBOUND, name]);
                    set!(d, cell);
                }
                Instr::CellRef { d, c } => set!(d, self.checked_cell_value(get!(c))),
                Instr::CellRefChecked { d, c } => {
                    let v = self.checked_cell_value(get!(c));
                    if v == Value::UNBOUND {
                        fail!(self.unset(get!(c)));
                    }
                    set!(d, v);
                }
                Instr::CellSet { c, s } => {
                    if let Some(r) = self.world.heap.as_kind(get!(c), Kind::Cell) {
                        self.world.heap.store(r, 0, get!(s));
                    }
                }
                Instr::Closure { d, site } => {
                    let closure = self.make_closure(site);
                    set!(d, closure);
                }
                Instr::Patch { c, i, s } => {
                    if let Some(r) = get!(c).as_closure() {
                        self.world.heap.store(r, 1 + i as usize, get!(s));
                    }
                }
                Instr::Prim { n, d, a, p } => {
                    let from = self.fp + a as usize;
                    let args = &self.stack[from..from + n as usize];
                    let result = traced::call(&mut self.world, p.into(), args);
                    set!(d, attempt!(result));
                }
                Instr::Call { n, a } => {
                    tick!();
                    let window = self.fp + a as usize;
                    let f = get!(a as usize + HEADER - 1);
                    if let Some(r) = f.as_closure() {
                        let word = self.world.heap.field(r, 0).packed_bits();
                        let id = (word & 0xFF_FFFF) as u32;
                        let code = &self.codes[id as usize].code;
                        if code.required == n as u16 && !code.rest {
                            let delta = a as usize + HEADER;
                            let size = code.registers as usize;
                            let entry = code.instrs.as_ptr();
                            let need = self.fp + delta + size;
                            if need > self.stack.len() {
                                attempt!(self.grow_stack(need));
                                // SAFETY: see the module comment.
                                regs = unsafe { self.stack.as_mut_ptr().add(self.fp) };
                            }
                            let pc = here!() as u64 + 1;
                            // SAFETY: the window is inside the frame, and there is room for the next one.
                            unsafe {
                                let window = regs.add(a as usize);
                                *window = Value::packed(pc << 24);
                                *window.add(1) = Value::packed((delta as u64) << 24 | self.code as u64);
                                regs = window.add(HEADER);
                            }
                            self.fp += delta;
                            self.code = id;
                            (start, ip, frame) = (entry, entry, size);
                            if self.world.loops && self.may_repeat(word) {
                                self.note_head(Head::Entry(n as usize));
                            }
                            continue;
                        }
                    } else if let Some(p) = f.as_primitive()
                        && prims::is_native(p, n as usize)
                    {
                        let from = window + HEADER;
                        let args = &self.stack[from..from + n as usize];
                        let result = traced::call(&mut self.world, p, args);
                        set!(a, attempt!(result));
                        continue;
                    }
                    // Everything else: continuations, control primitives, rest arguments, errors.
                    self.pc = here!() + 1;
                    match self.call_slowly(window, n as usize) {
                        Ok(Step::Go) => load!(),
                        Ok(Step::Done(v)) => return Ok(v),
                        Err(e) => {
                            self.pc -= 1;
                            match self.deliver(e)? {
                                Step::Go => load!(),
                                Step::Done(v) => return Ok(v),
                            }
                        }
                    }
                }
                Instr::CallSelf { n: _, a } => {
                    tick!();
                    let delta = a as usize + HEADER;
                    let need = self.fp + delta + frame;
                    if need > self.stack.len() {
                        attempt!(self.grow_stack(need));
                        // SAFETY: see the module comment.
                        regs = unsafe { self.stack.as_mut_ptr().add(self.fp) };
                    }
                    let pc = here!() as u64 + 1;
                    // SAFETY: the window is inside the frame, and there is room for the next one.
                    unsafe {
                        let window = regs.add(a as usize);
                        *window = Value::packed(pc << 24);
                        *window.add(1) = Value::packed((delta as u64) << 24 | self.code as u64);
                        *window.add(2) = *regs.sub(1);
                        regs = window.add(HEADER);
                    }
                    self.fp += delta;
                    ip = start;
                }
                Instr::TailCall { n, a, place } => {
                    tick!();
                    let from = self.fp + a as usize + HEADER - 1;
                    let f = self.stack[from];
                    if place != 0 {
                        let h0 = self.stack[self.fp - 3].packed_bits();
                        self.stack[self.fp - 3] = Value::packed(h0 & !0xFF_FFFF | place as u64);
                    }
                    // A few words: cheaper one by one than by a call of memmove.
                    for i in 0..=n as usize {
                        // SAFETY: both ranges are inside the frame and its header.
                        unsafe { *regs.add(i).sub(1) = *regs.add(a as usize + HEADER - 1 + i) };
                    }
                    if let Some(r) = f.as_closure() {
                        let word = self.world.heap.field(r, 0).packed_bits();
                        let id = (word & 0xFF_FFFF) as u32;
                        let code = &self.codes[id as usize].code;
                        let meets = ARM && self.fp == self.arms.level && self.may_meet(word);
                        if code.required == n as u16 && !code.rest && !meets {
                            let need = self.fp + code.registers as usize;
                            if need > self.stack.len() {
                                attempt!(self.grow_stack(need));
                            }
                            if ARM {
                                self.pass_entry();
                            }
                            if self.world.loops && self.may_repeat(word) {
                                self.pc = here!();
                                attempt!(self.enter_head(id, n as usize));
                            }
                            self.code = id;
                            self.pc = 0;
                            load!();
                            continue;
                        }
                    } else if let Some(p) = f.as_primitive()
                        && prims::is_native(p, n as usize)
                    {
                        let args = &self.stack[self.fp..self.fp + n as usize];
                        let result = traced::call(&mut self.world, p, args);
                        let v = attempt!(result);
                        match self.return_value(v) {
                            Step::Go => load!(),
                            Step::Done(v) => return Ok(v),
                        }
                        continue;
                    }
                    self.pc = here!();
                    match self.enter(n as usize, true) {
                        Ok(Step::Go) => load!(),
                        Ok(Step::Done(v)) => return Ok(v),
                        Err(e) => match self.deliver(e)? {
                            Step::Go => load!(),
                            Step::Done(v) => return Ok(v),
                        },
                    }
                }
                Instr::Return { s } => {
                    let v = get!(s);
                    if ARM && self.fp == self.arms.level {
                        self.meet_at_return(v);
                        return Ok(Value::UNSPECIFIED);
                    }
                    // SAFETY: every frame has its header below it.
                    let h1 = unsafe { *regs.sub(2) }.packed_bits();
                    let delta = (h1 >> 24) as usize;
                    if delta != 0 {
                        // SAFETY: as above; the caller's frame begins `delta` slots below.
                        let pc = unsafe {
                            let pc = (*regs.sub(3)).packed_bits() >> 24;
                            *regs.sub(3) = v;
                            regs = regs.sub(delta);
                            pc as usize
                        };
                        self.fp -= delta;
                        let caller = (h1 & 0xFF_FFFF) as u32;
                        if caller != self.code {
                            self.code = caller;
                            let code = &self.codes[caller as usize].code;
                            start = code.instrs.as_ptr();
                            frame = code.registers as usize;
                        }
                        // SAFETY: return addresses are instructions of the caller.
                        ip = unsafe { start.add(pc) };
                        continue;
                    }
                    match self.return_value(v) {
                        Step::Go => load!(),
                        Step::Done(v) => return Ok(v),
                    }
                }
                Instr::Jump { to } => jump!(to),
                Instr::LoopTo { to } => {
                    tick!();
                    if self.world.loops {
                        let (pc, code) = (here!(), self.code);
                        self.pc = to as usize;
                        if let Err(e) = self.at_head(Head::Label(to)) {
                            self.code = code;
                            self.pc = pc;
                            fail!(e);
                        }
                        load!();
                        continue;
                    }
                    jump!(to);
                }
                Instr::BrFalse { s, to } => {
                    let v = get!(s);
                    if v == Value::FALSE || v.is_traced() && !decide!(v, to as usize) {
                        jump!(to);
                    }
                }
                Instr::Add { d, a, b } => arithmetic!(d, a, b, add_fixnums, +, traced::add),
                Instr::Sub { d, a, b } => arithmetic!(d, a, b, sub_fixnums, -, traced::sub),
                Instr::Mul { d, a, b } => arithmetic!(d, a, b, mul_fixnums, *, traced::mul),
                Instr::Div { d, a, b } => {
                    let (a, b) = (get!(a), get!(b));
                    if !SINGLE && let (Some(x), Some(y)) = (a.as_real(), b.as_real()) {
                        set!(d, Value::real_result(x / y));
                    } else {
                        set!(d, attempt!(traced::div(&mut self.world, a, b)));
                    }
                }
                Instr::AddI { d, a, i } => {
                    let a = get!(a);
                    if let Some(v) = a.add_fixnums(Value::fixnum(i.into())) {
                        set!(d, v);
                    } else {
                        set!(d, attempt!(traced::add(&mut self.world, a, Value::fixnum(i.into()))));
                    }
                }
                Instr::SubI { d, a, i } => {
                    let a = get!(a);
                    if let Some(v) = a.sub_fixnums(Value::fixnum(i.into())) {
                        set!(d, v);
                    } else {
                        set!(d, attempt!(traced::sub(&mut self.world, a, Value::fixnum(i.into()))));
                    }
                }
                Instr::NumEq { d, a, b } => compare!(d, get!(a), get!(b), ==, traced::equal),
                Instr::Lt { d, a, b } => compare!(d, get!(a), get!(b), <, traced::less),
                Instr::Gt { d, a, b } => compare!(d, get!(a), get!(b), >, traced::greater),
                Instr::Le { d, a, b } => compare!(d, get!(a), get!(b), <=, traced::less_equal),
                Instr::Ge { d, a, b } => compare!(d, get!(a), get!(b), >=, traced::greater_equal),
                Instr::UnlessNumEq { a, b, off } => unless!(off, get!(a), get!(b), ==, traced::equal),
                Instr::UnlessLt { a, b, off } => unless!(off, get!(a), get!(b), <, traced::less),
                Instr::UnlessGt { a, b, off } => unless!(off, get!(a), get!(b), >, traced::greater),
                Instr::UnlessLe { a, b, off } => unless!(off, get!(a), get!(b), <=, traced::less_equal),
                Instr::UnlessGe { a, b, off } => unless!(off, get!(a), get!(b), >=, traced::greater_equal),
                Instr::UnlessNumEqI { a, i, off } => {
                    unless!(off, get!(a), Value::fixnum(i.into()), ==, traced::equal);
                }
                Instr::UnlessLtI { a, i, off } => {
                    unless!(off, get!(a), Value::fixnum(i.into()), <, traced::less);
                }
                Instr::UnlessGtI { a, i, off } => {
                    unless!(off, get!(a), Value::fixnum(i.into()), >, traced::greater);
                }
                Instr::UnlessLeI { a, i, off } => {
                    unless!(off, get!(a), Value::fixnum(i.into()), <=, traced::less_equal);
                }
                Instr::UnlessGeI { a, i, off } => {
                    unless!(off, get!(a), Value::fixnum(i.into()), >=, traced::greater_equal);
                }
                Instr::UnlessEq { a, b, off } => {
                    let (a, b) = (get!(a), get!(b));
                    let same = if a.is_traced() || b.is_traced() {
                        let same = attempt!(self.world.eq(a, b));
                        decide!(same, (here!() as isize + 1 + off as isize) as usize)
                    } else {
                        self.is_eq(a, b)
                    };
                    if !same {
                        hop!(off);
                    }
                }
                Instr::UnlessNull { s, to } => {
                    if !get!(s).is_nil() {
                        jump!(to);
                    }
                }
                Instr::UnlessPair { s, to } => {
                    if !get!(s).is_pair() {
                        jump!(to);
                    }
                }
                Instr::IsNull { d, s } => set!(d, Value::boolean(get!(s).is_nil())),
                Instr::IsPair { d, s } => set!(d, Value::boolean(get!(s).is_pair())),
                Instr::Not { d, s } => {
                    let v = get!(s);
                    set!(
                        d,
                        if v.is_traced() { attempt!(self.world.not(v)) } else { Value::boolean(v == Value::FALSE) }
                    );
                }
                Instr::Eq { d, a, b } => {
                    let (a, b) = (get!(a), get!(b));
                    if a.is_traced() || b.is_traced() {
                        set!(d, attempt!(self.world.eq(a, b)));
                    } else {
                        set!(d, Value::boolean(self.is_eq(a, b)));
                    }
                }
                Instr::Cons { d, a, b } => {
                    let pair = self.world.heap.cons(get!(a), get!(b));
                    set!(d, pair);
                }
                Instr::Car { d, s } => match self.world.heap.car(get!(s)) {
                    Some(v) => set!(d, v),
                    None => fail!(self.world.wrong_type("car", "a pair", get!(s))),
                },
                Instr::Cdr { d, s } => match self.world.heap.cdr(get!(s)) {
                    Some(v) => set!(d, v),
                    None => fail!(self.world.wrong_type("cdr", "a pair", get!(s))),
                },
                Instr::VectorRef { d, v, i } => {
                    let (v, i) = (get!(v), get!(i));
                    if let (Some(r), Some(k)) = (self.world.heap.as_kind(v, Kind::Vector), i.as_fixnum())
                        && (k as usize) < self.world.heap.len(r)
                    {
                        set!(d, self.world.heap.field(r, k as usize));
                    } else {
                        set!(d, attempt!(self.primitive_by_name("vector-ref", &[v, i])));
                    }
                }
                Instr::VectorSet { v, i, s } => {
                    let (v, i, s) = (get!(v), get!(i), get!(s));
                    if let (Some(r), Some(k)) = (self.world.heap.as_kind(v, Kind::Vector), i.as_fixnum())
                        && (k as usize) < self.world.heap.len(r)
                    {
                        self.world.heap.store(r, k as usize, s);
                    } else {
                        attempt!(self.primitive_by_name("vector-set!", &[v, i, s]));
                    }
                }
                Instr::Note { s } => self.note(get!(s)),
            }
        }
    }

    #[inline]
    fn capture(&self, i: u16) -> Value {
        match self.stack[self.fp - 1].as_closure() {
            Some(r) => self.world.heap.field(r, 1 + i as usize),
            None => Value::UNSPECIFIED,
        }
    }

    #[inline]
    fn cell_value(&self, cell: Value) -> Value {
        match cell.as_object() {
            Some(r) => self.world.heap.field(r, 0),
            None => Value::UNBOUND,
        }
    }

    /// The content of what should be a cell: code from a file may put anything there.
    #[inline]
    fn checked_cell_value(&self, cell: Value) -> Value {
        match self.world.heap.as_kind(cell, Kind::Cell) {
            Some(r) => self.world.heap.field(r, 0),
            None => Value::UNBOUND,
        }
    }

    #[inline]
    fn is_eq(&self, a: Value, b: Value) -> bool {
        a == b && !(a.is_real() && a.as_real() != b.as_real()) || a != b && num::eqv(&self.world.heap, a, b)
    }

    fn make_closure(&mut self, site: u32) -> Value {
        let site = &self.sites[site as usize];
        let mut fields = [Value::UNSPECIFIED; 9];
        let n = site.captures.len();
        if n < fields.len() {
            fields[0] = Value::packed(site.function.into());
            for (field, &r) in fields[1..].iter_mut().zip(&site.captures) {
                *field = self.stack[self.fp + r as usize];
            }
            return self.world.heap.alloc(Kind::Closure, &fields[..=n]);
        }
        let mut fields = vec![Value::packed(site.function.into())];
        fields.extend(site.captures.iter().map(|&r: &Reg| self.stack[self.fp + r as usize]));
        self.world.heap.alloc(Kind::Closure, &fields)
    }

    fn primitive_by_name(&mut self, name: &str, args: &[Value]) -> Result<Value, Error> {
        match prims::set().number(name) {
            Some(p) => traced::call(&mut self.world, p.into(), args),
            None => Err(Diagnostic::error(ErrorCode::E9901, format!("the primitive {name} is missing"))),
        }
    }

    fn name_of_cell(&self, cell: Value) -> &str {
        let symbols = &self.world.heap.symbols;
        let name = cell.as_object().and_then(|r| self.world.heap.field(r, 1).as_symbol());
        name.map_or("a variable", |s| symbols.name(symbols.base_of(s)))
    }

    #[cold]
    fn unbound(&self, k: u32) -> Error {
        prims::unbound_variable(self.name_of_cell(self.constants[k as usize]))
    }

    #[cold]
    fn unset(&self, cell: Value) -> Error {
        prims::unset_variable(self.name_of_cell(cell))
    }

    fn set_global(&mut self, k: u32, v: Value) -> Result<(), Error> {
        let cell = self.constants[k as usize];
        if self.cell_value(cell) == Value::UNBOUND {
            return Err(prims::undefined_variable(self.name_of_cell(cell)));
        }
        self.define_global(k, v);
        Ok(())
    }

    fn define_global(&mut self, k: u32, v: Value) {
        if let Some(r) = self.constants[k as usize].as_object() {
            self.world.heap.store(r, 0, v);
        }
    }

    pub(crate) fn note(&mut self, datum: Value) {
        if let Some(place) = self.world.heap.user_place(datum) {
            let h0 = self.stack[self.fp - 3].packed_bits();
            self.stack[self.fp - 3] = Value::packed(h0 & !0xFF_FFFF | place.0 as u64);
        }
    }
}
