//! Small dense linear algebra for searches and error bars, each with one order of operations.
//!
//! Matrices are slices, row by row. Long work looks whether to stop ([`Ticks`]); what it then gives has no meaning, and
//! whoever stopped it knows.

use dmci_limits::Ticks;
use dmci_ops::real::sqrt;
use smallvec::{SmallVec, smallvec};

/// A number for each parameter. Most models have few: searches make a dozen of these for each step.
pub type Vector = SmallVec<[f64; 8]>;

/// A number for each pair of parameters.
pub type Square = SmallVec<[f64; 36]>;

/// The product of two vectors: four sums beside each other, so that none waits for the one before.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (fours, others) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest = fours.remainder().iter().zip(others.remainder()).map(|(x, y)| x * y).sum::<f64>();
    let mut sums = [0.0; 4];
    for (x, y) in fours.zip(others) {
        (0..4).for_each(|i| sums[i] += x[i] * y[i]);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// The product of two long vectors: sixteen sums, which fill the registers.
pub fn long_dot(a: &[f64], b: &[f64]) -> f64 {
    let (many, others) = (a.chunks_exact(16), b.chunks_exact(16));
    let rest = dot(many.remainder(), others.remainder());
    let mut sums = [0.0; 16];
    for (x, y) in many.zip(others) {
        (0..16).for_each(|i| sums[i] += x[i] * y[i]);
    }
    let of = |i: usize| (sums[i] + sums[i + 4]) + (sums[i + 8] + sums[i + 12]);
    (of(0) + of(1)) + (of(2) + of(3)) + rest
}

/// Sums of squares between these are neither too large nor so small that digits are lost.
const SAFE_SQUARES: std::ops::Range<f64> = 1e-250..1e250;

/// The Euclidean length, without overflow on the way.
pub fn length(vector: &[f64]) -> f64 {
    let squares = dot(vector, vector);
    if SAFE_SQUARES.contains(&squares) {
        return sqrt(squares);
    }
    let largest = vector.iter().fold(0.0, |m: f64, x| if x.is_nan() { f64::NAN } else { m.max(x.abs()) });
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * sqrt(vector.iter().map(|x| (x / largest) * (x / largest)).sum())
}

/// The numbers of a vector, each in its unit.
pub fn scaled(vector: &[f64], units: &[f64]) -> Vector {
    vector.iter().zip(units).map(|(x, u)| x * u).collect()
}

/// The lengths of the columns of a matrix with so many of them.
pub fn column_lengths(matrix: &[f64], n: usize) -> Vector {
    let mut squares: Vector = smallvec![0.0; n];
    for row in matrix.chunks_exact(n.max(1)) {
        squares.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x);
    }
    let column = |j: usize| matrix.iter().skip(j).step_by(n).copied().collect::<Vec<f64>>();
    let of_column = |(j, sum): (usize, f64)| if SAFE_SQUARES.contains(&sum) { sqrt(sum) } else { length(&column(j)) };
    squares.into_iter().enumerate().map(of_column).collect()
}

/// An orthogonal factorisation `A P = Q R` with column pivoting (Householder; Golub and Van Loan 5.4).
#[derive(Clone, Debug)]
pub struct Factored {
    /// The upper triangle, `n` by `n`.
    pub r: Square,
    /// Column `j` of `R` belongs to column `order[j]` of the matrix.
    pub order: SmallVec<[usize; 8]>,
    /// The first `n` elements of `Q'` times the right-hand side.
    pub rotated: Vector,
    /// The lengths of the matrix's columns, in the order of those of `R`: columns have units of their own, so that
    /// each says itself what is little.
    lengths: Vector,
    n: usize,
}

/// What rounding leaves of one of so many columns if it depends on the others, as a share of its length.
fn rounding(columns: usize) -> f64 {
    10.0 * f64::EPSILON * columns as f64
}

/// A least-squares solution of `A x = b` and `D x = 0` together, `D` diagonal.
#[derive(Clone, Debug)]
pub struct Damped {
    /// The solution.
    pub x: Vector,
    /// The triangle `S` with `S' S = P' (A' A + D D) P`.
    s: Square,
}

impl Factored {
    /// Factors a matrix with `n` columns together with a right-hand side of as many rows; `columns` is memory for it.
    pub fn new(matrix: &[f64], right: &[f64], n: usize, columns: &mut Vec<f64>) -> Factored {
        let rows = right.len();
        // Column by column: Householder vectors are columns. The right-hand side is the last one.
        columns.clear();
        columns.resize((n + 1) * rows, 0.0);
        for (i, row) in matrix.chunks_exact(n.max(1)).enumerate() {
            row.iter().enumerate().for_each(|(j, x)| columns[j * rows + i] = *x);
        }
        columns[n * rows..].copy_from_slice(right);
        let mut order: SmallVec<[usize; 8]> = (0..n).collect();
        let mut r: Square = smallvec![0.0; n * n];
        // The lengths of columns, of what is left of them.
        let mut lengths: Vector = columns[..n * rows].chunks_exact(rows.max(1)).map(length).collect();
        let mut whole = lengths.clone();
        let mut ticks = Ticks::default();
        'all: for k in 0..n.min(rows) {
            // What is left of a dependent column is noise, however long: it must not come before one that has a say.
            let rank = |j: usize| (lengths[j] > rounding(n) * whole[j], lengths[j]);
            let longest = |best: usize, this: usize| if rank(this) > rank(best) { this } else { best };
            let pivot = (k + 1..n).fold(k, longest);
            if pivot != k {
                let (before, after) = columns.split_at_mut(pivot * rows);
                before[k * rows..(k + 1) * rows].swap_with_slice(&mut after[..rows]);
                order.swap(k, pivot);
                lengths.swap(k, pivot);
                whole.swap(k, pivot);
                (0..k).for_each(|i| r.swap(i * n + k, i * n + pivot));
            }
            let norm = lengths[k];
            if norm == 0.0 || !norm.is_finite() {
                continue;
            }
            let (before, after) = columns.split_at_mut((k + 1) * rows);
            let v = &mut before[k * rows + k..];
            let mut reflected = if v[0] > 0.0 { -norm } else { norm };
            r[k * n + k] = reflected;
            if !SAFE_SQUARES.contains(&(norm * norm)) {
                v.iter_mut().for_each(|x| *x /= norm);
                reflected /= norm;
            }
            let first = v[0];
            v[0] -= reflected;
            // Half the square of its length: what is reflected keeps its own.
            let half_square = reflected * (reflected - first);
            for (j, column) in after.chunks_exact_mut(rows).enumerate().map(|(i, column)| (k + 1 + i, column)) {
                if ticks.spend(rows) {
                    break 'all;
                }
                let x = &mut column[k..];
                let factor = dot(v, x) / half_square;
                x.iter_mut().zip(&*v).for_each(|(x, v)| *x -= factor * v);
                if j < n {
                    r[k * n + j] = x[0];
                    lengths[j] = length(&x[1..]);
                }
            }
        }
        let mut rotated: Vector = SmallVec::from_slice(&columns[n * rows..][..n.min(rows)]);
        rotated.resize(n, 0.0);
        Factored { r, order, rotated, lengths: whole, n }
    }

    /// How many columns are independent.
    pub fn rank(&self) -> usize {
        self.rank_above(rounding(self.n))
    }

    /// How many columns are independent of those before by more than this share of their length.
    pub fn rank_above(&self, share: f64) -> usize {
        (0..self.n).take_while(|&k| self.r[k * self.n + k].abs() > share * self.lengths[k]).count()
    }

    /// The least-squares solution of `A x = b` and `D x = 0` together, `D` diagonal: what
    /// Levenberg and Marquardt need. Without damping, dependent columns get 0.
    pub fn solve(&self, damping: &[f64]) -> Damped {
        let n = self.n;
        let mut r = self.r.clone();
        let mut b = self.rotated.clone();
        let mut row: Vector = smallvec![0.0; n];
        let mut ticks = Ticks::default();
        // Rotates each row of D into R (Moré 1978).
        for j in 0..n {
            if ticks.spend(n * (n - j)) {
                break;
            }
            row.fill(0.0);
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
                for (x, y) in r[k * n + k..(k + 1) * n].iter_mut().zip(&mut row[k..]) {
                    (*x, *y) = (c * *x + s * *y, c * *y - s * *x);
                }
                (b[k], extra) = (c * b[k] + s * extra, c * extra - s * b[k]);
            }
        }
        Damped { x: self.back(&r, b), s: r }
    }

    /// The solution `x` of `S P' x = b` for a triangle `S`; dependent columns get 0.
    fn back(&self, s: &[f64], mut b: Vector) -> Vector {
        let n = self.n;
        for k in (0..n).rev() {
            let rest: f64 = (k + 1..n).map(|i| s[k * n + i] * b[i]).sum();
            b[k] = self.divided(b[k] - rest, s, k);
        }
        let mut x: Vector = smallvec![0.0; n];
        self.order.iter().zip(b).for_each(|(&j, found)| x[j] = found);
        x
    }

    /// A quotient by a diagonal element of a triangle, 0 if that belongs to a dependent column.
    fn divided(&self, x: f64, s: &[f64], k: usize) -> f64 {
        let diagonal = s[k * self.n + k];
        if diagonal.abs() > rounding(self.n) * self.lengths[k] { x / diagonal } else { 0.0 }
    }

    /// How fast the length of `U x` falls with the damping, for the solution with the dampings `sqrt(damping) U`, `U`
    /// diagonal, divided by that length (Moré 1978, 5.8).
    pub fn shrinking(&self, solution: &Damped, units: &[f64]) -> f64 {
        let n = self.n;
        let size = length(&scaled(&solution.x, units));
        // Solves S' w = P' U U x / |U x|, from the first row on.
        let mut w: Vector = self.order.iter().map(|&j| units[j] * (units[j] * solution.x[j] / size)).collect();
        for k in 0..n {
            let above: f64 = (0..k).map(|i| solution.s[i * n + k] * w[i]).sum();
            w[k] = (w[k] - above) / solution.s[k * n + k];
        }
        dot(&w, &w)
    }

    /// The solution `x` of `(A' A + D D) x = b`, with the dampings of a solution that is known.
    pub fn solve_normal(&self, known: &Damped, right: &[f64]) -> Vector {
        let n = self.n;
        let mut w: Vector = self.order.iter().map(|&j| right[j]).collect();
        for k in 0..n {
            let above: f64 = (0..k).map(|i| known.s[i * n + k] * w[i]).sum();
            w[k] = self.divided(w[k] - above, &known.s, k);
        }
        self.back(&known.s, w)
    }

    /// The inverse of `A' A`; none if its columns depend on each other.
    pub fn covariance(&self) -> Option<Vec<f64>> {
        let n = self.n;
        if self.rank() < n {
            return None;
        }
        // The inverse of R, column by column.
        let mut inverse = vec![0.0; n * n];
        let mut ticks = Ticks::default();
        for j in 0..n {
            for i in (0..=j).rev() {
                if ticks.spend(n) {
                    return None;
                }
                let unit = if i == j { 1.0 } else { 0.0 };
                let rest: f64 = (i + 1..=j).map(|k| self.r[i * n + k] * inverse[k * n + j]).sum();
                inverse[i * n + j] = (unit - rest) / self.r[i * n + i];
            }
        }
        let mut covariance = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                if ticks.spend(n) {
                    return None;
                }
                let sum = (i.max(j)..n).map(|k| inverse[i * n + k] * inverse[j * n + k]).sum();
                covariance[self.order[i] * n + self.order[j]] = sum;
            }
        }
        Some(covariance)
    }
}

/// More rows than this take Jacobi's method too long.
const MOST_FOR_JACOBI: usize = 256;

/// Eigenvalues in rising order, and eigenvectors as rows, of a symmetric matrix (Jacobi; of a large one by QL steps).
pub fn eigen(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    if n > MOST_FOR_JACOBI
        && let Some((values, vectors)) = crate::symmetric::eigen(matrix, n)
    {
        return in_order(&values, &vectors, n);
    }
    let mut a = matrix.to_vec();
    let mut vectors = vec![0.0; n * n];
    (0..n).for_each(|i| vectors[i * n + i] = 1.0);
    let mut ticks = Ticks::default();
    'all: for _ in 0..60 {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i * n + j] * a[i * n + j]).sum();
        let all: f64 = dot(&a, &a);
        if off <= all * 1e-32 || !all.is_finite() {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if ticks.spend(6 * n) {
                    break 'all;
                }
                if a[p * n + q] != 0.0 {
                    rotate(&mut a, &mut vectors, n, p, q);
                }
            }
        }
    }
    let values: Vec<f64> = (0..n).map(|i| a[i * n + i]).collect();
    in_order(&values, &vectors, n)
}

/// The same with eigenvalues in rising order.
fn in_order(values: &[f64], vectors: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let rows = order.iter().flat_map(|&i| &vectors[i * n..(i + 1) * n]).copied().collect();
    (order.iter().map(|&i| values[i]).collect(), rows)
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
    // What the rotation is for; rounding would leave something, and there would be no end.
    (a[p * n + q], a[q * n + p]) = (0.0, 0.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: usize, n: usize) -> Vec<f64> {
        let mut state = 3u64;
        (0..rows * n).map(|_| dmci_value::num::random_real(&mut state) - 0.3).collect()
    }

    #[test]
    fn solutions_satisfy_the_normal_equations() {
        let (rows, n) = (9, 4);
        let a = matrix(rows, n);
        let b: Vec<f64> = (0..rows).map(|i| (i as f64).sin()).collect();
        for damping in [[0.0; 4], [0.5, 1.0, 2.0, 0.1]] {
            let x = Factored::new(&a, &b, n, &mut Vec::new()).solve(&damping).x;
            for j in 0..n {
                let gradient: f64 =
                    (0..rows).map(|i| a[i * n + j] * (dot(&a[i * n..(i + 1) * n], &x) - b[i])).sum::<f64>()
                        + damping[j] * damping[j] * x[j];
                assert!(gradient.abs() < 1e-13, "{gradient}");
            }
        }
    }

    #[test]
    fn a_damped_solution_shrinks_as_fast_as_it_says() {
        let (rows, n) = (9, 4);
        let (a, units) = (matrix(rows, n), [0.5, 1.0, 2.0, 0.1]);
        let b: Vec<f64> = (0..rows).map(|i| (i as f64).sin()).collect();
        let factored = Factored::new(&a, &b, n, &mut Vec::new());
        let solved = |damping: f64| factored.solve(&units.map(|u| u * sqrt(damping)));
        let size =
            |damping: f64| length(&solved(damping).x.iter().zip(units).map(|(x, u)| x * u).collect::<Vec<f64>>());
        let slope = (size(0.7 + 1e-6) - size(0.7 - 1e-6)) / 2e-6;
        assert!((factored.shrinking(&solved(0.7), &units) * size(0.7) + slope).abs() < 1e-8, "{slope}");
    }

    #[test]
    fn lengths_are_right_where_squares_are_not() {
        for scale in [1e-300, 1e-160, 1.0, 1e160, 1e300] {
            let vector: Vec<f64> = [3.0, 4.0, 12.0, 84.0, 0.0].iter().map(|x| x * scale).collect();
            assert!((length(&vector) / scale - 85.0).abs() < 1e-12, "{scale}");
            let both: Vec<f64> = vector.iter().flat_map(|x| [*x, 2.0]).collect();
            let lengths = column_lengths(&both, 2);
            assert!((lengths[0] / scale - 85.0).abs() < 1e-12 && (lengths[1] - sqrt(20.0)).abs() < 1e-15);
        }
        assert!(length(&[1.0, f64::NAN]).is_nan());
        assert_eq!((length(&[]), length(&[1.0, f64::NEG_INFINITY])), (0.0, f64::INFINITY));
    }

    #[test]
    fn the_covariance_is_the_inverse() {
        let (rows, n) = (7, 3);
        let a = matrix(rows, n);
        let c = Factored::new(&a, &vec![0.0; rows], n, &mut Vec::new()).covariance().unwrap();
        for i in 0..n {
            for j in 0..n {
                let product: f64 =
                    (0..n).map(|k| (0..rows).map(|r| a[r * n + i] * a[r * n + k]).sum::<f64>() * c[k * n + j]).sum();
                assert!((product - if i == j { 1.0 } else { 0.0 }).abs() < 1e-12);
            }
        }
        let dependent: Vec<f64> = (0..rows).flat_map(|i| [i as f64, 2.0 * i as f64, 1.0]).collect();
        let factored = Factored::new(&dependent, &vec![1.0; rows], n, &mut Vec::new());
        assert_eq!((factored.rank(), factored.covariance()), (2, None));
    }

    /// Columns in other units: the solution is the same in other units, and so is what depends on what.
    #[test]
    fn the_units_of_columns_change_nothing() {
        let (rows, n) = (7, 4);
        let free = matrix(rows, 3);
        let right: Vec<f64> = (0..rows).map(|i| (i as f64).cos()).collect();
        for units in [[1.0; 4], [1e18, 1.0, 1e-12, 1e18], [1.0, 1e-18, 1e16, 1.0], [1e-30, 1e30, 1.0, 1e-30]] {
            // The last column is that of the first, but for its unit.
            let a: Vec<f64> = free
                .chunks(3)
                .flat_map(|r| [r[0], r[1], r[2], 3.0 * r[0]])
                .zip(units.iter().cycle())
                .map(|(x, u)| x * u)
                .collect();
            let factored = Factored::new(&a, &right, n, &mut Vec::new());
            assert_eq!(factored.rank(), 3, "{units:?}");
            let x = scaled(&factored.solve(&[0.0; 4]).x, &units);
            assert!(x[0] == 0.0 || x[3] == 0.0, "{x:?}");
            let alone = Factored::new(&free, &right, 3, &mut Vec::new()).solve(&[0.0; 3]).x;
            for (got, expected) in [(x[0] + 3.0 * x[3], alone[0]), (x[1], alone[1]), (x[2], alone[2])] {
                assert!((got - expected).abs() < 1e-12 * expected.abs(), "{units:?}: {x:?} {alone:?}");
            }
        }
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
