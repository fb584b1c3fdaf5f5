//! Every number of an experiment in the documents comes from a result file: blocks between
//! `<!-- result FILE PART -->` and `<!-- end -->` are made from it and compared. `DMCI_BLESS=1` writes them,
//! after it has made the tables of all result files again.
//! FILE is a path below `experiments`; PART is the name of a table, or `claims`. `<!-- result all claims -->` counts
//! the claims of all files.
#![allow(clippy::unwrap_used)]

use dmci_repro::EXPERIMENTS;
use dmci_repro::record::{Manifest, Record};
use dmci_repro::table::{Claim, Table, Verdict};
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- result ";
const END: &str = "<!-- end -->";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn documents() -> Vec<PathBuf> {
    let mut all = vec![root().join("README.md"), root().join("experiments/README.md")];
    let markdown = |path: &PathBuf| path.extension().is_some_and(|e| e == "md");
    for folder in ["docs", "docs/studies"] {
        all.extend(std::fs::read_dir(root().join(folder)).unwrap().map(|f| f.unwrap().path()).filter(markdown));
    }
    all.extend(EXPERIMENTS.iter().map(|(letter, _)| root().join(format!("experiments/{letter}/README.md"))));
    all.sort();
    all
}

fn record(path: &str) -> Record {
    let text = std::fs::read_to_string(root().join("experiments").join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "**does not hold**",
        Verdict::NotRun => "not run",
    }
}

fn markdown(table: &Table) -> String {
    let printed = table.print();
    // The title stands above a table that needs no other heading.
    match printed.split_once('\n') {
        Some(("", rest)) => rest.trim_start().to_string(),
        _ => printed,
    }
}

fn claims(record: &Record) -> String {
    let mut table = Table::new("claims", "", &["claim", "found", "verdict"]);
    for Claim { text, found, verdict } in &record.claims {
        table.row([text.replace('|', "\\|"), found.replace('|', "\\|"), word(*verdict).to_string()]);
    }
    let how = format!("`{}`, {:.0} s on {}.\n\n", record.provenance.command, record.seconds, record.provenance.machine);
    how + &markdown(&table)
}

/// All files: how many claims hold, and those that do not.
fn all_claims() -> String {
    let text = std::fs::read_to_string(root().join("experiments/manifest.json")).unwrap();
    let manifest: Manifest = serde_json::from_str(&text).unwrap();
    let mut table =
        Table::new("all", "", &["experiment", "precision", "claims that hold", "do not hold", "not run", "time"]);
    let mut failing = String::new();
    for entry in &manifest.files {
        let record = record(&entry.path);
        let count = |verdict: Verdict| record.claims.iter().filter(|c| c.verdict == verdict).count().to_string();
        table.row([
            record.experiment.to_uppercase(),
            if record.settings.single { "single" } else { "double" }.to_string(),
            count(Verdict::Holds),
            count(Verdict::Fails),
            count(Verdict::NotRun),
            format!("{:.0} s", record.seconds),
        ]);
        for claim in record.claims.iter().filter(|c| c.verdict == Verdict::Fails) {
            let letter = record.experiment.to_uppercase();
            failing += &format!("- {letter} does not hold: {}. Found: {}.\n", claim.text, claim.found);
        }
    }
    let rest = if failing.is_empty() { "Every claim holds.\n".to_string() } else { failing };
    format!("{}\n{rest}", markdown(&table))
}

fn block(what: &str) -> String {
    match what.split_whitespace().collect::<Vec<_>>()[..] {
        ["all", "claims"] => all_claims(),
        [path, "claims"] => claims(&record(path)),
        [path, part] => {
            let record = record(path);
            let table = record.tables.iter().find(|t| t.id == part);
            markdown(table.unwrap_or_else(|| panic!("{path} has no table {part}")))
        }
        _ => panic!("what is this: {what}?"),
    }
}

/// A document with its blocks made anew.
fn remade(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (what, after) = after.split_once(" -->").expect("the mark ends");
        let (_, after) = after.split_once(END).unwrap_or_else(|| panic!("the block {what} has no end"));
        out += &format!("{before}{BEGIN}{what} -->\n{}\n{END}", block(what).trim_end());
        rest = after;
    }
    out + rest
}

/// Makes tables and claims of all result files again, for a change of their words: what was measured stays.
fn renew() {
    let folder = root().join("experiments");
    let text = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    let mut manifest: Manifest = serde_json::from_str(&text).unwrap();
    for entry in &mut manifest.files {
        let mut record = record(&entry.path);
        let outcome = dmci_repro::rebuild(&record.experiment, &record.measured).unwrap();
        (record.tables, record.claims) = (outcome.tables, outcome.claims);
        let text = serde_json::to_string(&record).unwrap() + "\n";
        std::fs::write(folder.join(&entry.path), &text).unwrap();
        entry.hash = dmci_table::hash::of_text(&text);
        entry.tables = record.tables.iter().map(|t| t.id.clone()).collect();
        entry.figures = outcome.figures.iter().map(|f| f.id.clone()).collect();
    }
    std::fs::write(folder.join("manifest.json"), serde_json::to_string_pretty(&manifest).unwrap() + "\n").unwrap();
}

#[test]
fn documents_show_what_result_files_hold() {
    let bless = std::env::var_os("DMCI_BLESS").is_some();
    if bless {
        renew();
    }
    let mut wrong = Vec::new();
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        let new = remade(&text);
        if new == text {
            continue;
        }
        if bless {
            std::fs::write(&path, new).unwrap();
        } else {
            let lines = text.lines().zip(new.lines()).find(|(a, b)| a != b);
            wrong.push(format!("{}: {lines:?}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "DMCI_BLESS=1 writes what the result files give; these differ:\n{}", wrong.join("\n"));
}

/// Every experiment shows the claims of a whole run, not of a quick one.
#[test]
fn every_experiment_shows_its_claims() {
    for (letter, _) in EXPERIMENTS {
        let text = std::fs::read_to_string(root().join(format!("experiments/{letter}/README.md"))).unwrap();
        let mark = format!("{BEGIN}{letter}/results/{letter}-f64.json claims -->");
        assert!(text.contains(&mark), "experiments/{letter}/README.md has no {mark}");
        assert!(!record(&format!("{letter}/results/{letter}-f64.json")).settings.quick);
    }
}

/// A number that somebody changes by hand is seen.
#[test]
fn a_changed_number_is_seen() {
    let path = root().join("experiments/a/README.md");
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(remade(&text), text);
    let changed = text.replacen("60/60", "59/60", 1);
    assert!(changed != text && remade(&changed) != changed);
}
