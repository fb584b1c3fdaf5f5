//! Losses of many points in one call of the model, with gradients, residuals and Jacobians.

use crate::data::select;
use crate::loss::{Loss, Measured, Term};
use crate::prior::Density;
use crate::problem::{Problem, Rows};
use crate::search::{Evaluation, Need};
use crate::sums::sum_gradients;
use dmci::{Batch, Column, Failure, Report, Want};
use dmci_exec::sum_rows;
use dmci_ops::real::sqrt;
use rayon::prelude::*;

/// Values and derivatives that are held at a time, for all lanes.
const MAX_NUMBERS: usize = 1 << 23;

/// Values and derivatives above which their losses are worth more than one thread.
const WORTH_THREADS: usize = 1 << 14;

/// What the model says about some points: for each point, row and target the prediction, and its
/// derivatives by the set of parameters.
struct Predictions<'a> {
    values: &'a [f64],
    gradients: &'a [f64],
}

impl Problem {
    /// The losses of points in raw space. Each is what it would be alone, bit for bit. Fails only if
    /// the run was cancelled.
    pub fn evaluate(&self, points: &[Vec<f64>], need: Need) -> Result<Vec<Evaluation>, Report> {
        self.evaluate_rows(points, &self.training, need)
    }

    /// The same over other rows.
    pub fn evaluate_rows(&self, points: &[Vec<f64>], rows: &Rows, need: Need) -> Result<Vec<Evaluation>, Report> {
        Ok(self.evaluate_on_paths(points, rows, need)?.0)
    }

    /// The same, with a number for each point that says which paths its rows took: as long as they take the
    /// same ones, it is the same number.
    pub(crate) fn evaluate_on_paths(
        &self,
        points: &[Vec<f64>],
        rows: &Rows,
        need: Need,
    ) -> Result<(Vec<Evaluation>, Vec<u64>), Report> {
        let outputs = self.outputs;
        let lane = outputs * if need == Need::Loss { 1 } else { self.layout.values + 1 };
        // As many lanes together as memory allows.
        let sets = (MAX_NUMBERS / (rows.len() * lane).max(1)).max(1);
        let mut evaluations = Vec::with_capacity(points.len());
        let mut taken = Vec::with_capacity(points.len());
        let divisor = self.divisor(rows);
        let mut batch = std::mem::take(&mut *self.batch.lock().unwrap_or_else(|e| e.into_inner()));
        for points in points.chunks(sets) {
            let values = self.lanes(points, rows, need, &mut batch, &mut taken)?;
            let (values, gradients) = match &values {
                Some((values, gradients)) => (&values[..], &gradients[..]),
                None => (&batch.values[..], &batch.gradients[..]),
            };
            let (width, slopes) = (rows.len() * outputs, rows.len() * outputs * self.layout.values);
            let of_set = |(set, raw): (usize, &Vec<f64>)| {
                let values = &values[set * width..][..width];
                let gradients = if need == Need::Loss { &[] } else { &gradients[set * slopes..][..slopes] };
                self.evaluation(raw, rows, divisor, Predictions { values, gradients }, need)
            };
            // Each point's loss is its own, so threads change nothing.
            if points.len() > 1 && points.len() * rows.len() * lane > WORTH_THREADS {
                evaluations.par_extend(points.par_iter().enumerate().map(of_set));
            } else {
                evaluations.extend(points.iter().enumerate().map(of_set));
            }
        }
        *self.batch.lock().unwrap_or_else(|e| e.into_inner()) = batch;
        Ok((evaluations, taken))
    }

    /// Runs the model for all points. With groups, each has its rows and its own set of parameters, and
    /// the results come back in the order of rows; without, they stay in the batch. `taken` gets a number for
    /// the paths of each point.
    #[allow(clippy::type_complexity)]
    fn lanes(
        &self,
        points: &[Vec<f64>],
        rows: &Rows,
        need: Need,
        batch: &mut Batch,
        taken: &mut Vec<u64>,
    ) -> Result<Option<(Vec<f64>, Vec<f64>)>, Report> {
        let first = taken.len();
        taken.resize(first + points.len(), 0);
        let mut note = |batch: &Batch| {
            let rows = batch.values.len() / self.outputs / points.len();
            for (set, taken) in taken[first..].iter_mut().enumerate() {
                // The steps of FNV, with a number for a byte.
                let mix = |hash: u64, path: u32| (hash ^ u64::from(path)).wrapping_mul(0x100_0000_01b3);
                *taken = (set * rows..(set + 1) * rows).map(|lane| batch.path(lane)).fold(*taken, mix);
            }
        };
        let want = if need == Need::Loss { Want::Values } else { Want::Gradients };
        let sets = |group: usize| -> Vec<f64> { points.iter().flat_map(|p| self.layout.values(p, group)).collect() };
        if self.layout.groups == 1 {
            self.model.evaluate_into(batch, &sets(0), &rows.columns, want)?;
            note(batch);
            return interruption(batch).map_or(Ok(None), Err);
        }
        let (outputs, n) = (self.outputs, self.layout.values);
        let mut values = vec![f64::NAN; points.len() * rows.len() * outputs];
        let mut gradients = vec![f64::NAN; if need == Need::Loss { 0 } else { values.len() * n }];
        for group in 0..self.layout.groups {
            let members: Vec<usize> = (0..rows.len()).filter(|&r| rows.group[r] == group).collect();
            if members.is_empty() {
                continue;
            }
            let columns: Vec<Column> = rows.columns.iter().map(|c| select(c, &members)).collect();
            self.model.evaluate_into(batch, &sets(group), &columns, want)?;
            note(batch);
            if let Some(interrupted) = interruption(batch) {
                return Err(interrupted);
            }
            let copy = |from: &[f64], to: &mut [f64], width: usize| {
                for set in 0..points.len() {
                    for (i, &row) in members.iter().enumerate() {
                        let source = &from[(set * members.len() + i) * width..][..width];
                        to[(set * rows.len() + row) * width..][..width].copy_from_slice(source);
                    }
                }
            };
            copy(&batch.values, &mut values, outputs);
            if need != Need::Loss {
                copy(&batch.gradients, &mut gradients, outputs * n);
            }
        }
        Ok(Some((values, gradients)))
    }

    fn measured(&self, rows: &Rows, cell: usize) -> Measured {
        let row = cell / self.targets.len();
        Measured { target: rows.target[cell], sigma: rows.sigma[row], trials: rows.trials[row] }
    }

    /// What the sum over rows is divided by.
    pub(crate) fn divisor(&self, rows: &Rows) -> f64 {
        if !self.loss.is_mean() {
            return 1.0;
        }
        let targets = self.targets.len();
        let cells = rows.target.iter().enumerate().filter(|(_, y)| !y.is_nan());
        sum_rows(cells.map(|(cell, _)| rows.weight[cell / targets]))
    }

    fn evaluation(&self, raw: &[f64], rows: &Rows, divisor: f64, predictions: Predictions, need: Need) -> Evaluation {
        let outputs = self.targets.len();
        if self.outputs > outputs {
            // A procedure of the program has computed the loss: the last number of each row.
            let (all, n) = (self.outputs, self.layout.values);
            let losses: Vec<f64> = predictions.values.iter().skip(all - 1).step_by(all).copied().collect();
            let by_loss = predictions.gradients.chunks(n).skip(all - 1).step_by(all);
            let by_loss: Vec<f64> = by_loss.flatten().copied().collect();
            let predictions = Predictions { values: &losses, gradients: &by_loss };
            return self.evaluation_of(raw, rows, divisor, predictions, need);
        }
        self.evaluation_of(raw, rows, divisor, predictions, need)
    }

    fn evaluation_of(
        &self,
        raw: &[f64],
        rows: &Rows,
        divisor: f64,
        predictions: Predictions,
        need: Need,
    ) -> Evaluation {
        let outputs = self.targets.len();
        let sets: Vec<Vec<f64>> = (0..self.layout.groups).map(|g| self.layout.values(raw, g)).collect();
        let weight = |cell: usize| rows.weight[cell / outputs];
        let terms: Vec<Term> = predictions
            .values
            .iter()
            .enumerate()
            .map(|(cell, &prediction)| {
                let row = self.measured(rows, cell);
                // What was not measured says nothing.
                if row.target.is_nan() {
                    return Term::default();
                }
                self.loss.term(prediction, row, &self.noise, &sets[rows.group[cell / outputs]])
            })
            .collect();
        let loss = sum_rows(terms.iter().enumerate().map(|(cell, t)| weight(cell) * t.loss)) / divisor;
        let mut evaluation = Evaluation { loss: loss + self.surprise(&sets), ..Evaluation::default() };
        if need >= Need::Gradient {
            evaluation.gradient = self.gradient(raw, rows, divisor, &predictions, &terms, &sets);
        }
        if need == Need::Jacobian {
            self.residuals(raw, rows, &predictions, divisor, &mut evaluation);
        }
        evaluation
    }

    fn gradient(
        &self,
        raw: &[f64],
        rows: &Rows,
        divisor: f64,
        predictions: &Predictions,
        terms: &[Term],
        sets: &[Vec<f64>],
    ) -> Vec<f64> {
        let (n, outputs) = (self.layout.values, self.targets.len());
        let mut gradient = vec![0.0; self.layout.raws];
        let single = self.layout.groups == 1;
        for (group, set) in sets.iter().enumerate() {
            let cells = || (0..terms.len()).filter(move |c| single || rows.group[c / outputs] == group);
            // A row that does not count must not spoil the sum, whatever the program gives for it.
            let slope = |c: usize| rows.weight[c / outputs] * terms[c].by_prediction;
            let of_cell = |c: usize| (slope(c), &predictions.gradients[c * n..(c + 1) * n]);
            let mut by_value = sum_gradients(cells().map(of_cell), n);
            by_value.iter_mut().for_each(|g| *g /= divisor);
            for (k, index) in self.noise.indices().into_iter().enumerate() {
                if let Some(index) = index {
                    by_value[index] +=
                        sum_rows(cells().map(|c| rows.weight[c / outputs] * terms[c].by_noise[k])) / divisor;
                }
            }
            for (density, at) in self.prior_numbers(group) {
                by_value[at] -= density.log(set[at]).1;
            }
            self.layout.pull_back(raw, group, &by_value, &mut gradient);
        }
        gradient
    }

    /// The priors that count for a group, each with its number of a set: a number that groups share
    /// counts with the first of them.
    fn prior_numbers(&self, group: usize) -> impl Iterator<Item = (Density, usize)> {
        let counts = self.priors.iter().filter(move |p| p.3 || group == 0);
        counts.flat_map(|&(density, at, count, _)| (at..at + count).map(move |k| (density, k)))
    }

    /// How improbable the parameters are by the priors alone.
    fn surprise(&self, sets: &[Vec<f64>]) -> f64 {
        let of_group = |(group, set): (usize, &Vec<f64>)| {
            self.prior_numbers(group).map(|(density, k)| -density.log(set[k]).0).sum::<f64>()
        };
        sets.iter().enumerate().map(of_group).sum()
    }

    /// Residuals whose squares add up to the loss, and their derivatives by raw numbers.
    fn residuals(&self, raw: &[f64], rows: &Rows, predictions: &Predictions, divisor: f64, out: &mut Evaluation) {
        let (n, outputs, raws) = (self.layout.values, self.targets.len(), self.layout.raws);
        out.residuals.reserve(predictions.values.len());
        out.jacobian = vec![0.0; predictions.values.len() * raws];
        let mut scaled = vec![0.0; n];
        for (cell, (&prediction, row)) in predictions.values.iter().zip(out.jacobian.chunks_mut(raws)).enumerate() {
            let measured = self.measured(rows, cell);
            if measured.target.is_nan() {
                out.residuals.push(0.0);
                continue;
            }
            let factor = rows.weight[cell / outputs] * self.loss.square_factor(measured.sigma) / divisor;
            let factor = sqrt(factor);
            out.residuals.push(factor * (prediction - measured.target));
            let slopes = &predictions.gradients[cell * n..(cell + 1) * n];
            scaled.iter_mut().zip(slopes).for_each(|(s, g)| *s = factor * g);
            self.layout.pull_back(raw, rows.group[cell / outputs], &scaled, row);
        }
    }

    /// Predictions for rows of inputs under the raw numbers of a point, for one group; NaN where the
    /// program fails.
    pub fn predict(&self, raw: &[f64], group: usize, columns: &[Column]) -> Result<Batch, Report> {
        self.model.evaluate(&self.layout.values(raw, group), columns, Want::Values)
    }

    /// The first target of rows of inputs, each with its standard error as far as parameters are uncertain;
    /// NaN without covariances of raw numbers.
    pub fn predict_with_error(
        &self,
        raw: &[f64],
        columns: &[Column],
        covariance: Option<&[f64]>,
    ) -> Result<Vec<(f64, f64)>, Report> {
        let (n, raws, outputs) = (self.layout.values, self.layout.raws, self.outputs);
        let Some(covariance) = covariance else {
            let batch = self.predict(raw, 0, columns)?;
            return Ok(batch.values.iter().step_by(outputs).map(|&y| (y, f64::NAN)).collect());
        };
        let batch = self.model.evaluate(&self.layout.values(raw, 0), columns, Want::Gradients)?;
        let row = |(i, &y): (usize, &f64)| {
            let mut slope = vec![0.0; raws];
            self.layout.pull_back(raw, 0, &batch.gradients[i * outputs * n..][..n], &mut slope);
            let variance: f64 = (0..raws * raws).map(|k| slope[k / raws] * covariance[k] * slope[k % raws]).sum();
            (y, sqrt(variance))
        };
        Ok(batch.values.iter().step_by(outputs).enumerate().map(row).collect())
    }

    /// Predictions for rows of the table, all targets of a row one after the other.
    pub fn predictions(&self, raw: &[f64], rows: &Rows) -> Result<Vec<f64>, Report> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let mut batch = Batch::default();
        let values = self.lanes(std::slice::from_ref(&raw.to_vec()), rows, Need::Loss, &mut batch, &mut Vec::new())?;
        let values = values.map_or(batch.values, |(values, _)| values);
        let (outputs, targets) = (self.outputs, self.targets.len());
        let mut list: Vec<f64> = values.chunks(outputs).flat_map(|row| &row[..targets]).copied().collect();
        if self.loss == Loss::Binomial {
            // What is measured are successes; what the program gives is their probability.
            list.iter_mut().enumerate().for_each(|(cell, p)| *p *= rows.trials[cell / targets]);
        }
        Ok(list)
    }
}

/// The report of an interruption, if a walk was interrupted.
pub(crate) fn interruption(batch: &Batch) -> Option<Report> {
    let cancelled = |failure: &Failure| failure.report.diagnostics.iter().any(|d| d.code == "E0409");
    batch.failures.iter().find(|f| cancelled(&f.1)).map(|f| f.1.report.clone())
}
