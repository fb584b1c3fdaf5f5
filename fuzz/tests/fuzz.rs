//! Each fuzz target for a while, and all cases that were ever found.
//!
//! `DMCI_FUZZ_SECONDS` sets the time per target (20 by default, 600 with `DMCI_LONG=1`).

use dmci_fuzz::corpus;
use dmci_fuzz::is_long;
use dmci_fuzz::supervisor::{self, Campaign};
use dmci_fuzz::targets::Target;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_dmci-fuzz"))
}

fn fuzz(target: Target) {
    let seconds = std::env::var("DMCI_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    let seconds = seconds.unwrap_or(if is_long() { 600 } else { 20 });
    let keep = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("found");
    let campaign = Campaign { target, time: Duration::from_secs(seconds), seed: 7, keep, minimise: true };
    let summary = supervisor::run(program(), &campaign).expect("the fuzzer can be started");
    println!("{}: {} inputs in {seconds} s, {} findings", target.name(), summary.inputs, summary.findings.len());
    for finding in &summary.findings {
        println!("{}\n{}\n{}", finding.path.display(), finding.what, String::from_utf8_lossy(&finding.input));
    }
    assert!(summary.findings.is_empty(), "copy the found cases to fuzz/regressions/{} and fix them", target.name());
    assert!(summary.inputs > 100, "the fuzzer hardly ran");
}

#[test]
fn reader_survives_any_text() {
    fuzz(Target::Reader);
}

#[test]
fn expander_survives_any_datum() {
    fuzz(Target::Expander);
}

#[test]
fn compiler_survives_any_program() {
    fuzz(Target::Compiler);
}

#[test]
fn vm_survives_any_program_and_modes_agree() {
    fuzz(Target::Vm);
}

#[test]
fn loader_survives_any_file() {
    fuzz(Target::Ncg);
}

#[test]
fn found_cases_stay_fixed() {
    let mut count = 0;
    for (name, target) in Target::ALL {
        let extension = if target == Target::Ncg { "ncg" } else { "scm" };
        for path in corpus::files_under(&corpus::regressions().join(name), extension) {
            let bad = supervisor::replay(program(), target, &path).expect("the fuzzer can be started");
            assert!(bad.is_none(), "{}: {}", path.display(), bad.unwrap_or_default());
            count += 1;
        }
    }
    println!("{count} found cases replayed");
}
