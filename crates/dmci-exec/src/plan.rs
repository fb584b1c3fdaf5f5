//! Plans: a tape with a place in the workspace for every value, reused as values die.

use dmci_ops::{Kernel, MAX_ARITY, Op, Shape, Type};
use dmci_tape::{Node, NodeId, Tape};
use std::fmt::Write;
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
    /// An operation element by element: for each element, the rows of its operands.
    Spread {
        op: Op,
        rows: Arc<[[Slot; MAX_ARITY]]>,
    },
    Kernel {
        kernel: Kernel,
        args: [(Slot, Shape); 2],
    },
    /// Rows one after the other: first row and number of each part.
    Pack(Arc<[(Slot, u32)]>),
}

/// A tape ready to be run over lanes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) tensors: Vec<TensorStep>,
    pub(crate) maps: Vec<Arc<[u32]>>,
    pub(crate) slots: usize,
    pub(crate) leaves: usize,
    pub(crate) outputs: usize,
    pub(crate) single: bool,
}

/// Rows that are free, by the number of them that belong together.
#[derive(Default)]
struct Slots {
    free: rustc_hash::FxHashMap<u32, Vec<Slot>>,
    used: Slot,
}

impl Slots {
    fn take(&mut self, count: u32) -> Slot {
        self.free.get_mut(&count).and_then(Vec::pop).unwrap_or_else(|| {
            self.used += count;
            self.used - count
        })
    }
}

impl Plan {
    /// Plans a tape. Guards are tested as soon as their boolean is known.
    pub fn new(tape: &Tape) -> Plan {
        let end = tape.nodes.len();
        let mut last_use: Vec<usize> = (0..end).collect();
        for i in 0..end {
            for a in tape.operands(i) {
                last_use[a.0 as usize] = i;
            }
        }
        // Guards keep their order: the first one that fails decides where a lane goes next.
        let mut guards_at: Vec<(usize, usize)> = Vec::new();
        let mut at = 0;
        for (k, guard) in tape.guards.iter().enumerate() {
            at = at.max(guard.node.0 as usize);
            guards_at.push((at, k));
            let node = guard.node.0 as usize;
            last_use[node] = last_use[node].max(at);
        }
        tape.outputs.iter().for_each(|o| last_use[o.0 as usize] = end);

        let mut dying: Vec<u32> = (0..end as u32).filter(|&i| last_use[i as usize] < end).collect();
        dying.sort_by_key(|&i| last_use[i as usize]);
        let mut dying = dying.into_iter().peekable();
        let mut guards = guards_at.into_iter().peekable();
        let mut planner = Planner {
            tape,
            slot_of: vec![0; end],
            slots: Slots::default(),
            tensors: Vec::new(),
            leaf_offsets: tape.leaf_offsets().0,
        };
        let mut steps = Vec::with_capacity(end + tape.guards.len() + tape.outputs.len());
        for i in 0..end {
            // A value never shares the rows of an operand: kernels write while they read.
            let d = planner.slots.take(tape.shapes[i].len() as u32);
            planner.slot_of[i] = d;
            steps.push(planner.step(i, d));
            while let Some((_, k)) = guards.next_if(|g| g.0 == i) {
                let guard = tape.guards[k];
                steps.push(Step::Guard { test: planner.slot(guard.node), outcome: guard.outcome, index: k as u32 });
            }
            while let Some(n) = dying.next_if(|&n| last_use[n as usize] == i) {
                let count = tape.shapes[n as usize].len() as u32;
                planner.slots.free.entry(count).or_default().push(planner.slot_of[n as usize]);
            }
        }
        let mut outputs = 0;
        for &output in &tape.outputs {
            let count = tape.shape(output).len() as u32;
            steps.push(Step::Output { s: planner.slot(output), index: outputs, count });
            outputs += count;
        }
        Plan {
            steps,
            tensors: planner.tensors,
            maps: tape.maps.clone(),
            slots: planner.slots.used as usize,
            leaves: tape.leaf_offsets().1,
            outputs: outputs as usize,
            single: tape.single,
        }
    }

    /// Number of rows of lanes that are live at once.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Number of results of a lane.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Operations on single numbers that a lane needs, roughly.
    pub fn work(&self) -> usize {
        self.steps.len() + self.tensors.iter().map(|t| 4 * t.shape.len()).sum::<usize>()
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
                Step::Guard { test, outcome, index } => writeln!(out, "guard {index}: s{test} {outcome}"),
                Step::Output { s, index, .. } => writeln!(out, "output {index} = s{s}"),
            };
        }
        out
    }
}

struct Planner<'a> {
    tape: &'a Tape,
    slot_of: Vec<Slot>,
    slots: Slots,
    tensors: Vec<TensorStep>,
    leaf_offsets: Vec<usize>,
}

impl Planner<'_> {
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
                let shapes = args[..n].iter().map(|&a| self.tape.shape(a));
                let kind = if shapes.clone().all(|s| s.len() == shape.len()) {
                    TensorKind::Wide { op, args: from }
                } else {
                    let mut rows = vec![[0; MAX_ARITY]; shape.len()];
                    for (k, s) in shapes.enumerate() {
                        rows.iter_mut().zip(s.spread(shape)).for_each(|(row, e)| row[k] = from[k] + e as Slot);
                    }
                    rows.iter_mut().for_each(|row| (n..MAX_ARITY).for_each(|k| row[k] = row[0]));
                    TensorKind::Spread { op, rows: rows.into() }
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
        }
    }

    fn tensor(&mut self, d: Slot, shape: Shape, kind: TensorKind) -> Step {
        self.tensors.push(TensorStep { d, shape, kind });
        Step::Tensor(self.tensors.len() as u32 - 1)
    }
}
