//! Vectors. Whatever takes a procedure is in `crates/dmci/scheme/lib/vectors.scm`.

use super::{Primitive, at_least, between, fixed};
use crate::world::World;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Kind, Ref, Value};
use std::ops::Range;

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    fixed("vector?", 1, |w, a| Ok(Value::boolean(w.heap.as_kind(a[0], Kind::Vector).is_some()))),
    between("make-vector", 1, 2, make_vector),
    at_least("vector", 0, |w, a| Ok(w.heap.vector(a))),
    fixed("vector-length", 1, |w, a| {
        let v = w.vector("vector-length", a[0])?;
        Ok(Value::fixnum(w.heap.len(v) as i64))
    }),
    fixed("vector-ref", 2, |w, a| {
        let v = w.vector("vector-ref", a[0])?;
        let i = w.index_below("vector-ref", a[1], w.heap.len(v))?;
        Ok(w.heap.field(v, i))
    }),
    fixed("vector-set!", 3, |w, a| {
        let v = w.vector("vector-set!", a[0])?;
        let i = w.index_below("vector-set!", a[1], w.heap.len(v))?;
        w.heap.store(v, i, a[2]);
        Ok(Value::UNSPECIFIED)
    }),
    fixed("vector-first", 1, |w, a| {
        let v = w.vector("vector-first", a[0])?;
        let i = w.index_below("vector-first", Value::fixnum(0), w.heap.len(v))?;
        Ok(w.heap.field(v, i))
    }),
    fixed("vector-last", 1, |w, a| {
        let v = w.vector("vector-last", a[0])?;
        let last = w.heap.len(v).saturating_sub(1) as i64;
        let i = w.index_below("vector-last", Value::fixnum(last), w.heap.len(v))?;
        Ok(w.heap.field(v, i))
    }),
    // (%sorted vector less?): sorted by one operation of the tape, or #f where that cannot be.
    fixed("%sorted", 2, |w, a| {
        let v = w.vector("sort", a[0])?;
        let Some(less) = a[1].as_primitive().map(|p| super::table()[p as usize].name) else { return Ok(Value::FALSE) };
        let descending = match less {
            "<" => false,
            ">" => true,
            _ => return Ok(Value::FALSE),
        };
        let items = w.heap.fields(v).collect();
        Ok(w.sorted(items, descending)?.map_or(Value::FALSE, |items| w.heap.vector(&items)))
    }),
    fixed("list->vector", 1, list_to_vector),
    fixed("%list->vector", 1, list_to_vector),
    fixed("%reverse-list->vector", 1, |w, a| {
        let mut items = w.list("vector-map", a[0])?;
        items.reverse();
        new_vector(w, &items)
    }),
    between("vector->list", 1, 3, |w, a| {
        let items = part(w, "vector->list", a)?;
        w.heap.ensure(3 * items.len())?;
        Ok(w.heap.list(&items))
    }),
    between("vector-copy", 1, 3, |w, a| copy(w, "vector-copy", a)),
    fixed("subvector", 3, |w, a| copy(w, "subvector", a)),
    fixed("vector-head", 2, |w, a| copy(w, "vector-head", &[a[0], Value::fixnum(0), a[1]])),
    fixed("vector-tail", 2, |w, a| copy(w, "vector-tail", a)),
    fixed("vector-grow", 2, vector_grow),
    at_least("vector-append", 0, vector_append),
    between("vector-fill!", 2, 4, |w, a| fill(w, "vector-fill!", a[0], a[1], a.get(2..).unwrap_or(&[]))),
    fixed("subvector-fill!", 4, |w, a| fill(w, "subvector-fill!", a[0], a[3], &a[1..3])),
    between("vector-copy!", 3, 5, |w, a| copy_into(w, "vector-copy!", a[0], a[1], &a[2..])),
    fixed("subvector-move-left!", 5, |w, a| copy_into(w, "subvector-move-left!", a[3], a[4], &a[..3])),
    fixed("subvector-move-right!", 5, |w, a| copy_into(w, "subvector-move-right!", a[3], a[4], &a[..3])),
];

impl World {
    /// A vector argument.
    pub fn vector(&self, who: &str, v: Value) -> Result<Ref, Error> {
        self.object(who, "a vector", Kind::Vector, v)
    }
}

fn make_vector(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let n = world.index("make-vector", args[0])?;
    let fill = args.get(1).copied().unwrap_or(Value::UNSPECIFIED);
    let v = world.heap.alloc_filled(Kind::Vector, n, fill)?;
    world.spend(n / 8);
    Ok(v)
}

fn new_vector(world: &mut World, items: &[Value]) -> Result<Value, Error> {
    world.heap.ensure(items.len())?;
    world.spend(items.len() / 8);
    Ok(world.heap.vector(items))
}

fn list_to_vector(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let items = world.list("list->vector", args[0])?;
    world.spend(items.len());
    new_vector(world, &items)
}

/// The places of the items of `args[0]` between the optional bounds `args[1]` and `args[2]`.
fn places(world: &mut World, who: &str, args: &[Value]) -> Result<(Ref, Range<usize>), Error> {
    let v = world.vector(who, args[0])?;
    let (start, end) = world.range(who, args, 1, world.heap.len(v))?;
    world.spend(end - start);
    Ok((v, start..end))
}

/// The items themselves.
fn part(world: &mut World, who: &str, args: &[Value]) -> Result<Vec<Value>, Error> {
    let (v, places) = places(world, who, args)?;
    Ok(places.map(|i| world.heap.field(v, i)).collect())
}

fn copy(world: &mut World, who: &str, args: &[Value]) -> Result<Value, Error> {
    let (v, places) = places(world, who, args)?;
    world.heap.ensure(places.len())?;
    world.spend(places.len() / 8);
    Ok(world.heap.vector_of_parts(&[(v, places)]))
}

fn vector_grow(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let v = world.vector("vector-grow", args[0])?;
    let n = world.index("vector-grow", args[1])?;
    let old = world.heap.len(v);
    if n < old {
        let message = format!("vector-grow: the new length {n} is below the length {old}");
        return Err(Diagnostic::error(ErrorCode::E0306, message));
    }
    let grown = world.heap.alloc_filled(Kind::Vector, n, Value::UNSPECIFIED)?;
    world.spend(n);
    copy_into(world, "vector-grow", grown, Value::fixnum(0), &args[..1])?;
    Ok(grown)
}

fn vector_append(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let (mut parts, mut length) = (Vec::with_capacity(args.len()), 0);
    for &v in args {
        let part = places(world, "vector-append", &[v])?;
        length += part.1.len();
        world.heap.ensure(length)?;
        parts.push(part);
    }
    world.spend(length / 8);
    Ok(world.heap.vector_of_parts(&parts))
}

fn fill(world: &mut World, who: &str, v: Value, item: Value, bounds: &[Value]) -> Result<Value, Error> {
    let v = world.vector(who, v)?;
    let (start, end) = world.range(who, bounds, 0, world.heap.len(v))?;
    world.spend(end - start);
    for i in start..end {
        world.heap.store(v, i, item);
    }
    Ok(Value::UNSPECIFIED)
}

/// Copies `source` (a vector and optional bounds) to `to` from `at` on; the source is read first,
/// so overlap is no problem.
fn copy_into(world: &mut World, who: &str, to: Value, at: Value, source: &[Value]) -> Result<Value, Error> {
    let to = world.vector(who, to)?;
    let room = world.heap.len(to);
    let start = world.index_below(who, at, room + 1)?;
    let items = part(world, who, source)?;
    world.range(who, &[at, Value::fixnum((start + items.len()) as i64)], 0, room)?;
    for (i, &item) in items.iter().enumerate() {
        world.heap.store(to, start + i, item);
    }
    Ok(Value::UNSPECIFIED)
}
