//! Forecasts of the Nino-3.4 index and their scores.

use crate::numbers::{Real, mean};
use dmci_ops::real::sqrt;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Months ahead.
pub const LEADS: [usize; 4] = [3, 6, 9, 12];

/// Scores at all leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Skill {
    /// Correlations of forecasts and truths around their means.
    pub acc: [Real; 4],
    /// Root mean square errors, in degrees.
    pub rmse: [Real; 4],
}

/// Forecasts and truths.
pub type Pairs = Vec<(f64, f64)>;

/// Forecasts of a lead from every month of a range whose target lies in the range.
pub fn pairs(
    range: Range<usize>,
    lead: usize,
    forecast: impl Fn(usize, usize) -> f64,
    truth: impl Fn(usize) -> f64,
) -> Pairs {
    (range.start..range.end - lead).map(|t| (forecast(t, lead), truth(t + lead))).collect()
}

/// The correlation of forecasts and truths.
pub fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let (a, b) = (mean(pairs.iter().map(|p| p.0)), mean(pairs.iter().map(|p| p.1)));
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in pairs {
        ab += (x - a) * (y - b);
        aa += (x - a) * (x - a);
        bb += (y - b) * (y - b);
    }
    ab / sqrt(aa * bb)
}

/// The root mean square error.
pub fn error(pairs: &[(f64, f64)]) -> f64 {
    sqrt(mean(pairs.iter().map(|(x, y)| (x - y) * (x - y))))
}

/// Scores of the forecasts at all leads.
pub fn skill(by_lead: &[Pairs; 4]) -> Skill {
    Skill { acc: by_lead.each_ref().map(|p| Real(correlation(p))), rmse: by_lead.each_ref().map(|p| Real(error(p))) }
}

/// The correlation of a component with itself some months later.
pub fn autocorrelations(states: &[f64], d: usize, lag: usize) -> Vec<f64> {
    let months = states.len() / d;
    (0..d)
        .map(|k| {
            let pairs: Pairs = (0..months - lag).map(|t| (states[t * d + k], states[(t + lag) * d + k])).collect();
            correlation(&pairs)
        })
        .collect()
}
