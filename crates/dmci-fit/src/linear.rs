//! Small dense linear algebra for searches and error bars, each with one order of operations.
//!
//! Matrices are slices, row by row.

use dmci_ops::real::sqrt;

/// The product of two vectors, in order.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The Euclidean length, without overflow on the way.
pub fn length(vector: &[f64]) -> f64 {
    let largest = vector.iter().fold(0.0, |m: f64, x| if x.is_nan() { f64::NAN } else { m.max(x.abs()) });
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * sqrt(vector.iter().map(|x| (x / largest) * (x / largest)).sum())
}

/// An orthogonal factorisation `A P = Q R` with column pivoting (Householder; Golub and Van Loan 5.4).
#[derive(Clone, Debug)]
pub struct Factored {
    /// The upper triangle, `n` by `n`.
    pub r: Vec<f64>,
    /// Column `j` of `R` belongs to column `order[j]` of the matrix.
    pub order: Vec<usize>,
    /// The first `n` elements of `Q'` times the right-hand side.
    pub rotated: Vec<f64>,
    n: usize,
}

impl Factored {
    /// Factors a matrix with `n` columns together with a right-hand side of as many rows.
    pub fn new(matrix: &[f64], right: &[f64], n: usize) -> Factored {
        let rows = right.len();
        // Column by column: Householder vectors are columns.
        let mut columns: Vec<Vec<f64>> = (0..n).map(|j| (0..rows).map(|i| matrix[i * n + j]).collect()).collect();
        let mut right = right.to_vec();
        let mut order: Vec<usize> = (0..n).collect();
        let mut r = vec![0.0; n * n];
        for k in 0..n.min(rows) {
            let (pivot, _) = (k..n)
                .map(|j| (j, length(&columns[j][k..])))
                .fold((k, -1.0), |best, this| if this.1 > best.1 { this } else { best });
            columns.swap(k, pivot);
            order.swap(k, pivot);
            for i in 0..k {
                r.swap(i * n + k, i * n + pivot);
            }
            let norm = length(&columns[k][k..]);
            if norm == 0.0 || !norm.is_finite() {
                continue;
            }
            let alpha = if columns[k][k] > 0.0 { -norm } else { norm };
            let mut v: Vec<f64> = columns[k][k..].iter().map(|x| x / norm).collect();
            v[0] -= alpha / norm;
            let size = dot(&v, &v);
            let reflect = |x: &mut [f64]| {
                let factor = 2.0 * dot(&v, x) / size;
                x.iter_mut().zip(&v).for_each(|(x, v)| *x -= factor * v);
            };
            columns[k + 1..].iter_mut().for_each(|c| reflect(&mut c[k..]));
            reflect(&mut right[k..]);
            r[k * n + k] = alpha;
            for j in k + 1..n {
                r[k * n + j] = columns[j][k];
            }
        }
        right.resize(n.max(rows), 0.0);
        right.truncate(n);
        Factored { r, order, rotated: right, n }
    }

    /// The share of the largest diagonal element below which a column counts as dependent.
    fn negligible(&self) -> f64 {
        self.r.first().map_or(0.0, |x| x.abs()) * f64::EPSILON * self.n as f64
    }

    /// How many columns are independent.
    pub fn rank(&self) -> usize {
        (0..self.n).take_while(|&k| self.r[k * self.n + k].abs() > self.negligible()).count()
    }

    /// The least-squares solution of `A x = b` and `D x = 0` together, `D` diagonal: what
    /// Levenberg and Marquardt need. Without damping, dependent columns get 0.
    pub fn solve(&self, damping: &[f64]) -> Vec<f64> {
        let n = self.n;
        let mut r = self.r.clone();
        let mut b = self.rotated.clone();
        // Rotates each row of D into R (Moré 1978).
        for j in 0..n {
            let mut row = vec![0.0; n];
            row[j] = damping[self.order[j]];
            if row[j] == 0.0 {
                continue;
            }
            let mut extra = 0.0;
            for k in j..n {
                if row[k] == 0.0 {
                    continue;
                }
                let (a, d) = (r[k * n + k], row[k]);
                let h = length(&[a, d]);
                let (c, s) = (a / h, d / h);
                for i in k..n {
                    let (x, y) = (r[k * n + i], row[i]);
                    r[k * n + i] = c * x + s * y;
                    row[i] = c * y - s * x;
                }
                (b[k], extra) = (c * b[k] + s * extra, c * extra - s * b[k]);
            }
        }
        let tiny = self.negligible();
        let mut x = vec![0.0; n];
        for k in (0..n).rev() {
            let diagonal = r[k * n + k];
            let rest: f64 = (k + 1..n).map(|i| r[k * n + i] * x[i]).sum();
            x[k] = if diagonal.abs() > tiny { (b[k] - rest) / diagonal } else { 0.0 };
        }
        let mut solution = vec![0.0; n];
        self.order.iter().zip(x).for_each(|(&j, x)| solution[j] = x);
        solution
    }

    /// The inverse of `A' A`; none if its columns depend on each other.
    pub fn covariance(&self) -> Option<Vec<f64>> {
        let n = self.n;
        if self.rank() < n {
            return None;
        }
        // The inverse of R, column by column.
        let mut inverse = vec![0.0; n * n];
        for j in 0..n {
            for i in (0..=j).rev() {
                let unit = if i == j { 1.0 } else { 0.0 };
                let rest: f64 = (i + 1..=j).map(|k| self.r[i * n + k] * inverse[k * n + j]).sum();
                inverse[i * n + j] = (unit - rest) / self.r[i * n + i];
            }
        }
        let mut covariance = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                let sum = (i.max(j)..n).map(|k| inverse[i * n + k] * inverse[j * n + k]).sum();
                covariance[self.order[i] * n + self.order[j]] = sum;
            }
        }
        Some(covariance)
    }
}

/// Eigenvalues in rising order, and eigenvectors as rows, of a symmetric matrix (Jacobi).
pub fn eigen(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut a = matrix.to_vec();
    let mut vectors = vec![0.0; n * n];
    (0..n).for_each(|i| vectors[i * n + i] = 1.0);
    for _ in 0..60 {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i * n + j] * a[i * n + j]).sum();
        let all: f64 = dot(&a, &a);
        if off <= all * 1e-32 || !all.is_finite() {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if a[p * n + q] != 0.0 {
                    rotate(&mut a, &mut vectors, n, p, q);
                }
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[i * n + i].total_cmp(&a[j * n + j]));
    let values = order.iter().map(|&i| a[i * n + i]).collect();
    let rows = order.iter().flat_map(|&i| vectors[i * n..(i + 1) * n].to_vec()).collect();
    (values, rows)
}

/// One rotation of Jacobi's method.
fn rotate(a: &mut [f64], vectors: &mut [f64], n: usize, p: usize, q: usize) {
    let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * a[p * n + q]);
    let t = theta.signum() / (theta.abs() + sqrt(theta * theta + 1.0));
    let c = 1.0 / sqrt(t * t + 1.0);
    let s = t * c;
    for k in 0..n {
        let (x, y) = (a[k * n + p], a[k * n + q]);
        (a[k * n + p], a[k * n + q]) = (c * x - s * y, s * x + c * y);
    }
    for k in 0..n {
        let (x, y) = (a[p * n + k], a[q * n + k]);
        (a[p * n + k], a[q * n + k]) = (c * x - s * y, s * x + c * y);
        let (x, y) = (vectors[p * n + k], vectors[q * n + k]);
        (vectors[p * n + k], vectors[q * n + k]) = (c * x - s * y, s * x + c * y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: usize, n: usize) -> Vec<f64> {
        let mut state = 3u64;
        (0..rows * n).map(|_| dmci_data::num::random_real(&mut state) - 0.3).collect()
    }

    #[test]
    fn solutions_satisfy_the_normal_equations() {
        let (rows, n) = (9, 4);
        let a = matrix(rows, n);
        let b: Vec<f64> = (0..rows).map(|i| (i as f64).sin()).collect();
        for damping in [[0.0; 4], [0.5, 1.0, 2.0, 0.1]] {
            let x = Factored::new(&a, &b, n).solve(&damping);
            for j in 0..n {
                let gradient: f64 =
                    (0..rows).map(|i| a[i * n + j] * (dot(&a[i * n..(i + 1) * n], &x) - b[i])).sum::<f64>()
                        + damping[j] * damping[j] * x[j];
                assert!(gradient.abs() < 1e-13, "{gradient}");
            }
        }
    }

    #[test]
    fn the_covariance_is_the_inverse() {
        let (rows, n) = (7, 3);
        let a = matrix(rows, n);
        let c = Factored::new(&a, &vec![0.0; rows], n).covariance().unwrap();
        for i in 0..n {
            for j in 0..n {
                let product: f64 =
                    (0..n).map(|k| (0..rows).map(|r| a[r * n + i] * a[r * n + k]).sum::<f64>() * c[k * n + j]).sum();
                assert!((product - if i == j { 1.0 } else { 0.0 }).abs() < 1e-12);
            }
        }
        let dependent: Vec<f64> = (0..rows).flat_map(|i| [i as f64, 2.0 * i as f64, 1.0]).collect();
        let factored = Factored::new(&dependent, &vec![1.0; rows], n);
        assert_eq!((factored.rank(), factored.covariance()), (2, None));
    }

    #[test]
    fn eigenvectors_are_orthogonal_and_stretch() {
        let n = 5;
        let a = matrix(n, n);
        let symmetric: Vec<f64> = (0..n * n).map(|k| a[k] + a[k % n * n + k / n]).collect();
        let (values, vectors) = eigen(&symmetric, n);
        assert!(values.is_sorted());
        for (value, v) in values.iter().zip(vectors.chunks(n)) {
            for i in 0..n {
                assert!((dot(&symmetric[i * n..(i + 1) * n], v) - value * v[i]).abs() < 1e-12);
            }
            assert!((dot(v, v) - 1.0).abs() < 1e-13);
        }
    }
}
