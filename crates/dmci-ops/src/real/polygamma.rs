//! Derivatives of the digamma function where the kernel does not reach.

use super::{digamma, polygamma as right, pow, sin, tan};
use std::f64::consts::PI;

/// Bernoulli numbers B2, B4, ...
const BERNOULLI: [f64; 12] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174611.0 / 330.0,
    854513.0 / 138.0,
    -236364091.0 / 2730.0,
];

/// The derivative of order `n` of digamma at `x`: n = 0 is digamma itself. Left of 0 only n up to 2
/// is given, by reflection; NaN otherwise.
pub(super) fn polygamma(x: f64, n: f64) -> f64 {
    if n == 0.0 {
        return digamma(x);
    }
    if !(n > 0.0 && n <= 30.0 && n.fract() == 0.0) || x.is_nan() {
        return f64::NAN;
    }
    if x <= 0.0 {
        return reflected(x, n);
    }
    if x.is_infinite() {
        return 0.0;
    }
    let order = n as u32;
    let factorial = |k: u32| (1..=k).map(f64::from).product::<f64>();
    let sign = if order % 2 == 1 { 1.0 } else { -1.0 };
    // Up to where the asymptotic series converges fast, by the recurrence.
    let start = 20.0 + n;
    let mut shifted = x;
    let mut sum = 0.0;
    while shifted < start {
        sum += pow(shifted, -(n + 1.0));
        shifted += 1.0;
    }
    let mut series = factorial(order - 1) * pow(shifted, -n) + 0.5 * factorial(order) * pow(shifted, -(n + 1.0));
    // (2k + n - 1)! / (2k)!, kept as a running product.
    let mut ratio = factorial(order + 1) / 2.0;
    for (i, b) in BERNOULLI.iter().enumerate() {
        let k = (i + 1) as f64;
        series += b * ratio * pow(shifted, -(2.0 * k + n));
        ratio *= (2.0 * k + n) * (2.0 * k + n + 1.0) / ((2.0 * k + 1.0) * (2.0 * k + 2.0));
    }
    sign * (factorial(order) * sum + series)
}

fn reflected(x: f64, n: f64) -> f64 {
    if x.fract() == 0.0 {
        return if n == 1.0 { f64::INFINITY } else { f64::NAN };
    }
    let s = sin(PI * x);
    match n as u32 {
        1 => PI * PI / (s * s) - right(1.0 - x, 1.0),
        2 => -2.0 * PI * PI * PI / (tan(PI * x) * s * s) + right(1.0 - x, 2.0),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-13 * b.abs(), "{a} {b}");
        close(polygamma(1.0, 1.0), PI * PI / 6.0);
        close(polygamma(0.5, 1.0), PI * PI / 2.0);
        close(polygamma(1.0, 2.0), -2.404_113_806_319_188_6);
        close(polygamma(3.5, 1.0), PI * PI / 2.0 - 4.0 - 4.0 / 9.0 - 4.0 / 25.0);
        close(polygamma(1.0, 3.0), PI.powi(4) / 15.0);
    }
}
