//! Several values at once: `let-values let*-values receive define-values`.

use super::expander::Expander;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, SpanId, Symbol, Value};
use rustc_hash::FxHashSet;

impl Expander<'_> {
    /// The bindings `(formals expression)` whose list is the car of `cell`: formals and expression cell of each.
    fn values_bindings(&self, form: Value, cell: Value) -> Result<Vec<(Value, Value)>, Error> {
        let list = self.heap.car(cell).unwrap_or(Value::NIL);
        if self.length(list).is_none() {
            return Err(self.wrong_part(form, "a list of bindings ((parameters expression) ...)", cell));
        }
        let mut bindings = Vec::new();
        let mut cell = list;
        while let Some((binding, rest)) = self.heap.uncons(cell) {
            let Some((formals, value)) = self.heap.uncons(binding).filter(|&(_, v)| self.length(v) == Some(1)) else {
                return Err(self.wrong_part(form, "a binding (parameters expression)", cell));
            };
            bindings.push((formals, value));
            cell = rest;
        }
        Ok(bindings)
    }

    /// `(%receive (lambda () producer) count rest? (lambda formals body))`: it checks the number of values.
    fn with_values(&mut self, producer: Value, formals: Value, body: Value, place: SpanId) -> Value {
        let (mut count, mut rest) = (0, formals);
        while let Some((_, cdr)) = self.heap.uncons(rest) {
            count += 1;
            rest = cdr;
        }
        let producer = self.thunk(producer, place);
        let consumer = self.lambda(formals, body, place);
        let (count, more) = (Value::fixnum(count), Value::boolean(!rest.is_nil()));
        self.call(self.k.receive_values, &[producer, count, more, consumer], place)
    }

    pub fn let_values_form(&mut self, form: Value, tail: bool) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 2, usize::MAX)?;
        let place = self.heap.place(form);
        let bindings = self.values_bindings(form, operands)?;
        let producers: Vec<Value> = bindings.iter().map(|&(_, cell)| self.expand_car(cell, false)).collect();
        let mark = self.scopes.open();
        // In the core form later producers stand inside the scope of earlier variables,
        // so all but the last get names that nothing can mention.
        let last = bindings.len();
        let mut formals = Vec::with_capacity(last);
        for (i, &(names, _)) in bindings.iter().enumerate() {
            formals.push(if i + 1 == last {
                self.bind_formals(form, names)?
            } else {
                self.bind_formals_with(form, names, |x, symbol, at| x.bind_renamed(symbol, at, true))?
            });
        }
        let mut core = self.body(form, self.heap.cdr(operands).unwrap_or(Value::NIL), tail)?;
        self.scopes.close(mark);
        for (producer, formals) in producers.into_iter().zip(formals).rev() {
            core = self.with_values(producer, formals, core, place);
        }
        Ok(core)
    }

    pub fn let_star_values_form(&mut self, form: Value, tail: bool) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 2, usize::MAX)?;
        let place = self.heap.place(form);
        let bindings = self.values_bindings(form, operands)?;
        let mark = self.scopes.mark();
        let mut steps = Vec::with_capacity(bindings.len());
        for (names, cell) in bindings {
            let producer = self.expand_car(cell, false);
            self.scopes.open();
            steps.push((producer, self.bind_formals(form, names)?));
        }
        let mut core = self.body(form, self.heap.cdr(operands).unwrap_or(Value::NIL), tail)?;
        self.scopes.close(mark);
        for (producer, formals) in steps.into_iter().rev() {
            core = self.with_values(producer, formals, core, place);
        }
        Ok(core)
    }

    pub fn receive_form(&mut self, form: Value, tail: bool) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 3, usize::MAX)?;
        let (formals, rest) = self.heap.uncons(operands).unwrap_or((Value::NIL, Value::NIL));
        let producer = self.expand_car(rest, false);
        let mark = self.scopes.open();
        let formals = self.bind_formals(form, formals)?;
        let body = self.body(form, self.heap.cdr(rest).unwrap_or(Value::NIL), tail)?;
        self.scopes.close(mark);
        Ok(self.with_values(producer, formals, body, self.heap.place(form)))
    }

    /// The names of a `define-values` form, each with the place of its cell.
    pub fn define_values_names(&self, form: Value) -> Result<Vec<(Symbol, SpanId)>, Error> {
        let (_, operands) = self.operands_of(form, 2, 2)?;
        let formals = self.heap.car(operands).unwrap_or(Value::NIL);
        let mut names: Vec<(Symbol, SpanId)> = Vec::new();
        let mut rest = formals;
        let mut seen = FxHashSet::default();
        loop {
            let (item, place, next) = match self.heap.uncons(rest) {
                Some((item, next)) => (item, self.heap.place(rest), Some(next)),
                None if rest.is_nil() => return Ok(names),
                None => (rest, self.heap.place(operands), None),
            };
            let Some(symbol) = item.as_symbol() else {
                return Err(self.wrong_part(form, "a list of names", if rest.is_pair() { rest } else { operands }));
            };
            if !seen.insert(symbol) {
                let shown = self.base_name(symbol);
                let error = Diagnostic::error(ErrorCode::E0202, format!("`{shown}` is defined twice by one form"));
                return Err(self.at_car(error, place).help("give each value a name of its own"));
            }
            names.push((symbol, place));
            match next {
                Some(next) => rest = next,
                None => return Ok(names),
            }
        }
    }

    /// The core form that assigns the values of a `define-values` form to its variables, given by
    /// their core names.
    pub fn define_values_assign(&mut self, form: Value, names: &[Symbol]) -> Value {
        let place = self.heap.place(form);
        let operands = self.heap.cdr(form).unwrap_or(Value::NIL);
        let value = self.heap.cdr(operands).unwrap_or(Value::NIL);
        let producer = self.expand_car(value, false);
        let temporaries: Vec<Symbol> = names.iter().map(|&name| self.heap.symbols.alias(name)).collect();
        let mut stores = Vec::with_capacity(names.len());
        for (&name, &temporary) in names.iter().zip(&temporaries) {
            stores.push(self.set(name, Value::symbol(temporary), place));
        }
        let body = if stores.is_empty() { self.nothing() } else { self.begin(&stores, place) };
        // The same shape as the source: a list, with or without a last name after the dot.
        let mut source = self.heap.car(operands).unwrap_or(Value::NIL);
        let mut dotted = true;
        while let Some(next) = self.heap.cdr(source) {
            source = next;
            dotted = !next.is_nil();
        }
        dotted &= source.is_symbol();
        let (listed, last) = match temporaries.split_last() {
            Some((&last, listed)) if dotted => (listed, Value::symbol(last)),
            _ => (&temporaries[..], Value::NIL),
        };
        let formals = listed.iter().rev().fold(last, |list, &t| self.heap.cons_at(Value::symbol(t), list, place));
        self.with_values(producer, formals, body, place)
    }
}
