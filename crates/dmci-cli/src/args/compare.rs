//! The options of `compare`: those of a fit, which all models share.

use super::RunArgs;
use super::fit::{DataArgs, SearchArgs};
use clap::Args as ClapArgs;
use serde::Serialize;

/// Examples, and what is printed.
pub const COMPARE_EXAMPLES: &str = "\
Examples:
  dmci compare one.scm two.scm --data rows.csv --target y
  dmci compare --formula 'a + b*x' --formula 'a*exp(b*x)' --data rows.csv --target y --cv 5
  dmci compare fit.json other.scm --data rows.csv --target y --cv rolling:5
  dmci compare one.scm two.scm --data rows.csv --target y --cv group:site --json

Every model is fitted to the same rows with the same settings. The table has AICc and BIC, how far each model is
above the best by AICc, and what it has of all evidence (its weight). With --cv, each part of the rows is predicted
by a fit to the others: unseen RMSE is the error there, and p is how likely chance alone makes a model differ so
much from the one with the least error (paired t-test over rows). A FIT.json starts where that fit ended.";

/// Arguments of `compare`.
#[derive(ClapArgs, Debug, Serialize)]
pub struct Compare {
    /// Programs in Scheme, or fits that dmci fit --out has written
    #[arg(value_name = "MODEL", required_unless_present = "formulas")]
    #[serde(skip)]
    pub models: Vec<String>,
    /// A formula as one of the models
    #[arg(long = "formula", value_name = "FORMULA", allow_hyphen_values = true)]
    #[serde(skip)]
    pub formulas: Vec<String>,
    /// Where the parameters of formulas start [default: 1]
    #[arg(long = "starts", visible_alias = "start", value_name = "'A=20, k=0.5'", allow_hyphen_values = true)]
    #[serde(skip)]
    pub starts: Option<String>,
    /// Predict rows that a fit has not seen: 5 (folds), loo, rolling:5 or group:COLUMN
    #[arg(long, value_name = "PARTS")]
    #[serde(skip)]
    pub cv: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub search: SearchArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub options: RunArgs,
    /// Print one JSON object: {"schema": "dmci-compare-1", "models": [{"name": ..., "criteria": {...}}], ...}
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
}
