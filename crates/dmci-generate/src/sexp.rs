//! Program texts as trees, for building, shrinking and mutating them.
//!
//! This is not the reader of the language: it accepts any text, so that broken programs can be
//! mutated too, and it must not share a bug with the reader it helps to test.

use std::fmt;

/// A piece of program text.
#[derive(Clone, Debug, PartialEq)]
pub enum Sexp {
    /// A token, as it is written.
    Atom(String),
    /// A parenthesised list.
    List(Vec<Sexp>),
    /// Something behind a prefix: `'x`, `,@x`, `#(...)`.
    Prefixed(&'static str, Box<Sexp>),
}

/// Nesting beyond which text is taken as loose tokens.
const MAX_DEPTH: usize = 200;

/// The longest first: a prefix of a prefix must not win.
const PREFIXES: &[&str] = &["#u8", "#;", ",@", "'", "`", ",", "#"];

impl Sexp {
    /// An atom.
    pub fn atom(text: impl fmt::Display) -> Sexp {
        Sexp::Atom(text.to_string())
    }

    /// The children, if it has any.
    pub fn children(&self) -> &[Sexp] {
        match self {
            Sexp::Atom(_) => &[],
            Sexp::List(items) => items,
            Sexp::Prefixed(_, inner) => std::slice::from_ref(inner),
        }
    }

    /// The children, to change them in place.
    pub fn children_mut(&mut self) -> &mut [Sexp] {
        match self {
            Sexp::Atom(_) => &mut [],
            Sexp::List(items) => items,
            Sexp::Prefixed(_, inner) => std::slice::from_mut(inner),
        }
    }

    /// Number of nodes of the tree.
    pub fn size(&self) -> usize {
        1 + self.children().iter().map(Sexp::size).sum::<usize>()
    }

    /// The node with this number, counted in the order of the text.
    pub fn node_mut(&mut self, index: &mut usize) -> Option<&mut Sexp> {
        if *index == 0 {
            return Some(self);
        }
        *index -= 1;
        self.children_mut().iter_mut().find_map(|child| child.node_mut(index))
    }
}

impl fmt::Display for Sexp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sexp::Atom(text) => f.write_str(text),
            Sexp::List(items) => {
                f.write_str("(")?;
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        f.write_str(" ")?;
                    }
                    item.fmt(f)?;
                }
                f.write_str(")")
            }
            Sexp::Prefixed(prefix, inner) => write!(f, "{prefix}{inner}"),
        }
    }
}

/// The text of a program, one form to a line.
pub fn text_of(forms: &[Sexp]) -> String {
    forms.iter().map(|form| format!("{form}\n")).collect()
}

/// Parses any text; parentheses that do not match are dropped.
pub fn parse(text: &str) -> Vec<Sexp> {
    let mut open: Vec<(Vec<&'static str>, Vec<Sexp>)> = vec![(Vec::new(), Vec::new())];
    let mut prefixes: Vec<&'static str> = Vec::new();
    for token in Tokens::new(text) {
        let done = match token {
            "(" | "[" if open.len() < MAX_DEPTH => {
                open.push((std::mem::take(&mut prefixes), Vec::new()));
                continue;
            }
            "(" | "[" => continue,
            ")" | "]" => {
                if open.len() == 1 {
                    continue;
                }
                let (outer, items) = open.pop().unwrap_or_default();
                prefixes = outer;
                Sexp::List(items)
            }
            _ => match PREFIXES.iter().find(|p| **p == token) {
                Some(prefix) => {
                    if prefixes.len() < 4 {
                        prefixes.push(prefix);
                    }
                    continue;
                }
                None => Sexp::atom(token),
            },
        };
        let wrapped = prefixes.drain(..).rev().fold(done, |inner, p| Sexp::Prefixed(p, Box::new(inner)));
        if let Some((_, items)) = open.last_mut() {
            items.push(wrapped);
        }
    }
    while open.len() > 1 {
        let (_, items) = open.pop().unwrap_or_default();
        if let Some((_, outer)) = open.last_mut() {
            outer.push(Sexp::List(items));
        }
    }
    open.pop().map(|(_, items)| items).unwrap_or_default()
}

/// A form from a template: each atom `~` is replaced by the next part, `~~` by all that are left.
pub fn form(template: &str, parts: impl IntoIterator<Item = Sexp>) -> Sexp {
    let mut parts = parts.into_iter();
    let tree = parse(template).into_iter().next().unwrap_or_else(|| Sexp::atom("#f"));
    let filled = fill(tree, &mut parts);
    debug_assert!(parts.next().is_none(), "too many parts for {template}");
    filled
}

fn fill(tree: Sexp, parts: &mut impl Iterator<Item = Sexp>) -> Sexp {
    match tree {
        Sexp::Atom(text) if text == "~" => parts.next().expect("a template has as many parts as holes"),
        Sexp::Atom(_) => tree,
        Sexp::List(items) => {
            let mut filled = Vec::new();
            for item in items {
                match item {
                    Sexp::Atom(text) if text == "~~" => filled.extend(parts.by_ref()),
                    item => filled.push(fill(item, parts)),
                }
            }
            Sexp::List(filled)
        }
        Sexp::Prefixed(p, inner) => Sexp::Prefixed(p, Box::new(fill(*inner, parts))),
    }
}

/// The tokens of a text, comments left out.
pub struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    /// From the start of a text.
    pub fn new(text: &'a str) -> Tokens<'a> {
        Tokens { text, at: 0 }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with(';') {
                break;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
        let rest = &self.text[self.at..];
        let len = token_length(rest)?;
        self.at += len;
        Some(&rest[..len])
    }
}

fn token_length(rest: &str) -> Option<usize> {
    let first = rest.chars().next()?;
    match first {
        '(' | ')' | '[' | ']' | '\'' | '`' => return Some(1),
        ',' => return Some(if rest.starts_with(",@") { 2 } else { 1 }),
        '"' | '|' => {
            let mut escaped = false;
            for (i, c) in rest.char_indices().skip(1) {
                match c {
                    _ if escaped => escaped = false,
                    '\\' => escaped = true,
                    _ if c == first => return Some(i + 1),
                    _ => {}
                }
            }
            return Some(rest.len());
        }
        '#' if rest.starts_with("#(") => return Some(1),
        '#' if rest.starts_with("#u8(") => return Some(3),
        '#' if rest.starts_with("#;") => return Some(2),
        '#' if rest.starts_with("#\\") => {
            let end = rest.char_indices().skip(3).find(|(_, c)| delimits(*c)).map_or(rest.len(), |(i, _)| i);
            return Some(end);
        }
        _ => {}
    }
    let end = rest.char_indices().skip(1).find(|(_, c)| delimits(*c)).map_or(rest.len(), |(i, _)| i);
    Some(end)
}

fn delimits(c: char) -> bool {
    c.is_whitespace() || "()[]\";'`,".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_survives_the_round_trip() {
        let text = "(define (f x) `(1 ,x ,@(g #(1 2) #\\( \"a)b\")))";
        assert_eq!(text_of(&parse(text)), format!("{text}\n"));
    }

    #[test]
    fn a_template_takes_its_parts_in_order() {
        let filled = form("(let ((x ~)) ~ ~~)", ["1", "2", "3", "4"].map(Sexp::atom));
        assert_eq!(filled.to_string(), "(let ((x 1)) 2 3 4)");
    }

    #[test]
    fn any_text_is_parsed() {
        for text in ["", ")", "((", "'", "\"", "#\\", "#", ",@", "(a . #;"] {
            parse(text);
        }
    }
}
