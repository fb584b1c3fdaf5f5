//! How much memory the process holds, and how much the calls under way may take.
//!
//! A front end whose allocator is [`Counting`] knows what everything takes: heaps with both spaces of their collector, tapes,
//! plans, code, texts, tables. Every alarm rings when that is more than the [`Budget`]s of the calls under way allow. Who is
//! about to take much at once asks first ([`allows`]). Without that allocator nothing is counted here, and only what charges
//! a limit of its own is limited.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Bytes that were taken and not given back, but for what threads have not reported yet.
static HELD: AtomicIsize = AtomicIsize::new(0);
/// Bytes at which alarms ring.
static MOST: AtomicIsize = AtomicIsize::new(isize::MAX);
/// Bytes at which requests fail.
static LAST: AtomicIsize = AtomicIsize::new(isize::MAX);
/// Requests of at least so many bytes fail: a test of what happens then.
static REFUSED_FROM: AtomicUsize = AtomicUsize::new(usize::MAX);
/// What is called when a request fails.
static EXHAUSTED: OnceLock<fn() -> !> = OnceLock::new();
/// Calls under way.
static CALLS: Mutex<usize> = Mutex::new(0);

/// Bytes that a thread takes or gives back before it reports.
const UNREPORTED: isize = 1 << 16;

thread_local! {
    static PENDING: Cell<isize> = const { Cell::new(0) };
}

/// The allocator of the system, with a count of what it gave.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting;

/// What a request takes of the system's allocator: lengths are rounded up, and stand before what is given.
#[inline]
fn taken(bytes: usize) -> isize {
    (((bytes + 23) & !15).max(32)) as isize
}

#[inline]
fn count(bytes: isize) {
    let pending = PENDING.get() + bytes;
    if pending.abs() < UNREPORTED {
        PENDING.set(pending);
    } else {
        PENDING.set(0);
        HELD.fetch_add(pending, Ordering::Relaxed);
    }
}

/// Whether a request for so many more bytes is refused.
#[inline]
fn refuses(bytes: usize) -> bool {
    // Small requests are let through: there is always something to be said at the end.
    bytes >= 1 << 12
        && (bytes >= REFUSED_FROM.load(Ordering::Relaxed)
            || HELD.load(Ordering::Relaxed).saturating_add_unsigned(bytes) > LAST.load(Ordering::Relaxed))
}

/// Ends the process if that was asked for; otherwise whoever asked for memory has to live without.
#[cold]
fn failed() -> *mut u8 {
    match EXHAUSTED.get() {
        Some(end) => end(),
        None => std::ptr::null_mut(),
    }
}

// SAFETY: everything is passed on to the allocator of the system; what is counted changes nothing in it.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refuses(layout.size()) {
            return failed();
        }
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        let got = unsafe { System.alloc(layout) };
        if got.is_null() {
            return failed();
        }
        count(taken(layout.size()));
        got
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if refuses(layout.size()) {
            return failed();
        }
        // SAFETY: as for `alloc`.
        let got = unsafe { System.alloc_zeroed(layout) };
        if got.is_null() {
            return failed();
        }
        count(taken(layout.size()));
        got
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as for `alloc`.
        unsafe { System.dealloc(at, layout) };
        count(-taken(layout.size()));
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() && (refuses(size - layout.size()) || size >= REFUSED_FROM.load(Ordering::Relaxed)) {
            return failed();
        }
        // SAFETY: as for `alloc`.
        let got = unsafe { System.realloc(at, layout, size) };
        if got.is_null() {
            return failed();
        }
        count(taken(size) - taken(layout.size()));
        got
    }
}

/// Bytes that the process holds, as far as they are counted.
pub fn held() -> usize {
    usize::try_from(HELD.load(Ordering::Relaxed)).unwrap_or(0)
}

/// Whether the calls under way hold more than they may.
#[inline]
pub fn is_over() -> bool {
    HELD.load(Ordering::Relaxed) > MOST.load(Ordering::Relaxed)
}

/// Whether so many bytes more are within what the calls under way may take.
pub fn allows(bytes: usize) -> bool {
    HELD.load(Ordering::Relaxed).saturating_add_unsigned(bytes) <= MOST.load(Ordering::Relaxed)
}

/// Refuses requests beyond this many bytes, or those that the system cannot fulfil, by a call of `end`: for a process that
/// has nothing to lose but what it is doing.
pub fn end_beyond(bytes: usize, end: fn() -> !) {
    let _ = EXHAUSTED.set(end);
    LAST.store(isize::try_from(bytes).unwrap_or(isize::MAX), Ordering::Relaxed);
}

/// Lets all requests of at least so many bytes fail, so that tests see what happens then.
pub fn refuse_from(bytes: usize) {
    REFUSED_FROM.store(bytes, Ordering::Relaxed);
}

/// What is taken beside the data that a limit is about: what is small, and spaces that are about to be given back.
fn with_rest(heap: usize) -> isize {
    // So that the sum of many is a number, too.
    isize::try_from(heap).unwrap_or(isize::MAX).min(1 << 50) / 8 * 9 + (12 << 20)
}

/// What the whole process may take, for one that does only one thing.
pub fn limit_process(heap: usize) {
    MOST.store(with_rest(heap), Ordering::Relaxed);
}

/// What a call may take beyond what the process held before. Calls that are under way at the same time share the sum of
/// their budgets.
#[derive(Debug)]
pub struct Budget(isize);

impl Budget {
    /// A call begins that has a limit of so many bytes.
    pub fn new(heap: usize) -> Budget {
        let bytes = with_rest(heap);
        let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
        if *calls == 0 {
            MOST.store(HELD.load(Ordering::Relaxed).max(0), Ordering::Relaxed);
        }
        *calls += 1;
        MOST.fetch_add(bytes, Ordering::Relaxed);
        Budget(bytes)
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
        *calls -= 1;
        if *calls == 0 {
            MOST.store(isize::MAX, Ordering::Relaxed);
        } else {
            MOST.fetch_sub(self.0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_of_calls_add_up_and_end() {
        // What this process holds is not counted: its allocator is another one.
        assert!(allows(1 << 40) && !is_over());
        let one = Budget::new(100 << 20);
        assert!(allows(100 << 20) && !allows(130 << 20));
        let two = Budget::new(50 << 20);
        assert!(allows(150 << 20) && !allows(200 << 20));
        drop(one);
        assert!(allows(50 << 20) && !allows(80 << 20));
        HELD.fetch_add(80 << 20, Ordering::Relaxed);
        assert!(is_over());
        drop(two);
        assert!(!is_over() && allows(1 << 40));
        HELD.fetch_sub(80 << 20, Ordering::Relaxed);
    }

    #[test]
    fn large_requests_are_refused_if_a_test_wants_it() {
        let large = Layout::from_size_align(1 << 20, 8).expect("a layout");
        // SAFETY: the layout has a size, and what is given is given back.
        unsafe {
            let got = Counting.alloc(large);
            assert!(!got.is_null() && held() >= 1 << 20);
            refuse_from(1 << 20);
            assert!(Counting.alloc(large).is_null() && Counting.alloc_zeroed(large).is_null());
            assert!(Counting.realloc(got, large, 1 << 21).is_null());
            refuse_from(usize::MAX);
            Counting.dealloc(got, large);
        }
    }
}
