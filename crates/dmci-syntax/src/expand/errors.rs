//! What is wrong with a form, said in one way for all forms.

use super::expander::{Expander, MAX_MACRO_DEPTH};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, SpanId, Symbol, Value};

impl Expander<'_> {
    /// The same error, pointing to a form.
    pub fn at_form(&self, error: Error, form: Value) -> Error {
        match self.heap.pair_span(form) {
            Some(span) => error.at(span.form()),
            None => error,
        }
    }

    /// The same error, pointing to the car of the cell with this place.
    pub fn at_car(&self, error: Error, cell: SpanId) -> Error {
        match self.heap.spans.get(cell) {
            Some(span) => error.at(span.car()),
            None => error,
        }
    }

    /// The same error, pointing to the car of a cell.
    pub fn at_cell(&self, error: Error, cell: Value) -> Error {
        self.at_car(error, self.heap.place(cell))
    }

    /// The name that the user wrote.
    pub fn base_name(&self, symbol: Symbol) -> &str {
        self.heap.symbols.name(self.heap.symbols.base_of(symbol))
    }

    /// The keyword that a form starts with, as the user knows it.
    fn keyword_of(&self, form: Value) -> Symbol {
        let symbol = self.heap.car(form).and_then(Value::as_symbol).unwrap_or(self.k.begin);
        self.heap.symbols.base_of(symbol)
    }

    /// The error for a form with a wrong number of operands.
    pub fn wrong_shape(&self, form: Value) -> Error {
        let keyword = self.keyword_of(form);
        let name = self.heap.symbols.name(keyword);
        let (needs, example) = self.k.shape(keyword);
        let got = match self.length(form) {
            Some(1) => "no operands".into(),
            Some(2) => "one operand".into(),
            Some(n) => format!("{} operands", n.saturating_sub(1)),
            None => "a form that is not a proper list".into(),
        };
        let error = Diagnostic::error(ErrorCode::E0201, format!("`{name}` needs {needs}, got {got}"));
        with_example(self.at_form(error, form), example)
    }

    /// The error for a part of a form that is wrong: "`let` expected ..., got PART". The part is the car of `cell`.
    pub fn wrong_part(&self, form: Value, expected: &str, cell: Value) -> Error {
        let keyword = self.keyword_of(form);
        let name = self.heap.symbols.name(keyword);
        let (_, example) = self.k.shape(keyword);
        let got = match self.heap.car(cell) {
            Some(part) => self.shown(part),
            None => "nothing".into(),
        };
        let error = Diagnostic::error(ErrorCode::E0201, format!("`{name}` expected {expected}, got {got}"));
        let error = if cell.is_pair() { self.at_cell(error, cell) } else { self.at_form(error, form) };
        with_example(error, example)
    }

    /// A datum as the user wrote it, on one short line.
    pub fn shown(&self, datum: Value) -> String {
        match datum.as_symbol() {
            Some(symbol) => format!("`{}`", self.base_name(symbol)),
            None => crate::printer::brief(self.heap, datum).to_string(),
        }
    }

    pub fn keyword_as_variable(&self, symbol: Symbol, at: SpanId) -> Error {
        let name = self.heap.symbols.base_of(symbol);
        let shown = self.heap.symbols.name(name);
        let error = self.at_car(
            Diagnostic::error(ErrorCode::E0205, format!("`{shown}` is a keyword and cannot be used as a variable")),
            at,
        );
        match self.k.special(name) {
            Some(_) => with_example(error, self.k.shape(name).1),
            None => error.help(format!("`{shown}` is a macro: write it first in a form")),
        }
    }

    /// The error for macros that expand for ever.
    pub fn endless(&self) -> Error {
        Diagnostic::error(
            ErrorCode::E0209,
            format!("macro expansion does not end: more than {MAX_MACRO_DEPTH} steps or too large"),
        )
        .help("a recursive macro needs a rule that does not use the macro again")
    }
}

fn with_example(error: Error, example: &str) -> Error {
    if example.is_empty() { error } else { error.help(format!("for example {example}")) }
}
