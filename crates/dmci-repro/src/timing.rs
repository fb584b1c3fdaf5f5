//! Times: the least of several rounds, which other work on the machine disturbs least.

use std::time::Instant;

/// The least time of some rounds, in seconds.
pub fn least(rounds: usize, mut work: impl FnMut()) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..rounds.max(1) {
        let began = Instant::now();
        work();
        least = least.min(began.elapsed().as_secs_f64());
    }
    least
}

/// The same for work that is too short for a clock: as often as fills about a millisecond.
pub fn least_each(rounds: usize, mut work: impl FnMut()) -> f64 {
    let once = least(3, &mut work).max(1e-8);
    let repeats = (1e-3 / once).clamp(1.0, 1e5) as usize;
    least(rounds, || (0..repeats).for_each(|_| work())) / repeats as f64
}
