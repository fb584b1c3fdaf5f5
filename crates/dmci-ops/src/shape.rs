//! Shapes of tape values, and how shapes combine: as in NumPy, for numbers, vectors and matrices.

use std::fmt;

/// The shape of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Shape {
    /// One number.
    #[default]
    Scalar,
    /// So many numbers.
    Vector(u32),
    /// Rows and columns, stored row by row.
    Matrix(u32, u32),
}

impl Shape {
    /// How many numbers there are.
    pub fn len(self) -> usize {
        match self {
            Shape::Scalar => 1,
            Shape::Vector(n) => n as usize,
            Shape::Matrix(m, n) => m as usize * n as usize,
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Whether it is one number.
    pub fn is_scalar(self) -> bool {
        self == Shape::Scalar
    }

    /// Rows and columns, with a vector as one row.
    fn as_rows(self) -> (u32, u32) {
        match self {
            Shape::Scalar => (1, 1),
            Shape::Vector(n) => (1, n),
            Shape::Matrix(m, n) => (m, n),
        }
    }

    /// The shape of an operation on both element by element; `None` if they do not fit.
    pub fn broadcast(self, other: Shape) -> Option<Shape> {
        let ((m, n), (p, q)) = (self.as_rows(), other.as_rows());
        let longer = |a: u32, b: u32| if a == b || b == 1 { Some(a) } else { (a == 1).then_some(b) };
        let (rows, columns) = (longer(m, p)?, longer(n, q)?);
        Some(match (self, other) {
            (Shape::Matrix(..), _) | (_, Shape::Matrix(..)) => Shape::Matrix(rows, columns),
            (Shape::Vector(_), _) | (_, Shape::Vector(_)) => Shape::Vector(columns),
            _ => Shape::Scalar,
        })
    }

    /// For each element of `result`, which element of a value of this shape goes into it.
    pub fn spread(self, result: Shape) -> impl Iterator<Item = usize> {
        let ((m, n), (p, q)) = (self.as_rows(), result.as_rows());
        let at = move |i: u32, size: u32| if size == 1 { 0 } else { i as usize };
        (0..p).flat_map(move |i| (0..q).map(move |j| at(i, m) * n as usize + at(j, n)))
    }

    /// Reads what `Display` writes.
    pub fn parse(text: &str) -> Option<Shape> {
        match text.split_once('x') {
            _ if text == "scalar" => Some(Shape::Scalar),
            Some((m, n)) => Some(Shape::Matrix(m.parse().ok()?, n.parse().ok()?)),
            None => Some(Shape::Vector(text.parse().ok()?)),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Scalar => write!(f, "scalar"),
            Shape::Vector(n) => write!(f, "{n}"),
            Shape::Matrix(m, n) => write!(f, "{m}x{n}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Shape::{self, Matrix, Scalar, Vector};

    #[test]
    fn shapes_combine_as_in_numpy() {
        let cases = [
            (Scalar, Matrix(2, 3), Some(Matrix(2, 3))),
            (Vector(3), Matrix(2, 3), Some(Matrix(2, 3))),
            (Vector(2), Matrix(2, 3), None),
            (Matrix(2, 1), Vector(3), Some(Matrix(2, 3))),
            (Matrix(2, 1), Matrix(1, 3), Some(Matrix(2, 3))),
            (Vector(1), Vector(4), Some(Vector(4))),
            (Vector(3), Vector(4), None),
            (Vector(0), Vector(1), Some(Vector(0))),
        ];
        for (a, b, expected) in cases {
            assert_eq!(a.broadcast(b), expected, "{a} with {b}");
            assert_eq!(b.broadcast(a), expected, "{b} with {a}");
        }
    }

    #[test]
    fn elements_are_found_by_row_and_column() {
        let spread = |from: Shape, to| from.spread(to).collect::<Vec<_>>();
        assert_eq!(spread(Vector(2), Matrix(2, 2)), [0, 1, 0, 1]);
        assert_eq!(spread(Matrix(2, 1), Matrix(2, 2)), [0, 0, 1, 1]);
        assert_eq!(spread(Scalar, Vector(3)), [0, 0, 0]);
    }
}
