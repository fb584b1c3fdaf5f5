//! The branch study S3: a parameter that occurs only in a decision has no derivative.

use super::Run;
use super::methods::{record, target};
use crate::adam::TorchAdam;
use crate::numbers::Real;
use crate::predict::{ByHand, Engine, Predict, Predictions};
use crate::task::{S3, linspace};
use crate::train::{Protocol, Squares, squares, train};
use dmci::{Mode, Program, Report};
use dmci_fit::{FitOptions, Problem, ProblemOptions, Table, fit};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// What the branch study found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    /// Ten seeds of three methods.
    pub runs: Vec<Run>,
    /// Whether the derivative by alpha was 0 in every epoch of every run.
    pub silent: bool,
    /// Recordings that direct needed: one for each way that the decisions can go, unless both arms are joined.
    pub recordings: u64,
    /// From where alpha started, where it ended, and the loss there.
    pub basin: Vec<(Real, Real, Real)>,
    /// What our fitter makes of it without being told anything: the method that it chose, alpha and the loss.
    pub fitted: (String, Real, Real),
}

/// Runs it.
pub fn run(seeds: &[u64], single: bool) -> Result<Branch, Report> {
    let target = target(&S3, single)?;
    let starts: Vec<Vec<f64>> = seeds.iter().map(|&s| S3.start(s, single)).collect();
    let protocol = Protocol { rate: 0.01, threshold: 1e-6, ..Protocol::standard(single) };
    let mut runs = Vec::new();
    let mut silent = true;
    let mut recordings = 0;
    for method in ["dmci", "direct", "hand-written"] {
        let mut hand = ByHand::walk(&S3, single)?;
        let mut engine = Engine::of(&S3, if method == "direct" { Mode::Direct } else { Mode::Dmci }, single);
        let predictor: &mut dyn Predict = if method == "hand-written" { &mut hand } else { &mut engine };
        let began = std::time::Instant::now();
        let trained = train(&mut Squares::new(predictor, &target, single), &S3.truth(), &starts, protocol)?;
        let seconds = began.elapsed().as_secs_f64() / seeds.len() as f64;
        let mut out = Predictions::default();
        for (t, start) in trained.iter().zip(&starts) {
            predictor.predict(&t.best, true, &mut out)?;
            silent &= out.jacobian.iter().step_by(3).all(|d| *d == 0.0) && t.best[0] == start[0];
        }
        runs.extend(seeds.iter().zip(&trained).map(|(&seed, t)| record("S3", method, seed, t, seconds)));
        recordings = engine.model.recordings().max(recordings);
    }
    Ok(Branch { runs, silent, recordings, basin: basin(&target, single)?, fitted: fitted(&target)? })
}

/// Alpha alone is moved, from 21 places.
fn basin(target: &[f64], single: bool) -> Result<Vec<(Real, Real, Real)>, Report> {
    let mut engine = Engine::of(&S3, Mode::Dmci, single);
    let mut out = Predictions::default();
    let mut all = Vec::new();
    for start in linspace(-2.0, 4.0, 21, single) {
        let mut alpha = [start];
        let mut adam = TorchAdam::new(1, 0.01, single);
        let mut loss = f64::NAN;
        for _ in 0..1000 {
            engine.predict(&[alpha[0], 2.0, 0.5], true, &mut out)?;
            let (now, gradient) = squares(&out.values, &out.jacobian, target, single);
            loss = now;
            adam.step(&mut alpha, &gradient[..1]);
        }
        all.push((Real(start), Real(alpha[0]), Real(loss)));
    }
    Ok(all)
}

/// The fitter sees that alpha acts through decisions only and searches without derivatives.
fn fitted(target: &[f64]) -> Result<(String, Real, Real), Report> {
    let columns = S3.columns(false);
    let rows: Vec<String> = columns[0].iter().zip(target).map(|(x, y)| format!("{x:?},{y:?}")).collect();
    let table = Table::from_csv("s3.csv", format!("x,y\n{}\n", rows.join("\n")).as_bytes())?;
    let text =
        S3.source.replace("free 1.0", "free 0.0").replace("free 2.0", "free 1.0").replace("free 0.5", "free 1.0");
    let problem = Problem::new(Program::named("s3.scm", &text), &table, "y", ProblemOptions::default())?;
    let found = fit(&problem, &FitOptions::default(), &mut |_| ControlFlow::Continue(()))?;
    let loss =
        problem.evaluate(std::slice::from_ref(&found.raw), dmci_fit::Need::Loss)?.first().map_or(f64::NAN, |e| e.loss);
    Ok((found.optimizer.0.to_string(), Real(found.parameters[0].value), Real(loss)))
}
