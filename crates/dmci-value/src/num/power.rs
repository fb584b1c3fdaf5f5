//! Powers, roots, logarithms.

use super::arithmetic::ratio;
use super::*;
use dmci_ops::real;
use num_integer::Integer;
use num_traits::{One, Signed, Zero};

/// base to the power exponent: exact if both are and the exponent is not negative, or if the result
/// is an integer all the same; otherwise a real.
pub fn expt(heap: &mut Heap, base: Value, exponent: Value) -> Result<Value, Error> {
    if let (Some(x), Some(y)) = (base.as_real(), exponent.as_real()) {
        return Ok(Value::real(real::pow(x, y)));
    }
    let b = operand(heap, "expt", base)?;
    let e = operand(heap, "expt", exponent)?;
    match (b, e) {
        (Number::Real(x), Number::Big(e)) => {
            // As a real a big exponent is always even, so its parity is looked at here.
            let magnitude = real::pow(x.abs(), big_to_f64(&e));
            let negative = x.is_sign_negative() && !x.is_nan() && e.is_odd();
            Ok(Value::real(if negative { -magnitude } else { magnitude }))
        }
        (b, e) if b.is_exact() && e.is_exact() => exact_power(heap, b.into_exact(), e.into_exact()),
        (b, e) => Ok(Value::real(real::pow(b.to_f64(), e.to_f64()))),
    }
}

fn exact_power(heap: &mut Heap, b: BigInt, e: BigInt) -> Result<Value, Error> {
    if e.is_zero() {
        return Ok(Value::fixnum(1));
    }
    if b.is_zero() && e.is_negative() {
        return Err(division_by_zero("expt"));
    }
    if b.magnitude().is_one() || b.is_zero() {
        return Number::integer(if e.is_even() { b.abs() } else { b }).to_value(heap);
    }
    // The result has more than (bits - 1) * |e| bits, and at most twice as many.
    let least_bits = e.magnitude().to_u64().and_then(|e| (b.bits() - 1).checked_mul(e));
    if e.is_negative() {
        // Beyond this the reciprocal is below half of the smallest real.
        return match least_bits {
            Some(bits) if bits <= 1100 => {
                let power = b.pow(e.magnitude().to_u32().expect("at most 1100"));
                Ok(Value::real(ratio(&BigInt::one(), &power)))
            }
            _ => Ok(Value::real(if b.is_negative() && e.is_odd() { -0.0 } else { 0.0 })),
        };
    }
    match least_bits {
        Some(bits) if bits < MAX_BITS => {
            spend(heap, bits / 16 * (bits / 64 + 1).isqrt());
            Number::integer(b.pow(e.to_u32().expect("below the largest number of bits"))).to_value(heap)
        }
        _ => Err(too_large()),
    }
}

/// The square root: exact for exact squares, else a real; NaN below zero.
pub fn sqrt(heap: &mut Heap, v: Value) -> Result<Value, Error> {
    let n = match operand(heap, "sqrt", v)? {
        Number::Real(x) => return Ok(Value::real(real::sqrt(x))),
        Number::Fix(i) if i < 0 => return Ok(Value::real(f64::NAN)),
        Number::Fix(i) => {
            // Fixnums are exact as reals, so the rounded root is the exact one if there is one.
            let root = i.isqrt();
            return Ok(if root * root == i { Value::fixnum(root) } else { Value::real(real::sqrt(i as f64)) });
        }
        Number::Big(n) if n.is_negative() => return Ok(Value::real(f64::NAN)),
        Number::Big(n) => n.into_parts().1,
    };
    spend_on_root(heap, &n);
    let (root, rest) = sqrt_rem(&n);
    if rest.is_zero() {
        return Number::integer(root).to_value(heap);
    }
    // With at least 64 bits of root, one more bit that says "and a little more" rounds right.
    let extra = 128u64.saturating_sub(n.bits()).next_multiple_of(2);
    let root = if extra > 0 { sqrt_rem(&(n << extra)).0 } else { root };
    let sticky = BigInt::from((root << 1u8) + 1u8);
    Ok(Value::real(ratio(&sticky, &(BigInt::one() << (extra / 2 + 1)))))
}

/// s and r with n = s² + r and r as small as possible, for an exact n that is not negative.
pub fn exact_integer_sqrt(heap: &mut Heap, v: Value) -> Result<(Value, Value), Error> {
    let n = match Number::of(heap, v) {
        Some(Number::Fix(i)) if i >= 0 => {
            let root = i.isqrt();
            return Ok((Value::fixnum(root), Value::fixnum(i - root * root)));
        }
        Some(Number::Big(n)) if n.is_positive() => n.into_parts().1,
        _ => return Err(wrong_type(heap, "exact-integer-sqrt", "an exact non-negative integer", v)),
    };
    spend_on_root(heap, &n);
    let (root, rest) = sqrt_rem(&n);
    Ok((Number::integer(root).to_value(heap)?, Number::integer(rest).to_value(heap)?))
}

fn spend_on_root(heap: &mut Heap, n: &BigUint) {
    let words = n.bits() / 64 + 1;
    spend(heap, words * words / 4);
}

/// Zimmermann's recursive square root: the cost of one division of half the size.
fn sqrt_rem(n: &BigUint) -> (BigUint, BigUint) {
    if n.bits() <= 512 {
        let root = n.sqrt();
        let rest = n - &root * &root;
        return (root, rest);
    }
    let k = (n.bits() - 1) / 4;
    let mask = (BigUint::one() << k) - 1u8;
    let (high_root, high_rest) = sqrt_rem(&(n >> (2 * k)));
    let (q, u) = ((high_rest << k) + ((n >> k) & &mask)).div_rem(&(&high_root << 1u8));
    let mut root = (high_root << k) + &q;
    let mut rest = BigInt::from((u << k) + (n & &mask)) - BigInt::from(&q * &q);
    while rest.is_negative() {
        rest += BigInt::from(&root << 1u8) - 1;
        root -= 1u8;
    }
    (root, rest.into_parts().1)
}

/// Natural logarithm, also of integers beyond the reals.
pub fn log(heap: &mut Heap, v: Value) -> Result<Value, Error> {
    logarithm(heap, "log", v, real::log, std::f64::consts::LN_2)
}

/// Logarithm to base 2, also of integers beyond the reals.
pub fn log2(heap: &mut Heap, v: Value) -> Result<Value, Error> {
    logarithm(heap, "log2", v, real::log2, 1.0)
}

/// Logarithm to base 10, also of integers beyond the reals.
pub fn log10(heap: &mut Heap, v: Value) -> Result<Value, Error> {
    logarithm(heap, "log10", v, real::log10, std::f64::consts::LOG10_2)
}

fn logarithm(heap: &mut Heap, who: &str, v: Value, f: real::Function, of_two: f64) -> Result<Value, Error> {
    match operand(heap, who, v)? {
        Number::Big(n) if n.is_positive() && n.bits() > 1023 => {
            let shift = n.bits() - 64;
            Ok(Value::real(f(big_to_f64(&(n >> shift))) + shift as f64 * of_two))
        }
        number => Ok(Value::real(f(number.to_f64()))),
    }
}

/// Logarithm of x to base b.
pub fn log_base(heap: &mut Heap, x: Value, b: Value) -> Result<Value, Error> {
    let (n, base) = (operand(heap, "log", x)?, operand(heap, "log", b)?);
    if n.to_f64() != f64::INFINITY && base.to_f64() != f64::INFINITY {
        return Ok(Value::real(real::log_base(n.to_f64(), base.to_f64())));
    }
    match base.to_f64() {
        2.0 => return logarithm(heap, "log", x, real::log2, 1.0),
        10.0 => return logarithm(heap, "log", x, real::log10, std::f64::consts::LOG10_2),
        _ => {}
    }
    let quotient = [log(heap, x)?, log(heap, b)?].map(|v| v.as_real().unwrap_or(f64::NAN));
    Ok(Value::real(quotient[0] / quotient[1]))
}
