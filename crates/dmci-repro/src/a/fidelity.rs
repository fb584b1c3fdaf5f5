//! Gradients of the three methods at random points, and recovery from data with noise.

use super::methods::target;
use crate::adam::{TorchAdam, fit};
use crate::numbers::{Real, mean};
use crate::predict::{ByHand, Engine, Predict, Predictions};
use crate::task::{self, Task};
use crate::torch::Torch;
use crate::train::squares;
use dmci::{Mode, Report};
use dmci_ops::real::sqrt;
use serde::{Deserialize, Serialize};

/// Gradients at random points, dmci and by hand against direct.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fidelity {
    /// The program.
    pub task: String,
    /// Random points.
    pub draws: usize,
    /// Points at which dmci has every bit of direct.
    pub equal: usize,
    /// Points at which the hand-written interpreter has.
    pub equal_by_hand: usize,
    /// The largest relative difference of dmci.
    pub error: Real,
    /// The largest distance of the cosine from 1.
    pub cosine: Real,
}

/// Compares gradients of the sum of squares over five places at random points.
pub fn fidelity(task: &Task, draws: u64, single: bool) -> Result<Fidelity, Report> {
    let task = Task { range: (0.5, 2.5), points: 5, ..*task };
    let mut direct = Engine::of(&task, Mode::Direct, single);
    let mut dmci = Engine::of(&task, Mode::Dmci, single);
    let mut hand = ByHand::walk(&task, single)?;
    let zeros = vec![0.0; 5];
    let mut found = Fidelity {
        task: task.id.into(),
        draws: draws as usize,
        equal: 0,
        equal_by_hand: 0,
        error: Real(0.0),
        cosine: Real(0.0),
    };
    for draw in 0..draws {
        let mut torch = Torch::new(10_000 + draw);
        let point: Vec<f64> = task.parameters.iter().map(|_| fit(2.0 * torch.normal(), single)).collect();
        let gradient = |predictor: &mut dyn Predict| -> Result<Vec<f64>, Report> {
            let mut out = Predictions::default();
            predictor.predict(&point, true, &mut out)?;
            Ok(squares(&out.values, &out.jacobian, &zeros, single).1)
        };
        let (one, two, three) = (gradient(&mut direct)?, gradient(&mut dmci)?, gradient(&mut hand)?);
        let bits = |list: &[f64]| list.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        found.equal += usize::from(bits(&one) == bits(&two));
        found.equal_by_hand += usize::from(bits(&one) == bits(&three));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let apart: Vec<f64> = one.iter().zip(&two).map(|(a, b)| a - b).collect();
        let (length, other) = (sqrt(dot(&one, &one)), sqrt(dot(&two, &two)));
        let error = sqrt(dot(&apart, &apart)) / if length < 1e-12 { 1.0 } else { length };
        let cosine = if length * other == 0.0 { 1.0 } else { dot(&one, &two) / (length * other) };
        found.error = Real(found.error.0.max(error));
        found.cosine = Real(found.cosine.0.max((cosine - 1.0).abs()));
    }
    Ok(found)
}

/// Recovery at one level of noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// The program.
    pub task: String,
    /// The noise, as a share of the standard deviation of the data.
    pub sigma: f64,
    /// Mean relative error of the parameters.
    pub error: Real,
    /// Mean squared error on the data without noise.
    pub clean: Real,
}

/// Levels of noise.
pub const SIGMAS: [f64; 5] = [0.0, 0.02, 0.05, 0.10, 0.20];

/// Epochs without progress before a search ends, and what counts as progress.
const PATIENCE: (usize, f64) = (300, 1e-6);

/// All programs but P6 at all levels.
pub fn noise(seeds: u64, single: bool) -> Result<Vec<Noise>, Report> {
    let mut all = Vec::new();
    for task in &task::A[..5] {
        let clean = target(task, single)?;
        let mut engine = Engine::of(task, Mode::Dmci, single);
        for sigma in SIGMAS {
            let (mut errors, mut misfits) = (Vec::new(), Vec::new());
            for seed in 0..seeds {
                let noisy = with_noise(&clean, sigma, seed, single);
                let point = plateau(&mut engine, task, &noisy, task.start(seed, single), single)?;
                let relative = point.iter().zip(task.truth()).map(|(x, t)| (x - t).abs() / t.abs().max(1e-12));
                errors.push(mean(relative));
                let mut out = Predictions::default();
                engine.predict(&point, false, &mut out)?;
                misfits.push(squares(&out.values, &[], &clean, false).0 / clean.len() as f64);
            }
            all.push(Noise { task: task.id.into(), sigma, error: Real(mean(errors)), clean: Real(mean(misfits)) });
        }
    }
    Ok(all)
}

fn with_noise(clean: &[f64], sigma: f64, seed: u64, single: bool) -> Vec<f64> {
    let centre = mean(clean.iter().copied());
    let variance = clean.iter().map(|y| (y - centre) * (y - centre)).sum::<f64>() / (clean.len() - 1) as f64;
    let mut torch = Torch::new(100_003 * seed + (1000.0 * sigma).round() as u64 + 7);
    clean.iter().map(|y| fit(y + sigma * sqrt(variance) * torch.normal(), single)).collect()
}

/// Adam until the best loss no longer falls; gives the best point.
fn plateau(
    predictor: &mut dyn Predict,
    task: &Task,
    target: &[f64],
    start: Vec<f64>,
    single: bool,
) -> Result<Vec<f64>, Report> {
    let mut adam = TorchAdam::new(start.len(), 0.05, single);
    let mut point = start;
    let mut best = (f64::INFINITY, point.clone());
    let (mut reference, mut waited) = (f64::INFINITY, 0);
    let mut out = Predictions::default();
    debug_assert_eq!(point.len(), task.parameters.len());
    for _ in 0..3000 {
        predictor.predict(&point, true, &mut out)?;
        let (loss, gradient) = squares(&out.values, &out.jacobian, target, single);
        if loss < best.0 {
            best = (loss, point.clone());
        }
        if loss < reference * (1.0 - PATIENCE.1) {
            (reference, waited) = (loss, 0);
        } else {
            waited += 1;
        }
        if waited > PATIENCE.0 {
            break;
        }
        adam.step(&mut point, &gradient);
    }
    Ok(best.1)
}
