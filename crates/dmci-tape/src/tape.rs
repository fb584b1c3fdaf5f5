//! The tape: operations in single assignment, leaves, guards and outputs.

use dmci_ops::{MAX_ARITY, Op, Type};

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
    /// An operation on earlier nodes; operands beyond its arity are 0.
    Op(Op, [NodeId; MAX_ARITY]),
}

/// What a leaf is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeafKind {
    /// Something to be fitted.
    Param,
    /// Data.
    Input,
}

/// A parameter or an input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leaf {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: LeafKind,
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
    /// Leaves by number.
    pub leaves: Vec<Leaf>,
    /// Decisions in order.
    pub guards: Vec<Guard>,
    /// Results.
    pub outputs: Vec<NodeId>,
}

impl Tape {
    /// The type of a node.
    pub fn type_of(&self, id: NodeId) -> Type {
        match self.nodes[id.0 as usize] {
            Node::Leaf(_) | Node::Real(_) => Type::Real,
            Node::Op(op, _) => op.result(),
        }
    }

    /// Number of operations, leaves and constants not counted.
    pub fn operations(&self) -> usize {
        self.nodes.iter().filter(|n| matches!(n, Node::Op(..))).count()
    }

    /// A number that is the same for the same nodes, leaves, guards and outputs, in every process.
    pub fn stable_hash(&self) -> u64 {
        self.print().bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ b as u64).wrapping_mul(0x0100_0000_01b3))
    }
}

impl Node {
    /// The operands.
    pub fn operands(&self) -> &[NodeId] {
        match self {
            Node::Op(op, args) => &args[..op.operands().len()],
            _ => &[],
        }
    }
}
