//! The options of `sample`.

use super::fit::DataArgs;
use super::{ProgramArgs, RunArgs};
use crate::quantity;
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// Examples, and what a program must be.
pub const SAMPLE_EXAMPLES: &str = "\
Examples:
  dmci sample model.scm --data rows.csv --target y --loss gaussian --out draws.csv
  dmci sample counts.scm --data rows.csv --target y --loss poisson --chains 4 --draws 2000
  dmci sample likelihood.scm --data series.csv --objective --start-from fit.json

Draws from the posterior by the No-U-Turn Sampler: the likelihood is the loss, and priors stand in the schema,
(params (k positive 1.0 (prior lognormal 0 1)) (sigma positive 1.0 (prior half-normal 5))). A parameter
without a prior has a flat one over its range. R-hat near 1 and an effective size of some hundreds say
that the chains agree; divergences say where they do not. Ctrl-C ends it and keeps the draws so far.";

/// Arguments of `sample`.
#[derive(ClapArgs, Debug)]
pub struct Sample {
    #[command(flatten)]
    pub program: ProgramArgs,
    #[command(flatten)]
    pub options: RunArgs,
    #[command(flatten)]
    pub data: DataArgs,
    /// Independent chains
    #[arg(long, value_name = "N", default_value = "4", value_parser = quantity::count)]
    pub chains: u64,
    /// Draws of each chain
    #[arg(long, value_name = "N", default_value = "1000", value_parser = quantity::count)]
    pub draws: u64,
    /// Draws of each chain before, in which it is tuned
    #[arg(long, value_name = "N", default_value = "1000", value_parser = quantity::count)]
    pub tune: u64,
    /// Write the draws: chain, draw, and all numbers; as .npz an array of chains and draws for each number
    #[arg(long, value_name = "DRAWS.csv")]
    pub out: Option<PathBuf>,
    /// Print one JSON object: {"schema": "dmci-sample-1", "parameters": {"a": {"mean": ...}}, ...}
    #[arg(long)]
    pub json: bool,
    /// No table
    #[arg(long)]
    pub quiet: bool,
}
