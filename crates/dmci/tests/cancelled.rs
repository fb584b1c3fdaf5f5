//! Work that is stopped: soon, with what was done by then, and without a trace in later calls.

#![allow(clippy::unwrap_used)]

use dmci::{Batch, Cancel, Column, ErrorCode, Limits, Model, ModelOptions, Program, RunOptions, Want};
use std::time::{Duration, Instant};

/// How long work may go on after it was stopped, on a machine that has other things to do.
const SOON: Duration = Duration::from_millis(1500);

/// Kernels that would take many seconds, even where they are compiled for speed.
#[test]
fn a_kernel_ends_with_its_time() {
    for work in ["(matmul a a)", "(inv a)", "(cholesky a)", "(det a)", "(solve a a)"] {
        let program = Program::new(&format!("(define a (+ (eye 1800) (* 0.1 (ones 1800 1800)))) (sum {work})"));
        let limits = Limits { time: Duration::from_millis(250), ..Limits::default() };
        let began = Instant::now();
        let report = program.run(&RunOptions { limits, ..RunOptions::default() }).unwrap_err();
        assert_eq!(report.diagnostics[0].code, ErrorCode::E0405, "{work}");
        assert!(began.elapsed() < limits.time + SOON, "{work}: {:?}", began.elapsed());
    }
}

fn model(text: &str) -> (Model, Cancel) {
    let options = ModelOptions::default();
    let cancel = options.run.cancel.clone();
    (Model::new(Program::new(text), &["a"], &["x"], options), cancel)
}

/// Evaluates rows until somebody cancels the run, after a while.
fn evaluated(model: &Model, cancel: &Cancel, rows: usize, want: Want) -> (Batch, Duration) {
    let columns = [Column::Reals((0..rows).map(|i| 1.0 + i as f64 / rows as f64).collect())];
    let late = cancel.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        late.cancel();
        Instant::now()
    });
    let batch = model.evaluate(&[2.0], &columns, want).unwrap();
    let ended = Instant::now();
    let over = ended.saturating_duration_since(thread.join().unwrap());
    cancel.reset();
    (batch, over)
}

/// Of a call that is cancelled, lanes have their values or none, and the next call is as if nothing had been.
fn stops(text: &str, want: Want, rows: usize) {
    let (model, cancel) = model(text);
    let few = [Column::Reals(vec![1.0])];
    let first = model.evaluate(&[2.0], &few, want).unwrap();
    let (batch, over) = evaluated(&model, &cancel, rows, want);
    assert!(over < SOON, "{text}: {over:?}");
    assert!(!batch.cut.is_empty(), "{text}: all of {rows} rows were done");
    let cancelled = batch.failures.iter().filter(|f| f.1.is_cancelled()).count();
    assert_eq!((cancelled, batch.failures.len()), (1, 1), "{text}");
    for (row, value) in batch.values.iter().enumerate() {
        assert_eq!(value.is_nan(), batch.cut.contains(&row), "{text}: row {row} is {value}");
    }
    let again = model.evaluate(&[2.0], &few, want).unwrap();
    assert_eq!((&again.values, &again.gradients), (&first.values, &first.gradients), "{text}");
}

#[test]
fn rows_of_tensors_stop() {
    stops("(sum (matmul (* a (ones 150 150)) (* x (ones 150 150))))", Want::Gradients, 20_000);
}

#[test]
fn rows_with_long_loops_stop() {
    // Of known length, and left when each lane likes.
    stops(
        "(let loop ((i 0) (y x)) (if (< i 3000000) (loop (+ i 1) (+ 1.0 (* 1e-6 a (sin y)))) y))",
        Want::Values,
        20_000,
    );
    stops(
        "(let loop ((i 0) (y x)) (if (< i 3000000) (loop (+ i 1) (+ 1.0 (* 1e-6 a (sin y)))) y))",
        Want::Gradients,
        300,
    );
    stops("(let loop ((y x)) (if (< y 3e8) (loop (+ y (* 0.5 a))) y))", Want::Values, 3000);
}

#[test]
fn rows_that_take_paths_of_their_own_stop() {
    stops(
        "(let loop ((i 0) (s a)) (if (< i (* 20000 x)) (loop (+ i 1) (if (< (sin (* i s)) 0.5) (+ s 1e-9) s)) s))",
        Want::Values,
        20_000,
    );
}
