//! Reverse mode: one pass over the tape from the output back.
//!
//! The pass is written once, against [`Build`]. On a recorder it adds the gradient to the tape as
//! operations; on [`Scalar`] it computes the gradient of the recorded lane directly (tier 0). Both
//! do the same operations in the same order: an operation's adjoint is complete when the pass
//! reaches it, the first contribution is stored, later ones are added to it, operands from left to
//! right. Nothing is propagated to what does not depend on the wanted nodes.

use crate::recorder::Recorder;
use crate::tape::{Node, NodeId};
use dmci_ops::derivative::contribution;
use dmci_ops::{Build, MAX_ARITY, Op};

/// Operations on plain values.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scalar;

impl Build for Scalar {
    type Id = u64;

    fn op(&mut self, op: Op, args: &[u64]) -> u64 {
        let mut bits = [0; MAX_ARITY];
        bits[..args.len()].copy_from_slice(args);
        op.eval(bits)
    }

    fn real(&mut self, x: f64) -> u64 {
        x.to_bits()
    }
}

/// Which nodes from the first wanted one up to `last` depend on a wanted one; the first entry
/// stands for the first wanted node.
pub(crate) fn dependents(nodes: &[Node], wanted: &[NodeId], last: NodeId) -> (usize, Vec<bool>) {
    let first = wanted.iter().map(|n| n.0 as usize).min().unwrap_or(0);
    let end = last.0 as usize + 1;
    if first >= end {
        return (first, Vec::new());
    }
    let mut depends = vec![false; end - first];
    for n in wanted.iter().filter(|n| (n.0 as usize) < end) {
        depends[n.0 as usize - first] = true;
    }
    for i in first..end {
        // A wanted node is a leaf here, whatever it is to others.
        if !depends[i - first] {
            depends[i - first] =
                nodes[i].operands().iter().any(|a| a.0 as usize >= first && depends[a.0 as usize - first]);
        }
    }
    (first, depends)
}

/// The pass itself. `value` gives a node as the builder knows it.
fn sweep<B: Build>(
    b: &mut B,
    nodes: impl Fn(&B, usize) -> Node,
    value: impl Fn(&B, NodeId) -> B::Id,
    depends: (usize, Vec<bool>),
    output: NodeId,
    wanted: &[NodeId],
) -> Vec<Option<B::Id>> {
    let (first, depends) = depends;
    let mut adjoint: Vec<Option<B::Id>> = vec![None; depends.len()];
    if let Some(last) = depends.len().checked_sub(1)
        && depends[last]
    {
        adjoint[last] = Some(b.real(1.0));
    }
    let is_wanted = |id: usize| wanted.iter().any(|n| n.0 as usize == id);
    for i in (0..depends.len()).rev() {
        let Some(g) = adjoint[i] else { continue };
        if is_wanted(first + i) {
            continue;
        }
        let Node::Op(op, args) = nodes(b, first + i) else { continue };
        let n = op.operands().len();
        let y = value(b, NodeId((first + i) as u32));
        let x: Vec<B::Id> = args[..n].iter().map(|&a| value(b, a)).collect();
        for (k, arg) in args[..n].iter().enumerate() {
            let Some(at) = (arg.0 as usize).checked_sub(first).filter(|&at| depends[at]) else { continue };
            let Some(part) = contribution(b, op, &x, y, k, g) else { continue };
            adjoint[at] = Some(match adjoint[at] {
                None => part,
                Some(sum) => b.op(Op::Add, &[sum, part]),
            });
        }
    }
    debug_assert!(depends.len() <= output.0 as usize + 1);
    wanted.iter().map(|n| (n.0 as usize).checked_sub(first).and_then(|at| adjoint.get(at).copied().flatten())).collect()
}

/// Adds the derivatives of `output` by the wanted nodes to the tape; `None` where it does not depend.
pub fn gradient(recorder: &mut Recorder, output: NodeId, wanted: &[NodeId]) -> Vec<Option<NodeId>> {
    let depends = dependents(&recorder.tape().nodes, wanted, output);
    sweep(recorder, |r, i| r.tape().nodes[i], |_, id| id, depends, output, wanted)
}

/// The derivatives of `output` by the wanted nodes in the recorded lane; 0 where it does not depend.
pub fn adjoints(recorder: &Recorder, output: NodeId, wanted: &[NodeId]) -> Vec<f64> {
    let depends = dependents(&recorder.tape().nodes, wanted, output);
    let nodes = &recorder.tape().nodes;
    let values = recorder.values();
    let parts = sweep(&mut Scalar, |_, i| nodes[i], |_, id| values[id.0 as usize], depends, output, wanted);
    parts.into_iter().map(|part| part.map_or(0.0, f64::from_bits)).collect()
}
