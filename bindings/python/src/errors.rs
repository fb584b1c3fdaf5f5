//! Diagnostics as exceptions.

use dmci::{Report, Spelling};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The Python function that makes an exception of a report.
static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The exception of a report: `dmci.Error`, or the class of it that belongs to its code.
pub fn of_report(py: Python<'_>, report: &Report) -> PyErr {
    let make = MAKE.get_or_try_init(py, || -> PyResult<Py<PyAny>> {
        Ok(py.import("dmci._errors")?.getattr("from_native")?.unbind())
    });
    let (json, picture) = spelled(report);
    let exception = make.and_then(|make| make.bind(py).call1((json, picture, &report.output)));
    match exception {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// A report with settings as keywords: as JSON, and as a picture.
pub fn spelled(report: &Report) -> (String, String) {
    let report = report.spelled(Spelling::Keyword);
    (report.to_json().to_string(), report.render(false))
}
