//! Dead operations: what no output and no guard needs.

use super::Rebuilt;
use crate::tape::{Node, NodeId, Tape};

/// The tape without nodes that nothing needs. Leaves stay: they are the interface.
pub fn remove_dead(tape: &Tape) -> Tape {
    let mut needed = vec![false; tape.nodes.len()];
    for id in tape.outputs.iter().copied().chain(tape.guards.iter().map(|g| g.node)) {
        needed[id.0 as usize] = true;
    }
    for (i, node) in tape.nodes.iter().enumerate().rev() {
        if matches!(node, Node::Leaf(_)) {
            needed[i] = true;
        }
        if needed[i] {
            tape.operands(i).iter().for_each(|a| needed[a.0 as usize] = true);
        }
    }
    let mut rebuilt = Rebuilt::new(tape);
    for (i, needed) in needed.into_iter().enumerate() {
        let id = if needed { rebuilt.push(i) } else { NodeId(0) };
        rebuilt.new_id.push(id);
    }
    rebuilt.finish()
}
