//! The searches of the paper's studies over programs with many raw numbers: Adam as torch has it, L-BFGS from one or
//! several starts, differential evolution.

use crate::adam::{TorchAdam, clip};
use crate::torch::Torch;
use dmci::{Datum, Mode, ModelOptions, Numerics, Report, RunOptions};
use dmci_fit::search::{LbfgsOptions, Optimizer, Search};
use dmci_fit::{Evaluation, Points};
use dmci_stats::random::Stream;
use std::time::Instant;

/// An objective over raw numbers.
pub trait Objective {
    /// The loss and its gradient; a loss that is not finite where the program fails.
    fn gradient(&mut self, raws: &[f64]) -> Result<(f64, Vec<f64>), Report>;
}

/// The losses at some points, all in one call.
pub type Losses<'a> = dyn FnMut(&[Vec<f64>]) -> Result<Vec<f64>, Report> + 'a;

/// Options of a model with some names bound.
pub fn options(mode: Mode, single: bool, bindings: Vec<(String, Datum)>) -> ModelOptions {
    let numerics = Numerics { single, clamps: false };
    let run = RunOptions { mode, numerics, bindings, ..RunOptions::default() };
    ModelOptions { run, output: false, threads: 1, ..ModelOptions::default() }
}

/// Where a search ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The loss.
    pub loss: f64,
    /// The raw numbers.
    pub raws: Vec<f64>,
    /// Steps.
    pub steps: usize,
    /// Seconds.
    pub seconds: f64,
}

/// Adam as in the paper: gradients of at most 10, an end when the loss hardly changes or is not finite.
pub fn adam(objective: &mut dyn Objective, start: &[f64], rate: f64, steps: usize) -> Result<Found, Report> {
    let began = Instant::now();
    let mut point = start.to_vec();
    let mut adam = TorchAdam::new(point.len(), rate, false);
    let (mut last, mut kept) = (f64::INFINITY, (f64::INFINITY, point.clone()));
    let mut done = 0;
    for step in 0..steps {
        let (loss, mut gradient) = objective.gradient(&point)?;
        if !loss.is_finite() || gradient.iter().any(|g| !g.is_finite()) {
            break;
        }
        kept = (loss, point.clone());
        done = step + 1;
        if (last - loss).abs() < 1e-4 {
            break;
        }
        last = loss;
        clip(&mut gradient, 10.0);
        adam.step(&mut point, &gradient);
    }
    Ok(Found { loss: kept.0, raws: kept.1, steps: done, seconds: began.elapsed().as_secs_f64() })
}

/// Adam without a clip: the best point.
pub fn adam_without_clip(
    objective: &mut dyn Objective,
    start: &[f64],
    rate: f64,
    steps: usize,
) -> Result<Found, Report> {
    rounds(objective, start, &[rate], steps)
}

/// Adam in rounds, each with a smaller rate than the one before, from the best point so far.
pub fn adam_to_the_end(objective: &mut dyn Objective, start: &[f64], steps: usize) -> Result<Found, Report> {
    rounds(objective, start, &[0.05, 0.01, 0.003, 0.001], steps)
}

fn rounds(objective: &mut dyn Objective, start: &[f64], rates: &[f64], steps: usize) -> Result<Found, Report> {
    let began = Instant::now();
    let mut best = Found { loss: f64::INFINITY, raws: start.to_vec(), steps: 0, seconds: 0.0 };
    for &rate in rates {
        let mut adam = TorchAdam::new(start.len(), rate, false);
        let mut point = best.raws.clone();
        for _ in 0..steps {
            let (loss, gradient) = objective.gradient(&point)?;
            best.steps += 1;
            if !loss.is_finite() || gradient.iter().any(|g| !g.is_finite()) {
                break;
            }
            if loss < best.loss {
                (best.loss, best.raws) = (loss, point.clone());
            }
            adam.step(&mut point, &gradient);
        }
    }
    best.seconds = began.elapsed().as_secs_f64();
    Ok(best)
}

/// L-BFGS from a start.
pub fn lbfgs(objective: &mut dyn Objective, start: &[f64], steps: usize) -> Result<Found, Report> {
    let began = Instant::now();
    let (loss, gradient) = objective.gradient(start)?;
    let found = Evaluation { loss, gradient, ..Evaluation::default() };
    let mut best = (if found.is_finite() { loss } else { f64::INFINITY }, start.to_vec());
    let mut done = 0;
    if found.is_finite() {
        let options = LbfgsOptions { tolerance: 1e-11, ..LbfgsOptions::default() };
        let spread = vec![0.1; start.len()];
        let from = dmci_fit::search::Start { point: start.to_vec(), found, spread, stream: Stream::new(0, 0) };
        let mut search = Optimizer::Lbfgs(options).begin(from);
        let mut points = Points::default();
        // A line search that starts well needs one evaluation for a step, now and then some more.
        while search.stopped().is_none() && done < steps + steps / 4 {
            points.clear();
            search.ask(&mut points);
            if points.is_empty() {
                break;
            }
            let asked = points.all();
            let mut answers = Vec::new();
            for point in asked.iter() {
                let (loss, gradient) = objective.gradient(point)?;
                let answer = Evaluation { loss, gradient, ..Evaluation::default() };
                if answer.rank() < best.0 {
                    best = (answer.rank(), point.to_vec());
                }
                answers.push(answer);
            }
            search.tell(asked, &mut answers);
            done += 1;
        }
    }
    Ok(Found { loss: best.0, raws: best.1, steps: done, seconds: began.elapsed().as_secs_f64() })
}

/// L-BFGS from the start and from others around it, as the paper draws them.
pub fn multistart(
    objective: &mut dyn Objective,
    start: &[f64],
    blocks: &[usize],
    seed: u64,
    starts: u64,
) -> Result<Found, Report> {
    let began = Instant::now();
    let mut best: Option<Found> = None;
    let mut steps = 0;
    for number in 0..starts {
        let mut point = start.to_vec();
        if number > 0 {
            let mut torch = Torch::new(10_000 * seed + number);
            let mut from = 0;
            for &end in blocks {
                let block = &mut point[from..end];
                let size = block.iter().map(|x| x.abs()).sum::<f64>() / block.len() as f64;
                let scale = 0.1 * size.max(1.0);
                let draws = torch.normals(block.len());
                block.iter_mut().zip(draws).for_each(|(x, z)| *x += scale * z);
                from = end;
            }
        }
        let found = lbfgs(objective, &point, 50)?;
        steps += found.steps;
        if best.as_ref().is_none_or(|b| found.loss < b.loss) {
            best = Some(found);
        }
    }
    let best = best.unwrap_or(Found { loss: f64::INFINITY, raws: start.to_vec(), steps: 0, seconds: 0.0 });
    Ok(Found { steps, seconds: began.elapsed().as_secs_f64(), ..best })
}

/// Differential evolution as in the paper (rand/1/bin, F = 0.6, CR = 0.9, 24 members), for so many generations, or
/// longer until so many seconds are over.
pub fn evolution(
    losses_of: &mut Losses,
    start: &[f64],
    seed: u64,
    generations: usize,
    seconds: f64,
) -> Result<Found, Report> {
    const MEMBERS: usize = 24;
    let began = Instant::now();
    let n = start.len();
    let mut torch = Torch::new(20_240_602 + seed);
    let mut members: Vec<Vec<f64>> = vec![start.to_vec(); MEMBERS];
    for member in &mut members[1..] {
        let draws = torch.normals(n);
        member.iter_mut().zip(draws).for_each(|(x, z)| *x += 0.3 * z);
    }
    let rank = |loss: f64| if loss.is_finite() { loss } else { f64::INFINITY };
    let mut losses: Vec<f64> = losses_of(&members)?.into_iter().map(rank).collect();
    let mut steps = 0;
    while steps < generations || began.elapsed().as_secs_f64() < seconds {
        let trials: Vec<Vec<f64>> = (0..MEMBERS)
            .map(|i| {
                let others = torch.permutation(MEMBERS);
                let mut others = others.into_iter().filter(|&o| o != i);
                let mut next = || others.next().unwrap_or(0);
                let (a, b, c) = (next(), next(), next());
                let sure = torch.bits() as usize % n;
                (0..n)
                    .map(|k| {
                        let replaced = torch.uniform() < 0.9 || k == sure;
                        if replaced { members[a][k] + 0.6 * (members[b][k] - members[c][k]) } else { members[i][k] }
                    })
                    .collect()
            })
            .collect();
        let found: Vec<f64> = losses_of(&trials)?.into_iter().map(rank).collect();
        for (i, (trial, loss)) in trials.into_iter().zip(found).enumerate() {
            if loss <= losses[i] {
                (members[i], losses[i]) = (trial, loss);
            }
        }
        steps += 1;
    }
    let best = (0..MEMBERS).fold(0, |best, i| if losses[i] < losses[best] { i } else { best });
    Ok(Found { loss: losses[best], raws: members[best].clone(), steps, seconds: began.elapsed().as_secs_f64() })
}
