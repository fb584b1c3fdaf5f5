//! What the integration tests share: runs in every mode, and outcomes that can be compared.
#![allow(dead_code)] // every test file uses its own part

use dmci::{Cancel, Datum, Interpreter, Limits, Mode, Outcome, Program, Report, RunOptions};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The modes that must agree.
pub const MODES: [Mode; 3] = [Mode::Direct, Mode::Dmci, Mode::Tower(2)];

/// The modes that are fast enough for heavy work.
pub const FAST: [Mode; 2] = [Mode::Direct, Mode::Dmci];

/// Tests that measure time or memory run one after the other.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Numbers between 0 and 1, the same in every run.
pub fn uniform(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..n).map(|_| next()).collect()
}

/// The bits of numbers: what must be the same.
pub fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

/// Where two lists of numbers first differ in bits.
pub fn first_difference(a: &[f64], b: &[f64]) -> Option<usize> {
    let differs = a.iter().zip(b).position(|(x, y)| x.to_bits() != y.to_bits());
    differs.or((a.len() != b.len()).then_some(a.len().min(b.len())))
}

/// Options for a mode, with limits under which a wrong test does not stop the suite.
pub fn options(mode: &Mode) -> RunOptions {
    let limits = Limits { time: Duration::from_secs(120), heap: 512 << 20, ..Limits::default() };
    RunOptions { mode: mode.clone(), limits, ..RunOptions::default() }
}

pub fn run(text: &str, mode: &Mode) -> Result<Outcome, Report> {
    run_with(text, &options(mode))
}

pub fn run_with(text: &str, options: &RunOptions) -> Result<Outcome, Report> {
    Interpreter::shared().run(&Program::new(text), options)
}

/// The code of the first diagnostic and the text under its span.
pub fn code_and_text(failure: &Report) -> (String, String) {
    let code = failure.diagnostics.first().map_or("none", |d| d.code.as_str());
    let text = failure.source_text().map_or("<no span>", |(text, _)| text);
    (code.to_string(), text.to_string())
}

/// One line for a result: the value and the output, or code, message, span and output.
pub fn summary(result: &Result<Outcome, Report>) -> String {
    match result {
        Ok(outcome) => format!("{} | {}", outcome.text, outcome.output),
        Err(failure) => {
            let (code, text) = code_and_text(failure);
            let message = failure.diagnostics.first().map_or("", |d| &d.message);
            format!("{code} {message} @ {text} | {}", failure.output)
        }
    }
}

/// Collects what is wrong, so that one run of a table shows all of it.
#[derive(Default)]
pub struct Complaints(Vec<String>);

impl Complaints {
    pub fn add(&mut self, text: String) {
        self.0.push(text);
    }

    pub fn check(&mut self, what: &str, got: &str, expected: &str) {
        if got != expected {
            self.add(format!("{what}\n    expected {expected}\n    got      {got}"));
        }
    }

    #[track_caller]
    pub fn none(self) {
        assert!(self.0.is_empty(), "{} wrong:\n{}", self.0.len(), self.0.join("\n"));
    }
}

/// Checks that programs give these values, as `write` prints them, in every mode.
#[track_caller]
pub fn expect_values(table: &[(&str, &str)]) {
    let mut complaints = Complaints::default();
    for (text, expected) in table {
        for mode in &MODES {
            let result = run(text, mode);
            let got = result.as_ref().map_or_else(|_| summary(&result), |outcome| outcome.text.clone());
            complaints.check(&format!("[{mode}] {text}"), &got, expected);
        }
    }
    complaints.none();
}

/// Checks that programs print this in every mode.
#[track_caller]
pub fn expect_output(table: &[(&str, &str)]) {
    let mut complaints = Complaints::default();
    for (text, expected) in table {
        for mode in &MODES {
            let result = run(text, mode);
            let got = result.as_ref().map_or_else(|_| summary(&result), |outcome| outcome.output.clone());
            complaints.check(&format!("[{mode}] {text}"), &got, expected);
        }
    }
    complaints.none();
}

/// Checks that programs fail with this code at this text, and with the same message, in every mode.
#[track_caller]
pub fn expect_errors(table: &[(&str, &str, &str)]) {
    let mut complaints = Complaints::default();
    for (text, code, at) in table {
        let expected = format!("{code} @ {at}");
        let mut messages = Vec::new();
        for mode in &MODES {
            let result = run(text, mode);
            let got = match &result {
                Ok(outcome) => format!("the value {}", outcome.text),
                Err(failure) => {
                    messages.push(failure.diagnostics.first().map(|d| d.message.clone()).unwrap_or_default());
                    let (code, at) = code_and_text(failure);
                    format!("{code} @ {at}")
                }
            };
            complaints.check(&format!("[{mode}] {text}"), &got, &expected);
        }
        if messages.iter().any(|m| *m != messages[0]) {
            complaints.add(format!("messages differ between modes: {text}\n    {}", messages.join("\n    ")));
        }
    }
    complaints.none();
}

/// A flag that is raised by another thread after a while.
pub fn cancel_after(delay: Duration) -> Cancel {
    let cancel = Cancel::default();
    let flag = cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(delay);
        flag.cancel();
    });
    cancel
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of the shared data, or `None` with a message if it is not there.
pub fn shared(name: &str) -> Option<String> {
    let folder = std::env::var_os("DMCI_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    let path = folder.join(name);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        println!("skipped: {} is not there (set DMCI_SHARED)", path.display());
    }
    text
}

/// A binding of the corpus: JSON integers are exact, arrays are lists.
pub fn datum(json: &serde_json::Value) -> Datum {
    match json {
        serde_json::Value::Number(n) => n
            .as_i64()
            .map_or_else(|| Datum::Real(n.as_f64().expect("a JSON number is an integer or a real")), Datum::Integer),
        serde_json::Value::Array(items) => Datum::list(items.iter().map(datum).collect()),
        serde_json::Value::String(s) => Datum::String(s.clone()),
        serde_json::Value::Bool(b) => Datum::Bool(*b),
        other => panic!("no datum for {other}"),
    }
}
