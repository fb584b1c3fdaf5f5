//! Which small tensors are split: those that are computed from each other are split together or not at all.

use super::{is_large, is_small};
use crate::tape::{LoopKind, Node, NodeId, Tape};
use dmci_ops::Kernel;

/// Numbers for the nodes of a tape and of the bodies of its loops, which differ all over.
pub(super) struct Ids {
    first: usize,
    pub bodies: Vec<Ids>,
}

impl Ids {
    pub fn of(tape: &Tape, next: &mut usize) -> Ids {
        let first = *next;
        *next += tape.nodes.len();
        Ids { first, bodies: tape.loops.iter().map(|l| Ids::of(&l.body, next)).collect() }
    }

    pub fn id(&self, node: NodeId) -> usize {
        self.first + node.0 as usize
    }
}

/// The node of each leaf.
pub(super) fn leaf_nodes(tape: &Tape) -> Vec<NodeId> {
    let leaves = (0..tape.nodes.len()).filter(|&i| matches!(tape.nodes[i], Node::Leaf(_)));
    leaves.map(|i| NodeId(i as u32)).collect()
}

/// The loop that a loop which runs back follows.
fn followed(tape: &Tape, i: usize) -> Option<(NodeId, u32)> {
    let of = *tape.operands(i).last()?;
    match tape.nodes[of.0 as usize] {
        Node::Loop(n) => Some((of, n)),
        _ => None,
    }
}

/// Small tensors that are computed from each other, and of which all are held as numbers or none.
pub(super) struct Groups {
    /// By node, another one of its group, and in the end the first.
    parent: Vec<u32>,
    /// By the first of a group, whether it stays.
    stays: Vec<bool>,
}

impl Groups {
    /// Each of so many nodes by itself.
    pub fn new(nodes: usize) -> Groups {
        Groups { parent: (0..nodes as u32).collect(), stays: vec![false; nodes] }
    }

    fn first(&mut self, mut id: usize) -> usize {
        while self.parent[id] as usize != id {
            self.parent[id] = self.parent[self.parent[id] as usize];
            id = self.parent[id] as usize;
        }
        id
    }

    fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.first(a), self.first(b));
        self.parent[b] = a as u32;
        self.stays[a] |= self.stays[b];
    }

    fn stay(&mut self, id: usize) {
        let first = self.first(id);
        self.stays[first] = true;
    }

    pub fn splits(&mut self, id: usize) -> bool {
        let first = self.first(id);
        !self.stays[first]
    }

    /// Values that are used together: if one is large, small ones stay.
    fn together(&mut self, tape: &Tape, ids: &Ids, nodes: &[NodeId]) {
        let large = nodes.iter().any(|&n| is_large(tape.shape(n)));
        let mut small = nodes.iter().filter(|&&n| is_small(tape.shape(n)));
        let Some(&first) = small.next() else { return };
        small.for_each(|&n| self.unite(ids.id(first), ids.id(n)));
        if large {
            self.stay(ids.id(first));
        }
    }

    pub fn look_at(&mut self, tape: &Tape, ids: &Ids) {
        for (i, node) in tape.nodes.iter().enumerate() {
            let id = NodeId(i as u32);
            let mut all = tape.operands(i).to_vec();
            all.push(id);
            match *node {
                Node::Leaf(_) | Node::Real(_) | Node::Int(_) | Node::Constant(_) => {}
                // Elements of a large one are taken one by one.
                Node::Kernel(Kernel::Take(_) | Kernel::Index, [a, _]) if is_large(tape.shape(a)) => {}
                Node::Op(..)
                | Node::Pack { .. }
                | Node::Kernel(
                    Kernel::Take(_) | Kernel::Put(_) | Kernel::Index | Kernel::Scatter | Kernel::MatMul { .. },
                    _,
                ) => self.together(tape, ids, &all),
                Node::Kernel(..) => {
                    self.together(tape, ids, &all);
                    all.iter().filter(|&&n| is_small(tape.shape(n))).for_each(|&n| self.stay(ids.id(n)));
                }
                Node::Loop(n) => self.look_at_loop(tape, ids, i, n),
                Node::Out { of, index } => {
                    if let (Node::Loop(n), true) = (tape.nodes[of.0 as usize], is_small(tape.shape(id))) {
                        let leaf = leaf_nodes(&tape.loops[n as usize].body)[index as usize];
                        self.unite(ids.id(id), ids.bodies[n as usize].id(leaf));
                    }
                }
            }
        }
    }

    fn look_at_loop(&mut self, tape: &Tape, ids: &Ids, i: usize, n: u32) {
        let (l, inside) = (&tape.loops[n as usize], &ids.bodies[n as usize]);
        self.look_at(&l.body, inside);
        let leaves = leaf_nodes(&l.body);
        let states = l.states as usize;
        let mut given: Vec<usize> = tape.operands(i).iter().map(|&o| ids.id(o)).collect();
        if l.kind == LoopKind::Backward {
            given.pop();
            if let Some((_, forward)) = followed(tape, i) {
                let body = &tape.loops[forward as usize].body;
                let history = leaf_nodes(body)[..tape.loops[forward as usize].states as usize].to_vec();
                let history = history.into_iter().map(|leaf| ids.bodies[forward as usize].id(leaf));
                given.splice(states..states, history.collect::<Vec<_>>());
            }
        }
        let small = |leaf: &NodeId| is_small(l.body.shape(*leaf));
        for (&leaf, outside) in leaves.iter().zip(given).filter(|(leaf, _)| small(leaf)) {
            self.unite(inside.id(leaf), outside);
        }
        for (&leaf, &output) in leaves.iter().zip(&l.body.outputs).filter(|(leaf, _)| small(leaf)) {
            self.unite(inside.id(leaf), inside.id(output));
        }
    }
}
