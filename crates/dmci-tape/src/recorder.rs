//! Recording: nodes are added with their values in the lane that is being walked.

use crate::tape::{Guard, Leaf, LeafKind, Node, NodeId, Tape};
use dmci_ops::{Build, MAX_ARITY, Op};
use rustc_hash::FxHashMap;

/// A tape under construction, with the concrete value of every node.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    tape: Tape,
    /// Values in bits, by node.
    values: Vec<u64>,
    /// Place in the source of each node, for messages; not part of the tape.
    places: Vec<u32>,
    constants: FxHashMap<u64, NodeId>,
    /// Place given to the nodes that follow.
    pub place: u32,
}

impl Recorder {
    /// An empty one.
    pub fn new() -> Self {
        Recorder::default()
    }

    /// Number of nodes so far.
    pub fn len(&self) -> usize {
        self.tape.nodes.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.tape.nodes.is_empty()
    }

    fn push(&mut self, node: Node, value: u64) -> NodeId {
        self.tape.nodes.push(node);
        self.values.push(value);
        self.places.push(self.place);
        NodeId(self.tape.nodes.len() as u32 - 1)
    }

    /// A new leaf with its value.
    pub fn leaf(&mut self, name: &str, kind: LeafKind, value: f64) -> NodeId {
        let number = self.tape.leaves.len() as u32;
        self.tape.leaves.push(Leaf { name: name.into(), kind });
        self.push(Node::Leaf(number), value.to_bits())
    }

    /// Notes the outcome of a boolean node that the path depends on.
    pub fn guard(&mut self, node: NodeId) -> bool {
        let outcome = self.values[node.0 as usize] != 0;
        self.tape.guards.push(Guard { node, outcome, pinned: false });
        outcome
    }

    /// Notes that the path depends on the very value that a boolean node compares with.
    pub fn pin(&mut self, node: NodeId) {
        self.tape.guards.push(Guard { node, outcome: self.values[node.0 as usize] != 0, pinned: true });
    }

    /// Marks a node as a result.
    pub fn output(&mut self, node: NodeId) {
        self.tape.outputs.push(node);
    }

    /// The value of a node, in bits.
    pub fn bits(&self, node: NodeId) -> u64 {
        self.values[node.0 as usize]
    }

    /// The value of a real node.
    pub fn value(&self, node: NodeId) -> f64 {
        f64::from_bits(self.bits(node))
    }

    /// The values of all nodes, in bits.
    pub fn values(&self) -> &[u64] {
        &self.values
    }

    /// The place of a node.
    pub fn place_of(&self, node: NodeId) -> u32 {
        self.places[node.0 as usize]
    }

    /// What was recorded so far.
    pub fn tape(&self) -> &Tape {
        &self.tape
    }

    /// The tape.
    pub fn into_tape(self) -> Tape {
        self.tape
    }

    /// Forgets all nodes and guards from `len` nodes on.
    pub fn truncate(&mut self, len: usize) {
        self.tape.nodes.truncate(len);
        self.values.truncate(len);
        self.places.truncate(len);
        self.tape.guards.retain(|g| (g.node.0 as usize) < len);
        self.constants.retain(|_, id| (id.0 as usize) < len);
    }
}

impl Build for Recorder {
    type Id = NodeId;

    fn op(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        let mut ids = [NodeId(0); MAX_ARITY];
        let mut bits = [0; MAX_ARITY];
        for (i, &arg) in args.iter().enumerate() {
            ids[i] = arg;
            bits[i] = self.values[arg.0 as usize];
        }
        self.push(Node::Op(op, ids), op.eval(bits))
    }

    fn real(&mut self, x: f64) -> NodeId {
        let bits = if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
        if let Some(&id) = self.constants.get(&bits) {
            return id;
        }
        let id = self.push(Node::Real(bits), bits);
        self.constants.insert(bits, id);
        id
    }
}
