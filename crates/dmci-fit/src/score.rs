//! How well predictions agree with a target, and what that says about a model.

use dmci_exec::sum_rows;
use dmci_ops::real::{log, sqrt};

/// How well predictions agree with a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The loss of the fit.
    pub loss: f64,
    /// The root of the mean squared error, in the units of the target.
    pub rmse: f64,
    /// The share of the target's variance that the predictions explain; none if it does not vary.
    pub r2: Option<f64>,
}

impl Score {
    /// The score of predictions of so many targets, with a loss that is known.
    pub fn of(loss: f64, predictions: &[f64], target: &[f64], outputs: usize) -> Score {
        let pairs = predictions.iter().zip(target).filter(|(_, y)| !y.is_nan());
        let count = target.iter().filter(|y| !y.is_nan()).count() as f64;
        let errors = sum_rows(pairs.map(|(p, y)| (p - y) * (p - y)));
        let mut variation = 0.0;
        for k in 0..outputs {
            let column = || target.iter().skip(k).step_by(outputs).filter(|y| !y.is_nan());
            let mean = sum_rows(column().copied()) / column().count() as f64;
            variation += sum_rows(column().map(|y| (y - mean) * (y - mean)));
        }
        Score { loss, rmse: sqrt(errors / count), r2: (variation > 0.0).then(|| 1.0 - errors / variation) }
    }
}

/// Numbers that compare models of the same data: smaller is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criteria {
    /// The logarithm of the likelihood.
    pub log_likelihood: f64,
    /// Numbers that were fitted, the noise among them.
    pub parameters: usize,
    /// Akaike's criterion.
    pub aic: f64,
    /// The same, corrected for few rows; none if there are too few.
    pub aicc: Option<f64>,
    /// Schwarz' criterion.
    pub bic: f64,
}

impl Criteria {
    /// The criteria of a likelihood over so many measurements.
    pub fn new(log_likelihood: f64, parameters: usize, count: usize) -> Criteria {
        let (k, n) = (parameters as f64, count as f64);
        let aic = 2.0 * k - 2.0 * log_likelihood;
        let room = n - k - 1.0;
        Criteria {
            log_likelihood,
            parameters,
            aic,
            aicc: (room > 0.0).then(|| aic + 2.0 * k * (k + 1.0) / room),
            bic: k * log(n) - 2.0 * log_likelihood,
        }
    }

    /// The criteria of least squares over measurements of these weights: normal noise of a size that is fitted too.
    pub fn of_squares(sum: f64, weights: &[f64], parameters: usize) -> Criteria {
        let n = weights.len() as f64;
        let spread = 0.5 * sum_rows(weights.iter().map(|w| log(*w)));
        let log_likelihood = -0.5 * n * (log(std::f64::consts::TAU * sum / n) + 1.0) + spread;
        Criteria::new(log_likelihood, parameters + 1, weights.len())
    }
}

/// Chi-square of a fit to data with known standard deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChiSquare {
    /// The sum of the squares of residuals, each divided by its standard deviation.
    pub value: f64,
    /// Measurements beyond the numbers that were fitted.
    pub freedom: usize,
}

/// Standard deviations of chi-square beyond which it is far from what noise alone gives.
const FAR: f64 = 5.0;

impl ChiSquare {
    /// Chi-square per degree of freedom: about 1 if the model is right and the standard deviations are.
    pub fn reduced(&self) -> f64 {
        self.value / self.freedom as f64
    }

    /// What it means if it is far from 1, and not by chance.
    pub fn verdict(&self) -> Option<&'static str> {
        let freedom = self.freedom as f64;
        let deviation = (self.value - freedom) / sqrt(2.0 * freedom);
        if deviation > FAR {
            Some("far above 1: the model misses part of the data, or the standard deviations are too small")
        } else if self.reduced() < 0.5 && self.freedom >= 10 {
            Some("far below 1: the standard deviations are too large, or the model follows the noise")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_explains_variance() {
        let score = Score::of(0.0, &[1.0, 2.0, 3.0, 5.0], &[1.0, 2.0, 3.0, 4.0], 1);
        assert_eq!((score.rmse, score.r2), (0.5, Some(0.8)));
        assert_eq!(Score::of(0.0, &[1.0, 2.0], &[3.0, 3.0], 1).r2, None);
        // Two targets of very different size: each varies around its own mean.
        let two = Score::of(0.0, &[1.0, 101.0, 2.0, 102.0], &[1.0, 101.0, 2.0, 102.0], 2);
        assert_eq!(two.r2, Some(1.0));
        assert_eq!(Score::of(0.0, &[5.0, 101.0], &[5.0, 101.0], 2).r2, None);
    }

    /// Against statsmodels: OLS of [1, 2, 4, 3, 6, 8] on 1 and [0, 1, 2, 3, 4, 5], whose criteria count
    /// the two coefficients only.
    #[test]
    fn criteria_are_those_of_statsmodels() {
        let criteria = Criteria::of_squares(3.7714285714285722, &[1.0; 6], 2);
        assert!((criteria.log_likelihood + 7.120714374834743).abs() < 1e-12, "{criteria:?}");
        assert!((criteria.aic - 2.0 - 18.24142874966949).abs() < 1e-12);
        assert!((criteria.bic - (6f64).ln() - 17.824947688125597).abs() < 1e-12);
        assert_eq!(Criteria::of_squares(1.0, &[1.0; 4], 2).aicc, None);
    }
}
