//! No program can tell a traced number from a plain one: every procedure gives the same result, or fails with the same
//! code and message, whether the numbers in its arguments are traced or not.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Complaints, FAST, options};
use dmci::{Datum, GradOptions, Interpreter, Limits, Mode, Program, RunOptions, Session, Wrt};
use std::fmt::Write;
use std::time::Duration;

/// Arguments of all kinds. `a` and `b` are parameters, so that a good part of them is traced.
const KINDS: [&str; 17] = [
    "a",
    "b",
    "(exact b)",
    "(< a 5)",
    "(vec a b)",
    "(mat (vec a b) (vec 1 2))",
    "(list a (exact b))",
    "(vector a (exact b) 3)",
    "(list (cons a b) (cons 1 a))",
    "(vec 1 2 3)",
    "0",
    "1",
    "-1",
    "\"x\"",
    "'y",
    "#\\c",
    "(lambda x (if (pair? x) (car x) a))",
];

/// Those that calls with three arguments are made of.
const FEW: [&str; 6] = ["a", "(exact b)", "(vec a b)", "(list a 2.5)", "(vector a 1 (exact b))", "\"x\""];

/// Procedures that end a run.
const ENDING: [&str; 4] = ["exit", "emergency-exit", "%exit", "evaluate-program"];

/// Enough for all calls of a procedure.
const FUEL: u64 = 5_000_000;

const PRELUDE: &str = "
(define (try thunk)
  (write
   (call/cc
    (lambda (k)
      (with-exception-handler
       (lambda (e)
         (k (if (error-object? e) (list 'error (error-object-code e) (condition/report-string e)) (list 'raised e))))
       thunk))))
  (newline))
";

fn bindings() -> Vec<(String, Datum)> {
    vec![("a".into(), Datum::Real(1.5)), ("b".into(), Datum::Real(2.0))]
}

/// What a program prints and how it ends, with its numbers plain and with its parameters traced.
fn both(text: &str, mode: &Mode) -> [String; 2] {
    let (program, interpreter) = (Program::new(text), Interpreter::shared());
    // A procedure that never ends does so for plain and traced numbers.
    let limits = Limits { fuel: FUEL, time: Duration::from_secs(20), ..options(mode).limits };
    let run = RunOptions { bindings: bindings(), limits, ..options(mode) };
    let plain = match interpreter.run(&program, &run) {
        Ok(outcome) => outcome.output,
        Err(failure) => ending(&failure),
    };
    let grad = GradOptions { run, wrt: Wrt::Names(vec!["a".into(), "b".into()]), hessian: false };
    let traced = match interpreter.grad(&program, &grad) {
        Ok(gradient) => gradient.output,
        Err(failure) => ending(&failure),
    };
    [plain, traced]
}

fn ending(failure: &dmci::Report) -> String {
    let first = failure.diagnostics.first();
    format!("{}{}", failure.output, first.map_or(String::new(), |d| format!("{} {} {:?}", d.code, d.message, d.help)))
}

/// The procedures that programs can use.
fn procedures() -> Vec<String> {
    let mut session = Session::new(Interpreter::shared(), RunOptions::default()).unwrap();
    let mut names = session.names();
    names.retain(|name| {
        !ENDING.contains(&name.as_str())
            && Interpreter::shared()
                .run(&Program::new(&format!("(procedure? {name})")), &RunOptions::default())
                .is_ok_and(|outcome| outcome.text == "#t")
    });
    names.sort();
    assert!(names.len() > 400, "the procedures are not found");
    names
}

/// Lists of up to three arguments.
fn arguments() -> Vec<String> {
    let mut lists = vec![String::new()];
    lists.extend(KINDS.map(String::from));
    lists.extend(KINDS.iter().flat_map(|x| KINDS.map(|y| format!("{x} {y}"))));
    lists.extend(FEW.iter().flat_map(|x| FEW.iter().flat_map(move |y| FEW.map(|z| format!("{x} {y} {z}")))));
    lists
}

/// Takes every `parts`-th procedure from `part` on.
fn compare(part: usize, parts: usize) {
    let mut complaints = Complaints::default();
    let arguments = arguments();
    for name in procedures().iter().skip(part).step_by(parts) {
        let mut text = PRELUDE.to_string();
        for list in &arguments {
            let _ = writeln!(text, "(try (lambda () ({name} {list})))");
        }
        text += "a";
        for mode in &FAST {
            let [plain, traced] = both(&text, mode);
            if plain == traced {
                continue;
            }
            // Calls that print lines of their own shift what follows; one difference tells.
            let lines = plain.lines().zip(traced.lines()).enumerate();
            let (i, (x, y)) = lines.clone().find(|(_, (x, y))| x != y).unwrap_or((0, (&plain, &traced)));
            let count = lines.filter(|(_, (x, y))| x != y).count();
            let list = arguments.get(i).map_or("", |s| s);
            complaints.check(&format!("({name} {list}) [{mode}], {count} differ"), y, x);
        }
    }
    complaints.none();
}

#[test]
fn procedures_cannot_tell_traced_numbers_from_plain_ones() {
    compare(0, 2);
}

#[test]
fn procedures_cannot_tell_traced_numbers_from_plain_ones_either() {
    compare(1, 2);
}

#[test]
fn errors_that_nobody_catches_are_the_same_for_traced_numbers() {
    let mut complaints = Complaints::default();
    for name in procedures() {
        for list in ["a", "(exact b)", "(vec a b)", "a \"x\"", "\"x\" a", "(vec a b) 'y", "(list a b) (exact b)"] {
            for mode in &FAST {
                let call = format!("({name} {list})");
                let [plain, traced] = both(&format!("{call} a"), mode);
                complaints.check(&format!("{call} [{mode}]"), &traced, &plain);
            }
        }
    }
    complaints.none();
}
