//! Comparison, exact across all representations: a big integer is never rounded to be compared.

use super::*;
use dmci_ops::real;
use num_traits::{FromPrimitive, Signed};
use std::cmp::Ordering;

/// The order of two numbers; `None` if one is NaN.
pub fn compare(heap: &Heap, who: &str, a: Value, b: Value) -> Result<Option<Ordering>, Error> {
    if let (Some(x), Some(y)) = (a.as_fixnum(), b.as_fixnum()) {
        return Ok(Some(x.cmp(&y)));
    }
    if let (Some(x), Some(y)) = (a.as_real(), b.as_real()) {
        return Ok(x.partial_cmp(&y));
    }
    Ok(number_order(&operand(heap, who, a)?, &operand(heap, who, b)?))
}

/// The order of two numbers; `None` if one is NaN.
pub fn number_order(a: &Number, b: &Number) -> Option<Ordering> {
    match (a, b) {
        (Number::Fix(x), Number::Fix(y)) => Some(x.cmp(y)),
        (Number::Real(x), Number::Real(y)) => x.partial_cmp(y),
        (Number::Big(x), Number::Big(y)) => Some(x.cmp(y)),
        // Every fixnum is exactly a real.
        (Number::Fix(x), Number::Real(y)) => (*x as f64).partial_cmp(y),
        (Number::Real(x), Number::Fix(y)) => x.partial_cmp(&(*y as f64)),
        (Number::Big(x), Number::Real(y)) => big_against_real(x, *y),
        (Number::Real(x), Number::Big(y)) => big_against_real(y, *x).map(Ordering::reverse),
        // A bignum is beyond every fixnum.
        (Number::Big(x), Number::Fix(_)) => Some(if x.is_negative() { Ordering::Less } else { Ordering::Greater }),
        (Number::Fix(_), Number::Big(y)) => Some(if y.is_negative() { Ordering::Greater } else { Ordering::Less }),
    }
}

fn big_against_real(n: &BigInt, x: f64) -> Option<Ordering> {
    if x.is_nan() {
        return None;
    }
    match BigInt::from_f64(x.trunc()) {
        // Equal so far: the fraction decides.
        Some(whole) => Some(n.cmp(&whole).then((x.trunc()).total_cmp(&x))),
        None if x > 0.0 => Some(Ordering::Less),
        None => Some(Ordering::Greater),
    }
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident $who:literal $test:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name(heap: &mut Heap, a: Value, b: Value) -> Result<Value, Error> {
            let test: fn(Ordering) -> bool = $test;
            Ok(Value::boolean(compare(heap, $who, a, b)?.is_some_and(test)))
        }
    )*};
}

comparisons! {
    /// a = b; false if one is NaN.
    equal "=" Ordering::is_eq;
    /// a < b; false if one is NaN.
    less "<" Ordering::is_lt;
    /// a > b; false if one is NaN.
    greater ">" Ordering::is_gt;
    /// a <= b; false if one is NaN.
    less_equal "<=" Ordering::is_le;
    /// a >= b; false if one is NaN.
    greater_equal ">=" Ordering::is_ge;
}

/// Whether two values are numerically equal numbers; false if one is not a number.
pub fn number_equal(heap: &Heap, a: Value, b: Value) -> bool {
    match (Number::of(heap, a), Number::of(heap, b)) {
        (Some(x), Some(y)) => number_order(&x, &y) == Some(Ordering::Equal),
        _ => false,
    }
}

/// `eqv?` on numbers: same exactness and same number, where `0.0` is not `-0.0` and NaN is itself.
/// False if one is not a number.
pub fn eqv(heap: &Heap, a: Value, b: Value) -> bool {
    if let (Some(x), Some(y)) = (a.as_real(), b.as_real()) {
        return x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
    }
    if a.is_fixnum() || b.is_fixnum() {
        return a == b;
    }
    match (heap.as_kind(a, Kind::Bignum), heap.as_kind(b, Kind::Bignum)) {
        (Some(x), Some(y)) => heap.raw(x) == heap.raw(y),
        _ => false,
    }
}

/// The larger one; inexact if one of them is, NaN if one is NaN.
pub fn max(heap: &mut Heap, a: Value, b: Value) -> Result<Value, Error> {
    extreme(heap, "max", a, b, real::max, Ordering::is_ge)
}

/// The smaller one; inexact if one of them is, NaN if one is NaN.
pub fn min(heap: &mut Heap, a: Value, b: Value) -> Result<Value, Error> {
    extreme(heap, "min", a, b, real::min, Ordering::is_le)
}

fn extreme(
    heap: &mut Heap,
    who: &str,
    a: Value,
    b: Value,
    on_reals: fn(f64, f64) -> f64,
    first: fn(Ordering) -> bool,
) -> Result<Value, Error> {
    if let (Some(x), Some(y)) = (a.as_real(), b.as_real()) {
        return Ok(Value::real(on_reals(x, y)));
    }
    let x = operand(heap, who, a)?;
    let y = operand(heap, who, b)?;
    if !x.is_exact() || !y.is_exact() {
        return Ok(Value::real(on_reals(x.to_f64(), y.to_f64())));
    }
    Ok(if number_order(&x, &y).is_some_and(first) { a } else { b })
}
