//! Control: calls through lists, continuations, several values, handlers.

use super::{Control, Primitive, at_least, fixed};
use crate::world::World;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Kind, Value};

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    control("apply", 2, None, Control::Apply),
    control("%call/cc", 1, Some(1), Control::CallCc),
    control("%abort", 1, Some(1), Control::Abort),
    control("%here", 0, Some(0), Control::Here),
    at_least("values", 0, |w, a| Ok(values(w, a))),
    at_least("%values", 0, |w, a| Ok(values(w, a))),
    fixed("%values->list", 1, |w, a| {
        Ok(match w.heap.as_kind(a[0], Kind::Values) {
            Some(r) => {
                let items: Vec<Value> = w.heap.fields(r).collect();
                w.heap.list(&items)
            }
            None => w.heap.list(a),
        })
    }),
    fixed("%check-values", 3, check_values),
    fixed("procedure?", 1, |w, a| {
        let continuation = w.heap.as_kind(a[0], Kind::Continuation).is_some();
        Ok(Value::boolean(continuation || a[0].is_closure() || a[0].as_primitive().is_some()))
    }),
    fixed("%procedure-name", 1, |w, a| {
        Ok(match w.procedure_name(a[0]) {
            Some(name) => Value::symbol(w.heap.symbols.intern(&name)),
            None => Value::FALSE,
        })
    }),
    // The clock stands still: the same program on the same inputs gives the same result.
    fixed("current-second", 0, |_, _| Ok(Value::real(0.0))),
    fixed("current-jiffy", 0, |_, _| Ok(Value::fixnum(0))),
    fixed("jiffies-per-second", 0, |_, _| Ok(Value::fixnum(1_000_000))),
    fixed("%handlers", 0, |w, _| Ok(w.handlers)),
    fixed("%set-handlers!", 1, |w, a| {
        // Not the whole list: nested handlers would make that quadratic.
        if !a[0].is_nil() && !a[0].is_pair() {
            return Err(w.wrong_type("%set-handlers!", "a list", a[0]));
        }
        w.handlers = a[0];
        Ok(Value::UNSPECIFIED)
    }),
    fixed("%winders", 0, |w, _| Ok(w.winders)),
    fixed("%set-winders!", 1, |w, a| {
        w.winders = a[0];
        Ok(Value::UNSPECIFIED)
    }),
];

const fn control(name: &'static str, min: u8, max: Option<u8>, control: Control) -> Primitive {
    Primitive { name, min, max, run: handled_by_the_machine, control: Some(control) }
}

fn handled_by_the_machine(_: &mut World, _: &[Value]) -> Result<Value, Error> {
    Err(Diagnostic::error(ErrorCode::E9901, "a control primitive was run as a plain one"))
}

/// The values, if there are as many as `let-values` and its relatives have variables for.
fn check_values(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let expected = world.index("%check-values", args[1])?;
    let got = world.list("%check-values", args[0])?.len();
    if got == expected || got > expected && args[2].is_true() {
        return Ok(args[0]);
    }
    let count = |n| if n == 1 { "1 value".to_string() } else { format!("{n} values") };
    let least = if args[2].is_true() { "at least " } else { "" };
    Err(Diagnostic::error(ErrorCode::E0313, format!("expected {least}{}, got {got}", count(expected)))
        .help("take as many values as the expression returns"))
}

fn values(world: &mut World, args: &[Value]) -> Value {
    match args {
        [one] => *one,
        several => world.heap.alloc(Kind::Values, several),
    }
}
