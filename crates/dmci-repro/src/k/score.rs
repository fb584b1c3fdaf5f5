//! Scores of forecasts: root mean square error, weighted interval score, coverage.

use super::data::{Case, REGIONS, Row, Seasons};
use crate::numbers::{Real, mean};
use dmci_ops::real::{exp, log, sqrt};
use serde::{Deserialize, Serialize};

/// The quantiles of FluSight.
pub const QUANTILES: [f64; 23] = [
    0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9,
    0.95, 0.975, 0.99,
];

/// Added to shares before logarithms, so that a share near nothing has no large error.
const OFFSET: f64 = 0.005;

/// How some forecasts did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The mean over horizons of the root mean square error over seasons, origins and series.
    pub rmse: Real,
    /// The mean weighted interval score.
    pub wis: Real,
    /// The share of truths within the central interval of 50%.
    pub half: Real,
    /// The share of truths within the central interval of 95%.
    pub wide: Real,
}

/// Errors by horizon, sorted: logarithms of truth over forecast.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread(Vec<(usize, Vec<f64>)>);

impl Spread {
    /// The errors that forecasts made on other seasons.
    pub fn of(data: &Seasons, cases: &[Case], forecasts: &[Row]) -> Spread {
        let mut spread = Spread::default();
        for (case, row) in cases.iter().zip(forecasts) {
            let truth = &data.season(case.year)[case.origin + case.horizon];
            let errors = truth.iter().zip(row).map(|(y, f)| log((y + OFFSET) / (f.max(0.0) + OFFSET)));
            match spread.0.iter_mut().find(|s| s.0 == case.horizon) {
                Some((_, list)) => list.extend(errors),
                None => spread.0.push((case.horizon, errors.collect())),
            }
        }
        spread.0.iter_mut().for_each(|(_, list)| list.sort_by(f64::total_cmp));
        spread
    }

    /// The factors of all quantiles at a horizon.
    fn factors(&self, horizon: usize) -> Option<[f64; 23]> {
        let (_, list) = self.0.iter().find(|s| s.0 == horizon)?;
        Some(QUANTILES.map(|q| {
            let place = q * (list.len() - 1) as f64;
            let low = place as usize;
            let high = (low + 1).min(list.len() - 1);
            exp(list[low] + (place - low as f64) * (list[high] - list[low]))
        }))
    }
}

/// The root mean square error of a horizon.
fn error_at(data: &Seasons, cases: &[Case], forecasts: &[Row], horizon: usize) -> f64 {
    let chosen = cases.iter().zip(forecasts).filter(|(c, _)| c.horizon == horizon);
    let squares = chosen.flat_map(|(case, row)| {
        let truth = &data.season(case.year)[case.origin + case.horizon];
        row.iter().zip(truth).map(|(f, y)| (f - y) * (f - y)).collect::<Vec<_>>()
    });
    sqrt(mean(squares))
}

/// The mean over horizons of the root mean square error.
pub fn rmse(data: &Seasons, cases: &[Case], forecasts: &[Row]) -> f64 {
    let mut horizons: Vec<usize> = cases.iter().map(|c| c.horizon).collect();
    horizons.sort_unstable();
    horizons.dedup();
    mean(horizons.iter().map(|&h| error_at(data, cases, forecasts, h)))
}

/// All scores; the spread gives the quantiles around the forecasts.
pub fn score(data: &Seasons, cases: &[Case], forecasts: &[Row], spread: &Spread) -> Score {
    let (mut wis, mut half, mut wide, mut count) = (0.0, 0.0, 0.0, 0.0);
    for (case, row) in cases.iter().zip(forecasts) {
        let Some(factors) = spread.factors(case.horizon) else { continue };
        let truth = &data.season(case.year)[case.origin + case.horizon];
        for r in 0..REGIONS {
            let quantiles = factors.map(|f| ((row[r].max(0.0) + OFFSET) * f - OFFSET).max(0.0));
            let y = truth[r];
            wis += interval_score(&quantiles, y);
            half += f64::from(u8::from(quantiles[6] <= y && y <= quantiles[16]));
            wide += f64::from(u8::from(quantiles[1] <= y && y <= quantiles[21]));
            count += 1.0;
        }
    }
    let rmse = Real(rmse(data, cases, forecasts));
    Score { rmse, wis: Real(wis / count), half: Real(half / count), wide: Real(wide / count) }
}

/// The weighted interval score: twice the mean pinball loss over the quantiles.
fn interval_score(quantiles: &[f64; 23], truth: f64) -> f64 {
    let pinball = |(q, x): (&f64, &f64)| if truth >= *x { q * (truth - x) } else { (1.0 - q) * (x - truth) };
    2.0 * mean(QUANTILES.iter().zip(quantiles).map(pinball))
}

#[cfg(test)]
mod tests {
    use super::super::data::tests::invented;
    use super::super::data::{SHORT, TRAINING};
    use super::*;

    /// The definition by intervals: half the error of the median, and every interval by half of its level.
    #[test]
    fn the_interval_score_is_that_of_its_intervals() {
        let quantiles: [f64; 23] = std::array::from_fn(|i| 1.0 + 0.1 * i as f64);
        for truth in [0.5, 1.55, 2.1, 2.83, 4.0] {
            let mut sum = 0.5 * (truth - quantiles[11]).abs();
            for k in 0..11 {
                let (low, high, level) = (quantiles[k], quantiles[22 - k], 2.0 * QUANTILES[k]);
                let outside = (low - truth).max(0.0) + (truth - high).max(0.0);
                sum += level / 2.0 * (high - low + 2.0 / level * outside);
            }
            assert!((interval_score(&quantiles, truth) - sum / 11.5).abs() < 1e-12);
        }
    }

    #[test]
    fn intervals_cover_what_they_were_made_from() {
        let data = Seasons::read(&invented()).unwrap();
        let cases = SHORT.cases(&TRAINING);
        let forecasts: Vec<Row> = cases.iter().map(|c| data.season(c.year)[c.origin]).collect();
        let found = score(&data, &cases, &forecasts, &Spread::of(&data, &cases, &forecasts));
        assert!((found.half.0 - 0.5).abs() < 0.01 && (found.wide.0 - 0.95).abs() < 0.01, "{found:?}");
        let exact: Vec<Row> = cases.iter().map(|c| data.season(c.year)[c.origin + c.horizon]).collect();
        let exact = score(&data, &cases, &exact, &Spread::of(&data, &cases, &exact));
        assert!(exact.rmse.0 == 0.0 && exact.wis.0 < 1e-15 && found.wis.0 > 1e-4);
    }
}
