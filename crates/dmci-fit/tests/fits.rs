//! Whole fits through the library: they find what made the data, in every mode, and a restart is the
//! same search whatever runs beside it.

#![allow(clippy::unwrap_used)]

use dmci::{Datum, Mode, Program, Report, RunOptions};
use dmci_fit::{
    AdamOptions, Budget, Fit, FitOptions, Holdout, Loss, Member, Method, Need, Optimizer, Points, Problem,
    ProblemOptions, Stop, Table, Transform, Verdict, fit,
};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;

/// A problem whose program gives its own objective.
fn of_series(program: Program, table: &Table, target: &str, options: ProblemOptions) -> Result<Problem, Report> {
    Problem::new(program, table, target, ProblemOptions { loss: Loss::Objective, ..options })
}

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

fn adam(options: AdamOptions) -> Method {
    Method::One(Optimizer::Adam(options))
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
fn one_good_restart_ends_the_search_of_those_that_lost_their_way() {
    let data = "x,y\n1,109\n2,149\n3,149\n5,191\n7,213\n10,224\n";
    let problem =
        problem("(params (a free 1.0) (b free 1.0)) (* a (- 1 (exp (* (- b) x))))", data, "y", Default::default());
    let options = FitOptions { search_work: Some(0.0), no_projection: true, ..FitOptions::default() };
    let fit = run(&problem, &options);
    assert_eq!(fit.best_restart().stopped, Stop::Converged);
    assert!((value(&fit, "b") - 0.55).abs() < 0.05, "{}", value(&fit, "b"));
    let longest = fit.restarts.iter().map(|r| r.epochs).max().unwrap();
    let ended = fit.restarts.iter().filter(|r| r.stopped == Stop::Converged).map(|r| r.epochs).max().unwrap();
    assert!(longest <= 2 * ended + 21, "{longest} rounds");
    assert!(fit.restarts.iter().any(|r| r.stopped == Stop::Overtaken));
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
    assert!(fit.paths > 1, "rows with more bounces take other paths, got {}", fit.paths);
}

#[test]
fn every_kind_finds_its_value() {
    let program = "(params (a free -1.0) (b positive 3.0 2.0) (c unit 0.2) (d signed-unit 0.5) (e (bounded 1 4) 2.0))
                   (+ a (* b x) (* c x x) (* d (sin (* 3 x))) (* e (cos (* 5 x))))";
    let truth = |x: f64| 2.5 + 0.5 * x + 0.6 * x * x - 0.4 * (3.0 * x).sin() + 2.7 * (5.0 * x).cos();
    let problem = problem(program, &rows(truth), "y", Default::default());
    let fit = run(&problem, &FitOptions::default());
    for (name, truth) in [("a", 2.5), ("b", 0.5), ("c", 0.6), ("d", -0.4), ("e", 2.7)] {
        assert!((value(&fit, name) - truth).abs() < 1e-8, "{name} is {} after {:?}", value(&fit, name), fit.restarts);
    }
}

#[test]
fn gradients_are_those_of_the_raw_numbers() {
    let program = "(params (a positive 1.3) (b (bounded -1 2) 0.4)) (* a (exp (* b (if (< x 2.0) x 2.0))))";
    let problem = problem(program, &rows(|x| x), "y", Default::default());
    let at = |raw: Vec<f64>| problem.evaluate(&[raw], Need::Gradient).unwrap().remove(0);
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
    for name in Optimizer::NAMES {
        let mut optimizer = Optimizer::named(name).unwrap();
        if let Optimizer::Adam(options) = &mut optimizer {
            options.clip = Some(2.0);
        }
        let budget = Budget { epochs: Some(if optimizer.need() == Need::Loss { 12 } else { 40 }), ..Budget::default() };
        let method = Method::One(optimizer.clone());
        let options = FitOptions { method, budget, more_restarts: 4, seed: 3, ..FitOptions::default() };
        let fit = run(&problem, &options);
        for (k, member) in fit.restarts.iter().enumerate() {
            let mut alone = Member::new(k, problem.start(), options.seed);
            while alone.stopped.is_none() {
                let mut points = Points::default();
                alone.ask(&mut points);
                // One point at a time: what is evaluated beside it changes nothing either.
                let one = |p: &[f64]| problem.evaluate(&[p.to_vec()], optimizer.need()).unwrap().remove(0);
                let mut found: Vec<_> = points.all().iter().map(one).collect();
                alone.tell(points.all(), &mut found, &optimizer, &budget);
            }
            let best = alone.best.unwrap();
            assert_eq!(bits(&problem.values(&best.0)), bits(&member.values), "{name}, restart {k}");
            assert_eq!(best.1.to_bits(), member.loss.to_bits());
            assert_eq!((alone.epochs, alone.not_finite), (member.epochs, member.step_backs));
        }
        restarts_differ(&problem, &options, &fit);
    }
}

fn restarts_differ(problem: &Problem, options: &FitOptions, fit: &Fit) {
    let values: Vec<Vec<u64>> = fit.restarts.iter().map(|r| bits(&r.values)).collect();
    assert!((1..values.len()).all(|k| values[0] != values[k]), "all restarts are the same search");
    let smaller = run(problem, &FitOptions { more_restarts: 2, ..options.clone() });
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
        let budget = Budget { epochs: Some(60), ..Budget::default() };
        run(&problem, &FitOptions { budget, ..FitOptions::default() }).restarts
    });
    assert!(fits[0] == fits[1] && fits[1] == fits[2]);
}

#[test]
fn a_fit_steps_back_from_a_region_where_the_program_fails() {
    // The best value of k is 0.5, but below 1 the program raises an error, and at 1 the fit arrives fast.
    let program = "(params (k free 3.0)) (if (< k 1) (error \"too small:\" k) (* k x))";
    let problem = problem(program, &rows(|x| 0.5 * x), "y", Default::default());
    let options = FitOptions { method: adam(AdamOptions { rate: 0.7, ..Default::default() }), ..Default::default() };
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
    let options = ProblemOptions { holdout: Holdout::Share(0.25), ..Default::default() };
    let held = problem(program, &data, "y", options.clone()).held_out().indices[0];
    let lines: Vec<String> = data
        .lines()
        .enumerate()
        .map(|(i, line)| if i == held + 1 { line.replace(',', ",1") } else { line.to_string() })
        .collect();
    let problem = problem(program, &lines.join("\n"), "y", options);
    assert_eq!((problem.held_out().target.len(), problem.training().target.len()), (10, 30));
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
    let options = FitOptions { method: adam(AdamOptions::default()), ..FitOptions::default() };
    let fit = fit(&problem, &options, &mut |progress| {
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
    let options = FitOptions { method: adam(AdamOptions::default()), ..FitOptions::default() };
    let fit = run(&problem(program, &rows(|x| x), "y", Default::default()), &options);
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
        let options = FitOptions { method: adam(AdamOptions { rate, ..Default::default() }), ..Default::default() };
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

#[test]
fn auto_notices_decisions_and_fits_them_without_derivatives() {
    let program = "(params (a free 1.0) (b free 1.0) (threshold free 1.0))
                   (if (< x threshold) (* a x) (+ (* a threshold) (* b (- x threshold))))";
    let step = "(params (low free 0.0) (high free 1.0) (threshold free 1.0)) (if (< x threshold) low high)";
    let bend = |x: f64| if x < 2.62 { 0.5 * x } else { 0.5 * 2.62 - 2.0 * (x - 2.62) };
    // The threshold of a bent line has a derivative: it stands in a value too.
    let fit = run(&problem(program, &rows(bend), "y", Default::default()), &FitOptions::default());
    assert_eq!(fit.optimizer.0, "lm");
    let fit = run(
        &problem(step, &rows(|x| if x < 2.62 { -1.0 } else { 3.0 }), "y", Default::default()),
        &FitOptions::default(),
    );
    assert!(fit.optimizer.1.contains("threshold changes the loss only through decisions"), "{}", fit.optimizer.1);
    assert!(fit.score.loss < 1e-20, "{:?}", fit.parameters);
    assert!((2.55..=2.65).contains(&value(&fit, "threshold")), "{}", value(&fit, "threshold"));
    assert!(fit.warnings.diagnostics.is_empty(), "{}", fit.warnings);
}

#[test]
fn what_data_cannot_tell_apart_is_named() {
    let noisy = rows(|x| 3.0 * x + 0.01 * (17.0 * x).sin());
    let fit = run(
        &problem("(params (a free 2.0) (b free 1.0) (c free 0.0)) (+ c (* a b x))", &noisy, "y", Default::default()),
        &FitOptions::default(),
    );
    let verdict =
        |name: &str| fit.parameters.iter().find(|p| p.name == name).unwrap().numbers[0].sureness.unwrap().verdict;
    assert_eq!((verdict("a"), verdict("b"), verdict("c")), (Verdict::Not, Verdict::Not, Verdict::Identifiable));
    let direction = &fit.uncertainty.as_ref().unwrap().directions[0];
    assert!(direction.flat && direction.moves.len() == 2, "{direction:?}");
    assert!((direction.moves[0].1 + direction.moves[1].1).abs() < 1e-6, "one goes up as the other goes down");
    let error = fit.parameters[2].numbers[0].sureness.unwrap().error.unwrap();
    assert!(error > 0.0 && error < 0.01);
}

/// Against scipy.optimize.minimize of the same negative log-likelihoods (`bench/scipy`), on the
/// counts 2 3 6 7 8 9 10 12 15 over t = -1, -0.75 ... 1.
#[test]
fn likelihoods_give_their_own_parameters_and_errors() {
    let counts = [2.0, 3.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 15.0];
    let lines: Vec<String> =
        counts.iter().enumerate().map(|(i, y)| format!("{:?},{y:?}", -1.0 + 0.25 * i as f64)).collect();
    let data = format!("t,y\n{}\n", lines.join("\n"));
    let fit_with = |loss: &str, program: &str| {
        let options = ProblemOptions { loss: Loss::named(loss).unwrap(), ..Default::default() };
        run(&problem(program, &data, "y", options), &FitOptions::default())
    };
    let fit = fit_with("poisson", "(params (b0 free 1.0) (b1 free 0.0)) (exp (+ b0 (* b1 t)))");
    assert_eq!(fit.optimizer.0, "lbfgs");
    let error = |fit: &Fit, i: usize| fit.parameters[i].numbers[0].sureness.unwrap().error.unwrap();
    for (got, expected) in [
        (fit.score.loss, POISSON[0]),
        (value(&fit, "b0"), POISSON[1]),
        (value(&fit, "b1"), POISSON[2]),
        (error(&fit, 0), POISSON[3]),
        (error(&fit, 1), POISSON[4]),
    ] {
        assert!((got - expected).abs() < 1e-6, "{got} {expected}");
    }
    let fit = fit_with("gaussian", "(params (a free 1.0) (b free 1.0) (sigma positive 2.0)) (+ a (* b t))");
    for (got, expected) in
        [(fit.score.loss, GAUSSIAN[0]), (value(&fit, "a"), GAUSSIAN[1]), (value(&fit, "sigma"), GAUSSIAN[2])]
    {
        assert!((got - expected).abs() < 1e-6, "{got} {expected}");
    }
    assert!((fit.criteria.unwrap().aic - (2.0 * 3.0 + 2.0 * GAUSSIAN[0])).abs() < 1e-6);
}

/// Loss, two parameters, their standard errors.
const POISSON: [f64; 5] =
    [17.8116881806514, 1.956033418896359, 0.779350702092831, 0.13260449308919256, 0.19670408818133306];
/// Loss, level and noise.
const GAUSSIAN: [f64; 3] = [9.102471654521407, 7.99999999601178, 0.6652763203433814];

#[test]
fn parameters_differ_by_group() {
    let mut data = String::from("site,t,y\n");
    for (site, rate) in [("north", 0.5), ("south", 2.0), ("west", 1.25)] {
        (0..12)
            .map(|i| 0.2 * f64::from(i))
            .for_each(|t| data += &format!("{site},{t:?},{:?}\n", 3.0 * (-rate * t).exp()));
    }
    let program = "(params (a positive 1.0) (k positive 1.0 (per site))) (* a (exp (- (* k t))))";
    let problem = problem(program, &data, "y", Default::default());
    assert_eq!(problem.value_names(), ["a", "k[north]", "k[south]", "k[west]"]);
    let fit = run(&problem, &FitOptions::default());
    let values: Vec<f64> = fit.parameters.iter().flat_map(|p| p.numbers.iter().map(|n| n.value)).collect();
    for (got, expected) in values.iter().zip([3.0, 0.5, 2.0, 1.25]) {
        assert!((got - expected).abs() < 1e-8, "{values:?}");
    }
}

#[test]
fn vectors_matrices_and_shares_are_fitted() {
    // y = w . (1, x, x^2) with w a vector; then a mixture of three shapes with shares that add up to 1.
    let program = "(params (w (vector 3))) (+ (ref w 0) (* x (ref w 1)) (* x x (ref w 2)))";
    let fit =
        run(&problem(program, &rows(|x| 1.0 - 2.0 * x + 0.5 * x * x), "y", Default::default()), &FitOptions::default());
    let values: Vec<f64> = fit.parameters[0].numbers.iter().map(|n| n.value).collect();
    assert!(values.iter().zip([1.0, -2.0, 0.5]).all(|(a, b)| (a - b).abs() < 1e-9), "{values:?}");
    assert_eq!(fit.parameters[0].numbers[1].name, "w.1");
    let program = "(params (p (simplex 3))) (+ (* (ref p 0) (sin x)) (* (ref p 1) (exp (- x))) (* (ref p 2) x))";
    let data = rows(|x| 0.2 * x.sin() + 0.5 * (-x).exp() + 0.3 * x);
    let fit = run(&problem(program, &data, "y", Default::default()), &FitOptions::default());
    let values: Vec<f64> = fit.parameters[0].numbers.iter().map(|n| n.value).collect();
    assert!(values.iter().zip([0.2, 0.5, 0.3]).all(|(a, b)| (a - b).abs() < 1e-9), "{values:?}");
}

#[test]
fn several_targets_are_predicted_at_once() {
    let data = "t,u,v\n0.0,1.0,2.0\n1.0,3.0,1.5\n2.0,5.0,1.0\n3.0,7.0,0.5\n";
    let program = "(params (a free 0.0) (b free 0.0) (c free 0.0)) (list (+ a (* b t)) (+ (* 2 a) (* c t)))";
    let fit = run(&problem(program, data, "u,v", Default::default()), &FitOptions::default());
    for (name, expected) in [("a", 1.0), ("b", 2.0), ("c", -0.5)] {
        assert!((value(&fit, name) - expected).abs() < 1e-9, "{name}");
    }
    assert_eq!((fit.predictions.len(), fit.score.r2), (8, Some(1.0)));
}

#[test]
fn weights_and_standard_deviations_count() {
    // The last row is far off, but hardly counts.
    let data = "x,y,w,s\n1.0,2.0,1.0,0.1\n2.0,4.0,1.0,0.1\n3.0,60.0,1e-12,1e6\n";
    let program = "(params (a free 1.0)) (* a x)";
    let weighted = ProblemOptions { weights: Some("w".into()), ..Default::default() };
    let known = ProblemOptions { loss: Loss::Gaussian, sigma: Some("s".into()), ..Default::default() };
    for options in [weighted, known] {
        let fit = run(&problem(program, data, "y", options), &FitOptions::default());
        assert!((value(&fit, "a") - 2.0).abs() < 1e-6, "{}", value(&fit, "a"));
    }
    // With known noise the error of a is that of textbooks: 1 / sqrt(sum (x / s)^2).
    let known = ProblemOptions { loss: Loss::Gaussian, sigma: Some("s".into()), ..Default::default() };
    let fit = run(&problem(program, data, "y", known), &FitOptions::default());
    let error = fit.parameters[0].numbers[0].sureness.unwrap().error.unwrap();
    assert!((error - 0.1 / 5f64.sqrt()).abs() < 1e-9, "{error}");
}

#[test]
fn a_fit_goes_on_from_any_state_to_the_same_bits() {
    let problem = problem(&example("bounce/model.scm"), &example("bounce/data.csv"), "height", Default::default());
    for method in
        [Method::Auto, Method::Portfolio, adam(AdamOptions::default()), Method::One(Optimizer::named("es").unwrap())]
    {
        let budget = Budget { epochs: Some(40), ..Budget::default() };
        let options = FitOptions { method, budget, more_restarts: 2, seed: 5, ..FitOptions::default() };
        let mut states = Vec::new();
        let whole = fit(&problem, &options, &mut |progress| {
            states.push(progress.snapshot());
            ControlFlow::Continue(())
        })
        .unwrap();
        for (i, state) in states.iter().enumerate().step_by(7) {
            let resumed = run(&problem, &FitOptions { resume: Some(state.clone()), ..options.clone() });
            assert_eq!(resumed.restarts, whole.restarts, "{:?} from state {i}", options.method);
            assert_eq!((bits(&resumed.raw), resumed.start_loss), (bits(&whole.raw), whole.start_loss));
        }
    }
    let other = FitOptions { resume: Some(vec![1, 2, 3]), ..FitOptions::default() };
    let error = fit(&problem, &other, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(error.diagnostics[0].code, "E0905");
}

#[test]
fn time_and_evaluations_are_limited() {
    let problem = problem(&example("bounce/model.scm"), &example("bounce/data.csv"), "height", Default::default());
    let options = FitOptions { evaluations: Some(10), method: adam(AdamOptions::default()), ..FitOptions::default() };
    let fit = run(&problem, &options);
    assert_eq!((fit.evaluations(), fit.best_restart().stopped), (10, Stop::Evaluations));
    let options = FitOptions { time: Some(std::time::Duration::from_nanos(1)), ..options };
    assert_eq!(run(&problem, &options).best_restart().stopped, Stop::Time);
}

/// A normal mean with a normal prior: the posterior is known.
#[test]
fn priors_weigh_against_the_data() {
    let data = "x,y\n1.0,2.0\n1.0,3.0\n1.0,4.0\n";
    let program = "(params (m free 0.0 (prior normal 10 2)) (sigma positive 1.0 fixed)) (* m x)";
    let options = ProblemOptions { loss: Loss::Gaussian, ..Default::default() };
    let fit = run(&problem(program, data, "y", options), &FitOptions::default());
    let precision = 3.0 + 0.25;
    assert!((value(&fit, "m") - (9.0 + 10.0 * 0.25) / precision).abs() < 1e-8, "{}", value(&fit, "m"));
    let error = fit.parameters[0].numbers[0].sureness.unwrap().error.unwrap();
    assert!((error - 1.0 / precision.sqrt()).abs() < 1e-6, "{error}");
}

/// A loss of the user's own: the logarithm of the hyperbolic cosine, which one row far off hardly moves.
#[test]
fn a_procedure_of_the_program_is_a_loss() {
    let program = "(params (a free 1.0))
                   (define (log-cosh predicted measured) (log (cosh (- predicted measured))))
                   (* a x)";
    let data = format!("{}5.0,100.0\n", rows(|x| 2.0 * x));
    let options = ProblemOptions { loss: Loss::Procedure("log-cosh".into()), ..Default::default() };
    let fit = run(&problem(program, &data, "y", options), &FitOptions::default());
    let squares = run(&problem(program, &data, "y", Default::default()), &FitOptions::default());
    assert!((value(&fit, "a") - 2.0).abs() < 0.05 && value(&squares, "a") > 2.5, "{}", value(&fit, "a"));
    assert_eq!((fit.predictions.len(), fit.optimizer.0), (41, "lbfgs"));
    assert!((fit.predictions[40] - 5.0 * value(&fit, "a")).abs() < 1e-12);
}

/// The name of a column and the names of a program have nothing to do with each other.
#[test]
fn a_loss_of_the_program_sees_the_target_whatever_that_is_called() {
    let lines = rows(|x| 2.0 * x + 0.1 * (17.0 * x).sin());
    let program = |inside: &str| {
        format!(
            "(params (a free 1.0)) (define (log-cosh p q) (log (cosh (- p q))))
             (define measured-value 7.0) (define y (* a x)) {inside}"
        )
    };
    let options = || ProblemOptions { loss: Loss::Procedure("log-cosh".into()), ..Default::default() };
    let expected =
        run(&problem(&program("(* a x)"), &lines.replace("x,y", "x,z"), "z", options()), &Default::default());
    assert!((value(&expected, "a") - 2.0).abs() < 0.1);
    for (name, inside) in [("y", "(* 1.0 y)"), ("y cm", "(* a x)"), ("measured-value", "(* a x)"), ("a b)", "(* a x)")]
    {
        let problem = problem(&program(inside), &lines.replace("x,y", &format!("x,{name}")), name, options());
        assert_eq!(value(&run(&problem, &Default::default()), "a"), value(&expected, "a"), "{name}");
        assert_eq!(problem.inputs, ["x"], "{name}");
    }
}

/// A random walk seen through noise: the likelihood of a scalar Kalman filter, which names its predictions.
const KALMAN: &str = "(params (q positive 0.5) (r positive 0.5))
  (let loop ((k 0) (x 0.0) (P 10.0) (L 0.0) (predicted '()))
    (if (= k (vlen y))
        (result (loss L) (yhat (reverse predicted)))
        (let* ((A (+ P q)) (S (+ A r)) (e (- (ref y k) x)) (K (/ A S)))
          (loop (+ k 1) (+ x (* K e)) (* (- 1 K) A) (+ L (* 0.5 (+ (log S) (/ (* e e) S)))) (cons x predicted)))))";

fn walk(groups: usize) -> String {
    let mut data = String::from("cell,t,y\n");
    for group in 0..groups {
        let (mut state, mut seed) = (0.0, 11 + group as u64);
        let mut draw = || {
            dmci_stats::random::Stream::new(
                {
                    seed += 1;
                    seed
                },
                0,
            )
            .normal()
        };
        for t in 0..150 {
            state += 0.6 * draw();
            data += &format!("c{group},{t},{:?}\n", state + 1.2 * draw());
        }
    }
    data
}

#[test]
fn an_objective_program_is_fitted_scored_and_rolled_on() {
    let table = Table::from_csv("walk.csv", walk(1).as_bytes()).unwrap();
    let options = ProblemOptions { holdout: Holdout::Tail(0.2), ..Default::default() };
    let problem = of_series(Program::new(KALMAN), &table, "y", options).unwrap();
    let fit = run(&problem, &FitOptions::default());
    // True values: 0.36 and 1.44.
    assert!((0.1..0.9).contains(&value(&fit, "q")) && (0.9..2.2).contains(&value(&fit, "r")), "{:?}", fit.parameters);
    assert_eq!(fit.uncertainty.as_ref().unwrap().method, "hessian");
    assert_eq!((fit.series.len(), fit.series.iter().filter(|s| s.2).count()), (150, 120));
    assert!(fit.score.r2.unwrap() > 0.3 && fit.held_out.unwrap().rmse < 3.0);
    let whole = of_series(Program::new(KALMAN), &table, "", Default::default()).unwrap();
    let results = whole.results(&fit.raw, 0).unwrap();
    assert_eq!(results.iter().map(|r| r.0.as_str()).collect::<Vec<_>>(), ["loss", "yhat"]);
}

#[test]
fn the_objectives_of_groups_add_up() {
    let table = Table::from_csv("walk.csv", walk(3).as_bytes()).unwrap();
    let grouped = ProblemOptions { group: Some("cell".into()), ..Default::default() };
    let problem = of_series(Program::new(KALMAN), &table, "y", grouped.clone()).unwrap();
    let together = problem.evaluate(&[problem.start().to_vec()], Need::Gradient).unwrap().remove(0);
    let mut sum = 0.0;
    for group in ["c0", "c1", "c2"] {
        let lines: Vec<String> =
            walk(3).lines().filter(|l| l.starts_with("cell") || l.starts_with(group)).map(String::from).collect();
        let table = Table::from_csv("one.csv", lines.join("\n").as_bytes()).unwrap();
        let one = of_series(Program::new(KALMAN), &table, "", Default::default()).unwrap();
        sum += one.evaluate(&[one.start().to_vec()], Need::Loss).unwrap().remove(0).loss;
    }
    assert!((together.loss - sum).abs() < 1e-9 * sum.abs());
    // With a parameter that differs by group, each group has its own.
    let own = KALMAN.replace("(r positive 0.5)", "(r positive 0.5 (per cell))");
    let problem = of_series(Program::new(&own), &table, "y", grouped).unwrap();
    let fit = run(&problem, &FitOptions::default());
    assert_eq!(problem.value_names(), ["q", "r[c0]", "r[c1]", "r[c2]"]);
    assert!(fit.score.loss <= together.loss && fit.series.len() == 450);
}

#[test]
fn only_some_parameters_are_fitted() {
    let program = "(params (a free 1.0) (b free 7.0)) (+ (* a x) b)";
    let options = ProblemOptions { only: Some(vec!["a".into()]), ..Default::default() };
    let fit = run(&problem(program, &rows(|x| 2.0 * x + 7.0), "y", options), &FitOptions::default());
    assert!((value(&fit, "a") - 2.0).abs() < 1e-9 && fit.parameters[1].fixed && value(&fit, "b") == 7.0);
}

#[test]
fn missing_values_are_left_out() {
    let data = b"t,u,v\n0.0,1.0,NA\n1.0,NA,1.5\n2.0,5.0,1.0\nNA,7.0,0.5\n3.0,7.0,0.5\n4.0,NA,NA\n";
    let table = Table::from_bytes("gaps.csv", data, &["NA".to_string()]).unwrap();
    let program = "(params (a free 0.0) (b free 0.0) (c free 0.0)) (list (+ a (* b t)) (+ (* 2 a) (* c t)))";
    let problem = Problem::new(Program::new(program), &table, "u,v", Default::default()).unwrap();
    assert_eq!((problem.training().len(), problem.measurements()), (4, 6));
    let fit = run(&problem, &FitOptions::default());
    for (name, expected) in [("a", 1.0), ("b", 2.0), ("c", -0.5)] {
        assert!((value(&fit, name) - expected).abs() < 1e-9, "{name} is {}", value(&fit, name));
    }
    assert_eq!(fit.warnings.diagnostics[0].code, "W0702");
}

/// Files that NumPy has written (`scripts/numpy-tables.py`).
#[test]
fn tables_of_numpy_are_read() {
    let read = |file: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dmci-table/tests/numpy").join(file);
        Table::from_bytes(file, &std::fs::read(path).unwrap(), &[])
    };
    let names = |t: &Table| t.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    for file in ["stored.npz", "packed.npz"] {
        let t = read(file).unwrap();
        assert_eq!((names(&t), t.rows), (vec!["t".to_string(), "n".into(), "y".into()], 4), "{file}");
        assert_eq!(t.column("y").unwrap().reals().unwrap(), [1.5, -2.25, 1e300, 0.0]);
        assert_eq!(t.column("n").unwrap().shown(1), "-7", "integers stay exact");
        assert_eq!(t.column("t").unwrap().reals().unwrap(), [0.0, 0.5, 1.0, 1.5]);
    }
    let t = read("matrix.npy").unwrap();
    assert_eq!((names(&t), t.rows), (vec!["x0".to_string(), "x1".into()], 3));
    assert_eq!(t.column("x1").unwrap().reals().unwrap(), [1.0, 3.0, 5.0]);
    assert_eq!(read("fortran.npy").unwrap().column("x1").unwrap().reals().unwrap(), [1.0, 3.0, 5.0]);
    let t = read("fields.npy").unwrap();
    assert_eq!(
        (names(&t), t.column("b").unwrap().reals().unwrap()),
        (vec!["a".to_string(), "b".into()], vec![0.5, 1.5])
    );
    // Damaged files are refused, wherever they end.
    let whole =
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../dmci-table/tests/numpy/packed.npz")).unwrap();
    for end in 0..whole.len() {
        assert!(Table::from_bytes("cut.npz", &whole[..end], &[]).is_err());
    }
    let matrix =
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../dmci-table/tests/numpy/matrix.npy")).unwrap();
    for end in 0..matrix.len() {
        assert!(Table::from_bytes("cut.npy", &matrix[..end], &[]).is_err());
    }
}

/// A program that never ends, interrupted before anything is known: once is enough, and a program that does end
/// still gives its start as a result.
#[test]
fn one_interruption_before_the_first_round_is_enough() {
    for (body, ends) in [("(let loop ((i 0)) (if (< i -1) (* a x) (loop (+ i 1))))", false), ("(* a x)", true)] {
        let run = RunOptions::default();
        let cancel = run.cancel.clone();
        let options = ProblemOptions { run, ..ProblemOptions::default() };
        let problem =
            problem(&format!("(params (a free 1.0)) {body}"), "x,y\n1.0,2.0\n2.0,4.1\n3.0,6.0\n", "y", options);
        cancel.cancel();
        // Only for the case that this test fails.
        let (done, waiting) = std::sync::mpsc::channel::<()>();
        let again = cancel.clone();
        let twice = std::thread::spawn(move || {
            let late =
                waiting.recv_timeout(std::time::Duration::from_secs(60)).is_err_and(|e| e == RecvTimeoutError::Timeout);
            if late {
                again.cancel();
            }
            late
        });
        let result = fit(&problem, &FitOptions::default(), &mut |_| match cancel.is_cancelled() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        drop(done);
        assert!(!twice.join().unwrap(), "it had to be interrupted twice");
        match result {
            Ok(fit) => assert!(ends && fit.was_interrupted() && fit.parameters[0].value == 1.0),
            Err(report) => assert!(!ends && report.diagnostics[0].code == "E0409", "{report:?}"),
        }
    }
}
