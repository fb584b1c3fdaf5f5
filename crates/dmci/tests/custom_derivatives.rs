//! Procedures whose derivative is given: the value of one procedure, the derivative of another.

#![allow(clippy::unwrap_used)]

mod common;

use common::{MODES, expect_errors, expect_values, options};
use dmci::{Column, Datum, GradOptions, Interpreter, Mode, Model, ModelOptions, Program, RunOptions, Want, Wrt};

#[test]
fn values_are_those_of_the_procedure_bit_for_bit() {
    let xs = [0.0, -0.0, 1.0, 0.1, -3.7, 1e300, 1e-310, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    for df in ["cos", "(lambda (x) +inf.0)", "(lambda (x) +nan.0)", "(lambda (x) 0.0)"] {
        for x in xs {
            let value = |text: &str, mode: &Mode| {
                let run = RunOptions { bindings: vec![("x".into(), Datum::Real(x))], ..options(mode) };
                let grad = GradOptions { run: run.clone(), wrt: Wrt::Default, hessian: false };
                let traced = Interpreter::shared().grad(&Program::new(text), &grad).unwrap().value;
                let plain = Interpreter::shared().run(&Program::new(text), &run).unwrap().value.as_f64().unwrap();
                assert_eq!(plain.to_bits(), traced.to_bits(), "{text} at {x}");
                plain
            };
            for f in ["(lambda (x) (sin (* 3 x)))", "(lambda (x) x)", "(lambda (x) -0.0)", "exp"] {
                for mode in &MODES {
                    let own = value(&format!("({f} x)"), mode);
                    let given = value(&format!("((with-derivative {f} {df}) x)"), mode);
                    assert_eq!(own.to_bits(), given.to_bits(), "{f} {df} {x} {mode}");
                }
            }
        }
    }
}

#[test]
fn derivatives_are_those_that_were_given() {
    expect_values(&[
        // A derivative that f does not have shows which one is used.
        ("(derivative (with-derivative floor (lambda (x) 7.0)) 1.5)", "7.0"),
        ("(derivative (with-derivative (lambda (x) 5) (lambda (x) (* 2 x))) 1.5)", "3.0"),
        ("(derivative (lambda (x) (* 10 ((with-derivative sin (lambda (x) x)) (* 2 x)))) 3.0)", "120.0"),
        ("((grad (with-derivative * (lambda (x y) (list 100.0 200.0)))) 2.0 3.0)", "(100.0 200.0)"),
        ("((grad (lambda (x) ((with-derivative + (lambda (x y) '(10 1))) x (* 2 x)))) 2.0)", "12.0"),
        ("((grad (with-derivative (lambda (v) 1.0) (lambda (v) (map square v)))) '(1.0 2.0 3.0))", "(1.0 4.0 9.0)"),
        (
            "((grad (with-derivative (lambda (v k) 1.0) (lambda (v k) (list (vector k 2) 3)))) #(1.0 2.0) 5.0)",
            "(#(5.0 2.0) 3.0)",
        ),
        ("(jvp (with-derivative sin (lambda (x) 4.0)) 1.0 0.5)", "2.0"),
        // Derivatives of the derivative come from df.
        ("((derivative (derivative (with-derivative floor (lambda (x) (* x x x))))) 2.0)", "12.0"),
        ("((derivative (derivative (derivative (with-derivative floor (lambda (x) (* x x x)))))) 2.0)", "12.0"),
        ("(let ((f (with-derivative sin cos))) (= ((derivative (derivative f)) 0.7) (- (sin 0.7))))", "#t"),
        (
            "(derivative (lambda (x) (derivative (lambda (y) ((with-derivative * (lambda (x y) (list y x))) x y)) 2.0)) 3.0)",
            "1.0",
        ),
        // One given derivative inside of another.
        (
            "(define g (with-derivative floor (lambda (x) 3.0)))
          ((derivative (derivative (with-derivative sin (lambda (x) (g (* x x)))))) 2.0)",
            "12.0",
        ),
        // Tensors count by their numbers.
        ("(tensor->list ((grad (with-derivative vsum (lambda (v) (* 10 v)))) (vec 1. 2.)))", "(10.0 20.0)"),
        (
            "(define given (with-derivative (lambda (m k) (* k (det m))) (lambda (m k) (list (* 2 m) 7))))
          (let ((g ((grad given) (mat '(1. 2.) '(3. 4.)) 5.))) (cons (tensor->list (car g)) (cdr g)))",
            "(((2.0 4.0) (6.0 8.0)) 7.0)",
        ),
        ("(check-derivative det (lambda (m) (* (det m) (transpose (inv m)))) (mat '(2. 0.) '(0. 4.)))", "0.0"),
        // What does not depend has derivative 0, and what is infinite is infinite.
        ("(derivative (lambda (x) ((with-derivative sin cos) 1.0)) 2.0)", "0.0"),
        ("(derivative (with-derivative sin (lambda (x) +inf.0)) 1.0)", "+inf.0"),
        ("((with-derivative (lambda (x) 5) (lambda (x) 1)) 2)", "5.0"),
        ("((with-derivative (lambda () 5) (lambda () '())))", "5"),
    ]);
    expect_errors(&[
        ("((with-derivative * (lambda (x y) y)) 1.0 2.0)", "E0303", "((with-derivative * (lambda (x y) y)) 1.0 2.0)"),
        ("((with-derivative sin (lambda (x) 'a)) 1.0)", "E0303", "((with-derivative sin (lambda (x) 'a)) 1.0)"),
        ("((with-derivative list (lambda (x) 1)) 1.0)", "E0303", "((with-derivative list (lambda (x) 1)) 1.0)"),
        ("((with-derivative 5 cos) 1.0)", "E0304", "((with-derivative 5 cos) 1.0)"),
    ]);
}

#[test]
fn derivatives_are_checked_on_request() {
    expect_values(&[
        ("(check-derivative sin cos 1.0)", "0.0"),
        ("(< (check-derivative tanh (lambda (x) (/ 1 (square (cosh x)))) 0.7) 1e-15)", "#t"),
        ("(check-derivative square (lambda (x) (* 4 x)) 3.0)", "0.5"),
        ("(check-derivative * (lambda (x y) (list y x)) 2.0 3.0)", "0.0"),
        ("(check-derivative * (lambda (x y) (list x y)) 3.0 4.0)", "0.25"),
        (
            "(check-derivative (lambda (v) (apply + (map square v))) (lambda (v) (map (lambda (x) (* 2 x)) v)) '(1.0 2.0))",
            "0.0",
        ),
        ("(check-derivative (lambda (x) 1) (lambda (x) 0) 3.0)", "0.0"),
        ("(check-derivative (lambda (x) 1) (lambda (x) 1e-300) 3.0)", "1.0"),
        ("(check-derivative sin (lambda (x) +nan.0) 3.0)", "+inf.0"),
        ("(check-derivative * (lambda (x y) (list +nan.0 y)) 3.0 4.0)", "+inf.0"),
        ("(check-derivative * (lambda (x y) (list y +nan.0)) 3.0 4.0)", "+inf.0"),
        ("(check-derivative sqrt (lambda (x) +inf.0) 0.0)", "0.0"),
    ]);
    expect_errors(&[("(check-derivative * + 1.0 2.0)", "E0303", "(check-derivative * + 1.0 2.0)")]);
}

/// The root of a cubic by Newton's method, and its derivative by the implicit function theorem.
const ROOT: &str = "
(define (root p)
  (let loop ((y 1.0) (n 0))
    (if (= n 60) y (loop (- y (/ (- (+ (* y y y) y) p) (+ (* 3 y y) 1))) (+ n 1)))))
(define implicit (with-derivative root (lambda (p) (/ 1 (+ 1 (* 3 (square (implicit p))))))))";

#[test]
fn implicit_derivatives_agree_with_the_tape_and_work_in_batches() {
    let text = format!("{ROOT} (* a (implicit (* b x)))");
    let unrolled = format!("{ROOT} (* a (root (* b x)))");
    let grad = |text: &str, hessian| {
        let bindings = [("a", 2.0), ("b", 1.5), ("x", 0.8)].map(|(n, x)| (n.to_string(), Datum::Real(x))).to_vec();
        let run = RunOptions { bindings, ..options(&Mode::Dmci) };
        let wrt = Wrt::Names(vec!["a".into(), "b".into()]);
        Interpreter::shared().grad(&Program::new(text), &GradOptions { run, wrt, hessian }).unwrap()
    };
    // The derivative asks for the value itself, so it is given without recursion here.
    let text = text.replace("(square (implicit p))", "(square (root p))");
    let (given, own) = (grad(&text, true), grad(&unrolled, true));
    assert_eq!(given.value.to_bits(), own.value.to_bits());
    let flat = |h: Option<Vec<Vec<f64>>>| h.unwrap().concat();
    for (g, o) in given.flat.into_iter().chain(flat(given.hessian)).zip(own.flat.into_iter().chain(flat(own.hessian))) {
        assert!((g - o).abs() <= 1e-12 * o.abs().max(1.0), "{g} for {o}");
    }
    let xs: Vec<f64> = (0..50).map(|i| 0.05 + 0.1 * i as f64).collect();
    let batch = |text: &str| {
        let model = Model::new(Program::new(text), &["a", "b"], &["x"], ModelOptions::default());
        let batch = model.evaluate(&[2.0, 1.5], &[Column::Reals(xs.clone())], Want::Gradients).unwrap();
        assert_eq!(model.recordings(), 1);
        batch
    };
    let (given, own) = (batch(&text), batch(&unrolled));
    assert_eq!(given.values, own.values);
    for (g, o) in given.gradients.iter().zip(&own.gradients) {
        assert!((g - o).abs() <= 1e-12 * o.abs().max(1.0), "{g} for {o}");
    }
}
