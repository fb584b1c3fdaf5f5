//! R7RS section by section: `corpus/r7rs/*.scm`, each test a program of its own, directly and as data.
//!
//! `DMCI_BLESS=1 cargo test --test conformance` rewrites `docs/conformance.md`.

#![allow(clippy::unwrap_used)]

mod common;

use common::{options, root, run_with, summary};
use dmci::{Datum, Mode};
use dmci_value::{Heap, Origin, Value};
use std::fmt::Write as _;
use std::fs;

const MODES: [Mode; 2] = [Mode::Direct, Mode::Dmci];

/// Share of tests that must pass in every section and mode.
const REQUIRED: f64 = 0.95;

/// Tests that fail by design (see the deviations in `docs/reference.md`): shown, but not held
/// against their section.
const BY_DESIGN: &[&str] = &["current-second is a real after the year 2020"];

struct Test {
    name: String,
    /// `None`: an error is expected.
    expected: Option<Datum>,
    body: String,
}

struct Section {
    name: String,
    tests: Vec<Test>,
}

struct Failing {
    section: String,
    test: String,
    modes: Vec<String>,
    got: String,
}

/// The sections in the order of the report: numbers by value, not by digit.
fn sections() -> Vec<Section> {
    let folder = root().join("corpus/r7rs");
    let mut files: Vec<_> = fs::read_dir(&folder).expect("corpus/r7rs").map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "scm"));
    let key = |name: &str| -> Vec<u32> {
        let number = name.split('-').next().unwrap_or("");
        number.split('.').map(|part| part.parse().unwrap_or(u32::MAX)).collect()
    };
    let mut sections: Vec<Section> = files
        .iter()
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(path).unwrap();
            Section { tests: tests(&name, &text), name }
        })
        .collect();
    sections.sort_by(|a, b| (key(&a.name), &a.name).cmp(&(key(&b.name), &b.name)));
    sections
}

/// The tests of a file, with the bodies as they are written.
fn tests(name: &str, text: &str) -> Vec<Test> {
    let mut heap = Heap::new();
    let source = heap.sources.add(name, text, Origin::User);
    let forms = dmci_syntax::reader::read_all(&mut heap, source).unwrap_or_else(|e| panic!("{name}: {e:?}")).forms;
    heap.list_items(forms).unwrap().into_iter().map(|form| test(&heap, text, form)).collect()
}

fn test(heap: &Heap, text: &str, form: Value) -> Test {
    let items = heap.list_items(form).expect("a form");
    let kind = heap.symbols.name(items[0].as_symbol().expect("test or test-error"));
    let skip = match kind {
        "test" => 3,
        "test-error" => 2,
        _ => panic!("unknown form {kind}"),
    };
    let rest = (0..skip).fold(form, |list, _| heap.cdr(list).expect("a body"));
    let span = heap.pair_span(rest).expect("a place");
    let body = &text[span.car.0 as usize..span.form.1 as usize - 1];
    let expected = (skip == 3).then(|| Datum::from_value(heap, items[2], &|_| "something".into()));
    Test { name: heap.text(items[1]).expect("a name"), expected, body: body.to_string() }
}

/// Equal data, reals to the last bits but three; exact and inexact differ, NaN equals NaN.
fn same(a: &Datum, b: &Datum) -> bool {
    match (a, b) {
        (Datum::Real(x), Datum::Real(y)) => {
            x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= 1e-12 * x.abs().max(y.abs()) && x.is_finite()
        }
        (Datum::List(a, s), Datum::List(b, t)) => {
            all_same(a, b)
                && match (s, t) {
                    (Some(s), Some(t)) => same(s, t),
                    (None, None) => true,
                    _ => false,
                }
        }
        (Datum::Vector(a), Datum::Vector(b)) => all_same(a, b),
        _ => a == b,
    }
}

fn all_same(a: &[Datum], b: &[Datum]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

#[test]
fn every_section_conforms_in_both_modes() {
    let peers: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(root().join("corpus/r7rs/peers.json")).unwrap()).unwrap();
    let mut rows = Vec::new();
    let mut failing = Vec::new();
    let mut complaints = Vec::new();
    for section in sections() {
        let mut passed = [0; 2];
        for test in &section.tests {
            let results = MODES.map(|mode| run_with(&test.body, &options(&mode)));
            let summaries = [summary(&results[0]), summary(&results[1])];
            if summaries[0] != summaries[1] {
                complaints.push(format!(
                    "modes differ: {}: {}\n  {}\n  {}",
                    section.name, test.name, summaries[0], summaries[1]
                ));
            }
            let mut modes = Vec::new();
            for (i, result) in results.iter().enumerate() {
                let pass = match (&test.expected, result) {
                    (Some(expected), Ok(outcome)) => same(expected, &outcome.value),
                    (None, Err(_)) => true,
                    _ => false,
                };
                passed[i] += pass as usize;
                if !pass {
                    modes.push(MODES[i].to_string());
                }
            }
            if !modes.is_empty() {
                println!("fails in {}: {}: {}: {}", modes.join(", "), section.name, test.name, summaries[0]);
                let got = summaries[0].replace('\n', " ").trim_end_matches([' ', '|']).to_string();
                failing.push(Failing { section: section.name.clone(), test: test.name.clone(), modes, got });
            }
        }
        let total = section.tests.len();
        let by_design = section.tests.iter().filter(|t| BY_DESIGN.contains(&t.name.as_str())).count();
        for (mode, passed) in MODES.iter().zip(passed) {
            if (passed as f64) < REQUIRED * (total - by_design) as f64 {
                complaints.push(format!("{}: only {passed} of {total} in {mode}", section.name));
            }
        }
        rows.push((section.name, passed, total));
    }
    let page = page(&rows, &failing, &peers);
    let path = root().join("docs/conformance.md");
    if std::env::var_os("DMCI_BLESS").is_some() {
        fs::write(&path, page).unwrap();
    } else if fs::read_to_string(&path).unwrap_or_default() != page {
        complaints.push("docs/conformance.md is out of date: run DMCI_BLESS=1 cargo test --test conformance".into());
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

fn page(rows: &[(String, [usize; 2], usize)], failing: &[Failing], peers: &serde_json::Value) -> String {
    let mut page = String::from("# Conformance\n\n");
    let version = |peer: &str| peers["peers"][peer].as_str().unwrap_or("not run").to_string();
    page.push_str(
        "Results of our own tests, `corpus/r7rs/*.scm`, section by section of R7RS and of what goes beyond it, written by\n\
         `DMCI_BLESS=1 cargo test --test conformance`. The columns of the peers come from\n\
         `scripts/conformance-peers.sh`; a peer fails where it deviates from the text of R7RS, or where our\n\
         deviations (no exact rationals, for example) are tested.\n\n",
    );
    let _ = writeln!(
        page,
        "| section | tests | direct | dmci | Guile {} | MIT Scheme {} |",
        version("guile"),
        version("mit")
    );
    page.push_str("|---|--:|--:|--:|--:|--:|\n");
    let mut sums = [0; 5];
    for (name, passed, total) in rows {
        let peer = |peer: &str| peers["sections"][name][peer][0].as_u64().unwrap_or(0) as usize;
        let row = [*total, passed[0], passed[1], peer("guile"), peer("mit")];
        for (sum, n) in sums.iter_mut().zip(row) {
            *sum += n;
        }
        let _ = writeln!(page, "| {name} | {} | {} | {} | {} | {} |", row[0], row[1], row[2], row[3], row[4]);
    }
    let _ = writeln!(page, "| total | {} | {} | {} | {} | {} |", sums[0], sums[1], sums[2], sums[3], sums[4]);
    page.push_str("\n## Failing tests\n\n");
    if failing.is_empty() {
        page.push_str("None.\n");
    }
    for f in failing {
        let got: String = f.got.chars().take(100).collect();
        let why = if BY_DESIGN.contains(&f.test.as_str()) { ", by design" } else { "" };
        let _ = writeln!(page, "- {}: {} ({}{why}): {got}", f.section, f.test, f.modes.join(", "));
    }
    page
}

#[test]
fn names_of_tests_are_unique() {
    let mut names: Vec<String> = sections().into_iter().flat_map(|s| s.tests).map(|t| t.name).collect();
    names.sort();
    let repeated: Vec<_> = names.windows(2).filter(|w| w[0] == w[1]).map(|w| &w[0]).collect();
    assert!(repeated.is_empty(), "{repeated:?}");
}
