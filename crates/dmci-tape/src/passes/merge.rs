//! Merging: the same operation on the same nodes is computed once.

use crate::rebuild::Rebuild;
use crate::tape::{Node, NodeId, Tape};
use dmci_ops::{Kernel, Op, Shape};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// What makes two nodes equal that are no operations on numbers.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Real(u64),
    Int(i64),
    Constant(std::sync::Arc<[u64]>, Shape),
    Kernel(Kernel, [NodeId; 2], Shape),
    Pack(Vec<NodeId>, Shape),
    Out(NodeId, u32),
}

/// The tape with equal nodes merged into the first of them. Operands are compared as they stand:
/// `a + b` and `b + a` stay two operations.
pub fn merge_equal(tape: &Tape) -> Tape {
    let mut rebuild = Rebuild::new(tape);
    let mut operations: FxHashMap<(Op, [NodeId; 3]), NodeId> = FxHashMap::default();
    operations.reserve(tape.nodes.len());
    let mut others: FxHashMap<Key, NodeId> = FxHashMap::default();
    for (i, node) in tape.nodes.iter().enumerate() {
        let shape = tape.shapes[i];
        let key = match *node {
            Node::Leaf(_) | Node::Loop(_) => {
                rebuild.copy(i);
                continue;
            }
            Node::Op(op, mut args) => {
                args.iter_mut().zip(rebuild.operands(i)).for_each(|(a, new)| *a = new);
                merge(&mut rebuild, i, operations.entry((op, args)));
                continue;
            }
            Node::Real(bits) => Key::Real(bits),
            Node::Int(x) => Key::Int(x),
            Node::Constant(n) => Key::Constant(tape.constants[n as usize].clone(), shape),
            Node::Kernel(kernel, mut args) => {
                args.iter_mut().zip(rebuild.operands(i)).for_each(|(a, new)| *a = new);
                Key::Kernel(kernel, args, shape)
            }
            Node::Pack { .. } => Key::Pack(rebuild.operands(i).collect(), shape),
            Node::Out { of, index } => Key::Out(rebuild.id(of), index),
        };
        merge(&mut rebuild, i, others.entry(key));
    }
    rebuild.finish(&tape.guards, &tape.outputs)
}

/// A node becomes the one that is known by its key, or is the first one.
fn merge<K>(rebuild: &mut Rebuild<'_>, i: usize, entry: Entry<'_, K, NodeId>) {
    match entry {
        Entry::Occupied(known) => rebuild.replace(i, *known.get()),
        Entry::Vacant(place) => {
            place.insert(rebuild.copy(i));
        }
    }
}
