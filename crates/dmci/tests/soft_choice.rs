//! Soft choices: values and gradients of the blend, straight-through choices, noise, and batches.

#![allow(clippy::unwrap_used)]

mod common;

use common::{MODES, expect_errors, expect_values, options, run_with};
use dmci::{
    Column, Datum, GradOptions, Gradient, Interpreter, Mode, Model, ModelOptions, Numerics, Program, Report,
    RunOptions, SoftChoice, Want, Wrt, gumbel,
};

const SOFT: SoftChoice = SoftChoice { temperature: 1.0, hard: false, gumbel: false };
const HARD: SoftChoice = SoftChoice { hard: true, ..SOFT };
const NOISY: SoftChoice = SoftChoice { gumbel: true, ..SOFT };

fn grad(text: &str, names: &[&str], at: &[f64], soft: SoftChoice, mode: &Mode) -> Result<Gradient, Report> {
    let bindings = names.iter().zip(at).map(|(name, x)| (name.to_string(), Datum::Real(*x))).collect();
    let run = RunOptions { bindings, soft, ..options(mode) };
    let wrt = Wrt::Names(names.iter().map(|name| name.to_string()).collect());
    Interpreter::shared().grad(&Program::new(text), &GradOptions { run, wrt, hessian: false })
}

fn softmax(logits: &[f64], temperature: f64) -> Vec<f64> {
    let largest = logits.iter().fold(f64::NEG_INFINITY, |m, w| m.max(w / temperature));
    let parts: Vec<f64> = logits.iter().map(|w| (w / temperature - largest).exp()).collect();
    let sum: f64 = parts.iter().sum();
    parts.iter().map(|p| p / sum).collect()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}

/// Central differences of the fourth order.
fn differences(f: impl Fn(&[f64]) -> f64, at: &[f64]) -> Vec<f64> {
    let h = 1e-3;
    let moved = |i: usize, s: f64| {
        let mut x = at.to_vec();
        x[i] += s * h;
        f(&x)
    };
    (0..at.len())
        .map(|i| (8.0 * (moved(i, 1.0) - moved(i, -1.0)) - (moved(i, 2.0) - moved(i, -2.0))) / (12.0 * h))
        .collect()
}

#[test]
fn the_value_is_the_sum_of_the_options_by_their_shares() {
    let logits = [0.3, -1.2, 2.0];
    for temperature in [0.1, 0.5, 1.0, 3.0] {
        let soft = SoftChoice { temperature, ..SOFT };
        let p = softmax(&logits, temperature);
        let blend = p[0] * 10.0 + p[1] * 20.0 - p[2] * 5.0;
        let procedures = p[0] * 8.0 + p[1] * 4.0 + p[2] * 12.0;
        let given = format!("(soft-choice (vector 10 20. -5) #(0.3 -1.2 2.0) {temperature})");
        for (text, want) in [
            ("(soft-choice '(10 20. -5) '(0.3 -1.2 2.0))", blend),
            ("(apply soft-choice (list (vector 10 20. -5) (vector 0.3 -1.2 2.0)))", blend),
            ("((soft-choice (list + - *) '(0.3 -1.2 2.0)) 6 2)", procedures),
            ("((soft-choice (vector + (lambda (x y) (- x y)) *) '(0.3 -1.2 2.0)) 6. 2.)", procedures),
            (&given, blend),
        ] {
            for mode in &MODES {
                let outcome = run_with(text, &RunOptions { soft, ..options(mode) }).unwrap();
                let got = outcome.value.as_f64().unwrap();
                assert!(close(got, want, 1e-14), "[{mode}] {text} at {temperature}: {got} for {want}");
            }
        }
    }
    // Logits of any size.
    expect_values(&[
        ("(soft-choice '(1 2) '(1e308 -1e308))", "1.0"),
        ("(soft-choice '(1 2) '(-1e6 -1e6))", "1.5"),
        ("(soft-choice '(1 2) (list 0.0 -inf.0))", "1.0"),
        ("(soft-choice (list 1 +nan.0) '(0.0 -inf.0))", "1.0"),
        ("(soft-choice (list +inf.0 2 -inf.0) '(-1e9 0.0 -1e9))", "2.0"),
    ]);
}

const FOUR: &str = "((soft-choice (list + - * /) (list a b c d)) x y)";
const NAMES: [&str; 6] = ["a", "b", "c", "d", "x", "y"];
const AT: [f64; 6] = [0.2, -0.7, 1.1, 0.4, 1.7, -0.6];

#[test]
fn gradients_agree_with_differences_in_every_mode() {
    let value = |at: &[f64]| {
        let p = softmax(&at[..4], 1.0);
        let (x, y) = (at[4], at[5]);
        p[0] * (x + y) + p[1] * (x - y) + p[2] * x * y + p[3] * x / y
    };
    let want = differences(value, &AT);
    let direct = grad(FOUR, &NAMES, &AT, SOFT, &Mode::Direct).unwrap();
    assert!(close(direct.value, value(&AT), 1e-14));
    for (got, want) in direct.flat.iter().zip(&want) {
        assert!(close(*got, *want, 1e-9), "{got} for {want}");
    }
    for mode in &MODES {
        let other = grad(FOUR, &NAMES, &AT, SOFT, mode).unwrap();
        assert_eq!((other.tape, other.flat), (direct.tape.clone(), direct.flat.clone()), "{mode}");
        // And by a program that differentiates itself.
        let text = format!("((grad (lambda (a b c d x y) {FOUR})) 0.2 -0.7 1.1 0.4 1.7 -0.6)");
        let own = run_with(&text, &options(mode)).unwrap().value;
        assert_eq!(own, Datum::from(direct.flat.clone()), "{mode}");
    }
}

#[test]
fn a_hard_choice_has_the_value_of_one_option_and_the_derivative_of_the_soft_one() {
    for mode in &MODES {
        let soft = grad(FOUR, &NAMES, &AT, SOFT, mode).unwrap();
        let hard = grad(FOUR, &NAMES, &AT, HARD, mode).unwrap();
        assert_eq!(hard.value.to_bits(), (1.7f64 * -0.6).to_bits());
        for (i, (s, h)) in soft.flat[..4].iter().zip(&hard.flat).enumerate() {
            assert_eq!(s.to_bits(), h.to_bits(), "by logit {i}, {mode}");
        }
        assert_eq!(hard.flat[4..], [-0.6, 1.7], "by the arguments of the option that was chosen");
        assert!(hard.tape.guards.is_empty(), "a choice is no decision");
    }
    // The derivative by x is a choice too: by the logits it has the derivative of the soft one.
    let slope = "(derivative (lambda (x) ((soft-choice (list + - * /) (list a b c d)) x y)) x)";
    let (p, y) = (softmax(&AT[..4], 1.0), AT[5]);
    let slopes = [1.0, 1.0, y, 1.0 / y];
    let mean: f64 = p.iter().zip(slopes).map(|(p, s)| p * s).sum();
    for mode in &MODES {
        let hard = grad(slope, &NAMES, &AT, HARD, mode).unwrap();
        assert_eq!(hard.value.to_bits(), y.to_bits());
        for i in 0..4 {
            let want = p[i] * (slopes[i] - mean);
            assert!(close(hard.flat[i], want, 1e-14), "by logit {i}: {} for {want}", hard.flat[i]);
        }
    }
    // Of equal logits the first counts.
    let tied = |soft| {
        let settings = RunOptions { soft, ..options(&Mode::Dmci) };
        run_with("(soft-choice '(1 2 4) '(0. 1. 1.))", &settings).unwrap().text
    };
    assert_eq!(tied(HARD), "2.0");
}

#[test]
fn an_option_that_is_off_spoils_nothing() {
    // Both the value and the derivative of the first two are infinite, or only the derivative.
    let text = "(soft-choice (list (/ 1. x) (sqrt x) (log x) (* 3. x)) (list a b c d))";
    let names = ["a", "b", "c", "d", "x"];
    for mode in &MODES {
        let off = [-1e9, -1e9, -1e9, 0.5, 0.0];
        let got = grad(text, &names, &off, SOFT, mode).unwrap();
        assert_eq!((got.value, &got.flat[..]), (0.0, &[0.0, 0.0, 0.0, 0.0, 3.0][..]), "{mode}");
        let hard = grad(text, &names, &[-1.0, -1.0, -1.0, 0.5, 0.0], HARD, mode).unwrap();
        assert_eq!(hard.value, 0.0);
        assert!(hard.flat.iter().all(|d| d.is_finite()), "{:?}", hard.flat);
        assert_eq!(hard.flat[4], 3.0);
        // A share that is small but not 0 is no excuse.
        let on = grad(text, &names, &[-1.0, -1.0, -1.0, 0.5, 0.0], SOFT, mode).unwrap();
        assert!(!on.value.is_finite());
        for whole in ["(derivative (lambda (x) BODY) 0.)", "(jvp (lambda (x) BODY) 0. 1.)"] {
            let body = text.replace("(list a b c d)", "'(-1e9 -1e9 -1e9 0.5)");
            let value = run_with(&whole.replace("BODY", &body), &options(mode)).unwrap().text;
            assert_eq!(value, "3.0", "{whole}");
        }
        // The second derivative, too.
        let body = text.replace("(list a b c d)", "'(-1e9 -1e9 -1e9 0.5)").replace("(* 3. x)", "(* 3. x x)");
        let twice = format!("((derivative (derivative (lambda (x) {body}))) 0.)");
        assert_eq!(run_with(&twice, &options(mode)).unwrap().text, "6.0");
    }
}

/// Operator recovery: two choices of eight operators each, one inside of the other.
const OPERATORS: &str = "
(define (near u) (+ (abs u) 0.001))
(define inner
  (soft-choice (list (lambda (x) (* 2 x)) - square (lambda (x) (/ 1 (near x))) sin cos exp
                     (lambda (x) (log (near x))))
               (list a b c d e f g h)))
(define outer
  (soft-choice (list + - * (lambda (x u) (/ x (near u)))
                     (lambda (x u) (sin u)) (lambda (x u) (cos u)) (lambda (x u) (exp u))
                     (lambda (x u) (log (near u))))
               (list h g f e d c b a)))
(define (model x) (outer x (inner x)))";

fn operators(at: &[f64], x: f64) -> f64 {
    let near = |u: f64| u.abs() + 0.001;
    let p = softmax(&at[..8], 1.0);
    let inner = [2.0 * x, -x, x * x, 1.0 / near(x), x.sin(), x.cos(), x.exp(), near(x).ln()];
    let u: f64 = inner.iter().zip(&p).map(|(e, p)| e * p).sum();
    let outer = [x + u, x - u, x * u, x / near(u), u.sin(), u.cos(), u.exp(), near(u).ln()];
    outer.iter().zip(p.iter().rev()).map(|(e, p)| e * p).sum()
}

#[test]
fn eight_operators_and_their_second_derivatives() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "x"];
    let at = [0.3, -0.2, 1.5, 0.1, -0.8, 0.6, 0.9, -1.1, 1.3];
    let value = format!("{OPERATORS} (model x)");
    let slope = format!("{OPERATORS} (derivative model x)");
    let rust = |at: &[f64]| operators(at, at[8]);
    let rust_slope = |at: &[f64]| differences(|x| operators(at, x[0]), &at[8..])[0];
    for mode in &MODES {
        let got = grad(&value, &names, &at, SOFT, mode).unwrap();
        assert!(close(got.value, rust(&at), 1e-13));
        for (got, want) in got.flat.iter().zip(differences(rust, &at)) {
            assert!(close(*got, want, 1e-9), "{got} for {want}");
        }
        let got = grad(&slope, &names, &at, SOFT, mode).unwrap();
        assert!(close(got.value, rust_slope(&at), 1e-9));
        for (got, want) in got.flat.iter().zip(differences(rust_slope, &at)) {
            assert!(close(*got, want, 1e-7), "{got} for {want}");
        }
    }
}

#[test]
fn a_batch_equals_its_lanes_and_needs_one_recording() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let program = format!("{OPERATORS} (+ (model x) (derivative model x))");
    let xs: Vec<f64> = (0..41).map(|i| -3.0 + 0.15 * i as f64 + 0.01).collect();
    let sets: Vec<f64> = (0..3 * 8).map(|i| ((i * 37 % 17) as f64 - 8.0) / 3.0).collect();
    for soft in [SOFT, HARD, SoftChoice { temperature: 0.01, ..SOFT }, SoftChoice { temperature: 0.2, ..HARD }] {
        let run = RunOptions { soft, ..options(&Mode::Dmci) };
        let model = Model::new(
            Program::new(&program),
            &names,
            &["x"],
            ModelOptions { run: run.clone(), ..ModelOptions::default() },
        );
        let batch = model.evaluate(&sets, &[Column::Reals(xs.clone())], Want::Gradients).unwrap();
        assert!(batch.failures.is_empty());
        assert_eq!(model.recordings(), 1, "no choice is a decision");
        for (lane, value) in batch.values.iter().enumerate() {
            let (set, row) = (lane / xs.len(), lane % xs.len());
            let mut bindings: Vec<(String, Datum)> =
                names.iter().zip(&sets[set * 8..]).map(|(name, w)| (name.to_string(), Datum::Real(*w))).collect();
            bindings.push(("x".into(), Datum::Real(xs[row])));
            let wrt = Wrt::Names(names.iter().map(|name| name.to_string()).collect());
            let run = RunOptions { bindings, ..run.clone() };
            let alone =
                Interpreter::shared().grad(&Program::new(&program), &GradOptions { run, wrt, hessian: false }).unwrap();
            let bits = |list: &[f64]| list.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(value.to_bits(), alone.value.to_bits(), "lane {lane}, {soft:?}");
            assert_eq!(bits(&batch.gradients[lane * 8..lane * 8 + 8]), bits(&alone.flat), "lane {lane}, {soft:?}");
        }
    }
}

#[test]
fn noise_is_a_function_of_seed_restart_row_and_occurrence() {
    let text = "(+ (soft-choice '(1. 2. 4.) (list a b 0.)) (* 10 (soft-choice '(1. -1.) (list b a))))";
    let at = [0.4, -0.3];
    let by_hand = |at: &[f64], seed: u64, restart: u64, row: u64| {
        let g = |draw| gumbel(seed, restart, row, draw);
        let p = softmax(&[at[0] + g(0), at[1] + g(1), g(2)], 1.0);
        let q = softmax(&[at[1] + g(3), at[0] + g(4)], 1.0);
        p[0] + 2.0 * p[1] + 4.0 * p[2] + 10.0 * (q[0] - q[1])
    };
    let single = |seed, mode: &Mode| {
        let bindings = vec![("a".to_string(), Datum::Real(0.4)), ("b".to_string(), Datum::Real(-0.3))];
        run_with(text, &RunOptions { seed, soft: NOISY, bindings, ..options(mode) }).unwrap().value.as_f64().unwrap()
    };
    for seed in [0, 1, 12345] {
        let first = single(seed, &Mode::Direct);
        assert!(close(first, by_hand(&at, seed, 0, 0), 1e-14), "{first}");
        for mode in &MODES {
            assert_eq!(single(seed, mode).to_bits(), first.to_bits(), "{mode}");
        }
    }
    assert_ne!(single(0, &Mode::Dmci), single(1, &Mode::Dmci));
    let settings = |soft| RunOptions { seed: 7, soft, ..options(&Mode::Dmci) };
    let model = Model::new(
        Program::new(&format!("(+ x {text})")),
        &["a", "b"],
        &["x"],
        ModelOptions { run: settings(NOISY), ..ModelOptions::default() },
    );
    let sets = [0.4, -0.3, 1.0, 2.0, -0.5, 0.25];
    let batch = model.evaluate(&sets, &[Column::Reals(vec![0.0; 5])], Want::Gradients).unwrap();
    assert_eq!(model.recordings(), 1);
    for (lane, value) in batch.values.iter().enumerate() {
        let (set, row) = (lane / 5, lane % 5);
        let f = |at: &[f64]| by_hand(at, 7, set as u64, row as u64);
        let at = &sets[2 * set..2 * set + 2];
        assert!(close(*value, f(at), 1e-14), "lane {lane}: {value} for {}", f(at));
        for (got, want) in batch.gradients[2 * lane..].iter().zip(differences(f, at)) {
            assert!(close(*got, want, 1e-9), "lane {lane}: {got} for {want}");
        }
    }
    // Rows of any data, too.
    let data = Column::Data(vec![Datum::from(vec![0.0]), Datum::Integer(0), Datum::Real(0.0)]);
    let model = Model::new(
        Program::new(&format!("(if (pair? x) {text} (+ x {text}))")),
        &["a", "b"],
        &["x"],
        ModelOptions { run: settings(NOISY), ..ModelOptions::default() },
    );
    let batch = model.evaluate(&at, &[data], Want::Values).unwrap();
    for (row, value) in batch.values.iter().enumerate() {
        assert!(close(*value, by_hand(&at, 7, 0, row as u64), 1e-14), "row {row}: {value}");
    }
}

#[test]
fn single_precision_is_the_same_in_all_ways() {
    let numerics = Numerics { single: true, ..Numerics::default() };
    let text = format!("{OPERATORS} (model x)");
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let at = [0.3, -0.2, 1.5, 0.1, -0.8, 0.6, 0.9, -1.1];
    for soft in [SOFT, HARD, NOISY] {
        let mut bindings: Vec<(String, Datum)> =
            names.iter().zip(at).map(|(name, w)| (name.to_string(), Datum::Real(w))).collect();
        bindings.push(("x".into(), Datum::Real(1.3)));
        let run = RunOptions { soft, numerics, ..options(&Mode::Dmci) };
        let value = |mode: &Mode| {
            let run = RunOptions { bindings: bindings.clone(), mode: mode.clone(), ..run.clone() };
            run_with(&text, &run).unwrap().value.as_f64().unwrap()
        };
        let first = value(&Mode::Direct);
        assert_eq!(first, first as f32 as f64);
        MODES.iter().for_each(|mode| assert_eq!(value(mode).to_bits(), first.to_bits()));
        let model =
            Model::new(Program::new(&text), &names, &["x"], ModelOptions { run: run.clone(), ..Default::default() });
        // The second row runs through the plan that the first one made.
        let batch = model.evaluate(&at, &[Column::Reals(vec![1.3, 1.3])], Want::Gradients).unwrap();
        assert_eq!(batch.values[0].to_bits(), first.to_bits());
        assert_eq!(batch.values[1] == batch.values[0], soft != NOISY);
    }
}

#[test]
fn tensors_are_options_and_logits() {
    expect_values(&[
        ("(tensor->list (soft-choice (list (vec 1. 2.) (vec 3. 6.)) (vec 0. 0.)))", "(2.0 4.0)"),
        ("(soft-choice (vec 1. 3.) '(0. 0.))", "2.0"),
        ("(tensor->list ((soft-choice (list + *) (vec 0. 0.)) (vec 2. 4.) 2.))", "(4.0 7.0)"),
        ("(tensor->list ((grad (lambda (w) (soft-choice '(1. 3.) w))) (vec 0. 0.)))", "(-0.5 0.5)"),
        (
            "(tensor->list ((grad (lambda (v) (vsum (soft-choice (list v (* v v)) '(0. 0.))))) (vec 1. 3.)))",
            "(1.5 3.5)",
        ),
        // What is off stays off behind operations on tensors.
        (
            "(tensor->list ((grad (lambda (v) (vsum (soft-choice (list (sqrt v) (* 3. v)) '(-1e9 0.))))) (vec 0. 4.)))",
            "(3.0 3.0)",
        ),
        (
            "(tensor->list ((grad (lambda (v) (soft-choice (list (norm (sqrt v)) (vsum v)) '(-1e9 0.)))) (vec 0. 4.)))",
            "(1.0 1.0)",
        ),
        (
            "(tensor->list ((grad (lambda (v) (soft-choice (list (dot v (/ 1. v)) (vsum v)) '(-1e9 0.)))) (vec 0. 4.)))",
            "(1.0 1.0)",
        ),
    ]);
}

#[test]
fn wrong_choices_are_errors() {
    expect_errors(&[
        ("(soft-choice 1 '(1.))", "E0303", "(soft-choice 1 '(1.))"),
        ("(soft-choice '(1) '(1.))", "E0303", "(soft-choice '(1) '(1.))"),
        ("(soft-choice '(1 . 2) '(1. 2.))", "E0303", "(soft-choice '(1 . 2) '(1. 2.))"),
        ("(soft-choice '(1 2) '(1.))", "E0303", "(soft-choice '(1 2) '(1.))"),
        ("(soft-choice '(1 2) '(1. a))", "E0303", "(soft-choice '(1 2) '(1. a))"),
        ("(soft-choice (list 1 +) '(1. 2.))", "E0303", "(soft-choice (list 1 +) '(1. 2.))"),
        ("(soft-choice '(a b) '(1. 2.))", "E0303", "(soft-choice '(a b) '(1. 2.))"),
        ("(soft-choice '(1 2) '(1. 2.) 0)", "E0303", "(soft-choice '(1 2) '(1. 2.) 0)"),
        ("(soft-choice '(1 2) '(1. 2.) +nan.0)", "E0303", "(soft-choice '(1 2) '(1. 2.) +nan.0)"),
        ("(soft-choice '(1 2))", "E0302", "(soft-choice '(1 2))"),
        ("((soft-choice (list car cdr) '(1. 2.)) '(a))", "E0303", "((soft-choice (list car cdr) '(1. 2.)) '(a))"),
        ("((soft-choice (list sin *) '(1. 2.)) 1. 2.)", "E0302", "((soft-choice (list sin *) '(1. 2.)) 1. 2.)"),
    ]);
    for temperature in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let run = RunOptions { soft: SoftChoice { temperature, ..SOFT }, ..options(&Mode::Dmci) };
        let failure = run_with("(soft-choice '(1 2) '(1. 2.))", &run).unwrap_err();
        assert_eq!(failure.diagnostics[0].code, "E0303");
    }
}
