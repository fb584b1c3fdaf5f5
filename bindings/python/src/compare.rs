//! Several models of the same rows, and a model as a forecaster.

use crate::data::bindings;
use crate::errors::of_report;
use crate::fit::table;
use crate::interrupt::interruptible;
use dmci::{Bindings, Program, Report};
use dmci_fit::{Entrant, FitRecord, FitRequest, ForecastSettings, Progress, Table, Validation};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value as Json};
use std::ops::ControlFlow;

/// A model that takes part: its name, the text of its program or a formula, and a fit to start from with the name of its
/// file.
type Given = (String, Option<String>, Option<String>, Option<(String, String)>);

/// The settings of a text in JSON.
fn settings_of(text: &str) -> Map<String, Json> {
    serde_json::from_str::<Json>(text).ok().and_then(|json| json.as_object().cloned()).unwrap_or_default()
}

/// A model with its request and its table.
fn entrant(given: Given, mut settings: Map<String, Json>, table: &Table, names: &Bindings) -> Result<Entrant, Report> {
    let (name, text, formula, fit) = given;
    settings.extend(text.map(|text| ("text".to_string(), Json::String(text))));
    settings.extend(formula.map(|formula| ("formula".to_string(), Json::String(formula))));
    let mut table = table.clone();
    let (mut request, _) = FitRequest::from_map(settings)?.with_formula(&mut table)?;
    request.run.set.extend(names.iter().cloned());
    let program = Program::named(&name, request.problem.text.as_deref().unwrap_or_default());
    let start_from = fit.map(|(file, text)| FitRecord::from_json(&file, &text)).transpose()?;
    Ok(Entrant { name, request, program, table, start_from })
}

/// Fits models to the same rows: the comparison as JSON and as text.
#[pyfunction]
#[pyo3(signature = (models, columns, settings, names, cv=None))]
pub fn compare(
    py: Python<'_>,
    models: Vec<Given>,
    columns: &Bound<'_, PyDict>,
    settings: &str,
    names: &Bound<'_, PyDict>,
    cv: Option<&str>,
) -> PyResult<(String, String)> {
    let failed = |report: Report| of_report(py, &report);
    let settings = settings_of(settings);
    let request = FitRequest::from_map(settings.clone()).map_err(failed)?;
    let (table, names) = (table("the data", columns, request.problem.nan_is_missing())?, bindings(names)?);
    let run = request.run.options(None).map_err(failed)?;
    let validation = cv.map(Validation::parse).transpose().map_err(failed)?;
    let made = |given| entrant(given, settings.clone(), &table, &names);
    let entrants = models.into_iter().map(made).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let cancel = run.cancel.clone();
    let mut watch =
        |_: &Progress| if cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let work = || dmci_fit::compare(&entrants, validation.as_ref(), &run, &mut watch);
    let found = interruptible(py, &cancel, work)?.map_err(failed)?;
    Ok((found.to_json().to_string(), found.text()))
}

/// Forecasts from several origins: the scores as JSON and as text, all forecasts as CSV, and a picture as SVG.
#[pyfunction]
pub fn forecast(
    py: Python<'_>,
    model: Given,
    columns: &Bound<'_, PyDict>,
    settings: &str,
    forecast: &str,
    names: &Bound<'_, PyDict>,
) -> PyResult<(String, String, String, String)> {
    let failed = |report: Report| of_report(py, &report);
    let settings = settings_of(settings);
    let own = ForecastSettings::from_map(settings_of(forecast)).map_err(failed)?;
    let gaps = FitRequest::from_map(settings.clone()).map_err(failed)?.problem.nan_is_missing();
    let (table, names) = (table("the data", columns, gaps)?, bindings(names)?);
    let entrant = entrant(model, settings, &table, &names).map_err(failed)?;
    let run = entrant.request.run.options(None).map_err(failed)?;
    let cancel = run.cancel.clone();
    let mut watch =
        |_: &Progress| if cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let work = || dmci_fit::forecast(&entrant, &own, &run, &mut watch);
    let found = interruptible(py, &cancel, work)?.map_err(failed)?;
    Ok((found.to_json().to_string(), found.text(), found.to_csv(), found.figure().svg()))
}
