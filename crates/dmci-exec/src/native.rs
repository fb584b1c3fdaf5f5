//! Plans as machine code for x86-64 with AVX2 and FMA, or AVX-512.
//!
//! The block interpreter is what this is measured by: every lane has the same bits.

mod again;
mod arranged;
mod cold;
mod columns;
mod compile;
mod division;
mod emit;
mod encode;
mod entire;
mod extended;
mod flat;
mod inside;
mod ir;
mod line;
mod lists;
mod lower;
mod masks;
mod order;
mod packed;
mod reach;
mod ready;
mod registers;
mod rounds;
mod run;
mod schedule;
mod short;
mod states;
mod stream;
mod through;

pub(crate) use compile::Compiled;
pub use ready::{Ready, ReadyLane, ReadyLists};
pub(crate) use run::{Native, NativeSpace};
