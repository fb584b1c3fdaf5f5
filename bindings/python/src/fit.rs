//! Fits: they run on a thread of their own, so that anybody may wait, look, or stop them.

use crate::data::{bindings, to_datum};
use crate::errors::of_report;
use crate::options::Options;
use dmci::ErrorCode;
use dmci::{Cancel, Column, Datum, Diagnostic, Program, Report, RunOptions};
use dmci_fit::search::{CmaOptions, DifferentialOptions, EvolutionOptions, SamplingOptions};
use dmci_fit::{
    Budget, Fit, FitOptions, Holdout, Loss, Method, Optimizer, Problem, ProblemOptions, Progress, Table, TableColumn,
};
use numpy::{PyArray1, PyArrayMethods, PyUntypedArray};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
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
    problem: Arc<Problem>,
    options: Arc<FitOptions>,
    cancel: Cancel,
    state: Arc<State>,
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
fn table(name: &str, columns: &Bound<'_, PyDict>, gaps: bool) -> PyResult<Table> {
    let mut list = Vec::new();
    for (name, values) in columns.iter() {
        let mut column = table_column(name.extract()?, &values)?;
        if let (Column::Reals(numbers), true) = (&column.values, gaps) {
            column.missing = (0..numbers.len()).filter(|&row| numbers[row].is_nan()).collect();
        }
        list.push(column);
    }
    let rows = list.first().map_or(0, |c| c.values.len());
    Ok(Table { name: name.into(), columns: list, rows })
}

/// A setting of a dictionary, if it is there and not `None`.
fn setting<'py, T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>>(
    settings: &Bound<'py, PyDict>,
    name: &str,
) -> PyResult<Option<T>> {
    match settings.get_item(name)? {
        Some(value) if !value.is_none() => value.extract().map(Some).map_err(Into::into),
        _ => Ok(None),
    }
}

fn usage(message: String, help: impl Into<String>) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0910, message).help(help))
}

/// The problem of a program and a table.
pub fn problem(
    py: Python<'_>,
    program: Program,
    columns: &Bound<'_, PyDict>,
    settings: &Bound<'_, PyDict>,
    options: &Options,
) -> PyResult<(Problem, Cancel)> {
    let fail = |report: Report| of_report(py, &report);
    let gaps = setting(settings, "missing")?.unwrap_or(false);
    let table = table(&setting(settings, "data_name")?.unwrap_or("the data".to_string()), columns, gaps)?;
    let mut run = RunOptions { ..options.fresh() };
    if let Some(start) = settings.get_item("start")? {
        run.bindings = bindings(start.cast()?)?;
    }
    let cancel = run.cancel.clone();
    let (sigma, trials): (Option<String>, Option<String>) = (setting(settings, "sigma")?, setting(settings, "trials")?);
    let loss = match setting::<String>(settings, "loss")? {
        Some(name) => Loss::named(&name).unwrap_or(Loss::Procedure(name)),
        None => Loss::meant(sigma.is_some(), trials.is_some()),
    };
    let loss = match loss {
        Loss::Huber(usual) => Loss::Huber(setting(settings, "huber")?.unwrap_or(usual)),
        Loss::StudentT(usual) => Loss::StudentT(setting(settings, "df")?.unwrap_or(usual)),
        other => other,
    };
    let holdout = match setting::<String>(settings, "holdout")? {
        None => Holdout::None,
        Some(text) => Holdout::parse(&text).ok_or_else(|| {
            let message = format!("expected rows to hold out, got holdout={text:?}");
            fail(usage(message, "a share such as 0.3, 'tail:0.3', 'column:NAME', 'range:NAME:LOW:HIGH' or 'fold:2/5'"))
        })?,
    };
    let chosen = ProblemOptions {
        run,
        holdout,
        loss,
        weights: setting(settings, "weights")?,
        sigma,
        trials,
        group: setting(settings, "group")?,
        only: setting(settings, "only")?,
        ..ProblemOptions::default()
    };
    let target: Option<String> = setting(settings, "target")?;
    let objective = setting(settings, "objective")?.unwrap_or(false);
    let problem = py.detach(|| match objective {
        true => Problem::objective(program, &table, target.as_deref(), chosen),
        false => Problem::new(program, &table, target.as_deref().unwrap_or_default(), chosen),
    });
    Ok((problem.map_err(fail)?, cancel))
}

fn method(settings: &Bound<'_, PyDict>) -> PyResult<Result<Method, Report>> {
    let name: String = setting(settings, "optimizer")?.unwrap_or("auto".into());
    let mut optimizer = match name.as_str() {
        "auto" => return Ok(Ok(Method::Auto)),
        "portfolio" => return Ok(Ok(Method::Portfolio)),
        _ => match Optimizer::named(&name) {
            Some(optimizer) => optimizer,
            None => {
                let help = format!("there are auto, portfolio, {}", Optimizer::NAMES.join(", "));
                return Ok(Err(usage(format!("there is no optimizer {name}"), help)));
            }
        },
    };
    let (rate, population): (Option<f64>, Option<usize>) =
        (setting(settings, "rate")?, setting(settings, "population")?);
    match &mut optimizer {
        Optimizer::Adam(o) => {
            o.rate = rate.unwrap_or(o.rate);
            o.clip = setting(settings, "clip")?.or(o.clip);
            o.patience = setting(settings, "patience")?.unwrap_or(o.patience);
        }
        Optimizer::Descent(o) => o.rate = rate.or(o.rate),
        Optimizer::Cma(CmaOptions { population: p, .. })
        | Optimizer::Differential(DifferentialOptions { population: p, .. }) => *p = population.or(*p),
        Optimizer::Evolution(EvolutionOptions { children, parents, .. }) => {
            if let Some(n) = population {
                (*children, *parents) = (n.max(2), (n / 2).max(1));
            }
        }
        Optimizer::Sampling(SamplingOptions { points }) => *points = population.unwrap_or(*points),
        _ => {}
    }
    Ok(Ok(Method::One(optimizer)))
}

/// Starts a fit. The callback is asked after every round with where the fit is; if it gives true, the fit stops.
#[pyfunction]
#[pyo3(signature = (name, text, columns, settings, options, callback=None))]
pub fn start_fit(
    py: Python<'_>,
    name: &str,
    text: &str,
    columns: &Bound<'_, PyDict>,
    settings: &Bound<'_, PyDict>,
    options: &Options,
    callback: Option<Py<PyAny>>,
) -> PyResult<Fitting> {
    let (problem, cancel) = problem(py, Program::named(name, text), columns, settings, options)?;
    let seconds: Option<f64> = setting(settings, "time_limit")?;
    let fit_options = FitOptions {
        method: method(settings)?.map_err(|report| of_report(py, &report))?,
        budget: Budget {
            epochs: setting(settings, "epochs")?,
            target: setting(settings, "stop_at")?,
            window: setting(settings, "window")?.unwrap_or(0),
            last: setting(settings, "last")?.unwrap_or(false),
        },
        more_restarts: setting::<usize>(settings, "restarts")?.unwrap_or(1).clamp(1, 100_000) - 1,
        no_projection: setting::<bool>(settings, "no_projection")?.unwrap_or(false),
        // Who says how many searches there are means it.
        search_work: match setting::<usize>(settings, "restarts")? {
            Some(_) => Some(0.0),
            None => setting::<f64>(settings, "search_work")?,
        },
        seed: options.run.seed,
        time: seconds.map(|s| Duration::try_from_secs_f64(s).unwrap_or(Duration::MAX)),
        evaluations: setting(settings, "max_evals")?,
        resume: setting(settings, "resume")?,
    };
    let fitting = Fitting { problem: Arc::new(problem), options: Arc::new(fit_options), cancel, state: Arc::default() };
    let (problem, options, state) = (fitting.problem.clone(), fitting.options.clone(), fitting.state.clone());
    let run = move || {
        let ending = Ending(state);
        let state = &ending.0;
        let result = dmci_fit::fit(&problem, &options, &mut |progress| observe(state, progress, callback.as_ref()));
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

    /// The result: as JSON, as a table with an SVG picture, the predictions of the fitted rows and of those held out,
    /// the indices of both, the program with the fitted values, and whether somebody interrupted the fit.
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
        let problem = &*self.problem;
        let json = dmci_fit::to_json(problem, &self.options, &fit).to_string();
        let picture = dmci_fit::picture(problem, &fit, None).map(|p| dmci_plot::svg(&p));
        let predictions = [&fit.predictions, &fit.held_out_predictions].map(|list| PyArray1::from_slice(py, list));
        let rows = [&problem.training, &problem.held_out].map(|rows| rows.indices.clone());
        let program = dmci_fit::with_starts(problem, &fit).unwrap_or_default();
        let warnings = (fit.warnings.to_json().to_string(), fit.warnings.render(false));
        let svg = picture.unwrap_or_default();
        Ok((json, svg, predictions, rows, program, fit.was_interrupted(), warnings, fit.series.clone()))
    }
}
