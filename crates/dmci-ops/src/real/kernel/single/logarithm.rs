//! Logarithms and powers.

use super::super::logarithm as double;
use super::exponential::{exp_of_minus, exp_of_sum};
use super::pattern;
use crate::arith::Arith;

/// The bits of a number just above sqrt(1/2), and what moves it to 1.
const ROOT_HALF: u32 = 0x3f3504f3;
const TO_ONE: u32 = 0x3f800000 - ROOT_HALF;
const MANTISSA: u32 = (1 << 23) - 1;
/// 2^23, whose lowest bits can hold an integer.
const HOLDER: u32 = 0x4b000000;

/// ln(2) in 16 bits, so that its multiples by exponents are exact, and the rest.
const LN2_HIGH: f64 = 0.693145751953125;
const LN2_LOW: f64 = 1.428606765330187e-06;

/// (log(1 + f) - f + f^2/2) / f^3 for sums from sqrt(1/2) to sqrt(2) (relative error of the logarithm: 2^-30).
const AFTER_SQUARE: [f64; 9] = [
    0.3333331346511841,
    -0.25000008940696716,
    0.2000207155942917,
    -0.16667988896369934,
    0.14220359921455383,
    -0.12406239658594131,
    0.11883537471294403,
    -0.11670024693012238,
    0.06749189645051956,
];

/// What follows 2/3 in (2 atanh(s) - 2 s) / s^3 in powers of s^2, divided by s^2 (relative error 2^-26).
const AFTER_CUBIC: [f64; 4] = [0.4000000059604645, 0.28571149706840515, 0.2223784476518631, 0.18391351401805878];
const TWO_THIRDS: [f64; 2] = [0.6666666865348816, -1.9868215517249155e-08];

/// x = 2^k m with m between sqrt(1/2) and sqrt(2), for normal positive x: k and m.
#[inline(always)]
fn split<A: Arith>(a: &mut A, x: A::V) -> [A::V; 2] {
    let to_one = pattern(a, TO_ONE);
    let moved = a.int_add(x, to_one);
    let exponent = a.shr(moved, 23);
    let holder = pattern(a, HOLDER);
    let held = a.or(exponent, holder);
    let bias = a.real(8388608.0 + 127.0);
    let k = a.sub(held, bias);
    let mask = pattern(a, MANTISSA);
    let m = a.and(moved, mask);
    let root = pattern(a, ROOT_HALF);
    [k, a.int_add(m, root)]
}

#[inline(always)]
fn is_usual<A: Arith>(a: &mut A, x: A::V) -> A::M {
    let (least, infinity) = (a.real(f32::MIN_POSITIVE.into()), a.real(f64::INFINITY));
    let (low, high) = (a.le(least, x), a.lt(x, infinity));
    a.both(low, high)
}

/// k ln(2) + log(1 + f) + c, where c is tiny.
#[inline(always)]
fn combine<A: Arith>(a: &mut A, k: A::V, f: A::V, c: Option<A::V>) -> A::V {
    let f2 = a.mul(f, f);
    let p = a.polynomial(f, f2, &AFTER_SQUARE);
    let (high, low, minus_half) = (a.real(LN2_HIGH), a.real(LN2_LOW), a.real(-0.5));
    let q = a.fma(f, p, minus_half);
    let rest = match c {
        Some(c) => a.fma(k, low, c),
        None => a.mul(k, low),
    };
    let rest = a.fma(f2, q, rest);
    // f is the smaller one unless k is 0.
    let first = a.mul(k, high);
    let [top, lost] = a.ordered_sum(first, f);
    let rest = a.add(rest, lost);
    a.add(top, rest)
}

/// Natural logarithm; `-inf` at zero, NaN below.
#[inline(always)]
pub fn log<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let [k, m] = split(a, x);
    let one = a.real(1.0);
    let f = a.sub(m, one);
    let fast = combine(a, k, f, None);
    let usual = is_usual(a, x);
    a.usual(usual, fast, x, x, |x, _| libm::log(x))
}

/// log(1 + x) without cancellation near zero.
#[inline(always)]
pub fn log1p<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let fast = log1p_inside(a, x);
    double::where_defined(a, fast, x, f32::MAX.into())
}

/// log(1 + x) for x > -1, finite; at 0 it gives 0.
#[inline(always)]
fn log1p_inside<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let one = a.real(1.0);
    let [u, lost] = a.sum_in_two(one, x);
    let [k, m] = split(a, u);
    let f = a.sub(m, one);
    let c = a.div(lost, u);
    combine(a, k, f, Some(c))
}

/// log(1 + e^x), without overflow and with full relative accuracy in both tails.
#[inline(always)]
pub fn softplus<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let e = exp_of_minus(a, x);
    let small = log1p_inside(a, e);
    let zero = a.real(0.0);
    let above = a.greater(zero, x);
    a.add(above, small)
}

/// The logarithm of a normal positive number in two parts, to about 2^-34; the second is below 2e-4.
#[inline(always)]
fn log_in_two<A: Arith>(a: &mut A, x: A::V) -> [A::V; 2] {
    let [k, m] = split(a, x);
    double::sum_in_two(a, k, m, &AFTER_CUBIC, TWO_THIRDS, [LN2_HIGH, LN2_LOW])
}

/// x to the power y + z, where z is what y has lost by rounding, if anything.
#[inline(always)]
fn power<A: Arith>(a: &mut A, x: A::V, y: A::V, z: Option<A::V>) -> A::V {
    let size = a.abs(x);
    let [high, low] = log_in_two(a, size);
    let [product, rest] = a.product_in_two(y, high);
    let rest = a.fma(y, low, rest);
    let rest = match z {
        Some(z) => a.fma(z, high, rest),
        None => rest,
    };
    let power = exp_of_sum(a, product, rest);
    double::with_sign(a, power, x, y)
}

/// Whether the straight line serves x to the power y: beyond this y, what the product with a logarithm loses is
/// too much for a sum in the exponent.
#[inline(always)]
fn has_usual_power<A: Arith>(a: &mut A, x: A::V, y: A::V) -> A::M {
    let size = a.abs(x);
    let usual_x = is_usual(a, size);
    let (most, y_size) = (a.real(3000.0), a.abs(y));
    let usual_y = a.lt(y_size, most);
    a.both(usual_x, usual_y)
}

/// x to the power y. `pow(x, 0)` and `pow(1, y)` are 1 even for NaN; a negative base with an
/// exponent that is not an integer gives NaN.
#[inline(always)]
pub fn pow<A: Arith>(a: &mut A, x: A::V, y: A::V) -> A::V {
    let fast = power(a, x, y, None);
    let usual = has_usual_power(a, x, y);
    a.usual(usual, fast, x, y, libm::pow)
}

/// Derivative of `pow` by its base: 0 for exponent 0, also at base 0.
#[inline(always)]
pub fn pow_base<A: Arith>(a: &mut A, x: A::V, y: A::V) -> A::V {
    let minus_one = a.real(-1.0);
    let [less, lost] = a.sum_in_two(y, minus_one);
    let fast = power(a, x, less, Some(lost));
    let usual = has_usual_power(a, x, y);
    let power = a.usual(usual, fast, x, y, |x, y| libm::pow(x, y - 1.0));
    let product = a.mul(y, power);
    let zero = a.real(0.0);
    let is_zero = a.eq(y, zero);
    a.select(is_zero, zero, product)
}

/// Derivative of `pow` by its exponent: 0 at base 0 for positive exponents.
#[inline(always)]
pub fn pow_exponent<A: Arith>(a: &mut A, x: A::V, y: A::V) -> A::V {
    let (power, log) = (pow(a, x, y), log(a, x));
    let product = a.mul(power, log);
    let zero = a.real(0.0);
    let (at_zero, positive) = (a.eq(x, zero), a.lt(zero, y));
    let nothing = a.both(at_zero, positive);
    a.select(nothing, zero, product)
}
