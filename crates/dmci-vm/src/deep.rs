//! Work that recurses as deep as its input is nested, on a stack that is large enough.

use dmci_limits::Level;

/// Nesting that an ordinary stack holds with room to spare, in debug builds too.
const SHALLOW: usize = 150;

/// Runs `work`, whose recursion is bounded by `depth`, on this thread or on one with a large stack.
pub fn with_stack_for<T: Send>(depth: usize, work: impl FnOnce() -> T + Send) -> T {
    if depth <= SHALLOW {
        return work();
    }
    // Address space only: pages are used as far as the recursion really goes.
    let size = (depth * 16 * 1024).clamp(16 << 20, 1 << 30);
    let level = Level::current();
    std::thread::scope(|scope| {
        // SAFETY: this thread waits for the other one below.
        let work = move || unsafe { level.help(work) };
        let thread = std::thread::Builder::new().stack_size(size).spawn_scoped(scope, work);
        match thread.expect("the system can start a thread").join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
