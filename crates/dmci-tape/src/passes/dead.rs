//! Dead operations: what no output and no guard needs.

use crate::rebuild::Rebuild;
use crate::tape::{Node, NodeId, Tape};

/// The tape without nodes that nothing needs. Leaves stay: they are the interface.
pub fn remove_dead(tape: &Tape) -> Tape {
    let mut rebuild = Rebuild::new(tape);
    let leaves = (0..tape.nodes.len()).filter(|&i| matches!(tape.nodes[i], Node::Leaf(_))).map(|i| NodeId(i as u32));
    let guarded = tape.guards.iter().map(|g| g.node);
    let needed = rebuild.needed(tape.outputs.iter().copied().chain(guarded).chain(leaves));
    for i in (0..needed.len()).filter(|&i| needed[i]) {
        rebuild.copy(i);
    }
    rebuild.finish(&tape.guards, &tape.outputs)
}
