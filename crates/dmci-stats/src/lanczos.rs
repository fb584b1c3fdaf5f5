//! The largest eigenvalues of a large symmetric matrix, with their eigenvectors: Lanczos's method with full
//! reorthogonalisation (Golub and Van Loan, 10.3).

use crate::linear::{dot, eigen, length};
use crate::random::Stream;

/// Steps between two looks at what has converged.
const STEPS: usize = 20;

/// The residual of an eigenvector, beside the largest eigenvalue, at which it has converged.
const TOLERANCE: f64 = 1e-13;

/// The `count` largest eigenvalues of a symmetric matrix in row-major order, largest first, and their eigenvectors
/// of length 1, one after the other. `None` if an entry is not finite or the matrix is not square; fewer than `count`
/// only if the matrix is smaller.
///
/// ```
/// use dmci_stats::lanczos::leading;
///
/// let (values, vectors) = leading(&[2.0, 1.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.5], 3, 1).unwrap();
/// assert!((values[0] - 3.0).abs() < 1e-14);
/// assert!((vectors[0].abs() - 0.5f64.sqrt()).abs() < 1e-14 && vectors[2].abs() < 1e-14);
/// ```
pub fn leading(matrix: &[f64], n: usize, count: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    if matrix.len() != n * n || matrix.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let count = count.min(n);
    if count == 0 {
        return Some((Vec::new(), Vec::new()));
    }
    let norm = matrix.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let mut random = Stream::new(1, n as u64);
    let mut basis: Vec<Vec<f64>> = vec![fresh(&[], n, &mut random)];
    let (mut diagonal, mut beside): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    loop {
        let last = &basis[basis.len() - 1];
        let mut next: Vec<f64> = matrix.chunks_exact(n).map(|row| dot(row, last)).collect();
        diagonal.push(dot(&next, last));
        // Twice is enough (Kahan and Parlett).
        orthogonalise(&mut next, &basis);
        orthogonalise(&mut next, &basis);
        let size = length(&next);
        let steps = diagonal.len();
        if steps == n || (steps >= 2 * count && steps.is_multiple_of(STEPS)) {
            let (values, vectors) = eigen(&tridiagonal(&diagonal, &beside), steps);
            let left = |i: usize| size * vectors[i * steps + steps - 1].abs();
            if steps == n || (steps - count..steps).all(|i| left(i) <= TOLERANCE * values[steps - 1].abs()) {
                return Some(in_full(&values, &vectors, &basis, n, count));
            }
        }
        if size <= f64::EPSILON * norm {
            // An invariant subspace: go on in its complement.
            next = fresh(&basis, n, &mut random);
            beside.push(0.0);
        } else {
            next.iter_mut().for_each(|x| *x /= size);
            beside.push(size);
        }
        basis.push(next);
    }
}

/// Takes out of a vector what it has of others.
fn orthogonalise(vector: &mut [f64], others: &[Vec<f64>]) {
    for other in others {
        let along = dot(vector, other);
        vector.iter_mut().zip(other).for_each(|(x, y)| *x -= along * y);
    }
}

/// A random vector of length 1 that is orthogonal to others.
fn fresh(others: &[Vec<f64>], n: usize, random: &mut Stream) -> Vec<f64> {
    let mut vector = random.normals(n);
    orthogonalise(&mut vector, others);
    orthogonalise(&mut vector, others);
    let size = length(&vector);
    vector.iter_mut().for_each(|x| *x /= size);
    vector
}

fn tridiagonal(diagonal: &[f64], beside: &[f64]) -> Vec<f64> {
    let n = diagonal.len();
    let mut matrix = vec![0.0; n * n];
    (0..n).for_each(|i| matrix[i * n + i] = diagonal[i]);
    for i in 1..n {
        (matrix[i * n + i - 1], matrix[(i - 1) * n + i]) = (beside[i - 1], beside[i - 1]);
    }
    matrix
}

/// The largest eigenvalues of the tridiagonal matrix, and its eigenvectors in the basis of the large one.
fn in_full(values: &[f64], vectors: &[f64], basis: &[Vec<f64>], n: usize, count: usize) -> (Vec<f64>, Vec<f64>) {
    let steps = values.len();
    let largest = (steps - count..steps).rev();
    let mut found = Vec::with_capacity(count * n);
    for i in largest.clone() {
        let mut vector = vec![0.0; n];
        for (weight, part) in vectors[i * steps..(i + 1) * steps].iter().zip(basis) {
            vector.iter_mut().zip(part).for_each(|(x, y)| *x += weight * y);
        }
        let size = length(&vector);
        found.extend(vector.iter().map(|x| x / size));
    }
    (largest.map(|i| values[i]).collect(), found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gram(n: usize, width: usize) -> Vec<f64> {
        let rows: Vec<f64> = Stream::new(5, 0).normals(n * width);
        let row = |i: usize| &rows[i * width..(i + 1) * width];
        (0..n * n).map(|at| dot(row(at / n), row(at % n))).collect()
    }

    #[test]
    fn large_eigenvalues_agree_with_jacobi() {
        let n = 60;
        let matrix = gram(n, 80);
        let (known, known_vectors) = eigen(&matrix, n);
        let (values, vectors) = leading(&matrix, n, 6).unwrap();
        for i in 0..6 {
            let at = n - 1 - i;
            assert!((values[i] - known[at]).abs() < 1e-11 * known[n - 1], "{} {}", values[i], known[at]);
            let same = dot(&vectors[i * n..(i + 1) * n], &known_vectors[at * n..(at + 1) * n]);
            assert!((same.abs() - 1.0).abs() < 1e-11, "{i}: {same}");
        }
    }

    /// A matrix of low rank: Lanczos's method meets an invariant subspace and must go on beyond it.
    #[test]
    fn low_rank_and_equal_eigenvalues_are_found() {
        let (n, rank) = (30, 3);
        let (values, vectors) = leading(&gram(n, rank), n, 5).unwrap();
        assert!(values[2] > 1.0 && values[3].abs() < 1e-12 && values[4].abs() < 1e-12, "{values:?}");
        let mut twice = vec![0.0; n * n];
        (0..n).for_each(|i| twice[i * n + i] = if i < 2 { 4.0 } else { 1.0 });
        let (equal, _) = leading(&twice, n, 3).unwrap();
        assert!(equal.iter().zip([4.0, 4.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{equal:?}");
        for i in 0..3 {
            let size = length(&vectors[i * n..(i + 1) * n]);
            assert!((size - 1.0).abs() < 1e-13);
        }
    }

    #[test]
    fn what_is_no_matrix_has_none() {
        assert_eq!(leading(&[1.0, f64::NAN, 0.0, 1.0], 2, 1), None);
        assert_eq!(leading(&[1.0], 2, 1), None);
        assert_eq!(leading(&[], 0, 3), Some((Vec::new(), Vec::new())));
        assert_eq!(leading(&[7.0], 1, 3).unwrap().0, [7.0]);
    }
}
