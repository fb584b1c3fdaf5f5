//! Records and promises.

use super::{Primitive, at_least, between, fixed};
use crate::world::World;
use dmci_value::{Error, Kind, Ref, Value};

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    fixed("%make-record-type", 2, |w, a| {
        w.symbol("define-record-type", a[0])?;
        w.list("define-record-type", a[1])?;
        Ok(w.heap.alloc(Kind::RecordType, &[a[0], a[1], Value::FALSE]))
    }),
    at_least("%record", 1, |w, a| match is_program_type(w, a[0]) {
        true => Ok(w.heap.alloc(Kind::Record, a)),
        false => Err(w.wrong_type("%record", "a record type", a[0])),
    }),
    fixed("%record?", 2, |w, a| Ok(Value::boolean(instance(w, a[0], a[1]).is_some()))),
    fixed("%record-ref", 4, |w, a| {
        let (record, field) = field(w, a[0], a[1], a[2], a[3])?;
        Ok(w.heap.field(record, field))
    }),
    fixed("%record-set!", 5, |w, a| {
        let (record, field) = field(w, a[0], a[1], a[2], a[4])?;
        w.heap.store(record, field, a[3]);
        Ok(Value::UNSPECIFIED)
    }),
    fixed("promise?", 1, |w, a| Ok(Value::boolean(w.heap.as_kind(a[0], Kind::Promise).is_some()))),
    fixed("%make-lazy", 1, |w, a| Ok(promise(w, false, a[0]))),
    fixed("%make-forced", 1, |w, a| Ok(promise(w, true, a[0]))),
    between("make-promise", 0, 1, |w, a| match a.first() {
        Some(&v) if w.heap.as_kind(v, Kind::Promise).is_some() => Ok(v),
        v => Ok(promise(w, true, v.copied().unwrap_or(Value::UNSPECIFIED))),
    }),
    fixed("%promise-done?", 1, |w, a| {
        let content = content(w, a[0])?;
        Ok(w.heap.field(content, 0))
    }),
    fixed("%promise-content", 1, |w, a| {
        let content = content(w, a[0])?;
        Ok(w.heap.field(content, 1))
    }),
    fixed("%promise-share!", 2, share),
];

/// Whether it is a record type that a program has defined. Records of the library's own types, such as
/// hash tables, are not made or changed field by field.
fn is_program_type(world: &World, rtd: Value) -> bool {
    world.heap.as_kind(rtd, Kind::RecordType).is_some_and(|r| world.heap.field(r, 2) == Value::FALSE)
}

/// The record behind a value if it is of this type.
fn instance(world: &World, v: Value, rtd: Value) -> Option<Ref> {
    let record = world.heap.as_kind(v, Kind::Record)?;
    (world.heap.field(record, 0) == rtd && is_program_type(world, rtd)).then_some(record)
}

fn field(world: &World, v: Value, rtd: Value, index: Value, who: Value) -> Result<(Ref, usize), Error> {
    let who = world.symbol_name("%record-ref", who)?;
    let Some(record) = instance(world, v, rtd) else {
        let rtd = world.object(&who, "a record type", Kind::RecordType, rtd)?;
        let name = world.symbol_name(&who, world.heap.field(rtd, 0))?;
        let bare = name.strip_prefix('<').and_then(|n| n.strip_suffix('>')).unwrap_or(&name);
        return Err(world.wrong_type(&who, &format!("a record of type {bare}"), v));
    };
    let i = world.index_below(&who, index, world.heap.len(record) - 1)?;
    Ok((record, i + 1))
}

// A promise holds a pair (done? . value-or-thunk). Promises of one chain share it, as in R7RS 7.3,
// so that forcing a long chain of delay-force runs in constant space.

fn promise(world: &mut World, done: bool, value: Value) -> Value {
    let content = world.heap.cons(Value::boolean(done), value);
    world.heap.alloc(Kind::Promise, &[content])
}

fn content(world: &World, v: Value) -> Result<Ref, Error> {
    let r = world.object("force", "a promise", Kind::Promise, v)?;
    world.pair("force", world.heap.field(r, 0))
}

/// `(%promise-share! promise next)`: `promise` becomes what `next` is, and they are one from now on.
fn share(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let next = world.object("delay-force", "an expression that gives a promise", Kind::Promise, args[1])?;
    let (old, new) = (content(world, args[0])?, content(world, args[1])?);
    for i in 0..2 {
        let v = world.heap.field(new, i);
        world.heap.store(old, i, v);
    }
    let shared = world.heap.field(world.object("force", "a promise", Kind::Promise, args[0])?, 0);
    world.heap.store(next, 0, shared);
    Ok(Value::UNSPECIFIED)
}
