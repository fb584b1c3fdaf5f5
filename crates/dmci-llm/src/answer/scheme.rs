//! Forms in parentheses, gathered to programs.

use super::{Form, Hints, Reading};

/// Where forms stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a block: everything in parentheses is meant.
    Fence,
    /// In a block that has no end.
    Cut,
    /// Between words: only what begins like a program is meant.
    Prose,
}

/// Programs under construction: a schema may stand in one block and its body in the next.
#[derive(Debug, Default)]
pub struct Collector {
    parts: Vec<String>,
    has_params: bool,
    has_body: bool,
    note: Option<String>,
    done: Vec<(String, Option<String>)>,
}

/// Heads with which a form in prose may begin.
pub fn is_head(head: &str) -> bool {
    const HEADS: [&str; 21] = [
        "params",
        "define",
        "let",
        "let*",
        "letrec",
        "if",
        "cond",
        "lambda",
        "do",
        "result",
        "begin",
        "case",
        "when",
        "import",
        "define-record-type",
        "define-values",
        "hole",
        "named-lambda",
        "define-syntax",
        "let-values",
        "and",
    ];
    HEADS.contains(&head) || is_arithmetic(head)
}

/// Operations whose operands are numbers.
pub fn is_arithmetic(head: &str) -> bool {
    const HEADS: [&str; 36] = [
        "+", "-", "*", "/", "exp", "log", "sqrt", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
        "tanh", "abs", "min", "max", "expt", "pow", "square", "cube", "sigmoid", "softplus", "erf", "log1p", "expm1",
        "floor", "round", "exp2", "log2", "log10", "logistic", "sign",
    ];
    HEADS.contains(&head)
}

/// Parentheses that a block may lack at its end.
const MOST_MISSING: usize = 8;

/// Nesting that is looked at.
const DEEPEST: usize = 2000;

impl Collector {
    /// Takes the forms of a text.
    pub fn read(&mut self, text: &str, place: Place, reading: &mut Reading) {
        for found in forms(text, place) {
            let mut form = found.text;
            if found.missing > 0 {
                if place == Place::Prose {
                    continue;
                }
                if place == Place::Cut && found.at_end || found.missing > MOST_MISSING {
                    reading.problems.push("the answer was cut inside of a program; write shorter ones".into());
                    // What was gathered for it goes with it.
                    self.parts.clear();
                    (self.has_params, self.has_body) = (false, false);
                    return;
                }
                form.push_str(&")".repeat(found.missing));
                self.note = Some(format!("added {} closing parentheses", found.missing));
            }
            self.take(form);
        }
    }

    fn take(&mut self, form: String) {
        let parts = children(&form);
        let head = parts.first().copied().unwrap_or("");
        // (program (params ...) body) and the like.
        if matches!(head, "program" | "model" | "candidate" | "begin" | "quote")
            && parts.iter().skip(1).take(2).any(|p| p.starts_with("(params"))
        {
            let inner: Vec<String> =
                parts[1..].iter().filter(|p| p.starts_with('(')).map(|p| (*p).to_string()).collect();
            self.flush();
            inner.into_iter().for_each(|part| self.take(part));
            return;
        }
        if head == "params" {
            if !self.parts.is_empty() {
                self.flush();
            }
            self.has_params = true;
        } else if head.starts_with("define") || head == "import" {
            if self.has_body {
                self.flush();
            }
        } else if head != "result" {
            if self.has_body {
                self.flush();
            }
            self.has_body = true;
        }
        self.parts.push(form);
    }

    fn flush(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        let only_params = self.has_params && parts.len() == 1;
        (self.has_params, self.has_body) = (false, false);
        let note = self.note.take();
        if !parts.is_empty() && !only_params {
            self.done.push((parts.join("\n"), note));
        }
    }

    /// Gives all programs to the reading.
    pub fn end(&mut self, hints: &Hints<'_>, reading: &mut Reading) {
        self.flush();
        for (program, note) in std::mem::take(&mut self.done) {
            let program = straightened(&program);
            let unwrapped = without_procedure(&program, hints).unwrap_or(program);
            match declared(&unwrapped, hints) {
                Some((program, names)) => {
                    let note = format!("declared the parameters {}", names.join(", "));
                    reading.add(program, Form::Whole, Some(note));
                }
                None => reading.add(unwrapped, Form::Whole, note),
            }
        }
    }
}

/// Brackets of other Lisps as parentheses; typographic quotes and minus signs as ASCII.
fn straightened(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_string = false;
    for c in text.chars() {
        if c == '"' {
            in_string = !in_string;
        }
        out.push(match c {
            '[' if !in_string => '(',
            ']' if !in_string => ')',
            '\u{2212}' if !in_string => '-',
            '\u{a0}' if !in_string => ' ',
            c => c,
        });
    }
    out
}

struct Scanned {
    text: String,
    /// Closing parentheses that it lacks.
    missing: usize,
    /// Whether it goes to the end of the text.
    at_end: bool,
}

/// The forms of a text. One that a new schema interrupts lacks its last parentheses.
fn forms(text: &str, place: Place) -> Vec<Scanned> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b';' if place != Place::Prose => at += line_length(&text[at..]),
            b'(' => {
                let near = &text[at + 1..text.floor_char_boundary(at + 65)];
                let head = near.split([' ', '\n', '\t', '(', ')', '[']).find(|w| !w.is_empty()).unwrap_or("");
                // exp(-(x / s)) is a formula.
                let is_call = at > 0 && bytes[at - 1].is_ascii_alphanumeric() && head != "params";
                if place == Place::Prose && (is_call || !is_head(head)) {
                    at += 1;
                    continue;
                }
                let (end, missing) = form_end(text, at);
                let form = &text[at..end];
                let meant = match head {
                    "params" => true,
                    // Words of English, too.
                    "if" | "do" | "let" | "case" | "when" | "and" | "begin" | "import" | "result" | "hole"
                    | "define" => form[1..].contains('('),
                    // (+ or - 0.1) is no sum.
                    _ => {
                        form.contains(' ')
                            && !children(form).iter().skip(1).any(|p| matches!(*p, "+" | "-" | "*" | "/"))
                    }
                };
                if place != Place::Prose || meant {
                    found.push(Scanned { text: form.trim_end().to_string(), missing, at_end: end == text.len() });
                    at = end.max(at + 1);
                } else {
                    at += 1;
                }
            }
            _ => at += 1,
        }
    }
    found
}

fn line_length(text: &str) -> usize {
    text.find('\n').map_or(text.len(), |n| n + 1)
}

/// Where the form that begins at `from` ends, and how many parentheses it lacks.
fn form_end(text: &str, from: usize) -> (usize, usize) {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, from);
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' => {
                // A schema at the beginning of a line belongs to another program.
                let line_begins = at > from && bytes[at - 1] == b'\n';
                if line_begins && text[at..].starts_with("(params") || depth > DEEPEST {
                    return (at, depth);
                }
                depth += 1;
            }
            b')' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return (at + 1, 0);
                }
            }
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            b';' => {
                at += line_length(&text[at..]);
                continue;
            }
            b'#' if text[at..].starts_with("#\\") => at += 2,
            _ => {}
        }
        at += 1;
    }
    (text.len(), depth)
}

/// The parts of a form: its head and its operands.
pub fn children(form: &str) -> Vec<&str> {
    let inner = form.strip_prefix('(').and_then(|f| f.trim_end().strip_suffix(')')).unwrap_or("");
    let bytes = inner.as_bytes();
    let mut parts = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b' ' | b'\n' | b'\t' | b'\r' | b')' => at += 1,
            b';' => at += line_length(&inner[at..]),
            b'(' | b'[' => {
                let (end, _) = form_end(inner, at);
                parts.push(&inner[at..end]);
                at = end.max(at + 1);
            }
            _ => {
                let end = inner[at..].find([' ', '\n', '\t', '\r', '(', ')', '[']).map_or(inner.len(), |n| at + n);
                let end = end.max(at + 1);
                parts.push(inner.get(at..end).unwrap_or(""));
                at = end;
            }
        }
    }
    parts
}

/// All forms of a program.
fn top(program: &str) -> Vec<String> {
    forms(program, Place::Fence).into_iter().map(|f| f.text).collect()
}

/// A program whose only definition is the model as a procedure, or that is a lambda: its body, with the arguments that
/// are no inputs as parameters.
fn without_procedure(program: &str, hints: &Hints<'_>) -> Option<String> {
    let forms = top(program);
    let (schema, model) = match &forms[..] {
        [one] => (None, one),
        [schema, one] if schema.starts_with("(params") => (Some(schema), one),
        _ => return None,
    };
    let parts = children(model);
    let (arguments, body) = match parts[..] {
        ["define", head, body] if head.starts_with('(') => (children(head).split_off(1), body),
        ["define", _, lambda] if lambda.starts_with("(lambda") => match children(lambda)[..] {
            [_, head, body] if head.starts_with('(') => (children(head), body),
            _ => return None,
        },
        ["lambda", head, body] if head.starts_with('(') => (children(head), body),
        _ => return None,
    };
    // A procedure that calls itself is a program of its own.
    if let ["define", head, _] = parts[..]
        && children(head).first().is_some_and(|name| body.contains(&format!("({name} ")))
    {
        return None;
    }
    let known: Vec<&str> = schema.map(|s| names_of_schema(s)).unwrap_or_default();
    let new: Vec<&str> =
        arguments.into_iter().filter(|a| !hints.inputs.iter().any(|i| i == a) && !known.contains(a)).collect();
    let entries: Vec<String> = new.iter().map(|name| format!("({name} free 1.0)")).collect();
    Some(match schema {
        Some(schema) if entries.is_empty() => format!("{schema}\n{body}"),
        Some(schema) => {
            format!("{} {})\n{body}", schema.trim_end_matches(')').to_string() + &closing(schema), entries.join(" "))
        }
        None if entries.is_empty() => body.to_string(),
        None => format!("(params {})\n{body}", entries.join(" ")),
    })
}

/// The parentheses at the end of a form but for the last one.
fn closing(form: &str) -> String {
    let count = form.len() - form.trim_end_matches(')').len();
    ")".repeat(count.saturating_sub(1))
}

fn names_of_schema(schema: &str) -> Vec<&str> {
    children(schema).into_iter().skip(1).filter_map(|entry| children(entry).into_iter().next()).collect()
}

/// A body of arithmetic without a schema, with one for the names that are no inputs; none if there is nothing to declare.
fn declared(program: &str, hints: &Hints<'_>) -> Option<(String, Vec<String>)> {
    let forms = top(program);
    let [body] = &forms[..] else { return None };
    if hints.inputs.is_empty() {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    let mut open = vec![body.as_str()];
    while let Some(part) = open.pop() {
        if part.starts_with('(') {
            let parts = children(part);
            if !is_arithmetic(parts.first()?) {
                return None;
            }
            open.extend(parts.into_iter().skip(1).rev());
            continue;
        }
        let is_name = part.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if is_name && !hints.inputs.iter().any(|i| i == part) && !names.iter().any(|n| n == part) {
            names.push(part.to_string());
        }
    }
    if names.is_empty() {
        return None;
    }
    let entries: Vec<String> = names.iter().map(|n| format!("({n} free 1.0)")).collect();
    Some((format!("(params {})\n{body}", entries.join(" ")), names))
}
