//! Batches: lanes together give the bits of lanes alone, whatever paths they take.

#![allow(clippy::unwrap_used)]

mod common;

use common::uniform;
use dmci::{
    Column, Datum, GradOptions, Interpreter, Mode, Model, ModelOptions, Passes, Program, RunOptions, Want, Wrt,
};

/// Value and gradient of one lane, walked alone.
fn alone(program: &Program, mode: Mode, params: &[(&str, f64)], inputs: &[(&str, Datum)]) -> Option<(u64, Vec<u64>)> {
    let mut bindings: Vec<(String, Datum)> = params.iter().map(|(n, x)| (n.to_string(), Datum::Real(*x))).collect();
    bindings.extend(inputs.iter().map(|(n, d)| (n.to_string(), d.clone())));
    let options = GradOptions {
        run: RunOptions { mode, bindings, ..RunOptions::default() },
        wrt: Wrt::Names(params.iter().map(|p| p.0.to_string()).collect()),
        hessian: false,
    };
    let gradient = Interpreter::shared().grad(program, &options).ok()?;
    Some((gradient.value.to_bits(), gradient.flat.iter().map(|x| x.to_bits()).collect()))
}

fn options(mode: Mode, passes: Passes, max_paths: usize) -> ModelOptions {
    ModelOptions { run: RunOptions { mode, ..RunOptions::default() }, passes, max_paths, ..ModelOptions::default() }
}

/// Compares a batch with its lanes alone; returns the number of failed lanes.
fn compare(model: &Model, program: &Program, params: &[&str], theta: &[f64], input: &str, xs: &[f64]) -> usize {
    let batch = model.evaluate(theta, &[Column::Reals(xs.to_vec())], Want::Gradients).unwrap();
    let n = params.len();
    for (set, theta) in theta.chunks(n).enumerate() {
        let named: Vec<(&str, f64)> = params.iter().copied().zip(theta.iter().copied()).collect();
        for (row, &x) in xs.iter().enumerate() {
            let lane = set * xs.len() + row;
            let failed = batch.failures.iter().any(|f| f.0 == lane);
            match alone(program, Mode::Direct, &named, &[(input, Datum::Real(x))]) {
                Some((value, grad)) => {
                    assert!(!failed, "lane {lane} failed only in the batch");
                    assert_eq!(batch.values[lane].to_bits(), value, "value of lane {lane}");
                    let got: Vec<u64> = batch.gradients[lane * n..(lane + 1) * n].iter().map(|g| g.to_bits()).collect();
                    assert_eq!(got, grad, "gradient of lane {lane}");
                }
                None => {
                    assert!(failed && batch.values[lane].is_nan(), "lane {lane} should have failed");
                }
            }
        }
    }
    batch.failures.len()
}

const STEPS: &str = "
(define (steps i s)
  (if (< (* i 0.01) x) (steps (+ i 1) (+ (* s a) (sin (* b s)))) s))
(steps 0 1.)";

#[test]
fn a_hundred_paths_are_exact_and_the_second_call_records_nothing() {
    let program = Program::new(STEPS);
    let xs = uniform(10_000, 1);
    // Paths that do not meet again: each is a recording.
    let separate = ModelOptions { joins: false, loops: false, ..options(Mode::Dmci, Passes::default(), 4096) };
    let model = Model::new(program.clone(), &["a", "b"], &["x"], separate);
    let theta = [0.9, 0.3];
    let first = model.evaluate(&theta, &[Column::Reals(xs.clone())], Want::Gradients).unwrap();
    let recordings = model.recordings();
    assert!((90..=101).contains(&recordings), "{recordings} recordings");
    let second = model.evaluate(&theta, &[Column::Reals(xs.clone())], Want::Gradients).unwrap();
    assert_eq!(model.recordings(), recordings, "the second call recorded");
    assert_eq!(first.values, second.values);
    compare(&model, &program, &["a", "b"], &theta, "x", &xs[..500]);
}

#[test]
fn every_mode_and_every_switch_gives_the_same_bits() {
    let program = Program::new(STEPS);
    let xs = uniform(64, 7);
    let theta = [0.9, 0.3, 0.8, 0.5, 1.1, -0.2];
    for mode in [Mode::Direct, Mode::Dmci, Mode::Tower(2)] {
        for switches in 0..8 {
            let on = |bit: u32| switches & bit != 0;
            let passes = Passes { dead: on(1), merge: on(2), stage: on(4), split: on(1) };
            let model = Model::new(program.clone(), &["a", "b"], &["x"], options(mode.clone(), passes, 4096));
            compare(&model, &program, &["a", "b"], &theta, "x", &xs);
        }
    }
}

#[test]
fn lanes_that_fail_do_not_harm_the_others() {
    let program = Program::new("(define v (vector 1. 2. 3.)) (* a (vector-ref v (exact (floor (* 4. x)))))");
    let model = Model::new(program.clone(), &["a"], &["x"], options(Mode::Dmci, Passes::default(), 4096));
    let xs = uniform(200, 3);
    let failed = compare(&model, &program, &["a"], &[2.5], "x", &xs);
    assert!(failed > 10 && failed < 100, "{failed}");
}

#[test]
fn sorting_by_hand_keeps_a_bounded_number_of_paths() {
    let program = Program::new(
        "(define (insert x l) (if (or (null? l) (< x (car l))) (cons x l) (cons (car l) (insert x (cdr l)))))
         (define (sorted l) (if (null? l) l (insert (car l) (sorted (cdr l)))))
         (define (dot a b) (if (null? a) 0. (+ (* (car a) (car b)) (dot (cdr a) (cdr b)))))
         (dot (sorted (map (lambda (x) (* x k)) xs)) xs)",
    );
    let model = Model::new(program.clone(), &["k"], &["xs"], options(Mode::Direct, Passes::default(), 50));
    let long = std::env::var_os("DMCI_LONG").is_some_and(|v| v != "0");
    let lists: Vec<Vec<f64>> = (0..if long { 100_000 } else { 300 }).map(|i| uniform(12, 100 + i)).collect();
    let column = Column::Data(lists.iter().cloned().map(Datum::from).collect());
    let batch = model.evaluate(&[1.5f64], &[column], Want::Gradients).unwrap();
    assert!(batch.failures.is_empty());
    assert!(batch.walked > 200, "{} lanes were walked", batch.walked);
    for (lane, list) in lists.into_iter().enumerate() {
        let (value, grad) = alone(&program, Mode::Direct, &[("k", 1.5)], &[("xs", Datum::from(list))]).unwrap();
        assert_eq!((batch.values[lane].to_bits(), batch.gradients[lane].to_bits()), (value, grad[0]));
    }
}

#[test]
fn rows_may_differ_in_type_and_length() {
    let program = Program::new("(if (symbol? x) a (if (list? x) (* a (apply + x)) (* a a x)))");
    let model = Model::new(program.clone(), &["a"], &["x"], options(Mode::Dmci, Passes::default(), 4096));
    let rows = vec![
        Datum::Real(2.0),
        Datum::Integer(3),
        Datum::from(vec![1.0, 2.0]),
        Datum::Symbol("s".into()),
        Datum::from(vec![1.0, 2.0, 4.0]),
        Datum::Real(5.0),
    ];
    let batch = model.evaluate(&[2.0], &[Column::Data(rows)], Want::Gradients).unwrap();
    assert_eq!(batch.values, [8.0, 12.0, 6.0, 2.0, 14.0, 20.0]);
    assert_eq!(batch.gradients, [8.0, 12.0, 3.0, 1.0, 7.0, 20.0]);
    assert_eq!(model.recordings(), 5);
}
