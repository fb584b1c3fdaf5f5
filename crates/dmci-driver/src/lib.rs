//! Runs searches: a request and a table in, a front, a verdict and a report out.
//!
//! **Invariant:** it owns the threads and the clock of a search, which `dmci-search` must not have, and touches no
//! files, no terminal and no signals, which belong to the front ends.

pub mod control;
pub mod problem;
pub mod report;
pub mod request;
pub mod run;
pub mod show;
pub mod talk;

pub use request::{Begun, SearchRequest};
pub use run::{Consult, Done, Limits, run};
