//! Loops and decisions of real programs: how often they are recorded while they are fitted.

#![allow(clippy::unwrap_used)]

mod common;

use common::{datum, first_difference, shared, uniform};
use dmci::{Column, Datum, JitPolicy, Mode, Model, ModelOptions, Program, RunOptions, Want};
use serde_json::Value as Json;

fn model_text(name: &str) -> String {
    std::fs::read_to_string(format!("{}/../dmci-repro/models/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn options(mode: Mode) -> ModelOptions {
    ModelOptions { run: RunOptions { mode, ..RunOptions::default() }, ..ModelOptions::default() }
}

#[test]
fn a_loop_to_a_tolerance_is_recorded_a_few_times() {
    let lanes = 2000;
    let xs: Vec<f64> = uniform(lanes, 1).iter().map(|u| 10f64.powf(12.0 * u - 6.0)).collect();
    let tolerances: Vec<f64> = uniform(lanes, 2).iter().map(|u| 10f64.powf(-2.0 - 4.0 * u)).collect();
    let etas: Vec<f64> = uniform(lanes, 3).iter().map(|u| 10f64.powf(-2.0 * u)).collect();
    let columns = [xs, tolerances, etas].map(Column::Reals);
    let program = Program::new(&model_text("bench/newton-damped.scm"));
    for mode in [Mode::Direct, Mode::Dmci] {
        let model = Model::new(program.clone(), &["a"], &["x", "tol", "eta"], options(mode.clone()));
        let all = model.evaluate(&[0.5], &columns, Want::Gradients).unwrap();
        assert!(all.failures.is_empty(), "{}", all.failures[0].1);
        assert!(model.recordings() <= 5, "{} recordings in {mode:?}", model.recordings());
        for lane in (0..lanes).step_by(97) {
            let row = columns.clone().map(|c| match c {
                Column::Reals(list) => Column::Reals(vec![list[lane]]),
                other => other,
            });
            let flat = ModelOptions { loops: false, joins: false, ..options(mode.clone()) };
            let alone = Model::new(program.clone(), &["a"], &["x", "tol", "eta"], flat);
            let alone = alone.evaluate(&[0.5], &row, Want::Gradients).unwrap();
            assert_eq!(all.values[lane].to_bits(), alone.values[0].to_bits(), "lane {lane}");
            assert_eq!(all.gradients[lane].to_bits(), alone.gradients[0].to_bits(), "gradient of lane {lane}");
        }
    }
}

#[test]
fn a_long_loop_is_not_walked_to_its_end() {
    let text =
        "(let loop ((t 0) (x 0.3) (v 0.1)) (if (= t n) (+ x v) (loop (+ t 1) (+ x (* 0.001 v)) (- v (* a 0.001 x)))))";
    let model = Model::new(Program::new(text), &["a"], &["n"], options(Mode::Dmci));
    let start = std::time::Instant::now();
    let batch = model.evaluate(&[1.7], &[Column::Data(vec![Datum::Integer(100_000)])], Want::Gradients).unwrap();
    assert!(batch.failures.is_empty(), "{}", batch.failures[0].1);
    assert_eq!(model.recordings(), 1);
    // x'' = -a x, for 100 time units.
    let omega = 1.7f64.sqrt();
    let exact = |w: f64| {
        let t = 100.0;
        0.3 * (w * t).cos() + 0.1 / w * (w * t).sin() + -0.3 * w * (w * t).sin() + 0.1 * (w * t).cos()
    };
    // Euler's method gains energy: a rough look is enough, bits are compared elsewhere.
    let growth = (1.0f64 + 1.7e-6).powf(50_000.0);
    assert!((batch.values[0] / growth - exact(omega)).abs() < 0.05, "{} {}", batch.values[0], exact(omega));
    assert!(start.elapsed().as_secs() < 60);
}

/// A program of the corpus: name, text, parameters with values, and rows of inputs.
type Case = (String, Program, Vec<(String, f64)>, Vec<String>, Vec<Column>);

fn corpus(text: &str) -> Vec<Case> {
    let case = |line: &str| {
        let case: Json = serde_json::from_str(line).unwrap();
        let numbers = case["params"].as_object().unwrap().iter().map(|(n, v)| (n.clone(), v.as_f64().unwrap()));
        let inputs: Vec<String> =
            case["inputs"].as_array().unwrap().iter().map(|n| n.as_str().unwrap().into()).collect();
        let rows = case["examples"].as_array().unwrap();
        let columns = inputs.iter().map(|n| Column::Data(rows.iter().map(|row| datum(&row[n])).collect())).collect();
        let id = case["id"].as_str().unwrap();
        (id.into(), Program::named(id, case["source"].as_str().unwrap()), numbers.collect(), inputs, columns)
    };
    text.lines().map(case).collect()
}

/// Adam's method on the squared errors, from a start that is off by a tenth: how often the program was
/// recorded.
fn fit(program: &Program, params: &[(String, f64)], inputs: &[String], columns: &[Column], joins: bool) -> u64 {
    let names: Vec<&str> = params.iter().map(|p| p.0.as_str()).collect();
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let options = ModelOptions { joins, loops: joins, ..options(Mode::Dmci) };
    let model = Model::new(program.clone(), &names, &inputs, options);
    let truth: Vec<f64> = params.iter().map(|p| p.1).collect();
    let target = model.evaluate(&truth, columns, Want::Values).unwrap().values;
    let mut theta: Vec<f64> = truth.iter().enumerate().map(|(i, x)| x * (1.0 + 0.1 * (-1f64).powi(i as i32))).collect();
    let (mut m, mut v) = (vec![0.0; theta.len()], vec![0.0; theta.len()]);
    for step in 1..=100 {
        let batch = model.evaluate(&theta, columns, Want::Gradients).unwrap();
        for (i, x) in theta.iter_mut().enumerate() {
            let of = |row: usize| 2.0 * (batch.values[row] - target[row]) * batch.gradients[row * truth.len() + i];
            let g: f64 = (0..target.len()).map(of).sum::<f64>() * truth[i].abs().max(1e-3);
            if !g.is_finite() {
                continue;
            }
            (m[i], v[i]) = (0.9 * m[i] + 0.1 * g, 0.999 * v[i] + 0.001 * g * g);
            let (a, b) = (m[i] / (1.0 - 0.9f64.powi(step)), v[i] / (1.0 - 0.999f64.powi(step)));
            *x -= 0.003 * truth[i].abs().max(1e-3) * a / (b.sqrt() + 1e-12);
        }
    }
    model.recordings()
}

#[test]
fn fits_of_the_corpus_record_a_few_times() {
    let Some(text) = shared("corpus.jsonl") else { return };
    let mut counts = Vec::new();
    for (id, program, params, inputs, columns) in corpus(&text) {
        let recordings = fit(&program, &params, &inputs, &columns, true);
        let separate = fit(&program, &params, &inputs, &columns, false);
        // What branches on a parameter has more than one path without joins and loops.
        if separate > 1 {
            println!("{recordings:4} of {separate:4} recordings: {id}");
            counts.push(recordings);
        }
    }
    counts.sort_unstable();
    println!("{} programs take several paths; the median is {} recordings", counts.len(), counts[counts.len() / 2]);
    assert!(counts.len() > 20);
    assert!(counts[counts.len() / 2] <= 3);
}

#[test]
fn the_corpus_has_the_same_bits_with_every_switch() {
    let Some(text) = shared("corpus.jsonl") else { return };
    for (id, program, params, inputs, columns) in corpus(&text) {
        let names: Vec<&str> = params.iter().map(|p| p.0.as_str()).collect();
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let theta: Vec<f64> = (0..3).flat_map(|k| params.iter().map(move |p| p.1 * (1.0 + 0.03 * k as f64))).collect();
        let run = |mode: Mode, joins: bool, loops: bool| {
            let options = ModelOptions { joins, loops, ..options(mode) };
            let model = Model::new(program.clone(), &names, &inputs, options);
            model.evaluate(&theta, &columns, Want::Gradients).unwrap()
        };
        let flat = run(Mode::Direct, false, false);
        for mode in [Mode::Direct, Mode::Dmci, Mode::Tower(2)] {
            for (joins, loops) in [(true, true), (false, true), (true, false)] {
                if mode == Mode::Tower(2) && !(joins && loops) {
                    continue;
                }
                let found = run(mode.clone(), joins, loops);
                assert_eq!(flat.failures.len(), found.failures.len(), "{id}");
                let at = first_difference(&flat.values, &found.values);
                assert_eq!(at, None, "values of {id} in {mode:?}, joins {joins}, loops {loops}");
                let at = first_difference(&flat.gradients, &found.gradients);
                let shown = at.map(|at| (flat.gradients[at], found.gradients[at]));
                assert!(at.is_none(), "gradients of {id} in {mode:?}, joins {joins}, loops {loops}: {at:?} {shown:?}");
            }
        }
    }
}

#[test]
fn rollouts_that_collect_their_predictions_are_one_path() {
    let sum = "(apply + (map square (reverse l)))";
    let text = "(let roll ((i 0) (x x0) (l '())) (if (= i 400) SUM
        (let ((p (+ (* a x) (* b (sin x))))) (roll (+ i 1) p (cons p l)))))";
    let xs: Vec<f64> = uniform(300, 4);
    let of = |code: JitPolicy| {
        let options = ModelOptions { code, ..options(Mode::Dmci) };
        let model = Model::new(Program::new(&text.replace("SUM", sum)), &["a", "b"], &["x0"], options);
        let batch = model.evaluate(&[0.9, 0.1], &[Column::Reals(xs.clone())], Want::Gradients).unwrap();
        assert!(batch.failures.is_empty() && model.recordings() == 1, "{} recordings", model.recordings());
        let all = batch.values.iter().chain(&batch.gradients);
        all.map(|x| x.to_bits()).collect::<Vec<u64>>()
    };
    assert_eq!(of(JitPolicy::Always), of(JitPolicy::Never));
}
