//! Counts of calls that are done like the ones before them. Each batch has its own, which nobody else writes: a counter
//! that all share would take longer than a short call.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Calls and lanes of one batch.
#[derive(Debug, Default)]
pub(super) struct Tally {
    calls: AtomicU64,
    lanes: AtomicU64,
}

impl Tally {
    /// Counts a call of so many lanes. Only the batch that has the tally may do so.
    #[inline]
    pub fn add(&self, lanes: u64) {
        let add = |counter: &AtomicU64, n| counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
        add(&self.calls, 1);
        add(&self.lanes, lanes);
    }

    fn counts(&self) -> [u64; 2] {
        [self.calls.load(Ordering::Relaxed), self.lanes.load(Ordering::Relaxed)]
    }
}

/// All of a model's.
#[derive(Debug, Default)]
pub(super) struct Tallies(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// What is in none of the others: calls and lanes of batches that are no more.
    before: [u64; 2],
    open: Vec<Arc<Tally>>,
}

impl Tallies {
    /// A new one for a batch.
    #[cold]
    pub fn open(&self) -> Arc<Tally> {
        let tally = Arc::new(Tally::default());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Kept { before, open } = &mut *kept;
        open.retain(|old| {
            let is_used = Arc::strong_count(old) > 1;
            if !is_used {
                *before = sum(*before, old.counts());
            }
            is_used
        });
        open.push(tally.clone());
        tally
    }

    /// Calls and lanes of all of them.
    pub fn counts(&self) -> [u64; 2] {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.open.iter().fold(kept.before, |all, tally| sum(all, tally.counts()))
    }
}

fn sum([a, b]: [u64; 2], [x, y]: [u64; 2]) -> [u64; 2] {
    [a + x, b + y]
}
