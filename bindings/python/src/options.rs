//! How programs are run.

use crate::errors;
use dmci::{Limits, Mode, Numerics, Report, RunOptions};
use pyo3::prelude::*;
use std::time::Duration;

/// Mode, limits, seed and precision of runs.
#[pyclass(frozen, module = "dmci._native")]
pub struct Options {
    /// Without bindings.
    pub run: RunOptions,
}

#[pymethods]
impl Options {
    #[new]
    #[pyo3(signature = (mode, *, evaluator=None, fuel=None, heap=None, depth=None, output=None, time=None, seed=0,
                        single=false, clamps=false))]
    #[allow(clippy::too_many_arguments, reason = "each is an option of its own")]
    fn new(
        py: Python<'_>,
        mode: &str,
        evaluator: Option<(String, String)>,
        fuel: Option<u64>,
        heap: Option<usize>,
        depth: Option<usize>,
        output: Option<usize>,
        time: Option<f64>,
        seed: u64,
        single: bool,
        clamps: bool,
    ) -> PyResult<Options> {
        let mode = match evaluator {
            Some((name, text)) => Mode::Evaluator { name: name.into(), text: text.into() },
            None => Mode::parse(mode).map_err(|e| errors::of_report(py, &Report::from(e)))?,
        };
        let usual = Limits::default();
        let seconds = |s: f64| Duration::try_from_secs_f64(s).unwrap_or(Duration::MAX);
        let limits = Limits {
            fuel: fuel.unwrap_or(usual.fuel),
            heap: heap.unwrap_or(usual.heap),
            depth: depth.unwrap_or(usual.depth),
            output: output.unwrap_or(usual.output),
            time: time.map_or(usual.time, seconds),
        };
        let numerics = Numerics { single, clamps };
        Ok(Options { run: RunOptions { mode, limits, seed, numerics, ..RunOptions::default() } })
    }
}

impl Options {
    /// The options of one run: with a cancel flag of its own.
    pub fn fresh(&self) -> RunOptions {
        RunOptions { cancel: dmci::Cancel::default(), ..self.run.clone() }
    }
}
