//! Executors: plans made from tapes, run over lanes.
//!
//! **Invariant:** no executor knows Scheme, and no result depends on how lanes are grouped.

// Some of what plans know of themselves is there for machine code alone.
#![cfg_attr(not(all(feature = "native", target_arch = "x86_64")), allow(dead_code, unused_imports))]

mod block;
mod cost_model;
mod f32_rows;
mod loops;
#[cfg_attr(not(all(feature = "native", target_arch = "x86_64")), path = "native_none.rs")]
mod native;
mod number;
mod plan;
mod share;
mod stage;
mod sum;
mod target;
mod words;

pub use block::{CUT, Leaves, List, Results, STAYED, Which, by_set};
pub use native::{PreparedCall, PreparedLane, PreparedLists};
pub use number::Number;
pub use plan::{JitPolicy, Plan};
pub use stage::{StageResults, Staged, work_by_axes};
pub use sum::{ACCUMULATORS, CHUNK, ColumnSpace, ColumnTree, RowSum, sum_columns, sum_rows};
pub use target::Target;
