//! Reverse mode: one pass over the tape from the output back.
//!
//! The pass is written once, against [`Build`]. On a recorder it adds the gradient to the tape as
//! operations; on [`Lane`] it computes the gradient of the recorded lane directly (tier 0). Both
//! do the same operations in the same order: an operation's adjoint is complete when the pass
//! reaches it, the first contribution is stored, later ones are added to it, operands from left to
//! right. Nothing is propagated to what does not depend on the wanted nodes, and nothing that is not
//! finite to what does not count (see `masks`).

use crate::masks::Masks;
use crate::packed::Packed;
use crate::recorder::Recorder;
use crate::taken::Taken;
use crate::tape::{LoopKind, Node, NodeId, Tape};
use dmci_ops::derivative::{contribution, is_weighed, passes_zero};
use dmci_ops::op::single;
use dmci_ops::{Build, Kernel, MAX_ARITY, Op, Shape};
use rustc_hash::FxHashMap;

/// What the pass works on.
pub(crate) trait Sweep: Build {
    fn tape(&self) -> &Tape;
    /// A node as the builder knows it.
    fn value(&self, node: NodeId) -> Self::Id;
    /// A contribution in the shape of the operand that it goes to.
    fn fit(&mut self, part: Self::Id, operand: NodeId) -> Self::Id;
    /// Whether a value is a number rather than a tensor.
    fn is_number(&self, id: Self::Id) -> bool;
    /// A tensor like a node, with these elements and zeros.
    fn tensor_of(&mut self, node: NodeId, elements: &[(u32, Self::Id)]) -> Option<Self::Id>;
    /// What an adjoint of a tensor operation contributes to an operand.
    fn kernel_part(&mut self, node: NodeId, operand: usize, g: Self::Id) -> Option<Self::Id>;
    /// The adjoints of the operands of a loop: see [`Recorder::backward`].
    fn backward(&mut self, node: NodeId, parts: &[Option<Part<Self::Id>>], depends: &[bool]) -> Parts<Self::Id>;
    /// What follows belongs to the adjoint of this node.
    fn begin(&mut self, _node: NodeId) {}
}

/// What has been added up of an adjoint: the sum, and where it is there; everywhere if `None`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<Id> {
    pub sum: Id,
    pub present: Option<Id>,
}

type Parts<Id> = Vec<Option<Part<Id>>>;

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
        op.eval_in(self.tape.single, bits)
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

    fn tensor_of(&mut self, _: NodeId, _: &[(u32, u64)]) -> Option<u64> {
        None
    }

    fn kernel_part(&mut self, _: NodeId, _: usize, _: u64) -> Option<u64> {
        None
    }

    fn backward(&mut self, _: NodeId, parts: &[Option<Part<u64>>], _: &[bool]) -> Parts<u64> {
        debug_assert!(false, "tapes with loops are not swept lane by lane");
        vec![None; parts.len()]
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

    fn tensor_of(&mut self, node: NodeId, elements: &[(u32, NodeId)]) -> Option<NodeId> {
        let shape = self.shape(node);
        if let [(element, x)] = *elements {
            let map = self.map([element]);
            return Some(self.kernel(Kernel::Put(map), &[x], shape));
        }
        let mut all = vec![self.real(0.0); shape.len()];
        elements.iter().for_each(|&(element, x)| all[element as usize] = x);
        Some(self.pack(&all, shape))
    }

    fn kernel_part(&mut self, node: NodeId, operand: usize, g: NodeId) -> Option<NodeId> {
        Recorder::kernel_part(self, node, operand, g)
    }

    fn backward(&mut self, node: NodeId, parts: &[Option<Part<NodeId>>], depends: &[bool]) -> Parts<NodeId> {
        Recorder::backward(self, node, parts, depends)
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
pub(crate) struct Adjoint<Id> {
    pub sum: Id,
    /// Where it is there; everywhere if `None`.
    pub present: Option<Id>,
    /// Whether it is -0 where it is not there.
    pub neutral: bool,
    /// Its mask, by number, if it has one: see `masks`.
    pub mask: Option<usize>,
}

impl<Id> From<Part<Id>> for Adjoint<Id> {
    fn from(Part { sum, present }: Part<Id>) -> Self {
        Adjoint { sum, present, neutral: false, mask: None }
    }
}

/// The pass itself.
pub(crate) struct Pass<'a, B: Sweep> {
    pub(crate) b: &'a mut B,
    pub(crate) first: usize,
    depends: Vec<bool>,
    pub(crate) adjoints: Vec<Option<Adjoint<B::Id>>>,
    pub(crate) masks: Masks<B::Id>,
    pub(crate) packed: Packed<B::Id>,
    /// What was taken of tensors one by one.
    pub(crate) taken: FxHashMap<NodeId, Taken<B::Id>>,
}

fn sweep<B: Sweep>(b: &mut B, output: NodeId, wanted: &[NodeId]) -> Vec<Option<B::Id>> {
    let mut pass = Pass::new(b, wanted, output);
    if pass.depends_on(output) {
        let one = pass.b.real(1.0);
        pass.add(output, Part { sum: one, present: None }.into());
    }
    let parts = pass.run(wanted);
    let mut or_zero = |part: Part<B::Id>| match part.present {
        None => part.sum,
        Some(p) => {
            let zero = b.real(0.0);
            b.op(Op::Select, &[p, part.sum, zero])
        }
    };
    parts.into_iter().map(|part| part.map(&mut or_zero)).collect()
}

/// One round of a loop that runs back: the adjoints of the wanted leaves, if these have `totals` so far
/// and the `seeds` are added first.
pub(crate) fn sweep_body(
    r: &mut Recorder,
    totals: &[(NodeId, Part<NodeId>)],
    seeds: &[(NodeId, Part<NodeId>)],
    wanted: &[NodeId],
) -> Vec<Option<Part<NodeId>>> {
    let last = NodeId((r.len() - 1) as u32);
    let mut pass = Pass::new(r, wanted, last);
    totals.iter().for_each(|&(id, part)| pass.accumulate(id, part.into()));
    seeds.iter().for_each(|&(id, part)| pass.add(id, part.into()));
    pass.run(wanted)
}

impl<'a, B: Sweep> Pass<'a, B> {
    fn new(b: &'a mut B, wanted: &[NodeId], last: NodeId) -> Self {
        let (first, depends) = dependents(b.tape(), wanted, last);
        let masks = Masks::new(depends.len());
        let (adjoints, packed) = (vec![None; depends.len()], Packed::default());
        Pass { b, first, adjoints, depends, masks, packed, taken: FxHashMap::default() }
    }

    /// Goes back to the first wanted node; gives what the wanted ones have got.
    fn run(&mut self, wanted: &[NodeId]) -> Parts<B::Id> {
        let at = |n: &NodeId| (n.0 as usize).checked_sub(self.first);
        let mut is_wanted = vec![false; self.depends.len()];
        for at in wanted.iter().filter_map(at) {
            is_wanted.get_mut(at).into_iter().for_each(|w| *w = true);
        }
        for i in (0..self.depends.len()).rev() {
            let id = NodeId((self.first + i) as u32);
            self.unpack(id);
            if let Some(g) = self.adjoints[i]
                && !is_wanted[i]
            {
                self.node(id, g);
            } else if self.depends[i] && self.b.tape().loop_of(id).is_some() {
                self.loop_node(id);
            }
        }
        wanted.iter().for_each(|&n| self.unpack(n));
        let of = |n: &NodeId| {
            let adjoint = self.adjoints.get((n.0 as usize).checked_sub(self.first)?).copied().flatten()?;
            Some(Part { sum: adjoint.sum, present: adjoint.present })
        };
        wanted.iter().map(of).collect()
    }

    /// Hands the adjoints of a loop's results on to its operands.
    fn loop_node(&mut self, y: NodeId) {
        let Some(l) = self.b.tape().loop_of(y) else { return };
        let (states, kind) = (l.states as usize, l.kind);
        let mut operands = self.b.tape().operands(y.0 as usize).to_vec();
        if kind == LoopKind::Backward {
            operands.pop();
        }
        let part = |a: Adjoint<B::Id>| Part { sum: a.sum, present: a.present };
        let mut parts = vec![None; operands.len()];
        let mut out = y.0 as usize + 1;
        while let Some(Node::Out { of, index }) = self.b.tape().nodes.get(out).copied()
            && of == y
            && out - self.first < self.adjoints.len()
        {
            if (index as usize) < states {
                parts[index as usize] = self.adjoints[out - self.first].map(part);
            }
            out += 1;
        }
        if parts.iter().all(Option::is_none) {
            return;
        }
        for (k, &operand) in operands.iter().enumerate().skip(states) {
            self.unpack(operand);
            let at = (operand.0 as usize).checked_sub(self.first);
            parts[k] = at.and_then(|at| self.adjoints.get(at).copied().flatten()).map(part);
        }
        let depends: Vec<bool> = operands.iter().map(|&o| self.depends_on(o)).collect();
        self.b.begin(y);
        let found = self.b.backward(y, &parts, &depends);
        let wanted = |k: usize| found[k].filter(|_| depends[k]);
        // Shared values first: what they had is in what they get now. The first state may be selected from them.
        for (k, &operand) in operands.iter().enumerate().skip(states) {
            if let Some(part) = wanted(k) {
                self.adjoints[operand.0 as usize - self.first] = None;
                self.accumulate(operand, part.into());
            }
        }
        for (k, &operand) in operands.iter().enumerate().take(states) {
            if let Some(part) = wanted(k) {
                self.add(operand, part.into());
            }
        }
    }

    /// Hands the adjoint of a node on to its operands.
    fn node(&mut self, y: NodeId, g: Adjoint<B::Id>) {
        self.b.begin(y);
        let i = y.0 as usize;
        let node = self.b.tape().nodes[i];
        match node {
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
                    let from = i - self.first;
                    let weight = (is_weighed(op, k) && self.b.is_number(x[1])).then_some(x[1]);
                    let mask = self.masks.carried(self.b, from, weight);
                    let part = match self.masks.own(from) {
                        Some(own) if !passes_zero(op, k) => self.b.op(Op::Counted, &[part, own]),
                        _ => part,
                    };
                    let sum = self.b.fit(part, arg);
                    self.add(arg, Adjoint { mask, ..Part { sum, present: g.present }.into() });
                }
            }
            Node::Pack { .. } if self.add_packed(y, g) => {}
            Node::Kernel(Kernel::Take(_), _) if self.add_taken(y, g) => {}
            Node::Kernel(..) | Node::Pack { .. } => {
                for k in 0..self.b.tape().operands(i).len() {
                    let arg = self.b.tape().operands(i)[k];
                    if self.depends_on(arg)
                        && let Some(part) = self.b.kernel_part(y, k, g.sum)
                    {
                        let own = self.masks.own(i - self.first);
                        let sum = own.map_or(part, |own| self.b.op(Op::Counted, &[part, own]));
                        let mask = self.masks.carried(self.b, i - self.first, None);
                        self.add(arg, Adjoint { mask, ..Part { sum, present: g.present }.into() });
                    }
                }
            }
            // A loop takes the adjoints of its results when it is reached.
            Node::Leaf(_) | Node::Real(_) | Node::Int(_) | Node::Constant(_) | Node::Loop(_) | Node::Out { .. } => {}
        }
    }

    pub(crate) fn depends_on(&self, id: NodeId) -> bool {
        (id.0 as usize).checked_sub(self.first).is_some_and(|at| self.depends.get(at) == Some(&true))
    }

    /// Adds a contribution to a node. A value that was selected is the value of one of two nodes: what
    /// it gets is theirs, at once, so that each lane adds in the order in which it would alone.
    fn add(&mut self, id: NodeId, part: Adjoint<B::Id>) {
        let Some([test, yes, no]) = self.selection(id) else { return self.accumulate(id, part) };
        let mut todo = vec![(part, test, yes, no)];
        while let Some((part, test, yes, no)) = todo.pop() {
            let test = self.b.value(test);
            for (arm, taken) in [(no, false), (yes, true)] {
                if !self.depends_on(arm) {
                    continue;
                }
                let test = if taken { test } else { self.b.op(Op::Not, &[test]) };
                let present = match part.present {
                    None => test,
                    Some(p) => self.b.op(Op::And, &[p, test]),
                };
                let sum = self.b.fit(part.sum, arm);
                let part = Adjoint { sum, present: Some(present), neutral: false, ..part };
                match self.selection(arm) {
                    Some([test, yes, no]) => todo.push((part, test, yes, no)),
                    None => self.accumulate(arm, part),
                }
            }
        }
    }

    /// The operands of a selection.
    pub(crate) fn selection(&self, id: NodeId) -> Option<[NodeId; MAX_ARITY]> {
        match self.b.tape().nodes[id.0 as usize] {
            Node::Op(Op::Select, args) => Some(args),
            _ => None,
        }
    }

    pub(crate) fn accumulate(&mut self, id: NodeId, part: Adjoint<B::Id>) {
        let Some(at) = (id.0 as usize).checked_sub(self.first).filter(|&at| self.depends[at]) else { return };
        self.unpack(id);
        self.masks.arrive(self.b, at, part.mask);
        self.adjoints[at] = Some(match self.adjoints[at] {
            None => part,
            Some(sum) => self.joined(sum, part),
        });
    }

    /// The sum where both are there, otherwise the one that is: -0, which changes no sum, stands for the other.
    pub(crate) fn joined(&mut self, old: Adjoint<B::Id>, new: Adjoint<B::Id>) -> Adjoint<B::Id> {
        let parts = [self.or_neutral(old), self.or_neutral(new)];
        let sum = self.b.op(Op::Add, &parts);
        let present = match (old.present, new.present) {
            (Some(p), Some(q)) => Some(self.b.op(Op::Or, &[p, q])),
            _ => None,
        };
        Adjoint { sum, present, neutral: true, mask: None }
    }

    fn or_neutral(&mut self, part: Adjoint<B::Id>) -> B::Id {
        match part.present {
            Some(present) if !part.neutral => {
                let neutral = self.b.real(-0.0);
                self.b.op(Op::Select, &[present, part.sum, neutral])
            }
            _ => part.sum,
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
    if recorder.has_tensors() || !recorder.tape().loops.is_empty() {
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
