//! Data outside a heap: what goes into programs and comes out of them.

use dmci_value::{Heap, Kind, Shape, Value, num};
use serde_json::{Value as Json, json};
use std::io::{self, Write};

/// A datum.
///
/// ```
/// use dmci::{Datum, Program, RunOptions};
///
/// let numbers = Datum::list(vec![Datum::Integer(1), Datum::Real(2.5)]);
/// let outcome = Program::new("(reverse numbers)").run(&RunOptions::default().with("numbers", numbers))?;
/// assert_eq!(outcome.value, Datum::list(vec![Datum::Real(2.5), Datum::Integer(1)]));
/// assert_eq!(outcome.value.to_json().to_string(), "[2.5,1]");
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Datum {
    Integer(i64),
    /// Decimal digits of a larger exact integer.
    BigInteger(String),
    Real(f64),
    Bool(bool),
    Char(char),
    String(String),
    Symbol(String),
    /// Items and last cdr; `None` for a proper list.
    List(Vec<Datum>, Option<Box<Datum>>),
    Vector(Vec<Datum>),
    /// A vector or matrix of reals, row by row.
    Tensor(Shape, Vec<f64>),
    Bytes(Vec<u8>),
    Unspecified,
    /// Several values at once.
    Values(Vec<Datum>),
    /// Something that is not data, as it prints.
    Opaque(String),
}

impl From<bool> for Datum {
    fn from(b: bool) -> Datum {
        Datum::Bool(b)
    }
}

impl From<&str> for Datum {
    fn from(text: &str) -> Datum {
        Datum::String(text.into())
    }
}

/// Deeper or larger data become opaque, so that a circular result cannot hang us.
const MAX_DEPTH: usize = 100;
const MAX_ITEMS: usize = 1 << 22;
/// Items between two looks at the clock.
const STEPS: usize = 1 << 12;

impl Datum {
    /// The proper list of these items.
    pub fn list(items: Vec<Datum>) -> Datum {
        Datum::List(items, None)
    }

    /// Copies a value out of a heap; `show` prints what is not data.
    pub fn from_value(heap: &Heap, v: Value, show: &dyn Fn(Value) -> String) -> Datum {
        Datum::deep_from_value(heap, v, MAX_DEPTH, show)
    }

    /// The same for data that are known to be nested at most `deepest` deep.
    pub(crate) fn deep_from_value(heap: &Heap, v: Value, deepest: usize, show: &dyn Fn(Value) -> String) -> Datum {
        Copier { heap, show, left: MAX_ITEMS, deepest }.copy(v, 0)
    }

    /// Whether something in it is not data that a text can hold.
    pub(crate) fn is_opaque(&self) -> bool {
        match self {
            Datum::List(items, tail) => items.iter().chain(tail.as_deref()).any(Datum::is_opaque),
            Datum::Vector(items) => items.iter().any(Datum::is_opaque),
            Datum::Tensor(..) | Datum::Unspecified | Datum::Values(_) | Datum::Opaque(_) => true,
            _ => false,
        }
    }

    /// Copies the datum into a heap; `None` if it is opaque.
    pub fn to_value(&self, heap: &mut Heap) -> Option<Value> {
        Some(match self {
            Datum::Integer(i) => num::Number::integer(*i).to_value(heap).ok()?,
            Datum::BigInteger(digits) => num::parse(digits, 10).ok()??.to_value(heap).ok()?,
            Datum::Real(x) => Value::real(*x),
            Datum::Bool(b) => Value::boolean(*b),
            Datum::Char(c) => Value::char(*c),
            Datum::String(s) => heap.string(s),
            Datum::Symbol(s) => Value::symbol(heap.symbols.intern(s)),
            Datum::List(items, tail) => {
                let tail = match tail {
                    Some(tail) => tail.to_value(heap)?,
                    None => Value::NIL,
                };
                let items = items.iter().map(|d| d.to_value(heap)).collect::<Option<Vec<_>>>()?;
                heap.list_with_tail(&items, tail)
            }
            Datum::Vector(items) => {
                let items = items.iter().map(|d| d.to_value(heap)).collect::<Option<Vec<_>>>()?;
                heap.vector(&items)
            }
            Datum::Tensor(shape, elements) => {
                let bits: Vec<u64> = elements.iter().map(|x| x.to_bits()).collect();
                heap.tensor(*shape, &bits)
            }
            Datum::Bytes(bytes) => heap.bytevector(bytes),
            Datum::Unspecified => Value::UNSPECIFIED,
            Datum::Values(_) | Datum::Opaque(_) => return None,
        })
    }

    /// The number, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Datum::Integer(i) => Some(*i as f64),
            Datum::BigInteger(digits) => digits.parse().ok(),
            Datum::Real(x) => Some(*x),
            _ => None,
        }
    }

    /// The JSON form; exactness and type survive the round trip.
    pub fn to_json(&self) -> Json {
        match self {
            Datum::Integer(i) if i.unsigned_abs() <= 1 << 53 => json!(i),
            Datum::Integer(i) => json!({"int": i.to_string()}),
            Datum::BigInteger(digits) => json!({"int": digits}),
            Datum::Real(x) if x.is_finite() => json!(x),
            Datum::Real(x) if x.is_nan() => json!({"real": "nan"}),
            Datum::Real(x) => json!({"real": if *x > 0.0 { "inf" } else { "-inf" }}),
            Datum::Bool(b) => json!(b),
            Datum::Char(c) => json!({"char": c.to_string()}),
            Datum::String(s) => json!(s),
            Datum::Symbol(s) => json!({"symbol": s}),
            Datum::List(items, None) => items.iter().map(Datum::to_json).collect(),
            Datum::List(items, Some(tail)) => {
                let items: Json = items.iter().map(Datum::to_json).collect();
                json!({"list": items, "tail": tail.to_json()})
            }
            Datum::Vector(items) => {
                let items: Json = items.iter().map(Datum::to_json).collect();
                json!({"vector": items})
            }
            Datum::Tensor(shape, elements) => {
                let numbers = |items: &[f64]| items.iter().map(|&x| Datum::Real(x).to_json()).collect::<Json>();
                let items: Json = match shape {
                    Shape::Matrix(_, n) => elements.chunks((*n).max(1) as usize).map(numbers).collect(),
                    _ => numbers(elements),
                };
                json!({"tensor": items})
            }
            Datum::Bytes(bytes) => json!({"bytes": bytes}),
            Datum::Unspecified => Json::Null,
            Datum::Values(items) => {
                let items: Json = items.iter().map(Datum::to_json).collect();
                json!({"values": items})
            }
            Datum::Opaque(text) => json!({"opaque": text}),
        }
    }
}

impl Datum {
    /// Writes the text of [`Datum::to_json`] item by item, without the tree that takes a hundred times as much memory.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Datum::List(items, None) => write_items(items, out),
            Datum::List(items, Some(tail)) => {
                out.write_all(b"{\"list\":")?;
                write_items(items, out)?;
                out.write_all(b",\"tail\":")?;
                tail.write_json(out)?;
                out.write_all(b"}")
            }
            Datum::Vector(items) | Datum::Values(items) => {
                let name = if matches!(self, Datum::Vector(_)) { "vector" } else { "values" };
                write!(out, "{{\"{name}\":")?;
                write_items(items, out)?;
                out.write_all(b"}")
            }
            Datum::Symbol(name) => {
                out.write_all(b"{\"symbol\":")?;
                serde_json::to_writer(&mut *out, name)?;
                out.write_all(b"}")
            }
            Datum::String(text) => Ok(serde_json::to_writer(out, text)?),
            Datum::Tensor(Shape::Matrix(_, n), elements) => {
                out.write_all(b"{\"tensor\":")?;
                write_list(elements.chunks((*n).max(1) as usize), out, |row, out| write_numbers(row, out))?;
                out.write_all(b"}")
            }
            Datum::Tensor(_, elements) => {
                out.write_all(b"{\"tensor\":")?;
                write_numbers(elements, out)?;
                out.write_all(b"}")
            }
            _ => Ok(serde_json::to_writer(out, &self.to_json())?),
        }
    }
}

fn write_items(items: &[Datum], out: &mut dyn Write) -> io::Result<()> {
    write_list(items.iter(), out, |item, out| item.write_json(out))
}

fn write_numbers(numbers: &[f64], out: &mut dyn Write) -> io::Result<()> {
    write_list(numbers.iter(), out, |x, out| Datum::Real(*x).write_json(out))
}

fn write_list<T>(
    items: impl Iterator<Item = T>,
    out: &mut dyn Write,
    write: impl Fn(T, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    out.write_all(b"[")?;
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.write_all(b",")?;
        }
        write(item, out)?;
    }
    out.write_all(b"]")
}

struct Copier<'a> {
    heap: &'a Heap,
    show: &'a dyn Fn(Value) -> String,
    left: usize,
    deepest: usize,
}

impl Copier<'_> {
    fn copy(&mut self, v: Value, depth: usize) -> Datum {
        if depth > self.deepest || self.left == 0 {
            return Datum::Opaque("...".into());
        }
        self.left -= 1;
        if self.left.is_multiple_of(STEPS) && self.heap.alarm.rings() {
            self.left = 0;
            return Datum::Opaque("...".into());
        }
        let heap = self.heap;
        let v = heap.as_kind(v, Kind::Traced).map_or(v, |r| heap.field(r, 1));
        match num::Number::of(heap, v) {
            Some(num::Number::Fix(i)) => return Datum::Integer(i),
            Some(num::Number::Real(x)) => return Datum::Real(x),
            Some(big) => {
                let digits = num::format_number(&big, 10);
                return digits.parse().map_or(Datum::BigInteger(digits), Datum::Integer);
            }
            None => {}
        }
        if v.is_boolean() {
            return Datum::Bool(v.is_true());
        }
        if v.is_nil() {
            return Datum::list(Vec::new());
        }
        if v == Value::UNSPECIFIED {
            return Datum::Unspecified;
        }
        if let Some(c) = v.as_char() {
            return Datum::Char(c);
        }
        if let Some(s) = v.as_symbol() {
            return Datum::Symbol(heap.symbols.name(heap.symbols.base_of(s)).into());
        }
        if v.is_pair() {
            return self.list(v, depth);
        }
        let fields = |copier: &mut Self, r| {
            let items: Vec<Value> = heap.fields(r).collect();
            items.into_iter().map(|item| copier.copy(item, depth + 1)).collect()
        };
        if let Some((shape, bits)) = heap.as_tensor(v) {
            return Datum::Tensor(shape, bits.iter().map(|&b| f64::from_bits(b)).collect());
        }
        match v.as_object().map(|r| (heap.kind(r), r)) {
            Some((Kind::String, _)) => Datum::String(heap.text(v).unwrap_or_default()),
            Some((Kind::Bytevector, _)) => Datum::Bytes(heap.bytes(v).unwrap_or_default()),
            Some((Kind::Vector, r)) => Datum::Vector(fields(self, r)),
            Some((Kind::Values, r)) => Datum::Values(fields(self, r)),
            _ => Datum::Opaque((self.show)(v)),
        }
    }

    fn list(&mut self, v: Value, depth: usize) -> Datum {
        let mut items = Vec::new();
        let mut rest = v;
        while let Some((car, cdr)) = self.heap.uncons(rest) {
            if self.left == 0 {
                return Datum::Opaque((self.show)(v));
            }
            items.push(self.copy(car, depth + 1));
            rest = cdr;
        }
        let tail = (!rest.is_nil()).then(|| Box::new(self.copy(rest, depth + 1)));
        Datum::List(items, tail)
    }
}

impl From<f64> for Datum {
    fn from(x: f64) -> Self {
        Datum::Real(x)
    }
}

impl From<i64> for Datum {
    fn from(i: i64) -> Self {
        Datum::Integer(i)
    }
}

impl From<Vec<f64>> for Datum {
    fn from(list: Vec<f64>) -> Self {
        Datum::list(list.into_iter().map(Datum::Real).collect())
    }
}
