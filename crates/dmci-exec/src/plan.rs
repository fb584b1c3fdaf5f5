//! Plans: a tape with a slot for every value, reused as values die.

use dmci_ops::{MAX_ARITY, Op};
use dmci_tape::{Node, NodeId, Tape};
use std::fmt::Write;

/// A row of lanes in the workspace.
pub(crate) type Slot = u32;

/// One step of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// Lane values of a leaf.
    Leaf {
        d: Slot,
        leaf: u32,
    },
    /// The same constant in all lanes.
    Real {
        d: Slot,
        bits: u64,
    },
    Op {
        op: Op,
        d: Slot,
        args: [Slot; MAX_ARITY],
    },
    /// Lanes whose boolean is not `outcome` leave the path here.
    Guard {
        test: Slot,
        outcome: bool,
        index: u32,
    },
    /// A result.
    Output {
        s: Slot,
        index: u32,
    },
}

/// A tape ready to be run over lanes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) slots: usize,
    pub(crate) leaves: usize,
    pub(crate) outputs: usize,
}

impl Plan {
    /// Plans a tape. Guards are tested as soon as their boolean is known.
    pub fn new(tape: &Tape) -> Plan {
        let mut last_use = vec![0usize; tape.nodes.len()];
        for (i, node) in tape.nodes.iter().enumerate() {
            last_use[i] = last_use[i].max(i);
            for a in node.operands() {
                last_use[a.0 as usize] = i;
            }
        }
        // Guards keep their order: the first one that fails decides where a lane goes next.
        let mut guard_at: Vec<Vec<usize>> = vec![Vec::new(); tape.nodes.len()];
        let mut at = 0;
        for (k, guard) in tape.guards.iter().enumerate() {
            at = at.max(guard.node.0 as usize);
            guard_at[at].push(k);
            let node = guard.node.0 as usize;
            last_use[node] = last_use[node].max(at);
        }
        let end = tape.nodes.len();
        tape.outputs.iter().for_each(|o| last_use[o.0 as usize] = end);

        let mut dying: Vec<Vec<u32>> = vec![Vec::new(); end + 1];
        last_use.iter().enumerate().for_each(|(i, &last)| dying[last].push(i as u32));
        let mut slot_of = vec![0 as Slot; end];
        let mut free: Vec<Slot> = Vec::new();
        let mut slots: Slot = 0;
        let mut steps = Vec::new();
        for (i, node) in tape.nodes.iter().enumerate() {
            // A value never shares the slot of an operand: kernels write while they read.
            let d = free.pop().unwrap_or_else(|| {
                slots += 1;
                slots - 1
            });
            slot_of[i] = d;
            let slot = |id: NodeId| slot_of[id.0 as usize];
            steps.push(match *node {
                Node::Leaf(leaf) => Step::Leaf { d, leaf },
                Node::Real(bits) => Step::Real { d, bits },
                Node::Op(op, args) => {
                    let mut from = [slot(args[0]); MAX_ARITY];
                    let n = op.operands().len();
                    from[..n].iter_mut().zip(&args).for_each(|(s, &a)| *s = slot(a));
                    Step::Op { op, d, args: from }
                }
            });
            for &k in &guard_at[i] {
                let guard = tape.guards[k];
                steps.push(Step::Guard { test: slot(guard.node), outcome: guard.outcome, index: k as u32 });
            }
            free.extend(dying[i].iter().map(|&n| slot_of[n as usize]));
        }
        for (index, &output) in tape.outputs.iter().enumerate() {
            steps.push(Step::Output { s: slot_of[output.0 as usize], index: index as u32 });
        }
        Plan { steps, slots: slots as usize, leaves: tape.leaves.len(), outputs: tape.outputs.len() }
    }

    /// Number of rows of lanes that are live at once.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Number of results.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The text form.
    pub fn print(&self) -> String {
        let mut out = format!("plan: {} slots, {} leaves, {} outputs\n", self.slots, self.leaves, self.outputs);
        for step in &self.steps {
            let _ = match step {
                Step::Leaf { d, leaf } => writeln!(out, "s{d} = leaf {leaf}"),
                Step::Real { d, bits } => writeln!(out, "s{d} = real {:?}", f64::from_bits(*bits)),
                Step::Op { op, d, args } => {
                    let args: String = args[..op.operands().len()].iter().map(|a| format!(" s{a}")).collect();
                    writeln!(out, "s{d} = {}{args}", op.name())
                }
                Step::Guard { test, outcome, index } => writeln!(out, "guard {index}: s{test} {outcome}"),
                Step::Output { s, index } => writeln!(out, "output {index} = s{s}"),
            };
        }
        out
    }
}
