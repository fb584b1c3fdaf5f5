//! The tape: operations in single assignment, leaves, guards and outputs.

use dmci_ops::{Kernel, MAX_ARITY, Op, Shape, Type};
use std::sync::Arc;

/// A node: its position on the tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// One value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A parameter or an input, by its number.
    Leaf(u32),
    /// A constant, by its bits.
    Real(u64),
    /// An exact constant.
    Int(i64),
    /// A constant tensor, by its number.
    Constant(u32),
    /// An operation on earlier nodes, element by element; operands beyond its arity are 0.
    Op(Op, [NodeId; MAX_ARITY]),
    /// An operation on tensors.
    Kernel(Kernel, [NodeId; 2]),
    /// The elements of several values, one after the other: a range of [`Tape::packed`].
    Pack {
        /// Where the range begins.
        first: u32,
        /// How many values.
        count: u32,
    },
    /// A loop, by its number. As a value, whether it came to its end before the limit.
    Loop(u32),
    /// A result of a loop: its state at the end, or, behind it, the number of rounds.
    Out {
        /// The loop.
        of: NodeId,
        /// Which number of its state.
        index: u32,
    },
}

/// What is repeated on a path, as often as each lane needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// One round. Its first leaves are the state at the start of the round, its outputs the state at
    /// the end; its last leaves are values from outside that all rounds share.
    pub body: Arc<Tape>,
    /// How many numbers or tensors the state has.
    pub states: u32,
    /// What ends it.
    pub kind: LoopKind,
    /// Its operands, a range of [`Tape::packed`]: the first state, the shared values and, for a loop
    /// that runs back, the loop whose rounds it follows.
    pub first: u32,
    /// How many operands.
    pub count: u32,
}

/// What ends a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopKind {
    /// Rounds go on while all guards of the body hold; a round in which one fails counts as not begun.
    Forward {
        /// Most rounds.
        limit: u64,
    },
    /// The rounds of an earlier loop from the last to the first. Between its own state and the shared
    /// values, the body has that loop's state at the start of the round as leaves.
    Backward,
}

/// What a leaf is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeafKind {
    /// Something to be fitted.
    Param,
    /// Data.
    Input,
    /// A setting of the evaluation, the same in all lanes.
    Setting,
    /// Noise: a number of its own for every lane.
    Noise,
    /// In the body of a loop, a number of its state or a value from outside.
    Local,
}

impl LeafKind {
    /// All kinds, with their names in text forms.
    pub const ALL: [(LeafKind, &'static str); 5] = [
        (LeafKind::Param, "param"),
        (LeafKind::Input, "input"),
        (LeafKind::Setting, "setting"),
        (LeafKind::Noise, "noise"),
        (LeafKind::Local, "local"),
    ];

    /// The name in text forms.
    pub fn name(self) -> &'static str {
        LeafKind::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// A parameter or an input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leaf {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: LeafKind,
    /// Real, or an exact integer.
    pub ty: Type,
    /// Its shape.
    pub shape: Shape,
}

/// A decision that the recorded path depends on: the boolean node had this outcome. The predicate
/// is never negated instead, because of NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The boolean.
    pub node: NodeId,
    /// What it was.
    pub outcome: bool,
    /// It compares a number with the very value that it had here: other lanes have other values
    /// rather than the other outcome.
    pub pinned: bool,
}

/// A recorded path of a program.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Tape {
    /// Nodes in order of computation.
    pub nodes: Vec<Node>,
    /// The shape of each node.
    pub shapes: Vec<Shape>,
    /// Leaves by number.
    pub leaves: Vec<Leaf>,
    /// Decisions in order.
    pub guards: Vec<Guard>,
    /// Results.
    pub outputs: Vec<NodeId>,
    /// Loops by number.
    pub loops: Vec<Loop>,
    /// Operands of `Pack` nodes and loops.
    pub packed: Vec<NodeId>,
    /// Index maps of kernels.
    pub maps: Vec<Arc<[u32]>>,
    /// Elements of constant tensors, in bits.
    pub constants: Vec<Arc<[u64]>>,
    /// Every operation is rounded to single precision.
    pub single: bool,
}

impl Tape {
    /// The type of a node, or of its elements.
    pub fn type_of(&self, id: NodeId) -> Type {
        match self.nodes[id.0 as usize] {
            Node::Leaf(n) => self.leaves[n as usize].ty,
            Node::Real(_) | Node::Constant(_) | Node::Kernel(..) | Node::Pack { .. } => Type::Real,
            Node::Int(_) => Type::Int,
            Node::Op(op, _) => op.result(),
            Node::Loop(_) => Type::Bool,
            Node::Out { of, index } => {
                let states = self.loop_of(of).filter(|l| index < l.states);
                states.map_or(Type::Int, |l| l.body.leaves[index as usize].ty)
            }
        }
    }

    /// The shape of a node.
    pub fn shape(&self, id: NodeId) -> Shape {
        self.shapes[id.0 as usize]
    }

    /// The operands of a node.
    pub fn operands(&self, id: usize) -> &[NodeId] {
        match &self.nodes[id] {
            Node::Op(op, args) => &args[..op.operands().len()],
            Node::Kernel(kernel, args) => &args[..kernel.arity()],
            Node::Pack { first, count } => &self.packed[*first as usize..][..*count as usize],
            Node::Loop(n) => {
                let l = &self.loops[*n as usize];
                &self.packed[l.first as usize..][..l.count as usize]
            }
            Node::Out { of, .. } => std::slice::from_ref(of),
            _ => &[],
        }
    }

    /// Whether a node is a constant.
    pub fn is_constant(&self, id: NodeId) -> bool {
        matches!(self.nodes[id.0 as usize], Node::Real(_) | Node::Int(_) | Node::Constant(_))
    }

    /// The loop that a node is.
    pub fn loop_of(&self, id: NodeId) -> Option<&Loop> {
        match self.nodes[id.0 as usize] {
            Node::Loop(n) => self.loops.get(n as usize),
            _ => None,
        }
    }

    /// Number of operations, leaves and constants not counted.
    pub fn operations(&self) -> usize {
        let operation = |n: &&Node| matches!(n, Node::Op(..) | Node::Kernel(..) | Node::Pack { .. });
        let own = self.nodes.iter().filter(operation).count();
        own + self.loops.iter().map(|l| l.body.operations()).sum::<usize>()
    }

    /// Where the numbers of each leaf begin among the numbers of all leaves, and how many there are.
    pub fn leaf_offsets(&self) -> (Vec<usize>, usize) {
        let mut total = 0;
        let offsets = self.leaves.iter().map(|leaf| {
            total += leaf.shape.len();
            total - leaf.shape.len()
        });
        (offsets.collect(), total)
    }

    /// A number that is the same for the same nodes, leaves, guards and outputs, in every process.
    pub fn stable_hash(&self) -> u64 {
        self.print().bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ b as u64).wrapping_mul(0x0100_0000_01b3))
    }
}
