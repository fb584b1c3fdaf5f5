//! Executors: plans made from tapes, run over lanes.
//!
//! **Invariant:** no executor knows Scheme, and no result depends on how lanes are grouped.

mod block;
mod plan;

pub use block::{Lanes, Workspace};
pub use plan::Plan;
