//! Fits: they run on a thread of their own, so that anybody may wait, look, or stop them.

use crate::data::{bindings, to_datum};
use crate::errors::{of_report, spelled};
use dmci::ErrorCode;
use dmci::{Bindings, Cancel, Column, Datum, Diagnostic, Program, Report};
use dmci_fit::{
    Fit, FitOptions, FitRecord, FitRequest, FormulaProgram, FormulaSettings, Inputs, Problem, Progress, Table,
    TableColumn,
};
use numpy::{PyArray1, PyArrayMethods, PyUntypedArray};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// How often signals are looked for.
const SLICE: Duration = Duration::from_millis(20);

/// Where a fit is: rounds, most rounds, best loss, searches that run, all searches, points, optimiser.
type Now = (usize, usize, f64, usize, usize, usize, &'static str);

/// A fit that runs, or has ended.
#[pyclass(frozen, module = "dmci._native")]
pub struct Fitting {
    work: Arc<Work>,
    cancel: Cancel,
    state: Arc<State>,
}

/// What is fitted.
struct Work {
    request: FitRequest,
    /// The program, as it was written.
    program: Program,
    problem: Problem,
    options: FitOptions,
}

#[derive(Default)]
struct State {
    inner: Mutex<Inner>,
    ended: Condvar,
}

#[derive(Default)]
struct Inner {
    now: Option<Now>,
    result: Option<Result<Arc<Fit>, Report>>,
    /// What the callback raised.
    raised: Option<PyErr>,
    abort: bool,
}

impl State {
    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// Keeps `cancel` and the state honest, also if the work panics.
struct Ending(Arc<State>);

impl Drop for Ending {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        if inner.result.is_none() {
            let error = Diagnostic::error(ErrorCode::E9901, "the fit ended unexpectedly");
            inner.result = Some(Err(Report::from(error)));
        }
        drop(inner);
        self.0.ended.notify_all();
    }
}

/// A column of a table, of an array or a list.
fn table_column(name: String, values: &Bound<'_, PyAny>) -> PyResult<TableColumn> {
    let values = if let Ok(integers) = values.cast::<PyArray1<i64>>() {
        let integers = integers.try_readonly()?;
        Column::Data(integers.as_array().iter().map(|&i| Datum::Integer(i)).collect())
    } else if let Ok(array) = values.cast::<PyUntypedArray>() {
        Column::Reals(crate::data::reals(array)?)
    } else {
        let list = values.cast::<PyList>()?;
        Column::Data(list.iter().map(|item| to_datum(&item)).collect::<PyResult<_>>()?)
    };
    Ok(TableColumn { name, values, stray: None, missing: Vec::new() })
}

/// The table of named columns; with `gaps`, NaN means that there is no value.
pub fn table(name: &str, columns: &Bound<'_, PyDict>, gaps: bool) -> PyResult<Table> {
    let mut list = Vec::new();
    for (name, values) in columns.iter() {
        let mut column = table_column(name.extract()?, &values)?;
        if let (Column::Reals(numbers), true) = (&column.values, gaps) {
            column.missing = (0..numbers.len()).filter(|&row| numbers[row].is_nan()).collect();
        }
        list.push(column);
    }
    let rows = list.first().map_or(0, |c| c.values.len());
    Ok(Table { name: name.into(), columns: list, rows, ..Table::default() })
}

/// What a fit is made from, besides its request.
pub struct Given {
    /// The program, as it was written.
    pub program: Program,
    /// The table.
    pub table: Table,
    /// The text of a fit to start from, with the name of its file.
    pub start_from: Option<(String, String)>,
    /// Values for names that JSON cannot hold, such as arrays.
    pub bindings: Bindings,
}

/// The problem of a request, how it is searched, and what cancels it. The evaluator is the name and the text of the
/// file that the mode names.
pub fn problem(
    request: &mut FitRequest,
    given: &Given,
    evaluator: Option<(String, String)>,
) -> Result<(Problem, FitOptions, Cancel), Report> {
    let Given { program, table, start_from, bindings } = given;
    request.run.set.retain(|(name, _)| bindings.iter().all(|(other, _)| other != name));
    request.run.set.extend(bindings.iter().cloned());
    if let Some(setting) = request.outputs.checkpoint.as_ref().map(|_| "checkpoint") {
        let error = Diagnostic::error(ErrorCode::E0910, format!("‹{setting}› is not kept by a fit in Python"));
        return Err(error.help("leave it out; FitHandle.abort ends a fit with the best so far").into());
    }
    let options = request.options()?;
    let run = request.run.options(evaluator.map(|(name, text)| Program::named(&name, &text)))?;
    let cancel = run.cancel.clone();
    let start = start_from.as_ref().map(|(name, text)| FitRecord::from_json(name, text)).transpose()?;
    let inputs = Inputs { program: program.clone(), table, start_from: start.as_ref(), run };
    Ok((request.problem(inputs)?, options, cancel))
}

/// A fit of data in memory. Settings are a request in JSON, `starts` what JSON cannot hold. The callback is asked
/// after every round with where the fit is; if it gives true, the fit stops.
#[pyfunction]
#[pyo3(signature = (program, columns, settings, starts, *, data_name="the data", evaluator=None, start_from=None, callback=None))]
#[allow(clippy::too_many_arguments, reason = "it is called from one place in Python")]
pub fn start_fit(
    py: Python<'_>,
    program: (String, String),
    columns: &Bound<'_, PyDict>,
    settings: &str,
    starts: &Bound<'_, PyDict>,
    data_name: &str,
    evaluator: Option<(String, String)>,
    start_from: Option<(String, String)>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Fitting> {
    let request = FitRequest::from_json(settings).map_err(|report| of_report(py, &report))?;
    let table = table(data_name, columns, request.problem.nan_is_missing())?;
    let program = Program::named(&program.0, &program.1);
    let given = Given { program, table, start_from, bindings: bindings(starts)? };
    begin(py, request, given, evaluator, callback)
}

/// A fit of the table in a file, of which the bytes are given, as `dmci fit --request` does it.
#[pyfunction]
#[pyo3(signature = (program, bytes, settings, *, evaluator=None, start_from=None, callback=None))]
pub fn start_request(
    py: Python<'_>,
    program: (String, String),
    bytes: &[u8],
    settings: &str,
    evaluator: Option<(String, String)>,
    start_from: Option<(String, String)>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Fitting> {
    let read = || {
        let request = FitRequest::from_json(settings)?;
        request.check()?;
        if request.problem.formula.is_none() {
            request.problem.source()?;
        }
        let given = Program::named(&program.0, &program.1);
        let columns = request.problem.columns_read(request.problem.formula.is_none().then_some(&given))?;
        let (file, missing) = (request.problem.data_file()?, &request.problem.missing);
        let mut table = Table::from_bytes_of(file, bytes, missing, Some(&columns))?;
        let (request, formula) = request.with_formula(&mut table)?;
        let written = request.problem.text.clone().unwrap_or_default();
        let program = match formula {
            Some(_) => Program::named("<formula>", &written),
            None => given,
        };
        Ok((request, table, program))
    };
    let (request, table, program) = read().map_err(|report: Report| of_report(py, &report))?;
    begin(py, request, Given { program, table, start_from, bindings: Vec::new() }, evaluator, callback)
}

/// The settings of a request that differ from their defaults, in JSON: of a text in JSON, or in TOML if its file is
/// called so, with paths in its folder.
#[pyfunction]
pub fn read_request(py: Python<'_>, file: &str, text: &str, folder: &str) -> PyResult<String> {
    let request = FitRequest::map_of(file, text).and_then(FitRequest::from_map);
    let request = request.map_err(|report| of_report(py, &report))?;
    Ok(request.in_folder(folder).to_json().to_string())
}

/// The program that a formula stands for beside these columns, and the column that it names as its target.
#[pyfunction]
#[pyo3(signature = (text, columns, start=None, ranges=None, param=Vec::new()))]
pub fn formula(
    py: Python<'_>,
    text: &str,
    columns: Vec<String>,
    start: Option<String>,
    ranges: Option<String>,
    param: Vec<String>,
) -> PyResult<(String, Option<String>)> {
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let settings = FormulaSettings { start: start.as_deref(), ranges: ranges.as_deref(), param: &param };
    let formula = FormulaProgram::new(text, &columns, &settings).map_err(|report| of_report(py, &report))?;
    let target = formula.target_column().map_err(|report| of_report(py, &report))?;
    Ok((formula.text, target))
}

/// Refuses a formula, or Python, where a program is expected.
#[pyfunction]
pub fn check_notation(py: Python<'_>, name: &str, text: &str) -> PyResult<()> {
    dmci_fit::check_notation(&Program::named(name, text)).map_err(|report| of_report(py, &report))
}

/// The names of all settings of a request.
#[pyfunction]
pub fn setting_names() -> Vec<String> {
    FitRequest::names().to_vec()
}

fn begin(
    py: Python<'_>,
    mut request: FitRequest,
    given: Given,
    evaluator: Option<(String, String)>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Fitting> {
    let made = py.detach(|| problem(&mut request, &given, evaluator));
    let (problem, options, cancel) = made.map_err(|report| of_report(py, &report))?;
    let work = Arc::new(Work { request, program: given.program, problem, options });
    let fitting = Fitting { work, cancel, state: Arc::default() };
    let (work, cancel, state) = (fitting.work.clone(), fitting.cancel.clone(), fitting.state.clone());
    let run = move || {
        let ending = Ending(state);
        let state = &ending.0;
        let mut observe = |progress: &Progress| observe(state, progress, callback.as_ref());
        let result = work.request.fit(&work.problem, &work.options, &mut observe, &|| cancel.is_cancelled());
        state.lock().result = Some(result.map(Arc::new));
        // Objects of Python may only be dropped with its lock.
        Python::try_attach(|_| drop(callback));
    };
    std::thread::Builder::new().name("dmci-fit".into()).stack_size(16 << 20).spawn(run)?;
    Ok(fitting)
}

/// Notes where a fit is, asks the callback, and says whether to go on.
fn observe(state: &State, progress: &Progress, callback: Option<&Py<PyAny>>) -> ControlFlow<()> {
    let Progress { epoch, epochs, loss, running, restarts, evaluations, optimizer, .. } = *progress;
    let now: Now = (epoch, epochs, loss, running, restarts, evaluations, optimizer);
    let mut inner = state.lock();
    inner.now = Some(now);
    if inner.abort {
        return ControlFlow::Break(());
    }
    drop(inner);
    let Some(callback) = callback else { return ControlFlow::Continue(()) };
    let answer = Python::try_attach(|py| callback.call1(py, (now,)).and_then(|answer| answer.is_truthy(py)));
    match answer {
        Some(Ok(false)) => ControlFlow::Continue(()),
        Some(Ok(true)) | None => ControlFlow::Break(()),
        Some(Err(error)) => {
            state.lock().raised = Some(error);
            ControlFlow::Break(())
        }
    }
}

#[pymethods]
impl Fitting {
    /// The name and the text of the program, as it was written.
    fn program(&self) -> (String, String) {
        (self.work.program.name.to_string(), self.work.program.text.to_string())
    }

    /// Waits until the fit has ended, for so many seconds at most; whether it has. Signals are heeded.
    fn wait(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<bool> {
        let limit = seconds.map_or(Duration::MAX, |s| Duration::try_from_secs_f64(s).unwrap_or(Duration::MAX));
        let began = std::time::Instant::now();
        loop {
            let left = limit.saturating_sub(began.elapsed());
            let ended = py.detach(|| {
                let inner = self.state.lock();
                let running = |inner: &mut Inner| inner.result.is_none();
                let waited = self.state.ended.wait_timeout_while(inner, left.min(SLICE), running);
                waited.unwrap_or_else(|e| e.into_inner()).0.result.is_some()
            });
            if ended || left.is_zero() {
                return Ok(ended);
            }
            py.check_signals()?;
        }
    }

    /// Where the fit is; none before its first round.
    fn inspect(&self) -> Option<Now> {
        self.state.lock().now
    }

    /// Whether it has ended.
    fn done(&self) -> bool {
        self.state.lock().result.is_some()
    }

    /// Asks it to end with the best so far.
    fn abort(&self) {
        let mut inner = self.state.lock();
        if inner.result.is_none() {
            inner.abort = true;
            self.cancel.cancel();
        }
    }

    /// The result: as JSON, with an SVG picture, the predictions of the fitted rows and of those held out, the indices
    /// of both, the program with the fitted values, whether somebody interrupted the fit, warnings, what an objective
    /// predicts, and the bytes of the files that the request names.
    #[allow(clippy::type_complexity, reason = "Python takes it apart at once")]
    fn result<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(
        String,
        String,
        [Bound<'py, PyArray1<f64>>; 2],
        [Vec<usize>; 2],
        String,
        bool,
        (String, String),
        Vec<(usize, f64, bool)>,
        Vec<(String, Bound<'py, PyBytes>)>,
    )> {
        // Objects of Python are made without the lock: making them may let other threads run.
        let (raised, result) = {
            let mut inner = self.state.lock();
            (inner.raised.take(), inner.result.clone())
        };
        if let Some(error) = raised {
            return Err(error);
        }
        let fit = match result {
            None => return Err(PyRuntimeError::new_err("the fit has not ended")),
            Some(Err(report)) => return Err(of_report(py, &report)),
            Some(Ok(fit)) => fit,
        };
        let Work { request, program, problem, options } = &*self.work;
        let record = FitRecord::new(problem, options, &fit);
        let picture = request
            .outputs
            .log_axes()
            .and_then(|log| dmci_fit::picture(problem, &fit, request.outputs.x.as_deref(), log))
            .map(|p| dmci_plot::svg(&p));
        let files = request.outputs(program, problem, &fit, &record).map_err(|report| of_report(py, &report))?;
        let files = files.into_iter().map(|file| (file.path.to_string(), PyBytes::new(py, &file.bytes))).collect();
        let predictions = [&fit.predictions, &fit.held_out_predictions].map(|list| PyArray1::from_slice(py, list));
        let rows = [problem.training(), problem.held_out()].map(|rows| rows.indices.clone());
        let program = dmci_fit::with_starts(problem, &fit).unwrap_or_default();
        let interrupted = fit.was_interrupted();
        let json = record.to_json().to_string();
        let svg = picture.unwrap_or_default();
        Ok((json, svg, predictions, rows, program, interrupted, spelled(&fit.warnings), fit.series.clone(), files))
    }
}
