//! How a program is run, in a fit and elsewhere.

use super::read::{self, bindings};
use super::refuse::{above_zero, at_least};
use dmci::{Bindings, Limits, Mode, Numerics, Program, Report, RunOptions, SoftChoice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::time::Duration;

/// How a program is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunSettings {
    /// Values for names: starts of parameters, or constants of the program. Numbers, texts and lists are written as
    /// such, a symbol as {"symbol": "name"}.
    #[serde(with = "bindings")]
    #[schemars(with = "BTreeMap<String, Json>")]
    pub set: Bindings,
    /// direct, dmci, tower:N or eval:FILE.scm
    pub mode: String,
    /// Seed of random numbers
    pub seed: u64,
    /// Temperature of soft-choice: low ones make choices sharp
    pub temperature: f64,
    /// soft-choice takes the likeliest option; its derivative stays that of the soft choice
    pub hard: bool,
    /// Add Gumbel noise to the logits of soft-choice
    pub gumbel: bool,
    /// Round every operation to single precision
    pub f32: bool,
    /// Let sqrt and log take at least 1e-8, as the paper's system does
    pub clamps: bool,
    /// Limit of steps (calls and loop edges)
    pub fuel: u64,
    /// Limit of memory, in bytes
    pub heap: u64,
    /// Limit of nested calls
    pub depth: u64,
    /// Limit of printed output, in bytes
    pub output_limit: u64,
    /// Time limit in seconds (in a fit: per evaluation of all rows)
    pub time: f64,
}

impl Default for RunSettings {
    fn default() -> Self {
        let RunOptions { mode, limits, bindings, seed, soft, cancel: _, numerics } = RunOptions::default();
        RunSettings {
            set: bindings,
            mode: mode.to_string(),
            seed,
            temperature: soft.temperature,
            hard: soft.hard,
            gumbel: soft.gumbel,
            f32: numerics.single,
            clamps: numerics.clamps,
            fuel: limits.fuel,
            heap: limits.heap as u64,
            depth: limits.depth as u64,
            output_limit: limits.output as u64,
            time: limits.time.as_secs_f64(),
        }
    }
}

/// The least heap that programs start in.
const LEAST_HEAP: u64 = 1 << 18;

impl RunSettings {
    /// The settings of a table that holds no others.
    pub fn from_map(settings: Map<String, Json>) -> Result<RunSettings, Report> {
        let known: Vec<String> = match serde_json::to_value(RunSettings::default()) {
            Ok(Json::Object(fields)) => fields.into_iter().map(|(name, _)| name).collect(),
            _ => Vec::new(),
        };
        read::from_map(settings, &known, |map| serde_json::from_value(Json::Object(map)))
    }

    /// Refuses settings that are out of range.
    pub fn check(&self) -> Result<(), Report> {
        if self.evaluator().is_none() {
            Mode::parse(&self.mode).map_err(Report::from)?;
        }
        above_zero("temperature", Some(self.temperature), "0.5")?;
        at_least("fuel", 1, Some(self.fuel), "500000")?;
        at_least("heap", LEAST_HEAP, Some(self.heap), "67108864")?;
        at_least("depth", 1, Some(self.depth), "10000")?;
        at_least("output_limit", 1, Some(self.output_limit), "65536")?;
        above_zero("time", Some(self.time), "10")
    }

    /// The file of the evaluator that the mode names, if it names one: somebody else reads it.
    pub fn evaluator(&self) -> Option<&str> {
        self.mode.strip_prefix("eval:")
    }

    /// The options of a run. The evaluator is the program in the file that the mode names.
    pub fn options(&self, evaluator: Option<Program>) -> Result<RunOptions, Report> {
        self.check()?;
        let mode = match evaluator {
            Some(Program { name, text, .. }) => Mode::Evaluator { name, text },
            None => Mode::parse(&self.mode).map_err(Report::from)?,
        };
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let limits = Limits {
            fuel: self.fuel,
            heap: size(self.heap),
            depth: size(self.depth),
            output: size(self.output_limit),
            time: Duration::try_from_secs_f64(self.time).unwrap_or(Duration::MAX),
        };
        Ok(RunOptions {
            mode,
            limits,
            bindings: self.set.clone(),
            seed: self.seed,
            soft: SoftChoice { temperature: self.temperature, hard: self.hard, gumbel: self.gumbel },
            numerics: Numerics { single: self.f32, clamps: self.clamps },
            ..RunOptions::default()
        })
    }
}
