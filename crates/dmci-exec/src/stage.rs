//! Staging: what depends on the parameters alone is computed once for each parameter set, what
//! depends on the data alone once for each row, the rest for each lane.
//!
//! The tape is cut into up to three. A value that a later stage needs is a result of its own stage
//! and a leaf of the last one. Nothing is computed differently, so no bit changes.

use crate::block::{Leaves, Results, STAYED};
use crate::plan::Plan;
use dmci_ops::{Shape, Type};
use dmci_tape::{Leaf, LeafKind, Node, NodeId, Tape};

/// What a value depends on: nothing, the parameters, the data, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axes {
    set: bool,
    row: bool,
}

/// A part of a tape that is run for each parameter set or each row.
#[derive(Debug)]
struct Stage {
    plan: Plan,
    /// The number, on the whole tape, of each guard of the part.
    guards: Vec<u32>,
}

/// A tape in stages.
#[derive(Debug)]
pub struct Staged {
    sets: Option<Stage>,
    rows: Option<Stage>,
    lanes: Stage,
    /// Numbers in the leaves of the whole tape; after them come results of the stages.
    leaves: usize,
}

/// Results of the stages of a call, reused between calls.
#[derive(Debug, Default)]
pub struct StageResults {
    sets: Results,
    rows: Results,
    /// Lanes that stand for their set or row, and where the results of each set or row are.
    which_sets: Vec<usize>,
    which_rows: Vec<usize>,
    at_set: Vec<u32>,
    at_row: Vec<u32>,
}

impl Staged {
    /// Cuts a tape. Values by set, by row, or both may be set apart.
    pub fn new(tape: &Tape, by_set: bool, by_row: bool) -> Staged {
        let axes = axes(tape);
        let belongs = |i: usize, wanted: Axes| axes[i] == wanted;
        let (set, row) = (Axes { set: true, row: false }, Axes { set: false, row: true });
        let apart = |i: usize| by_set && belongs(i, set) || by_row && belongs(i, row);
        // What is set apart and needed outside of its own stage.
        let mut crosses = vec![false; tape.nodes.len()];
        for i in 0..tape.nodes.len() {
            for a in tape.operands(i) {
                let a = a.0 as usize;
                crosses[a] |= apart(a) && axes[i] != axes[a];
            }
        }
        tape.outputs.iter().for_each(|o| crosses[o.0 as usize] |= apart(o.0 as usize));
        let crossing = |wanted: Axes| -> Vec<NodeId> {
            let leaf = |i: usize| matches!(tape.nodes[i], Node::Leaf(_));
            let ids = (0..tape.nodes.len()).filter(|&i| crosses[i] && belongs(i, wanted) && !leaf(i));
            ids.map(|i| NodeId(i as u32)).collect()
        };
        let (set_values, row_values) = (crossing(set), crossing(row));
        let stage = |wanted: Axes, values: &[NodeId], on: bool| {
            let part = Part::new(tape, |i| belongs(i, wanted), &[], values);
            (on && (!values.is_empty() || !part.guards.is_empty())).then(|| part.stage())
        };
        let staged: Vec<NodeId> = set_values.iter().chain(&row_values).copied().collect();
        Staged {
            sets: stage(set, &set_values, by_set),
            rows: stage(row, &row_values, by_row),
            lanes: Part::new(tape, |i| !apart(i), &staged, &tape.outputs).stage(),
            leaves: tape.leaf_offsets().1,
        }
    }

    /// Number of results of a lane.
    pub fn outputs(&self) -> usize {
        self.lanes.plan.outputs()
    }

    /// Steps for each set, for each row and for each lane.
    pub fn work(&self) -> [usize; 3] {
        let work = |stage: &Option<Stage>| stage.as_ref().map_or(0, |s| s.plan.work());
        [work(&self.sets), work(&self.rows), self.lanes.plan.work()]
    }

    /// Runs all stages for some lanes, of which there are `rows` to each set.
    pub fn run(
        &self,
        which: &[usize],
        rows: usize,
        leaves: &impl Leaves,
        threads: usize,
        stages: &mut StageResults,
        results: &mut Results,
    ) {
        let StageResults { sets: set_results, rows: row_results, which_sets, which_rows, at_set, at_row } = stages;
        if let Some(stage) = &self.sets {
            represent(which, |lane| lane / rows, which_sets, at_set);
            stage.plan.run(which_sets, leaves, threads, set_results);
        }
        if let Some(stage) = &self.rows {
            represent(which, |lane| lane % rows, which_rows, at_row);
            stage.plan.run(which_rows, leaves, threads, row_results);
        }
        let from_sets = self.sets.as_ref().map_or(0, |s| s.plan.outputs());
        let from_rows = self.rows.as_ref().map_or(0, |s| s.plan.outputs());
        let source = WithStages {
            leaves,
            count: self.leaves,
            rows,
            sets: (&set_results.outputs, at_set, from_sets),
            row_values: (&row_results.outputs, at_row, from_rows),
        };
        self.lanes.plan.run(which, &source, threads, results);
        for (failed, &lane) in results.failed.iter_mut().zip(which) {
            if *failed != STAYED {
                *failed = self.lanes.guards[*failed as usize];
            }
            if let Some(stage) = &self.sets {
                *failed = (*failed).min(stage.guard(set_results.failed[at_set[lane / rows] as usize]));
            }
            if let Some(stage) = &self.rows {
                *failed = (*failed).min(stage.guard(row_results.failed[at_row[lane % rows] as usize]));
            }
        }
    }
}

impl Stage {
    fn guard(&self, failed: u32) -> u32 {
        if failed == STAYED { STAYED } else { self.guards[failed as usize] }
    }
}

/// One lane for each different key, and where each key's results will be.
fn represent(which: &[usize], key: impl Fn(usize) -> usize, lanes: &mut Vec<usize>, at: &mut Vec<u32>) {
    lanes.clear();
    at.clear();
    for &lane in which {
        let k = key(lane);
        if at.len() <= k {
            at.resize(k + 1, u32::MAX);
        }
        if at[k] == u32::MAX {
            at[k] = lanes.len() as u32;
            lanes.push(lane);
        }
    }
}

/// The leaves of the last stage: those of the tape, then what the other stages found.
struct WithStages<'a, L> {
    leaves: &'a L,
    count: usize,
    rows: usize,
    sets: (&'a [u64], &'a [u32], usize),
    row_values: (&'a [u64], &'a [u32], usize),
}

impl<L: Leaves> Leaves for WithStages<'_, L> {
    fn leaf(&self, lane: usize, leaf: usize) -> u64 {
        let Some(staged) = leaf.checked_sub(self.count) else { return self.leaves.leaf(lane, leaf) };
        let (bits, at, width) = self.sets;
        if staged < width {
            return bits[at[lane / self.rows] as usize * width + staged];
        }
        let staged = staged - width;
        let (bits, at, width) = self.row_values;
        bits[at[lane % self.rows] as usize * width + staged]
    }
}

fn axes(tape: &Tape) -> Vec<Axes> {
    let mut axes: Vec<Axes> = Vec::with_capacity(tape.nodes.len());
    for (i, node) in tape.nodes.iter().enumerate() {
        axes.push(match node {
            Node::Leaf(n) => {
                let kind = tape.leaves[*n as usize].kind;
                Axes {
                    set: matches!(kind, LeafKind::Param | LeafKind::Noise),
                    row: matches!(kind, LeafKind::Input | LeafKind::Noise),
                }
            }
            _ => tape.operands(i).iter().fold(Axes { set: false, row: false }, |all, a| {
                let of = axes[a.0 as usize];
                Axes { set: all.set || of.set, row: all.row || of.row }
            }),
        });
    }
    axes
}

/// A part of a tape under construction.
struct Part<'a> {
    old: &'a Tape,
    new: Tape,
    new_id: Vec<Option<NodeId>>,
    guards: Vec<u32>,
}

impl<'a> Part<'a> {
    /// The outputs and the guards that belong, with whatever they need; `staged` values are leaves.
    fn new(old: &'a Tape, belongs: impl Fn(usize) -> bool, staged: &[NodeId], outputs: &[NodeId]) -> Self {
        let new = Tape {
            leaves: old.leaves.clone(),
            maps: old.maps.clone(),
            constants: old.constants.clone(),
            single: old.single,
            ..Tape::default()
        };
        let mut part = Part { old, new, new_id: vec![None; old.nodes.len()], guards: Vec::new() };
        for &id in staged {
            let (ty, shape) = (old.type_of(id), old.shape(id));
            part.new.leaves.push(Leaf { name: format!("%{}", id.0), kind: LeafKind::Input, ty: leaf_type(ty), shape });
            let leaf = Node::Leaf(part.new.leaves.len() as u32 - 1);
            part.new_id[id.0 as usize] = Some(part.add(leaf, shape));
        }
        let guards = || old.guards.iter().enumerate().filter(|(_, g)| belongs(g.node.0 as usize));
        let mut needed = vec![false; old.nodes.len()];
        outputs.iter().chain(guards().map(|(_, g)| &g.node)).for_each(|id| needed[id.0 as usize] = true);
        for i in (0..old.nodes.len()).rev().filter(|&i| part.new_id[i].is_none()) {
            if needed[i] {
                old.operands(i).iter().for_each(|a| needed[a.0 as usize] = true);
            }
        }
        for i in (0..old.nodes.len()).filter(|&i| needed[i]) {
            part.copy(i);
        }
        for (k, guard) in guards() {
            let node = part.id(guard.node);
            part.new.guards.push(dmci_tape::Guard { node, ..*guard });
            part.guards.push(k as u32);
        }
        part.new.outputs = outputs.iter().map(|&o| part.id(o)).collect();
        part
    }

    fn id(&self, old: NodeId) -> NodeId {
        self.new_id[old.0 as usize].expect("operands are copied before what needs them")
    }

    fn add(&mut self, node: Node, shape: Shape) -> NodeId {
        self.new.nodes.push(node);
        self.new.shapes.push(shape);
        NodeId(self.new.nodes.len() as u32 - 1)
    }

    /// Copies a node whose operands are here already.
    fn copy(&mut self, i: usize) {
        if self.new_id[i].is_some() {
            return;
        }
        let operands: Vec<NodeId> = self.old.operands(i).iter().map(|&a| self.id(a)).collect();
        let node = match self.old.nodes[i] {
            Node::Op(op, mut args) => {
                args.iter_mut().zip(&operands).for_each(|(a, &new)| *a = new);
                Node::Op(op, args)
            }
            Node::Kernel(kernel, mut args) => {
                args.iter_mut().zip(&operands).for_each(|(a, &new)| *a = new);
                Node::Kernel(kernel, args)
            }
            Node::Pack { count, .. } => {
                let first = self.new.packed.len() as u32;
                self.new.packed.extend(operands);
                Node::Pack { first, count }
            }
            other => other,
        };
        self.new_id[i] = Some(self.add(node, self.old.shapes[i]));
    }

    fn stage(self) -> Stage {
        Stage { plan: Plan::new(&self.new), guards: self.guards }
    }
}

/// Booleans cross stages as integers.
fn leaf_type(ty: Type) -> Type {
    if ty == Type::Real { Type::Real } else { Type::Int }
}
