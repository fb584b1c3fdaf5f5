//! Python values as data of programs, and back.

use dmci::{Datum, Number, Shape};
use numpy::{Element, PyArray, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// Deeper lists are refused: dropping them recurses.
const DEEPEST: usize = 200;

/// The classes of `dmci._values`, which tell apart what Python has one type for.
struct Classes {
    symbol: Py<PyAny>,
    char: Py<PyAny>,
    vector: Py<PyAny>,
    dotted: Py<PyAny>,
    opaque: Py<PyAny>,
}

fn classes(py: Python<'_>) -> PyResult<&'static Classes> {
    static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();
    CLASSES.get_or_try_init(py, || {
        let module = py.import("dmci._values")?;
        let class = |name: &str| -> PyResult<Py<PyAny>> { Ok(module.getattr(name)?.unbind()) };
        Ok(Classes {
            symbol: class("Symbol")?,
            char: class("Char")?,
            vector: class("Vector")?,
            dotted: class("Dotted")?,
            opaque: class("Opaque")?,
        })
    })
}

/// The datum of a Python value: numbers, texts, lists, arrays of NumPy.
pub fn to_datum(value: &Bound<'_, PyAny>) -> PyResult<Datum> {
    datum(value, 0)
}

fn datum(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Datum> {
    let py = value.py();
    if depth > DEEPEST {
        return Err(PyValueError::new_err(format!("data may be nested {DEEPEST} deep at most")));
    }
    if value.is_none() {
        return Ok(Datum::Unspecified);
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Datum::Bool(truth.is_true()));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Datum::Real(number.value()));
    }
    if value.is_instance_of::<PyInt>() {
        return integer(value);
    }
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_str()?.to_string();
        let classes = classes(py)?;
        if value.is_instance(classes.symbol.bind(py))? {
            return Ok(Datum::Symbol(text));
        }
        if value.is_instance(classes.char.bind(py))?
            && let Some(c) = text.chars().next()
        {
            return Ok(Datum::Char(c));
        }
        return Ok(Datum::String(text));
    }
    if let Ok(list) = value.cast::<PyList>() {
        let items = list.iter().map(|item| datum(&item, depth + 1)).collect::<PyResult<Vec<_>>>()?;
        let is_vector = value.is_instance(classes(py)?.vector.bind(py))?;
        return Ok(if is_vector { Datum::Vector(items) } else { Datum::list(items) });
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return Ok(Datum::list(tuple.iter().map(|item| datum(&item, depth + 1)).collect::<PyResult<Vec<_>>>()?));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Datum::Bytes(bytes.as_bytes().to_vec()));
    }
    if let Ok(array) = value.cast::<PyUntypedArray>() {
        return tensor(array);
    }
    if value.is_instance(classes(py)?.dotted.bind(py))? {
        let items = datum(&value.getattr("items")?, depth + 1)?;
        let tail = datum(&value.getattr("tail")?, depth + 1)?;
        if let Datum::List(items, None) = items {
            return Ok(Datum::List(items, Some(Box::new(tail))));
        }
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        // An association list: ((name . value) ...).
        let pair = |(key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<Datum> {
            let key = Datum::Symbol(key.extract()?);
            Ok(match datum(&item, depth + 1)? {
                Datum::List(mut items, tail) => {
                    items.insert(0, key);
                    Datum::List(items, tail)
                }
                other => Datum::List(vec![key], Some(Box::new(other))),
            })
        };
        return Ok(Datum::list(dict.iter().map(pair).collect::<PyResult<Vec<_>>>()?));
    }
    // Scalars of NumPy and of other libraries.
    if value.hasattr("__index__")? {
        return integer(&value.call_method0("__index__")?);
    }
    if value.hasattr("__array__")? {
        let array = py.import("numpy")?.call_method1("asarray", (value,))?;
        return tensor(array.cast::<PyUntypedArray>()?);
    }
    if value.hasattr("__float__")? {
        return Ok(Datum::Real(value.extract()?));
    }
    let class = value.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "a program can be given numbers, booleans, texts, lists and arrays of NumPy, not {class}"
    )))
}

fn integer(value: &Bound<'_, PyAny>) -> PyResult<Datum> {
    match value.extract::<i64>() {
        Ok(i) => Ok(Datum::Integer(i)),
        Err(_) => Ok(Datum::BigInteger(value.str()?.to_str()?.to_string())),
    }
}

/// A vector or a matrix of reals; an array without dimensions is a number.
fn tensor(array: &Bound<'_, PyUntypedArray>) -> PyResult<Datum> {
    let numbers: Vec<f64> = reals(array)?;
    let side = |n: usize| u32::try_from(n).map_err(|_| PyValueError::new_err("the array is too large"));
    match *array.shape() {
        [] => Ok(Datum::Real(numbers[0])),
        [n] => Ok(Datum::Tensor(Shape::Vector(side(n)?), numbers)),
        [m, n] => Ok(Datum::Tensor(Shape::Matrix(side(m)?, side(n)?), numbers)),
        ref shape => Err(PyValueError::new_err(format!(
            "an array becomes a vector or a matrix, but this one has {} dimensions",
            shape.len()
        ))),
    }
}

/// The numbers of an array, row by row.
pub fn reals<T: Element + Number>(array: &Bound<'_, PyUntypedArray>) -> PyResult<Vec<T>> {
    if let Ok(array) = array.cast::<PyArrayDyn<T>>()
        && array.is_c_contiguous()
    {
        return Ok(array.try_readonly()?.as_slice()?.to_vec());
    }
    let py = array.py();
    let numpy = py.import("numpy")?;
    let kind = if T::SINGLE { "float32" } else { "float64" };
    let array = numpy.call_method1("ascontiguousarray", (array, kind))?;
    let array = array.cast::<PyArrayDyn<T>>()?.try_readonly()?;
    Ok(array.as_slice()?.to_vec())
}

/// The Python value of a datum.
pub fn to_python<'py>(py: Python<'py>, datum: &Datum) -> PyResult<Bound<'py, PyAny>> {
    let list = |items: &[Datum]| -> PyResult<Bound<'py, PyList>> {
        let items = items.iter().map(|item| to_python(py, item)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, items)
    };
    Ok(match datum {
        Datum::Integer(i) => i.into_pyobject(py)?.into_any(),
        Datum::BigInteger(digits) => py.get_type::<PyInt>().call1((digits,))?,
        Datum::Real(x) => PyFloat::new(py, *x).into_any(),
        Datum::Bool(b) => PyBool::new(py, *b).to_owned().into_any(),
        Datum::Char(c) => classes(py)?.char.bind(py).call1((c.to_string(),))?,
        Datum::String(s) => PyString::new(py, s).into_any(),
        Datum::Symbol(s) => classes(py)?.symbol.bind(py).call1((s,))?,
        Datum::List(items, None) => list(items)?.into_any(),
        Datum::List(items, Some(tail)) => classes(py)?.dotted.bind(py).call1((list(items)?, to_python(py, tail)?))?,
        Datum::Vector(items) => classes(py)?.vector.bind(py).call1((list(items)?,))?,
        Datum::Tensor(shape, elements) => {
            let array = PyArray::from_slice(py, elements);
            match *shape {
                Shape::Matrix(m, n) => array.reshape([m as usize, n as usize])?.into_any(),
                _ => array.into_any(),
            }
        }
        Datum::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        Datum::Unspecified => py.None().into_bound(py),
        Datum::Values(items) => list(items)?.to_tuple().into_any(),
        Datum::Opaque(text) => classes(py)?.opaque.bind(py).call1((text,))?,
    })
}

/// The bindings of a dictionary.
pub fn bindings(names: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Datum)>> {
    names.iter().map(|(name, value)| Ok((name.extract::<String>()?, to_datum(&value)?))).collect()
}
