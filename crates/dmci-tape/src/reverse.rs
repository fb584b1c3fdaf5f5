//! Reverse mode: one pass over the tape from the output back.
//!
//! The pass is written once, against [`Build`]. On a recorder it adds the gradient to the tape as
//! operations; on [`Lane`] it computes the gradient of the recorded lane directly (tier 0). Both
//! do the same operations in the same order: an operation's adjoint is complete when the pass
//! reaches it, the first contribution is stored, later ones are added to it, operands from left to
//! right. Nothing is propagated to what does not depend on the wanted nodes.

use crate::recorder::Recorder;
use crate::tape::{Node, NodeId, Tape};
use dmci_ops::derivative::contribution;
use dmci_ops::op::single;
use dmci_ops::{Build, MAX_ARITY, Op, Type};

/// What the pass works on.
trait Sweep: Build {
    fn tape(&self) -> &Tape;
    /// A node as the builder knows it.
    fn value(&self, node: NodeId) -> Self::Id;
    /// A contribution in the shape of the operand that it goes to.
    fn fit(&mut self, part: Self::Id, operand: NodeId) -> Self::Id;
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

/// An adjoint under construction. A lane that does not take an arm of a decision gets nothing from
/// it: then the adjoint is only there where a boolean is true, and anything elsewhere.
#[derive(Clone, Copy)]
struct Adjoint<Id> {
    sum: Id,
    /// Where it is there; everywhere if `None`.
    present: Option<Id>,
}

/// The pass itself.
struct Pass<'a, B: Sweep> {
    b: &'a mut B,
    first: usize,
    depends: Vec<bool>,
    adjoints: Vec<Option<Adjoint<B::Id>>>,
}

fn sweep<B: Sweep>(b: &mut B, output: NodeId, wanted: &[NodeId]) -> Vec<Option<B::Id>> {
    let (first, depends) = dependents(b.tape(), wanted, output);
    let mut pass = Pass { b, first, adjoints: vec![None; depends.len()], depends };
    if let Some(last) = pass.depends.len().checked_sub(1) {
        let one = pass.b.real(1.0);
        pass.add(NodeId((first + last) as u32), Adjoint { sum: one, present: None });
    }
    let is_wanted = |id: usize| wanted.iter().any(|n| n.0 as usize == id);
    for i in (0..pass.depends.len()).rev() {
        if let Some(g) = pass.adjoints[i]
            && !is_wanted(first + i)
        {
            pass.node(NodeId((first + i) as u32), g);
        }
    }
    let of = |pass: &mut Pass<'_, B>, n: &NodeId| {
        let adjoint = (n.0 as usize).checked_sub(first).and_then(|at| pass.adjoints.get(at).copied().flatten())?;
        Some(match adjoint.present {
            None => adjoint.sum,
            Some(p) => {
                let zero = pass.b.real(0.0);
                pass.b.op(Op::Select, &[p, adjoint.sum, zero])
            }
        })
    };
    wanted.iter().map(|n| of(&mut pass, n)).collect()
}

impl<B: Sweep> Pass<'_, B> {
    /// Hands the adjoint of a node on to its operands.
    fn node(&mut self, y: NodeId, g: Adjoint<B::Id>) {
        self.b.begin(y);
        let i = y.0 as usize;
        match self.b.tape().nodes[i] {
            Node::Op(op, args) => {
                let n = op.operands().len();
                let result = self.b.value(y);
                let mut x = [result; MAX_ARITY];
                for (x, &arg) in x[..n].iter_mut().zip(&args) {
                    *x = self.b.value(arg);
                }
                for (k, &arg) in args[..n].iter().enumerate() {
                    if !self.depends_on(arg) {
                        continue;
                    }
                    let Some(part) = contribution(self.b, op, &x[..n], result, k, g.sum) else { continue };
                    let sum = self.b.fit(part, arg);
                    self.add(arg, Adjoint { sum, present: g.present });
                }
            }
            Node::Kernel(..) | Node::Pack { .. } => {
                for k in 0..self.b.tape().operands(i).len() {
                    let arg = self.b.tape().operands(i)[k];
                    if self.depends_on(arg)
                        && let Some(sum) = self.b.kernel_part(y, k, g.sum)
                    {
                        self.add(arg, Adjoint { sum, present: g.present });
                    }
                }
            }
            Node::Leaf(_) | Node::Real(_) | Node::Int(_) | Node::Constant(_) => {}
        }
    }

    fn depends_on(&self, id: NodeId) -> bool {
        (id.0 as usize).checked_sub(self.first).is_some_and(|at| self.depends[at])
    }

    /// Adds a contribution to a node. A value that was selected is the value of one of two nodes: what
    /// it gets is theirs, at once, so that each lane adds in the order in which it would alone.
    fn add(&mut self, id: NodeId, part: Adjoint<B::Id>) {
        let mut todo = vec![(id, part)];
        while let Some((id, part)) = todo.pop() {
            if !self.depends_on(id) {
                continue;
            }
            if let Node::Op(Op::Select, [test, yes, no]) = self.b.tape().nodes[id.0 as usize] {
                let test = self.b.value(test);
                if self.depends_on(yes) {
                    let present = self.both(part.present, test);
                    let sum = self.b.fit(part.sum, yes);
                    todo.push((yes, Adjoint { sum, present: Some(present) }));
                }
                if self.depends_on(no) {
                    let not = self.b.op(Op::Not, &[test]);
                    let present = self.both(part.present, not);
                    let sum = self.b.fit(part.sum, no);
                    todo.push((no, Adjoint { sum, present: Some(present) }));
                }
                continue;
            }
            let at = id.0 as usize - self.first;
            self.adjoints[at] = Some(match self.adjoints[at] {
                None => part,
                Some(sum) => self.joined(sum, part),
            });
        }
    }

    fn both(&mut self, present: Option<B::Id>, test: B::Id) -> B::Id {
        match present {
            None => test,
            Some(p) => self.b.op(Op::And, &[p, test]),
        }
    }

    /// The sum where both are there, otherwise the one that is.
    fn joined(&mut self, old: Adjoint<B::Id>, new: Adjoint<B::Id>) -> Adjoint<B::Id> {
        let both = self.b.op(Op::Add, &[old.sum, new.sum]);
        let with_new = match old.present {
            None => both,
            Some(p) => self.b.op(Op::Select, &[p, both, new.sum]),
        };
        match (old.present, new.present) {
            (_, None) => Adjoint { sum: with_new, present: None },
            (None, Some(q)) => {
                Adjoint { sum: self.b.op(Op::Select, &[q, with_new, old.sum]), present: None }
            }
            (Some(p), Some(q)) => {
                let sum = self.b.op(Op::Select, &[q, with_new, old.sum]);
                Adjoint { sum, present: Some(self.b.op(Op::Or, &[p, q])) }
            }
        }
    }
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
