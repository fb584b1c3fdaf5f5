//! Gradients flow through evaluators: `eval` of programs built at run time, the evaluator of the
//! paper, changed copies of our own, and one whose dispatch is arithmetic.

#![allow(clippy::unwrap_used)]

mod common;

use common::{MODES, bits, root, shared};
use dmci::{Bindings, Datum, GradOptions, Gradient, Interpreter, Mode, Program, RunOptions, Wrt, system};

fn bound(names: &[(&str, f64)]) -> Bindings {
    names.iter().map(|&(name, x)| (name.to_string(), Datum::Real(x))).collect()
}

#[track_caller]
fn grad(text: &str, mode: &Mode, at: &[(&str, f64)], hessian: bool) -> Gradient {
    let run = RunOptions { mode: mode.clone(), bindings: bound(at), ..RunOptions::default() };
    let wrt = Wrt::Names(at.iter().map(|(name, _)| name.to_string()).collect());
    let options = GradOptions { run, wrt, hessian };
    Interpreter::shared().grad(&Program::new(text), &options).unwrap_or_else(|e| panic!("{text} in {mode}: {e}"))
}

fn evaluator(name: &str, text: &str) -> Mode {
    Mode::Evaluator { name: name.into(), text: text.into() }
}

/// Programs that build programs: traced numbers are constants inside of the built text, or values of
/// variables that it refers to, or both; and the same functions written down.
const BUILT: [(&str, &str); 6] = [
    ("(eval (list '* k (list 'exp (list '* r k))) (interaction-environment))", "(* k (exp (* r k)))"),
    ("(eval `((lambda (f) (f (f ,k))) (lambda (y) (+ (* y ,r) k))))", "(+ (* (+ (* k r) k) r) k)"),
    // A constant inside of quoted data of the built program.
    ("(eval `(let ((v '#(1. ,k (,r . 2.)))) (* (vector-ref v 1) (car (vector-ref v 2)))))", "(* k r)"),
    // A program that writes a program that writes a program.
    ("(eval (eval (list 'quasiquote (list '* (list 'unquote 'k) (list 'sin (list 'unquote 'r))))))", "(* k (sin r))"),
    // Built by a loop: Horner's scheme with traced coefficients, unrolled.
    (
        "(define (horner l) (if (null? l) 0. `(+ ,(car l) (* x ,(horner (cdr l))))))
         (eval `(define (p x) ,(horner (list k r (* k r)))))
         (p 0.7)",
        "(+ k (* 0.7 (+ r (* 0.7 (+ (* k r) (* 0.7 0.))))))",
    ),
    // The branch is chosen by a traced constant of the program.
    ("(eval `(if (< ,k 0.) (* ,k ,k ,r) (/ ,r ,k)))", "(if (< k 0.) (* k k r) (/ r k))"),
];

#[test]
fn gradients_flow_through_eval_of_programs_built_at_run_time() {
    for (built, written) in BUILT {
        for at in [[("k", 1.3), ("r", 0.4)], [("k", -0.2), ("r", 2.5)]] {
            let expected = grad(written, &Mode::Direct, &at, true);
            assert!(expected.flat.iter().all(|g| *g != 0.0), "{written} would not show a lost gradient");
            for mode in &MODES {
                let got = grad(built, mode, &at, true);
                assert_eq!(got.value.to_bits(), expected.value.to_bits(), "{built} in {mode}");
                assert_eq!(bits(&got.flat), bits(&expected.flat), "{built} in {mode}");
                assert_eq!(got.hessian, expected.hessian, "{built} in {mode}");
                assert_eq!(got.tape.print(), expected.tape.print(), "{built} in {mode}");
            }
        }
    }
}

#[test]
fn derivatives_are_taken_of_programs_built_at_run_time() {
    // d/dk of d/dx (k x^3) at 2 is 12.
    let text = "((derivative (eval `(lambda (x) (* ,k x x x)))) 2.)";
    for mode in &MODES {
        let got = grad(text, mode, &[("k", 1.5)], false);
        assert_eq!((got.value, got.flat[0]), (18.0, 12.0), "{mode}");
    }
}

/// The listing of the evaluator in the paper, as it is printed.
fn listing() -> Option<String> {
    let paper = shared("seed.tex")?;
    let lines: Vec<&str> = paper.lines().skip(1386).take(1659 - 1386).collect();
    let start = lines.iter().position(|l| l.contains("\\begin{lstlisting}")).map_or(0, |i| i + 1);
    let end = lines.iter().position(|l| l.contains("\\end{lstlisting}")).unwrap_or(lines.len());
    Some(lines[start..end].join("\n"))
}

/// A model of experiment A with a point for its parameters, and `x`.
fn experiment_a() -> Vec<(String, Vec<(&'static str, f64)>)> {
    let points: [&[(&str, f64)]; 6] = [
        &[("alpha", 0.5)],
        &[("a", 3.0), ("b", 0.5)],
        &[("alpha", 2.0)],
        &[("alpha", 1.5)],
        &[("a", 2.0), ("b", 1.5)],
        &[("a", 2.0), ("b", 0.5), ("c", 1.0)],
    ];
    let read =
        |i: usize| std::fs::read_to_string(root().join(format!("crates/dmci-repro/models/a/p{}.scm", i + 1))).unwrap();
    points.into_iter().enumerate().map(|(i, point)| (read(i), [point, &[("x", 1.7)]].concat())).collect()
}

#[test]
fn gradients_flow_through_the_evaluator_of_the_paper() {
    let Some(listing) = listing() else { return };
    let paper = evaluator("paper.scm", &listing);
    for (i, (text, at)) in experiment_a().into_iter().enumerate() {
        let direct = grad(&text, &Mode::Direct, &at, true);
        let through = grad(&text, &paper, &at, true);
        assert_eq!(through.value.to_bits(), direct.value.to_bits(), "P{}", i + 1);
        assert_eq!(bits(&through.flat), bits(&direct.flat), "P{}", i + 1);
        assert_eq!(through.hessian, direct.hessian, "P{}", i + 1);
        assert!(direct.flat.iter().all(|g| g.is_finite() && *g != 0.0), "P{}", i + 1);
    }
    // Twice: the evaluator of the paper, run by itself, runs a program.
    let text = format!(
        "{listing}\n(scheme-eval-program '((define (f u) (+ (* a (* u u)) c)) (f (+ x b)))
           (list (cons 'a a) (cons 'b b) (cons 'c c) (cons 'x x)))"
    );
    let (p6, at) = experiment_a().pop().unwrap();
    let direct = grad(&p6, &Mode::Direct, &at, false);
    for mode in [&paper, &Mode::Dmci] {
        assert_eq!(bits(&grad(&text, mode, &at, false).flat), bits(&direct.flat), "{mode}");
    }
}

/// Programs that a changed evaluator must still differentiate, with a point.
const PROGRAMS: [&str; 4] = [
    "(define (f x n) (if (= n 0) x (f (+ (* a x) (sin (* b x))) (- n 1)))) (f 0.3 12)",
    "(let loop ((i 0) (s 0.)) (if (< s (* 10 a)) (loop (+ i 1) (+ s (* b b) 0.5)) (* s a)))",
    "(apply + (map (lambda (x y z) (* x y z)) (list a b 2.) (list b a 3.) (list 1. 2. a)))",
    "(define-record-type point (point x y) point? (x px) (y py)) (let ((p (point a b))) (expt (px p) (py p)))",
];

fn changed(from: &str, to: &str) -> Mode {
    let text = system::EVALUATOR.replace(from, to);
    assert_ne!(text, system::EVALUATOR, "eval.scm has changed: {from} is not in it");
    let text = format!(
        "(define calls 0)\n{text}
         (define (evaluate forms bindings) (evaluate-program forms (interaction-environment)))"
    );
    evaluator("changed.scm", &text)
}

#[test]
fn gradients_flow_through_changed_copies_of_our_evaluator() {
    let at = [("a", 1.2), ("b", 0.7)];
    let copies = [
        // Another order of evaluation of two operands.
        changed(
            "(let* ((f (operator frame)) (a (a frame)) (b (b frame)))",
            "(let* ((b (b frame)) (a (a frame)) (f (operator frame)))",
        ),
        // Calls of two arguments are counted.
        changed("(f a b)))))\n", "(set! calls (+ calls 1)) (f a b)))))\n"),
        // Frames are lists that are copied: nothing of the evaluator is on the tape.
        changed("(lambda (a b) (body (vector frame a b)))", "(lambda (a b) (body (list->vector (list frame a b))))"),
    ];
    for program in PROGRAMS {
        let direct = grad(program, &Mode::Direct, &at, false);
        for (i, copy) in copies.iter().enumerate() {
            let got = grad(program, copy, &at, false);
            assert_eq!(got.value.to_bits(), direct.value.to_bits(), "{program} by copy {i}");
            assert_eq!(bits(&got.flat), bits(&direct.flat), "{program} by copy {i}");
        }
    }
    // An evaluator that means something else by a program has the gradient of what it means.
    let doubled =
        changed("(else (lambda (frame) x))", "(else (let ((x (if (real? x) (* 2 x) x))) (lambda (frame) x)))");
    let got = grad("(* a a 3.)", &doubled, &at[..1], false);
    assert_eq!((got.value, got.flat[0]), (1.2 * 1.2 * 6.0, 2.0 * 6.0 * 1.2));
}

#[test]
fn an_evaluator_may_count_with_traced_numbers() {
    // The cost of a call is a parameter of the evaluator's own: the value is the program's plus what
    // its four calls of two arguments cost.
    let text = system::EVALUATOR.replace("(f a b)))))\n", "(set! spent (+ spent price)) (f a b)))))\n");
    let text = format!(
        "(define spent 0) (define price 0) {text}
         (define (evaluate forms bindings)
           (set! price (cdr (assq 'price bindings)))
           (let ((value (evaluate-program forms (interaction-environment)))) (+ value spent)))"
    );
    let got =
        grad("(+ (* a a) (- (* a 3.) 1.))", &evaluator("priced.scm", &text), &[("a", 2.0), ("price", 0.25)], false);
    assert_eq!((got.value, got.flat), (10.0, vec![7.0, 4.0]));
}

/// An evaluator of arithmetic whose operators are mixtures: a call `(w1 w2 w3 x y)` with weights
/// gives `w1 (x + y) + w2 (x * y) + w3 (x - y)`.
const SOFT: &str = "
(define (evaluate forms bindings)
  (define (value x)
    (cond ((symbol? x) (cdr (assq x bindings)))
          ((pair? x) (apply mixture (map value x)))
          (else x)))
  (define (mixture w1 w2 w3 x y)
    (let* ((e1 (exp w1)) (e2 (exp w2)) (e3 (exp w3)) (all (+ e1 e2 e3)))
      (+ (* (/ e1 all) (+ x y)) (* (/ e2 all) (* x y)) (* (/ e3 all) (- x y)))))
  (value (car forms)))";

#[test]
fn gradients_flow_through_an_evaluator_whose_dispatch_is_arithmetic() {
    let at = [("p", 0.3), ("q", -0.2), ("r", 0.1), ("x", 1.5), ("y", 2.5)];
    let text = "(p q r (r p q x y) y)";
    let soft = evaluator("soft.scm", SOFT);
    let got = grad(text, &soft, &at, false);
    for (k, (name, x)) in at.iter().enumerate() {
        let h = 1e-5;
        let value = |x: f64| {
            let mut moved = at;
            moved[k].1 = x;
            grad(text, &soft, &moved, false).value
        };
        let difference = (value(x + h) - value(x - h)) / (2.0 * h);
        assert!((got.flat[k] - difference).abs() < 1e-8, "d/d{name}: {} but {difference}", got.flat[k]);
        assert!(difference.abs() > 1e-3, "d/d{name} says nothing");
    }
}
