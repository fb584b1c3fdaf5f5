//! What recorded tapes say about how parameters enter predictions: which reach them with a derivative, which occur in
//! decisions, and which are affine by structure, so that least squares can eliminate them.
//!
//! A parameter is affine if it reaches the outputs only through sums, differences, negation, linear kernels, products
//! and quotients by values that are free of eliminated parameters, arms of selects and states of loops. A second
//! derivative of 0 would not be enough: `abs` has that too.

use crate::problem::Problem;
use dmci::Want;
use dmci_ops::{Kernel, Op, Type};
use dmci_tape::{LeafKind, Loop, LoopKind, Node, NodeId, Tape};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// Parameters, by the number of their leaf.
type Leaves = BTreeSet<usize>;

/// How the numbers of a set of parameters enter the outputs, on all recorded paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Structure {
    /// Recordings that were looked at.
    pub recordings: u64,
    /// The leaf of each number of a set.
    leaf: Vec<usize>,
    /// Leaves that reach an output with a derivative.
    reaching: Leaves,
    /// Leaves that a decision or a rounding depends on.
    deciding: Leaves,
    /// Leaves that enter in another way than affinely.
    bent: Leaves,
    /// Leaves that are multiplied with each other.
    products: BTreeSet<(usize, usize)>,
    /// Leaves that enter a sine or a cosine.
    angles: Leaves,
    /// Parameters that are compared with an input, and that input.
    compared: BTreeSet<(usize, usize)>,
    /// Leaves that decide in another way than by a comparison with an input.
    otherwise: Leaves,
    /// The names of leaves that are inputs.
    inputs: BTreeMap<usize, String>,
}

/// Tapes with more nodes than this, times leaves, are not looked at.
const MOST: usize = 50_000_000;

/// Up to this many leaves with products the largest set without them is searched for; beyond, the first ones are taken.
const MOST_FOR_LARGEST: usize = 16;

impl Structure {
    /// The structure of a problem whose model has been evaluated; none if paths cannot be compared.
    pub fn of(problem: &Problem) -> Option<Structure> {
        let recordings = problem.model.recordings();
        let paths = problem.model.known_paths(Want::Values).ok()?;
        let mut structure = Structure { recordings, ..Structure::default() };
        for path in paths.iter().filter(|p| p.failure.is_none()) {
            let tape = &path.tape;
            let mut leaf = Vec::new();
            for (k, l) in tape.leaves.iter().enumerate().filter(|(_, l)| l.kind == LeafKind::Param) {
                leaf.extend(std::iter::repeat_n(k, l.shape.len()));
            }
            let consistent = structure.leaf.is_empty() || structure.leaf == leaf;
            if leaf.len() != problem.layout.values || !consistent || tape.nodes.len() * leaf.len().max(1) > MOST {
                return None;
            }
            structure.leaf = leaf;
            let own = tape.leaves.iter().enumerate().map(|(k, l)| match l.kind {
                LeafKind::Param | LeafKind::Input => Leaves::from([k]),
                _ => Leaves::new(),
            });
            let inputs = tape.leaves.iter().enumerate().filter(|(_, l)| l.kind == LeafKind::Input);
            structure.inputs.extend(inputs.map(|(k, l)| (k, l.name.clone())));
            for output in structure.follow(tape, &own.collect::<Vec<_>>()) {
                structure.reaching.extend(output);
            }
        }
        (!structure.leaf.is_empty()).then_some(structure)
    }

    /// Whether a number of a set reaches a prediction with a derivative.
    pub fn reaches(&self, number: usize) -> bool {
        self.reaching.contains(&self.leaf[number])
    }

    /// Whether a decision depends on a number of a set.
    pub fn decides(&self, number: usize) -> bool {
        self.deciding.contains(&self.leaf[number])
    }

    /// The numbers of a set that may be eliminated together, given which of them may be at all: of those that multiply
    /// each other a largest set without products, first declared first.
    pub fn eliminated(&self, allowed: impl Fn(usize) -> bool) -> Vec<usize> {
        let fits = |leaf: usize| {
            let is_bent = self.bent.contains(&leaf) || self.angles.contains(&leaf) || self.deciding.contains(&leaf);
            !is_bent
                && self.reaching.contains(&leaf)
                && (0..self.leaf.len()).filter(|&k| self.leaf[k] == leaf).all(&allowed)
        };
        let leaves: Leaves = self.leaf.iter().copied().filter(|&l| fits(l)).collect();
        let meets = |a: usize, b: usize| self.products.contains(&(a.min(b), a.max(b)));
        let (alone, others): (Vec<usize>, Vec<usize>) =
            leaves.iter().partition(|&&a| leaves.iter().all(|&b| !meets(a, b)));
        let mut chosen = largest_without(&others, &meets);
        chosen.extend(alone);
        (0..self.leaf.len()).filter(|&k| chosen.contains(&self.leaf[k])).collect()
    }

    /// Numbers that enter only through the sine or cosine of their product with an input, and that input.
    pub fn frequencies(&self) -> BTreeMap<usize, String> {
        let meets = |a: usize, b: usize| self.products.contains(&(a.min(b), a.max(b)));
        let input = |leaf: usize| self.inputs.iter().find(|(k, _)| meets(leaf, **k));
        let angles = (0..self.leaf.len()).filter(|&n| self.is_angle(self.leaf[n]));
        angles.filter_map(|n| Some((n, input(self.leaf[n])?.1.clone()))).collect()
    }

    /// Numbers that enter only through sines or cosines, and not as a factor of an input.
    pub fn phases(&self) -> Vec<usize> {
        let frequencies = self.frequencies();
        (0..self.leaf.len()).filter(|&n| self.is_angle(self.leaf[n]) && !frequencies.contains_key(&n)).collect()
    }

    fn is_angle(&self, leaf: usize) -> bool {
        let alone = self.leaf.iter().filter(|l| **l == leaf).count() == 1;
        alone && self.angles.contains(&leaf) && !self.bent.contains(&leaf) && !self.deciding.contains(&leaf)
    }

    /// Numbers that are only compared with one input, and that input.
    pub fn thresholds(&self) -> BTreeMap<usize, String> {
        let of = |leaf: usize| {
            let mut inputs = self.compared.iter().filter(|(k, _)| *k == leaf).map(|(_, input)| input);
            let first = inputs.next().filter(|_| inputs.next().is_none())?;
            let only = !self.reaching.contains(&leaf) && !self.bent.contains(&leaf) && !self.otherwise.contains(&leaf);
            self.inputs.get(first).filter(|_| only).cloned()
        };
        (0..self.leaf.len()).filter_map(|n| Some((n, of(self.leaf[n])?))).collect()
    }

    /// Notes a comparison of a parameter with an input; whether it is one.
    fn compare(&mut self, tape: &Tape, op: Op, args: &[NodeId]) -> bool {
        if !matches!(op, Op::Lt | Op::Le | Op::Gt | Op::Ge) {
            return false;
        }
        let leaf = |id: NodeId| match tape.nodes[id.0 as usize] {
            Node::Leaf(n) => Some((n as usize, tape.leaves[n as usize].kind)),
            _ => None,
        };
        let (parameter, input) = match (leaf(args[0]), leaf(args[1])) {
            (Some((p, LeafKind::Param)), Some((x, LeafKind::Input))) => (p, x),
            (Some((x, LeafKind::Input)), Some((p, LeafKind::Param))) => (p, x),
            _ => return false,
        };
        self.deciding.insert(parameter);
        self.compared.insert((parameter, input));
        true
    }

    /// Notes what decides.
    fn decide(&mut self, leaves: &Leaves) {
        self.deciding.extend(leaves);
        self.otherwise.extend(leaves);
    }

    /// What the outputs of a tape depend on, given what its leaves do.
    fn follow(&mut self, tape: &Tape, leaves: &[Leaves]) -> Vec<Leaves> {
        let mut of: Vec<Leaves> = Vec::with_capacity(tape.nodes.len());
        let live = live(tape);
        // The states of loops at their end.
        let mut ends: Vec<(usize, Vec<Leaves>)> = Vec::new();
        for (i, node) in tape.nodes.iter().enumerate() {
            if !live[i] {
                of.push(Leaves::new());
                continue;
            }
            let at = |id: NodeId| &of[id.0 as usize];
            let found = match node {
                Node::Leaf(n) => leaves[*n as usize].clone(),
                Node::Real(_) | Node::Int(_) | Node::Constant(_) => Leaves::new(),
                Node::Op(op, args) if self.compare(tape, *op, args) => Leaves::new(),
                Node::Op(op, args) => {
                    let operands: Vec<&Leaves> = args[..op.operands().len()].iter().map(|a| at(*a)).collect();
                    self.operation(*op, &operands)
                }
                Node::Kernel(kernel, args) => {
                    let operands: Vec<&Leaves> = args[..kernel.arity()].iter().map(|a| at(*a)).collect();
                    self.kernel(*kernel, &operands)
                }
                Node::Pack { .. } => tape.operands(i).iter().flat_map(|a| at(*a).iter().copied()).collect(),
                Node::Loop(n) => {
                    let operands: Vec<Leaves> = tape.operands(i).iter().map(|a| at(*a).clone()).collect();
                    ends.push((i, self.rounds(&tape.loops[*n as usize], operands)));
                    Leaves::new()
                }
                Node::Out { of: l, index } => {
                    let states = ends.iter().find(|(node, _)| *node == l.0 as usize);
                    states.and_then(|(_, s)| s.get(*index as usize)).cloned().unwrap_or_default()
                }
            };
            of.push(found);
        }
        for guard in &tape.guards {
            // What a guard compares was noted where it was compared; a pin compares the number itself.
            self.decide(&of[guard.node.0 as usize]);
        }
        tape.outputs.iter().map(|o| of[o.0 as usize].clone()).collect()
    }

    /// What the states of a loop depend on at its end: a fixpoint over its rounds.
    fn rounds(&mut self, l: &Loop, operands: Vec<Leaves>) -> Vec<Leaves> {
        let states = l.states as usize;
        if l.kind == LoopKind::Backward {
            // Tapes of values have none; whoever meets one knows nothing.
            operands.iter().for_each(|o| self.bent.extend(o));
            return vec![operands.iter().flatten().copied().collect(); states];
        }
        let mut leaves = operands;
        leaves.resize(l.body.leaves.len(), Leaves::new());
        loop {
            let after = self.follow(&l.body, &leaves);
            let mut grows = false;
            for (state, after) in leaves.iter_mut().zip(after).take(states) {
                let before = state.len();
                state.extend(after);
                grows |= state.len() > before;
            }
            if !grows {
                return leaves[..states].to_vec();
            }
        }
    }

    fn operation(&mut self, op: Op, operands: &[&Leaves]) -> Leaves {
        let all = || operands.iter().flat_map(|o| o.iter().copied()).collect::<Leaves>();
        match op {
            Op::Same | Op::Add | Op::Sub | Op::Neg => all(),
            Op::Mul => {
                self.multiply(operands[0], operands[1]);
                all()
            }
            Op::Div | Op::Ratio => {
                self.bent.extend(operands[1]);
                all()
            }
            Op::Select => {
                self.decide(operands[0]);
                operands[1].union(operands[2]).copied().collect()
            }
            // Nothing passes with a derivative.
            Op::Stop | Op::Sign | Op::Floor | Op::Ceiling | Op::Round | Op::Truncate | Op::Quotient => {
                self.decide(&all());
                Leaves::new()
            }
            Op::Sin | Op::Cos => {
                self.angles.extend(all());
                all()
            }
            _ if op.result() != Type::Real => {
                self.decide(&all());
                Leaves::new()
            }
            _ => {
                self.bent.extend(all());
                all()
            }
        }
    }

    fn kernel(&mut self, kernel: Kernel, operands: &[&Leaves]) -> Leaves {
        let all: Leaves = operands.iter().flat_map(|o| o.iter().copied()).collect();
        match kernel {
            Kernel::Take(_) | Kernel::Put(_) => {}
            Kernel::Index | Kernel::Scatter => self.decide(operands[1]),
            Kernel::MatMul { .. } => self.multiply(operands[0], operands[1]),
            Kernel::Solve { .. } => self.bent.extend(operands[0]),
            Kernel::SortBy { .. } | Kernel::Unsort { .. } => self.decide(operands[1]),
            Kernel::Inverse | Kernel::Det | Kernel::Cofactor | Kernel::LogDet | Kernel::Cholesky => {
                self.bent.extend(&all)
            }
        }
        all
    }

    fn multiply(&mut self, a: &Leaves, b: &Leaves) {
        for &x in a {
            for &y in b {
                if x == y {
                    self.bent.insert(x);
                } else {
                    self.products.insert((x.min(y), x.max(y)));
                }
            }
        }
    }
}

/// The last structure that was looked at.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    last: Mutex<Option<Arc<Structure>>>,
    /// A path has shown that no parameter can be eliminated: further ones show nothing new.
    pub none_affine: AtomicBool,
}

impl Problem {
    /// How parameters enter predictions on the paths that are known by now.
    pub(crate) fn structure(&self) -> Option<Arc<Structure>> {
        let mut seen = self.seen.last.lock().unwrap_or_else(|e| e.into_inner());
        if seen.as_ref().is_none_or(|s| s.recordings != self.model.recordings()) {
            *seen = Structure::of(self).map(Arc::new);
        }
        seen.clone()
    }

    /// The number of a set of parameters that a raw number alone decides.
    pub(crate) fn number_of_raw(&self, raw: usize) -> Option<usize> {
        let block = self.layout.blocks.iter().rev().find(|block| block.raw <= raw)?;
        let within = (raw - block.raw) % block.transform.raws().max(1);
        block.transform.is_separate().then_some(block.value + within)
    }
}

/// Nodes that an output or a guard needs.
fn live(tape: &Tape) -> Vec<bool> {
    let mut live = vec![false; tape.nodes.len()];
    let ends = tape.outputs.iter().chain(tape.guards.iter().map(|g| &g.node));
    ends.for_each(|id| live[id.0 as usize] = true);
    for i in (0..tape.nodes.len()).rev().filter(|&i| live[i]).collect::<Vec<_>>() {
        mark(tape, i, &mut live);
    }
    live
}

fn mark(tape: &Tape, from: usize, live: &mut [bool]) {
    let mut open = vec![from];
    while let Some(i) = open.pop() {
        for operand in tape.operands(i) {
            let k = operand.0 as usize;
            if !live[k] {
                live[k] = true;
                open.push(k);
            }
        }
    }
}

/// A largest set without two that meet, the first of such sets in the order of the list.
fn largest_without(list: &[usize], meets: &dyn Fn(usize, usize) -> bool) -> Vec<usize> {
    let take_first = || {
        let mut chosen: Vec<usize> = Vec::new();
        for &a in list {
            if chosen.iter().all(|&b| !meets(a, b)) {
                chosen.push(a);
            }
        }
        chosen
    };
    if list.len() > MOST_FOR_LARGEST {
        return take_first();
    }
    let count = list.len();
    // The first of the list is the highest bit, so that of sets of the same size the one with the first leaves wins.
    let is_free = |set: u32| {
        let members = || (0..count).filter(move |k| set >> (count - 1 - k) & 1 == 1);
        members().all(|a| members().all(|b| a >= b || !meets(list[a], list[b])))
    };
    let best = (0..1u32 << count).filter(|&s| is_free(s)).max_by_key(|s| (s.count_ones(), *s)).unwrap_or(0);
    (0..count).filter(|k| best >> (count - 1 - k) & 1 == 1).map(|k| list[k]).collect()
}
