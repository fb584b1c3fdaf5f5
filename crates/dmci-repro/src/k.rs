//! Experiment K: forecasts of influenza-like illness by programs, and whether the fitness of a search can be trusted.

pub mod baselines;
pub mod calibrate;
pub mod contract;
pub mod data;
pub mod grammar;
pub mod score;
mod show;
mod show_zoo;
pub mod units;
pub mod written;
pub mod zoo;

use crate::{Host, Settings};
use baselines::{Baselines, NAMES};
use data::{GRIDS, PANDEMIC, PATH, Seasons, TEST, TRAINING, VALIDATION};
use dmci::Report;
use score::{Score, Spread, score};
use serde::{Deserialize, Serialize};
use units::Units;
use zoo::Zoo;

/// A method on a grid of origins and horizons, calibrated on the training seasons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forecasts {
    /// The name of the grid.
    pub grid: String,
    /// The method.
    pub method: String,
    /// On the validation seasons.
    pub validation: Score,
    /// On the test season.
    pub test: Score,
    /// On the pandemic season.
    pub pandemic: Score,
}

/// What experiment K measures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct K {
    /// The hash of the data; nothing without them.
    pub data: String,
    /// The baselines on all grids.
    pub baselines: Vec<Forecasts>,
    /// Whether the sizes are small.
    #[serde(default)]
    pub quick: bool,
    /// Seasons that are left out in turn.
    #[serde(default)]
    pub units: Units,
    /// Epidemic programs.
    #[serde(default)]
    pub zoo: Zoo,
}

impl K {
    /// Runs it.
    pub fn run(settings: &Settings, host: &Host) -> Result<K, Report> {
        let Some(text) = host.shared_text(PATH) else { return Ok(K::default()) };
        let data = Seasons::read(&text)?;
        let units = units::run(&data, settings.quick)?;
        let zoo = zoo::run(settings, host, &data, &units)?;
        Ok(K { baselines: all_baselines(&data), data: data.hash, quick: settings.quick, units, zoo })
    }

    /// The scores of a method on a grid.
    pub fn baseline(&self, grid: &str, method: &str) -> Option<&Forecasts> {
        self.baselines.iter().find(|f| f.grid == grid && f.method == method)
    }
}

fn all_baselines(data: &Seasons) -> Vec<Forecasts> {
    let learnt = Baselines::new(data, &TRAINING);
    let mut list = Vec::new();
    for grid in GRIDS {
        for method in NAMES {
            let training = grid.cases(&TRAINING);
            let spread = Spread::of(data, &training, &learnt.forecasts(method, data, &training));
            let on = |years: &[u32]| {
                let cases = grid.cases(years);
                score(data, &cases, &learnt.forecasts(method, data, &cases), &spread)
            };
            let (validation, test, pandemic) = (on(&VALIDATION), on(&TEST), on(&PANDEMIC));
            list.push(Forecasts { grid: grid.name.into(), method: method.into(), validation, test, pandemic });
        }
    }
    list
}
