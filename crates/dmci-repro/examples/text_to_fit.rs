//! From the text of program P6 to its fitted parameters, as often as asked for in one process: experiment A's protocol
//! (8 points, seed 0, Adam 0.05 on the sum of squares until 50 epochs after the first loss below 1e-3), in mode `dmci`.
//! Nothing is kept from one fit to the next but the system's image and the table, which are made before.
//!
//! ```sh
//! cargo run --release -p dmci-repro --example text_to_fit [FITS]
//! ```

use dmci::{Datum, Interpreter, Mode, Program, RunOptions};
use dmci_fit::{AdamOptions, Budget, FitOptions, Loss, Method, Optimizer, Problem, ProblemOptions, Table, fit};
use dmci_repro::task;
use std::ops::ControlFlow;
use std::time::Instant;

/// The time of a part in microseconds: the least, and the one in the middle.
fn shown(mut times: Vec<f64>) -> String {
    times.sort_by(f64::total_cmp);
    format!("{:8.1} us least, {:8.1} us in the middle", times[0] * 1e6, times[times.len() / 2] * 1e6)
}

fn main() -> Result<(), dmci::Report> {
    let fits: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(300);
    let task = &task::A[5];
    let x = &task.columns(false)[0];
    let truth = task.truth();
    let y = |x: f64| truth[0] * (x + truth[1]) * (x + truth[1]) + truth[2];
    let rows: Vec<String> = x.iter().map(|&x| format!("{x:?},{:?}", y(x))).collect();
    let csv = format!("x,y\n{}\n", rows.join("\n"));
    let start = task.start(0, false);
    let bindings: Vec<(String, Datum)> =
        task.names().iter().zip(&start).map(|(n, s)| (n.to_string(), Datum::Real(*s))).collect();
    let adam = AdamOptions { rate: 0.05, patience: usize::MAX, ..AdamOptions::default() };
    let budget = Budget { epochs: Some(3000), target: Some(1e-3), window: 50, ..Budget::default() };
    let method = Method::One(Optimizer::Adam(adam));
    let options = FitOptions { method, budget, ..FitOptions::default() };
    let _ = Interpreter::shared();

    let table = Table::from_csv("p6.csv", csv.as_bytes())?;
    let (mut all, mut preparing, mut fitting) = (Vec::new(), Vec::new(), Vec::new());
    let mut last = None;
    for _ in 0..fits.max(1) {
        let run = RunOptions { mode: Mode::Dmci, bindings: bindings.clone(), ..RunOptions::default() };
        let problem_options = ProblemOptions { run, loss: Loss::Sse, ..ProblemOptions::default() };
        let began = Instant::now();
        let problem = Problem::new(Program::named("p6.scm", task.source), &table, "y", problem_options)?;
        let prepared = began.elapsed().as_secs_f64();
        let found = fit(&problem, &options, &mut |_| ControlFlow::Continue(()))?;
        let whole = began.elapsed().as_secs_f64();
        all.push(whole);
        preparing.push(prepared);
        fitting.push(whole - prepared);
        last = Some(found);
    }
    let Some(found) = last else { return Ok(()) };
    let best = found.best_restart();
    println!("P6, seed 0, 8 points, mode dmci: {} epochs, loss {:.3e}, {fits} fits", best.epochs, best.loss);
    for parameter in &found.parameters {
        println!("  {} = {:.4}, started at {:.4}", parameter.name, parameter.value, parameter.start);
    }
    println!("text to fitted parameters  {}", shown(all));
    println!("  reading, binding, checks {}", shown(preparing));
    println!("  fit, with its errors     {}", shown(fitting));
    Ok(())
}
