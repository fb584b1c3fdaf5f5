//! What a new program costs: from its text to the first value and gradient in mode `dmci`, in a process that is
//! warm; the same for all 10,000 programs of experiment J; the walk that records it, through the evaluator and
//! direct; and what the mode costs afterwards.
//!
//! ```sh
//! cargo run --release -p dmci-repro --example first_gradient [SECONDS]
//! ```

use dmci::{Batch, Column, Datum, GradOptions, Interpreter, Mode, Model, ModelOptions, Program, RunOptions, Want};
use dmci_repro::j::generate::generate;
use std::hint::black_box;
use std::time::{Duration, Instant};

type Failure = Box<dyn std::error::Error>;

const CLOSED: &str = "(params (a free 1.5) (b free 0.3) (c free 2.0))
(+ (* a (exp (* -1 b x))) (/ (sin (* c x)) (+ 1 (* x x))))";

/// A relaxation of so many steps.
fn recursion(steps: usize) -> String {
    format!(
        "(params (a free 0.3) (b free 0.5))
         (define (walk n y) (if (= n 0) y (walk (- n 1) (+ (* a x) (* (- 1 b) y)))))
         (walk {steps} 0.0)"
    )
}

const FILTER: &str = include_str!("../models/kalman/kalman-2d-scalar.scm");

/// A program with its parameters and its input.
struct Case {
    name: &'static str,
    text: String,
    params: Vec<(&'static str, f64)>,
    input: (&'static str, Datum),
    /// Microseconds to the first gradient that are allowed.
    goal: f64,
}

fn cases() -> Vec<Case> {
    let x = || ("x", Datum::Real(1.25));
    let relaxing = |name, steps, goal| Case {
        name,
        text: recursion(steps),
        params: vec![("a", 0.3), ("b", 0.5)],
        input: x(),
        goal,
    };
    let observed = |i: usize| {
        let t = i as f64;
        Datum::list(vec![Datum::Real((0.37 * t).sin()), Datum::Real((0.23 * t).cos() * 1.3)])
    };
    vec![
        Case {
            name: "closed form, ten operations",
            text: CLOSED.into(),
            params: vec![("a", 1.5), ("b", 0.3), ("c", 2.0)],
            input: x(),
            goal: 50.0,
        },
        relaxing("recursion, 15 steps", 15, 100.0),
        relaxing("recursion, 30 steps", 30, 200.0),
        Case {
            name: "Kalman filter, 80 observations",
            text: FILTER.into(),
            params: vec![("q", 0.05), ("r", 0.1)],
            input: ("obs", Datum::list((0..80).map(observed).collect())),
            goal: 10_000.0,
        },
    ]
}

impl Case {
    fn first_gradient(&self, mode: Mode) -> Result<(), Failure> {
        let bindings = vec![(self.input.0.to_string(), self.input.1.clone())];
        let run = RunOptions { mode, bindings, ..RunOptions::default() };
        let options = GradOptions { run, ..GradOptions::default() };
        black_box(Interpreter::shared().grad(&Program::new(&self.text), &options)?);
        Ok(())
    }

    fn model(&self, mode: Mode) -> Model {
        let names: Vec<&str> = self.params.iter().map(|p| p.0).collect();
        let run = RunOptions { mode, ..RunOptions::default() };
        let options = ModelOptions { run, threads: 1, ..ModelOptions::default() };
        Model::new(Program::new(&self.text), &names, &[self.input.0], options)
    }

    fn evaluate(&self, model: &Model, batch: &mut Batch, want: Want) -> Result<(), Failure> {
        let params: Vec<f64> = self.params.iter().map(|p| p.1).collect();
        let column = match &self.input.1 {
            Datum::Real(x) => Column::Reals(vec![*x]),
            other => Column::Data(vec![other.clone()]),
        };
        Ok(model.evaluate_into(batch, &params, &[column], want)?)
    }

    /// Reads the text, and records what happens: of a lane alone nothing else is made for its value.
    fn walk(&self, mode: Mode) -> Result<(), Failure> {
        self.evaluate(&self.model(mode), &mut Batch::default(), Want::Values)
    }
}

/// Seconds that each piece of work takes, done in turns for so long: the least, and the one in the middle.
fn times(budget: Duration, work: &mut [&mut dyn FnMut() -> Result<(), Failure>]) -> Result<Vec<(f64, f64)>, Failure> {
    let mut all = vec![Vec::new(); work.len()];
    let began = Instant::now();
    while began.elapsed() < budget || all[0].len() < 5 {
        for (work, times) in work.iter_mut().zip(&mut all) {
            let start = Instant::now();
            work()?;
            times.push(start.elapsed().as_secs_f64());
        }
    }
    let summary = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        (times[0], times[times.len() / 2])
    };
    Ok(all.into_iter().map(summary).collect())
}

/// Seconds for the gradients of all programs of experiment J, one after the other.
fn all_programs() -> Result<f64, Failure> {
    let bindings = vec![("x".to_string(), Datum::Real(1.25))];
    let options = GradOptions { run: RunOptions { bindings, ..RunOptions::default() }, ..GradOptions::default() };
    let programs = [false, true].into_iter().flat_map(|recursive| generate(5000, recursive, 0));
    let texts: Vec<String> = programs.map(|program| program.scheme(&program.truth)).collect();
    let start = Instant::now();
    for text in &texts {
        black_box(Interpreter::shared().grad(&Program::new(text), &options)?);
    }
    Ok(start.elapsed().as_secs_f64())
}

fn main() -> Result<(), Failure> {
    let seconds: f64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1.0);
    let budget = Duration::from_secs_f64(seconds);
    let modes = || [Mode::Direct, Mode::Dmci, Mode::Tower(2)];
    println!("from text to value and gradient in dmci, microseconds{:>15} {:>8} {:>8}", "least", "middle", "goal");
    for case in cases() {
        let found = times(budget, &mut [&mut || case.first_gradient(Mode::Dmci)])?;
        println!("  {:50} {:>13.1} {:>8.1} {:>8.0}", case.name, found[0].0 * 1e6, found[0].1 * 1e6, case.goal);
    }
    println!("\n10,000 programs of experiment J, one after the other: {:.2} s (goal 1)", all_programs()?);
    println!("\ntext to recorded value, microseconds{:>24} {:>8} {:>8}", "direct", "dmci", "ratio");
    for case in cases() {
        let found = times(budget, &mut [&mut || case.walk(Mode::Direct), &mut || case.walk(Mode::Dmci)])?;
        let [direct, dmci] = [found[0].0, found[1].0].map(|seconds| seconds * 1e6);
        println!("  {:40} {direct:>17.1} {dmci:>8.1} {:>8.2}", case.name, dmci / direct);
    }
    println!("\nvalue and gradient again, nanoseconds{:>15} {:>8} {:>8}", "direct", "dmci", "tower:2");
    for case in cases() {
        let mut models: Vec<(Model, Batch)> = modes().map(|mode| (case.model(mode), Batch::default())).into();
        let mut again: Vec<_> = models
            .iter_mut()
            .map(|(model, batch)| || (0..100).try_for_each(|_| case.evaluate(model, batch, Want::Gradients)))
            .collect();
        let [a, b, c] = &mut again[..] else { continue };
        let found = times(budget, &mut [a, b, c])?;
        let [direct, dmci, tower] = [0, 1, 2].map(|i| found[i].0 * 1e7);
        println!("  {:40} {direct:>10.0} {dmci:>8.0} {tower:>8.0}", case.name);
    }
    Ok(())
}
