//! Generated programs, mutated programs, and the checks that both must pass.
//!
//! [`generator`] makes well-formed programs from a seed and [`mutate`] damages real ones.
//! [`agree`] runs a program in several modes and compares all that can be seen of it; [`shrink`]
//! makes a disagreement small. [`targets`] are what the `dmci-fuzz` binary feeds with inputs.

pub mod agree;
pub mod corpus;
pub mod generator;
pub mod mutate;
pub mod random;
pub mod sexp;
pub mod shrink;
pub mod supervisor;
pub mod targets;
