//! Experiment A: does interpretation preserve gradients? Six programs, ten seeds, five methods; gradients at
//! random points; noise; a branch; what interpretation costs.

mod branch;
mod costs;
mod fidelity;
pub(crate) mod methods;
mod paper;
pub(crate) mod show;

use crate::numbers::Real;
use crate::task::{self, Task};
use crate::{Experiment, Host, Settings};
use dmci::Report;
use serde::{Deserialize, Serialize};

/// One run of a method on a program from the start of a seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The program or model.
    pub task: String,
    /// The method.
    pub method: String,
    /// The seed.
    pub seed: u64,
    /// The first epoch with a loss below the threshold.
    pub converged: Option<usize>,
    /// Epochs run.
    pub epochs: usize,
    /// The loss of the last one.
    pub last: Real,
    /// The lowest loss.
    pub lowest: Real,
    /// The closest that each parameter came to its target.
    pub closest: Vec<Real>,
    /// The hash of all losses.
    pub hash: String,
    /// Seconds: its share of the time of all seeds, which run together.
    pub seconds: f64,
}

/// Logarithms of mean losses by epoch.
pub type Curve = Vec<(usize, Real)>;

/// What experiment A measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct A {
    /// Numbers are single ones.
    pub single: bool,
    /// All runs.
    pub runs: Vec<Run>,
    /// Mean logarithm of the loss by epoch, for each program and method.
    pub curves: Vec<(String, String, Curve)>,
    /// Gradients at random points.
    pub fidelity: Vec<fidelity::Fidelity>,
    /// Recovery from data with noise.
    pub noise: Vec<fidelity::Noise>,
    /// The branch study.
    pub branch: branch::Branch,
    /// What it costs.
    pub costs: costs::Costs,
}

impl A {
    /// Runs it.
    pub fn run(settings: &Settings, _: &Host) -> Result<A, Report> {
        let single = settings.single;
        let seeds: Vec<u64> = (0..if settings.quick { 3 } else { 10 }).collect();
        let tasks = &task::A;
        let mut runs = Vec::new();
        let mut curves = Vec::new();
        for task in tasks {
            for method in methods::METHODS {
                let done = methods::run(task, method, &seeds, single)?;
                curves.push((task.id.to_string(), method.to_string(), methods::curve(&done.trained)));
                runs.extend(done.runs);
            }
        }
        let draws = if settings.quick { 10 } else { 50 };
        let fidelity = tasks.iter().map(|t| fidelity::fidelity(t, draws, single)).collect::<Result<_, _>>()?;
        let noise_seeds = if settings.quick { 2 } else { 5 };
        let noise = fidelity::noise(noise_seeds, single)?;
        let branch = branch::run(&seeds, single)?;
        let costs = costs::run(settings)?;
        Ok(A { single, runs, curves, fidelity, noise, branch, costs })
    }
}

impl Experiment for A {
    fn tables(&self) -> Vec<crate::table::Table> {
        show::tables(self)
    }

    fn claims(&self) -> Vec<crate::table::Claim> {
        show::claims(self)
    }

    fn figures(&self) -> Vec<dmci_plot::figure::Figure> {
        show::figures(self)
    }

    fn hashes() -> Vec<(String, String)> {
        hashes(task::A.iter().chain([&task::S3]))
    }
}

/// The hashes of the programs of some tasks.
pub fn hashes<'a>(tasks: impl Iterator<Item = &'a Task>) -> Vec<(String, String)> {
    tasks.map(|t| (format!("program {}", t.id), dmci_table::hash::of_text(t.source))).collect()
}
