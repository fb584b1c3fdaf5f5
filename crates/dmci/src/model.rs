//! Models: a program with parameters and inputs, recorded once per path and replayed over lanes.
//!
//! A lane is one row of data under one set of parameters. Lanes run together through a recorded
//! path; a lane that takes another decision leaves it at a guard, and finds its own path by the
//! edge from there, which is recorded the first time. Values and gradients are those of running
//! each lane alone, bit for bit.

mod again;
mod along;
mod builder;
mod known;
mod lanes;
mod path;
mod printed;
mod source;
mod store;
mod sums;
mod tally;

pub use along::Along;
pub use builder::ModelBuilder;
pub use known::KnownPath;
pub use sums::Sums;

use crate::binding;
use crate::datum::Datum;
use crate::decisions::Decisions;
use crate::interpreter::RunOptions;
use crate::program::Program;
use crate::report::Report;
use dmci_exec::{JitPolicy, Number};
use dmci_tape::passes::Passes;
use dmci_value::Diagnostic;
use dmci_value::ErrorCode;
use dmci_vm::traced::Choices;
use lanes::{Call, Work};
use printed::Printed;
use source::Lanes;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, RwLock};
use store::Store;
use tally::Tallies;

/// Values of one input for all rows.
///
/// ```
/// use dmci::{Column, Datum, Model, Program, Want};
///
/// let model = Model::builder(Program::new("(* a (apply + l))")).parameter("a").input("l").build()?;
/// let pair = Datum::list(vec![Datum::Real(0.0), Datum::Real(0.0)]);
/// let rows = Column::Shaped(pair, vec![1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(rows.len(), 2);
/// assert_eq!(model.evaluate(&[10.0], &[rows], Want::Values)?.values, [30.0, 70.0]);
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Column<N = f64> {
    /// Reals.
    Reals(Vec<N>),
    /// Any data; numbers inside are traced, everything else is part of what a recording depends on.
    Data(Vec<Datum>),
    /// Data of the same structure in all rows: one of them as a sample, with reals for numbers, and
    /// the numbers of one row after the other.
    Shaped(Datum, Vec<N>),
}

impl<N: Number> Column<N> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::Reals(list) => list.len(),
            Column::Data(list) => list.len(),
            Column::Shaped(sample, numbers) => numbers.len() / binding::count(sample).max(1),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The datum of a row.
    pub fn row(&self, r: usize) -> Datum {
        match self {
            Column::Reals(list) => Datum::Real(list[r].into()),
            Column::Data(list) => list[r].clone(),
            Column::Shaped(sample, numbers) => {
                let numbers = &numbers[r * binding::count(sample)..];
                binding::filled(sample, &mut numbers.iter().map(|&x| x.into()))
            }
        }
    }

    /// The rows with these numbers.
    pub fn select(&self, rows: &[usize]) -> Column<N> {
        match self {
            Column::Reals(list) => Column::Reals(rows.iter().map(|&r| list[r]).collect()),
            Column::Data(list) => Column::Data(rows.iter().map(|&r| list[r].clone()).collect()),
            Column::Shaped(sample, numbers) => {
                let n = binding::count(sample);
                let row = |&r: &usize| numbers[r * n..(r + 1) * n].iter().copied();
                Column::Shaped(sample.clone(), rows.iter().flat_map(row).collect())
            }
        }
    }
}

/// How a model is run.
///
/// ```
/// use dmci::{Model, ModelOptions, Program, Want};
///
/// let options = ModelOptions { outputs: 2, threads: 1, ..ModelOptions::default() };
/// let model = Model::builder(Program::new("(list (* a a) (+ a 1))")).parameter("a").options(options).build()?;
/// assert_eq!(model.evaluate(&[3.0], &[], Want::Values)?.values, [9.0, 4.0]);
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug)]
pub struct ModelOptions {
    /// Mode, limits, seed and cancel flag; bindings are the same for all lanes.
    pub run: RunOptions,
    /// Passes over recorded tapes.
    pub passes: Passes,
    /// Both arms of a decision are recorded where they meet again; otherwise each way is a path.
    pub joins: bool,
    /// Rounds of a loop are recorded once where that can be; otherwise each round is on the path.
    pub loops: bool,
    /// Paths that are kept, over all signatures of rows. Those that were not used for the longest time
    /// make room for others; where one call needs more, lanes are walked one by one.
    pub max_paths: usize,
    /// Memory that these paths may hold, in bytes, roughly.
    pub max_path_bytes: usize,
    /// What the program prints is kept for every lane ([`Batch::output`]).
    pub output: bool,
    /// Recordings are explained ([`Model::decisions`]), which makes them slower.
    pub explain: bool,
    /// How many numbers the program gives for a row.
    pub outputs: usize,
    /// Threads that may be used; results do not depend on it.
    pub threads: usize,
    /// Whether plans become machine code; results do not depend on it.
    pub code: JitPolicy,
}

impl Default for ModelOptions {
    fn default() -> Self {
        // The system takes longer to say this than a small program takes to run.
        static THREADS: OnceLock<usize> = OnceLock::new();
        let threads = *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
        ModelOptions {
            run: RunOptions::default(),
            passes: Passes::default(),
            joins: true,
            loops: true,
            max_paths: 4096,
            max_path_bytes: 512 << 20,
            output: true,
            explain: false,
            outputs: 1,
            threads,
            code: JitPolicy::default(),
        }
    }
}

/// How much to compute.
///
/// ```
/// use dmci::{Model, Program, Want};
///
/// let model = Model::builder(Program::new("(* a a a)")).parameter("a").build()?;
/// let batch = model.evaluate(&[2.0], &[], Want::Hessians)?;
/// assert_eq!((batch.values[0], batch.gradients[0], batch.hessians[0]), (8.0, 12.0, 12.0));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Want {
    /// Values.
    Values,
    /// Values and first derivatives.
    Gradients,
    /// Values, first and second derivatives.
    Hessians,
}

/// Results of a call, lane by lane: all rows of the first parameter set, then of the second, ...
/// It can be used for the next call; then nothing is allocated.
///
/// ```
/// use dmci::{Batch, Column, Model, Program, Want};
///
/// let model = Model::builder(Program::new("(/ a (vector-ref (vector 1 2) i))")).parameter("a").build()?;
/// let mut batch = Batch::default();
/// let rows = [Column::Data([0, 1, 2].map(dmci::Datum::Integer).to_vec())];
/// model.evaluate_into(&mut batch, &[6.0], &rows, Want::Values)?;
/// assert_eq!(batch.values[..2], [6.0, 3.0]);
/// let (lane, report) = &batch.failures[0];
/// assert_eq!((*lane, report.diagnostics[0].code), (2, dmci::ErrorCode::E0306));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Debug, Default)]
pub struct Batch<N = f64> {
    /// The values, all outputs of a lane one after the other; NaN where a lane failed.
    pub values: Vec<N>,
    /// The derivatives of each output of a lane by the parameters; empty if not asked for.
    pub gradients: Vec<N>,
    /// The second derivatives likewise, row by row.
    pub hessians: Vec<N>,
    /// Lanes that failed, with what went wrong.
    pub failures: Vec<(usize, Report)>,
    /// The path of each lane, or the one that all took.
    paths: Vec<u32>,
    /// Lanes that were walked because there were too many paths.
    pub walked: usize,
    /// Lanes whose output was too much to be kept.
    pub unkept: usize,
    /// Lanes that have no value because the run was cancelled. The first of them is among the failures, for all.
    pub cut: Vec<usize>,
    printed: Printed,
    work: Work,
}

impl<N> Batch<N> {
    /// The path that a lane took, as a hash of its decisions, which is the same in every process; `u32::MAX` for
    /// a lane that was walked alone.
    pub fn path(&self, lane: usize) -> u32 {
        if let [all] = self.paths[..] { all } else { self.paths[lane] }
    }
}

/// How many models there were.
static MODELS: AtomicU64 = AtomicU64::new(0);

/// A program with parameters and inputs, made by [`Model::builder`]: each path through the program is recorded once, and
/// replayed over all rows and parameter sets.
///
/// ```
/// use dmci::{Column, Model, Program, Want};
///
/// let model = Model::builder(Program::new("(if (< x 1.0) (* a x) (* a x x))")).parameter("a").build()?;
/// // Two sets of one parameter over two rows: four lanes.
/// let batch = model.evaluate(&[1.0, 10.0], &[Column::Reals(vec![0.5, 2.0])], Want::Gradients)?;
/// assert_eq!(batch.values, [0.5, 4.0, 5.0, 40.0]);
/// assert_eq!(batch.gradients, [0.5, 4.0, 0.5, 4.0]);
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Debug)]
pub struct Model {
    program: Program,
    /// Names, and data of the structure that the parameters have.
    params: Vec<(String, Datum)>,
    /// Numbers in all parameters.
    numbers: usize,
    inputs: Vec<String>,
    options: ModelOptions,
    /// No other model has this number.
    id: u64,
    paths: RwLock<Store>,
    /// How often paths were added or given up.
    changes: AtomicU64,
    recordings: AtomicU64,
    /// Recordings look for loops from their first rounds on, since one has found a long one.
    early_loops: AtomicBool,
    calls: AtomicU64,
    hits: AtomicU64,
    /// Calls and lanes that were done like those before: they are not in `calls` and `hits`.
    tallies: Tallies,
    decisions: Mutex<Decisions>,
    /// Why there are so many recordings, once there are.
    crowded: OnceLock<Decisions>,
}

/// What a model has done so far.
///
/// ```
/// use dmci::{Column, Model, Program, Want};
///
/// let model = Model::builder(Program::new("(* a x)")).parameter("a").build()?;
/// model.evaluate(&[2.0], &[Column::Reals(vec![1.0, 2.0, 3.0])], Want::Values)?;
/// let done = model.statistics();
/// assert_eq!((done.calls, done.recordings, done.hits, done.paths), (1, 1, 2, 1));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Calls.
    pub calls: u64,
    /// Walks of the program.
    pub recordings: u64,
    /// Lanes that ran on a path that had been recorded for another lane or in another call.
    pub hits: u64,
    /// Paths that are kept now.
    pub paths: usize,
    /// Paths that were given up for others.
    pub evicted: u64,
}

/// The report of a call that pairs as many sets with as many rows.
fn sets_for_rows(sets: usize, rows: usize) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0910, format!("{rows} rows for {sets} parameter sets")))
}

impl Model {
    /// A model of a program by the names of its parameters, which are numbers, and of its inputs.
    pub fn new(program: Program, params: &[&str], inputs: &[&str], options: ModelOptions) -> Model {
        let params = params.iter().map(|name| (name.to_string(), Datum::Real(0.0))).collect();
        Model::with_params(program, params, inputs, options)
    }

    /// A model whose parameters have the structure of the given data: numbers, tensors, lists and
    /// vectors. The numbers inside, in order, are what the model is evaluated at.
    pub fn with_params(
        program: Program,
        params: Vec<(String, Datum)>,
        inputs: &[&str],
        options: ModelOptions,
    ) -> Model {
        let numbers = params.iter().map(|(_, datum)| binding::count(datum)).sum();
        Model {
            program,
            params,
            numbers,
            inputs: inputs.iter().map(|s| s.to_string()).collect(),
            options,
            id: MODELS.fetch_add(1, Ordering::Relaxed),
            paths: RwLock::default(),
            changes: AtomicU64::new(0),
            recordings: AtomicU64::new(0),
            early_loops: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            tallies: Tallies::default(),
            decisions: Mutex::default(),
            crowded: OnceLock::new(),
        }
    }

    /// The names of the parameters, in order.
    pub fn parameter_names(&self) -> Vec<&str> {
        self.params.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The names of the inputs, in the order of the columns.
    pub fn input_names(&self) -> Vec<&str> {
        self.inputs.iter().map(String::as_str).collect()
    }

    /// How often the program was walked to record a path.
    pub fn recordings(&self) -> u64 {
        self.recordings.load(Ordering::Relaxed)
    }

    /// What the model has done so far.
    pub fn statistics(&self) -> Statistics {
        let store = self.paths.read().unwrap_or_else(|e| e.into_inner());
        let [calls, lanes] = self.tallies.counts();
        Statistics {
            calls: calls + self.calls.load(Ordering::Relaxed),
            recordings: self.recordings(),
            hits: lanes + self.hits.load(Ordering::Relaxed),
            paths: store.len(),
            evicted: store.evicted(),
        }
    }

    /// What became of the decisions of all recordings so far: all of them if the options say that
    /// recordings are explained, else only the numbers that were pinned.
    pub fn decisions(&self) -> Decisions {
        self.decisions.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// What is worth knowing about the recordings so far: numbers that were pinned, once for each place, and why there
    /// are many recordings.
    pub fn warnings(&self) -> Report {
        let mut report = self.decisions().warnings();
        if let Some(decisions) = self.crowded.get()
            && let Some(warning) = decisions.many_paths(self.recordings())
        {
            if report.sources.is_empty() {
                report.sources = decisions.sources.clone();
            }
            report.diagnostics.push(warning);
        }
        report
    }

    /// How many numbers the parameters of one set hold.
    pub fn numbers(&self) -> usize {
        self.numbers
    }

    /// All rows under all parameter sets. `params` holds the numbers of one set after the other;
    /// `columns` are the inputs in order. Numbers are of double or of single precision, and so are the results;
    /// a model that computes in single precision takes half the time to read and write the latter.
    pub fn evaluate<N: Number>(&self, params: &[N], columns: &[Column<N>], want: Want) -> Result<Batch<N>, Report> {
        let mut batch = Batch::default();
        self.evaluate_into(&mut batch, params, columns, want)?;
        Ok(batch)
    }

    /// The same into a batch that is used again.
    pub fn evaluate_into<N: Number>(
        &self,
        batch: &mut Batch<N>,
        params: &[N],
        columns: &[Column<N>],
        want: Want,
    ) -> Result<(), Report> {
        if self.again(batch, params, columns, false, want) {
            return Ok(());
        }
        let (sets, rows) = self.check(params, columns)?;
        Call::new(self, batch, params, columns, Lanes { sets, rows, paired: false }, want).run();
        Ok(())
    }

    /// Each row under the parameter set of the same number, into a batch that is used again.
    pub fn evaluate_pairs_into<N: Number>(
        &self,
        batch: &mut Batch<N>,
        params: &[N],
        columns: &[Column<N>],
        want: Want,
    ) -> Result<(), Report> {
        if self.again(batch, params, columns, true, want) {
            return Ok(());
        }
        let (sets, rows) = self.check(params, columns)?;
        let rows = if columns.is_empty() { sets } else { rows };
        if sets != rows {
            return Err(sets_for_rows(sets, rows));
        }
        Call::new(self, batch, params, columns, Lanes { sets, rows, paired: true }, want).run();
        Ok(())
    }

    /// What soft choices depend on, for the first lane.
    fn choices(&self) -> Choices {
        Choices::new(self.options.run.soft, self.options.run.seed)
    }

    /// How many sets of parameters there are, and how many rows.
    fn check<N: Number>(&self, params: &[N], columns: &[Column<N>]) -> Result<(usize, usize), Report> {
        let wrong = |message: String| Report::from(Diagnostic::error(ErrorCode::E0910, message));
        // Without parameters only no number at all fits.
        let sets = params.len().checked_div(self.numbers).unwrap_or(1);
        if sets * self.numbers != params.len() {
            let message = format!("{} numbers do not fill sets of {} parameters", params.len(), self.numbers);
            return Err(wrong(message));
        }
        if columns.len() != self.inputs.len() {
            return Err(wrong(format!("{} columns for {} inputs", columns.len(), self.inputs.len())));
        }
        for (column, name) in columns.iter().zip(&self.inputs) {
            if let Column::Shaped(sample, numbers) = column {
                let width = binding::count(sample);
                if !binding::is_of_reals(sample) || width == 0 || !numbers.len().is_multiple_of(width) {
                    let message = format!("column {name} has {} numbers for rows of {width} reals", numbers.len());
                    return Err(wrong(message));
                }
            }
        }
        let rows = columns.first().map_or(1, Column::len);
        match columns.iter().zip(&self.inputs).find(|(c, _)| c.len() != rows) {
            Some((c, name)) => Err(wrong(format!("column {name} has {} rows, not {rows}", c.len()))),
            None => Ok((sets, rows)),
        }
    }
}
