//! The evaluator printed in the paper runs unchanged and gives the paper's programs their direct values.

mod common;

use common::{options, run_with, shared};
use dmci::{Bindings, Datum, Mode};

/// The listing of the evaluator, as it is printed.
fn listing() -> Option<String> {
    let paper = shared("seed.tex")?;
    let lines: Vec<&str> = paper.lines().skip(1386).take(1659 - 1386).collect();
    let start = lines.iter().position(|l| l.contains("\\begin{lstlisting}")).map_or(0, |i| i + 1);
    let end = lines.iter().position(|l| l.contains("\\end{lstlisting}")).unwrap_or(lines.len());
    Some(lines[start..end].join("\n"))
}

/// Programs P1 to P6 of experiment A with their true parameters and closed forms.
/// In P3 the recursive function takes its parameters from where it is defined.
type Model = (&'static str, &'static str, &'static [(&'static str, f64)], fn(f64) -> f64);
const PROGRAMS: [Model; 6] = [
    ("P1", "(* alpha (* x x))", &[("alpha", 0.5)], |x| 0.5 * x * x),
    ("P2", "(+ a (* b (* x x)))", &[("a", 3.0), ("b", 0.5)], |x| 3.0 + 0.5 * x * x),
    ("P3", "(define (p x n) (if (= n 0) 0 (+ (* alpha x) (p x (- n 1))))) (p x 3)", &[("alpha", 2.0)], |x| 6.0 * x),
    ("P4", "(define (twice f x) (f (f x))) (twice (lambda (y) (+ y alpha)) x)", &[("alpha", 1.5)], |x| x + 3.0),
    ("P5", "(define (f x) (* a x)) (define (g x) (+ b (* x x))) (+ (f x) (g x))", &[("a", 2.0), ("b", 1.5)], |x| {
        2.0 * x + 1.5 + x * x
    }),
    (
        "P6",
        "(define (g x) (+ x b)) (define (f u) (let ((s (* u u))) (+ (* a s) c))) (f (g x))",
        &[("a", 2.0), ("b", 0.5), ("c", 1.0)],
        |x| 2.0 * (x + 0.5) * (x + 0.5) + 1.0,
    ),
];

#[test]
fn the_evaluator_of_the_paper_gives_p1_to_p6_their_direct_values() {
    let Some(text) = listing() else { return };
    assert!(text.contains("scheme-eval-program"), "the listing is not where it was");
    let evaluator = Mode::Evaluator { name: "paper.scm".into(), text: text.into() };
    let grid = (0..8).map(|i| 0.5 + 2.5 * f64::from(i) / 7.0);
    for x in grid {
        for (name, source, params, closed_form) in PROGRAMS {
            let mut bindings: Bindings = params.iter().map(|&(n, v)| (n.to_string(), Datum::Real(v))).collect();
            bindings.push(("x".into(), Datum::Real(x)));
            let value = |mode: &Mode| {
                let mut options = options(mode);
                options.bindings = bindings.clone();
                run_with(source, &options).unwrap_or_else(|e| panic!("{name} in {mode}: {e}")).value
            };
            let direct = value(&Mode::Direct);
            assert_eq!(value(&evaluator), direct, "{name} at {x}");
            assert_eq!(value(&Mode::Dmci), direct, "{name} at {x}");
            let expected = closed_form(x);
            let got = direct.as_f64().expect("a number");
            assert!((got - expected).abs() <= 1e-14 * expected.abs(), "{name} at {x}: {got}, expected {expected}");
        }
    }
}

#[test]
fn the_evaluator_of_the_paper_runs_itself() {
    let Some(text) = listing() else { return };
    // The evaluator evaluates its own definitions, and with them a small program.
    let program = format!("{text}\n(scheme-eval-program '((define (sq x) (* x x)) (sq (+ y 1))) (list (cons 'y 4)))");
    let evaluator = Mode::Evaluator { name: "paper.scm".into(), text: text.into() };
    let outcome = run_with(&program, &options(&evaluator)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(outcome.text, "25");
    let outcome = run_with(&program, &options(&Mode::Dmci)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(outcome.text, "25");
}

#[test]
fn a_file_without_an_evaluator_is_an_error() {
    let mode = Mode::Evaluator { name: "empty.scm".into(), text: "(define x 1)".into() };
    let failure = run_with("(+ 1 2)", &options(&mode)).expect_err("there is no evaluator");
    assert!(failure.to_string().contains("empty.scm defines neither evaluate nor scheme-eval-program"), "{failure}");
}
