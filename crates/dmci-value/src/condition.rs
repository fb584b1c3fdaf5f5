//! Condition objects: what `raise`d errors look like to programs that catch them.

use crate::codes::ErrorCode;
use crate::diagnostic::{Diagnostic, Error, Fault, Label, Severity};
use crate::heap::{Heap, Kind};
use crate::span::{Span, SpanId};
use crate::value::{Ref, Value};

/// Fields of a condition object, in order.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
enum Field {
    Code,
    Message,
    Irritants,
    Place,
    Help,
}

/// A place in the user's text: a whole form, or the car of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Place {
    /// The pair.
    pub id: SpanId,
    /// Its car rather than the form it starts.
    pub car: bool,
}

impl Place {
    /// The form that starts with a pair.
    pub fn form(id: SpanId) -> Place {
        Place { id, car: false }
    }

    /// The car of a pair.
    pub fn car(id: SpanId) -> Place {
        Place { id, car: true }
    }

    fn to_bits(self) -> i64 {
        (self.id.0 as i64) << 1 | self.car as i64
    }

    fn from_bits(bits: i64) -> Place {
        Place { id: SpanId((bits >> 1) as u32), car: bits & 1 == 1 }
    }
}

impl Heap {
    /// The span of a place.
    pub fn span_of(&self, place: Place) -> Option<Span> {
        let span = self.spans.get(place.id)?;
        Some(if place.car { span.car() } else { span.form() })
    }

    /// A condition object. `place` is where it was raised in the user's text.
    pub fn condition(&mut self, code: ErrorCode, message: &str, irritants: Value, place: Place) -> Value {
        let message = self.string(message);
        self.condition_with(code, message, irritants, place, Value::FALSE)
    }

    /// A condition object with any message value.
    pub fn condition_with(
        &mut self,
        code: ErrorCode,
        message: Value,
        irritants: Value,
        place: Place,
        help: Value,
    ) -> Value {
        let code = Value::symbol(self.symbols.intern(code.as_str()));
        self.alloc(Kind::Condition, &[code, message, irritants, Value::fixnum(place.to_bits()), help])
    }

    /// The condition object of an error that a primitive reported.
    pub fn condition_from(&mut self, error: &Diagnostic, place: Place) -> Value {
        let message = self.string(&error.message);
        let help = error.help.as_ref().map_or(Value::FALSE, |h| self.string(h));
        self.condition_with(error.code, message, Value::NIL, place, help)
    }

    /// The condition object behind a value.
    pub fn as_condition(&self, v: Value) -> Option<Ref> {
        self.as_kind(v, Kind::Condition)
    }

    /// Its stable code.
    pub fn condition_code(&self, r: Ref) -> ErrorCode {
        let code = self.field(r, Field::Code as usize);
        code.as_symbol().and_then(|s| ErrorCode::find(self.symbols.name(s))).unwrap_or(ErrorCode::E9901)
    }

    /// Its message (a string, or whatever the program gave to `error`).
    pub fn condition_message(&self, r: Ref) -> Value {
        self.field(r, Field::Message as usize)
    }

    /// Its irritants, a list.
    pub fn condition_irritants(&self, r: Ref) -> Value {
        self.field(r, Field::Irritants as usize)
    }

    /// Where it was raised.
    pub fn condition_place(&self, r: Ref) -> Place {
        Place::from_bits(self.field(r, Field::Place as usize).as_fixnum().unwrap_or(0))
    }

    /// The diagnostic for a condition that nobody caught; `text` is its printed message.
    pub fn condition_diagnostic(&self, r: Ref, text: String) -> Error {
        let labels = self.span_of(self.condition_place(r)).map(|span| Label { span, text: String::new() });
        Box::new(Diagnostic {
            code: self.condition_code(r),
            severity: Severity::Error,
            fault: Fault::Program,
            message: text,
            labels: labels.into_iter().collect(),
            help: self.text(self.field(r, Field::Help as usize)),
        })
    }
}
