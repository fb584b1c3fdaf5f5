//! Passes over finished tapes. Each keeps every output and every guard, bit for bit, and can be
//! switched off; a pass changes what is computed twice or in vain, never how it is computed.

mod dead;
mod merge;

pub use dead::remove_dead;
pub use merge::merge_equal;

use crate::tape::{Guard, Node, NodeId, Tape};

/// Which passes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Passes {
    /// Operations that nothing needs are removed.
    pub dead: bool,
    /// Equal operations are computed once. Only after the last differentiation: before it, each
    /// executed operation has an adjoint of its own.
    pub merge: bool,
}

impl Default for Passes {
    fn default() -> Self {
        Passes { dead: true, merge: true }
    }
}

impl Passes {
    /// Runs the passes that are switched on.
    pub fn run(self, tape: &Tape) -> Tape {
        let tape = if self.merge { merge_equal(tape) } else { tape.clone() };
        if self.dead { remove_dead(&tape) } else { tape }
    }
}

impl Tape {
    /// The tape with other nodes; guards and outputs follow theirs by `new_id`.
    fn renumbered(&self, nodes: Vec<Node>, new_id: &[NodeId]) -> Tape {
        let rename = |id: NodeId| new_id[id.0 as usize];
        Tape {
            nodes,
            leaves: self.leaves.clone(),
            guards: self.guards.iter().map(|g| Guard { node: rename(g.node), ..*g }).collect(),
            outputs: self.outputs.iter().map(|&n| rename(n)).collect(),
        }
    }
}
