//! The documentation tells the truth: the Scheme blocks of the README and of `docs/` are run in
//! direct and dmci mode, and the reference names everything that the system binds.
//!
//! In a block, a comment states what the forms above it do: `; => 42` is the value of the last one,
//! `; prints text` is what they print, `; error E0301` is how the last one fails. The forms of a
//! block are one program; a form that fails is left out of what follows. A block without such a
//! comment must run without an error.

mod common;

use common::{Complaints, options, root, run_with};
use dmci::{Interpreter, Mode, RunOptions, Session};
use std::collections::HashSet;
use std::path::PathBuf;

/// The README and all pages, with their texts.
fn pages() -> Vec<(String, String)> {
    let mut paths: Vec<PathBuf> = vec![root().join("README.md")];
    let folder = std::fs::read_dir(root().join("docs")).expect("docs/ is there");
    paths.extend(
        folder.filter_map(|entry| entry.ok().map(|e| e.path())).filter(|p| p.extension() == Some("md".as_ref())),
    );
    paths.sort();
    let page = |path: PathBuf| {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        (name, std::fs::read_to_string(&path).expect("a page is text"))
    };
    paths.into_iter().map(page).collect()
}

/// The blocks of a language, each with the number of its first line.
fn blocks(text: &str, language: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((i, line)) = lines.next() {
        if let Some(tag) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().map(|(_, l)| l).take_while(|l| *l != "```").collect();
            if tag == language {
                found.push((i + 2, body.join("\n")));
            }
        }
    }
    found
}

/// What a comment states.
enum Claim<'a> {
    Value(&'a str),
    Prints(&'a str),
    Error(&'a str),
}

/// The claim at the end of a line, and the line before it.
fn claim(line: &str) -> Option<(&str, Claim<'_>)> {
    let found = |mark: &str| line.rfind(mark).map(|at| (&line[..at], line[at + mark.len()..].trim()));
    let value = found("; => ").map(|(code, text)| (code, Claim::Value(text)));
    let prints = || found("; prints ").map(|(code, text)| (code, Claim::Prints(text)));
    let error = || found("; error ").map(|(code, text)| (code, Claim::Error(text)));
    value.or_else(prints).or_else(error)
}

/// Runs a block and checks its claims.
fn check_block(at: &str, block: &str, mode: &Mode, complaints: &mut Complaints) {
    let mut kept = String::new();
    let mut recent = String::new();
    let mut printed = 0;
    let mut claims = 0;
    for (i, line) in block.lines().enumerate() {
        let Some((code, claim)) = claim(line) else {
            recent += line;
            recent.push('\n');
            continue;
        };
        recent += code;
        recent.push('\n');
        claims += 1;
        let what = format!("{at}+{i} [{mode}] {}", line.trim());
        let result = run_with(&(kept.clone() + &recent), &options(mode));
        match (claim, result) {
            (Claim::Error(expected), Err(failure)) => {
                complaints.check(&what, failure.diagnostics.first().map_or("none", |d| d.code.as_str()), expected);
                recent.clear();
            }
            (Claim::Error(expected), Ok(outcome)) => {
                complaints.check(&what, &format!("the value {}", outcome.text), expected);
            }
            (_, Err(failure)) => complaints.add(format!("{what}\n{failure}")),
            (Claim::Value(expected), Ok(outcome)) => {
                complaints.check(&what, &outcome.text.replace('\n', " "), expected);
            }
            (Claim::Prints(expected), Ok(outcome)) => {
                let new = outcome.output.get(printed..).unwrap_or_default();
                complaints.check(&what, &new.trim_end().replace('\n', " / "), expected);
                printed = outcome.output.len();
            }
        }
        kept += &std::mem::take(&mut recent);
    }
    if (claims == 0 || !recent.trim().is_empty())
        && let Err(failure) = run_with(&(kept + &recent), &options(mode))
    {
        complaints.add(format!("{at} [{mode}]\n{failure}"));
    }
}

#[test]
fn the_scheme_blocks_of_the_documentation_are_right() {
    let mut complaints = Complaints::default();
    let mut count = 0;
    for (page, text) in pages() {
        for (line, block) in blocks(&text, "scheme") {
            count += 1;
            for mode in [Mode::Direct, Mode::Dmci] {
                check_block(&format!("{page}:{line}"), &block, &mode, &mut complaints);
            }
        }
    }
    println!("{count} blocks");
    assert!(count >= 9, "the blocks are not found");
    complaints.none();
}

/// What stands in single backquotes on a line.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The word that a code span such as `car` or `(car pair)` is about.
fn head(span: &str) -> &str {
    let word = span.trim_start_matches('(');
    word.split(|c: char| c.is_whitespace() || c == ')').next().unwrap_or_default()
}

/// What programs can use. The evaluator's own procedures are bound too, but are no part of the language;
/// `assert` and `hole` are keywords only at the head of a form, so they are not listed.
fn bound_names() -> HashSet<String> {
    let mut session = Session::new(Interpreter::shared(), RunOptions::default()).expect("a session starts");
    let names = session.names().into_iter().filter(|name| name != "evaluate-program");
    names.chain(["assert", "hole"].map(String::from)).collect()
}

#[test]
fn the_reference_names_everything_that_is_bound() {
    let text = std::fs::read_to_string(root().join("docs/reference.md")).expect("the reference is there");
    let documented: HashSet<&str> = text.lines().flat_map(code_spans).map(head).collect();
    let mut missing: Vec<String> =
        bound_names().into_iter().filter(|name| !documented.contains(name.as_str())).collect();
    missing.sort_unstable();
    assert!(missing.is_empty(), "{} names are not in docs/reference.md: {}", missing.len(), missing.join(" "));
}

/// The tables of special forms and procedures start their rows with names that exist.
#[test]
fn the_reference_names_only_what_is_bound() {
    let text = std::fs::read_to_string(root().join("docs/reference.md")).expect("the reference is there");
    let bound = bound_names();
    let mut wrong = Vec::new();
    let mut rows = 0;
    let mut inside = false;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            inside = ["Special forms", "Procedures"].contains(&title);
        }
        let cell = line.strip_prefix("| `").and_then(|row| row.split(" | ").next());
        if let Some(cell) = cell.filter(|_| inside) {
            rows += 1;
            let cell = format!("`{cell}");
            wrong.extend(code_spans(&cell).map(head).filter(|name| !bound.contains(*name)).map(String::from));
        }
    }
    assert!(rows > 50, "the tables are not found");
    assert!(wrong.is_empty(), "not bound: {}", wrong.join(" "));
}
