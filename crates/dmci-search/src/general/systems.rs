//! What systems of ODEs leave of rows that took no part in their fit.

use super::{EPOCHS, FEW_EPOCHS, Fitted, General, Losses, not_determined, not_finite};
use crate::candidate::Candidate;
use crate::funnel::Rejection;
use crate::least_squares::Fitter;
use crate::ode::flow::System;
use crate::ode::{self, Ode};
use dmci::Report;
use dmci_fit::search::Need;
use dmci_fit::{LeanFit, LeanOptions, Problem};

impl General {
    /// The system of a candidate, if its template has a hole for each derivative.
    pub(super) fn system_of(&self, candidate: &Candidate) -> Option<&Ode> {
        self.ode.as_deref().filter(|ode| self.template(candidate).holes.len() == ode.states.len())
    }

    /// Fits a system to all open rows.
    pub(super) fn fit_system(&self, ode: &Ode, candidate: &Candidate, rung: u8) -> Result<Fitted, Rejection> {
        let iterations = if rung == 0 { FEW_EPOCHS } else { EPOCHS };
        let (contents, own) = self.template(candidate).parts(candidate);
        let (mut system, start) = ode.system(&contents, &own);
        let open = |run: usize, row: usize| !ode.is_sealed(run, row);
        let (found, work) = ode.flow().fit(&mut Fitter::default(), &mut system, &start, &open, iterations);
        let found = found.ok_or_else(not_finite)?;
        let numbers = found.values.len();
        if rung > 0 && found.rank < numbers {
            return Err(not_determined());
        }
        let p = system.parameters;
        let mut values = found.values[..p].to_vec();
        values.extend(ode.own(&found.values[p..]));
        let count = self.data.open.len();
        let mean_square = self.mean_square(found.squares, count);
        let (raw, loss, converged) = (found.values, found.squares, found.converged);
        let fit = LeanFit { raw, loss, converged, starts: 1, reached: 1, distinct: 1, work };
        Ok(Fitted { mean_square, fit, values, numbers, count })
    }

    /// Fits a system from numbers near its optimum to some rows: the squares of what it is off in others.
    fn left_out(
        &self,
        ode: &Ode,
        (system, from): (&mut System, &[f64]),
        fitted: &dyn Fn(usize, usize) -> bool,
        out: &dyn Fn(usize, usize) -> bool,
        work: &mut u64,
    ) -> Losses {
        let flow = ode.flow();
        let (found, spent) = flow.fit(&mut Fitter::default(), system, from, fitted, EPOCHS);
        *work = work.saturating_add(spent);
        let Some(found) = found else { return Losses::none() };
        let mut losses = Losses::of(Vec::new());
        let (mut residuals, mut jacobian) = (Vec::new(), Vec::new());
        for run in 0..ode.run_count() {
            // Run by run, so that stretches do not join what is apart.
            let here = |r: usize, row: usize| r == run && out(r, row);
            let sum = flow.residuals(system, &found.values, &here, &mut residuals, &mut jacobian);
            if !sum.is_finite() {
                return Losses::none();
            }
            losses.count += residuals.len();
            let stretch = residuals.len().div_ceil(ode::STRETCHES).max(1);
            losses.list.extend(residuals.chunks(stretch).map(|part| part.iter().map(|r| r * r).sum::<f64>()));
        }
        losses
    }

    /// The losses of blocks of time that took no part in their fit.
    pub(super) fn system_losses(&self, ode: &Ode, candidate: &Candidate, work: &mut u64) -> Losses {
        let Ok(whole) = self.fit_system(ode, candidate, 0) else { return Losses::none() };
        *work = work.saturating_add(whole.fit.work);
        let (contents, own) = self.template(candidate).parts(candidate);
        let (mut system, _) = ode.system(&contents, &own);
        let folds = self.data.folds.len();
        let open: Vec<Vec<usize>> = (0..ode.run_count()).map(|run| ode.open_rows(run)).collect();
        let mut all = Losses::of(Vec::new());
        for fold in 0..folds {
            let block: Vec<Vec<bool>> = (0..ode.run_count())
                .map(|run| {
                    let n = open[run].len();
                    let mut marks = vec![false; ode.row_count(run)];
                    open[run][n * fold / folds..n * (fold + 1) / folds].iter().for_each(|&k| marks[k] = true);
                    marks
                })
                .collect();
            let out = |run: usize, row: usize| block[run][row];
            let fitted = |run: usize, row: usize| !block[run][row] && !ode.is_sealed(run, row);
            let losses = self.left_out(ode, (&mut system, &whole.fit.raw), &fitted, &out, work);
            all.list.extend(losses.list);
            all.count += losses.count;
        }
        all
    }

    /// The losses of the sealed rows with a fit to all others.
    pub(super) fn sealed_system_losses(&self, ode: &Ode, candidate: &Candidate) -> Losses {
        let (contents, own) = self.template(candidate).parts(candidate);
        let (mut system, start) = ode.system(&contents, &own);
        let fitted = |run: usize, row: usize| !ode.is_sealed(run, row);
        let out = |run: usize, row: usize| ode.is_sealed(run, row);
        self.left_out(ode, (&mut system, &start), &fitted, &out, &mut 0)
    }

    /// The losses of blocks of time that took no part in their fit: their states count as not measured.
    pub(super) fn block_losses(&self, ode: &Ode, candidate: &Candidate, work: &mut u64) -> Result<Losses, Report> {
        let whole = self.problem(candidate, &self.request, &self.open)?;
        let options = LeanOptions { epochs: EPOCHS, starts: 1, seed: candidate.hash };
        let Some(fit) = whole.lean_fit(whole.start(), &options)? else { return Ok(Losses::none()) };
        *work = work.saturating_add(fit.work);
        let mut all = Losses::of(Vec::new());
        let folds = self.data.folds.len();
        for fold in 0..folds {
            let out = ode.block(fold, folds, self.open.rows);
            let table = ode.without(&self.open, &out);
            let problem = self.problem(candidate, &self.request, &table)?;
            let Some(found) = problem.lean_fit(&fit.raw, &options)? else { return Ok(Losses::none()) };
            *work = work.saturating_add(found.work);
            let losses = self.state_losses(&whole, &found.raw, &|row| out[row])?;
            all.list.extend(losses.list);
            all.count += losses.count;
        }
        Ok(all)
    }

    /// The squares of what states are off in some rows, summed over short stretches of time: neighbours are alike, so a
    /// stretch is what tests count.
    pub(super) fn state_losses(
        &self,
        whole: &Problem,
        raw: &[f64],
        wanted: &dyn Fn(usize) -> bool,
    ) -> Result<Losses, Report> {
        let found = whole.evaluate(&[raw.to_vec()], Need::Jacobian)?;
        let (Some(found), Some(series)) = (found.first(), whole.series()) else { return Ok(Losses::none()) };
        let width = self.ode.as_ref().map_or(1, |ode| ode.states.len());
        if found.residuals.len() != width * series.rows.iter().map(Vec::len).sum::<usize>() {
            return Ok(Losses::none());
        }
        let mut losses = Losses::of(Vec::new());
        let mut cells = found.residuals.chunks_exact(width);
        for rows in &series.rows {
            let of_row = |cells: &[f64]| 2.0 * cells.iter().map(|r| r * r).sum::<f64>();
            let squares: Vec<(usize, f64)> = rows
                .iter()
                .zip(cells.by_ref())
                .filter(|(row, _)| wanted(**row))
                .map(|(row, c)| (*row, of_row(c)))
                .collect();
            losses.count += width * squares.len();
            let stretch = squares.len().div_ceil(ode::STRETCHES).max(1);
            losses.list.extend(squares.chunks(stretch).map(|part| part.iter().map(|(_, s)| s).sum::<f64>()));
        }
        Ok(losses)
    }
}
