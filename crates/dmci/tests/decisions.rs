//! What became of decisions, and why: the same places in every mode, and the reasons that hold.

#![allow(clippy::unwrap_used)]

mod common;

use common::{FAST, uniform};
use dmci::{
    Column, Datum, Decisions, GradOptions, Interpreter, Mode, Model, ModelOptions, Program, RunOptions, TapeOptions,
    Want, Wrt,
};

fn explain(text: &str, mode: &Mode, joins: bool, loops: bool) -> Decisions {
    let bindings = vec![("x".to_string(), Datum::Real(0.5)), ("n".to_string(), Datum::Real(3.0))];
    let run = RunOptions { mode: mode.clone(), bindings, ..RunOptions::default() };
    let grad = GradOptions { run, wrt: Wrt::Names(vec!["x".into(), "n".into()]), hessian: false };
    Interpreter::shared().explain(&Program::new(text), &TapeOptions { grad, joins, loops }).unwrap().decisions
}

/// Programs with one decision that cannot be joined, its text, and why.
const PARTED: &[(&str, &str, &str)] = &[
    ("(if (< x 1.) (begin (display \"hm\") x) 2.)", "(< x 1.)", "an arm prints"),
    ("(if (< x 1.) (* x (random 1.0)) 2.)", "(< x 1.)", "an arm draws random numbers"),
    ("(if (< x 1.) x (error \"too large:\" x))", "(< x 1.)", "an arm fails: "),
    ("(if (< x 1.) (call/cc (lambda (k) x)) 2.)", "(< x 1.)", "an arm captures a continuation"),
    ("(* x (call/cc (lambda (k) (if (< x 1.) (k 2.) 1.))))", "(< x 1.)", "an arm leaves through a continuation"),
    ("(length (if (< x 1.) (list x x) (list x)))", "(< x 1.)", "which differ in more than numbers and booleans"),
    ("(if (< x 1.) 'small 'large) x", "(< x 1.)", "the arms give small and large"),
    ("(* x (if (< x 1.) 1 2.5))", "(< x 1.)", "the arms give 1 and 2.5, an exact and an inexact number"),
    ("(define l '()) (if (< x 1.) (set! l (list x)) (set! l 5)) x", "(< x 1.)", "the arms store (0.5) and 5"),
    ("(define (go i) (if (= i 5000) x (go (+ i 1)))) (if (< x 1.) (+ 1 (go 0)) 2.)", "(< x 1.)", "too many steps"),
    (
        "(define (go i s) (if (= i 600) s (go (+ i 1) (* s s s s s s s s s s)))) (if (< x 1.) (+ 1 (go 0 x)) 2.)",
        "(< x 1.)",
        "",
    ),
];

#[test]
fn reasons_hold_and_stand_at_the_test() {
    for (text, place, why) in PARTED {
        for mode in FAST {
            let decisions = explain(text, &mode, true, false);
            let shown = decisions.print();
            let at = decisions.places.iter().find(|p| p.0.is_some_and(|s| decisions.sources.slice(s) == *place));
            let decided = &at.unwrap_or_else(|| panic!("{text} in {mode:?}: {shown}")).1;
            assert_eq!((decided.joined, decided.guarded), (0, 1), "{text} in {mode:?}: {shown}");
            assert!(decided.reasons.iter().any(|r| r.0.contains(why)), "{text} in {mode:?}: {shown}");
        }
    }
}

#[test]
fn what_is_joined_is_counted() {
    let text = "(let loop ((i 0) (s x)) (if (= i 20) s (loop (+ i 1) (if (< s 0.6) (+ s 0.1) (* s 0.9)))))";
    for mode in FAST {
        let decisions = explain(text, &mode, true, false);
        assert_eq!(decisions.print(), "decisions\n  1:58 (< s 0.6): joined 20 times\n", "{mode:?}");
        let flat = explain(text, &mode, false, false);
        let expected = "decisions\n  1:58 (< s 0.6): guarded 20 times\n      joins are switched off\n";
        assert_eq!(flat.print(), expected, "{mode:?}");
    }
}

#[test]
fn loops_are_explained_at_the_tests_that_end_them() {
    let text = "(let loop ((i 0) (s x)) (if (> s n) (* i s) (loop (+ i 1) (+ s (if (< s 1.) 0.3 0.1)))))";
    for mode in FAST {
        let decisions = explain(text, &mode, true, true);
        let shown = decisions.print();
        let at = |text: &str| {
            let place = decisions.places.iter().find(|p| p.0.is_some_and(|s| decisions.sources.slice(s) == text));
            place.unwrap_or_else(|| panic!("{mode:?}: {shown}")).1.clone()
        };
        let (exit, arm) = (at("(> s n)"), at("(< s 1.)"));
        assert!(exit.looped == 1 && exit.rounds > 10 && arm.joined > 0, "{mode:?}: {shown}");
        assert_eq!(decisions.places.len(), 2, "{mode:?}: {shown}");
    }
    for (text, why) in [
        (
            "(let loop ((i 0) (l '())) (if (> (* i x) 5) (length l) (loop (+ i 1) (cons x l))))",
            "differ in more than numbers",
        ),
        ("(let loop ((i 0) (s x)) (display i) (if (> s 10) s (loop (+ i 1) (+ s x))))", "a round prints"),
    ] {
        for mode in FAST {
            let decisions = explain(text, &mode, true, true);
            let reasons = &decisions.places[0].1.reasons;
            assert!(reasons.iter().any(|r| r.0.starts_with("no loop: ") && r.0.contains(why)), "{}", decisions.print());
        }
    }
}

#[test]
fn what_a_forgotten_arm_decided_does_not_count() {
    // The first arm holds a decision of its own that joins, but the outer one does not.
    let text = "(if (< x 1.) (begin (display \"hm\") (if (< x 0.7) x (* 2 x))) 2.)";
    for mode in FAST {
        let decisions = explain(text, &mode, true, true);
        let inner = decisions.places.iter().find(|p| decisions.sources.slice(p.0.unwrap()) == "(< x 0.7)").unwrap();
        assert_eq!((inner.1.joined, inner.1.guarded), (1, 0), "{mode:?}: {}", decisions.print());
    }
}

#[test]
fn decisions_inside_of_primitives_and_of_exact_integers_are_told_apart() {
    let options = ModelOptions { explain: true, ..ModelOptions::default() };
    let text = "(if (member x '(1.0 2.0)) (* x (/ k 2)) (vector-ref (vector x 2.0) (modulo k 2)))";
    let model = Model::new(Program::new(text), &["x"], &["k"], options);
    model.evaluate(&[0.5, 2.0], &[Column::Data((1..5).map(Datum::Integer).collect())], Want::Values).unwrap();
    let shown = model.decisions().print();
    for line in ["(member x '(1.0 2.0)): guarded", "it is taken inside of a primitive", "(/ k 2): checked"] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}

#[test]
fn pinned_numbers_are_warned_of_once_for_each_place() {
    let text = "(define table (make-equal-hash-table))
                (define (key k) (string-length (number->string k)))
                (hash-table-set! table k 1.5)
                (display x)
                (+ (* x (hash-table-ref table k (lambda () 0.0))) (key k) (key k) (vector-length (make-vector k 0)))";
    for mode in FAST {
        let run = RunOptions { mode: mode.clone(), ..RunOptions::default() };
        let model = Model::new(Program::new(text), &["x"], &["k"], ModelOptions { run, ..ModelOptions::default() });
        let rows = Column::Data((1..9).map(Datum::Integer).collect());
        model.evaluate(&[0.5], std::slice::from_ref(&rows), Want::Gradients).unwrap();
        let first = model.warnings();
        model.evaluate(&[0.7], &[rows], Want::Gradients).unwrap();
        assert_eq!(model.warnings().render(false), first.render(false));
        let places: Vec<&str> = first.diagnostics.iter().map(|d| first.sources.slice(d.span().unwrap())).collect();
        let expected = [
            "(hash-table-set! table k 1.5)",
            "(hash-table-ref table k (lambda () 0.0))",
            "(number->string k)",
            "(make-vector k 0)",
        ];
        assert_eq!(places, expected, "{mode:?}: {first}");
        assert!(first.diagnostics.iter().all(|d| d.code == "W0504" && d.help.is_some()));
        assert!(first.diagnostics[2].message.starts_with("number->string needs the very value"), "{first}");
    }
}

#[test]
fn numbers_that_are_only_printed_or_decided_on_make_no_warning() {
    let text = "(display x) (if (< x 0.5) (write (list x)) (display \"large\")) (* x (vector-ref (vector 1. 2.) k))";
    let model = Model::new(Program::new(text), &["x"], &["k"], ModelOptions::default());
    let rows = Column::Data((0..2).map(Datum::Integer).collect());
    model.evaluate(&uniform(10, 1), &[rows], Want::Gradients).unwrap();
    assert!(model.warnings().diagnostics.is_empty(), "{}", model.warnings());
}

#[test]
fn many_recordings_are_warned_of_with_place_and_reason() {
    // Each outcome of each test is a path of its own, since one arm prints.
    let text = "(define (f u) (if (< u a) (+ u 0.3) (begin (display 1) (* u 0.4))))
                (define (g k) (f (- (* k x) (floor (* k x)))))
                (+ (g 1) (g 2) (g 3) (g 5) (g 7) (g 11))";
    for mode in FAST {
        let run = RunOptions { mode: mode.clone(), ..RunOptions::default() };
        let model = Model::new(Program::new(text), &["a"], &["x"], ModelOptions { run, ..ModelOptions::default() });
        model.evaluate(&[0.5], &[Column::Reals(uniform(3, 5))], Want::Gradients).unwrap();
        assert!(model.recordings() < 12 && model.warnings().diagnostics.is_empty(), "{}", model.warnings());
        model.evaluate(&uniform(40, 2), &[Column::Reals(uniform(60, 5))], Want::Gradients).unwrap();
        let report = model.warnings();
        let [warning] = &report.diagnostics[..] else { panic!("{mode:?}: {report}") };
        assert_eq!(
            (warning.code.as_str(), report.sources.slice(warning.span().unwrap())),
            ("W0505", "(< u a)"),
            "{report}"
        );
        assert!(warning.message.ends_with("the arms of (< u a) are not joined, an arm prints"), "{report}");
        assert_eq!(warning.help.as_deref(), Some("print behind the decision or the loop"));
    }
}

#[test]
fn explaining_changes_no_tape_and_no_result() {
    let text = "(let loop ((i 0) (s x)) (if (> s n) (* i s) (loop (+ i 1) (+ s (if (< s 1.) 0.3 (* s 0.5))))))";
    let rows = [Column::Reals(uniform(50, 2))];
    let evaluate = |explain: bool| {
        let options = ModelOptions { explain, ..ModelOptions::default() };
        let model = Model::new(Program::new(text), &["n"], &["x"], options);
        let batch = model.evaluate(&[2.0, 3.0], &rows, Want::Gradients).unwrap();
        (common::bits(&batch.values), common::bits(&batch.gradients), model.recordings())
    };
    assert_eq!(evaluate(true), evaluate(false));
}
