//! The gamma function and its relatives where their kernels do not reach: left of 0, by reflection, and at poles.

use super::{cos, digamma as digamma_right, gamma as gamma_right, lgamma as lgamma_right, log, sin};
use std::f64::consts::PI;

/// What pi is beyond its double.
const PI_LOW: f64 = 1.2246467991473532e-16;

/// a b + c, rounded once: also where the processor cannot, so that the bits are the same everywhere.
fn fma(a: f64, b: f64, c: f64) -> f64 {
    libm::fma(a, b, c)
}

/// Sine and cosine of pi times the distance of x from the nearest integer.
fn half_turns(x: f64) -> (f64, f64) {
    let fraction = x - x.round_ties_even();
    let angle = PI * fraction;
    let low = fma(PI, fraction, -angle) + PI_LOW * fraction;
    let (s, c) = (sin(angle), cos(angle));
    (s + low * c, c - low * s)
}

fn is_integer(x: f64) -> bool {
    x == x.round_ties_even()
}

/// The gamma function of a number that is not positive, or hardly.
pub(super) fn gamma(x: f64) -> f64 {
    if !(-160.0..-1e-290).contains(&x) || is_integer(x) {
        return libm::tgamma(x);
    }
    // -pi / (x sin(pi x) gamma(-x)); the sine of pi x has another sign left of odd integers.
    let (s, _) = half_turns(x);
    let s = if x.round_ties_even() % 2.0 == 0.0 { s } else { -s };
    let (product, right) = (x * s, gamma_right(-x));
    let product_low = fma(x, s, -product);
    let below = product * right;
    let below_low = fma(product, right, -below) + product_low * right;
    let quotient = -PI / below;
    let rest = -fma(quotient, below, PI) - (PI_LOW + quotient * below_low);
    quotient + rest / below
}

/// Logarithm of the absolute value of the gamma function of a number that is not positive, or not usual.
pub(super) fn lgamma(x: f64) -> f64 {
    if !(x > f64::NEG_INFINITY && x < -1e-8) || is_integer(x) {
        return libm::lgamma(x);
    }
    let (s, _) = half_turns(x);
    log(PI / (x * s).abs()) - lgamma_right(-x)
}

/// The derivative of `lgamma` left of 0, at its poles, and where x is no usual number.
pub(super) fn digamma(x: f64) -> f64 {
    if x.abs() < f64::MIN_POSITIVE {
        return -1.0 / x;
    }
    if x > 0.0 || x.is_nan() {
        return x;
    }
    if is_integer(x) {
        return f64::NAN;
    }
    // The cotangent has period 1, so the fraction alone decides it.
    let (s, c) = half_turns(x);
    digamma_right(1.0 - x) - PI * c / s
}
