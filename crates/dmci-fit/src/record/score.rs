//! Scores, criteria and chi-square as they are written.

use super::Real;
use crate::score::{ChiSquare, Criteria, Score};
use serde::{Deserialize, Serialize};

/// How well rows are predicted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScoreRecord {
    /// The loss.
    pub loss: Real,
    /// The root of the mean squared error.
    pub rmse: Real,
    /// The share of the variance that is explained.
    pub r2: Option<Real>,
}

/// Criteria that compare models.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CriteriaRecord {
    /// The logarithm of the likelihood.
    pub log_likelihood: Real,
    /// Numbers that were fitted, the noise among them.
    pub parameters: usize,
    /// Akaike's criterion.
    pub aic: Real,
    /// The same, corrected for few rows.
    pub aicc: Option<Real>,
    /// Schwarz' criterion.
    pub bic: Real,
}

/// Chi-square of a fit to data with known standard deviations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChiSquareRecord {
    /// The sum of squares.
    pub value: Real,
    /// Degrees of freedom.
    pub freedom: usize,
    /// The one per the other.
    pub reduced: Real,
}

impl From<&ChiSquare> for ChiSquareRecord {
    fn from(chi: &ChiSquare) -> Self {
        ChiSquareRecord { value: Real(chi.value), freedom: chi.freedom, reduced: Real(chi.reduced()) }
    }
}

impl From<&Score> for ScoreRecord {
    fn from(s: &Score) -> Self {
        ScoreRecord { loss: Real(s.loss), rmse: Real(s.rmse), r2: s.r2.map(Real) }
    }
}

impl From<&Criteria> for CriteriaRecord {
    fn from(c: &Criteria) -> Self {
        CriteriaRecord {
            log_likelihood: Real(c.log_likelihood),
            parameters: c.parameters,
            aic: Real(c.aic),
            aicc: c.aicc.map(Real),
            bic: Real(c.bic),
        }
    }
}
