//! The numbers that a parameter of a schema starts at: one, or those of a vector or matrix.

use dmci_value::{Heap, Shape, Value};

/// Most numbers of one parameter.
const MOST: usize = 1 << 20;

/// The kind of a parameter, without its numbers' bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// Each number by itself, of the kind in the given value.
    Separate(Value),
    /// A lower triangle with a positive diagonal.
    Cholesky,
    /// A lower triangle of any numbers.
    Lower,
    /// Positive numbers that add up to 1.
    Simplex,
}

/// The shape that a kind asks for, and what its numbers are; none if the kind is malformed.
pub fn shape_of(heap: &Heap, kind: Value) -> Option<(Shape, Structure)> {
    let Some(parts) = heap.list_items(kind) else { return Some((Shape::Scalar, Structure::Separate(kind))) };
    let word = parts.first()?.as_symbol().map(|s| heap.symbols.name(heap.symbols.base_of(s)))?;
    let size = |i: usize| parts.get(i)?.as_fixnum().filter(|n| (1..=MOST as i64).contains(n)).map(|n| n as u32);
    // The kind of the numbers may stand behind the sizes; they are free without.
    let element = |i: usize| match parts.len() - i {
        0 => Some(Structure::Separate(Value::NIL)),
        1 => Some(Structure::Separate(parts[i])),
        _ => None,
    };
    let found = match word {
        "vector" => (Shape::Vector(size(1)?), element(2)?),
        "matrix" => (Shape::Matrix(size(1)?, size(2)?), element(3)?),
        "cholesky" if parts.len() == 2 => (Shape::Matrix(size(1)?, size(1)?), Structure::Cholesky),
        "lower" if parts.len() == 2 => (Shape::Matrix(size(1)?, size(1)?), Structure::Lower),
        "simplex" if parts.len() == 2 && size(1)? >= 2 => (Shape::Vector(size(1)?), Structure::Simplex),
        "bounded" | "log" => (Shape::Scalar, Structure::Separate(kind)),
        _ => return None,
    };
    (found.0.len() <= MOST).then_some(found)
}

/// Whether the part behind the kind is a start, and not an option.
pub fn is_start(heap: &Heap, part: Value) -> bool {
    number(part).is_some() || heap.car(part).is_some_and(|first| !first.is_symbol())
}

/// The numbers of a start: one for all, or as many as the shape has, row by row.
pub fn starts_of(heap: &Heap, shape: Shape, structure: Structure, start: Option<Value>) -> Option<Vec<f64>> {
    let count = shape.len();
    let Some(start) = start else { return (shape != Shape::Scalar).then(|| default_starts(heap, shape, structure)) };
    if let Some(x) = number(start) {
        let fill = |i: usize| match (structure, shape) {
            // A number alone is the diagonal.
            (Structure::Cholesky | Structure::Lower, Shape::Matrix(_, n)) if i / n as usize != i % n as usize => 0.0,
            _ => x,
        };
        return (structure != Structure::Simplex).then(|| (0..count).map(fill).collect());
    }
    if shape == Shape::Scalar {
        return None;
    }
    let mut numbers = Vec::new();
    let mut rows = Vec::new();
    for item in heap.list_items(start)? {
        match (number(item), heap.list_items(item)) {
            (Some(x), _) => numbers.push(x),
            (None, Some(row)) => {
                rows.push(row.len());
                numbers.extend(row.into_iter().map(number).collect::<Option<Vec<f64>>>()?);
            }
            _ => return None,
        }
    }
    let fits = match shape {
        Shape::Matrix(_, n) if !rows.is_empty() => rows.iter().all(|&len| len == n as usize),
        _ => rows.is_empty(),
    };
    (fits && numbers.len() == count).then_some(numbers)
}

/// Where a vector or matrix starts that does not say where.
fn default_starts(heap: &Heap, shape: Shape, structure: Structure) -> Vec<f64> {
    let count = shape.len();
    match structure {
        Structure::Simplex => vec![1.0 / count as f64; count],
        Structure::Cholesky | Structure::Lower => match shape {
            Shape::Matrix(_, n) => {
                (0..count).map(|i| if i / n as usize == i % n as usize { 1.0 } else { 0.0 }).collect()
            }
            _ => vec![0.0; count],
        },
        Structure::Separate(kind) => {
            let word = kind.as_symbol().map(|s| heap.symbols.name(heap.symbols.base_of(s)));
            let first = |parts: &[Value]| parts[0].as_symbol().map(|s| heap.symbols.name(heap.symbols.base_of(s)));
            let middle = match (word, heap.list_items(kind).as_deref()) {
                (Some("positive"), _) => 1.0,
                (Some("unit"), _) => 0.5,
                (_, Some(parts @ &[_, low, high])) if first(parts) == Some("log") => {
                    let root = |v: Value| number(v).unwrap_or(1.0).sqrt();
                    root(low) * root(high)
                }
                (_, Some(&[_, low, high])) => 0.5 * (number(low).unwrap_or(0.0) + number(high).unwrap_or(0.0)),
                _ => 0.0,
            };
            vec![middle; count]
        }
    }
}

/// A finite number that a text can hold.
pub fn number(v: Value) -> Option<f64> {
    v.as_real().or_else(|| v.as_fixnum().map(|i| i as f64)).filter(|x| x.is_finite())
}
