//! Work that Ctrl-C can stop: it runs on a thread of its own while this one looks for signals.

use dmci::Cancel;
use pyo3::prelude::*;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// How often signals are looked for.
const SLICE: Duration = Duration::from_millis(20);

/// Enough for what recurses on the stack of the host; memory is used only as far as it is needed.
const STACK: usize = 16 << 20;

/// The result of work that heeds `cancel`. A signal that raises an exception, such as Ctrl-C, stops the work, and the
/// exception is raised when it has ended.
pub fn interruptible<T: Send>(py: Python<'_>, cancel: &Cancel, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let (result, raised) = until_interrupted(py, cancel, work)?;
    match raised {
        None => Ok(result),
        Some(error) => {
            cancel.reset();
            Err(error)
        }
    }
}

/// The result of work that heeds `cancel`, with the exception of the signal that stopped it, if one did.
pub fn until_interrupted<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    work: impl FnOnce() -> T + Send,
) -> PyResult<(T, Option<PyErr>)> {
    let (slot, ready) = (Mutex::new(None), Condvar::new());
    let (slot, ready) = (&slot, &ready);
    std::thread::scope(|scope| {
        let run = move || {
            let result = work();
            *slot.lock().unwrap_or_else(|e| e.into_inner()) = Some(result);
            ready.notify_all();
        };
        std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run)?;
        let mut raised = None;
        loop {
            let result = py.detach(|| {
                let guard = slot.lock().unwrap_or_else(|e| e.into_inner());
                let waited = ready.wait_timeout_while(guard, SLICE, |slot| slot.is_none());
                waited.unwrap_or_else(|e| e.into_inner()).0.take()
            });
            if let Some(result) = result {
                return Ok((result, raised));
            }
            raised = raised.or_else(|| py.check_signals().err());
            if raised.is_some() {
                cancel.cancel();
            }
        }
    })
}
