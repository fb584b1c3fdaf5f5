//! Constants of compiled code: data without a heap, so that code can be stored and shared.

use dmci_value::{Heap, Kind, SpanId, Value, num};

/// A constant.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Constant {
    Fixnum(i64),
    /// Decimal digits of an integer that does not fit a fixnum.
    Bignum(String),
    Real(f64),
    Bool(bool),
    Nil,
    Unspecified,
    Eof,
    Char(char),
    String(String),
    Symbol(String),
    /// Items, last cdr, and the places of its pairs (programs can be quoted and evaluated).
    List(Vec<Constant>, Box<Constant>, Vec<SpanId>),
    Vector(Vec<Constant>),
    Bytes(Vec<u8>),
    /// A traced number: a value of the heap that the code is compiled and loaded in. Never stored.
    Live(Value),
}

impl Constant {
    /// The constant for a datum; `None` if it holds something that is not data (a procedure, say).
    /// `place` takes places of the heap to those of the code.
    pub fn from_value(heap: &Heap, v: Value, place: &mut dyn FnMut(SpanId) -> SpanId) -> Option<Constant> {
        Some(if let Some(i) = v.as_fixnum() {
            Constant::Fixnum(i)
        } else if let Some(x) = v.as_real() {
            Constant::Real(x)
        } else if v.is_boolean() {
            Constant::Bool(v.is_true())
        } else if v.is_nil() {
            Constant::Nil
        } else if v == Value::UNSPECIFIED {
            Constant::Unspecified
        } else if v == Value::EOF {
            Constant::Eof
        } else if let Some(c) = v.as_char() {
            Constant::Char(c)
        } else if let Some(s) = v.as_symbol() {
            Constant::Symbol(heap.symbols.name(heap.symbols.base_of(s)).into())
        } else if v.is_pair() {
            let (mut items, mut places) = (Vec::new(), Vec::new());
            let mut rest = v;
            while let Some((car, cdr)) = heap.uncons(rest) {
                items.push(Constant::from_value(heap, car, place)?);
                places.push(place(heap.place(rest)));
                rest = cdr;
            }
            Constant::List(items, Box::new(Constant::from_value(heap, rest, place)?), places)
        } else if v.is_traced() {
            Constant::Live(v)
        } else {
            let r = v.as_object()?;
            match heap.kind(r) {
                Kind::Tensor => Constant::Live(v),
                Kind::String => Constant::String(heap.text(v)?),
                Kind::Bytevector => Constant::Bytes(heap.bytes(v)?),
                Kind::Bignum => Constant::Bignum(num::format_number(&num::Number::of(heap, v)?, 10)),
                Kind::Vector => Constant::Vector(
                    heap.fields(r).map(|item| Constant::from_value(heap, item, place)).collect::<Option<_>>()?,
                ),
                _ => return None,
            }
        })
    }

    /// The datum on a heap; `place` takes places of the code to those of the heap.
    pub fn to_value(&self, heap: &mut Heap, place: &dyn Fn(SpanId) -> SpanId) -> Value {
        match self {
            Constant::Fixnum(i) => Value::fixnum(*i),
            Constant::Bignum(digits) => {
                num::parse(digits, 10).ok().flatten().and_then(|n| n.to_value(heap).ok()).unwrap_or(Value::UNSPECIFIED)
            }
            Constant::Real(x) => Value::real(*x),
            Constant::Bool(b) => Value::boolean(*b),
            Constant::Nil => Value::NIL,
            Constant::Unspecified => Value::UNSPECIFIED,
            Constant::Eof => Value::EOF,
            Constant::Char(c) => Value::char(*c),
            Constant::String(s) => heap.string(s),
            Constant::Symbol(s) => Value::symbol(heap.symbols.intern(s)),
            Constant::List(items, tail, places) => {
                let mut list = tail.to_value(heap, place);
                for (i, item) in items.iter().enumerate().rev() {
                    let item = item.to_value(heap, place);
                    list = heap.cons_at(item, list, place(places.get(i).copied().unwrap_or_default()));
                }
                list
            }
            Constant::Vector(items) => {
                let items: Vec<Value> = items.iter().map(|c| c.to_value(heap, place)).collect();
                heap.vector(&items)
            }
            Constant::Bytes(bytes) => heap.bytevector(bytes),
            Constant::Live(v) => *v,
        }
    }
}

impl std::fmt::Display for Constant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Constant::Fixnum(i) => write!(f, "{i}"),
            Constant::Bignum(digits) => write!(f, "{digits}"),
            Constant::Real(x) => write!(f, "{x:?}"),
            Constant::Bool(b) => write!(f, "{}", if *b { "#t" } else { "#f" }),
            Constant::Nil => write!(f, "()"),
            Constant::Unspecified => write!(f, "#<unspecified>"),
            Constant::Eof => write!(f, "#<eof>"),
            Constant::Char(c) => write!(f, "#\\{c}"),
            Constant::String(s) => write!(f, "{s:?}"),
            Constant::Symbol(s) => write!(f, "{s}"),
            Constant::List(items, tail, _) => {
                write_items(f, "(", items)?;
                if **tail != Constant::Nil {
                    write!(f, " . {tail}")?;
                }
                write!(f, ")")
            }
            Constant::Vector(items) => {
                write_items(f, "#(", items)?;
                write!(f, ")")
            }
            Constant::Bytes(bytes) => write!(f, "#u8{bytes:?}"),
            Constant::Live(_) => write!(f, "#<traced>"),
        }
    }
}

fn write_items(f: &mut std::fmt::Formatter<'_>, open: &str, items: &[Constant]) -> std::fmt::Result {
    write!(f, "{open}")?;
    for (i, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if i > 0 { " " } else { "" })?;
    }
    Ok(())
}
