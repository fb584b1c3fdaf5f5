//! Merging: the same operation on the same nodes is computed once.

use crate::rebuild::Rebuild;
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
    Out(NodeId, u32),
}

/// The tape with equal nodes merged into the first of them. Operands are compared as they stand:
/// `a + b` and `b + a` stay two operations.
pub fn merge_equal(tape: &Tape) -> Tape {
    let mut rebuild = Rebuild::new(tape);
    let mut seen: FxHashMap<Key, NodeId> = FxHashMap::default();
    for (i, node) in tape.nodes.iter().enumerate() {
        let shape = tape.shapes[i];
        let key = match *node {
            Node::Leaf(_) | Node::Loop(_) => None,
            Node::Real(bits) => Some(Key::Real(bits)),
            Node::Int(x) => Some(Key::Int(x)),
            Node::Constant(n) => Some(Key::Constant(tape.constants[n as usize].clone(), shape)),
            Node::Op(op, mut args) => {
                args.iter_mut().zip(rebuild.operands(i)).for_each(|(a, new)| *a = new);
                Some(Key::Op(op, args))
            }
            Node::Kernel(kernel, mut args) => {
                args.iter_mut().zip(rebuild.operands(i)).for_each(|(a, new)| *a = new);
                Some(Key::Kernel(kernel, args, shape))
            }
            Node::Pack { .. } => Some(Key::Pack(rebuild.operands(i).collect(), shape)),
            Node::Out { of, index } => Some(Key::Out(rebuild.id(of), index)),
        };
        match key.as_ref().and_then(|key| seen.get(key)) {
            Some(&known) => rebuild.replace(i, known),
            None => {
                let id = rebuild.copy(i);
                key.into_iter().for_each(|key| {
                    seen.insert(key, id);
                });
            }
        }
    }
    rebuild.finish(&tape.guards, &tape.outputs)
}
