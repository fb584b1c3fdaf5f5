//! Gradients of the corpus, in every mode, and the identity of tapes.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Complaints, MODES, datum, shared};
use dmci::{Datum, GradOptions, Interpreter, Mode, Program, RunOptions, Wrt};
use serde_json::Value as Json;

/// The corpus: id, program, parameter names, and per example bindings, value and gradient.
#[allow(clippy::type_complexity)]
fn corpus(text: &str) -> Vec<(String, Program, Vec<String>, Vec<(Vec<(String, Datum)>, f64, Vec<f64>)>)> {
    text.lines()
        .map(|line| {
            let case: Json = serde_json::from_str(line).unwrap();
            let params = case["params"].as_object().unwrap();
            let names: Vec<String> = params.keys().cloned().collect();
            let examples = case["examples"].as_array().unwrap().iter().enumerate().map(|(i, example)| {
                let inputs = example.as_object().unwrap();
                let bindings = params.iter().chain(inputs).map(|(name, v)| (name.clone(), datum(v))).collect();
                let grad = names.iter().map(|n| case["grad"][i][n].as_f64().unwrap()).collect();
                (bindings, case["expected"][i].as_f64().unwrap(), grad)
            });
            let id = case["id"].as_str().unwrap();
            let examples = examples.collect();
            (id.to_string(), Program::named(id, case["source"].as_str().unwrap()), names, examples)
        })
        .collect()
}

fn options(mode: Mode, bindings: &[(String, Datum)], names: &[String]) -> GradOptions {
    GradOptions {
        run: RunOptions { mode, bindings: bindings.to_vec(), ..RunOptions::default() },
        wrt: Wrt::Names(names.to_vec()),
        hessian: false,
    }
}

#[test]
fn the_gradients_of_the_corpus_are_right_in_every_mode() {
    let Some(text) = shared("corpus.jsonl") else { return };
    let interpreter = Interpreter::shared();
    let mut checked = 0;
    let mut failures = Vec::new();
    for (id, program, names, examples) in corpus(&text) {
        for (i, (bindings, value, grad)) in examples.iter().enumerate() {
            let direct = match interpreter.grad(&program, &options(Mode::Direct, bindings, &names)) {
                Ok(direct) => direct,
                Err(failure) => {
                    failures.push(format!("{id} {i}: {failure}"));
                    continue;
                }
            };
            if (direct.value - value).abs() > 1e-9 * value.abs().max(1e-300) {
                failures.push(format!("{id} {i}: value {} for {value}", direct.value));
            }
            // Differences of 60 digits leave something like 1e-40 where the derivative is 0.
            let largest = grad.iter().fold(0.0f64, |m, g| if g.abs() < 1e-30 { m } else { m.max(g.abs()) });
            for ((name, got), want) in names.iter().zip(&direct.flat).zip(grad) {
                let tolerance = if largest == 0.0 { 1e-12 } else { 1e-6 * want.abs().max(1e-6 * largest) };
                if (got - want).abs() > tolerance || got.is_nan() {
                    failures.push(format!("{id} {i}: d/d{name} is {got}, not {want}"));
                }
            }
            // The same tape, and so the same bits, through the evaluator and through two of them.
            let modes = if i == 0 { vec![Mode::Dmci, Mode::Tower(2)] } else { vec![Mode::Dmci] };
            for mode in modes {
                let other = interpreter.grad(&program, &options(mode.clone(), bindings, &names)).unwrap();
                if other.tape != direct.tape {
                    failures.push(format!("{id} {i}: the tape differs in {mode}"));
                }
                assert_eq!(other.tape.stable_hash(), direct.tape.stable_hash());
                let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&other.flat), bits(&direct.flat), "{id} {i} {mode}");
            }
            checked += 1;
        }
    }
    println!("{checked} examples");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn tapes_have_a_text_form_that_reads_back() {
    let program = Program::new("(define (f x) (if (< x 1.) (* x x) (exp (- x)))) (+ (f a) (f (* 3 a)) (max a 0.1))");
    let bindings = [("a".to_string(), Datum::Real(0.4))];
    let gradient = Interpreter::shared().grad(&program, &options(Mode::Dmci, &bindings, &["a".into()])).unwrap();
    let text = gradient.tape.print();
    let again = dmci::Tape::parse(&text).unwrap();
    assert_eq!(again.print(), text);
    assert!(dmci::Tape::parse("%0 = real 1.0\n%1 = lt %0 %0\n%2 = add %0 %1\n").is_err());
    assert!(dmci::Tape::parse("%0 = add %0 %0\n").is_err());
}

/// Checks that programs of `a` and `b`, both traced reals, have one tape in all modes.
#[track_caller]
fn expect_one_tape(table: &[&str]) {
    let mut complaints = Complaints::default();
    for text in table {
        let tape = |mode: &Mode| {
            let bindings = [("a", 1.25), ("b", -0.5)].map(|(n, x)| (n.to_string(), Datum::Real(x)));
            let options = options(mode.clone(), &bindings, &["a".into(), "b".into()]);
            match Interpreter::shared().grad(&Program::new(text), &options) {
                Ok(gradient) => gradient.tape.print(),
                Err(failure) => failure.to_string(),
            }
        };
        let direct = tape(&Mode::Direct);
        for mode in &MODES[1..] {
            complaints.check(&format!("[{mode}] {text}"), &tape(mode), &direct);
        }
    }
    complaints.none();
}

#[test]
fn errors_that_are_caught_pin_the_same_numbers_in_every_mode() {
    expect_one_tape(&[
        "(guard (e (#t b)) (set! never-defined a))",
        "(guard (e (#t b)) (set! never-defined (* a b)) a)",
        "(guard (e (#t b)) (letrec ((x (begin (set! y a) 1)) (y 2)) (set! never-defined y)))",
        "(guard (e (#t b)) (+ a never-defined))",
        "(guard (e (#t b)) (never-defined a))",
        "(guard (e (#t b)) (letrec ((x (* a y)) (y a)) x))",
        "(guard (e (#t b)) ((lambda (x) x) a a))",
        "(guard (e (#t b)) ((lambda (x . y) x)))",
        "(guard (e (#t b)) ((lambda (x y z u v w) x) a a a a a))",
        "(guard (e (#t b)) ((case-lambda ((x) x) ((x y) x)) a a a))",
        "(guard (e (#t b)) (define (f x) x) (f a b))",
        "(guard (e (#t b)) (car a b))",
        "(guard (e (#t b)) (a b))",
        "(guard (e (#t b)) ((* a b) 1 2 3 4 5))",
        "(guard (e (#t b)) ((list a b) 1))",
        "(guard (e (#t b)) ((< a b) 1))",
        "(guard (e (#t b)) ((vec a b) 1))",
        "(guard (e (#t b)) (apply a (list b)))",
        "(guard (e (#t b)) (apply + a b))",
        "(guard (e (#t b)) (call/cc a))",
        "(guard (e (#t b)) (car a))",
        "(guard (e (#t b)) (cdr (* a b)))",
        "(guard (e (#t b)) (cdr (vec a b)))",
        "(guard (e (#t b)) (car (vec a b)))",
        "(guard (e (#t b)) (car (vector a b)))",
        "(guard (e (#t b)) (cadr (list a)))",
        "(guard (e (#t b)) (car (< a b)))",
        "(guard (e (#t b)) (vector-ref (vector a b) 2))",
        "(guard (e (#t b)) (vector-ref (vector a b) a))",
        "(guard (e (#t b)) (vector-ref a 0))",
        "(guard (e (#t b)) (vector-set! (vector a) 1 b))",
        "(guard (e (#t b)) (vector-set! a 0 b))",
        "(guard (e (#t b)) (list-tail (list a) 2))",
        "(guard (e (#t b)) (+ a 'x))",
        "(guard (e (#t b)) (+ a b 'x))",
        "(guard (e (#t b)) (+ 'x a b))",
        "(guard (e (#t b)) (* 'x a))",
        "(guard (e (#t b)) (- a 'x b))",
        "(guard (e (#t b)) (- 'x))",
        "(guard (e (#t b)) (/ a 0))",
        "(guard (e (#t b)) (/ a b 0))",
        "(guard (e (#t b)) (/ a (exact (floor (* 0.1 a)))))",
        "(guard (e (#t b)) (1+ (list a)))",
        "(guard (e (#t b)) (< a 'x))",
        "(guard (e (#t b)) (< a b 'x))",
        "(guard (e (#t b)) (if (< a 'x) 1 2))",
        "(guard (e (#t b)) (if (= 'x a) 1 2))",
        "(guard (e (#t b)) (zero? (vector a)))",
        "(guard (e (#t b)) (quotient a 2))",
        "(guard (e (#t b)) (exact a))",
        "(guard (e (#t b)) (vec a 'x))",
        "(guard (e (#t b)) (+ (vec a b) (vec a b 1.)))",
        "(guard (e (#t b)) (string-append \"x\" a))",
        "(guard (e (#t b)) (symbol->string (list a b)))",
        "(guard (e (#t b)) (length (cons a b)))",
        "(guard (e (#t b)) (hash-table-ref (make-equal-hash-table) a))",
        "(guard (e (#t b)) (assert (< a b)))",
        "(guard (e (#t b)) (assert (< a b) \"text\" a))",
        "(guard (e (#t b)) (raise a))",
        "(guard (e ((number? e) (* e b))) (raise a))",
        "(guard (e ((< e 0) b) ((> e 0) a)) (raise a))",
        "(guard (e ((symbol? e) b)) (guard (f ((string? f) a)) (raise (if (< a b) \"x\" 'y))))",
        "(guard (e (#t (car (condition/report-string e)))) (error \"x\" a b))",
        "(guard (e (#t (string-length (condition/report-string e)))) (error \"x\" a b))",
        "(guard (e (#t (apply + (error-object-irritants e)))) (error \"x\" a b))",
        "(guard (e (#t (string-length (condition/report-string e)))) (+ a 'x))",
        "(guard (e (#t (string-length (condition/report-string e)))) (set! never-defined a))",
        "(guard (e (#t b)) (with-exception-handler (lambda (e) a) (lambda () (+ 1 (raise b)))))",
        "(guard (e (#t b)) (with-exception-handler (lambda (e) (car a)) (lambda () (+ 1 (raise-continuable b)))))",
        "(with-exception-handler (lambda (e) a) (lambda () (+ 1 (raise-continuable b))))",
        "(guard (e (#t b)) (let-values (((x y) (values a b 1))) x))",
        "(guard (e (#t b)) (call-with-values (lambda () (values a b)) (lambda (x) x)))",
        "(guard (e (#t b)) (define-record-type p (mk x) p? (x px)) (px a))",
        "(guard (e (#t b)) (define-record-type p (mk x) p? (x px set-px!)) (set-px! 1 a))",
        "(guard (e (#t b)) (map a (list b)))",
        "(guard (e (#t b)) (map car (list a b)))",
        "(guard (e (#t b)) (for-each (lambda (x) (set! never-defined x)) (list a b)))",
        "(guard (e (#t b)) (sort (list a 'x) <))",
        "(guard (e (#t b)) (fold-left + 0 (list a 'x)))",
        "(guard (e (#t b)) (parameterize ((a b)) 1))",
        "(guard (e (#t b)) ((make-parameter a car)))",
        "(guard (e (#t b)) (force (delay (car a))))",
        "(guard (e (#t b)) (eval a))",
        "(guard (e (#t b)) (eval (list 'set! 'never-defined a)))",
        "(guard (e (#t b)) (eval (list a b)))",
        "(guard (e (#t b)) (eval (list 'let a b)))",
        "(guard (e (#t b)) (eval (list 'if)))",
        "(guard (e (#t b)) (eval 'never-defined (list a)))",
        "(guard (e (#t b)) (derivative a b))",
        "(guard (e (#t b)) (derivative (lambda (x) (car x)) a))",
        "(guard (e (#t b)) (derivative (lambda (x) (set! never-defined x)) a))",
        "(guard (e (#t b)) (grad (lambda (x) 'x) a))",
        "(guard (e (#t b)) (string-ref \"abc\" a))",
        "(guard (e (#t b)) (string-ref \"abc\" (exact (floor (* 10 a)))))",
        "(guard (e (#t b)) (list-ref (list a b) (exact (floor (* 10 a)))))",
        "(guard (e (#t b)) (vector-ref (vector a b) (exact (floor (* 10 a)))))",
        "(guard (e (#t b)) (integer->char (exact (floor (* -10 a)))))",
        "(let ((v (make-string (exact (floor (* 4 a))) #\\x))) (guard (e (#t b)) (car 'x)))",
        "(begin (guard (e (#t b)) (set! never-defined a)) (guard (e (#t (* a b))) (car b)))",
        "(begin (guard (e (#t b)) (car a)) (guard (e (#t b)) (car a)))",
        "(dynamic-wind (lambda () 1) (lambda () (guard (e (#t b)) (set! never-defined a))) (lambda () 2))",
    ]);
}
