//! Joins: with and without them, in every mode, lanes have the same bits; with them there are fewer paths.

#![allow(clippy::unwrap_used)]

mod common;

use common::{first_difference, uniform};
use dmci::{Batch, Column, Datum, Mode, Model, ModelOptions, Passes, Program, RunOptions, Want};

fn run(text: &str, mode: Mode, joins: bool, want: Want) -> (Batch, u64) {
    let options = ModelOptions {
        run: RunOptions { mode, ..RunOptions::default() },
        passes: Passes::default(),
        joins,
        ..ModelOptions::default()
    };
    let model = Model::new(Program::new(text), &["a", "b"], &["x", "y"], options);
    let theta = [0.4, 1.5, 0.7, -0.3, 0.1, 0.9];
    let ys = uniform(60, 9).into_iter().map(|u| Datum::Integer((u * 7.0) as i64)).collect();
    let columns = [Column::Reals(uniform(60, 3)), Column::Data(ys)];
    let batch = model.evaluate(&theta, &columns, want).unwrap();
    assert!(batch.failures.is_empty(), "{text}: {}", batch.failures[0].1);
    (batch, model.recordings())
}

/// Compares all modes with and without joins; returns the number of recordings with joins.
fn same(text: &str, want: Want) -> u64 {
    let (flat, _) = run(text, Mode::Direct, false, want);
    let mut most = 0;
    for mode in [Mode::Direct, Mode::Dmci, Mode::Tower(2)] {
        let (joined, recordings) = run(text, mode.clone(), true, want);
        let lists = [
            ("values", &flat.values, &joined.values),
            ("gradients", &flat.gradients, &joined.gradients),
            ("second derivatives", &flat.hessians, &joined.hessians),
        ];
        for (what, a, b) in lists {
            let at = first_difference(a, b);
            let shown = at.and_then(|at| Some((a.get(at)?, b.get(at)?)));
            assert!(at.is_none(), "{what} of {text} in {mode:?}: {at:?} {shown:?}");
        }
        // Through two evaluators the frames of a loop are not the program's own: exact, but not joined.
        if mode != Mode::Tower(2) {
            most = most.max(recordings);
        }
    }
    most
}

const JOINED: &[&str] = &[
    "(if (< x a) (* b x) (* a x x))",
    "(+ 1 (if (< x a) (* b x) (* a x x)))",
    "(let ((z (if (< x a) b a))) (* z z x))",
    "(let ((z (if (< x a) x (* b x)))) (+ (* z x) (* x z) (* 3 z) x))",
    "(* a (cond ((< x 0.2) x) ((< x a) (exp x)) ((> x 0.9) 2.0) (else (sin x))))",
    "(define (f u) (if (> u a) (- u a) (* b (- a u)))) (+ (f x) (f (* 2 x)) (f (f x)))",
    "(* a x (if (and (< x a) (> x 0.1)) 2.0 3.0) (if (or (> x 0.8) (< x b)) x b))",
    "(define s 0.0) (if (< x a) (set! s (* b x)) (set! s 2.0)) (* s s a)",
    "(define v (vector 1. 2.)) (if (< x a) (vector-set! v 0 (* b x))) (* a (vector-ref v 0) (vector-ref v 1))",
    "(let ((p (if (< x a) (cons x a) (cons b x)))) (* (car p) (cdr p)))",
    "(apply + (if (< x a) (list x a b) (list b x 1.0)))",
    "(when (< x a) (set! a (* 2 a))) (* a b x)",
    "(let loop ((i 0) (s x)) (if (= i 20) s (loop (+ i 1) (if (< s a) (+ s (* b 0.1)) (* s 0.9)))))",
    "(let loop ((i 0) (s x)) (cond ((= i 20) s) ((< s a) (loop (+ i 1) (+ s 0.07 (* b 0.01)))) (else (loop (+ i 1) (* s 0.8)))))",
    "(define (go i s t) (if (= i 15) (+ s t) (if (< s t) (go (+ i 1) (+ s a) t) (go (+ i 1) s (+ t b 0.5))))) (go 0 x 0.5)",
    "(do ((i 0 (+ i 1)) (s x (if (< s a) (* 2 s) (- s 0.3)))) ((= i 12) (* s b)))",
    "(define (step s k) (let ((q (if (> s a) (* b (- s a)) 0.0)) (e (if (> s 0.3) 0.1 (* 0.1 (/ s 0.3))))) (max 0.0 (- (+ s 0.2) q e)))) (let loop ((i 0) (s x) (t 0.0)) (if (= i 10) (+ s t) (loop (+ i 1) (step s i) (+ t s))))",
    "(if (< x a) (sqrt (- a x)) (* b 2.0))",
    "(let ((root (sqrt (- x x)))) (if (< x a) (* a x) (+ root b)))",
    "(* a (if (even? y) 1.0 2.0) (if (< y 4) (* 1.0 y) x))",
    "(sum (if (< x a) (vec a x 1.0) (vec b b x)))",
    "(* b (if (< x a) (if (< x (* 0.5 a)) (exp x) (exp (- x))) (if (< x 0.8) (sin x) (cos x))))",
    "(eval `(let ((z ,x)) (if (< z ,a) (* z ,b) (+ z ,a))))",
];

#[test]
fn joined_decisions_have_the_bits_of_separate_paths() {
    for text in JOINED {
        assert_eq!(same(text, Want::Gradients), 1, "{text}");
    }
}

#[test]
fn second_derivatives_are_the_same_through_joins() {
    for text in JOINED {
        same(text, Want::Hessians);
    }
}

/// Decisions inside of the arm that the recorded lane does not take: one of their outcomes leads to where the other arm
/// ends, and no lane has another one.
const CHOSEN: &[&str] = &[
    "(let loop ((i 0) (s x)) (cond ((= i 9) s) ((< s a) (loop (+ i 1) (+ s 0.07 (* b 0.01)))) ((>= s a) (loop (+ i 1) (* s 0.8))) (else +nan.0)))",
    "(let loop ((i 0) (s x)) (if (= i 9) s (if (>= s a) (loop (+ i 1) (* s 0.8)) (if (< s a) (loop (+ i 1) (+ s b)) (error \"no number\" s)))))",
    "(define (go i s t) (if (= i 9) (+ s t) (if (<= s t) (go (+ i 1) (+ s a 0.3) t) (if (> s t) (go (+ i 1) s (+ t 0.5)) (list s t))))) (go 0 x 0.5)",
    "(define (root u) (if (>= u 0.0) (sqrt u) (error \"negative\" u))) (if (< x a) (+ 1.0 (root (- a x))) (* b (root (- x a))))",
];

#[test]
fn what_the_arm_that_is_not_taken_decides_leads_to_where_the_other_one_ends() {
    for text in CHOSEN {
        assert_eq!(same(text, Want::Gradients), 1, "{text}");
    }
}

#[test]
fn lanes_that_decide_otherwise_leave_the_path() {
    // Where s is not a number, the third arm is taken.
    let text = "(let loop ((i 0) (s (if (< x 0.3) (* +nan.0 x) x))) (cond ((= i 6) s) ((< s a) (loop (+ i 1) (+ s 0.07))) ((>= s a) (loop (+ i 1) (* s b 0.8))) (else (* a 7.0))))";
    let recordings = same(text, Want::Gradients);
    assert!(recordings > 1, "{recordings}");
}

/// Arms that differ in structure, print, fail, or escape: guards, but exact.
const SEPARATE: &[&str] = &[
    "(* a (if (> y 3) (* y b) (- y)))",
    "(let ((f (if (< x a) (lambda (u) (* u x)) (lambda (u) (+ u b))))) (* a (if (< x a) (* 2 x) x)))",
    "(length (if (< x a) (list 1 2) (list 1)))",
    "(* a (if (< x a) 1 2.5))",
    "(if (< x a) (begin (display x) (* a x)) b)",
    "(if (< x a) (* a (random 1.0)) b)",
    "(* a (call/cc (lambda (k) (if (< x a) (k 2.0) (* b x)))))",
    "(if (< x a) (guard (e (#t (* a x))) (raise 'oops)) b)",
    "(define (insert x l) (if (or (null? l) (< x (car l))) (cons x l) (cons (car l) (insert x (cdr l))))) (car (insert x (insert a (insert b '()))))",
    "(let loop ((i 0) (s x)) (if (> s 3.0) (* i a) (loop (+ i 1) (+ s (* 0.4 (abs b)) 0.2))))",
    "(* a (vector-ref (vector 1. 2. 3.) (if (< x a) 0 1)))",
    "(* a (string-length (if (< x a) \"abc\" \"de\")))",
];

#[test]
fn decisions_that_cannot_be_joined_stay_exact() {
    for text in SEPARATE {
        same(text, Want::Gradients);
    }
}

#[test]
fn a_threshold_in_a_long_loop_is_a_few_recordings() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../dmci-repro/models/bench/bucket.scm")).unwrap();
    let rows: Vec<f64> = (0..16).map(|i| 0.8 + 0.4 * i as f64 / 15.0).collect();
    let truth = [60.0, 15.0, 0.15, 0.3];
    let noise = uniform(4 * 64, 11);
    let theta: Vec<f64> = noise.iter().enumerate().map(|(i, u)| truth[i % 4] * (0.7 + 0.6 * u)).collect();
    for mode in [Mode::Direct, Mode::Dmci] {
        let options = ModelOptions { run: RunOptions { mode, ..RunOptions::default() }, ..ModelOptions::default() };
        let model = Model::new(Program::new(&text), &["c", "w", "k", "a"], &["wetness", "days"], options);
        let days = Column::Data(vec![Datum::Integer(1000); 16]);
        let batch = model.evaluate(&theta, &[Column::Reals(rows.clone()), days], Want::Gradients).unwrap();
        assert!(batch.failures.is_empty(), "{}", batch.failures[0].1);
        assert!(model.recordings() <= 5, "{} recordings", model.recordings());
    }
}
