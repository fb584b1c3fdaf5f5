//! Searches for programs: they run on threads of their own; Ctrl-C ends them with the best so far.

use crate::errors::of_report;
use crate::fit::table;
use crate::interrupt::until_interrupted;
use dmci::{Cancel, Report};
use dmci_driver::control::controls;
use dmci_driver::{Begun, SearchRequest, report, run, show};
use dmci_fit::Table;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How often a callback is asked at most.
const PACE: Duration = Duration::from_millis(100);

/// A program by the name of its file, or by its place in a list, and its text.
type Named = (String, String);

/// Searches a table: its columns, or the name and the bytes of its file. Settings are a request in JSON. The callback is
/// asked with the seconds, the RMSE of the best program on rows outside of its fit, the length of the front and the
/// hypotheses so far; if it gives true, the search ends. The result: JSON, text, a page, and whether somebody ended it.
#[pyfunction]
#[pyo3(signature = (settings, *, columns=None, file=None, missing=None, seeds=Vec::new(), baselines=Vec::new(), callback=None))]
#[allow(clippy::too_many_arguments, reason = "it is called from one place in Python")]
pub fn search(
    py: Python<'_>,
    settings: &str,
    columns: Option<&Bound<'_, PyDict>>,
    file: Option<(String, Vec<u8>)>,
    missing: Option<Vec<String>>,
    seeds: Vec<Named>,
    baselines: Vec<Named>,
    callback: Option<Py<PyAny>>,
) -> PyResult<(String, String, String, bool)> {
    let failed = |report: Report| of_report(py, &report);
    let request = SearchRequest::from_json(settings).map_err(failed)?;
    let table = match (columns, &file) {
        (Some(columns), _) => table("the data", columns, true)?,
        (None, Some((name, bytes))) => {
            Table::from_bytes_of(name, bytes, &missing.unwrap_or_default(), None).map_err(failed)?
        }
        (None, None) => Table { name: "the data".into(), columns: Vec::new(), rows: 0, ..Table::default() },
    };
    let begun = py.detach(|| request.begin(&table, &seeds, &baselines)).map_err(failed)?;
    let Begun { workshop, search, pending, own, seed } = begun;
    let cancel = Cancel::default();
    let raised: Mutex<Option<PyErr>> = Mutex::new(None);
    let stopped = Mutex::new(false);
    let work = || {
        let mut last: Option<Instant> = None;
        let mut watch = |search: &dmci_search::search::Search, elapsed: Duration| {
            let Some(callback) = &callback else { return };
            if last.is_some_and(|at| at.elapsed() < PACE) || cancel.is_cancelled() {
                return;
            }
            last = Some(Instant::now());
            let best = search.front().iter().map(|e| &e.score).min_by(|a, b| a.score.total_cmp(&b.score));
            let error = best.and_then(|s| s.validation).map_or(f64::NAN, f64::sqrt);
            let now = (elapsed.as_secs_f64(), error, search.front().len(), search.evaluations());
            let answer = Python::try_attach(|py| callback.call1(py, (now,)).and_then(|answer| answer.is_truthy(py)));
            match answer {
                Some(Ok(false)) => return,
                Some(Ok(true)) | None => *stopped.lock().unwrap_or_else(|e| e.into_inner()) = true,
                Some(Err(error)) => *raised.lock().unwrap_or_else(|e| e.into_inner()) = Some(error),
            }
            cancel.cancel();
        };
        let limits = request.limits(&cancel);
        let mut done = run(&workshop, search, pending, &limits, &mut |_, _| Ok(()), &mut watch)?;
        if request.controls && !cancel.is_cancelled() {
            done.controls = controls(&request, &workshop, done.search.evaluations(), &limits)?;
        }
        let judgement = limits.judging(&done, || Begun::judge(&workshop, &done.search, &own, seed))?;
        let page = report::html(&workshop, &done, &judgement);
        let json = show::json(&workshop, &done, &judgement).to_string();
        Ok((json, show::text(&workshop, &done, &judgement), page))
    };
    let (result, signal) = until_interrupted(py, &cancel, work)?;
    if let Some(error) = raised.into_inner().unwrap_or_else(|e| e.into_inner()) {
        return Err(error);
    }
    let by_user = stopped.into_inner().unwrap_or_else(|e| e.into_inner());
    let interrupted = match signal {
        None => by_user,
        Some(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => true,
        Some(error) => return Err(error),
    };
    let (json, text, page) = result.map_err(failed)?;
    Ok((json, text, page, interrupted))
}
