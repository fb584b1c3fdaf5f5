//! How deep a datum is nested, and room on the stack for deep ones.

use dmci_limits::Level;
use dmci_value::{Heap, Kind, Value};

/// Deepest nesting of forms that is expanded.
pub const MAX_DEPTH: usize = 10_000;

/// From this depth on the expander runs on a stack of its own, so that callers need no big one.
pub(super) const BIG_STACK_FROM: usize = 64;

/// Room for [`MAX_DEPTH`] levels in an unoptimised build. Only what is touched takes memory.
pub(super) const BIG_STACK: usize = 256 << 20;

/// Pairs and vectors looked at before the walk gives up on finding anything deeper.
const WALK: usize = 1 << 22;

/// How deep lists and vectors are nested in each other, up to one more than [`MAX_DEPTH`]. Safe on circular data.
pub fn nesting_depth(heap: &Heap, datum: Value) -> usize {
    let mut deepest = 0;
    let mut seen = 0;
    // What is still to be looked at, each with its depth: the rest of a list stays at its depth.
    let mut todo = vec![(datum, 0)];
    while let Some((mut v, depth)) = todo.pop() {
        while let Some((car, cdr)) = heap.uncons(v) {
            deepest = deepest.max(depth + 1);
            if car.as_ref().is_some() {
                todo.push((car, depth + 1));
            }
            v = cdr;
            seen += 1;
            if seen > WALK {
                return deepest;
            }
        }
        if let Some(r) = heap.as_kind(v, Kind::Vector) {
            deepest = deepest.max(depth + 1);
            seen += heap.len(r) + 1;
            todo.extend(heap.fields(r).filter(|item| item.as_ref().is_some()).map(|item| (item, depth + 1)));
        }
        if deepest > MAX_DEPTH || seen > WALK {
            return deepest.min(MAX_DEPTH + 1);
        }
    }
    deepest
}

/// Runs `f` on a big stack; `None` if there is no memory for one.
pub(super) fn on_big_stack<T: Send>(f: impl FnOnce() -> T + Send) -> Option<T> {
    let level = Level::current();
    std::thread::scope(|scope| {
        // SAFETY: this thread waits for the other one below.
        let f = move || unsafe { level.help(f) };
        let thread = std::thread::Builder::new().stack_size(BIG_STACK).spawn_scoped(scope, f).ok()?;
        match thread.join() {
            Ok(result) => Some(result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
