//! The progress of a search: a line on standard error that is drawn over and over, where somebody can see it.

use dmci_search::score::Score;
use dmci_search::search::Search;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// The line.
pub struct Meter {
    shown: bool,
    limit: Duration,
    last: Option<Instant>,
}

impl Meter {
    /// A line for a search with a time limit; nothing is drawn where standard error is no terminal.
    pub fn new(wanted: bool, limit: Duration) -> Meter {
        Meter { shown: wanted && std::io::stderr().is_terminal(), limit, last: None }
    }

    /// Draws where the search is, at most five times a second.
    pub fn show(&mut self, search: &Search, elapsed: Duration) {
        if !self.shown || self.last.is_some_and(|last| last.elapsed() < Duration::from_millis(200)) {
            return;
        }
        self.last = Some(Instant::now());
        let best = search.front().iter().map(|e| &e.score).min_by(|a, b| a.score.total_cmp(&b.score));
        let error = best.and_then(|s: &Score| s.validation).map_or(f64::NAN, f64::sqrt);
        let rate = search.evaluations() as f64 / elapsed.as_secs_f64().max(1e-9);
        let left = self.limit.saturating_sub(elapsed).as_secs();
        let mut err = std::io::stderr().lock();
        let _ = write!(
            err,
            "\r\x1b[2Kbest RMSE {error:.3e}  front {}  {} hypotheses, {rate:.0}/s  {left} s left",
            search.front().len(),
            search.evaluations()
        );
        let _ = err.flush();
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.last.take().is_some() {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
    }
}
