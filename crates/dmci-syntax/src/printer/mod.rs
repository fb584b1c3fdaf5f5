//! The printer: data to text, for `write`, `display` and messages.
//!
//! It works with an explicit stack, finds cycles before it prints (datum labels, R7RS 2.4), and
//! stops at a size limit: a small shared structure can have an enormous text.

mod atom;
mod labels;
#[cfg(test)]
mod tests;

use crate::reader::Prefix;
use dmci_value::{Heap, Kind, Ref, Value};
use labels::Labels;
use std::ops::Range;

pub use atom::tensor_text;

/// Which structure gets datum labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// What is part of a cycle (`write`, `display`).
    Cycles,
    /// Everything that occurs twice (`write-shared`).
    All,
    /// Nothing: the size limit ends a cycle. For messages; huge integers are not spelt out either.
    Nothing,
}

/// How to print.
#[derive(Clone, Copy)]
pub struct Style<'a> {
    /// With the marks that make it readable again: `"a"`, `#\a`, `|odd symbol|`.
    pub write: bool,
    /// What gets datum labels.
    pub sharing: Sharing,
    /// Names of procedures, which the heap does not know.
    pub names: &'a dyn Fn(Value) -> Option<String>,
    /// Printing stops once the text is longer than this many bytes. The text is then longer than
    /// the limit, which is how the caller can tell.
    pub limit: usize,
    /// Asked now and then; printing stops, somewhere, once it says so.
    pub stop: &'a dyn Fn() -> bool,
    /// Told of every traced number, and where in the text it stands.
    pub traced: &'a dyn Fn(Value, Range<usize>),
}

/// Nothing stops the printer but its limit.
fn never() -> bool {
    false
}

/// Nobody wants to know where traced numbers are.
fn unheard(_: Value, _: Range<usize>) {}

/// Steps between two questions whether to stop.
const STEPS: usize = 1 << 12;

/// No procedure has a name.
pub fn no_names(_: Value) -> Option<String> {
    None
}

/// Size limit of the simple functions below.
const DEFAULT_LIMIT: usize = 16 << 20;

impl Style<'static> {
    /// As `write` prints.
    pub const WRITE: Style<'static> = Style {
        write: true,
        sharing: Sharing::Cycles,
        names: &no_names,
        limit: DEFAULT_LIMIT,
        stop: &never,
        traced: &unheard,
    };
    /// As `display` prints.
    pub const DISPLAY: Style<'static> = Style { write: false, ..Style::WRITE };
}

/// The text of `write`.
pub fn write(heap: &Heap, v: Value) -> String {
    print(heap, v, Style::WRITE)
}

/// The text of `display`.
pub fn display(heap: &Heap, v: Value) -> String {
    print(heap, v, Style::DISPLAY)
}

/// The text of `write-shared`.
pub fn write_shared(heap: &Heap, v: Value) -> String {
    print(heap, v, Style { sharing: Sharing::All, ..Style::WRITE })
}

/// The text of `write-simple`. R7RS lets it run for ever on a cycle; this one uses labels there.
pub fn write_simple(heap: &Heap, v: Value) -> String {
    write(heap, v)
}

/// A short text for messages: `write` cut to about 60 characters. Looks at a bounded part of the
/// value only.
pub fn brief(heap: &Heap, v: Value) -> String {
    brief_with(heap, v, &no_names, &unheard).0
}

/// [`brief`] with names of procedures, and with traced numbers told; whether it was cut comes second.
pub fn brief_with(
    heap: &Heap,
    v: Value,
    names: &dyn Fn(Value) -> Option<String>,
    traced: &dyn Fn(Value, Range<usize>),
) -> (String, bool) {
    const LONGEST: usize = 60;
    let style = Style { sharing: Sharing::Nothing, names, traced, limit: 4 * LONGEST, ..Style::WRITE };
    let text = print(heap, v, style);
    if text.chars().count() <= LONGEST {
        return (text, false);
    }
    let mut short: String = text.chars().take(LONGEST - 3).collect();
    short.push_str("...");
    (short, true)
}

/// The text of a value in any style.
pub fn print(heap: &Heap, v: Value, style: Style) -> String {
    let mut printer = Printer { heap, style, labels: Labels::find(heap, v, style), out: String::new() };
    printer.run(v);
    printer.out
}

/// What is left to print, innermost last.
enum Task {
    Value(Value),
    /// The rest of a list after an element.
    Tail(Value),
    /// Fields of a vector or record from an index on; a vector if the list of field names is missing.
    Fields(Ref, usize, Option<Value>),
    Close,
}

struct Printer<'a> {
    heap: &'a Heap,
    style: Style<'a>,
    labels: Labels,
    out: String,
}

impl Printer<'_> {
    fn run(&mut self, v: Value) {
        let mut tasks = vec![Task::Value(v)];
        let mut steps = 0;
        while let Some(task) = tasks.pop() {
            steps += 1;
            if self.out.len() > self.style.limit || steps % STEPS == 0 && (self.style.stop)() {
                return;
            }
            match task {
                Task::Value(v) => self.value(v, &mut tasks),
                Task::Tail(v) => self.tail(v, &mut tasks),
                Task::Fields(r, i, names) => self.fields(r, i, names, &mut tasks),
                Task::Close => self.out.push(')'),
            }
        }
    }

    fn value(&mut self, v: Value, tasks: &mut Vec<Task>) {
        if self.labels.mark(v, &mut self.out) {
            return;
        }
        if let Some((car, cdr)) = self.heap.uncons(v) {
            if let Some((prefix, datum)) = self.abbreviation(car, cdr) {
                self.out.push_str(prefix.text());
                if prefix == Prefix::Unquote && self.starts_with_at(datum) {
                    self.out.push(' ');
                }
                return tasks.push(Task::Value(datum));
            }
            self.out.push('(');
            tasks.push(Task::Tail(cdr));
            return tasks.push(Task::Value(car));
        }
        match v.as_object().map(|r| (r, self.heap.kind(r))) {
            Some((r, Kind::Vector)) => {
                self.out.push_str("#(");
                tasks.push(Task::Fields(r, 0, None));
            }
            Some((r, Kind::Record)) => self.record(r, tasks),
            _ => self.atom(v),
        }
    }

    /// `'x` for `(quote x)`, and so on.
    fn abbreviation(&self, car: Value, cdr: Value) -> Option<(Prefix, Value)> {
        let symbols = &self.heap.symbols;
        let prefix = Prefix::of_name(symbols.name(symbols.base_of(car.as_symbol()?)))?;
        let (datum, end) = self.heap.uncons(cdr)?;
        (end.is_nil() && !self.labels.has(cdr)).then_some((prefix, datum))
    }

    /// `(unquote @x)` must not come out as `,@x`.
    fn starts_with_at(&self, v: Value) -> bool {
        let symbols = &self.heap.symbols;
        v.as_symbol().is_some_and(|s| symbols.name(symbols.base_of(s)).starts_with('@'))
    }

    fn tail(&mut self, v: Value, tasks: &mut Vec<Task>) {
        match self.heap.uncons(v) {
            Some((car, cdr)) if !self.labels.has(v) => {
                self.out.push(' ');
                tasks.push(Task::Tail(cdr));
                tasks.push(Task::Value(car));
            }
            _ if v.is_nil() => self.out.push(')'),
            _ => {
                self.out.push_str(" . ");
                tasks.push(Task::Close);
                tasks.push(Task::Value(v));
            }
        }
    }

    fn record(&mut self, r: Ref, tasks: &mut Vec<Task>) {
        let rtd = self.heap.as_kind(self.heap.field(r, 0), Kind::RecordType);
        let name = rtd.map_or("record".into(), |rtd| self.record_name(rtd));
        let names = rtd.map_or(Value::NIL, |rtd| self.heap.field(rtd, 1));
        self.out.push_str("#<");
        self.out.push_str(&name);
        if labels::is_opaque(self.heap, r) {
            // Its fields are the library's business, except for how many entries there are.
            if let Some(count) = self.field_named(r, names, "count").or_else(|| self.field_named(r, names, "size")) {
                self.out.push(' ');
                self.atom(count);
            }
            return self.out.push('>');
        }
        tasks.push(Task::Fields(r, 1, Some(names)));
    }

    /// An atomic field of a record by its name.
    fn field_named(&self, r: Ref, names: Value, wanted: &str) -> Option<Value> {
        let position = self.heap.list_items(names)?.iter().position(|name| {
            name.as_symbol().is_some_and(|s| self.heap.symbols.name(self.heap.symbols.base_of(s)) == wanted)
        })?;
        let field = (position + 1 < self.heap.len(r)).then(|| self.heap.field(r, position + 1))?;
        field.is_fixnum().then_some(field)
    }

    fn fields(&mut self, r: Ref, i: usize, names: Option<Value>, tasks: &mut Vec<Task>) {
        if i >= self.heap.len(r) {
            self.out.push(if names.is_some() { '>' } else { ')' });
            return;
        }
        let mut rest = None;
        match names {
            None if i > 0 => self.out.push(' '),
            None => {}
            Some(names) => {
                self.out.push(' ');
                let (name, more) = self.heap.uncons(names).unwrap_or((Value::NIL, Value::NIL));
                if name.is_symbol() {
                    self.atom(name);
                    self.out.push_str(": ");
                }
                rest = Some(more);
            }
        }
        tasks.push(Task::Fields(r, i + 1, rest));
        tasks.push(Task::Value(self.heap.field(r, i)));
    }
}
