//! Searching in lists and association lists.

use super::equality::{equal, eqv};
use super::lists::{Walk, items};
use super::{Primitive, fixed};
use crate::world::World;
use dmci_value::{Error, Heap, Value};

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    fixed("memq", 2, |w, a| mem(w, "memq", a, same)),
    fixed("memv", 2, |w, a| mem(w, "memv", a, same)),
    fixed("%memv", 2, |w, a| mem(w, "memv", a, same)),
    fixed("%member", 2, |w, a| mem(w, "member", a, equal)),
    fixed("assq", 2, |w, a| ass(w, "assq", a[0], a[1], same)),
    fixed("assv", 2, |w, a| ass(w, "assv", a[0], a[1], same)),
    fixed("%assoc", 2, |w, a| ass(w, "assoc", a[0], a[1], equal)),
    fixed("assq-ref", 2, |w, a| ass_ref(w, "assq-ref", a, same)),
    fixed("assv-ref", 2, |w, a| ass_ref(w, "assv-ref", a, same)),
    fixed("assoc-ref", 2, |w, a| ass_ref(w, "assoc-ref", a, equal)),
    fixed("del-assq", 2, |w, a| del_ass(w, "del-assq", a, same)),
    fixed("del-assv", 2, |w, a| del_ass(w, "del-assv", a, same)),
    fixed("del-assoc", 2, |w, a| del_ass(w, "del-assoc", a, equal)),
    fixed("delq", 2, |w, a| delete(w, "delq", a, same)),
    fixed("delv", 2, |w, a| delete(w, "delv", a, same)),
    fixed("%delete", 2, |w, a| delete(w, "delete", a, equal)),
    fixed("alist-copy", 1, alist_copy),
];

/// A comparison, with the steps it took.
type Same = fn(&Heap, Value, Value) -> (bool, usize);

fn same(heap: &Heap, a: Value, b: Value) -> (bool, usize) {
    (eqv(heap, a, b), 0)
}

fn mem(world: &mut World, who: &str, args: &[Value], same: Same) -> Result<Value, Error> {
    let mut walk = Walk::new(args[1]);
    loop {
        let here = walk.rest;
        let Some((_, item)) = walk.next(&world.heap) else { break };
        let (found, steps) = same(&world.heap, args[0], item);
        world.spend(steps);
        if found {
            world.spend(walk.steps);
            return Ok(here);
        }
    }
    walk.finish(world, who, args[1])?;
    Ok(Value::FALSE)
}

fn ass(world: &mut World, who: &str, key: Value, alist: Value, same: Same) -> Result<Value, Error> {
    let mut walk = Walk::new(alist);
    while let Some((_, entry)) = walk.next(&world.heap) {
        let found = world.heap.car(entry).ok_or_else(|| world.wrong_type(who, "a list of pairs", alist))?;
        let (found, steps) = same(&world.heap, key, found);
        world.spend(steps);
        if found {
            world.spend(walk.steps);
            return Ok(entry);
        }
    }
    walk.finish(world, who, alist)?;
    Ok(Value::FALSE)
}

/// Guile's order of arguments: the list first.
fn ass_ref(world: &mut World, who: &str, args: &[Value], same: Same) -> Result<Value, Error> {
    let entry = ass(world, who, args[1], args[0], same)?;
    Ok(world.heap.cdr(entry).unwrap_or(Value::FALSE))
}

fn delete(world: &mut World, who: &str, args: &[Value], same: Same) -> Result<Value, Error> {
    keep(world, who, args[1], |heap, item| {
        let (found, steps) = same(heap, args[0], item);
        (!found, steps)
    })
}

fn del_ass(world: &mut World, who: &str, args: &[Value], same: Same) -> Result<Value, Error> {
    keep(world, who, args[1], |heap, entry| match heap.car(entry) {
        Some(key) => {
            let (found, steps) = same(heap, args[0], key);
            (!found, steps)
        }
        None => (true, 0),
    })
}

fn keep(
    world: &mut World,
    who: &str,
    list: Value,
    mut wanted: impl FnMut(&Heap, Value) -> (bool, usize),
) -> Result<Value, Error> {
    let mut items = items(world, who, list)?;
    let mut steps = 0;
    let alarm = &world.heap.alarm;
    items.retain(|&item| {
        let (keep, cost) = wanted(&world.heap, item);
        steps += 1 + cost;
        keep && !(steps.is_multiple_of(dmci_value::Alarm::STEPS) && alarm.rings())
    });
    world.spend(steps);
    Ok(world.heap.list(&items))
}

fn alist_copy(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let mut items = items(world, "alist-copy", args[0])?;
    world.heap.ensure(6 * items.len())?;
    for item in &mut items {
        if let Some((key, value)) = world.heap.uncons(*item) {
            *item = world.heap.cons(key, value);
        }
    }
    Ok(world.heap.list(&items))
}
