//! Programs: run, checked, differentiated, composed.

use crate::data::{bindings, to_datum, to_python};
use crate::errors::{of_report, spelled};
use crate::interrupt::interruptible;
use crate::options::Options;
use dmci::{
    Compiled, Datum, GradOptions, Passes, Program, Report, RunOptions, Shape, Spelling, TapeOptions, TapeReport, Wrt,
};
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::sync::Arc;

/// An interpreter: the evaluator, compiled once.
#[pyclass(frozen, module = "dmci._native")]
pub struct Interpreter {
    inner: Inner,
}

enum Inner {
    Shared,
    Own(Arc<dmci::Interpreter>),
}

/// A gradient: the value, the derivatives by name, the names of the single numbers, the derivatives by these, the
/// second derivatives, what was printed, and warnings as JSON and as text.
type Derivatives<'py> = (
    f64,
    Bound<'py, PyDict>,
    Vec<String>,
    Bound<'py, PyArray1<f64>>,
    Option<Bound<'py, PyArray2<f64>>>,
    String,
    (String, String),
);

impl Interpreter {
    fn get(&self) -> &dmci::Interpreter {
        match &self.inner {
            Inner::Shared => dmci::Interpreter::shared(),
            Inner::Own(interpreter) => interpreter,
        }
    }
}

fn with_bindings(options: &Options, names: &Bound<'_, PyDict>) -> PyResult<RunOptions> {
    Ok(RunOptions { bindings: bindings(names)?, ..options.fresh() })
}

/// What to differentiate by: names, `"literals"`, or the parameters.
fn wrt(names: Option<Vec<String>>, literals: bool) -> Wrt {
    match names {
        _ if literals => Wrt::Literals,
        Some(names) => Wrt::Names(names),
        None => Wrt::Default,
    }
}

#[pymethods]
impl Interpreter {
    #[new]
    fn new(py: Python<'_>, shared: bool) -> Interpreter {
        let inner = if shared { Inner::Shared } else { Inner::Own(Arc::new(py.detach(dmci::Interpreter::new))) };
        Interpreter { inner }
    }

    /// The value of a program, as it is written, and what it printed.
    fn run<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        text: &str,
        names: &Bound<'py, PyDict>,
        options: &Options,
    ) -> PyResult<(Bound<'py, PyAny>, String, String)> {
        let run = with_bindings(options, names)?;
        let program = Program::named(name, text);
        let outcome = interruptible(py, &run.cancel, || self.get().run(&program, &run))?;
        let outcome = outcome.map_err(|failure| of_report(py, &failure))?;
        Ok((to_python(py, &outcome.value)?, outcome.text, outcome.output))
    }

    /// The value of a compiled program.
    fn run_compiled<'py>(
        &self,
        py: Python<'py>,
        bytes: &[u8],
        names: &Bound<'py, PyDict>,
        options: &Options,
    ) -> PyResult<(Bound<'py, PyAny>, String, String)> {
        let run = with_bindings(options, names)?;
        let compiled = Compiled::from_bytes(bytes).map_err(|report| of_report(py, &report))?;
        let outcome = interruptible(py, &run.cancel, || self.get().run_compiled(&compiled, &run))?;
        let outcome = outcome.map_err(|failure| of_report(py, &failure))?;
        Ok((to_python(py, &outcome.value)?, outcome.text, outcome.output))
    }

    /// Every diagnostic of a program, each as JSON and as text.
    fn check(
        &self,
        py: Python<'_>,
        name: &str,
        text: &str,
        names: Vec<String>,
        options: &Options,
    ) -> Vec<(String, String)> {
        let bindings = names.into_iter().map(|name| (name, Datum::Real(0.0))).collect();
        let run = RunOptions { bindings, ..options.fresh() };
        let report = py.detach(|| self.get().check(&Program::named(name, text), &run));
        let one = |d| Report::new(vec![d], report.sources.clone());
        report
            .diagnostics
            .iter()
            .cloned()
            .map(one)
            .map(|r| r.spelled(Spelling::Keyword))
            .map(|r| (r.to_json()[0].to_string(), r.render(false)))
            .collect()
    }

    /// A value with its gradient.
    #[pyo3(signature = (name, text, names, by, literals, hessian, options))]
    #[allow(clippy::too_many_arguments, reason = "it is called from one place in Python")]
    fn grad<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        text: &str,
        names: &Bound<'py, PyDict>,
        by: Option<Vec<String>>,
        literals: bool,
        hessian: bool,
        options: &Options,
    ) -> PyResult<Derivatives<'py>> {
        let run = with_bindings(options, names)?;
        let cancel = run.cancel.clone();
        let grad = GradOptions { run, wrt: wrt(by, literals), hessian };
        let program = Program::named(name, text);
        let gradient = interruptible(py, &cancel, || self.get().grad(&program, &grad))?;
        let gradient = gradient.map_err(|failure| of_report(py, &failure))?;
        let by_name = PyDict::new(py);
        for (name, datum) in &gradient.grad {
            by_name.set_item(name, to_python(py, datum)?)?;
        }
        let hessian = gradient.hessian.map(|rows| PyArray2::from_vec2(py, &rows)).transpose();
        let hessian = hessian.map_err(|e| PyValueError::new_err(e.to_string()))?;
        let warnings = spelled(&gradient.warnings);
        let flat = PyArray1::from_vec(py, gradient.flat);
        Ok((gradient.value, by_name, gradient.coordinates, flat, hessian, gradient.output, warnings))
    }

    /// The tape of a program: as text, its report as text and as JSON, and its decisions as text and as JSON.
    #[allow(clippy::too_many_arguments, reason = "it is called from one place in Python")]
    fn tape(
        &self,
        py: Python<'_>,
        name: &str,
        text: &str,
        names: &Bound<'_, PyDict>,
        by: Option<Vec<String>>,
        joins: bool,
        loops: bool,
        options: &Options,
    ) -> PyResult<[String; 5]> {
        let run = with_bindings(options, names)?;
        let cancel = run.cancel.clone();
        let grad = GradOptions { run, wrt: wrt(by, false), hessian: false };
        let options = TapeOptions { grad, joins, loops };
        let program = Program::named(name, text);
        let recorded = interruptible(py, &cancel, || self.get().explain(&program, &options))?;
        let recorded = recorded.map_err(|failure| of_report(py, &failure))?;
        let report = TapeReport::new(&recorded.tape, Passes::default());
        let decisions = (recorded.decisions.print(), recorded.decisions.to_json().to_string());
        Ok([recorded.tape.print(), report.print(false), report.to_json(false).to_string(), decisions.0, decisions.1])
    }
}

/// What a program declares and mentions: its parameters as (name, kind, start, shape, fixed, column by which it
/// differs), and the names that it needs from outside.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "Python takes it apart at once")]
pub fn names<'py>(
    py: Python<'py>,
    name: &str,
    text: &str,
) -> PyResult<(Vec<(String, String, Bound<'py, PyAny>, Vec<u32>, bool, Option<String>)>, Vec<String>)> {
    let program = Program::named(name, text);
    let fail = |report: Report| of_report(py, &report);
    let names = py.detach(|| dmci::Interpreter::shared().names(&program)).map_err(fail)?;
    let free = py.detach(|| program.free_names()).map_err(fail)?;
    let mut list = Vec::new();
    for p in &names.schema.parameters {
        let shape = match p.shape {
            Shape::Scalar => vec![],
            Shape::Vector(n) => vec![n],
            Shape::Matrix(m, n) => vec![m, n],
        };
        list.push((p.name.clone(), p.shown_kind(), to_python(py, &p.datum())?, shape, p.fixed, p.per.clone()));
    }
    Ok((list, free))
}

/// A program made of others: `what` is `sum`, `product`, `chain`, `substitute`, `rename`, `apart` or `literals`.
#[pyfunction]
#[pyo3(signature = (what, first, second=None, word=None, other=None))]
pub fn compose(
    py: Python<'_>,
    what: &str,
    first: (String, String),
    second: Option<(String, String)>,
    word: Option<&str>,
    other: Option<&str>,
) -> PyResult<(String, String)> {
    let of = |(name, text): &(String, String)| Program::named(name, text);
    let first = of(&first);
    let second = second.as_ref().map(of);
    let composed = py.detach(|| match (what, &second, word, other) {
        ("sum", Some(second), ..) => Some(first.sum(second)),
        ("product", Some(second), ..) => Some(first.product(second)),
        ("chain", Some(second), Some(input), _) => Some(first.chain(second, input)),
        ("substitute", Some(second), Some(name), _) => Some(first.substitute(name, second)),
        ("rename", _, Some(name), Some(new)) => Some(first.rename(name, new)),
        ("apart", _, Some(prefix), _) => Some(first.apart(prefix)),
        ("literals", ..) => Some(Ok(dmci_fit::literals::parametrised(&first))),
        _ => None,
    });
    match composed {
        Some(Ok(program)) => Ok((program.name.to_string(), program.text.to_string())),
        Some(Err(report)) => Err(of_report(py, &report)),
        None => Err(PyValueError::new_err(format!("there is no composition {what} of these"))),
    }
}

/// The bytes of the `.ncg` file of a program.
#[pyfunction]
pub fn compile<'py>(py: Python<'py>, name: &str, text: &str) -> PyResult<Bound<'py, PyBytes>> {
    let compiled = py.detach(|| dmci::Interpreter::shared().compile(&Program::named(name, text)));
    Ok(PyBytes::new(py, &compiled.map_err(|report| of_report(py, &report))?.to_bytes()))
}

/// Whether bytes are those of a `.ncg` file.
#[pyfunction]
pub fn is_compiled(bytes: &[u8]) -> bool {
    Compiled::is_compiled(bytes)
}

/// Name and text of the program in the bytes of a `.ncg` file.
#[pyfunction]
pub fn decompile(py: Python<'_>, bytes: &[u8]) -> PyResult<(String, String)> {
    let compiled = Compiled::from_bytes(bytes).map_err(|report| of_report(py, &report))?;
    let program = compiled.program();
    Ok((program.name.to_string(), program.text.to_string()))
}

/// The forms of a program as data.
#[pyfunction]
pub fn forms<'py>(py: Python<'py>, name: &str, text: &str) -> PyResult<Bound<'py, PyList>> {
    let data = Program::named(name, text).data().map_err(|report| of_report(py, &report))?;
    PyList::new(py, data.iter().map(|d| to_python(py, d)).collect::<PyResult<Vec<_>>>()?)
}

/// The text of a program from its forms.
#[pyfunction]
pub fn from_forms(py: Python<'_>, forms: Vec<Bound<'_, PyAny>>) -> PyResult<String> {
    let data = forms.iter().map(to_datum).collect::<PyResult<Vec<_>>>()?;
    let program = Program::from_data(&data).map_err(|report| of_report(py, &report))?;
    Ok(program.text.to_string())
}

/// The long explanation of a code, if there is one.
#[pyfunction]
pub fn explain_code(code: &str) -> Option<String> {
    dmci::ErrorCode::find(code).map(|c| format!("{}\n\n{}", c.title(), c.explanation()))
}
