//! A line on the terminal while a program runs and nothing else is shown.

use std::io::{IsTerminal, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Programs that are done by then need no line.
const PATIENCE: Duration = Duration::from_millis(1500);
const PAUSE: Duration = Duration::from_millis(500);

#[derive(Default)]
struct Watch {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    waiting: bool,
    drawn: bool,
}

static WATCH: Watch = Watch { state: Mutex::new(State { waiting: false, drawn: false }), ended: Condvar::new() };

/// Shows a line on standard error, if that is a terminal, until [`clear`] is called.
pub fn start() {
    if std::io::stderr().is_terminal() {
        WATCH.lock().waiting = true;
        // Without a thread there is no line, which is no reason to stop.
        let _ = std::thread::Builder::new().spawn(|| WATCH.show(&mut std::io::stderr(), PATIENCE));
    }
}

/// Removes the line. Whoever prints calls it first.
pub fn clear() {
    WATCH.end(&mut std::io::stderr());
}

impl Watch {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, out: &mut impl Write, patience: Duration) {
        let began = Instant::now();
        let mut pause = patience;
        let mut state = self.lock();
        while state.waiting {
            let waited = self.ended.wait_timeout_while(state, pause, |state| state.waiting);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.waiting {
                // The lock is held: whoever prints does so before this line or removes it.
                let _ = write!(out, "\r\x1b[2Krunning for {:.0} s; Ctrl-C stops it", began.elapsed().as_secs_f64());
                let _ = out.flush();
                state.drawn = true;
                pause = PAUSE;
            }
        }
    }

    fn end(&self, out: &mut impl Write) {
        let mut state = self.lock();
        state.waiting = false;
        if std::mem::take(&mut state.drawn) {
            let _ = write!(out, "\r\x1b[2K");
            let _ = out.flush();
        }
        self.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_after_a_while_and_goes() {
        let watch = Watch::default();
        watch.lock().waiting = true;
        let (mut shown, mut removed) = (Vec::new(), Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| watch.show(&mut shown, Duration::from_millis(5)));
            while !watch.lock().drawn {
                std::thread::sleep(Duration::from_millis(1));
            }
            watch.end(&mut removed);
        });
        assert!(String::from_utf8_lossy(&shown).contains("running for 0 s; Ctrl-C stops it"));
        assert_eq!(removed, b"\r\x1b[2K");
    }

    #[test]
    fn what_ends_soon_shows_nothing() {
        let watch = Watch::default();
        watch.lock().waiting = true;
        let (mut shown, mut removed) = (Vec::new(), Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| watch.show(&mut shown, Duration::from_secs(60)));
            watch.end(&mut removed);
        });
        assert!(shown.is_empty() && removed.is_empty());
    }
}
