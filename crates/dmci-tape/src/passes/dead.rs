//! Dead operations: what no output and no guard needs.

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
            node.operands().iter().for_each(|a| needed[a.0 as usize] = true);
        }
    }
    let mut new_id = vec![NodeId(0); tape.nodes.len()];
    let mut nodes = Vec::new();
    for (i, node) in tape.nodes.iter().enumerate().filter(|(i, _)| needed[*i]) {
        new_id[i] = NodeId(nodes.len() as u32);
        nodes.push(match *node {
            Node::Op(op, args) => {
                let n = op.operands().len();
                let mut new = args;
                new[..n].iter_mut().for_each(|a| *a = new_id[a.0 as usize]);
                Node::Op(op, new)
            }
            other => other,
        });
    }
    tape.renumbered(nodes, &new_id)
}
