//! Generated programs give the same in every mode: value to the last bit, output, error, place.

#![allow(clippy::unwrap_used)]

use dmci::{Datum, Mode};
use dmci_fuzz::agree::{self, Seen, Ways};
use dmci_fuzz::is_long;
use dmci_fuzz::shrink;
use dmci_generate::language::{self, Options};
use dmci_generate::sexp::{Sexp, text_of};
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// One program in this many is also run by the evaluator on itself and in a tiny heap.
const ALL_WAYS_EVERY: u64 = 25;
/// Failures reported before we give up.
const MAX_FAILURES: usize = 5;

/// Where seeds start: another number in `DMCI_PROPERTY_SEED` tries other programs.
fn first_seed() -> u64 {
    std::env::var("DMCI_PROPERTY_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0)
}

/// Runs `check` on `count` seeds on both cores; collects what it says is wrong.
fn for_seeds(count: u64, check: impl Fn(u64) -> Option<String> + Sync) -> Vec<String> {
    let first = first_seed();
    let next = AtomicU64::new(first);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count
                        || failures.lock().expect("no thread panics with the lock").len() >= MAX_FAILURES
                    {
                        return;
                    }
                    if let Some(failure) = check(seed) {
                        println!("{failure}");
                        failures.lock().expect("no thread panics with the lock").push(failure);
                    }
                }
            });
        }
    });
    failures.into_inner().expect("no thread panics with the lock")
}

/// What is wrong with a program, made small.
fn explain(seed: u64, forms: Vec<Sexp>, ways: Ways, bindings: &dmci::Bindings) -> String {
    let fails = |forms: &[Sexp]| agree::check(&text_of(forms), ways, agree::small_limits(), bindings).err();
    let small = shrink::shrink(forms, 1000, |forms| fails(forms).is_some());
    let disagreement = fails(&small).map_or(String::new(), |d| d.to_string());
    format!("seed {seed}:\n{}{disagreement}", text_of(&small))
}

#[test]
fn generated_programs_agree_in_all_modes() {
    let count = if is_long() { 100_000 } else { 15_000 };
    let (values, errors, limits) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let failures = for_seeds(count, |seed| {
        let depth = 3 + seed as usize % 3;
        let fault_every = if seed % 2 == 0 { 0 } else { 120 };
        let options = Options { fault_every, depth, ..Options::default() };
        let forms = language::program(seed, &options);
        let ways = if seed % ALL_WAYS_EVERY == 0 { Ways::All } else { Ways::Both };
        match agree::check(&text_of(&forms), ways, agree::small_limits(), &Vec::new()) {
            Ok(Seen::Value { .. }) => values.fetch_add(1, Ordering::Relaxed),
            Ok(Seen::Error { .. }) => errors.fetch_add(1, Ordering::Relaxed),
            Ok(Seen::Limit) => limits.fetch_add(1, Ordering::Relaxed),
            Err(_) => return Some(explain(seed, forms, ways, &Vec::new())),
        };
        None
    });
    let (values, errors, limits) = (values.into_inner(), errors.into_inner(), limits.into_inner());
    println!(
        "{count} programs, one in {ALL_WAYS_EVERY} in tower:2 and a tiny heap: {values} values, {errors} errors, {limits} stopped"
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    // If most programs fail, little is tested.
    assert!(values > count / 2 && errors > count / 20 && limits < count / 50);
}

#[test]
fn generated_programs_with_inputs_agree_in_all_modes() {
    let inputs: Vec<String> = ["a", "b", "c"].map(String::from).into();
    let options = Options { inputs: inputs.clone(), depth: 3, ..Options::default() };
    let failures = for_seeds(if is_long() { 20_000 } else { 1_000 }, |seed| {
        let forms = language::program(seed, &options);
        let bindings =
            inputs.iter().enumerate().map(|(i, n)| (n.clone(), Datum::Real(seed as f64 / 7.0 - i as f64))).collect();
        let failed = agree::check(&text_of(&forms), Ways::Both, agree::small_limits(), &bindings).is_err();
        failed.then(|| explain(seed, forms, Ways::Both, &bindings))
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Written values and outputs of programs in the common subset, against Guile in one process.
#[test]
fn portable_programs_give_what_guile_gives() {
    if !is_long() {
        println!("skipped: set DMCI_LONG=1 to compare with Guile");
        return;
    }
    let options = Options { portable: true, fault_every: 0, ..Options::default() };
    let mut programs = Vec::new();
    for seed in 0..4000 {
        let text = language::program_text(seed, &options);
        // Guile leaves and enters winders once too often when a continuation is used inside, and
        // passes what is raised in a guard inside of a handler to the handler outside.
        let has = |word: &str| text.contains(word);
        if has("dynamic-wind") && has("call/cc") || has("with-exception-handler") && has("guard") {
            continue;
        }
        if let Seen::Value { text: value, output, .. } =
            agree::observe(&text, Mode::Direct, agree::small_limits(), &Vec::new())
        {
            programs.push((seed, text, value, output));
        }
    }
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("portable-programs.scm");
    let mut all = String::new();
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    for (_, text, value, output) in &programs {
        writeln!(all, "({} {} {})", quoted(value), quoted(output), text.trim()).unwrap();
    }
    std::fs::write(&file, all).unwrap();
    let driver = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guile.scm");
    let run = std::process::Command::new("guile")
        .args(["--r7rs", "-q", "--no-auto-compile", "-s", driver])
        .arg(&file)
        .output();
    let Ok(run) = run else {
        println!("skipped: guile is not installed");
        return;
    };
    let answers = String::from_utf8_lossy(&run.stdout).into_owned();
    let mut answers = answers.split('\u{1}').filter(|a| !a.trim().is_empty());
    let mut wrong = Vec::new();
    for (seed, text, value, output) in &programs {
        let theirs = answers.next().unwrap_or("nothing");
        if theirs != "same" {
            wrong.push(format!("seed {seed}\n{text}ours   {output}|{value}\nguile  {theirs}\n"));
        }
    }
    println!("{} programs compared with Guile, {} differ", programs.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong[..wrong.len().min(8)].join("\n"));
}
