//! Losses of many points in one call of the model, with gradients, residuals and Jacobians.

use crate::loss::{Bend, Loss, Measured, Term};
use crate::points::{Asked, Points};
use crate::prior::Density;
use crate::problem::{Problem, Rows};
use crate::search::{Evaluation, Need};
use crate::sums::{sum_chosen, sum_gradients, sum_terms};
use dmci::{Batch, Column, Report, Want};
use dmci_exec::sum_rows;
use dmci_ops::real::sqrt;
use dmci_table::select;
use rayon::prelude::*;

/// Values and derivatives that are held at a time, for all lanes.
const MAX_NUMBERS: usize = 1 << 23;

/// Values and derivatives above which their losses are worth more than one thread.
const WORTH_THREADS: usize = 1 << 14;

/// Points that a thread takes at least.
const LEAST_FOR_THREAD: usize = 8;

/// What the model says about some points: for each point, row and target the prediction, and its
/// derivatives by the set of parameters.
#[derive(Clone, Copy)]
struct Predictions<'a> {
    values: &'a [f64],
    gradients: &'a [f64],
}

/// What is found at some points, in memory that is used again.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// In the order of the points.
    pub found: Vec<Evaluation>,
    /// A number for each point that says which paths its rows took: as long as they take the same ones, it is the
    /// same number.
    pub paths: Vec<u64>,
}

/// Memory of a call, kept for the next one.
#[derive(Debug, Default)]
pub struct Work {
    batch: Batch,
    /// The sets of parameters of all points, one after the other, if there is one group.
    sets: Vec<f64>,
    /// Predictions and derivatives of all groups in the order of rows, if there are several.
    values: Vec<f64>,
    gradients: Vec<f64>,
    /// Residuals of objectives.
    residuals: crate::residuals::Found,
    scratch: Scratch,
}

/// Memory for one point.
#[derive(Debug, Default)]
struct Scratch {
    sets: Vec<f64>,
    terms: Vec<Term>,
    residuals: Vec<f64>,
    sums: Vec<f64>,
}

impl Problem {
    /// The losses of points in raw space. Each is what it would be alone, bit for bit. Fails only if
    /// the run was cancelled.
    pub fn evaluate(&self, points: &[Vec<f64>], need: Need) -> Result<Vec<Evaluation>, Report> {
        self.evaluate_rows(points, self.training(), need)
    }

    /// The same over other rows.
    pub fn evaluate_rows(&self, points: &[Vec<f64>], rows: &Rows, need: Need) -> Result<Vec<Evaluation>, Report> {
        let points: Points = points.iter().map(Vec::as_slice).collect();
        self.evaluate_asked(points.all(), rows, need)
    }

    pub(crate) fn evaluate_asked(&self, points: Asked, rows: &Rows, need: Need) -> Result<Vec<Evaluation>, Report> {
        let mut answers = Answers::default();
        self.evaluate_on_paths(points, rows, need, &mut answers)?;
        Ok(answers.found)
    }

    /// The same in place of other answers, with the paths that were taken.
    pub(crate) fn evaluate_on_paths(
        &self,
        points: Asked,
        rows: &Rows,
        need: Need,
        answers: &mut Answers,
    ) -> Result<(), Report> {
        let mut work = self.work.lock().unwrap_or_else(|e| e.into_inner()).take().unwrap_or_default();
        let done = self.evaluate_with(points, rows, need, answers, &mut work);
        if done.is_ok() {
            self.remember_if_best(points, rows, need, answers, &work);
        }
        *self.work.lock().unwrap_or_else(|e| e.into_inner()) = Some(work);
        done
    }

    /// The same with memory for it, where the model's results can be found afterwards.
    pub(crate) fn evaluate_with(
        &self,
        points: Asked,
        rows: &Rows,
        need: Need,
        answers: &mut Answers,
        work: &mut Work,
    ) -> Result<(), Report> {
        answers.found.resize_with(points.len(), Evaluation::default);
        answers.paths.clear();
        let outputs = self.outputs;
        let lane = outputs * if need == Need::Loss { 1 } else { self.layout.values + 1 };
        let squares = self.residuals.as_ref().filter(|_| need == Need::Jacobian && self.is_least_squares());
        let lane = lane + squares.map_or(0, |residuals| residuals.width(self.layout.values));
        // As many lanes together as memory allows: all of them, mostly.
        let numbers = rows.len() * lane;
        let fits = points.len().saturating_mul(numbers) <= MAX_NUMBERS;
        let most = if fits { points.len() } else { (MAX_NUMBERS / numbers).max(1) };
        let divisor = self.divisor(rows);
        let (width, slopes) = (rows.len() * outputs, rows.len() * outputs * self.layout.values);
        let mut first = 0;
        while first < points.len() {
            if first > 0 {
                self.check_cancel()?;
            }
            let points = points.part(first, most.min(points.len() - first));
            self.lanes(points, rows, need, work, &mut answers.paths)?;
            let Work { batch, sets, values, gradients, residuals, scratch } = &mut *work;
            if squares.is_some() {
                self.residual_lanes(points, rows, residuals)?;
            }
            let (values, gradients) = match self.layout.groups {
                1 => (&batch.values[..], &batch.gradients[..]),
                _ => (&values[..], &gradients[..]),
            };
            let of_set = |set: usize, found: &mut Evaluation, scratch: &mut Scratch| {
                let values = &values[set * width..][..width];
                let gradients = if need == Need::Loss { &[] } else { &gradients[set * slopes..][..slopes] };
                let own = sets.get(set * self.layout.values..(set + 1) * self.layout.values);
                let predictions = Predictions { values, gradients };
                self.evaluation((points.get(set), own), rows, divisor, predictions, need, found, scratch);
                if squares.is_some() {
                    self.take_residuals(set, points.get(set), rows, residuals, found);
                }
            };
            // Each point's loss is its own, so threads change nothing.
            let found = &mut answers.found[first..][..points.len()];
            if points.len() > 1 && points.len() * rows.len() * lane > WORTH_THREADS {
                let each = found.par_iter_mut().enumerate().with_min_len(LEAST_FOR_THREAD);
                each.for_each_init(Scratch::default, |scratch, (set, found)| of_set(set, found, scratch));
            } else {
                found.iter_mut().enumerate().for_each(|(set, found)| of_set(set, found, scratch));
            }
            first += points.len();
        }
        Ok(())
    }

    /// Runs the model for all points. With groups, each has its rows and its own set of parameters, and
    /// the results come back in the order of rows; without, they stay in the batch. `taken` gets a number for
    /// the paths of each point.
    fn lanes(
        &self,
        points: Asked,
        rows: &Rows,
        need: Need,
        work: &mut Work,
        taken: &mut Vec<u64>,
    ) -> Result<(), Report> {
        let Work { batch, sets, values, gradients, .. } = work;
        let first = taken.len();
        taken.resize(first + points.len(), 0);
        let mut note = |batch: &Batch, rows: usize| {
            for (set, taken) in taken[first..].iter_mut().enumerate() {
                // The steps of FNV, with a number for a byte.
                let mix = |hash: u64, path: u32| (hash ^ u64::from(path)).wrapping_mul(0x100_0000_01b3);
                *taken = (set * rows..(set + 1) * rows).map(|lane| batch.path(lane)).fold(*taken, mix);
            }
        };
        let want = if need == Need::Loss { Want::Values } else { Want::Gradients };
        let set_parameters = |group: usize, sets: &mut Vec<f64>| {
            sets.clear();
            points.iter().for_each(|point| self.layout.values_into(point, group, sets));
        };
        if self.layout.groups == 1 {
            set_parameters(0, sets);
            let work = || self.model.evaluate_into(batch, sets, &rows.columns, want);
            let (done, is_over) = self.in_time(points.len(), work);
            done?;
            note(batch, rows.len());
            // What was not done in time is no number: a search steps back.
            return interruption(batch).filter(|_| !is_over).map_or(Ok(()), Err);
        }
        let (outputs, n) = (self.outputs, self.layout.values);
        values.clear();
        values.resize(points.len() * rows.len() * outputs, f64::NAN);
        gradients.clear();
        gradients.resize(if need == Need::Loss { 0 } else { values.len() * n }, f64::NAN);
        for group in 0..self.layout.groups {
            let members: Vec<usize> = (0..rows.len()).filter(|&r| rows.group[r] == group).collect();
            if members.is_empty() {
                continue;
            }
            let columns: Vec<Column> = rows.columns.iter().map(|c| select(c, &members)).collect();
            set_parameters(group, sets);
            let (done, is_over) = self.in_time(points.len(), || self.model.evaluate_into(batch, sets, &columns, want));
            done?;
            note(batch, members.len());
            if let Some(interrupted) = interruption(batch).filter(|_| !is_over) {
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
            copy(&batch.values, values, outputs);
            if need != Need::Loss {
                copy(&batch.gradients, gradients, outputs * n);
            }
        }
        // Each group had its own.
        sets.clear();
        Ok(())
    }

    /// What the sum over rows is divided by.
    pub(crate) fn divisor(&self, rows: &Rows) -> f64 {
        if !self.loss.is_mean() {
            return 1.0;
        }
        let targets = self.width();
        if targets == 1 && rows.target.iter().all(|y| !y.is_nan()) {
            return sum_terms(rows.weight.iter().copied());
        }
        let cells = rows.target.iter().enumerate().filter(|(_, y)| !y.is_nan());
        sum_rows(cells.map(|(cell, _)| rows.weight[cell / targets]))
    }

    /// The loss and its derivatives at a point in raw space, whose set of parameters may be known.
    #[allow(clippy::too_many_arguments)]
    fn evaluation(
        &self,
        (raw, set): (&[f64], Option<&[f64]>),
        rows: &Rows,
        divisor: f64,
        predictions: Predictions,
        need: Need,
        out: &mut Evaluation,
        scratch: &mut Scratch,
    ) {
        let Scratch { sets, terms, residuals, sums } = scratch;
        let sets = set.unwrap_or_else(|| {
            sets.clear();
            (0..self.layout.groups).for_each(|group| self.layout.values_into(raw, group, sets));
            sets
        });
        out.residuals.clear();
        out.jacobian.clear();
        let squares = matches!(self.loss, Loss::Mse | Loss::Sse) && self.width() == 1;
        if squares && need >= Need::Gradient && self.layout.groups == 1 && self.priors.is_empty() {
            let by_value =
                least_squares(rows, divisor, predictions, self.layout.values, (residuals, sums), &mut out.loss);
            out.gradient.clear();
            out.gradient.resize(self.layout.raws, 0.0);
            self.layout.pull_back(raw, 0, by_value, &mut out.gradient);
            if need == Need::Jacobian {
                self.residuals_of_rows(raw, rows, predictions, divisor, sums, out);
            }
            return;
        }
        let (mut losses, mut by_loss) = (Vec::new(), Vec::new());
        let mut predictions = predictions;
        if self.outputs > self.width() {
            // A procedure of the program has computed the loss: the last number of each row.
            let (all, n) = (self.outputs, self.layout.values);
            losses.extend(predictions.values.iter().skip(all - 1).step_by(all));
            by_loss.extend(predictions.gradients.chunks(n.max(1)).skip(all - 1).step_by(all).flatten());
            predictions = Predictions { values: &losses, gradients: &by_loss };
        }
        self.weighted_terms(rows, predictions.values, sets, terms);
        out.loss = sum_terms(terms.iter().map(|term| term.loss)) / divisor;
        if !self.priors.is_empty() {
            out.loss += self.surprise(sets);
        }
        out.gradient.clear();
        if need >= Need::Gradient {
            self.gradient(raw, rows, divisor, predictions.gradients, terms, sets, sums, &mut out.gradient);
        }
        if need == Need::Jacobian && self.residuals.is_none() {
            self.residuals_of_rows(raw, rows, predictions, divisor, sums, out);
        }
    }

    /// What the loss says about each prediction, times the weight of its row.
    fn weighted_terms(&self, rows: &Rows, values: &[f64], sets: &[f64], terms: &mut Vec<Term>) {
        let (n, outputs) = (self.layout.values, self.width());
        terms.clear();
        let cells = values.chunks_exact(outputs).zip(rows.target.chunks_exact(outputs));
        for (row, (values, targets)) in cells.enumerate() {
            let set = &sets[rows.group[row] * n..][..n];
            for (&prediction, &target) in values.iter().zip(targets) {
                terms.push(self.weighted_term(rows, row, prediction, target, set));
            }
        }
    }

    /// What the loss says about one prediction under a set of parameters.
    #[inline]
    pub(crate) fn weighted_term(&self, rows: &Rows, row: usize, prediction: f64, target: f64, set: &[f64]) -> Term {
        // What was not measured says nothing.
        if target.is_nan() {
            return Term::default();
        }
        let measured = Measured { target, sigma: rows.sigma[row], trials: rows.trials[row] };
        let term = self.loss.term(prediction, measured, &self.noise, set);
        let weight = rows.weight[row];
        Term {
            loss: weight * term.loss,
            by_prediction: weight * term.by_prediction,
            by_noise: term.by_noise.map(|slope| weight * slope),
        }
    }

    /// The second derivatives of the same.
    pub(crate) fn weighted_bend(&self, rows: &Rows, row: usize, prediction: f64, target: f64, set: &[f64]) -> Bend {
        let weight = rows.weight[row];
        if target.is_nan() || weight == 0.0 {
            return Bend::default();
        }
        let measured = Measured { target, sigma: rows.sigma[row], trials: rows.trials[row] };
        let bend = self.loss.bend(prediction, measured, &self.noise, set);
        Bend {
            by_prediction: weight * bend.by_prediction,
            mixed: bend.mixed.map(|x| weight * x),
            by_noise: bend.by_noise.map(|row| row.map(|x| weight * x)),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn gradient(
        &self,
        raw: &[f64],
        rows: &Rows,
        divisor: f64,
        gradients: &[f64],
        terms: &[Term],
        sets: &[f64],
        sums: &mut Vec<f64>,
        out: &mut Vec<f64>,
    ) {
        let (n, outputs) = (self.layout.values, self.width());
        out.resize(self.layout.raws, 0.0);
        for group in 0..self.layout.groups {
            let single = self.layout.groups == 1;
            let cells = || (0..terms.len()).filter(move |c| single || rows.group[c / outputs] == group);
            // A row that does not count must not spoil the sum, whatever the program gives for it.
            let of_cell = |c: usize| (terms[c].by_prediction, &gradients[c * n..(c + 1) * n]);
            sum_chosen(cells().map(of_cell), n, sums);
            let by_value = &mut sums[..n];
            by_value.iter_mut().for_each(|g| *g /= divisor);
            for (k, index) in self.noise.indices().into_iter().enumerate() {
                if let Some(index) = index {
                    by_value[index] += sum_rows(cells().map(|c| terms[c].by_noise[k])) / divisor;
                }
            }
            for (density, at) in self.prior_numbers(group) {
                by_value[at] -= density.log(sets[group * n + at]).1;
            }
            self.layout.pull_back(raw, group, by_value, out);
        }
    }

    /// The priors that count for a group, each with its number of a set: a number that groups share
    /// counts with the first of them.
    pub(crate) fn prior_numbers(&self, group: usize) -> impl Iterator<Item = (Density, usize)> {
        let counts = self.priors.iter().filter(move |p| p.3 || group == 0);
        counts.flat_map(|&(density, at, count, _)| (at..at + count).map(move |k| (density, k)))
    }

    /// What the priors add to the loss at a point in raw space. It is no part of what rows say.
    pub(crate) fn loss_of_priors(&self, raw: &[f64]) -> f64 {
        let mut sets = Vec::new();
        (0..self.layout.groups).for_each(|group| self.layout.values_into(raw, group, &mut sets));
        self.surprise(&sets)
    }

    /// How improbable the parameters are by the priors alone.
    fn surprise(&self, sets: &[f64]) -> f64 {
        let n = self.layout.values;
        let of_group = |group: usize| {
            self.prior_numbers(group).map(|(density, k)| -density.log(sets[group * n + k]).0).sum::<f64>()
        };
        (0..self.layout.groups).map(of_group).sum()
    }

    /// Residuals whose squares add up to the loss, and their derivatives by raw numbers.
    fn residuals_of_rows(
        &self,
        raw: &[f64],
        rows: &Rows,
        predictions: Predictions,
        divisor: f64,
        scaled: &mut Vec<f64>,
        out: &mut Evaluation,
    ) {
        let (n, outputs, raws) = (self.layout.values, self.width(), self.layout.raws);
        out.jacobian.resize(predictions.values.len() * raws, 0.0);
        scaled.resize(n.max(scaled.len()), 0.0);
        let mut cell = 0;
        // Mostly, one row counts as much as the one before.
        let (mut last, mut factor) = ((f64::NAN, f64::NAN), f64::NAN);
        for (row, values) in predictions.values.chunks_exact(outputs).enumerate() {
            let (weight, sigma) = (rows.weight[row], rows.sigma[row]);
            if (weight, sigma) != last {
                last = (weight, sigma);
                factor = sqrt(weight * self.loss.square_factor(sigma) / divisor);
            }
            for &prediction in values {
                let (slopes, target) = (&predictions.gradients[cell * n..(cell + 1) * n], rows.target[cell]);
                let line = &mut out.jacobian[cell * raws..(cell + 1) * raws];
                cell += 1;
                if target.is_nan() {
                    out.residuals.push(0.0);
                    continue;
                }
                out.residuals.push(factor * (prediction - target));
                scaled.iter_mut().zip(slopes).for_each(|(s, g)| *s = factor * g);
                self.layout.pull_back(raw, rows.group[row], &scaled[..n], line);
            }
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
        (group, target): (usize, usize),
        columns: &[Column],
        covariance: Option<&[f64]>,
    ) -> Result<Vec<(f64, f64)>, Report> {
        let (n, raws, outputs) = (self.layout.values, self.layout.raws, self.outputs);
        let Some(covariance) = covariance else {
            let batch = self.predict(raw, group, columns)?;
            return Ok(batch.values.iter().skip(target).step_by(outputs).map(|&y| (y, f64::NAN)).collect());
        };
        let batch = self.model.evaluate(&self.layout.values(raw, group), columns, Want::Gradients)?;
        let row = |(i, &y): (usize, &f64)| {
            let mut slope = vec![0.0; raws];
            self.layout.pull_back(raw, group, &batch.gradients[(i * outputs + target) * n..][..n], &mut slope);
            let variance: f64 = (0..raws * raws).map(|k| slope[k / raws] * covariance[k] * slope[k % raws]).sum();
            (y, sqrt(variance))
        };
        Ok(batch.values.iter().skip(target).step_by(outputs).enumerate().map(row).collect())
    }

    /// Predictions for rows of the table, all targets of a row one after the other.
    pub fn predictions(&self, raw: &[f64], rows: &Rows) -> Result<Vec<f64>, Report> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let mut work = Work::default();
        let point: Points = std::iter::once(raw).collect();
        self.lanes(point.all(), rows, Need::Loss, &mut work, &mut Vec::new())?;
        let mut list = Vec::new();
        self.predictions_into(&work, rows, &mut list);
        Ok(list)
    }

    /// The predictions among the results of one point.
    pub(crate) fn predictions_into(&self, work: &Work, rows: &Rows, list: &mut Vec<f64>) {
        let values = if self.layout.groups == 1 { &work.batch.values } else { &work.values };
        let (outputs, targets) = (self.outputs, self.width());
        list.clear();
        match outputs == targets {
            true => list.extend_from_slice(values),
            false => list.extend(values.chunks(outputs).flat_map(|row| &row[..targets])),
        }
        if self.loss == Loss::Binomial {
            // What is measured are successes; what the program gives is their probability.
            list.iter_mut().enumerate().for_each(|(cell, p)| *p *= rows.trials[cell / targets]);
        }
    }
}

/// What searches by gradients ask for most: the sum of squares of one target over one group and its derivatives by
/// the set of parameters, with nothing in between. The operations are those of the general way, in its order.
fn least_squares<'s>(
    rows: &Rows,
    divisor: f64,
    predictions: Predictions,
    n: usize,
    (residuals, sums): (&mut Vec<f64>, &'s mut Vec<f64>),
    loss: &mut f64,
) -> &'s [f64] {
    // What was not measured says nothing.
    let residual = |(y, target): (&f64, &f64)| if target.is_nan() { 0.0 } else { y - target };
    residuals.clear();
    residuals.extend(predictions.values.iter().zip(&rows.target).map(residual));
    *loss = sum_terms(residuals.iter().zip(&rows.weight).map(|(r, weight)| weight * (r * r))) / divisor;
    residuals.iter_mut().zip(&rows.weight).for_each(|(r, weight)| *r = weight * (2.0 * *r));
    sum_gradients(residuals, predictions.gradients, n, sums);
    let by_value = &mut sums[..n];
    by_value.iter_mut().for_each(|g| *g /= divisor);
    by_value
}

/// The report of an interruption, if a walk was interrupted.
pub(crate) fn interruption(batch: &Batch) -> Option<Report> {
    batch.failures.iter().find(|f| f.1.is_cancelled()).map(|f| f.1.clone())
}
