//! Sampling from posteriors.

use crate::data::bindings;
use crate::errors::of_report;
use crate::fit::{Given, problem, table};
use crate::interrupt::interruptible;
use dmci::Program;
use dmci_fit::FitRequest;
use dmci_sample::{SampleOptions, Samples, Summary, sample};
use numpy::{PyArray1, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What the draws of a number say: its name, mean, standard deviation, quantiles of 5, 50 and 95%, R-hat and effective size.
type Drawn = (String, f64, f64, f64, f64, f64, f64, f64);

/// Draws from the posterior of a program with priors: names, draws by chain, draw and number, divergences, gradients,
/// and what the draws say.
#[pyfunction]
#[pyo3(signature = (program, columns, settings, starts, *, evaluator=None, chains=None, draws=None, tune=None))]
#[allow(clippy::too_many_arguments, reason = "it is called from one place in Python")]
pub fn draw<'py>(
    py: Python<'py>,
    program: (String, String),
    columns: &Bound<'py, PyDict>,
    settings: &str,
    starts: &Bound<'py, PyDict>,
    evaluator: Option<(String, String)>,
    chains: Option<usize>,
    draws: Option<usize>,
    tune: Option<usize>,
) -> PyResult<(Vec<String>, Bound<'py, PyArray3<f64>>, usize, usize, Vec<Drawn>)> {
    let mut request = FitRequest::from_json(settings).map_err(|report| of_report(py, &report))?;
    let given = Given {
        program: Program::named(&program.0, &program.1),
        table: table("the data", columns, request.problem.nan_is_missing())?,
        start_from: None,
        bindings: bindings(starts)?,
    };
    let made = py.detach(|| problem(&mut request, &given, evaluator));
    let (problem, _, cancel) = made.map_err(|report| of_report(py, &report))?;
    let usual = SampleOptions::default();
    let settings = SampleOptions {
        chains: chains.unwrap_or(usual.chains),
        draws: draws.unwrap_or(usual.draws),
        tune: tune.unwrap_or(usual.tune),
        seed: request.run.seed,
    };
    let samples = interruptible(py, &cancel, || sample(&problem, &settings, &|_| !cancel.is_cancelled()))?;
    let samples = samples.map_err(|r| of_report(py, &r))?;
    let drawn = |s: Summary| {
        let [low, middle, high] = s.quantiles;
        (s.name, s.mean, s.sd, low, middle, high, s.r_hat, s.effective)
    };
    let summaries = samples.summaries().into_iter().map(drawn).collect();
    let Samples { names, chains, divergences, gradients, .. } = samples;
    let count = chains.len();
    let numbers: Vec<f64> = chains.into_iter().flatten().collect();
    let per_chain = numbers.len() / count.max(1) / names.len().max(1);
    let draws = PyArray1::from_vec(py, numbers).reshape([count, per_chain, names.len()])?;
    Ok((names, draws, divergences, gradients, summaries))
}
