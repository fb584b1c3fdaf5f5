//! Lists: making and taking apart. Whatever takes a procedure is in `crates/dmci/scheme/lib/lists.scm`.

use super::{Primitive, at_least, between, fixed};
use crate::world::World;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, Ref, Value};

macro_rules! nth {
    ($name:literal, $n:literal) => {
        fixed($name, 1, |w, a| nth(w, $name, $n, a[0]))
    };
}

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    at_least("list", 0, |w, a| Ok(w.heap.list(a))),
    at_least("%list", 0, |w, a| Ok(w.heap.list(a))),
    at_least("cons*", 1, cons_star),
    at_least("list*", 1, cons_star),
    between("make-list", 1, 2, make_list),
    fixed("list?", 1, |w, a| is_list(w, a[0])),
    fixed("length", 1, length),
    fixed("length+", 1, length_or_false),
    fixed("list-copy", 1, list_copy),
    at_least("append", 0, |w, a| append(w, "append", a)),
    fixed("%append", 2, |w, a| append(w, "append", a)),
    at_least("append!", 0, append_in_place),
    fixed("concatenate", 1, |w, a| {
        let lists = w.list("concatenate", a[0])?;
        append(w, "concatenate", &lists)
    }),
    fixed("reverse", 1, |w, a| reverse_onto(w, "reverse", a[0], Value::NIL)),
    fixed("%reverse", 2, |w, a| {
        let who = w.symbol_name("%reverse", a[0])?;
        reverse_onto(w, &who, a[1], Value::NIL)
    }),
    fixed("append-reverse", 2, |w, a| reverse_onto(w, "append-reverse", a[0], a[1])),
    fixed("append-reverse!", 2, |w, a| reverse_in_place(w, "append-reverse!", a[0], a[1])),
    fixed("reverse!", 1, |w, a| reverse_in_place(w, "reverse!", a[0], Value::NIL)),
    fixed("list-tail", 2, |w, a| list_tail(w, "list-tail", a[0], a[1])),
    fixed("drop", 2, |w, a| list_tail(w, "drop", a[0], a[1])),
    // (%drop who list n): an error is that of the procedure `who`.
    fixed("%drop", 3, |w, a| list_tail(w, &w.symbol_name("drop", a[0])?, a[1], a[2])),
    fixed("list-head", 2, |w, a| list_head(w, "list-head", a[0], a[1])),
    fixed("take", 2, |w, a| list_head(w, "take", a[0], a[1])),
    fixed("sublist", 3, sublist),
    fixed("list-ref", 2, |w, a| {
        let cell = cell_at(w, "list-ref", a[0], a[1])?;
        Ok(w.heap.field(cell, 0))
    }),
    fixed("list-set!", 3, |w, a| {
        let cell = cell_at(w, "list-set!", a[0], a[1])?;
        w.heap.store(cell, 0, a[2]);
        Ok(Value::UNSPECIFIED)
    }),
    nth!("first", 1),
    nth!("second", 2),
    nth!("third", 3),
    nth!("fourth", 4),
    nth!("fifth", 5),
    nth!("sixth", 6),
    nth!("seventh", 7),
    nth!("eighth", 8),
    nth!("ninth", 9),
    nth!("tenth", 10),
    fixed("last", 1, |w, a| {
        let cell = last_cell(w, "last", a[0])?;
        Ok(w.heap.field(cell, 0))
    }),
    fixed("last-pair", 1, last_pair),
    fixed("except-last-pair", 1, |w, a| except_last_pair(w, "except-last-pair", a[0])),
    fixed("except-last-pair!", 1, |w, a| except_last_pair(w, "except-last-pair!", a[0])),
    fixed("%heads", 2, heads),
    fixed("%tails", 1, tails),
];

/// A walk over the pairs of a list that ends on circular lists too (Brent's algorithm: the mark
/// moves up at every power of two, so a cycle is noticed within three times its length).
pub(super) struct Walk {
    pub(super) rest: Value,
    mark: Value,
    pub(super) steps: usize,
}

/// Steps of a walk between two looks at the alarm: they are short.
const LOOK: usize = 16 * dmci_value::Alarm::STEPS;

impl Walk {
    pub(super) fn new(list: Value) -> Self {
        Walk { rest: list, mark: Value::NIL, steps: 0 }
    }

    pub(super) fn next(&mut self, heap: &Heap) -> Option<(Ref, Value)> {
        let cell = self.rest.as_pair()?;
        if self.rest == self.mark || (self.steps + 1).is_multiple_of(LOOK) && heap.alarm.rings() {
            return None;
        }
        if self.steps.is_power_of_two() {
            self.mark = self.rest;
        }
        self.steps += 1;
        self.rest = heap.field(cell, 1);
        Some((cell, heap.field(cell, 0)))
    }

    /// The error unless the walk came to the end of a proper list.
    pub(super) fn finish(&self, world: &mut World, who: &str, list: Value) -> Result<(), Error> {
        world.spend(self.steps);
        if self.rest.is_nil() { Ok(()) } else { Err(world.wrong_type(who, "a proper list", list)) }
    }
}

/// The items of a proper list, with room made for as many new pairs.
pub(super) fn items(world: &mut World, who: &str, list: Value) -> Result<Vec<Value>, Error> {
    let items = world.list(who, list)?;
    world.spend(items.len());
    world.heap.ensure(3 * items.len())?;
    Ok(items)
}

fn cons_star(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let (&tail, items) = args.split_last().expect("the row asks for one argument");
    Ok(world.heap.list_with_tail(items, tail))
}

fn make_list(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let n = world.index("make-list", args[0])?;
    world.heap.ensure(n.saturating_mul(3))?;
    world.spend(n);
    let fill = args.get(1).copied().unwrap_or(Value::UNSPECIFIED);
    Ok((0..n).fold(Value::NIL, |list, _| world.heap.cons(fill, list)))
}

fn is_list(world: &mut World, list: Value) -> Result<Value, Error> {
    let mut walk = Walk::new(list);
    while walk.next(&world.heap).is_some() {}
    world.spend(walk.steps);
    Ok(Value::boolean(walk.rest.is_nil()))
}

fn length(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let mut walk = Walk::new(args[0]);
    while walk.next(&world.heap).is_some() {}
    walk.finish(world, "length", args[0])?;
    Ok(Value::fixnum(walk.steps as i64))
}

/// SRFI 1: `#f` for a circular list.
fn length_or_false(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let mut walk = Walk::new(args[0]);
    while walk.next(&world.heap).is_some() {}
    world.spend(walk.steps);
    Ok(if walk.rest.is_nil() { Value::fixnum(walk.steps as i64) } else { Value::FALSE })
}

/// R7RS: the spine is copied up to whatever ends it; anything but a list is returned as it is.
fn list_copy(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let mut walk = Walk::new(args[0]);
    let mut items = Vec::new();
    while let Some((_, item)) = walk.next(&world.heap) {
        items.push(item);
    }
    world.spend(items.len());
    if walk.rest.is_pair() {
        return Err(world.wrong_type("list-copy", "a list that ends", args[0]));
    }
    world.heap.ensure(3 * items.len())?;
    Ok(world.heap.list_with_tail(&items, walk.rest))
}

fn append(world: &mut World, who: &str, args: &[Value]) -> Result<Value, Error> {
    let Some((&tail, lists)) = args.split_last() else { return Ok(Value::NIL) };
    let mut all = tail;
    for &list in lists.iter().rev() {
        let items = items(world, who, list)?;
        all = world.heap.list_with_tail(&items, all);
    }
    Ok(all)
}

fn append_in_place(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let mut all = Value::NIL;
    for &list in args.iter().rev() {
        if all.is_nil() {
            all = list;
        } else if !list.is_nil() {
            let last = last_cell(world, "append!", list)?;
            world.heap.store(last, 1, all);
            all = list;
        }
    }
    Ok(all)
}

fn reverse_onto(world: &mut World, who: &str, list: Value, tail: Value) -> Result<Value, Error> {
    let items = items(world, who, list)?;
    Ok(items.iter().fold(tail, |all, &item| world.heap.cons(item, all)))
}

fn reverse_in_place(world: &mut World, who: &str, list: Value, tail: Value) -> Result<Value, Error> {
    let mut walk = Walk::new(list);
    while walk.next(&world.heap).is_some() {}
    walk.finish(world, who, list)?;
    let (mut done, mut rest) = (tail, list);
    while let Some(cell) = rest.as_pair() {
        let next = world.heap.field(cell, 1);
        world.heap.store(cell, 1, done);
        done = rest;
        rest = next;
    }
    Ok(done)
}

/// The first `n` items and what follows them.
fn split(world: &mut World, who: &str, list: Value, n: Value) -> Result<(Vec<Value>, Value), Error> {
    let n = world.index(who, n)?;
    let mut rest = list;
    let mut items = Vec::new();
    while items.len() < n {
        let Some((item, next)) = world.heap.uncons(rest) else {
            return Err(short_list(world, who, n, items.len(), list, rest));
        };
        // A circular list gives any number of items, as long as there is room for them.
        world.heap.ensure(4 * items.len())?;
        items.push(item);
        rest = next;
    }
    world.spend(n);
    Ok((items, rest))
}

fn short_list(world: &World, who: &str, index: usize, len: usize, list: Value, end: Value) -> Error {
    if !end.is_nil() {
        return world.wrong_type(who, "a proper list", list);
    }
    Diagnostic::error(ErrorCode::E0306, format!("{who}: index {index} is out of range for length {len}"))
}

fn list_tail(world: &mut World, who: &str, list: Value, n: Value) -> Result<Value, Error> {
    let n = world.index(who, n)?;
    let mut walk = Walk::new(list);
    while walk.steps < n {
        if walk.next(&world.heap).is_none() {
            world.spend(walk.steps);
            // In a circular list only the rest of the way round matters.
            return match cycle_length(&world.heap, walk.rest) {
                Some(period) => {
                    let left = Value::fixnum(((n - walk.steps) % period) as i64);
                    list_tail(world, who, walk.rest, left)
                }
                None => Err(short_list(world, who, n, walk.steps, list, walk.rest)),
            };
        }
    }
    world.spend(n);
    Ok(walk.rest)
}

fn cycle_length(heap: &Heap, start: Value) -> Option<usize> {
    let mut v = heap.cdr(start)?;
    let mut n = 1;
    while v != start {
        v = heap.cdr(v)?;
        n += 1;
    }
    Some(n)
}

fn cell_at(world: &mut World, who: &str, list: Value, n: Value) -> Result<Ref, Error> {
    let tail = list_tail(world, who, list, n)?;
    let i = world.index(who, n)?;
    tail.as_pair().ok_or_else(|| short_list(world, who, i, i, list, tail))
}

fn list_head(world: &mut World, who: &str, list: Value, n: Value) -> Result<Value, Error> {
    let (items, _) = split(world, who, list, n)?;
    world.heap.ensure(3 * items.len())?;
    Ok(world.heap.list(&items))
}

fn sublist(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let start = world.index("sublist", args[1])?;
    let (items, _) = split(world, "sublist", args[0], args[2])?;
    let Some(items) = items.get(start..) else {
        let end = items.len();
        return Err(Diagnostic::error(ErrorCode::E0306, format!("sublist: start {start} is after end {end}")));
    };
    world.heap.ensure(3 * items.len())?;
    Ok(world.heap.list(items))
}

fn nth(world: &mut World, who: &str, n: usize, list: Value) -> Result<Value, Error> {
    let mut rest = list;
    for _ in 1..n {
        rest = world.heap.cdr(rest).unwrap_or(Value::NIL);
    }
    let items = if n == 1 { "item" } else { "items" };
    world.heap.car(rest).ok_or_else(|| world.wrong_type(who, &format!("a list of at least {n} {items}"), list))
}

fn last_cell(world: &mut World, who: &str, list: Value) -> Result<Ref, Error> {
    let mut walk = Walk::new(list);
    let mut last = None;
    while let Some((cell, _)) = walk.next(&world.heap) {
        last = Some(cell);
    }
    world.spend(walk.steps);
    match last {
        Some(cell) if !walk.rest.is_pair() => Ok(cell),
        _ => Err(world.wrong_type(who, "a list of at least 1 item", list)),
    }
}

fn last_pair(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    last_cell(world, "last-pair", args[0])?;
    let mut last = args[0];
    while let Some(next) = world.heap.cdr(last).filter(|v| v.is_pair()) {
        last = next;
    }
    Ok(last)
}

fn except_last_pair(world: &mut World, who: &str, list: Value) -> Result<Value, Error> {
    let items = items(world, who, list)?;
    match items.split_last() {
        Some((_, items)) => Ok(world.heap.list(items)),
        None => Err(world.wrong_type(who, "a list of at least 1 item", list)),
    }
}

/// `(%heads who lists)`: the cars of all lists, or `#f` if one has ended.
fn heads(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let mut items = world.list("%heads", args[1])?;
    let mut ended = false;
    for item in &mut items {
        match world.heap.car(*item) {
            Some(car) => *item = car,
            None if item.is_nil() => ended = true,
            None => {
                let who = world.symbol_name("%heads", args[0])?;
                return Err(world.wrong_type(&who, "a proper list", *item));
            }
        }
    }
    Ok(if ended { Value::FALSE } else { world.heap.list(&items) })
}

/// The cdrs of all lists.
fn tails(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let mut items = world.list("%tails", args[0])?;
    for item in &mut items {
        *item = world.heap.cdr(*item).ok_or_else(|| world.wrong_type("%tails", "lists that go on", *item))?;
    }
    Ok(world.heap.list(&items))
}
