//! Vectors and matrices of reals. Arguments may be tensors, or lists and vectors of numbers.

use super::{Primitive, at_least, between, fixed};
use crate::traced::Operand;
use crate::traced::shape_name;
use crate::world::World;
use dmci_ops::{Build, Kernel, NONE, Op, Shape};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Value, num};

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    fixed("tensor?", 1, |w, a| Ok(Value::boolean(matches!(w.shape_of(a[0]), Some(s) if !s.is_scalar())))),
    at_least("vec", 0, vec),
    at_least("mat", 1, mat),
    fixed("shape", 1, |w, a| {
        let sizes: Vec<Value> = match w.operand("shape", a[0])?.shape {
            Shape::Scalar => vec![],
            Shape::Vector(n) => vec![Value::fixnum(n.into())],
            Shape::Matrix(m, n) => vec![Value::fixnum(m.into()), Value::fixnum(n.into())],
        };
        Ok(w.heap.list(&sizes))
    }),
    fixed("vlen", 1, |w, a| length(w, "vlen", a)),
    between("ref", 2, 3, |w, a| reference(w, "ref", a)),
    fixed("tensor->list", 1, to_list),
    between("zeros", 1, 2, |w, a| filled(w, "zeros", a, 0.0)),
    between("ones", 1, 2, |w, a| filled(w, "ones", a, 1.0)),
    fixed("eye", 1, |w, a| {
        let n = w.size("eye", a[0])?;
        w.heap.ensure((n as usize).saturating_mul(n as usize))?;
        let one = |i: u32| if i.is_multiple_of(n + 1) { 1.0f64 } else { 0.0 }.to_bits();
        let elements: Vec<u64> = (0..n * n).map(one).collect();
        w.plain_value(Shape::Matrix(n, n), &elements)
    }),
    fixed("dot", 2, |w, a| {
        let (x, y) = (w.vector_operand("dot", a[0])?, w.vector_operand("dot", a[1])?);
        same_shape("dot", &x, &y)?;
        let k = x.shape.len() as u32;
        let kernel = Kernel::MatMul { ta: false, tb: false, m: 1, k, n: 1 };
        w.tensor_op(&[x, y], |r, n| r.kernel(kernel, n, Shape::Scalar))
    }),
    fixed("vsum", 1, |w, a| sum(w, "vsum", a)),
    between("sum", 1, 2, |w, a| sum(w, "sum", a)),
    fixed("norm", 1, |w, a| {
        let x = w.operand("norm", a[0])?;
        w.tensor_op(&[x], |r, n| {
            let squares = r.op(Op::Mul, &[n[0], n[0]]);
            let sum = r.sum(squares);
            r.op(Op::Root, &[sum])
        })
    }),
    fixed("normalize", 1, |w, a| {
        let x = w.operand("normalize", a[0])?;
        w.tensor_op(&[x], |r, n| {
            let squares = r.op(Op::Mul, &[n[0], n[0]]);
            let sum = r.sum(squares);
            let (norm, least) = (r.op(Op::Root, &[sum]), r.real(1e-8));
            let norm = r.op(Op::Max, &[norm, least]);
            r.op(Op::Div, &[n[0], norm])
        })
    }),
    fixed("cross", 2, cross),
    fixed("scale", 2, |w, a| {
        let (x, y) = (w.operand("scale", a[0])?, w.operand("scale", a[1])?);
        if !x.shape.is_scalar() && !y.shape.is_scalar() {
            return Err(wrong_shapes("scale", "a number and a tensor", &[&x, &y]));
        }
        w.tensor_op(&[x, y], |r, n| r.op(Op::Mul, n))
    }),
    fixed("matvec", 2, |w, a| {
        let (x, y) = (w.matrix_operand("matvec", a[0])?, w.vector_operand("matvec", a[1])?);
        product(w, "matvec", x, y)
    }),
    fixed("matmul", 2, |w, a| {
        let (x, y) = (w.operand("matmul", a[0])?, w.operand("matmul", a[1])?);
        product(w, "matmul", x, y)
    }),
    fixed("outer", 2, |w, a| {
        let (x, y) = (w.vector_operand("outer", a[0])?, w.vector_operand("outer", a[1])?);
        let (m, n) = (x.shape.len() as u32, y.shape.len() as u32);
        w.heap.ensure((m as usize).saturating_mul(n as usize))?;
        let kernel = Kernel::MatMul { ta: false, tb: false, m, k: 1, n };
        w.tensor_op(&[x, y], |r, nodes| r.kernel(kernel, nodes, Shape::Matrix(m, n)))
    }),
    fixed("transpose", 1, |w, a| {
        let x = w.operand("transpose", a[0])?;
        w.tensor_op(&[x], |r, n| r.transpose(n[0]))
    }),
    fixed("trace", 1, |w, a| {
        let (x, n) = w.square_operand("trace", a[0])?;
        w.tensor_op(&[x], |r, nodes| {
            let diagonal = r.take(nodes[0], (0..n).map(|i| i * (n + 1)).collect(), Shape::Vector(n));
            r.sum(diagonal)
        })
    }),
    fixed("diag", 1, diagonal),
    fixed("det", 1, |w, a| square_kernel(w, "det", a, Kernel::Det)),
    fixed("logdet", 1, |w, a| square_kernel(w, "logdet", a, Kernel::LogDet)),
    fixed("inv", 1, |w, a| square_kernel(w, "inv", a, Kernel::Inverse)),
    fixed("cholesky", 1, |w, a| square_kernel(w, "cholesky", a, Kernel::Cholesky)),
    fixed("solve", 2, |w, a| {
        let ((x, n), y) = (w.square_operand("solve", a[0])?, w.operand("solve", a[1])?);
        if !matches!(y.shape, Shape::Vector(m) | Shape::Matrix(m, _) if m == n) {
            return Err(wrong_shapes("solve", "a square matrix and as many rows on the right", &[&x, &y]));
        }
        let shape = y.shape;
        w.tensor_op(&[x, y], |r, nodes| r.kernel(Kernel::Solve { transposed: false }, nodes, shape))
    }),
    between("slice", 3, 5, slice),
    at_least("concat", 1, concat),
    between("reshape", 2, 3, |w, a| {
        let (x, shape) = (w.operand("reshape", a[0])?, w.shape_argument("reshape", &a[1..])?);
        if x.shape.len() != shape.len() {
            let message = format!("reshape: {} has not the elements of {}", shape_name(x.shape), shape_name(shape));
            return Err(Diagnostic::error(ErrorCode::E0601, message).help("the number of elements must stay the same"));
        }
        w.tensor_op(&[x], |r, n| r.take(n[0], (0..shape.len() as u32).collect(), shape))
    }),
    fixed("argmax", 1, |w, a| extreme(w, "argmax", a[0], |x, best| x > best)),
    fixed("argmin", 1, |w, a| extreme(w, "argmin", a[0], |x, best| x < best)),
];

/// The error for shapes that an operation does not take.
fn wrong_shapes(who: &str, expected: &str, got: &[&Operand]) -> Error {
    let got: Vec<String> = got.iter().map(|o| shape_name(o.shape)).collect();
    Diagnostic::error(ErrorCode::E0602, format!("{who} takes {expected}, got {}", got.join(" and ")))
        .help("look at the shapes with (shape x)")
}

fn same_shape(who: &str, x: &Operand, y: &Operand) -> Result<(), Error> {
    if x.shape == y.shape {
        return Ok(());
    }
    let message = format!("{who}: {} and {} do not fit together", shape_name(x.shape), shape_name(y.shape));
    Err(Diagnostic::error(ErrorCode::E0601, message).help("both must have the same number of elements"))
}

impl World {
    fn vector_operand(&self, who: &str, v: Value) -> Result<Operand, Error> {
        let operand = self.operand(who, v)?;
        match operand.shape {
            Shape::Vector(_) => Ok(operand),
            _ => Err(wrong_shapes(who, "a vector", &[&operand])),
        }
    }

    fn matrix_operand(&self, who: &str, v: Value) -> Result<Operand, Error> {
        let operand = self.operand(who, v)?;
        match operand.shape {
            Shape::Matrix(..) => Ok(operand),
            _ => Err(wrong_shapes(who, "a matrix", &[&operand])),
        }
    }

    fn square_operand(&self, who: &str, v: Value) -> Result<(Operand, u32), Error> {
        let operand = self.operand(who, v)?;
        match operand.shape {
            Shape::Matrix(m, n) if m == n => Ok((operand, n)),
            shape => {
                let message = format!("{who} takes a square matrix, got {}", shape_name(shape));
                Err(Diagnostic::error(ErrorCode::E0603, message).help("give it as many rows as columns"))
            }
        }
    }

    /// A number of rows or columns.
    fn size(&mut self, who: &str, v: Value) -> Result<u32, Error> {
        let n = self.index(who, v)?;
        self.heap.ensure(n)?;
        u32::try_from(n).map_err(|_| self.heap.out_of_memory())
    }

    fn shape_argument(&mut self, who: &str, args: &[Value]) -> Result<Shape, Error> {
        let rows = self.size(who, args[0])?;
        Ok(match args.get(1) {
            None => Shape::Vector(rows),
            Some(&columns) => {
                let columns = self.size(who, columns)?;
                self.heap.ensure((rows as usize).saturating_mul(columns as usize))?;
                Shape::Matrix(rows, columns)
            }
        })
    }
}

/// All arguments one after the other: numbers, and lists, vectors and tensors of numbers.
fn vec(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let numbers = args.iter().all(|&v| world.shape_of(v) == Some(Shape::Scalar));
    if numbers {
        let wrong = || Diagnostic::error(ErrorCode::E9901, "numbers are numbers");
        let operand = world.stacked("vec", args, wrong)?;
        let shape = operand.shape;
        return world.tensor_op(&[operand], |r, n| r.expand(n[0], shape));
    }
    let operands = args.iter().map(|&v| world.operand("vec", v)).collect::<Result<Vec<_>, _>>()?;
    let shape = Shape::Vector(operands.iter().map(|o| o.shape.len() as u32).sum());
    world.tensor_op(&operands, |r, n| if n.len() == 1 && r.shape(n[0]) == shape { n[0] } else { r.pack(n, shape) })
}

/// A matrix of its rows, or the matrix that a single argument is.
fn mat(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let operand = match args {
        [only] => {
            let operand = world.operand("mat", *only)?;
            match operand.shape {
                Shape::Matrix(..) => operand,
                _ => row_matrix(world, args)?,
            }
        }
        _ => row_matrix(world, args)?,
    };
    world.tensor_op(&[operand], |_, n| n[0])
}

fn row_matrix(world: &World, rows: &[Value]) -> Result<Operand, Error> {
    let wrong = || {
        Diagnostic::error(ErrorCode::E0602, format!("mat takes rows of numbers, got {}", world.show(rows[0])))
            .help("write (mat (vec 1 2) (vec 3 4)) or (mat '((1 2) (3 4)))")
    };
    if rows.iter().any(|&row| world.shape_of(row) == Some(Shape::Scalar)) {
        return Err(wrong());
    }
    let operand = world.stacked("mat", rows, wrong)?;
    if matches!(operand.shape, Shape::Vector(_)) { Err(wrong()) } else { Ok(operand) }
}

/// The length of a vector.
pub(crate) fn length(world: &mut World, who: &str, args: &[Value]) -> Result<Value, Error> {
    let n = world.vector_operand(who, args[0])?.shape.len();
    Ok(Value::fixnum(n as i64))
}

/// `(ref v i)`, `(ref m i)` for a row, `(ref m i j)`.
pub(crate) fn reference(world: &mut World, who: &str, args: &[Value]) -> Result<Value, Error> {
    let x = world.operand(who, args[0])?;
    let (count, shape, width) = match (x.shape, args.len()) {
        (Shape::Vector(n), 2) => (n, Shape::Scalar, 1),
        (Shape::Matrix(m, n), 2) => (m, Shape::Vector(n), n),
        (Shape::Matrix(m, n), _) => {
            let row = world.index_below(who, world.plain(args[1]), m as usize)? as u32;
            let column = world.index_below(who, world.plain(args[2]), n as usize)? as u32;
            if world.needs_rule(args[1]) || world.needs_rule(args[2]) {
                return world.gather(x, Shape::Scalar, &[(args[1], m), (args[2], n)]);
            }
            return world.tensor_op(&[x], |r, nodes| r.take(nodes[0], vec![row * n + column], Shape::Scalar));
        }
        _ => return Err(wrong_shapes(who, "a vector and an index, or a matrix and one or two", &[&x])),
    };
    let i = world.index_below(who, world.plain(args[1]), count as usize)? as u32;
    if world.needs_rule(args[1]) {
        return world.gather(x, shape, &[(args[1], count)]);
    }
    world.tensor_op(&[x], |r, nodes| r.take(nodes[0], (i * width..(i + 1) * width).collect(), shape))
}

/// Numbers in lists, rows in lists of lists.
fn to_list(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let operand = world.operand("tensor->list", args[0])?;
    let tensor = world.tensor_op(&[operand], |_, n| n[0])?;
    let shape = world.shape_of(tensor).unwrap_or_default();
    let elements = world.elements_of(tensor)?;
    world.heap.ensure(4 * elements.len())?;
    Ok(match shape {
        Shape::Scalar => tensor,
        Shape::Vector(_) => world.heap.list(&elements),
        Shape::Matrix(m, n) => {
            let row = |i: usize| i * n as usize..(i + 1) * n as usize;
            let rows: Vec<Value> = (0..m as usize).map(|i| world.heap.list(&elements[row(i)])).collect();
            world.heap.list(&rows)
        }
    })
}

fn filled(world: &mut World, who: &str, args: &[Value], x: f64) -> Result<Value, Error> {
    let shape = world.shape_argument(who, args)?;
    world.spend(shape.len() / 8);
    world.plain_value(shape, &vec![x.to_bits(); shape.len()])
}

/// The sum of all elements, or over the rows (axis 0) or columns (axis 1) of a matrix.
fn sum(world: &mut World, who: &str, args: &[Value]) -> Result<Value, Error> {
    let x = world.operand(who, args[0])?;
    let Some(&axis) = args.get(1) else { return world.tensor_op(&[x], |r, n| r.sum(n[0])) };
    let axis = world.index_below(who, axis, 2)?;
    let Shape::Matrix(m, n) = x.shape else { return Err(wrong_shapes(who, "a matrix and an axis", &[&x])) };
    let places = (0..m).flat_map(|i| (0..n).map(move |j| if axis == 0 { j } else { i }));
    let map: Vec<u32> = places.collect();
    world.tensor_op(&[x], |r, nodes| {
        let map = r.map(map);
        r.kernel(Kernel::Put(map), nodes, Shape::Vector(if axis == 0 { n } else { m }))
    })
}

fn cross(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let (x, y) = (world.operand("cross", args[0])?, world.operand("cross", args[1])?);
    if x.shape != Shape::Vector(3) || y.shape != Shape::Vector(3) {
        return Err(wrong_shapes("cross", "two vectors of 3", &[&x, &y]));
    }
    world.tensor_op(&[x, y], |r, n| {
        let shape = Shape::Vector(3);
        let mut turned = |k: usize, by: [u32; 3]| r.take(n[k], by.to_vec(), shape);
        let (a, b) = (turned(0, [1, 2, 0]), turned(1, [2, 0, 1]));
        let (c, d) = (turned(0, [2, 0, 1]), turned(1, [1, 2, 0]));
        let (p, q) = (r.op(Op::Mul, &[a, b]), r.op(Op::Mul, &[c, d]));
        r.op(Op::Sub, &[p, q])
    })
}

/// The product of matrices, of a matrix and a vector, or of a vector (as a row) and a matrix.
fn product(world: &mut World, who: &str, x: Operand, y: Operand) -> Result<Value, Error> {
    let ([m, k], left) = match x.shape {
        Shape::Matrix(m, k) => ([m, k], true),
        Shape::Vector(k) => ([1, k], false),
        Shape::Scalar => return Err(wrong_shapes(who, "matrices or vectors", &[&x, &y])),
    };
    let ([p, n], right) = match y.shape {
        Shape::Matrix(p, n) => ([p, n], true),
        Shape::Vector(p) => ([p, 1], false),
        Shape::Scalar => return Err(wrong_shapes(who, "matrices or vectors", &[&x, &y])),
    };
    if k != p {
        let message = format!("{who}: {} and {} do not fit together", shape_name(x.shape), shape_name(y.shape));
        return Err(Diagnostic::error(ErrorCode::E0601, message)
            .help("the columns of the first must be as many as the rows of the second"));
    }
    let shape = match (left, right) {
        (true, true) => Shape::Matrix(m, n),
        (true, false) => Shape::Vector(m),
        (false, true) => Shape::Vector(n),
        (false, false) => Shape::Scalar,
    };
    world.heap.ensure(shape.len())?;
    world.spend((m as usize * n as usize).saturating_mul(k as usize) / 8);
    let kernel = Kernel::MatMul { ta: false, tb: false, m, k, n };
    world.tensor_op(&[x, y], |r, nodes| r.kernel(kernel, nodes, shape))
}

/// The diagonal of a matrix, or the matrix with this diagonal.
fn diagonal(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let x = world.operand("diag", args[0])?;
    match x.shape {
        Shape::Vector(n) => {
            world.heap.ensure((n as usize).saturating_mul(n as usize))?;
            let map = (0..n * n).map(|e| if e % (n + 1) == 0 { e / (n + 1) } else { NONE }).collect();
            world.tensor_op(&[x], |r, nodes| r.take(nodes[0], map, Shape::Matrix(n, n)))
        }
        Shape::Matrix(m, n) => {
            let map: Vec<u32> = (0..m.min(n)).map(|i| i * (n + 1)).collect();
            let shape = Shape::Vector(map.len() as u32);
            world.tensor_op(&[x], |r, nodes| r.take(nodes[0], map, shape))
        }
        Shape::Scalar => Err(wrong_shapes("diag", "a vector or a matrix", &[&x])),
    }
}

fn square_kernel(world: &mut World, who: &str, args: &[Value], kernel: Kernel) -> Result<Value, Error> {
    let (x, n) = world.square_operand(who, args[0])?;
    let work = (n as usize).saturating_pow(3);
    world.spend(work / 8);
    let shape = match kernel {
        Kernel::Det | Kernel::LogDet => Shape::Scalar,
        _ => x.shape,
    };
    world.tensor_op(&[x], |r, nodes| r.kernel(kernel, nodes, shape))
}

/// `(slice v from to)`, `(slice m from to)` for rows, `(slice m from to left right)`.
fn slice(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let x = world.operand("slice", args[0])?;
    let (map, shape) = match (x.shape, args.len()) {
        (Shape::Vector(n), 3) => {
            let (from, to) = world.range("slice", args, 1, n as usize)?;
            ((from as u32..to as u32).collect(), Shape::Vector((to - from) as u32))
        }
        (Shape::Matrix(m, n), 3 | 5) => {
            let (top, bottom) = world.range("slice", &args[..3], 1, m as usize)?;
            let (left, right) =
                if args.len() == 5 { world.range("slice", args, 3, n as usize)? } else { (0, n as usize) };
            let row = |i: usize| (left..right).map(move |j| (i * n as usize + j) as u32);
            ((top..bottom).flat_map(row).collect(), Shape::Matrix((bottom - top) as u32, (right - left) as u32))
        }
        _ => return Err(wrong_shapes("slice", "a vector and a range, or a matrix and one or two", &[&x])),
    };
    world.tensor_op(&[x], |r, nodes| r.take(nodes[0], map, shape))
}

/// Vectors one after the other, or matrices one below the other.
fn concat(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let operands = args.iter().map(|&v| world.operand("concat", v)).collect::<Result<Vec<_>, _>>()?;
    let columns = operands.iter().find_map(|o| match o.shape {
        Shape::Matrix(_, n) => Some(n),
        _ => None,
    });
    let Some(n) = columns else { return vec(world, args) };
    let mut rows = 0;
    for o in &operands {
        rows += match o.shape {
            Shape::Matrix(m, k) if k == n => m,
            Shape::Vector(k) if k == n => 1,
            _ => {
                return Err(wrong_shapes(
                    "concat",
                    "vectors, or matrices with equally many columns",
                    &[&operands[0], o],
                ));
            }
        };
    }
    world.tensor_op(&operands, |r, nodes| r.pack(nodes, Shape::Matrix(rows, n)))
}

/// The index of the largest or smallest element: the first of several. It decides by comparisons.
fn extreme(world: &mut World, who: &str, v: Value, better: fn(f64, f64) -> bool) -> Result<Value, Error> {
    let operand = world.operand(who, v)?;
    if operand.shape.is_empty() {
        return Err(wrong_shapes(who, "at least one element", &[&operand]));
    }
    let tensor = world.tensor_op(&[operand], |_, n| n[0])?;
    let elements = world.elements_of(tensor)?;
    let mut best = 0;
    for i in 1..elements.len() {
        let real = |w: &World, v: Value| num::Number::of(&w.heap, w.plain(v)).map_or(f64::NAN, |n| n.to_f64());
        let (x, y) = (real(world, elements[i]), real(world, elements[best]));
        if world.decide_order(elements[i], elements[best], better(1.0, 0.0), better(x, y))? {
            best = i;
        }
    }
    Ok(Value::fixnum(best as i64))
}
