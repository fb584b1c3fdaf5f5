//! What is odd about a gradient is found, with its place and its reason, the same in every mode.

#![allow(clippy::unwrap_used)]

mod common;

use common::{MODES, root};
use dmci::{Bindings, Datum, GradOptions, Interpreter, Mode, Program, Report, RunOptions, Wrt};

fn diagnose(text: &str, mode: &Mode, at: &[(&str, f64)], wrt: Wrt) -> Report {
    let bindings: Bindings = at.iter().map(|&(name, x)| (name.to_string(), Datum::Real(x))).collect();
    let run = RunOptions { mode: mode.clone(), bindings, ..RunOptions::default() };
    let options = GradOptions { run, wrt, hessian: false };
    Interpreter::shared().diagnose(&Program::new(text), &options).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

/// Code, message and marked text of each warning.
fn shown(report: &Report) -> Vec<(String, String, String)> {
    let text = |d: &dmci::Diagnostic| d.span().map_or(String::new(), |s| report.sources.slice(s).to_string());
    report.diagnostics.iter().map(|d| (d.code.to_string(), d.message.clone(), text(d))).collect()
}

/// A program, a point, and the warnings: code, a part of the message, the marked text.
type Case = (&'static str, &'static [(&'static str, f64)], &'static [(&'static str, &'static str, &'static str)]);

const CASES: &[Case] = &[
    // The first operation that makes something infinite of finite operands, not what follows from it.
    (
        "(define (score x) (log (- x 2.)))\n(* a (exp (score b)) (score b))",
        &[("a", 1.5), ("b", 2.0)],
        &[("W0501", "log of 0 gives -inf", "(log (- x 2.))")],
    ),
    ("(+ a (/ b (- a a)))", &[("a", 1.0), ("b", 2.0)], &[("W0501", "/ of 2 and 0 gives inf", "(/ b (- a a))")]),
    ("(* a (expt b 0.5))", &[("a", 1.0), ("b", -2.0)], &[("W0501", "expt of -2 and 0.5 gives NaN", "(expt b 0.5)")]),
    (
        "(* 2. (log (dot (vec a b) (vec b (- a)))))",
        &[("a", 1.0), ("b", 3.0)],
        &[("W0501", "log of 0 gives -inf", "(log (dot (vec a b) (vec b (- a))))")],
    ),
    // The value is finite, its derivative is not.
    ("(+ a (sqrt (* b b)))", &[("a", 1.0), ("b", 0.0)], &[("W0502", "in the derivative gives", "(sqrt (* b b))")]),
    ("(* 2. (expt a 0.5))", &[("a", 0.0)], &[("W0502", "in the derivative gives", "(expt a 0.5)")]),
    // Zero, and why.
    (
        "(define (f x) (* b x))\n(* a a)",
        &[("a", 1.0), ("b", 2.0)],
        &[("W0503", "b is zero: the program never computes", "")],
    ),
    (
        "(define (f x)\n  (if (< x b)\n      a\n      (* a x)))\n(f 3.)",
        &[("a", 1.0), ("b", 2.0)],
        &[("W0503", "b is zero: it occurs only in the test at line 2", "(< x b)")],
    ),
    (
        "(define y (* 2. b))\n(define z (sin y))\n(* a a)",
        &[("a", 1.0), ("b", 2.0)],
        &[("W0503", "b is zero: nothing that it changes reaches the result", "(* 2. b)")],
    ),
    (
        "(* a (max b 3.))",
        &[("a", 1.0), ("b", 2.0)],
        &[("W0503", "b is zero: at this point the result does not change", "")],
    ),
    ("(* a (round b))", &[("a", 1.0), ("b", 2.2)], &[("W0503", "b is zero: at this point", "")]),
    (
        "(* a (vector-ref (vector 1. 2. 4.) (exact (floor b))))",
        &[("a", 1.0), ("b", 2.2)],
        &[("W0503", "b is zero: ", "")],
    ),
    // A number that every lane must have in common.
    (
        "(* a (string->number (number->string b)))",
        &[("a", 1.0), ("b", 2.2)],
        &[("W0503", "b is zero: it only chooses", "")],
    ),
    ("(+ 1. 2.)", &[("a", 1.0)], &[("W0503", "a is zero: the program never computes", "")]),
    // Nothing is wrong.
    ("(* a (sin b))", &[("a", 1.0), ("b", 2.2)], &[]),
    ("(if (> a 0.) (* a b) (log a))", &[("a", 1.0), ("b", 2.2)], &[]),
];

#[test]
fn warnings_name_the_operation_the_place_and_the_reason_in_every_mode() {
    let mut wrong = Vec::new();
    for &(text, at, expected) in CASES {
        for mode in &MODES {
            let names = Wrt::Names(at.iter().map(|a| a.0.to_string()).collect());
            let got = shown(&diagnose(text, mode, at, names));
            let fits = |(got, want): (&(String, String, String), &(&str, &str, &str))| {
                got.0 == want.0 && got.1.contains(want.1) && (want.2.is_empty() || got.2 == want.2)
            };
            if got.len() != expected.len() || !got.iter().zip(expected).all(fits) {
                wrong.push(format!("[{mode}] {text}\n    {got:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_five_parameters_of_the_city_that_do_nothing_are_found() {
    let text = std::fs::read_to_string(root().join("crates/dmci-repro/models/society/diffsoc-s.scm")).unwrap();
    let mut at = vec![
        ("growth", 0.02),
        ("policy_rate", 0.05),
        ("investment", 1.0),
        ("housing_supply", 1.0),
        ("immigration", 0.01),
    ];
    at.push(("steps", 10.0));
    for mode in [Mode::Direct, Mode::Dmci] {
        let report = diagnose(&text, &mode, &at, Wrt::Default);
        let mut zero = Vec::new();
        for (code, message, _) in shown(&report) {
            assert_eq!(code, "W0503", "{message}");
            let name = message.split(' ').nth(3).unwrap().to_string();
            assert!(message.contains("nothing that it changes reaches the result"), "{message}");
            zero.push(name);
        }
        zero.sort();
        assert_eq!(zero, ["p_crd_adj", "p_crd_def", "p_crd_rsk", "p_mac_ineq", "p_pol_cred"], "{mode}");
    }
}
