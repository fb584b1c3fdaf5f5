//! Entries from a terminal: line editing, history, completion.

use super::{Input, goes_on};
use crate::output;
use dmci::Session;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Helper};
use std::path::PathBuf;

/// A terminal with its history.
pub struct Editor {
    lines: rustyline::Editor<Names, DefaultHistory>,
    history: Option<PathBuf>,
}

impl Editor {
    /// The editor, or `None` if the terminal cannot do it.
    pub fn new(keep_history: bool) -> Option<Editor> {
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .auto_add_history(true)
            .max_history_size(10_000)
            .ok()?;
        let mut lines = rustyline::Editor::with_config(config.build()).ok()?;
        lines.set_helper(Some(Names::default()));
        let history = std::env::home_dir().filter(|_| keep_history).map(|home| home.join(".dmci_history"));
        if let Some(path) = &history {
            // There is none the first time.
            let _ = lines.load_history(path);
        }
        Some(Editor { lines, history })
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if let Some(path) = &self.history
            && let Err(error) = self.lines.append_history(path)
        {
            output::complain(&format!("the history was not saved in {}: {error}", path.display()));
        }
    }
}

impl Input for Editor {
    fn next(&mut self, session: &mut Session) -> Option<String> {
        if let Some(helper) = self.lines.helper_mut() {
            helper.names = session.names();
        }
        loop {
            match self.lines.readline("> ") {
                Ok(entry) => return Some(entry),
                Err(ReadlineError::Interrupted) => {}
                Err(_) => return None,
            }
        }
    }
}

#[derive(Default)]
struct Names {
    /// In order.
    names: Vec<String>,
}

impl Helper for Names {}

impl Highlighter for Names {}

impl Hinter for Names {
    type Hint = String;
}

impl Validator for Names {
    fn validate(&self, context: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        Ok(if goes_on(context.input()) { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Completer for Names {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, word) = word_before(line, at);
        Ok((start, completions(&self.names, word)))
    }
}

/// The name that ends at byte `at`, and where it starts.
fn word_before(line: &str, at: usize) -> (usize, &str) {
    let before = &line[..at];
    let start = before.rfind(|c: char| c.is_whitespace() || "()[]'`,\";".contains(c)).map_or(0, |i| i + 1);
    (start, &before[start..])
}

fn completions(names: &[String], word: &str) -> Vec<Pair> {
    if word.is_empty() {
        return Vec::new();
    }
    let first = names.partition_point(|name| name.as_str() < word);
    let matching = names[first..].iter().take_while(|name| name.starts_with(word));
    matching.map(|name| Pair { display: name.clone(), replacement: name.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_before_the_cursor_is_completed() {
        assert_eq!(word_before("(vector-r", 9), (1, "vector-r"));
        assert_eq!(word_before("(f '(a b", 8), (7, "b"));
        assert_eq!(word_before("x", 1), (0, "x"));
        let names: Vec<String> = ["car", "vector", "vector-ref", "zero?"].map(String::from).to_vec();
        let found: Vec<String> = completions(&names, "vec").into_iter().map(|p| p.replacement).collect();
        assert_eq!(found, ["vector", "vector-ref"]);
        assert!(completions(&names, "").is_empty());
    }
}
