//! The options of `sample`.

use super::RunArgs;
use super::fit::{DataArgs, FitProgram};
use crate::quantity;
use clap::Args as ClapArgs;
use serde::Serialize;
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
#[derive(ClapArgs, Debug, Serialize)]
pub struct Sample {
    #[command(flatten)]
    #[serde(flatten)]
    pub program: FitProgram,
    #[command(flatten)]
    #[serde(flatten)]
    pub options: RunArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub data: DataArgs,
    /// Independent chains [default: 4]
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    #[serde(skip)]
    pub chains: Option<u64>,
    /// Draws of each chain [default: 1000]
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    #[serde(skip)]
    pub draws: Option<u64>,
    /// Warm-up draws per chain, discarded [default: 1000]
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    #[serde(skip)]
    pub tune: Option<u64>,
    /// Write the draws: chain, draw, and all numbers; as .npz an array of chains and draws for each number
    #[arg(long, value_name = "DRAWS.csv")]
    #[serde(skip)]
    pub out: Option<PathBuf>,
    /// Print one JSON object: {"schema": "dmci-sample-1", "parameters": {"a": {"mean": ...}}, ...}
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
    /// No table
    #[arg(long)]
    #[serde(skip)]
    pub quiet: bool,
}
