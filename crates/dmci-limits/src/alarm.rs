//! The alarms that a thread works under, one inside of the other.

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

    /// Looks whether to stop. Work that is a part of other work stops with it, too.
    #[inline]
    pub fn rings(&self) -> bool {
        self.rings_itself() || self.rings_around()
    }

    #[inline]
    fn rings_itself(&self) -> bool {
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

    /// Whether an alarm of this thread rings that is not this one: for this one, that is as if it were cancelled.
    #[inline]
    fn rings_around(&self) -> bool {
        // SAFETY: it is null, or `within` is under way, which borrows what is in it, on this thread or on one that waits
        // for this one; what is around it was entered before.
        let mut next = unsafe { CURRENT.get().as_ref() };
        while let Some(entered) = next {
            // SAFETY: as above.
            let (alarm, outer) = unsafe { (&*entered.alarm, entered.outer.as_ref()) };
            if !std::ptr::eq(alarm, self) && alarm.rings_itself() {
                self.note(Why::Cancelled);
                note_within(entered);
                return true;
            }
            next = outer;
        }
        false
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

/// An alarm that a thread has entered, and the one around it.
struct Entered {
    alarm: *const Alarm,
    outer: *const Entered,
}

thread_local! {
    /// Null if nothing limits the work of this thread.
    static CURRENT: Cell<*const Entered> = const { Cell::new(ptr::null()) };
}

/// Notes in all alarms inside of one that rings that their work is stopped.
#[cold]
fn note_within(ringing: &Entered) {
    let mut next = CURRENT.get();
    // SAFETY: `ringing` is one of those that this thread has entered, and none before it is null.
    while let Some(entered) = unsafe { next.as_ref() }.filter(|entered| !ptr::eq(*entered, ringing)) {
        // SAFETY: as above.
        unsafe { &*entered.alarm }.note(Why::Cancelled);
        next = entered.outer;
    }
}

/// Puts back the alarm that the thread worked under before, also when the work panics.
struct Before(*const Entered);

impl Drop for Before {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Does work on this thread under an alarm, and still under those that it was under before.
pub fn within<R>(alarm: &Alarm, work: impl FnOnce() -> R) -> R {
    let entered = Entered { alarm, outer: CURRENT.get() };
    let _before = Before(CURRENT.replace(&entered));
    work()
}

/// Does short work on this thread that nothing may stop, because its result is kept.
pub fn unstopped<R>(work: impl FnOnce() -> R) -> R {
    let _before = Before(CURRENT.replace(ptr::null()));
    work()
}

/// Looks at the alarms of this thread: whether to stop.
#[inline]
pub fn rings() -> bool {
    // SAFETY: it is null, or `within` is under way, which borrows the alarm.
    unsafe { CURRENT.get().as_ref().map(|entered| &*entered.alarm) }.is_some_and(Alarm::rings)
}

/// Whether the innermost alarm of this thread rang when somebody looked: then results are none.
#[inline]
pub fn rang() -> bool {
    // SAFETY: as for `rings`.
    unsafe { CURRENT.get().as_ref().map(|entered| &*entered.alarm) }.is_some_and(Alarm::rang)
}

/// The alarms of one thread, for others that help it.
#[derive(Clone, Copy, Debug)]
pub struct Level(*const Entered);

// SAFETY: alarms may be looked at by all threads; who enters them promises that they are still there.
unsafe impl Send for Level {}
// SAFETY: likewise.
unsafe impl Sync for Level {}

impl Level {
    /// The alarms that this thread works under.
    pub fn current() -> Level {
        Level(CURRENT.get())
    }

    /// Does work on another thread under these alarms.
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
    fn work_stops_with_the_work_that_it_is_a_part_of() {
        let (outer, middle) = (Alarm::of(Cancel::default()), Alarm::of(Cancel::default()));
        let inner = Alarm::new(Cancel::default(), Duration::from_secs(1000));
        within(&outer, || {
            within(&middle, || {
                within(&inner, || {
                    assert!(!rings() && !inner.rings());
                    outer.cancel.cancel();
                    unstopped(|| assert!(!rings() && !inner.rings()));
                    assert!(!rang() && rings() && rang());
                });
                assert!(rang());
            });
        });
        assert_eq!([&outer, &middle, &inner].map(Alarm::why), [Some(Why::Cancelled); 3]);
        assert!(!inner.is_cancelled() && inner.rang() && !inner.rings());
        let late = Alarm::new(Cancel::default(), Duration::ZERO);
        let part = Alarm::new(Cancel::default(), Duration::from_secs(1000));
        within(&late, || within(&part, || assert!(rings())));
        // Its own time was not over.
        assert_eq!((late.why(), part.why()), (Some(Why::Time), Some(Why::Cancelled)));
    }

    #[test]
    fn a_panic_leaves_the_alarm() {
        let alarm = Alarm::new(Cancel::default(), Duration::ZERO);
        let panics =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| within(&alarm, || panic!("as it should"))));
        assert!(panics.is_err() && !rings());
    }
}
