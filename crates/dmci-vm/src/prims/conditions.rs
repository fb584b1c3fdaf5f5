//! Condition objects, and the errors that the Scheme part of the library reports.

use super::hash_tables::key_not_found;
use super::{Primitive, at_least, fixed};
use crate::world::World;
use dmci_syntax::printer;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, Kind, Place, Ref, SpanId, Value};
use std::cell::RefCell;
use std::ops::Range;

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    // Message, irritants, place.
    fixed("%make-condition", 3, |w, a| {
        w.list("error", a[1])?;
        let place = Place::form(SpanId(w.index("error", a[2])? as u32));
        Ok(w.heap.condition_with(ErrorCode::E0307, a[0], a[1], place, Value::FALSE))
    }),
    fixed("error-object?", 1, |w, a| Ok(Value::boolean(w.heap.as_condition(a[0]).is_some()))),
    fixed("error-object-message", 1, |w, a| {
        let r = w.condition("error-object-message", a[0])?;
        Ok(w.heap.condition_message(r))
    }),
    fixed("error-object-irritants", 1, |w, a| {
        let r = w.condition("error-object-irritants", a[0])?;
        Ok(w.heap.condition_irritants(r))
    }),
    fixed("error-object-code", 1, |w, a| {
        let r = w.condition("error-object-code", a[0])?;
        let code = w.heap.condition_code(r);
        Ok(w.symbol_named(code.as_str()))
    }),
    fixed("condition/report-string", 1, |w, a| {
        let r = w.condition("condition/report-string", a[0])?;
        let shown = RefCell::new(Vec::new());
        let text = report(&w.heap, r, &|v, at| shown.borrow_mut().push((v, at)));
        w.pin_shown(&shown.into_inner())?;
        w.new_string(&text)
    }),
    fixed("read-error?", 1, |w, a| {
        let code = w.heap.as_condition(a[0]).map(|r| w.heap.condition_code(r));
        Ok(Value::boolean(code.is_some_and(|code| code.as_str().starts_with("E01"))))
    }),
    fixed("file-error?", 1, |_, _| Ok(Value::FALSE)),
    fixed("%wrong-type", 3, |w, a| {
        let who = w.symbol_name("%wrong-type", a[0])?;
        let what: String = w.chars("%wrong-type", a[1])?.into_iter().collect();
        Err(w.wrong_type(&who, &what, a[2]))
    }),
    fixed("%out-of-range", 3, |w, a| {
        let who = w.symbol_name("%out-of-range", a[0])?;
        let (index, length) = (w.show(a[1]), w.show(a[2]));
        Err(Diagnostic::error(ErrorCode::E0306, format!("{who}: index {index} is out of range for length {length}")))
    }),
    fixed("%key-not-found", 2, |w, a| {
        let who = w.symbol_name("%key-not-found", a[0])?;
        Err(key_not_found(w, &who, a[1]))
    }),
    fixed("%handler-returned", 1, |w, a| {
        // The place to look at is where the condition was raised.
        let place = w.heap.as_condition(a[0]).map(|r| w.heap.condition_place(r));
        w.error_place = place.filter(|p| p.id != SpanId(0));
        Err(handler_returned(w, a[0]))
    }),
    at_least("%assertion-failed", 0, |w, a| {
        let what = a.first().map_or(String::new(), |&v| format!(": {}", w.show(v)));
        Err(Diagnostic::error(ErrorCode::E0309, format!("assertion failed{what}")))
    }),
];

impl World {
    fn condition(&self, who: &str, v: Value) -> Result<Ref, Error> {
        self.object(who, "an error object", Kind::Condition, v)
    }
}

/// The text of a condition: its message, then its irritants as `write` prints them. A message that is
/// not a string, such as the name in `(error 'f "bad" x)`, is written too.
fn report(heap: &Heap, condition: Ref, traced: &dyn Fn(Value, Range<usize>)) -> String {
    let message = heap.condition_message(condition);
    let style = printer::Style { limit: LONGEST_REPORT, traced, ..printer::Style::WRITE };
    let mut text = heap.text(message).unwrap_or_else(|| printer::print(heap, message, style));
    for irritant in heap.list_items(heap.condition_irritants(condition)).unwrap_or_default() {
        if text.len() > LONGEST_REPORT {
            text.push_str(" ...");
            break;
        }
        text.push(' ');
        text.push_str(&printer::print(heap, irritant, style));
    }
    text
}

const LONGEST_REPORT: usize = 1 << 16;

fn handler_returned(world: &mut World, raised: Value) -> Error {
    let what = match world.heap.as_condition(raised) {
        Some(r) => {
            // The error is where the condition arose, which may be a variable: the call that is
            // being evaluated is a larger form.
            world.error_place = Some(world.heap.condition_place(r)).filter(|place| place.id != SpanId(0));
            let shown = RefCell::new(Vec::new());
            let text = report(&world.heap, r, &|v, _| shown.borrow_mut().push(v));
            world.note_operands(&shown.into_inner());
            format!("the error \"{text}\"")
        }
        None => format!("(raise {})", world.show(raised)),
    };
    Diagnostic::error(
        ErrorCode::E0311,
        format!("the exception handler returned from {what}, which cannot be continued"),
    )
    .help("catch it with guard, leave the handler through a continuation of call/cc, or use raise-continuable")
}
