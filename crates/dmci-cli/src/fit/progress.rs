//! The line that shows how a fit is going, where somebody can see it.

use dmci::Cancel;
use dmci_fit::Progress;
use dmci_plot::digits;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// A line that is drawn over and over.
pub struct Meter {
    shown: bool,
    began: Instant,
    last: Option<Instant>,
}

/// Faster than this nobody can read.
const PAUSE: Duration = Duration::from_millis(100);

impl Meter {
    /// A meter on standard error; if that is no terminal, it stays silent.
    pub fn new(wanted: bool) -> Meter {
        Meter { shown: wanted && std::io::stderr().is_terminal(), began: Instant::now(), last: None }
    }

    /// Shows how far the fit is.
    pub fn show(&mut self, progress: &Progress) {
        if !self.shown || self.last.is_some_and(|last| last.elapsed() < PAUSE) {
            return;
        }
        self.last = Some(Instant::now());
        let mut err = std::io::stderr().lock();
        let _ = write!(err, "\r\x1b[2K{}", line(progress, self.began.elapsed()));
        let _ = err.flush();
    }

    /// Shows how far the fit is; whether it goes on.
    pub fn watch(&mut self, progress: &Progress, cancel: &Cancel) -> ControlFlow<()> {
        self.show(progress);
        if cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Removes the line.
    pub fn clear(&mut self) {
        if self.last.take().is_some() {
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "\r\x1b[2K");
            let _ = err.flush();
        }
    }
}

fn line(progress: &Progress, elapsed: Duration) -> String {
    let Progress { epoch, epochs, loss, rate, running, restarts, optimizer, .. } = *progress;
    let mut text = format!("{optimizer} {epoch}/{epochs}  loss {}  rate {}", digits(loss, 4), digits(rate, 3));
    if restarts > 1 {
        text += &format!("  {running} of {restarts} searches");
    }
    if epoch > 0 {
        let left = elapsed.as_secs_f64() / epoch as f64 * epochs.saturating_sub(epoch) as f64;
        text += &format!("  at most {} left", time(left));
    }
    text
}

/// A time for people.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_for_people() {
        assert_eq!([0.04, 75.0, 300.0, 9000.0].map(time), ["0.0 s", "75 s", "5 min", "2.5 h"]);
    }
}
