//! The tables that are made of a raw field, and their comparison with a reference.

use super::field::{Anomalies, Field, Patterns, Smoothing, month_text};
use std::fmt::Write;

/// Patterns that are made.
pub const PATTERNS: usize = 20;

/// A field with its patterns over the whole record, as the paper has them.
pub struct Prepared {
    /// The anomalies.
    pub anomalies: Anomalies,
    /// The patterns and the principal components.
    pub patterns: Patterns,
}

/// How far a table is from its reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// What is compared.
    pub what: String,
    /// The largest difference.
    pub largest: f64,
    /// What rounding in the reference allows.
    pub allowed: f64,
}

impl Prepared {
    /// Climatology, trend and patterns of the whole record, with centred means over three months.
    pub fn new(field: &Field) -> Option<Prepared> {
        let anomalies = field.anomalies(0..field.months(), Smoothing::Centred);
        let patterns = anomalies.patterns(PATTERNS)?;
        Some(Prepared { anomalies, patterns })
    }

    /// Principal components and indices, month by month, as CSV.
    pub fn components(&self) -> String {
        let count = self.patterns.count;
        let names: Vec<String> = (1..=count).map(|k| format!("pc{k}")).collect();
        let mut text = format!("month,{},nino34,nino34_from_pcs\n", names.join(","));
        for row in 0..self.anomalies.rows() {
            text += &month_text(self.anomalies.start + row);
            let state = &self.patterns.states[row * count..(row + 1) * count];
            state.iter().for_each(|x| {
                let _ = write!(text, ",{x:?}");
            });
            let rebuilt: f64 = state.iter().zip(&self.patterns.loadings).map(|(x, l)| x * l).sum();
            let _ = writeln!(text, ",{:?},{rebuilt:?}", self.anomalies.index[row]);
        }
        text
    }

    /// Units, shares of variance and loadings of the components, as CSV.
    pub fn statistics(&self) -> String {
        let mut text = "pc,pc_std,explained_variance_fraction,nino34_loading\n".to_string();
        let Patterns { units, shares, loadings, .. } = &self.patterns;
        for k in 0..self.patterns.count {
            let _ = writeln!(text, "{},{:?},{:?},{:?}", k + 1, units[k], shares[k], loadings[k]);
        }
        text
    }

    /// The differences from reference tables of components and statistics.
    pub fn compare(&self, components: &str, statistics: &str) -> Vec<Difference> {
        let mut found = Vec::new();
        let ours = numbers(&self.components());
        let theirs = numbers(components);
        let count = self.patterns.count;
        found.push(difference("principal components", &ours, &theirs, 0..count, 2e-6));
        found.push(difference("Nino-3.4 of the field", &ours, &theirs, count..count + 1, 2e-5));
        found.push(difference("Nino-3.4 of the components", &ours, &theirs, count + 1..count + 2, 2e-5));
        let (ours, theirs) = (numbers(&self.statistics()), numbers(statistics));
        found.push(difference("units", &ours, &theirs, 0..1, 2e-6));
        found.push(difference("shares of variance", &ours, &theirs, 1..2, 2e-6));
        found.push(difference("loadings", &ours, &theirs, 2..3, 2e-6));
        found
    }
}

/// The numbers of a CSV, row by row, without the first column.
fn numbers(text: &str) -> Vec<Vec<f64>> {
    let cell = |cell: &str| cell.trim().parse().unwrap_or(f64::NAN);
    text.lines().skip(1).map(|line| line.split(',').skip(1).map(cell).collect()).collect()
}

fn difference(
    what: &str,
    ours: &[Vec<f64>],
    theirs: &[Vec<f64>],
    columns: std::ops::Range<usize>,
    allowed: f64,
) -> Difference {
    let mut largest: f64 = if ours.len() == theirs.len() { 0.0 } else { f64::INFINITY };
    for (a, b) in ours.iter().zip(theirs) {
        for k in columns.clone() {
            let apart = match (a.get(k), b.get(k)) {
                (Some(x), Some(y)) => (x - y).abs() / y.abs().max(1.0),
                _ => f64::INFINITY,
            };
            largest = if apart.is_nan() { f64::INFINITY } else { largest.max(apart) };
        }
    }
    Difference { what: what.into(), largest, allowed }
}

impl Difference {
    /// Whether the tables are the same.
    pub fn is_fine(&self) -> bool {
        self.largest <= self.allowed
    }
}
