//! The console blocks of the README and of `docs/` show what the command really prints.

mod support;

use std::path::PathBuf;
use support::{dmci, split};

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

#[test]
fn console_blocks_show_what_the_command_prints() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    let docs = std::fs::read_dir(root.join("docs")).expect("docs/ is there");
    pages.extend(docs.filter_map(|e| e.ok().map(|e| e.path())).filter(|p| p.extension() == Some("md".as_ref())));
    let mut count = 0;
    let mut wrong = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page is text");
        for (command, expected) in sessions(&text) {
            let line = command.replace("cargo run --release -p dmci-cli --", "dmci");
            let Some(rest) = line.strip_prefix("dmci ") else { continue };
            let words = split(rest);
            let ran = dmci(&words.iter().map(String::as_str).collect::<Vec<_>>(), "", &root);
            let got = ran.stdout + &ran.stderr;
            if got != expected {
                wrong.push(format!("{}: $ {command}\n--- shown\n{expected}--- real\n{got}", page.display()));
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 5, "the commands are not found");
}
