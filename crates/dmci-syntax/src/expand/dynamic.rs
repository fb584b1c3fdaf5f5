//! Delayed and dynamically bound evaluation: promises, parameters, `fluid-let`, `guard`.

use super::expander::{Expander, Meaning};
use dmci_value::{Error, SpanId, Symbol, Value};

impl Expander<'_> {
    /// `(%make-lazy (lambda () e))`, the value wrapped by `%make-forced` if it is `delay`.
    fn promise(&mut self, core: Value, wrap: bool, place: SpanId) -> Value {
        let core = if wrap { self.call(self.k.make_forced, &[core], place) } else { core };
        let thunk = self.thunk(core, place);
        self.call(self.k.make_lazy, &[thunk], place)
    }

    pub fn delay_form(&mut self, form: Value, wrap: bool) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 1, 1)?;
        let core = self.expand_car(operands, false);
        Ok(self.promise(core, wrap, self.heap.place(form)))
    }

    pub fn cons_stream_form(&mut self, form: Value) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 2, 2)?;
        let place = self.heap.place(form);
        let head = self.expand_car(operands, false);
        let rest = self.expand_car(self.heap.cdr(operands).unwrap_or(Value::NIL), false);
        let rest = self.promise(rest, true, place);
        Ok(self.call(self.k.cons, &[head, rest], place))
    }

    pub fn parameterize_form(&mut self, form: Value) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 2, usize::MAX)?;
        let (list, body) = self.heap.uncons(operands).unwrap_or((Value::NIL, Value::NIL));
        let place = self.heap.place(form);
        if self.length(list).is_none() {
            return Err(self.wrong_part(form, "a list of bindings ((parameter value) ...)", operands));
        }
        let base = self.operands.len();
        let mut cell = list;
        while let Some((binding, rest)) = self.heap.uncons(cell) {
            if self.length(binding) != Some(2) {
                return Err(self.wrong_part(form, "a binding (parameter value)", cell));
            }
            let parts = self.expand_list(binding);
            let pair = self.heap.cons_at(Value::symbol(self.k.cons), parts, self.heap.place(binding));
            self.operands.push(pair);
            self.operands.push(cell);
            cell = rest;
        }
        let pairs = self.take_operands(base, Value::NIL);
        let list = self.heap.cons_at(Value::symbol(self.k.list), pairs, place);
        let body = self.body(form, body, false)?;
        let thunk = self.thunk(body, place);
        Ok(self.call(self.k.parameterize, &[list, thunk], place))
    }

    pub fn fluid_let_form(&mut self, form: Value) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 2, usize::MAX)?;
        let place = self.heap.place(form);
        let bindings = self.bindings(form, operands)?;
        let mut variables: Vec<(Symbol, Symbol)> = Vec::with_capacity(bindings.len());
        for binding in &bindings {
            let at = self.heap.place(binding.list);
            let name = match self.meaning(binding.name) {
                Meaning::Local(name) => name,
                Meaning::Global(name) => {
                    self.check_reserved(name, at)?;
                    self.assigned.push(name);
                    self.global_name(binding.name, name)
                }
                _ => return Err(self.keyword_as_variable(binding.name, at)),
            };
            self.mention(name);
            variables.push((name, self.heap.symbols.alias(name)));
        }
        let base = self.expand_values(&bindings);
        let body = self.body(form, self.heap.cdr(operands).unwrap_or(Value::NIL), false)?;
        let body = self.thunk(body, place);
        let before = self.swap(&variables, place);
        let after = self.swap(&variables, place);
        let wind = self.library(self.k.dynamic_wind);
        let wind = self.list_at(&[wind, before, body, after], place);
        let formals: Vec<Value> = variables.iter().map(|&(_, temporary)| Value::symbol(temporary)).collect();
        let formals = self.list_at(&formals, place);
        let lambda = self.lambda(formals, wind, place);
        let values = self.take_operands(base, Value::NIL);
        Ok(self.heap.cons_at(lambda, values, place))
    }

    /// A thunk that exchanges each variable with its temporary.
    fn swap(&mut self, variables: &[(Symbol, Symbol)], place: SpanId) -> Value {
        let mut swaps = Vec::with_capacity(variables.len());
        for &(name, temporary) in variables {
            let keep = self.set(temporary, Value::symbol(name), place);
            let put = self.set(name, Value::symbol(self.k.temp), place);
            let both = self.begin(&[keep, put], place);
            swaps.push(self.let_one(self.k.temp, Value::symbol(temporary), both, place));
        }
        let body = if swaps.is_empty() { self.nothing() } else { self.begin(&swaps, place) };
        self.thunk(body, place)
    }

    pub fn guard_form(&mut self, form: Value) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 2, usize::MAX)?;
        let place = self.heap.place(form);
        let (spec, body) = self.heap.uncons(operands).unwrap_or((Value::NIL, Value::NIL));
        let symbol = self.heap.car(spec).and_then(Value::as_symbol);
        let (Some(symbol), Some(_)) = (symbol, self.length(spec)) else {
            return Err(self.wrong_part(form, "(variable clause ...)", operands));
        };
        let mark = self.scopes.open();
        let name = self.bind_variable(symbol, self.heap.place(spec))?;
        let otherwise = self.list_at(&[Value::symbol(self.k.reraise)], place);
        let clauses = self.heap.cdr(spec).unwrap_or(Value::NIL);
        let clauses = self.cond_clauses(form, clauses, otherwise, false)?;
        self.scopes.close(mark);
        let body = self.body(form, body, false)?;
        let thunk = self.thunk(body, place);
        let formals = self.list_at(&[Value::symbol(name), Value::symbol(self.k.reraise)], place);
        let handler = self.lambda(formals, clauses, place);
        Ok(self.call(self.k.guard, &[thunk, handler], place))
    }
}
