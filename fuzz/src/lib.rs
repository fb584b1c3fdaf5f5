//! Generated programs, mutated programs, and the checks that both must pass.
//!
//! [`dmci_generate`] makes well-formed programs from a seed and [`mutate`] damages real ones.
//! [`agree`] runs a program in several modes and compares all that can be seen of it; [`shrink`]
//! makes a disagreement small. [`targets`] are what the `dmci-fuzz` binary feeds with inputs.

pub mod agree;
pub mod corpus;
pub mod mutate;
pub mod shrink;
pub mod supervisor;
pub mod targets;

/// Whether `DMCI_LONG` asks for the tests that take longer.
pub fn is_long() -> bool {
    std::env::var_os("DMCI_LONG").is_some_and(|v| v != "0")
}

/// How many programs a test takes: usually so many, twenty times as many if it may take longer.
pub fn count(usual: u64) -> u64 {
    if is_long() { usual * 20 } else { usual }
}
