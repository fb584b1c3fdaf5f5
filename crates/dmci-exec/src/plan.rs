//! Plans: a tape with a place in the workspace for every value, reused as values die.

use crate::cost_model::CostModel;
use crate::f32_rows::fits_f32_rows;
use crate::loops::{Remembered, Steady};
use crate::native::Native;
use dmci_ops::{Kernel, MAX_ARITY, Op, Shape, Type};
use dmci_tape::{LoopKind, Node, NodeId, Tape};
use rustc_hash::FxHashMap;
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

/// The first row of a value in the workspace: one row of lanes for each of its elements.
pub(crate) type Slot = u32;

/// One step of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// Lane values of a leaf: so many numbers from `first` on.
    Leaf {
        d: Slot,
        first: u32,
        count: u32,
        real: bool,
    },
    /// The same constant in all lanes.
    Constant {
        d: Slot,
        bits: u64,
    },
    Op {
        op: Op,
        d: Slot,
        args: [Slot; MAX_ARITY],
    },
    /// A step on tensors, by its number.
    Tensor(u32),
    /// A loop, by its number.
    Loop(u32),
    /// So many rows once more.
    Move {
        d: Slot,
        s: Slot,
        count: u32,
    },
    /// Lanes whose boolean is not `outcome` leave the path here.
    Guard {
        test: Slot,
        outcome: bool,
        index: u32,
    },
    /// A result: so many numbers, the first of them number `index`.
    Output {
        s: Slot,
        index: u32,
        count: u32,
    },
}

impl Step {
    /// Whether it is a plain operation on single rows.
    pub fn is_plain(&self) -> bool {
        matches!(self, Step::Op { .. } | Step::Constant { .. } | Step::Move { count: 1, .. })
    }

    /// Rows that it reads, if it is neither about tensors nor a loop.
    pub fn reads(&self) -> impl Iterator<Item = Slot> + '_ {
        let (listed, others): (&[Slot], _) = match self {
            Step::Op { op, args, .. } => (&args[..op.operands().len()], 0..0),
            Step::Guard { test, .. } => (std::slice::from_ref(test), 0..0),
            Step::Move { s, count, .. } | Step::Output { s, count, .. } => (&[], *s..*s + *count),
            Step::Leaf { .. } | Step::Constant { .. } | Step::Tensor(_) | Step::Loop(_) => (&[], 0..0),
        };
        listed.iter().copied().chain(others)
    }

    /// Rows that it writes, likewise.
    pub fn writes(&self) -> Range<Slot> {
        match *self {
            Step::Leaf { d, count, .. } | Step::Move { d, count, .. } => d..d + count,
            Step::Constant { d, .. } | Step::Op { d, .. } => d..d + 1,
            Step::Guard { .. } | Step::Output { .. } | Step::Tensor(_) | Step::Loop(_) => 0..0,
        }
    }
}

/// A step on tensors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TensorStep {
    pub d: Slot,
    pub shape: Shape,
    pub kind: TensorKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TensorKind {
    /// The same elements in all lanes.
    Constant(Arc<[u64]>),
    /// An operation element by element on values of the same number of elements.
    Wide {
        op: Op,
        args: [Slot; MAX_ARITY],
    },
    /// An operation element by element on values of which some have fewer elements: for each operand that does, the
    /// row that each element of the result takes from it.
    Spread {
        op: Op,
        args: [(Slot, Option<Arc<[Slot]>>); MAX_ARITY],
    },
    Kernel {
        kernel: Kernel,
        args: [(Slot, Shape); 2],
    },
    /// Rows one after the other: first row and number of each part.
    Pack(Arc<[(Slot, u32)]>),
}

/// Whether plans become machine code, on processors for which there is any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JitPolicy {
    /// The block interpreter runs everything.
    Never,
    /// Once the plan has been used so much that compiling costs less.
    #[default]
    WhenItPays,
    /// At the first use.
    Always,
    /// Likewise, but with vectors of 256 bits, whatever the processor has.
    AlwaysNarrow,
}

/// A tape ready to be run over lanes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) tensors: Vec<TensorStep>,
    pub(crate) loops: Vec<LoopStep>,
    pub(crate) maps: Vec<Arc<[u32]>>,
    pub(crate) slots: usize,
    pub(crate) leaves: usize,
    pub(crate) outputs: usize,
    /// Operations on single numbers that a lane needs, roughly.
    pub(crate) work: usize,
    /// Whether nearly all of them are done by kernels on tensors.
    pub(crate) dense: bool,
    pub(crate) single: bool,
    /// Whether it can be run with rows of 32 bits, and gains by it.
    pub(crate) short: bool,
    pub(crate) native: Native,
    pub(crate) cost: CostModel,
}

/// Rounds of a loop that work is estimated for.
pub(crate) const USUAL_ROUNDS: usize = 100;

/// Operations on tensors for each other step from which on a plan is about tensors.
const DENSE: usize = 16;

/// Rows that are free, by the number of them that belong together.
#[derive(Default)]
struct Slots {
    free: FxHashMap<u32, Vec<Slot>>,
    used: Slot,
}

impl Slots {
    fn take(&mut self, count: u32) -> Slot {
        self.free.get_mut(&count).and_then(Vec::pop).unwrap_or_else(|| self.take_new(count))
    }

    /// Rows that nothing used before.
    fn take_new(&mut self, count: u32) -> Slot {
        self.used += count;
        self.used - count
    }
}

/// A value as rows of the workspace: the first of them, and how many.
pub(crate) type RowRange = (Slot, u32);

/// The rows of ranges one after the other.
pub(crate) fn rows_of(ranges: &[RowRange]) -> impl Iterator<Item = Slot> + '_ {
    ranges.iter().flat_map(|&(first, count)| first..first + count)
}

/// A loop: a plan for one round, with its state and the values that rounds share in rows of its own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoopStep {
    /// Where its results go: whether it finished, the state, the number of rounds.
    pub d: Slot,
    /// Rows outside of the first state and of what rounds share.
    pub operands: Vec<RowRange>,
    pub kind: LoopStepKind,
    /// Rows inside, by leaf of the body: state, state of the loop that is followed, shared values.
    pub leaves: Vec<RowRange>,
    /// Rows inside of the state at the end of a round; never those of a leaf, and of its own for each state if lanes may
    /// leave.
    pub next: Vec<RowRange>,
    /// What is the same in all rounds.
    pub prelude: Vec<Step>,
    /// Rows inside that stay as they are from round to round.
    pub kept: Vec<RowRange>,
    /// The integer that each value of the state begins with, where it is the same in all lanes.
    pub starts: Vec<Option<i64>>,
    pub body: Plan,
    /// What is left of a round once the loop is under way, if it is all plain operations.
    pub steady: Option<Steady>,
    /// What the way back finds again.
    pub remembered: Remembered,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LoopStepKind {
    Forward {
        limit: u64,
        /// Whether a loop follows it back, and its states are to be found again.
        followed: bool,
    },
    /// Follows the loop of this number.
    Backward { of: u32 },
}

impl LoopStep {
    /// Rows of the state.
    pub fn state(&self) -> &[RowRange] {
        &self.leaves[..self.next.len()]
    }

    /// Number of rows that the results take.
    pub fn results(&self) -> u32 {
        2 + self.state().iter().map(|r| r.1).sum::<u32>()
    }

    /// Rows of the state of the loop that it follows.
    pub fn followed(&self) -> &[RowRange] {
        &self.leaves[self.next.len()..self.leaves.len() - self.shared().len()]
    }

    /// Rows of the values that rounds share.
    pub fn shared(&self) -> &[RowRange] {
        &self.leaves[self.leaves.len() + self.next.len() - self.operands.len()..]
    }
}

impl Plan {
    /// Plans a tape. Guards are tested as soon as their boolean is known.
    pub fn new(tape: &Tape) -> Plan {
        let mut planner = Planner::new(tape);
        let steps = planner.steps(&vec![true; tape.nodes.len()], None);
        planner.finish(steps)
    }

    fn of_loop(tape: &Tape, states: usize) -> (Plan, LoopRows) {
        let mut planner = Planner::new(tape);
        let varies = tape.varying(states);
        let mut rows = LoopRows::default();
        let mut steps = planner.steps(&varies, Some(&mut rows));
        for &output in &tape.outputs {
            let (mut s, count) = (planner.slot(output), tape.shape(output).len() as u32);
            // The next state is written while this one is still read. Of two states that become the same, a lane that
            // leaves keeps what each of them was.
            let shared = !tape.guards.is_empty() && rows.next.contains(&(s, count));
            if shared || matches!(tape.nodes[output.0 as usize], Node::Leaf(_)) || !varies[output.0 as usize] {
                let d = planner.slots.take(count);
                steps.push(Step::Move { d, s, count });
                s = d;
            }
            rows.next.push((s, count));
        }
        (planner.finish(steps), rows)
    }

    /// The plan with machine code as asked for; results do not depend on it.
    pub fn with_code(mut self, when: JitPolicy) -> Plan {
        self.set_code(when);
        self
    }

    pub(crate) fn set_code(&mut self, when: JitPolicy) {
        self.native.when = when;
        self.loops.iter_mut().for_each(|l| l.body.set_code(when));
    }

    /// Number of rows of lanes that are live at once.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Number of results of a lane.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Operations on single numbers that a lane needs, roughly; how often loops run is not known.
    pub fn work(&self) -> usize {
        self.work
    }

    /// Rows that are worked on together.
    pub(crate) fn footprint(&self) -> usize {
        self.slots + self.loops.iter().map(|l| l.body.footprint()).max().unwrap_or(0)
    }

    /// The text form.
    pub fn print(&self) -> String {
        let mut out = format!("plan: {} rows, {} leaves, {} outputs\n", self.slots, self.leaves, self.outputs);
        for step in &self.steps {
            let _ = match step {
                Step::Leaf { d, first, .. } => writeln!(out, "s{d} = leaf {first}"),
                Step::Constant { d, bits } => writeln!(out, "s{d} = real {:?}", f64::from_bits(*bits)),
                Step::Op { op, d, args } => {
                    let args: String = args[..op.operands().len()].iter().map(|a| format!(" s{a}")).collect();
                    writeln!(out, "s{d} = {}{args}", op.name())
                }
                Step::Tensor(t) => {
                    let step = &self.tensors[*t as usize];
                    let name = match &step.kind {
                        TensorKind::Constant(_) => "tensor",
                        TensorKind::Wide { op, .. } | TensorKind::Spread { op, .. } => op.name(),
                        TensorKind::Kernel { kernel, .. } => kernel.name(),
                        TensorKind::Pack(_) => "pack",
                    };
                    writeln!(out, "s{} = {name} {}", step.d, step.shape)
                }
                Step::Loop(n) => {
                    let l = &self.loops[*n as usize];
                    let body = l.body.print();
                    let body: String = body.lines().map(|line| format!("  {line}\n")).collect();
                    write!(out, "s{} = loop\n{body}", l.d)
                }
                Step::Move { d, s, .. } => writeln!(out, "s{d} = s{s}"),
                Step::Guard { test, outcome, index } => writeln!(out, "guard {index}: s{test} {outcome}"),
                Step::Output { s, index, .. } => writeln!(out, "output {index} = s{s}"),
            };
        }
        out
    }
}

/// Where a loop keeps what stays from round to round.
#[derive(Default)]
struct LoopRows {
    leaves: Vec<RowRange>,
    next: Vec<RowRange>,
    prelude: Vec<Step>,
    kept: Vec<RowRange>,
}

struct Planner<'a> {
    tape: &'a Tape,
    slot_of: Vec<Slot>,
    slots: Slots,
    tensors: Vec<TensorStep>,
    loops: Vec<LoopStep>,
    /// The number of the step of each loop node.
    loop_numbers: FxHashMap<NodeId, u32>,
    leaf_offsets: Vec<usize>,
}

impl<'a> Planner<'a> {
    fn new(tape: &'a Tape) -> Self {
        Planner {
            tape,
            slot_of: vec![0; tape.nodes.len()],
            slots: Slots::default(),
            tensors: Vec::new(),
            loops: Vec::new(),
            loop_numbers: FxHashMap::default(),
            leaf_offsets: tape.leaf_offsets().0,
        }
    }

    /// The steps of all nodes. In the body of a loop, leaves have rows and no steps, and what does not
    /// vary goes into the prelude and keeps its rows.
    fn steps(&mut self, varies: &[bool], mut body: Option<&mut LoopRows>) -> Vec<Step> {
        let tape = self.tape;
        let end = tape.nodes.len();
        let last_use = last_uses(tape, varies, body.is_some());
        // Guards keep their order: the first one that fails decides where a lane goes next.
        let mut guards_at: Vec<(usize, usize)> = Vec::new();
        let mut at = 0;
        for (k, guard) in tape.guards.iter().enumerate() {
            at = at.max(guard.node.0 as usize);
            guards_at.push((at, k));
        }
        let mut dying: Vec<u32> = (0..end as u32).filter(|&i| last_use[i as usize] < end).collect();
        dying.sort_by_key(|&i| last_use[i as usize]);
        let mut dying = dying.into_iter().peekable();
        let mut guards = guards_at.into_iter().peekable();
        let mut steps = Vec::with_capacity(end + tape.guards.len() + tape.outputs.len());
        for (i, &varying) in varies.iter().enumerate() {
            if let Node::Out { of, index } = tape.nodes[i] {
                self.slot_of[i] = self.slot(of) + tape.out_offset(of, index) as Slot;
            } else {
                // A value never shares the rows of an operand: kernels write while they read.
                let width = tape.width_of(i) as u32;
                // What stays from round to round must not be where something else was in this round.
                let d = if body.is_some() && !varying { self.slots.take_new(width) } else { self.slots.take(width) };
                self.slot_of[i] = d;
                match (&mut body, tape.nodes[i]) {
                    (Some(rows), Node::Leaf(_)) => {
                        rows.leaves.push((d, width));
                        if !varying {
                            rows.kept.push((d, width));
                        }
                    }
                    (Some(rows), _) if !varying => {
                        let step = self.step(i, d);
                        rows.prelude.push(step);
                        rows.kept.push((d, width));
                    }
                    _ => {
                        let step = self.step(i, d);
                        steps.push(step);
                    }
                }
            }
            while let Some((_, k)) = guards.next_if(|g| g.0 == i) {
                let guard = tape.guards[k];
                steps.push(Step::Guard { test: self.slot(guard.node), outcome: guard.outcome, index: k as u32 });
            }
            while let Some(n) = dying.next_if(|&n| last_use[n as usize] == i) {
                if !matches!(tape.nodes[n as usize], Node::Out { .. }) {
                    let count = tape.width_of(n as usize) as u32;
                    self.slots.free.entry(count).or_default().push(self.slot_of[n as usize]);
                }
            }
        }
        if body.is_none() {
            let mut index = 0;
            for &output in &tape.outputs {
                let count = tape.shape(output).len() as u32;
                steps.push(Step::Output { s: self.slot(output), index, count });
                index += count;
            }
        }
        steps
    }

    fn finish(mut self, steps: Vec<Step>) -> Plan {
        for i in 0..self.loops.len() {
            let follows = |l: &&LoopStep| l.kind == LoopStepKind::Backward { of: i as u32 };
            let followers: Vec<&LoopStep> = self.loops.iter().filter(follows).collect();
            let steady = Steady::of(&self.loops[i], &followers);
            let remembered = match self.loops[i].kind {
                LoopStepKind::Forward { .. } => Remembered::of(&self.loops[i], steady.as_ref(), &followers),
                LoopStepKind::Backward { of } => Remembered::followed(&self.loops[i], &self.loops[of as usize]),
            };
            (self.loops[i].steady, self.loops[i].remembered) = (steady, remembered);
        }
        let loops = self.loops.iter().map(|l| USUAL_ROUNDS * l.body.work).sum::<usize>();
        let tensors = self.tensors.iter().map(|t| 4 * t.shape.len()).sum::<usize>();
        // What rounds of a loop share is no step of theirs.
        let scalars = steps.iter().filter(|step| !matches!(step, Step::Tensor(_))).count();
        Plan {
            work: steps.len() + tensors + loops,
            dense: tensors > DENSE * scalars + loops,
            short: self.tape.single && fits_f32_rows(&steps, &self.tensors, self.slots.used as usize),
            steps,
            tensors: self.tensors,
            loops: self.loops,
            maps: self.tape.maps.clone(),
            slots: self.slots.used as usize,
            leaves: self.tape.leaf_offsets().1,
            outputs: self.tape.outputs.iter().map(|&o| self.tape.shape(o).len()).sum(),
            single: self.tape.single,
            native: Native::default(),
            cost: CostModel::default(),
        }
    }

    fn loop_step(&mut self, i: usize, n: u32, d: Slot) -> Step {
        let l = &self.tape.loops[n as usize];
        let mut operands = self.tape.operands(i).to_vec();
        let (kind, varying) = match l.kind {
            LoopKind::Forward { limit } => (LoopStepKind::Forward { limit, followed: false }, l.states as usize),
            LoopKind::Backward => {
                let of = operands.pop().and_then(|of| self.loop_numbers.get(&of).copied()).unwrap_or(0);
                if let Some(LoopStep { kind: LoopStepKind::Forward { followed, .. }, .. }) =
                    self.loops.get_mut(of as usize)
                {
                    *followed = true;
                }
                let shared = operands.len() - l.states as usize;
                (LoopStepKind::Backward { of }, l.body.leaves.len() - shared)
            }
        };
        let (body, rows) = Plan::of_loop(&l.body, varying);
        let range = |&o: &NodeId| (self.slot(o), self.tape.shape(o).len() as u32);
        let start = |&o: &NodeId| match self.tape.nodes[o.0 as usize] {
            Node::Int(x) => Some(x),
            _ => None,
        };
        let step = LoopStep {
            d,
            starts: operands[..l.states as usize].iter().map(start).collect(),
            steady: None,
            remembered: Remembered::default(),
            operands: operands.iter().map(range).collect(),
            kind,
            leaves: rows.leaves,
            next: rows.next,
            prelude: rows.prelude,
            kept: rows.kept,
            body,
        };
        self.loops.push(step);
        let number = self.loops.len() as u32 - 1;
        self.loop_numbers.insert(NodeId(i as u32), number);
        Step::Loop(number)
    }

    fn slot(&self, id: NodeId) -> Slot {
        self.slot_of[id.0 as usize]
    }

    fn step(&mut self, i: usize, d: Slot) -> Step {
        let shape = self.tape.shapes[i];
        match self.tape.nodes[i] {
            Node::Leaf(n) => {
                let real = self.tape.leaves[n as usize].ty == Type::Real;
                Step::Leaf { d, first: self.leaf_offsets[n as usize] as u32, count: shape.len() as u32, real }
            }
            Node::Real(bits) => Step::Constant { d, bits },
            Node::Int(x) => Step::Constant { d, bits: x as u64 },
            Node::Op(op, args) => {
                let n = op.operands().len();
                let mut from = [self.slot(args[0]); MAX_ARITY];
                from[..n].iter_mut().zip(&args).for_each(|(s, &a)| *s = self.slot(a));
                if shape.is_scalar() {
                    return Step::Op { op, d, args: from };
                }
                let shapes = args.map(|a| self.tape.shape(a));
                let is_whole = |k: usize| k >= n || shapes[k].len() == shape.len();
                let kind = if (0..n).all(is_whole) {
                    TensorKind::Wide { op, args: from }
                } else {
                    let rows = |k: usize| shapes[k].spread(shape).map(|e| from[k] + e as Slot).collect();
                    let args = [0, 1, 2].map(|k| (from[k], (!is_whole(k)).then(|| rows(k))));
                    TensorKind::Spread { op, args }
                };
                self.tensor(d, shape, kind)
            }
            Node::Constant(n) => {
                let kind = TensorKind::Constant(self.tape.constants[n as usize].clone());
                self.tensor(d, shape, kind)
            }
            Node::Kernel(kernel, args) => {
                let last = args[kernel.arity() - 1];
                let args = [args[0], last].map(|a| (self.slot(a), self.tape.shape(a)));
                self.tensor(d, shape, TensorKind::Kernel { kernel, args })
            }
            Node::Pack { .. } => {
                let parts = self.tape.operands(i).iter().map(|&a| (self.slot(a), self.tape.shape(a).len() as u32));
                let kind = TensorKind::Pack(parts.collect());
                self.tensor(d, shape, kind)
            }
            Node::Loop(n) => self.loop_step(i, n, d),
            Node::Out { .. } => Step::Move { d, s: d, count: 0 },
        }
    }

    fn tensor(&mut self, d: Slot, shape: Shape, kind: TensorKind) -> Step {
        self.tensors.push(TensorStep { d, shape, kind });
        Step::Tensor(self.tensors.len() as u32 - 1)
    }
}

/// The last node that needs each node; the number of nodes if it is needed to the end.
fn last_uses(tape: &Tape, varies: &[bool], body: bool) -> Vec<usize> {
    let end = tape.nodes.len();
    let mut last_use: Vec<usize> = (0..end).collect();
    for i in 0..end {
        for a in tape.operands(i) {
            last_use[a.0 as usize] = i;
        }
    }
    let mut at = 0;
    for guard in &tape.guards {
        let node = guard.node.0 as usize;
        at = at.max(node);
        last_use[node] = last_use[node].max(at);
    }
    tape.outputs.iter().for_each(|o| last_use[o.0 as usize] = end);
    for i in 0..end {
        if body && (!varies[i] || matches!(tape.nodes[i], Node::Leaf(_))) {
            last_use[i] = end;
        }
        // Results are rows of their loop.
        if let Node::Out { of, .. } = tape.nodes[i] {
            last_use[of.0 as usize] = last_use[of.0 as usize].max(last_use[i]);
        }
    }
    last_use
}
