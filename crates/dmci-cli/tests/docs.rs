//! The console blocks of the README and of `docs/` show what the command really prints.

mod support;

use std::path::{Path, PathBuf};
use support::{Workspace, dmci, split};

/// The commands of a page, each with what the page says it prints.
fn sessions(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            found.push((command.to_string(), String::new()));
        } else if inside && let Some((_, output)) = found.last_mut() {
            output.push_str(line);
            output.push('\n');
        }
    }
    found
}

/// Copies the examples, so that commands can name them and write beside them.
fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("examples are there").filter_map(Result::ok) {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_folder(&entry.path(), &target),
            false => std::fs::copy(entry.path(), target).map(|_| ()).expect("a copy"),
        }
    }
}

/// The text with the time that a command took, at the end of a line, made the same always.
fn without_times(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once("; ") {
        Some((head, time)) if time.strip_suffix(" s").is_some_and(|t| t.parse::<f64>().is_ok()) => {
            format!("{head}; _ s\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn console_blocks_show_what_the_command_prints() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    let docs = std::fs::read_dir(root.join("docs")).expect("docs/ is there");
    pages.extend(docs.filter_map(|e| e.ok().map(|e| e.path())).filter(|p| p.extension() == Some("md".as_ref())));
    let space = Workspace::new("docs");
    copy_folder(&root.join("examples"), &space.path().join("examples"));
    let mut count = 0;
    let mut wrong = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page is text");
        for (command, expected) in sessions(&text) {
            let line = command.replace("cargo run --release -p dmci-cli --", "dmci");
            let Some(rest) = line.strip_prefix("dmci ") else { continue };
            let words = split(rest);
            let ran = dmci(&words.iter().map(String::as_str).collect::<Vec<_>>(), "", space.path());
            let got = ran.stdout + &ran.stderr;
            if without_times(&got) != without_times(&expected) {
                wrong.push(format!("{}: $ {command}\n--- shown\n{expected}--- real\n{got}", page.display()));
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 5, "the commands are not found");
}
