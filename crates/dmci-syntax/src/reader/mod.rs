//! The reader: text to data with places (R7RS section 7.1.2).
//!
//! Deviations: brackets are parentheses, datum labels are not supported, names may start with a
//! digit if they cannot be meant as a number.

mod atom;
mod lexer;
mod parser;
mod quoted;
#[cfg(test)]
mod tests;

pub(crate) use atom::{char_name, is_plain_symbol};
pub(crate) use lexer::Prefix;

use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, SourceId, Value};
use lexer::{Kind, Lexer};
use parser::Parser;

/// How deep data may be nested in a text.
pub const DEPTH_LIMIT: usize = 10_000;

/// The data of a whole text.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The top-level data as a list. Its pairs have places, so that a top-level symbol or number
    /// has one too: the span of the pair's car.
    pub forms: Value,
    /// How deep the data are nested, for passes that want to know before they start.
    pub depth: usize,
}

/// Reads all data of a text, or reports what is wrong with it, in the order of the text.
pub fn read_all(heap: &mut Heap, source: SourceId) -> Result<Program, Vec<Diagnostic>> {
    let Some(text) = heap.sources.get(source).map(|s| s.text.clone()) else {
        return Err(vec![*Diagnostic::error(ErrorCode::E9901, "there is no source text with this number")]);
    };
    let mut parser = Parser::new(heap, &text, 0, Some(source));
    parser.run();
    if parser.met_limit {
        // The rest of the text is not known, so the limit is all that is to be said.
        return Err(parser.errors.pop().map(|error| *error).into_iter().collect());
    }
    if !parser.errors.is_empty() {
        let mut errors: Vec<Diagnostic> = parser.errors.into_iter().map(|e| *e).collect();
        errors.sort_by_key(|e| e.span().map(|s| s.start));
        return Err(errors);
    }
    let start = parser.items.first().map_or(0, |item| item.start);
    let end = parser.items.last().map_or(0, |item| item.end);
    Ok(Program { forms: parser.list(0, Value::NIL, start, end), depth: parser.depth })
}

/// Reads all data of a text, as in [`read_all`].
pub fn read_program(heap: &mut Heap, source: SourceId) -> Result<Vec<Value>, Vec<Diagnostic>> {
    let program = read_all(heap, source)?;
    Ok(heap.list_items(program.forms).unwrap_or_default())
}

/// Reads one datum from byte `at` on, without places: the datum and the offset behind it, or
/// `None` if only blanks and comments are left.
pub fn read_one(heap: &mut Heap, text: &str, at: usize) -> Result<Option<(Value, usize)>, Error> {
    let mut parser = Parser::new(heap, text, at, None);
    let next = parser.run_one();
    match parser.errors.into_iter().next() {
        Some(error) => Err(error),
        None => Ok(parser.items.first().map(|item| (item.value, next))),
    }
}

/// Whether more text could complete the last datum: something is open at the end.
pub fn is_incomplete(text: &str) -> bool {
    let mut lexer = Lexer::new(text, 0);
    lexer.skip_shebang();
    let mut open = 0usize;
    let mut waits_for_datum = false;
    loop {
        match lexer.next_token().kind {
            Kind::End => return open > 0 || waits_for_datum,
            Kind::Unterminated | Kind::UnterminatedComment => return true,
            Kind::Prefix(_) | Kind::DatumComment => waits_for_datum = true,
            Kind::Open(..) => {
                open += 1;
                waits_for_datum = false;
            }
            // One too many is an error that more text cannot repair.
            Kind::Close(_) if open == 0 => return false,
            Kind::Close(_) => {
                open -= 1;
                waits_for_datum = false;
            }
            _ => waits_for_datum = false,
        }
    }
}
