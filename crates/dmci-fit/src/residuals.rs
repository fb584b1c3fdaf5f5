//! Objectives that give residuals: a program that ends with `(result (residuals r) ...)` and names no loss has half the
//! sum of their squares as its loss. Their Jacobian is computed forwards: each parameter is a lane, however many
//! residuals there are.

use crate::evaluate::interruption;
use crate::layout::Layout;
use crate::objective::{array, named, numbers, walked};
use crate::points::Asked;
use crate::problem::{Problem, Rows};
use crate::search::Evaluation;
use dmci::{Along, Column, Datum, Interpreter, Model, ModelOptions, Names, Program, Report, RunOptions, Want};
use dmci_ops::real::sqrt;
use std::sync::Arc;

/// The result that holds residuals.
const NAME: &str = "residuals";

/// An input of the program besides its columns: zeros behind the residuals of groups that have fewer than others.
const PADDING: &str = "padding-of-residuals";

/// The residuals of an objective program.
#[derive(Clone, Debug)]
pub(crate) struct Residuals {
    /// Gives the residuals of a lane, with zeros behind them.
    model: Arc<Model>,
    /// Residuals of each group.
    pub counts: Vec<usize>,
    /// Numbers that the model gives for a lane.
    pub most: usize,
}

/// Residuals and their derivatives, for each point and row.
#[derive(Debug, Default)]
pub(crate) struct Found {
    values: Vec<f64>,
    /// For each lane and number of a set the derivatives of all residuals.
    changes: Vec<f64>,
}

/// The numbers of residuals of every group, if the program gives residuals and no loss. It is run once for each
/// group, where parameters start.
pub(crate) fn counts(
    program: &Program,
    (inputs, columns): (&[String], &[Column]),
    rows: &[Vec<usize>],
    run: impl Fn(usize) -> RunOptions,
) -> Result<Option<Vec<usize>>, Report> {
    if !program.text.contains(NAME) {
        return Ok(None);
    }
    let mut counts = Vec::with_capacity(rows.len());
    for (group, rows) in rows.iter().enumerate() {
        let mut run = run(group);
        run.bindings.extend(inputs.iter().zip(columns).map(|(name, column)| (name.clone(), array(column, rows))));
        let results = named(Interpreter::shared().run(program, &run)?.value);
        let has_loss = results.iter().any(|(name, _)| name == "loss");
        match results.iter().find(|(name, _)| name == NAME).filter(|_| !has_loss) {
            Some((_, residuals)) => counts.push(numbers(residuals).len()),
            None => return Ok(None),
        }
    }
    Ok(Some(counts).filter(|counts| counts.iter().any(|count| *count > 0)))
}

impl Residuals {
    /// The model of the residuals of a program, and the input that it has besides the others.
    pub fn new(
        program: &Program,
        names: &Names,
        counts: Vec<usize>,
        (params, inputs): (Vec<(String, Datum)>, &[&str]),
        run: &RunOptions,
    ) -> (Residuals, Column) {
        let most = counts.iter().copied().max().unwrap_or(0);
        let zeros = |count: &usize| Datum::list(vec![Datum::Real(0.0); most - count]);
        let padding = Column::Data(counts.iter().map(zeros).collect());
        let program = walked(program, names, |value| format!("(list (cdr (assq '{NAME} {value})) {PADDING})"));
        let options = ModelOptions { run: run.clone(), outputs: most, ..ModelOptions::default() };
        let inputs: Vec<&str> = inputs.iter().copied().chain([PADDING]).collect();
        let model = Arc::new(Model::with_params(program, params, &inputs, options));
        (Residuals { model, counts, most }, padding)
    }

    /// The residuals of one group of them.
    pub fn of_group(&self, group: usize) -> Residuals {
        Residuals { counts: vec![self.counts[group]], ..self.clone() }
    }

    /// The program that gives half the sum of their squares.
    pub fn loss(value: &str) -> String {
        format!("(let ((r (vec (cdr (assq '{NAME} {value}))))) (* 0.5 (dot r r)))")
    }

    /// Numbers that one lane gives, with derivatives by a set of so many parameters.
    pub fn width(&self, values: usize) -> usize {
        self.most * (values + 1)
    }
}

impl Problem {
    /// The name of the input that only residuals have.
    pub(crate) const PADDING: &'static str = PADDING;

    /// The residuals at all points, with their derivatives.
    pub(crate) fn residual_lanes(&self, points: Asked, rows: &Rows, found: &mut Found) -> Result<(), Report> {
        found.values.clear();
        found.changes.clear();
        let Some(residuals) = &self.residuals else { return Ok(()) };
        let n = self.layout.values;
        let (lanes, one) = (points.len() * rows.len(), points.len() == 1);
        let mut sets = Vec::with_capacity(lanes * n);
        let shared = one && self.layout.groups == 1;
        for point in points.iter() {
            let own = if shared { &[0][..] } else { &rows.group[..] };
            own.iter().for_each(|&group| self.layout.values_into(point, group, &mut sets));
        }
        let repeated: Vec<Column>;
        let columns = if one {
            &rows.columns
        } else {
            let of_lane: Vec<usize> = (0..lanes).map(|lane| lane % rows.len()).collect();
            repeated = rows.columns.iter().map(|column| column.select(&of_lane)).collect();
            &repeated
        };
        let directions = identity(n);
        let (done, is_over) =
            self.in_time(points.len(), || residuals.model.along(&sets, columns, &directions, Want::Values));
        let Along { batch, changes } = done?;
        if let Some(interrupted) = interruption(&batch).filter(|_| !is_over) {
            return Err(interrupted);
        }
        (found.values, found.changes) = (batch.values, changes);
        // Lanes that were walked alone, because no more paths are kept, have reverse passes.
        let lost = |lane: usize| {
            let own = |list: &[f64], width: usize| list[lane * width..(lane + 1) * width].to_vec();
            own(&found.values, residuals.most).iter().all(|x| x.is_finite())
                && own(&found.changes, n * residuals.most).iter().any(|x| x.is_nan())
        };
        for lane in (0..lanes).filter(|&lane| lost(lane)).collect::<Vec<_>>() {
            let set = if shared { &sets[..] } else { &sets[lane * n..(lane + 1) * n] };
            let own: Vec<Column> = columns.iter().map(|column| column.select(&[lane])).collect();
            let batch = residuals.model.evaluate(set, &own, Want::Gradients)?;
            let changes = &mut found.changes[lane * n * residuals.most..][..n * residuals.most];
            for (i, slopes) in batch.gradients.chunks_exact(n.max(1)).enumerate() {
                slopes.iter().enumerate().for_each(|(k, slope)| changes[k * residuals.most + i] = *slope);
            }
        }
        Ok(())
    }

    /// Writes the residuals of a point, whose squares add up to the loss, and their derivatives by raw numbers.
    pub(crate) fn take_residuals(&self, number: usize, raw: &[f64], rows: &Rows, found: &Found, out: &mut Evaluation) {
        let Some(Residuals { most, .. }) = &self.residuals else { return };
        let Layout { values: n, raws, .. } = &self.layout;
        let factor = sqrt(0.5);
        out.residuals
            .extend(found.values[number * rows.len() * most..][..rows.len() * most].iter().map(|r| factor * r));
        out.jacobian.resize(rows.len() * most * raws, 0.0);
        let mut slopes = vec![0.0; *n];
        for (row, lines) in out.jacobian.chunks_exact_mut((most * raws).max(1)).enumerate() {
            let changes = &found.changes[(number * rows.len() + row) * n * most..][..n * most];
            for (i, line) in lines.chunks_exact_mut(*raws).enumerate() {
                slopes.iter_mut().enumerate().for_each(|(k, slope)| *slope = factor * changes[k * most + i]);
                self.layout.pull_back(raw, rows.group[row], &slopes, line);
            }
        }
    }
}

/// A direction for each of so many numbers.
fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|k| if k / n == k % n { 1.0 } else { 0.0 }).collect()
}
