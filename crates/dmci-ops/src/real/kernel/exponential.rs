//! e to some power, and what is made of it.

use crate::arith::{Arith, SIGN};

/// (e^r - 1 - r) / r^2 for |r| up to ln(2)/2 (relative error 3e-18).
const AFTER_LINEAR: [f64; 11] = [
    0.5,
    0.1666666666666667,
    0.04166666666666667,
    0.008333333333326084,
    0.0013888888888883711,
    0.0001984126987500228,
    2.480158732567746e-05,
    2.755725517000089e-06,
    2.755727347871858e-07,
    2.5105312729622103e-08,
    2.09147553258932e-09,
];

/// The same with fewer coefficients, for where 1 is added: e^r has a relative error of 6e-18.
const AFTER_LINEAR_NEAR_ONE: [f64; 10] = [
    0.5,
    0.16666666666666433,
    0.04166666666660351,
    0.008333333333501218,
    0.0013888888927000237,
    0.0001984126946423595,
    2.4801508400426913e-05,
    2.755764198850425e-06,
    2.7625308664687665e-07,
    2.4978257317949222e-08,
];

const LOG2_E: f64 = std::f64::consts::LOG2_E;
/// ln(2) in 42 bits, so that its multiples by exponents are exact, and the rest.
pub(super) const LN2_HIGH: f64 = 0.6931471805598903;
pub(super) const LN2_LOW: f64 = 5.497923018708371e-14;

/// 1.5 times 2^52: after adding an integer, the lowest bits are this integer.
const HOLDER: f64 = 6755399441055744.0;
/// The same for an exponent n of which n + 2046 is wanted.
const EXPONENT: f64 = HOLDER + 2046.0;

/// n = round(x / ln(2)): a number whose lowest bits hold n, n itself, and x - n LN2_HIGH, exactly.
#[inline(always)]
fn multiple<A: Arith>(a: &mut A, x: A::V, holder: f64) -> (A::V, A::V, A::V) {
    let (holder, log2_e, high) = (a.real(holder), a.real(LOG2_E), a.real(LN2_HIGH));
    let t = a.fma(x, log2_e, holder);
    let n = a.sub(t, holder);
    (t, n, a.fnma(n, high, x))
}

/// A power of two: the number that holds n + 2046, and n itself.
type Power<V> = [V; 2];

/// x = n ln(2) + r: 2^n, then r and what r has lost.
#[inline(always)]
fn reduce<A: Arith>(a: &mut A, x: A::V) -> (Power<A::V>, A::V, A::V) {
    let (t, n, exact) = multiple(a, x, EXPONENT);
    let low = a.real(LN2_LOW);
    let r = a.fnma(n, low, exact);
    let lost = a.sub(exact, r);
    ([t, n], r, a.fnma(n, low, lost))
}

/// p times 2^n: at once, or in two factors, neither of which is out of range.
#[inline(always)]
fn times<A: Arith>(a: &mut A, p: A::V, [t, n]: Power<A::V>) -> A::V {
    if let Some(product) = a.scaled_at_once(p, n) {
        return product;
    }
    let half = a.shr(t, 1);
    let rest = a.int_sub(t, half);
    let (first, second) = (a.shl(half, 52), a.shl(rest, 52));
    let p = a.mul(p, first);
    a.mul(p, second)
}

/// e^(r + lost) as a sum whose second part is smaller.
#[inline(always)]
fn near_one_in_two<A: Arith>(a: &mut A, r: A::V, lost: A::V) -> [A::V; 2] {
    let r2 = a.mul(r, r);
    let q = a.polynomial(r, r2, &AFTER_LINEAR);
    let one = a.real(1.0);
    let [s, rest] = a.ordered_sum(one, r);
    let rest = a.add(rest, lost);
    [s, a.fma(r2, q, rest)]
}

/// e^(r + lost) times 2^n.
#[inline(always)]
fn scaled<A: Arith>(a: &mut A, power: Power<A::V>, r: A::V, lost: A::V) -> A::V {
    let [s, rest] = near_one_in_two(a, r, lost);
    let p = a.add(s, rest);
    times(a, p, power)
}

/// x between the numbers beyond which nothing changes; NaN stays.
#[inline(always)]
pub(super) fn clamp<A: Arith>(a: &mut A, x: A::V, low: f64, high: f64) -> A::V {
    let (low, high) = (a.real(low), a.real(high));
    let x = a.greater(low, x);
    a.lesser(high, x)
}

/// Up to here e^x and e^-x are normal numbers.
const NORMAL: f64 = 707.0;

/// x = n ln(2) + r: a number whose lowest bits hold n, as `holder` says, and e^r.
#[inline(always)]
fn near_one<A: Arith>(a: &mut A, x: A::V, holder: f64) -> (A::V, A::V) {
    let (t, n, exact) = multiple(a, x, holder);
    let low = a.real(LN2_LOW);
    let r = a.fnma(n, low, exact);
    let r2 = a.mul(r, r);
    let q = a.polynomial(r, r2, &AFTER_LINEAR_NEAR_ONE);
    let above = a.fma(r2, q, r);
    let one = a.real(1.0);
    (t, a.add(above, one))
}

/// e to the power x for x from -NORMAL to NORMAL; NaN stays.
#[inline(always)]
pub(super) fn exp_inside<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let (t, p) = near_one(a, x, HOLDER + 1023.0);
    let power = a.shl(t, 52);
    a.mul(p, power)
}

/// The same, but anything for NaN.
#[inline(always)]
fn exp_of_normal<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let (t, p) = near_one(a, x, HOLDER);
    // Times 2^n, by the bits of the exponent.
    let n = a.shl(t, 52);
    a.int_add(p, n)
}

/// e to the power x.
#[inline(always)]
pub fn exp<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let fast = exp_of_normal(a, x);
    let (size, most) = (a.abs(x), a.real(NORMAL));
    let usual = a.le(size, most);
    a.usual(usual, fast, x, x, |x, _| libm::exp(x))
}

/// e to the power x + y, where y is much smaller than x, and below 1 where x is out of range.
#[inline(always)]
pub(super) fn exp_of_sum<A: Arith>(a: &mut A, x: A::V, y: A::V) -> A::V {
    let x = clamp(a, x, -750.0, 715.0);
    let (power, r, lost) = reduce(a, x);
    let lost = a.add(lost, y);
    let [sum, lost] = a.ordered_sum(r, lost);
    scaled(a, power, sum, lost)
}

/// (y + z) e^(-x^2) for x up to 30, where z is tiny.
#[inline(always)]
pub(super) fn times_gaussian<A: Arith>(a: &mut A, x: A::V, [y, z]: [A::V; 2]) -> A::V {
    let [square, low] = a.product_in_two(x, x);
    let minus = a.real(-0.0);
    let negative = a.sub(minus, square);
    let (power, r, lost) = reduce(a, negative);
    let lost = a.sub(lost, low);
    let [r, lost] = a.ordered_sum(r, lost);
    let [s, rest] = near_one_in_two(a, r, lost);
    let product = a.mul(rest, y);
    let product = a.fma(s, z, product);
    let product = a.fma(s, y, product);
    times(a, product, power)
}

/// Half of e^x - 1 for x up to 710; the sign of a zero is lost.
#[inline(always)]
fn half_expm1<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let bounded = clamp(a, x, -40.0, 710.0);
    let ([t, _], r, lost) = reduce(a, bounded);
    let r2 = a.mul(r, r);
    let q = a.polynomial(r, r2, &AFTER_LINEAR);
    let small = a.fma(r2, q, lost);
    // Half of 2^n: n + 2046 becomes n + 1022, the exponent.
    let offset = a.bits(1024);
    let power = a.int_sub(t, offset);
    let power = a.shl(power, 52);
    let half = a.real(0.5);
    let base = a.sub(power, half);
    let first = a.mul(power, r);
    // base + first, exactly, in two parts.
    let sum = a.add(base, first);
    let part = a.sub(sum, base);
    let rest = a.sub(sum, part);
    let rest = a.sub(base, rest);
    let part = a.sub(first, part);
    let rest = a.add(rest, part);
    let rest = a.fma(power, small, rest);
    a.add(sum, rest)
}

/// e^x - 1 without cancellation near zero.
#[inline(always)]
pub fn expm1<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let half = half_expm1(a, x);
    let twice = a.add(half, half);
    // Half of a subnormal number is not exact, and zeros have signs.
    let tiny = a.real(1e-300);
    let size = a.abs(x);
    let is_tiny = a.lt(size, tiny);
    a.select(is_tiny, x, twice)
}

/// Hyperbolic sine.
#[inline(always)]
pub fn sinh<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let size = a.abs(x);
    let half = half_expm1(a, size);
    let twice = a.add(half, half);
    let one = a.real(1.0);
    let next = a.add(twice, one);
    let other = a.div(half, next);
    let sum = a.add(half, other);
    let far = a.real(40.0);
    let is_near = a.lt(size, far);
    let result = a.select(is_near, sum, half);
    let tiny = a.real(1e-8);
    let is_tiny = a.lt(size, tiny);
    let result = a.select(is_tiny, size, result);
    let sign = a.sign_of(x);
    let fast = a.or(result, sign);
    let most = a.real(710.0);
    let usual = a.lt(size, most);
    a.usual(usual, fast, x, x, |x, _| libm::sinh(x))
}

/// Hyperbolic cosine.
#[inline(always)]
pub fn cosh<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let size = a.abs(x);
    let high = a.real(711.0);
    let size = a.lesser(high, size);
    let ([t, n], r, lost) = reduce(a, size);
    // Half of it: one less in the exponent.
    let (lowest, one) = (a.bits(1), a.real(1.0));
    let less = [a.int_sub(t, lowest), a.sub(n, one)];
    let half = scaled(a, less, r, lost);
    let quarter = a.real(0.25);
    let other = a.div(quarter, half);
    a.add(half, other)
}

/// Hyperbolic tangent.
#[inline(always)]
pub fn tanh<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let size = a.abs(x);
    // Beyond 20 it is 1.
    let high = a.real(20.0);
    let size = a.lesser(high, size);
    let double = a.add(size, size);
    let half = half_expm1(a, double);
    let one = a.real(1.0);
    let next = a.add(half, one);
    let result = a.div(half, next);
    let tiny = a.real(1e-9);
    let is_tiny = a.lt(size, tiny);
    let result = a.select(is_tiny, size, result);
    let sign = a.sign_of(x);
    a.or(result, sign)
}

/// 1 / (1 + e^-x), without overflow and with full relative accuracy in both tails.
#[inline(always)]
pub fn sigmoid<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let sign = a.bits(SIGN);
    let minus = a.or(x, sign);
    let e = exp_of_normal(a, minus);
    let one = a.real(1.0);
    let next = a.add(e, one);
    let above = a.select_sign(x, e, one);
    let fast = a.div(above, next);
    let least = a.real(-NORMAL);
    let usual = a.le(least, minus);
    a.usual(usual, fast, x, x, |x, _| if x > 0.0 { 1.0 } else { libm::exp(x) })
}
