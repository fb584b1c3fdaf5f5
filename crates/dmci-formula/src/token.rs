//! Tokens of formulas.

use crate::FormulaError;
use std::ops::Range;

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A number, as it is written.
    Number(String),
    /// A name; a quoted one may be any text.
    Name(String),
    /// An operator or a bracket.
    Sign(&'static str),
}

/// Operators and brackets, longer ones first.
const SIGNS: &[&str] =
    &["**", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "^", "<", ">", "=", "~", "!", "(", ")", ",", "%"];

/// Signs that people copy from papers and other programs, with what we write.
const FOREIGN: &[(char, &str)] =
    &[('\u{b7}', "*"), ('\u{d7}', "*"), ('\u{2212}', "-"), ('\u{f7}', "/"), ('\u{2264}', "<="), ('\u{2265}', ">=")];

/// The tokens of a text with their places.
pub fn tokens(text: &str) -> Result<Vec<(Token, Range<usize>)>, FormulaError> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        let rest = &text[at..];
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let token = if c.is_ascii_digit() || c == '.' && rest[1..].starts_with(|d: char| d.is_ascii_digit()) {
            at += number(rest);
            let written = &text[start..at];
            if text[at..].starts_with('.') {
                let message = format!("{written}. is not a number");
                return Err(FormulaError::new(start..at + 1, message, "write one decimal point"));
            }
            Token::Number(written.to_string())
        } else if is_start(c) {
            at += rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
            Token::Name(text[start..at].to_string())
        } else if c == '`' {
            let Some(end) = rest[1..].find('`').filter(|&end| end > 0) else {
                return Err(FormulaError::new(start..text.len(), "a quoted name does not end", "close it with `"));
            };
            at += end + 2;
            Token::Name(rest[1..=end].to_string())
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            at += sign.len();
            Token::Sign(if *sign == "**" { "^" } else { sign })
        } else if let Some((_, sign)) = FOREIGN.iter().find(|(foreign, _)| *foreign == c) {
            at += c.len_utf8();
            Token::Sign(SIGNS.iter().find(|s| *s == sign).copied().unwrap_or("*"))
        } else {
            let help = match c {
                '[' | ']' | '{' | '}' => "group with ( and )",
                '"' | '\'' => {
                    "a formula has numbers only: compare texts in a program, and quote a column name with `...`"
                }
                ';' => "write one formula",
                _ => "a formula has names, numbers, + - * / ^, comparisons and calls",
            };
            return Err(FormulaError::new(start..start + c.len_utf8(), format!("{c} has no meaning here"), help));
        };
        found.push((token, start..at));
    }
    Ok(found)
}

/// Whether a name may begin with it.
fn is_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Whether a name may go on with it.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

/// Whether a text is a name that needs no quotes.
pub fn is_plain_name(text: &str) -> bool {
    text.starts_with(is_start) && text.chars().all(is_part)
}

/// The length of the number at the beginning of a text.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end += 1;
        end += digits(end);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = if end + 1 + sign <= bytes.len() { digits(end + 1 + sign) } else { 0 };
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}
