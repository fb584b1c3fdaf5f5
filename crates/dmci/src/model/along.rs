//! Derivatives along directions: of the results of every row, and of their gradients. Each row and direction is a lane
//! of its own, so that the columns of a Jacobian or of a Hessian are computed side by side.

use super::lanes::Call;
use super::path::Path;
use super::source::{Lanes, Source};
use super::{Batch, Column, Model, Want};
use crate::report::Report;
use dmci_exec::{Leaves, Results, STAYED, StageResults};
use std::sync::Arc;

/// Results of rows with their derivatives along directions, row by row.
///
/// ```
/// use dmci::{Column, Model, Program, Want};
///
/// let model = Model::builder(Program::new("(* a a b x)")).parameters(["a", "b"]).input("x").build()?;
/// let rows = [Column::Reals(vec![1.0, 10.0])];
/// // At a = 2 and b = 3, along b and along both.
/// let found = model.along(&[2.0, 3.0], &rows, &[0.0, 1.0, 1.0, 1.0], Want::Values)?;
/// assert_eq!(found.batch.values, [12.0, 120.0]);
/// assert_eq!(found.changes, [4.0, 16.0, 40.0, 160.0]);
/// let found = model.along(&[2.0, 3.0], &rows[..], &[0.0, 1.0], Want::Gradients)?;
/// // How the derivatives by a and b, 2 a b x and a a x, change along b.
/// assert_eq!(found.changes, [4.0, 0.0, 40.0, 0.0]);
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Debug, Default)]
pub struct Along {
    /// Values, and gradients if they were wanted.
    pub batch: Batch,
    /// For each row and each direction the change of all outputs, or of all of their derivatives; NaN where a row
    /// failed.
    pub changes: Vec<f64>,
}

/// Numbers that are computed at once.
const MOST_RESULTS: usize = 8 << 20;

impl Model {
    /// All rows under one set of parameters, or each row under the set of the same number if there are several sets,
    /// with derivatives along directions, each of which has as many numbers as a set: derivatives of the outputs, or,
    /// if gradients are wanted, of the gradients (products of Hessians with the directions).
    pub fn along(&self, params: &[f64], columns: &[Column], directions: &[f64], want: Want) -> Result<Along, Report> {
        let want = want.min(Want::Gradients);
        let (sets, rows) = self.check(params, columns)?;
        let paired = sets > 1;
        if paired && sets != rows {
            return Err(super::sets_for_rows(sets, rows));
        }
        let mut found = Along::default();
        let lanes = Lanes { sets, rows, paired };
        Call::new(self, &mut found.batch, params, columns, lanes, want).run();
        let n = self.numbers;
        let count = directions.len() / n.max(1);
        let width = self.options.outputs * if want == Want::Gradients { n } else { 1 };
        found.changes.resize(rows * count * width, f64::NAN);
        let failed: Vec<usize> = found.batch.failures.iter().map(|f| f.0).collect();
        let kept = self.paths.read().unwrap_or_else(|e| e.into_inner()).all();
        for (.., path) in kept.iter().filter(|(.., path)| !path.fails()) {
            let is_on = |row: &usize| found.batch.path(*row) == path.fingerprint && failed.binary_search(row).is_err();
            let own: Vec<usize> = (0..rows).filter(is_on).collect();
            let source = Source {
                params,
                numbers: n,
                columns,
                lanes,
                places: &found.batch.work.places,
                row_bits: &found.batch.work.row_bits,
                row_starts: &found.batch.work.row_starts,
                model: self,
            };
            let moving = Moving { source, leaves: path.leaves(), directions, numbers: n, count };
            let lanes: Vec<usize> = own.iter().flat_map(|row| (0..count).map(move |k| row * count + k)).collect();
            for lanes in lanes.chunks((MOST_RESULTS / width.max(1)).max(1)) {
                run(path, &moving, lanes, want, self.options.threads, width, &mut found.changes);
            }
        }
        Ok(found)
    }
}

/// Runs lanes through a path and puts their results in their places.
fn run(
    path: &Arc<Path>,
    moving: &Moving<'_>,
    lanes: &[usize],
    want: Want,
    threads: usize,
    width: usize,
    changes: &mut [f64],
) {
    let (mut stages, mut results) = (StageResults::default(), Results::default());
    let plan = path.plan_along(want);
    plan.run(lanes, lanes.len().max(1), moving, threads, &mut stages, &mut results);
    for (i, &lane) in lanes.iter().enumerate().filter(|(i, _)| results.failed[*i] == STAYED) {
        let bits = &results.outputs[i * plan.outputs()..][..width];
        changes[lane * width..][..width].iter_mut().zip(bits).for_each(|(x, &bits)| *x = f64::from_bits(bits));
    }
}

/// The numbers of lanes that are made of a row and a direction.
struct Moving<'a> {
    source: Source<'a, f64>,
    /// Numbers of the recorded leaves; after them comes the direction.
    leaves: usize,
    directions: &'a [f64],
    numbers: usize,
    /// Directions.
    count: usize,
}

impl Leaves for Moving<'_> {
    type Number = f64;

    fn leaf(&self, lane: usize, leaf: usize) -> u64 {
        let (row, direction) = (lane / self.count, lane % self.count);
        match leaf.checked_sub(self.leaves) {
            None => self.source.leaf(row, leaf),
            Some(at) => self.directions[direction * self.numbers + at].to_bits(),
        }
    }
}
