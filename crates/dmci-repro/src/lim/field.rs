//! Sea surface temperature, month by month: the raw field, its anomalies and its leading patterns (EOFs).

use dmci::{Column, Datum};
use dmci_ops::real::{cos, sqrt};
use dmci_stats::lanczos::leading;
use dmci_stats::linear::dot;
use rayon::prelude::*;
use std::ops::Range;

/// Temperatures of boxes over months.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The first month, counted from January of the year 0.
    pub start: usize,
    /// The middle of each box, in degrees north and east.
    pub places: Vec<(f64, f64)>,
    /// Degrees Celsius, month by month.
    pub values: Vec<f64>,
}

/// Which months a mean of three is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smoothing {
    /// The month in the middle: it knows the month after.
    Centred,
    /// The last one.
    Trailing,
}

/// Months in a mean.
const SPAN: usize = 3;

/// The Nino-3.4 box: degrees north and east.
const NINO34: [(f64, f64); 2] = [(-5.0, 5.0), (190.0, 240.0)];

/// Half the width of a box of the field, in degrees.
const HALF: f64 = 1.0;

/// The share of a box of the field that lies in the Nino-3.4 box.
fn inside(place: (f64, f64)) -> f64 {
    let share = |at: f64, (low, high): (f64, f64)| {
        ((at + HALF).min(high) - (at - HALF).max(low)).clamp(0.0, 2.0 * HALF) / (2.0 * HALF)
    };
    share(place.0, NINO34[0]) * share(place.1, NINO34[1])
}

fn cos_lat(place: (f64, f64)) -> f64 {
    cos(place.0.to_radians())
}

impl Field {
    /// A field from an array of NumPy, months by boxes, and the grid: `point,lat,lon`. Integers are thousandths of a
    /// degree above 15 degrees; reals are degrees, and boxes that lack a month are left out.
    pub fn read(array: &[u8], grid: &str, start: usize) -> Result<Field, String> {
        let table = dmci_table::Table::from_bytes("field.npy", array, &[]).map_err(|e| e.to_string())?;
        let mut places = Vec::new();
        for line in grid.lines().skip(1).filter(|l| !l.trim().is_empty()) {
            let cells: Vec<f64> = line.split(',').filter_map(|cell| cell.trim().parse().ok()).collect();
            let [_, lat, lon] = cells[..] else {
                return Err(format!("the grid has no latitude and longitude in {line:?}"));
            };
            places.push((lat, lon));
        }
        if places.len() != table.columns.len() {
            return Err(format!("the field has {} boxes, but its grid has {}", table.columns.len(), places.len()));
        }
        let mut columns = Vec::new();
        let mut kept = Vec::new();
        for (column, place) in table.columns.iter().zip(places) {
            let integers =
                matches!(&column.values, Column::Data(list) if matches!(list.first(), Some(Datum::Integer(_))));
            let numbers = dmci_table::reals(&column.values).map_err(|row| format!("month {row} is no number"))?;
            if numbers.iter().all(|x| x.is_finite()) {
                columns
                    .push(numbers.iter().map(|x| if integers { x / 1000.0 + 15.0 } else { *x }).collect::<Vec<f64>>());
                kept.push(place);
            }
        }
        let values = (0..table.rows).flat_map(|row| columns.iter().map(move |c| c[row])).collect();
        Ok(Field { start, places: kept, values })
    }

    /// Months.
    pub fn months(&self) -> usize {
        self.values.len() / self.places.len().max(1)
    }

    /// Anomalies of all months from the climatology and the linear trend of some of them, averaged over three months.
    pub fn anomalies(&self, training: Range<usize>, smoothing: Smoothing) -> Anomalies {
        let (months, width) = (self.months(), self.places.len());
        let mut values = self.values.clone();
        let mut climatology = vec![0.0; 12 * width];
        let calendar = |month: usize| (self.start + month) % 12;
        for month in 0..12 {
            let same: Vec<usize> = training.clone().filter(|&m| calendar(m) == month).collect();
            let mean = &mut climatology[month * width..(month + 1) * width];
            for &m in &same {
                let row = &self.values[m * width..(m + 1) * width];
                mean.iter_mut().zip(row).for_each(|(sum, x)| *sum += x / same.len() as f64);
            }
        }
        for (m, row) in values.chunks_exact_mut(width.max(1)).enumerate() {
            let mean = &climatology[calendar(m) * width..][..width];
            row.iter_mut().zip(mean).for_each(|(x, mean)| *x -= mean);
        }
        let count = training.len() as f64;
        let middle = (training.start + training.end - 1) as f64 / 2.0;
        let spread: f64 = training.clone().map(|m| (m as f64 - middle) * (m as f64 - middle)).sum();
        let (mut level, mut slope) = (vec![0.0; width], vec![0.0; width]);
        for m in training.clone() {
            let time = (m as f64 - middle) / spread;
            for (i, x) in values[m * width..(m + 1) * width].iter().enumerate() {
                level[i] += x / count;
                slope[i] += x * time;
            }
        }
        for (m, row) in values.chunks_exact_mut(width.max(1)).enumerate() {
            let time = m as f64 - middle;
            row.iter_mut().enumerate().for_each(|(i, x)| *x -= level[i] + slope[i] * time);
        }
        let raw = self.index(&values);
        let rows = months.saturating_sub(SPAN - 1);
        let mut smooth = vec![0.0; rows * width];
        for (r, row) in smooth.chunks_exact_mut(width.max(1)).enumerate() {
            for m in r..r + SPAN {
                let month = &values[m * width..(m + 1) * width];
                row.iter_mut().zip(month).for_each(|(x, y)| *x += y / SPAN as f64);
            }
        }
        let index = self.index(&smooth);
        let lag = if smoothing == Smoothing::Trailing { SPAN - 1 } else { 1 };
        let known = training.end.saturating_sub(SPAN - 1);
        Anomalies { start: self.start + lag, lag, places: self.places.clone(), values: smooth, index, raw, known }
    }

    /// The mean over the Nino-3.4 box, month by month.
    fn index(&self, values: &[f64]) -> Vec<f64> {
        let weights = nino34(&self.places);
        values.chunks_exact(weights.len().max(1)).map(|row| dot(row, &weights)).collect()
    }
}

/// Weights of boxes in the mean over the Nino-3.4 box.
fn nino34(places: &[(f64, f64)]) -> Vec<f64> {
    let weight = |&place: &(f64, f64)| inside(place) * cos_lat(place);
    let sum: f64 = places.iter().map(weight).sum();
    places.iter().map(|place| weight(place) / sum).collect()
}

/// Smoothed anomalies.
#[derive(Clone, Debug, PartialEq)]
pub struct Anomalies {
    /// The month of the first row, counted from January of the year 0.
    pub start: usize,
    /// Months of the raw field before the first row.
    pub lag: usize,
    places: Vec<(f64, f64)>,
    values: Vec<f64>,
    /// The Nino-3.4 index of each row.
    pub index: Vec<f64>,
    /// The index without the mean over months; its first month is that of the raw field.
    pub raw: Vec<f64>,
    /// Rows, from the first, that are made of training months alone.
    pub known: usize,
}

/// Leading patterns, and the state of all rows in them.
#[derive(Clone, Debug, PartialEq)]
pub struct Patterns {
    /// Patterns.
    pub count: usize,
    /// The normalised principal components, row by row.
    pub states: Vec<f64>,
    /// What one unit of a component is, in weighted degrees.
    pub units: Vec<f64>,
    /// The share of the variance of each pattern.
    pub shares: Vec<f64>,
    /// The Nino-3.4 index of one unit of each component.
    pub loadings: Vec<f64>,
    /// The patterns in weighted space, one after the other.
    pub eofs: Vec<f64>,
}

impl Anomalies {
    /// Rows.
    pub fn rows(&self) -> usize {
        self.index.len()
    }

    /// The leading patterns of the rows that are made of training months, positive in the Nino-3.4 box, by the Gram matrix of these rows: there are
    /// fewer months than boxes.
    pub fn patterns(&self, count: usize) -> Option<Patterns> {
        let width = self.places.len();
        let roots: Vec<f64> = self.places.iter().map(|&p| sqrt(cos_lat(p))).collect();
        let weighted: Vec<f64> =
            self.values.chunks_exact(width).flat_map(|row| row.iter().zip(&roots).map(|(x, w)| x * w)).collect();
        let row = |r: usize| &weighted[r * width..(r + 1) * width];
        let known = self.known.min(self.rows());
        let half: Vec<Vec<f64>> =
            (0..known).into_par_iter().map(|i| (0..=i).map(|j| dot(row(i), row(j))).collect()).collect();
        let gram: Vec<f64> =
            (0..known * known).map(|at| (at / known, at % known)).map(|(i, j)| half[i.max(j)][i.min(j)]).collect();
        let total: f64 = (0..known).map(|i| half[i][i]).sum();
        let (values, vectors) = leading(&gram, known, count)?;
        let count = values.len();
        let box_weights: Vec<f64> = nino34(&self.places).iter().zip(&roots).map(|(w, root)| w / root).collect();
        let mut eofs = vec![0.0; count * width];
        eofs.par_chunks_exact_mut(width).enumerate().for_each(|(k, eof)| {
            let size = sqrt(values[k]);
            for (r, weight) in vectors[k * known..(k + 1) * known].iter().enumerate() {
                eof.iter_mut().zip(row(r)).for_each(|(x, y)| *x += weight / size * y);
            }
            if dot(eof, &box_weights) < 0.0 {
                eof.iter_mut().for_each(|x| *x = -*x);
            }
        });
        let eof = |k: usize| &eofs[k * width..(k + 1) * width];
        let raw: Vec<Vec<f64>> =
            (0..self.rows()).into_par_iter().map(|r| (0..count).map(|k| dot(row(r), eof(k))).collect()).collect();
        let units: Vec<f64> = (0..count)
            .map(|k| {
                let mean = raw[..known].iter().map(|r| r[k]).sum::<f64>() / known as f64;
                sqrt(raw[..known].iter().map(|r| (r[k] - mean) * (r[k] - mean)).sum::<f64>() / known as f64)
            })
            .collect();
        let loadings = (0..count).map(|k| units[k] * dot(eof(k), &box_weights)).collect();
        let states = raw.iter().flat_map(|r| r.iter().zip(&units).map(|(x, unit)| x / unit)).collect();
        let shares = values.iter().map(|v| v / total).collect();
        Some(Patterns { count, states, units, shares, loadings, eofs })
    }
}

impl Patterns {
    /// The first `d` components of some rows.
    pub fn states(&self, rows: Range<usize>, d: usize) -> Vec<f64> {
        rows.flat_map(|r| self.states[r * self.count..][..d].to_vec()).collect()
    }
}

/// A month as `1950-02`.
pub fn month_text(month: usize) -> String {
    format!("{:04}-{:02}", month / 12, month % 12 + 1)
}

/// The month that a text such as `1950-02` names.
pub fn month_of(text: &str) -> Option<usize> {
    let (year, month) = text.split_once('-')?;
    let (year, month): (usize, usize) = (year.parse().ok()?, month.parse().ok()?);
    (1..=12).contains(&month).then(|| year * 12 + month - 1)
}
