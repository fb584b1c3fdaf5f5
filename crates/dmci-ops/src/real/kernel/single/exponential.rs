//! e to some power, and what is made of it.

use super::super::exponential::clamp;
use super::pattern;
use crate::arith::{Arith, SIGN};

/// (e^r - 1 - r) / r^2 for |r| up to ln(2)/2 (relative error of e^r: 2^-33).
const AFTER_LINEAR: [f64; 6] =
    [0.5, 0.1666666567325592, 0.041666463017463684, 0.008333571255207062, 0.0013935116585344076, 0.0001973972684936598];

/// The same with fewer coefficients, for where 1 is added: e^r has a relative error of 2^-28.
const AFTER_LINEAR_NEAR_ONE: [f64; 5] =
    [0.4999999403953552, 0.1666652113199234, 0.04166828840970993, 0.008368703536689281, 0.0013818938750773668];

const LOG2_E: f64 = std::f64::consts::LOG2_E;
/// ln(2) in two parts. Multiples of the first are taken away without error, since they are fused.
const LN2_HIGH: f64 = 0.6931471824645996;
const LN2_LOW: f64 = -1.9046542121259336e-09;

/// 1.5 times 2^23: after adding an integer, the lowest bits are this integer; here n + 254 for an exponent n.
const EXPONENT: f64 = 12582912.0 + 254.0;

/// Beyond these numbers e^x is 0 or infinite.
const LEAST: f64 = -104.0;
const MOST: f64 = 89.0;

/// x = n ln(2) + r: the number that holds n + 254, n itself, r, and r before the last part of n ln(2) was taken away.
#[inline(always)]
fn reduce<A: Arith>(a: &mut A, x: A::V) -> [A::V; 4] {
    let [holder, log2_e, high, low] = [EXPONENT, LOG2_E, LN2_HIGH, LN2_LOW].map(|c| a.real(c));
    let t = a.fma(x, log2_e, holder);
    let n = a.sub(t, holder);
    let exact = a.fnma(n, high, x);
    [t, n, a.fnma(n, low, exact), exact]
}

/// The same with what r has lost: the number that holds n + 254, n itself, r, and the loss.
#[inline(always)]
fn reduce_in_two<A: Arith>(a: &mut A, x: A::V) -> [A::V; 4] {
    let [t, n, r, exact] = reduce(a, x);
    let (lost, low) = (a.sub(exact, r), a.real(LN2_LOW));
    [t, n, r, a.fnma(n, low, lost)]
}

/// p times 2^n, where `t` holds n + 254: at once, or in two factors, neither of which is out of range.
#[inline(always)]
fn scaled<A: Arith>(a: &mut A, [t, n]: [A::V; 2], p: A::V) -> A::V {
    if let Some(product) = a.scaled_at_once(p, n) {
        return product;
    }
    let half = a.shr(t, 1);
    let rest = a.int_sub(t, half);
    let (first, second) = (a.shl(half, 23), a.shl(rest, 23));
    let p = a.mul(p, first);
    a.mul(p, second)
}

/// e^(r + lost).
#[inline(always)]
fn near_one<A: Arith>(a: &mut A, r: A::V, lost: Option<A::V>) -> A::V {
    let r2 = a.mul(r, r);
    let q = a.polynomial(r, r2, &AFTER_LINEAR_NEAR_ONE);
    let one = a.real(1.0);
    let [s, rest] = a.ordered_sum(one, r);
    let rest = match lost {
        Some(lost) => a.add(rest, lost),
        None => rest,
    };
    let rest = a.fma(r2, q, rest);
    a.add(s, rest)
}

/// e^x for x between the bounds, or NaN.
#[inline(always)]
fn exp_inside<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let [t, n, r, _] = reduce(a, x);
    let p = near_one(a, r, None);
    scaled(a, [t, n], p)
}

/// e to the power x.
#[inline(always)]
pub fn exp<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let x = clamp(a, x, LEAST, MOST);
    exp_inside(a, x)
}

/// e^-|x|.
#[inline(always)]
pub(super) fn exp_of_minus<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let (sign, least) = (a.bits(SIGN), a.real(LEAST));
    let minus = a.or(x, sign);
    let minus = a.greater(least, minus);
    exp_inside(a, minus)
}

/// e to the power x + y, where y is much smaller than x, or x far outside of where the result is a number.
#[inline(always)]
pub(super) fn exp_of_sum<A: Arith>(a: &mut A, x: A::V, y: A::V) -> A::V {
    let x = clamp(a, x, -110.0, 95.0);
    let [t, n, r, lost] = reduce_in_two(a, x);
    let lost = a.add(lost, y);
    let [r, lost] = a.ordered_sum(r, lost);
    let p = near_one(a, r, Some(lost));
    scaled(a, [t, n], p)
}

/// Half of e^x - 1 for x up to 89, as a sum whose second part is smaller; the sign of a zero is lost.
#[inline(always)]
fn half_expm1<A: Arith>(a: &mut A, x: A::V) -> [A::V; 2] {
    let [t, _, r, lost] = reduce_in_two(a, x);
    let r2 = a.mul(r, r);
    let q = a.polynomial(r, r2, &AFTER_LINEAR);
    let small = a.fma(r2, q, lost);
    // Half of 2^n: n + 254 becomes n + 126, the exponent.
    let offset = pattern(a, 128);
    let power = a.int_sub(t, offset);
    let power = a.shl(power, 23);
    let half = a.real(0.5);
    let base = a.sub(power, half);
    let first = a.mul(power, r);
    let [sum, rest] = a.sum_in_two(base, first);
    [sum, a.fma(power, small, rest)]
}

/// Below this size e^x - 1, sinh(x) and tanh(x) are x.
const TINY: f64 = 1e-8;

/// e^x - 1 without cancellation near zero.
#[inline(always)]
pub fn expm1<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let bounded = clamp(a, x, -20.0, MOST);
    let [half, rest] = half_expm1(a, bounded);
    let half = a.add(half, rest);
    let twice = a.add(half, half);
    let (size, tiny) = (a.abs(x), a.real(TINY));
    let is_tiny = a.lt(size, tiny);
    a.select(is_tiny, x, twice)
}

/// Hyperbolic sine.
#[inline(always)]
pub fn sinh<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let size = a.abs(x);
    let [half, rest] = half_expm1(a, size);
    let [half, low] = a.ordered_sum(half, rest);
    let twice = a.add(half, half);
    let one = a.real(1.0);
    let next = a.add(twice, one);
    let other = a.div(half, next);
    let other = a.add(other, low);
    let sum = a.add(half, other);
    // Far away twice the half may be too much.
    let far = a.real(20.0);
    let is_near = a.lt(size, far);
    let result = a.select(is_near, sum, half);
    let tiny = a.real(TINY);
    let is_tiny = a.lt(size, tiny);
    let result = a.select(is_tiny, size, result);
    let sign = a.sign_of(x);
    let fast = a.or(result, sign);
    let most = a.real(88.0);
    let usual = a.lt(size, most);
    a.usual(usual, fast, x, x, |x, _| libm::sinh(x))
}

/// Hyperbolic cosine.
#[inline(always)]
pub fn cosh<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let (size, high) = (a.abs(x), a.real(91.0));
    let size = a.lesser(high, size);
    let [t, n, r, lost] = reduce_in_two(a, size);
    let p = near_one(a, r, Some(lost));
    // Half of it: one less in the exponent.
    let (lowest, one) = (pattern(a, 1), a.real(1.0));
    let less = [a.int_sub(t, lowest), a.sub(n, one)];
    let half = scaled(a, less, p);
    let quarter = a.real(0.25);
    let other = a.div(quarter, half);
    a.add(half, other)
}

/// The quotient of two sums whose second parts are smaller.
#[inline(always)]
fn quotient<A: Arith>(a: &mut A, [x, x_low]: [A::V; 2], [y, y_low]: [A::V; 2]) -> A::V {
    let one = a.real(1.0);
    let inverse = a.div(one, y);
    let q = a.mul(x, inverse);
    let rest = a.fnma(q, y, x);
    let low = a.fnma(q, y_low, x_low);
    let rest = a.add(rest, low);
    a.fma(rest, inverse, q)
}

/// Hyperbolic tangent.
#[inline(always)]
pub fn tanh<A: Arith>(a: &mut A, x: A::V) -> A::V {
    // Beyond 10 it is 1.
    let (size, high) = (a.abs(x), a.real(10.0));
    let size = a.lesser(high, size);
    let double = a.add(size, size);
    let half = half_expm1(a, double);
    let [half, half_low] = a.ordered_sum(half[0], half[1]);
    let one = a.real(1.0);
    let [next, next_low] = a.sum_in_two(one, half);
    let next_low = a.add(next_low, half_low);
    let result = quotient(a, [half, half_low], [next, next_low]);
    let tiny = a.real(TINY);
    let is_tiny = a.lt(size, tiny);
    let result = a.select(is_tiny, size, result);
    let sign = a.sign_of(x);
    a.or(result, sign)
}

/// 1 / (1 + e^-x), without overflow and with full relative accuracy in both tails.
#[inline(always)]
pub fn sigmoid<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let e = exp_of_minus(a, x);
    let one = a.real(1.0);
    let [next, next_low] = a.ordered_sum(one, e);
    let (above, zero) = (a.select_sign(x, e, one), a.real(0.0));
    quotient(a, [above, zero], [next, next_low])
}
