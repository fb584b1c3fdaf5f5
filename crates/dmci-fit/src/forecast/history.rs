//! Series in time: what is known at an origin, and what is forecast from there.

use super::{ForecastSettings, Origins, wrong};
use crate::binding::{find_column, marks};
use crate::compare::Entrant;
use dmci::{Diagnostic, ErrorCode, Report};
use dmci_table::{Holdout, Table, split};

/// One series, in the order of its times.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name of its group; empty if there is one series.
    pub name: String,
    /// Times, each once.
    pub times: Vec<f64>,
    /// What was measured; NaN where that is missing.
    pub values: Vec<f64>,
    /// The rows of the table.
    pub rows: Vec<usize>,
    /// The column that says where forecasts start.
    marks: Vec<f64>,
    /// It is known as a whole from the beginning and not forecast.
    pub training: bool,
}

/// All series of a table.
#[derive(Clone, Debug)]
pub struct History {
    /// The column that is forecast.
    pub target: String,
    /// The series.
    pub series: Vec<Series>,
    /// The usual step from one time to the next.
    pub step: f64,
}

/// A measurement to be forecast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The number of its series.
    pub series: usize,
    /// Its place there.
    pub index: usize,
    /// The number of its horizon.
    pub horizon: usize,
}

/// The share of a step within which a time counts as the one that was meant: months and dates as decimals are not even.
const NEAR: f64 = 0.25;

fn numbers(table: &Table, name: &str) -> Result<Vec<f64>, Report> {
    find_column(table, name)?.reals().map_err(|row| {
        let message = format!("{}: row {} of column {name} must be a number", table.name, row + 1);
        Report::from(Diagnostic::error(ErrorCode::E0705, message).help("correct the field, or name another column"))
    })
}

impl History {
    /// The series of a table. The rows that a holdout names say which groups are forecast; all others are known.
    pub fn new(entrant: &Entrant, settings: &ForecastSettings, origins: &Origins) -> Result<History, Report> {
        let (table, request) = (&entrant.table, &entrant.request.problem);
        let [target] = &request.target[..] else {
            return wrong(
                format!("a forecast needs one ‹target›, got {}", request.target.len()),
                "name the column that is measured; an objective compares its result yhat with it",
            );
        };
        let times = numbers(table, &settings.time)?;
        let values = numbers(table, target)?;
        let places = match &origins.column {
            Some(column) => numbers(table, column)?,
            None => times.clone(),
        };
        let forecast = forecast_rows(entrant, table)?;
        let column = settings.group.as_ref().map(|name| find_column(table, name)).transpose()?;
        let name = |row: usize| column.map_or(String::new(), |c| c.shown(row).trim_matches('"').to_string());
        let mut series: Vec<Series> = Vec::new();
        let mut order: Vec<usize> = (0..table.rows).filter(|&row| times[row].is_finite()).collect();
        order.sort_by(|&a, &b| times[a].total_cmp(&times[b]));
        let mut numbers = std::collections::HashMap::new();
        // Groups in the order of the table.
        for row in (0..table.rows).filter(|&row| times[row].is_finite()) {
            numbers.entry(name(row)).or_insert_with(|| {
                series.push(Series {
                    name: name(row),
                    times: Vec::new(),
                    values: Vec::new(),
                    rows: Vec::new(),
                    marks: Vec::new(),
                    training: true,
                });
                series.len() - 1
            });
        }
        for row in order {
            let own = &mut series[numbers[&name(row)]];
            if own.times.last() == Some(&times[row]) {
                let of = if own.name.is_empty() { String::new() } else { format!(" of {}", own.name) };
                let message = format!("{}: two rows{of} have the time {}", table.name, times[row]);
                return wrong(message, "each series has one row at a time: name the column of series with ‹group›");
            }
            own.times.push(times[row]);
            own.values.push(values[row]);
            own.rows.push(row);
            own.marks.push(places[row]);
            own.training &= !forecast[row];
        }
        let steps = series.iter().flat_map(|s| s.times.windows(2).map(|pair| pair[1] - pair[0]));
        let mut steps: Vec<f64> = steps.collect();
        steps.sort_by(f64::total_cmp);
        let Some(&step) = steps.get(steps.len() / 2) else {
            return wrong(
                format!("{}: no series has two rows", table.name),
                "name the column of times with ‹time›, and that of series with ‹group›",
            );
        };
        Ok(History { target: target.clone(), series, step })
    }

    /// The origins, in order.
    pub fn origins(&self, origins: &Origins) -> Vec<f64> {
        let forecast = self.series.iter().filter(|s| !s.training);
        let marked = forecast.flat_map(|s| s.times.iter().zip(&s.marks)).filter(|(_, mark)| origins.has(**mark));
        let mut times: Vec<f64> = marked.map(|(time, _)| *time).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        times
    }

    /// What is forecast from an origin: measurements at the horizons, of series of which something is known.
    pub fn targets(&self, origin: f64, horizons: &[f64]) -> Vec<Target> {
        let mut found = Vec::new();
        for (number, series) in self.series.iter().enumerate().filter(|(_, s)| !s.training) {
            if series.last(origin).is_none() {
                continue;
            }
            for (horizon, h) in horizons.iter().enumerate() {
                let index = self.at(series, origin + h).filter(|&i| series.times[i] > origin);
                found.extend(index.filter(|&i| series.values[i].is_finite()).map(|index| Target {
                    series: number,
                    index,
                    horizon,
                }));
            }
        }
        found
    }

    /// The place of a time in a series.
    pub fn at(&self, series: &Series, time: f64) -> Option<usize> {
        let next = series.times.partition_point(|t| *t < time);
        let near = |i: &usize| series.times.get(*i).is_some_and(|t| (t - time).abs() < NEAR * self.step);
        let distance = |i: &usize| (series.times[*i] - time).abs();
        [Some(next), next.checked_sub(1)]
            .into_iter()
            .flatten()
            .filter(near)
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// Whether a measurement is known at an origin.
    pub fn is_known(&self, series: &Series, index: usize, origin: f64) -> bool {
        series.values[index].is_finite() && (series.training || series.times[index] <= origin)
    }
}

impl Series {
    /// The last measurement up to a time.
    pub fn last(&self, time: f64) -> Option<usize> {
        (0..self.times.partition_point(|t| *t <= time)).rev().find(|&i| self.values[i].is_finite())
    }
}

/// Whether each row belongs to what is forecast: all, or those that a holdout names.
fn forecast_rows(entrant: &Entrant, table: &Table) -> Result<Vec<bool>, Report> {
    let Some(text) = &entrant.request.problem.holdout else { return Ok(vec![true; table.rows]) };
    let holdout = Holdout::parse(text).filter(|h| matches!(h, Holdout::Column(_) | Holdout::Range(..)));
    let Some(holdout) = holdout else {
        return wrong(
            format!("‹holdout› must say which groups are forecast, got {text}"),
            "write column:NAME or range:NAME:LOW:HIGH: groups with such rows are forecast, the others are known",
        );
    };
    // Rows are named, so that nothing is drawn.
    let (_, held) = split(table.rows, &holdout, 0, &|column| marks(table, column))?;
    let mut list = vec![false; table.rows];
    held.into_iter().for_each(|row| list[row] = true);
    Ok(list)
}
