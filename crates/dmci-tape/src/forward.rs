//! Forward mode: tangents along the tape, as operations on it.

use crate::recorder::Recorder;
use crate::reverse::dependents;
use crate::tape::{Node, NodeId};
use dmci_ops::derivative::contribution;
use dmci_ops::{Build, Op};

/// Adds the tangents of `outputs` to the tape when the `wanted` nodes move along `directions`;
/// `None` where an output does not depend on them.
pub fn tangents(
    recorder: &mut Recorder,
    outputs: &[NodeId],
    wanted: &[NodeId],
    directions: &[NodeId],
) -> Vec<Option<NodeId>> {
    let Some(&last) = outputs.iter().max() else { return Vec::new() };
    let (first, depends) = dependents(&recorder.tape().nodes, wanted, last);
    let mut tangent: Vec<Option<NodeId>> = vec![None; depends.len()];
    for (n, &direction) in wanted.iter().zip(directions) {
        if let Some(slot) = (n.0 as usize).checked_sub(first).and_then(|at| tangent.get_mut(at)) {
            *slot = Some(direction);
        }
    }
    for i in 0..depends.len() {
        if !depends[i] || tangent[i].is_some() {
            continue;
        }
        let Node::Op(op, args) = recorder.tape().nodes[first + i] else { continue };
        let args = &args[..op.operands().len()];
        for (k, arg) in args.iter().enumerate() {
            let Some(t) = (arg.0 as usize).checked_sub(first).and_then(|at| tangent[at]) else { continue };
            let y = NodeId((first + i) as u32);
            let Some(part) = contribution(recorder, op, args, y, k, t) else { continue };
            tangent[i] = Some(match tangent[i] {
                None => part,
                Some(sum) => recorder.op(Op::Add, &[sum, part]),
            });
        }
    }
    outputs
        .iter()
        .map(|n| (n.0 as usize).checked_sub(first).and_then(|at| tangent.get(at).copied().flatten()))
        .collect()
}
