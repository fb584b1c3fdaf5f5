//! How data from outside become leaves of a tape: which numbers are traced, in which order, and
//! what else of the data a recording depends on.

use crate::datum::Datum;
use dmci_ops::INT_LIMIT;
use dmci_tape::{LeafKind, NodeId};
use dmci_value::{Kind, Shape, Value};
use dmci_vm::World;
use std::fmt::Write;

/// A parameter with all of its numbers traced, as reals; `None` if it holds anything else.
pub(crate) fn parameter(world: &mut World, datum: &Datum, name: &str) -> Option<Value> {
    let items = |world: &mut World, items: &[Datum]| -> Option<Vec<Value>> {
        let named = items.iter().enumerate();
        named.map(|(i, item)| parameter(world, item, &format!("{name}.{i}"))).collect()
    };
    match datum {
        Datum::Integer(_) | Datum::BigInteger(_) | Datum::Real(_) => {
            Some(world.traced_leaf(name, LeafKind::Param, datum.as_f64()?))
        }
        Datum::Tensor(shape, elements) => Some(world.traced_tensor(name, LeafKind::Param, *shape, elements)),
        Datum::List(list, None) => {
            let items = items(world, list)?;
            Some(world.heap.list(&items))
        }
        Datum::Vector(list) => {
            let items = items(world, list)?;
            Some(world.heap.vector(&items))
        }
        _ => None,
    }
}

/// Whether an exact integer can be a tape value.
fn small(i: i64) -> bool {
    i.unsigned_abs() < INT_LIMIT.unsigned_abs()
}

/// An input with its numbers traced; integers stay exact.
pub(crate) fn input(world: &mut World, datum: &Datum, name: &str) -> Value {
    let items = |world: &mut World, items: &[Datum]| -> Vec<Value> {
        let named = items.iter().enumerate();
        named.map(|(i, item)| input(world, item, &format!("{name}.{i}"))).collect()
    };
    match datum {
        Datum::Real(x) => world.traced_leaf(name, LeafKind::Input, *x),
        Datum::Integer(i) if small(*i) => world.traced_integer(name, LeafKind::Input, *i),
        Datum::Tensor(shape, elements) => world.traced_tensor(name, LeafKind::Input, *shape, elements),
        Datum::List(list, None) => {
            let items = items(world, list);
            world.heap.list(&items)
        }
        Datum::Vector(list) => {
            let items = items(world, list);
            world.heap.vector(&items)
        }
        other => {
            let value = other.to_value(&mut world.heap).unwrap_or(Value::UNSPECIFIED);
            world.fit_all(value)
        }
    }
}

/// The traced numbers of an input in order, in bits, and a text for everything else in it.
pub(crate) fn signature(datum: &Datum, bits: &mut Vec<u64>, text: &mut String) {
    match datum {
        Datum::Real(x) => {
            bits.push(x.to_bits());
            text.push('r');
        }
        Datum::Integer(i) if small(*i) => {
            bits.push(*i as u64);
            text.push('i');
        }
        Datum::Tensor(shape, elements) => {
            bits.extend(elements.iter().map(|x| x.to_bits()));
            let _ = write!(text, "t{shape};");
        }
        Datum::List(items, None) | Datum::Vector(items) => {
            text.push(if matches!(datum, Datum::Vector(_)) { '[' } else { '(' });
            items.iter().for_each(|item| signature(item, bits, text));
            text.push(')');
        }
        other => {
            let _ = write!(text, "{other:?};");
        }
    }
}

/// How many numbers a parameter holds.
pub(crate) fn count(datum: &Datum) -> usize {
    match datum {
        Datum::Tensor(_, elements) => elements.len(),
        Datum::List(items, None) | Datum::Vector(items) => items.iter().map(count).sum(),
        _ => 1,
    }
}

/// Whether data hold reals and nothing else.
pub(crate) fn is_of_reals(datum: &Datum) -> bool {
    match datum {
        Datum::Real(_) | Datum::Tensor(..) => true,
        Datum::List(items, None) | Datum::Vector(items) => items.iter().all(is_of_reals),
        _ => false,
    }
}

/// A parameter with other numbers in its shape.
pub(crate) fn filled(datum: &Datum, numbers: &mut impl Iterator<Item = f64>) -> Datum {
    match datum {
        Datum::Tensor(shape, elements) => Datum::Tensor(*shape, numbers.take(elements.len()).collect()),
        Datum::List(items, None) => Datum::list(items.iter().map(|item| filled(item, numbers)).collect()),
        Datum::Vector(items) => Datum::Vector(items.iter().map(|item| filled(item, numbers)).collect()),
        _ => Datum::Real(numbers.next().unwrap_or(f64::NAN)),
    }
}

/// The leaves of a traced structure in order, and the names of its single numbers.
pub(crate) fn leaves(world: &World, v: Value, name: &str, nodes: &mut Vec<NodeId>, names: &mut Vec<String>) {
    if let Some(node) = world.node_of(v) {
        nodes.push(node);
        let plain = world.plain(v);
        match world.heap.as_tensor(plain).map(|(shape, _)| shape) {
            Some(Shape::Matrix(m, n)) => {
                names.extend((0..m).flat_map(|i| (0..n).map(move |j| format!("{name}.{i}.{j}"))));
            }
            Some(shape) => names.extend((0..shape.len()).map(|i| format!("{name}.{i}"))),
            None => names.push(name.to_string()),
        }
        return;
    }
    let items = match world.heap.as_kind(v, Kind::Vector) {
        Some(r) => world.heap.fields(r).collect(),
        None => world.heap.list_items(v).unwrap_or_default(),
    };
    for (i, item) in items.into_iter().enumerate() {
        leaves(world, item, &format!("{name}.{i}"), nodes, names);
    }
}

/// The numbers of a result in order: of one number, a tensor, or a list or vector of such, not
/// nested deeper than data from outside.
pub(crate) fn numbers(world: &mut World, v: Value) -> Option<Vec<Value>> {
    let mut found = Vec::new();
    let mut todo = vec![v];
    while let Some(v) = todo.pop() {
        if world.is_number(v) {
            found.push(v);
        } else if let Some(r) = world.heap.as_kind(v, Kind::Vector) {
            todo.extend(world.heap.fields(r).rev());
        } else if world.is_tensor_value(v) {
            todo.extend(world.elements_of(v).ok()?.into_iter().rev());
        } else {
            todo.extend(world.heap.list_items(v)?.into_iter().rev());
        }
        if found.len() + todo.len() > 1 << 22 {
            return None;
        }
    }
    Some(found)
}
