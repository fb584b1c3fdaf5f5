//! All eigenvalues and eigenvectors of large symmetric matrices: Householder's reduction to three diagonals, and QL steps
//! with implicit shifts. Jacobi's method (`linear.rs`) knows small eigenvalues better, and takes several times as long.

use crate::linear::dot;
use dmci_limits::Ticks;
use dmci_ops::real::{hypot, sqrt};

/// Most steps for an eigenvalue; two are usual.
const STEPS: usize = 60;

/// Eigenvalues in no order, and eigenvectors as rows; none if a number is not finite, or the work was stopped.
pub(crate) fn eigen(matrix: &[f64], n: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    if matrix.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let mut ticks = Ticks::default();
    let (mut diagonal, mut beside, mut rows) = reduce(matrix, n, &mut ticks)?;
    ql(&mut diagonal, &mut beside, &mut rows, n, &mut ticks)?;
    Some((diagonal, rows))
}

/// The diagonal, what is beside it, and as rows the vectors that the three diagonals are seen from.
fn reduce(matrix: &[f64], n: usize, ticks: &mut Ticks) -> Option<(Vec<f64>, Vec<f64>, Vec<f64>)> {
    let mut a = matrix.to_vec();
    let mut beside = vec![0.0; n];
    let mut reflections: Vec<Vec<f64>> = Vec::with_capacity(n);
    for k in 0..n.saturating_sub(2) {
        let from = k + 1;
        let m = n - from;
        // By symmetry the column is a row.
        let mut v = a[k * n + from..(k + 1) * n].to_vec();
        let size = sqrt(dot(&v, &v));
        let turned = if v[0] > 0.0 { -size } else { size };
        v[0] -= turned;
        let square = dot(&v, &v);
        beside[k] = turned;
        if square == 0.0 {
            reflections.push(Vec::new());
            continue;
        }
        let factor = sqrt(2.0 / square);
        v.iter_mut().for_each(|x| *x *= factor);
        if ticks.spend(6 * m * m) {
            return None;
        }
        // With v of length sqrt(2): (1 - v v') a (1 - v v') = a - v w' - w v'.
        let mut w: Vec<f64> = (0..m).map(|i| dot(&a[(from + i) * n + from..(from + i + 1) * n], &v)).collect();
        let half = 0.5 * dot(&v, &w);
        w.iter_mut().zip(&v).for_each(|(w, v)| *w -= half * v);
        for i in 0..m {
            let row = &mut a[(from + i) * n + from..(from + i + 1) * n];
            let (x, y) = (v[i], w[i]);
            row.iter_mut().zip(&w).zip(&v).for_each(|((a, w), v)| *a -= x * w + y * v);
        }
        reflections.push(v);
    }
    if n > 1 {
        beside[n - 2] = a[(n - 2) * n + n - 1];
    }
    let diagonal = (0..n).map(|i| a[i * n + i]).collect();
    let mut rows = vec![0.0; n * n];
    (0..n).for_each(|i| rows[i * n + i] = 1.0);
    for (k, v) in reflections.iter().enumerate().rev().filter(|(_, v)| !v.is_empty()) {
        let from = k + 1;
        if ticks.spend(4 * v.len() * v.len()) {
            return None;
        }
        for row in rows[from * n..].chunks_exact_mut(n) {
            let row = &mut row[from..];
            let along = dot(row, v);
            row.iter_mut().zip(v).for_each(|(x, v)| *x -= along * v);
        }
    }
    Some((diagonal, beside, rows))
}

/// Makes what is beside the diagonal 0, and turns the rows along.
fn ql(d: &mut [f64], e: &mut [f64], rows: &mut [f64], n: usize, ticks: &mut Ticks) -> Option<()> {
    for l in 0..n {
        for _ in 0..STEPS {
            let is_small = |k: &usize| e[*k].abs() <= f64::EPSILON * (d[*k].abs() + d[*k + 1].abs());
            let end = (l..n - 1).find(is_small).unwrap_or(n - 1);
            if end == l {
                break;
            }
            if ticks.spend(6 * n * (end - l)) {
                return None;
            }
            let shift = (d[l + 1] - d[l]) / (2.0 * e[l]);
            let root = hypot(shift, 1.0);
            let mut g = d[end] - d[l] + e[l] / (shift + if shift < 0.0 { -root } else { root });
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            let mut is_cut = false;
            for i in (l..end).rev() {
                let (f, b) = (s * e[i], c * e[i]);
                let r = hypot(f, g);
                e[i + 1] = r;
                if r == 0.0 {
                    // Two matrices beside each other.
                    d[i + 1] -= p;
                    e[end] = 0.0;
                    is_cut = true;
                    break;
                }
                (s, c) = (f / r, g / r);
                g = d[i + 1] - p;
                let r = (d[i] - g) * s + 2.0 * c * b;
                p = s * r;
                d[i + 1] = g + p;
                g = c * r - b;
                let (before, after) = rows[i * n..(i + 2) * n].split_at_mut(n);
                for (x, y) in before.iter_mut().zip(after) {
                    (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                }
            }
            if !is_cut {
                d[l] -= p;
                e[l] = g;
                e[end] = 0.0;
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvectors_stretch_and_are_orthogonal() {
        for n in [1, 2, 3, 40, 90] {
            let mut state = 5u64;
            let mut draw = || dmci_value::num::random_real(&mut state) - 0.5;
            let factor: Vec<f64> = (0..n * n).map(|_| draw()).collect();
            // The last third has equal eigenvalues, and there is one that is nearly 0.
            let mut matrix: Vec<f64> =
                (0..n * n).map(|k| dot(&factor[k / n * n..][..n], &factor[k % n * n..][..n])).collect();
            for k in 2 * n / 3..n {
                (0..n).for_each(|j| (matrix[k * n + j], matrix[j * n + k]) = (0.0, 0.0));
                matrix[k * n + k] = 2.0;
            }
            let (values, vectors) = eigen(&matrix, n).expect("finite");
            let largest = values.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            for (i, value) in values.iter().enumerate() {
                let vector = &vectors[i * n..(i + 1) * n];
                for j in 0..n {
                    let stretched = dot(&matrix[j * n..(j + 1) * n], vector);
                    assert!((stretched - value * vector[j]).abs() < 1e-13 * largest * n as f64, "{n} {i} {j}");
                    let product = dot(vector, &vectors[j * n..(j + 1) * n]);
                    assert!((product - f64::from(i == j)).abs() < 1e-13 * n as f64, "{n} {i} {j}: {product}");
                }
            }
            let (mut sorted, (known, _)) = (values, crate::linear::eigen(&matrix, n));
            sorted.sort_by(f64::total_cmp);
            let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-13 * largest * n as f64;
            assert!(sorted.iter().zip(&known).all(is_near), "{n}");
        }
        assert_eq!(eigen(&[f64::NAN], 1), None);
    }
}
