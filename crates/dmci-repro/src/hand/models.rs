//! The models of experiments B and C as functions of numbers on a tape.

use super::tape::Number;

/// A model by hand: parameters and inputs to its value.
pub type Function = for<'t> fn(&[Number<'t>], &[Number<'t>]) -> Number<'t>;

/// The function of a model.
pub fn function(id: &str) -> Option<Function> {
    FUNCTIONS.iter().find(|(name, _)| *name == id).map(|(_, f)| *f)
}

const FUNCTIONS: [(&str, Function); 23] = [
    ("M01", |p, x| p[0] * x[1] * x[2] / (x[0] * x[0])),
    ("M02", |p, x| p[0] * x[0] * x[1]),
    ("M03", |p, x| p[0] * x[0] / (p[1] + x[0])),
    ("M04", |p, x| p[0] * (-(p[1] * x[0])).exp()),
    ("M05", |p, x| p[0] * (-1.0 * p[1] * x[0]).exp() * (p[2] * x[0]).cos()),
    ("M06", |p, x| p[0] / (1.0 + (p[0] - 1.0) * (-(p[1] * x[0])).exp())),
    ("M07", |p, x| p[0] * x[0].pow(p[1])),
    ("M08", |p, x| (0..10).fold(x[0], |y, _| y - 0.1 * p[0] * y)),
    ("M09", taylor),
    ("M10", |p, x| p[0] * x[0] * (1.0 / (1.0 + (-(p[1] * x[0])).exp()))),
    ("M11", |p, x| (0..8).fold(x[0].constant(0.0), |y, _| p[0] * x[0] + (1.0 - p[0]) * y)),
    ("M12", |p, x| (0..5).fold(p[0] * x[0], |g, _| (g + x[0] / g) / 2.0)),
    ("M13", |p, x| p[0] * x[0] + p[1]),
    ("M14", |p, x| p[0] * x[0] + p[1] * x[1] + p[2] * x[2]),
    ("M15", |p, x| p.iter().rev().fold(x[0].constant(0.0), |sum, &a| a + x[0] * sum)),
    ("C01", predator_and_prey),
    ("C02", epidemic),
    ("C03", decay_chain),
    ("C04", |p, x| (0..10).fold(x[0], |x, _| p[0] * x * (1.0 - x))),
    ("C05", |p, x| (0..8).fold(x[0].constant(0.0), |f, _| p[0] * x[0] / (1.0 + f))),
    ("C06", pendulum),
    ("C07", filter),
    ("C08", averages),
];

fn taylor<'t>(p: &[Number<'t>], x: &[Number<'t>]) -> Number<'t> {
    let z = p[0] * x[0];
    let mut terms = Vec::new();
    for n in 0..9 {
        let power = (0..n).fold(z.constant(1.0), |power, _| z * power);
        let factorial: f64 = (1..=n).map(f64::from).product();
        terms.push(power / factorial);
    }
    let first = terms.remove(0);
    terms.into_iter().fold(first, |sum, term| term + sum)
}

fn predator_and_prey<'t>(p: &[Number<'t>], x: &[Number<'t>]) -> Number<'t> {
    let (mut prey, mut predators) = (x[0], x[0].constant(5.0));
    for _ in 0..20 {
        let more = 0.05 * (p[0] * prey - p[1] * prey * predators);
        let change = 0.05 * (0.02 * prey * predators - 0.5 * predators);
        (prey, predators) = (prey + more, predators + change);
    }
    prey
}

fn epidemic<'t>(p: &[Number<'t>], x: &[Number<'t>]) -> Number<'t> {
    let (mut s, mut i) = (x[0], x[0].constant(0.01));
    for _ in 0..30 {
        let infections = p[0] * s * i;
        (s, i) = (s - 0.1 * infections, i + 0.1 * (infections - p[1] * i));
    }
    s
}

fn decay_chain<'t>(p: &[Number<'t>], x: &[Number<'t>]) -> Number<'t> {
    let (mut a, mut b) = (x[0], x[0].constant(0.0));
    for _ in 0..25 {
        (a, b) = (a - 0.1 * p[0] * a, b + 0.1 * (p[0] * a - p[1] * b));
    }
    b
}

fn pendulum<'t>(p: &[Number<'t>], x: &[Number<'t>]) -> Number<'t> {
    let (mut theta, mut omega) = (x[0], x[0].constant(0.0));
    for _ in 0..20 {
        (theta, omega) = (theta + 0.05 * omega, omega - 0.05 * (p[0] * theta.sin() + p[1] * omega));
    }
    theta
}

fn filter<'t>(p: &[Number<'t>], x: &[Number<'t>]) -> Number<'t> {
    let (mut y, mut before) = (x[0].constant(0.0), x[0].constant(0.0));
    for _ in 0..12 {
        (y, before) = (p[0] * y + p[1] * before + p[2] * x[0], y);
    }
    y
}

fn averages<'t>(p: &[Number<'t>], x: &[Number<'t>]) -> Number<'t> {
    let (mut u, mut v) = (x[0].constant(0.0), x[0].constant(0.0));
    for _ in 0..10 {
        u = p[0] * x[0] + (1.0 - p[0]) * u;
        v = p[1] * u + (1.0 - p[1]) * v;
    }
    v
}
