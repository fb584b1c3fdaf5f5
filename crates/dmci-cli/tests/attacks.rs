//! Hostile programs and files against every command: each one under `ulimit -v`, with its wall time and its peak resident
//! memory measured. A limit of time has to hold within 100 ms, resident memory is at most 1.3 times `--heap` plus 40 MB,
//! and nothing ends by a signal or with an internal error.
//!
//! A few run in every test run, all of them with `DMCI_LONG=1`; `--nocapture` prints how late each one is. On a busy machine a
//! command waits for a processor: the kernel counts for how long (`/proc/PID/task/*/schedstat`), and what it waited after
//! its time was over does not count. `DMCI_SLACK` is a factor for
//! slow machines, 1 if it is not set. Code that was not compiled with all optimisations, and shares its machine with other
//! tests, has a factor of 10.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

#[path = "attacks/list.rs"]
mod list;
mod support;

use list::{ATTACKS, Attack, files};
use std::collections::HashMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::{Workspace, split};

/// What a command may take beyond its limit.
const LATE: f64 = 0.1;

/// Whether other tests share the machine: then a command waits before its clock begins, too.
const IS_SHARED: bool = cfg!(debug_assertions);

/// Seconds after which a command counts as one that no limit stopped.
const LONGEST: f64 = 40.0;

/// What a command did.
struct Done {
    code: Option<i32>,
    seconds: f64,
    /// How long it went on behind its limit of time, without what its threads waited for a processor there.
    late: f64,
    /// What is not counted in that.
    waited: f64,
    resident: u64,
    errors: String,
}

fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// How long each thread waited for a processor so far, in seconds.
fn waits(id: u32) -> HashMap<String, f64> {
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let waits = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let nanoseconds: u64 = text.split(' ').nth(1)?.parse().ok()?;
        Some((thread.file_name().to_string_lossy().into_owned(), nanoseconds as f64 * 1e-9))
    });
    waits.collect()
}

/// Waits for a command to end, for at most this many seconds.
fn watch(mut child: Child, began: Instant, limit: f64) -> Done {
    let (mut resident, mut waited) = (0, 0.0f64);
    // What threads had waited when the time was over: earlier waits make nothing late.
    let mut before: Option<HashMap<String, f64>> = None;
    let code = loop {
        let text = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        resident = resident.max(kib(&text, "VmHWM:").unwrap_or(0) << 10);
        let seconds = began.elapsed().as_secs_f64();
        if seconds >= limit || IS_SHARED {
            let now = waits(child.id());
            let before = before.get_or_insert_with(|| if IS_SHARED { HashMap::new() } else { now.clone() });
            let since = now.iter().map(|(thread, wait)| wait - before.get(thread).unwrap_or(&0.0));
            waited = since.fold(waited, f64::max);
        }
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if seconds > LONGEST {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let seconds = began.elapsed().as_secs_f64();
    Done { code, seconds, late: seconds - limit - waited, waited, resident, errors: String::new() }
}

/// Runs a command with its address space limited to `address` KiB.
fn run(space: &Workspace, attack: &Attack, limit: f64, address: u64) -> Done {
    let mut command = Command::new("bash");
    let script = format!("ulimit -v {address}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_dmci")]).args(words(attack));
    command.current_dir(space.path()).env("HOME", space.path());
    let file = |name: &str| std::fs::File::create(space.path().join(name)).unwrap();
    space.write("input", attack.input);
    command.stdin(std::fs::File::open(space.path().join("input")).unwrap());
    command.stdout(Stdio::null()).stderr(file("errors"));
    let began = Instant::now();
    let mut done = watch(command.spawn().unwrap(), began, limit);
    let errors = std::fs::read(space.path().join("errors")).unwrap();
    done.errors = String::from_utf8_lossy(&errors[..errors.len().min(600)]).into_owned();
    done
}

fn words(attack: &Attack) -> Vec<String> {
    let mut words = split(attack.command);
    if attack.heap > 0 {
        words.extend(["--heap".into(), format!("{}M", attack.heap)]);
    }
    if attack.seconds > 0.0 && !attack.limit.is_empty() {
        words.extend([attack.limit.into(), attack.seconds.to_string()]);
    }
    words
}

/// A command may succeed, fail with an error, reject its arguments, meet a limit or be interrupted.
fn is_orderly(done: &Done) -> bool {
    matches!(done.code, Some(0..=3 | 130)) && !done.errors.contains("internal error")
}

/// Runs attacks; what escapes.
fn escapes<'a>(attacks: impl Iterator<Item = &'a Attack>, address: Option<u64>) -> Vec<String> {
    let slack: f64 = std::env::var("DMCI_SLACK").ok().and_then(|s| s.parse().ok()).unwrap_or(1.0);
    let slack = if cfg!(debug_assertions) { 10.0 * slack } else { slack };
    let mut escaped = Vec::new();
    for attack in attacks {
        let space = Workspace::new(&format!("attack-{}", attack.name));
        files(&space, attack);
        let limit = if attack.seconds > 0.0 { attack.times * attack.seconds } else { 20.0 };
        let done = run(&space, attack, limit, address.unwrap_or(16 << 20));
        let heap = if attack.heap > 0 { attack.heap } else { 1024 };
        let most = (heap << 20) * 13 / 10 + 40_000_000;
        let line = format!(
            "{:24} code {:?}  {:.3} s of {}, late {:.3} (waited {:.3})  {} MB of {}",
            attack.name,
            done.code,
            done.seconds,
            limit,
            done.late.max(0.0),
            done.waited,
            done.resident / 1_000_000,
            most / 1_000_000
        );
        println!("{line}");
        let held = address.is_some() || done.late < LATE * slack && done.resident < most;
        if !held || !is_orderly(&done) {
            escaped.push(format!("{line}\n{}", done.errors));
        }
    }
    escaped
}

fn is_long() -> bool {
    std::env::var_os("DMCI_LONG").is_some()
}

fn selected() -> impl Iterator<Item = &'static Attack> {
    let only = std::env::var("DMCI_ATTACK").unwrap_or_default();
    ATTACKS.iter().filter(move |attack| match only.is_empty() {
        true => attack.quick || is_long(),
        false => only.split(',').any(|name| name == attack.name),
    })
}

#[test]
fn no_attack_escapes_its_limits() {
    let escaped = escapes(selected(), None);
    assert!(escaped.is_empty(), "{}", escaped.join("\n"));
}

#[test]
fn no_attack_aborts_where_the_system_gives_little_memory() {
    if !is_long() {
        println!("skipped: DMCI_LONG is not set");
        return;
    }
    let escaped = escapes(selected(), Some(256 << 10));
    assert!(escaped.is_empty(), "{}", escaped.join("\n"));
}
