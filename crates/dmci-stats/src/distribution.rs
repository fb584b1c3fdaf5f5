//! The few distributions that intervals need.

use dmci_ops::real::{erfc, exp, lgamma, log, log1p, sqrt};

/// The number that a variable of Student's distribution stays below with probability `p`.
pub fn student_quantile(p: f64, degrees: f64) -> f64 {
    if p == 0.5 {
        return 0.0;
    }
    if p < 0.5 {
        return -student_quantile(1.0 - p, degrees);
    }
    let log_beta = log_beta(0.5 * degrees, 0.5);
    let scale = -log_beta - 0.5 * log(degrees);
    let density = |t: f64| exp(scale - 0.5 * (degrees + 1.0) * log1p(t * t / degrees));
    // The first terms of Cornish and Fisher's series, good for many degrees.
    let z = normal_quantile(p);
    let near =
        z + (z * z * z + z) / (4.0 * degrees) + ((5.0 * z * z + 16.0) * z * z + 3.0) * z / (96.0 * degrees * degrees);
    solve(1.0 - p, near, |t| student_tail(t, degrees, log_beta), density)
}

/// The quantile of the standard normal distribution.
pub fn normal_quantile(p: f64) -> f64 {
    if p < 0.5 {
        return -normal_quantile(1.0 - p);
    }
    // A tail of e^(-z z / 2) / 2, which is a little too large.
    let near = sqrt(-2.0 * log(2.0 * (1.0 - p)).min(0.0));
    solve(1.0 - p, near, |z| 0.5 * erfc(z / std::f64::consts::SQRT_2), |z| exp(log_normal_density(z)))
}

/// Where a tail on the positive side has this probability: Newton's steps from a place near by, and halves or doubles
/// where these lead astray.
fn solve(tail: f64, near: f64, beyond: impl Fn(f64) -> f64, density: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut t = near;
    for _ in 0..2000 {
        let excess = tail - beyond(t);
        if excess < 0.0 {
            low = t
        } else {
            high = t
        }
        let newton = t - excess / density(t);
        // Each step squares what is wrong, so that after this one rounding is left.
        if (newton - t).abs() <= 1e-9 * t.max(0.25) {
            return newton;
        }
        t = match newton {
            next if next >= low && next <= high => next,
            _ if high == f64::INFINITY => 2.0 * t.max(0.5),
            _ => 0.5 * (low + high),
        };
    }
    t
}

/// The probability that a variable of Student's distribution is at most `t`.
pub fn student_cdf(t: f64, degrees: f64) -> f64 {
    let tail = student_tail(t, degrees, log_beta(0.5 * degrees, 0.5));
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// The probability of being farther out than `t` on its side.
fn student_tail(t: f64, degrees: f64, log_beta: f64) -> f64 {
    // For very many degrees x is nearly 1, so the complement is given separately.
    let (x, y) = (degrees / (degrees + t * t), t * t / (degrees + t * t));
    0.5 * incomplete_beta((x, y), (0.5 * degrees, 0.5), log_beta)
}

fn log_beta(a: f64, b: f64) -> f64 {
    lgamma(a) + lgamma(b) - lgamma(a + b)
}

/// The regularised incomplete beta function at `x`, with `y = 1 - x` (continued fraction, Lentz).
fn incomplete_beta((x, y): (f64, f64), (a, b): (f64, f64), log_beta: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    let log_x = if y < 0.5 { log1p(-y) } else { log(x) };
    let log_y = if x < 0.5 { log1p(-x) } else { log(y) };
    let front = exp(a * log_x + b * log_y - log_beta);
    if x < (a + 1.0) / (a + b + 2.0) { front * fraction(x, a, b) / a } else { 1.0 - front * fraction(y, b, a) / b }
}

fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let tiny = 1e-300;
    let guard = |v: f64| if v.abs() < tiny { tiny } else { v };
    let (mut c, mut d) = (1.0, 1.0 / guard(1.0 - (a + b) * x / (a + 1.0)));
    let mut h = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for step in [even, odd] {
            d = 1.0 / guard(1.0 + step * d);
            c = guard(1.0 + step / c);
            h *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    h
}

/// The density of the standard normal distribution, as its logarithm.
pub fn log_normal_density(z: f64) -> f64 {
    -0.5 * z * z - log(sqrt(std::f64::consts::TAU))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against scipy.stats.t.ppf and scipy.stats.norm.ppf.
    #[test]
    fn quantiles_are_those_of_scipy() {
        for (p, degrees, expected) in [
            (0.975, 1.0, 12.706204736174694),
            (0.975, 4.0, 2.7764451051977934),
            (0.975, 12.0, 2.1788128296672284),
            (0.975, 159.0, 1.9749962127674756),
            (0.9, 2.5, 1.7302509288071766),
            (0.001, 7.0, -4.785289628638334),
            (0.9999999, 1.0, 3183098.8635132452),
            (0.500001, 3.0, 2.7206990464555036e-06),
        ] {
            let got = student_quantile(p, degrees);
            assert!((got - expected).abs() < 1e-9 * expected.abs(), "{p} {degrees}: {got}");
        }
        assert!((normal_quantile(0.975) - 1.959963984540054).abs() < 1e-12, "{}", normal_quantile(0.975));
    }
}
