//! Reverse mode: one pass over the tape from the output back.
//!
//! The pass is written once, against [`Build`]. On a recorder it adds the gradient to the tape as
//! operations; on [`Lane`] it computes the gradient of the recorded lane directly (tier 0). Both
//! do the same operations in the same order: an operation's adjoint is complete when the pass
//! reaches it, the first contribution is stored, later ones are added to it, operands from left to
//! right. Nothing is propagated to what does not depend on the wanted nodes, and nothing that is not
//! finite to what does not count (see `masks`).

use crate::masks::Masks;
use crate::recorder::Recorder;
use crate::tape::{Node, NodeId, Tape};
use dmci_ops::derivative::{contribution, is_weighed, passes_zero};
use dmci_ops::op::single;
use dmci_ops::{Build, MAX_ARITY, Op, Shape, Type};

/// What the pass works on.
trait Sweep: Build {
    fn tape(&self) -> &Tape;
    /// A node as the builder knows it.
    fn value(&self, node: NodeId) -> Self::Id;
    /// A contribution in the shape of the operand that it goes to.
    fn fit(&mut self, part: Self::Id, operand: NodeId) -> Self::Id;
    /// Whether a value is a number rather than a tensor.
    fn is_number(&self, id: Self::Id) -> bool;
    /// What an adjoint of a tensor operation contributes to an operand.
    fn kernel_part(&mut self, node: NodeId, operand: usize, g: Self::Id) -> Option<Self::Id>;
    /// What follows belongs to the adjoint of this node.
    fn begin(&mut self, _node: NodeId) {}
}

/// The recorded lane of a tape without tensors: operations are done on its values at once.
struct Lane<'a> {
    tape: &'a Tape,
    values: &'a [u64],
}

impl Build for Lane<'_> {
    type Id = u64;

    fn op(&mut self, op: Op, args: &[u64]) -> u64 {
        let mut bits = [0; MAX_ARITY];
        bits[..args.len()].copy_from_slice(args);
        let value = op.eval(bits);
        if self.tape.single && op.result() == Type::Real { single(value) } else { value }
    }

    fn real(&mut self, x: f64) -> u64 {
        if self.tape.single { single(x.to_bits()) } else { x.to_bits() }
    }
}

impl Sweep for Lane<'_> {
    fn tape(&self) -> &Tape {
        self.tape
    }

    fn value(&self, node: NodeId) -> u64 {
        self.values[node.0 as usize]
    }

    fn fit(&mut self, part: u64, _: NodeId) -> u64 {
        part
    }

    fn is_number(&self, _: u64) -> bool {
        true
    }

    fn kernel_part(&mut self, _: NodeId, _: usize, _: u64) -> Option<u64> {
        None
    }
}

impl Sweep for Recorder {
    fn tape(&self) -> &Tape {
        Recorder::tape(self)
    }

    fn value(&self, node: NodeId) -> NodeId {
        node
    }

    fn fit(&mut self, part: NodeId, operand: NodeId) -> NodeId {
        if self.has_tensors() { self.reduce(part, self.shape(operand)) } else { part }
    }

    fn is_number(&self, id: NodeId) -> bool {
        !self.has_tensors() || self.shape(id) == Shape::Scalar
    }

    fn kernel_part(&mut self, node: NodeId, operand: usize, g: NodeId) -> Option<NodeId> {
        Recorder::kernel_part(self, node, operand, g)
    }

    fn begin(&mut self, node: NodeId) {
        self.place = self.place_of(node);
    }
}

/// Which nodes from the first wanted one up to `last` depend on a wanted one; the first entry
/// stands for the first wanted node.
pub(crate) fn dependents(tape: &Tape, wanted: &[NodeId], last: NodeId) -> (usize, Vec<bool>) {
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
                tape.operands(i).iter().any(|a| a.0 as usize >= first && depends[a.0 as usize - first]);
        }
    }
    (first, depends)
}

/// The pass itself.
fn sweep<B: Sweep>(b: &mut B, output: NodeId, wanted: &[NodeId]) -> Vec<Option<B::Id>> {
    let (first, depends) = dependents(b.tape(), wanted, output);
    let mut adjoint: Vec<Option<B::Id>> = vec![None; depends.len()];
    let mut masks = Masks::new(depends.len());
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
        let y = NodeId((first + i) as u32);
        b.begin(y);
        let dependent = |arg: NodeId| (arg.0 as usize).checked_sub(first).filter(|&at| depends[at]);
        let mut accumulate = |b: &mut B, at: usize, part: B::Id| {
            adjoint[at] = Some(match adjoint[at] {
                None => part,
                Some(sum) => b.op(Op::Add, &[sum, part]),
            });
        };
        match b.tape().nodes[first + i] {
            Node::Op(op, args) => {
                let n = op.operands().len();
                let mut x = [b.value(y); MAX_ARITY];
                x[..n].iter_mut().zip(&args).for_each(|(x, &arg)| *x = b.value(arg));
                for (k, &arg) in args[..n].iter().enumerate() {
                    let Some(at) = dependent(arg) else { continue };
                    let y = b.value(y);
                    let Some(part) = contribution(b, op, &x[..n], y, k, g) else { continue };
                    let weight = (is_weighed(op, k) && b.is_number(x[1])).then_some(x[1]);
                    let part = match masks.pass(b, i, at, weight) {
                        Some(mask) if !passes_zero(op, k) => b.op(Op::Counted, &[part, mask]),
                        _ => part,
                    };
                    let part = b.fit(part, arg);
                    accumulate(b, at, part);
                }
            }
            Node::Kernel(..) | Node::Pack { .. } => {
                for k in 0..b.tape().operands(first + i).len() {
                    let Some(at) = dependent(b.tape().operands(first + i)[k]) else { continue };
                    if let Some(part) = b.kernel_part(y, k, g) {
                        let mask = masks.pass(b, i, at, None);
                        let part = mask.map_or(part, |mask| b.op(Op::Counted, &[part, mask]));
                        accumulate(b, at, part);
                    }
                }
            }
            Node::Leaf(_) | Node::Real(_) | Node::Int(_) | Node::Constant(_) => {}
        }
    }
    wanted.iter().map(|n| (n.0 as usize).checked_sub(first).and_then(|at| adjoint.get(at).copied().flatten())).collect()
}

/// Adds the derivatives of the number `output` by the wanted nodes to the tape, in their shapes;
/// `None` where it does not depend.
pub fn gradient(recorder: &mut Recorder, output: NodeId, wanted: &[NodeId]) -> Vec<Option<NodeId>> {
    sweep(recorder, output, wanted)
}

/// The derivatives of the number `output` by the elements of the wanted nodes, one after the other,
/// in the recorded lane; 0 where it does not depend.
pub fn adjoints(recorder: &mut Recorder, output: NodeId, wanted: &[NodeId]) -> Vec<f64> {
    scalar_adjoints(recorder, output, wanted).unwrap_or_else(|| tensor_adjoints(recorder, output, wanted))
}

/// The same for a tape without tensors, on which nothing needs to be recorded; `None` for others.
pub fn scalar_adjoints(recorder: &Recorder, output: NodeId, wanted: &[NodeId]) -> Option<Vec<f64>> {
    if recorder.has_tensors() {
        return None;
    }
    let mut lane = Lane { tape: recorder.tape(), values: recorder.values() };
    let parts = sweep(&mut lane, output, wanted);
    Some(parts.into_iter().map(|part| part.map_or(0.0, f64::from_bits)).collect())
}

/// The same with tensors: the gradient is recorded, read and forgotten.
fn tensor_adjoints(recorder: &mut Recorder, output: NodeId, wanted: &[NodeId]) -> Vec<f64> {
    let before = recorder.len();
    let parts = gradient(recorder, output, wanted);
    let mut flat = Vec::new();
    for (part, &node) in parts.iter().zip(wanted) {
        match part {
            Some(part) => flat.extend(recorder.elements(*part).iter().map(|&bits| f64::from_bits(bits))),
            None => flat.extend(std::iter::repeat_n(0.0, recorder.shape(node).len())),
        }
    }
    recorder.truncate(before);
    flat
}
