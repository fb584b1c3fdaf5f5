//! Staging: what depends on the parameters alone is computed once for each parameter set, what
//! depends on the data alone once for each row, the rest for each lane.
//!
//! The tape is cut into up to three. A value that a later stage needs is a result of its own stage
//! and a leaf of the last one. Nothing is computed differently, so no bit changes.

use crate::block::{CUT, Leaves, List, Results, STAYED, Which, by_set};
use crate::native::PreparedCall;
use crate::plan::{JitPolicy, Plan, USUAL_ROUNDS};
use crate::target::Target;
use dmci_ops::Type;
use dmci_tape::{Guard, Leaf, LeafKind, LoopKind, Node, NodeId, Rebuild, Tape};
use std::sync::Mutex;

/// What a value depends on: nothing, the parameters, the data, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axes {
    set: bool,
    row: bool,
}

impl Axes {
    fn and(self, other: Axes) -> Axes {
        Axes { set: self.set || other.set, row: self.row || other.row }
    }
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

/// Operations of a tape that depend on parameters alone, and on data alone, roughly: what stages would save.
pub fn work_by_axes(tape: &Tape) -> [usize; 2] {
    let mut work = [0, 0];
    for (i, axes) in axes(tape).into_iter().enumerate() {
        let of_node = match tape.nodes[i] {
            Node::Op(..) => 1,
            Node::Kernel(..) | Node::Pack { .. } => 4 * tape.shape(NodeId(i as u32)).len(),
            Node::Loop(n) => USUAL_ROUNDS * tape.loops[n as usize].body.operations(),
            _ => 0,
        };
        match axes {
            Axes { set: true, row: false } => work[0] += of_node,
            Axes { set: false, row: true } => work[1] += of_node,
            _ => {}
        }
    }
    work
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

impl Drop for Staged {
    fn drop(&mut self) {
        for stage in self.sets.iter().chain(&self.rows).chain([&self.lanes]) {
            stage.plan.release_memory();
        }
    }
}

impl Staged {
    /// Cuts a tape. Values by set, by row, or both may be set apart.
    pub fn new(tape: &Tape, by_set: bool, by_row: bool) -> Staged {
        if !by_set && !by_row {
            let lanes = Stage { plan: Plan::new(tape), guards: (0..tape.guards.len() as u32).collect() };
            return Staged { sets: None, rows: None, lanes, leaves: tape.leaf_offsets().1 };
        }
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
            let guarded = tape.guards.iter().any(|g| belongs(g.node.0 as usize, wanted));
            (on && (guarded || !values.is_empty())).then(|| Stage::new(tape, |i| belongs(i, wanted), &[], values))
        };
        let staged: Vec<NodeId> = set_values.iter().chain(&row_values).copied().collect();
        Staged {
            sets: stage(set, &set_values, by_set),
            rows: stage(row, &row_values, by_row),
            lanes: Stage::new(tape, |i| !apart(i), &staged, &tape.outputs),
            leaves: tape.leaf_offsets().1,
        }
    }

    /// The same with machine code as asked for.
    pub fn with_code(mut self, when: JitPolicy) -> Staged {
        for stage in self.sets.iter_mut().chain(&mut self.rows).chain([&mut self.lanes]) {
            stage.plan.set_code(when);
        }
        self
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
        let source = self.source(leaves, rows, (set_results, at_set), (row_results, at_row));
        self.lanes.plan.run(which, &source, threads, results);
        for (failed, &lane) in results.failed.iter_mut().zip(which) {
            if *failed < CUT {
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

impl Staged {
    /// Runs all stages for all lanes, `sets` times `rows` of them, or `rows` pairs if there are no stages,
    /// and gives the results to the target; `left` gets guards that failed, with their lanes. False, and
    /// nothing done, if there is no machine code for it, or results that the target does not take.
    #[allow(clippy::too_many_arguments)]
    pub fn run_all<L: Leaves>(
        &self,
        lanes: usize,
        rows: usize,
        leaves: &L,
        threads: usize,
        stages: &mut StageResults,
        target: &mut Target<'_, L::Number>,
        left: &mut Vec<(u32, usize)>,
    ) -> bool {
        let guarded = |stage: &Option<Stage>| stage.as_ref().is_some_and(|s| !s.guards.is_empty());
        if target.width() != self.outputs() || guarded(&self.sets) || guarded(&self.rows) {
            return false;
        }
        let found = Mutex::new(std::mem::take(left));
        let done = match (&self.sets, &self.rows) {
            (None, None) => self.lanes.plan.run_all(lanes, leaves, threads, target, &found),
            _ => self.run_all_stages(lanes, rows, leaves, threads, stages, target, &found),
        };
        *left = found.into_inner().unwrap_or_else(|e| e.into_inner());
        for (guard, _) in left.iter_mut().filter(|(guard, _)| *guard != CUT) {
            *guard = self.lanes.guards[*guard as usize];
        }
        done
    }

    /// What does calls like this one, if one call of machine code does everything: there is such code, there are no other
    /// stages, and the target takes the results. A lane may leave the path only if it is alone.
    pub fn prepared_call<L: Leaves>(
        &self,
        lanes: usize,
        leaves: &L,
        threads: usize,
        target: &Target<'_, L::Number>,
    ) -> Option<PreparedCall> {
        let is_whole = self.sets.is_none() && self.rows.is_none() && target.width() == self.outputs();
        if is_whole { self.lanes.plan.prepared_call(lanes, leaves, threads, target) } else { None }
    }

    #[allow(clippy::too_many_arguments)]
    fn run_all_stages<L: Leaves>(
        &self,
        lanes: usize,
        rows: usize,
        leaves: &L,
        threads: usize,
        stages: &mut StageResults,
        target: &mut Target<'_, L::Number>,
        left: &Mutex<Vec<(u32, usize)>>,
    ) -> bool {
        let StageResults { sets: set_results, rows: row_results, which_sets, which_rows, at_set, at_row } = stages;
        let represent = |which: &mut Vec<usize>, at: &mut Vec<u32>, count: usize, step: usize| {
            which.clear();
            which.extend((0..count).map(|k| k * step));
            at.clear();
            at.extend(0..count as u32);
        };
        if let Some(stage) = &self.sets {
            represent(which_sets, at_set, lanes / rows, rows);
            stage.plan.run(which_sets, leaves, threads, set_results);
        }
        if let Some(stage) = &self.rows {
            represent(which_rows, at_row, rows, 1);
            stage.plan.run(which_rows, leaves, threads, row_results);
        }
        let source = self.source(leaves, rows, (set_results, at_set), (row_results, at_row));
        self.lanes.plan.run_all(lanes, &source, threads, target, left)
    }

    fn source<'a, L>(
        &self,
        leaves: &'a L,
        rows: usize,
        sets: (&'a Results, &'a [u32]),
        row_values: (&'a Results, &'a [u32]),
    ) -> WithStages<'a, L> {
        let from_sets = self.sets.as_ref().map_or(0, |s| s.plan.outputs());
        let from_rows = self.rows.as_ref().map_or(0, |s| s.plan.outputs());
        WithStages {
            leaves,
            count: self.leaves,
            rows,
            sets: (&sets.0.outputs, sets.1, from_sets),
            row_values: (&row_values.0.outputs, row_values.1, from_rows),
            set_guards: if self.sets.is_some() { (&sets.0.failed, sets.1) } else { (&[], &[]) },
            row_guards: if self.rows.is_some() { (&row_values.0.failed, row_values.1) } else { (&[], &[]) },
        }
    }
}

impl Stage {
    /// The outputs and the guards that belong, with whatever they need; `staged` values are leaves.
    fn new(tape: &Tape, belongs: impl Fn(usize) -> bool, staged: &[NodeId], outputs: &[NodeId]) -> Stage {
        let mut rebuild = Rebuild::new(tape);
        for &id in staged {
            // Booleans cross stages as integers.
            let ty = if tape.type_of(id) == Type::Real { Type::Real } else { Type::Int };
            let leaf = Leaf { name: format!("%{}", id.0), kind: LeafKind::Input, ty, shape: tape.shape(id) };
            rebuild.make_leaf(id, leaf);
        }
        let numbered = tape.guards.iter().enumerate().filter(|(_, g)| belongs(g.node.0 as usize));
        let (numbers, guards): (Vec<u32>, Vec<&Guard>) = numbered.map(|(k, g)| (k as u32, g)).unzip();
        let needed = rebuild.needed(outputs.iter().copied().chain(guards.iter().map(|g| g.node)));
        for i in (0..needed.len()).filter(|&i| needed[i]) {
            rebuild.copy(i);
        }
        Stage { plan: Plan::new(&rebuild.finish(guards, outputs)), guards: numbers }
    }

    fn guard(&self, failed: u32) -> u32 {
        if failed >= CUT { failed } else { self.guards[failed as usize] }
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
    /// The guards that failed, and where those of each set or row are; empty without a stage.
    set_guards: (&'a [u32], &'a [u32]),
    row_guards: (&'a [u32], &'a [u32]),
}

impl<L: Leaves> Leaves for WithStages<'_, L> {
    type Number = L::Number;

    fn is_out(&self, lane: usize) -> bool {
        let failed = |(failed, at): (&[u32], &[u32]), key: usize| {
            at.get(key).and_then(|&i| failed.get(i as usize)).is_some_and(|&f| f != STAYED)
        };
        failed(self.set_guards, lane / self.rows) || failed(self.row_guards, lane % self.rows)
    }

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

    fn list(&self, leaf: usize) -> Option<List<'_, L::Number>> {
        if leaf < self.count { self.leaves.list(leaf) } else { None }
    }

    fn gather(&self, which: Which<'_>, leaves: usize, rows: &mut [u64], width: usize) {
        self.leaves.gather(which, leaves.min(self.count), rows, width);
        let n = which.count();
        for (leaf, row) in rows.chunks_mut(width).enumerate().take(leaves).skip(self.count) {
            self.fill(which, leaf, &mut row[..n]);
        }
    }

    fn fill(&self, which: Which<'_>, leaf: usize, row: &mut [u64]) {
        let Some(staged) = leaf.checked_sub(self.count) else { return self.leaves.fill(which, leaf, row) };
        let (bits, at, width) = self.sets;
        if staged < width {
            let value = |set: usize| bits[at[set] as usize * width + staged];
            let Which::Range(first, count) = which else { return which.fill(row, |lane| value(lane / self.rows)) };
            for (set, _, part) in by_set(first, count, self.rows) {
                row[part].fill(value(set));
            }
            return;
        }
        let staged = staged - width;
        let (bits, at, width) = self.row_values;
        let value = |r: usize| bits[at[r] as usize * width + staged];
        let Which::Range(first, count) = which else { return which.fill(row, |lane| value(lane % self.rows)) };
        for (_, r, part) in by_set(first, count, self.rows) {
            row[part].iter_mut().zip(r..).for_each(|(slot, r)| *slot = value(r));
        }
    }
}

fn axes(tape: &Tape) -> Vec<Axes> {
    let mut at_least = vec![Axes { set: false, row: false }; tape.nodes.len()];
    loop {
        let axes = axes_with(tape, &at_least);
        let mut settled = true;
        let mut needs = |id: NodeId, more: Axes| {
            let i = id.0 as usize;
            settled &= axes[i].and(more) == axes[i];
            at_least[i] = at_least[i].and(more);
        };
        let mut guards = tape.guards.iter().peekable();
        let mut guarded = Axes { set: false, row: false };
        for i in 0..tape.nodes.len() {
            while let Some(g) = guards.next_if(|g| (g.node.0 as usize) < i) {
                guarded = guarded.and(axes[g.node.0 as usize]);
            }
            if let Node::Loop(n) = tape.nodes[i] {
                // Lanes that have left the path must not begin a loop: it might never end for them.
                needs(NodeId(i as u32), guarded);
                // A loop runs where the one that follows it back does: that one needs its states.
                if tape.loops[n as usize].kind == LoopKind::Backward
                    && let Some(&of) = tape.operands(i).last()
                {
                    needs(of, axes[i]);
                }
            }
        }
        if settled {
            return axes;
        }
    }
}

fn axes_with(tape: &Tape, at_least: &[Axes]) -> Vec<Axes> {
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
            _ => tape.operands(i).iter().fold(at_least[i], |all, a| all.and(axes[a.0 as usize])),
        });
    }
    axes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::WORKSPACE;
    use dmci_ops::{Build, Op, Shape};
    use dmci_tape::Recorder;

    struct Zeros;

    impl Leaves for Zeros {
        type Number = f64;

        fn leaf(&self, _: usize, _: usize) -> u64 {
            0
        }
    }

    #[test]
    fn the_memory_of_a_large_plan_goes_with_it() {
        let mut r = Recorder::new();
        let shape = Shape::Vector(100_000);
        let x = r.tensor_leaf("x", LeafKind::Input, shape, &vec![0.0; shape.len()]);
        let y = r.op(Op::Exp, &[x]);
        let sum = r.sum(y);
        let tape = Tape { outputs: vec![sum], ..r.tape().clone() };
        let staged = Staged::new(&tape, false, false).with_code(JitPolicy::Never);
        let held = || WORKSPACE.with_borrow(|workspace| workspace.rows.len());
        staged.lanes.plan.run(&[0, 1], &Zeros, 1, &mut Results::default());
        assert!(held() > 200_000, "{}", held());
        drop(staged);
        assert_eq!(held(), 0);
    }
}
