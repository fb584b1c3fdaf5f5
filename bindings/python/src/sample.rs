//! Sampling from posteriors.

use crate::errors::of_report;
use crate::fit::problem;
use crate::interrupt::interruptible;
use crate::options::Options;
use dmci::Program;
use dmci_sample::{SampleOptions, Samples, sample};
use numpy::{PyArray1, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Draws from the posterior of a program with priors: names, draws by chain, draw and number, divergences and
/// gradients.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "it is called from one place in Python")]
pub fn draw<'py>(
    py: Python<'py>,
    name: &str,
    text: &str,
    columns: &Bound<'py, PyDict>,
    settings: &Bound<'py, PyDict>,
    options: &Options,
    chains: usize,
    draws: usize,
    tune: usize,
) -> PyResult<(Vec<String>, Bound<'py, PyArray3<f64>>, usize, usize)> {
    let (problem, cancel) = problem(py, Program::named(name, text), columns, settings, options)?;
    let settings = SampleOptions { chains, draws, tune, seed: options.run.seed };
    let samples = interruptible(py, &cancel, || sample(&problem, &settings, &|_| !cancel.is_cancelled()))?;
    let Samples { names, chains, divergences, gradients, .. } = samples.map_err(|r| of_report(py, &r))?;
    let count = chains.len();
    let numbers: Vec<f64> = chains.into_iter().flatten().collect();
    let per_chain = numbers.len() / count.max(1) / names.len().max(1);
    let draws = PyArray1::from_vec(py, numbers).reshape([count, per_chain, names.len()])?;
    Ok((names, draws, divergences, gradients))
}
