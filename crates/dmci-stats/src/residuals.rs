//! What residuals still know: tests for everything that a better model could explain.

use crate::random::Stream;
use dmci_ops::real::{atan2, cos, exp, sin, sqrt};
use serde::{Deserialize, Serialize};

/// Rows with their residuals, in units of the noise where that is known.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Observed less predicted, divided by the standard deviation of the row if there is one.
    pub residuals: Vec<f64>,
    /// The predictions.
    pub predictions: Vec<f64>,
    /// Numeric inputs by name.
    pub inputs: Vec<(String, Vec<f64>)>,
}

/// Rows that a test with all pairs looks at; of more rows, evenly spaced ones are taken.
const MOST_ROWS: usize = 1200;

/// Permutations of the test for neighbours.
const PERMUTATIONS: usize = 199;

impl Rows {
    /// The rows whose numbers are all finite, at most so many, evenly spaced; and how many had none.
    pub fn finite(&self, most: usize) -> (Rows, usize) {
        let n = self.residuals.len();
        let fine = |i: &usize| {
            self.residuals[*i].is_finite()
                && self.predictions[*i].is_finite()
                && self.inputs.iter().all(|(_, column)| column[*i].is_finite())
        };
        let kept: Vec<usize> = (0..n).filter(fine).collect();
        let bad = n - kept.len();
        let count = kept.len().min(most);
        let picked: Vec<usize> = (0..count).map(|i| kept[i * kept.len() / count]).collect();
        let take = |list: &[f64]| picked.iter().map(|&i| list[i]).collect::<Vec<f64>>();
        let inputs = self.inputs.iter().map(|(name, column)| (name.clone(), take(column))).collect();
        (Rows { residuals: take(&self.residuals), predictions: take(&self.predictions), inputs }, bad)
    }

    /// Rows in ascending order of a column.
    pub fn order(&self, column: &[f64]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..column.len()).collect();
        order.sort_by(|&i, &j| column[i].total_cmp(&column[j]).then(i.cmp(&j)));
        order
    }
}

/// The mean of a list.
pub fn mean(list: &[f64]) -> f64 {
    if list.is_empty() { 0.0 } else { list.iter().sum::<f64>() / list.len() as f64 }
}

/// The root of the mean square.
pub fn root_mean_square(list: &[f64]) -> f64 {
    sqrt(mean(&list.iter().map(|x| x * x).collect::<Vec<f64>>()))
}

/// A correlation with how far it is from chance, in standard deviations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Correlation {
    /// From -1 to 1.
    pub value: f64,
    /// Standard deviations from 0.
    pub z: f64,
}

/// The correlation of residuals that follow each other.
pub fn autocorrelation(residuals: &[f64], lag: usize) -> Correlation {
    let n = residuals.len();
    if n < lag + 4 {
        return Correlation::default();
    }
    let m = mean(residuals);
    let square: f64 = residuals.iter().map(|r| (r - m) * (r - m)).sum();
    let product: f64 = residuals.iter().zip(&residuals[lag..]).map(|(a, b)| (a - m) * (b - m)).sum();
    let value = if square > 0.0 { product / square } else { 0.0 };
    // Of white noise it is -1/n on average.
    Correlation { value, z: (value + 1.0 / n as f64) * sqrt(n as f64) }
}

/// Runs of one sign (Wald and Wolfowitz): their number, the expected one, and standard deviations from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    /// How many there are.
    pub count: usize,
    /// How many white noise would have.
    pub expected: f64,
    /// Standard deviations from that; negative if there are too few.
    pub z: f64,
}

/// Counts runs of one sign.
pub fn runs(residuals: &[f64]) -> Runs {
    let signs: Vec<bool> = residuals.iter().filter(|r| **r != 0.0).map(|r| *r > 0.0).collect();
    let (n, up) = (signs.len() as f64, signs.iter().filter(|s| **s).count() as f64);
    let down = n - up;
    if up < 2.0 || down < 2.0 {
        return Runs::default();
    }
    let count = 1 + signs.windows(2).filter(|w| w[0] != w[1]).count();
    let expected = 2.0 * up * down / n + 1.0;
    let variance = (expected - 1.0) * (expected - 2.0) / (n - 1.0);
    Runs { count, expected, z: (count as f64 - expected) / sqrt(variance.max(1e-9)) }
}

/// Ranks from 0; equal numbers share theirs.
fn ranks(list: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..list.len()).collect();
    order.sort_by(|&i, &j| list[i].total_cmp(&list[j]));
    let mut ranks = vec![0.0; list.len()];
    let mut at = 0;
    while at < order.len() {
        let mut end = at + 1;
        while end < order.len() && list[order[end]] == list[order[at]] {
            end += 1;
        }
        order[at..end].iter().for_each(|&i| ranks[i] = (at + end - 1) as f64 / 2.0);
        at = end;
    }
    ranks
}

/// Spearman's rank correlation.
pub fn rank_correlation(a: &[f64], b: &[f64]) -> Correlation {
    let (a, b) = (ranks(a), ranks(b));
    let (ma, mb) = (mean(&a), mean(&b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(&b).map(|(x, y)| f(x - ma, y - mb)).sum::<f64>();
    let (xx, yy, xy) = (sum(&|x, _| x * x), sum(&|_, y| y * y), sum(&|x, y| x * y));
    let value = if xx > 0.0 && yy > 0.0 { xy / sqrt(xx * yy) } else { 0.0 };
    Correlation { value, z: value * sqrt((a.len() as f64 - 1.0).max(0.0)) }
}

/// The mean residual of rows that are near each other in one column.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// The least value of the column.
    pub from: f64,
    /// The largest.
    pub to: f64,
    /// Rows.
    pub rows: usize,
    /// Their mean residual.
    pub mean: f64,
    /// Half the width of its interval of 95%.
    pub half_width: f64,
}

/// Mean residuals over a column, in bins of equal numbers of rows; and how far the bins are from 0 together, in standard
/// deviations.
pub fn bins(rows: &Rows, column: &[f64]) -> (Vec<Bin>, f64) {
    let order = rows.order(column);
    let n = order.len();
    let count = (n / 8).clamp(1, 8);
    let all = root_mean_square(&rows.residuals);
    let mut list = Vec::new();
    let (mut from, mut square) = (0, 0.0);
    for bin in 0..count {
        let mut to = n * (bin + 1) / count;
        // Equal values stay together.
        while to > 0 && to < n && column[order[to]] == column[order[to - 1]] {
            to += 1;
        }
        if to <= from {
            continue;
        }
        let part = &order[from..to];
        let residuals: Vec<f64> = part.iter().map(|&i| rows.residuals[i]).collect();
        let m = mean(&residuals);
        let error = all / sqrt(residuals.len() as f64);
        square += if error > 0.0 { (m / error) * (m / error) } else { 0.0 };
        list.push(Bin {
            from: column[part[0]],
            to: column[part[part.len() - 1]],
            rows: part.len(),
            mean: m,
            half_width: 1.96 * error,
        });
        from = to;
    }
    // A sum of squares of k normal numbers is near normal itself (Wilson and Hilferty).
    let k = list.len() as f64;
    let cube = dmci_ops::real::cbrt(square / k.max(1.0));
    let z = (cube - (1.0 - 2.0 / (9.0 * k.max(1.0)))) / sqrt(2.0 / (9.0 * k.max(1.0)));
    (list, z)
}

/// A wave in the residuals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// Its angular frequency: the residual goes like sin(omega x).
    pub omega: f64,
    /// Its amplitude.
    pub amplitude: f64,
    /// The share of the residual variance that it explains.
    pub share: f64,
    /// The probability that white noise has such a peak.
    pub chance: f64,
}

/// The highest peak of a periodogram over uneven places (Lomb and Scargle).
pub fn peak(places: &[f64], residuals: &[f64]) -> Option<Peak> {
    let n = residuals.len();
    let (low, high) = places.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
    let span = high - low;
    if n < 12 || !span.is_finite() || span <= 0.0 {
        return None;
    }
    let m = mean(residuals);
    let variance = residuals.iter().map(|r| (r - m) * (r - m)).sum::<f64>() / (n - 1) as f64;
    if variance <= 0.0 {
        return None;
    }
    // From half a wave over all rows to two rows a wave, four times as fine as independent frequencies are.
    let independent = n / 2;
    let steps = (4 * independent).min(2400);
    let mut best: Option<(f64, f64, f64)> = None;
    for step in 2..=steps {
        let omega = std::f64::consts::TAU * step as f64 / 4.0 / span * (independent as f64 * 4.0 / steps as f64);
        let (mut s2, mut c2) = (0.0, 0.0);
        for x in places {
            s2 += sin(2.0 * omega * (x - low));
            c2 += cos(2.0 * omega * (x - low));
        }
        let shift = atan2(s2, c2) / (2.0 * omega);
        let (mut rc, mut rs, mut cc, mut ss) = (0.0, 0.0, 0.0, 0.0);
        for (x, r) in places.iter().zip(residuals) {
            let (c, s) = (cos(omega * (x - low - shift)), sin(omega * (x - low - shift)));
            rc += (r - m) * c;
            rs += (r - m) * s;
            cc += c * c;
            ss += s * s;
        }
        let power = 0.5 * (rc * rc / cc.max(1e-12) + rs * rs / ss.max(1e-12)) / variance;
        if best.is_none_or(|(_, p, _)| power > p) {
            let amplitude = sqrt((rc / cc.max(1e-12)).powi(2) + (rs / ss.max(1e-12)).powi(2));
            best = Some((omega, power, amplitude));
        }
    }
    let (omega, power, amplitude) = best?;
    let alone = exp(-power);
    let chance = 1.0 - dmci_ops::real::pow(1.0 - alone, independent as f64);
    Some(Peak { omega, amplitude, share: (2.0 * power / (n - 1) as f64).min(1.0), chance })
}

/// Whether rows with like inputs have like residuals, by their nearest neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Neighbours {
    /// The correlation of a residual with the mean of its neighbours (Moran's I).
    pub correlation: f64,
    /// The probability of such a correlation if residuals have nothing to do with the inputs, by permutations.
    pub p: f64,
    /// Its distance from chance, in standard deviations.
    pub z: f64,
    /// The root of the mean square of what is left when each residual is predicted by its neighbours.
    pub reference: f64,
    /// How many neighbours predict best.
    pub neighbours: usize,
}

/// Compares residuals with those of their nearest neighbours among the inputs.
pub fn neighbours(rows: &Rows) -> Option<Neighbours> {
    let (rows, _) = rows.finite(MOST_ROWS);
    let (n, d) = (rows.residuals.len(), rows.inputs.len());
    if n < 12 || d == 0 {
        return None;
    }
    let near = nearest(&rows, 16.min(n / 3));
    let m = mean(&rows.residuals);
    let centred: Vec<f64> = rows.residuals.iter().map(|r| r - m).collect();
    let total: f64 = centred.iter().map(|r| r * r).sum();
    if total <= 0.0 {
        return None;
    }
    let counts: Vec<usize> = [2, 4, 8, 16].into_iter().filter(|k| *k <= near[0].len()).collect();
    let statistic = |r: &[f64], k: usize| {
        let pairs: f64 = near.iter().zip(r).map(|(list, x)| x * list[..k].iter().map(|&j| r[j]).sum::<f64>()).sum();
        pairs / (k as f64 * total)
    };
    // The count of neighbours with the clearest correlation; permutations are given the same choice.
    let spread = |k: usize| 1.0 / sqrt((n * k) as f64);
    let strongest = |r: &[f64]| {
        let of = |&k: &usize| (statistic(r, k) / spread(k), k);
        counts.iter().map(of).fold((f64::NEG_INFINITY, 2), |a, b| if b.0 > a.0 { b } else { a })
    };
    let (own, k) = strongest(&centred);
    let mut stream = Stream::new(n as u64, 0x7265_7369);
    let mut shuffled = centred.clone();
    let mut draws = Vec::with_capacity(PERMUTATIONS);
    for _ in 0..PERMUTATIONS {
        for i in (1..n).rev() {
            shuffled.swap(i, stream.below(i + 1));
        }
        draws.push(strongest(&shuffled).0);
    }
    let above = draws.iter().filter(|d| **d >= own).count();
    let middle = mean(&draws);
    let deviation = root_mean_square(&draws.iter().map(|d| d - middle).collect::<Vec<f64>>());
    let left = |k: usize| {
        let errors = near.iter().zip(&rows.residuals).map(|(list, r)| {
            let guess = list[..k].iter().map(|&j| rows.residuals[j]).sum::<f64>() / k as f64;
            // A mean of k noisy numbers is noisy, too.
            (r - guess) * (r - guess) / (1.0 + 1.0 / k as f64)
        });
        sqrt(errors.sum::<f64>() / n as f64)
    };
    let reference = counts.iter().map(|&k| left(k)).fold(root_mean_square(&rows.residuals), f64::min);
    Some(Neighbours {
        correlation: statistic(&centred, k),
        p: (above + 1) as f64 / (PERMUTATIONS + 1) as f64,
        z: (own - middle) / deviation.max(1e-12),
        reference,
        neighbours: k,
    })
}

/// The nearest rows of each row, by inputs in units of their deviations.
fn nearest(rows: &Rows, count: usize) -> Vec<Vec<usize>> {
    let n = rows.residuals.len();
    let scaled: Vec<Vec<f64>> = rows
        .inputs
        .iter()
        .map(|(_, column)| {
            let m = mean(column);
            let deviation = root_mean_square(&column.iter().map(|x| x - m).collect::<Vec<f64>>());
            column.iter().map(|x| if deviation > 0.0 { (x - m) / deviation } else { 0.0 }).collect()
        })
        .collect();
    let distance = |i: usize, j: usize| scaled.iter().map(|c| (c[i] - c[j]) * (c[i] - c[j])).sum::<f64>();
    (0..n)
        .map(|i| {
            let mut others: Vec<(f64, usize)> = (0..n).filter(|j| *j != i).map(|j| (distance(i, j), j)).collect();
            let last = count.clamp(1, others.len()) - 1;
            let by = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            others.select_nth_unstable_by(last, by);
            others.truncate(last + 1);
            others.sort_by(by);
            others.into_iter().map(|(_, j)| j).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(n: usize, f: impl Fn(f64) -> f64, noise: f64, seed: u64) -> Rows {
        let mut stream = Stream::new(seed, 1);
        let x: Vec<f64> = (0..n).map(|i| 10.0 * i as f64 / n as f64).collect();
        let residuals = x.iter().map(|x| f(*x) + noise * stream.normal()).collect();
        Rows { residuals, predictions: x.clone(), inputs: vec![("x".into(), x)] }
    }

    #[test]
    fn white_noise_is_white() {
        let mut found = 0;
        for seed in 0..40 {
            let rows = rows(100, |_| 0.0, 1.0, seed);
            let n = neighbours(&rows).expect("enough rows");
            found += u64::from(n.p < 0.02 || bins(&rows, &rows.inputs[0].1).1 > 3.0);
            assert!(autocorrelation(&rows.residuals, 1).z.abs() < 4.0 && runs(&rows.residuals).z.abs() < 4.0);
            assert!(n.reference > 0.8 * root_mean_square(&rows.residuals));
        }
        assert!(found <= 4, "{found} of 40");
    }

    #[test]
    fn a_wave_is_found_with_its_frequency() {
        let rows = rows(200, |x| 0.5 * sin(3.0 * x), 0.3, 7);
        let found = peak(&rows.inputs[0].1, &rows.residuals).expect("a peak");
        assert!((found.omega - 3.0).abs() < 0.1 && found.chance < 1e-6 && found.share > 0.4, "{found:?}");
        assert!((found.amplitude - 0.5).abs() < 0.1, "{found:?}");
        let near = neighbours(&rows).expect("enough rows");
        assert!(near.p < 0.01 && near.z > 5.0 && near.correlation > 0.3, "{near:?}");
        let left = near.reference / root_mean_square(&rows.residuals);
        assert!(left < 0.85, "the neighbours explain the wave: {left}");
        assert!(runs(&rows.residuals).z < -3.0 && autocorrelation(&rows.residuals, 1).z > 3.0);
    }

    #[test]
    fn growing_noise_and_dependence_on_an_input() {
        let mut rows = rows(200, |_| 0.0, 1.0, 3);
        let x = rows.inputs[0].1.clone();
        rows.residuals.iter_mut().zip(&x).for_each(|(r, x)| *r *= 0.1 + x);
        let size: Vec<f64> = rows.residuals.iter().map(|r| r.abs()).collect();
        assert!(rank_correlation(&size, &x).z > 5.0);
        assert!(rank_correlation(&rows.residuals, &x).z.abs() < 4.0);
        rows.residuals.iter_mut().zip(&x).for_each(|(r, x)| *r += 3.0 * (x - 5.0).abs() - 7.0);
        let (list, z) = bins(&rows, &x);
        assert!(z > 4.0 && list.len() == 8 && list[0].mean > 0.0 && list[4].mean < 0.0, "{z} {list:?}");
    }

    #[test]
    fn few_or_equal_rows_say_nothing() {
        let none = Rows::default();
        assert_eq!(neighbours(&none), None);
        assert_eq!(peak(&[], &[]), None);
        assert_eq!(runs(&[]), Runs::default());
        assert_eq!(autocorrelation(&[1.0, 2.0], 1), Correlation::default());
        assert_eq!(bins(&none, &[]).0.len(), 0);
        let zero =
            Rows { residuals: vec![0.0; 20], predictions: vec![0.0; 20], inputs: vec![("x".into(), vec![1.0; 20])] };
        assert_eq!((neighbours(&zero), peak(&zero.inputs[0].1, &zero.residuals)), (None, None));
        let bad = Rows { residuals: vec![f64::NAN, 1.0], predictions: vec![1.0; 2], inputs: vec![] };
        assert_eq!((bad.finite(9).0.residuals, bad.finite(9).1), (vec![1.0], 1));
    }
}
