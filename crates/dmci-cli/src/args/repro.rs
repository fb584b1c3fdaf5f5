//! Options of `repro`.

use clap::Args as ClapArgs;
use std::path::PathBuf;

pub const REPRO_EXAMPLES: &str = "\
Examples:
  dmci repro a                               experiment A, our numbers beside the paper's
  dmci repro a b c --f32 --seed-set paper    in the precision and with the seeds of the paper
  dmci repro all --quick                     all of them, small, in a few minutes
  dmci repro all --out experiments --plot figures
  dmci repro check                           every cell of every table, from the stored results

Experiments: a gradients, b generated programs, c recursive models, d structural search, e operators,
g composition, h batching, i many parameters, j many programs, k influenza, l batteries, lim El Nino, and m,
models fitted to data of their neighbours, which is not in the paper. k, l and lim read shared data, as dmci data
says; without them they run nothing.";

/// Arguments of `repro`.
#[derive(ClapArgs, Debug)]
pub struct Repro {
    /// a, b, c, d, e, g, h, i, j, k, l, lim, m, all of them, or check
    #[arg(required = true, value_name = "EXPERIMENT")]
    pub experiments: Vec<String>,
    /// Few seeds and small sizes
    #[arg(long)]
    pub quick: bool,
    /// all: every seed of the protocol; paper: only those that the paper completed
    #[arg(long, value_name = "SET", default_value = "all", value_parser = ["all", "paper"])]
    pub seed_set: String,
    /// Single precision, as in the paper
    #[arg(long)]
    pub f32: bool,
    /// Print one JSON object for each experiment: the content of its result file
    #[arg(long)]
    pub json: bool,
    /// Draw the figures into a folder
    #[arg(long, value_name = "DIR")]
    pub plot: Option<PathBuf>,
    /// The folder of result files: written by an experiment, read by check (there: experiments)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// A Python with JAX, for the comparisons with it [default: bench/.venv/bin/python, if there is one]
    #[arg(long, value_name = "FILE")]
    pub python: Option<PathBuf>,
}
