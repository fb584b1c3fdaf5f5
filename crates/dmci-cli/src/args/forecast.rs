//! The options of `forecast`: those of a fit, and what is forecast. The defaults are those of `ForecastSettings`.

use super::RunArgs;
use super::fit::{DataArgs, FitProgram, SearchArgs};
use clap::Args as ClapArgs;
use serde::Serialize;
use std::path::PathBuf;

/// Examples, and what is printed.
pub const FORECAST_EXAMPLES: &str = "\
Examples:
  dmci forecast trend.scm --data rows.csv --target y --time t --origins 20:80:5 --horizons 1,2,3,4
  dmci forecast --formula 'y ~ a + b*t + c*sin(w*t + p)' --data rows.csv --time t --origins 100:300:10 \\
      --horizons 1,6,12 --baselines persistence,climatology:12,ar:3
  dmci forecast flu.scm --data flu.csv --objective --target y --group season --time t --origins week:8:40:3 \\
      --horizons 1,2,3,4 --holdout column:test --start-from fit.json --refit x0 --baselines climatology,ar:3 \\
      --out forecasts.csv --plot errors.svg

At each origin the program is fitted to the rows up to it, forecasts the rows at the horizons behind it, and is scored
beside baselines that know the same. With --group each group is a series; --holdout column:NAME (or range:NAME:A:B)
says which groups are forecast, and the others are known from the beginning. With --refit only these parameters are
fitted at each origin; the others come from --start-from, or else from a fit up to the first origin.

Baselines: persistence (the last value), damped:0.9 (of which that share is left after each unit of time),
climatology (the mean of the same time in the other groups; climatology:12 of the same phase of a period),
anomaly:0.9 or anomaly:0.9:12 (climatology, and the present difference from it, damped), ar:3 (autoregression of each
group on its own past, never below 0 if no measurement is), ar:3:pooled (one autoregression for all groups).
WIS is the weighted interval score; 'in 95%' is the share of measurements within the 95% intervals.";

/// Arguments of `forecast`.
#[derive(ClapArgs, Debug, Serialize)]
pub struct Forecast {
    #[command(flatten)]
    #[serde(flatten)]
    pub program: FitProgram,
    #[command(flatten)]
    #[serde(skip)]
    pub forecast: ForecastArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub search: SearchArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub options: RunArgs,
    /// Write all forecasts with their intervals to a CSV file
    #[arg(long, value_name = "FORECASTS.csv")]
    #[serde(skip)]
    pub out: Option<PathBuf>,
    /// Draw the error of every forecaster over the horizon
    #[arg(long, value_name = "PLOT.svg")]
    #[serde(skip)]
    pub plot: Option<PathBuf>,
    /// Print one JSON object: {"schema": "dmci-forecast-1", "scores": [{"forecaster": ..., "rmse": ...}], ...}
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
}

/// What is forecast.
#[derive(ClapArgs, Debug, Serialize)]
pub struct ForecastArgs {
    /// Column of times
    #[arg(long = "time", value_name = "COLUMN")]
    #[serde(rename = "time")]
    pub time_column: String,
    /// Where forecasts start: FROM:TO:STEP of the times, or COLUMN:FROM:TO:STEP
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    pub origins: String,
    /// How far ahead, in units of the column of times, with commas between them
    #[arg(long, value_name = "LIST")]
    pub horizons: Option<String>,
    /// Fit only these parameters again at each origin, with commas between them
    #[arg(long, value_name = "NAMES")]
    pub refit: Option<String>,
    /// persistence, damped:0.9, climatology[:PERIOD], anomaly:0.9[:PERIOD], ar:3[:pooled], with commas between them, or none
    #[arg(long, value_name = "LIST")]
    pub baselines: Option<String>,
    /// Probabilities of the intervals, with commas between them
    #[arg(long, value_name = "LIST")]
    pub levels: Option<String>,
}
