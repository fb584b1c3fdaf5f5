//! The corpus: programs that a language model wrote, with values and derivatives; and whether the parameters of
//! those that loop or recur are found again.

use super::recovery::{Recovery, Subject};
use crate::torch::Torch;
use dmci::{Bindings, Datum, GradOptions, Interpreter, Program, Report, RunOptions, Wrt};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Programs of the corpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Corpus {
    /// How many.
    pub programs: usize,
    /// Those whose values and gradients are those that the corpus holds.
    pub covered: usize,
    /// Seconds to all values and gradients of the first examples.
    pub seconds: f64,
    /// Searches of those that loop or recur over scalar inputs.
    pub recovery: Vec<Recovery>,
}

/// Runs all programs at their first examples, against the values and derivatives that the corpus holds, and
/// searches the parameters of those that loop or recur.
pub fn run(text: &str, few: Option<usize>, budget: Duration) -> Result<Corpus, Report> {
    let mut corpus = Corpus { programs: 0, covered: 0, seconds: 0.0, recovery: Vec::new() };
    let models: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    for model in &models {
        corpus.programs += 1;
        let began = Instant::now();
        let found = gradient(model);
        corpus.seconds += began.elapsed().as_secs_f64();
        corpus.covered += usize::from(found.is_some_and(|found| is_expected(model, &found)));
    }
    let subjects = models.iter().enumerate().filter_map(|(i, m)| subject(m, i as u64));
    for subject in subjects.take(few.unwrap_or(usize::MAX)) {
        corpus.recovery.extend(subject.recover(budget)?);
    }
    Ok(corpus)
}

fn gradient(model: &Value) -> Option<dmci::Gradient> {
    let program = Program::new(model["source"].as_str().unwrap_or_default());
    let names: Vec<String> = model["params"].as_object().into_iter().flatten().map(|(n, _)| n.clone()).collect();
    let both = [&model["params"], &model["examples"][0]];
    let entries = both.iter().flat_map(|v| v.as_object().into_iter().flatten());
    let bindings: Bindings = entries.map(|(n, v)| (n.clone(), datum(v))).collect();
    let run = RunOptions { bindings, ..RunOptions::default() };
    Interpreter::shared().grad(&program, &GradOptions { run, wrt: Wrt::Names(names), hessian: false }).ok()
}

fn is_expected(model: &Value, found: &dmci::Gradient) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs().max(1e-6);
    let expected = |v: &Value| v.as_f64().unwrap_or(f64::NAN);
    let gradient = found.coordinates.iter().zip(&found.flat).all(|(name, g)| {
        let wanted = &model["grad"][0][name];
        wanted.is_null() || close(*g, expected(wanted))
    });
    gradient && close(found.value, expected(&model["expected"][0]))
}

fn datum(value: &Value) -> Datum {
    match value {
        Value::Array(list) => Datum::list(list.iter().map(datum).collect()),
        Value::Number(n) if n.is_i64() => Datum::Integer(n.as_i64().unwrap_or(0)),
        other => Datum::Real(other.as_f64().unwrap_or(f64::NAN)),
    }
}

/// Families whose programs loop or recur.
const FAMILIES: [&str; 3] = ["recursion", "loop", "state-space"];

/// A program to search: its inputs are single numbers, real parameters are unknown within a factor of three. Data
/// are 16 rows between the examples; whole numbers are those of the examples.
fn subject(model: &Value, number: u64) -> Option<Subject> {
    if !FAMILIES.contains(&model["family"].as_str()?) {
        return None;
    }
    let mut parameters = Vec::new();
    let mut fixed = String::new();
    for (name, value) in model["params"].as_object()? {
        match value {
            Value::Number(n) if n.is_f64() && n.as_f64()? != 0.0 => {
                let truth = n.as_f64()?;
                let ends = (truth / 3.0, truth * 3.0);
                parameters.push((name.clone(), truth, (ends.0.min(ends.1), ends.0.max(ends.1))));
            }
            Value::Number(n) => fixed += &format!("(define {name} {n})\n"),
            _ => return None,
        }
    }
    let examples = model["examples"].as_array()?;
    let inputs: Vec<String> = examples.first()?.as_object()?.keys().cloned().collect();
    if !examples.iter().all(|e| e.as_object().is_some_and(|e| e.values().all(Value::is_number))) {
        return None;
    }
    let mut torch = Torch::new(number);
    let mut cell = |input: &String, row: usize| -> Option<String> {
        let values: Vec<&Value> = examples.iter().map(|e| &e[input]).collect();
        if values.iter().all(|v| v.is_i64()) {
            return Some(values[row % values.len()].to_string());
        }
        let reals: Vec<f64> = values.iter().filter_map(|v| v.as_f64()).collect();
        let (low, high) = reals.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
        Some(format!("{:?}", low + (high - low) * torch.uniform()))
    };
    let rows = (0..16).map(|row| inputs.iter().map(|i| cell(i, row)).collect()).collect::<Option<Vec<_>>>()?;
    let body = fixed + model["source"].as_str()?;
    Some(Subject { name: model["id"].as_str()?.into(), body, parameters, inputs, rows })
}
