//! Work in pieces that other threads help with.
//!
//! Whoever has the work begins at once, with the first pieces; helpers take the last ones, so from call to call each
//! finds most of its pieces in its own cache. A helper may sleep, and takes longer to wake than a short call to
//! end: one that has not begun by then is called off, and nobody waits for it.

use dmci_limits::Level;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Does the work on all pieces with up to so many helpers: how many of the pieces were done here, and in what time.
pub(crate) fn share<P, I>(helpers: usize, pieces: I, work: impl Fn(P) + Sync) -> (usize, Duration)
where
    I: DoubleEndedIterator<Item = P> + Send,
{
    let pieces = Mutex::new(pieces);
    let level = Level::current();
    let take = |next: fn(&mut I) -> Option<P>| next(&mut lock(&pieces));
    let all = || {
        while let Some(piece) = take(I::next_back) {
            work(piece);
        }
    };
    // SAFETY: whoever has the work waits for its helpers.
    let help = || unsafe { level.help(all) };
    let lead = || {
        let (start, mut done) = (Instant::now(), 0);
        while let Some(piece) = take(I::next) {
            work(piece);
            done += 1;
        }
        (done, start.elapsed())
    };
    if rayon::current_thread_index().is_none() {
        return helped(helpers, &help, lead);
    }
    // A thread of the pool has other things to do while it waits.
    rayon::scope(|scope| {
        (0..helpers).for_each(|_| scope.spawn(|_| help()));
        lead()
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Set once no helper may begin any more; below are those that have begun and not ended.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// How often to look whether helpers have ended before going to sleep: their last pieces are short.
const LOOKS: usize = 1000;

struct Job {
    state: AtomicUsize,
    /// Valid as long as the job is open or somebody works on it.
    help: *const (dyn Fn() + Sync),
    owner: Thread,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: what `help` points to may be called by all threads; the rest may be shared anyway.
unsafe impl Send for Job {}
// SAFETY: likewise.
unsafe impl Sync for Job {}

impl Job {
    /// What a helper does when it is awake.
    fn run(&self) {
        let open = |state| (state & CLOSED == 0).then_some(state + 1);
        if self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, open).is_err() {
            return;
        }
        // SAFETY: the job was open, and its owner waits until the number of helpers is zero.
        let help = unsafe { &*self.help };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(help)) {
            *lock(&self.panic) = Some(panic);
        }
        if self.state.fetch_sub(1, Ordering::Release) == CLOSED | 1 {
            self.owner.unpark();
        }
    }

    /// Lets no more helpers begin, and waits for those that have.
    fn close(&self) {
        self.state.fetch_or(CLOSED, Ordering::Relaxed);
        let mut looks = 0;
        while self.state.load(Ordering::Acquire) != CLOSED {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::park() }
        }
    }
}

/// Closes a job, whatever happens.
struct Closing<'a>(&'a Job);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Leads while threads of the pool help.
fn helped<R>(helpers: usize, help: &(dyn Fn() + Sync), lead: impl FnOnce() -> R) -> R {
    // SAFETY: only the lifetime changes; nobody uses it once the job is closed.
    let help = unsafe { std::mem::transmute::<*const (dyn Fn() + Sync + '_), *const (dyn Fn() + Sync)>(help) };
    let job = Job { state: AtomicUsize::new(0), help, owner: std::thread::current(), panic: Mutex::new(None) };
    let job = Arc::new(job);
    let closing = Closing(&job);
    for _ in 0..helpers {
        let job = job.clone();
        rayon::spawn(move || job.run());
    }
    let result = lead();
    drop(closing);
    if let Some(panic) = lock(&job.panic).take() {
        resume_unwind(panic);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_done_once() {
        for helpers in [0, 1, 5] {
            let mut numbers = vec![0u64; 1000];
            share(helpers, numbers.chunks_mut(7), |piece| piece.iter_mut().for_each(|x| *x += 1));
            assert!(numbers.iter().all(|&x| x == 1));
            // Inside of the pool too.
            rayon::join(
                || share(helpers, numbers.chunks_mut(13), |piece| piece.iter_mut().for_each(|x| *x += 1)),
                || (),
            );
            assert!(numbers.iter().all(|&x| x == 2));
        }
    }

    #[test]
    fn a_panic_of_a_helper_reaches_the_owner() {
        let owner = std::thread::current().id();
        let ended = catch_unwind(|| {
            share(1, 0..2, |_| match std::thread::current().id() == owner {
                true => std::thread::sleep(Duration::from_millis(200)),
                false => panic!("as it should"),
            })
        });
        assert!(ended.is_err());
    }

    #[test]
    fn helpers_that_come_late_find_the_job_closed() {
        for _ in 0..1000 {
            let done = AtomicUsize::new(0);
            share(3, 0..3, |_| {
                done.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(done.into_inner(), 3);
        }
    }
}
