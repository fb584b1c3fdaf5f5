//! Variable projection: in least squares, parameters that are affine by structure are not searched for but solved for
//! wherever a search looks (Golub and Pereyra 1973; the full step as Ruhe and Wedin 1980 take it).

use crate::points::{Asked, Points};
use crate::problem::Problem;
use crate::search::{Evaluation, Need};
use dmci::Report;
use dmci_stats::bounded::bounded_least_squares;
use std::sync::atomic::Ordering;

/// A parameter confined to an interval is solved for up to this share of it from its ends, where a search could still
/// leave them.
const INSIDE: f64 = 1e-9;

/// A positive parameter is solved for down to this share of where it started.
const LEAST: f64 = 1e-9;

/// Up to this many numbers are eliminated.
const MOST: usize = 300;

impl Problem {
    /// The raw numbers that are solved for and not searched for; none if all would be, since then one step of a search
    /// finds them.
    pub(crate) fn eliminated(&self) -> Vec<usize> {
        let none_affine = &self.seen.none_affine;
        let is_plain = self.is_least_squares() && !self.is_objective() && self.outputs == self.width();
        if !is_plain || none_affine.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let Some(structure) = self.structure() else { return Vec::new() };
        let separate: Vec<bool> = self
            .layout
            .blocks
            .iter()
            .flat_map(|b| std::iter::repeat_n(b.transform.is_separate(), b.transform.values()))
            .collect();
        let numbers = structure.eliminated(|number| separate[number]);
        none_affine.store(numbers.is_empty(), Ordering::Relaxed);
        let is_solved = |raw: &usize| self.number_of_raw(*raw).is_some_and(|k| numbers.contains(&k));
        let raws: Vec<usize> = (0..self.layout.raws).filter(is_solved).collect();
        if raws.len() == self.layout.raws || raws.len() > MOST { Vec::new() } else { raws }
    }

    /// Moves points to where the eliminated numbers make the loss smallest. Points where something is not finite stay.
    pub(crate) fn project(&self, points: &mut Points, count: usize) -> Result<(), Report> {
        let raws = self.eliminated();
        if raws.is_empty() {
            return Ok(());
        }
        let asked: Points = points.part(0, count).iter().collect();
        let found = self.evaluate_asked(asked.all(), self.training(), Need::Jacobian)?;
        // What was just recorded may have shown that a parameter is not affine.
        let raws: Vec<usize> = self.eliminated().into_iter().filter(|k| raws.contains(k)).collect();
        if raws.is_empty() {
            return Ok(());
        }
        for (k, found) in found.iter().enumerate().filter(|(_, found)| found.is_finite()) {
            if let Some(solved) = self.solved(asked.all(), k, found, &raws) {
                points.set(k, &solved);
            }
        }
        Ok(())
    }

    /// A point with its eliminated numbers solved for, given what was found there.
    fn solved(&self, asked: Asked, number: usize, found: &Evaluation, raws: &[usize]) -> Option<Vec<f64>> {
        let raw = asked.get(number);
        let (n, m) = (raw.len(), raws.len());
        let transform = |k: usize| self.layout.blocks.iter().rev().find(|b| b.raw <= k).map(|b| b.transform);
        let transforms = raws.iter().map(|&k| transform(k)).collect::<Option<Vec<_>>>()?;
        let slopes: Vec<f64> = raws.iter().zip(&transforms).map(|(&k, t)| t.slope(raw[k])).collect();
        let values: Vec<f64> = raws.iter().zip(&transforms).map(|(&k, t)| t.value(raw[k])).collect();
        if slopes.iter().any(|s| !s.is_normal()) {
            return None;
        }
        let mut matrix = Vec::with_capacity(found.residuals.len() * m);
        let mut right = Vec::with_capacity(found.residuals.len());
        for (row, residual) in found.jacobian.chunks_exact(n).zip(&found.residuals) {
            let first = matrix.len();
            matrix.extend(raws.iter().zip(&slopes).map(|(&k, slope)| row[k] / slope));
            let here: f64 = matrix[first..].iter().zip(&values).map(|(a, c)| a * c).sum();
            right.push(here - residual);
        }
        let bounds = raws.iter().zip(&transforms).map(|(&k, t)| {
            let (low, high) = (t.value(f64::NEG_INFINITY), t.value(f64::INFINITY));
            match t.inside(INSIDE) {
                Some(ends) => ends,
                None if low.is_finite() => (low + LEAST * t.value(self.start()[k]), high),
                None => (low, high),
            }
        });
        let bounds: Vec<(f64, f64)> = bounds.collect();
        let solution = bounded_least_squares(&matrix, &right, &bounds)?;
        let mut point = raw.to_vec();
        for ((&k, t), value) in raws.iter().zip(&transforms).zip(solution) {
            point[k] = t.raw(value)?;
        }
        Some(point)
    }

    /// The names of the numbers that are solved for.
    pub(crate) fn eliminated_names(&self) -> Vec<String> {
        let names = self.raw_names();
        self.eliminated().into_iter().map(|k| names[k].clone()).collect()
    }
}
