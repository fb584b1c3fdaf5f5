//! Fits that are stopped by their time, or by somebody.

#![allow(clippy::unwrap_used)]

use dmci::{Program, RunOptions};
use dmci_fit::{FitOptions, Problem, ProblemOptions, Table, fit};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

fn table(rows: usize) -> Table {
    let line = |i: usize| format!("{},{}\n", i as f64 / rows as f64, (i as f64).sin());
    let text = String::from("x,y\n") + &(0..rows).map(line).collect::<String>();
    Table::from_csv("data.csv", text.as_bytes()).unwrap()
}

fn problem(text: &str, rows: usize) -> (Problem, RunOptions) {
    let run = RunOptions::default();
    let options = ProblemOptions { run: run.clone(), ..ProblemOptions::default() };
    (Problem::new(Program::new(text), &table(rows), "y", options).unwrap(), run)
}

/// Searches with many parameters spend their time in linear algebra, and so do error bars.
#[test]
fn many_parameters_end_with_their_time() {
    if std::env::var_os("DMCI_LONG").is_none() {
        return;
    }
    let (problem, _) = problem("(params (a (vector 1500))) (* x (sum a))", 500);
    let options = FitOptions { time: Some(Duration::from_millis(500)), ..FitOptions::default() };
    let began = Instant::now();
    let fit = fit(&problem, &options, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    // Error bars alone would take many seconds.
    assert!(!fit.was_interrupted() && fit.uncertainty.is_none());
}

/// Somebody who interrupts at the moment when the time is over is heard.
#[test]
fn an_interruption_is_not_lost_at_the_end_of_the_time() {
    let (problem, run) = problem("(params (a free 0.1) (b free 0.2)) (* a (sin (* b x)))", 50);
    let options = FitOptions { time: Some(Duration::from_millis(20)), ..FitOptions::default() };
    let began = Instant::now();
    let fit = fit(&problem, &options, &mut |_| {
        while began.elapsed() < Duration::from_millis(30) {
            std::thread::sleep(Duration::from_millis(1));
        }
        run.cancel.cancel();
        ControlFlow::Continue(())
    });
    assert!(fit.unwrap().was_interrupted() && !run.cancel.is_cancelled());
}
