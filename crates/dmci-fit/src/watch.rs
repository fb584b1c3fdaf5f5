//! Work that is cancelled when its time is over.

use crate::problem::Problem;
use dmci::ErrorCode;
use dmci::{Cancel, Diagnostic, Reason, Report};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// Looks at the clock while others work. Who drops it before its time needs it no longer.
pub(crate) struct Watch {
    done: Sender<()>,
    thread: Option<JoinHandle<bool>>,
}

impl Watch {
    /// Raises the flag for this reason when this much time is over.
    pub fn start(cancel: &Cancel, reason: Reason, longest: Duration) -> Watch {
        let (done, waiting) = mpsc::channel::<()>();
        let cancel = cancel.clone();
        // Without a thread, there is no limit.
        let thread = std::thread::Builder::new().spawn(move || {
            let is_over = waiting.recv_timeout(longest) == Err(RecvTimeoutError::Timeout);
            if is_over {
                cancel.raise(reason);
            }
            is_over
        });
        Watch { done, thread: thread.ok() }
    }

    /// Whether the time was over before the work was done.
    pub fn stop(self) -> bool {
        drop(self.done);
        self.thread.is_some_and(|thread| thread.join().unwrap_or(false))
    }
}

impl Problem {
    /// Runs the model at so many points: all rows of a point together have the time that was chosen for a run. The
    /// flag is as it was before; rows that were not done have failed. Says whether there are such.
    pub(crate) fn in_time<T>(&self, points: usize, work: impl FnOnce() -> T) -> (T, bool) {
        let Some(time) = self.time else { return (work(), false) };
        let points = u32::try_from(points).unwrap_or(u32::MAX);
        let watch = Watch::start(&self.cancel, Reason::Part, time.saturating_mul(points));
        let found = work();
        let is_over = watch.stop();
        if is_over {
            self.cancel.lower(Reason::Part);
        }
        (found, is_over)
    }

    /// What a row has that was not done in time.
    pub(crate) fn out_of_time(&self) -> Report {
        let limit = self.time.unwrap_or_default().as_secs_f64();
        let message = format!("all rows together took more than {limit} s");
        Report::from(Diagnostic::error(ErrorCode::E0405, message).help("raise the limit with ‹time›"))
    }

    /// What a fit says that needs more memory than it may take.
    pub(crate) fn out_of_memory(&self) -> Report {
        let message = "the fit needs more memory than it may take";
        let help = "raise the limit with ‹heap›, or fit fewer rows or parameters";
        Report::from(Diagnostic::error(ErrorCode::E0402, message).help(help))
    }

    /// Fails if somebody wants the work to end.
    pub(crate) fn check_cancel(&self) -> Result<(), Report> {
        match self.cancel.is_cancelled() {
            true if self.cancel.is_raised(Reason::Memory) => Err(self.out_of_memory()),
            true => Err(Report::from(Diagnostic::error(ErrorCode::E0409, "the run was cancelled"))),
            false => Ok(()),
        }
    }
}
