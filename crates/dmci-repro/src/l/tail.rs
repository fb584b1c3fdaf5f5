//! The paper's protocol: every cell is fitted up to a place on a grid and forecast behind it.

use super::curves::{Curves, STRUCTURES, Structure};
use super::data::GRID;
use crate::Settings;
use crate::numbers::{Real, mean};
use dmci::Report;
use dmci_ops::real::sqrt;
use dmci_stats::random::Stream;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Points that are fitted: the late split, and the early one.
pub const SPLITS: [(&str, usize); 2] = [("late", 70), ("early", 45)];

/// Cells of the synthetic data.
const SYNTHETIC: usize = 12;

/// Root mean square errors behind a split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// The data: `life fraction` or `first 100 cycles`.
    pub grid: String,
    /// The split.
    pub split: String,
    /// The method.
    pub method: String,
    /// At the start of the program, without a fit.
    pub unfitted: Real,
    /// After 60 steps.
    pub short: Real,
    /// After 300 steps.
    pub long: Real,
    /// After every cell has converged.
    pub converged: Real,
    /// With differential evolution for as long as 300 steps took.
    pub evolved: Real,
    /// Seconds of 300 steps.
    pub seconds: f64,
}

/// Which structure wins on synthetic cells of the two-reservoir family, by what it is judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// The seed of the cells.
    pub seed: u64,
    /// By structure: errors after 60 steps, 300 steps and converged.
    pub errors: Vec<(String, [Real; 3])>,
}

/// The places that are forecast.
fn held_out(split: usize) -> Vec<usize> {
    let mut list: Vec<usize> = (split..GRID).step_by(10).collect();
    if list.last() != Some(&(GRID - 1)) {
        list.push(GRID - 1);
    }
    list
}

/// The root mean square error over cells and places.
pub fn error(forecasts: &[Vec<f64>], truth: &[Vec<f64>], split: usize) -> f64 {
    let places = held_out(split);
    let all = forecasts.iter().zip(truth);
    sqrt(mean(all.flat_map(|(f, t)| places.iter().map(|&k| (f[k] - t[k]) * (f[k] - t[k])).collect::<Vec<_>>())))
}

/// Forecasts without a structure.
fn naive(cells: &[Vec<f64>], split: usize, name: &str) -> Vec<Vec<f64>> {
    let one = |(number, cell): (usize, &Vec<f64>)| -> Vec<f64> {
        match name {
            "persistence" => vec![cell[split - 1]; GRID],
            "linear extrapolation" => {
                let middle = (split - 1) as f64 / 2.0;
                let level = mean(cell[..split].iter().copied());
                let (mut xy, mut xx) = (0.0, 0.0);
                for (k, y) in cell[..split].iter().enumerate() {
                    xy += (k as f64 - middle) * (y - level);
                    xx += (k as f64 - middle) * (k as f64 - middle);
                }
                (0..GRID).map(|k| level + xy / xx * (k as f64 - middle)).collect()
            }
            _ => {
                let others = || cells.iter().enumerate().filter(|o| o.0 != number);
                (0..GRID).map(|k| mean(others().map(|o| o.1[k]))).collect()
            }
        }
    };
    cells.iter().enumerate().map(one).collect()
}

/// One structure on one grid.
fn structure(
    structure: &Structure,
    grid: &str,
    cells: &[Vec<f64>],
    (name, split): (&str, usize),
    quick: bool,
) -> Result<Tail, Report> {
    let curves = Curves::new(structure, GRID)?;
    let targets: Vec<&[f64]> = cells.iter().map(|c| &c[..split]).collect();
    let score =
        |raws: &[Vec<f64>]| -> Result<Real, Report> { Ok(Real(error(&curves.curves(raws, GRID)?, cells, split))) };
    let long = curves.adam(&targets, 300, 0)?;
    let nothing = Real(f64::NAN);
    let (mut converged, mut evolved) = (nothing, nothing);
    if !quick {
        converged = score(&curves.converged(&targets, &long.raws)?.raws)?;
        evolved = score(&curves.evolve(&targets, 0, long.seconds)?.raws)?;
    }
    Ok(Tail {
        grid: grid.into(),
        split: name.into(),
        method: structure.name.into(),
        unfitted: score(&curves.unfitted(cells.len()))?,
        short: score(&curves.adam(&targets, 60, 0)?.raws)?,
        long: score(&long.raws)?,
        converged,
        evolved,
        seconds: long.seconds,
    })
}

/// All methods on a grid.
pub fn run(settings: &Settings, grid: &str, cells: &[Vec<f64>]) -> Result<Vec<Tail>, Report> {
    let mut list = Vec::new();
    for (name, split) in SPLITS {
        for method in ["persistence", "linear extrapolation", "mean curve of the others"] {
            let floor = Real(error(&naive(cells, split, method), cells, split));
            list.push(Tail {
                grid: grid.into(),
                split: name.into(),
                method: method.into(),
                unfitted: floor,
                short: floor,
                long: floor,
                converged: floor,
                evolved: floor,
                seconds: 0.0,
            });
        }
        let found: Vec<Tail> = STRUCTURES
            .par_iter()
            .map(|s| structure(s, grid, cells, (name, split), settings.quick))
            .collect::<Result<_, _>>()?;
        list.extend(found);
    }
    Ok(list)
}

/// Cells of the two-reservoir family, each with its own parameters and noise.
pub fn synthetic(seed: u64) -> Vec<Vec<f64>> {
    let mut stream = Stream::new(seed, 0);
    let cell = |stream: &mut Stream| -> Vec<f64> {
        let (a, c) = (0.01648 * (1.0 + 0.15 * stream.normal()), 0.00222 * (1.0 + 0.15 * stream.normal()));
        (0..GRID)
            .map(|k| {
                let k = k as f64;
                (1.0 - a * sqrt(k)).min(1.0 - c * k) + 0.002 * stream.normal()
            })
            .collect()
    };
    (0..SYNTHETIC).map(|_| cell(&mut stream)).collect()
}

/// Which structure is found on synthetic cells.
pub fn recovery(settings: &Settings) -> Result<Vec<Recovery>, Report> {
    let seeds = if settings.quick { 2 } else { 10 };
    let one = |seed: u64| -> Result<Recovery, Report> {
        let cells = synthetic(seed);
        let mut errors = Vec::new();
        for structure in STRUCTURES.iter().filter(|s| s.name != super::curves::PINNED) {
            let curves = Curves::new(structure, GRID)?;
            let split = SPLITS[0].1;
            let targets: Vec<&[f64]> = cells.iter().map(|c| &c[..split]).collect();
            let score = |raws: &[Vec<f64>]| -> Result<Real, Report> {
                Ok(Real(error(&curves.curves(raws, GRID)?, &cells, split)))
            };
            let long = curves.adam(&targets, 300, 0)?;
            let short = score(&curves.adam(&targets, 60, 0)?.raws)?;
            let end = score(&curves.converged(&targets, &long.raws)?.raws)?;
            errors.push((structure.name.to_string(), [short, score(&long.raws)?, end]));
        }
        Ok(Recovery { seed, errors })
    };
    (0..seeds).into_par_iter().map(one).collect()
}

/// The mean and the quantiles of 10 and 90% at every point.
pub fn band(cells: &[Vec<f64>]) -> Vec<[f64; 3]> {
    let round = |x: f64| (1e4 * x).round() / 1e4;
    (0..GRID)
        .map(|k| {
            let mut list: Vec<f64> = cells.iter().map(|c| c[k]).collect();
            list.sort_by(f64::total_cmp);
            let at = |q: f64| list[(q * (list.len() - 1) as f64).round() as usize];
            [round(mean(list.iter().copied())), round(at(0.1)), round(at(0.9))]
        })
        .collect()
}
