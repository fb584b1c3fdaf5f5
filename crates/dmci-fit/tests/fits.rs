//! Whole fits through the library: they find what made the data, in every mode, and a restart is the
//! same search whatever runs beside it.

#![allow(clippy::unwrap_used)]

use dmci::{Datum, Mode, Program, RunOptions};
use dmci_fit::{
    AdamOptions, Fit, FitOptions, Patience, Problem, ProblemOptions, Restart, Stop, Table, Transform, fit, offset,
};
use std::ops::ControlFlow;
use std::path::Path;

fn example(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fit").join(file);
    std::fs::read_to_string(path).expect("the example is there")
}

fn problem(program: &str, data: &str, target: &str, options: ProblemOptions) -> Problem {
    let table = Table::from_csv("data.csv", data.as_bytes()).expect("a table");
    Problem::new(Program::new(program), &table, target, options).unwrap_or_else(|report| panic!("{report}"))
}

fn run(problem: &Problem, options: &FitOptions) -> Fit {
    fit(problem, options, &mut |_| ControlFlow::Continue(())).unwrap_or_else(|report| panic!("{report}"))
}

fn value(fit: &Fit, name: &str) -> f64 {
    fit.parameters.iter().find(|p| p.name == name).expect("a parameter").value
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits()).collect()
}

/// Rows of a function of `x`, without noise.
fn rows(f: impl Fn(f64) -> f64) -> String {
    let lines: Vec<String> = (0..40).map(|i| f64::from(i) * 0.1 + 0.05).map(|x| format!("{x:?},{:?}", f(x))).collect();
    format!("x,y\n{}\n", lines.join("\n"))
}

#[test]
fn the_example_finds_the_ball_that_was_filmed() {
    let problem = problem(&example("bounce/model.scm"), &example("bounce/data.csv"), "height", Default::default());
    let fit = run(&problem, &FitOptions::default());
    // The numbers of data.py; the noise of 0.03 over 125 rows allows for this much.
    for (name, truth, slack) in [("drop", 2.0, 0.02), ("gravity", 9.81, 0.08), ("keep", 0.83, 0.003)] {
        assert!((value(&fit, name) - truth).abs() < slack, "{name} is {}", value(&fit, name));
    }
    assert!((0.025..0.035).contains(&fit.score.rmse) && fit.score.r2.unwrap() > 0.99);
    assert_eq!(fit.best_restart().stopped, Stop::Converged);
    assert!(fit.paths >= 5, "rows with more bounces take other paths, got {}", fit.paths);
}

#[test]
fn every_kind_finds_its_value() {
    let program = "(params (a free -1.0) (b positive 3.0 2.0) (c unit 0.2) (d signed-unit 0.5) (e (bounded 1 4) 2.0))
                   (+ a (* b x) (* c x x) (* d (sin (* 3 x))) (* e (cos (* 5 x))))";
    let truth = |x: f64| 2.5 + 0.5 * x + 0.6 * x * x - 0.4 * (3.0 * x).sin() + 2.7 * (5.0 * x).cos();
    let problem = problem(program, &rows(truth), "y", Default::default());
    let patience = Patience { epochs: 10_000, ..Patience::default() };
    let fit = run(&problem, &FitOptions { patience, ..FitOptions::default() });
    for (name, truth) in [("a", 2.5), ("b", 0.5), ("c", 0.6), ("d", -0.4), ("e", 2.7)] {
        assert!((value(&fit, name) - truth).abs() < 1e-2, "{name} is {} after {:?}", value(&fit, name), fit.restarts);
    }
}

#[test]
fn gradients_are_those_of_the_raw_numbers() {
    let program = "(params (a positive 1.3) (b (bounded -1 2) 0.4)) (* a (exp (* b (if (< x 2.0) x 2.0))))";
    let problem = problem(program, &rows(|x| x), "y", Default::default());
    let at = |raw: Vec<f64>| problem.evaluate(&[raw]).unwrap().remove(0);
    let start = problem.start().to_vec();
    let exact = at(start.clone());
    for i in 0..2 {
        let h = 1e-6;
        let moved =
            |by: f64| at(start.iter().enumerate().map(|(j, x)| if i == j { x + by } else { *x }).collect()).loss;
        let numeric = (moved(h) - moved(-h)) / (2.0 * h);
        assert!((exact.gradient[i] - numeric).abs() < 1e-8 * numeric.abs().max(1.0), "{} {numeric}", exact.gradient[i]);
    }
}

#[test]
fn a_restart_in_a_population_is_what_it_is_alone() {
    let problem = problem(&example("bounce/model.scm"), &example("bounce/data.csv"), "height", Default::default());
    let (adam, patience) =
        (AdamOptions { clip: Some(2.0), ..Default::default() }, Patience { epochs: 150, ..Default::default() });
    let options = FitOptions { adam, patience, more_restarts: 6, seed: 3 };
    let fit = run(&problem, &options);
    for (k, member) in fit.restarts.iter().enumerate() {
        let start = problem.start();
        let mut alone = Restart::new(k, start.to_vec(), offset(start, k, options.seed), adam, patience);
        while alone.stopped.is_none() {
            let evaluation = problem.evaluate(&[alone.point()]).unwrap().remove(0);
            alone.tell(evaluation);
        }
        let best = alone.best.unwrap();
        assert_eq!(bits(&problem.values(&best.point)), bits(&member.values), "restart {k}");
        assert_eq!(best.evaluation.loss.to_bits(), member.loss.to_bits());
        assert_eq!((alone.epochs, alone.step_backs), (member.epochs, member.step_backs));
    }
    let values: Vec<Vec<u64>> = fit.restarts.iter().map(|r| bits(&r.values)).collect();
    assert!((1..values.len()).all(|k| values[0] != values[k]), "all restarts are the same search");
    let smaller = run(&problem, &FitOptions { more_restarts: 2, ..options });
    assert_eq!(smaller.restarts[..], fit.restarts[..3]);
}

#[test]
fn all_modes_fit_alike() {
    let program = "(params (a positive 1.0) (b free 0.1)) (define (power n) (if (= n 0) 1.0 (* x (power (- n 1)))))
                   (+ (* a (power 2)) (* b x))";
    let fits = [Mode::Direct, Mode::Dmci, Mode::Tower(2)].map(|mode| {
        let run_options = RunOptions { mode, ..RunOptions::default() };
        let options = ProblemOptions { run: run_options, ..Default::default() };
        let problem = problem(program, &rows(|x| 2.0 * x * x - x), "y", options);
        let patience = Patience { epochs: 60, ..Patience::default() };
        run(&problem, &FitOptions { patience, ..FitOptions::default() }).restarts
    });
    assert!(fits[0] == fits[1] && fits[1] == fits[2]);
}

#[test]
fn a_fit_steps_back_from_a_region_where_the_program_fails() {
    // The best value of k is 0.5, but below 1 the program raises an error, and at 1 the fit arrives fast.
    let program = "(params (k free 3.0)) (if (< k 1) (error \"too small:\" k) (* k x))";
    let problem = problem(program, &rows(|x| 0.5 * x), "y", Default::default());
    let options = FitOptions { adam: AdamOptions { rate: 0.7, ..Default::default() }, ..Default::default() };
    let fit = run(&problem, &options);
    assert!((1.0..1.05).contains(&value(&fit, "k")), "{}", value(&fit, "k"));
    assert!(fit.best_restart().step_backs > 0 && fit.score.loss.is_finite());
    // A logarithm of a negative number is NaN, not an error.
    let nan = "(params (k free 3.0)) (* x (exp (log (- k 1))))";
    let problem = self::problem(nan, &rows(|x| -0.5 * x), "y", Default::default());
    let fit = run(&problem, &options);
    assert!(value(&fit, "k") > 1.0 && value(&fit, "k") < 1.1 && fit.best_restart().step_backs > 0);
}

#[test]
fn fixed_parameters_stay_and_set_moves_starts() {
    let program = "(params (a free 1.0) (b free 5.0 fixed)) (+ (* a x) b c)";
    let bindings = vec![("a".to_string(), Datum::Integer(3)), ("c".to_string(), Datum::Real(-4.0))];
    let options = ProblemOptions { run: RunOptions { bindings, ..Default::default() }, ..Default::default() };
    let problem = problem(program, &rows(|x| 2.0 * x + 1.0), "y", options);
    assert_eq!(problem.start(), [3.0]);
    let fit = run(&problem, &FitOptions::default());
    assert!((value(&fit, "a") - 2.0).abs() < 1e-3);
    assert_eq!(value(&fit, "b"), 5.0);
    assert_eq!(fit.parameters[0].start, 3.0);
}

#[test]
fn rows_held_out_are_scored_and_not_fitted() {
    // One row is far off; held out, it changes nothing but its own score.
    let data = rows(|x| 2.0 * x);
    let program = "(params (a free 1.0)) (* a x)";
    let options = ProblemOptions { holdout: Some(0.25), ..Default::default() };
    let held = problem(program, &data, "y", options.clone()).held_out.indices[0];
    let lines: Vec<String> = data
        .lines()
        .enumerate()
        .map(|(i, line)| if i == held + 1 { line.replace(',', ",1") } else { line.to_string() })
        .collect();
    let problem = problem(program, &lines.join("\n"), "y", options);
    assert_eq!((problem.held_out.target.len(), problem.training.target.len()), (10, 30));
    let fit = run(&problem, &FitOptions::default());
    assert!((value(&fit, "a") - 2.0).abs() < 1e-3 && fit.score.loss < 1e-5);
    assert!(fit.held_out.unwrap().loss > 1.0);
    assert_eq!(fit.held_out_predictions.len(), 10);
}

#[test]
fn exact_columns_stay_exact() {
    let data = "n,y\n0,1.0\n1,2.0\n2,4.0\n3,8.0\n";
    let program = "(params (q positive 1.5)) (let loop ((i n) (x 1.0)) (if (= i 0) x (loop (- i 1) (* q x))))";
    let fit = run(&problem(program, data, "y", Default::default()), &FitOptions::default());
    assert!((value(&fit, "q") - 2.0).abs() < 1e-4);
}

#[test]
fn an_observer_can_stop_a_fit_and_gets_the_best_so_far() {
    let problem = problem("(params (a free 1.0)) (* a x)", &rows(|x| 9.0 * x), "y", Default::default());
    let mut seen = Vec::new();
    let fit = fit(&problem, &FitOptions::default(), &mut |progress| {
        seen.push(progress.loss);
        if progress.epoch == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert!(fit.was_interrupted() && seen.len() == 6 && seen.is_sorted_by(|a, b| a >= b));
    assert_eq!(fit.score.loss, *seen.last().unwrap());
    assert_eq!(fit.start_loss, seen[0]);
}

#[test]
fn warnings_say_what_was_not_fitted() {
    let program = "(params (a free 1.0) (b free 2.0)) (if (< x b) (* a x) (* a x x))";
    let fit = run(&problem(program, &rows(|x| x), "y", Default::default()), &FitOptions::default());
    let text = fit.warnings.render(false);
    assert!(text.contains("warning[W0503]: the derivative by b was zero") && text.contains("(b free 2.0)"), "{text}");
    assert_eq!(value(&fit, "b"), 2.0);
    let constant =
        run(&problem("(params (a free 1.0)) (* a x)", &rows(|_| 2.0), "y", Default::default()), &FitOptions::default());
    assert_eq!(constant.warnings.diagnostics[0].code, "W0701");
    assert_eq!(constant.score.r2, None);
}

#[test]
fn no_fit_ends_worse_than_it_began() {
    for rate in [0.001, 1.0, 100.0, 1e6] {
        let problem = problem(
            "(params (a free 1.0) (b positive 1.0)) (* a (exp (* b x)))",
            &rows(|x| x),
            "y",
            Default::default(),
        );
        let options = FitOptions { adam: AdamOptions { rate, ..Default::default() }, ..Default::default() };
        let fit = run(&problem, &options);
        assert!(fit.score.loss <= fit.start_loss, "rate {rate}: {} after {}", fit.score.loss, fit.start_loss);
    }
}

#[test]
fn transforms_of_the_schema_are_used() {
    let problem = problem("(params (a unit 2.0 8)) (* a x)", &rows(|x| x), "y", Default::default());
    let transform = Transform::of(&problem.parameters[0]);
    assert_eq!(problem.values(&[0.0]), [4.0]);
    assert_eq!(Some(problem.start()[0]), transform.raw(2.0));
}
