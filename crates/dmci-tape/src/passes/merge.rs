//! Merging: the same operation on the same nodes is computed once.

use super::Rebuilt;
use crate::tape::{Node, NodeId, Tape};
use dmci_ops::{Kernel, Op, Shape};
use rustc_hash::FxHashMap;

/// What makes two nodes equal.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Real(u64),
    Int(i64),
    Constant(std::sync::Arc<[u64]>, Shape),
    Op(Op, [NodeId; 3]),
    Kernel(Kernel, [NodeId; 2], Shape),
    Pack(Vec<NodeId>, Shape),
}

/// The tape with equal nodes merged into the first of them. Operands are compared as they stand:
/// `a + b` and `b + a` stay two operations.
pub fn merge_equal(tape: &Tape) -> Tape {
    let mut rebuilt = Rebuilt::new(tape);
    let mut seen: FxHashMap<Key, NodeId> = FxHashMap::default();
    for (i, node) in tape.nodes.iter().enumerate() {
        let shape = tape.shapes[i];
        let key = match *node {
            Node::Leaf(_) => None,
            Node::Real(bits) => Some(Key::Real(bits)),
            Node::Int(x) => Some(Key::Int(x)),
            Node::Constant(n) => Some(Key::Constant(tape.constants[n as usize].clone(), shape)),
            Node::Op(op, mut args) => {
                args.iter_mut().zip(rebuilt.operands(i)).for_each(|(a, new)| *a = new);
                Some(Key::Op(op, args))
            }
            Node::Kernel(kernel, mut args) => {
                args.iter_mut().zip(rebuilt.operands(i)).for_each(|(a, new)| *a = new);
                Some(Key::Kernel(kernel, args, shape))
            }
            Node::Pack { .. } => Some(Key::Pack(rebuilt.operands(i).collect(), shape)),
        };
        let known = key.as_ref().and_then(|key| seen.get(key)).copied();
        let id = known.unwrap_or_else(|| rebuilt.push(i));
        if let (Some(key), None) = (key, known) {
            seen.insert(key, id);
        }
        rebuilt.new_id.push(id);
    }
    rebuilt.finish()
}
