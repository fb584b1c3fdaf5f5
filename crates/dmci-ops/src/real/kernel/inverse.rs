//! Inverse sine, cosine, tangent.

use crate::arith::{Arith, SIGN};
use std::f64::consts::{FRAC_PI_2, PI};

/// What pi/2 is beyond its double; pi is twice as far.
const HALF_PI_LOW: f64 = 6.123233995736766e-17;

/// (atan(t) - t) / t^3 in powers of t^2, for t up to 1 (relative error of atan 2^-56).
const TANGENT: [f64; 20] = [
    -0.3333333333333307,
    0.19999999999951756,
    -0.14285714282584175,
    0.11111111007090696,
    -0.09090907001168658,
    0.07692279789005267,
    -0.06666403443597599,
    0.058805231017062344,
    -0.05253493337608395,
    0.04722223477519882,
    -0.04218888229303334,
    0.03663537801669365,
    -0.029892583062286177,
    0.021969919389291187,
    -0.013885510560414168,
    0.00718517111578199,
    -0.0028787453415246448,
    0.000829024341752054,
    -0.0001516382590903402,
    1.3170280458715724e-05,
];

/// (asin(s) - s) / s^3 in powers of s^2, for s up to 1/2 (relative error of asin 2^-59).
const SINE: [f64; 13] = [
    0.16666666666666763,
    0.07499999999970126,
    0.04464285717526253,
    0.030381942676263016,
    0.022372215881828705,
    0.017351595876627227,
    0.01398101459782635,
    0.011397321148288947,
    0.010789184270155376,
    0.0036726310756885695,
    0.021789722778368492,
    -0.021115626563695724,
    0.03270160823202909,
];

/// atan(t + low) = t + the result, for t from 0 to 1.
#[inline(always)]
fn after_linear<A: Arith>(a: &mut A, t: A::V, low: A::V) -> A::V {
    let z = a.mul(t, t);
    let z2 = a.mul(z, z);
    // Next to 1 the series converges slowly: even and odd powers would cancel each other, so the first ones go
    // one after the other.
    let (first, others) = TANGENT.split_at(4);
    let p = a.polynomial(z, z2, others);
    let p = first.iter().rev().fold(p, |sum, &c| {
        let c = a.real(c);
        a.fma(sum, z, c)
    });
    let cube = a.mul(t, z);
    // The derivative, 1 / (1 + z), is about 1 - z/2.
    let half = a.real(0.5);
    let half_z = a.mul(half, z);
    let low = a.fnma(half_z, low, low);
    a.fma(cube, p, low)
}

/// base + base_low + (t + rest), the latter with its sign flipped where the highest bit of `flip` is set.
#[inline(always)]
fn turned<A: Arith>(a: &mut A, base: A::V, base_low: A::V, flip: A::V, [t, rest]: [A::V; 2]) -> A::V {
    let (t, rest) = (a.xor(t, flip), a.xor(rest, flip));
    let [sum, lost] = a.ordered_sum(base, t);
    let rest = a.add(rest, base_low);
    let rest = a.add(rest, lost);
    a.add(sum, rest)
}

/// Inverse tangent, in [-pi/2, pi/2].
#[inline(always)]
pub fn atan<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let (size, most) = (a.abs(x), a.real(1e300));
    let size = a.lesser(most, size);
    let (zero, one) = (a.real(0.0), a.real(1.0));
    let is_large = a.lt(one, size);
    let inverse = a.div(one, size);
    let rest = a.fnma(inverse, size, one);
    let low = a.mul(rest, inverse);
    let (t, low) = (a.select(is_large, inverse, size), a.select(is_large, low, zero));
    let rest = after_linear(a, t, low);
    let (quarter, quarter_low, sign) = (a.real(FRAC_PI_2), a.real(HALF_PI_LOW), a.bits(SIGN));
    let [base, base_low, flip] = [quarter, quarter_low, sign].map(|c| a.select(is_large, c, zero));
    let result = turned(a, base, base_low, flip, [t, rest]);
    let sign = a.sign_of(x);
    a.or(result, sign)
}

/// The angle of the point (x, y), in [-pi, pi]; the signs of zeros choose the quadrant.
#[inline(always)]
pub fn atan2<A: Arith>(a: &mut A, y: A::V, x: A::V) -> A::V {
    let (width, height) = (a.abs(x), a.abs(y));
    let is_steep = a.lt(width, height);
    let (above, below) = (a.select(is_steep, width, height), a.select(is_steep, height, width));
    let (zero, one) = (a.real(0.0), a.real(1.0));
    let inverse = a.div(one, below);
    let t = a.mul(above, inverse);
    let rest = a.fnma(t, below, above);
    let low = a.mul(rest, inverse);
    let rest = after_linear(a, t, low);
    let (half, half_low) = (a.real(PI), a.real(2.0 * HALF_PI_LOW));
    let (quarter, quarter_low, sign) = (a.real(FRAC_PI_2), a.real(HALF_PI_LOW), a.bits(SIGN));
    let (base, base_low) = (a.select_sign(x, half, zero), a.select_sign(x, half_low, zero));
    let (base, base_low) = (a.select(is_steep, quarter, base), a.select(is_steep, quarter_low, base_low));
    let (flip, left) = (a.select(is_steep, sign, zero), a.sign_of(x));
    let flip = a.xor(flip, left);
    let result = turned(a, base, base_low, flip, [t, rest]);
    let sign = a.sign_of(y);
    let fast = a.or(result, sign);
    // Nothing is out of range on the way.
    let (least, most) = (a.real(1e-290), a.real(1e290));
    let (low, high) = (a.le(least, below), a.le(below, most));
    let usual = a.both(low, high);
    a.usual(usual, fast, y, x, libm::atan2)
}

/// For |x| up to 1/2, |x| = sin(s + rest), and for larger ones (1 - |x|) / 2 is the square of that; whether |x| is
/// small, s, rest.
#[inline(always)]
fn as_sine<A: Arith>(a: &mut A, size: A::V) -> (A::M, A::V, A::V) {
    let (one, half) = (a.real(1.0), a.real(0.5));
    let is_small = a.lt(size, half);
    let square = a.mul(size, size);
    let other = a.sub(one, size);
    let other = a.mul(half, other);
    let root = a.sqrt(other);
    let (z, s) = (a.select(is_small, square, other), a.select(is_small, size, root));
    let z2 = a.mul(z, z);
    let p = a.polynomial(z, z2, &SINE);
    let cube = a.mul(s, z);
    (is_small, s, a.mul(cube, p))
}

/// Inverse sine, in [-pi/2, pi/2].
#[inline(always)]
pub fn asin<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let size = a.abs(x);
    let (is_small, s, rest) = as_sine(a, size);
    let small = a.add(s, rest);
    let (quarter, quarter_low, sign) = (a.real(FRAC_PI_2), a.real(HALF_PI_LOW), a.bits(SIGN));
    let (twice, twice_rest) = (a.add(s, s), a.add(rest, rest));
    let large = turned(a, quarter, quarter_low, sign, [twice, twice_rest]);
    let result = a.select(is_small, small, large);
    let sign = a.sign_of(x);
    a.or(result, sign)
}

/// Inverse cosine, in [0, pi].
#[inline(always)]
pub fn acos<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let size = a.abs(x);
    let (is_small, s, rest) = as_sine(a, size);
    let (twice, twice_rest) = (a.add(s, s), a.add(rest, rest));
    let (s, rest) = (a.select(is_small, s, twice), a.select(is_small, rest, twice_rest));
    // pi/2 - asin(x); else 2 asin(s) on the right, pi - 2 asin(s) on the left.
    let (zero, half, half_low) = (a.real(0.0), a.real(PI), a.real(2.0 * HALF_PI_LOW));
    let (quarter, quarter_low, sign) = (a.real(FRAC_PI_2), a.real(HALF_PI_LOW), a.bits(SIGN));
    let (base, base_low) = (a.select_sign(x, half, zero), a.select_sign(x, half_low, zero));
    let (base, base_low) = (a.select(is_small, quarter, base), a.select(is_small, quarter_low, base_low));
    let (flip, left) = (a.select(is_small, sign, zero), a.sign_of(x));
    let flip = a.xor(flip, left);
    turned(a, base, base_low, flip, [s, rest])
}
