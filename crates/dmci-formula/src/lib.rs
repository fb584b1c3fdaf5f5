//! Formulas in infix notation, read into programs and printed back.
//!
//! A formula is another spelling of a program: `A*(1 - exp(-k*t))` becomes `(* A (- 1 (exp (- (* k t)))))`, and that is
//! what runs. This crate knows neither tables nor fits: which names are columns and which are parameters is up to the
//! caller.
//!
//! ```
//! use dmci_formula::Formula;
//!
//! let formula = Formula::parse("log(y) ~ A*x^2 + if(x < c, 0, x - c)").expect("a formula");
//! assert_eq!(formula.body.to_scheme(), "(+ (* A (expt x 2)) (if (< x c) 0 (- x c)))");
//! assert_eq!(formula.body.names(), ["A", "x", "c"]);
//! assert_eq!(formula.target.map(|t| t.to_infix()), Some("log(y)".into()));
//!
//! let error = Formula::parse("2x + 1").expect_err("a product without its sign");
//! assert_eq!(error.message, "x follows 2 without an operator");
//! ```

mod conditions;
mod expr;
mod functions;
mod parse;
mod print;
mod scheme;
mod token;

pub use conditions::{Condition, conditions, starts};
pub use expr::{BinaryOp, Expr};
pub use functions::{FUNCTIONS, Function, distance, function};
pub use scheme::{from_scheme, looks_like_infix};

use std::fmt;
use std::ops::Range;

/// A formula: `BODY`, or `TARGET ~ BODY`.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// The left-hand side of `~`.
    pub target: Option<Expr>,
    /// The right-hand side, or the whole formula.
    pub body: Expr,
}

impl Formula {
    /// Reads a formula.
    pub fn parse(text: &str) -> Result<Formula, FormulaError> {
        parse::formula(text)
    }
}

/// Why a text is not a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormulaError {
    /// The bytes that are wrong.
    pub at: Range<usize>,
    /// One sentence.
    pub message: String,
    /// What to do.
    pub help: String,
}

impl FormulaError {
    fn new(at: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> FormulaError {
        FormulaError { at, message: message.into(), help: help.into() }
    }
}

impl fmt::Display for FormulaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for FormulaError {}
