//! Paths: what one walk of a program recorded, as plans.

use super::printed::{self, fill};
use super::source::Lanes;
use super::{Model, Want};
use crate::binding;
use crate::datum::Datum;
use crate::decisions::Decisions;
use crate::interpreter::{self, Interpreter};
use crate::report::Report;
use dmci_exec::{JitPolicy, Staged};
use dmci_ops::{Build, Op};
use dmci_tape::passes::Passes;
use dmci_tape::{Guard, Node, NodeId, Recorder, Tape, gradient, scalar_adjoints, tangents};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Value};
use dmci_vm::Vm;
use dmci_vm::traced::{Choices, Ending, LaneText};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What a walk for one lane gave.
pub(super) enum Walk {
    /// Values: a path for this lane and others.
    Done(Path),
    /// An error, and a path to it if there are other lanes that have it too.
    Failed(Report, Option<Path>),
}

/// Operations, over all lanes of a call, that stages must save: with less to save, lanes that compute the same are
/// faster than stages that hand it over.
const WORTH_A_STAGE: usize = 1000;

/// Operations, over all calls so far, that stages would have saved for each operation of the tape when they are made:
/// cutting a tape costs some hundred times as much as running an operation for one lane among others.
const REPAYS_STAGES: usize = 256;

/// A recording by whose number there are many; it is explained.
const MANY_RECORDINGS: u64 = 12;

/// One recorded path. Plans are made when they are first wanted.
#[derive(Debug)]
pub(super) struct Path {
    recorder: Recorder,
    outputs: Vec<NodeId>,
    params: Vec<NodeId>,
    passes: Passes,
    /// The last call in which a lane stayed on it.
    pub used: AtomicU64,
    /// A number that tells it from other paths, the same in every process.
    pub fingerprint: u32,
    /// What the lanes of the path print.
    pub printed: LaneText,
    /// The numbers in what they print are wanted.
    keeps_output: bool,
    /// The error that the path ends with, if it does, and its message.
    failure: Option<(Report, LaneText)>,
    code: JitPolicy,
    tapes: [OnceLock<Tape>; 3],
    /// By what is wanted: operations of the tape that depend on the set alone, and on the row alone.
    work: [OnceLock<[usize; 2]>; 3],
    /// By what is wanted: operations that stages would have saved in the calls so far.
    savable: [AtomicUsize; 3],
    /// By what is wanted, and by whether values are staged by set and by row.
    plans: [OnceLock<Box<Staged>>; 12],
    /// Derivatives along a direction: of the outputs, and of their gradients.
    along: [OnceLock<Box<Staged>>; 2],
}

impl Path {
    /// Memory that the path will hold with its plans, roughly.
    pub fn bytes(&self) -> usize {
        8 * self.recorder.bytes() + self.printed.text.len() + 32 * self.printed.pieces.len()
    }

    /// Lanes stayed on it in a call. Others look at this too, so it is not written without need.
    #[inline]
    pub fn use_in(&self, call: u64) {
        if self.used.load(Ordering::Relaxed) != call {
            self.used.store(call, Ordering::Relaxed);
        }
    }

    /// The tape as it was recorded.
    pub fn recorded_tape(&self) -> &Tape {
        self.recorder.tape()
    }

    /// Operations of the lane that the path was recorded for, every round of a loop counted.
    pub fn lane_operations(&self) -> u64 {
        let tape = self.recorded_tape();
        let leaves = (0..tape.nodes.len()).filter(|&i| matches!(tape.nodes[i], Node::Leaf(_)));
        let bits: Vec<u64> = leaves.flat_map(|i| self.recorder.elements(NodeId(i as u32)).iter().copied()).collect();
        tape.lane_operations(&bits, &mut || !dmci_limits::rings()).unwrap_or(u64::MAX)
    }

    /// Whether the path ends with an error.
    pub fn fails(&self) -> bool {
        self.failure.is_some()
    }

    /// How many numbers of a lane its texts need, which stand behind all other results.
    pub fn text_width(&self) -> usize {
        let message = self.failure.as_ref().map_or(0, |f| printed::width(&f.1, self.recorded_tape()));
        message + if self.keeps_output { printed::width(&self.printed, self.recorded_tape()) } else { 0 }
    }

    /// The numbers in what the recorded lane prints.
    pub fn recorded_output(&self) -> Vec<u64> {
        self.printed.pieces.iter().flat_map(|piece| self.recorder.elements(piece.node).iter().copied()).collect()
    }

    /// The error of a lane, given the numbers of its texts.
    pub fn failure(&self, numbers: &[u64]) -> Option<Report> {
        let (report, message) = self.failure.as_ref()?;
        let mut numbers = numbers.iter().copied();
        let output = fill(&self.printed, self.recorded_tape(), &mut numbers);
        let mut report = report.clone();
        if let Some(diagnostic) = report.diagnostics.first_mut() {
            diagnostic.message = fill(message, self.recorded_tape(), &mut numbers);
        }
        Some(Report { output, ..report })
    }

    /// Values and derivatives of the lane that the path was recorded for, straight from the
    /// recording: a path that is used once costs no plan. `None` if it takes more than that.
    pub fn recorded_lane(&self, want: Want) -> Option<Vec<f64>> {
        if want == Want::Hessians || self.recorder.has_tensors() || self.recorder.has_loops() {
            return None;
        }
        let mut results: Vec<f64> = self.outputs.iter().map(|&output| self.recorder.value(output)).collect();
        if want == Want::Gradients {
            for &output in &self.outputs {
                results.extend(scalar_adjoints(&self.recorder, output, &self.params)?);
            }
        }
        Some(results)
    }

    /// The plan that computes what is wanted: all outputs; then the derivatives of each by all
    /// numbers; then the second derivatives of each. `None` if the work was stopped before it was made.
    #[inline]
    pub fn plan(&self, want: Want, lanes: &Lanes) -> Option<&Staged> {
        if !self.has_tape(want) {
            return None;
        }
        let [by_set, by_row] = self.can_be_staged(lanes);
        let staged = self.stages_pay(want, lanes);
        Some(self.plan_with(want, staged && by_set, staged && by_row))
    }

    /// Whether values by set and by row can be staged: such a stage pays if several lanes share its values.
    #[inline]
    fn can_be_staged(&self, lanes: &Lanes) -> [bool; 2] {
        let stage = self.passes.stage && !lanes.paired;
        [stage && lanes.rows > 1, stage && lanes.sets > 1]
    }

    /// Whether calls like this one always have the same plan, however many there have been.
    pub fn has_one_plan(&self, want: Want, lanes: &Lanes) -> bool {
        self.saved_by_stages(want, lanes) < WORTH_A_STAGE
    }

    /// Operations that stages save in a call.
    fn saved_by_stages(&self, want: Want, lanes: &Lanes) -> usize {
        let [by_set, by_row] = self.can_be_staged(lanes);
        if !by_set && !by_row {
            return 0;
        }
        let [of_sets, of_rows] = *self.work[want as usize].get_or_init(|| dmci_exec::work_by_axes(self.tape(want)));
        let saved = |on: bool, work: usize, once: usize| {
            work.saturating_mul(lanes.count().saturating_sub(once)) * usize::from(on)
        };
        saved(by_set, of_sets, lanes.sets).saturating_add(saved(by_row, of_rows, lanes.rows))
    }

    fn stages_pay(&self, want: Want, lanes: &Lanes) -> bool {
        let saved = self.saved_by_stages(want, lanes);
        if saved < WORTH_A_STAGE {
            return false;
        }
        let tape = self.tape(want);
        // Whoever decides about code at the first use does so about stages.
        let enough = if self.code == JitPolicy::WhenItPays { tape.nodes.len() * REPAYS_STAGES } else { 0 };
        let savable = &self.savable[want as usize];
        let now = savable.load(Ordering::Relaxed);
        if now < enough {
            savable.store(now.saturating_add(saved), Ordering::Relaxed);
        }
        now.saturating_add(saved) >= enough
    }

    #[inline]
    fn plan_with(&self, want: Want, by_set: bool, by_row: bool) -> &Staged {
        let which = want as usize * 4 + by_set as usize * 2 + by_row as usize;
        self.plans[which].get_or_init(|| Box::new(Staged::new(self.tape(want), by_set, by_row).with_code(self.code)))
    }

    /// The message of the error that the path ends with, as the recorded lane had it.
    pub fn message(&self) -> Option<String> {
        self.failure.as_ref().map(|(report, _)| report.diagnostics.first().map_or(String::new(), |d| d.message.clone()))
    }

    /// Makes the tape of what is wanted, if there is none. False if the work was stopped meanwhile: what was made by then
    /// is no tape.
    fn has_tape(&self, want: Want) -> bool {
        let cell = &self.tapes[want as usize];
        if cell.get().is_none() {
            let tape = self.make_tape(want, self.passes);
            if dmci_limits::rang() {
                return false;
            }
            let _ = cell.set(tape);
        }
        true
    }

    /// What is wanted as operations.
    pub fn tape(&self, want: Want) -> &Tape {
        self.tapes[want as usize].get_or_init(|| self.make_tape(want, self.passes))
    }

    /// The same for people and other systems to read: tensors are tensors.
    pub fn exported_tape(&self, want: Want) -> Tape {
        if self.recorder.has_tensors() {
            return self.make_tape(want, Passes { split: false, ..self.passes });
        }
        self.tape(want).clone()
    }

    fn make_tape(&self, want: Want, passes: Passes) -> Tape {
        let mut recorder = self.recorder.clone();
        let mut outputs = self.outputs.clone();
        if want >= Want::Gradients {
            let wanted = self.outputs.iter().take_while(|_| !dmci_limits::rings());
            let rows: Vec<Vec<NodeId>> = wanted.map(|&output| self.first(&mut recorder, output)).collect();
            outputs.extend(rows.iter().flatten());
            if want == Want::Hessians {
                for row in rows {
                    outputs.extend(self.second(&mut recorder, &row));
                }
            }
        }
        if self.keeps_output {
            outputs.extend(self.printed.pieces.iter().map(|piece| piece.node));
        }
        if let Some((_, message)) = &self.failure {
            outputs.extend(message.pieces.iter().map(|piece| piece.node));
        }
        let mut tape = recorder.tape().clone();
        tape.outputs = outputs;
        passes.run(&tape)
    }

    /// Numbers in the leaves of the recording.
    pub fn leaves(&self) -> usize {
        self.recorded_tape().leaf_offsets().1
    }

    /// The plan for how the outputs, or their gradients, change along a direction, whose numbers come behind those of
    /// the recorded leaves.
    pub fn plan_along(&self, want: Want) -> &Staged {
        let make = || Box::new(Staged::new(&self.tape_along(want), false, false).with_code(self.code));
        self.along[usize::from(want >= Want::Gradients)].get_or_init(make)
    }

    fn tape_along(&self, want: Want) -> Tape {
        let mut recorder = self.recorder.clone();
        let mut moved = self.outputs.clone();
        if want >= Want::Gradients {
            let rows: Vec<Vec<NodeId>> = self.outputs.iter().map(|&output| self.first(&mut recorder, output)).collect();
            moved = rows.concat();
        }
        let directions: Vec<NodeId> = self.params.iter().map(|&leaf| recorder.direction(leaf)).collect();
        let changes = tangents(&mut recorder, &moved, &self.params, &directions);
        let outputs = changes.into_iter().zip(&moved).map(|(change, &of)| or_zeros(&mut recorder, change, of));
        let outputs: Vec<NodeId> = outputs.collect();
        let mut tape = recorder.tape().clone();
        tape.outputs = outputs;
        self.passes.run(&tape)
    }

    /// The derivatives of an output by all parameters.
    fn first(&self, recorder: &mut Recorder, output: NodeId) -> Vec<NodeId> {
        let parts = gradient(recorder, output, &self.params);
        parts.iter().zip(&self.params).map(|(&part, &leaf)| or_zeros(recorder, part, leaf)).collect()
    }

    /// The second derivatives: how each number of a gradient changes with each number of the parameters.
    fn second(&self, recorder: &mut Recorder, gradient_row: &[NodeId]) -> Vec<NodeId> {
        let mut columns = Vec::new();
        for &leaf in &self.params {
            for e in 0..recorder.shape(leaf).len() {
                if dmci_limits::rings() {
                    return Vec::new();
                }
                let direction = recorder.unit(leaf, e);
                let parts = tangents(recorder, gradient_row, &[leaf], &[direction]);
                let mut column = Vec::new();
                for (part, &row) in parts.into_iter().zip(gradient_row) {
                    // What does not change has a change of 0, of whatever sign: there is one zero here.
                    let (part, zero) = (or_zeros(recorder, part, row), recorder.real(0.0));
                    let part = recorder.op(Op::Add, &[part, zero]);
                    column.extend((0..recorder.shape(part).len()).map(|e| recorder.element(part, e)));
                }
                columns.push(column);
            }
        }
        let rows = columns.first().map_or(0, Vec::len);
        (0..rows).flat_map(|i| columns.iter().map(move |column| column[i])).collect()
    }
}

/// A hash of the decisions of a path, and of the constants that numbers were pinned to.
fn fingerprint(tape: &Tape) -> u32 {
    // The steps of FNV, with words for bytes.
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x100_0000_01b3);
    let hash = tape.nodes.iter().fold(tape.nodes.len() as u64, |hash, node| match node {
        Node::Real(bits) => mix(hash, bits ^ bits >> 32),
        Node::Int(i) => mix(hash, *i as u64),
        _ => hash,
    });
    // What is compared counts, too: the orders of a long sort differ in nothing else.
    let decision = |hash: u64, guard: &Guard| {
        let own = mix(hash, u64::from(guard.node.0) << 1 | u64::from(guard.outcome));
        tape.operands(guard.node.0 as usize).iter().fold(own, |hash, operand| mix(hash, u64::from(operand.0)))
    };
    let hash = tape.guards.iter().fold(hash, decision);
    (hash ^ hash >> 32) as u32
}

/// A derivative, or zeros in the shape of what it is taken by.
fn or_zeros(recorder: &mut Recorder, part: Option<NodeId>, leaf: NodeId) -> NodeId {
    let shape = recorder.shape(leaf);
    part.unwrap_or_else(|| {
        let zero = recorder.real(0.0);
        recorder.expand(zero, shape)
    })
}

impl Model {
    /// Walks the program for one lane.
    pub(super) fn record(&self, params: &[f64], row: &[Datum], choices: Choices) -> Walk {
        let interpreter = Interpreter::shared();
        let number = self.recordings.fetch_add(1, Ordering::Relaxed) + 1;
        let (mut vm, result) = loop {
            let (mut vm, forms) = match interpreter.machine_for(&self.program, &self.options.run) {
                Ok(found) => found,
                Err(report) => return Walk::Failed(report, None),
            };
            vm.world.choices = choices;
            if number == MANY_RECORDINGS {
                vm.world.explain();
            }
            let result = forms.and_then(|forms| self.walk(&mut vm, forms, params, row));
            let late_loop = vm.world.recording.as_ref().is_some_and(|recording| recording.late_loop);
            // Its first rounds are on the tape one by one: it is walked again, to have all of them in the loop.
            if result.is_ok() && late_loop && !self.early_loops.swap(true, Ordering::Relaxed) {
                interpreter.recycle(vm);
                continue;
            }
            break (vm, result);
        };
        let result = result.map_err(|mut diagnostics| {
            crate::suggest::add_help(&vm, &self.program, &mut diagnostics);
            Report::new(diagnostics, vm.world.heap.sources.clone())
        });
        let printed = vm.world.output.lane_text();
        let recording = vm.world.recording.take().map(|r| *r).unwrap_or_default();
        if !recording.explanation.places.is_empty() {
            let mut decisions = Decisions::of(&recording.explanation, &vm.world.heap, self.options.joins);
            if number == MANY_RECORDINGS && !self.options.explain {
                let _ = self.crowded.set(decisions.clone());
                decisions.places.retain(|place| place.1.pinned > 0);
            }
            self.decisions.lock().unwrap_or_else(|e| e.into_inner()).merge(decisions);
        }
        interpreter.recycle(vm);
        let mut path = Path {
            fingerprint: fingerprint(recording.recorder.tape()),
            recorder: recording.recorder,
            outputs: Vec::new(),
            params: Vec::new(),
            passes: self.options.passes,
            code: self.options.code,
            used: AtomicU64::new(0),
            printed,
            keeps_output: self.options.output,
            failure: None,
            tapes: Default::default(),
            work: Default::default(),
            savable: Default::default(),
            plans: Default::default(),
            along: Default::default(),
        };
        let report = match result {
            Ok((outputs, params)) => return Walk::Done(Path { outputs, params, ..path }),
            Err(report) => report,
        };
        let failure = Report { output: path.printed.text.clone(), ..report.clone() };
        let pieces = match recording.ending {
            // Limits are no property of a path: how long something takes, for example.
            _ if !report.diagnostics.iter().all(Diagnostic::is_catchable) => None,
            Ending::OfLane => None,
            // It never ran: then it fails in every lane.
            Ending::None => Some(Vec::new()),
            Ending::OfPath(pieces) => Some(pieces),
        };
        let path = pieces.map(|pieces| {
            let text = report.diagnostics.first().map_or(String::new(), |d| d.message.clone());
            path.keeps_output = true;
            path.failure = Some((report, LaneText { text, pieces }));
            path
        });
        Walk::Failed(failure, path)
    }

    /// Runs the program with everything traced; the nodes of the outputs and of the parameters.
    fn walk(
        &self,
        vm: &mut Vm,
        forms: Value,
        params: &[f64],
        row: &[Datum],
    ) -> Result<(Vec<NodeId>, Vec<NodeId>), Vec<Diagnostic>> {
        vm.world.start_recording(crate::gradient::TAPE_LIMIT);
        vm.world.joins = self.options.joins;
        vm.world.loops = self.options.loops;
        vm.world.early_loops = self.early_loops.load(Ordering::Relaxed);
        if self.options.explain {
            vm.world.explain();
        }
        let mut run = self.options.run.clone();
        let mut numbers = params.iter().copied();
        let (mut leaves, mut names) = (Vec::new(), Vec::new());
        for (name, shape) in &self.params {
            let datum = binding::filled(shape, &mut numbers);
            let Some(traced) = binding::parameter(&mut vm.world, &datum, name) else {
                let message = format!("{name} is not made of numbers");
                return Err(vec![*Diagnostic::error(ErrorCode::E0701, message).help("give parameters numbers")]);
            };
            binding::leaves(&vm.world, traced, name, &mut leaves, &mut names);
            interpreter::bind(&mut vm.world, name, traced);
            run.bindings.push((name.clone(), datum));
        }
        for (name, datum) in self.inputs.iter().zip(row) {
            let value = binding::input(&mut vm.world, datum, name);
            interpreter::bind(&mut vm.world, name, value);
            run.bindings.push((name.clone(), datum.clone()));
        }
        let result = interpreter::run_forms(vm, forms, &run)?;
        let wanted = self.options.outputs;
        let numbers = binding::numbers(&mut vm.world, result).filter(|numbers| numbers.len() == wanted);
        let Some(numbers) = numbers else {
            let what = if wanted == 1 { "a number".to_string() } else { format!("{wanted} numbers") };
            let message = format!("a model must give {what}, got {}", vm.world.show(result));
            vm.world.end_with_error();
            return Err(vec![*Diagnostic::error(ErrorCode::E0303, message)]);
        };
        let outputs = numbers.into_iter().map(|v| vm.world.output_node(v)).collect::<Result<Vec<_>, _>>();
        Ok((outputs.map_err(|e| vec![*e])?, leaves))
    }
}
