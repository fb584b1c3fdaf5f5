//! Merging: the same operation on the same nodes is computed once.

use crate::tape::{Node, NodeId, Tape};
use rustc_hash::FxHashMap;

/// The tape with equal nodes merged into the first of them. Operands are compared as they stand:
/// `a + b` and `b + a` stay two operations.
pub fn merge_equal(tape: &Tape) -> Tape {
    let mut new_id: Vec<NodeId> = Vec::with_capacity(tape.nodes.len());
    let mut nodes: Vec<Node> = Vec::with_capacity(tape.nodes.len());
    let mut seen: FxHashMap<(u8, u64, [NodeId; 3]), NodeId> = FxHashMap::default();
    for node in &tape.nodes {
        let (node, key) = match *node {
            Node::Leaf(n) => (Node::Leaf(n), None),
            Node::Real(bits) => (Node::Real(bits), Some((u8::MAX, bits, [NodeId(0); 3]))),
            Node::Op(op, mut args) => {
                let n = op.operands().len();
                args[..n].iter_mut().for_each(|a| *a = new_id[a.0 as usize]);
                (Node::Op(op, args), Some((op as u8, 0, args)))
            }
        };
        let fresh = NodeId(nodes.len() as u32);
        let id = key.map_or(fresh, |key| *seen.entry(key).or_insert(fresh));
        if id == fresh {
            nodes.push(node);
        }
        new_id.push(id);
    }
    tape.renumbered(nodes, &new_id)
}
