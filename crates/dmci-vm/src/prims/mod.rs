//! Primitive procedures: the table, and what their implementations share.
//!
//! A primitive never calls a procedure: whatever does is written in Scheme (`crates/dmci/scheme/lib`)
//! or is an instruction of the VM. A primitive never collects garbage. A primitive that can take
//! long or allocate much checks first ([`dmci_value::Heap::ensure`]) and counts its work
//! ([`World::spend`]).

pub mod alists;
pub mod bytevectors;
pub mod chars;
pub mod conditions;
pub mod control;
pub mod equality;
pub mod evaluation;
pub mod format;
pub mod hash_tables;
pub mod hashing;
pub mod io;
pub mod lists;
pub mod numbers;
pub mod pairs;
pub mod records;
pub mod strings;
pub mod symbols;
pub mod tensors;
#[cfg(test)]
mod tests;
pub mod texts;
pub mod vectors;

use crate::world::World;
use dmci_compile::primitives::PrimitiveSet;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Kind, Ref, Value};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// The implementation of a primitive.
pub type Native = fn(&mut World, &[Value]) -> Result<Value, Error>;

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Primitive {
    /// Its name in Scheme.
    pub name: &'static str,
    /// Fewest arguments.
    pub min: u8,
    /// Most arguments; `None`: any number.
    pub max: Option<u8>,
    /// The implementation.
    pub run: Native,
    /// The machine does it itself.
    pub control: Option<Control>,
}

/// Primitives that change what the machine does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Calls a procedure with arguments from a list.
    Apply,
    /// Calls a procedure with the current continuation.
    CallCc,
    /// Ends the run with an object that nobody caught.
    Abort,
    /// The place in the user's text that is being evaluated.
    Here,
    /// Notes a place for the frame that it returns to.
    Note,
}

static TABLE: LazyLock<Vec<Primitive>> = LazyLock::new(|| {
    let parts: [&[Primitive]; 22] = [
        control::PRIMITIVES,
        evaluation::PRIMITIVES,
        numbers::PRIMITIVES,
        pairs::PRIMITIVES,
        lists::PRIMITIVES,
        alists::PRIMITIVES,
        equality::PRIMITIVES,
        symbols::PRIMITIVES,
        chars::PRIMITIVES,
        strings::PRIMITIVES,
        vectors::PRIMITIVES,
        tensors::PRIMITIVES,
        bytevectors::PRIMITIVES,
        records::PRIMITIVES,
        conditions::PRIMITIVES,
        hashing::PRIMITIVES,
        hash_tables::PRIMITIVES,
        io::PRIMITIVES,
        format::PRIMITIVES,
        texts::PRIMITIVES,
        crate::traced::PRIMITIVES,
        crate::traced::soft::PRIMITIVES,
    ];
    parts.concat()
});

static SET: LazyLock<PrimitiveSet> = LazyLock::new(|| {
    let mut set = PrimitiveSet::default();
    for (i, p) in TABLE.iter().enumerate() {
        if matches!(p.control, None | Some(Control::Note)) {
            set.add(p.name, i as u16, p.min, p.max);
        }
    }
    set
});

/// All primitives, by number.
#[inline]
pub fn table() -> &'static [Primitive] {
    &TABLE
}

static BY_NAME: LazyLock<FxHashMap<&str, usize>> =
    LazyLock::new(|| TABLE.iter().enumerate().map(|(i, p)| (p.name, i)).collect());

/// The primitive of a name.
pub fn named(name: &str) -> Option<&'static Primitive> {
    BY_NAME.get(name).map(|&i| &TABLE[i])
}

/// What the compiler knows of them.
pub fn set() -> &'static PrimitiveSet {
    &SET
}

/// Whether a primitive takes `n` arguments and is no control primitive.
#[inline]
pub fn is_native(number: u32, n: usize) -> bool {
    let p = &TABLE[number as usize];
    n >= p.min as usize && p.max.is_none_or(|m| n <= m as usize) && p.control.is_none()
}

/// The error for a variable without a value.
pub fn unbound_variable(name: &str) -> Error {
    Diagnostic::error(ErrorCode::E0301, format!("the variable {name} is not bound"))
}

/// The error for a variable of a `letrec*` or a body that is read too early.
pub fn unset_variable(name: &str) -> Error {
    Diagnostic::error(ErrorCode::E0305, format!("the variable {name} is used before it has a value"))
        .help("move its definition before the first use")
}

/// The error for an assignment to a variable that was never defined.
pub fn undefined_variable(name: &str) -> Error {
    Diagnostic::error(ErrorCode::E0310, format!("set! of {name}, which is not defined"))
        .help(format!("define it first: (define {name} ...)"))
}

/// A number of arguments in words.
pub fn arguments(n: usize) -> String {
    match n {
        0 => "no argument".into(),
        1 => "1 argument".into(),
        n => format!("{n} arguments"),
    }
}

/// The error for a call with the wrong number of arguments.
pub fn wrong_arity(name: &str, min: usize, max: Option<usize>, n: usize) -> Error {
    let expected = match max {
        Some(max) if max == min => arguments(min),
        Some(max) => format!("{min} to {max} arguments"),
        None => format!("at least {}", arguments(min).replace("no argument", "0 arguments")),
    };
    let got = if n == 0 { "none".to_string() } else { n.to_string() };
    Diagnostic::error(ErrorCode::E0302, format!("{name} takes {expected}, got {got}"))
}

/// A row with a fixed number of arguments.
pub const fn fixed(name: &'static str, n: u8, run: Native) -> Primitive {
    Primitive { name, min: n, max: Some(n), run, control: None }
}

/// A row with optional arguments.
pub const fn between(name: &'static str, min: u8, max: u8, run: Native) -> Primitive {
    Primitive { name, min, max: Some(max), run, control: None }
}

/// A row with any number of arguments from `min` on.
pub const fn at_least(name: &'static str, min: u8, run: Native) -> Primitive {
    Primitive { name, min, max: None, run, control: None }
}

impl World {
    /// The error for an argument of the wrong type: `who` expected `what`, got `value`.
    pub fn wrong_type(&self, who: &str, what: &str, value: Value) -> Error {
        let message = format!("{who} expected {what}, got {}", self.show(value));
        if value.is_pair() && what.starts_with("a proper list") {
            return Diagnostic::error(ErrorCode::E0314, message).help("a proper list is made of pairs and ends in ()");
        }
        Diagnostic::error(ErrorCode::E0303, message)
    }

    /// A pair argument.
    pub fn pair(&self, who: &str, v: Value) -> Result<Ref, Error> {
        v.as_pair().ok_or_else(|| self.wrong_type(who, "a pair", v))
    }

    /// An argument of an object kind.
    pub fn object(&self, who: &str, what: &str, kind: Kind, v: Value) -> Result<Ref, Error> {
        self.heap.as_kind(v, kind).ok_or_else(|| self.wrong_type(who, what, v))
    }

    /// A proper list argument.
    pub fn list(&self, who: &str, v: Value) -> Result<Vec<Value>, Error> {
        self.heap.list_items(v).ok_or_else(|| {
            let mut error = self.wrong_type(who, "a proper list", v);
            if v.is_pair() {
                error.code = ErrorCode::E0314;
            }
            error
        })
    }

    /// A string argument as characters.
    pub fn chars(&self, who: &str, v: Value) -> Result<Vec<char>, Error> {
        Ok(self.heap.chars(v).ok_or_else(|| self.wrong_type(who, "a string", v))?.collect())
    }

    /// An exact non-negative integer argument that fits an index. A traced integer would be pinned here.
    pub fn index(&self, who: &str, v: Value) -> Result<usize, Error> {
        match v.as_fixnum() {
            Some(i) if i >= 0 => Ok(i as usize),
            _ => Err(self.wrong_type(who, "an exact non-negative integer", v)),
        }
    }

    /// An index below (or, for range ends, up to) `limit`.
    pub fn index_below(&self, who: &str, v: Value, limit: usize) -> Result<usize, Error> {
        let i = self.index(who, v)?;
        if i < limit {
            return Ok(i);
        }
        Err(Diagnostic::error(ErrorCode::E0306, format!("{who}: index {i} is out of range for length {limit}")))
    }

    /// Optional `start` and `end` arguments of a range over `len` items, from `args[from]` on.
    pub fn range(&self, who: &str, args: &[Value], from: usize, len: usize) -> Result<(usize, usize), Error> {
        let end = match args.get(from + 1) {
            Some(&v) => self.index(who, v)?,
            None => len,
        };
        let start = match args.get(from) {
            Some(&v) => self.index(who, v)?,
            None => 0,
        };
        if start <= end && end <= len {
            return Ok((start, end));
        }
        Err(Diagnostic::error(
            ErrorCode::E0306,
            format!("{who}: range {start} to {end} is out of range for length {len}"),
        ))
    }
}
