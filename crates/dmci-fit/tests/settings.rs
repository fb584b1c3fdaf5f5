//! What is asked for is done, or refused with the reason: nothing is ignored.

#![allow(clippy::unwrap_used)]

use dmci::{Program, Report};
use dmci_fit::{Choice, Fit, FitOptions, Loss, Method, Need, Optimizer, Problem, ProblemOptions, Table, fit};
use std::ops::ControlFlow;

const DECAY: &str = "(params (a positive 1.0) (b positive 0.1) (c free 0.0)) (+ c (* a (exp (- (* b t)))))";

/// A decay with a little noise, standard deviations, counts and trials.
fn rows() -> String {
    let row = |i: i32| {
        let t = f64::from(i) * 0.25;
        let y = 0.5 + 2.0 * (-0.8 * t).exp() + 0.05 * f64::from((7 * i + 3) % 11 - 5);
        format!("{t:?},{y:?},{:?},{},10", 0.1 + 0.01 * f64::from(i), (10.0 * y).round())
    };
    format!("t,y,s,n,k\n{}\n", (0..24).map(row).collect::<Vec<_>>().join("\n"))
}

fn problem(program: &str, target: &str, options: ProblemOptions) -> Result<Problem, Report> {
    Problem::new(Program::new(program), &Table::from_csv("data.csv", rows().as_bytes()).unwrap(), target, options)
}

fn run(problem: &Problem, options: &FitOptions) -> Result<Fit, Report> {
    fit(problem, options, &mut |_| ControlFlow::Continue(()))
}

fn by(name: &str) -> FitOptions {
    FitOptions { method: Method::One(Optimizer::named(name).unwrap()), ..FitOptions::default() }
}

fn code(report: &Report) -> &str {
    report.diagnostics[0].code
}

#[test]
fn least_squares_are_refused_for_other_losses() {
    let with = |loss: Loss| ProblemOptions { loss, ..ProblemOptions::default() };
    let noisy = DECAY.replace("(params", "(params (sigma positive 0.1) (dispersion positive 1.0)");
    let unsure = DECAY.replace("(c free 0.0)", "(c free 0.0 (prior normal 0 1))");
    let own = DECAY.replace("(params", "(define (far p y) (log (cosh (- p y)))) (params");
    let sigma = || Some("s".to_string());
    let cases = [
        problem(DECAY, "y", with(Loss::Mae)).unwrap(),
        problem(DECAY, "y", with(Loss::Huber(1.0))).unwrap(),
        problem(DECAY, "n", with(Loss::Poisson)).unwrap(),
        problem(&noisy, "n", with(Loss::NegativeBinomial)).unwrap(),
        problem(&noisy, "y", with(Loss::Gaussian)).unwrap(),
        problem(DECAY, "y", ProblemOptions { sigma: sigma(), ..with(Loss::StudentT(4.0)) }).unwrap(),
        problem(&unsure, "y", ProblemOptions { sigma: sigma(), ..with(Loss::Gaussian) }).unwrap(),
        problem(&own, "y", with(Loss::Procedure("far".into()))).unwrap(),
        objective("(params (a free 1.0)) (square (- a (ref y 0)))", None, ProblemOptions::default()).unwrap(),
    ];
    for case in &cases {
        let report = run(case, &by("lm")).unwrap_err();
        assert_eq!(code(&report), "E0813", "{}: {report}", case.loss.name());
        for method in [Method::Auto, Method::Portfolio] {
            let options = FitOptions { method, ..FitOptions::default() };
            let choice = Choice::of(case, &options).unwrap();
            assert!(choice.stages.iter().all(|s| s.optimizer.need() != Need::Jacobian), "{}", case.loss.name());
        }
    }
    for loss in [Loss::Mse, Loss::Sse] {
        run(&problem(DECAY, "y", with(loss)).unwrap(), &by("lm")).unwrap();
    }
    run(&problem(DECAY, "y", ProblemOptions { sigma: sigma(), ..with(Loss::Gaussian) }).unwrap(), &by("lm")).unwrap();
}

fn objective(program: &str, target: Option<&str>, options: ProblemOptions) -> Result<Problem, Report> {
    Problem::objective(Program::new(program), &Table::from_csv("data.csv", rows().as_bytes()).unwrap(), target, options)
}
