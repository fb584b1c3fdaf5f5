//! Models: a program with parameters and inputs, recorded once per path and replayed over lanes.
//!
//! A lane is one row of data under one set of parameters. Lanes run together through a recorded
//! path; a lane that takes another decision leaves it at a guard, and finds its own path by the
//! edge from there, which is recorded the first time. Values and gradients are those of running
//! each lane alone, bit for bit.

use crate::datum::Datum;
use crate::interpreter::{self, Failure, Interpreter, RunOptions};
use crate::program::Program;
use crate::report::Report;
use dmci_data::{Diagnostic, Origin, Value, num};
use dmci_exec::{Lanes, Plan, Workspace};
use dmci_ops::Build;
use dmci_tape::passes::Passes;
use dmci_tape::{Guard, LeafKind, NodeId, Tape, gradient};
use dmci_vm::{Vm, World};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

/// Values of one input for all rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Reals.
    Reals(Vec<f64>),
    /// Any data; reals inside are traced, everything else is part of what a recording depends on.
    Data(Vec<Datum>),
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Column::Reals(list) => list.len(),
            Column::Data(list) => list.len(),
        }
    }
}

/// How a model is run.
#[derive(Clone, Debug)]
pub struct ModelOptions {
    /// Mode, limits, seed and cancel flag; bindings are the same for all lanes.
    pub run: RunOptions,
    /// Passes over recorded tapes.
    pub passes: Passes,
    /// Paths that are kept for each signature; lanes on further ones are walked one by one.
    pub max_paths: usize,
}

impl Default for ModelOptions {
    fn default() -> Self {
        ModelOptions { run: RunOptions::default(), passes: Passes::default(), max_paths: 4096 }
    }
}

/// Results of a call, lane by lane: all rows of the first parameter set, then of the second, ...
#[derive(Debug, Default)]
pub struct Batch {
    /// The values; NaN where a lane failed.
    pub values: Vec<f64>,
    /// The derivatives by the parameters, one row a lane; empty if not asked for.
    pub gradients: Vec<f64>,
    /// Lanes that failed, with what went wrong.
    pub failures: Vec<(usize, Box<Failure>)>,
    /// Lanes that were walked because there were too many paths.
    pub walked: usize,
}

/// A program with parameters and inputs.
#[derive(Debug)]
pub struct Model {
    program: Program,
    params: Vec<String>,
    inputs: Vec<String>,
    options: ModelOptions,
    paths: RwLock<FxHashMap<String, Arc<RwLock<PathTree>>>>,
    recordings: AtomicU64,
}

/// A path and the guard at which lanes leave it.
type Edge = (usize, u32);

/// The recorded paths of one signature.
#[derive(Debug, Default)]
struct PathTree {
    paths: Vec<Arc<Path>>,
    /// From a path and the guard that failed on it to the next path.
    edges: FxHashMap<Edge, usize>,
}

/// One recorded path.
#[derive(Debug)]
struct Path {
    guards: Vec<Guard>,
    value: Plan,
    gradient: Plan,
}

impl Model {
    /// A model of a program by parameter and input names.
    pub fn new(program: Program, params: &[&str], inputs: &[&str], options: ModelOptions) -> Model {
        let names = |list: &[&str]| list.iter().map(|s| s.to_string()).collect();
        Model {
            program,
            params: names(params),
            inputs: names(inputs),
            options,
            paths: RwLock::default(),
            recordings: AtomicU64::new(0),
        }
    }

    /// How often the program was walked to record a path.
    pub fn recordings(&self) -> u64 {
        self.recordings.load(Ordering::Relaxed)
    }

    /// Values, and gradients if asked for, of all rows under all parameter sets. `params` holds the
    /// sets one after the other; `columns` are the inputs in order.
    pub fn evaluate(&self, params: &[f64], columns: &[Column], gradients: bool) -> Result<Batch, Report> {
        let rows = self.check(params, columns)?;
        let sets = if self.params.is_empty() { 1 } else { params.len() / self.params.len() };
        let n = self.params.len();
        let mut call = Call {
            model: self,
            params,
            columns,
            rows,
            gradients,
            batch: Batch {
                values: vec![f64::NAN; sets * rows],
                gradients: if gradients { vec![f64::NAN; sets * rows * n] } else { Vec::new() },
                ..Batch::default()
            },
            left: Vec::new(),
            row_reals: Vec::new(),
        };
        for (signature, lanes) in call.groups(sets) {
            call.run_group(signature, lanes);
        }
        call.batch.failures.sort_by_key(|f| f.0);
        Ok(call.batch)
    }

    fn check(&self, params: &[f64], columns: &[Column]) -> Result<usize, Report> {
        let wrong = |message: String| Report::of(*Diagnostic::error("E0910", message));
        // Without parameters only no number at all fits.
        if !params.len().is_multiple_of(self.params.len()) {
            return Err(wrong(format!(
                "{} numbers do not fill sets of {} parameters",
                params.len(),
                self.params.len()
            )));
        }
        if columns.len() != self.inputs.len() {
            return Err(wrong(format!("{} columns for {} inputs", columns.len(), self.inputs.len())));
        }
        let rows = columns.first().map_or(1, Column::len);
        match columns.iter().zip(&self.inputs).find(|(c, _)| c.len() != rows) {
            Some((c, name)) => Err(wrong(format!("column {name} has {} rows, not {rows}", c.len()))),
            None => Ok(rows),
        }
    }

    /// Walks the program for one lane: its tape with the gradient, as plans.
    fn record(&self, params: &[f64], row: &[Datum]) -> Result<Path, Box<Failure>> {
        let interpreter = Interpreter::shared();
        let fail = |report| Box::new(Failure { report, output: String::new() });
        let mut vm = interpreter.machine(&self.options.run).map_err(fail)?;
        self.recordings.fetch_add(1, Ordering::Relaxed);
        let path = self.walk(&mut vm, params, row).map_err(|mut diagnostics| {
            crate::suggest::add_help(&vm, &self.program, &mut diagnostics);
            let report = Report { diagnostics, sources: vm.world.heap.sources.clone() };
            Box::new(Failure { report, output: vm.world.output.text.clone() })
        });
        interpreter.recycle(vm);
        path
    }

    fn walk(&self, vm: &mut Vm, params: &[f64], row: &[Datum]) -> Result<Path, Vec<Diagnostic>> {
        vm.world.start_recording(20_000_000);
        let mut run = self.options.run.clone();
        for (name, &x) in self.params.iter().zip(params) {
            let leaf = vm.world.traced_leaf(name, LeafKind::Param, x);
            interpreter::bind(&mut vm.world, name, leaf);
            run.bindings.push((name.clone(), Datum::Real(x)));
        }
        for (name, datum) in self.inputs.iter().zip(row) {
            let value = trace_reals(&mut vm.world, datum, name);
            interpreter::bind(&mut vm.world, name, value);
            run.bindings.push((name.clone(), datum.clone()));
        }
        let forms = interpreter::read(vm, &self.program, Origin::User)?;
        let result = interpreter::run_forms(vm, forms, &run)?;
        let world = &mut vm.world;
        let plain = world.plain(result);
        let Some(number) = num::Number::of(&world.heap, plain) else {
            let message = format!("a model must give a number, got {}", world.show(result));
            return Err(vec![*Diagnostic::error("E0303", message)]);
        };
        let node = world.node_of(result);
        let Some(recording) = &mut world.recording else {
            return Err(vec![*Diagnostic::error("E9901", "the tape is gone")]);
        };
        let recorder = &mut recording.recorder;
        let output = node.unwrap_or_else(|| recorder.real(number.to_f64()));
        let mut tape = recorder.tape().clone();
        tape.outputs = vec![output];
        let value = Plan::new(&self.options.passes.run(&tape));
        let leaves: Vec<NodeId> = (0..self.params.len() as u32).map(NodeId).collect();
        let parts = gradient(recorder, output, &leaves);
        let zero = recorder.real(0.0);
        let mut with_gradient: Tape = recorder.tape().clone();
        with_gradient.outputs = vec![output];
        with_gradient.outputs.extend(parts.into_iter().map(|part| part.unwrap_or(zero)));
        let gradient = Plan::new(&self.options.passes.run(&with_gradient));
        Ok(Path { guards: tape.guards, value, gradient })
    }
}

/// A datum with its reals traced as inputs.
fn trace_reals(world: &mut World, datum: &Datum, name: &str) -> Value {
    match datum {
        Datum::Real(x) => world.traced_leaf(name, LeafKind::Input, *x),
        Datum::List(items, None) => {
            let items: Vec<Value> = items.iter().map(|item| trace_reals(world, item, name)).collect();
            world.heap.list(&items)
        }
        Datum::Vector(items) => {
            let items: Vec<Value> = items.iter().map(|item| trace_reals(world, item, name)).collect();
            world.heap.vector(&items)
        }
        other => other.to_value(&mut world.heap).unwrap_or(Value::UNSPECIFIED),
    }
}

/// The reals of a datum in order, and a text for everything else in it.
fn signature(datum: &Datum, reals: &mut Vec<f64>, text: &mut String) {
    use std::fmt::Write;
    match datum {
        Datum::Real(x) => {
            reals.push(*x);
            text.push('r');
        }
        Datum::List(items, None) | Datum::Vector(items) => {
            text.push(if matches!(datum, Datum::Vector(_)) { '[' } else { '(' });
            items.iter().for_each(|item| signature(item, reals, text));
            text.push(')');
        }
        other => {
            let _ = write!(text, "{other:?};");
        }
    }
}

/// One call of [`Model::evaluate`].
struct Call<'a> {
    model: &'a Model,
    params: &'a [f64],
    columns: &'a [Column],
    rows: usize,
    gradients: bool,
    batch: Batch,
    /// Lanes that left the path that is running, with the guard.
    left: Vec<(usize, u32)>,
    /// Reals of each row, if the columns are not all plain.
    row_reals: Vec<Vec<f64>>,
}

impl Call<'_> {
    /// Lanes by signature, in order of first appearance.
    fn groups(&mut self, sets: usize) -> Vec<(String, Vec<usize>)> {
        let plain = self.columns.iter().all(|c| matches!(c, Column::Reals(_)));
        if plain {
            return vec![("r".repeat(self.columns.len()), (0..sets * self.rows).collect())];
        }
        let mut order: Vec<(String, Vec<usize>)> = Vec::new();
        let mut index: FxHashMap<String, usize> = FxHashMap::default();
        for r in 0..self.rows {
            let row = self.row(r);
            let (mut reals, mut text) = (Vec::new(), String::new());
            row.iter().for_each(|datum| signature(datum, &mut reals, &mut text));
            self.row_reals.push(reals);
            let i = *index.entry(text.clone()).or_insert_with(|| {
                order.push((text, Vec::new()));
                order.len() - 1
            });
            order[i].1.push(r);
        }
        for (_, rows) in &mut order {
            *rows = (0..sets).flat_map(|s| rows.iter().map(move |r| (s, *r))).map(|(s, r)| s * self.rows + r).collect();
        }
        order
    }

    fn row(&self, r: usize) -> Vec<Datum> {
        self.columns
            .iter()
            .map(|c| match c {
                Column::Reals(list) => Datum::Real(list[r]),
                Column::Data(list) => list[r].clone(),
            })
            .collect()
    }

    fn lane_params(&self, lane: usize) -> &[f64] {
        let n = self.model.params.len();
        let set = lane / self.rows.max(1);
        &self.params[set * n..(set + 1) * n]
    }

    fn run_group(&mut self, signature: String, lanes: Vec<usize>) {
        let tree = {
            let mut paths = self.model.paths.write().unwrap_or_else(|e| e.into_inner());
            paths.entry(signature).or_default().clone()
        };
        let mut workspace = Workspace::default();
        // Path to run, the guard that led to it (none for the first), and the lanes.
        let mut queue: Vec<(Option<Edge>, Vec<usize>)> = vec![(None, lanes)];
        while let Some((from, lanes)) = queue.pop() {
            let Some((index, path, rest)) = self.find_path(&tree, from, lanes) else { continue };
            let plan = if self.gradients { &path.gradient } else { &path.value };
            self.left.clear();
            plan.run(&mut workspace, &rest, self);
            let mut left = std::mem::take(&mut self.left);
            left.sort_by_key(|&(lane, guard)| (guard, lane));
            for group in left.chunk_by(|a, b| a.1 == b.1) {
                let lanes = group.iter().map(|g| g.0).collect();
                queue.push((Some((index, group[0].1)), lanes));
            }
        }
    }

    /// The path behind an edge, recorded from the first lane if it is new; lanes that fail are
    /// taken out. `None` if none is left, or if they were walked because there are too many paths.
    #[allow(clippy::type_complexity)]
    fn find_path(
        &mut self,
        tree: &RwLock<PathTree>,
        from: Option<Edge>,
        mut lanes: Vec<usize>,
    ) -> Option<(usize, Arc<Path>, Vec<usize>)> {
        let known = |tree: &PathTree| match from {
            None => (!tree.paths.is_empty()).then_some(0),
            Some(edge) => tree.edges.get(&edge).copied(),
        };
        {
            let tree = tree.read().unwrap_or_else(|e| e.into_inner());
            if let Some(index) = known(&tree) {
                return Some((index, tree.paths[index].clone(), lanes));
            }
        }
        loop {
            let lane = *lanes.first()?;
            let row = self.row(lane % self.rows.max(1));
            let path = match self.model.record(self.lane_params(lane), &row) {
                Ok(path) => Arc::new(path),
                Err(failure) => {
                    self.batch.failures.push((lane, failure));
                    lanes.remove(0);
                    continue;
                }
            };
            let mut tree = tree.write().unwrap_or_else(|e| e.into_inner());
            if tree.paths.len() >= self.model.options.max_paths {
                drop(tree);
                self.batch.walked += 1;
                self.walk_lane(&path, lane);
                lanes.remove(0);
                continue;
            }
            if let Some((index, guard)) = from
                && !branches_off(&tree.paths[index].guards, &path.guards, guard as usize)
            {
                let error = Diagnostic::error("E9901", "a lane did not take the path that it left for");
                self.batch
                    .failures
                    .push((lane, Box::new(Failure { report: Report::of(*error), output: String::new() })));
                lanes.remove(0);
                continue;
            }
            let index = tree.paths.len();
            tree.paths.push(path.clone());
            if let Some(edge) = from {
                tree.edges.insert(edge, index);
            }
            return Some((index, path, lanes));
        }
    }

    /// Runs a path that is not kept for the one lane that it was recorded for.
    fn walk_lane(&mut self, path: &Path, lane: usize) {
        let plan = if self.gradients { &path.gradient } else { &path.value };
        plan.run(&mut Workspace::default(), &[lane], self);
        self.left.clear();
    }
}

/// Whether a path is the same up to a guard and different there: it went the other way, or has
/// pinned another value.
fn branches_off(old: &[Guard], new: &[Guard], guard: usize) -> bool {
    old.len() > guard
        && new.len() > guard
        && old[..guard] == new[..guard]
        && (old[guard].node == new[guard].node && old[guard].outcome != new[guard].outcome
            // The value itself is a constant of the tape, new or not, so the comparison may have moved.
            || old[guard].pinned && new[guard].pinned)
}

impl Lanes for Call<'_> {
    fn leaf(&self, lane: usize, leaf: usize) -> u64 {
        let n = self.model.params.len();
        if leaf < n {
            return self.lane_params(lane)[leaf].to_bits();
        }
        let row = lane % self.rows.max(1);
        if self.row_reals.is_empty() {
            return match &self.columns[leaf - n] {
                Column::Reals(list) => list[row].to_bits(),
                Column::Data(_) => f64::NAN.to_bits(),
            };
        }
        self.row_reals[row][leaf - n].to_bits()
    }

    fn output(&mut self, lane: usize, output: usize, bits: u64) {
        let x = f64::from_bits(bits);
        if output == 0 {
            self.batch.values[lane] = x;
        } else {
            self.batch.gradients[lane * self.model.params.len() + output - 1] = x;
        }
    }

    fn left(&mut self, lane: usize, guard: u32) {
        self.left.push((lane, guard));
    }
}
