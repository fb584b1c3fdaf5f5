//! What lanes print and what their errors say is what each of them prints and says alone, in every mode and
//! whatever path it takes; and no program can see the digits of another lane.

#![allow(clippy::unwrap_used)]

mod common;

use common::{MODES, uniform};
use dmci::{Batch, Column, Datum, Interpreter, Mode, Model, ModelOptions, Program, RunOptions, Want};

const SETS: [f64; 4] = [0.4, 1.5, 0.7, -0.3];
const ROWS: usize = 10;

fn columns() -> [Column; 2] {
    let ys = uniform(ROWS, 9).into_iter().map(|u| Datum::Integer((u * 7.0) as i64)).collect();
    [Column::Reals(uniform(ROWS, 3)), Column::Data(ys)]
}

fn model(text: &str, mode: &Mode, joins: bool) -> Model {
    let run = RunOptions { mode: mode.clone(), ..RunOptions::default() };
    Model::new(
        Program::new(text),
        &["a", "b"],
        &["x", "y"],
        ModelOptions { run, joins, loops: joins, ..ModelOptions::default() },
    )
}

/// What a lane prints and how it ends, run alone as an ordinary program.
fn alone(text: &str, mode: &Mode, lane: usize) -> (String, String) {
    let [Column::Reals(xs), Column::Data(ys)] = columns() else { unreachable!() };
    let (set, row) = (lane / ROWS, lane % ROWS);
    let names = ["a", "b", "x"].iter().zip([SETS[2 * set], SETS[2 * set + 1], xs[row]]);
    let mut bindings: Vec<(String, Datum)> = names.map(|(n, x)| (n.to_string(), Datum::Real(x))).collect();
    bindings.push(("y".into(), ys[row].clone()));
    let options = RunOptions { mode: mode.clone(), bindings, ..RunOptions::default() };
    match Interpreter::shared().run(&Program::new(text), &options) {
        Ok(outcome) => (outcome.output, String::new()),
        Err(failure) => (failure.output.clone(), failure.render(false)),
    }
}

/// Compares all lanes of a batch with the lanes alone.
fn check(text: &str, mode: &Mode, batch: &Batch) {
    for lane in 0..2 * ROWS {
        let (output, error) = alone(text, mode, lane);
        let failure = batch.failures.iter().find(|f| f.0 == lane);
        let said = failure.map_or(String::new(), |f| f.1.render(false));
        assert_eq!(said, error, "{text} in {mode:?}, lane {lane}");
        assert_eq!(batch.output(lane), output, "{text} in {mode:?}, lane {lane}");
    }
}

/// All modes, with and without joins, new and from kept paths; the most recordings of a first call.
fn same(text: &str) -> u64 {
    let mut most = 0;
    for mode in MODES {
        for joins in [false, true] {
            let model = model(text, &mode, joins);
            for want in [Want::Gradients, Want::Values] {
                check(text, &mode, &model.evaluate(&SETS, &columns(), want).unwrap());
                most = most.max(model.recordings());
            }
        }
    }
    most
}

#[test]
fn lanes_of_one_path_print_their_own_numbers() {
    for text in [
        "(display x) (newline) (write (* a x)) (* a b)",
        "(display (list x (vector y (* y 2)) 'and \"text\" (* a b))) a",
        "(write (list \"x\" x #\\a (cons a y))) a",
        "(display (< x 10)) (display (not (< x 10))) (write (vec a x 2)) (display (mat (vec a x) (vec b 1))) a",
        "(define-record-type point (make-point u v) point? (u pu)) (display (make-point x a)) a",
        "(for-each (lambda (i) (display (* i x)) (fresh-line)) '(1 2 3)) b",
        "(display (grad (lambda (u) (* u u x)))) (display ((derivative (lambda (u) (* u u x))) a)) b",
        "(let ((l (list x 1))) (set-cdr! (cdr l) l) (write l) a)",
    ] {
        assert_eq!(same(text), 1, "{text}");
    }
}

#[test]
fn what_is_printed_follows_the_path() {
    for text in [
        "(if (< x a) (display (* 2 x)) (begin (display \"no \") (display y))) (* a x)",
        "(let loop ((i 0)) (if (< i y) (begin (write-string \"i\") (display (* i a)) (loop (+ i 1))))) (* a x)",
        "(display (if (< x a) (* b x) b)) (* a x)",
        "(define z (if (< x a) (begin (display \"small\") x) (* b x))) (display z) (* a z)",
    ] {
        same(text);
    }
}

#[test]
fn an_error_of_a_path_says_the_numbers_of_each_lane() {
    for (text, most) in [
        ("(error \"bad:\" x (list a 'b y))", 1),
        ("(display x) (if (< x 0.5) (error \"too small:\" x) (* a x))", 2),
        ("(if (< x 0.5) (raise (list 'low x)) (* a x))", 2),
        ("(if (< x 0.5) (raise x) (* a x))", 2),
        ("(if (< x 0.5) (assert (> x 0.7)) (* a x))", 3),
        ("(if (> y 3) (car 'nothing) (* a y))", 2),
        ("(if (> y 3) (nothing y) (* a y))", 2),
        ("(guard (e ((string? e) 1.0)) (if (< x 0.5) (error \"too small:\" x) (* a x)))", 2),
        ("(if (< x 0.5) (error (string-append \"no\" \" way\") (vec x a)) (* a x))", 2),
        ("(if", 1),
    ] {
        let recordings = same(text);
        assert!(recordings <= most, "{text}: {recordings} recordings");
    }
}

#[test]
fn an_error_that_depends_on_numbers_is_the_lanes_own() {
    for text in [
        "(* a (vector-ref (vector 1. 2. 3.) y))",
        "(* a (quotient 6 y))",
        "(* a (list-ref (list 1 2 3) (+ y 0)))",
        "(* a (exact (/ x (- y 3))))",
        "(car x)",
        "(x)",
        "(+ a 'b x)",
        "(vector-ref (vector x a) 5)",
        "(car (vector x a))",
        "(error \"a long list of numbers:\" (list x a b y x a b y x a b y x a b y x a b y x a b y))",
        "(string-append x)",
        "(hash-table-ref (make-equal-hash-table) (list x y))",
        "(with-exception-handler (lambda (e) 0) (lambda () (error \"no\" x)))",
    ] {
        same(text);
    }
}

#[test]
fn a_result_that_is_no_number_is_shown_for_each_lane() {
    for (text, recordings) in [("(lambda (u) x)", 1), ("(list x a)", 2 * ROWS as u64)] {
        let model = model(text, &Mode::Dmci, true);
        let batch = model.evaluate(&SETS, &columns(), Want::Values).unwrap();
        assert_eq!(model.recordings(), recordings, "{text}");
        let [Column::Reals(xs), _] = columns() else { unreachable!() };
        for (lane, failure) in &batch.failures {
            let shown = if recordings == 1 { "#<procedure>".into() } else { format!("({} ", xs[lane % ROWS]) };
            assert!(failure.diagnostics[0].message.contains(&shown), "{}", failure);
        }
        assert_eq!(batch.failures.len(), 2 * ROWS);
    }
}

#[test]
fn a_caught_error_does_not_hide_what_it_depends_on() {
    for text in [
        "(display (guard (e (#t -1.0)) (* a (vector-ref (vector 1. 2. 3.) y)))) a",
        "(display (guard (e (#t (condition/report-string e))) (* a (vector-ref (vector 1. 2. 3.) y)))) a",
        "(display (guard (e (#t 'zero)) (quotient 6 (- y 2)))) a",
        "(display (guard (e (#t (condition/report-string e))) (error \"irritated by\" x (list y)))) a",
        "(display (guard (e (#t (condition/report-string e))) (car x))) a",
        "(display (guard (e (#t (condition/report-string e))) (cdr (vector x 1)))) a",
        "(display (guard (e (#t (* 2 (car (error-object-irritants e))))) (error \"irritated by\" x))) a",
        "(display (guard (e (#t (string-length (condition/report-string e)))) (+ x 'a))) a",
    ] {
        same(text);
    }
}

#[test]
fn strings_have_the_digits_of_their_lane() {
    for text in [
        "(display (string-length (number->string x))) a",
        "(display (with-output-to-string (lambda () (display (list x y))))) a",
        "(display (call-with-output-string (lambda (port) (write x port) (display y port)))) a",
        "(display (format #f \"~a ~,2f ~s ~d\" x x (list y) y)) a",
        "(format #t \"~a and ~a~%\" x (vector y)) a",
        "(display (string->number (format #f \"~b\" y) 2)) a",
    ] {
        same(text);
    }
}

#[test]
fn output_is_not_kept_if_nobody_wants_it() {
    let text = "(display x) (* a x)";
    let quiet = ModelOptions { output: false, ..ModelOptions::default() };
    let model = Model::new(Program::new(text), &["a"], &["x"], quiet);
    let batch = model.evaluate(&[2.0], &[Column::Reals(vec![1.0, 3.0])], Want::Values).unwrap();
    assert_eq!(batch.values, [2.0, 6.0]);
    assert_eq!(batch.output(1), "");
}
