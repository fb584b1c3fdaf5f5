//! Sums, products, quotients.

use super::*;
use dmci_ops::real;
use num_integer::Integer;
use num_traits::{Signed, Zero};

/// a + b
pub fn add(heap: &mut Heap, a: Value, b: Value) -> Result<Value, Error> {
    if let (Some(x), Some(y)) = (a.as_fixnum(), b.as_fixnum()) {
        return Ok(small_integer(heap, i128::from(x + y)));
    }
    if let (Some(x), Some(y)) = (a.as_real(), b.as_real()) {
        return Ok(Value::real_result(x + y));
    }
    mixed(heap, "+", a, b, |x, y| x + y, |x, y| x + y)
}

/// a - b
pub fn sub(heap: &mut Heap, a: Value, b: Value) -> Result<Value, Error> {
    if let (Some(x), Some(y)) = (a.as_fixnum(), b.as_fixnum()) {
        return Ok(small_integer(heap, i128::from(x - y)));
    }
    if let (Some(x), Some(y)) = (a.as_real(), b.as_real()) {
        return Ok(Value::real_result(x - y));
    }
    mixed(heap, "-", a, b, |x, y| x - y, |x, y| x - y)
}

/// a * b
pub fn mul(heap: &mut Heap, a: Value, b: Value) -> Result<Value, Error> {
    product(heap, "*", a, b)
}

/// a² under its own name.
pub fn square(heap: &mut Heap, a: Value) -> Result<Value, Error> {
    product(heap, "square", a, a)
}

/// a³ under its own name: (a * a) * a.
pub fn cube(heap: &mut Heap, a: Value) -> Result<Value, Error> {
    let a2 = product(heap, "cube", a, a)?;
    product(heap, "cube", a2, a)
}

fn product(heap: &mut Heap, who: &str, a: Value, b: Value) -> Result<Value, Error> {
    if let (Some(x), Some(y)) = (a.as_fixnum(), b.as_fixnum()) {
        return Ok(small_integer(heap, i128::from(x) * i128::from(y)));
    }
    if let (Some(x), Some(y)) = (a.as_real(), b.as_real()) {
        return Ok(Value::real_result(x * y));
    }
    if let (Some(Number::Big(x)), Some(Number::Big(y))) = (Number::of(heap, a), Number::of(heap, b)) {
        // At least this many bits less one: no need to compute what will be refused.
        if x.bits() + y.bits() - 1 > MAX_BITS {
            return Err(too_large());
        }
        let (small, large) = (words(&x).min(words(&y)), words(&x).max(words(&y)));
        spend(heap, large * small.isqrt() * 4);
        return Number::Big(x * y).to_value(heap);
    }
    mixed(heap, who, a, b, |x, y| x * y, |x, y| x * y)
}

/// a / b: exact if it comes out even, else a real, correctly rounded.
pub fn div(heap: &mut Heap, a: Value, b: Value) -> Result<Value, Error> {
    if let (Some(x), Some(y)) = (a.as_real(), b.as_real()) {
        return Ok(Value::real_result(x / y));
    }
    let x = operand(heap, "/", a)?;
    let y = operand(heap, "/", b)?;
    match (x, y) {
        (_, Number::Fix(0)) => Err(division_by_zero("/")),
        (Number::Fix(x), Number::Fix(y)) if x % y == 0 => Ok(small_integer(heap, i128::from(x / y))),
        // Fixnums are exact as reals, so this rounds once.
        (Number::Fix(x), Number::Fix(y)) => Ok(Value::real(x as f64 / y as f64)),
        (Number::Real(x), y) => Ok(Value::real(x / y.to_f64())),
        (x, Number::Real(y)) => Ok(Value::real(x.to_f64() / y)),
        (x, y) => {
            let (x, y) = (x.into_exact(), y.into_exact());
            spend(heap, words(&x) * words(&y));
            let (quotient, rest) = x.div_rem(&y);
            if rest.is_zero() { Number::integer(quotient).to_value(heap) } else { Ok(Value::real(ratio(&x, &y))) }
        }
    }
}

/// -a; of a real, the sign flips, also of zero.
pub fn negate(heap: &mut Heap, a: Value) -> Result<Value, Error> {
    match operand(heap, "-", a)? {
        Number::Fix(i) => Ok(small_integer(heap, -i128::from(i))),
        Number::Big(n) => Number::integer(-n).to_value(heap),
        Number::Real(x) => Ok(Value::real(-x)),
    }
}

/// 1 / a
pub fn reciprocal(heap: &mut Heap, a: Value) -> Result<Value, Error> {
    match a.as_real() {
        Some(x) => Ok(Value::real(1.0 / x)),
        None => div(heap, Value::fixnum(1), a),
    }
}

/// |a|
pub fn abs(heap: &mut Heap, a: Value) -> Result<Value, Error> {
    match operand(heap, "abs", a)? {
        Number::Fix(i) => Ok(small_integer(heap, i128::from(i).abs())),
        Number::Big(n) if n.is_negative() => Number::integer(-n).to_value(heap),
        Number::Big(_) => Ok(a),
        Number::Real(x) => Ok(Value::real(x.abs())),
    }
}

/// -1, 0 or 1, as exact as the argument.
pub fn sign(heap: &mut Heap, a: Value) -> Result<Value, Error> {
    match operand(heap, "sign", a)? {
        Number::Fix(i) => Ok(Value::fixnum(i.signum())),
        Number::Big(n) => Ok(Value::fixnum(if n.is_negative() { -1 } else { 1 })),
        Number::Real(x) => Ok(Value::real(real::sign(x))),
    }
}

/// The larger one of a and zero, as exact as the argument.
pub fn relu(heap: &mut Heap, a: Value) -> Result<Value, Error> {
    match operand(heap, "relu", a)? {
        Number::Real(x) => Ok(Value::real(real::relu(x))),
        Number::Fix(i) if i > 0 => Ok(a),
        Number::Big(n) if n.is_positive() => Ok(a),
        _ => Ok(Value::fixnum(0)),
    }
}

/// A function of reals, of any number.
pub fn apply_real(heap: &mut Heap, who: &str, f: real::Function, a: Value) -> Result<Value, Error> {
    Ok(Value::real(f(operand(heap, who, a)?.to_f64())))
}

fn mixed(
    heap: &mut Heap,
    who: &str,
    a: Value,
    b: Value,
    on_reals: fn(f64, f64) -> f64,
    on_integers: fn(BigInt, BigInt) -> BigInt,
) -> Result<Value, Error> {
    let x = operand(heap, who, a)?;
    let y = operand(heap, who, b)?;
    if !x.is_exact() || !y.is_exact() {
        return Ok(Value::real(on_reals(x.to_f64(), y.to_f64())));
    }
    let (x, y) = (x.into_exact(), y.into_exact());
    spend(heap, words(&x) + words(&y));
    Number::integer(on_integers(x, y)).to_value(heap)
}

/// n / d correctly rounded, also where n and d are beyond the reals or the result is subnormal.
/// `d` is not zero.
pub(super) fn ratio(n: &BigInt, d: &BigInt) -> f64 {
    if n.is_zero() {
        return 0.0;
    }
    let negative = n.is_negative() != d.is_negative();
    // Scaled so that the quotient has 65 or 66 bits, with what is left over as a sticky bit.
    let shift = 65 + d.bits() as i64 - n.bits() as i64;
    let (n, d) = (n.magnitude(), d.magnitude());
    let (scaled_n, scaled_d) =
        if shift >= 0 { (n << shift as u64, d.clone()) } else { (n.clone(), d << shift.unsigned_abs()) };
    let (quotient, rest) = scaled_n.div_rem(&scaled_d);
    let bits = quotient.bits() as i64;
    let mut q = quotient.to_u128().expect("the quotient has at most 66 bits") << 1;
    q |= u128::from(!rest.is_zero());
    let exponent = bits - 1 - shift;
    if exponent > 1023 {
        return if negative { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    if exponent < -1075 {
        return if negative { -0.0 } else { 0.0 };
    }
    // Round to even at the last bit that the result has, once.
    let precision = 53 - (-1022 - exponent).max(0);
    let drop = bits + 1 - precision;
    let half = 1u128 << (drop - 1);
    let kept = q >> drop;
    let below = q & ((1 << drop) - 1);
    let rounded = kept + u128::from(below > half || (below == half && kept & 1 == 1));
    let magnitude = scale(rounded as f64, drop - 1 - shift);
    if negative { -magnitude } else { magnitude }
}

/// x * 2^k where the result is exact or overflows.
pub(super) fn scale(x: f64, k: i64) -> f64 {
    let power_of_two = |k: i64| f64::from_bits(((k + 1023) as u64) << 52);
    let mut x = x;
    let mut k = k.clamp(-2200, 2200);
    while k != 0 {
        let step = k.clamp(-1022, 1023);
        x *= power_of_two(step);
        k -= step;
    }
    x
}
