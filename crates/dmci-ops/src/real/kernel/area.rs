//! Inverse hyperbolic functions.

use super::logarithm::log1p_inside;
use crate::arith::Arith;

/// Beyond this the inverse hyperbolic sine and cosine are log(2 x).
const FAR: f64 = 1e9;
/// Up to here twice as much is a number.
const MOST: f64 = 1e300;

/// log(1 + u + low), but log(2 x) if x is large.
#[inline(always)]
fn log_or_far<A: Arith>(a: &mut A, x: A::V, [u, low]: [A::V; 2]) -> A::V {
    let (zero, minus_one, far) = (a.real(0.0), a.real(-1.0), a.real(FAR));
    let is_far = a.lt(far, x);
    let twice = a.add(x, x);
    let other = a.add(twice, minus_one);
    let (u, low) = (a.select(is_far, other, u), a.select(is_far, zero, low));
    log1p_inside(a, u, Some(low))
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub fn asinh<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let size = a.abs(x);
    let one = a.real(1.0);
    // u = |x| + x^2 / (1 + sqrt(1 + x^2))
    let square = a.mul(size, size);
    let next = a.fma(size, size, one);
    let root = a.sqrt(next);
    let below = a.add(one, root);
    let part = a.div(square, below);
    let sum = a.ordered_sum(size, part);
    let result = log_or_far(a, size, sum);
    let tiny = a.real(1e-9);
    let is_tiny = a.lt(size, tiny);
    let result = a.select(is_tiny, size, result);
    let sign = a.sign_of(x);
    let fast = a.or(result, sign);
    let most = a.real(MOST);
    let usual = a.lt(size, most);
    a.usual(usual, fast, x, x, |x, _| libm::asinh(x))
}

/// Inverse hyperbolic cosine, from 1 on.
#[inline(always)]
pub fn acosh<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let (one, most) = (a.real(1.0), a.real(MOST));
    // With t = x - 1, u = t + sqrt(2 t + t^2)
    let t = a.sub(x, one);
    let twice = a.add(t, t);
    let square = a.fma(t, t, twice);
    let root = a.sqrt(square);
    let sum = a.ordered_sum(root, t);
    let fast = log_or_far(a, x, sum);
    let (low, high) = (a.le(one, x), a.lt(x, most));
    let usual = a.both(low, high);
    a.usual(usual, fast, x, x, |x, _| if x < 1.0 { f64::NAN } else { libm::acosh(x) })
}

/// Inverse hyperbolic tangent, between -1 and 1.
#[inline(always)]
pub fn atanh<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let (size, one, half) = (a.abs(x), a.real(1.0), a.real(0.5));
    // Half of log(1 + u) with u = 2 |x| / (1 - |x|), in two parts
    let twice = a.add(size, size);
    let minus = a.real(-0.0);
    let negative = a.sub(minus, size);
    let [below, below_low] = a.ordered_sum(one, negative);
    let u = a.div(twice, below);
    let rest = a.fnma(u, below, twice);
    let rest = a.fnma(u, below_low, rest);
    let low = a.div(rest, below);
    let log = log1p_inside(a, u, Some(low));
    let result = a.mul(half, log);
    let tiny = a.real(1e-9);
    let is_tiny = a.lt(size, tiny);
    let result = a.select(is_tiny, size, result);
    let sign = a.sign_of(x);
    let fast = a.or(result, sign);
    let usual = a.lt(size, one);
    a.usual(usual, fast, x, x, |x, _| libm::atanh(x))
}
