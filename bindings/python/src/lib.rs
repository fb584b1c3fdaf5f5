//! The Python package of dmci: what is written in Rust. The typed layer above it is in `python/dmci`.
//!
//! **Invariant:** work that may take long runs with the lock of the interpreter released, and every error becomes
//! an exception that carries its diagnostics.

mod compare;
mod data;
mod errors;
mod fit;
mod interrupt;
mod model;
mod options;
mod predict;
mod program;
#[cfg(feature = "sample")]
mod sample;
mod search;

use pyo3::prelude::*;

/// What `dmci` in Python is built on.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<options::Options>()?;
    module.add_class::<program::Interpreter>()?;
    module.add_class::<model::Model>()?;
    module.add_class::<model::Rows>()?;
    module.add_function(wrap_pyfunction!(program::names, module)?)?;
    module.add_function(wrap_pyfunction!(program::compose, module)?)?;
    module.add_function(wrap_pyfunction!(program::compile, module)?)?;
    module.add_function(wrap_pyfunction!(program::is_compiled, module)?)?;
    module.add_function(wrap_pyfunction!(program::decompile, module)?)?;
    module.add_function(wrap_pyfunction!(program::forms, module)?)?;
    module.add_function(wrap_pyfunction!(program::from_forms, module)?)?;
    module.add_function(wrap_pyfunction!(program::explain_code, module)?)?;
    module.add_class::<fit::Fitting>()?;
    module.add_function(wrap_pyfunction!(fit::start_fit, module)?)?;
    module.add_function(wrap_pyfunction!(fit::start_request, module)?)?;
    module.add_function(wrap_pyfunction!(fit::read_request, module)?)?;
    module.add_function(wrap_pyfunction!(fit::setting_names, module)?)?;
    module.add_function(wrap_pyfunction!(fit::formula, module)?)?;
    module.add_function(wrap_pyfunction!(fit::check_notation, module)?)?;
    module.add_function(wrap_pyfunction!(predict::predict, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare, module)?)?;
    module.add_function(wrap_pyfunction!(compare::forecast, module)?)?;
    module.add_function(wrap_pyfunction!(search::search, module)?)?;
    #[cfg(feature = "sample")]
    module.add_function(wrap_pyfunction!(sample::draw, module)?)?;
    Ok(())
}
