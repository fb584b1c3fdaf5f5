//! Programs without a schema: their real literals become parameters, and come back with new values.

use dmci::Program;

/// A real literal in a text: where it stands and its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Literal {
    /// Its first byte.
    pub start: usize,
    /// The byte behind its last.
    pub end: usize,
    /// Its value.
    pub value: f64,
}

/// The real literals of a program, which have a point or an exponent, outside of quoted data, strings and
/// comments.
pub fn literals(text: &str) -> Vec<Literal> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    // The depth of parentheses, and the depths at which quoted data began.
    let (mut depth, mut quoted): (usize, Option<usize>) = (0, None);
    let mut quote_next = false;
    while at < bytes.len() {
        match bytes[at] {
            b';' => at += bytes[at..].iter().position(|b| *b == b'\n').unwrap_or(bytes.len() - at),
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
                quote_next = false;
            }
            b'#' if bytes.get(at + 1) == Some(&b'|') => {
                let mut level = 0;
                while at < bytes.len() {
                    match &bytes[at..] {
                        [b'#', b'|', ..] => (level, at) = (level + 1, at + 2),
                        [b'|', b'#', ..] => (level, at) = (level - 1, at + 2),
                        _ => at += 1,
                    }
                    if level == 0 {
                        break;
                    }
                }
            }
            b'#' if bytes.get(at + 1) == Some(&b';') => (at, quote_next) = (at + 2, true),
            b'#' if bytes.get(at + 1) == Some(&b'\\') => {
                at += 3;
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] >= 128) {
                    at += 1;
                }
                quote_next = false;
            }
            b'\'' => (at, quote_next) = (at + 1, true),
            b'(' | b'[' => {
                if quote_next && quoted.is_none() {
                    quoted = Some(depth);
                }
                quote_next = false;
                depth += 1;
                at += 1;
                let is_quote =
                    text[at..].trim_start().strip_prefix("quote").is_some_and(|t| t.starts_with([' ', '\n']));
                if is_quote && quoted.is_none() {
                    quoted = Some(depth - 1);
                }
            }
            b')' | b']' => {
                depth = depth.saturating_sub(1);
                if quoted == Some(depth) {
                    quoted = None;
                }
                at += 1;
            }
            b if b.is_ascii_whitespace() || matches!(b, b'`' | b',' | b'@') => at += 1,
            _ => {
                let end = at + bytes[at..].iter().position(|b| is_delimiter(*b)).unwrap_or(bytes.len() - at);
                let word = &text[at..end];
                if quoted.is_none()
                    && !quote_next
                    && let Some(value) = real(word)
                {
                    found.push(Literal { start: at, end, value });
                }
                quote_next = false;
                at = end.max(at + 1);
            }
        }
    }
    found
}

fn is_delimiter(b: u8) -> bool {
    b.is_ascii_whitespace() || matches!(b, b'(' | b')' | b'[' | b']' | b'"' | b';' | b'\'')
}

fn real(word: &str) -> Option<f64> {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    let numeric = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let is_real = word.contains('.') || word.contains(['e', 'E']);
    word.parse().ok().filter(|x: &f64| numeric && is_real && x.is_finite())
}

/// The program with a free parameter in the place of every real literal: `c1`, `c2`, ... in the order of
/// the text. A scale keeps their sizes comparable.
pub fn parametrised(program: &Program) -> Program {
    let list = literals(&program.text);
    let mut text = String::new();
    let mut schema = Vec::new();
    let mut at = 0;
    for (i, literal) in list.iter().enumerate() {
        let name = format!("c{}", i + 1);
        text += &program.text[at..literal.start];
        text += &name;
        at = literal.end;
        let scale = if literal.value == 0.0 { String::new() } else { format!(" {:?}", literal.value.abs()) };
        schema.push(format!("({name} free {:?}{scale})", literal.value));
    }
    text += &program.text[at..];
    // On one line, so that lines of errors stay those of the user's text.
    let head = if schema.is_empty() { String::new() } else { format!("(params {}) ", schema.join(" ")) };
    Program::named(&program.name, &(head + &text))
}

/// The text with other values in the place of its real literals.
pub fn written_back(text: &str, values: &[f64]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for (literal, value) in literals(text).iter().zip(values) {
        out += &text[at..literal.start];
        out += &format!("{value:?}");
        at = literal.end;
    }
    out + &text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_reals_that_the_program_computes_with() {
        let text = "; 9.5\n(define k 1.5) (* k -2e-3 x 3 '(4.5 5.5) \"6.5\" (quote (7.5)) #;8.5 #| 1.0 |# v1.5 .5)";
        let values: Vec<f64> = literals(text).iter().map(|l| l.value).collect();
        assert_eq!(values, [1.5, -2e-3, 0.5]);
        assert_eq!(
            written_back(text, &[1.0, 2.5, 1e300]),
            "; 9.5\n(define k 1.0) (* k 2.5 x 3 '(4.5 5.5) \"6.5\" (quote (7.5)) #;8.5 #| 1.0 |# v1.5 1e300)"
        );
        let program = parametrised(&Program::new("(* 2.0 (+ x 0.0))"));
        assert_eq!(&*program.text, "(params (c1 free 2.0 2.0) (c2 free 0.0)) (* c1 (+ x c2))");
        assert_eq!(literals("#\\a 1.5 (f 'q 2.5)").len(), 2);
    }
}
