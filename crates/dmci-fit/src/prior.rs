//! What is known of parameters before any data: densities of their values, in the user's units.

use dmci::Prior;
use dmci_ops::real::{lgamma, log, log1p};
use std::f64::consts::{PI, TAU};

/// A density.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Density {
    /// Mean and standard deviation.
    Normal(f64, f64),
    /// Mean and standard deviation of the logarithm.
    LogNormal(f64, f64),
    /// The standard deviation that the same normal density has on both sides of 0.
    HalfNormal(f64),
    /// Lowest and highest value.
    Uniform(f64, f64),
    /// Rate.
    Exponential(f64),
    /// Shape and rate.
    Gamma(f64, f64),
    /// Shape and scale.
    InverseGamma(f64, f64),
    /// The two shapes.
    Beta(f64, f64),
    /// Degrees of freedom, centre and scale; with one degree it is Cauchy's.
    Student(f64, f64, f64),
}

impl Density {
    /// How priors are written.
    pub const FORMS: &str = "(prior normal mean sd), (prior lognormal mean sd), (prior half-normal sd), \
         (prior uniform low high), (prior exponential rate), (prior gamma shape rate), \
         (prior inverse-gamma shape scale), (prior beta a b), (prior student-t df centre scale), \
         (prior cauchy centre scale)";

    /// The density that a schema asks for; none if there is no such one.
    pub fn of(prior: &Prior) -> Option<Density> {
        let positive = |list: &[f64]| list.iter().all(|x| *x > 0.0 && x.is_finite());
        Some(match (prior.name.as_str(), &prior.numbers[..]) {
            ("normal", &[mean, sd]) if positive(&[sd]) => Density::Normal(mean, sd),
            ("lognormal", &[mean, sd]) if positive(&[sd]) => Density::LogNormal(mean, sd),
            ("half-normal", &[sd]) if positive(&[sd]) => Density::HalfNormal(sd),
            ("uniform", &[low, high]) if low < high => Density::Uniform(low, high),
            ("exponential", &[rate]) if positive(&[rate]) => Density::Exponential(rate),
            ("gamma", &[shape, rate]) if positive(&[shape, rate]) => Density::Gamma(shape, rate),
            ("inverse-gamma", &[shape, scale]) if positive(&[shape, scale]) => Density::InverseGamma(shape, scale),
            ("beta", &[a, b]) if positive(&[a, b]) => Density::Beta(a, b),
            ("student-t", &[df, centre, scale]) if positive(&[df, scale]) => Density::Student(df, centre, scale),
            ("cauchy", &[centre, scale]) if positive(&[scale]) => Density::Student(1.0, centre, scale),
            _ => return None,
        })
    }

    /// The logarithm of the density and its derivative; minus infinity where there is none.
    pub fn log(self, x: f64) -> (f64, f64) {
        let normal = |z: f64, sd: f64| -0.5 * z * z - log(sd) - 0.5 * log(TAU);
        let outside = (f64::NEG_INFINITY, 0.0);
        match self {
            Density::Normal(mean, sd) => {
                let z = (x - mean) / sd;
                (normal(z, sd), -z / sd)
            }
            Density::LogNormal(mean, sd) if x > 0.0 => {
                let z = (log(x) - mean) / sd;
                (normal(z, sd) - log(x), -(z / sd + 1.0) / x)
            }
            Density::HalfNormal(sd) if x >= 0.0 => (normal(x / sd, sd) + log(2.0), -x / (sd * sd)),
            Density::Uniform(low, high) if (low..=high).contains(&x) => (-log(high - low), 0.0),
            Density::Exponential(rate) if x >= 0.0 => (log(rate) - rate * x, -rate),
            Density::Gamma(shape, rate) if x > 0.0 => {
                let constant = shape * log(rate) - lgamma(shape);
                (constant + (shape - 1.0) * log(x) - rate * x, (shape - 1.0) / x - rate)
            }
            Density::InverseGamma(shape, scale) if x > 0.0 => {
                let constant = shape * log(scale) - lgamma(shape);
                (constant - (shape + 1.0) * log(x) - scale / x, (scale / x - (shape + 1.0)) / x)
            }
            Density::Beta(a, b) if x > 0.0 && x < 1.0 => {
                let constant = lgamma(a + b) - lgamma(a) - lgamma(b);
                (constant + (a - 1.0) * log(x) + (b - 1.0) * log1p(-x), (a - 1.0) / x - (b - 1.0) / (1.0 - x))
            }
            Density::Student(df, centre, scale) => {
                let z = (x - centre) / scale;
                let half = 0.5 * (df + 1.0);
                let constant = lgamma(half) - lgamma(0.5 * df) - 0.5 * log(df * PI) - log(scale);
                (constant - half * log1p(z * z / df), -2.0 * half * z / (scale * (df + z * z)))
            }
            _ => outside,
        }
    }

    /// The second derivative of the logarithm of the density; 0 where there is none.
    pub fn log_bend(self, x: f64) -> f64 {
        match self {
            Density::Normal(_, sd) => -1.0 / (sd * sd),
            Density::LogNormal(mean, sd) if x > 0.0 => (((log(x) - mean) - 1.0) / (sd * sd) + 1.0) / (x * x),
            Density::HalfNormal(sd) if x >= 0.0 => -1.0 / (sd * sd),
            Density::Gamma(shape, _) if x > 0.0 => (1.0 - shape) / (x * x),
            Density::InverseGamma(shape, scale) if x > 0.0 => (shape + 1.0 - 2.0 * scale / x) / (x * x),
            Density::Beta(a, b) if x > 0.0 && x < 1.0 => (1.0 - a) / (x * x) + (1.0 - b) / ((1.0 - x) * (1.0 - x)),
            Density::Student(df, centre, scale) => {
                let z = (x - centre) / scale;
                let total = scale * (df + z * z);
                -(df + 1.0) * (df - z * z) / (total * total)
            }
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against scipy.stats at 0.4.
    #[test]
    fn densities_are_those_of_scipy() {
        for (name, numbers, expected) in DENSITIES {
            let density = Density::of(&Prior { name: name.to_string(), numbers: numbers.to_vec() }).unwrap();
            let (got, slope) = density.log(0.4);
            assert!((got - expected).abs() < 1e-12, "{name}: {got} {expected}");
            let numeric = (density.log(0.4 + 1e-6).0 - density.log(0.4 - 1e-6).0) / 2e-6;
            assert!((slope - numeric).abs() < 1e-7, "{name}: {slope} {numeric}");
            let numeric = (density.log(0.4 + 1e-6).1 - density.log(0.4 - 1e-6).1) / 2e-6;
            assert!((density.log_bend(0.4) - numeric).abs() < 1e-6, "{name}: {} {numeric}", density.log_bend(0.4));
        }
        assert_eq!(Density::Uniform(0.0, 1.0).log(2.0).0, f64::NEG_INFINITY);
        assert_eq!(Density::of(&Prior { name: "normal".into(), numbers: vec![0.0, -1.0] }), None);
    }

    const DENSITIES: [(&str, &[f64], f64); 10] = [
        ("normal", &[1.0, 2.0], -1.657085713764618),
        ("lognormal", &[-0.5, 0.7], 0.17719247582829678),
        ("half-normal", &[0.5], 0.14735582791521784),
        ("uniform", &[-1.0, 3.0], -1.3862943611198906),
        ("exponential", &[2.5], -0.083709268125845),
        ("gamma", &[2.2, 1.7], -0.7091141927028503),
        ("inverse-gamma", &[3.0, 1.2], 0.5189804173185387),
        ("beta", &[2.0, 5.0], 0.44160415472403747),
        ("student-t", &[4.0, 1.0, 0.3], -1.5097244000856536),
        ("cauchy", &[0.1, 0.2], -0.713946969756946),
    ];
}
