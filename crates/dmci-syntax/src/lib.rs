//! Syntax: reader, printer and macro expander, from text to core forms.
//!
//! **Invariant:** nothing here evaluates a program.

pub mod expand;
pub mod printer;
pub mod reader;
pub mod render;
