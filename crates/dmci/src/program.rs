//! Programs as data: a text with a name, and values for its free names.

use crate::datum::Datum;
use std::sync::Arc;

/// A program: its text, and what it is called in messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// File name, or a name such as `<text>`.
    pub name: Arc<str>,
    /// The text.
    pub text: Arc<str>,
}

impl Program {
    /// A program from a text.
    pub fn new(text: &str) -> Program {
        Program::named("<text>", text)
    }

    /// A program from a text with a name for messages.
    pub fn named(name: &str, text: &str) -> Program {
        Program { name: name.into(), text: text.into() }
    }
}

/// Values for names, as if `(define name value)` stood before the program.
pub type Bindings = Vec<(String, Datum)>;
