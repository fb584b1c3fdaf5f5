//! Loops: named `let`, `do`, and the paper's `loop` with `recur`.

use super::expander::{Expander, Loop};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Symbol, Value};

impl Expander<'_> {
    /// `(let name bindings body ...)`; `rest` is the list from the bindings on.
    pub fn named_let(&mut self, form: Value, name: Symbol, rest: Value) -> Result<Value, Error> {
        let body = self.heap.cdr(rest).unwrap_or(Value::NIL);
        let bindings = self.bindings(form, rest)?;
        let place = self.heap.place(form);
        // The starting values stand outside the scope of the name, but inside it in the core form:
        // if they mention the name, the loop gets another one.
        self.watched.push((name, false));
        let base = self.expand_values(&bindings);
        let mentioned = self.watched.pop().is_some_and(|(_, mentioned)| mentioned);
        let mark = self.scopes.open();
        let name_place = self.heap.place(self.heap.cdr(form).unwrap_or(Value::NIL));
        let hides = self.scopes.has_macros() && self.scopes.is_bound(name);
        let name = self.bind_renamed(name, name_place, mentioned || hides)?;
        self.scopes.open();
        let formals = self.bind_names(&bindings)?;
        let body = self.body(form, body, false)?;
        self.scopes.close(mark);
        let lambda = self.lambda(formals, body, place);
        let values = self.take_operands(base, Value::NIL);
        let call = self.heap.cons_at(Value::symbol(name), values, place);
        Ok(self.letrec_one(name, lambda, call, place))
    }

    pub fn do_form(&mut self, form: Value, tail: bool) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 2, usize::MAX)?;
        let place = self.heap.place(form);
        let (specs, after) = self.heap.uncons(operands).unwrap_or((Value::NIL, Value::NIL));
        let (exit, commands) = self.heap.uncons(after).unwrap_or((Value::NIL, Value::NIL));
        if self.length(specs).is_none() {
            return Err(self.wrong_part(form, "a list of bindings ((name start step) ...)", operands));
        }
        let Some(1..) = self.length(exit) else {
            return Err(self.wrong_part(form, "a clause (test result ...)", after));
        };
        // Each variable: its name, the cell of its start, the cell of its step (or the name again).
        let mut variables = Vec::new();
        let mut cell = specs;
        while let Some((spec, rest)) = self.heap.uncons(cell) {
            let name = self.heap.car(spec).and_then(Value::as_symbol);
            let (Some(name), Some(n @ 2..=3)) = (name, self.length(spec)) else {
                return Err(self.wrong_part(form, "a binding (name start step)", cell));
            };
            let start = self.heap.cdr(spec).unwrap_or(Value::NIL);
            let step = if n == 3 { self.heap.cdr(start).unwrap_or(spec) } else { spec };
            variables.push((name, spec, start, step));
            cell = rest;
        }
        let starts = self.operands.len();
        for &(_, _, start, _) in &variables {
            let core = self.expand_car(start, false);
            self.operands.push(core);
            self.operands.push(start);
        }
        let mark = self.scopes.open();
        let names = self.operands.len();
        for &(name, spec, _, _) in &variables {
            let name = self.bind_variable(name, self.heap.place(spec))?;
            self.operands.push(Value::symbol(name));
            self.operands.push(spec);
        }
        let formals = self.take_operands(names, Value::NIL);
        let test = self.expand_car(exit, false);
        let results = self.heap.cdr(exit).unwrap_or(Value::NIL);
        let result = match self.sequence(results, self.heap.place(exit), tail) {
            Some(core) => core,
            None => self.nothing(),
        };
        let commands = if commands.is_nil() { None } else { self.sequence(commands, place, false) };
        let steps = self.operands.len();
        for &(_, _, _, step) in &variables {
            let core = self.expand_car(step, false);
            self.operands.push(core);
            self.operands.push(step);
        }
        self.scopes.close(mark);
        let head = Value::symbol(self.k.do_loop);
        let steps = self.take_operands(steps, Value::NIL);
        let again = self.heap.cons_at(head, steps, place);
        let again = match commands {
            Some(commands) => self.begin(&[commands, again], place),
            None => again,
        };
        let body = self.if_(test, result, again, place);
        let lambda = self.lambda(formals, body, place);
        let starts = self.take_operands(starts, Value::NIL);
        let call = self.heap.cons_at(head, starts, place);
        Ok(self.letrec_one(self.k.do_loop, lambda, call, place))
    }

    pub fn loop_form(&mut self, form: Value, _tail: bool) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 2, usize::MAX)?;
        let place = self.heap.place(form);
        let body = self.heap.cdr(operands).unwrap_or(Value::NIL);
        let bindings = self.bindings(form, operands)?;
        let base = self.expand_values(&bindings);
        let mark = self.scopes.open();
        let formals = self.bind_names(&bindings)?;
        self.loops.push(Loop { variables: bindings.len(), place });
        let body = self.body(form, body, true)?;
        self.loops.pop();
        self.scopes.close(mark);
        let lambda = self.lambda(formals, body, place);
        let values = self.take_operands(base, Value::NIL);
        let call = self.heap.cons_at(Value::symbol(self.k.loop_head), values, place);
        Ok(self.letrec_one(self.k.loop_head, lambda, call, place))
    }

    pub fn recur_form(&mut self, form: Value, tail: bool) -> Result<Value, Error> {
        let Some(innermost) = self.loops.last().copied() else {
            let error = Diagnostic::error(ErrorCode::E0208, "`recur` is used outside a loop");
            return Err(self
                .at_form(error, form)
                .help("recur continues the innermost loop: (loop ((k 0)) (if (= k 10) k (recur (+ k 1))))"));
        };
        let (n, operands) = self.operands_of(form, 0, usize::MAX)?;
        if !tail {
            let error = Diagnostic::error(
                ErrorCode::E0208,
                "`recur` must be the last thing that an iteration of the loop does",
            );
            return Err(self
                .at_form(error, form)
                .help("move the computation into the values of recur, or use a named let"));
        }
        if n != innermost.variables {
            let variables = innermost.variables;
            let error = Diagnostic::error(
                ErrorCode::E0208,
                format!("`recur` needs {variables} values, one for each variable of its loop, got {n}"),
            );
            let mut error = self.at_form(error, form);
            if let Some(span) = self.heap.spans.get(innermost.place) {
                error = error.at_with(span.form(), "the loop");
            }
            return Err(error.help("give the variables new values in the order in which the loop lists them"));
        }
        let values = self.expand_list(operands);
        Ok(self.heap.cons_at(Value::symbol(self.k.loop_head), values, self.heap.place(form)))
    }
}
