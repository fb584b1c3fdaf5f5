//! A flag that another thread may set to stop an evaluation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Why work is to stop. Each reason is raised and lowered by its own owner, so that none hides another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// Somebody asked for it.
    Person = 1,
    /// The time of the whole work is over.
    Time = 2,
    /// The time of one part of the work is over; the rest goes on.
    Part = 4,
    /// The process holds more memory than it may.
    Memory = 8,
}

/// A flag that another thread may set to stop an evaluation.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicU8>);

impl Cancel {
    /// Asks the evaluation to stop; it does within milliseconds.
    pub fn cancel(&self) {
        self.raise(Reason::Person);
    }

    /// Whether there is any reason to stop.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Takes all requests back.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Asks the evaluation to stop, for this reason.
    pub fn raise(&self, reason: Reason) {
        self.0.fetch_or(reason as u8, Ordering::SeqCst);
    }

    /// Takes this reason back, and no other one; whether it was there.
    pub fn lower(&self, reason: Reason) -> bool {
        self.0.fetch_and(!(reason as u8), Ordering::SeqCst) & reason as u8 != 0
    }

    /// Whether this reason is there.
    pub fn is_raised(&self, reason: Reason) -> bool {
        self.0.load(Ordering::SeqCst) & reason as u8 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowering_one_reason_keeps_the_others() {
        let cancel = Cancel::default();
        cancel.raise(Reason::Time);
        cancel.cancel();
        assert!(cancel.lower(Reason::Time) && !cancel.lower(Reason::Time));
        assert!(cancel.is_cancelled() && cancel.is_raised(Reason::Person) && !cancel.is_raised(Reason::Part));
        cancel.reset();
        assert!(!cancel.is_cancelled());
    }
}
