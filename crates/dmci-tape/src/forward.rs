//! Forward mode: tangents along the tape, as operations on it.
//!
//! A lane that takes an arm of a decision has the tangents of that arm alone: where a value does not
//! move in it, it has no tangent, and nothing is added to the tangents of others, not even 0. So a
//! tangent behind a selection says where it is there, like an adjoint does.

use crate::loops::Changing;
use crate::recorder::Recorder;
use crate::reverse::dependents;
use crate::tape::{Node, NodeId};
use dmci_ops::derivative::contribution;
use dmci_ops::{Build, MAX_ARITY, Op};
use rustc_hash::FxHashMap;

/// The change of a value.
#[derive(Clone, Copy)]
struct Tangent {
    change: NodeId,
    /// Where it is there; everywhere if `None`. Elsewhere it may be anything.
    present: Option<NodeId>,
}

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
    let mut tangent: Vec<Option<Tangent>> = vec![None; depends.len()];
    for (n, &change) in wanted.iter().zip(directions) {
        if let Some(slot) = (n.0 as usize).checked_sub(first).and_then(|at| tangent.get_mut(at)) {
            *slot = Some(Tangent { change, present: None });
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
            Node::Op(Op::Select, args) => selected_change(recorder, args[0], before(args[1]), before(args[2])),
            Node::Op(op, args) => operation_change(recorder, op, args, y, args.map(before)),
            Node::Kernel(..) => {
                let changes: Vec<_> = recorder.tape().operands(first + i).iter().map(|&a| before(a)).collect();
                kernel_change(recorder, y, &changes)
            }
            Node::Pack { .. } => {
                let changes: Vec<_> = recorder.tape().operands(first + i).iter().map(|&a| before(a)).collect();
                pack_change(recorder, y, &changes)
            }
            Node::Loop(_) => {
                let operands = recorder.tape().operands(first + i).to_vec();
                let changes: Vec<_> = operands.iter().map(|&a| before(a).map(|t| or_zeros(recorder, t))).collect();
                let followed = operands.last().and_then(|of| loops.get(of));
                if let Some(changing) = recorder.changing(y, &changes, followed) {
                    loops.insert(y, changing);
                }
                None
            }
            Node::Out { of, index } => {
                let changing = loops.get(&of);
                let at = changing.and_then(|c| Some((c.node, (*c.at.get(index as usize)?)?)));
                at.map(|(node, at)| Tangent { change: recorder.out(node, at), present: None })
            }
            Node::Leaf(_) | Node::Real(_) | Node::Int(_) | Node::Constant(_) => None,
        };
    }
    let mut of = |n: &NodeId| {
        let tangent = (n.0 as usize).checked_sub(first).and_then(|at| tangent.get(at).copied().flatten())?;
        Some(or_zeros(recorder, tangent))
    };
    outputs.iter().map(&mut of).collect()
}

/// The change of an operation when its operands change.
fn operation_change(
    recorder: &mut Recorder,
    op: Op,
    args: [NodeId; MAX_ARITY],
    y: NodeId,
    changes: [Option<Tangent>; MAX_ARITY],
) -> Option<Tangent> {
    let n = op.operands().len();
    let mut sum: Option<Tangent> = None;
    for (k, t) in changes[..n].iter().enumerate() {
        let Some(t) = *t else { continue };
        let Some(part) = contribution(recorder, op, &args[..n], y, k, t.change) else { continue };
        let part = Tangent { change: part, present: t.present };
        sum = Some(match sum {
            None => part,
            Some(sum) => {
                let both = recorder.op(Op::Add, &[sum.change, part.change]);
                either(recorder, both, sum, part)
            }
        });
    }
    sum.map(|t| Tangent { change: recorder.expand(t.change, recorder.shape(y)), ..t })
}

/// The change where both parts of it are there, or the one part that is.
fn either(recorder: &mut Recorder, both: NodeId, a: Tangent, b: Tangent) -> Tangent {
    let mut change = both;
    if let Some(p) = a.present {
        change = recorder.op(Op::Select, &[p, change, b.change]);
    }
    if let Some(q) = b.present {
        change = recorder.op(Op::Select, &[q, change, a.change]);
    }
    let present = match (a.present, b.present) {
        (Some(p), Some(q)) => Some(recorder.op(Op::Or, &[p, q])),
        _ => None,
    };
    Tangent { change, present }
}

/// The change of what was selected: that of the arm, if it has one.
fn selected_change(
    recorder: &mut Recorder,
    test: NodeId,
    yes: Option<Tangent>,
    no: Option<Tangent>,
) -> Option<Tangent> {
    let (a, b) = match (yes, no) {
        (None, None) => return None,
        (Some(a), None) => {
            let present = a.present.map_or(test, |p| recorder.op(Op::And, &[test, p]));
            return Some(Tangent { present: Some(present), ..a });
        }
        (None, Some(b)) => {
            let other = recorder.op(Op::Not, &[test]);
            let present = b.present.map_or(other, |q| recorder.op(Op::And, &[other, q]));
            return Some(Tangent { present: Some(present), ..b });
        }
        (Some(a), Some(b)) => (a, b),
    };
    let present = match (a.present, b.present) {
        (None, None) => None,
        (None, Some(q)) => Some(recorder.op(Op::Or, &[test, q])),
        (Some(p), None) => {
            let other = recorder.op(Op::Not, &[test]);
            Some(recorder.op(Op::Or, &[other, p]))
        }
        (Some(p), Some(q)) => Some(recorder.op(Op::BoolSelect, &[test, p, q])),
    };
    Some(Tangent { change: recorder.op(Op::Select, &[test, a.change, b.change]), present })
}

/// The change of an operation on tensors.
fn kernel_change(recorder: &mut Recorder, y: NodeId, changes: &[Option<Tangent>]) -> Option<Tangent> {
    let all: Vec<Option<NodeId>> = changes.iter().map(|t| t.map(|t| t.change)).collect();
    let change = recorder.kernel_change(y, &all)?;
    if let [Some(a), Some(b)] = *changes
        && (a.present.is_some() || b.present.is_some())
        // A kernel does not move with every operand: with what it sorts by, for example.
        && let Some(first) = recorder.kernel_change(y, &[Some(a.change), None])
        && let Some(second) = recorder.kernel_change(y, &[None, Some(b.change)])
    {
        let (a, b) = (Tangent { change: first, ..a }, Tangent { change: second, ..b });
        return Some(either(recorder, change, a, b));
    }
    Some(Tangent { change, present: changes.iter().flatten().next().and_then(|t| t.present) })
}

/// The change of several values in one.
fn pack_change(recorder: &mut Recorder, y: NodeId, changes: &[Option<Tangent>]) -> Option<Tangent> {
    let filled: Vec<Option<NodeId>> = changes.iter().map(|t| t.map(|t| or_zeros(recorder, t))).collect();
    let change = recorder.kernel_change(y, &filled)?;
    let mut present = changes.iter().flatten().map(|t| t.present);
    let first = present.next()?;
    let present = present.fold(first, |p, q| Some(recorder.op(Op::Or, &[p?, q?])));
    Some(Tangent { change, present })
}

/// A change with zeros where it is not there.
fn or_zeros(recorder: &mut Recorder, t: Tangent) -> NodeId {
    let Some(present) = t.present else { return t.change };
    let zeros = recorder.zeros(recorder.shape(t.change));
    recorder.op(Op::Select, &[present, t.change, zeros])
}
