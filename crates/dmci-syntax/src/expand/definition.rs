//! `define`: its parts, and the value that it gives to its name.

use super::expander::Expander;
use dmci_value::{Error, SpanId, Symbol, Value};

/// Arrows of a curried definition such as `(define ((f a) b) ...)`.
const MAX_CURRY: usize = 1000;

/// A `define` form taken apart.
#[derive(Clone, Copy)]
pub(super) struct Definition {
    pub form: Value,
    pub symbol: Symbol,
    /// Place of the cell whose car is the name.
    pub at: SpanId,
    /// The name, or the pattern of a call such as `(f x)`.
    target: Value,
    /// What follows it.
    rest: Value,
}

impl Expander<'_> {
    pub fn parse_define(&self, form: Value) -> Result<Definition, Error> {
        let (n, operands) = self.operands_of(form, 2, usize::MAX)?;
        let (target, rest) = self.heap.uncons(operands).unwrap_or((Value::NIL, Value::NIL));
        let (mut cell, mut name) = (operands, target);
        for _ in 0..MAX_CURRY {
            let Some((inner, _)) = self.heap.uncons(name) else { break };
            (cell, name) = (name, inner);
        }
        match name.as_symbol() {
            Some(_) if target.is_symbol() && n != 2 => Err(self.wrong_shape(form)),
            Some(symbol) => Ok(Definition { form, symbol, at: self.heap.place(cell), target, rest }),
            None => Err(self.wrong_part(form, "a name", cell)),
        }
    }

    /// The core form of the value. The names must be bound already.
    pub fn definition_value(&mut self, definition: Definition) -> Value {
        if !definition.target.is_pair() {
            return self.expand_car(definition.rest, false);
        }
        let form = definition.form;
        self.deeper(|x| x.protected(form, SpanId(0), |x| x.defined_procedure(definition)))
    }

    fn defined_procedure(&mut self, definition: Definition) -> Result<Value, Error> {
        let form = definition.form;
        let mut formals = Vec::new();
        let mut target = definition.target;
        while let Some((inner, parameters)) = self.heap.uncons(target) {
            formals.push(parameters);
            target = inner;
        }
        let mark = self.scopes.mark();
        for parameters in formals.iter_mut().rev() {
            self.scopes.open();
            *parameters = self.bind_formals(form, *parameters)?;
        }
        let mut core = self.body(form, definition.rest, false)?;
        self.scopes.close(mark);
        for parameters in formals {
            core = self.lambda(parameters, core, self.heap.place(form));
        }
        Ok(core)
    }
}
