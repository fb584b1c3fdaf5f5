//! Sine and cosine.

use super::super::trigonometric::{Angle, or_tiny};
use super::pattern;
use crate::arith::Arith;

/// pi/2 in three parts.
const HALF_PI: [f64; 3] = [1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15];

/// Up to here multiples of the first part are taken away without error.
const MOST: f64 = 1e5;

/// (sin(r) - r) / r^3 and (cos(r) - 1 + r^2/2) / r^4 in powers of r^2, for |r| up to pi/4 and a little more (errors
/// 2^-28 and 2^-33).
const SINE: [f64; 3] = [-0.16666653752326965, 0.008332101628184319, -0.00019506842363625765];
const COSINE: [f64; 3] = [0.04166664555668831, -0.00138873013202101, 2.443066841806285e-05];

/// 1.5 times 2^23: its lowest bits hold an integer that is added to it.
const HOLDER: f64 = 12582912.0;

/// Sine and cosine of what is left of x after whole quarters.
#[inline(always)]
fn reduced<A: Arith>(a: &mut A, x: A::V) -> Angle<A::V> {
    let (holder, per_quarter) = (a.real(HOLDER), a.real(std::f64::consts::FRAC_2_PI));
    let quarter = a.fma(x, per_quarter, holder);
    let n = a.sub(quarter, holder);
    // Each difference is rounded once, so that next to a multiple of pi/2 few digits are lost too.
    let r = HALF_PI.into_iter().fold(x, |r, part| {
        let part = a.real(part);
        a.fnma(n, part, r)
    });
    let z = a.mul(r, r);
    let z2 = a.mul(z, z);
    let p = a.polynomial(z, z2, &SINE);
    let cube = a.mul(r, z);
    let sine = a.fma(cube, p, r);
    // cos(r) = 1 - z/2 + z^2 q, with what 1 - z/2 has lost.
    let q = a.polynomial(z, z2, &COSINE);
    let (one, half) = (a.real(1.0), a.real(0.5));
    let most = a.fnma(half, z, one);
    let lost = a.sub(one, most);
    let lost = a.fnma(half, z, lost);
    let part = a.fma(z2, q, lost);
    let cosine = a.add(most, part);
    Angle { quarter, sine, cosine }
}

#[inline(always)]
fn is_usual<A: Arith>(a: &mut A, x: A::V) -> A::M {
    let (size, most) = (a.abs(x), a.real(MOST));
    a.le(size, most)
}

/// Sine of an angle in radians.
#[inline(always)]
pub fn sin<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let sine = reduced(a, x).whole_sine(a, 31);
    let fast = or_tiny(a, sine, x, 1e-30);
    let usual = is_usual(a, x);
    a.usual(usual, fast, x, x, |x, _| libm::sin(x))
}

/// Cosine of an angle in radians.
#[inline(always)]
pub fn cos<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let (angle, one) = (reduced(a, x), pattern(a, 1));
    let fast = angle.whole_cosine(a, 31, one);
    let usual = is_usual(a, x);
    a.usual(usual, fast, x, x, |x, _| libm::cos(x))
}
