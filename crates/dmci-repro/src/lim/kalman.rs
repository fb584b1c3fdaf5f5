//! The filter by hand, term for term like the program: the twin that the program is checked against, and the analysis
//! that forecasts start from.

use super::matrix::{Matrix, Scalar};
use super::structure::Operators;

/// What a filter found.
#[derive(Clone, Debug, PartialEq)]
pub struct Filtered {
    /// Twice the negative logarithm of the likelihood, without constants.
    pub loss: f64,
    /// The state after each month.
    pub states: Vec<Vec<f64>>,
    /// The smallest logarithm of the determinant of the covariance of innovations.
    pub least_logdet: f64,
    /// The covariance of innovations at that month.
    pub covariance: Matrix,
}

/// Filters observations, month by month, `d` numbers each; `None` where a covariance is singular.
pub fn filter<N: Scalar>(operators: &Operators, observations: &[f64], d: usize) -> Option<Filtered> {
    let (f, q) = (operators.f.cast::<N>(), operators.q.cast::<N>());
    let r = Matrix::<N>::identity(d, operators.r);
    let turned = f.transpose();
    let mut x = vec![N::of(0.0); d];
    let mut p = Matrix::<N>::identity(d, 1.0);
    let mut loss = N::of(0.0);
    let (mut states, mut least, mut covariance) = (Vec::new(), f64::INFINITY, Matrix::zeros(d, d));
    for row in observations.chunks_exact(d) {
        let ahead = f.apply(&x);
        let spread = f.times(&p).times(&turned).plus(&q, 1.0);
        let e: Vec<N> = row.iter().zip(&ahead).map(|(&y, &a)| N::of(y) - a).collect();
        let s = spread.plus(&r, 1.0);
        let (inverse, logdet) = s.inverse()?;
        let gain = spread.times(&inverse);
        x = gain.apply(&e).iter().zip(&ahead).map(|(&k, &a)| a + k).collect();
        p = Matrix::<N>::identity(d, 1.0).plus(&gain, -1.0).times(&spread);
        let distance = inverse.apply(&e).iter().zip(&e).fold(N::of(0.0), |sum, (&a, &b)| sum + a * b);
        loss = loss + (N::of(logdet) + distance);
        if logdet < least {
            (least, covariance) = (logdet, s.cast());
        }
        states.push(x.iter().map(|&v| v.into()).collect());
    }
    Some(Filtered { loss: loss.into(), states, least_logdet: least, covariance })
}
