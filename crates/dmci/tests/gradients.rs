//! Gradients of the corpus, in every mode, and the identity of tapes.

#![allow(clippy::unwrap_used)]

mod common;

use common::{datum, shared};
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
