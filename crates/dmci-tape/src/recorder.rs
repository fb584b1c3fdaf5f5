//! Recording: nodes are added with their values in the lane that is being walked.

use crate::lane;
use crate::tape::{Guard, Leaf, LeafKind, Node, NodeId, Tape};
use dmci_ops::linalg::Scratch;
use dmci_ops::{Build, Kernel, Layout, MAX_ARITY, Op, Shape, Tensor, Type};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A tape under construction, with the concrete value of every node.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    pub(crate) tape: Tape,
    /// By node: the bits of a number, or where a tensor's elements begin in `elements`.
    values: Vec<u64>,
    elements: Vec<u64>,
    /// Place in the source of each node, for messages; not part of the tape.
    places: Vec<u32>,
    /// Nodes that were given theirs.
    pub(crate) placed: usize,
    constants: FxHashMap<u64, NodeId>,
    integers: FxHashMap<i64, NodeId>,
    maps: FxHashMap<Arc<[u32]>, u32>,
    /// Whether any value is a tensor; without any, shapes need not be looked at.
    tensors: bool,
    scratch: Scratch,
    /// Place given to the nodes that follow.
    pub place: u32,
}

impl Recorder {
    /// An empty one.
    pub fn new() -> Self {
        Recorder::default()
    }

    /// An empty one whose operations are rounded to single precision.
    pub fn single() -> Self {
        Recorder { tape: Tape { single: true, ..Tape::default() }, ..Recorder::default() }
    }

    /// Makes room for nodes to come.
    pub fn reserve(&mut self, nodes: usize) {
        self.tape.nodes.reserve(nodes);
        self.tape.shapes.reserve(nodes);
        self.values.reserve(nodes);
        self.places.reserve(nodes);
    }

    /// Number of nodes so far.
    pub fn len(&self) -> usize {
        self.tape.nodes.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.tape.nodes.is_empty()
    }

    /// Whether any value is a tensor.
    pub fn has_tensors(&self) -> bool {
        self.tensors
    }

    /// Whether there are loops: then not all values are known.
    pub fn has_loops(&self) -> bool {
        !self.tape.loops.is_empty()
    }

    /// How many selections a number may come through, counted up to `limit`.
    pub fn selections(&self, node: NodeId, limit: usize) -> usize {
        let (mut todo, mut count) = (vec![node], 0);
        while let Some(id) = todo.pop().filter(|_| count < limit) {
            if let Node::Op(Op::Select, [_, yes, no]) = self.tape.nodes[id.0 as usize] {
                count += 1;
                todo.extend([yes, no]);
            }
        }
        count
    }

    /// A new leaf for the direction in which a node moves.
    pub fn direction(&mut self, node: NodeId) -> NodeId {
        match self.shape(node) {
            Shape::Scalar => self.leaf("%direction", LeafKind::Param, 0.0),
            shape => self.tensor_leaf("%direction", LeafKind::Param, shape, &vec![0.0; shape.len()]),
        }
    }

    /// The direction in which one number of a node moves.
    pub fn unit(&mut self, node: NodeId, element: usize) -> NodeId {
        match self.shape(node) {
            Shape::Scalar => self.real(1.0),
            shape => self.constant(shape, (0..shape.len()).map(|i| if i == element { 1.0 } else { 0.0 })),
        }
    }

    /// Memory that the recording holds, roughly.
    pub fn bytes(&self) -> usize {
        let node = size_of::<Node>() + size_of::<Shape>() + 2 * size_of::<u64>();
        self.len() * node + 2 * self.elements.len() * size_of::<u64>()
    }

    /// Numbers that are held for tensors.
    pub fn element_count(&self) -> usize {
        self.elements.len()
    }

    pub(crate) fn push(&mut self, node: Node, shape: Shape, value: u64) -> NodeId {
        self.tape.nodes.push(node);
        self.tape.shapes.push(shape);
        self.values.push(value);
        self.places.push(self.place);
        NodeId(self.tape.nodes.len() as u32 - 1)
    }

    pub(crate) fn push_tensor(&mut self, node: Node, shape: Shape, elements: &[u64]) -> NodeId {
        self.tensors = true;
        let at = self.elements.len() as u64;
        self.elements.extend_from_slice(elements);
        self.push(node, shape, at)
    }

    fn fit(&self, x: f64) -> f64 {
        if self.tape.single { x as f32 as f64 } else { x }
    }

    /// A new real leaf with its value.
    pub fn leaf(&mut self, name: &str, kind: LeafKind, value: f64) -> NodeId {
        let value = self.fit(value).to_bits();
        let number = self.new_leaf(name, kind, Type::Real, Shape::Scalar);
        self.push(Node::Leaf(number), Shape::Scalar, value)
    }

    /// A new exact leaf with its value.
    pub fn int_leaf(&mut self, name: &str, kind: LeafKind, value: i64) -> NodeId {
        let number = self.new_leaf(name, kind, Type::Int, Shape::Scalar);
        self.push(Node::Leaf(number), Shape::Scalar, value as u64)
    }

    /// A new tensor leaf with its elements.
    pub fn tensor_leaf(&mut self, name: &str, kind: LeafKind, shape: Shape, values: &[f64]) -> NodeId {
        let bits: Vec<u64> = values.iter().map(|&x| self.fit(x).to_bits()).collect();
        let number = self.new_leaf(name, kind, Type::Real, shape);
        self.push_tensor(Node::Leaf(number), shape, &bits)
    }

    pub(crate) fn new_leaf(&mut self, name: &str, kind: LeafKind, ty: Type, shape: Shape) -> u32 {
        self.tape.leaves.push(Leaf { name: name.into(), kind, ty, shape });
        self.tape.leaves.len() as u32 - 1
    }

    /// An exact constant.
    pub fn int(&mut self, x: i64) -> NodeId {
        if let Some(&id) = self.integers.get(&x) {
            return id;
        }
        let id = self.push(Node::Int(x), Shape::Scalar, x as u64);
        self.integers.insert(x, id);
        id
    }

    /// A constant tensor.
    pub fn constant(&mut self, shape: Shape, values: impl IntoIterator<Item = f64>) -> NodeId {
        let fit = |x: f64| if x.is_nan() { f64::NAN } else { self.fit(x) }.to_bits();
        let bits: Vec<u64> = values.into_iter().map(fit).collect();
        self.tape.constants.push(bits.clone().into());
        let number = self.tape.constants.len() as u32 - 1;
        self.push_tensor(Node::Constant(number), shape, &bits)
    }

    /// The elements of several values one after the other, as a value of the given shape.
    pub fn pack(&mut self, parts: &[NodeId], shape: Shape) -> NodeId {
        let first = self.tape.packed.len() as u32;
        self.tape.packed.extend_from_slice(parts);
        let mut bits = Vec::with_capacity(shape.len());
        parts.iter().for_each(|&part| bits.extend_from_slice(self.elements(part)));
        self.push_tensor(Node::Pack { first, count: parts.len() as u32 }, shape, &bits)
    }

    /// An operation on tensors.
    pub fn kernel(&mut self, kernel: Kernel, args: &[NodeId], shape: Shape) -> NodeId {
        let pair = [args[0], args.get(1).copied().unwrap_or(NodeId(0))];
        let node = Node::Kernel(kernel, pair);
        let layout = Layout { width: 1, lanes: 1, single: self.tape.single };
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut elements = std::mem::take(&mut self.elements);
        let at = elements.len();
        // Where the result will be: a large one is neither made twice nor copied.
        let room = if shape.is_scalar() { 0 } else { shape.len() };
        elements.resize(at + room, 0);
        let (before, own) = elements.split_at_mut(at);
        let mut number = [0];
        let operands = [0, args.len() - 1].map(|k| {
            let i = args[k].0 as usize;
            let shape = self.tape.shapes[i];
            let bits = match shape {
                Shape::Scalar => &self.values[i..=i],
                shape => &before[self.values[i] as usize..][..shape.len()],
            };
            Tensor { bits, shape }
        });
        let out = if shape.is_scalar() { &mut number[..] } else { own };
        kernel.run(out, shape, operands, &self.tape.maps, layout, &mut scratch);
        (self.scratch, self.elements) = (scratch, elements);
        self.tensors |= room > 0;
        self.push(node, shape, if shape.is_scalar() { number[0] } else { at as u64 })
    }

    /// The number of an index map.
    pub fn map(&mut self, map: impl Into<Arc<[u32]>>) -> u32 {
        let map = map.into();
        let next = self.tape.maps.len() as u32;
        let number = *self.maps.entry(map.clone()).or_insert(next);
        if number == next {
            self.tape.maps.push(map);
        }
        number
    }

    /// The shape of a node.
    pub fn shape(&self, node: NodeId) -> Shape {
        self.tape.shape(node)
    }

    /// Notes the outcome of a boolean node that the path depends on.
    pub fn guard(&mut self, node: NodeId) -> bool {
        let outcome = self.values[node.0 as usize] != 0;
        self.tape.guards.push(Guard { node, outcome, pinned: false });
        outcome
    }

    /// Notes that the path depends on an outcome that a boolean node need not have in the recorded lane: the guard has
    /// to be conditioned on something that the lane does not take ([`Recorder::condition_guards`]).
    pub fn guard_as(&mut self, node: NodeId, outcome: bool) {
        self.tape.guards.push(Guard { node, outcome, pinned: false });
    }

    /// Notes that the path depends on the very value that a boolean node compares with.
    pub fn pin(&mut self, node: NodeId) {
        self.tape.guards.push(Guard { node, outcome: self.values[node.0 as usize] != 0, pinned: true });
    }

    /// The value of a number, in bits.
    pub fn bits(&self, node: NodeId) -> u64 {
        self.values[node.0 as usize]
    }

    /// The value of a real number.
    pub fn value(&self, node: NodeId) -> f64 {
        f64::from_bits(self.bits(node))
    }

    /// The elements of a node, in bits; one for a number.
    pub fn elements(&self, node: NodeId) -> &[u64] {
        let i = node.0 as usize;
        match self.tape.shapes[i] {
            Shape::Scalar => &self.values[i..=i],
            shape => &self.elements[self.values[i] as usize..][..shape.len()],
        }
    }

    /// The values of all nodes, in bits, of a tape without tensors.
    pub(crate) fn values(&self) -> &[u64] {
        &self.values
    }

    /// The place of a node.
    pub fn place_of(&self, node: NodeId) -> u32 {
        self.places[node.0 as usize]
    }

    /// Gives a place to the nodes that have none yet.
    pub fn place_new(&mut self, place: u32) {
        self.places[self.placed..].fill(place);
        self.placed = self.places.len();
    }

    /// What was recorded so far.
    pub fn tape(&self) -> &Tape {
        &self.tape
    }

    /// Number of guards so far.
    pub fn guard_count(&self) -> usize {
        self.tape.guards.len()
    }

    /// Forgets all guards from the `count`th on.
    pub fn truncate_guards(&mut self, count: usize) {
        self.tape.guards.truncate(count);
    }

    /// Makes guards hold only in lanes that take an arm: the one where `test` is true, or the other.
    pub fn condition_guards(&mut self, guards: std::ops::Range<usize>, test: NodeId, arm: bool) {
        for k in guards {
            let guard = self.tape.guards[k];
            let other = |r: &mut Recorder| if arm { r.op(Op::Not, &[test]) } else { test };
            let node = if guard.outcome {
                let elsewhere = other(self);
                self.op(Op::Or, &[elsewhere, guard.node])
            } else {
                let here = if arm { test } else { self.op(Op::Not, &[test]) };
                self.op(Op::And, &[here, guard.node])
            };
            self.tape.guards[k] = Guard { node, ..guard };
        }
    }

    /// Forgets all nodes and guards from `len` nodes on.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len() {
            return;
        }
        let tensor = (len..self.len()).find(|&i| !self.tape.shapes[i].is_scalar());
        if let Some(i) = tensor {
            self.elements.truncate(self.values[i] as usize);
        }
        let is_loop = self.tape.nodes[len..].iter().find_map(|node| match node {
            Node::Loop(n) => Some(*n as usize),
            _ => None,
        });
        let pack = self.tape.nodes[len..].iter().find_map(|node| match node {
            Node::Pack { first, .. } => Some(*first),
            Node::Loop(n) => Some(self.tape.loops[*n as usize].first),
            _ => None,
        });
        if let Some(n) = is_loop {
            self.tape.loops.truncate(n);
        }
        if let Some(first) = pack {
            self.tape.packed.truncate(first as usize);
        }
        self.tape.nodes.truncate(len);
        self.tape.shapes.truncate(len);
        self.values.truncate(len);
        self.places.truncate(len);
        self.placed = self.placed.min(len);
        self.tape.guards.retain(|g| (g.node.0 as usize) < len);
        self.constants.retain(|_, id| (id.0 as usize) < len);
        self.integers.retain(|_, id| (id.0 as usize) < len);
    }

    /// An operation on tensors element by element; the shapes are known to fit.
    fn elementwise(&mut self, op: Op, ids: [NodeId; MAX_ARITY], n: usize) -> NodeId {
        let fitting = |a: Shape, b: Shape| a.broadcast(b).expect("shapes were checked before");
        let shape = ids[..n].iter().map(|&id| self.shape(id)).fold(Shape::Scalar, fitting);
        if shape.is_scalar() {
            return self.scalar(op, ids, n);
        }
        let operands: Vec<_> = ids[..n].iter().map(|&id| (self.elements(id), self.shape(id))).collect();
        let out = lane::elementwise(op, self.tape.single, shape, &operands);
        self.push_tensor(Node::Op(op, ids), shape, &out)
    }

    fn scalar(&mut self, op: Op, ids: [NodeId; MAX_ARITY], n: usize) -> NodeId {
        let mut bits = [0; MAX_ARITY];
        for (slot, id) in bits.iter_mut().zip(&ids[..n]) {
            *slot = self.values[id.0 as usize];
        }
        let value = op.eval_in(self.tape.single, bits);
        self.push(Node::Op(op, ids), Shape::Scalar, value)
    }
}

impl Build for Recorder {
    type Id = NodeId;

    fn op(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        let mut ids = [NodeId(0); MAX_ARITY];
        ids[..args.len()].copy_from_slice(args);
        if self.tensors { self.elementwise(op, ids, args.len()) } else { self.scalar(op, ids, args.len()) }
    }

    fn real(&mut self, x: f64) -> NodeId {
        let bits = if x.is_nan() { f64::NAN } else { self.fit(x) }.to_bits();
        if let Some(&id) = self.constants.get(&bits) {
            return id;
        }
        let id = self.push(Node::Real(bits), Shape::Scalar, bits);
        self.constants.insert(bits, id);
        id
    }
}
