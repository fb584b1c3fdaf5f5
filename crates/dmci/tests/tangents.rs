//! Forward mode through joined decisions: a lane has the tangents of the arms that it takes, bit for bit, and
//! signs of zeros and what is not finite in another arm are no exception.

#![allow(clippy::unwrap_used)]

mod common;

use common::{MODES, bits, uniform};
use dmci::{Batch, Column, Mode, Model, ModelOptions, Program, RunOptions, Want};

fn run(text: &str, mode: Mode, joins: bool, want: Want) -> (Batch, u64) {
    let options = ModelOptions {
        run: RunOptions { mode, ..RunOptions::default() },
        joins,
        loops: joins,
        ..ModelOptions::default()
    };
    let model = Model::new(Program::new(text), &["a", "b"], &["x"], options);
    let theta = [0.4, 1.5, 0.7, -0.3, 0.1, 0.0];
    let batch = model.evaluate(&theta, &[Column::Reals(uniform(40, 3))], want).unwrap();
    assert!(batch.failures.is_empty(), "{text}: {}", batch.failures[0].1);
    (batch, model.recordings())
}

/// Programs whose value is a derivative along a direction. In many of them one arm does not move with what is
/// moved, and what follows would show a 0 that was added or multiplied in vain.
const TANGENTS: &[&str] = &[
    "(jvp (lambda (z) (if (< x a) (* z z b) (sin z))) x 1.0)",
    // No tangent in one arm.
    "(jvp (lambda (z) (if (< x a) b (* z z))) x 1.0)",
    "(jvp (lambda (z) (if (< x a) (* z z) b)) x 1.0)",
    "(jvp (lambda (z) (* z (if (< x a) b (exp z)))) x -0.0)",
    "(jvp (lambda (z) (* (if (< x a) b (exp z)) (- z))) x 0.0)",
    // 0 times infinity in vain.
    "(jvp (lambda (z) (+ z (/ (if (< x a) 2.0 z) (- x x)))) x 1.0)",
    "(jvp (lambda (z) (* (if (< x a) 2.0 z) (/ 1.0 (- x x)))) x 1.0)",
    // A sum with a zero of the other sign.
    "(/ 1.0 (jvp (lambda (z) (+ (if (< x a) b z) (* -0.0 z))) x 1.0))",
    // Decisions inside of decisions, one after the other, and in loops.
    "(jvp (lambda (z) (let ((u (if (< x a) b z)) (v (if (< x 0.3) z a))) (+ (* u v) (if (> x 0.6) u v)))) x 1.0)",
    "(jvp (lambda (z) (if (< z a) (if (< z (* 0.5 a)) b (* z z)) (if (< z 0.8) a (* b z)))) x 1.0)",
    "(jvp (lambda (z) (let loop ((i 0) (s b)) (if (= i 6) (* s s) (loop (+ i 1) (if (< s z) (+ s 0.2) (* s z)))))) x 1.0)",
    // Several numbers that move, structures and tensors.
    "(apply + (jvp (lambda (l) (list (if (< (car l) a) (cadr l) b) (if (< x a) b (* (car l) (cadr l))))) (list x b) (list 1.0 -0.5)))",
    "(sum (jvp (lambda (v) (if (< x a) (vec b b) (* v v))) (vec x b) (vec 1.0 2.0)))",
    "(sum (jvp (lambda (v) (vec (if (< x a) b (ref v 0)) (ref v 1))) (vec x b) (vec -1.0 2.0)))",
    "(jvp (lambda (v) (let ((m (if (< x a) (mat (vec a b) (vec b 2.0)) (outer v v))) (w (if (< x 0.7) v (vec 1.0 b)))) (sum (matvec m w)))) (vec x b) (vec 1.0 2.0))",
    "(jvp (lambda (v) (let ((m (if (< x a) (* 3.0 (eye 2)) (+ (* 3.0 (eye 2)) (outer v v)))) (w (if (< x 0.7) v (vec 1.0 b)))) (sum (solve m w)))) (vec x b) (vec 1.0 2.0))",
    // Derivatives of derivatives.
    "((derivative (lambda (u) (jvp (lambda (z) (if (< z a) (* u b) (* z z u u))) x 1.0))) b)",
    "(jvp (lambda (u) (jvp (lambda (z) (* u (if (< z a) b (* z z u)))) u 1.0)) x 1.0)",
    "(jvp (lambda (u) ((derivative (lambda (z) (* u (if (< z a) (* b z) (* z z u))))) u)) x 1.0)",
];

fn same(want: Want) {
    for text in TANGENTS {
        let (flat, _) = run(text, Mode::Direct, false, want);
        for mode in MODES {
            for joins in [false, true] {
                let (other, recordings) = run(text, mode.clone(), joins, want);
                let what = format!("{text} in {mode:?}, joins {joins}");
                assert_eq!(bits(&flat.values), bits(&other.values), "values of {what}");
                assert_eq!(bits(&flat.gradients), bits(&other.gradients), "gradients of {what}");
                if joins && mode != Mode::Tower(2) {
                    assert_eq!(recordings, 1, "{what} is joined");
                }
            }
        }
    }
}

#[test]
fn tangents_through_joins_have_the_bits_of_separate_paths() {
    same(Want::Values);
}

#[test]
fn gradients_of_tangents_through_joins_have_the_bits_of_separate_paths() {
    same(Want::Gradients);
}

/// Against difference quotients, which know nothing of tapes.
#[test]
fn tangents_are_the_slopes_of_the_values() {
    let step = 1e-6;
    for text in TANGENTS.iter().filter(|t| t.starts_with("(jvp (lambda (z)") && t.ends_with("x 1.0)")) {
        let body = text.strip_prefix("(jvp ").and_then(|t| t.strip_suffix(" x 1.0)")).unwrap();
        let (slopes, _) = run(text, Mode::Dmci, true, Want::Values);
        let (above, _) = run(&format!("({body} (+ x {step}))"), Mode::Dmci, true, Want::Values);
        let (below, _) = run(&format!("({body} (- x {step}))"), Mode::Dmci, true, Want::Values);
        for lane in 0..slopes.values.len() {
            let quotient = (above.values[lane] - below.values[lane]) / (2.0 * step);
            let slope = slopes.values[lane];
            if quotient.is_finite() && slope.is_finite() && quotient.abs() < 1e4 {
                assert!((slope - quotient).abs() < 1e-5 * (1.0 + slope.abs()), "{text}: {slope} is not {quotient}");
            }
        }
    }
}
