//! Plans as machine code for x86-64 with AVX2 and FMA, or AVX-512.
//!
//! The block interpreter is the reference: every lane has the same bits.

mod arranged;
mod columns;
mod compile;
mod division;
mod emit;
mod evex;
mod f32_half;
mod fused_body;
mod fused_loops;
mod ir;
mod line;
mod lists;
mod lower;
mod masks;
mod nontemporal;
mod order;
mod packed;
mod prepared_call;
mod reach;
mod registers;
mod remat;
mod repeats;
mod rolled;
mod rounds;
mod run;
mod schedule;
mod slow_path;
mod states;
mod until_done;
mod vex;
mod whole_loop;

pub(crate) use compile::Compiled;
pub use prepared_call::{PreparedCall, PreparedLane, PreparedLists};
pub(crate) use run::{Native, NativeSpace};
