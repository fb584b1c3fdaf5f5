//! Loops and decisions at length: run by `bench/loops.sh`.
//!
//! Prints how time and memory of a recurrence grow with its rounds, how often a loop to a tolerance is
//! recorded over lanes that need very different numbers of rounds, and what a fit of a model with thresholds
//! costs beside the same model written with `min` and `max`.

use dmci::{Batch, Column, Datum, Mode, Model, ModelOptions, Program, RunOptions, Want};
use std::time::Instant;

const RECURRENCE: &str = "(let loop ((t 0) (x 0.3) (v 0.1))
  (if (= t n) (+ x v) (loop (+ t 1) (+ x (* h v)) (- v (* h a (sin x))))))";

fn options() -> ModelOptions {
    ModelOptions { run: RunOptions { mode: Mode::Dmci, ..RunOptions::default() }, ..ModelOptions::default() }
}

/// Peak memory of this process in bytes, where the system tells.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    let kib = line.and_then(|l| l.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

fn uniform(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..n).map(|_| next()).collect()
}

/// One line of the table of recurrences, in a process of its own.
fn recurrence(rounds: i64) {
    let model = Model::new(Program::new(RECURRENCE), &["a"], &["n", "h"], options());
    // The machine and its image are there before anything is measured.
    let warm = [Column::Data(vec![Datum::Integer(10)]), Column::Reals(vec![1e-3])];
    let warmed = Model::new(Program::new(RECURRENCE), &["a"], &["n", "h"], options());
    drop(warmed.evaluate(&[1.7], &warm, Want::Gradients));
    let before = peak_memory();
    let columns = [Column::Data(vec![Datum::Integer(rounds)]), Column::Reals(vec![1e-3])];
    let start = Instant::now();
    let Ok(batch) = model.evaluate(&[1.7], &columns, Want::Gradients) else { return };
    let first = start.elapsed();
    let start = Instant::now();
    drop(model.evaluate(&[1.7], &columns, Want::Gradients));
    let again = start.elapsed();
    let grown = peak_memory().saturating_sub(before);
    println!(
        "{rounds:9}  {:9.2} ms  {:9.2} ms  {:7.1} ns  {:8.2} MiB  {:3}  {:+.6e} {:+.6e}",
        first.as_secs_f64() * 1e3,
        again.as_secs_f64() * 1e3,
        again.as_secs_f64() * 1e9 / rounds as f64,
        grown as f64 / (1 << 20) as f64,
        model.recordings(),
        batch.values[0],
        batch.gradients[0]
    );
}

fn newton() {
    let lanes = 10_000;
    let Ok(text) = std::fs::read_to_string("crates/dmci-repro/models/bench/newton-damped.scm") else { return };
    let xs = uniform(lanes, 1).iter().map(|u| 10f64.powf(12.0 * u - 6.0)).collect();
    let tolerances = uniform(lanes, 2).iter().map(|u| 10f64.powf(-2.0 - 10.0 * u)).collect();
    let etas = uniform(lanes, 3).iter().map(|u| 10f64.powf(-3.0 * u)).collect();
    let columns = [xs, tolerances, etas].map(Column::Reals);
    let model = Model::new(Program::new(&text), &["a"], &["x", "tol", "eta"], options());
    let start = Instant::now();
    match model.evaluate(&[0.5], &columns, Want::Gradients) {
        Ok(batch) => println!(
            "{lanes} lanes: {} recordings, {} failed, {:.2} s",
            model.recordings(),
            batch.failures.len(),
            start.elapsed().as_secs_f64()
        ),
        Err(report) => println!("{report:?}"),
    }
}

/// Adam's method on the logarithms of the parameters, all restarts at once: time and recordings.
fn bucket(file: &str, restarts: usize, steps: i32) -> Option<(f64, u64)> {
    let text = std::fs::read_to_string(file).ok()?;
    let rows = 16;
    let wetness: Vec<f64> = (0..rows).map(|i| 0.8 + 0.4 * i as f64 / 15.0).collect();
    let columns = [Column::Reals(wetness), Column::Data(vec![Datum::Integer(1000); rows])];
    let truth = [60.0, 15.0, 0.15, 0.3f64];
    let model = Model::new(Program::new(&text), &["c", "w", "k", "a"], &["wetness", "days"], options());
    let target = model.evaluate(&truth, &columns, Want::Values).ok()?.values;
    // Normal numbers by the sum of twelve uniform ones.
    let noise = uniform(12 * 4 * restarts, 11);
    let normal = |i: usize| noise[12 * i..12 * (i + 1)].iter().sum::<f64>() - 6.0;
    let mut raw: Vec<f64> = (0..4 * restarts).map(|i| (truth[i % 4] * (1.0 + 0.2 * normal(i)).max(0.1)).ln()).collect();
    let (mut m, mut v) = (vec![0.0; raw.len()], vec![0.0; raw.len()]);
    let mut batch = Batch::default();
    let start = Instant::now();
    for step in 1..=steps {
        let theta: Vec<f64> = raw.iter().map(|x| x.exp()).collect();
        model.evaluate_into(&mut batch, &theta, &columns, Want::Gradients).ok()?;
        for (i, x) in raw.iter_mut().enumerate() {
            let (set, k) = (i / 4, i % 4);
            let term = |row: usize| {
                let lane = set * rows + row;
                2.0 * (batch.values[lane] - target[row]) * batch.gradients[lane * 4 + k]
            };
            let g = (0..rows).map(term).sum::<f64>() / rows as f64 * theta[i];
            (m[i], v[i]) = (0.9 * m[i] + 0.1 * g, 0.999 * v[i] + 0.001 * g * g);
            let (a, b) = (m[i] / (1.0 - 0.9f64.powi(step)), v[i] / (1.0 - 0.999f64.powi(step)));
            *x -= 0.02 * a / (b.sqrt() + 1e-8);
        }
    }
    Some((start.elapsed().as_secs_f64(), model.recordings()))
}

fn main() {
    if let Some(rounds) = std::env::args().nth(1).and_then(|r| r.parse().ok()) {
        return recurrence(rounds);
    }
    println!("a recurrence of two numbers, value and gradient, one lane, through the evaluator");
    println!("   rounds         first         again   per round    memory  recordings  value and gradient");
    for rounds in ["1000", "10000", "100000", "1000000"] {
        let Ok(program) = std::env::current_exe() else { return };
        let output = std::process::Command::new(program).arg(rounds).output();
        print!("{}", output.map_or(String::new(), |o| String::from_utf8_lossy(&o.stdout).into_owned()));
    }
    println!("\nNewton's method to a tolerance, damped: from about 10 to 10,000 rounds");
    newton();
    println!("\na bucket with thresholds, 1,000 days, 64 restarts x 16 rows, 300 steps of Adam's method");
    let written = [
        ("if", "crates/dmci-repro/models/bench/bucket.scm"),
        ("min and max", "crates/dmci-repro/models/bench/bucket-minmax.scm"),
    ];
    let found = written.map(|(_, file)| bucket(file, 64, 300));
    for ((how, _), found) in written.iter().zip(&found) {
        if let Some((seconds, recordings)) = found {
            println!("{how:12} {seconds:6.2} s, {recordings} recordings");
        }
    }
    if let [Some(first), Some(second)] = found {
        println!("ratio {:.2}", first.0 / second.0);
    }
}
