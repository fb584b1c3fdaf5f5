//! The model as a forecaster: fitted to what was known at an origin, and run on.

use super::history::{History, Target};
use super::{ForecastSettings, cancelled};
use crate::compare::{Ends, Entrant};
use crate::fit::{FitOptions, Progress};
use crate::predict::{Band, PredictSettings, predict};
use crate::problem::{Data, Problem};
use crate::record::FitRecord;
use crate::request::{FitRequest, Inputs};
use crate::result::Fit;
use crate::uncertainty::Errors;
use dmci::{Column, Diagnostic, ErrorCode, Report, RunOptions};
use dmci_table::{Table, TableColumn, reals, select};
use std::ops::ControlFlow;

/// The column that marks what comes after an origin; no program can read it.
const MARK: &str = "(to come)";

/// What the model says of a measurement.
#[derive(Clone, Debug)]
pub struct Own {
    /// The forecast; NaN if there is none.
    pub value: f64,
    /// Its intervals, one for each level.
    pub intervals: Vec<(f64, f64)>,
}

/// The model, with what does not change from one origin to the next.
pub struct Forecaster<'a> {
    entrant: &'a Entrant,
    settings: &'a ForecastSettings,
    history: &'a History,
    run: &'a RunOptions,
    request: FitRequest,
    /// The fit that parameters come from which are not fitted again.
    base: Option<FitRecord>,
    /// When all fits have to be done.
    ends: Ends,
    /// Origins that are left, with the present one.
    pub left: usize,
    /// Whether the model gives intervals of prediction itself.
    pub has_intervals: bool,
}

type Watch<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

impl<'a> Forecaster<'a> {
    /// A forecaster that has seen nothing.
    pub fn new(
        entrant: &'a Entrant,
        settings: &'a ForecastSettings,
        history: &'a History,
        run: &'a RunOptions,
    ) -> Forecaster<'a> {
        let mut request = entrant.request.clone();
        request.problem.holdout = None;
        (request.search.bootstrap, request.search.diagnose) = (None, false);
        request.search.intervals = Default::default();
        if request.problem.objective {
            request.search.errors = Errors::None;
        }
        let base = entrant.start_from.clone();
        let ends = Ends::of(request.options().ok().and_then(|options| options.time));
        Forecaster { entrant, settings, history, run, request, base, ends, left: 1, has_intervals: false }
    }

    /// Forecasts measurements from an origin, in their order.
    pub fn at(&mut self, origin: f64, wanted: &[Target], watch: Watch) -> Result<Vec<Own>, Report> {
        let (known, coming) = self.rows(origin, wanted);
        if !self.settings.refit.is_empty() && self.entrant.start_from.is_none() && self.base.is_none() {
            let request = self.request.clone();
            self.base = Some(self.fit(&request, &self.table(&known, &[]), watch)?.2);
        }
        let mut request = self.request.clone();
        if !self.settings.refit.is_empty() {
            request.problem.only = Some(self.settings.refit.clone());
        }
        if request.problem.objective {
            return self.run_on(request, origin, (&known, &coming), wanted, watch);
        }
        let (_, _, record) = self.fit(&request, &self.table(&known, &[]), watch)?;
        self.predict(&record, wanted)
    }

    /// The rows that are known at an origin, and those that come later up to the last one that is wanted, each in the
    /// order of the table. Series without a known row take no part.
    fn rows(&self, origin: f64, wanted: &[Target]) -> (Vec<usize>, Vec<usize>) {
        let (mut known, mut coming) = (Vec::new(), Vec::new());
        for (number, series) in self.history.series.iter().enumerate() {
            if !series.training && series.last(origin).is_none() {
                continue;
            }
            let now = if series.training { series.rows.len() } else { series.times.partition_point(|t| *t <= origin) };
            let end = wanted.iter().filter(|t| t.series == number).map(|t| t.index + 1).max().unwrap_or(now);
            known.extend(&series.rows[..now]);
            coming.extend(series.rows.get(now..end).unwrap_or_default());
        }
        known.sort_unstable();
        coming.sort_unstable();
        (known, coming)
    }

    /// A part of the table. Rows to come are marked, if there are any.
    fn table(&self, known: &[usize], coming: &[usize]) -> Table {
        let table = &self.entrant.table;
        let mut rows = [known, coming].concat();
        rows.sort_unstable();
        let place = |row: &usize| rows.binary_search(row).ok();
        let column = |c: &TableColumn| TableColumn {
            name: c.name.clone(),
            values: select(&c.values, &rows),
            stray: c.stray.as_ref().and_then(place),
            missing: c.missing.iter().filter_map(place).collect(),
        };
        let mut columns: Vec<TableColumn> = table.columns.iter().map(column).collect();
        if !coming.is_empty() {
            let marks = rows.iter().map(|row| f64::from(u8::from(coming.binary_search(row).is_ok()))).collect();
            let values = Column::Reals(marks);
            columns.push(TableColumn { name: MARK.into(), values, stray: None, missing: Vec::new() });
        }
        Table { name: table.name.clone(), columns, rows: rows.len(), units: table.units.clone() }
    }

    fn fit(&self, request: &FitRequest, table: &Table, watch: Watch) -> Result<(Problem, Fit, FitRecord), Report> {
        let (program, run) = (self.entrant.program.clone(), self.run.clone());
        let problem = request.problem(Inputs { program, table, start_from: self.base.as_ref(), run })?;
        let options = FitOptions { time: self.ends.share(self.left), ..request.options()? };
        let fit = request.fit(&problem, &options, watch, &|| self.run.cancel.is_cancelled())?;
        if fit.was_interrupted() {
            return Err(cancelled());
        }
        let record = FitRecord::new(&problem, &options, &fit);
        Ok((problem, fit, record))
    }

    /// A program that predicts single rows predicts those that are wanted, with its intervals if it has them.
    fn predict(&mut self, record: &FitRecord, wanted: &[Target]) -> Result<Vec<Own>, Report> {
        let row = |t: &Target| self.history.series[t.series].rows[t.index];
        let mut rows: Vec<usize> = wanted.iter().map(row).collect();
        rows.sort_unstable();
        rows.dedup();
        let table = self.table(&rows, &[]);
        let mut run = self.run.clone();
        run.bindings.retain(|(name, _)| !record.parameters.contains_key(name));
        let places: Vec<usize> = wanted.iter().filter_map(|t| rows.binary_search(&row(t)).ok()).collect();
        let mut own: Vec<Own> = Vec::new();
        for &level in &self.settings.levels {
            let settings = PredictSettings { level, ..PredictSettings::default() };
            let found = predict(record, &table, &settings, run.clone())?;
            if own.is_empty() {
                let values = &found.targets[0].values;
                own = places.iter().map(|&i| Own { value: values[i], intervals: Vec::new() }).collect();
            }
            let band = found.band(0, Band::Prediction);
            self.has_intervals |= band.is_some();
            for (own, &i) in own.iter_mut().zip(&places) {
                own.intervals.push(band.map_or((f64::NAN, f64::NAN), |band| band[i]));
            }
        }
        Ok(own)
    }

    /// A program with an objective runs on over the rows to come.
    fn run_on(
        &self,
        mut request: FitRequest,
        origin: f64,
        (known, coming): (&[usize], &[usize]),
        wanted: &[Target],
        watch: Watch,
    ) -> Result<Vec<Own>, Report> {
        request.problem.holdout = Some(format!("column:{MARK}"));
        let (mut problem, fit, _) = self.fit(&request, &self.table(known, coming), watch)?;
        let mut rows = [known, coming].concat();
        rows.sort_unstable();
        // The program must not see what it forecasts.
        let to_come: Vec<usize> = coming.iter().filter_map(|row| rows.binary_search(row).ok()).collect();
        let place = problem.inputs.iter().position(|name| *name == self.history.target);
        if let (Some(place), Data::Series(series)) = (place, &mut problem.data)
            && let Ok(mut values) = reals(&series.columns[place])
        {
            to_come.iter().for_each(|&row| values[row] = f64::NAN);
            series.columns[place] = Column::Reals(values);
        }
        let said = problem.series_predictions(&fit.raw)?;
        let value = |t: &Target| {
            let row = rows.binary_search(&self.history.series[t.series].rows[t.index]).ok();
            said.iter().find(|said| Some(said.0) == row).map_or(f64::NAN, |said| said.1)
        };
        if !wanted.iter().any(|t| value(t).is_finite()) {
            let message = format!("the program forecasts nothing behind the origin {origin}");
            let target = &self.history.target;
            let help = format!(
                "it needs a result yhat with a number for every row; {target} is NaN where it is not known yet: test \
                 it with (nan? (ref {target} k))"
            );
            return Err(Report::from(Diagnostic::error(ErrorCode::E0808, message).help(help)));
        }
        let none = vec![(f64::NAN, f64::NAN); self.settings.levels.len()];
        Ok(wanted.iter().map(|t| Own { value: value(t), intervals: none.clone() }).collect())
    }
}
