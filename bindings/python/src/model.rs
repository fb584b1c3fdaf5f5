//! Models: programs over rows of arrays.

use crate::data::{bindings, reals, to_datum};
use crate::errors::{of_report, spelled};
use crate::interrupt::interruptible;
use crate::options::Options;
use dmci::{Batch, Cancel, Column, Datum, ModelOptions, Number, Program, RunOptions, Shape, Sums, Want};
use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::{Arc, Mutex};

/// Calls with more lanes than this, and those that may have to walk the program, can be interrupted by Ctrl-C.
const MOST_LANES_AT_ONCE: usize = 4096;

/// A program with parameters and inputs, recorded once per path.
#[pyclass(frozen, module = "dmci._native")]
pub struct Model {
    shared: Arc<Shared>,
}

struct Shared {
    model: dmci::Model,
    cancel: Cancel,
    single: bool,
    inputs: Vec<String>,
}

/// Rows of data for a model, held by the engine: calls with them copy nothing in.
#[pyclass(frozen, module = "dmci._native")]
pub struct Rows {
    shared: Arc<Shared>,
    held: Held,
    /// How many rows there are.
    #[pyo3(get)]
    rows: usize,
}

/// Numbers are held in the precision of the model.
enum Held {
    Double(Data<f64>),
    Single(Data<f32>),
}

struct Data<T> {
    columns: Vec<Column<T>>,
    /// Memory of the last call, for the next one.
    memory: Mutex<Memory<T>>,
}

#[derive(Default)]
struct Memory<T> {
    batch: Batch<T>,
    sums: Sums,
    theta: Vec<T>,
}

impl<T: Real> Data<T> {
    fn new(columns: &Bound<'_, PyList>, rows: usize, inputs: &[String]) -> PyResult<Data<T>> {
        let columns = columns.iter().map(|c| column(&c)).collect::<PyResult<Vec<_>>>()?;
        if let Some((column, name)) = columns.iter().zip(inputs).find(|(column, _)| column.len() != rows) {
            return Err(PyValueError::new_err(format!("{name} has {} rows, not {rows}", column.len())));
        }
        Ok(Data { columns, memory: Mutex::default() })
    }

    fn failures(&self) -> Vec<(usize, String, String)> {
        // Whoever holds it may be waiting for the lock of the interpreter, which this thread has.
        let Ok(memory) = self.memory.try_lock() else { return Vec::new() };
        let one = |(lane, failure): &(usize, dmci::Report)| {
            let (json, picture) = spelled(failure);
            (*lane, json, picture)
        };
        memory.batch.failures.iter().map(one).collect()
    }
}

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (name, text, params, inputs, constants, options, *, outputs=1, threads=None, joins=true,
                        loops=true, code=true, max_paths=4096))]
    #[allow(clippy::too_many_arguments, reason = "each is an option of its own")]
    fn new(
        name: &str,
        text: &str,
        params: &Bound<'_, PyDict>,
        inputs: Vec<String>,
        constants: &Bound<'_, PyDict>,
        options: &Options,
        outputs: usize,
        threads: Option<usize>,
        joins: bool,
        loops: bool,
        code: bool,
        max_paths: usize,
    ) -> PyResult<Model> {
        let run = RunOptions { bindings: bindings(constants)?, ..options.fresh() };
        let (cancel, single) = (run.cancel.clone(), run.numerics.single);
        let usual = ModelOptions::default();
        let options = ModelOptions {
            run,
            outputs,
            output: false,
            threads: threads.unwrap_or(usual.threads).max(1),
            joins,
            loops,
            max_paths,
            code: if code { usual.code } else { dmci::JitPolicy::Never },
            ..usual
        };
        let names: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let model = dmci::Model::with_params(Program::named(name, text), bindings(params)?, &names, options);
        Ok(Model { shared: Arc::new(Shared { model, cancel, single, inputs }) })
    }

    /// Numbers in all parameters.
    #[getter]
    fn numbers(&self) -> usize {
        self.shared.model.numbers()
    }

    /// Calls, walks, lanes that needed none, paths that are kept, and paths that were given up.
    fn statistics(&self) -> (u64, u64, u64, usize, u64) {
        let s = self.shared.model.statistics();
        (s.calls, s.recordings, s.hits, s.paths, s.evicted)
    }

    /// What is worth knowing about the recordings so far, as JSON and as text.
    fn warnings(&self) -> (String, String) {
        let report = self.shared.model.warnings();
        spelled(&report)
    }

    /// The model as source of another language: all paths that it knows, with these names for its numbers.
    fn export(
        &self,
        py: Python<'_>,
        language: &str,
        name: String,
        params: Vec<String>,
        inputs: Vec<String>,
        outputs: usize,
    ) -> PyResult<String> {
        let signature = dmci_emit::Signature { name, params, inputs, outputs };
        let source = py.detach(|| {
            dmci_emit::Language::named(language)
                .and_then(|language| dmci_emit::emit(&self.shared.model, &signature, language))
        });
        source.map_err(|report| of_report(py, &report))
    }

    /// Rows for this model: one array or list for each input.
    fn bind(&self, columns: &Bound<'_, PyList>, rows: usize) -> PyResult<Rows> {
        let inputs = &self.shared.inputs;
        let held = match self.shared.single {
            true => Held::Single(Data::new(columns, rows, inputs)?),
            false => Held::Double(Data::new(columns, rows, inputs)?),
        };
        Ok(Rows { shared: self.shared.clone(), held, rows })
    }
}

/// A column of an array or a list. Rows of an array with more than one dimension are vectors or matrices.
fn column<T: Real>(values: &Bound<'_, PyAny>) -> PyResult<Column<T>> {
    if let Ok(list) = values.cast::<PyList>() {
        return Ok(Column::Data(list.iter().map(|item| to_datum(&item)).collect::<PyResult<_>>()?));
    }
    if let Ok(integers) = values.cast::<PyArray1<i64>>() {
        let integers = integers.try_readonly()?;
        return Ok(Column::Data(integers.as_array().iter().map(|&i| Datum::Integer(i)).collect()));
    }
    let array = values.cast::<PyUntypedArray>()?;
    let side = |n: usize| u32::try_from(n).map_err(|_| PyValueError::new_err("the array is too large"));
    let shape = match *array.shape() {
        [_] => return Ok(Column::Reals(reals(array)?)),
        [_, n] if n > 0 => Shape::Vector(side(n)?),
        [_, m, n] if m * n > 0 => Shape::Matrix(side(m)?, side(n)?),
        _ => return Err(PyValueError::new_err("rows must be numbers, vectors or matrices that are not empty")),
    };
    Ok(Column::Shaped(Datum::Tensor(shape, vec![0.0; shape.len()]), reals(array)?))
}

/// What a call is asked for, and how lanes are made.
#[derive(Clone, Copy)]
struct Question {
    want: Want,
    paired: bool,
    sum: bool,
}

/// Arrays for results: given by the caller, or none.
type Targets<'a, 'py> = [Option<&'a Bound<'py, PyAny>>; 3];

#[pymethods]
impl Rows {
    /// Values and, as far as they are wanted (0, 1, 2), first and second derivatives of all parameter sets over all
    /// rows, or of each row with its own set, or summed over the rows. Results are flat new arrays, or go into the given
    /// ones. With `lenient`, lanes that fail give NaN; otherwise their first error is raised.
    #[pyo3(signature = (theta, want, paired=false, sum=false, lenient=false, values=None, gradients=None, hessians=None))]
    #[allow(clippy::too_many_arguments, reason = "each is an option of its own")]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        theta: &Bound<'py, PyAny>,
        want: u8,
        paired: bool,
        sum: bool,
        lenient: bool,
        values: Option<&Bound<'py, PyAny>>,
        gradients: Option<&Bound<'py, PyAny>>,
        hessians: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<[Option<Bound<'py, PyAny>>; 3]> {
        let want = match want {
            0 => Want::Values,
            1 => Want::Gradients,
            _ => Want::Hessians,
        };
        let question = Question { want, paired, sum };
        let targets = [values, gradients, hessians];
        self.answer(py, theta, question, lenient, targets)
    }

    /// Values and gradients into arrays of the caller, with the least ceremony.
    fn value_and_grad_into<'py>(
        &self,
        py: Python<'py>,
        theta: &Bound<'py, PyAny>,
        values: &Bound<'py, PyAny>,
        gradients: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let question = Question { want: Want::Gradients, paired: false, sum: false };
        let targets = [Some(values), Some(gradients), None];
        self.answer(py, theta, question, false, targets)?;
        Ok(())
    }

    /// Seconds that a call for values and gradients takes in Rust alone, without anything of Python: the least of a few
    /// rounds of `count` calls.
    fn timed(&self, py: Python<'_>, theta: Vec<f64>, count: usize) -> PyResult<f64> {
        match &self.held {
            Held::Double(data) => data.timed(py, &self.shared.model, &theta, count),
            Held::Single(data) => data.timed(py, &self.shared.model, &theta, count),
        }
    }

    /// The errors of the lanes that failed in the last call: lane, JSON and text.
    fn failures(&self) -> Vec<(usize, String, String)> {
        match &self.held {
            Held::Double(data) => data.failures(),
            Held::Single(data) => data.failures(),
        }
    }
}

/// A number of an array: of one or the other precision.
trait Real: Element + Number {}

impl Real for f64 {}
impl Real for f32 {}

fn rounded<T: Real>(numbers: &[f64]) -> Vec<T> {
    numbers.iter().map(|&x| T::rounded(x)).collect()
}

/// The numbers of an array that the caller may go on to change only after the call.
fn slice<'a, T: Real>(array: &'a Bound<'_, PyAny>, what: &str) -> PyResult<&'a [T]> {
    let array = typed::<T>(array, what)?;
    // SAFETY: it is contiguous. Another thread could write to it while the lock of the interpreter is released, which
    // NumPy leaves to its users as well; the numbers are only read, as plain bits.
    Ok(unsafe { array.as_slice() }?)
}

fn typed<'a, 'py, T: Real>(array: &'a Bound<'py, PyAny>, what: &str) -> PyResult<&'a Bound<'py, PyArrayDyn<T>>> {
    let typed = array.cast::<PyArrayDyn<T>>().ok().filter(|a| a.is_c_contiguous());
    typed.ok_or_else(|| {
        let kind = if size_of::<T>() == 4 { "float32" } else { "float64" };
        PyTypeError::new_err(format!("{what} must be a contiguous array of {kind}"))
    })
}

/// Copies numbers into an array of the caller.
fn store<T: Real>(numbers: &[T], target: &Bound<'_, PyAny>, what: &str) -> PyResult<()> {
    let target = typed::<T>(target, what)?;
    if target.len() != numbers.len() {
        let message = format!("{what} needs room for {} numbers, got {}", numbers.len(), target.len());
        return Err(PyValueError::new_err(message));
    }
    let mut target = target.try_readwrite().map_err(|e| PyValueError::new_err(format!("{what}: {e}")))?;
    target.as_slice_mut()?.copy_from_slice(numbers);
    Ok(())
}

impl Rows {
    fn answer<'py>(
        &self,
        py: Python<'py>,
        theta: &Bound<'py, PyAny>,
        question: Question,
        lenient: bool,
        targets: Targets<'_, 'py>,
    ) -> PyResult<[Option<Bound<'py, PyAny>>; 3]> {
        match &self.held {
            Held::Double(data) => data.answer(py, self, theta, question, lenient, targets),
            Held::Single(data) => data.answer(py, self, theta, question, lenient, targets),
        }
    }
}

impl<T: Real> Data<T> {
    fn answer<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
        theta: &Bound<'py, PyAny>,
        question: Question,
        lenient: bool,
        targets: Targets<'_, 'py>,
    ) -> PyResult<[Option<Bound<'py, PyAny>>; 3]> {
        // Another thread may use the memory: then this call has its own.
        let mut own = None;
        let mut locked = self.memory.try_lock().ok();
        let memory: &mut Memory<T> = match &mut locked {
            Some(memory) => memory,
            None => own.insert(Memory::default()),
        };
        memory.theta.clear();
        memory.theta.extend_from_slice(slice::<T>(theta, "theta")?);
        self.run(py, rows, question, memory)?;
        if let Some((_, failure)) = memory.batch.failures.first()
            && !lenient
        {
            return Err(of_report(py, failure));
        }
        let Memory { batch, sums, .. } = memory;
        let lists = [&mut batch.values, &mut batch.gradients, &mut batch.hessians];
        if question.sum {
            // Sums are of double precision.
            (*lists[0], *lists[1]) = (rounded(&sums.values), rounded(&sums.gradients));
        }
        let mut results = [None, None, None];
        let names = ["the array for values", "the array for gradients", "the array for Hessians"];
        for (i, list) in lists.into_iter().enumerate().take(question.want as usize + 1) {
            match targets[i] {
                Some(target) => store::<T>(list, target, names[i])?,
                // The list is given away, so that nothing is copied.
                None => results[i] = Some(PyArray1::from_vec(py, std::mem::take(list)).into_any()),
            }
        }
        Ok(results)
    }

    fn run(&self, py: Python<'_>, rows: &Rows, question: Question, memory: &mut Memory<T>) -> PyResult<()> {
        let Shared { model, cancel, .. } = &*rows.shared;
        let sets = memory.theta.len() / model.numbers().max(1);
        let known = model.recordings() > 0 && sets.saturating_mul(rows.rows) <= MOST_LANES_AT_ONCE;
        let Question { want, paired, sum } = question;
        let work = || {
            let Memory { batch, sums, theta } = memory;
            let result = match paired {
                true => model.evaluate_pairs_into(batch, theta, &self.columns, want),
                false => model.evaluate_into(batch, theta, &self.columns, want),
            };
            if sum && result.is_ok() {
                model.sum(batch, rows.rows, sums);
            }
            result
        };
        let result = if known { py.detach(work) } else { interruptible(py, cancel, work)? };
        result.map_err(|report| of_report(py, &report))
    }

    fn timed(&self, py: Python<'_>, model: &dmci::Model, theta: &[f64], count: usize) -> PyResult<f64> {
        let theta = rounded(theta);
        let mut best = f64::INFINITY;
        let mut batch = Batch::default();
        for _ in 0..5 {
            let began = std::time::Instant::now();
            py.detach(|| {
                (0..count).try_for_each(|_| model.evaluate_into(&mut batch, &theta, &self.columns, Want::Gradients))
            })
            .map_err(|report| of_report(py, &report))?;
            best = best.min(began.elapsed().as_secs_f64() / count.max(1) as f64);
        }
        Ok(best)
    }
}
