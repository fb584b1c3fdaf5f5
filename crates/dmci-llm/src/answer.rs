//! The programs in an answer. Models wrap them in chatter, fences, thoughts and JSON, write Python or formulas instead,
//! lose parentheses, and are cut off; all of that is read here, without any idea of what a program means.

mod blocks;
mod edits;
mod infix;
mod latex;
mod python;
mod scheme;
mod tokens;

use serde_json::Value;

/// What is known about the question.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hints<'a> {
    /// The names of the inputs: other names in formulas are parameters.
    pub inputs: &'a [String],
    /// The programs that edits may change.
    pub parents: &'a [String],
}

/// How a program was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// As a program.
    Whole,
    /// As edits of a parent.
    Edit,
    /// As Python or a formula.
    Translated,
}

/// A program in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its text.
    pub program: String,
    /// How it was written.
    pub form: Form,
    /// What was changed to make it one, if anything.
    pub note: Option<String>,
}

/// What an answer holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The programs, in the order in which they stand there, each once.
    pub programs: Vec<Found>,
    /// What looked like a program and is none: sentences that a model can act on.
    pub problems: Vec<String>,
}

/// Programs that are taken from one answer.
pub const MOST: usize = 64;

/// Bytes of an answer that are looked at.
const LONGEST: usize = 1 << 20;

/// Finds the programs in an answer.
pub fn read(text: &str, hints: &Hints<'_>) -> Reading {
    let text = &text[..text.floor_char_boundary(LONGEST)];
    let mut reading = Reading::default();
    let text = text.replace("\r\n", "\n");
    let text = match blocks::without_thoughts(&text) {
        Some(text) => text,
        None => {
            reading.problems.push("the answer ended inside of its thoughts; think less or answer first".into());
            return reading;
        }
    };
    let rest = edits::read(&text, hints, &mut reading);
    read_text(&rest, hints, &mut reading, 0);
    if reading.programs.is_empty() && reading.problems.is_empty() {
        reading.problems.push("no program was found; write each one in a ```scheme block".into());
    }
    reading
}

/// Reads fences, or if they have no program, everything.
fn read_text(text: &str, hints: &Hints<'_>, reading: &mut Reading, depth: usize) {
    if json(text, hints, reading, depth) {
        return;
    }
    let before = reading.programs.len();
    let mut scheme = scheme::Collector::default();
    for block in blocks::fences(text) {
        read_block(&block, hints, reading, &mut scheme, depth);
    }
    scheme.end(hints, reading);
    if reading.programs.len() == before {
        let plain = blocks::outside(text);
        scheme.read(&plain, scheme::Place::Prose, reading);
        scheme.end(hints, reading);
    }
    if reading.programs.len() == before {
        for line in blocks::outside(text).lines() {
            infix::read_line(line, hints, reading);
        }
    }
}

fn read_block(
    block: &blocks::Block<'_>,
    hints: &Hints<'_>,
    reading: &mut Reading,
    scheme: &mut scheme::Collector,
    depth: usize,
) {
    let place = if block.closed { scheme::Place::Fence } else { scheme::Place::Cut };
    let text = block.text;
    match block.language() {
        blocks::Language::Scheme => scheme.read(text, place, reading),
        blocks::Language::Python => {
            scheme.end(hints, reading);
            if block.closed {
                python::read(text, hints, reading);
            } else {
                reading.problems.push("the answer was cut inside of a program; write shorter ones".into());
            }
        }
        blocks::Language::Json => {
            scheme.end(hints, reading);
            if !json(text, hints, reading, depth) {
                reading.problems.push("a block of JSON cannot be read: it was cut or is not JSON".into());
            }
        }
        blocks::Language::Formula => {
            scheme.end(hints, reading);
            for line in latex::lines(text) {
                infix::read_line(&line, hints, reading);
            }
        }
    }
}

/// Reads an answer that is JSON: strings under the names that the schema has, or others that models like.
fn json(text: &str, hints: &Hints<'_>, reading: &mut Reading, depth: usize) -> bool {
    let text = text.trim();
    if !text.starts_with(['{', '[']) || depth > 2 {
        return false;
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else { return false };
    let mut found = Vec::new();
    strings(&value, value.is_array(), &mut found);
    for text in &found {
        let before = reading.programs.len();
        let mut scheme = scheme::Collector::default();
        if text.contains("```") {
            read_text(text, hints, reading, depth + 1);
        } else {
            scheme.read(text, scheme::Place::Fence, reading);
            scheme.end(hints, reading);
        }
        if reading.programs.len() == before {
            python::read(text, hints, reading);
        }
        if reading.programs.len() == before {
            infix::read_line(text, hints, reading);
        }
    }
    !found.is_empty()
}

fn strings(value: &Value, wanted: bool, found: &mut Vec<String>) {
    const NAMES: [&str; 12] = [
        "program",
        "programs",
        "candidate",
        "candidates",
        "code",
        "scheme",
        "expression",
        "expressions",
        "model",
        "models",
        "proposals",
        "formula",
    ];
    match value {
        Value::String(text) if wanted => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, wanted, found)),
        Value::Object(table) => table
            .iter()
            .for_each(|(name, item)| strings(item, NAMES.contains(&name.to_ascii_lowercase().as_str()), found)),
        _ => {}
    }
}

impl Reading {
    /// Adds a program, unless it is there or there are too many.
    fn add(&mut self, program: String, form: Form, note: Option<String>) {
        let program = program.trim().to_string();
        let same = |p: &Found| p.program.split_whitespace().eq(program.split_whitespace());
        if self.programs.len() < MOST && !program.is_empty() && !self.programs.iter().any(same) {
            self.programs.push(Found { program, form, note });
        }
    }
}
