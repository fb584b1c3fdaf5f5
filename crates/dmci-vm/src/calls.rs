//! Calls beyond the plain ones: arity, rest arguments, primitives, continuations, errors.

use crate::loops::Head;
use crate::machine::Vm;
use crate::prims::{self, Control, arguments, wrong_arity};
use crate::world::NAMED;
use dmci_compile::bytecode::HEADER;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, Kind, Ref, SpanId, Value};

/// What the machine does next.
pub(crate) enum Step {
    /// Go on at `code`, `pc`, `fp`.
    Go,
    /// The run is over.
    Done(Value),
}

/// A continuation object: frames below, how much of them, handlers, winders, then the frames.
pub(crate) const SAVED: usize = 4;

/// The frames below those of a continuation object.
pub(crate) fn below_of(heap: &Heap, k: Ref) -> (Value, usize) {
    (heap.field(k, 0), heap.field(k, 1).packed_bits() as usize)
}

impl Vm {
    /// A call that the instruction loop does not do itself; `pc` is already past it.
    pub(crate) fn call_slowly(&mut self, window: usize, n: usize) -> Result<Step, Error> {
        let delta = window + HEADER - self.fp;
        // Errors of the call itself belong to the caller, so look before the frame is pushed.
        self.check_callable(window + HEADER, n)?;
        self.stack[window] = Value::packed((self.pc as u64) << 24);
        self.stack[window + 1] = Value::packed((delta as u64) << 24 | self.code as u64);
        self.fp = window + HEADER;
        self.enter(n, false)
    }

    /// Fails unless what stands in front of the arguments can be called with them.
    fn check_callable(&self, arguments: usize, n: usize) -> Result<(), Error> {
        let f = self.stack[arguments - 1];
        if f.is_closure() {
            return self.check_arity(f, n);
        }
        if let Some(p) = f.as_primitive() {
            let row = &prims::table()[p as usize];
            if n < row.min as usize || row.max.is_some_and(|m| n > m as usize) {
                return Err(wrong_arity(row.name, row.min as usize, row.max.map(usize::from), n));
            }
            return Ok(());
        }
        if self.world.heap.as_kind(f, Kind::Continuation).is_some() {
            return Ok(());
        }
        let operators = ["+", "-", "*", "/", "<", ">", "<=", ">=", "expt"];
        let first = (n > 0).then(|| self.stack[arguments].as_primitive()).flatten();
        let help = match first.map(|p| prims::table()[p as usize].name) {
            Some(name) if operators.contains(&name) => "in Scheme the operator comes first: (* a x), not (a * x)",
            _ => "the first item of a form is called: remove the extra parentheses, or quote the list",
        };
        Err(Diagnostic::error(ErrorCode::E0304, format!("{} is not a procedure", self.world.show(f))).help(help))
    }

    fn check_arity(&self, f: Value, n: usize) -> Result<(), Error> {
        let Some(r) = f.as_closure() else { return Ok(()) };
        let word = self.world.heap.field(r, 0).packed_bits();
        if self.is_case_lambda(word) {
            return Ok(());
        }
        let code = &self.codes[(word & 0xFF_FFFF) as usize].code;
        let (required, rest) = if word & NAMED != 0 {
            let arity = self.world.heap.field(r, self.world.heap.len(r) - 1).packed_bits() as usize;
            (arity >> 1, arity & 1 == 1)
        } else {
            (code.required as usize, code.rest)
        };
        if n == required || rest && n >= required {
            return Ok(());
        }
        let name = self.world.procedure_name(f);
        Err(wrong_arity(name.as_deref().unwrap_or("the procedure"), required, (!rest).then_some(required), n))
    }

    /// Code 0 of every image is the shell of `case-lambda` procedures.
    fn is_case_lambda(&self, word: u64) -> bool {
        word & 0xFF_FFFF == 0
    }

    /// Enters the procedure in `fp - 1` with `n` arguments from `fp` on, in place of the frame or in a new one.
    pub(crate) fn enter(&mut self, mut n: usize, in_place: bool) -> Result<Step, Error> {
        loop {
            let f = self.stack[self.fp - 1];
            self.check_callable(self.fp, n)?;
            if let Some(r) = f.as_closure() {
                let word = self.world.heap.field(r, 0).packed_bits();
                if self.arms.level == self.fp && self.may_meet(word) {
                    return Ok(self.meet_at_entry(n));
                }
                if self.is_case_lambda(word) {
                    self.stack[self.fp - 1] = self.choose_clause(f, r, n)?;
                    continue;
                }
                self.pass_entry();
                let id = (word & 0xFF_FFFF) as u32;
                if self.world.loops && self.may_repeat(word) {
                    self.make_room(id, n)?;
                    if in_place {
                        self.enter_head(id, n)?;
                    } else {
                        self.note_head(Head::Entry(n));
                    }
                }
                return self.enter_closure(id, n);
            }
            if let Some(p) = f.as_primitive() {
                let row = &prims::table()[p as usize];
                let Some(control) = row.control else {
                    let args = &self.stack[self.fp..self.fp + n];
                    let result = crate::traced::call(&mut self.world, p, args)?;
                    if self.world.placing {
                        self.place_nodes(self.pc.saturating_sub(1));
                    }
                    return Ok(self.return_value(result));
                };
                match control {
                    Control::Apply => n = self.spread(n)?,
                    Control::CallCc if self.arms.running() => {
                        return Err(self.leave_arm("an arm captures a continuation"));
                    }
                    Control::CallCc => {
                        let f = self.stack[self.fp];
                        let k = self.capture_continuation();
                        self.stack[self.fp - 1] = f;
                        self.stack[self.fp] = k;
                        n = 1;
                    }
                    Control::Abort => {
                        let error = self.uncaught(self.stack[self.fp]);
                        self.world.handlers = Value::NIL;
                        return Err(error);
                    }
                    Control::Note => {
                        let datum = self.stack[self.fp];
                        let step = self.return_value(Value::UNSPECIFIED);
                        self.note(datum);
                        return Ok(step);
                    }
                    Control::Here => {
                        let place = self.place(self.pc);
                        return Ok(self.return_value(Value::fixnum(place.0.into())));
                    }
                }
                continue;
            }
            if let Some(k) = self.world.heap.as_kind(f, Kind::Continuation) {
                if self.arms.running() {
                    return Err(self.leave_arm("an arm leaves through a continuation"));
                }
                let args = &self.stack[self.fp..self.fp + n];
                let value = if n == 1 { args[0] } else { self.world.heap.alloc(Kind::Values, args) };
                return Ok(self.resume(f, k, value));
            }
        }
    }

    fn enter_closure(&mut self, id: u32, n: usize) -> Result<Step, Error> {
        self.make_room(id, n)?;
        self.take_rest(id, n);
        self.code = id;
        self.pc = 0;
        Ok(Step::Go)
    }

    /// Makes room for the registers of a procedure and for its arguments.
    fn make_room(&mut self, id: u32, n: usize) -> Result<(), Error> {
        let need = self.fp + (self.codes[id as usize].code.registers as usize).max(n + 1);
        if need > self.stack.len() {
            self.grow_stack(need)?;
        }
        Ok(())
    }

    /// Makes a list of the arguments that a procedure takes as its rest.
    pub(crate) fn take_rest(&mut self, id: u32, n: usize) {
        let code = &self.codes[id as usize].code;
        let required = code.required as usize;
        if code.rest {
            let list = self.world.heap.list(&self.stack[self.fp + required..self.fp + n]);
            self.stack[self.fp + required] = list;
        }
    }

    fn choose_clause(&self, f: Value, r: Ref, n: usize) -> Result<Value, Error> {
        let heap = &self.world.heap;
        for i in 1..heap.len(r) {
            let clause = heap.field(r, i);
            if clause.is_closure() && self.check_arity(clause, n).is_ok() {
                return Ok(clause);
            }
        }
        let name = self.world.procedure_name(f).unwrap_or_else(|| "case-lambda".into());
        Err(Diagnostic::error(ErrorCode::E0302, format!("no clause of {name} takes {}", arguments(n))))
    }

    /// `(apply f a ... list)`: the window becomes a call of `f`; returns the number of arguments.
    fn spread(&mut self, n: usize) -> Result<usize, Error> {
        let last = self.stack[self.fp + n - 1];
        let Some(items) = (if n > 1 { self.world.heap.list_items(last) } else { Some(Vec::new()) }) else {
            return Err(self.world.wrong_type("apply", "a proper list as its last argument", last));
        };
        self.world.spend(items.len());
        let fixed = n.max(2) - 2;
        let need = self.fp + fixed + items.len() + 1;
        if need > self.stack.len() {
            self.grow_stack(need)?;
        }
        self.stack.copy_within(self.fp..self.fp + 1 + fixed, self.fp - 1);
        let from = self.fp + fixed;
        self.stack[from..from + items.len()].copy_from_slice(&items);
        Ok(fixed + items.len())
    }

    /// Returns a value from the current frame.
    pub(crate) fn return_value(&mut self, v: Value) -> Step {
        if self.arms.level == self.fp {
            return self.meet_at_return(v);
        }
        let h0 = self.stack[self.fp - 3].packed_bits();
        let h1 = self.stack[self.fp - 2].packed_bits();
        let delta = (h1 >> 24) as usize;
        if delta == 0 {
            return self.return_below(v);
        }
        self.stack[self.fp - 3] = v;
        self.fp -= delta;
        self.code = (h1 & 0xFF_FFFF) as u32;
        self.pc = (h0 >> 24) as usize;
        Step::Go
    }

    // ---- continuations

    /// Moves the frames below the current one into a continuation object; the stack then holds
    /// only the current frame, and returning from it brings the frames back one by one.
    fn capture_continuation(&mut self) -> Value {
        let saved = self.fp - 1;
        let mut fields = Vec::with_capacity(SAVED + saved);
        fields.extend([self.below, Value::packed(self.below_len as u64), self.world.handlers, self.world.winders]);
        // A frame that is the first of its stack has nothing of its own to save.
        let first = (self.stack[self.fp - 2].packed_bits() >> 24) == 0;
        if first && self.below != Value::FALSE && self.place_bits(self.fp) == 0 {
            return self.world.heap.alloc(Kind::Continuation, &fields);
        }
        // Only the place of a first frame is new: it replaces that of an earlier one, as in any tail
        // call, or a loop through captures would pile up headers.
        let heap = &self.world.heap;
        if let (true, Some(k)) = (first, heap.as_kind(self.below, Kind::Continuation))
            && heap.len(k) == SAVED + 2
        {
            fields[0] = heap.field(k, 0);
            fields[1] = heap.field(k, 1);
        }
        fields.extend_from_slice(&self.stack[..saved]);
        let k = self.world.heap.alloc(Kind::Continuation, &fields);
        self.below = k;
        self.below_len = saved;
        let place = self.place_bits(self.fp);
        self.stack.copy_within(self.fp - 1..self.fp + 1, 2);
        self.stack[0] = Value::packed(place);
        self.stack[1] = Value::packed(0);
        self.fp = 3;
        k
    }

    fn place_bits(&self, fp: usize) -> u64 {
        self.stack[fp - 3].packed_bits() & 0xFF_FFFF
    }

    /// Continues where the continuation was captured, with a value.
    fn resume(&mut self, object: Value, k: Ref, v: Value) -> Step {
        let heap = &self.world.heap;
        self.world.handlers = heap.field(k, 2);
        self.world.winders = heap.field(k, 3);
        let saved = heap.len(k) - SAVED;
        if saved == 0 {
            (self.below, self.below_len) = below_of(heap, k);
        } else {
            self.below = object;
            self.below_len = saved;
        }
        self.return_below(v)
    }

    /// Returns a value into the topmost frame of the continuation object below the stack.
    fn return_below(&mut self, v: Value) -> Step {
        loop {
            let heap = &self.world.heap;
            let Some(k) = heap.as_kind(self.below, Kind::Continuation) else { return Step::Done(v) };
            let len = self.below_len;
            let word = |i: usize| heap.field(k, SAVED + i);
            let (h0, h1) = (word(len - 2).packed_bits(), word(len - 1).packed_bits());
            let delta = (h1 >> 24) as usize;
            if delta == 0 {
                (self.below, self.below_len) = below_of(heap, k);
                continue;
            }
            // The caller's registers, then the frame's header, end at `len`.
            let start = len + 1 - delta;
            let count = delta - HEADER;
            let code = (h1 & 0xFF_FFFF) as u32;
            let need = HEADER + (self.codes[code as usize].code.registers as usize).max(count + 1);
            if need > self.stack.len() {
                self.stack.resize(need, Value::UNSPECIFIED);
            }
            let place = word(start - 3).packed_bits() & 0xFF_FFFF;
            self.stack[0] = Value::packed(place);
            self.stack[1] = Value::packed(0);
            for i in 0..=count {
                self.stack[2 + i] = word(start - 1 + i);
            }
            self.stack[HEADER + count] = v;
            self.fp = HEADER;
            self.code = code;
            self.pc = (h0 >> 24) as usize;
            // The first frame of its stack has only the frames below the continuation's left.
            if word(start - 2).packed_bits() >> 24 == 0 {
                (self.below, self.below_len) = below_of(heap, k);
            } else {
                self.below_len = len - delta;
            }
            return Step::Go;
        }
    }

    // ---- errors

    /// Delivers an error that was found at `pc`: to the program's handlers, or as the end of the run.
    pub(crate) fn deliver(&mut self, mut error: Error) -> Result<Step, Error> {
        if self.arms.running() {
            self.world.shown.get_mut().clear();
            return Err(error);
        }
        let place = self.error_place(self.pc);
        // An error costs steps: handlers that fail for ever run out of fuel.
        self.world.spend(16);
        if error.is_catchable() && !self.world.handlers.is_nil() {
            self.world.pin_noted()?;
            if self.world.placing {
                self.place_nodes(self.pc);
            }
            let condition = self.world.heap.condition_from(&error, place);
            // What goes wrong with the handler itself is reported here too.
            if place.id != SpanId(0) && !self.codes[self.code as usize].user {
                let h0 = self.stack[self.fp - 3].packed_bits();
                self.stack[self.fp - 3] = Value::packed(h0 & !0xFF_FFFF | place.id.0 as u64);
            }
            return self.raise(condition);
        }
        self.world.end_with_error();
        if error.labels.is_empty()
            && let Some(span) = self.world.heap.span_of(place)
        {
            error = error.at(span);
        }
        Err(error)
    }

    /// Calls the library's `%raise-error` from the current frame; it does not return.
    fn raise(&mut self, condition: Value) -> Result<Step, Error> {
        let window = self.fp + self.codes[self.code as usize].code.registers as usize;
        let need = window + HEADER + 64;
        if need > self.stack.len() {
            self.grow_stack(need)?;
        }
        self.stack[window + 2] = self.raise_error();
        self.stack[window + 3] = condition;
        self.pc += 1;
        self.call_slowly(window, 1)
    }
}
