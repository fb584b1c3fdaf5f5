//! Units of measurement: dimensions over the seven SI base units, a parser of units, and linear equations between
//! dimensions, of which some are unknown.
//!
//! **Invariant:** it knows no program and no table, and depends on no other crate.

pub mod dimension;
pub mod equations;
pub mod parse;
pub mod rules;

pub use dimension::{BASES, Dimension};
pub use equations::{Equations, Quantity};
pub use parse::parse;
pub use rules::{Disagreement, Rule, apply, rule};
