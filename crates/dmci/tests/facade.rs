//! Every public type of the crate has an example that checks something.

use std::path::Path;

/// The doc comment right before a line of a file, and the names that a `pub use` line gives.
fn docs_before(lines: &[&str], at: usize) -> String {
    let above = lines[..at].iter().rev().take_while(|l| l.starts_with("///") || l.starts_with("#["));
    let mut docs: Vec<&str> = above.copied().filter(|l| l.starts_with("///")).collect();
    docs.reverse();
    docs.join("\n")
}

/// The index of the crate shows the first line.
fn has_example(docs: &str) -> bool {
    docs.contains("\n/// ```") && docs.contains("assert")
}

/// The names that a line makes public: `pub use a::{B, C};`.
fn names(line: &str) -> Vec<&str> {
    let Some(path) = line.strip_prefix("pub use ").and_then(|l| l.strip_suffix(';')) else { return Vec::new() };
    let last = path.rsplit_once("::").map_or(path, |(_, last)| last);
    let list = path.split_once('{').map_or(last, |(_, list)| list.trim_end_matches('}'));
    list.split(", ").filter(|name| name.starts_with(char::is_uppercase)).collect()
}

fn sources(folder: &Path, all: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("the crate is here") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            sources(&path, all);
        } else {
            all.push(std::fs::read_to_string(path).expect("a text"));
        }
    }
}

#[test]
fn every_public_type_has_an_example() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&source, &mut files);
    let defined_with_example = |name: &str| {
        files.iter().any(|file| {
            let lines: Vec<&str> = file.lines().collect();
            let is_definition = |line: &str| {
                let after = ["pub struct ", "pub enum ", "pub type ", "pub trait "]
                    .iter()
                    .find_map(|start| line.strip_prefix(start)?.strip_prefix(name));
                after.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
            };
            lines.iter().position(|l| is_definition(l)).is_some_and(|at| has_example(&docs_before(&lines, at)))
        })
    };
    let facade = std::fs::read_to_string(source.join("lib.rs")).unwrap();
    let lines: Vec<&str> = facade.lines().collect();
    let (mut seen, mut without) = (0, Vec::new());
    for (at, line) in lines.iter().enumerate() {
        for name in names(line) {
            seen += 1;
            if !has_example(&docs_before(&lines, at)) && !defined_with_example(name) {
                without.push(name);
            }
        }
    }
    assert!(seen > 40, "only {seen} names were found");
    assert!(without.is_empty(), "without an example: {without:?}");
    assert!(!defined_with_example("Readme"), "what has no example is found");
}
