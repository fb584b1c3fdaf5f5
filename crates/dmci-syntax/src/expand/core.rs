//! Core forms: how each is put together.

use super::expander::Expander;
use dmci_value::{SpanId, Symbol, Value};

impl Expander<'_> {
    /// A list whose cells all have the same place.
    pub fn list_at(&mut self, items: &[Value], place: SpanId) -> Value {
        items.iter().rev().fold(Value::NIL, |list, &item| self.heap.cons_at(item, list, place))
    }

    /// `(quote datum)`.
    pub fn quoted(&mut self, datum: Value, place: SpanId) -> Value {
        self.list_at(&[Value::symbol(self.k.quote), datum], place)
    }

    /// `(lambda formals body)`.
    pub fn lambda(&mut self, formals: Value, body: Value, place: SpanId) -> Value {
        self.list_at(&[Value::symbol(self.k.lambda), formals, body], place)
    }

    /// `(lambda () body)`.
    pub fn thunk(&mut self, body: Value, place: SpanId) -> Value {
        self.lambda(Value::NIL, body, place)
    }

    /// `(if test then else)`.
    pub fn if_(&mut self, test: Value, then: Value, otherwise: Value, place: SpanId) -> Value {
        self.list_at(&[Value::symbol(self.k.if_), test, then, otherwise], place)
    }

    /// `((lambda (name) body) value)`.
    pub fn let_one(&mut self, name: Symbol, value: Value, body: Value, place: SpanId) -> Value {
        let formals = self.list_at(&[Value::symbol(name)], place);
        let lambda = self.lambda(formals, body, place);
        self.list_at(&[lambda, value], place)
    }

    /// `(letrec* ((name value)) body)`.
    pub fn letrec_one(&mut self, name: Symbol, value: Value, body: Value, place: SpanId) -> Value {
        let binding = self.list_at(&[Value::symbol(name), value], place);
        let bindings = self.list_at(&[binding], place);
        self.list_at(&[Value::symbol(self.k.letrec_star), bindings, body], place)
    }

    /// `(set! name value)`.
    pub fn set(&mut self, name: Symbol, value: Value, place: SpanId) -> Value {
        self.list_at(&[Value::symbol(self.k.set), Value::symbol(name), value], place)
    }

    /// `(define name value)`.
    pub fn define(&mut self, name: Symbol, value: Value, place: SpanId) -> Value {
        self.list_at(&[Value::symbol(self.k.define), Value::symbol(name), value], place)
    }

    /// The expressions one after the other; at least one.
    pub fn begin(&mut self, items: &[Value], place: SpanId) -> Value {
        if let [only] = items {
            return *only;
        }
        let list = self.list_at(items, place);
        self.heap.cons_at(Value::symbol(self.k.begin), list, place)
    }

    /// A call of a procedure of the system.
    pub fn call(&mut self, procedure: Symbol, arguments: &[Value], place: SpanId) -> Value {
        let list = self.list_at(arguments, place);
        self.heap.cons_at(Value::symbol(procedure), list, place)
    }

    /// Expands a list of expressions to be evaluated in order; `None` if it is empty or improper.
    pub fn sequence(&mut self, list: Value, place: SpanId, tail: bool) -> Option<Value> {
        let n = self.length(list)?;
        if n == 1 {
            return Some(self.expand_car(list, tail));
        }
        let base = self.operands.len();
        let mut cell = list;
        for i in 1..=n {
            let core = self.expand_car(cell, tail && i == n);
            self.operands.push(core);
            self.operands.push(cell);
            cell = self.heap.cdr(cell).unwrap_or(Value::NIL);
        }
        let list = self.take_operands(base, Value::NIL);
        (n > 0).then(|| self.heap.cons_at(Value::symbol(self.k.begin), list, place))
    }
}
