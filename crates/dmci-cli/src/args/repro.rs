//! Options of `repro`.

use super::model::AskArgs;
use clap::Args as ClapArgs;
use std::path::PathBuf;

pub const REPRO_EXAMPLES: &str = "\
Examples:
  dmci repro a                               experiment A, our numbers beside the paper's
  dmci repro a b c --f32 --seed-set paper    in the precision and with the seeds of the paper
  dmci repro all --quick                     all of them, small, in a few minutes
  dmci repro all --out experiments --plot figures
  dmci repro f --model folder:ask --out DIR  record what a model, or a person, answers
  dmci repro check                           every cell of every table, from the stored results

Experiments: a gradients, b generated programs, c recursive models, d structural search, e operators,
f a language model in the loop, g composition, h batching, i many parameters, j many programs,
k influenza, l batteries, lim El Nino, w programs of a language model, and m, models fitted to data of
their neighbours, which is not in the paper. k, l and lim read shared data, as dmci data says;
without them they run nothing.
Answers of language models are recorded in DIR/f/answers.jsonl and replayed; with --model, missing
ones are asked for.";

/// Arguments of `repro`.
#[derive(ClapArgs, Debug)]
pub struct Repro {
    /// a, b, c, d, e, f, g, h, i, j, k, l, lim, m, w, all of them, or check
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
    /// The folder of result files and answers: written by an experiment, read by check [default: experiments, only read]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// A Python with JAX, for the comparisons with it [default: bench/.venv/bin/python, if there is one]
    #[arg(long, value_name = "FILE")]
    pub python: Option<PathBuf>,
    #[command(flatten)]
    pub ask: AskArgs,
}
