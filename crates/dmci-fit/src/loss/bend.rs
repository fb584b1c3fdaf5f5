//! Second derivatives of the term of one prediction, by the prediction and by the parameters of the noise.

use super::{Loss, Measured, Noise};
use dmci_ops::real::polygamma;

/// The second derivatives of a term.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bend {
    /// Twice by the prediction.
    pub by_prediction: f64,
    /// By the prediction, and by sigma, df and dispersion.
    pub mixed: [f64; 3],
    /// By sigma, df and dispersion, and again by each of them.
    pub by_noise: [[f64; 3]; 3],
}

impl Loss {
    /// The second derivatives of [`Loss::term`].
    pub fn bend(&self, prediction: f64, row: Measured, noise: &Noise, values: &[f64]) -> Bend {
        let number = |index: Option<usize>| index.and_then(|i| values.get(i).copied());
        let residual = prediction - row.target;
        let plain = |by_prediction: f64| Bend { by_prediction, ..Bend::default() };
        match self {
            Loss::Mse | Loss::Sse => plain(2.0),
            Loss::Huber(limit) if residual.abs() <= *limit => plain(1.0),
            Loss::Huber(_) | Loss::Mae | Loss::Procedure(_) | Loss::Objective => plain(0.0),
            Loss::Gaussian => gaussian(residual, row.sigma, number(noise.sigma)),
            Loss::StudentT(degrees) => {
                let degrees = number(noise.degrees).or(noise.fixed.0).unwrap_or(*degrees);
                student(residual, row.sigma, number(noise.sigma), degrees)
            }
            Loss::Poisson => plain(ratio(row.target, prediction)),
            Loss::NegativeBinomial => {
                let dispersion = number(noise.dispersion).or(noise.fixed.1);
                negative_binomial(prediction, row.target, dispersion.unwrap_or(f64::NAN))
            }
            Loss::Binomial => plain(ratio(row.target, prediction) + ratio(row.trials - row.target, 1.0 - prediction)),
        }
    }
}

/// `y / x^2`, which is 0 where y is.
fn ratio(y: f64, x: f64) -> f64 {
    if y == 0.0 { 0.0 } else { y / (x * x) }
}

fn gaussian(residual: f64, column: f64, parameter: Option<f64>) -> Bend {
    let sigma = column * parameter.unwrap_or(1.0);
    let z = residual / sigma;
    let mut bend = Bend { by_prediction: 1.0 / (sigma * sigma), ..Bend::default() };
    if let Some(p) = parameter {
        bend.mixed[0] = -2.0 * z / (sigma * p);
        bend.by_noise[0][0] = (3.0 * z * z - 1.0) / (p * p);
    }
    bend
}

fn student(residual: f64, column: f64, parameter: Option<f64>, df: f64) -> Bend {
    let sigma = column * parameter.unwrap_or(1.0);
    let z = residual / sigma;
    let square = z * z;
    let (total, more) = (df + square, df + 1.0);
    let share = square / total;
    let mut bend = Bend { by_prediction: more * (df - square) / (sigma * total * sigma * total), ..Bend::default() };
    if let Some(p) = parameter {
        bend.mixed[0] = -2.0 * more * z * df / (p * sigma * total * total);
        bend.by_noise[0][0] = (more * share - 1.0 + 2.0 * more * df * square / (total * total)) / (p * p);
        let both = -square * (square - 1.0) / (p * total * total);
        (bend.by_noise[0][1], bend.by_noise[1][0]) = (both, both);
    }
    bend.mixed[1] = z * (square - 1.0) / (sigma * total * total);
    let trigammas = 0.5 * (polygamma(0.5 * df, 1.0) - polygamma(0.5 * more, 1.0));
    let rest = (share - 1.0) / (df * df) - share / df + more / df * square / (total * total);
    bend.by_noise[1][1] = 0.5 * (trigammas + rest);
    bend
}

fn negative_binomial(mean: f64, count: f64, k: f64) -> Bend {
    let total = k + mean;
    let mut bend = Bend { by_prediction: ratio(count, mean) - (count + k) / (total * total), ..Bend::default() };
    bend.mixed[2] = (mean - count) / (total * total);
    let trigammas = polygamma(k, 1.0) - polygamma(count + k, 1.0);
    bend.by_noise[2][2] = trigammas - 1.0 / k + 2.0 / total - (k + count) / (total * total);
    bend
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bends_are_differences_of_slopes() {
        let noise = Noise { sigma: Some(0), degrees: Some(1), dispersion: Some(2), fixed: (None, None) };
        let (values, h) = ([0.6, 5.0, 2.5], 1e-6);
        for name in Loss::NAMES {
            let loss = Loss::named(name).unwrap();
            let row = Measured { target: 2.0, sigma: 0.7, trials: 9.0 };
            let p = if loss == Loss::Binomial { 0.3 } else { 3.1 };
            let exact = loss.bend(p, row, &noise, &values);
            let slopes = |by: f64| loss.term(p + by, row, &noise, &values);
            let (up, down) = (slopes(h), slopes(-h));
            let slope = (up.by_prediction - down.by_prediction) / (2.0 * h);
            assert!((exact.by_prediction - slope).abs() < 1e-7, "{name}: {} {slope}", exact.by_prediction);
            for k in 0..3 {
                let slope = (up.by_noise[k] - down.by_noise[k]) / (2.0 * h);
                assert!((exact.mixed[k] - slope).abs() < 1e-7, "{name} {k}: {} {slope}", exact.mixed[k]);
                let moved = |by: f64| {
                    let mut values = values;
                    values[k] += by;
                    loss.term(p, row, &noise, &values).by_noise
                };
                let (up, down) = (moved(h), moved(-h));
                for j in 0..3 {
                    let slope = (up[j] - down[j]) / (2.0 * h);
                    let exact = exact.by_noise[k][j];
                    assert!((exact - slope).abs() < 1e-7, "{name} {k} {j}: {exact} {slope}");
                }
            }
        }
    }
}
