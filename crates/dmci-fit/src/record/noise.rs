//! How measurements scatter around predictions, and where they were made, as a file of a fit says it.

use super::Real;
use crate::loss::Loss;
use crate::problem::Problem;
use crate::result::Fit;
use crate::uncertainty::Uncertainty;
use dmci_ops::real::sqrt;
use dmci_table::reals;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How measurements scatter around predictions. The standard deviation of a row is the product of the deviation, of
/// what the column of standard deviations says and of a parameter `sigma` that the program does not read, divided by the
/// root of the row's weight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NoiseRecord {
    /// The standard deviation estimated from the residuals, of a row of weight 1; none if the noise is not normal.
    pub deviation: Option<Real>,
    /// The column of standard deviations.
    pub sigma: Option<String>,
    /// The column of weights.
    pub weights: Option<String>,
}

impl NoiseRecord {
    /// The noise of a fit.
    pub(crate) fn new(problem: &Problem, fit: &Fit, uncertainty: &Uncertainty) -> NoiseRecord {
        let deviation = match (&problem.loss, uncertainty.freedom) {
            (Loss::Mse | Loss::Sse, Some(freedom)) if freedom > 0 => {
                let squares = fit.score.loss * problem.divisor(problem.training());
                Some(sqrt(squares / freedom as f64))
            }
            (Loss::Gaussian, _) => Some(1.0),
            _ => None,
        };
        NoiseRecord { deviation: deviation.map(Real), sigma: problem.sigma.clone(), weights: problem.weights.clone() }
    }
}

/// Between which numbers each numeric input lies in the fitted rows.
pub(super) fn ranges(problem: &Problem) -> BTreeMap<String, (Real, Real)> {
    if problem.is_constant || problem.is_objective() {
        return BTreeMap::new();
    }
    let range = |(name, column): (&String, &dmci::Column)| {
        let numbers = reals(column).ok()?;
        let low = numbers.iter().copied().reduce(f64::min)?;
        let high = numbers.iter().copied().reduce(f64::max)?;
        Some((name.clone(), (Real(low), Real(high))))
    };
    problem.inputs.iter().zip(&problem.training().columns).filter_map(range).collect()
}
