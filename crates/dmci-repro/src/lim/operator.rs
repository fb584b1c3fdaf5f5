//! What operators say: Green functions, the mode of ENSO, the linearity of the data.

use super::matrix::Matrix;
use crate::numbers::Real;
use dmci_ops::real::{atan2, log, sqrt};
use dmci_stats::spectrum::eigenvalues;
use serde::{Deserialize, Serialize};

/// Periods of ENSO, in months.
const PERIODS: (f64, f64) = (24.0, 84.0);

/// Times of decay of ENSO, in months.
const DECAYS: (f64, f64) = (4.0, 30.0);

/// An oscillation that decays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Oscillation {
    /// Years.
    pub period: Real,
    /// Months until a share of 1/e is left.
    pub decay: Real,
    /// Whether both are those of ENSO.
    pub in_band: bool,
}

/// The mean of `x[t + lag] x[t]'` over months of states.
pub fn lagged(states: &[f64], d: usize, lag: usize) -> Matrix {
    let months = states.len() / d;
    let mut sum = Matrix::zeros(d, d);
    for t in 0..months - lag {
        let (now, then) = (&states[t * d..(t + 1) * d], &states[(t + lag) * d..(t + lag + 1) * d]);
        for (i, y) in then.iter().enumerate() {
            now.iter().enumerate().for_each(|(j, x)| sum.values[i * d + j] += x * y / (months - lag) as f64);
        }
    }
    sum
}

/// The Green function of a lag; `None` if the covariance is singular.
pub fn green(states: &[f64], d: usize, lag: usize) -> Option<Matrix> {
    Some(lagged(states, d, lag).times(&lagged(states, d, 0).inverse()?.0))
}

/// How far the Green function of twice a lag is from the square of that of the lag, relative to it.
pub fn tau_residual(states: &[f64], d: usize, lag: usize) -> Option<f64> {
    let (once, twice) = (green(states, d, lag)?, green(states, d, 2 * lag)?);
    Some(once.times(&once).plus(&twice, -1.0).length() / twice.length())
}

/// The magnitude of the largest eigenvalue.
pub fn radius(f: &Matrix) -> f64 {
    dmci_stats::spectrum::spectral_radius(&f.values, f.rows).unwrap_or(f64::NAN)
}

/// The least damped oscillation in the band of ENSO, or outside of it if none is in it.
pub fn oscillation(f: &Matrix) -> Option<Oscillation> {
    let mut list: Vec<Oscillation> = eigenvalues(&f.values, f.rows)?
        .into_iter()
        .filter(|&(re, im)| im > 1e-9 && re * re + im * im < 1.0)
        .map(|(re, im)| {
            let months = std::f64::consts::TAU / atan2(im, re);
            let decay = -1.0 / log(sqrt(re * re + im * im));
            let within = |x: f64, band: (f64, f64)| band.0 <= x && x <= band.1;
            let in_band = within(months, PERIODS) && within(decay, DECAYS);
            Oscillation { period: Real(months / 12.0), decay: Real(decay), in_band }
        })
        .collect();
    list.sort_by(|a, b| b.in_band.cmp(&a.in_band).then(b.decay.0.total_cmp(&a.decay.0)));
    list.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rotation that comes back after 30 months and decays in 20.
    #[test]
    fn an_oscillation_is_read_off_its_operator() {
        let (angle, size) = (std::f64::consts::TAU / 30.0, (-1.0_f64 / 20.0).exp());
        let (c, s) = (size * angle.cos(), size * angle.sin());
        let f = Matrix::new(3, 3, vec![c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 0.99]);
        let found = oscillation(&f).unwrap();
        assert!((found.period.0 - 2.5).abs() < 1e-12 && (found.decay.0 - 20.0).abs() < 1e-9 && found.in_band);
        assert!((radius(&f) - 0.99).abs() < 1e-12);
    }

    /// States without noise give back their operator, at every lag.
    #[test]
    fn green_functions_are_operators() {
        let f = Matrix::new(2, 2, vec![0.9, -0.3, 0.2, 0.8]);
        let mut states = vec![1.0, 0.5];
        for t in 0..40 {
            let next = f.apply(&states[2 * t..2 * t + 2]);
            states.extend(next);
        }
        // The products at t = 40 are in the covariance and not in those of lags.
        let product = |lag: usize| {
            let short = &states[..states.len() - 2 * lag];
            lagged(&states, 2, lag).times(&lagged(short, 2, 0).inverse().unwrap().0)
        };
        assert!(product(1).plus(&f, -1.0).length() < 1e-9 && product(3).plus(&f.power(3), -1.0).length() < 1e-9);
    }
}
