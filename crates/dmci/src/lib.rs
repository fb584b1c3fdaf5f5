//! Programs as differentiable data: a Scheme whose evaluator is written in itself, compiled once.
//!
//! A [`Program`] runs ([`Program::run`]) and has a gradient ([`Program::grad`]); a [`Model`] evaluates one over many
//! rows and parameter sets ([`Model::builder`]). Whatever fails gives a [`Report`]: every error with its code, its place
//! in the text and what to do.
//!
//! ```
//! use dmci::{Column, GradOptions, Model, Program, Report, RunOptions, Want};
//!
//! fn main() -> Result<(), Report> {
//!     let program = Program::new("(define (square-sum list) (apply + (map square list))) (square-sum '(1 2 3))");
//!     assert_eq!(program.run(&RunOptions::default())?.text, "14");
//!
//!     let decay = Program::new("(params (a positive 2.0) (b positive 0.5)) (* a (exp (- (* b t))))");
//!     let run = RunOptions::default().with("t", 0.0);
//!     assert_eq!(decay.grad(&GradOptions { run, ..GradOptions::default() })?.flat, [1.0, 0.0]);
//!
//!     let model = Model::builder(decay).build()?;
//!     let batch = model.evaluate(&[2.0, 0.5], &[Column::Reals(vec![0.0, 2.0])], Want::Values)?;
//!     assert_eq!(batch.values, [2.0, 2.0 * (-1.0_f64).exp()]);
//!     Ok(())
//! }
//! ```

mod binding;
mod check;
mod compiled;
mod compose;
mod datum;
mod decisions;
mod describe;
mod diagnose;
mod dimensions;
mod gradient;
mod interpreter;
mod json;
mod mode;
mod model;
mod program;
mod report;
mod schema;
mod session;
mod setting;
mod stages;
mod suggest;
pub mod system;

pub use compiled::Compiled;
pub use datum::Datum;
pub use decisions::{Decisions, Recorded, TapeOptions};
pub use describe::TapeReport;
pub use dimensions::{UnitOptions, UnitReport};
pub use gradient::{GradOptions, Gradient, Wrt};
pub use interpreter::{Interpreter, Outcome, RunOptions};
pub use mode::Mode;
pub use model::{Along, Batch, Column, KnownPath, Model, ModelBuilder, ModelOptions, Statistics, Sums, Want};
pub use program::{Bindings, Program};
pub use report::Report;
pub use schema::{Names, Parameter, ParameterKind, Prior, Schema};
pub use session::Session;
pub use stages::{Sizes, Stage};

/// ```
/// use dmci::{Program, Report, RunOptions, Spelling};
///
/// let report: Report = Program::new("(+ x 1)").run(&RunOptions::default()).unwrap_err();
/// let help = |spelling| report.spelled(spelling).diagnostics[0].help.clone().unwrap_or_default();
/// assert_eq!(help(Spelling::Flag), "define it, or give it a value with --set x=...");
/// assert_eq!(help(Spelling::Keyword), "define it, or give it a value with x=...");
/// ```
pub use dmci_value::Spelling;
pub use dmci_value::nearest::nearest;

/// When a model becomes machine code.
///
/// ```
/// use dmci::{Column, JitPolicy, Model, ModelOptions, Program, Want};
///
/// // Results do not depend on it.
/// let [interpreted, compiled] = [JitPolicy::Never, JitPolicy::Always].map(|code| {
///     let options = ModelOptions { code, ..ModelOptions::default() };
///     let model = Model::builder(Program::new("(sin (* a x))")).parameter("a").options(options).build()?;
///     Ok::<_, dmci::Report>(model.evaluate(&[0.1], &[Column::Reals(vec![1.0; 100])], Want::Gradients)?.gradients)
/// });
/// assert_eq!(interpreted?, compiled?);
/// # Ok::<(), dmci::Report>(())
/// ```
pub use dmci_exec::JitPolicy;

/// The numbers of columns and batches, in double or single precision.
///
/// ```
/// use dmci::{Column, Model, Number, Program, Report, Want};
///
/// /// Works for both precisions.
/// fn double<N: Number>(x: N) -> Result<Vec<N>, Report> {
///     let model = Model::builder(Program::new("(* 2 x)")).parameters([]).build()?;
///     Ok(model.evaluate(&[], &[Column::Reals(vec![x])], Want::Values)?.values)
/// }
/// assert_eq!((double(0.5_f64)?, double(0.5_f32)?), (vec![1.0_f64], vec![1.0_f32]));
/// # Ok::<(), Report>(())
/// ```
pub use dmci_exec::Number;

/// What a program did with its parameters.
///
/// ```
/// use dmci::{GradOptions, Program, Tape};
///
/// let gradient = Program::new("(params (a free 3.0)) (* a a)").grad(&GradOptions::default())?;
/// let tape: Tape = gradient.tape;
/// assert_eq!((tape.leaves.len(), tape.operations(), tape.guards.len()), (1, 1, 0));
/// # Ok::<(), dmci::Report>(())
/// ```
pub use dmci_tape::Tape;

/// What is done with a tape before it runs.
///
/// ```
/// use dmci::{GradOptions, Passes, Program, TapeReport};
///
/// let tape = Program::new("(params (a free 3.0)) (+ (* a a) (* a a))").grad(&GradOptions::default())?.tape;
/// let text = TapeReport::new(&tape, Passes { stage: false, ..Passes::default() }).print(false);
/// assert!(text.contains("merging equal operations leaves 2"), "{text}");
/// # Ok::<(), dmci::Report>(())
/// ```
pub use dmci_tape::passes::Passes;

/// One error or warning of a [`Report`].
///
/// ```
/// use dmci::{Diagnostic, ErrorCode, Program, RunOptions};
///
/// let report = Program::new("(lenght '(1 2))").run(&RunOptions::default()).expect_err("a misspelt name");
/// let diagnostic: &Diagnostic = &report.diagnostics[0];
/// assert_eq!(diagnostic.code, ErrorCode::E0301);
/// assert_eq!(diagnostic.message, "the variable lenght is not bound");
/// assert_eq!(diagnostic.help.as_deref(), Some("did you mean length?"));
/// ```
pub use dmci_value::Diagnostic;

/// Codes of errors and warnings, which stay the same from version to version.
///
/// ```
/// use dmci::ErrorCode;
///
/// assert_eq!(ErrorCode::E0301.as_str(), "E0301");
/// assert_eq!(ErrorCode::E0301.title(), "unbound variable");
/// assert_eq!(ErrorCode::find("E0301"), Some(ErrorCode::E0301));
/// ```
pub use dmci_value::ErrorCode;

/// Who has to mend an error.
///
/// ```
/// use dmci::{Fault, Limits, Program, RunOptions};
///
/// let limits = Limits { fuel: 1000, ..Limits::default() };
/// let endless = Program::new("(define (f) (f)) (f)");
/// let report = endless.run(&RunOptions { limits, ..RunOptions::default() }).expect_err("it never ends");
/// assert_eq!(report.diagnostics[0].fault, Fault::Limit);
/// assert_eq!(Fault::Limit.exit_code(), 3);
/// ```
pub use dmci_value::Fault;

/// Errors and warnings.
///
/// ```
/// use dmci::{Interpreter, Program, RunOptions, Severity};
///
/// let report = Interpreter::shared().check(&Program::new("(car 1 2)"), &RunOptions::default());
/// assert!(report.diagnostics.iter().any(|d| d.severity == Severity::Error));
/// ```
pub use dmci_value::Severity;

/// Numbers, vectors and matrices.
///
/// ```
/// use dmci::{Datum, Program, RunOptions, Shape};
///
/// let outcome = Program::new("(mat (list 1 2 3) (list 4 5 6))").run(&RunOptions::default())?;
/// assert!(matches!(outcome.value, Datum::Tensor(Shape::Matrix(2, 3), _)));
/// assert_eq!(Shape::Matrix(2, 3).len(), 6);
/// # Ok::<(), dmci::Report>(())
/// ```
pub use dmci_value::Shape;

pub use dmci_vm::traced::soft::gumbel;

/// What a recording did with the decisions at one place.
///
/// ```
/// use dmci::{Decided, GradOptions, Interpreter, Program, RunOptions, TapeOptions};
///
/// let run = RunOptions::default().with("x", 0.5);
/// let options = TapeOptions { grad: GradOptions { run, ..GradOptions::default() }, joins: true, loops: true };
/// let recorded = Interpreter::shared().explain(&Program::new("(if (< x 1.) (* x x) x)"), &options)?;
/// let decided: &Decided = &recorded.decisions.places[0].1;
/// assert_eq!((decided.joined, decided.guarded), (1, 0));
/// # Ok::<(), dmci::Report>(())
/// ```
pub use dmci_vm::traced::Decided;

/// The settings of `soft-choice`.
///
/// ```
/// use dmci::{Program, RunOptions, SoftChoice};
///
/// let choose = Program::new("(soft-choice '(10.0 20.0) '(0.0 5.0))");
/// let soft = SoftChoice { hard: true, ..SoftChoice::default() };
/// assert_eq!(choose.run(&RunOptions { soft, ..RunOptions::default() })?.text, "20.0");
/// # Ok::<(), dmci::Report>(())
/// ```
pub use dmci_vm::traced::SoftChoice;

/// Stops a run from another thread.
///
/// ```
/// use dmci::{Cancel, Program, RunOptions};
///
/// let cancel = Cancel::default();
/// cancel.cancel(); // mostly from another thread
/// let options = RunOptions { cancel, ..RunOptions::default() };
/// let report = Program::new("(let loop () (loop))").run(&options).expect_err("it was cancelled");
/// assert!(report.is_cancelled());
/// ```
pub use dmci_vm::{Cancel, Reason};

/// What a run may use: a program is not trusted.
///
/// ```
/// use dmci::{ErrorCode, Limits, Program, RunOptions};
///
/// let limits = Limits { heap: 1 << 20, ..Limits::default() };
/// let options = RunOptions { limits, ..RunOptions::default() };
/// let report = Program::new("(make-vector 1000000 0)").run(&options).expect_err("it needs 8 MB");
/// assert_eq!(report.diagnostics[0].code, ErrorCode::E0402);
/// ```
pub use dmci_vm::Limits;

/// Single precision, and clamps.
///
/// ```
/// use dmci::{Numerics, Program, RunOptions};
///
/// let numerics = Numerics { single: true, ..Numerics::default() };
/// let third = Program::new("(/ 1.0 3.0)").run(&RunOptions { numerics, ..RunOptions::default() })?;
/// assert_eq!(third.value.as_f64(), Some(f64::from(1.0_f32 / 3.0)));
/// # Ok::<(), dmci::Report>(())
/// ```
pub use dmci_vm::Numerics;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference.md")]
struct Reference;
