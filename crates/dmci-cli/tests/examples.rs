//! The worked fits of `examples/fit`: each command of `commands.txt` runs, finds the numbers that made the data,
//! and draws the picture that is kept beside it. `DMCI_BLESS=1` draws the pictures anew.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use support::{Workspace, dmci};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folders and options of the examples.
fn commands() -> Vec<(String, Vec<String>)> {
    let text = std::fs::read_to_string(root().join("examples/fit/commands.txt")).unwrap();
    text.lines()
        .map(|line| {
            let mut words = line.split(' ').map(String::from);
            (words.next().unwrap(), words.collect())
        })
        .collect()
}

fn fit(name: &str, options: &[String], plot: &Path) -> Json {
    let folder = format!("examples/fit/{name}");
    let (model, data) = (format!("{folder}/model.scm"), format!("{folder}/data.csv"));
    let mut args = vec!["fit", &model, "--data", &data, "--json", "--plot", plot.to_str().unwrap()];
    args.extend(options.iter().map(String::as_str));
    let ran = dmci(&args, "", &root());
    assert_eq!(ran.code, 0, "{name}: {}{}", ran.stdout, ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// What made the data (`data.py`), and how far from it an estimate may be.
const TRUTH: &[(&str, &str, f64, f64)] = &[
    ("bounce", "gravity", 9.81, 0.1),
    ("decay", "half-life", 17.0, 2.0),
    ("decay", "background", 8.0, 3.0),
    ("dose-response", "ld50", 2.6, 0.5),
    ("predator-prey", "birth", 0.55, 0.05),
    ("predator-prey", "death", 0.84, 0.08),
    ("outbreak", "contact", 1.67, 0.15),
    ("outbreak", "recovery", 0.45, 0.05),
    ("pharmacokinetics", "absorption", 1.1, 0.25),
    ("random-walk", "wander", 0.25, 0.25),
    ("random-walk", "noise", 1.21, 0.5),
    ("battery", "knee", 0.62, 0.02),
    ("battery", "plunge", 1.4, 0.15),
    ("threshold", "threshold", 13.4, 0.3),
    ("threshold", "demand", 0.09, 0.005),
];

#[test]
fn every_example_finds_what_made_its_data_and_draws_its_picture() {
    let space = Workspace::new("examples");
    let commands = commands();
    assert!(commands.len() >= 10);
    for (name, options) in &commands {
        let plot = space.path().join(format!("{name}.svg"));
        let json = fit(name, options, &plot);
        for (_, parameter, truth, slack) in TRUTH.iter().filter(|t| t.0 == name) {
            let value = json["parameters"][parameter]["value"].as_f64().unwrap();
            assert!((value - truth).abs() < *slack, "{name}: {parameter} is {value}, expected {truth}");
        }
        let r2 = json["r2"].as_f64().unwrap();
        assert!(r2 > if name == "random-walk" { 0.5 } else { 0.9 }, "{name}: R2 {r2}");
        if name == "threshold" {
            assert!(json["optimizer"]["why"].as_str().unwrap().contains("only through decisions"));
        }
        let drawn = std::fs::read_to_string(&plot).unwrap();
        let kept = root().join(format!("examples/fit/{name}/fit.svg"));
        if std::env::var_os("DMCI_BLESS").is_some() {
            std::fs::write(&kept, &drawn).unwrap();
        }
        let kept = std::fs::read_to_string(kept).unwrap_or_default();
        assert!(kept == drawn, "the picture of {name} has changed: look at it, and draw it anew with DMCI_BLESS=1");
    }
}

#[test]
fn the_readme_of_the_examples_lists_them_all() {
    let readme = std::fs::read_to_string(root().join("examples/fit/README.md")).unwrap();
    for (name, options) in commands() {
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let line =
            format!("dmci fit examples/fit/{name}/model.scm --data examples/fit/{name}/data.csv {}", options.join(" "));
        assert!(readme.contains(&line) && readme.contains(&format!("({name}/fit.svg)")), "{line}");
    }
}
