//! Passes over finished tapes. Each keeps every output and every guard, bit for bit, and can be
//! switched off; a pass changes what is computed twice or in vain, never how it is computed.

mod dead;
mod ends;
mod merge;
mod split;

pub use dead::remove_dead;
pub use ends::carry_ends;
pub use merge::merge_equal;
pub use split::{SMALL, split_small};

use crate::tape::Tape;
use std::sync::Arc;

/// Which passes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Passes {
    /// Operations that nothing needs are removed.
    pub dead: bool,
    /// Equal operations are computed once. Only after the last differentiation: before it, each
    /// executed operation has an adjoint of its own.
    pub merge: bool,
    /// What depends on parameters alone or on data alone is computed once for each. The executor
    /// does it (`dmci-exec`, `stage.rs`), when there is more than one lane to each.
    pub stage: bool,
    /// Vectors and matrices of up to [`SMALL`] numbers become single numbers, where their operations can be written out.
    pub split: bool,
}

impl Default for Passes {
    fn default() -> Self {
        Passes { dead: true, merge: true, stage: true, split: true }
    }
}

impl Passes {
    /// Runs the passes over tapes that are switched on, in the bodies of loops too.
    pub fn run(self, tape: &Tape) -> Tape {
        // Whether a state is split is decided for a loop and its surroundings together.
        let split = if self.split { split_small(tape) } else { None };
        self.run_over(split.as_ref().unwrap_or(tape))
    }

    fn run_over(self, tape: &Tape) -> Tape {
        let mut tape = if self.merge { merge_equal(tape) } else { tape.clone() };
        tape.loops.iter_mut().for_each(|l| l.body = Arc::new(self.run_over(&l.body)));
        if self.merge && self.dead && !tape.loops.is_empty() {
            tape = carry_ends(&tape);
        }
        if self.dead { remove_dead(&tape) } else { tape }
    }
}
