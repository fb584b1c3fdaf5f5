//! Times of the same thing, repeated.

use std::time::Duration;

/// Times, and what is reported of them.
#[derive(Default)]
pub struct Times(Vec<f64>);

impl Times {
    /// Adds one.
    pub fn push(&mut self, time: Duration) {
        self.0.push(time.as_secs_f64());
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The shortest, in seconds: other processes only ever add time.
    pub fn minimum(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The median, in seconds.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }
}
