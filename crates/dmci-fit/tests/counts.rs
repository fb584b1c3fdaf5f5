//! What counts: rows and cells that were measured, with their weights; numbers that data decide; and what belongs to
//! the likelihood and what to the priors.

#![allow(clippy::unwrap_used)]

use dmci::{Program, Report};
use dmci_fit::{
    Fit, FitOptions, Holdout, Loss, Method, Optimizer, Problem, ProblemOptions, Sureness, Table, Verdict, fit, profile,
};
use std::ops::ControlFlow;

/// A problem whose program gives its own objective.
fn of_series(program: Program, table: &Table, target: &str, options: ProblemOptions) -> Result<Problem, Report> {
    Problem::new(program, table, target, ProblemOptions { loss: Loss::Objective, ..options })
}

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

fn same_criteria(got: &Fit, expected: &Fit, what: &str) {
    let (a, b) = (got.criteria.unwrap(), expected.criteria.unwrap());
    assert_eq!(a.parameters, b.parameters);
    near(a.log_likelihood, b.log_likelihood, &format!("{what}, likelihood"));
    near(a.aicc.unwrap(), b.aicc.unwrap(), &format!("{what}, AICc"));
    near(a.bic, b.bic, &format!("{what}, BIC"));
}

/// Places and a noise that only looks like one.
fn noisy(i: i32) -> (f64, f64) {
    (0.25 * f64::from(i), 0.1 * f64::from((7 * i + 3) % 11 - 5))
}

#[test]
fn a_row_of_weight_zero_is_no_row() {
    let row = |i: i32, w: i32| {
        let (t, noise) = noisy(i);
        format!("{t:?},{:?},{w},0.2\n", 2.0 * (-0.5 * t).exp() + noise)
    };
    let kept: String = (0..12).map(|i| row(i, 1 + i % 2)).collect();
    let more: String = (12..20).map(|i| row(i, 0)).collect();
    let (short, long) = (format!("t,y,w,s\n{kept}"), format!("t,y,w,s\n{kept}{more}"));
    let plain = "(params (a free 1.0) (b positive 1.0)) (* a (exp (- (* b t))))";
    let with_sigma = plain.replace("(params", "(params (sigma positive 1.0)");
    let weights = || Some("w".to_string());
    for (program, options) in [
        (plain, ProblemOptions { weights: weights(), ..Default::default() }),
        (
            plain,
            ProblemOptions { weights: weights(), loss: Loss::Gaussian, sigma: Some("s".into()), ..Default::default() },
        ),
        (&with_sigma, ProblemOptions { weights: weights(), loss: Loss::Gaussian, ..Default::default() }),
    ] {
        let what = options.loss.name().to_string();
        let problems = [&long, &short].map(|data| problem(program, data, "y", options.clone()).unwrap());
        let mut fits = [fitted(&problems[0]), fitted(&problems[1])];
        assert_eq!(problems[0].measurements(), 12);
        same(&fits[0], &fits[1], 2, &what);
        same_criteria(&fits[0], &fits[1], &what);
        for (problem, fit) in problems.iter().zip(&mut fits) {
            profile(problem, fit, &|| true).unwrap();
        }
        for k in 0..2 {
            let (a, b) = (sureness(&fits[0], k).interval.unwrap(), sureness(&fits[1], k).interval.unwrap());
            assert!((a.0 - b.0).abs() < 1e-4 && (a.1 - b.1).abs() < 1e-4, "{what}: {a:?} {b:?}");
        }
    }
}

/// Two targets with gaps, and the same cells as rows of one target.
#[test]
fn criteria_count_the_cells_that_were_measured() {
    let (mut wide, mut long) = (String::from("t,u,v,w,s\n"), String::from("which,t,y,w,s\n"));
    for i in 0..16 {
        let (t, noise) = noisy(i);
        let (u, v, w, s) = (3.0 * t + 1.0 + noise, 2.0 * t - 1.0 - 2.0 * noise, 1 + i % 3, 0.2 + 0.02 * f64::from(i));
        let gap = i % 2 == 1;
        wide += &format!("{t:?},{u:?},{},{w},{s:?}\n", if gap { "NA".to_string() } else { format!("{v:?}") });
        long += &format!("0,{t:?},{u:?},{w},{s:?}\n");
        if !gap {
            long += &format!("1,{t:?},{v:?},{w},{s:?}\n");
        }
    }
    let params = "(params (a free 1.0) (b free 1.0) (c free 1.0) (d free 1.0))";
    let two = format!("{params} (list (+ (* a t) b) (+ (* c t) d))");
    let one = format!("{params} (if (= which 0) (+ (* a t) b) (+ (* c t) d))");
    let (weights, sigma) = (Some("w".to_string()), Some("s".to_string()));
    for options in [
        ProblemOptions::default(),
        ProblemOptions { weights: weights.clone(), ..Default::default() },
        ProblemOptions { loss: Loss::Gaussian, sigma: sigma.clone(), ..Default::default() },
        ProblemOptions { loss: Loss::Gaussian, sigma, weights, ..Default::default() },
    ] {
        let expected = run(&one, &long, "y", options.clone());
        let got = run(&two, &wide, "u,v", options);
        same(&got, &expected, 4, "cells");
        same_criteria(&got, &expected, "cells");
    }
}

/// What is known before any data is no part of what the data say.
#[test]
fn criteria_and_rows_held_out_know_no_priors() {
    let rows: Vec<(f64, f64)> = (0..20).map(noisy).map(|(t, noise)| (t, 1.0 + 2.0 * t + noise)).collect();
    let lines: String = rows.iter().map(|(t, y)| format!("{t:?},{y:?}\n")).collect();
    let program = "(params (a free 1.0 (prior normal 0 1)) (b free 1.0 (prior normal 0 1))
                           (sigma positive 1.0 (prior half-normal 1))) (+ a (* b t))";
    let options = ProblemOptions { loss: Loss::Gaussian, holdout: Holdout::Tail(0.25), ..Default::default() };
    let fit = run(program, &format!("t,y\n{lines}"), "y", options);
    let [a, b, sigma] = [0, 1, 2].map(|k: usize| fit.parameters[k].value);
    let surprise = |(t, y): &(f64, f64)| {
        0.5 * ((y - a - b * t) / sigma).powi(2) + (sigma * (2.0 * std::f64::consts::PI).sqrt()).ln()
    };
    let likelihood = -rows[..15].iter().map(surprise).sum::<f64>();
    near(fit.criteria.unwrap().log_likelihood, likelihood, "likelihood");
    near(fit.criteria.unwrap().aic, 6.0 - 2.0 * likelihood, "AIC");
    near(fit.held_out.unwrap().loss, rows[15..].iter().map(surprise).sum(), "held out");
    // What is made small has the priors in it.
    assert!(fit.score.loss > 3.0 - likelihood, "{} {likelihood}", fit.score.loss);
}

/// An objective with a prior, which is no part of its likelihood either.
#[test]
fn the_criteria_of_an_objective_know_no_priors() {
    let data = "y\n1.0\n2.0\n4.0\n";
    let program = "(params (m free 0.0 (prior normal 0 1)))
                   (let loop ((k 0) (L 0.0)) (if (= k (vlen y)) L (loop (+ k 1) (+ L (square (- (ref y k) m))))))";
    let table = Table::from_csv("data.csv", data.as_bytes()).unwrap();
    let fit = fitted(&of_series(Program::new(program), &table, "", Default::default()).unwrap());
    // The minimum of 3 m^2 - 14 m + 21 + m^2 / 2.
    let m: f64 = 2.0;
    near(fit.parameters[0].value, m, "m");
    near(fit.criteria.unwrap().log_likelihood, -(1.0 + 0.0 + 4.0), "likelihood");
}

#[test]
fn what_data_do_not_decide_costs_others_nothing() {
    let mut data = String::from("site,t,y,test\n");
    for (site, rate) in [("A", 0.5), ("B", 1.5), ("C", 1.0)] {
        for i in 0..7 {
            let (t, noise) = noisy(i);
            data += &format!("{site},{t:?},{:?},{}\n", 3.0 * (-rate * t).exp() + noise, u8::from(site == "C"));
        }
    }
    let program = "(params (a positive 1.0) (k positive 1.0 (per site))) (* a (exp (- (* k t))))";
    let two: String = data.lines().filter(|l| !l.starts_with('C')).map(|l| format!("{l}\n")).collect();
    let expected = run(program, &two, "y", Default::default());
    let held = ProblemOptions { holdout: Holdout::Column("test".into()), ..Default::default() };
    let unused = |value: &str| {
        format!(
            "(params (a positive 1.0) (k positive 1.0 (per site)) (z free 1.0))
                                        (+ {value} (* a (exp (- (* k t)))))"
        )
    };
    let problems = [
        problem(program, &data, "y", held).unwrap(),
        problem(&unused("(* 0.0 z)"), &two, "y", Default::default()).unwrap(),
        problem(&unused("z (- z)"), &two, "y", Default::default()).unwrap(),
    ];
    let mut exact = expected.clone();
    profile(&problem(program, &two, "y", Default::default()).unwrap(), &mut exact, &|| true).unwrap();
    for (case, problem) in problems.iter().enumerate() {
        let mut fit = fitted(problem);
        same(&fit, &expected, 3, &format!("case {case}"));
        assert_eq!(sureness(&fit, 3).verdict, Verdict::Not);
        profile(problem, &mut fit, &|| true).unwrap();
        let (a, b) = (sureness(&fit, 0).interval.unwrap(), sureness(&exact, 0).interval.unwrap());
        assert!((a.0 - b.0).abs() < 1e-4 && (a.1 - b.1).abs() < 1e-4, "{a:?} {b:?}");
    }
}

/// A threshold has no derivative, and is fitted all the same.
#[test]
fn what_is_found_without_derivatives_costs_a_degree_of_freedom() {
    let row = |i: i32| format!("{i}.0,{:?}\n", if i < 7 { 0.0 } else { 3.0 } + noisy(i).1);
    let data = format!("x,y\n{}", (0..16).map(row).collect::<String>());
    let program = "(params (low free 0.0) (high free 1.0) (threshold free 5.0 5)) (if (< x threshold) low high)";
    let problem = problem(program, &data, "y", Default::default()).unwrap();
    for method in [Method::Auto, Method::One(Optimizer::named("cma").unwrap())] {
        let options = FitOptions { method, ..FitOptions::default() };
        let fit = fit(&problem, &options, &mut |_| ControlFlow::Continue(())).unwrap();
        let (threshold, squares) = (fit.parameters[2].value, 16.0 * fit.score.loss);
        assert!((6.0..=7.0).contains(&threshold), "{threshold}");
        let error = sureness(&fit, 0).error.unwrap();
        assert!((error / (squares / 13.0 / 7.0).sqrt() - 1.0).abs() < 1e-4, "{error}");
    }
}

#[test]
fn a_product_costs_one_degree_of_freedom() {
    let lines: String = (0..5).map(noisy).map(|(t, noise)| format!("{t:?},{:?}\n", 1.0 + 2.0 * t + noise)).collect();
    let data = format!("t,y\n{lines}");
    let expected = run("(params (c free 0.0) (a free 1.0)) (+ c (* a t))", &data, "y", Default::default());
    let product =
        run("(params (c free 0.0) (a free 1.0) (b free 1.0)) (+ c (* a b t))", &data, "y", Default::default());
    same(&product, &expected, 1, "product");
    assert_eq!(sureness(&product, 1).verdict, Verdict::Not);
}

#[test]
fn a_row_without_a_group_is_left_out() {
    let mut data = String::from("site,t,y\n");
    for i in 1..19 {
        let (t, noise) = noisy(i);
        data += &format!("{},{t:?},{:?}\n", ["NA", "A", "B", "A", "B", "A", "B"][i as usize % 7], 2.0 * t + noise);
    }
    let program = "(params (m free 1.0 (per site))) (* m t)";
    let problem = problem(program, &data, "y", Default::default()).unwrap();
    assert_eq!(problem.value_names(), ["m[A]", "m[B]"]);
    let fit = fitted(&problem);
    assert_eq!((problem.training().len(), fit.warnings.diagnostics[0].code.as_str()), (16, "W0702"));
    assert!(fit.warnings.diagnostics[0].message.contains("2 rows are left out"), "{}", fit.warnings);
    // Series by group leave the same rows out.
    let table = Table::from_bytes("data.csv", data.as_bytes(), &["NA".to_string()]).unwrap();
    let sum = "(params (m free 1.0)) (let loop ((k 0) (L 0.0)) (if (= k (vlen y)) L
                 (loop (+ k 1) (+ L (square (- (ref y k) (* m (ref t k))))))))";
    let options = ProblemOptions { group: Some("site".into()), ..Default::default() };
    let series = of_series(Program::new(sum), &table, "", options).unwrap();
    assert_eq!((&series.groups[..], series.measurements()), (&["A".to_string(), "B".to_string()][..], 16));
    assert_eq!(fitted(&series).warnings.diagnostics[0].code, "W0702");
    let none = Table::from_bytes("data.csv", b"site,y\nNA,1.0\nNA,2.0\n", &["NA".to_string()]).unwrap();
    let options = ProblemOptions { group: Some("site".into()), ..Default::default() };
    let report = of_series(Program::new("(params (m free 1.0)) (square (- m (ref y 0)))"), &none, "", options);
    assert_eq!(report.unwrap_err().diagnostics[0].code, "E0708");
}

#[test]
fn a_gap_in_the_end_of_a_series_is_not_scored() {
    let rows: String = (0..20)
        .map(|k| match k {
            5 | 17 => format!("{k},NA\n"),
            _ => format!("{k},{:?}\n", 0.9f64.powi(k) + 0.1 * noisy(k).1),
        })
        .collect();
    let table = Table::from_bytes("data.csv", format!("k,y\n{rows}").as_bytes(), &["NA".to_string()]).unwrap();
    let program = "(params (a unit 0.5))
      (let loop ((k 0) (x 1.0) (L 0.0) (p '()))
        (if (= k (vlen y)) (result (loss (* 200 L)) (yhat (reverse p)))
            (loop (+ k 1) (* a x) (if (nan? (ref y k)) L (+ L (square (- (ref y k) x)))) (cons x p))))";
    let options = ProblemOptions { holdout: Holdout::Tail(0.2), ..Default::default() };
    let held = fitted(&of_series(Program::new(program), &table, "y", options).unwrap()).held_out.unwrap();
    near(held.loss, held.rmse * held.rmse, "held out");
}

#[test]
fn words_of_any_case_mark_rows() {
    for (yes, no) in [("True", "False"), ("TRUE", "FALSE"), ("true", "false"), ("Test", "Train"), ("Yes", "No")] {
        let row = |i: i32| format!("{i}.0,{i}.5,{}\n", if i % 4 == 0 { yes } else { no });
        let data = format!("t,y,test\n{}", (0..12).map(row).collect::<String>());
        let options = ProblemOptions { holdout: Holdout::Column("test".into()), ..Default::default() };
        let problem = problem("(params (a free 1.0)) (+ a t)", &data, "y", options).unwrap_or_else(|r| panic!("{r}"));
        assert_eq!(problem.held_out().indices, [0, 4, 8], "{yes}");
    }
}

#[test]
fn weights_that_are_all_zero_are_refused() {
    let data = "x,y,n,w,test\n1.0,1,2,0,0\n2.0,1,2,0,0\n3.0,0,2,0,0\n4.0,1,2,5,1\n";
    let program = "(params (a free 0.1) (sigma positive 1.0) (dispersion positive 1.0))
                   (define (far p y) (square (- p y))) (* 0.1 a x)";
    for name in Loss::NAMES.iter().copied().chain(["far"]) {
        let options = ProblemOptions {
            loss: Loss::named(name).unwrap_or_else(|| Loss::Procedure(name.to_string())),
            weights: Some("w".into()),
            trials: (name == "binomial").then(|| "n".to_string()),
            holdout: Holdout::Column("test".into()),
            ..Default::default()
        };
        let report = problem(program, data, "y", options).unwrap_err();
        let first = &report.diagnostics[0];
        assert!(first.code == "E0801" && first.message.contains("all weights are zero"), "{name}: {report}");
    }
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
