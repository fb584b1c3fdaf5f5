//! Least squares within bounds (BVLS; Stark and Parker 1995).

use crate::linear::{Factored, column_lengths, dot};

/// The numbers `x` between their bounds that make the length of `A x - b` smallest. `matrix` holds the rows of `A`, one
/// for each element of `b`; bounds may be infinite. Dependent columns get the bound, or the free solution with 0, that
/// the active set leaves them. `None` if something is not finite.
pub fn bounded_least_squares(matrix: &[f64], right: &[f64], bounds: &[(f64, f64)]) -> Option<Vec<f64>> {
    let n = bounds.len();
    let lengths = column_lengths(matrix, n);
    if !lengths.iter().chain(right).all(|x| x.is_finite()) {
        return None;
    }
    let mut x: Vec<f64> = bounds.iter().map(|&(low, high)| 0f64.clamp(low, high)).collect();
    let mut held = vec![false; n];
    let mut space = Vec::new();
    // Each round frees or holds at least one number; cycles come from rounding alone.
    for _ in 0..10 * n + 10 {
        let free: Vec<usize> = (0..n).filter(|&j| !held[j]).collect();
        let wanted = solve(matrix, right, &x, &free, n, &mut space)?;
        // As far towards the free solution as bounds allow.
        let mut share = 1.0;
        let mut hit = None;
        for (&j, &to) in free.iter().zip(&wanted) {
            let (low, high) = bounds[j];
            let limit = if to < low {
                low
            } else if to > high {
                high
            } else {
                continue;
            };
            let part = if to == x[j] { 0.0 } else { ((limit - x[j]) / (to - x[j])).clamp(0.0, 1.0) };
            if part < share || hit.is_none() {
                (share, hit) = (part, Some((j, limit)));
            }
        }
        for (&j, &to) in free.iter().zip(&wanted) {
            x[j] = (x[j] + share * (to - x[j])).clamp(bounds[j].0, bounds[j].1);
        }
        if let Some((j, limit)) = hit {
            x[j] = limit;
            held[j] = true;
            continue;
        }
        // Free the number at a bound that most wants to leave it.
        let rest: Vec<f64> = matrix.chunks_exact(n).zip(right).map(|(row, b)| b - dot(row, &x)).collect();
        let size = crate::linear::length(&rest);
        let slope = |j: usize| matrix.chunks_exact(n).zip(&rest).map(|(row, r)| row[j] * r).sum::<f64>();
        let leaves = |j: usize| {
            let slope = slope(j);
            let inwards = (x[j] <= bounds[j].0 && slope > 0.0) || (x[j] >= bounds[j].1 && slope < 0.0);
            let share = slope.abs() / (lengths[j] * size).max(f64::MIN_POSITIVE);
            (inwards && share > 1e-12 && bounds[j].0 < bounds[j].1).then_some((j, share))
        };
        let best = (0..n).filter(|&j| held[j]).filter_map(leaves).max_by(|a, b| a.1.total_cmp(&b.1));
        match best {
            Some((j, _)) => held[j] = false,
            None => break,
        }
    }
    x.iter().all(|x| x.is_finite()).then_some(x)
}

/// The least-squares solution for some columns, the others at their values.
fn solve(matrix: &[f64], right: &[f64], x: &[f64], free: &[usize], n: usize, space: &mut Vec<f64>) -> Option<Vec<f64>> {
    if free.is_empty() {
        return Some(Vec::new());
    }
    let part: Vec<f64> = matrix.chunks_exact(n).flat_map(|row| free.iter().map(|&j| row[j])).collect();
    let others: Vec<f64> = x.iter().enumerate().map(|(j, x)| if free.contains(&j) { 0.0 } else { *x }).collect();
    let rest: Vec<f64> = matrix.chunks_exact(n).zip(right).map(|(row, b)| b - dot(row, &others)).collect();
    // Columns of length 1: units differ by many orders of magnitude.
    let lengths = column_lengths(&part, free.len());
    let units: Vec<f64> = lengths.iter().map(|l| if *l > 0.0 { 1.0 / l } else { 0.0 }).collect();
    let even: Vec<f64> = part.iter().zip(units.iter().cycle()).map(|(x, unit)| x * unit).collect();
    let factored = Factored::new(&even, &rest, free.len(), space);
    let solution = factored.solve(&vec![0.0; free.len()]).x;
    let list: Vec<f64> = solution.iter().zip(&units).map(|(x, unit)| x * unit).collect();
    list.iter().all(|x| x.is_finite()).then_some(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn solutions_satisfy_the_conditions_of_optimality() {
        let mut stream = Stream::new(7, 7);
        for case in 0..200 {
            let n = 1 + case % 6;
            let rows = n + case % 9;
            let matrix = stream.normals(rows * n);
            let right = stream.normals(rows);
            let bound = |k: usize, s: &mut Stream| match k % 4 {
                0 => (f64::NEG_INFINITY, f64::INFINITY),
                1 => (0.0, f64::INFINITY),
                2 => (-0.1, 0.1),
                _ => (s.uniform() - 1.5, s.uniform() + 0.5),
            };
            let bounds: Vec<(f64, f64)> = (0..n).map(|k| bound(case / 7 + k, &mut stream)).collect();
            let x = bounded_least_squares(&matrix, &right, &bounds).expect("finite");
            let rest: Vec<f64> = matrix.chunks(n).zip(&right).map(|(row, b)| b - dot(row, &x)).collect();
            for j in 0..n {
                let slope: f64 = matrix.chunks(n).zip(&rest).map(|(row, r)| row[j] * r).sum();
                let (low, high) = bounds[j];
                assert!((low..=high).contains(&x[j]), "case {case}: {x:?} {bounds:?}");
                let held = (x[j] == low && slope <= 1e-9) || (x[j] == high && slope >= -1e-9);
                assert!(slope.abs() < 1e-9 || held, "case {case}, {j}: {slope} at {} of {bounds:?}", x[j]);
            }
        }
    }

    #[test]
    fn units_do_not_matter() {
        let matrix = [1e12, 1e-9, 2e12, 3e-9, 3e12, 1e-9];
        let x = bounded_least_squares(&matrix, &[5e12 + 1e-9, 10e12 + 3e-9, 15e12 + 1e-9], &[(0.0, 1e3); 2])
            .expect("finite");
        assert!((x[0] - 5.0).abs() < 1e-9, "{x:?}");
        assert_eq!(bounded_least_squares(&[f64::NAN], &[1.0], &[(0.0, 1.0)]), None);
    }
}
