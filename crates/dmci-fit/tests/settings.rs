//! What is asked for is done, or refused with the reason: nothing is ignored.

#![allow(clippy::unwrap_used)]

use dmci::{Program, Report};
use dmci_fit::{
    Budget, Choice, Fit, FitOptions, Holdout, LEAST_SAMPLES, Loss, Method, Need, Optimizer, Problem, ProblemOptions,
    Stop, Table, bootstrap, fit,
};
use std::ops::ControlFlow;

const DECAY: &str = "(params (a positive 1.0) (b positive 0.1) (c free 0.0)) (+ c (* a (exp (- (* b t)))))";

/// A decay with a little noise, standard deviations, counts and trials.
fn rows() -> String {
    let row = |i: i32| {
        let t = f64::from(i) * 0.25;
        let y = 0.5 + 2.0 * (-0.8 * t).exp() + 0.05 * f64::from((7 * i + 3) % 11 - 5);
        let (s, n, late) = (0.1 + 0.01 * f64::from(i), (10.0 * y).round(), i32::from(i >= 20));
        format!("{t:?},{y:?},{s:?},{n},40,{late}")
    };
    format!("t,y,s,n,k,late\n{}\n", (0..24).map(row).collect::<Vec<_>>().join("\n"))
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
    report.diagnostics[0].code.as_str()
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
    let options = ProblemOptions { loss: Loss::Objective, ..options };
    let table = Table::from_csv("data.csv", rows().as_bytes()).unwrap();
    Problem::new(Program::new(program), &table, target.unwrap_or_default(), options)
}

/// A series that is predicted from its last value.
const WALK: &str = "(params (a (bounded -1 1) 0.5))
    (let loop ((k 0) (x 0.0) (L 0.0) (p '()))
      (if (= k (vlen y)) (result (loss L) (yhat (reverse p)))
          (loop (+ k 1) (ref y k) (+ L (square (- (ref y k) (* a x)))) (cons (* a x) p))))";

#[test]
fn rows_of_a_series_are_held_out_at_its_end_or_not_at_all() {
    let with = |holdout: &str| ProblemOptions { holdout: Holdout::parse(holdout).unwrap(), ..Default::default() };
    let held = |holdout: &str| {
        let problem = objective(WALK, Some("y"), with(holdout)).unwrap();
        let fit = run(&problem, &FitOptions::default()).unwrap();
        assert!(fit.held_out.is_some(), "{holdout}");
        let held = fit.series.iter().filter(|s| !s.2).map(|s| s.0).collect::<Vec<_>>();
        assert_eq!(problem.row_counts(), (fit.series.len() - held.len(), held.len()));
        (held[0], held[held.len() - 1])
    };
    assert_eq!(held("tail:0.25"), (18, 23));
    assert_eq!(held("range:t:4:"), (16, 23));
    assert_eq!(held("column:late"), (20, 23));
    // Of six parts of four rows the first two are fitted, and only the third is scored.
    assert_eq!(held("rolling:2/5"), (8, 11));
    for refused in ["0.3", "fold:2/5", "range:t:2:3", "range:t::3", "range:t:90:"] {
        let report = objective(WALK, Some("y"), with(refused)).map(|_| ()).expect_err(refused);
        assert_eq!(code(&report), "E0708", "{refused}: {report}");
    }
}

#[test]
fn columns_that_a_loss_does_not_read_are_refused() {
    let (sigma, trials) = (|| Some("s".to_string()), || Some("k".to_string()));
    for loss in [Loss::Mse, Loss::Mae, Loss::Poisson] {
        let options = ProblemOptions { loss: loss.clone(), sigma: sigma(), ..ProblemOptions::default() };
        assert_eq!(code(&problem(DECAY, "y", options).unwrap_err()), "E0813");
        let options = ProblemOptions { loss, trials: trials(), ..ProblemOptions::default() };
        assert_eq!(code(&problem(DECAY, "y", options).unwrap_err()), "E0813");
    }
    let weights = ProblemOptions { weights: sigma(), ..ProblemOptions::default() };
    assert_eq!(code(&objective(WALK, None, weights).unwrap_err()), "E0813");
    assert_eq!(Loss::meant(true, false), Loss::Gaussian);
    assert_eq!(Loss::meant(false, true), Loss::Binomial);
    assert_eq!(Loss::meant(false, false), Loss::Mse);
}

#[test]
fn a_loss_that_is_not_finite_at_the_start_is_an_error_with_its_row() {
    let refused = |program: &str, csv: &str, loss: Loss, trials: Option<&str>, (code, part): (&str, &str)| {
        let options = ProblemOptions { loss, trials: trials.map(String::from), ..ProblemOptions::default() };
        let table = Table::from_csv("data.csv", csv.as_bytes()).unwrap();
        let problem = Problem::new(Program::new(program), &table, "y", options);
        let report = problem.and_then(|p| p.check_start()).unwrap_err();
        assert_eq!(report.diagnostics[0].code, code, "{report}");
        assert!(report.diagnostics[0].message.contains(part), "{report}");
    };
    let (line, below) = ("(params (a free 1.0)) (* a x)", "(params (a free -1.0)) (* a x)");
    let huge = "x,y\n1,1.0\n2,2e200\n3,2.5e200\n";
    for loss in [Loss::Mse, Loss::Sse] {
        refused(line, huge, loss, None, ("E0805", "in rows 2, 3: first the prediction is 2.0 and y is 2e200"));
    }
    // No square overflows, but their sum does.
    let large = format!("x,y\n{}", "1,1.3e154\n".repeat(30));
    refused(line, &large, Loss::Sse, None, ("E0805", "though that of every row is"));
    let counts = "x,y,n\n1,1,4\n2,3,4\n3,2,4\n";
    let negative = ("E0706", "row 2 of column y must be 0 or more for the poisson loss, got -3");
    refused(line, &counts.replace(",3,", ",-3,"), Loss::Poisson, None, negative);
    let many = ("E0706", "row 2 of column y must be at most the 4 trials of the row for the binomial loss, got 5");
    refused(line, &counts.replace(",3,", ",5,"), Loss::Binomial, Some("n"), many);
    let above = ("E0805", "loss needs a probability above 0 and below 1, got 1 at the start in rows 1, 2, 3");
    refused(line, counts, Loss::Binomial, Some("n"), above);
    let mean = ("E0805", "the poisson loss needs a mean above 0, got -1 at the start in rows 1, 2, 3");
    refused(below, counts, Loss::Poisson, None, mean);
}

#[test]
fn a_start_that_is_not_finite_does_not_end_a_fit() {
    let table = Table::from_csv("data.csv", "x,y\n1,1\n2,3\n3,2\n".as_bytes()).unwrap();
    let options = ProblemOptions { loss: Loss::Poisson, ..ProblemOptions::default() };
    let problem = Problem::new(Program::new("(params (a free -1.0)) (* a x)"), &table, "y", options).unwrap();
    let fit = run(&problem, &FitOptions::default()).unwrap();
    assert!((fit.parameters[0].value - 1.0).abs() < 1e-6, "{:?}", fit.parameters);
    let warning = &fit.warnings.diagnostics[0];
    assert!(warning.code == "W0501" && warning.message.contains("the search started at a = "), "{}", fit.warnings);
    // Where no start is finite, the reason is that of the first.
    let options = ProblemOptions::default();
    let problem =
        Problem::new(Program::new("(params (a free 1.0)) (* a (log (- x 2)))"), &table, "y", options).unwrap();
    assert_eq!(code(&run(&problem, &FitOptions::default()).unwrap_err()), "E0805");
}

#[test]
fn all_searches_together_keep_to_the_number_of_evaluations() {
    let problem = problem(DECAY, "y", ProblemOptions::default()).unwrap();
    for name in Optimizer::NAMES {
        for (restarts, limit) in [(1, 1), (1, 10), (1000, 10), (7, 25)] {
            let options = FitOptions { more_restarts: restarts - 1, evaluations: Some(limit), ..by(name) };
            let fit = run(&problem, &options).unwrap();
            assert!((1..=limit).contains(&fit.evaluations()), "{name} took {} of {limit}", fit.evaluations());
            assert!(fit.restarts.len() <= limit && !fit.was_interrupted(), "{name}: {:?}", fit.restarts);
            assert!(fit.score.loss <= fit.start_loss);
        }
    }
    let options = FitOptions { method: Method::Auto, more_restarts: 999, evaluations: Some(10), ..Default::default() };
    assert_eq!(run(&problem, &options).unwrap().evaluations(), 10);
}

#[test]
fn the_loss_at_the_start_is_that_of_the_starts_of_the_schema() {
    let problem = problem(DECAY, "y", ProblemOptions::default()).unwrap();
    let start = problem.evaluate(&[problem.start().to_vec()], Need::Loss).unwrap()[0].loss;
    for name in Optimizer::NAMES {
        let fit = run(&problem, &FitOptions { more_restarts: 5, evaluations: Some(50), ..by(name) }).unwrap();
        assert_eq!(fit.start_loss.to_bits(), start.to_bits(), "{name}");
    }
}

#[test]
fn rows_that_fail_are_counted_right() {
    let refused = |program: &str| {
        let problem = problem(program, "y", ProblemOptions::default()).unwrap();
        problem.check_start().unwrap_err().diagnostics[0].message.clone()
    };
    let first = "in rows 1, 2, 3, 4, 5 and 15 more of the 20 rows that were tried first";
    for (program, part) in [
        ("(params (a free 1.0)) (* a (car t))", first),
        ("(params (a free -1.0)) (log (* a (+ 1 t)))", first),
        ("(params (a free 1.0)) (if (= t 0.0) a (* a (car t)))", "in rows 2, 3, 4, 5, 6 and 18 more"),
    ] {
        let message = refused(program);
        assert!(message.ends_with(part), "{message}");
    }
}

#[test]
fn a_constant_is_a_model_too() {
    let constant = |program: &str| problem(program, "y", ProblemOptions::default());
    let problem = constant("(params (mu free 0.0)) mu").unwrap();
    let fit = run(&problem, &FitOptions::default()).unwrap();
    let mean = problem.training().target.iter().sum::<f64>() / 24.0;
    assert!((fit.parameters[0].value - mean).abs() < 1e-12 && fit.score.r2.unwrap().abs() < 1e-12);
    let spread = problem.training().target.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>();
    let error = fit.parameters[0].numbers[0].sureness.unwrap().error.unwrap();
    assert!((error - (spread / 23.0 / 24.0).sqrt()).abs() < 1e-9, "{error}");
    let json = dmci_fit::FitRecord::new(&problem, &FitOptions::default(), &fit).to_json();
    assert_eq!(json["data"]["inputs"], serde_json::json!([]));
    assert_eq!(code(&constant("(params (mu free 0.0)) (* mu speed)").unwrap_err()), "E0703");
    assert_eq!(code(&constant("(params (mu free 0.0)) (* mu y)").unwrap_err()), "E0301");
    assert_eq!(code(&objective("(params (mu free 0.0)) (square mu)", None, Default::default()).unwrap_err()), "E0703");
}

#[test]
fn a_number_at_its_bound_is_told_from_one_that_is_vague_or_small() {
    let found = |kind: &str, loss: Loss| {
        let program = DECAY.replace("(b positive 0.1)", &format!("(b {kind})"));
        let problem = problem(&program, "y", ProblemOptions { loss, ..ProblemOptions::default() }).unwrap();
        let fit = run(&problem, &FitOptions::default()).unwrap();
        let numbers: Vec<bool> = fit.parameters.iter().map(|p| p.numbers[0].at_bound).collect();
        (numbers, fit.parameters[1].value)
    };
    // The data decay with 0.8.
    for loss in [Loss::Mse, Loss::Huber(1.0)] {
        for kind in ["(bounded 0 0.3) 0.1", "(bounded 1.2 3) 1.5", "unit 0.1 0.4"] {
            let (at_bound, value) = found(kind, loss.clone());
            assert_eq!(at_bound, [false, true, false], "{kind}: {value}");
        }
        for kind in ["(bounded 0 1) 0.1", "unit 0.1", "positive 0.1", "free 0.1"] {
            assert_eq!(found(kind, loss.clone()).0, [false; 3], "{kind}");
        }
    }
    // What falls cannot grow; and a small number is no bound if the data decide it.
    let grows = problem("(params (a positive 1.0) (c free 1.0)) (+ c (* a t))", "y", Default::default()).unwrap();
    let fit = run(&grows, &FitOptions::default()).unwrap();
    let number = &fit.parameters[0].numbers[0];
    assert!(number.at_bound && number.missing.as_ref().is_some_and(|why| why.contains("at a bound")));
    // There is no curvature that could say how far it may be from there.
    assert!(number.sureness.is_some_and(|s| s.error.is_none() && s.interval.is_none()));
    assert_eq!(fit.uncertainty.as_ref().unwrap().numbers[0].interval, None);
    let table = Table::from_csv("small.csv", b"x,y\n1e6,1.1\n2e6,1.9\n3e6,3.2\n4e6,3.9\n" as &[u8]).unwrap();
    let program = Program::new("(params (a positive 1.0)) (* a x)");
    let small = Problem::new(program, &table, "y", Default::default()).unwrap();
    let fit = run(&small, &FitOptions::default()).unwrap();
    assert!((fit.parameters[0].value - 1e-6).abs() < 1e-7 && !fit.parameters[0].numbers[0].at_bound);
}

#[test]
fn a_few_resampled_fits_say_nothing() {
    let problem = problem(DECAY, "y", ProblemOptions::default()).unwrap();
    let mut found = run(&problem, &FitOptions::default()).unwrap();
    for samples in [0, 1, LEAST_SAMPLES - 1] {
        assert_eq!(code(&bootstrap(&problem, &mut found, samples, 0, &|_| true).unwrap_err()), "E0812");
    }
    bootstrap(&problem, &mut found, LEAST_SAMPLES, 0, &|_| true).unwrap();
}

#[test]
fn absolute_residuals_are_fitted_to_their_minimum() {
    let options = ProblemOptions { loss: Loss::Mae, ..ProblemOptions::default() };
    let problem = problem(DECAY, "y", options).unwrap();
    let found = run(&problem, &FitOptions::default()).unwrap();
    let alone = run(&problem, &by("lbfgs")).unwrap();
    let long = FitOptions { more_restarts: 7, ..by("cma") };
    let best = run(&problem, &long).unwrap().score.loss;
    assert!(found.score.loss <= best * (1.0 + 1e-7), "{} {best} {}", found.score.loss, alone.score.loss);
    // As many residuals are 0 as there are numbers to fit.
    let zeros =
        found.predictions.iter().zip(&problem.training().target).filter(|(p, y)| (*p - *y).abs() < 1e-6).count();
    assert_eq!(zeros, 3, "{} {}", found.score.loss, alone.score.loss);
    // What is good enough is left as it is.
    let budget = Budget { target: Some(2.0 * best), ..Budget::default() };
    let enough = run(&problem, &FitOptions { budget, ..FitOptions::default() }).unwrap();
    assert_eq!((enough.restarts.len(), enough.best_restart().stopped), (1, Stop::Target));
}
