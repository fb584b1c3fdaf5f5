//! Intervals by profiles of the likelihood and by resampled rows.

#![allow(clippy::unwrap_used)]

use dmci::{Program, Report};
use dmci_fit::{
    Fit, FitOptions, Holdout, Intervals, Loss, Outcome, Problem, ProblemOptions, Table, Verdict, bootstrap, fit,
    profile,
};
use std::ops::ControlFlow;
use std::path::Path;

/// A problem whose program gives its own objective.
fn of_series(program: Program, table: &Table, target: &str, options: ProblemOptions) -> Result<Problem, Report> {
    Problem::new(program, table, target, ProblemOptions { loss: Loss::Objective, ..options })
}

fn problem(program: &str, table: &Table, target: &str, options: ProblemOptions) -> Problem {
    Problem::new(Program::new(program), table, target, options).unwrap_or_else(|report| panic!("{report}"))
}

fn run(problem: &Problem) -> Fit {
    fit(problem, &FitOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap()
}

fn interval(fit: &Fit, name: &str) -> (f64, f64) {
    let number = &fit.parameters.iter().find(|p| p.name == name).unwrap().numbers[0];
    number.sureness.unwrap().interval.unwrap()
}

/// Against SciPy: the roots, by Brent's method, of the sum of squares minimised over the other parameter. The
/// function `confint` of R, which interpolates, gives the same to four digits.
#[test]
fn profiles_of_enzyme_kinetics_are_those_of_scipy() {
    let shared = std::env::var("DMCI_SHARED").unwrap_or_else(|_| "../../../shared".into());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(shared).join("data/puromycin/puromycin.csv");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: {} is not there", path.display());
        return;
    };
    let treated: Vec<&str> =
        text.lines().enumerate().filter(|(i, l)| *i == 0 || l.ends_with(",treated")).map(|l| l.1).collect();
    let table = Table::from_csv("puromycin.csv", treated.join("\n").as_bytes()).unwrap();
    let program = "(params (vm positive 200.0 100) (k positive 0.05 0.1)) (/ (* vm substrate_ppm) (+ k substrate_ppm))";
    let problem = problem(program, &table, "rate_counts_per_min2", ProblemOptions::default());
    let mut fit = run(&problem);
    profile(&problem, &mut fit, &|| true).unwrap();
    assert_eq!(fit.intervals, Intervals::Profile);
    for (name, low, high) in [("vm", 197.30193290, 229.28905506), ("k", 0.046920342, 0.086156913)] {
        let (a, b) = interval(&fit, name);
        assert!((a / low - 1.0).abs() < 1e-4 && (b / high - 1.0).abs() < 1e-4, "{name}: {a} {b}");
    }
}

fn line() -> Table {
    let lines: Vec<String> = (0..30)
        .map(|i| f64::from(i) * 0.1)
        .map(|x| format!("{x:?},{:?}", 2.0 * x + 1.0 + 0.2 * (17.0 * x).sin() * (1.0 + x)))
        .collect();
    Table::from_csv("line.csv", format!("x,y\n{}\n", lines.join("\n")).as_bytes()).unwrap()
}

#[test]
fn what_data_do_not_determine_has_its_whole_range_as_interval() {
    let problem =
        problem("(params (a positive 1.0) (b positive 1.0)) (* a b x)", &line(), "y", ProblemOptions::default());
    let mut fit = run(&problem);
    profile(&problem, &mut fit, &|| true).unwrap();
    let (low, high) = interval(&fit, "a");
    assert!(low < 1e-6 && high > 1e3, "{low} {high}");
}

/// For a line, the profile is a parabola: both kinds of intervals are the same.
#[test]
fn the_profile_of_a_linear_model_gives_students_interval() {
    for loss in [Loss::Mse, Loss::Sse] {
        let options = ProblemOptions { loss, ..ProblemOptions::default() };
        let problem = problem("(params (a free 1.0) (b free 0.0)) (+ b (* a x))", &line(), "y", options);
        let mut fit = run(&problem);
        let before = [interval(&fit, "a"), interval(&fit, "b")];
        profile(&problem, &mut fit, &|| true).unwrap();
        for (name, (low, high)) in ["a", "b"].iter().zip(before) {
            let (a, b) = interval(&fit, name);
            assert!(
                (a - low).abs() < 1e-3 * (high - low) && (b - high).abs() < 1e-3 * (high - low),
                "{a} {low} {b} {high}"
            );
        }
    }
}

#[test]
fn resampled_rows_give_errors_that_only_the_seed_decides() {
    let options = ProblemOptions { holdout: Holdout::Tail(0.1), ..ProblemOptions::default() };
    let problem = problem("(params (a free 1.0) (b free 0.0)) (+ b (* a x))", &line(), "y", options);
    let plain = run(&problem);
    let resampled = |seed: u64, samples: usize| {
        let mut fit = plain.clone();
        bootstrap(&problem, &mut fit, samples, seed, &|_| true).unwrap();
        fit
    };
    let fit = resampled(1, 120);
    assert_eq!(fit.bootstrap.as_ref().unwrap().draws.len(), 120);
    assert_eq!(fit.bootstrap, resampled(1, 120).bootstrap);
    assert_ne!(fit.bootstrap, resampled(2, 120).bootstrap);
    assert_eq!(fit.bootstrap.as_ref().unwrap().draws[..40], resampled(1, 40).bootstrap.unwrap().draws[..]);
    let error = |fit: &Fit, k: usize| fit.uncertainty.as_ref().unwrap().numbers[k].error.unwrap();
    for k in 0..2 {
        // The noise is not the same everywhere, which resampling sees: about equal is all one can ask.
        let ratio = error(&fit, k) / error(&plain, k);
        assert!((0.6..1.7).contains(&ratio), "{ratio}");
    }
    // Somebody who has enough keeps what there is.
    let mut fit = plain.clone();
    bootstrap(&problem, &mut fit, 100, 1, &|done| done < 10).unwrap();
    assert_eq!(fit.bootstrap.unwrap().draws.len(), 10);
}

#[test]
fn a_loss_without_a_likelihood_has_no_profile_but_can_be_resampled() {
    let options = ProblemOptions { loss: Loss::Huber(0.5), ..ProblemOptions::default() };
    let problem = problem("(params (a free 1.0) (b free 0.0)) (+ b (* a x))", &line(), "y", options);
    let mut fit = run(&problem);
    assert!(fit.uncertainty.is_none());
    assert_eq!(profile(&problem, &mut fit, &|| true).unwrap_err().diagnostics[0].code, "E0812");
    bootstrap(&problem, &mut fit, 50, 3, &|_| true).unwrap();
    let (low, high) = interval(&fit, "a");
    assert!(low < 2.1 && high > 1.9 && high - low < 1.0, "{low} {high}");
}

/// A table of x = 0, 1, ... and y = f(x).
fn exact(rows: i32, f: impl Fn(f64) -> f64) -> Table {
    let lines: Vec<String> = (0..rows).map(f64::from).map(|x| format!("{x:?},{:?}", f(x))).collect();
    Table::from_csv("exact.csv", format!("x,y\n{}\n", lines.join("\n")).as_bytes()).unwrap()
}

#[test]
fn data_without_noise_leave_errors_of_zero_and_all_that_does_not_depend_on_noise() {
    let line = "(params (a free 1.0) (b free 0.5)) (+ a (* b x))";
    let table = exact(5, |x| 1.0 + 2.0 * x);
    let problem_of = |program: &str, table: &Table| problem(program, table, "y", ProblemOptions::default());
    let (problem, found) = (problem_of(line, &table), run(&problem_of(line, &table)));
    assert_eq!(found.score.loss, 0.0);
    let u = found.uncertainty.as_ref().unwrap();
    assert!(u.exact);
    for (number, value) in u.numbers.iter().zip([1.0, 2.0]) {
        assert_eq!((number.error, number.interval), (Some(0.0), Some((value, value))));
        assert_eq!(number.verdict, Verdict::Identifiable);
    }
    // Of intercept and slope over x = 0 ... 4: minus the mean of x over the root of the mean of its squares.
    assert!((u.correlations[1] + 2.0 / 6f64.sqrt()).abs() < 1e-12, "{:?}", u.correlations);
    // A loss that cannot rise leaves the intervals as they are.
    let mut profiled = found.clone();
    profile(&problem, &mut profiled, &|| true).unwrap();
    assert_eq!((interval(&profiled, "a"), profiled.intervals), ((1.0, 1.0), Intervals::default()));

    let both = run(&problem_of("(params (a free 1.0) (b free 0.5) (c free 0.5)) (+ a (* (+ b c) x))", &table));
    let u = both.uncertainty.as_ref().unwrap();
    let verdicts: Vec<Verdict> = u.numbers.iter().map(|n| n.verdict).collect();
    assert_eq!(verdicts, [Verdict::Identifiable, Verdict::Not, Verdict::Not]);
    assert_eq!((u.numbers[0].error, u.numbers[1].error, u.directions.len()), (Some(0.0), None, 1));
}

#[test]
fn what_rounding_leaves_over_is_told_from_noise() {
    let decay = "(params (a positive 1.0) (k positive 0.5)) (* a (exp (* -1 k x)))";
    let fit_to = |noise: f64| {
        let table = exact(10, |x| 2.5 * (-0.3 * x).exp() + noise * (7.0 * x).sin());
        run(&problem(decay, &table, "y", ProblemOptions::default())).uncertainty.unwrap()
    };
    let rounded = fit_to(0.0);
    assert!(rounded.exact && rounded.numbers.iter().all(|n| n.error.unwrap() < 1e-15), "{rounded:?}");
    let noisy = fit_to(1e-12);
    assert!(!noisy.exact && noisy.numbers.iter().all(|n| n.error.unwrap() > 1e-14), "{noisy:?}");
}

/// Where a fit has no curvature to go by, a profile finds its own way, in every unit.
#[test]
fn a_profile_needs_no_curvature() {
    for unit in [1e-9, 1.0, 1e12] {
        let values = |x: f64| 4.0 + 0.1 * (5.0 * x).sin();
        let lines: Vec<String> = (0..8).map(|x| format!("{unit:?},{:?}", values(f64::from(x)))).collect();
        let table = Table::from_csv("mean.csv", format!("x,y\n{}\n", lines.join("\n")).as_bytes()).unwrap();
        let options = ProblemOptions { loss: Loss::Gaussian, ..ProblemOptions::default() };
        let problem = problem("(params (a free 0.0) (sigma positive 1.0 fixed)) (* a x)", &table, "y", options);
        let mut found = run(&problem);
        found.uncertainty = None;
        profile(&problem, &mut found, &|| true).unwrap();
        assert_eq!(found.intervals, Intervals::Profile);
        // The mean of eight measurements is known to 1.96 / sqrt(8).
        let mean = problem.training().target.iter().sum::<f64>() / 8.0;
        let (reach, (low, high)) = (1.959963984540054 / 8f64.sqrt(), interval(&found, "a"));
        assert!((low * unit - mean + reach).abs() < 1e-3 && (high * unit - mean - reach).abs() < 1e-3, "{low} {high}");
    }
}

#[test]
fn a_profile_needs_more_measurements_than_numbers() {
    let table = exact(2, |x| 1.0 + x);
    let problem = problem("(params (a free 1.0) (b free 0.5)) (+ a (* b x))", &table, "y", ProblemOptions::default());
    let report = profile(&problem, &mut run(&problem), &|| true).unwrap_err();
    assert!(report.to_string().contains("2 measurements and 2 numbers"), "{report}");
}

const SERIES: &str = "(params (a unit 0.5 (per cell)) (s positive 1.0))
    (let loop ((k 0) (x 1.0) (L 0.0))
      (if (= k (vlen y)) L
          (loop (+ k 1) (* a x) (+ L (log s) (* 0.5 (square (/ (- (ref y k) x) s)))))))";

/// A series that is drawn twice says the same about its own parameter as one that is drawn once.
#[test]
fn series_drawn_anew_say_nothing_about_what_each_has_of_its_own() {
    let mut data = String::from("cell,y\n");
    for (cell, a) in [("A", 0.9f64), ("B", 0.7), ("C", 0.8), ("D", 0.6)] {
        let noise = |k: i32| 0.02 * f64::from((7 * k + 3) % 11 - 5) * a;
        (0..12).for_each(|k| data += &format!("{cell},{:?}\n", a.powi(k) + noise(k)));
    }
    let table = Table::from_csv("series.csv", data.as_bytes()).unwrap();
    let options = || ProblemOptions { group: Some("cell".into()), ..ProblemOptions::default() };
    let problem = of_series(Program::new(SERIES), &table, "", options()).unwrap();
    let mut found = run(&problem);
    bootstrap(&problem, &mut found, 30, 1, &|_| true).unwrap();
    let numbers = &found.uncertainty.as_ref().unwrap().numbers;
    assert!(numbers[..4].iter().all(|n| (n.error, n.interval) == (None, None)), "{numbers:?}");
    assert!(numbers[4].error.unwrap() > 1e-3, "{numbers:?}");
    // Nothing is left if all is of its own.
    let own = SERIES.replace("(s positive 1.0)", "(s positive 1.0 (per cell))");
    let problem = of_series(Program::new(&own), &table, "", options()).unwrap();
    let mut found = run(&problem);
    let report = bootstrap(&problem, &mut found, 30, 1, &|_| true).unwrap_err();
    assert!(report.diagnostics[0].code == "E0812" && report.to_string().contains("differ by group"), "{report}");
}

#[test]
fn a_positive_number_that_became_0_is_at_its_bound() {
    let mut text = String::from("k,q\n");
    for i in 0..100 {
        let k = f64::from(i);
        let fall = 1.5e-3 * k / (1.0 + (-(k - 60.0) / 9.0).exp());
        text += &format!("{k:?},{:?}\n", 1.0 + 1e-4 * k - fall + 1e-4 * (f64::from((7 * i + 3) % 11) - 5.0));
    }
    let table = Table::from_csv("fade.csv", text.as_bytes()).unwrap();
    // It rises where the program can only fall.
    let program = "(params (m positive 4e-4 1e-3) (d positive 1e-3 5e-3) (kn positive 75 100) (wd positive 10 30))
                   (- 1.0 (* m k) (* d k (sigmoid (/ (- k kn) wd))))";
    let fit = run(&problem(program, &table, "q", ProblemOptions::default()));
    let m = &fit.parameters[0].numbers[0];
    assert!(m.value < 1e-9 && m.at_bound && m.sureness.is_some_and(|s| s.error.is_none()), "{m:?}");
    assert_eq!((fit.optimality.outcome, &fit.optimality.parameters[..]), (Outcome::AtBound, &["m".to_string()][..]));
}
