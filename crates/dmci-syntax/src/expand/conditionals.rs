//! Forms that choose: `if cond case and or when unless assert`.

use super::expander::Expander;
use dmci_value::{Error, SpanId, Symbol, Value};

/// A clause of `cond`, its parts expanded.
enum Arm {
    /// `(test expression ...)`
    Then(Value, Value),
    /// `(test => receiver)`
    Arrow(Value, Value),
    /// `(test)`
    Test(Value),
}

impl Expander<'_> {
    pub fn if_form(&mut self, form: Value, tail: bool) -> Result<Value, Error> {
        let (n, test_cell) = self.operands_of(form, 2, 3)?;
        let then_cell = self.heap.cdr(test_cell).unwrap_or(Value::NIL);
        let else_cell = self.heap.cdr(then_cell).unwrap_or(Value::NIL);
        let test = self.expand_car(test_cell, false);
        let then = self.expand_car(then_cell, tail);
        let otherwise = if n == 3 { self.expand_car(else_cell, tail) } else { self.nothing() };
        let same = self.heap.car(form) == Some(Value::symbol(self.k.if_))
            && self.heap.car(test_cell) == Some(test)
            && self.heap.car(then_cell) == Some(then)
            && self.heap.car(else_cell) == Some(otherwise);
        if same {
            return Ok(form);
        }
        let else_place = self.heap.place(if n == 3 { else_cell } else { form });
        let list = self.heap.cons_at(otherwise, Value::NIL, else_place);
        let list = self.heap.cons_at(then, list, self.heap.place(then_cell));
        let list = self.heap.cons_at(test, list, self.heap.place(test_cell));
        Ok(self.heap.cons_at(Value::symbol(self.k.if_), list, self.heap.place(form)))
    }

    pub fn when_form(&mut self, form: Value, sense: bool, tail: bool) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 2, usize::MAX)?;
        let place = self.heap.place(form);
        let test = self.expand_car(operands, false);
        let rest = self.heap.cdr(operands).unwrap_or(Value::NIL);
        let body = self.sequence(rest, place, tail).ok_or_else(|| self.wrong_shape(form))?;
        let nothing = self.nothing();
        let (then, otherwise) = if sense { (body, nothing) } else { (nothing, body) };
        Ok(self.if_(test, then, otherwise, place))
    }

    pub fn and_form(&mut self, form: Value, tail: bool) -> Result<Value, Error> {
        let (n, operands) = self.operands_of(form, 0, usize::MAX)?;
        let place = self.heap.place(form);
        let base = self.expand_all(operands, n, tail);
        let Some(mut core) = self.operands.get(base..).and_then(|s| s.last()).copied() else { return Ok(Value::TRUE) };
        self.operands.pop();
        while self.operands.len() > base
            && let Some(test) = self.operands.pop()
        {
            core = self.if_(test, core, Value::FALSE, place);
        }
        Ok(core)
    }

    pub fn or_form(&mut self, form: Value, tail: bool) -> Result<Value, Error> {
        let (n, operands) = self.operands_of(form, 0, usize::MAX)?;
        let place = self.heap.place(form);
        let base = self.expand_all(operands, n, tail);
        let Some(mut core) = self.operands.get(base..).and_then(|s| s.last()).copied() else { return Ok(Value::FALSE) };
        self.operands.pop();
        while self.operands.len() > base
            && let Some(test) = self.operands.pop()
        {
            core = self.test_or(test, core, place);
        }
        Ok(core)
    }

    /// Pushes the expansions of all items (without their cells); only the last is in tail position.
    fn expand_all(&mut self, list: Value, n: usize, tail: bool) -> usize {
        let base = self.operands.len();
        let mut cell = list;
        for i in 1..=n {
            let core = self.expand_car(cell, tail && i == n);
            self.operands.push(core);
            cell = self.heap.cdr(cell).unwrap_or(Value::NIL);
        }
        base
    }

    /// `((lambda (t) (if t t otherwise)) test)`.
    fn test_or(&mut self, test: Value, otherwise: Value, place: SpanId) -> Value {
        let t = Value::symbol(self.k.temp);
        let body = self.if_(t, t, otherwise, place);
        self.let_one(self.k.temp, test, body, place)
    }

    pub fn cond_form(&mut self, form: Value, tail: bool) -> Result<Value, Error> {
        let (_, clauses) = self.operands_of(form, 1, usize::MAX)?;
        let nothing = self.nothing();
        self.cond_clauses(form, clauses, nothing, tail)
    }

    /// The clauses of `cond` and `guard`; `otherwise` is what happens if none applies.
    pub fn cond_clauses(&mut self, form: Value, clauses: Value, otherwise: Value, tail: bool) -> Result<Value, Error> {
        let place = self.heap.place(form);
        let mut arms: Vec<(Arm, SpanId)> = Vec::new();
        let mut core = otherwise;
        let mut cell = clauses;
        while let Some((clause, rest)) = self.heap.uncons(cell) {
            let Some(n @ 1..) = self.length(clause) else {
                return Err(self.wrong_part(form, "a clause (test expression ...)", cell));
            };
            let body = self.heap.cdr(clause).unwrap_or(Value::NIL);
            let here = self.heap.place(clause);
            let here = if here == SpanId(0) { place } else { here };
            if self.is_word(self.heap.car(clause).unwrap_or(Value::NIL), self.k.else_) {
                if !rest.is_nil() {
                    return Err(self.wrong_part(form, "no clause after `else`", rest));
                }
                let Some(body) = self.sequence(body, here, tail) else {
                    return Err(self.wrong_part(form, "expressions after `else`", cell));
                };
                core = body;
                break;
            }
            let test = self.expand_car(clause, false);
            let arrow = n >= 2 && self.is_word(self.heap.car(body).unwrap_or(Value::NIL), self.k.arrow);
            let arm = if n == 1 {
                Arm::Test(test)
            } else if arrow {
                if n != 3 {
                    return Err(self.wrong_part(form, "one procedure after `=>`", cell));
                }
                let receiver = self.heap.cdr(body).unwrap_or(Value::NIL);
                Arm::Arrow(test, self.expand_car(receiver, false))
            } else {
                let Some(body) = self.sequence(body, here, tail) else { break };
                Arm::Then(test, body)
            };
            arms.push((arm, here));
            cell = rest;
        }
        for (arm, place) in arms.into_iter().rev() {
            core = match arm {
                Arm::Then(test, body) => self.if_(test, body, core, place),
                Arm::Test(test) => self.test_or(test, core, place),
                Arm::Arrow(test, receiver) => {
                    let t = Value::symbol(self.k.temp);
                    let call = self.list_at(&[receiver, t], place);
                    let body = self.if_(t, call, core, place);
                    self.let_one(self.k.temp, test, body, place)
                }
            };
        }
        Ok(core)
    }

    pub fn case_form(&mut self, form: Value, tail: bool) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 1, usize::MAX)?;
        let place = self.heap.place(form);
        let key_at = self.heap.place(operands);
        let key = self.expand(self.heap.car(operands).unwrap_or(Value::NIL), key_at, false);
        let clauses = self.heap.cdr(operands).unwrap_or(Value::NIL);
        // A key that is a local variable is not copied, unless a receiver could change it first.
        // A global one is: if it is unbound, the error is at the key.
        let (name, copied) = match key.as_symbol() {
            Some(name) if self.scopes.is_bound(name) && !self.has_arrow(clauses) => (name, false),
            _ => (self.k.key, true),
        };
        let key = self.placed(key, key_at);
        let key_ref = Value::symbol(name);
        let mut arms: Vec<(Value, Value, SpanId)> = Vec::new();
        let mut core = self.nothing();
        let mut cell = clauses;
        while let Some((clause, rest)) = self.heap.uncons(cell) {
            let here = self.heap.place(clause);
            let here = if here == SpanId(0) { place } else { here };
            let Some((data, body)) = self.heap.uncons(clause).filter(|_| self.length(clause).is_some()) else {
                return Err(self.wrong_part(form, "a clause ((datum ...) expression ...)", cell));
            };
            if self.is_word(data, self.k.else_) {
                if !rest.is_nil() {
                    return Err(self.wrong_part(form, "no clause after `else`", rest));
                }
                core = self.case_body(form, cell, body, key_ref, here, tail)?;
                break;
            }
            let Some(data) = self.heap.list_items(data) else {
                return Err(self.wrong_part(form, "a list of data in front of a clause", clause));
            };
            let test = self.case_test(name, &data, here);
            let body = self.case_body(form, cell, body, key_ref, here, tail)?;
            arms.push((test, body, here));
            cell = rest;
        }
        let tested = !arms.is_empty();
        for (test, body, place) in arms.into_iter().rev() {
            core = self.if_(test, body, core, place);
        }
        Ok(match (copied, tested) {
            (true, _) => self.let_one(self.k.key, key, core, place),
            (false, true) => core,
            (false, false) => self.begin(&[key, core], place),
        })
    }

    fn has_arrow(&self, clauses: Value) -> bool {
        let mut cell = clauses;
        while let Some((clause, rest)) = self.heap.uncons(cell) {
            let second = self.heap.cdr(clause).and_then(|c| self.heap.car(c));
            if second.is_some_and(|s| self.is_word(s, self.k.arrow)) {
                return true;
            }
            cell = rest;
        }
        false
    }

    fn case_test(&mut self, key: Symbol, data: &[Value], place: SpanId) -> Value {
        let key = Value::symbol(key);
        if let [datum] = data {
            let datum = self.constant(*datum, place);
            return self.call(self.k.eqv, &[key, datum], place);
        }
        let list = self.list_at(data, place);
        let list = self.strip(list);
        let list = self.quoted(list, place);
        self.call(self.k.memv, &[key, list], place)
    }

    fn case_body(
        &mut self,
        form: Value,
        cell: Value,
        body: Value,
        key: Value,
        place: SpanId,
        tail: bool,
    ) -> Result<Value, Error> {
        if self.heap.car(body).is_some_and(|s| self.is_word(s, self.k.arrow)) {
            let receiver = self.heap.cdr(body).unwrap_or(Value::NIL);
            if self.length(receiver) != Some(1) {
                return Err(self.wrong_part(form, "one procedure after `=>`", cell));
            }
            let receiver = self.expand_car(receiver, false);
            return Ok(self.list_at(&[receiver, key], place));
        }
        self.sequence(body, place, tail)
            .ok_or_else(|| self.wrong_part(form, "a clause ((datum ...) expression ...)", cell))
    }

    pub fn assert_form(&mut self, form: Value) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 1, usize::MAX)?;
        let place = self.heap.place(form);
        let (datum, rest) = self.heap.uncons(operands).unwrap_or((Value::NIL, Value::NIL));
        let test = self.expand_car(operands, false);
        let more = self.expand_list(rest);
        let datum = self.strip(datum);
        let datum = self.quoted(datum, place);
        let arguments = self.heap.cons_at(datum, more, place);
        let failed = self.heap.cons_at(Value::symbol(self.k.assertion_failed), arguments, place);
        let nothing = self.nothing();
        Ok(self.if_(test, nothing, failed, place))
    }
}
