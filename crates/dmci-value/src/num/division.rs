//! Integer division (R7RS 6.2.6), of exact integers and of reals that hold integers.

use super::*;
use dmci_ops::real;
use num_integer::Integer;
use num_traits::{Signed, Zero};

/// How one operation works on each representation.
struct Rule {
    who: &'static str,
    fixnums: fn(i64, i64) -> i64,
    integers: fn(&BigInt, &BigInt) -> BigInt,
    reals: fn(f64, f64) -> f64,
}

fn divide(heap: &mut Heap, a: Value, b: Value, rule: Rule) -> Result<Value, Error> {
    if let (Some(x), Some(y)) = (a.as_fixnum(), b.as_fixnum())
        && y != 0
    {
        return Ok(small_integer(heap, (rule.fixnums)(x, y).into()));
    }
    let x = integer_operand(heap, rule.who, a)?;
    let y = integer_operand(heap, rule.who, b)?;
    match (x, y) {
        (_, Number::Fix(0) | Number::Real(0.0)) => Err(division_by_zero(rule.who)),
        (Number::Real(x), y) => Ok(Value::real((rule.reals)(x, y.to_f64()))),
        (x, Number::Real(y)) => Ok(Value::real((rule.reals)(x.to_f64(), y))),
        (x, y) => {
            let (x, y) = (x.into_exact(), y.into_exact());
            // Schoolbook division.
            spend(heap, words(&y) * words(&x).saturating_sub(words(&y)).max(1));
            Number::integer((rule.integers)(&x, &y)).to_value(heap)
        }
    }
}

/// A number without a fraction, or E0303.
pub(super) fn integer_operand(heap: &Heap, who: &str, v: Value) -> Result<Number, Error> {
    match Number::of(heap, v) {
        Some(Number::Real(x)) if x.is_finite() && x != x.trunc() => {
            Err(wrong_type(heap, who, "an integer", v).help("round it first, e.g. with (round x)"))
        }
        Some(Number::Real(x)) if !x.is_finite() => Err(wrong_type(heap, who, "an integer", v)),
        Some(number) => Ok(number),
        None => Err(wrong_type(heap, who, "an integer", v)),
    }
}

macro_rules! divisions {
    ($($(#[$doc:meta])* $name:ident $who:literal $fixnums:expr, $integers:expr, $reals:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name(heap: &mut Heap, a: Value, b: Value) -> Result<Value, Error> {
            divide(heap, a, b, Rule { who: $who, fixnums: $fixnums, integers: $integers, reals: $reals })
        }
    )*};
}

divisions! {
    /// The quotient rounded towards zero.
    quotient "quotient" |x, y| x / y, |x, y| x / y, real::quotient;
    /// What `quotient` leaves; it has the sign of the dividend.
    remainder "remainder" |x, y| x % y, |x, y| x % y, real::remainder;
    /// What `floor-quotient` leaves; it has the sign of the divisor.
    modulo "modulo" |x, y| Integer::mod_floor(&x, &y), Integer::mod_floor, real::modulo;
    /// The quotient rounded down.
    floor_quotient "floor-quotient" |x, y| Integer::div_floor(&x, &y), Integer::div_floor, real::floor_quotient;
    /// As `modulo`.
    floor_remainder "floor-remainder" |x, y| Integer::mod_floor(&x, &y), Integer::mod_floor, real::modulo;
    /// As `quotient`.
    truncate_quotient "truncate-quotient" |x, y| x / y, |x, y| x / y, real::quotient;
    /// As `remainder`.
    truncate_remainder "truncate-remainder" |x, y| x % y, |x, y| x % y, real::remainder;
}

/// The greatest common divisor, never negative.
pub fn gcd(heap: &mut Heap, a: Value, b: Value) -> Result<Value, Error> {
    if let (Some(x), Some(y)) = (a.as_fixnum(), b.as_fixnum()) {
        return Ok(small_integer(heap, x.gcd(&y).into()));
    }
    common(heap, "gcd", a, b, |x, y| super::gcd::gcd(x.into_parts().1, y.into_parts().1).into())
}

/// The least common multiple, never negative.
pub fn lcm(heap: &mut Heap, a: Value, b: Value) -> Result<Value, Error> {
    common(heap, "lcm", a, b, |x, y| {
        if x.is_zero() || y.is_zero() {
            return BigInt::zero();
        }
        let divisor: BigInt = super::gcd::gcd(x.magnitude().clone(), y.magnitude().clone()).into();
        (x / divisor * y).abs()
    })
}

fn common(
    heap: &mut Heap,
    who: &str,
    a: Value,
    b: Value,
    on_integers: fn(BigInt, BigInt) -> BigInt,
) -> Result<Value, Error> {
    let x = integer_operand(heap, who, a)?;
    let y = integer_operand(heap, who, b)?;
    let exact = x.is_exact() && y.is_exact();
    let (x, y) = (x.into_exact(), y.into_exact());
    spend(heap, words(&x) * words(&y) * 2);
    let result = on_integers(x, y);
    if exact { Number::integer(result).to_value(heap) } else { Ok(Value::real(big_to_f64(&result))) }
}
