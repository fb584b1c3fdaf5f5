//! Cost model: the time that a lane of a plan takes, measured, and the number of threads that a call is worth.
//!
//! The number of steps predicts little: an exponential costs as much as twenty additions, and trip counts of loops are
//! unknown. So calls are timed, unless they are so short that reading the clock would dominate.

use crate::plan::Plan;
use crate::share::share;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Nanoseconds of work that each thread should have: to wake one takes up to half of this.
const WORTH_A_THREAD: u64 = 12_000;

/// Steps of lanes below which nothing is worth a thread, whatever they are.
const WORTH_A_LOOK: usize = 1 << 14;

/// Picoseconds of a step, until calls were timed.
const USUAL_STEP: u64 = 100;

/// Pieces for each thread, so that one which is held up leaves some of them to others; fewer if these would be
/// smaller than blocks of lanes.
const PIECES: usize = 16;
const PIECES_OF_BLOCKS: usize = 4;

/// Nanoseconds that a piece should take at least.
const LEAST_PIECE: u64 = 500;

/// Lanes of a piece at least.
const LEAST_LANES: usize = 32;

/// Nanoseconds below which a call gains nothing if helpers are late: all cores are busy, or threads wake slowly.
const SHORT: u64 = 200_000;

/// Calls that are made without helpers, at most, before the next attempt.
const MOST_ALONE: u32 = 63;

/// Measured cost of calls.
#[derive(Debug, Default)]
pub(crate) struct CostModel {
    /// Picoseconds of a lane; 0 if nothing is known.
    lane: AtomicU32,
    /// Calls that were made without helpers after the last attempt that failed, and those that are still to be made.
    alone: AtomicU32,
    left: AtomicU32,
}

impl Clone for CostModel {
    /// A copy starts without measurements.
    fn clone(&self) -> CostModel {
        CostModel::default()
    }
}

impl PartialEq for CostModel {
    fn eq(&self, _: &CostModel) -> bool {
        true
    }
}

impl CostModel {
    /// Nanoseconds that so many lanes will take.
    fn expected(&self, work: usize, lanes: usize) -> u64 {
        let each = match self.lane.load(Ordering::Relaxed) {
            0 => work as u64 * USUAL_STEP,
            known => known.into(),
        };
        each.saturating_mul(lanes as u64) / 1000
    }

    /// Updates the estimate with a measured call. It at most doubles, since the call may have been preempted.
    fn note(&self, lanes: usize, time: Duration) {
        let each = (time.as_nanos() * 1000 / lanes.max(1) as u128).clamp(1, u32::MAX.into()) as u32;
        let before = self.lane.load(Ordering::Relaxed);
        let most = if before == 0 { u32::MAX } else { before.saturating_mul(2) };
        self.lane.store(each.min(most), Ordering::Relaxed);
    }
}

impl CostModel {
    /// How many threads a call that is expected to take so long is worth now.
    fn threads(&self, expected: u64, most: usize) -> usize {
        let threads = most.min((expected / WORTH_A_THREAD) as usize).max(1);
        let left = self.left.load(Ordering::Relaxed);
        if threads > 1 && expected < SHORT && left > 0 {
            self.left.store(left - 1, Ordering::Relaxed);
            return 1;
        }
        threads
    }

    /// Takes into account whether helpers came in time.
    fn note_help(&self, came: bool) {
        let alone = if came { 0 } else { (2 * self.alone.load(Ordering::Relaxed) + 1).min(MOST_ALONE) };
        self.alone.store(alone, Ordering::Relaxed);
        self.left.store(alone, Ordering::Relaxed);
    }
}

/// How many lanes a piece has, if so many lanes are to take so long and blocks have so many.
fn piece(lanes: usize, threads: usize, expected: u64, block: usize) -> usize {
    let least = (lanes as u64 * LEAST_PIECE / expected.max(1)) as usize;
    let size = (lanes / (PIECES * threads)).max(least);
    match size >= block {
        true => size.next_multiple_of(block),
        false => {
            let size = (lanes / (PIECES_OF_BLOCKS * threads)).clamp(least, block.max(least));
            size.max(1).next_multiple_of(LEAST_LANES)
        }
    }
}

impl Plan {
    /// Whether so many lanes are not worth more than one thread, whatever they take, or there is no other one.
    pub(crate) fn is_for_one_thread(&self, lanes: usize, threads: usize) -> bool {
        threads < 2 || lanes < 2 * LEAST_LANES || self.work().saturating_mul(lanes) < WORTH_A_LOOK
    }

    /// Runs lanes, which are worked on in blocks of so many, in pieces on as many threads as are worth it, but no more
    /// than `threads`. `cut` makes pieces of so many lanes each.
    pub(crate) fn run_pieces<P, I>(
        &self,
        (lanes, block): (usize, usize),
        threads: usize,
        cut: impl FnOnce(usize) -> I,
        run: impl Fn(P) + Sync,
    ) where
        I: DoubleEndedIterator<Item = P> + Send,
    {
        if self.is_for_one_thread(lanes, threads) {
            return cut(lanes.max(1)).for_each(run);
        }
        let expected = self.cost.expected(self.work(), lanes);
        let threads = self.cost.threads(expected, threads);
        if threads == 1 {
            let start = Instant::now();
            cut(lanes).for_each(run);
            return self.cost.note(lanes, start.elapsed());
        }
        let size = piece(lanes, threads, expected, block);
        let (done, time) = share(threads - 1, cut(size), run);
        self.cost.note_help(done < lanes.div_ceil(size));
        if done > 0 {
            self.cost.note((done * size).min(lanes), time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_blocks_if_there_are_enough() {
        assert_eq!(piece(1 << 16, 2, 1_000_000, 256), 2048);
        assert_eq!(piece(1 << 16, 2, 1_000_000, 2048), 2048);
        assert_eq!(piece(1024, 2, 1_000_000, 256), 128);
        assert_eq!(piece(64, 2, 1_000_000, 256), 32);
        assert_eq!(piece(1024, 2, 1_000_000, 8), 32);
        // Pieces that take too little time are not worth being taken.
        assert_eq!(piece(1 << 16, 2, 16_000, 256), 2048);
        assert_eq!(piece(1 << 16, 2, 8_000, 256), 4096);
    }

    #[test]
    fn helpers_that_are_late_are_asked_less_often() {
        let cost = CostModel::default();
        let asked = |calls: usize| (0..calls).filter(|_| cost.threads(50_000, 2) == 2).count();
        assert_eq!(asked(10), 10);
        cost.note_help(false);
        assert_eq!(asked(2), 1);
        cost.note_help(false);
        assert_eq!(asked(4), 1);
        // Calls that take long lose nothing by it.
        cost.note_help(false);
        assert_eq!(cost.threads(1_000_000, 2), 2);
        cost.note_help(true);
        assert_eq!(asked(10), 10);
        assert_eq!(cost.threads(WORTH_A_THREAD, 2), 1);
    }

    #[test]
    fn a_call_that_was_held_up_counts_no_more_than_twice() {
        let cost = CostModel::default();
        assert_eq!(cost.expected(10, 1000), 1000);
        cost.note(1000, Duration::from_micros(20));
        assert_eq!(cost.expected(10, 1000), 20_000);
        cost.note(1000, Duration::from_millis(5));
        assert_eq!(cost.expected(10, 1000), 40_000);
        cost.note(1000, Duration::from_micros(20));
        assert_eq!(cost.expected(10, 1000), 20_000);
    }
}
