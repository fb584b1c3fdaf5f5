//! Programs as data: a text with a name, and values for its free names.

use crate::datum::Datum;
use crate::gradient::{GradOptions, Gradient};
use crate::interpreter::{Interpreter, Outcome, RunOptions};
use crate::report::Report;
use std::sync::Arc;

/// A program: its text, and what it is called in messages.
///
/// ```
/// use dmci::{GradOptions, Program, RunOptions};
///
/// fn main() -> Result<(), dmci::Report> {
///     let program = Program::new("(params (a free 3.0)) (* a a)");
///     assert_eq!(program.run(&RunOptions::default())?.text, "9.0");
///     assert_eq!(program.grad(&GradOptions::default())?.flat, [6.0]);
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// File name, or a name such as `<text>`.
    pub name: Arc<str>,
    /// The text.
    pub text: Arc<str>,
}

impl Program {
    /// A program from a text.
    pub fn new(text: &str) -> Program {
        Program::named("<text>", text)
    }

    /// A program from a text with a name for messages.
    pub fn named(name: &str, text: &str) -> Program {
        Program { name: name.into(), text: text.into() }
    }

    /// Runs the program to its value, on the interpreter that the process shares.
    ///
    /// ```
    /// use dmci::{Program, RunOptions};
    ///
    /// let program = Program::new("(display \"half\") (* a 0.5)");
    /// let outcome = program.run(&RunOptions::default().with("a", 3.0))?;
    /// assert_eq!((outcome.text.as_str(), outcome.output.as_str()), ("1.5", "half"));
    ///
    /// // What it had printed is in the error too.
    /// let report = program.run(&RunOptions::default()).expect_err("a has no value");
    /// assert_eq!((report.diagnostics[0].code, report.output.as_str()), (dmci::ErrorCode::E0301, "half"));
    /// # Ok::<(), dmci::Report>(())
    /// ```
    pub fn run(&self, options: &RunOptions) -> Result<Outcome, Report> {
        Interpreter::shared().run(self, options)
    }

    /// Runs the program and differentiates its value, on the interpreter that the process shares.
    ///
    /// ```
    /// use dmci::{GradOptions, Program, RunOptions};
    ///
    /// let run = RunOptions::default().with("x", 2.0).with("y", 5.0);
    /// let gradient = Program::new("(* x x y)").grad(&GradOptions { run, ..GradOptions::default() })?;
    /// assert_eq!(gradient.value, 20.0);
    /// assert_eq!(gradient.coordinates, ["x", "y"]);
    /// assert_eq!(gradient.flat, [20.0, 4.0]);
    /// # Ok::<(), dmci::Report>(())
    /// ```
    pub fn grad(&self, options: &GradOptions) -> Result<Gradient, Report> {
        Interpreter::shared().grad(self, options)
    }
}

/// Values for names, as if `(define name value)` stood before the program. [`RunOptions::with`] adds one.
///
/// ```
/// use dmci::{Bindings, Datum, RunOptions};
///
/// let options = RunOptions::default().with("a", 2.0).with("n", 3);
/// let bindings: Bindings = vec![("a".into(), Datum::Real(2.0)), ("n".into(), Datum::Integer(3))];
/// assert_eq!(options.bindings, bindings);
/// ```
pub type Bindings = Vec<(String, Datum)>;
