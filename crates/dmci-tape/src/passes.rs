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
    /// What depends on parameters alone or on data alone is computed once for each. The executor
    /// does it (`dmci-exec`, `stage.rs`), when there is more than one lane to each.
    pub stage: bool,
}

impl Default for Passes {
    fn default() -> Self {
        Passes { dead: true, merge: true, stage: true }
    }
}

impl Passes {
    /// Runs the passes over tapes that are switched on.
    pub fn run(self, tape: &Tape) -> Tape {
        let tape = if self.merge { merge_equal(tape) } else { tape.clone() };
        if self.dead { remove_dead(&tape) } else { tape }
    }
}

/// A tape rebuilt node by node.
struct Rebuilt<'a> {
    old: &'a Tape,
    new: Tape,
    /// The new node of each old one so far.
    new_id: Vec<NodeId>,
}

impl<'a> Rebuilt<'a> {
    fn new(old: &'a Tape) -> Self {
        let new = Tape {
            leaves: old.leaves.clone(),
            maps: old.maps.clone(),
            constants: old.constants.clone(),
            single: old.single,
            ..Tape::default()
        };
        Rebuilt { old, new, new_id: Vec::with_capacity(old.nodes.len()) }
    }

    /// The operands of an old node as they are now.
    fn operands(&self, i: usize) -> impl Iterator<Item = NodeId> {
        self.old.operands(i).iter().map(|a| self.new_id[a.0 as usize])
    }

    /// Adds an old node with its operands as they are now.
    fn push(&mut self, i: usize) -> NodeId {
        let node = match self.old.nodes[i] {
            Node::Op(op, mut args) => {
                args.iter_mut().zip(self.operands(i)).for_each(|(a, new)| *a = new);
                Node::Op(op, args)
            }
            Node::Kernel(kernel, mut args) => {
                args.iter_mut().zip(self.operands(i)).for_each(|(a, new)| *a = new);
                Node::Kernel(kernel, args)
            }
            Node::Pack { count, .. } => {
                let first = self.new.packed.len() as u32;
                let operands: Vec<NodeId> = self.operands(i).collect();
                self.new.packed.extend(operands);
                Node::Pack { first, count }
            }
            other => other,
        };
        self.new.nodes.push(node);
        self.new.shapes.push(self.old.shapes[i]);
        NodeId(self.new.nodes.len() as u32 - 1)
    }

    /// The new tape; guards and outputs follow their nodes.
    fn finish(mut self) -> Tape {
        let rename = |id: NodeId| self.new_id[id.0 as usize];
        self.new.guards = self.old.guards.iter().map(|g| Guard { node: rename(g.node), ..*g }).collect();
        self.new.outputs = self.old.outputs.iter().map(|&n| rename(n)).collect();
        self.new
    }
}
