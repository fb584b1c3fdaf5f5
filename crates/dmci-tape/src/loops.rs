//! Loops on a recorder: making them, and cutting the body of one out of what was recorded.

mod derivatives;
mod repeat;

pub(crate) use derivatives::Changing;
pub use repeat::Repeat;

use crate::lane::LoopEnd;
use crate::recorder::Recorder;
use crate::tape::{Guard, Leaf, LeafKind, Loop, LoopKind, Node, NodeId, Tape};
use dmci_ops::{Build, Kernel, Op, Shape, Type};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Selections from outside that are made again in the body of a loop, at most.
const MOST_SELECTIONS: usize = 64;

/// What a loop is made of.
#[derive(Clone, Debug)]
pub struct NewLoop {
    /// One round; its outputs are the state at the end.
    pub body: Tape,
    /// What ends it.
    pub kind: LoopKind,
    /// The first state, the shared values and, for a loop that runs back, the loop that it follows.
    pub operands: Vec<NodeId>,
}

/// One round of a loop, as it was recorded.
#[derive(Clone, Debug)]
pub struct Round {
    /// The number of nodes before the round.
    pub from: usize,
    /// The number of guards before the round.
    pub guards: usize,
    /// Leaves that stand for the state at the start.
    pub start: Vec<NodeId>,
    /// The state at the end.
    pub end: Vec<NodeId>,
}

impl Recorder {
    /// A leaf of a loop's body, with the bits of its numbers in the recorded lane if they are known.
    pub fn local(&mut self, ty: Type, shape: Shape, bits: &[u64]) -> NodeId {
        let number = self.new_leaf("", LeafKind::Local, ty, shape);
        let bit = |i: usize| bits.get(i).copied().unwrap_or(0);
        if shape.is_scalar() {
            return self.push(Node::Leaf(number), shape, bit(0));
        }
        self.push_tensor(Node::Leaf(number), shape, &(0..shape.len()).map(bit).collect::<Vec<_>>())
    }

    /// Number of leaves so far.
    pub fn leaf_count(&self) -> usize {
        self.tape.leaves.len()
    }

    /// Forgets all leaves from the `count`th on; their nodes are gone already.
    pub fn truncate_leaves(&mut self, count: usize) {
        self.tape.leaves.truncate(count);
    }

    /// A boolean constant.
    pub fn boolean(&mut self, truth: bool) -> NodeId {
        let (zero, other) = (self.int(0), self.int(if truth { 0 } else { 1 }));
        self.op(Op::IntEq, &[zero, other])
    }

    /// A loop, with what came out of it in the recorded lane if that is known. Its state at the end and
    /// the number of its rounds are the nodes that follow it.
    pub fn push_loop(&mut self, new: NewLoop, end: Option<&LoopEnd>) -> NodeId {
        let leaves: Vec<Leaf> = new.body.leaves[..new.body.outputs.len()].to_vec();
        let states = leaves.len() as u32;
        let first = self.tape.packed.len() as u32;
        let count = new.operands.len() as u32;
        self.tape.packed.extend(new.operands);
        self.tape.loops.push(Loop { body: Arc::new(new.body), states, kind: new.kind, first, count });
        let number = self.tape.loops.len() as u32 - 1;
        let of = self.push(Node::Loop(number), Shape::Scalar, end.is_some_and(|e| e.finished) as u64);
        let mut at = 0;
        for (index, leaf) in leaves.iter().enumerate() {
            let node = Node::Out { of, index: index as u32 };
            let bits = |i: usize| end.and_then(|e| e.state.get(at + i).copied()).unwrap_or(0);
            if leaf.shape.is_scalar() {
                self.push(node, leaf.shape, bits(0));
            } else {
                self.push_tensor(node, leaf.shape, &(0..leaf.shape.len()).map(bits).collect::<Vec<_>>());
            }
            at += leaf.shape.len();
        }
        self.push(Node::Out { of, index: states }, Shape::Scalar, end.map_or(0, |e| e.rounds));
        of
    }

    /// A state of a loop at its end, or, behind the last of them, the number of rounds.
    pub fn out(&self, of: NodeId, index: usize) -> NodeId {
        NodeId(of.0 + 1 + index as u32)
    }

    /// Makes loops among these nodes do nothing in lanes that do not take an arm of a decision: there they
    /// might never end.
    pub fn condition_loops(&mut self, nodes: std::ops::Range<usize>, test: NodeId, arm: bool) {
        for i in nodes {
            let Node::Loop(n) = self.tape.nodes[i] else { continue };
            let mut operands = self.tape.operands(i).to_vec();
            operands.push(test);
            let first = self.tape.packed.len() as u32;
            self.tape.packed.extend(operands);
            let l = &mut self.tape.loops[n as usize];
            let body = Arc::make_mut(&mut l.body);
            body.leaves.push(Leaf { name: String::new(), kind: LeafKind::Local, ty: Type::Bool, shape: Shape::Scalar });
            body.nodes.push(Node::Leaf(body.leaves.len() as u32 - 1));
            body.shapes.push(Shape::Scalar);
            let node = NodeId(body.nodes.len() as u32 - 1);
            // The first guard: what follows is not begun.
            body.guards.insert(0, Guard { node, outcome: arm, pinned: false });
            (l.first, l.count) = (first, l.count + 1);
        }
    }

    /// The nodes of another tape once more. Its leaves are these nodes; values of loops are not known.
    pub(crate) fn append(&mut self, tape: &Tape, leaves: &[NodeId]) -> Vec<NodeId> {
        let mut ids: Vec<NodeId> = Vec::with_capacity(tape.nodes.len());
        for (i, node) in tape.nodes.iter().enumerate() {
            let id = match *node {
                Node::Leaf(n) => leaves[n as usize],
                _ => self.copy_node(tape, i, |a| ids[a.0 as usize]),
            };
            ids.push(id);
        }
        ids
    }

    /// A node of another tape once more, but no leaf.
    fn copy_node(&mut self, tape: &Tape, i: usize, id: impl Fn(NodeId) -> NodeId) -> NodeId {
        let shape = tape.shapes[i];
        let operands: Vec<NodeId> = tape.operands(i).iter().map(|&a| id(a)).collect();
        match tape.nodes[i] {
            Node::Leaf(_) => operands[0],
            Node::Real(bits) => self.real(f64::from_bits(bits)),
            Node::Int(x) => self.int(x),
            Node::Constant(n) => {
                let elements = tape.constants[n as usize].clone();
                self.constant(shape, elements.iter().map(|&bits| f64::from_bits(bits)))
            }
            Node::Op(op, _) => self.op(op, &operands),
            Node::Kernel(kernel, _) => {
                let kernel = match kernel {
                    Kernel::Take(n) => Kernel::Take(self.map(tape.maps[n as usize].clone())),
                    Kernel::Put(n) => Kernel::Put(self.map(tape.maps[n as usize].clone())),
                    other => other,
                };
                self.kernel(kernel, &operands, shape)
            }
            Node::Pack { .. } => self.pack(&operands, shape),
            Node::Loop(n) => {
                let l = &tape.loops[n as usize];
                self.push_loop(NewLoop { body: (*l.body).clone(), kind: l.kind, operands }, None)
            }
            Node::Out { index, .. } => self.out(operands[0], index as usize),
        }
    }

    /// An empty one of the same precision.
    pub(crate) fn fresh(&self) -> Recorder {
        if self.tape.single { Recorder::single() } else { Recorder::new() }
    }

    /// Cuts a round out of the recording, as the body of a loop. Gives the body and the nodes from
    /// outside that it needs; the recording is then as before the round. `None` if the round needs more
    /// than that.
    pub fn cut_round(&mut self, round: &Round, leaves: usize) -> Option<(Tape, Vec<NodeId>)> {
        let cut = self.body_of(round, leaves);
        self.truncate(round.from);
        self.truncate_guards(round.guards);
        self.truncate_leaves(leaves);
        cut
    }

    fn body_of(&self, round: &Round, leaves: usize) -> Option<(Tape, Vec<NodeId>)> {
        let tape = &self.tape;
        if tape.leaves.len() != leaves + round.start.len() {
            return None;
        }
        let guards = &tape.guards[round.guards..];
        let mut needed = vec![false; tape.nodes.len()];
        round.end.iter().chain(guards.iter().map(|g| &g.node)).for_each(|n| needed[n.0 as usize] = true);
        round.start.iter().for_each(|n| needed[n.0 as usize] = true);
        // A selection from outside is made again inside, so that what it contributes to in a gradient
        // are its arms, as they are without the loop.
        let again = |i: usize| i < round.from && matches!(tape.nodes[i], Node::Op(Op::Select, _));
        let mut selections = 0;
        for i in (0..needed.len()).rev().filter(|&i| i >= round.from || again(i)) {
            if needed[i] {
                selections += again(i) as usize;
                tape.operands(i).iter().for_each(|a| needed[a.0 as usize] = true);
            }
        }
        if selections > MOST_SELECTIONS {
            return None;
        }
        let constant = |i: usize| matches!(tape.nodes[i], Node::Real(_) | Node::Int(_) | Node::Constant(_));
        let outside = (0..round.from).filter(|&i| needed[i] && !constant(i) && !again(i));
        let shared: Vec<NodeId> = outside.map(|i| NodeId(i as u32)).collect();
        let mut body = self.fresh();
        let mut ids: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for &id in round.start.iter().chain(&shared) {
            let leaf = body.local(tape.type_of(id), tape.shape(id), self.elements(id));
            ids.insert(id, leaf);
        }
        for i in (0..needed.len()).filter(|&i| needed[i]) {
            let id = NodeId(i as u32);
            if !ids.contains_key(&id) {
                let new = body.copy_node(tape, i, |a| ids.get(&a).copied().unwrap_or(NodeId(0)));
                ids.insert(id, new);
            }
        }
        let mut body = body.tape;
        body.guards = guards.iter().map(|g| Guard { node: ids[&g.node], ..*g }).collect();
        body.outputs = round.end.iter().map(|n| ids[n]).collect();
        Some((body, shared))
    }
}
