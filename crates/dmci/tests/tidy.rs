//! Rules about the source itself.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All sources of the workspace and of the Python package.
fn sources() -> Vec<PathBuf> {
    let mut open: Vec<PathBuf> = ["crates", "fuzz", "bindings"].iter().map(|folder| root().join(folder)).collect();
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of sources").filter_map(Result::ok) {
            let (path, name) = (entry.path(), entry.file_name());
            // Build directories and environments of Python may lie inside.
            if path.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }
    found
}

fn is_test(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests") || path.file_name().is_some_and(|n| n == "tests.rs")
}

/// Lines that are not in tests at the end of a file.
fn lines(text: &str) -> usize {
    text.lines().take_while(|line| line.trim_end() != "#[cfg(test)]").count()
}

/// The most lines of a source, its tests aside.
const MOST: usize = 800;

#[test]
fn no_source_has_more_than_800_lines() {
    let sources = sources();
    assert!(sources.len() > 300, "{} sources were found", sources.len());
    let long = sources.iter().filter(|path| !is_test(path)).filter_map(|path| {
        let count = lines(&std::fs::read_to_string(path).expect("a source is text"));
        (count > MOST).then(|| format!("{}: {count} lines", path.display()))
    });
    let long: Vec<String> = long.collect();
    assert!(long.is_empty(), "split these by concept:\n{}", long.join("\n"));
}

/// Crates in which operations are known; others only use them.
const KNOWING: [&str; 7] = ["dmci-ops", "dmci-value", "dmci-tape", "dmci-exec", "dmci-vm", "dmci-emit", "dmci-compile"];

/// The recipe of CONTRIBUTING.md for a new operation names five sources. For operations that followed it, no other
/// source of these crates has their names.
#[test]
fn an_operation_is_known_to_at_most_five_sources() {
    let recipe = [
        "dmci-ops/src/table.rs",
        "dmci-ops/src/real/kernel/",
        "dmci-vm/src/prims/numbers.rs",
        "dmci-emit/src/c",
        "dmci-emit/src/python",
    ];
    let contributing = std::fs::read_to_string(root().join("CONTRIBUTING.md")).expect("the recipe");
    for part in recipe {
        assert!(contributing.contains(part), "the recipe does not name {part}");
    }
    for (variant, name) in [("Asinh", "asinh"), ("Acosh", "acosh"), ("Atanh", "atanh"), ("Erfc", "erfc")] {
        let names_it = |text: &str| {
            let code = text.lines().filter_map(|line| line.split("//").next());
            let mut words = code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
            words.any(|word| word == variant || word == name)
        };
        let knows = |path: &&PathBuf| {
            let in_crate = |c: &&str| path.starts_with(root().join("crates").join(c).join("src"));
            KNOWING.iter().any(in_crate) && !is_test(path)
        };
        let all = sources();
        let found: Vec<String> = all
            .iter()
            .filter(knows)
            .filter(|path| names_it(&std::fs::read_to_string(path).expect("a source is text")))
            .map(|path| path.display().to_string())
            .collect();
        assert!((2..=5).contains(&found.len()), "{name} is in {} sources:\n{}", found.len(), found.join("\n"));
        let stranger = found.iter().find(|path| !recipe.iter().any(|part| path.contains(part)));
        assert!(stranger.is_none(), "the recipe does not name {stranger:?}, which knows {name}");
    }
}

/// Front ends hold no defaults: a default is written once, where the setting is. Experiments repeat what was published.
#[test]
fn a_default_is_written_once() {
    for (setting, value) in [("rate", "0.05"), ("beta2", "0.999"), ("patience", "40")] {
        let has = |line: &str| {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
            !line.trim_start().starts_with("//") && line.contains(setting) && words.any(|word| word == value)
        };
        let mut found = Vec::new();
        for path in
            sources().iter().filter(|path| !is_test(path) && !path.starts_with(root().join("crates/dmci-repro")))
        {
            let text = std::fs::read_to_string(path).expect("a source is text");
            let lines: Vec<&str> = text.lines().take_while(|line| line.trim_end() != "#[cfg(test)]").collect();
            found.extend(lines.iter().filter(|line| has(line)).map(|line| format!("{}: {line}", path.display())));
        }
        assert_eq!(found.len(), 1, "{setting} {value} is written here:\n{}", found.join("\n"));
    }
}
