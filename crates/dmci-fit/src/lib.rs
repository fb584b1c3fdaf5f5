//! Fitting: from a program and a table to parameters and a picture.
//!
//! ```
//! use dmci::Program;
//! use dmci_fit::{FitOptions, Problem, ProblemOptions, Table, fit};
//! use std::ops::ControlFlow;
//!
//! let program = Program::new("(params (a positive 1.0) (b free 0.0)) (+ b (* a x))");
//! let table = Table::from_csv("line.csv", "x,y\n0.0,1.0\n1.0,3.0\n2.0,5.0\n".as_bytes()).expect("a table");
//! let problem = Problem::new(program, &table, "y", ProblemOptions::default()).expect("it fits together");
//! let result = fit(&problem, &FitOptions::default(), &mut |_| ControlFlow::Continue(())).expect("it runs");
//! assert!((result.parameters[0].value - 2.0).abs() < 1e-3);
//! assert!((result.parameters[1].value - 1.0).abs() < 1e-3);
//! ```
//!
//! **Invariant:** nothing here touches files, the terminal or signals; observers decide when to stop.

mod adam;
mod binding;
pub mod data;
mod fit;
mod json;
mod loss;
pub mod plot;
mod problem;
mod restart;
mod split;
mod starts;
mod transform;

pub use adam::{Adam, AdamOptions};
pub use binding::find_column;
pub use data::{Table, TableColumn};
pub use fit::{Fit, FitOptions, Fitted, Progress, RestartResult, fit};
pub use json::to_json;
pub use loss::{Score, mean_squared_error};
pub use problem::{Evaluation, Problem, ProblemOptions, Rows};
pub use restart::{Patience, Restart, Stop, Visited};
pub use starts::offset;
pub use transform::Transform;
