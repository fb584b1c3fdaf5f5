//! The expander: from source data to core forms, hygienically.
//!
//! Core forms are data again, in a grammar of nine shapes: `quote if lambda case-lambda set! begin
//! letrec* define` and application. `define` stands only at top level, `if` always has three
//! operands, and bodies are one expression. Every pair of a core form carries the place of the
//! source form that it comes from.
//!
//! Hygiene is by renaming: symbols that a macro's template inserts become aliases, fresh uninterned
//! symbols that remember what they stand for and where the macro was defined (`scope.rs`). Local
//! variables keep the name that the user gave them unless something could mistake it for another.
//! A free alias in a core form means the global of its base name.
//!
//! **Invariant:** nothing here evaluates anything, and no input makes it fail other than by an error
//! with a code: nesting, macro expansion and total work are bounded, and circular data are noticed.

mod bindings;
mod body;
mod conditionals;
mod core;
mod definition;
mod depth;
mod dynamic;
mod errors;
mod expander;
mod holes;
mod keywords;
mod library;
mod loops;
mod matcher;
mod params;
mod program;
mod quasi;
mod records;
mod results;
mod scope;
mod special;
pub mod starts;
mod strip;
mod syntax_rules;
mod table;
mod template;
#[cfg(test)]
mod tests;
mod values;

pub use depth::{MAX_DEPTH, nesting_depth};
pub use keywords::{Keywords, Special, intern_keywords};
pub use program::{Expansion, expand_form, expand_program};
pub use table::SyntaxTable;
