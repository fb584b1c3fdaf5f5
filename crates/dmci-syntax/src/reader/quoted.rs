//! Strings and symbols in bars: escapes.

use super::atom::hex_char;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error};

/// An error and the byte range, within the token, that it is about.
pub(crate) type Problem = (usize, usize, Error);

/// The content of a string or of a symbol in bars, given with its marks. All bad escapes are reported.
pub(crate) fn content(token: &str) -> Result<String, Vec<Problem>> {
    let body = &token[1..token.len() - 1];
    if !body.contains(['\\', '\r']) {
        return Ok(body.to_string());
    }
    let mut out = String::with_capacity(body.len());
    let mut problems = Vec::new();
    let mut rest = body;
    while let Some(at) = rest.find(['\\', '\r']) {
        out.push_str(&rest[..at]);
        let start = token.len() - 1 - rest.len() + at;
        rest = &rest[at..];
        // Every kind of line ending is one newline (R7RS 6.7).
        if let Some(after) = rest.strip_prefix('\r') {
            out.push('\n');
            rest = after.strip_prefix('\n').unwrap_or(after);
            continue;
        }
        match escape(rest) {
            Ok((c, length)) => {
                out.extend(c);
                rest = &rest[length..];
            }
            Err((length, error)) => {
                problems.push((start, start + length, error));
                rest = &rest[length..];
            }
        }
    }
    out.push_str(rest);
    if problems.is_empty() { Ok(out) } else { Err(problems) }
}

/// The escape that `text` starts with: its character, if it stands for one, and its length.
fn escape(text: &str) -> Result<(Option<char>, usize), (usize, Error)> {
    let Some(c) = text[1..].chars().next() else {
        return Err((1, Diagnostic::error(ErrorCode::E0106, "nothing after the backslash")));
    };
    let simple = match c {
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' => '\t',
        'n' => '\n',
        'r' => '\r',
        '"' | '\\' | '|' => c,
        'x' | 'X' => return hex(text),
        _ => {
            return match continuation(&text[1..]) {
                Some(length) => Ok((None, 1 + length)),
                None => Err((
                    1 + c.len_utf8(),
                    Diagnostic::error(ErrorCode::E0106, format!("unknown escape \\{}", c.escape_debug()))
                        .help("known are \\a \\b \\t \\n \\r \\\" \\\\ \\| and \\x41; - write \\\\ for a backslash"),
                )),
            };
        }
    };
    Ok((Some(simple), 2))
}

fn hex(text: &str) -> Result<(Option<char>, usize), (usize, Error)> {
    let digits = text[2..].bytes().take_while(u8::is_ascii_hexdigit).count();
    let end = 2 + digits;
    if text.as_bytes().get(end) != Some(&b';') {
        let error = Diagnostic::error(ErrorCode::E0106, "the escape \\x needs hexadecimal digits and a semicolon");
        return Err((end, error.help("write e.g. \\x3BB; for the character U+03BB")));
    }
    match hex_char(&text[2..end]) {
        Some(Some(c)) => Ok((Some(c), end + 1)),
        Some(None) => Err((end + 1, Diagnostic::error(ErrorCode::E0106, "the escape \\x names no Unicode character"))),
        None => Err((
            end + 1,
            Diagnostic::error(ErrorCode::E0106, "the escape \\x needs hexadecimal digits before the semicolon"),
        )),
    }
}

/// Length of a line continuation: blanks, a line ending, blanks (R7RS 6.7).
fn continuation(text: &str) -> Option<usize> {
    let blank = |c: char| c == ' ' || c == '\t';
    let rest = text.trim_start_matches(blank);
    let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix(['\n', '\r']))?;
    Some(text.len() - rest.trim_start_matches(blank).len())
}
