//! Questions about numbers. Type predicates take any value; the others want a number.

use super::division::integer_operand;
use super::*;
use num_integer::Integer;
use num_traits::Signed;

/// Whether it is a number (all numbers are real and complex too).
pub fn is_number(heap: &Heap, v: Value) -> bool {
    v.is_fixnum() || v.is_real() || heap.as_kind(v, Kind::Bignum).is_some()
}

/// Whether it is an integer, exact or not.
pub fn is_integer(heap: &Heap, v: Value) -> bool {
    match v.as_real() {
        Some(x) => x.is_finite() && x == x.trunc(),
        None => is_number(heap, v),
    }
}

/// Whether it is a finite number.
pub fn is_rational(heap: &Heap, v: Value) -> bool {
    match v.as_real() {
        Some(x) => x.is_finite(),
        None => is_number(heap, v),
    }
}

/// Whether it is an exact integer; the only exact rationals are these.
pub fn is_exact_integer(heap: &Heap, v: Value) -> bool {
    v.is_fixnum() || heap.as_kind(v, Kind::Bignum).is_some()
}

/// Whether it is an exact integer that is not negative.
pub fn is_exact_nonnegative_integer(heap: &Heap, v: Value) -> bool {
    match Number::of(heap, v) {
        Some(Number::Fix(i)) => i >= 0,
        Some(Number::Big(n)) => n.is_positive(),
        _ => false,
    }
}

macro_rules! questions {
    ($($(#[$doc:meta])* $name:ident $who:literal $test:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name(heap: &Heap, v: Value) -> Result<bool, Error> {
            let test: fn(&Number) -> bool = $test;
            Ok(test(&operand(heap, $who, v)?))
        }
    )*};
}

questions! {
    /// Whether the number is exact.
    is_exact "exact?" Number::is_exact;
    /// Whether the number is inexact.
    is_inexact "inexact?" |n| !n.is_exact();
    /// Whether it is NaN.
    is_nan "nan?" |n| matches!(n, Number::Real(x) if x.is_nan());
    /// Whether it is neither infinite nor NaN.
    is_finite "finite?" |n| !matches!(n, Number::Real(x) if !x.is_finite());
    /// Whether it is infinite.
    is_infinite "infinite?" |n| matches!(n, Number::Real(x) if x.is_infinite());
    /// Whether it is zero.
    is_zero "zero?" |n| matches!(n, Number::Fix(0) | Number::Real(0.0));
    /// Whether it is above zero.
    is_positive "positive?" |n| match n {
        Number::Fix(i) => *i > 0,
        Number::Big(n) => n.is_positive(),
        Number::Real(x) => *x > 0.0,
    };
    /// Whether it is below zero.
    is_negative "negative?" |n| match n {
        Number::Fix(i) => *i < 0,
        Number::Big(n) => n.is_negative(),
        Number::Real(x) => *x < 0.0,
    };
}

/// Whether an integer is even.
pub fn is_even(heap: &Heap, v: Value) -> Result<bool, Error> {
    parity(heap, "even?", v)
}

/// Whether an integer is odd.
pub fn is_odd(heap: &Heap, v: Value) -> Result<bool, Error> {
    Ok(!parity(heap, "odd?", v)?)
}

fn parity(heap: &Heap, who: &str, v: Value) -> Result<bool, Error> {
    Ok(match integer_operand(heap, who, v)? {
        Number::Fix(i) => i % 2 == 0,
        Number::Big(n) => n.is_even(),
        Number::Real(x) => x % 2.0 == 0.0,
    })
}
