//! Scientific models as language models write them give their expected values in every mode.

#![allow(clippy::unwrap_used)]

mod common;

use common::{datum, options, run_with, shared};
use dmci::{Bindings, Mode};
use serde_json::Value as Json;
use std::time::{Duration, Instant};

const TOLERANCE: f64 = 1e-9;

/// The values of one example: parameters first, then inputs.
fn bindings(model: &Json, example: &Json) -> Bindings {
    let params = model["params"].as_object().expect("parameters by name");
    let inputs = model["inputs"].as_array().expect("a list of inputs");
    let inputs = inputs.iter().map(|name| name.as_str().expect("a name"));
    let params = params.iter().map(|(name, value)| (name.clone(), datum(value)));
    params.chain(inputs.map(|name| (name.to_string(), datum(&example[name])))).collect()
}

#[test]
fn every_program_gives_its_expected_values() {
    let Some(text) = shared("corpus.jsonl") else { return };
    let models: Vec<Json> =
        text.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect();
    let mut failures = Vec::new();
    for (mode, examples) in [(Mode::Direct, 3), (Mode::Dmci, 3), (Mode::Tower(2), 1)] {
        let start = Instant::now();
        let (mut runs, mut slowest) = (0, (Duration::ZERO, String::new()));
        for model in &models {
            let id = model["id"].as_str().expect("an id");
            let source = model["source"].as_str().expect("a source");
            let cases = model["examples"].as_array().unwrap().iter().zip(model["expected"].as_array().unwrap());
            for (i, (example, expected)) in cases.take(examples).enumerate() {
                let mut options = options(&mode);
                options.bindings = bindings(model, example);
                let expected = expected.as_f64().expect("a number");
                let before = Instant::now();
                let result = run_with(source, &options);
                slowest = slowest.max((before.elapsed(), id.to_string()));
                runs += 1;
                match result {
                    Ok(outcome) => {
                        let got = outcome.value.as_f64();
                        let near = |x: f64| (x - expected).abs() <= TOLERANCE * expected.abs().max(1e-300);
                        if !got.is_some_and(|x| x == expected || near(x)) {
                            failures.push(format!("[{mode}] {id}/{i}: got {}, expected {expected}", outcome.text));
                        }
                    }
                    Err(failure) => failures.push(format!("[{mode}] {id}/{i}: expected {expected}, got\n{failure}")),
                }
            }
        }
        let (longest, id) = slowest;
        println!(
            "{mode}: {} programs, {runs} runs in {:.2?}, slowest {id} {longest:.2?}",
            models.len(),
            start.elapsed()
        );
    }
    assert!(failures.is_empty(), "{} wrong:\n{}", failures.len(), failures.join("\n"));
}
