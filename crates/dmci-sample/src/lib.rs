//! Sampling: draws from the posterior of a model with priors, by the No-U-Turn Sampler of nuts-rs.
//!
//! The density lives in raw space, where nothing is bounded: the loss, which is a negative log-likelihood with
//! the priors in it, and the logarithm of how much the transforms stretch. Chains are independent; the same seed
//! gives the same draws on the same machine (nuts-rs uses the vector instructions that it finds).
//!
//! **Invariant:** nothing here touches files, the terminal or signals; an observer decides when to stop.

mod diagnostics;
mod posterior;

pub use diagnostics::{Summary, effective_size, split_r_hat};

use dmci::ErrorCode;
use dmci::{Diagnostic, Report};
use dmci_fit::{Need, Problem};
use dmci_stats::random::Stream;
use nuts_rs::rand::SeedableRng;
use nuts_rs::rand::rngs::ChaCha8Rng;
use nuts_rs::{Chain, CpuMath, DiagNutsSettings, Settings};
use posterior::Posterior;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How to sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleOptions {
    /// Independent chains.
    pub chains: usize,
    /// Draws of each chain that are kept.
    pub draws: usize,
    /// Draws before, in which steps and shapes are tuned.
    pub tune: usize,
    /// Decides everything.
    pub seed: u64,
}

impl Default for SampleOptions {
    fn default() -> Self {
        SampleOptions { chains: 4, draws: 1000, tune: 1000, seed: 0 }
    }
}

/// Draws from a posterior, in the user's units.
#[derive(Clone, Debug)]
pub struct Samples {
    /// The names of the numbers.
    pub names: Vec<String>,
    /// For each chain, draw by draw, all numbers.
    pub chains: Vec<Vec<f64>>,
    /// Draws, after tuning, on the way to which the energy was lost: their neighbourhood is not explored well.
    pub divergences: usize,
    /// Gradients that were evaluated.
    pub gradients: usize,
    /// Whether somebody ended it early.
    pub interrupted: bool,
}

impl Samples {
    /// What the draws say about each number.
    pub fn summaries(&self) -> Vec<Summary> {
        let n = self.names.len();
        (0..n)
            .map(|k| {
                let chains: Vec<Vec<f64>> =
                    self.chains.iter().map(|c| c.iter().skip(k).step_by(n).copied().collect()).collect();
                Summary::of(&self.names[k], &chains)
            })
            .collect()
    }
}

/// Draws from the posterior of a problem. `go_on` is asked from time to time with the number of draws so far,
/// and the draws so far are the result if it says no. Fails if the loss is no likelihood.
pub fn sample(
    problem: &Problem,
    options: &SampleOptions,
    go_on: &(dyn Fn(usize) -> bool + Sync),
) -> Result<Samples, Report> {
    if !problem.loss.is_likelihood() && !problem.is_objective() {
        let message = format!("sampling needs a likelihood, but the {} loss is none", problem.loss.name());
        let help = "use ‹loss gaussian› with ‹sigma› or a parameter sigma, another likelihood, or ‹objective›";
        return Err(Report::from(Diagnostic::error(ErrorCode::E0809, message).help(help)));
    }
    problem.check_start()?;
    let (stop, drawn) = (AtomicBool::new(false), AtomicUsize::new(0));
    let run = |chain: usize| run_chain(problem, options, chain, &stop, &drawn, go_on);
    let results: Vec<Result<OneChain, Report>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..options.chains).map(|chain| scope.spawn(move || run(chain))).collect();
        handles.into_iter().map(|h| h.join().unwrap_or_else(|_| Err(failed("a chain ended unexpectedly")))).collect()
    });
    let mut samples = Samples {
        names: problem.value_names(),
        chains: Vec::new(),
        divergences: 0,
        gradients: 0,
        interrupted: stop.load(Ordering::Relaxed),
    };
    for result in results {
        let chain = result?;
        samples.divergences += chain.divergences;
        samples.gradients += chain.gradients;
        samples.chains.push(chain.draws);
    }
    problem.resume();
    Ok(samples)
}

struct OneChain {
    draws: Vec<f64>,
    divergences: usize,
    gradients: usize,
}

fn failed(why: impl std::fmt::Display) -> Report {
    let error = Diagnostic::error(ErrorCode::E0810, format!("sampling failed: {why}"));
    Report::from(error.help("fit the model first and start from there, or tighten the priors"))
}

fn run_chain(
    problem: &Problem,
    options: &SampleOptions,
    chain: usize,
    stop: &AtomicBool,
    drawn: &AtomicUsize,
    go_on: &(dyn Fn(usize) -> bool + Sync),
) -> Result<OneChain, Report> {
    let settings = DiagNutsSettings {
        num_tune: options.tune as u64,
        num_draws: options.draws as u64,
        ..DiagNutsSettings::default()
    };
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ chain as u64);
    let math = CpuMath::new(Posterior::new(problem));
    let mut sampler = settings.new_chain(chain as u64, math, &mut rng).map_err(failed)?;
    sampler.set_position(&start(problem, options.seed, chain)?).map_err(failed)?;
    let mut result = OneChain { draws: Vec::new(), divergences: 0, gradients: 0 };
    for i in 0..options.tune + options.draws {
        let (draw, progress) = sampler.draw().map_err(failed)?;
        result.gradients += progress.num_gradients as usize;
        if i >= options.tune {
            result.divergences += usize::from(progress.diverging);
            result.draws.extend(problem.values(&draw));
        }
        if !go_on(drawn.fetch_add(1, Ordering::Relaxed) + 1) {
            stop.store(true, Ordering::Relaxed);
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(result)
}

/// Where a chain starts: near the schema's values, where the density is finite.
fn start(problem: &Problem, seed: u64, chain: usize) -> Result<Vec<f64>, Report> {
    let mut stream = Stream::new(seed, 0x005a_3b1e + chain as u64);
    let offset: Vec<f64> = problem.start().iter().map(|_| 2.0 * stream.uniform() - 1.0).collect();
    let mut width = 0.5;
    while width > 1e-12 {
        let point: Vec<f64> = problem.start().iter().zip(&offset).map(|(x, o)| x + width * o).collect();
        let found = problem.evaluate(std::slice::from_ref(&point), Need::Gradient)?;
        if found.first().is_some_and(|f| f.is_finite()) {
            return Ok(point);
        }
        width *= 0.5;
    }
    Ok(problem.start().to_vec())
}
