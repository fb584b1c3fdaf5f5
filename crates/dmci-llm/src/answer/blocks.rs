//! The parts of an answer: thoughts, fences, and the text around them.

/// A fenced block.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    tag: &'a str,
    pub text: &'a str,
    /// Whether its end was there.
    pub closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Scheme,
    Python,
    Json,
    Formula,
}

impl Block<'_> {
    /// The language by the tag, or by what is inside where there is no tag or a wrong one.
    pub fn language(&self) -> Language {
        let inside = self.text.trim_start();
        if inside.starts_with('(') && scheme_like(inside) || inside.starts_with(';') {
            return Language::Scheme;
        }
        match self.tag {
            "json" => return Language::Json,
            "latex" | "tex" | "math" | "katex" => return Language::Formula,
            "scheme" | "lisp" | "racket" | "clojure" | "scm" | "guile" | "dmci" | "elisp" => return Language::Scheme,
            "python" | "py" | "python3" => return Language::Python,
            _ => {}
        }
        if inside.starts_with(['{', '[']) && serde_json::from_str::<serde_json::Value>(inside).is_ok() {
            return Language::Json;
        }
        let word = |w: &str| inside.lines().any(|line| line.trim_start().starts_with(w));
        if word("def ") || word("return ") || word("import ") {
            return Language::Python;
        }
        if inside.contains("(params") { Language::Scheme } else { Language::Formula }
    }
}

/// Whether a text that begins with a parenthesis is a form rather than a formula: `(a + b) * x` has its operator inside.
fn scheme_like(text: &str) -> bool {
    let head = text[1..].trim_start().split([' ', '\n', '\t', '(', ')']).next().unwrap_or("");
    super::scheme::is_head(head) || matches!(head, "program" | "model" | "candidate")
}

/// The fenced blocks, with three or more backticks or tildes.
pub fn fences(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<(char, usize, &str, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = mark.map_or(0, |m| trimmed.chars().take_while(|c| *c == m).count());
        match (open, mark) {
            (None, Some(mark)) if length >= 3 => {
                let tag = trimmed[length..].trim();
                // A whole block on one line.
                if let Some(inside) = tag.strip_suffix(&*mark.to_string().repeat(length)) {
                    let (tag, inside) = inside.split_once(' ').filter(|(t, _)| is_tag(t)).unwrap_or(("", inside));
                    blocks.push(Block { tag, text: inside, closed: true });
                } else {
                    let tag = tag.split([' ', '{', ':']).next().unwrap_or("");
                    open = Some((mark, length, tag, at + line.len()));
                }
            }
            (Some((opened, least, tag, from)), Some(mark)) if mark == opened && length >= least => {
                if trimmed.len() == length {
                    blocks.push(Block { tag, text: &text[from..at], closed: true });
                    open = None;
                } else if is_tag(trimmed[length..].trim()) {
                    // The end of a block was forgotten: another one begins.
                    blocks.push(Block { tag, text: &text[from..at], closed: true });
                    open = Some((mark, length, trimmed[length..].trim(), at + line.len()));
                }
            }
            (Some((opened, least, tag, from)), _) => {
                // The end of a block on the last line of its program.
                let end = opened.to_string().repeat(least);
                if let Some(last) = line.trim_end().strip_suffix(&end)
                    && !last.trim().is_empty()
                {
                    blocks.push(Block { tag, text: &text[from..at + last.len()], closed: true });
                    open = None;
                }
            }
            _ => {}
        }
        at += line.len();
    }
    if let Some((_, _, tag, from)) = open {
        blocks.push(Block { tag, text: &text[from.min(text.len())..], closed: false });
    }
    blocks
}

fn is_tag(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+'))
}

/// The text without the lines that begin or end blocks.
pub fn outside(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("```") && !line.trim_start().starts_with("~~~")).fold(
        String::new(),
        |mut all, line| {
            all.push_str(line);
            all.push('\n');
            all
        },
    )
}

/// The answer without its thoughts; none if it ended inside of them.
pub fn without_thoughts(text: &str) -> Option<String> {
    const NAMES: [&str; 5] = ["think", "thinking", "thought", "reasoning", "scratchpad"];
    let mut text = text.to_string();
    // Channels of some open models: what counts is in the last one.
    for mark in ["<|channel|>final<|message|>", "<|start|>assistant<|channel|>final<|message|>"] {
        if let Some(at) = text.rfind(mark) {
            text = text[at + mark.len()..].to_string();
        }
    }
    for name in NAMES {
        let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
        loop {
            // ASCII letters alone change, so places stay.
            let lower = text.to_ascii_lowercase();
            match (lower.find(&begin), lower.find(&end)) {
                (Some(from), Some(to)) if from < to => text.replace_range(from..to + end.len(), "\n"),
                // The beginning belongs to the template of the chat.
                (_, Some(to)) => text.replace_range(..to + end.len(), "\n"),
                (Some(from), None) => {
                    text.truncate(from);
                    if text.trim().is_empty() {
                        return None;
                    }
                }
                (None, None) => break,
            }
        }
    }
    Some(text)
}
