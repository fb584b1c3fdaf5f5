//! The text of whatever has no parts to descend into.

use super::{Printer, Sharing};
use crate::reader::{char_name, is_plain_symbol};
use dmci_value::num::{Number, format_number};
use dmci_value::{Heap, Kind, Ref, Shape, Value};

/// Integers of more words than this are not spelt out in messages.
const LONG_INTEGER: usize = 64;

/// Adds a tensor to a text, as the call that makes it, in brackets: `#[vec 1.0 2.0]`,
/// `#[mat (1.0 2.0) (3.0 4.0)]`. It stops once the text is longer than the limit.
pub fn tensor_text(out: &mut String, shape: Shape, elements: &[u64], limit: usize) {
    let (name, columns) = match shape {
        Shape::Matrix(_, n) => ("#[mat", n as usize),
        _ => ("#[vec", elements.len()),
    };
    out.push_str(name);
    for (i, &bits) in elements.iter().enumerate() {
        if out.len() > limit {
            return;
        }
        let (first, matrix) = (columns > 0 && i % columns == 0, name == "#[mat");
        out.push_str(match (matrix && first, i) {
            (true, 0) => " (",
            (true, _) => ") (",
            (false, _) => " ",
        });
        out.push_str(&format_number(&Number::Real(f64::from_bits(bits)), 10));
    }
    out.push_str(if name == "#[mat" && !elements.is_empty() { ")]" } else { "]" });
}

impl Printer<'_> {
    /// Prints a value that is neither pair, vector nor record.
    pub(super) fn atom(&mut self, v: Value) {
        if v.is_real() || v.is_fixnum() {
            return self.number(v);
        }
        if let Some(symbol) = v.as_symbol() {
            let name = self.heap.symbols.name(self.heap.symbols.base_of(symbol));
            if self.style.write && !is_plain_symbol(name) {
                return escaped(&mut self.out, name.chars(), '|', usize::MAX);
            }
            return self.out.push_str(name);
        }
        if let Some(c) = v.as_char() {
            return if self.style.write { self.character(c) } else { self.out.push(c) };
        }
        if v.is_closure() || v.as_primitive().is_some() {
            return self.procedure(v);
        }
        match v.as_ref() {
            Some(r) => self.object(v, r),
            None => self.out.push_str(match v {
                Value::TRUE => "#t",
                Value::FALSE => "#f",
                Value::NIL => "()",
                Value::UNSPECIFIED => "#<unspecified>",
                Value::EOF => "#<eof>",
                Value::DEFAULT => "#!default",
                _ => "#<unbound>",
            }),
        }
    }

    fn object(&mut self, v: Value, r: Ref) {
        let plain = match self.heap.kind(r) {
            Kind::String => return self.string(v),
            Kind::Bignum => return self.bignum(v, r),
            Kind::Bytevector => return self.bytevector(r),
            Kind::Tensor => return self.tensor(v),
            Kind::Condition => return self.condition(r),
            // Programs cannot tell a traced number from a plain one.
            Kind::Traced => {
                let start = self.out.len();
                self.atom(self.heap.field(r, 1));
                return (self.style.traced)(v, start..self.out.len());
            }
            Kind::RecordType => {
                self.out.push_str("#<record-type ");
                let name = self.record_name(r);
                self.out.push_str(&name);
                ">"
            }
            Kind::Continuation => "#<continuation>",
            Kind::Environment => "#<environment>",
            Kind::Macro => "#<macro>",
            Kind::Promise => "#<promise>",
            Kind::Parameter => "#<parameter>",
            Kind::Port => "#<port>",
            Kind::Values => "#<values>",
            Kind::Cell => "#<cell>",
            Kind::Pair | Kind::Vector | Kind::Record | Kind::Closure => "#<object>",
        };
        self.out.push_str(plain);
    }

    fn procedure(&mut self, v: Value) {
        match (self.style.names)(v) {
            Some(name) => {
                self.out.push_str("#<procedure ");
                self.out.push_str(&name);
                self.out.push('>');
            }
            None => self.out.push_str("#<procedure>"),
        }
    }

    fn character(&mut self, c: char) {
        self.out.push_str("#\\");
        match char_name(c) {
            Some(name) => self.out.push_str(name),
            None if is_invisible(c) => self.out.push_str(&format!("x{:x}", c as u32)),
            None => self.out.push(c),
        }
    }

    fn string(&mut self, v: Value) {
        if self.style.write {
            return self.quoted(v);
        }
        let room = self.room();
        if let Some(chars) = self.heap.chars(v) {
            self.out.extend(chars.take(room));
        }
    }

    /// A string with its marks, whatever the style.
    fn quoted(&mut self, v: Value) {
        let room = self.room();
        if let Some(chars) = self.heap.chars(v) {
            escaped(&mut self.out, chars, '"', room);
        }
    }

    /// How many characters to print at most: one more than fits, so that the caller sees that the
    /// limit was passed.
    fn room(&self) -> usize {
        self.style.limit.saturating_sub(self.out.len()).saturating_add(1)
    }

    fn bignum(&mut self, v: Value, r: Ref) {
        let words = self.heap.len(r);
        if words > LONG_INTEGER && self.style.sharing == Sharing::Nothing {
            let digits = (words as f64 * 64.0 * std::f64::consts::LOG10_2) as usize;
            return self.out.push_str(&format!("#<integer of about {digits} digits>"));
        }
        self.number(v);
    }

    fn number(&mut self, v: Value) {
        if let Some(number) = Number::of(self.heap, v) {
            self.out.push_str(&format_number(&number, 10));
        }
    }

    fn bytevector(&mut self, r: Ref) {
        let raw = self.heap.raw(r);
        self.out.push_str("#u8(");
        for i in 0..raw[0] as usize {
            if self.out.len() > self.style.limit {
                return;
            }
            if i > 0 {
                self.out.push(' ');
            }
            let byte = (raw[1 + i / 8] >> (8 * (i % 8))) as u8;
            self.out.push_str(&byte.to_string());
        }
        self.out.push(')');
    }

    fn tensor(&mut self, v: Value) {
        if let Some((shape, elements)) = self.heap.as_tensor(v) {
            tensor_text(&mut self.out, shape, elements, self.style.limit);
        }
    }

    fn condition(&mut self, r: Ref) {
        self.out.push_str("#<condition ");
        self.out.push_str(self.heap.condition_code(r).as_str());
        let message = self.heap.condition_message(r);
        if self.heap.as_kind(message, Kind::String).is_some() {
            self.out.push(' ');
            self.quoted(message);
        } else if let Some(name) = symbol_name(self.heap, message) {
            self.out.push(' ');
            self.out.push_str(name);
        }
        self.out.push('>');
    }

    /// The name of a record type without the customary angle brackets.
    pub(super) fn record_name(&self, rtd: Ref) -> String {
        let name = symbol_name(self.heap, self.heap.field(rtd, 0)).unwrap_or("record");
        name.strip_prefix('<').and_then(|n| n.strip_suffix('>')).filter(|n| !n.is_empty()).unwrap_or(name).to_string()
    }
}

fn symbol_name(heap: &Heap, v: Value) -> Option<&str> {
    v.as_symbol().map(|s| heap.symbols.name(heap.symbols.base_of(s)))
}

/// Characters that would not be seen, or not be read back.
fn is_invisible(c: char) -> bool {
    c.is_control() || c.is_whitespace() || matches!(c, '\u{FEFF}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}')
}

/// Text between two marks, with escapes, at most `room` characters of it.
fn escaped(out: &mut String, chars: impl Iterator<Item = char>, mark: char, room: usize) {
    out.push(mark);
    for c in chars.take(room) {
        match c {
            '\\' => out.push_str("\\\\"),
            c if c == mark => out.extend(['\\', c]),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push_str(&format!("\\x{:x};", c as u32)),
            c => out.push(c),
        }
    }
    out.push(mark);
}
