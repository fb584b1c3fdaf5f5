//! The density that is sampled.

use dmci_fit::{Need, Problem};
use nuts_rs::{CpuLogpFunc, CpuMathError, HasDims, LogpError};
use std::collections::HashMap;
use std::fmt;

/// The posterior of a problem, over raw numbers.
pub struct Posterior<'a> {
    problem: &'a Problem,
}

impl<'a> Posterior<'a> {
    /// The posterior of a problem whose loss is a negative log-likelihood.
    pub fn new(problem: &'a Problem) -> Self {
        Posterior { problem }
    }
}

/// A point at which there is no density. The sampler treats it as a divergence and goes on.
#[derive(Debug)]
pub struct NotFinite;

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the density is not finite")
    }
}

impl std::error::Error for NotFinite {}

impl LogpError for NotFinite {
    fn is_recoverable(&self) -> bool {
        true
    }
}

impl HasDims for Posterior<'_> {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::from([("unconstrained_parameter".to_string(), self.problem.layout.raws as u64)])
    }
}

impl CpuLogpFunc for Posterior<'_> {
    type LogpError = NotFinite;
    type FlowParameters = ();
    type ExpandedVector = Vec<f64>;

    fn dim(&self) -> usize {
        self.problem.layout.raws
    }

    fn logp(&mut self, position: &[f64], gradient: &mut [f64]) -> Result<f64, NotFinite> {
        let found = self.problem.evaluate(&[position.to_vec()], Need::Gradient).ok().and_then(|mut f| f.pop());
        let found = found.filter(|f| f.is_finite()).ok_or(NotFinite)?;
        gradient.iter_mut().zip(&found.gradient).for_each(|(out, g)| *out = -g);
        Ok(self.problem.layout.log_stretch(position, gradient) - found.loss)
    }

    fn expand_vector<R: nuts_rs::rand::Rng + ?Sized>(
        &mut self,
        _: &mut R,
        position: &[f64],
    ) -> Result<Vec<f64>, CpuMathError> {
        Ok(position.to_vec())
    }
}
