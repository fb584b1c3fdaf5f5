//! From tokens to data, with an explicit stack: input nests as deep as the limit, never as deep as
//! the host's stack. Errors are collected; a bad datum is replaced by a placeholder, and reading
//! goes on behind it.

mod unclosed;

use super::lexer::{Kind, Lexer, Opener, Prefix, Shape, Token};
use super::{DEPTH_LIMIT, atom, quoted};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, PairSpan, SourceId, Span, SpanId, Value};

/// Stands for a datum that could not be read; never leaves the reader.
const BAD: Value = Value::UNBOUND;

/// Tokens between two looks at the limits of the run.
const LOOK: usize = 1024;

/// Errors after this many are not reported.
const MOST_ERRORS: usize = 50;

/// A datum and its byte range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) value: Value,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// How far a list has got with its dot.
#[derive(Clone, Copy, Debug)]
enum Dot {
    None,
    Seen { at: usize },
    Tail(Value),
}

/// A list, vector or bytevector that is being read.
#[derive(Debug)]
struct OpenList {
    opener: Opener,
    shape: Shape,
    start: usize,
    open_end: usize,
    /// Where its items start in the shared buffer.
    base: usize,
    dot: Dot,
    /// Indentation of its parenthesis.
    column: usize,
    /// The end of the token before the first line that is indented no deeper than the parenthesis:
    /// where it was probably meant to end.
    guess: Option<usize>,
}

/// What waits for a datum.
#[derive(Debug)]
enum Waiting {
    List(OpenList),
    Prefix { prefix: Prefix, start: usize, end: usize },
    DatumComment { start: usize },
}

/// Reads one text.
pub(super) struct Parser<'a> {
    heap: &'a mut Heap,
    lexer: Lexer<'a>,
    /// Without a source, data get no places and errors no labels.
    source: Option<SourceId>,
    stack: Vec<Waiting>,
    /// Items of all open lists, and at the bottom the complete data.
    pub(super) items: Vec<Item>,
    pub(super) errors: Vec<Error>,
    pub(super) depth: usize,
    fold_case: bool,
    previous_end: usize,
    /// Open lists without a guess, by their index in the stack.
    unguessed: Vec<usize>,
    /// A list that was closed although the indentation says that it should have ended before.
    suspect: Option<usize>,
    /// Tokens so far.
    tokens: usize,
    /// The last error is that of a limit of the run.
    pub(super) met_limit: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(heap: &'a mut Heap, text: &'a str, at: usize, source: Option<SourceId>) -> Self {
        Parser {
            heap,
            lexer: Lexer::new(text, at),
            source,
            stack: Vec::new(),
            items: Vec::new(),
            errors: Vec::new(),
            depth: 0,
            fold_case: false,
            previous_end: 0,
            unguessed: Vec::new(),
            suspect: None,
            tokens: 0,
            met_limit: false,
        }
    }

    /// Reads until the end of the text.
    pub(super) fn run(&mut self) {
        self.lexer.skip_shebang();
        while self.step() {}
    }

    /// Reads until one datum is complete or an error is found; the offset behind it.
    pub(super) fn run_one(&mut self) -> usize {
        while self.items.is_empty() || !self.stack.is_empty() {
            if !self.step() || !self.errors.is_empty() {
                break;
            }
        }
        self.lexer.at
    }

    /// Takes one token; false at the end, or if a limit is met.
    fn step(&mut self) -> bool {
        self.tokens += 1;
        if self.tokens.is_multiple_of(LOOK)
            && let Err(error) = self.heap.ensure(0).and_then(|()| self.heap.look())
        {
            self.errors.push(error);
            self.met_limit = true;
            return false;
        }
        let token = self.lexer.next_token();
        // A closing parenthesis or the end of the text under its opening one is no surprise.
        if self.lexer.first_on_line && !matches!(token.kind, Kind::Close(_) | Kind::End) {
            self.note_indentation(self.lexer.column);
        }
        let more = self.take(token);
        self.previous_end = token.end;
        more && self.errors.len() < MOST_ERRORS
    }

    fn take(&mut self, token: Token) -> bool {
        let Token { kind, start, end } = token;
        let text = &self.lexer.text[start..end];
        match kind {
            Kind::Open(opener, shape) => {
                let column = self.lexer.column;
                let (base, dot, guess) = (self.items.len(), Dot::None, None);
                self.unguessed.push(self.stack.len());
                let list = OpenList { opener, shape, start, open_end: end, base, dot, column, guess };
                return self.push(Waiting::List(list), token);
            }
            Kind::Prefix(prefix) => return self.push(Waiting::Prefix { prefix, start, end }, token),
            Kind::DatumComment => return self.push(Waiting::DatumComment { start }, token),
            Kind::Close(shape) => self.close(shape, start, end),
            Kind::Dot => self.dot(start, end),
            Kind::Atom => {
                let value = atom::atom(self.heap, text, self.fold_case);
                self.datum_or_error(value, start, end);
            }
            Kind::Char => {
                let value = match self.fold_case {
                    true if text.chars().count() > 3 => atom::character(&text.to_lowercase()),
                    _ => atom::character(text),
                };
                self.datum_or_error(value, start, end);
            }
            Kind::Hash if text.eq_ignore_ascii_case("#!fold-case") => self.fold_case = true,
            Kind::Hash if text.eq_ignore_ascii_case("#!no-fold-case") => self.fold_case = false,
            Kind::Hash => {
                let value = atom::hash_word(self.heap, text);
                self.datum_or_error(value, start, end);
            }
            Kind::Label => self.error(atom::label(text), start, end),
            Kind::String | Kind::BarSymbol => match quoted::content(text) {
                Ok(content) if kind == Kind::String => {
                    let value = self.heap.string(&content);
                    self.datum(value, start, end);
                }
                Ok(content) => {
                    let symbol = self.heap.symbols.intern(&content);
                    self.datum(Value::symbol(symbol), start, end);
                }
                Err(problems) => {
                    for (from, to, error) in problems {
                        self.error(error, start + from, start + to);
                    }
                    self.datum(BAD, start, end);
                }
            },
            Kind::Stray => {
                let error = Diagnostic::error(ErrorCode::E0104, format!("unexpected {text}"));
                self.error(error.help("write ( ) or [ ] instead of braces"), start, end);
            }
            Kind::Unterminated => {
                let (what, mark) = if text.starts_with('"') { ("string", '"') } else { ("symbol", '|') };
                let line_end = text.find('\n').map_or(end, |i| start + i);
                let error = Diagnostic::error(ErrorCode::E0105, format!("a {what} is never ended by {mark}"));
                let help = format!("add the closing {mark}; write \\{mark} for one inside the {what}");
                self.error(error.help(help), start, line_end);
                return false;
            }
            Kind::UnterminatedComment => {
                let error = Diagnostic::error(ErrorCode::E0109, "a comment is never ended by |#");
                self.error(error.help("add |# for every #|"), start, start + 2);
                return false;
            }
            Kind::End => {
                self.end();
                return false;
            }
        }
        true
    }

    fn push(&mut self, waiting: Waiting, token: Token) -> bool {
        self.stack.push(waiting);
        self.depth = self.depth.max(self.stack.len());
        if self.stack.len() <= DEPTH_LIMIT {
            return true;
        }
        let error = Diagnostic::error(ErrorCode::E0110, format!("data are nested more than {DEPTH_LIMIT} levels deep"));
        self.error(error.help("build deeply nested data at run time"), token.start, token.end);
        false
    }

    fn datum_or_error(&mut self, value: Result<Value, Error>, start: usize, end: usize) {
        let value = value.unwrap_or_else(|error| {
            self.error(error, start, end);
            BAD
        });
        self.datum(value, start, end);
    }

    /// A complete datum: wraps it in the prefixes that wait for one and hands it to its list.
    fn datum(&mut self, mut value: Value, mut start: usize, end: usize) {
        loop {
            match self.stack.pop() {
                Some(Waiting::Prefix { prefix, start: prefix_start, end: prefix_end }) => {
                    let name = Value::symbol(self.heap.symbols.intern(prefix.name()));
                    let place = self.place((start, end), (start, end));
                    let rest = self.heap.cons_at(value, Value::NIL, place);
                    let place = self.place((prefix_start, end), (prefix_start, prefix_end));
                    value = self.heap.cons_at(name, rest, place);
                    start = prefix_start;
                }
                Some(Waiting::DatumComment { .. }) => return,
                Some(Waiting::List(mut list)) => {
                    match list.dot {
                        Dot::None => self.items.push(Item { value, start, end }),
                        Dot::Seen { .. } => list.dot = Dot::Tail(value),
                        Dot::Tail(_) => {
                            let error =
                                Diagnostic::error(ErrorCode::E0108, "only one datum may follow the dot in a list");
                            self.error(error.help("close the list after that datum, or remove the dot"), start, end);
                        }
                    }
                    self.stack.push(Waiting::List(list));
                    return;
                }
                None => {
                    self.items.push(Item { value, start, end });
                    return;
                }
            }
        }
    }

    fn dot(&mut self, start: usize, end: usize) {
        self.drop_prefixes();
        let problem = match self.stack.last_mut() {
            Some(Waiting::List(list)) if list.opener != Opener::List => "a dot cannot stand in a vector",
            Some(Waiting::List(list)) => match list.dot {
                Dot::None if list.base == self.items.len() => "a dot needs a datum before it",
                Dot::None => {
                    list.dot = Dot::Seen { at: start };
                    return;
                }
                _ => "a list can have only one dot",
            },
            _ => "a dot can only stand inside a list",
        };
        let error = Diagnostic::error(ErrorCode::E0108, problem);
        self.error(error.help("a pair is written (a . b), a list with a rest (a b . c)"), start, end);
    }

    /// Reports prefixes that wait for a datum when none can come any more.
    fn drop_prefixes(&mut self) {
        loop {
            let (what, start, end) = match self.stack.last() {
                Some(&Waiting::Prefix { prefix, start, end }) => (prefix.text(), start, end),
                Some(&Waiting::DatumComment { start }) => ("#;", start, start + 2),
                _ => return,
            };
            self.stack.pop();
            let error = Diagnostic::error(ErrorCode::E0112, format!("no datum after {what}"));
            self.error(error.help(format!("write a datum after {what}, or remove it")), start, end);
        }
    }

    fn close(&mut self, shape: Shape, start: usize, end: usize) {
        self.drop_prefixes();
        let Some(Waiting::List(list)) = self.stack.pop() else {
            let mut error = Diagnostic::error(ErrorCode::E0102, format!("unexpected {}", shape.close()));
            error = self.labelled(error, start, end, "nothing is open here");
            if let Some(&last) = self.items.last() {
                let first = self.lexer.text[last.start..].chars().next().map_or(0, char::len_utf8);
                error = self.labelled(error, last.start, last.start + first, "this form is already complete");
            }
            self.report(error.help("remove it, or look for one closing parenthesis too many before it"));
            return;
        };
        if list.guess.is_none() {
            self.unguessed.pop();
        }
        if list.shape != shape {
            let (open, wanted, got) = (list.shape.open(), list.shape.close(), shape.close());
            let error = Diagnostic::error(ErrorCode::E0103, format!("{open} is closed by {got}"));
            let error = self.labelled(error, start, end, &format!("expected {wanted}"));
            let error = self.labelled(error, list.start, list.open_end, "opened here");
            self.report(error.help(format!("replace {got} by {wanted}")));
        }
        if self.suspect.is_none() {
            self.suspect = list.guess;
        }
        if self.stack.is_empty() {
            self.suspect = None;
        }
        let value = self.finish(&list, end);
        self.items.truncate(list.base);
        self.datum(value, list.start, end);
    }

    /// The value of a list whose items are complete.
    fn finish(&mut self, list: &OpenList, end: usize) -> Value {
        match list.opener {
            Opener::List => {
                let tail = match list.dot {
                    Dot::None => Value::NIL,
                    Dot::Tail(tail) => tail,
                    Dot::Seen { at } => {
                        let error = Diagnostic::error(ErrorCode::E0108, "no datum after the dot");
                        self.error(error.help("write a datum between the dot and the closing parenthesis"), at, at + 1);
                        BAD
                    }
                };
                self.list(list.base, tail, list.start, end)
            }
            Opener::Vector => {
                let values: Vec<Value> = self.items[list.base..].iter().map(|item| item.value).collect();
                self.heap.vector(&values)
            }
            Opener::Bytevector => {
                let mut bytes = Vec::with_capacity(self.items.len() - list.base);
                for i in list.base..self.items.len() {
                    let item = self.items[i];
                    match item.value.as_fixnum().and_then(|i| u8::try_from(i).ok()) {
                        Some(byte) => bytes.push(byte),
                        None if item.value == BAD => {}
                        None => {
                            let text = atom::shorten(&self.lexer.text[item.start..item.end]);
                            let error = Diagnostic::error(ErrorCode::E0104, format!("{text} is not a byte"));
                            self.error(error.help("a bytevector holds integers from 0 to 255"), item.start, item.end);
                        }
                    }
                }
                self.heap.bytevector(&bytes)
            }
        }
    }

    /// A list of the items from `base` on, with places.
    pub(super) fn list(&mut self, base: usize, tail: Value, start: usize, end: usize) -> Value {
        let mut list = tail;
        for i in (base..self.items.len()).rev() {
            let item = self.items[i];
            let from = if i == base { start } else { item.start };
            let place = self.place((from, end), (item.start, item.end));
            list = self.heap.cons_at(item.value, list, place);
        }
        list
    }

    fn place(&mut self, form: (usize, usize), car: (usize, usize)) -> SpanId {
        let short = |(start, end): (usize, usize)| (start as u32, end as u32);
        match self.source {
            Some(source) => self.heap.spans.add(PairSpan { source, form: short(form), car: short(car) }),
            None => SpanId(0),
        }
    }

    // ---- errors

    fn error(&mut self, error: Error, start: usize, end: usize) {
        let error = self.labelled(error, start, end, "");
        self.report(error);
    }

    fn report(&mut self, error: Error) {
        if self.errors.len() < MOST_ERRORS {
            self.errors.push(error);
        }
    }

    fn labelled(&self, error: Error, start: usize, end: usize, text: &str) -> Error {
        match self.source {
            Some(source) => error.at_with(Span::new(source, start, end), text),
            None => error,
        }
    }
}
