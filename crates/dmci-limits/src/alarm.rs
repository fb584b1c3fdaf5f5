//! The alarm that a thread works under.

use crate::cancel::{Cancel, Reason};
use crate::memory;
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Why an alarm rang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The flag was set.
    Cancelled = 1,
    /// The time is over.
    Time = 2,
    /// The process holds more memory than the calls under way may take.
    Memory = 3,
}

/// A flag that others may set, a time, and the memory of the process. Work that sees it ring stops with whatever result:
/// the alarm remembers that it rang, and whoever owns it reports that instead.
#[derive(Debug, Default)]
pub struct Alarm {
    cancel: Cancel,
    deadline: Option<Instant>,
    limit: Duration,
    /// The first reason to ring, or 0.
    rang: AtomicU8,
}

impl Alarm {
    /// Short steps of work between two looks.
    pub const STEPS: usize = 1 << 12;

    /// An alarm that rings when the flag is set, or when this much time is over.
    pub fn new(cancel: Cancel, limit: Duration) -> Self {
        Alarm { cancel, deadline: Instant::now().checked_add(limit), limit, rang: AtomicU8::new(0) }
    }

    /// An alarm that rings when the flag is set.
    pub fn of(cancel: Cancel) -> Self {
        Alarm { cancel, deadline: None, limit: Duration::MAX, rang: AtomicU8::new(0) }
    }

    /// Looks whether to stop.
    #[inline]
    pub fn rings(&self) -> bool {
        if memory::is_over() {
            // Everybody who works for the same owner stops.
            self.note(Why::Memory);
            self.cancel.raise(Reason::Memory);
            return true;
        }
        if self.cancel.is_cancelled() {
            self.note(if self.cancel.is_raised(Reason::Memory) { Why::Memory } else { Why::Cancelled });
            return true;
        }
        let is_over = self.deadline.is_some_and(|d| Instant::now() >= d);
        if is_over {
            self.note(Why::Time);
        }
        is_over
    }

    #[cold]
    fn note(&self, why: Why) {
        // The first reason is the one.
        let _ = self.rang.compare_exchange(0, why as u8, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether it rang when somebody looked.
    #[inline]
    pub fn rang(&self) -> bool {
        self.rang.load(Ordering::Relaxed) != 0
    }

    /// Why it rang first.
    pub fn why(&self) -> Option<Why> {
        [Why::Cancelled, Why::Time, Why::Memory].into_iter().find(|&why| why as u8 == self.rang.load(Ordering::Relaxed))
    }

    /// Whether it was the flag.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// The time that there was.
    pub fn limit(&self) -> Duration {
        self.limit
    }
}

thread_local! {
    /// Null if nothing limits the work of this thread.
    static CURRENT: Cell<*const Alarm> = const { Cell::new(ptr::null()) };
}

/// Puts back the alarm that the thread worked under before, also when the work panics.
struct Before(*const Alarm);

impl Drop for Before {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Does work on this thread under an alarm.
pub fn within<R>(alarm: &Alarm, work: impl FnOnce() -> R) -> R {
    let _before = Before(CURRENT.replace(alarm));
    work()
}

/// Does short work on this thread that nothing may stop, because its result is kept.
pub fn unstopped<R>(work: impl FnOnce() -> R) -> R {
    let _before = Before(CURRENT.replace(ptr::null()));
    work()
}

/// Looks at the alarm of this thread: whether to stop.
#[inline]
pub fn rings() -> bool {
    let alarm = CURRENT.get();
    // SAFETY: it is null, or `within` is under way, which borrows it.
    unsafe { alarm.as_ref() }.is_some_and(Alarm::rings)
}

/// Whether the alarm of this thread rang when somebody looked: then results are none.
#[inline]
pub fn rang() -> bool {
    let alarm = CURRENT.get();
    // SAFETY: as for `rings`.
    unsafe { alarm.as_ref() }.is_some_and(Alarm::rang)
}

/// The alarm of one thread, for others that help it.
#[derive(Clone, Copy, Debug)]
pub struct Level(*const Alarm);

// SAFETY: an alarm may be looked at by all threads; who enters it promises that it is still there.
unsafe impl Send for Level {}
// SAFETY: likewise.
unsafe impl Sync for Level {}

impl Level {
    /// The alarm that this thread works under.
    pub fn current() -> Level {
        Level(CURRENT.get())
    }

    /// Does work on another thread under the alarm.
    ///
    /// # Safety
    /// The thread that the level is from waits inside of its [`within`] until the work is done.
    pub unsafe fn help<R>(self, work: impl FnOnce() -> R) -> R {
        let _before = Before(CURRENT.replace(self.0));
        work()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_works_under_the_innermost_alarm() {
        assert!(!rings() && !rang());
        let (outer, inner) = (Alarm::of(Cancel::default()), Alarm::new(Cancel::default(), Duration::ZERO));
        within(&outer, || {
            within(&inner, || assert!(!rang() && rings() && rang()));
            within(&inner, || unstopped(|| assert!(!rings() && !rang())));
            assert!(!rings() && !rang());
            let level = Level::current();
            // SAFETY: the scope ends before `within` does.
            std::thread::scope(|scope| scope.spawn(move || unsafe { level.help(|| assert!(!rings())) }).join())
                .expect("no alarm rings there");
            outer.cancel.cancel();
            assert!(rings());
        });
        assert!(!rings() && outer.rang() && outer.is_cancelled() && !inner.is_cancelled());
    }

    #[test]
    fn a_panic_leaves_the_alarm() {
        let alarm = Alarm::new(Cancel::default(), Duration::ZERO);
        let panics =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| within(&alarm, || panic!("as it should"))));
        assert!(panics.is_err() && !rings());
    }
}
