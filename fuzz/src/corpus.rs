//! Texts to start from: the project's own programs and, where present, the shared corpus.

use std::path::{Path, PathBuf};

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Where found cases are kept.
pub fn regressions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions")
}

/// Longer files are cut into their top-level forms, so that a mutation matters.
const MAX_SEED: usize = 4000;

/// All seed texts, in a fixed order.
pub fn seeds() -> Vec<String> {
    let root = workspace();
    let mut texts = Vec::new();
    for folder in ["corpus", "examples", "crates/dmci/scheme", "fuzz/regressions"] {
        for path in files_under(&root.join(folder), "scm") {
            if let Ok(text) = std::fs::read_to_string(path) {
                texts.push(text);
            }
        }
    }
    let shared = std::env::var_os("DMCI_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    if let Ok(lines) = std::fs::read_to_string(shared.join("corpus.jsonl")) {
        for line in lines.lines() {
            let entry: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            if let Some(source) = entry.get("source").and_then(|s| s.as_str()) {
                texts.push(source.to_string());
            }
        }
    }
    texts.into_iter().flat_map(|text| cut(&text)).filter(|text| !text.trim().is_empty()).collect()
}

/// A text, or groups of its forms if it is long. A test of the conformance suite counts as its body.
fn cut(text: &str) -> Vec<String> {
    if text.len() <= MAX_SEED {
        return vec![text.to_string()];
    }
    let forms = dmci_generate::sexp::parse(text);
    let bodies = forms.iter().map(|form| match form.children() {
        [head, _, _, body @ ..] if head.to_string() == "test" => dmci_generate::sexp::text_of(body),
        _ => format!("{form}\n"),
    });
    bodies.collect()
}

/// Files with an extension below a folder, sorted.
pub fn files_under(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
