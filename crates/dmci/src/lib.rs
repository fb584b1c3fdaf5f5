//! Programs as differentiable data: a Scheme whose evaluator is written in itself, compiled once.
//!
//! ```
//! use dmci::{Interpreter, Program, RunOptions};
//!
//! let program = Program::new("(define (square-sum list) (apply + (map square list))) (square-sum '(1 2 3))");
//! let outcome = Interpreter::shared().run(&program, &RunOptions::default()).expect("it runs");
//! assert_eq!(outcome.text, "14");
//! ```

mod binding;
mod check;
mod compiled;
mod compose;
mod datum;
mod decisions;
mod describe;
mod diagnose;
mod gradient;
mod interpreter;
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
pub use dmci_exec::{JitPolicy, Number};
pub use dmci_tape::Tape;
pub use dmci_tape::passes::Passes;
pub use dmci_value::{Diagnostic, ErrorCode, Fault, Severity, Shape};
pub use dmci_vm::traced::soft::gumbel;
pub use dmci_vm::traced::{Decided, SoftChoice};
pub use dmci_vm::{Cancel, Limits, Numerics};
pub use gradient::{GradOptions, Gradient, Wrt};
pub use interpreter::{Interpreter, Outcome, RunOptions};
pub use mode::Mode;
pub use model::{Batch, Column, KnownPath, Model, ModelOptions, Statistics, Sums, Want};
pub use program::{Bindings, Program};
pub use report::Report;
pub use schema::{Names, Parameter, ParameterKind, Prior, Schema};
pub use session::Session;
pub use stages::{Sizes, Stage};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference.md")]
struct Reference;
