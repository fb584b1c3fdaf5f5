//! Small dense matrices in row-major order, in single or double precision: what the hand-written filter and the
//! operators of forecasts need.

use dmci_ops::real::{log, sqrt};
use dmci_stats::linear::eigen;
use std::ops::{Add, Div, Mul, Sub};

/// A number of a matrix.
pub trait Scalar:
    Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Into<f64>
{
    /// The nearest one.
    fn of(x: f64) -> Self;
}

impl Scalar for f64 {
    fn of(x: f64) -> f64 {
        x
    }
}

impl Scalar for f32 {
    fn of(x: f64) -> f32 {
        x as f32
    }
}

/// A matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix<N = f64> {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Row by row.
    pub values: Vec<N>,
}

impl<N: Scalar> Matrix<N> {
    /// A matrix of its numbers.
    pub fn new(rows: usize, columns: usize, values: Vec<N>) -> Matrix<N> {
        debug_assert_eq!(values.len(), rows * columns, "a matrix has as many numbers as places");
        Matrix { rows, columns, values }
    }

    /// Zeros.
    pub fn zeros(rows: usize, columns: usize) -> Matrix<N> {
        Matrix::new(rows, columns, vec![N::of(0.0); rows * columns])
    }

    /// A multiple of the identity.
    pub fn identity(n: usize, scale: f64) -> Matrix<N> {
        let mut matrix = Matrix::zeros(n, n);
        (0..n).for_each(|i| matrix.values[i * n + i] = N::of(scale));
        matrix
    }

    /// The same in another precision.
    pub fn cast<M: Scalar>(&self) -> Matrix<M> {
        Matrix::new(self.rows, self.columns, self.values.iter().map(|&x| M::of(x.into())).collect())
    }

    /// An entry.
    pub fn at(&self, i: usize, j: usize) -> N {
        self.values[i * self.columns + j]
    }

    /// A row.
    pub fn row(&self, i: usize) -> &[N] {
        &self.values[i * self.columns..(i + 1) * self.columns]
    }

    /// The transpose.
    pub fn transpose(&self) -> Matrix<N> {
        let mut out = Matrix::zeros(self.columns, self.rows);
        for i in 0..self.rows {
            (0..self.columns).for_each(|j| out.values[j * self.rows + i] = self.at(i, j));
        }
        out
    }

    /// The product.
    pub fn times(&self, other: &Matrix<N>) -> Matrix<N> {
        let mut out = Matrix::zeros(self.rows, other.columns);
        for i in 0..self.rows {
            let row = &mut out.values[i * other.columns..(i + 1) * other.columns];
            for (k, &a) in self.row(i).iter().enumerate() {
                row.iter_mut().zip(other.row(k)).for_each(|(x, &b)| *x = *x + a * b);
            }
        }
        out
    }

    /// The product with a vector.
    pub fn apply(&self, vector: &[N]) -> Vec<N> {
        let product = |i: usize| self.row(i).iter().zip(vector).fold(N::of(0.0), |s, (&a, &b)| s + a * b);
        (0..self.rows).map(product).collect()
    }

    /// The sum with a multiple of another one.
    pub fn plus(&self, other: &Matrix<N>, scale: f64) -> Matrix<N> {
        let scale = N::of(scale);
        let values = self.values.iter().zip(&other.values).map(|(&a, &b)| a + scale * b).collect();
        Matrix::new(self.rows, self.columns, values)
    }

    /// The inverse and the logarithm of the magnitude of the determinant, by elimination with pivots; `None` if it is
    /// singular.
    pub fn inverse(&self) -> Option<(Matrix<N>, f64)> {
        let n = self.rows;
        let (mut a, mut b) = (self.clone(), Matrix::<N>::identity(n, 1.0));
        let size = |x: N| -> f64 { x.into().abs() };
        let mut logdet = 0.0;
        for c in 0..n {
            let pivot = (c..n).fold(c, |best, i| if size(a.at(i, c)) > size(a.at(best, c)) { i } else { best });
            let divisor = a.at(pivot, c);
            if !(size(divisor) > 0.0 && size(divisor).is_finite()) {
                return None;
            }
            logdet += log(size(divisor));
            for m in [&mut a, &mut b] {
                (0..n).for_each(|j| m.values.swap(pivot * n + j, c * n + j));
                (0..n).for_each(|j| m.values[c * n + j] = m.values[c * n + j] / divisor);
            }
            for i in (0..n).filter(|&i| i != c) {
                let factor = a.at(i, c);
                for m in [&mut a, &mut b] {
                    (0..n).for_each(|j| m.values[i * n + j] = m.values[i * n + j] - factor * m.values[c * n + j]);
                }
            }
        }
        Some((b, logdet))
    }
}

impl Matrix {
    /// A whole power.
    pub fn power(&self, k: usize) -> Matrix {
        (0..k).fold(Matrix::identity(self.rows, 1.0), |m, _| m.times(self))
    }

    /// The root of the sum of squares.
    pub fn length(&self) -> f64 {
        sqrt(self.values.iter().map(|x| x * x).sum())
    }

    /// The largest over the smallest eigenvalue of a symmetric matrix.
    pub fn condition(&self) -> f64 {
        let n = self.rows;
        let symmetric: Vec<f64> = (0..n * n).map(|k| (self.at(k / n, k % n) + self.at(k % n, k / n)) / 2.0).collect();
        let values = eigen(&symmetric, n).0;
        let (low, high) = values.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), &x| (l.min(x), h.max(x)));
        high / low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_and_powers() {
        let m = Matrix::new(3, 3, vec![0.0, 2.0, 1.0, 1.0, 0.5, -1.0, 3.0, 1.0, 0.0]);
        let (inverse, logdet) = m.inverse().unwrap();
        assert!(m.times(&inverse).plus(&Matrix::identity(3, 1.0), -1.0).length() < 1e-14);
        assert!((logdet - (6.5_f64).ln()).abs() < 1e-14, "{logdet}");
        assert_eq!(m.power(2), m.times(&m));
        assert_eq!(Matrix::<f64>::zeros(2, 2).inverse(), None);
        assert!((Matrix::new(2, 2, vec![3.0, 1.0, 1.0, 3.0]).condition() - 2.0).abs() < 1e-12);
    }
}
