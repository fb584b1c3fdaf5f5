//! Rounding, conversion between exact and inexact, fractions.

use super::arithmetic::{ratio, scale};
use super::*;
use crate::codes::ErrorCode;
use dmci_ops::real;
use num_traits::{One, Signed, Zero};

macro_rules! roundings {
    ($($(#[$doc:meta])* $name:ident $to_exact:ident $who:literal $who_exact:literal $f:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name(heap: &mut Heap, v: Value) -> Result<Value, Error> {
            rounded(heap, $who, v, $f)
        }

        #[doc = concat!("As `", stringify!($name), "`, made exact.")]
        pub fn $to_exact(heap: &mut Heap, v: Value) -> Result<Value, Error> {
            let whole = rounded(heap, $who_exact, v, $f)?;
            to_exact(heap, $who_exact, whole)
        }
    )*};
}

roundings! {
    /// The largest integer not above.
    floor floor_to_exact "floor" "floor->exact" real::floor;
    /// The smallest integer not below.
    ceiling ceiling_to_exact "ceiling" "ceiling->exact" real::ceiling;
    /// The nearest integer, halves to the even one.
    round round_to_exact "round" "round->exact" real::round;
    /// The integer next to it towards zero.
    truncate truncate_to_exact "truncate" "truncate->exact" real::truncate;
}

fn rounded(heap: &mut Heap, who: &str, v: Value, f: real::Function) -> Result<Value, Error> {
    match operand(heap, who, v)? {
        Number::Real(x) => Ok(Value::real(f(x))),
        _ => Ok(v),
    }
}

/// The exact integer equal to it; E0502 if there is none.
pub fn exact(heap: &mut Heap, v: Value) -> Result<Value, Error> {
    to_exact(heap, "exact", v)
}

fn to_exact(heap: &mut Heap, who: &str, v: Value) -> Result<Value, Error> {
    match operand(heap, who, v)? {
        Number::Real(x) => match real_to_integer(x) {
            Some(n) => Number::integer(n).to_value(heap),
            None => Err(no_exact_value(who, x)),
        },
        _ => Ok(v),
    }
}

/// The error for a real that is not an integer.
fn no_exact_value(who: &str, x: f64) -> Error {
    let error = Diagnostic::error(
        ErrorCode::E0502,
        format!("{who}: {} has no exact value: it is not an integer", format_real(x)),
    );
    if x.is_finite() { error.help("exact numbers are integers; round first: (exact (round x))") } else { error }
}

/// The nearest real.
pub fn inexact(heap: &mut Heap, v: Value) -> Result<Value, Error> {
    Ok(Value::real(operand(heap, "inexact", v)?.to_f64()))
}

/// The numerator in lowest terms, as exact as the argument.
pub fn numerator(heap: &mut Heap, v: Value) -> Result<Value, Error> {
    fraction(heap, "numerator", v, |numerator, _| numerator)
}

/// The denominator in lowest terms, as exact as the argument.
pub fn denominator(heap: &mut Heap, v: Value) -> Result<Value, Error> {
    fraction(heap, "denominator", v, |_, denominator| denominator)
}

fn fraction(heap: &mut Heap, who: &str, v: Value, part: fn(f64, f64) -> f64) -> Result<Value, Error> {
    match operand(heap, who, v)? {
        Number::Real(x) if !x.is_finite() => Err(wrong_type(heap, who, "a rational number", v)),
        Number::Real(x) => {
            // x = numerator / 2^k, doubled until the fraction is gone; 1074 is the most there can be.
            let (mut numerator, mut k) = (x, 0);
            while numerator != numerator.trunc() {
                numerator *= 2.0;
                k += 1;
            }
            Ok(Value::real(part(numerator, scale(1.0, k))))
        }
        _ if part(0.0, 1.0) == 1.0 => Ok(Value::fixnum(1)),
        _ => Ok(v),
    }
}

/// The simplest number that differs from x by no more than y. Of exact arguments it is an integer.
pub fn rationalize(heap: &mut Heap, x: Value, y: Value) -> Result<Value, Error> {
    let a = operand(heap, "rationalize", x)?;
    let b = operand(heap, "rationalize", y)?;
    if a.is_exact() && b.is_exact() {
        let (a, b) = (a.into_exact(), b.into_exact());
        let nearest_zero = a.magnitude().clone().max(b.magnitude().clone()) - b.magnitude();
        let simplest = BigInt::from(nearest_zero);
        return Number::integer(if a.is_negative() { -simplest } else { simplest }).to_value(heap);
    }
    Ok(Value::real(simplest_within(a.to_f64(), b.to_f64().abs())))
}

fn simplest_within(x: f64, tolerance: f64) -> f64 {
    if x.is_nan() || tolerance.is_nan() || (x.is_infinite() && tolerance.is_infinite()) {
        return f64::NAN;
    }
    if x.is_infinite() {
        return x;
    }
    let (mut low, mut high) = (x.abs() - tolerance, x.abs() + tolerance);
    if low <= 0.0 {
        return 0.0;
    }
    // Continued fraction: the terms that both ends share, then the smallest integer between.
    let mut terms = Vec::new();
    loop {
        let whole = low.floor();
        if whole == low || terms.len() == 40 {
            terms.push(whole);
            break;
        }
        if whole < high.floor() {
            terms.push(whole + 1.0);
            break;
        }
        terms.push(whole);
        (low, high) = (1.0 / (high - whole), 1.0 / (low - whole));
    }
    let integers = terms.iter().rev().filter_map(|&t| real_to_integer(t));
    // From the innermost term outwards: t + 1 / (n / d) = (t * n + d) / n.
    let (n, d) = integers.fold((BigInt::one(), BigInt::zero()), |(n, d), term| (term * &n + d, n));
    let simplest = if d.is_zero() { big_to_f64(&n) } else { ratio(&n, &d) };
    if x < 0.0 { -simplest } else { simplest }
}
