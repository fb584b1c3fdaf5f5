//! The five methods: three that share a gradient and two that know none.

use super::Run;
use crate::adam::fit;
use crate::numbers::Real;
use crate::predict::{ByHand, Engine, Predict, Predictions};
use crate::task::Task;
use crate::torch::Torch;
use crate::train::{Protocol, Squares, Trained, squares, train};
use dmci::{Mode, Report};
use dmci_ops::real::log10;
use std::cmp::Ordering;
use std::time::Instant;

/// In the order of the tables.
pub const METHODS: [&str; 5] = ["dmci", "direct", "hand-written", "finite differences", "evolution strategy"];

/// Runs of one method with their trajectories.
pub struct Done {
    pub runs: Vec<Run>,
    pub trained: Vec<Trained>,
}

/// What a program gives at its true parameters, in the precision of the run.
pub fn target(task: &Task, single: bool) -> Result<Vec<f64>, Report> {
    if let Some(data) = task.data {
        return Ok(task.columns(single)[0].iter().map(|&x| fit(data(x), single)).collect());
    }
    let mut out = Predictions::default();
    let truth: Vec<f64> = task.truth().iter().map(|x| fit(*x, single)).collect();
    Engine::of(task, Mode::Direct, single).predict(&truth, false, &mut out)?;
    Ok(out.values)
}

/// Runs a method from the starts of all seeds.
pub fn run(task: &Task, method: &str, seeds: &[u64], single: bool) -> Result<Done, Report> {
    let target = target(task, single)?;
    let starts: Vec<Vec<f64>> = seeds.iter().map(|&s| task.start(s, single)).collect();
    let protocol = Protocol::standard(single);
    let began = Instant::now();
    let mut hand;
    let mut engine;
    let predictor: &mut dyn Predict = match method {
        "hand-written" => {
            hand = ByHand::walk(task, single)?;
            &mut hand
        }
        "direct" => {
            engine = Engine::of(task, Mode::Direct, single);
            &mut engine
        }
        _ => {
            engine = Engine::of(task, Mode::Dmci, single);
            &mut engine
        }
    };
    let trained = match method {
        "finite differences" => differences(predictor, task, &target, &starts, single)?,
        "evolution strategy" => seeds
            .iter()
            .map(|&seed| evolution(predictor, task, &target, seed, single))
            .collect::<Result<Vec<_>, _>>()?,
        _ => train(&mut Squares::new(predictor, &target, single), &task.truth(), &starts, protocol)?,
    };
    let seconds = began.elapsed().as_secs_f64() / seeds.len() as f64;
    let runs = seeds.iter().zip(&trained).map(|(&seed, t)| record(task.id, method, seed, t, seconds)).collect();
    Ok(Done { runs, trained })
}

/// A trained run as result files hold it.
pub fn record(task: &str, method: &str, seed: u64, trained: &Trained, seconds: f64) -> Run {
    Run {
        task: task.into(),
        method: method.into(),
        seed,
        converged: trained.converged,
        epochs: trained.losses.len(),
        last: Real(trained.last()),
        lowest: Real(trained.lowest()),
        closest: trained.closest.iter().map(|&x| Real(x)).collect(),
        hash: trained.hash(),
        seconds,
    }
}

/// The mean over runs of the logarithm of the loss, at epochs that become rarer. A run that has ended keeps its last loss.
pub fn curve(runs: &[Trained]) -> Vec<(usize, Real)> {
    let longest = runs.iter().map(|t| t.losses.len()).max().unwrap_or(0);
    let mut epochs = Vec::new();
    let mut epoch = 0;
    while epoch < longest {
        epochs.push(epoch);
        epoch += 1 + epoch / 10;
    }
    let at = |t: &Trained, epoch: usize| log10(t.losses[epoch.min(t.losses.len() - 1)].max(1e-300));
    let mean = |epoch: usize| runs.iter().map(|t| at(t, epoch)).sum::<f64>() / runs.len() as f64;
    epochs.into_iter().map(|e| (e, Real((mean(e) * 1e4).round() / 1e4))).collect()
}

fn losses(
    predictor: &mut dyn Predict,
    points: &[f64],
    target: &[f64],
    single: bool,
    out: &mut Predictions,
) -> Result<Vec<f64>, Report> {
    predictor.predict(points, false, out)?;
    Ok(out.values.chunks(target.len()).map(|values| squares(values, &[], target, single).0).collect())
}

/// Plain descent along central differences of the loss.
fn differences(
    predictor: &mut dyn Predict,
    task: &Task,
    target: &[f64],
    starts: &[Vec<f64>],
    single: bool,
) -> Result<Vec<Trained>, Report> {
    let (step, rate) = (1e-4, 1e-3);
    let r = |x: f64| fit(x, single);
    let protocol = Protocol::standard(single);
    let n = task.parameters.len();
    let mut points = starts.to_vec();
    let mut runs = vec![unfinished(n); starts.len()];
    let mut active: Vec<usize> = (0..starts.len()).collect();
    let mut out = Predictions::default();
    for epoch in 0..protocol.epochs {
        let mut asked = Vec::new();
        for &i in &active {
            asked.extend(&points[i]);
            for j in 0..n {
                for by in [step, -step] {
                    let mut moved = points[i].clone();
                    moved[j] = r(moved[j] + by);
                    asked.extend(moved);
                }
            }
        }
        let found = losses(predictor, &asked, target, single, &mut out)?;
        for (k, &i) in active.iter().enumerate() {
            let found = &found[k * (2 * n + 1)..];
            note(&mut runs[i], &points[i], found[0], &task.truth(), epoch, protocol.threshold);
            for j in 0..n {
                let slope = r(r(found[1 + 2 * j] - found[2 + 2 * j]) / (2.0 * step));
                points[i][j] = r(points[i][j] - r(rate * slope));
            }
        }
        active.retain(|&i| runs[i].converged.is_none_or(|at| epoch < at + protocol.more));
        if active.is_empty() {
            break;
        }
    }
    Ok(runs)
}

fn unfinished(n: usize) -> Trained {
    Trained { converged: None, losses: Vec::new(), closest: vec![f64::INFINITY; n], best: Vec::new() }
}

fn note(run: &mut Trained, point: &[f64], loss: f64, truth: &[f64], epoch: usize, threshold: f64) {
    if loss < run.lowest() || run.best.is_empty() {
        run.best = point.to_vec();
    }
    run.losses.push(loss);
    for ((closest, x), t) in run.closest.iter_mut().zip(point).zip(truth) {
        *closest = closest.min((x - t).abs());
    }
    if loss < threshold && run.converged.is_none() {
        run.converged = Some(epoch);
    }
}

/// The (10, 20) strategy with a width that follows the share of successes; the loss is that of the mean.
fn evolution(
    predictor: &mut dyn Predict,
    task: &Task,
    target: &[f64],
    seed: u64,
    single: bool,
) -> Result<Trained, Report> {
    let (parents, children, generations) = (10, 20, 500);
    let protocol = Protocol::standard(single);
    let r = |x: f64| fit(x, single);
    let n = task.parameters.len();
    let mut torch = Torch::new(seed);
    let mut mean = task.centres();
    let mut width = 0.5;
    let mut before = f64::INFINITY;
    let mut improved = 0;
    let mut run = unfinished(n);
    let mut out = Predictions::default();
    for generation in 0..generations {
        let mut asked = Vec::with_capacity((children + 1) * n);
        for _ in 0..children {
            asked.extend(mean.iter().map(|m| r(m + width * torch.normal())));
        }
        asked.extend(&mean);
        let found = losses(predictor, &asked, target, single, &mut out)?;
        note(&mut run, &mean, found[children], &task.truth(), generation, protocol.threshold);
        if run.converged.is_some_and(|at| generation >= at + protocol.more) {
            break;
        }
        let mut order: Vec<usize> = (0..children).collect();
        order.sort_by(|&a, &b| found[a].total_cmp(&found[b]));
        for (j, m) in mean.iter_mut().enumerate() {
            *m = r(order[..parents].iter().map(|&i| asked[i * n + j]).sum::<f64>() / parents as f64);
        }
        let best = found[order[0]];
        improved += usize::from(best < before);
        before = best;
        if (generation + 1) % 10 == 0 {
            match improved.cmp(&2) {
                Ordering::Greater => width *= 1.2,
                Ordering::Less => width *= 0.83,
                Ordering::Equal => {}
            }
            improved = 0;
        }
    }
    Ok(run)
}
