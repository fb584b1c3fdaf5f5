//! A tape made from another one, node by node: what passes and stages are built on.

use crate::tape::{Guard, Leaf, Loop, Node, NodeId, Tape};
use dmci_ops::Shape;
use std::sync::Arc;

/// A tape under reconstruction.
#[derive(Debug)]
pub struct Rebuild<'a> {
    old: &'a Tape,
    new: Tape,
    /// The new node of each old one that has one.
    new_id: Vec<Option<NodeId>>,
    /// Leaves from this number on have made room for so many others.
    moved: (usize, usize),
}

impl<'a> Rebuild<'a> {
    /// Nothing yet but the leaves, maps and constants of the old tape.
    pub fn new(old: &'a Tape) -> Self {
        let new = Tape {
            nodes: Vec::with_capacity(old.nodes.len()),
            shapes: Vec::with_capacity(old.nodes.len()),
            leaves: old.leaves.clone(),
            maps: old.maps.clone(),
            constants: old.constants.clone(),
            single: old.single,
            ..Tape::default()
        };
        Rebuild { old, new, new_id: vec![None; old.nodes.len()], moved: (0, 0) }
    }

    /// The old nodes that these need, themselves included, as far as they are not here yet.
    pub fn needed(&self, roots: impl IntoIterator<Item = NodeId>) -> Vec<bool> {
        let mut needed = vec![false; self.old.nodes.len()];
        roots.into_iter().for_each(|id| needed[id.0 as usize] = true);
        for i in (0..needed.len()).rev() {
            needed[i] &= self.new_id[i].is_none();
            if needed[i] {
                self.old.operands(i).iter().for_each(|a| needed[a.0 as usize] = true);
            }
        }
        needed
    }

    /// What an old node is now.
    pub fn id(&self, old: NodeId) -> NodeId {
        self.new_id[old.0 as usize].expect("nodes are copied before what needs them")
    }

    /// The operands of an old node as they are now.
    pub fn operands(&self, i: usize) -> impl Iterator<Item = NodeId> {
        self.old.operands(i).iter().map(|&a| self.id(a))
    }

    /// Lets a new node stand for an old one.
    pub fn replace(&mut self, i: usize, new: NodeId) {
        self.new_id[i] = Some(new);
    }

    /// Makes an old node a leaf.
    pub fn make_leaf(&mut self, old: NodeId, leaf: Leaf) {
        let shape = leaf.shape;
        self.new.leaves.push(leaf);
        let id = self.push(Node::Leaf(self.new.leaves.len() as u32 - 1), shape);
        self.replace(old.0 as usize, id);
    }

    /// Copies an old node whose operands are here already.
    pub fn copy(&mut self, i: usize) -> NodeId {
        let node = match self.old.nodes[i] {
            Node::Op(op, mut args) => {
                args.iter_mut().zip(self.operands(i)).for_each(|(a, new)| *a = new);
                Node::Op(op, args)
            }
            Node::Kernel(kernel, mut args) => {
                args.iter_mut().zip(self.operands(i)).for_each(|(a, new)| *a = new);
                Node::Kernel(kernel, args)
            }
            Node::Pack { count, .. } => {
                let first = self.new.packed.len() as u32;
                let operands: Vec<NodeId> = self.operands(i).collect();
                self.new.packed.extend(operands);
                Node::Pack { first, count }
            }
            Node::Loop(n) => {
                let first = self.new.packed.len() as u32;
                let operands: Vec<NodeId> = self.operands(i).collect();
                self.new.packed.extend(operands);
                let l = Loop { first, ..self.old.loops[n as usize].clone() };
                self.new.loops.push(l);
                Node::Loop(self.new.loops.len() as u32 - 1)
            }
            Node::Out { of, index } => Node::Out { of: self.id(of), index },
            Node::Leaf(n) if n as usize >= self.moved.0 => Node::Leaf(n + self.moved.1 as u32),
            other => other,
        };
        let id = self.push(node, self.old.shapes[i]);
        self.replace(i, id);
        id
    }

    /// Leaves in front of the one of a number, all later ones being behind them; their nodes come here.
    pub(crate) fn insert_leaves(&mut self, at: usize, leaves: Vec<Leaf>) -> Vec<NodeId> {
        self.moved = (at, leaves.len());
        let shapes: Vec<Shape> = leaves.iter().map(|leaf| leaf.shape).collect();
        self.new.leaves.splice(at..at, leaves);
        (at as u32..).zip(shapes).map(|(n, shape)| self.push(Node::Leaf(n), shape)).collect()
    }

    /// A state of a new loop at its end, or, behind the last of them, the number of rounds.
    pub(crate) fn out(&mut self, of: NodeId, index: usize) -> NodeId {
        let states = self.new.loop_of(of).and_then(|l| l.body.leaves[..l.states as usize].get(index));
        let shape = states.map_or(Shape::Scalar, |leaf| leaf.shape);
        self.push(Node::Out { of, index: index as u32 }, shape)
    }

    /// Copies an old loop with another body and other new operands; it has as many states as the body has outputs.
    pub(crate) fn change_loop(&mut self, i: usize, body: Tape, operands: &[NodeId]) {
        let Some(old) = self.old.loop_of(NodeId(i as u32)) else { return };
        let (first, count) = (self.new.packed.len() as u32, operands.len() as u32);
        self.new.packed.extend(operands);
        let states = body.outputs.len() as u32;
        self.new.loops.push(Loop { body: Arc::new(body), states, kind: old.kind, first, count });
        let id = self.push(Node::Loop(self.new.loops.len() as u32 - 1), self.old.shapes[i]);
        self.replace(i, id);
    }

    fn push(&mut self, node: Node, shape: Shape) -> NodeId {
        self.new.nodes.push(node);
        self.new.shapes.push(shape);
        NodeId(self.new.nodes.len() as u32 - 1)
    }

    /// The new tape, with these guards and outputs of the old one.
    pub fn finish<'g>(mut self, guards: impl IntoIterator<Item = &'g Guard>, outputs: &[NodeId]) -> Tape {
        self.new.guards = guards.into_iter().map(|g| Guard { node: self.id(g.node), ..*g }).collect();
        self.new.outputs = outputs.iter().map(|&n| self.id(n)).collect();
        self.new
    }
}
