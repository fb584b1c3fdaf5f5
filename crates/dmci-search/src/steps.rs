//! Steps of least squares: by the normal equations where they are well conditioned, which costs a quarter of an orthogonal
//! factorisation, and by that factorisation otherwise.

use dmci_stats::linear::{Factored, dot};

/// The part of a column that the columns before it leave, as a square, below which the normal equations lose too many
/// digits.
const LEAST_PIVOT: f64 = 1e-7;

/// What a step needs to know about a Jacobian and residuals.
#[allow(clippy::large_enum_variant, reason = "one lives on the stack of a fit; a box would allocate in every step")]
pub enum Steps {
    /// By the normal equations.
    Normal(Normal),
    /// By an orthogonal factorisation.
    Orthogonal(Factored),
}

/// The normal equations in units in which all columns have length 1.
pub struct Normal {
    k: usize,
    /// Products of columns, row by row.
    products: Vec<f64>,
    /// The Cholesky factor of the products, lower triangle.
    factor: Vec<f64>,
    /// Products of columns and residuals.
    slopes: Vec<f64>,
    /// Lengths of columns.
    lengths: Vec<f64>,
}

impl Steps {
    /// The steps of a Jacobian of `k` columns; `space` is memory.
    pub fn new(jacobian: &[f64], residuals: &[f64], k: usize, space: &mut Vec<f64>) -> Steps {
        match Normal::new(jacobian, residuals, k) {
            Some(normal) => Steps::Normal(normal),
            None => Steps::Orthogonal(Factored::new(jacobian, residuals, k, space)),
        }
    }

    /// Directions that the data determine.
    pub fn rank(&self) -> usize {
        match self {
            Steps::Normal(normal) => normal.k,
            Steps::Orthogonal(factored) => factored.rank(),
        }
    }

    /// What a full step would gain in the linear model.
    pub fn decrement(&self) -> f64 {
        match self {
            Steps::Normal(normal) => normal.gain(&normal.slopes),
            Steps::Orthogonal(factored) => {
                let rank = factored.rank();
                dot(&factored.rotated[..rank], &factored.rotated[..rank])
            }
        }
    }

    /// The same for other residuals and the same Jacobian.
    pub fn decrement_of(&self, jacobian: &[f64], residuals: &[f64]) -> f64 {
        match self {
            Steps::Normal(normal) => {
                let k = normal.k;
                let mut slopes = vec![0.0; k];
                for (row, residual) in jacobian.chunks_exact(k.max(1)).zip(residuals) {
                    slopes.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * residual);
                }
                slopes.iter_mut().zip(&normal.lengths).for_each(|(s, l)| *s /= l);
                normal.gain(&slopes)
            }
            Steps::Orthogonal(factored) => {
                let rotated = Factored::new(jacobian, residuals, factored.order.len(), &mut Vec::new());
                let rank = rotated.rank();
                dot(&rotated.rotated[..rank], &rotated.rotated[..rank])
            }
        }
    }

    /// The step with these dampings.
    pub fn solve(&self, dampings: &[f64]) -> Vec<f64> {
        match self {
            Steps::Normal(normal) => normal.solve(dampings),
            Steps::Orthogonal(factored) => factored.solve(dampings).x.to_vec(),
        }
    }
}

impl Normal {
    fn new(jacobian: &[f64], residuals: &[f64], k: usize) -> Option<Normal> {
        let mut products = vec![0.0; k * k];
        let mut slopes = vec![0.0; k];
        for (row, residual) in jacobian.chunks_exact(k.max(1)).zip(residuals) {
            for (i, x) in row.iter().enumerate() {
                slopes[i] += x * residual;
                let sums = &mut products[i * k..i * k + i + 1];
                sums.iter_mut().zip(row).for_each(|(sum, y)| *sum += x * y);
            }
        }
        let lengths: Vec<f64> = (0..k).map(|i| products[i * k + i].sqrt()).collect();
        // Squares that over- or underflow belong to the other way, and so do columns of zeros.
        if lengths.iter().any(|l| !(1e-100..1e100).contains(l)) {
            return None;
        }
        for i in 0..k {
            slopes[i] /= lengths[i];
            for j in 0..=i {
                products[i * k + j] /= lengths[i] * lengths[j];
            }
        }
        let factor = cholesky(&products, k, LEAST_PIVOT)?;
        Some(Normal { k, products, factor, slopes, lengths })
    }

    fn gain(&self, slopes: &[f64]) -> f64 {
        let z = forward(&self.factor, slopes, self.k);
        dot(&z, &z)
    }

    fn solve(&self, dampings: &[f64]) -> Vec<f64> {
        let k = self.k;
        let mut damped = self.products.clone();
        for i in 0..k {
            let damping = dampings[i] / self.lengths[i];
            damped[i * k + i] += damping * damping;
        }
        let own;
        let factor = if dampings.iter().all(|d| *d == 0.0) {
            &self.factor
        } else {
            // Damping makes pivots larger, never smaller.
            own = cholesky(&damped, k, 0.0).unwrap_or_else(|| self.factor.clone());
            &own
        };
        let mut x = forward(factor, &self.slopes, k);
        for i in (0..k).rev() {
            let known: f64 = (i + 1..k).map(|j| factor[j * k + i] * x[j]).sum();
            x[i] = (x[i] - known) / factor[i * k + i];
        }
        x.iter_mut().zip(&self.lengths).for_each(|(x, l)| *x /= l);
        x
    }
}

/// The lower factor of a symmetric matrix; none if a pivot is not above `least`.
fn cholesky(matrix: &[f64], k: usize, least: f64) -> Option<Vec<f64>> {
    let mut factor = vec![0.0; k * k];
    for i in 0..k {
        for j in 0..=i {
            let known: f64 = (0..j).map(|m| factor[i * k + m] * factor[j * k + m]).sum();
            let left = matrix[i * k + j] - known;
            if i != j {
                factor[i * k + j] = left / factor[j * k + j];
            } else if left > least {
                factor[i * k + i] = left.sqrt();
            } else {
                return None;
            }
        }
    }
    Some(factor)
}

/// Solves with a lower triangle.
fn forward(factor: &[f64], right: &[f64], k: usize) -> Vec<f64> {
    let mut z = vec![0.0; k];
    for i in 0..k {
        let known: f64 = (0..i).map(|j| factor[i * k + j] * z[j]).sum();
        z[i] = (right[i] - known) / factor[i * k + i];
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci_stats::random::Stream;

    /// Both ways take the same steps and see the same gain.
    #[test]
    fn both_ways_agree() {
        let mut stream = Stream::new(3, 5);
        for k in 1..6 {
            let jacobian: Vec<f64> = (0..40 * k).map(|i| (1.0 + 50.0 * (i % k) as f64) * stream.normal()).collect();
            let residuals: Vec<f64> = (0..40).map(|_| stream.normal()).collect();
            let normal = Steps::new(&jacobian, &residuals, k, &mut Vec::new());
            assert!(matches!(normal, Steps::Normal(_)));
            let other = Steps::Orthogonal(Factored::new(&jacobian, &residuals, k, &mut Vec::new()));
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1e-9);
            assert!(near(normal.decrement(), other.decrement()));
            assert!(near(normal.decrement_of(&jacobian, &residuals), other.decrement()));
            for damping in [0.0, 0.3, 20.0] {
                let dampings = vec![damping; k];
                for (a, b) in normal.solve(&dampings).iter().zip(other.solve(&dampings)) {
                    assert!(near(*a, b), "{k} columns, damping {damping}: {a} and {b}");
                }
            }
            // Columns that depend on each other go the other way.
            let twice: Vec<f64> =
                jacobian.chunks(k).flat_map(|row| row.iter().copied().chain([2.0 * row[0]])).collect();
            let steps = Steps::new(&twice, &residuals, k + 1, &mut Vec::new());
            assert!(matches!(steps, Steps::Orthogonal(_)) && steps.rank() == k);
        }
    }
}
