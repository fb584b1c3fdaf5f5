//! The memory of the command: everything that it takes is counted, and limited by `--heap`.

use crate::output;
use dmci::{Diagnostic, ErrorCode, Limits, Report};
use dmci_limits::memory::{self, Counting};
use std::io::Write;
use std::sync::OnceLock;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What the command takes beside its data: code, tables of the system, stacks.
const BESIDE: usize = 20 << 20;

/// What is said if there is no memory left, made beforehand: on standard error, or as JSON on standard output.
static MESSAGE: OnceLock<(String, bool)> = OnceLock::new();

/// Sets the limit of the command.
pub fn limit(heap: usize) {
    memory::limit_process(heap);
    if MESSAGE.get().is_some() {
        memory::end_beyond(heap.saturating_add(heap / 10 * 3).saturating_add(BESIDE), exhausted);
    }
}

/// Limits a command that has nothing to lose but what it is doing: should nobody notice in time that there is no memory
/// left, it ends at once.
pub fn limit_command() {
    let json = std::env::args_os().any(|arg| arg == "--json");
    let report = error();
    let text = match json {
        true => format!("{}\n", serde_json::json!({"error": output::to_json(&report)})),
        false => report.spelled(dmci::Spelling::Flag).render(false),
    };
    let _ = MESSAGE.set((text, json));
    limit(Limits::default().heap);
}

/// The error of a command that needs more than it may take.
fn error() -> Report {
    let message = "the command needs more memory than it may take";
    let error = Diagnostic::error(ErrorCode::E0402, message);
    Report::from(error.help("raise the limit with ‹heap›, or give it less to do"))
}

/// Fails if another `bytes` bytes would exceed the limit.
pub fn ensure(bytes: usize) -> Result<(), Report> {
    if memory::allows(bytes) { Ok(()) } else { Err(error()) }
}

/// Ends the command. Nothing here asks for memory.
fn exhausted() -> ! {
    if let Some((text, json)) = MESSAGE.get() {
        let _ = match json {
            true => std::io::stdout().write_all(text.as_bytes()),
            false => std::io::stderr().write_all(text.as_bytes()),
        };
    }
    std::process::exit(3)
}
