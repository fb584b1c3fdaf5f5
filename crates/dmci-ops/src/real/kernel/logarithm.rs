//! Logarithms and powers.

use super::exponential::{LN2_HIGH, LN2_LOW, exp, exp_of_sum};
use crate::arith::{Arith, SIGN};

/// The exponent field of a number just above sqrt(1/2), and what moves it to 1.
const ROOT_HALF: u64 = 0x3fe6a09e_00000000;
const TO_ONE: u64 = 0x3ff00000_00000000 - ROOT_HALF;
const MANTISSA: u64 = (1 << 52) - 1;
/// 2^52, whose lowest bits can hold an integer.
const HOLDER: u64 = 0x4330_0000_0000_0000;

/// (2 atanh(s) - 2 s) / s^3 in powers of s^2, for sums from sqrt(1/2) to sqrt(2) (relative error 2^-58).
const AFTER_LINEAR: [f64; 7] = [
    0.6666666666666735,
    0.3999999999940942,
    0.2857142874366239,
    0.22222198432149784,
    0.1818357216161805,
    0.15313837699209373,
    0.14798198605116586,
];

/// What follows 2/3 in the same series, divided by s^2 (relative error 5e-18).
const AFTER_CUBIC: [f64; 8] = [
    0.4,
    0.2857142857142937,
    0.22222222221652765,
    0.18181818336099848,
    0.1538459488700718,
    0.1333480879881234,
    0.11706126464563398,
    0.11724327060846747,
];

/// x = 2^k m with m between sqrt(1/2) and sqrt(2), for normal positive x: k, m and 2^-k.
#[inline(always)]
pub(super) fn split<A: Arith>(a: &mut A, x: A::V) -> [A::V; 2] {
    let to_one = a.bits(TO_ONE);
    let moved = a.int_add(x, to_one);
    let exponent = a.shr(moved, 52);
    let holder = a.bits(HOLDER);
    let held = a.or(exponent, holder);
    let bias = a.real(4503599627370496.0 + 1023.0);
    let k = a.sub(held, bias);
    let mask = a.bits(MANTISSA);
    let m = a.and(moved, mask);
    let root = a.bits(ROOT_HALF);
    let m = a.int_add(m, root);
    [k, m]
}

#[inline(always)]
pub(super) fn is_usual<A: Arith>(a: &mut A, x: A::V) -> A::M {
    let (least, infinity) = (a.real(f64::MIN_POSITIVE), a.real(f64::INFINITY));
    let (low, high) = (a.le(least, x), a.lt(x, infinity));
    a.both(low, high)
}

/// k ln(2) + log(1 + f) + c, where c is tiny.
#[inline(always)]
fn combine<A: Arith>(a: &mut A, k: A::V, f: A::V, c: Option<A::V>) -> A::V {
    let [top, rest] = in_two(a, k, f, c);
    a.add(top, rest)
}

/// The same before the last sum: the second part is much smaller, and its absolute error is about 2^-56.
#[inline(always)]
fn in_two<A: Arith>(a: &mut A, k: A::V, f: A::V, c: Option<A::V>) -> [A::V; 2] {
    let two = a.real(2.0);
    let below = a.add(two, f);
    let s = a.div(f, below);
    let z = a.mul(s, s);
    let z2 = a.mul(z, z);
    let p = a.polynomial(z, z2, &AFTER_LINEAR);
    let r = a.mul(z, p);
    let half = a.real(0.5);
    let f2 = a.mul(f, f);
    let half_square = a.mul(half, f2);
    let sum = a.add(half_square, r);
    let (high, low) = (a.real(LN2_HIGH), a.real(LN2_LOW));
    let rest = match c {
        Some(c) => a.fma(k, low, c),
        None => a.mul(k, low),
    };
    let rest = a.fma(s, sum, rest);
    let rest = a.sub(rest, half_square);
    let first = a.mul(k, high);
    // first + f in two parts; f is the smaller one unless first is 0.
    let top = a.add(first, f);
    let back = a.sub(top, first);
    let lost = a.sub(f, back);
    [top, a.add(rest, lost)]
}

/// The logarithm of a normal positive number as a sum whose second part is much smaller.
#[inline(always)]
pub(super) fn log_as_sum<A: Arith>(a: &mut A, x: A::V) -> [A::V; 2] {
    let [k, m] = split(a, x);
    let one = a.real(1.0);
    let f = a.sub(m, one);
    in_two(a, k, f, None)
}

/// Natural logarithm; `-inf` at zero, NaN below.
#[inline(always)]
pub fn log<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let [top, rest] = log_as_sum(a, x);
    let fast = a.add(top, rest);
    let usual = is_usual(a, x);
    a.usual(usual, fast, x, x, |x, _| libm::log(x))
}

/// Logarithm to a base: per natural unit in two parts, and that of 2 in two parts, the first times any exponent exact.
#[inline(always)]
fn log_to_base<A: Arith>(a: &mut A, x: A::V, per_unit: [f64; 2], of_two: [f64; 2]) -> A::V {
    let [k, m] = split(a, x);
    let (zero, one) = (a.real(0.0), a.real(1.0));
    let f = a.sub(m, one);
    let [top, rest] = in_two(a, zero, f, None);
    let ([unit, unit_low], [two, two_low]) = (per_unit.map(|c| a.real(c)), of_two.map(|c| a.real(c)));
    let [product, low] = a.product_in_two(top, unit);
    let low = a.fma(top, unit_low, low);
    let low = a.fma(rest, unit, low);
    let low = a.fma(k, two_low, low);
    let whole = a.mul(k, two);
    let [sum, lost] = a.ordered_sum(whole, product);
    let low = a.add(low, lost);
    a.add(sum, low)
}

/// Logarithm to base 2, exact at powers of 2.
#[inline(always)]
pub fn log2<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let fast = log_to_base(a, x, [std::f64::consts::LOG2_E, 2.0355273740931033e-17], [1.0, 0.0]);
    let usual = is_usual(a, x);
    a.usual(usual, fast, x, x, |x, _| libm::log2(x))
}

/// Logarithm to base 10, exact at powers of 10.
#[inline(always)]
pub fn log10<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let of_two = [0.30102999566383914, 1.42050232272661e-13];
    let fast = log_to_base(a, x, [std::f64::consts::LOG10_E, 1.098319650216765e-17], of_two);
    let usual = is_usual(a, x);
    a.usual(usual, fast, x, x, |x, _| libm::log10(x))
}

/// log(1 + x) without cancellation near zero.
#[inline(always)]
pub fn log1p<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let fast = log1p_inside(a, x, None);
    where_defined(a, fast, x, f64::MAX)
}

/// log(1 + x) from what it is for x above -1 and up to the largest number.
#[inline(always)]
pub(super) fn where_defined<A: Arith>(a: &mut A, fast: A::V, x: A::V, largest: f64) -> A::V {
    // 1 + x is positive and finite.
    let (low, high) = (a.real(-1.0), a.real(largest));
    let (above, below) = (a.lt(low, x), a.le(x, high));
    let inside = a.both(above, below);
    // It has the sign of x, also at 0.
    let sign = a.sign_of(x);
    let fast = a.or(fast, sign);
    a.usual(inside, fast, x, x, |x, _| libm::log1p(x))
}

/// log(1 + x + y) for x > -1, finite, and y tiny beside it; at 0 it gives 0.
#[inline(always)]
pub(super) fn log1p_inside<A: Arith>(a: &mut A, x: A::V, y: Option<A::V>) -> A::V {
    let one = a.real(1.0);
    let [u, mut lost] = a.sum_in_two(one, x);
    if let Some(y) = y {
        lost = a.add(lost, y);
    }
    let [k, m] = split(a, u);
    let f = a.sub(m, one);
    let c = a.div(lost, u);
    combine(a, k, f, Some(c))
}

/// log(1 + e^x), without overflow and with full relative accuracy in both tails.
#[inline(always)]
pub fn softplus<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let sign = a.bits(SIGN);
    let minus = a.or(x, sign);
    let e = exp(a, minus);
    let small = log1p_inside(a, e, None);
    let zero = a.real(0.0);
    let above = a.greater(zero, x);
    a.add(above, small)
}

/// The logarithm of a normal positive number in two parts, to about 2^-66.
#[inline(always)]
pub(super) fn log_in_two<A: Arith>(a: &mut A, x: A::V) -> [A::V; 2] {
    let [k, m] = split(a, x);
    sum_in_two(a, k, m, &AFTER_CUBIC, [2.0 / 3.0, 3.700743415417188e-17], [LN2_HIGH, LN2_LOW])
}

/// k ln(2) + log(m) in two parts, for m between sqrt(1/2) and sqrt(2): in a precision, the series behind 2/3, and
/// 2/3 and ln(2) in two parts, of which k times the first of the latter is exact.
#[inline(always)]
pub(super) fn sum_in_two<A: Arith>(
    a: &mut A,
    k: A::V,
    m: A::V,
    after_cubic: &[f64],
    two_thirds: [f64; 2],
    ln2: [f64; 2],
) -> [A::V; 2] {
    let one = a.real(1.0);
    let f = a.sub(m, one);
    // s = f / (m + 1), in two parts.
    let below = a.add(m, one);
    let back = a.sub(below, one);
    let below_low = a.sub(m, back);
    let inverse = a.div(one, below);
    let s = a.mul(f, inverse);
    let rest = a.fnma(s, below, f);
    let rest = a.fnma(s, below_low, rest);
    let s_low = a.mul(rest, inverse);
    // s^2 in two parts.
    let [z, z_low] = a.product_in_two(s, s);
    let twice = a.add(s, s);
    let z_low = a.fma(twice, s_low, z_low);
    // The series behind 2 s: p = 2/3 + z q, in two parts.
    let z2 = a.mul(z, z);
    let q = a.polynomial(z, z2, after_cubic);
    let [c, c_low] = two_thirds.map(|c| a.real(c));
    let t = a.mul(z, q);
    let [p, p_low] = a.ordered_sum(c, t);
    let p_low = a.add(p_low, c_low);
    // z p, in two parts, then s z p.
    let [w, w_low] = a.product_in_two(z, p);
    let w_low = a.fma(z, p_low, w_low);
    let w_low = a.fma(z_low, p, w_low);
    let [v, v_low] = a.product_in_two(s, w);
    let v_low = a.fma(s, w_low, v_low);
    let v_low = a.fma(s_low, w, v_low);
    // 2 s + v.
    let [top, lost] = a.ordered_sum(twice, v);
    let twice_low = a.add(s_low, s_low);
    let low = a.add(twice_low, v_low);
    let low = a.add(low, lost);
    // k ln(2) + that.
    let [ln2, ln2_low] = ln2.map(|c| a.real(c));
    let first = a.mul(k, ln2);
    let [high, lost] = a.sum_in_two(first, top);
    let low = a.add(low, lost);
    [high, a.fma(k, ln2_low, low)]
}

/// x to the power y. `pow(x, 0)` and `pow(1, y)` are 1 even for NaN; a negative base with an
/// exponent that is not an integer gives NaN.
#[inline(always)]
pub fn pow<A: Arith>(a: &mut A, x: A::V, y: A::V) -> A::V {
    let size = a.abs(x);
    let [high, low] = log_in_two(a, size);
    let [product, rest] = a.product_in_two(y, high);
    let rest = a.fma(y, low, rest);
    let power = exp_of_sum(a, product, rest);
    let fast = with_sign(a, power, x, y);
    let usual_x = is_usual(a, size);
    // The second part of a logarithm is up to 6e-11, and the exponent that it is added to may be at its bound.
    let (most, y_size) = (a.real(1e9), a.abs(y));
    let usual_y = a.lt(y_size, most);
    let usual = a.both(usual_x, usual_y);
    a.usual(usual, fast, x, y, libm::pow)
}

/// The power y of x from that of its size: an odd power of a negative number is negative, one that is no integer is not
/// a number.
#[inline(always)]
pub(super) fn with_sign<A: Arith>(a: &mut A, power: A::V, x: A::V, y: A::V) -> A::V {
    let rounded = a.round(y);
    let is_integer = a.eq(rounded, y);
    let half = a.real(0.5);
    let half_y = a.mul(half, y);
    let half_rounded = a.round(half_y);
    let is_even = a.eq(half_rounded, half_y);
    let zero = a.real(0.0);
    let sign = a.sign_of(x);
    let flip = a.select(is_even, zero, sign);
    let negative = a.xor(power, flip);
    let nan = a.real(f64::NAN);
    let negative = a.select(is_integer, negative, nan);
    a.select_sign(x, negative, power)
}
