//! The loss: how far predictions are from the target.

use dmci_exec::sum_rows;

/// The mean squared error and its derivatives by the parameters. `gradients` holds the derivatives
/// of the predictions, `derivatives.len()` of them for each row.
pub fn mean_squared_error(predictions: &[f64], target: &[f64], gradients: &[f64], derivatives: &mut [f64]) -> f64 {
    let (rows, n) = (target.len(), derivatives.len());
    let residual = |row: usize| predictions[row] - target[row];
    for (j, derivative) in derivatives.iter_mut().enumerate() {
        *derivative = sum_rows((0..rows).map(|r| 2.0 * residual(r) * gradients[r * n + j])) / rows as f64;
    }
    sum_rows((0..rows).map(|r| residual(r) * residual(r))) / rows as f64
}

/// How well predictions agree with a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The mean squared error.
    pub loss: f64,
    /// Its square root, in the units of the target.
    pub rmse: f64,
    /// The share of the target's variance that the predictions explain; none if it does not vary.
    pub r2: Option<f64>,
}

impl Score {
    /// The score of predictions.
    pub fn of(predictions: &[f64], target: &[f64]) -> Score {
        let rows = target.len() as f64;
        let loss = mean_squared_error(predictions, target, &[], &mut []);
        let mean = sum_rows(target.iter().copied()) / rows;
        let variance = sum_rows(target.iter().map(|y| (y - mean) * (y - mean))) / rows;
        let r2 = (variance > 0.0).then(|| 1.0 - loss / variance);
        Score { loss, rmse: dmci_ops::real::sqrt(loss), r2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loss_and_its_derivatives_are_means_over_rows() {
        let mut derivatives = [0.0; 2];
        let gradients = [1.0, 10.0, 2.0, 20.0, 3.0, 30.0];
        let loss = mean_squared_error(&[1.0, 2.0, 4.0], &[0.0, 2.0, 2.0], &gradients, &mut derivatives);
        assert_eq!(loss, 5.0 / 3.0);
        assert_eq!(derivatives, [14.0 / 3.0, 140.0 / 3.0]);
    }

    #[test]
    fn a_score_explains_variance() {
        let score = Score::of(&[1.0, 2.0, 3.0, 5.0], &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!((score.loss, score.rmse, score.r2), (0.25, 0.5, Some(0.8)));
        assert_eq!(Score::of(&[1.0, 2.0], &[3.0, 3.0]).r2, None);
    }
}
