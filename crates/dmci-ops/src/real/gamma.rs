//! The gamma function and its relatives.

use super::{log, tan};
use std::f64::consts::PI;

/// The gamma function; exact factorials up to 22!. `gamma(0.0)` is `+inf`, `gamma(-0.0)` is
/// `-inf`, NaN at negative integers.
#[inline]
pub fn gamma(x: f64) -> f64 {
    libm::tgamma(x)
}

/// Logarithm of the absolute value of the gamma function; `+inf` at zero and negative integers.
#[inline]
pub fn lgamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// The zero of digamma between 1 and 2, and the part of it that does not fit.
const ROOT: f64 = 1.4616321449683622;
const ROOT_LOW: f64 = 9.549995429965697e-17;

/// x * digamma(x) / (x - ROOT) on [1, 2] in powers of x - 1.5 (Chebyshev fit, relative error 4e-19).
/// With the zero divided out, the result keeps its relative accuracy next to it.
const AROUND_ROOT: [f64; 18] = [
    1.4265838140477494,
    0.31561474410964213,
    -0.06281369492027987,
    0.01793509965991083,
    -0.005921836374572329,
    0.0021055245453552008,
    -0.0007808823631135956,
    0.00029713867777156263,
    -0.00011492420647282236,
    4.49254461497353e-05,
    -1.7687150435234557e-05,
    6.997232589214956e-06,
    -2.7791592082028367e-06,
    1.1056508971126337e-06,
    -4.3348675603916483e-07,
    1.729202868870817e-07,
    -8.414843249408442e-08,
    3.361752226974453e-08,
];

/// B(2k) / 2k, the coefficients of the asymptotic series in 1/x².
const ASYMPTOTIC: [f64; 8] =
    [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0, -3617.0 / 8160.0];

fn horner(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// The derivative of `lgamma`. `digamma(0.0)` is `-inf`, `digamma(-0.0)` is `+inf`, NaN at negative
/// integers and at `-inf`. Next to its zeros left of 0 only the absolute error is small.
pub fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return -1.0 / x;
    }
    if x < 0.0 {
        if x == f64::NEG_INFINITY || x == x.floor() {
            return f64::NAN;
        }
        // Reflection. The cotangent has period 1, so the fraction alone decides it.
        let fraction = x - x.round_ties_even();
        return positive_digamma(1.0 - x) - PI / tan(PI * fraction);
    }
    positive_digamma(x)
}

fn positive_digamma(x: f64) -> f64 {
    if x < 1.0 {
        return positive_digamma_from_1(x + 1.0) - 1.0 / x;
    }
    positive_digamma_from_1(x)
}

fn positive_digamma_from_1(mut x: f64) -> f64 {
    if x >= 12.0 {
        let inverse_square = 1.0 / (x * x);
        return log(x) - 0.5 / x - inverse_square * horner(&ASYMPTOTIC, inverse_square);
    }
    // Downwards all terms are positive, so nothing cancels.
    let mut sum = 0.0;
    while x > 2.0 {
        x -= 1.0;
        sum += 1.0 / x;
    }
    ((x - ROOT) - ROOT_LOW) * horner(&AROUND_ROOT, x - 1.5) / x + sum
}
