//! Where frequencies start: at the peaks of a periodogram of the target. A loss has a minimum for each peak of the
//! spectrum, as narrow as the data are long, and no derivative leads from one to the next.

use crate::problem::Problem;
use dmci::{Column, Report};
use dmci_limits::Ticks;
use dmci_ops::real::{cos, sin};
use dmci_stats::linear::Factored;
use std::f64::consts::{PI, TAU};

/// Peaks beyond one for each frequency.
const MORE_PEAKS: usize = 3;

/// Frequencies to a peak of the spectrum.
const OVERSAMPLING: f64 = 5.0;

/// Operations of a row at one frequency.
const COST: usize = 64;

/// Frequencies times rows, at most.
const MOST: usize = 20_000_000;

/// Most starts.
const MOST_STARTS: usize = 24;

impl Problem {
    /// Points with frequencies at peaks of the spectrum, everything else as at a base point; none if no parameter is a
    /// frequency by structure.
    pub(crate) fn spectral_starts(&self, base: &[f64]) -> Result<Vec<Vec<f64>>, Report> {
        let Some(structure) = self.structure().filter(|_| self.targets.len() == 1) else { return Ok(Vec::new()) };
        let frequencies: Vec<(usize, String)> = structure.frequencies().into_iter().collect();
        let Some((_, input)) = frequencies.first().filter(|_| self.layout.groups == 1) else { return Ok(Vec::new()) };
        let raws: Vec<usize> = frequencies
            .iter()
            .filter(|(_, other)| other == input)
            .filter_map(|(number, _)| (0..self.layout.raws).find(|&k| self.number_of_raw(k) == Some(*number)))
            .collect();
        let column = self.inputs.iter().position(|name| name == input).and_then(|i| self.training().columns.get(i));
        let Some(Column::Reals(x)) = column else { return Ok(Vec::new()) };
        let pairs = x.iter().zip(&self.training().target).zip(&self.training().weight);
        let pairs = pairs.filter(|((x, y), w)| x.is_finite() && y.is_finite() && **w > 0.0);
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.map(|((x, y), _)| (*x, *y)).unzip();
        let peaks = peaks(&x, &y, raws.len() + MORE_PEAKS);
        let phases: Vec<usize> = structure
            .phases()
            .into_iter()
            .filter_map(|number| (0..self.layout.raws).find(|&k| self.number_of_raw(k) == Some(number)))
            .collect();
        let mut starts = Vec::new();
        // Frequencies in radians, or in turns.
        for unit in [1.0, TAU] {
            for choice in choices(raws.len(), peaks.len()) {
                for phase in if phases.is_empty() { &[0.0][..] } else { &[0.0, 0.5 * PI][..] } {
                    let mut point = base.to_vec();
                    let set = |point: &mut Vec<f64>, k: usize, value: f64| {
                        let block = self.layout.blocks.iter().rev().find(|b| b.raw <= k);
                        let raw = block.and_then(|b| b.transform.raw(value));
                        raw.is_some_and(|raw| {
                            point[k] = raw;
                            true
                        })
                    };
                    let fits = raws.iter().zip(&choice).all(|(&k, &peak)| set(&mut point, k, peaks[peak] / unit));
                    phases.iter().for_each(|&k| {
                        set(&mut point, k, *phase);
                    });
                    if fits && starts.len() < 2 * MOST_STARTS {
                        starts.push(point);
                    }
                }
            }
        }
        Ok(starts)
    }
}

/// Which peak each frequency starts at: the strongest ones first, no peak twice.
fn choices(frequencies: usize, peaks: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..frequencies {
        all = all
            .into_iter()
            .flat_map(|list| {
                (0..peaks).filter(|p| !list.contains(p)).map(|p| [&list[..], &[p]].concat()).collect::<Vec<_>>()
            })
            .take(20_000)
            .collect();
    }
    all.sort_by_key(|list| list.iter().sum::<usize>());
    all.truncate(MOST_STARTS / 4);
    all
}

/// Angular frequencies of the strongest sinusoids, found one after the other: each time the one that leaves least over
/// beside a line and those before (Lomb 1976 and Scargle 1982, with the mean fitted as well).
fn peaks(x: &[f64], y: &[f64], count: usize) -> Vec<f64> {
    let mut sorted = x.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (first, last) = (sorted.first().copied().unwrap_or(0.0), sorted.last().copied().unwrap_or(0.0));
    let length = last - first;
    if length.is_nan() || length <= 0.0 || x.len() < 5 {
        return Vec::new();
    }
    sorted.dedup();
    let highest = PI * sorted.len() as f64 / length;
    let step = TAU / (OVERSAMPLING * length);
    let grid = ((highest / step) as usize).clamp(1, MOST / x.len());
    let middle = 0.5 * (first + last);
    let mut columns: Vec<Vec<f64>> = vec![vec![1.0; x.len()], x.iter().map(|x| (x - middle) / length).collect()];
    let mut found: Vec<f64> = Vec::new();
    let mut rest = left_over(&columns, y);
    let mut ticks = Ticks::default();
    for _ in 0..count {
        let power = |k: usize| power(x, &rest, middle, step * k as f64);
        let frequencies = (1..=grid).take_while(|_| !ticks.spend(COST * x.len()));
        let best = frequencies.map(|k| (k, power(k))).max_by(|a, b| a.1.total_cmp(&b.1));
        if dmci_limits::rang() {
            // Whoever stops the search has no use for them.
            return Vec::new();
        }
        let Some((k, strength)) = best else { break };
        if strength.is_nan() || strength <= 0.0 {
            break;
        }
        let frequency = refined(x, &rest, middle, step * k as f64, step);
        found.push(frequency);
        columns.push(x.iter().map(|x| cos(frequency * (x - middle))).collect());
        columns.push(x.iter().map(|x| sin(frequency * (x - middle))).collect());
        if columns.len() + 2 > x.len() {
            break;
        }
        rest = left_over(&columns, y);
    }
    found
}

/// How much of the squares a sinusoid explains.
fn power(x: &[f64], y: &[f64], middle: f64, frequency: f64) -> f64 {
    let (mut cc, mut ss, mut cs, mut yc, mut ys) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        let angle = frequency * (x - middle);
        let (c, s) = (cos(angle), sin(angle));
        cc += c * c;
        ss += s * s;
        cs += c * s;
        yc += y * c;
        ys += y * s;
    }
    let determinant = cc * ss - cs * cs;
    if determinant <= 1e-9 * cc * ss { 0.0 } else { (ss * yc * yc - 2.0 * cs * yc * ys + cc * ys * ys) / determinant }
}

/// The peak near a frequency, by golden sections.
fn refined(x: &[f64], y: &[f64], middle: f64, near: f64, step: f64) -> f64 {
    let (mut low, mut high) = (near - step, near + step);
    for _ in 0..20 {
        let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
        if power(x, y, middle, a) > power(x, y, middle, b) {
            high = b;
        } else {
            low = a;
        }
    }
    0.5 * (low + high)
}

/// What least squares by some columns leave over.
fn left_over(columns: &[Vec<f64>], y: &[f64]) -> Vec<f64> {
    let n = columns.len();
    let matrix: Vec<f64> = (0..y.len()).flat_map(|row| columns.iter().map(move |c| c[row])).collect();
    let solution = Factored::new(&matrix, y, n, &mut Vec::new()).solve(&vec![0.0; n]);
    let prediction = |row: usize| columns.iter().zip(&solution.x).map(|(c, x)| c[row] * x).sum::<f64>();
    y.iter().enumerate().map(|(row, y)| y - prediction(row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_frequencies_are_found_among_uneven_points() {
        let x: Vec<f64> = (0..150).map(|i| 0.1 * f64::from(i) + 0.03 * sin(f64::from(i * i))).collect();
        let y: Vec<f64> = x.iter().map(|x| 3.0 + 0.2 * x + 2.0 * sin(7.3 * x + 1.0) + cos(3.1 * x)).collect();
        let found = peaks(&x, &y, 3);
        assert!((found[0] - 7.3).abs() < 0.05 && (found[1] - 3.1).abs() < 0.05, "{found:?}");
        assert!(peaks(&[1.0; 9], &[1.0; 9], 2).is_empty());
    }

    #[test]
    fn strong_peaks_are_tried_first_and_none_twice() {
        let list = choices(2, 4);
        assert_eq!(list[..2], [vec![0, 1], vec![1, 0]]);
        assert!(list.iter().all(|c| c[0] != c[1]));
        assert!(choices(1, 0).is_empty());
    }
}
