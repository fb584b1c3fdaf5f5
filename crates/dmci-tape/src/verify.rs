//! Checks that a tape is well formed.

use crate::tape::{Node, NodeId, Tape};
use dmci_ops::Type;

impl Tape {
    /// Operands come before their uses and have the right types; indices are in range.
    pub fn verify(&self) -> Result<(), String> {
        for (i, node) in self.nodes.iter().enumerate() {
            match node {
                Node::Leaf(n) if *n as usize >= self.leaves.len() => return Err(format!("%{i}: no leaf {n}")),
                Node::Op(op, args) => {
                    for (arg, ty) in args.iter().zip(op.operands()) {
                        if arg.0 as usize >= i {
                            return Err(format!("%{i} uses %{}, which is not before it", arg.0));
                        }
                        self.expect(*arg, *ty).map_err(|why| format!("%{i}: {why}"))?;
                    }
                }
                _ => {}
            }
        }
        for guard in &self.guards {
            self.expect(guard.node, Type::Bool)?;
        }
        match self.outputs.iter().find(|n| n.0 as usize >= self.nodes.len()) {
            Some(n) => Err(format!("output %{} does not exist", n.0)),
            None => Ok(()),
        }
    }

    fn expect(&self, id: NodeId, ty: Type) -> Result<(), String> {
        if id.0 as usize >= self.nodes.len() {
            return Err(format!("%{} does not exist", id.0));
        }
        let is = self.type_of(id);
        if is == ty { Ok(()) } else { Err(format!("%{} is {is:?}, not {ty:?}", id.0)) }
    }
}
