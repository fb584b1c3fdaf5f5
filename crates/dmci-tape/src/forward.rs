//! Forward mode: tangents along the tape, as operations on it.

use crate::loops::Changing;
use crate::recorder::Recorder;
use crate::reverse::dependents;
use crate::tape::{Node, NodeId};
use dmci_ops::derivative::contribution;
use dmci_ops::{Build, MAX_ARITY, Op};
use rustc_hash::FxHashMap;

/// Adds the tangents of `outputs` to the tape when the `wanted` nodes move along `directions`;
/// `None` where an output does not depend on them.
pub fn tangents(
    recorder: &mut Recorder,
    outputs: &[NodeId],
    wanted: &[NodeId],
    directions: &[NodeId],
) -> Vec<Option<NodeId>> {
    let Some(&last) = outputs.iter().max() else { return Vec::new() };
    let (first, depends) = dependents(recorder.tape(), wanted, last);
    let mut tangent: Vec<Option<NodeId>> = vec![None; depends.len()];
    for (n, &direction) in wanted.iter().zip(directions) {
        if let Some(slot) = (n.0 as usize).checked_sub(first).and_then(|at| tangent.get_mut(at)) {
            *slot = Some(direction);
        }
    }
    let mut loops: FxHashMap<NodeId, Changing> = FxHashMap::default();
    for i in 0..depends.len() {
        if !depends[i] || tangent[i].is_some() {
            continue;
        }
        let y = NodeId((first + i) as u32);
        let before = |arg: NodeId| (arg.0 as usize).checked_sub(first).and_then(|at| tangent[at]);
        tangent[i] = match recorder.tape().nodes[first + i] {
            Node::Op(op, args) => operation_change(recorder, op, args, y, args.map(before)),
            Node::Kernel(..) | Node::Pack { .. } => {
                let changes: Vec<_> = recorder.tape().operands(first + i).iter().map(|&a| before(a)).collect();
                recorder.kernel_change(y, &changes)
            }
            Node::Loop(_) => {
                let operands = recorder.tape().operands(first + i).to_vec();
                let changes: Vec<_> = operands.iter().map(|&a| before(a)).collect();
                let followed = operands.last().and_then(|of| loops.get(of));
                if let Some(changing) = recorder.changing(y, &changes, followed) {
                    loops.insert(y, changing);
                }
                None
            }
            Node::Out { of, index } => {
                let changing = loops.get(&of);
                changing.and_then(|c| Some(recorder.out(c.node, (*c.at.get(index as usize)?)?)))
            }
            Node::Leaf(_) | Node::Real(_) | Node::Int(_) | Node::Constant(_) => None,
        };
    }
    outputs
        .iter()
        .map(|n| (n.0 as usize).checked_sub(first).and_then(|at| tangent.get(at).copied().flatten()))
        .collect()
}

/// The change of an operation when its operands change.
fn operation_change(
    recorder: &mut Recorder,
    op: Op,
    args: [NodeId; MAX_ARITY],
    y: NodeId,
    changes: [Option<NodeId>; MAX_ARITY],
) -> Option<NodeId> {
    let n = op.operands().len();
    if op == Op::Select {
        return selected_change(recorder, args, changes);
    }
    let mut change = None;
    for (k, t) in changes[..n].iter().enumerate() {
        let Some(t) = *t else { continue };
        let Some(part) = contribution(recorder, op, &args[..n], y, k, t) else { continue };
        change = Some(match change {
            None => part,
            Some(sum) => recorder.op(Op::Add, &[sum, part]),
        });
    }
    change.map(|change| recorder.expand(change, recorder.shape(y)))
}

/// The change of what was selected.
fn selected_change(
    recorder: &mut Recorder,
    [test, yes, no]: [NodeId; MAX_ARITY],
    [_, a, b]: [Option<NodeId>; MAX_ARITY],
) -> Option<NodeId> {
    a.or(b)?;
    let a = a.unwrap_or_else(|| recorder.zeros(recorder.shape(yes)));
    let b = b.unwrap_or_else(|| recorder.zeros(recorder.shape(no)));
    Some(recorder.op(Op::Select, &[test, a, b]))
}
