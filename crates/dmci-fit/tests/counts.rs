//! What counts: rows and cells that were measured, with their weights; numbers that data decide; and what belongs to
//! the likelihood and what to the priors.

#![allow(clippy::unwrap_used)]

use dmci::{Program, Report};
use dmci_fit::{Fit, FitOptions, Loss, Problem, ProblemOptions, Sureness, Table, fit};
use std::ops::ControlFlow;

fn problem(program: &str, data: &str, target: &str, options: ProblemOptions) -> Result<Problem, Report> {
    let table = Table::from_bytes("data.csv", data.as_bytes(), &["NA".to_string()]).unwrap();
    Problem::new(Program::new(program), &table, target, options)
}

fn fitted(problem: &Problem) -> Fit {
    fit(problem, &FitOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap_or_else(|r| panic!("{r}"))
}

fn run(program: &str, data: &str, target: &str, options: ProblemOptions) -> Fit {
    fitted(&problem(program, data, target, options).unwrap_or_else(|r| panic!("{r}")))
}

fn sureness(fit: &Fit, number: usize) -> Sureness {
    fit.uncertainty.as_ref().unwrap().numbers[number]
}

fn near(got: f64, expected: f64, what: &str) {
    assert!((got - expected).abs() <= 1e-6 * expected.abs(), "{what}: {got} instead of {expected}");
}

/// Errors, intervals and criteria of two fits are the same, as far as both have them.
fn same(got: &Fit, expected: &Fit, numbers: usize, what: &str) {
    for k in 0..numbers {
        let (a, b) = (sureness(got, k), sureness(expected, k));
        near(a.error.unwrap(), b.error.unwrap(), &format!("{what}, error of {k}"));
        let (a, b) = (a.interval.unwrap(), b.interval.unwrap());
        near(a.0, b.0, &format!("{what}, low end of {k}"));
        near(a.1, b.1, &format!("{what}, high end of {k}"));
    }
}

/// Places and a noise that only looks like one.
fn noisy(i: i32) -> (f64, f64) {
    (0.25 * f64::from(i), 0.1 * f64::from((7 * i + 3) % 11 - 5))
}

#[test]
fn noise_that_is_fixed_is_what_it_says() {
    let row = |i: i32| {
        let (t, noise) = noisy(i);
        let far = if i % 9 == 4 { 3.0 } else { 0.0 };
        format!("{t:?},{:?},{}\n", 1.0 + 2.0 * t + noise + far, (4.0 + 9.0 * t * (1.0 + 3.0 * noise)).round().max(0.0))
    };
    let data = format!("t,y,n\n{}", (0..30).map(row).collect::<String>());
    let with = |loss: Loss, only: Option<&[&str]>| ProblemOptions {
        loss,
        only: only.map(|list| list.iter().map(|name| name.to_string()).collect()),
        ..Default::default()
    };
    let line = "(params (a free 1.0) (b free 1.0) (sigma positive 1.0)) (+ a (* b t))";
    let expected = run(line, &data, "y", with(Loss::StudentT(30.0), None));
    let declared = |how: &str| line.replace("(params", &format!("(params (df positive 30.0{how})"));
    let fixed = run(&declared(" fixed"), &data, "y", with(Loss::StudentT(4.0), None));
    let only = run(&declared(""), &data, "y", with(Loss::StudentT(4.0), Some(&["a", "b", "sigma"])));
    for got in [&fixed, &only] {
        near(got.score.loss, expected.score.loss, "student-t");
        same(got, &expected, 3, "student-t");
    }
    // With k known, the mean m of all counts solves the sum of (n - m) k / (m (k + m)).
    let counts = "(params (m positive 3.0) (dispersion positive 0.5 fixed)) m";
    let fit = run(counts, &data, "n", with(Loss::NegativeBinomial, None));
    let mean = data.lines().skip(1).map(|l| l.rsplit(',').next().unwrap().parse::<f64>().unwrap()).sum::<f64>() / 30.0;
    near(fit.parameters[0].value, mean, "mean");
    near(sureness(&fit, 0).error.unwrap(), (mean * (1.0 + mean / 0.5) / 30.0).sqrt(), "its error");
    let only = run(&counts.replace(" fixed", ""), &data, "n", with(Loss::NegativeBinomial, Some(&["m"])));
    near(only.score.loss, fit.score.loss, "negative-binomial");
}
