//! One lane of a tape, computed node by node: how a recording finds what comes out of a loop.

use crate::tape::{Loop, LoopKind, Node, NodeId, Tape};
use dmci_limits::Ticks;
use dmci_ops::linalg::Scratch;
use dmci_ops::{Kernel, Layout, MAX_ARITY, Op, Shape, Tensor};

/// Nodes between two questions whether to go on.
const PATIENCE: usize = 1 << 16;

/// What came out of a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopEnd {
    /// Whether it ended before its limit.
    pub finished: bool,
    /// How many rounds there were.
    pub rounds: u64,
    /// The state at the end, all numbers one after the other, in bits.
    pub state: Vec<u64>,
    /// Operations of all rounds, each element of a tensor counted.
    pub operations: u64,
}

/// The elements of an operation on tensors; the shapes are known to fit.
pub(crate) fn elementwise(op: Op, is_single: bool, shape: Shape, operands: &[(&[u64], Shape)]) -> Vec<u64> {
    let mut indices = [Shape::Scalar; MAX_ARITY].map(|s| s.spread(shape));
    for (index, operand) in indices.iter_mut().zip(operands) {
        *index = operand.1.spread(shape);
    }
    let (mut ticks, mut is_stopped) = (Ticks::default(), false);
    let mut element = || {
        is_stopped = is_stopped || ticks.spend(16);
        if is_stopped {
            return 0;
        }
        let mut bits = [0; MAX_ARITY];
        for ((slot, index), operand) in bits.iter_mut().zip(&mut indices).zip(operands) {
            *slot = operand.0[index.next().unwrap_or(0)];
        }
        op.eval_in(is_single, bits)
    };
    (0..shape.len()).map(|_| element()).collect()
}

impl Loop {
    /// Runs a forward loop in one lane, from the numbers of its operands one after the other, as long
    /// as `go_on` allows it; `None` if it did not.
    pub fn run_lane(&self, operands: &[u64], go_on: &mut dyn FnMut() -> bool) -> Option<LoopEnd> {
        let LoopKind::Forward { limit } = self.kind else { return None };
        let mut lane = Lane::new(&self.body);
        let mut bits = operands.iter().copied();
        for (i, node) in self.body.nodes.iter().enumerate() {
            if matches!(node, Node::Leaf(_)) {
                lane.slots(i).iter_mut().for_each(|slot| *slot = bits.next().unwrap_or(0));
            }
        }
        let varies = self.body.varying(self.states as usize);
        let (rounds, fixed): (Vec<usize>, Vec<usize>) = (0..self.body.nodes.len()).partition(|&i| varies[i]);
        for i in fixed {
            lane.node(i, go_on)?;
        }
        let state: Vec<usize> = (0..self.body.nodes.len())
            .filter(|&i| matches!(self.body.nodes[i], Node::Leaf(n) if n < self.states))
            .collect();
        let (mut done, mut left) = (0, 0);
        let fails = |lane: &Lane<'_>, before: usize| {
            let mut guards = self.body.guards.iter().filter(|g| (g.node.0 as usize) < before);
            guards.any(|g| (lane.of(g.node)[0] != 0) != g.outcome)
        };
        let finished = 'rounds: loop {
            if left == 0 {
                left = PATIENCE;
                if !go_on() {
                    return None;
                }
            }
            left = left.saturating_sub(rounds.len() + 1);
            for &i in &rounds {
                // A loop inside of a round that is not taken might never end.
                if matches!(self.body.nodes[i], Node::Loop(_)) && fails(&lane, i) {
                    break 'rounds true;
                }
                lane.node(i, go_on)?;
            }
            if fails(&lane, usize::MAX) {
                break true;
            }
            if done == limit {
                break false;
            }
            done += 1;
            let next: Vec<u64> = self.body.outputs.iter().flat_map(|&o| lane.of(o).iter().copied()).collect();
            let mut next = next.into_iter();
            for &i in &state {
                lane.slots(i).iter_mut().for_each(|slot| *slot = next.next().unwrap_or(0));
            }
        };
        let state = state.iter().flat_map(|&i| lane.of(NodeId(i as u32)).iter().copied()).collect();
        Some(LoopEnd { finished, rounds: done, state, operations: lane.operations })
    }
}

impl Tape {
    /// Operations of one lane, given the bits of all leaves one after the other: each element of a tensor and every
    /// round of a loop counts. `None` if `go_on` stopped a loop.
    pub fn lane_operations(&self, leaves: &[u64], go_on: &mut dyn FnMut() -> bool) -> Option<u64> {
        let mut lane = Lane::new(self);
        let mut bits = leaves.iter().copied();
        for i in 0..self.nodes.len() {
            if matches!(self.nodes[i], Node::Leaf(_)) {
                lane.slots(i).iter_mut().for_each(|slot| *slot = bits.next().unwrap_or(0));
            }
            lane.node(i, go_on)?;
        }
        Some(lane.operations)
    }

    /// Which nodes of a loop's body may differ from round to round: those that need one of its first
    /// leaves.
    pub fn varying(&self, leaves: usize) -> Vec<bool> {
        let mut varies = vec![false; self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate() {
            varies[i] = match node {
                Node::Leaf(n) => (*n as usize) < leaves,
                _ => self.operands(i).iter().any(|a| varies[a.0 as usize]),
            };
        }
        varies
    }

    /// Numbers that a node holds: a loop has whether it finished, its state, and its rounds.
    pub fn width_of(&self, i: usize) -> usize {
        match self.nodes[i] {
            Node::Loop(n) => {
                let l = &self.loops[n as usize];
                2 + l.body.leaves[..l.states as usize].iter().map(|leaf| leaf.shape.len()).sum::<usize>()
            }
            _ => self.shapes[i].len(),
        }
    }

    /// Where the numbers of a result begin among the numbers of its loop.
    pub fn out_offset(&self, of: NodeId, index: u32) -> usize {
        let leaves = self.loop_of(of).map_or(&[][..], |l| &l.body.leaves[..index as usize]);
        1 + leaves.iter().map(|leaf| leaf.shape.len()).sum::<usize>()
    }
}

/// The values of all nodes in one lane.
struct Lane<'a> {
    tape: &'a Tape,
    bits: Vec<u64>,
    at: Vec<usize>,
    scratch: Scratch,
    operations: u64,
}

impl<'a> Lane<'a> {
    fn new(tape: &'a Tape) -> Self {
        let (mut at, mut used) = (Vec::with_capacity(tape.nodes.len()), 0);
        for (i, node) in tape.nodes.iter().enumerate() {
            if let Node::Out { of, index } = *node {
                at.push(at[of.0 as usize] + tape.out_offset(of, index));
            } else {
                at.push(used);
                used += tape.width_of(i);
            }
        }
        Lane { tape, bits: vec![0; used], at, scratch: Scratch::default(), operations: 0 }
    }

    fn slots(&mut self, i: usize) -> &mut [u64] {
        let len = self.tape.shapes[i].len();
        &mut self.bits[self.at[i]..][..len]
    }

    fn of(&self, id: NodeId) -> &[u64] {
        &self.bits[self.at[id.0 as usize]..][..self.tape.shape(id).len()]
    }

    fn node(&mut self, i: usize, go_on: &mut dyn FnMut() -> bool) -> Option<()> {
        let (tape, shape) = (self.tape, self.tape.shapes[i]);
        match tape.nodes[i] {
            Node::Leaf(_) | Node::Out { .. } => {}
            Node::Real(bits) => self.slots(i)[0] = bits,
            Node::Int(x) => self.slots(i)[0] = x as u64,
            Node::Constant(n) => self.slots(i).copy_from_slice(&tape.constants[n as usize]),
            Node::Op(op, args) if shape.is_scalar() => {
                let mut bits = [0; MAX_ARITY];
                for (slot, a) in bits.iter_mut().zip(&args[..op.operands().len()]) {
                    *slot = self.bits[self.at[a.0 as usize]];
                }
                self.bits[self.at[i]] = op.eval_in(tape.single, bits);
                self.operations += 1;
            }
            Node::Op(op, args) => {
                let operands = args[..op.operands().len()].iter().map(|&a| (self.of(a), tape.shape(a)));
                let out = elementwise(op, tape.single, shape, &operands.collect::<Vec<_>>());
                self.slots(i).copy_from_slice(&out);
                self.operations += shape.len() as u64;
            }
            Node::Kernel(kernel, args) => {
                let layout = Layout { width: 1, lanes: 1, single: tape.single };
                let mut out = vec![0; shape.len()];
                let mut scratch = std::mem::take(&mut self.scratch);
                let args = [args[0], args[kernel.arity() - 1]];
                let operands = args.map(|a| Tensor { bits: self.of(a), shape: tape.shape(a) });
                kernel.run(&mut out, shape, operands, &tape.maps, layout, &mut scratch);
                self.scratch = scratch;
                self.slots(i).copy_from_slice(&out);
                // Each element of the result of a matrix operation is a sum over a row, or as good as one.
                let terms = match kernel {
                    Kernel::MatMul { k, .. } => k as usize,
                    Kernel::Take(_) | Kernel::Put(_) | Kernel::Index | Kernel::Scatter => 1,
                    _ => tape.shape(args[0]).len().isqrt(),
                };
                self.operations += (shape.len() * terms) as u64;
            }
            Node::Pack { .. } => {
                let out: Vec<u64> = tape.operands(i).iter().flat_map(|&a| self.of(a).iter().copied()).collect();
                self.slots(i).copy_from_slice(&out);
            }
            Node::Loop(n) => {
                let operands: Vec<u64> = tape.operands(i).iter().flat_map(|&a| self.of(a).iter().copied()).collect();
                let end = tape.loops[n as usize].run_lane(&operands, go_on)?;
                let at = self.at[i];
                self.bits[at] = end.finished as u64;
                self.bits[at + 1..][..end.state.len()].copy_from_slice(&end.state);
                self.bits[at + 1 + end.state.len()] = end.rounds;
                self.operations += end.operations;
            }
        }
        Some(())
    }
}
