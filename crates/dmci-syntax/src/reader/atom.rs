//! From the text of one token to its value: numbers, symbols, characters, `#` words.

use super::lexer::is_delimiter;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, Value, num};

/// What the text of an atom is, judged by its letters alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Symbol,
    Number,
    Malformed,
}

/// Judges an atom. What starts like a number is one, or is malformed if nobody could mean a name
/// by it (`1.2.3`, `1e`, `3+4i`); other names that start with a digit (`1+`, `2pi`) are symbols,
/// as in Guile and MIT Scheme.
pub(crate) fn classify(text: &str) -> Word {
    let bytes = text.as_bytes();
    let signed = matches!(bytes.first(), Some(b'+' | b'-'));
    let body = &bytes[signed as usize..];
    let starts_like_number = match body {
        [b'.', second, ..] => second.is_ascii_digit(),
        [first, ..] => first.is_ascii_digit(),
        [] => false,
    };
    if is_complex(bytes) {
        return Word::Malformed;
    }
    if !starts_like_number {
        return match body {
            _ if signed && is_special(body) => Word::Number,
            _ if bytes.is_empty() || text == "." || has_forbidden(text) => Word::Malformed,
            _ => Word::Symbol,
        };
    }
    if is_decimal(body) {
        return Word::Number;
    }
    if matches!(body, [digits @ .., b'+' | b'-'] if digits.iter().all(u8::is_ascii_digit)) {
        return Word::Symbol;
    }
    let numeric = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'+' | b'-' | b'/' | b'e' | b'E' | b'_' | b'@');
    let real = body.strip_suffix(b"i").unwrap_or(body);
    if real.iter().all(numeric) || has_forbidden(text) {
        return Word::Malformed;
    }
    Word::Symbol
}

fn digits(b: &[u8]) -> usize {
    b.iter().take_while(|b| b.is_ascii_digit()).count()
}

/// Digits with at most one point, before `rest`.
fn mantissa(b: &[u8]) -> (bool, &[u8]) {
    let whole = digits(b);
    let b = &b[whole..];
    match b.strip_prefix(b".") {
        Some(b) => {
            let fraction = digits(b);
            (whole + fraction > 0, &b[fraction..])
        }
        None => (whole > 0, b),
    }
}

/// An unsigned decimal: integer, fraction, point or exponent form.
fn is_decimal(b: &[u8]) -> bool {
    let integer = digits(b);
    if let [b'/', below @ ..] = &b[integer..] {
        return integer > 0 && !below.is_empty() && digits(below) == below.len();
    }
    let (ok, rest) = mantissa(b);
    ok && match rest {
        [] => true,
        // R7RS has only e left, older programs use the others for the same.
        [b'e' | b's' | b'f' | b'd' | b'l' | b'E' | b'S' | b'F' | b'D' | b'L', rest @ ..] => is_exponent(rest),
        _ => false,
    }
}

/// A complex number in R7RS: a real part or none, a sign, an imaginary part or none, and an i.
fn is_complex(b: &[u8]) -> bool {
    let [rest @ .., b'i' | b'I'] = b else { return false };
    let is_part = |b: &[u8]| b.is_empty() || is_special(b) || is_decimal(b);
    // A sign may also belong to the real part or to an exponent.
    (0..rest.len()).filter(|&at| matches!(rest[at], b'+' | b'-')).any(|at| {
        let real = rest[..at].strip_prefix(b"+").or(rest[..at].strip_prefix(b"-")).unwrap_or(&rest[..at]);
        let is_signed = real.len() < at;
        let is_real = if is_special(real) { is_signed } else { real.is_empty() && !is_signed || is_decimal(real) };
        is_real && is_part(&rest[at + 1..])
    })
}

/// An infinity or NaN, without its sign.
fn is_special(b: &[u8]) -> bool {
    b.eq_ignore_ascii_case(b"inf.0") || b.eq_ignore_ascii_case(b"nan.0")
}

fn is_exponent(b: &[u8]) -> bool {
    let b = match b {
        [b'+' | b'-', rest @ ..] => rest,
        _ => b,
    };
    !b.is_empty() && digits(b) == b.len()
}

/// Characters that no symbol may hold without bars: invisible ones, and the quotation marks that
/// word processors put in place of `"` and `'`.
/// Whether a word has a character that no symbol may have.
fn has_forbidden(text: &str) -> bool {
    !text.bytes().all(|b| b.is_ascii_graphic()) && text.contains(is_forbidden)
}

fn is_forbidden(c: char) -> bool {
    c.is_control() || is_typographic_quote(c)
}

fn is_typographic_quote(c: char) -> bool {
    matches!(c, '\u{2018}'..='\u{201F}' | '\u{00AB}' | '\u{00BB}')
}

/// Whether a symbol of this name can be written without bars.
pub(crate) fn is_plain_symbol(name: &str) -> bool {
    !name.starts_with('#') && !name.contains(|c| is_delimiter(c) || c == '\\') && classify(name) == Word::Symbol
}

/// A number or a symbol.
pub(crate) fn atom(heap: &mut Heap, text: &str, fold_case: bool) -> Result<Value, Error> {
    match classify(text) {
        Word::Symbol if fold_case => Ok(Value::symbol(heap.symbols.intern(&text.to_lowercase()))),
        Word::Symbol => Ok(Value::symbol(heap.symbols.intern(text))),
        Word::Number => number(heap, text)?.ok_or_else(|| malformed(text)),
        Word::Malformed => Err(malformed(text)),
    }
}

fn number(heap: &mut Heap, text: &str) -> Result<Option<Value>, Error> {
    // Short integers, which are most numbers, need no big ones on the way.
    if let Some(small) = text.parse().ok().and_then(Value::try_fixnum) {
        return Ok(Some(small));
    }
    num::parse(text, 10)?.map(|n| n.to_value(heap)).transpose()
}

fn malformed(text: &str) -> Error {
    let shown = shorten(text);
    if text.contains(is_typographic_quote) {
        return Diagnostic::error(ErrorCode::E0104, format!("typographic quotation mark in {shown}"))
            .help("use the plain characters \" and ' instead");
    }
    if let Some(c) = text.chars().find(|c| c.is_control()) {
        return Diagnostic::error(
            ErrorCode::E0104,
            format!("invisible character U+{:04X} in a symbol or number", c as u32),
        )
        .help("delete it, or write the symbol between bars with \\x..; for the character");
    }
    let error = Diagnostic::error(ErrorCode::E0104, format!("{shown} is not a number"));
    if text.ends_with(['i', 'I']) || text.contains('@') {
        error.help("complex numbers are not supported; write real and imaginary part as two numbers")
    } else if text.contains('_') {
        error.help("write the digits without underscores")
    } else if text.contains('/') {
        error.help("a fraction is two integers with a / between them, the second one not zero")
    } else {
        error.help("numbers look like 12, -1.5, 2e-3 or 1/3; put a space between a number and what follows")
    }
}

/// A `#` word that stands for a value.
pub(crate) fn hash_word(heap: &mut Heap, text: &str) -> Result<Value, Error> {
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        "#t" | "#true" => return Ok(Value::TRUE),
        "#f" | "#false" => return Ok(Value::FALSE),
        "#!default" => return Ok(Value::DEFAULT),
        "#!eof" => return Ok(Value::EOF),
        "#!unspecific" | "#!unspecified" => return Ok(Value::UNSPECIFIED),
        _ => {}
    }
    if let [b'#', b'x' | b'b' | b'o' | b'd' | b'e' | b'i', ..] = lower.as_bytes() {
        return number(heap, text)?.ok_or_else(|| {
            Diagnostic::error(ErrorCode::E0104, format!("{} is not a number", shorten(text))).help(
                "after #x come hexadecimal digits, after #b binary, after #o octal, after #d, #e and #i decimal ones",
            )
        });
    }
    Err(unknown_hash(text))
}

fn unknown_hash(text: &str) -> Error {
    let error = Diagnostic::error(ErrorCode::E0111, format!("unknown syntax {}", shorten(text)));
    match text.as_bytes().get(1) {
        Some(b'0'..=b'9') => label(text),
        Some(b'<') => error.help("this is the printed form of an object, which cannot be read back"),
        Some(b':') => error.help("keywords are not supported; write a quoted symbol, e.g. 'name"),
        Some(b'!') => error.help("known are #!eof, #!default, #!unspecific, #!fold-case and #!no-fold-case"),
        Some(b'u' | b'U') if text[2..].starts_with('8') => error.help("a bytevector is written #u8(1 2 3)"),
        _ => error.help("known are #t, #f, #(...), #u8(...), #\\a, #;, #|...|# and numbers such as #x1F"),
    }
}

/// The error for a datum label.
pub(crate) fn label(text: &str) -> Error {
    Diagnostic::error(ErrorCode::E0111, format!("datum label {}: labels are not supported in programs", shorten(text)))
        .help("build shared or circular data at run time, e.g. with set-cdr!")
}

/// Names of characters; the first name of each is the one that is written.
const CHAR_NAMES: [(&str, char); 14] = [
    ("alarm", '\u{7}'),
    ("backspace", '\u{8}'),
    ("delete", '\u{7F}'),
    ("escape", '\u{1B}'),
    ("newline", '\n'),
    ("null", '\0'),
    ("return", '\r'),
    ("space", ' '),
    ("tab", '\t'),
    ("nul", '\0'),
    ("altmode", '\u{1B}'),
    ("rubout", '\u{7F}'),
    ("linefeed", '\n'),
    ("page", '\u{C}'),
];

/// The name that a character is written with.
pub(crate) fn char_name(c: char) -> Option<&'static str> {
    CHAR_NAMES.iter().find(|&&(_, d)| d == c).map(|&(name, _)| name)
}

/// A character literal, `#\` included.
pub(crate) fn character(text: &str) -> Result<Value, Error> {
    let body = text.strip_prefix("#\\").unwrap_or(text);
    let mut chars = body.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        return Ok(Value::char(c));
    }
    let lower = body.to_ascii_lowercase();
    if let Some(&(_, c)) = CHAR_NAMES.iter().find(|(name, _)| *name == lower) {
        return Ok(Value::char(c));
    }
    let shown = shorten(text);
    if body.is_empty() {
        return Err(Diagnostic::error(ErrorCode::E0107, "no character after #\\").help("write e.g. #\\a or #\\space"));
    }
    if let Some(c) = lower.strip_prefix('x').and_then(hex_char) {
        return c.map(Value::char).ok_or_else(|| {
            Diagnostic::error(ErrorCode::E0107, format!("{shown} is not a Unicode character"))
                .help("characters go up to #\\x10FFFF, without #\\xD800 to #\\xDFFF")
        });
    }
    Err(Diagnostic::error(ErrorCode::E0107, format!("unknown character name {shown}")).help(
        "names are alarm, backspace, delete, escape, newline, null, return, space and tab; \
         other characters stand for themselves (#\\a) or are given in hexadecimal (#\\x3BB)",
    ))
}

/// The character with these hexadecimal digits: `None` if they are not digits, `Some(None)` if
/// there is no such character.
pub(crate) fn hex_char(hex: &str) -> Option<Option<char>> {
    if hex.is_empty() || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    Some(u32::from_str_radix(hex, 16).ok().and_then(char::from_u32))
}

/// A token for a message: long ones are cut.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}
