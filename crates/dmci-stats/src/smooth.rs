//! Smooth curves through noisy series: local polynomials (Cleveland 1979; Fan and Gijbels 1996) of degree 3, whose width
//! leave-one-out cross-validation chooses. Times may be irregular.

use dmci_ops::real::sqrt;

/// A series that was smoothed, at some times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Smooth {
    /// The curve.
    pub values: Vec<f64>,
    /// Its slope.
    pub slopes: Vec<f64>,
    /// The standard error of each slope in units of the noise.
    pub errors: Vec<f64>,
    /// The points of a window.
    pub width: usize,
    /// The standard deviation of the noise.
    pub noise: f64,
}

/// Coefficients of a local polynomial.
const TERMS: usize = 4;

/// Widths that are tried: each is some 1.4 times the one before.
const WIDTHS: [usize; 14] = [7, 9, 11, 15, 21, 29, 41, 57, 81, 113, 161, 225, 321, 451];

/// How much farther than its last point a window reaches, so that no weight is 0.
const REACH: f64 = 1.15;

/// Slopes need a window that is wider than the one that is best for the curve.
const WIDER: f64 = 1.3;

/// What a window gives at a time: the curve, its slope, the weight that a point at that time has in the curve, and the
/// square of the standard error of the slope.
fn local(times: &[f64], values: &[f64], at: f64, width: usize) -> Option<(f64, f64, f64, f64)> {
    let n = times.len();
    let width = width.min(n);
    // The nearest points stand in a row.
    let mut first = times.partition_point(|t| *t < at).saturating_sub(width).min(n - width);
    while first + width < n && times[first + width] - at < at - times[first] {
        first += 1;
    }
    let window = first..first + width;
    let farthest = f64::max((at - times[first]).abs(), (times[first + width - 1] - at).abs());
    let unit = REACH * farthest;
    if unit.is_nan() || unit <= 0.0 {
        return None;
    }
    let mut products = [[0.0; TERMS]; TERMS];
    let mut squares = [[0.0; TERMS]; TERMS];
    let mut right = [0.0; TERMS];
    for i in window {
        let u = (times[i] - at) / unit;
        let weight = 1.0 - u * u;
        let powers = [1.0, u, u * u, u * u * u];
        for a in 0..TERMS {
            right[a] += weight * powers[a] * values[i];
            for b in 0..=a {
                products[a][b] += weight * powers[a] * powers[b];
                squares[a][b] += weight * weight * powers[a] * powers[b];
            }
        }
    }
    let factor = cholesky(products)?;
    let found = solve(&factor, right);
    let (mut value, mut slope) = ([0.0; TERMS], [0.0; TERMS]);
    (value[0], slope[1]) = (1.0, 1.0);
    let (of_value, of_slope) = (solve(&factor, value), solve(&factor, slope));
    let mut variance = 0.0;
    for a in 0..TERMS {
        for b in 0..TERMS {
            variance += of_slope[a] * of_slope[b] * squares[a.max(b)][a.min(b)];
        }
    }
    Some((found[0], found[1] / unit, of_value[0], variance / (unit * unit)))
}

fn cholesky(matrix: [[f64; TERMS]; TERMS]) -> Option<[[f64; TERMS]; TERMS]> {
    let mut factor = [[0.0; TERMS]; TERMS];
    for i in 0..TERMS {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| factor[i][k] * factor[j][k]).sum();
            let left = matrix[i][j] - known;
            if i != j {
                factor[i][j] = left / factor[j][j];
            } else if left > 1e-13 * matrix[i][i] {
                factor[i][i] = sqrt(left);
            } else {
                return None;
            }
        }
    }
    Some(factor)
}

fn solve(factor: &[[f64; TERMS]; TERMS], right: [f64; TERMS]) -> [f64; TERMS] {
    let mut z = [0.0; TERMS];
    for i in 0..TERMS {
        let known: f64 = (0..i).map(|k| factor[i][k] * z[k]).sum();
        z[i] = (right[i] - known) / factor[i][i];
    }
    for i in (0..TERMS).rev() {
        let known: f64 = (i + 1..TERMS).map(|k| factor[k][i] * z[k]).sum();
        z[i] = (z[i] - known) / factor[i][i];
    }
    z
}

/// The mean square of what each point is off the curve through all others; none if there are too few points.
fn left_out(times: &[f64], values: &[f64], width: usize) -> Option<f64> {
    let mut sum = 0.0;
    for (t, y) in times.iter().zip(values) {
        let (curve, _, own, _) = local(times, values, *t, width)?;
        let off = (y - curve) / (1.0 - own).max(1e-9);
        sum += off * off;
    }
    Some(sum / times.len() as f64)
}

/// Smooths a series whose times rise. None if it has fewer than seven points, or times that repeat.
pub fn smooth(times: &[f64], values: &[f64], at: &[f64]) -> Option<Smooth> {
    let n = times.len();
    let mut best: Option<(f64, usize)> = None;
    for width in WIDTHS.into_iter().filter(|w| *w <= n) {
        let Some(error) = left_out(times, values, width) else { continue };
        if best.is_none_or(|(least, _)| error < least) {
            best = Some((error, width));
        }
    }
    let (error, width) = best?;
    let wide = if width == WIDTHS[0] { width } else { ((width as f64 * WIDER) as usize).min(n) };
    let mut found = Smooth { width, noise: sqrt(error), ..Smooth::default() };
    for t in at {
        found.values.push(local(times, values, *t, width)?.0);
        let (_, slope, _, variance) = local(times, values, *t, wide)?;
        found.slopes.push(slope);
        found.errors.push(sqrt(variance));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn slopes_of_exact_series_are_exact_to_their_order() {
        let times: Vec<f64> = (0..200).map(|i| 0.02 * f64::from(i) + 0.003 * f64::from(i * 7 % 5)).collect();
        let values: Vec<f64> = times.iter().map(|t| (2.0 * t).sin()).collect();
        let found = smooth(&times, &values, &times).expect("enough points");
        assert_eq!(found.width, 7);
        for (t, slope) in times.iter().zip(&found.slopes).skip(4).take(190) {
            assert!((slope - 2.0 * (2.0 * t).cos()).abs() < 1e-4, "{t}: {slope}");
        }
        assert_eq!(smooth(&times[..6], &values[..6], &times), None);
    }

    #[test]
    fn noise_widens_the_window_and_is_estimated() {
        let mut stream = Stream::new(3, 1);
        let times: Vec<f64> = (0..400).map(|i| 0.02 * f64::from(i)).collect();
        let values: Vec<f64> = times.iter().map(|t| t.sin() + 0.05 * stream.normal()).collect();
        let found = smooth(&times, &values, &times).expect("enough points");
        assert!(found.width > 40 && (found.noise - 0.05).abs() < 0.008, "{} {}", found.width, found.noise);
        let off = |(t, slope): (&f64, &f64)| (slope - t.cos()) * (slope - t.cos());
        let error = (times.iter().zip(&found.slopes).skip(20).take(360).map(off).sum::<f64>() / 360.0).sqrt();
        assert!(error < 0.06, "{error}");
        // The ends are known less well than the middle.
        assert!(found.errors[0] > 3.0 * found.errors[200]);
    }
}
