//! Tokens of formulas, in the spelling of Python, of other languages and of people.

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    Number(f64, String),
    Name(String),
    Mark(&'static str),
}

const MARKS: [&str; 25] = [
    "**", "<=", ">=", "==", "!=", "//", "->", "+", "-", "*", "/", "^", "(", ")", "[", "]", ",", "<", ">", "=", "?",
    ":", "{", "}", "%",
];

/// The tokens of a formula, or what stands in the way.
pub fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let text = plain(text);
    let mut list = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        if list.len() > MOST {
            return Err("the formula is too long".into());
        }
        let length = if c.is_ascii_digit() || c == '.' && rest[1..].starts_with(|d: char| d.is_ascii_digit()) {
            let length = number_length(rest);
            let value =
                rest[..length].replace('_', "").parse().map_err(|_| format!("{} is no number", &rest[..length]))?;
            list.push(Token::Number(value, rest[..length].replace('_', "")));
            length
        } else if c.is_alphabetic() || c == '_' {
            let end =
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.' || c == '\'')).unwrap_or(rest.len());
            let name = rest[..end].trim_end_matches(['.', '\'']);
            list.push(Token::Name(name.to_string()));
            name.len()
        } else if let Some(mark) = MARKS.iter().find(|m| rest.starts_with(**m)) {
            list.push(Token::Mark(mark));
            mark.len()
        } else {
            return Err(format!("{c} has no meaning in a formula"));
        };
        rest = rest[length..].trim_start();
    }
    Ok(list)
}

/// Tokens of a formula at most.
const MOST: usize = 4000;

fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit() || **b == b'_').count();
    let mut at = digits(0);
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        at += digits(at);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let power = digits(at + 1 + sign);
        if power > 0 {
            at += 1 + sign + power;
        }
    }
    at
}

/// Signs that people write, as ASCII.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{2212}' | '\u{2013}' => out.push('-'),
            '·' | '⋅' | '×' | '∗' => out.push('*'),
            '÷' => out.push('/'),
            '²' => out.push_str("^2"),
            '³' => out.push_str("^3"),
            '√' => out.push_str("sqrt "),
            '≤' => out.push_str("<="),
            '≥' => out.push_str(">="),
            '\u{a0}' | '\u{2009}' | '`' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
