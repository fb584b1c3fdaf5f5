//! What a program may use: a program is untrusted.

pub use dmci_limits::{Cancel, Reason};
use dmci_value::{Diagnostic, Error, ErrorCode};
use std::time::Duration;

/// The limits of one evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Calls and loop edges.
    pub fuel: u64,
    /// Bytes of heap, garbage included.
    pub heap: usize,
    /// Nested calls; a call takes 16 stack slots in this count, whatever it really needs.
    pub depth: usize,
    /// Bytes of captured output.
    pub output: usize,
    /// Wall-clock time.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { fuel: 2_000_000_000, heap: 1 << 30, depth: 1_000_000, output: 1 << 20, time: Duration::from_secs(300) }
    }
}

impl Limits {
    /// The error of work that needs more memory.
    pub fn out_of_memory(&self) -> Error {
        let message = format!("the program needs more than {} MiB of memory", self.heap >> 20);
        Diagnostic::error(ErrorCode::E0402, message).help("raise the limit with ‹heap›, or give it less to do")
    }

    /// The same limits for a program that runs under `levels` interpreters, which need more steps
    /// and more stack for the same work. Only defaults grow: a limit that somebody chose is kept.
    pub fn for_levels(self, levels: u32) -> Limits {
        let levels = levels.min(4);
        let defaults = Limits::default();
        let fuel = if self.fuel == defaults.fuel { 20u64.pow(levels) } else { 1 };
        let depth = if self.depth == defaults.depth { 4usize.pow(levels.min(2)) } else { 1 };
        Limits { fuel: self.fuel.saturating_mul(fuel), depth: self.depth.saturating_mul(depth), ..self }
    }
}

/// How numbers are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Numerics {
    /// Every operation on reals is rounded to single precision.
    pub single: bool,
    /// `sqrt` and `log` take at least 1e-8, as in the reference system.
    pub clamps: bool,
}
