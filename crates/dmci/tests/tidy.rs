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
