//! Wrong gradients and wrong batches of earlier systems, each with the right answer in every mode,
//! alone and in lanes.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Complaints, MODES, expect_errors};
use dmci::{
    Batch, Column, Datum, GradOptions, Interpreter, Limits, Mode, Model, ModelOptions, Program, RunOptions, Shape,
    Want, Wrt,
};

fn close(got: f64, expected: f64) -> bool {
    got.to_bits() == expected.to_bits() || (got - expected).abs() <= 1e-13 * expected.abs()
}

fn model(text: &str, mode: &Mode, params: &[&str], inputs: &[&str]) -> Model {
    let run = RunOptions { mode: mode.clone(), ..RunOptions::default() };
    Model::new(Program::new(text), params, inputs, ModelOptions { run, ..ModelOptions::default() })
}

fn evaluate(model: &Model, params: &[f64], rows: Vec<f64>) -> Batch {
    model.evaluate(params, &[Column::Reals(rows)], Want::Gradients).unwrap()
}

/// A program of `s` and `x` at a point, its value and its gradient.
type Row = (&'static str, [f64; 2], f64, [f64; 2]);

/// Checks a table: alone in every mode, and as one of several lanes, with `s` a parameter.
#[track_caller]
fn check(table: &[Row]) {
    let mut complaints = Complaints::default();
    for &(text, at, value, grad) in table {
        for mode in &MODES {
            let bindings = ["s", "x"].iter().zip(at).map(|(n, x)| (n.to_string(), Datum::Real(x))).collect();
            let run = RunOptions { mode: mode.clone(), bindings, ..RunOptions::default() };
            let wrt = Wrt::Names(vec!["s".into(), "x".into()]);
            match Interpreter::shared().grad(&Program::new(text), &GradOptions { run, wrt, hessian: false }) {
                Ok(got) => {
                    let fine = close(got.value, value) && got.flat.iter().zip(grad).all(|(&g, e)| close(g, e));
                    if !fine {
                        complaints.add(format!("[{mode}] {text} at {at:?}: {} {:?}", got.value, got.flat));
                    }
                }
                Err(failure) => complaints.add(format!("[{mode}] {text}: {failure}")),
            }
            // The same point between others, as a parameter set and as a row.
            let other = [at[0] + 0.75, at[1] - 0.25];
            let both = model(text, mode, &["s", "x"], &["unused"]);
            let batch = evaluate(&both, &[other, at, other].concat(), vec![0.0, 1.0]);
            let by_row = model(text, mode, &["s"], &["x"]);
            let rows = evaluate(&by_row, &[other[0], at[0]], vec![other[1], at[1], other[1]]);
            let got = [batch.values[3], batch.gradients[6], batch.gradients[7], rows.values[4], rows.gradients[4]];
            let expected = [value, grad[0], grad[1], value, grad[0]];
            if !got.iter().zip(expected).all(|(&g, e)| close(g, e)) {
                complaints.add(format!("[{mode}] {text} at {at:?} in lanes: {got:?}"));
            }
        }
    }
    complaints.none();
}

/// Arithmetic of a number and a vector had the gradient 0 by the number, or that of another element.
#[test]
fn numbers_and_tensors_mix_with_the_right_gradient_in_both_orders() {
    check(&[
        ("(vsum (* s (vec 1 2 3)))", [2.0, 0.0], 12.0, [6.0, 0.0]),
        ("(vsum (* (vec 1 2 3) s))", [2.0, 0.0], 12.0, [6.0, 0.0]),
        ("(vsum (+ s (vec x 2 3)))", [2.0, 1.5], 12.5, [3.0, 1.0]),
        ("(vsum (+ (vec x 2 3) s))", [2.0, 1.5], 12.5, [3.0, 1.0]),
        ("(vsum (- s (vec x 2 3)))", [2.0, 1.5], -0.5, [3.0, -1.0]),
        ("(vsum (- (vec x 2 3) s))", [2.0, 1.5], 0.5, [-3.0, 1.0]),
        ("(vsum (/ s (vec x 2 4)))", [2.0, 0.5], 5.5, [2.75, -8.0]),
        ("(vsum (/ (vec x 2 4) s))", [2.0, 0.5], 3.25, [-1.625, 0.5]),
        ("(ref (/ (vec 1 x) s) 1)", [2.0, 3.0], 1.5, [-0.75, 0.5]),
        ("(vsum (max s (vec 1 x 5)))", [2.0, 3.0], 10.0, [1.0, 1.0]),
        ("(vsum (expt (vec x 2) s))", [2.0, 3.0], 13.0, [9.0 * 3f64.ln() + 4.0 * 2f64.ln(), 6.0]),
        ("(vsum (scale s (vec x 2)))", [2.0, 3.0], 10.0, [5.0, 2.0]),
        ("(vsum (scale (vec x 2) s))", [2.0, 3.0], 10.0, [5.0, 2.0]),
        // Rows and columns against matrices.
        ("(vsum (* (mat (vec 1 2) (vec 3 4)) (vec s x)))", [2.0, 3.0], 26.0, [4.0, 6.0]),
        ("(vsum (* (reshape (vec s x) 2 1) (mat (vec 1 2) (vec 3 4))))", [2.0, 3.0], 27.0, [3.0, 7.0]),
        ("(vsum (* (reshape (vec s x) 2 1) (vec s x 1)))", [2.0, 3.0], 30.0, [2.0 * 5.0 + 1.0, 2.0 * 5.0 + 1.0]),
        ("(vsum (- (mat (vec s s) (vec s x)) s x))", [2.0, 3.0], -11.0, [-1.0, -3.0]),
    ]);
    // What does not fit is an error; nothing outside of a vector is read.
    expect_errors(&[
        ("(dot (vec 1 2 3) (vec 1))", "E0601", "(dot (vec 1 2 3) (vec 1))"),
        ("(+ (vec 1 2 3) (vec 1 2))", "E0601", "(+ (vec 1 2 3) (vec 1 2))"),
        ("(matmul (eye 2) (eye 3))", "E0601", "(matmul (eye 2) (eye 3))"),
        ("(ref (vec 1 2) 2)", "E0306", "(ref (vec 1 2) 2)"),
    ]);
}

/// Batched loops took the decisions of the first lane, stopped early, and gave partial results.
#[test]
fn every_lane_takes_its_own_decisions() {
    let nested = "(let loop ((i 0) (s 0.))
                    (if (< i x) (if (odd? i) (loop (+ i 1) (+ s a)) (loop (+ i 1) (+ s (* a a)))) s))";
    let recursive = "(define (f i) (if (< i x) (+ (if (odd? i) a (* a a)) (f (+ i 1))) 0.)) (f 0)";
    let unguarded = "(if (> x 0) (/ a x) (* 5 a))";
    for mode in &MODES {
        for text in [nested, recursive] {
            let model = model(text, mode, &["a"], &["x"]);
            // Every order of lanes: the first one has the shortest loop, the longest, or none.
            for rows in [[1.0, 3.0, 5.0, 0.0], [5.0, 3.0, 1.0, 0.0], [0.0, 5.0, 1.0, 3.0]] {
                let batch = evaluate(&model, &[2.0, 3.0], rows.to_vec());
                assert!(batch.failures.is_empty());
                for (lane, (a, x)) in [2.0, 3.0].iter().flat_map(|&a| rows.map(|x| (a, x))).enumerate() {
                    let (even, odd) = (f64::ceil(x / 2.0), f64::floor(x / 2.0));
                    assert_eq!(batch.values[lane], even * a * a + odd * a, "{text} in {mode} at {x}");
                    assert_eq!(batch.gradients[lane], 2.0 * even * a + odd, "{text} in {mode} at {x}");
                }
            }
        }
        // The branch that is not taken does not poison the lane.
        let batch = evaluate(&model(unguarded, mode, &["a"], &["x"]), &[2.0], vec![0.0, 4.0, 0.0]);
        assert_eq!((&batch.values[..], &batch.gradients[..]), (&[10.0, 0.5, 10.0][..], &[5.0, 0.25, 5.0][..]));
    }
}

/// Loops stopped silently after a fixed number of iterations.
#[test]
fn loops_run_to_their_end_or_fail() {
    let text = "(let loop ((i 0) (s 0.)) (if (< i x) (loop (+ i 1) (+ s a)) s))";
    for mode in [Mode::Direct, Mode::Dmci] {
        let batch = evaluate(&model(text, &mode, &["a"], &["x"]), &[0.5], vec![1.0, 30_000.0, 2.0]);
        assert_eq!((&batch.values[..], &batch.gradients[..]), (&[0.5, 15e3, 1.0][..], &[1.0, 3e4, 2.0][..]));
        let limits = Limits { fuel: 100_000, ..Limits::default() };
        let run = RunOptions { mode: mode.clone(), limits, ..RunOptions::default() };
        let options = ModelOptions { run, ..ModelOptions::default() };
        let limited = Model::new(Program::new(text), &["a"], &["x"], options);
        let batch = evaluate(&limited, &[0.5], vec![1.0, 1e9, 2.0]);
        assert_eq!((batch.values[0], batch.values[2], batch.gradients[2]), (0.5, 1.0, 2.0), "{mode}");
        assert!(batch.values[1].is_nan() && batch.gradients[1].is_nan(), "{mode}: a partial result");
        let [(1, failure)] = &batch.failures[..] else { panic!("{mode}: one lane must fail") };
        assert_eq!(failure.diagnostics[0].code, "E0401", "{mode}");
    }
}

/// Single precision everywhere, clamped logarithms and roots, NaN for powers of 0, ties counted twice.
#[test]
fn numbers_are_doubles_without_clamps_and_ties_are_shared() {
    let tiny = 1e-12f64;
    check(&[
        ("(- (+ 1e8 s) 1e8)", [1.0, 0.0], 1.0, [1.0, 0.0]),
        ("(+ (* s 16777217) (* -1 s 16777216))", [1.0, 0.0], 1.0, [1.0, 0.0]),
        ("(sqrt s)", [tiny, 0.0], 1e-6, [5e5, 0.0]),
        ("(log s)", [tiny, 0.0], tiny.ln(), [1e12, 0.0]),
        ("(expt s 2)", [0.0, 0.0], 0.0, [0.0, 0.0]),
        ("(expt s 1)", [0.0, 0.0], 0.0, [1.0, 0.0]),
        ("(expt s 0)", [0.0, 0.0], 1.0, [0.0, 0.0]),
        ("(pow s x)", [0.0, 3.0], 0.0, [0.0, 0.0]),
        ("(pow s x)", [0.0, 1.0], 0.0, [1.0, 0.0]),
        ("(pow s x)", [-2.0, 3.0], -8.0, [12.0, f64::NAN]),
        ("(max s x)", [1.5, 1.5], 1.5, [0.5, 0.5]),
        ("(min s x)", [1.5, 1.5], 1.5, [0.5, 0.5]),
        ("(max s s)", [1.5, 0.0], 1.5, [1.0, 0.0]),
        ("(vsum (max (vec s 2) (vec x 2)))", [1.5, 1.5], 3.5, [0.5, 0.5]),
        ("(abs (- s x))", [1.5, 1.5], 0.0, [0.0, 0.0]),
        ("(norm (vec s x))", [0.0, 0.0], 0.0, [0.0, 0.0]),
        ("(det (mat (vec s x) (vec 1 1)))", [1.0, 1.0], 0.0, [1.0, -1.0]),
    ]);
}

/// Fourteen numbers were taken for one tagged value.
#[test]
fn batches_and_tensors_of_every_size_are_what_they_are() {
    for mode in [Mode::Direct, Mode::Dmci] {
        let scalar = model("(* a (+ x 1))", &mode, &["a"], &["x"]);
        let vector = Program::new("(+ (dot v v) (* x (vsum v)))");
        for n in (1..=20).chain([28, 256, 257]) {
            let rows: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let batch = evaluate(&scalar, &[2.0], rows.clone());
            let expected: Vec<f64> = rows.iter().map(|x| 2.0 * (x + 1.0)).collect();
            assert_eq!(batch.values, expected, "{n} rows in {mode}");
            let batch = evaluate(&scalar, &rows, vec![3.0]);
            assert_eq!(batch.values, rows.iter().map(|a| a * 4.0).collect::<Vec<_>>(), "{n} sets in {mode}");
            assert_eq!(batch.gradients, vec![4.0; n], "{n} sets in {mode}");
            // A parameter of n numbers over n rows.
            let run = RunOptions { mode: mode.clone(), ..RunOptions::default() };
            let options = ModelOptions { run, ..ModelOptions::default() };
            let shape = Datum::Tensor(Shape::Vector(n as u32), vec![0.0; n]);
            let model = Model::with_params(vector.clone(), vec![("v".into(), shape)], &["x"], options);
            let batch = evaluate(&model, &rows, rows.clone());
            let (sum, squares) = (rows.iter().sum::<f64>(), rows.iter().map(|x| x * x).sum::<f64>());
            for (lane, x) in rows.iter().enumerate() {
                assert_eq!(batch.values[lane], squares + x * sum, "{n} numbers in {mode}");
                let gradient = &batch.gradients[lane * n..(lane + 1) * n];
                assert!(gradient.iter().zip(&rows).all(|(g, v)| *g == 2.0 * v + x), "{n} numbers in {mode}");
            }
        }
    }
}

/// Comparisons with integers that no real is equal to were comparisons with the nearest real.
#[test]
fn comparisons_with_large_integers_are_exact_in_every_lane() {
    let near = 9007199254740992.0; // 2^53: the next real is 2 away
    let rows = vec![near, near + 2.0, 5.0, f64::INFINITY, near];
    for (text, expected) in [
        ("(if (< x 9007199254740993) (* a 1.) (* a 2.))", [1.0, 2.0, 1.0, 2.0, 1.0]),
        ("(if (= x 9007199254740993) (* a 1.) (* a 2.))", [2.0, 2.0, 2.0, 2.0, 2.0]),
        ("(if (>= x (expt 10 400)) (* a 1.) (* a 2.))", [2.0, 2.0, 2.0, 1.0, 2.0]),
        ("(let ((n (if (< x 6) (expt 2 64) (expt 2 70)))) (if (exact? n) a (* a n)))", [1.0; 5]),
    ] {
        for mode in &MODES {
            for joins in [true, false] {
                let run = RunOptions { mode: mode.clone(), ..RunOptions::default() };
                let options = ModelOptions { run, joins, ..ModelOptions::default() };
                let model = Model::new(Program::new(text), &["a"], &["x"], options);
                let batch = evaluate(&model, &[1.0], rows.clone());
                assert_eq!(batch.values, expected, "{text} in {mode}");
            }
        }
    }
}
