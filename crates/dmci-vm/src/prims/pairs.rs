//! Pairs.

use super::{Primitive, fixed};
use crate::world::World;
use dmci_value::{Error, Value};

macro_rules! accessors {
    ($($name:literal)*) => { [$(fixed($name, 1, |w, a| access(w, $name, a[0]))),*] };
}

const ACCESSORS: [Primitive; 28] = accessors!(
    "caar" "cadr" "cdar" "cddr" "caaar" "caadr" "cadar" "caddr" "cdaar" "cdadr" "cddar" "cdddr" "caaaar" "caaadr"
    "caadar" "caaddr" "cadaar" "cadadr" "caddar" "cadddr" "cdaaar" "cdaadr" "cdadar" "cdaddr" "cddaar" "cddadr"
    "cdddar" "cddddr"
);

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &{
    let own = [
        fixed("cons", 2, |w, a| Ok(w.heap.cons(a[0], a[1]))),
        fixed("%cons", 2, |w, a| Ok(w.heap.cons(a[0], a[1]))),
        fixed("car", 1, |w, a| w.heap.car(a[0]).ok_or_else(|| w.wrong_type("car", "a pair", a[0]))),
        fixed("cdr", 1, |w, a| w.heap.cdr(a[0]).ok_or_else(|| w.wrong_type("cdr", "a pair", a[0]))),
        fixed("set-car!", 2, |w, a| store(w, "set-car!", 0, a)),
        fixed("set-cdr!", 2, |w, a| store(w, "set-cdr!", 1, a)),
        fixed("pair?", 1, |_, a| Ok(Value::boolean(a[0].is_pair()))),
        fixed("null?", 1, |_, a| Ok(Value::boolean(a[0].is_nil()))),
    ];
    let mut rows = [own[0]; 8 + 28];
    let mut i = 0;
    while i < rows.len() {
        rows[i] = if i < 8 { own[i] } else { ACCESSORS[i - 8] };
        i += 1;
    }
    rows
};

fn store(world: &mut World, who: &str, field: usize, args: &[Value]) -> Result<Value, Error> {
    let pair = world.pair(who, args[0])?;
    world.heap.store(pair, field, args[1]);
    Ok(Value::UNSPECIFIED)
}

/// `c[ad]+r`, by its name: the letters are applied from right to left.
fn access(world: &mut World, name: &str, whole: Value) -> Result<Value, Error> {
    let path = &name[1..name.len() - 1];
    let mut v = whole;
    for step in path.bytes().rev() {
        let next = if step == b'a' { world.heap.car(v) } else { world.heap.cdr(v) };
        v = next.ok_or_else(|| {
            let what = match path.strip_prefix('a').unwrap_or(path).contains('a') {
                false => format!("a list of at least {} items", path.len()),
                true => "a more deeply nested list".to_string(),
            };
            world.wrong_type(name, &what, whole)
        })?;
    }
    Ok(v)
}
