//! Places in source texts: byte spans, the texts they point into, and the spans that program pairs carry.

use std::sync::Arc;

/// Index of a source text in a [`Sources`] table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u32);

/// A byte range of one source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The text.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// A span from byte `start` to byte `end` of `source`.
    pub fn new(source: SourceId, start: usize, end: usize) -> Self {
        Span { source, start: start as u32, end: end as u32 }
    }

    /// The smallest span that covers both (of the same text).
    pub fn to(self, other: Span) -> Span {
        Span { source: self.source, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// Whose text it is: errors are reported in the user's, never inside the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A program, a `--set` value, a line of the REPL.
    User,
    /// The prelude and the evaluator.
    System,
}

/// One source text.
#[derive(Clone, Debug)]
pub struct Source {
    /// File name, or a name such as `<text>`.
    pub name: Arc<str>,
    /// The text itself.
    pub text: Arc<str>,
    /// Whose text it is.
    pub origin: Origin,
}

/// Line and column, both counted from 1; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineCol {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// The table of source texts that spans refer to.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    list: Vec<Source>,
}

impl Sources {
    /// Adds a text and returns its id.
    pub fn add(&mut self, name: &str, text: &str, origin: Origin) -> SourceId {
        self.list.push(Source { name: name.into(), text: text.into(), origin });
        SourceId(self.list.len() as u32 - 1)
    }

    /// The text with this id.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.list.get(id.0 as usize)
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Forgets all texts from the `len`th on.
    pub fn truncate(&mut self, len: usize) {
        self.list.truncate(len);
    }

    /// The text that a span covers.
    pub fn slice(&self, span: Span) -> &str {
        self.get(span.source).and_then(|s| s.text.get(span.start as usize..span.end as usize)).unwrap_or("")
    }

    /// Line and column of a byte offset.
    pub fn line_col(&self, source: SourceId, offset: u32) -> LineCol {
        let Some(source) = self.get(source) else { return LineCol { line: 1, column: 1 } };
        let mut end = (offset as usize).min(source.text.len());
        while !source.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &source.text[..end];
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        LineCol { line: before.matches('\n').count() + 1, column: before[start..].chars().count() + 1 }
    }
}

/// Index into a [`SpanTable`]; 0 means "no place".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct SpanId(pub u32);

/// What a pair of a program datum knows about its place: the span of the datum that starts with
/// this pair, and the span of the pair's car (so that symbols and numbers have places too).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairSpan {
    /// The text.
    pub source: SourceId,
    /// Span of the datum: from this pair to the closing parenthesis.
    pub form: (u32, u32),
    /// Span of the car.
    pub car: (u32, u32),
}

impl PairSpan {
    /// The span of the datum.
    pub fn form(self) -> Span {
        Span { source: self.source, start: self.form.0, end: self.form.1 }
    }

    /// The span of the car.
    pub fn car(self) -> Span {
        Span { source: self.source, start: self.car.0, end: self.car.1 }
    }
}

/// Spans of program pairs, by [`SpanId`].
#[derive(Clone, Debug, Default)]
pub struct SpanTable {
    list: Vec<PairSpan>,
}

impl SpanTable {
    /// Adds a place. Ids stay below 2^24 so that a frame can hold one beside its return address;
    /// a program with more pairs than that has no places for the rest.
    pub fn add(&mut self, span: PairSpan) -> SpanId {
        if self.list.len() + 1 >= 1 << 24 {
            return SpanId(0);
        }
        self.list.push(span);
        SpanId(self.list.len() as u32)
    }

    /// The place with this id.
    pub fn get(&self, id: SpanId) -> Option<PairSpan> {
        (id.0 as usize).checked_sub(1).and_then(|i| self.list.get(i)).copied()
    }

    /// Number of places.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is no place.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Forgets all places from the `len`th on.
    pub fn truncate(&mut self, len: usize) {
        self.list.truncate(len);
    }
}
