//! Procedures and the `let` family.

use super::expander::Expander;
use dmci_value::{Error, SpanId, Symbol, Value};

/// One `(name value)` of a binding form.
#[derive(Clone, Copy)]
pub(super) struct Binding {
    pub name: Symbol,
    /// The list of the binding: its car is the name.
    pub list: Value,
    /// The cell whose car is the value.
    pub value: Value,
}

impl Expander<'_> {
    pub fn lambda_form(&mut self, form: Value) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 2, usize::MAX)?;
        let (formals, body) = self.heap.uncons(operands).unwrap_or((Value::NIL, Value::NIL));
        self.procedure(form, formals, body)
    }

    /// The name is for people: core procedures get theirs from where they are bound.
    pub fn named_lambda_form(&mut self, form: Value) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 2, usize::MAX)?;
        let (target, body) = self.heap.uncons(operands).unwrap_or((Value::NIL, Value::NIL));
        match self.heap.uncons(target) {
            Some((name, formals)) if name.is_symbol() => self.procedure(form, formals, body),
            _ => Err(self.wrong_part(form, "(name parameter ...)", operands)),
        }
    }

    pub fn case_lambda_form(&mut self, form: Value) -> Result<Value, Error> {
        let (_, clauses) = self.operands_of(form, 1, usize::MAX)?;
        let base = self.operands.len();
        let mut cell = clauses;
        while let Some((clause, rest)) = self.heap.uncons(cell) {
            let Some((formals, body)) = self.heap.uncons(clause) else {
                return Err(self.wrong_part(form, "a clause (parameters body ...)", cell));
            };
            let place = self.heap.place(clause);
            let mark = self.scopes.open();
            let formals = self.bind_formals(form, formals)?;
            let body = self.body(form, body, false)?;
            self.scopes.close(mark);
            let clause = self.list_at(&[formals, body], place);
            self.operands.push(clause);
            self.operands.push(cell);
            cell = rest;
        }
        let list = self.take_operands(base, Value::NIL);
        Ok(self.heap.cons_at(Value::symbol(self.k.case_lambda), list, self.heap.place(form)))
    }

    /// `(lambda formals body)`.
    pub fn procedure(&mut self, form: Value, formals: Value, body: Value) -> Result<Value, Error> {
        let mark = self.scopes.open();
        let formals = self.bind_formals(form, formals)?;
        let body = self.body(form, body, false)?;
        self.scopes.close(mark);
        Ok(self.lambda(formals, body, self.heap.place(form)))
    }

    /// Binds parameters in the innermost scope; the result has their core names.
    pub fn bind_formals(&mut self, form: Value, formals: Value) -> Result<Value, Error> {
        self.bind_formals_with(form, formals, |x, symbol, at| x.bind_variable(symbol, at))
    }

    /// The same, with another way to bind a name.
    pub fn bind_formals_with(
        &mut self,
        form: Value,
        formals: Value,
        mut bind: impl FnMut(&mut Self, Symbol, SpanId) -> Result<Symbol, Error>,
    ) -> Result<Value, Error> {
        let base = self.operands.len();
        let mut changed = false;
        let mut rest = formals;
        // A circular list ends here too: its first name comes twice.
        while let Some((item, next)) = self.heap.uncons(rest) {
            let Some(symbol) = item.as_symbol() else {
                return Err(self.wrong_part(form, "a parameter name", rest));
            };
            let name = bind(self, symbol, self.heap.place(rest))?;
            changed |= name != symbol;
            self.operands.push(Value::symbol(name));
            self.operands.push(rest);
            rest = next;
        }
        let mut tail = rest;
        if let Some(symbol) = rest.as_symbol() {
            let name = bind(self, symbol, self.heap.place(formals))?;
            changed |= name != symbol;
            tail = Value::symbol(name);
        } else if !rest.is_nil() {
            return Err(self.wrong_part(form, "a list of parameter names", self.heap.cdr(form).unwrap_or(Value::NIL)));
        }
        if !changed {
            self.operands.truncate(base);
            return Ok(formals);
        }
        Ok(self.take_operands(base, tail))
    }

    /// The bindings of a form, whose list is the car of `cell`.
    pub fn bindings(&self, form: Value, cell: Value) -> Result<Vec<Binding>, Error> {
        let list = self.heap.car(cell).unwrap_or(Value::NIL);
        let Some(n) = self.length(list) else {
            return Err(self.wrong_part(form, "a list of bindings ((name value) ...)", cell));
        };
        let mut bindings = Vec::with_capacity(n);
        let mut cell = list;
        while let Some((binding, rest)) = self.heap.uncons(cell) {
            let parts = self.heap.uncons(binding).and_then(|(name, value)| Some((name.as_symbol()?, value)));
            let Some((name, value)) = parts.filter(|&(_, value)| self.length(value) == Some(1)) else {
                return Err(self.wrong_part(form, "a binding (name value)", cell));
            };
            bindings.push(Binding { name, list: binding, value });
            cell = rest;
        }
        Ok(bindings)
    }

    /// Expands the values of bindings, in order, onto the operand stack.
    pub fn expand_values(&mut self, bindings: &[Binding]) -> usize {
        let base = self.operands.len();
        for binding in bindings {
            let core = self.expand_car(binding.value, false);
            self.operands.push(core);
            self.operands.push(binding.value);
        }
        base
    }

    /// Binds the names in the innermost scope; the list of their core names.
    pub fn bind_names(&mut self, bindings: &[Binding]) -> Result<Value, Error> {
        let base = self.operands.len();
        for binding in bindings {
            let name = self.bind_variable(binding.name, self.heap.place(binding.list))?;
            self.operands.push(Value::symbol(name));
            self.operands.push(binding.list);
        }
        Ok(self.take_operands(base, Value::NIL))
    }

    pub fn let_form(&mut self, form: Value, tail: bool) -> Result<Value, Error> {
        let (n, operands) = self.operands_of(form, 2, usize::MAX)?;
        let (first, body) = self.heap.uncons(operands).unwrap_or((Value::NIL, Value::NIL));
        if let Some(name) = first.as_symbol() {
            if n < 3 {
                return Err(self.wrong_shape(form));
            }
            return self.named_let(form, name, body);
        }
        let bindings = self.bindings(form, operands)?;
        if bindings.is_empty() {
            return self.body(form, body, tail);
        }
        let base = self.expand_values(&bindings);
        let mark = self.scopes.open();
        let formals = self.bind_names(&bindings)?;
        let body = self.body(form, body, tail)?;
        self.scopes.close(mark);
        let place = self.heap.place(form);
        let lambda = self.lambda(formals, body, place);
        let values = self.take_operands(base, Value::NIL);
        Ok(self.heap.cons_at(lambda, values, place))
    }

    pub fn let_star_form(&mut self, form: Value, tail: bool) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 2, usize::MAX)?;
        let body = self.heap.cdr(operands).unwrap_or(Value::NIL);
        let bindings = self.bindings(form, operands)?;
        let place = self.heap.place(form);
        let mark = self.scopes.mark();
        let mut steps = Vec::with_capacity(bindings.len());
        for binding in &bindings {
            let value = self.expand_car(binding.value, false);
            self.scopes.open();
            let name = self.bind_variable(binding.name, self.heap.place(binding.list))?;
            steps.push((name, value, self.heap.place(binding.value), self.heap.place(binding.list)));
        }
        let mut core = self.body(form, body, tail)?;
        self.scopes.close(mark);
        for (name, value, value_place, name_place) in steps.into_iter().rev() {
            let formals = self.heap.cons_at(Value::symbol(name), Value::NIL, name_place);
            let lambda = self.lambda(formals, core, place);
            let values = self.heap.cons_at(value, Value::NIL, value_place);
            core = self.heap.cons_at(lambda, values, place);
        }
        Ok(core)
    }

    pub fn letrec_form(&mut self, form: Value, tail: bool) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 2, usize::MAX)?;
        let body = self.heap.cdr(operands).unwrap_or(Value::NIL);
        let bindings = self.bindings(form, operands)?;
        if bindings.is_empty() {
            return self.body(form, body, tail);
        }
        let mark = self.scopes.open();
        let mut names = self.bind_names(&bindings)?;
        let base = self.operands.len();
        for binding in &bindings {
            let core = self.expand_car(binding.value, false);
            let value = self.heap.cons_at(core, Value::NIL, self.heap.place(binding.value));
            let (name, rest) = self.heap.uncons(names).unwrap_or((Value::NIL, Value::NIL));
            let pair = self.heap.cons_at(name, value, self.heap.place(binding.list));
            self.operands.push(pair);
            self.operands.push(binding.list);
            names = rest;
        }
        let body = self.body(form, body, tail)?;
        self.scopes.close(mark);
        let pairs = self.take_operands(base, Value::NIL);
        let place = self.heap.place(form);
        Ok(self.list_at(&[Value::symbol(self.k.letrec_star), pairs, body], place))
    }
}
