//! Eigenvalues of a general real matrix, which may be complex: balancing, reduction to Hessenberg form by elimination,
//! and Francis's implicit double-shift QR (Golub and Van Loan, algorithm 7.5.1; EISPACK `balanc`, `elmhes`, `hqr`).

use dmci_ops::real::sqrt;

/// QR steps for one eigenvalue before the matrix is given up.
const MAX_STEPS: usize = 60;

/// The eigenvalues of a square matrix in row-major order, as real and imaginary parts, largest magnitude first; of a
/// conjugate pair the one with the positive imaginary part comes first. `None` if an entry is not finite or QR does not
/// converge.
///
/// ```
/// use dmci_stats::spectrum::eigenvalues;
///
/// // A rotation by a right angle, and a decay beside it.
/// let found = eigenvalues(&[0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.5], 3).unwrap();
/// assert_eq!(found, [(0.0, 1.0), (0.0, -1.0), (0.5, 0.0)]);
/// ```
pub fn eigenvalues(matrix: &[f64], n: usize) -> Option<Vec<(f64, f64)>> {
    if matrix.len() != n * n || matrix.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let mut a = matrix.to_vec();
    balance(&mut a, n);
    reduce(&mut a, n);
    let mut found = francis(&mut a, n)?;
    let size = |z: &(f64, f64)| z.0 * z.0 + z.1 * z.1;
    found.sort_by(|x, y| size(y).total_cmp(&size(x)).then(y.0.total_cmp(&x.0)).then(y.1.total_cmp(&x.1)));
    Some(found)
}

/// The largest magnitude of an eigenvalue.
pub fn spectral_radius(matrix: &[f64], n: usize) -> Option<f64> {
    eigenvalues(matrix, n).map(|all| all.first().map_or(0.0, |z| sqrt(z.0 * z.0 + z.1 * z.1)))
}

/// Scales rows and columns by powers of two until they have about the same length; eigenvalues stay.
fn balance(a: &mut [f64], n: usize) {
    let mut done = false;
    while !done {
        done = true;
        for i in 0..n {
            let others = || (0..n).filter(move |&j| j != i);
            let column: f64 = others().map(|j| a[j * n + i].abs()).sum();
            let row: f64 = others().map(|j| a[i * n + j].abs()).sum();
            if column == 0.0 || row == 0.0 {
                continue;
            }
            let (mut scaled, mut factor) = (column, 1.0);
            while scaled < row / 2.0 {
                factor *= 2.0;
                scaled *= 4.0;
            }
            while scaled > row * 2.0 {
                factor /= 2.0;
                scaled /= 4.0;
            }
            if (scaled + row) / factor < 0.95 * (column + row) {
                done = false;
                (0..n).for_each(|j| a[i * n + j] /= factor);
                (0..n).for_each(|j| a[j * n + i] *= factor);
            }
        }
    }
}

/// Makes everything below the first subdiagonal zero, by elimination with pivots.
fn reduce(a: &mut [f64], n: usize) {
    for m in 1..n.saturating_sub(1) {
        let pivot = (m..n).fold(m, |best, j| if a[j * n + m - 1].abs() > a[best * n + m - 1].abs() { j } else { best });
        let x = a[pivot * n + m - 1];
        if x == 0.0 {
            continue;
        }
        if pivot != m {
            (0..n).for_each(|j| a.swap(pivot * n + j, m * n + j));
            (0..n).for_each(|j| a.swap(j * n + pivot, j * n + m));
        }
        for i in m + 1..n {
            let y = a[i * n + m - 1] / x;
            if y != 0.0 {
                (0..n).for_each(|j| a[i * n + j] -= y * a[m * n + j]);
                (0..n).for_each(|j| a[j * n + m] += y * a[j * n + i]);
            }
            a[i * n + m - 1] = 0.0;
        }
    }
}

/// The eigenvalues of the block of two rows that ends at `end`.
fn pair(a: &[f64], n: usize, end: usize) -> [(f64, f64); 2] {
    let (x, y) = (a[end * n + end], a[(end - 1) * n + end - 1]);
    let product = a[end * n + end - 1] * a[(end - 1) * n + end];
    let half = (y - x) / 2.0;
    let inside = half * half + product;
    if inside < 0.0 {
        let root = sqrt(-inside);
        return [(x + half, root), (x + half, -root)];
    }
    // The root further from zero is free of cancellation; the other one follows from the product of both.
    let far = half + if half < 0.0 { -sqrt(inside) } else { sqrt(inside) };
    let near = if far == 0.0 { x } else { x - product / far };
    [(x + far, 0.0), (near, 0.0)]
}

/// Double-shift QR on a Hessenberg matrix, which splits off one or two eigenvalues at its end until none is left.
fn francis(a: &mut [f64], n: usize) -> Option<Vec<(f64, f64)>> {
    let norm: f64 = a.iter().map(|x| x.abs()).sum();
    let mut found = Vec::with_capacity(n);
    let (mut left, mut steps) = (n, 0);
    while left > 0 {
        let end = left - 1;
        let small = |l: usize| {
            let beside = a[(l - 1) * n + l - 1].abs() + a[l * n + l].abs();
            a[l * n + l - 1].abs() <= f64::EPSILON * if beside == 0.0 { norm } else { beside }
        };
        let start = (1..left).rev().find(|&l| small(l)).unwrap_or(0);
        if start == end {
            found.push((a[end * n + end], 0.0));
            (left, steps) = (end, 0);
        } else if start + 1 == end {
            found.extend(pair(a, n, end));
            (left, steps) = (end - 1, 0);
        } else if steps == MAX_STEPS {
            return None;
        } else {
            steps += 1;
            sweep(a, n, start, end, steps % 10 == 0);
        }
    }
    Some(found)
}

/// One double step on the rows from `start` to `end`; an exceptional shift breaks cycles.
fn sweep(a: &mut [f64], n: usize, start: usize, end: usize, exceptional: bool) {
    let (last, above) = (a[end * n + end], a[(end - 1) * n + end - 1]);
    let (mut sum, mut product) = (last + above, last * above - a[end * n + end - 1] * a[(end - 1) * n + end]);
    if exceptional {
        let size = a[end * n + end - 1].abs() + a[(end - 1) * n + end - 2].abs();
        (sum, product) = (1.5 * size + 2.0 * last, (last + 0.75 * size) * (last + 0.75 * size) + 0.4375 * size * size);
    }
    let s = start;
    // The first column of (A - shift)(A - conjugate shift).
    let mut v = [
        a[s * n + s] * (a[s * n + s] - sum) + a[s * n + s + 1] * a[(s + 1) * n + s] + product,
        a[(s + 1) * n + s] * (a[s * n + s] + a[(s + 1) * n + s + 1] - sum),
        a[(s + 1) * n + s] * a[(s + 2) * n + s + 1],
    ];
    for k in start..end {
        let rows = if k + 2 <= end { 3 } else { 2 };
        if k > start {
            v = [a[k * n + k - 1], a[(k + 1) * n + k - 1], if rows == 3 { a[(k + 2) * n + k - 1] } else { 0.0 }];
        }
        let scale: f64 = v[..rows].iter().map(|x| x.abs()).sum();
        if scale == 0.0 {
            continue;
        }
        v[..rows].iter_mut().for_each(|x| *x /= scale);
        let length = sqrt(v[..rows].iter().map(|x| x * x).sum());
        v[0] += if v[0] < 0.0 { -length } else { length };
        let twice = 2.0 / v[..rows].iter().map(|x| x * x).sum::<f64>();
        // Householder's reflection from the left, then from the right.
        for j in k.saturating_sub(1).max(start)..=end {
            let along: f64 = twice * (0..rows).map(|i| v[i] * a[(k + i) * n + j]).sum::<f64>();
            (0..rows).for_each(|i| a[(k + i) * n + j] -= along * v[i]);
        }
        for i in start..=(k + 3).min(end) {
            let along: f64 = twice * (0..rows).map(|j| v[j] * a[i * n + k + j]).sum::<f64>();
            (0..rows).for_each(|j| a[i * n + k + j] -= along * v[j]);
        }
        if k > start {
            (1..rows).for_each(|i| a[(k + i) * n + k - 1] = 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
        (0..n * n).map(|at| (0..n).map(|k| a[at / n * n + k] * b[k * n + at % n]).sum()).collect()
    }

    /// Sums of powers of eigenvalues are traces of powers of the matrix.
    #[test]
    fn powers_have_the_right_traces() {
        for n in [1, 2, 3, 4, 7, 10, 20, 40] {
            for seed in 0..20 {
                let matrix: Vec<f64> = Stream::new(seed, n as u64).normals(n * n);
                let found = eigenvalues(&matrix, n).unwrap();
                assert_eq!(found.len(), n);
                let mut power = matrix.clone();
                let mut values = found.clone();
                for exponent in 1..=4 {
                    let trace: f64 = (0..n).map(|i| power[i * n + i]).sum();
                    let (re, im) = values.iter().fold((0.0, 0.0), |s, z| (s.0 + z.0, s.1 + z.1));
                    let size = values.iter().map(|z| z.0.abs() + z.1.abs()).sum::<f64>();
                    assert!((re - trace).abs() + im.abs() < 1e-11 * size, "{n} {seed} {exponent}: {re} {im} {trace}");
                    power = product(&power, &matrix, n);
                    values
                        .iter_mut()
                        .zip(&found)
                        .for_each(|(z, w)| *z = (z.0 * w.0 - z.1 * w.1, z.0 * w.1 + z.1 * w.0));
                }
            }
        }
    }

    /// The companion matrix of x^n = 1 cycles under QR without exceptional shifts; its eigenvalues are roots of unity.
    #[test]
    fn roots_of_unity_are_found() {
        for n in [3, 4, 8, 15] {
            let mut matrix = vec![0.0; n * n];
            matrix[n - 1] = 1.0;
            (1..n).for_each(|i| matrix[i * n + i - 1] = 1.0);
            let found = eigenvalues(&matrix, n).unwrap();
            for k in 0..n {
                let (sin, cos) = (std::f64::consts::TAU * k as f64 / n as f64).sin_cos();
                let near = found.iter().map(|z| (z.0 - cos).abs() + (z.1 - sin).abs()).fold(f64::INFINITY, f64::min);
                assert!(near < 1e-13, "{n}: no eigenvalue at {cos} {sin}: {found:?}");
            }
            assert!((spectral_radius(&matrix, n).unwrap() - 1.0).abs() < 1e-13);
        }
    }

    /// Symmetric matrices have the eigenvalues that Jacobi's method finds.
    #[test]
    fn symmetric_matrices_agree_with_jacobi() {
        let n = 12;
        let half: Vec<f64> = Stream::new(3, 0).normals(n * n);
        let matrix: Vec<f64> = (0..n * n).map(|at| half[at] + half[at % n * n + at / n]).collect();
        let mut found: Vec<f64> = eigenvalues(&matrix, n).unwrap().iter().map(|z| z.0).collect();
        found.sort_by(f64::total_cmp);
        let (known, _) = crate::linear::eigen(&matrix, n);
        assert!(found.iter().zip(&known).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {known:?}");
    }

    /// Balancing helps where rows and columns have very different sizes.
    #[test]
    fn badly_scaled_matrices_are_balanced() {
        // Similar to [[1, 2], [3, 4]] by diag(1e8, 1).
        let found = eigenvalues(&[1.0, 2e8, 3e-8, 4.0], 2).unwrap();
        let root = sqrt(33.0);
        assert!((found[0].0 - (5.0 + root) / 2.0).abs() < 1e-14 && (found[1].0 - (5.0 - root) / 2.0).abs() < 1e-14);
    }

    #[test]
    fn what_is_no_matrix_has_none() {
        assert_eq!(eigenvalues(&[1.0, f64::NAN, 0.0, 1.0], 2), None);
        assert_eq!(eigenvalues(&[1.0, 2.0], 2), None);
        assert_eq!(eigenvalues(&[], 0), Some(Vec::new()));
        assert_eq!(eigenvalues(&[0.0; 9], 3), Some(vec![(0.0, 0.0); 3]));
    }
}
