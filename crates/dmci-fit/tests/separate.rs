//! Groups that share no parameter are fitted one by one; errors can be left out.

#![allow(clippy::unwrap_used)]

use dmci::Program;
use dmci_fit::{Errors, Fit, FitOptions, Loss, Outcome, Problem, ProblemOptions, Progress, Table, fit};
use std::ops::ControlFlow;

const GROUPED: &str = "(params (a positive 1.0 (per g)) (k positive 1.0 (per g)) (c free 0.0 (per g)))
(+ c (* a (exp (- (* k t)))))";

/// A group: its amplitude, rate and offset.
fn truth(group: usize) -> (f64, f64, f64) {
    let g = group as f64;
    (1.0 + 0.1 * g, 0.3 * 1.1f64.powf(g), 0.2 * g - 1.0)
}

fn rows(group: usize, count: usize) -> String {
    let (a, k, c) = truth(group);
    let row = |i: usize| {
        let t = 0.2 * i as f64;
        let noise = 0.01 * (((7 * i + 3 * group) % 11) as f64 - 5.0);
        format!("g{group},{t:?},{:?}\n", c + a * (-k * t).exp() + noise)
    };
    (0..count).map(row).collect()
}

fn problem(program: &str, groups: std::ops::Range<usize>, options: ProblemOptions) -> Problem {
    let text = format!("g,t,y\n{}", groups.map(|g| rows(g, 40)).collect::<String>());
    let table = Table::from_bytes("data.csv", text.as_bytes(), &[]).unwrap();
    Problem::new(Program::new(program), &table, "y", options).unwrap_or_else(|r| panic!("{r}"))
}

fn run(problem: &Problem, options: &FitOptions) -> Fit {
    fit(problem, options, &mut |_| ControlFlow::Continue(())).unwrap_or_else(|r| panic!("{r}"))
}

fn number<'a>(fit: &'a Fit, name: &str) -> &'a dmci_fit::Number {
    fit.parameters.iter().flat_map(|p| &p.numbers).find(|n| n.name == name).unwrap()
}

#[test]
fn a_group_is_fitted_as_if_it_were_alone() {
    let all = run(&problem(GROUPED, 0..30, ProblemOptions::default()), &FitOptions::default());
    assert_eq!(all.optimality.outcome, Outcome::Converged, "{:?}", all.optimality);
    assert_eq!(all.uncertainty.as_ref().unwrap().freedom, Some(30 * 37));
    for group in [0, 7, 29] {
        let alone = run(&problem(GROUPED, group..group + 1, ProblemOptions::default()), &FitOptions::default());
        // The noise is estimated from all groups together.
        let noise = (all.score.loss / alone.score.loss * 37.0 / 40.0 / (1.0 - 3.0 / 40.0)).sqrt();
        for name in ["a", "k", "c"] {
            let (both, one) =
                (number(&all, &format!("{name}[g{group}]")), number(&alone, &format!("{name}[g{group}]")));
            assert!((both.value - one.value).abs() < 1e-7 * one.value.abs().max(1.0), "{name} {group}");
            let (a, b) = (both.sureness.unwrap().error.unwrap(), one.sureness.unwrap().error.unwrap());
            assert!((a / b / noise - 1.0).abs() < 1e-3, "{name} {group}: {a} {b} {noise}");
        }
    }
}

#[test]
fn likelihoods_and_shared_parameters_still_work() {
    let with_sigma = GROUPED.replace("(params", "(params (sigma positive 0.1 (per g))");
    let options = || ProblemOptions { loss: Loss::Gaussian, ..ProblemOptions::default() };
    let all = run(&problem(&with_sigma, 0..4, options()), &FitOptions::default());
    assert_eq!(all.optimality.outcome, Outcome::Converged, "{:?}", all.optimality);
    assert!(all.uncertainty.as_ref().unwrap().numbers.iter().all(|n| n.error.is_some()));
    let alone = run(&problem(&with_sigma, 2..3, options()), &FitOptions::default());
    let (both, one) = (number(&all, "k[g2]"), number(&alone, "k[g2]"));
    assert!((both.value / one.value - 1.0).abs() < 1e-5);
    assert!((both.sureness.unwrap().error.unwrap() / one.sureness.unwrap().error.unwrap() - 1.0).abs() < 1e-3);
    // A shared parameter binds groups together: they are one problem.
    let shared = GROUPED.replace("(c free 0.0 (per g))", "(c free 0.0)");
    let found = run(&problem(&shared, 0..4, ProblemOptions::default()), &FitOptions::default());
    assert!(found.uncertainty.unwrap().correlations.iter().all(|c| c.is_finite()));
}

#[test]
fn a_fit_of_groups_goes_on_from_any_state() {
    let whole = run(&problem(GROUPED, 0..5, ProblemOptions::default()), &FitOptions::default());
    let mut states = Vec::new();
    let stopped = problem(GROUPED, 0..5, ProblemOptions::default());
    let mut watch = |progress: &Progress| {
        states.push(progress.snapshot());
        ControlFlow::Continue(())
    };
    fit(&stopped, &FitOptions::default(), &mut watch).unwrap();
    for state in [0, states.len() / 2, states.len() - 1] {
        let options = FitOptions { resume: Some(states[state].clone()), ..FitOptions::default() };
        let again = run(&problem(GROUPED, 0..5, ProblemOptions::default()), &options);
        assert_eq!(again.raw, whole.raw, "{state}");
        assert_eq!(again.evaluations(), whole.evaluations(), "{state}");
    }
}

#[test]
fn groups_are_fitted_alike_by_one_thread_and_by_several() {
    // Decisions of one group may be seen before or after another one is searched: these wait for each other.
    let kinked = GROUPED.replace("(exp (- (* k t)))", "(if (< (* k t) 30.0) (exp (- (* k t))) (sin t))");
    for program in [GROUPED, &kinked] {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run(&problem(program, 0..12, ProblemOptions::default()), &FitOptions::default()))
        };
        let (one, several) = (on(1), on(3));
        assert_eq!((&one.raw, one.evaluations()), (&several.raw, several.evaluations()));
        assert_eq!((one.optima, one.optimality), (several.optima, several.optimality));
    }
}

#[test]
fn an_optimum_at_a_bound_is_one_for_all_other_parameters() {
    // The offsets are above -1.5, where the kind does not let them go.
    let bounded = GROUPED.replace("(c free 0.0 (per g))", "(c (bounded -5 -1.5) -2.0 (per g))");
    let found = run(&problem(&bounded, 0..6, ProblemOptions::default()), &FitOptions::default());
    assert_eq!(found.optimality.outcome, Outcome::AtBound, "{:?}", found.optimality);
    assert_eq!(found.optimality.test, "newton", "{:?}", found.optimality);
    assert!(found.optimality.decrement.unwrap() < 1e-8 && found.optimality.curvature.unwrap() > 0.0);
    let message = found.warnings.to_string();
    assert!(message.contains("c[g0], c[g1], c[g2], c[g3] and 2 others ended at"), "{message}");
}

#[test]
fn errors_are_left_out_where_nobody_wants_them() {
    let options = FitOptions { errors: Errors::None, ..FitOptions::default() };
    for groups in [0..1, 0..3] {
        let found = run(&problem(GROUPED, groups.clone(), ProblemOptions::default()), &options);
        assert!(found.uncertainty.is_none() && found.no_errors.is_some());
        assert_eq!(found.optimality.outcome, Outcome::Unchecked, "{:?}", found.optimality);
        let full = run(&problem(GROUPED, groups, ProblemOptions::default()), &FitOptions::default());
        assert_eq!(found.raw, full.raw);
    }
    // A huber loss is no likelihood: the reason is there, and how to get errors all the same.
    let huber = problem(GROUPED, 0..1, ProblemOptions { loss: Loss::Huber(1.0), ..ProblemOptions::default() });
    assert!(run(&huber, &FitOptions::default()).no_errors.unwrap().contains("‹bootstrap 200›"));
}
