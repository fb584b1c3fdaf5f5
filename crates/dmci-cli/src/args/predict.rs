//! The options of `predict`. Names and meanings are those of `PredictSettings`, which has the defaults.

use super::RunArgs;
use crate::quantity;
use clap::Args as ClapArgs;
use serde::Serialize;
use std::path::PathBuf;

/// Examples, and what is printed.
pub const PREDICT_EXAMPLES: &str = "\
Examples:
  dmci fit --formula 'y ~ A*(1 - exp(-k*t))' --data rows.csv --out fit.json
  dmci predict fit.json --data new.csv
  dmci predict fit.json --at 't=0:10:101' --interval prediction --level 0.9 --out curve.csv
  dmci predict fit.json --at 'site=north,t=0:10:101' --json

The result is a table: the columns that the program reads, each target, its standard error, and the lower and
upper end of each interval. A confidence interval says where the curve lies, a prediction interval where a new
measurement lies. Both use the delta method: the covariance of the parameters and the derivatives of the program.
A prediction interval needs normal noise: mse and sse estimate it, gaussian takes it from its column or parameter.";

/// Arguments of `predict`.
#[derive(ClapArgs, Debug, Serialize)]
pub struct Predict {
    /// A fit that dmci fit --out has written
    #[arg(value_name = "FIT.json")]
    #[serde(skip)]
    pub fit: PathBuf,
    /// A table of new rows: .csv or .tsv with a header line, .npy, .npz or .nc
    #[arg(long, value_name = "FILE", required_unless_present = "at", conflicts_with = "at")]
    #[serde(skip)]
    pub data: Option<PathBuf>,
    /// Predict here instead: NAME=FROM:TO:COUNT or NAME=VALUE,VALUE, further columns behind commas
    #[arg(long, value_name = "PLACES")]
    pub at: Option<String>,
    /// confidence, prediction, both with a comma between them, or none [default: those that the fit has]
    #[arg(long, value_name = "KINDS")]
    pub interval: Option<String>,
    /// Probability of the intervals
    #[arg(long, value_name = "SHARE", value_parser = quantity::real)]
    pub level: Option<f64>,
    /// Fields that stand for a missing value, with commas between them: NA or 'NA,'
    #[arg(long, value_name = "WORDS")]
    #[serde(skip)]
    pub missing: Option<String>,
    #[command(flatten)]
    #[serde(skip)]
    pub options: RunArgs,
    /// Write the table to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub out: Option<PathBuf>,
    /// Print one JSON object: {"inputs": {...}, "targets": {"y": {"value": [...], "confidence": {"low": [...], ...}}}}
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
}
