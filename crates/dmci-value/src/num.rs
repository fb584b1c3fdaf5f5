//! Numbers: exact integers of any size and reals, and what programs do with them.
//!
//! This is the complete arithmetic; the VM's instructions only shortcut pairs of fixnums and pairs
//! of reals. Exact with inexact gives inexact; an exact division that does not come out even gives
//! a real; there are no rationals and no complex numbers.
//!
//! Every operand is read by [`operand`], the one place that decides what counts as a number.

mod arithmetic;
mod bits;
mod compare;
mod division;
mod format;
mod gcd;
mod parse;
mod power;
mod predicate;
mod random;
mod rounding;

pub use arithmetic::{abs, add, apply_real, cube, div, mul, negate, reciprocal, relu, sign, square, sub};
pub use bits::{and, arithmetic_shift, bit_count, not, or, shift_left, shift_right, xor};
pub use compare::{
    compare, equal, eqv, greater, greater_equal, less, less_equal, max, min, number_equal, number_order,
};
pub use division::{
    floor_quotient, floor_remainder, gcd, lcm, modulo, quotient, remainder, truncate_quotient, truncate_remainder,
};
pub use format::{format_number, format_real, number_to_string};
pub use parse::parse;
pub use power::{exact_integer_sqrt, expt, log, log_base, log2, log10, sqrt};
pub use predicate::{
    is_even, is_exact, is_exact_integer, is_exact_nonnegative_integer, is_finite, is_inexact, is_infinite, is_integer,
    is_nan, is_negative, is_number, is_odd, is_positive, is_rational, is_zero,
};
pub use random::{next_random, random_below, random_real};
pub use rounding::{
    ceiling, ceiling_to_exact, denominator, exact, floor, floor_to_exact, inexact, numerator, rationalize, round,
    round_to_exact, truncate, truncate_to_exact,
};

use crate::codes::ErrorCode;
use crate::diagnostic::{Diagnostic, Error};
use crate::heap::{Heap, Kind};
use crate::value::{FIXNUM_MAX, FIXNUM_MIN, Value};
use num_bigint::{BigInt, BigUint, Sign};
use num_traits::ToPrimitive;

/// Exact integers have at most this many bits, so that one operation cannot take for ever.
pub const MAX_BITS: u64 = 1 << 19;

/// A number outside the heap.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// An exact integer in the fixnum range.
    Fix(i64),
    /// An exact integer beyond the fixnum range.
    Big(BigInt),
    /// A real.
    Real(f64),
}

impl Number {
    /// The number behind a value, if it is one.
    pub fn of(heap: &Heap, v: Value) -> Option<Number> {
        if let Some(i) = v.as_fixnum() {
            return Some(Number::Fix(i));
        }
        if let Some(x) = v.as_real() {
            return Some(Number::Real(x));
        }
        let raw = heap.raw(heap.as_kind(v, Kind::Bignum)?);
        let digits: Vec<u32> = raw[1..].iter().flat_map(|&w| [w as u32, (w >> 32) as u32]).collect();
        let sign = if raw[0] & 1 == 1 { Sign::Minus } else { Sign::Plus };
        Some(Number::Big(BigInt::from_biguint(sign, BigUint::new(digits))))
    }

    /// An exact integer in its normal form.
    pub fn integer(n: impl Into<BigInt>) -> Number {
        let n = n.into();
        match n.to_i64() {
            Some(i) if (FIXNUM_MIN..=FIXNUM_MAX).contains(&i) => Number::Fix(i),
            _ => Number::Big(n),
        }
    }

    /// The value; E0406 if it is an integer of more than [`MAX_BITS`] bits.
    pub fn to_value(&self, heap: &mut Heap) -> Result<Value, Error> {
        match self {
            Number::Fix(i) => Ok(small_integer(heap, (*i).into())),
            Number::Real(x) => Ok(Value::real(*x)),
            Number::Big(n) if n.bits() > MAX_BITS => Err(too_large()),
            Number::Big(n) => {
                let magnitude: Vec<u64> = n.iter_u64_digits().collect();
                Ok(alloc_bignum(heap, n.sign() == Sign::Minus, &magnitude))
            }
        }
    }

    /// The nearest real.
    pub fn to_f64(&self) -> f64 {
        match self {
            Number::Fix(i) => *i as f64,
            Number::Big(n) => big_to_f64(n),
            Number::Real(x) => *x,
        }
    }

    /// Whether it is an exact integer.
    pub fn is_exact(&self) -> bool {
        !matches!(self, Number::Real(_))
    }

    /// The integer that it is, exactly or as a real without a fraction.
    pub fn to_integer(&self) -> Option<BigInt> {
        match self {
            Number::Fix(i) => Some(BigInt::from(*i)),
            Number::Big(n) => Some(n.clone()),
            Number::Real(x) => real_to_integer(*x),
        }
    }
}

impl Number {
    /// The integer; callers have dealt with reals.
    fn into_exact(self) -> BigInt {
        match self {
            Number::Fix(i) => i.into(),
            Number::Big(n) => n,
            Number::Real(x) => real_to_integer(x).unwrap_or_default(),
        }
    }
}

/// The integer that a real is, if it has no fraction.
fn real_to_integer(x: f64) -> Option<BigInt> {
    (x.is_finite() && x == x.trunc()).then(|| num_traits::FromPrimitive::from_f64(x)).flatten()
}

fn big_to_f64(n: &BigInt) -> f64 {
    n.to_f64().expect("a big integer is some real or infinite")
}

/// The value of an integer that fits two words.
fn small_integer(heap: &mut Heap, n: i128) -> Value {
    if let Some(v) = i64::try_from(n).ok().and_then(Value::try_fixnum) {
        return v;
    }
    let magnitude = n.unsigned_abs();
    let words = [magnitude as u64, (magnitude >> 64) as u64];
    alloc_bignum(heap, n < 0, if words[1] == 0 { &words[..1] } else { &words })
}

/// A bignum: sign in the lowest bit of the first word and length above it, then the magnitude,
/// lowest word first. The form is unique, so equal integers have equal words.
fn alloc_bignum(heap: &mut Heap, negative: bool, magnitude: &[u64]) -> Value {
    let mut words = Vec::with_capacity(magnitude.len() + 1);
    words.push((magnitude.len() as u64) << 1 | u64::from(negative));
    words.extend_from_slice(magnitude);
    heap.alloc_raw(Kind::Bignum, &words)
}

/// The number that `who` was given, or E0303.
pub fn operand(heap: &Heap, who: &str, v: Value) -> Result<Number, Error> {
    Number::of(heap, v).ok_or_else(|| wrong_type(heap, who, "a number", v))
}

/// The exact integer that `who` was given, or E0303.
fn exact_operand(heap: &Heap, who: &str, v: Value) -> Result<BigInt, Error> {
    match Number::of(heap, v) {
        Some(Number::Fix(i)) => Ok(i.into()),
        Some(Number::Big(n)) => Ok(n),
        _ => Err(wrong_type(heap, who, "an exact integer", v)),
    }
}

/// The error for an operand of the wrong type.
pub fn wrong_type(heap: &Heap, who: &str, what: &str, v: Value) -> Error {
    Diagnostic::error(ErrorCode::E0303, format!("{who} expected {what}, got {}", describe(heap, v)))
}

/// A few words for a value in a message: numbers and atoms as printed, other objects by kind.
pub fn describe(heap: &Heap, v: Value) -> String {
    /// Longer numbers and strings are cut.
    const SHOWN: usize = 40;
    if let Some(number) = Number::of(heap, v) {
        if let Number::Big(n) = &number
            && n.bits() > 200
        {
            return format!("an integer of {} bits", n.bits());
        }
        return format_number(&number, 10);
    }
    if let Some(s) = v.as_symbol() {
        return format!("the symbol {}", heap.symbols.name(heap.symbols.base_of(s)));
    }
    if let Some(c) = v.as_char() {
        return format!("the character {c:?}");
    }
    if let Some(chars) = heap.chars(v) {
        let rest = if chars.len() > SHOWN { "..." } else { "" };
        return format!("{:?}{rest}", chars.take(SHOWN).collect::<String>());
    }
    let fixed = match v {
        Value::FALSE => "#f",
        Value::TRUE => "#t",
        Value::NIL => "the empty list",
        Value::UNSPECIFIED => "an unspecified value",
        Value::EOF => "the end-of-file object",
        _ => match v.as_ref().map(|r| heap.kind(r)) {
            Some(Kind::Pair) => "a pair",
            Some(Kind::Vector) => "a vector",
            Some(Kind::Tensor) => "a tensor",
            Some(Kind::Record) => "a record",
            Some(Kind::RecordType) => "a record type",
            Some(Kind::Values) => "several values",
            Some(Kind::Condition) => "a condition",
            Some(Kind::Environment) => "an environment",
            Some(Kind::Promise) => "a promise",
            Some(Kind::Port) => "a port",
            Some(Kind::Bytevector) => "a bytevector",
            Some(Kind::Closure | Kind::Continuation | Kind::Parameter) => "a procedure",
            _ if v.as_primitive().is_some() => "a procedure",
            _ => "an object",
        },
    };
    fixed.to_string()
}

fn too_large() -> Error {
    Diagnostic::error(ErrorCode::E0406, format!("an exact integer grows beyond {MAX_BITS} bits"))
        .help("compute with reals: write 2.0 instead of 2, or convert with (inexact x)")
}

fn division_by_zero(who: &str) -> Error {
    Diagnostic::error(ErrorCode::E0501, format!("{who}: division by zero"))
        .help("test the divisor with zero? first; dividing by the real 0.0 with / gives an infinity instead")
}

/// Counts work on big integers, so that the limits see it: one step per 32 word operations.
fn spend(heap: &mut Heap, word_operations: u64) {
    heap.poll -= (word_operations >> 5) as i64;
}

fn words(n: &BigInt) -> u64 {
    n.bits() / 64 + 1
}

#[cfg(test)]
mod tests;
