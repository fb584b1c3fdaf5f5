//! New rows from fits, with intervals.

use crate::data::bindings;
use crate::errors::{of_report, spelled};
use crate::fit::table;
use crate::options::Options;
use dmci_fit::{FitRecord, Grid, PredictSettings};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value as Json;

/// Numbers of rows.
type Numbers<'py> = Bound<'py, PyArray1<f64>>;

/// The prediction of a target: its name, values, errors, and intervals with their lower and upper ends.
type Target<'py> = (String, Numbers<'py>, Numbers<'py>, Vec<(String, Numbers<'py>, Numbers<'py>)>);

/// Predictions of all targets of a fit in its JSON form, for rows of named columns or the places of the setting `at`,
/// with the probability of the intervals and the warnings. Settings are JSON; a row that fails is an exception.
#[pyfunction]
pub fn predict<'py>(
    py: Python<'py>,
    fit: (String, String),
    columns: Option<&Bound<'py, PyDict>>,
    settings: &str,
    constants: &Bound<'py, PyDict>,
    options: &Options,
) -> PyResult<(Vec<Target<'py>>, f64, (String, String))> {
    let constants = bindings(constants)?;
    let given = columns.map(|columns| table("the data", columns, true)).transpose()?;
    let found = py.detach(|| {
        let record = FitRecord::from_json(&fit.0, &fit.1)?;
        let map = serde_json::from_str::<Json>(settings).ok().and_then(|json| json.as_object().cloned());
        let settings = PredictSettings::from_map(map.unwrap_or_default())?;
        let table = match given {
            Some(table) => table,
            None => Grid::parse(settings.at.as_deref().unwrap_or_default())?.table(&record)?,
        };
        let mut run = options.fresh();
        run.bindings = constants;
        let found = dmci_fit::predict(&record, &table, &settings, run)?;
        match found.failures.first() {
            Some((_, failure)) => Err(failure.clone()),
            None => Ok(found),
        }
    });
    let found = found.map_err(|report| of_report(py, &report))?;
    let array = |list: &[f64]| PyArray1::from_slice(py, list);
    let targets = found.targets.iter().map(|target| {
        let bands = target.bands.iter().map(|(band, ends)| {
            let (low, high): (Vec<f64>, Vec<f64>) = ends.iter().copied().unzip();
            (band.name().to_string(), array(&low), array(&high))
        });
        (target.name.clone(), array(&target.values), array(&target.errors), bands.collect())
    });
    Ok((targets.collect(), found.level, spelled(&found.warnings)))
}
