//! Tensor operations: first and second derivatives against finite differences, forward mode against
//! reverse mode. Values are compared with an independent library in `oracles/faer`.

#![allow(clippy::unwrap_used)]

use dmci_ops::{Build, Kernel, NONE, Op, Shape};
use dmci_tape::{LeafKind, NodeId, Recorder, Tape, adjoints, gradient, tangents};

/// An operation under test: shapes of its operands, and how to build it.
struct Case {
    name: &'static str,
    operands: Vec<Shape>,
    build: fn(&mut Recorder, &[NodeId]) -> NodeId,
}

const V3: Shape = Shape::Vector(3);
const M22: Shape = Shape::Matrix(2, 2);
const M33: Shape = Shape::Matrix(3, 3);
const M23: Shape = Shape::Matrix(2, 3);

fn square(r: &mut Recorder, kernel: Kernel, x: NodeId, scalar: bool) -> NodeId {
    let shape = if scalar { Shape::Scalar } else { r.shape(x) };
    r.kernel(kernel, &[x], shape)
}

fn matmul(r: &mut Recorder, n: &[NodeId], flags: (bool, bool), sizes: [u32; 3], shape: Shape) -> NodeId {
    let [m, k, c] = sizes;
    r.kernel(Kernel::MatMul { ta: flags.0, tb: flags.1, m, k, n: c }, n, shape)
}

/// x xᵀ + 2 I: well conditioned and positive definite.
fn definite(r: &mut Recorder, x: NodeId) -> NodeId {
    let product = matmul(r, &[x, x], (false, true), [3, 3, 3], M33);
    let identity = r.constant(M33, (0..9).map(|e| if e % 4 == 0 { 2.0 } else { 0.0 }));
    r.op(Op::Add, &[product, identity])
}

fn cases() -> Vec<Case> {
    let case = |name, operands: &[Shape], build| Case { name, operands: operands.to_vec(), build };
    vec![
        case("number times vector", &[Shape::Scalar, V3], |r, n| r.op(Op::Mul, n)),
        case("vector over number", &[V3, Shape::Scalar], |r, n| {
            let one = r.real(3.0);
            let d = r.op(Op::Add, &[n[1], one]);
            r.op(Op::Div, &[n[0], d])
        }),
        case("matrix minus row", &[M23, V3], |r, n| r.op(Op::Sub, n)),
        case("row times matrix", &[V3, M23], |r, n| r.op(Op::Mul, n)),
        case("column times row", &[Shape::Matrix(2, 1), V3], |r, n| r.op(Op::Mul, n)),
        case("exp of a matrix", &[M23], |r, n| r.op(Op::Exp, n)),
        case("pow of vectors", &[V3, V3], |r, n| {
            let base = r.op(Op::Exp, &[n[0]]);
            r.op(Op::Pow, &[base, n[1]])
        }),
        case("max with a number", &[V3, Shape::Scalar], |r, n| r.op(Op::Max, n)),
        case("take with zeros and repeats", &[V3], |r, n| r.take(n[0], vec![2, NONE, 0, 2], M22)),
        case("put with sums and gaps", &[Shape::Vector(4)], |r, n| {
            let map = r.map(vec![1, NONE, 1, 0]);
            r.kernel(Kernel::Put(map), n, V3)
        }),
        case("sum", &[M23], |r, n| r.sum(n[0])),
        case("pack", &[V3, Shape::Scalar, M22], |r, n| r.pack(n, Shape::Matrix(4, 2))),
        case("transpose", &[M23], |r, n| r.transpose(n[0])),
        case("index", &[M23], |r, n| {
            let one = r.int(1);
            r.kernel(Kernel::Index, &[n[0], one], V3)
        }),
        case("scatter", &[V3], |r, n| {
            let one = r.int(1);
            r.kernel(Kernel::Scatter, &[n[0], one], M23)
        }),
        case("matmul", &[M23, M33], |r, n| matmul(r, n, (false, false), [2, 3, 3], M23)),
        case("matmul-tn", &[M23, M23], |r, n| matmul(r, n, (true, false), [3, 2, 3], M33)),
        case("matmul-nt", &[M23, M33], |r, n| matmul(r, n, (false, true), [2, 3, 3], M23)),
        case("matmul-tt", &[M23, Shape::Matrix(4, 2)], |r, n| {
            matmul(r, n, (true, true), [3, 2, 4], Shape::Matrix(3, 4))
        }),
        case("dot", &[V3, V3], |r, n| matmul(r, n, (false, false), [1, 3, 1], Shape::Scalar)),
        case("outer", &[V3, Shape::Vector(2)], |r, n| matmul(r, n, (false, false), [3, 1, 2], Shape::Matrix(3, 2))),
        case("solve", &[M33, V3], |r, n| {
            let a = definite(r, n[0]);
            r.kernel(Kernel::Solve { transposed: false }, &[a, n[1]], V3)
        }),
        case("solve many, transposed", &[M33, Shape::Matrix(3, 2)], |r, n| {
            let shift = r.constant(M33, (0..9).map(|e| if e % 4 == 0 { 4.0 } else { 0.0 }));
            let a = r.op(Op::Add, &[n[0], shift]);
            r.kernel(Kernel::Solve { transposed: true }, &[a, n[1]], Shape::Matrix(3, 2))
        }),
        case("sort", &[Shape::Vector(4)], |r, n| {
            r.kernel(Kernel::SortBy { descending: false }, &[n[0], n[0]], Shape::Vector(4))
        }),
        case("unsort", &[V3, V3], |r, n| r.kernel(Kernel::Unsort { descending: true }, n, V3)),
        case("inverse", &[M33], |r, n| {
            let shift = r.constant(M33, (0..9).map(|e| if e % 4 == 0 { 4.0 } else { 0.0 }));
            let a = r.op(Op::Add, &[n[0], shift]);
            square(r, Kernel::Inverse, a, false)
        }),
        case("det", &[M33], |r, n| square(r, Kernel::Det, n[0], true)),
        case("cofactor", &[M33], |r, n| square(r, Kernel::Cofactor, n[0], false)),
        case("logdet", &[M33], |r, n| {
            let a = definite(r, n[0]);
            square(r, Kernel::LogDet, a, true)
        }),
        case("cholesky", &[M33], |r, n| {
            let a = definite(r, n[0]);
            square(r, Kernel::Cholesky, a, false)
        }),
        case("root of zero and more", &[V3], |r, n| {
            let squares = r.op(Op::Mul, &[n[0], n[0]]);
            let sum = r.sum(squares);
            r.op(Op::Root, &[sum])
        }),
    ]
}

/// Numbers between -1 and 1, the same in every run.
fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// A number made of the operation: its elements through a curved function, with weights.
fn recorded(case: &Case, x: &[f64]) -> (Recorder, NodeId, Vec<NodeId>) {
    let mut r = Recorder::new();
    let mut rest = x;
    let mut leaves = Vec::new();
    for (i, &shape) in case.operands.iter().enumerate() {
        let (these, after) = rest.split_at(shape.len());
        rest = after;
        let name = format!("x{i}");
        leaves.push(match shape {
            Shape::Scalar => r.leaf(&name, LeafKind::Param, these[0]),
            _ => r.tensor_leaf(&name, LeafKind::Param, shape, these),
        });
    }
    let y = (case.build)(&mut r, &leaves);
    let shape = r.shape(y);
    let weights = r.constant(shape, numbers(shape.len(), 99));
    let weights = if shape.is_scalar() { r.real(0.7) } else { weights };
    let curved = r.op(Op::Sin, &[y]);
    let weighted = r.op(Op::Mul, &[curved, weights]);
    let total = r.sum(weighted);
    (r, total, leaves)
}

fn value(case: &Case, x: &[f64]) -> f64 {
    let (r, total, _) = recorded(case, x);
    r.value(total)
}

fn first(case: &Case, x: &[f64]) -> Vec<f64> {
    let (mut r, total, leaves) = recorded(case, x);
    adjoints(&mut r, total, &leaves)
}

fn differences(x: &[f64], f: impl Fn(&[f64]) -> Vec<f64>) -> Vec<Vec<f64>> {
    let h = 1e-5;
    let moved = |i: usize, by: f64| {
        let mut x = x.to_vec();
        x[i] += by;
        f(&x)
    };
    let slope = |i: usize| {
        let (up, down) = (moved(i, h), moved(i, -h));
        let (up2, down2) = (moved(i, 2.0 * h), moved(i, -2.0 * h));
        let parts = up.iter().zip(&down).zip(up2.iter().zip(&down2));
        parts.map(|((a, b), (c, d))| (8.0 * (a - b) - (c - d)) / (12.0 * h)).collect()
    };
    (0..x.len()).map(slope).collect()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + b.abs())
}

#[test]
fn derivatives_agree_with_finite_differences() {
    for case in cases() {
        let size = case.operands.iter().map(|s| s.len()).sum();
        for seed in 0..3 {
            let x = numbers(size, seed);
            let gradient = first(&case, &x);
            for (i, slope) in differences(&x, |x| vec![value(&case, x)]).iter().enumerate() {
                assert!(close(gradient[i], slope[0], 1e-9), "{}: {} and {}", case.name, gradient[i], slope[0]);
            }
        }
    }
}

#[test]
fn second_derivatives_agree_with_finite_differences() {
    for case in cases() {
        let size: usize = case.operands.iter().map(|s| s.len()).sum();
        let x = numbers(size, 5);
        let expected = differences(&x, |x| first(&case, x));
        let (mut r, total, leaves) = recorded(&case, &x);
        let rows = gradient(&mut r, total, &leaves);
        let mut i = 0;
        for (row, &leaf) in rows.iter().zip(&leaves) {
            for e in 0..r.shape(leaf).len() {
                let Some(row) = *row else {
                    assert!(expected[i].iter().all(|x| x.abs() < 1e-8), "{} row {i}", case.name);
                    i += 1;
                    continue;
                };
                let element = r.element(row, e);
                for (got, want) in adjoints(&mut r, element, &leaves).iter().zip(&expected[i]) {
                    assert!(close(*got, *want, 1e-8), "{} row {i}: {got} and {want}", case.name);
                }
                i += 1;
            }
        }
        assert_eq!(i, size);
    }
}

#[test]
fn forward_mode_agrees_with_reverse_mode() {
    for case in cases() {
        let size = case.operands.iter().map(|s| s.len()).sum();
        let (x, v) = (numbers(size, 8), numbers(size, 9));
        let (mut r, total, leaves) = recorded(&case, &x);
        let expected: f64 = adjoints(&mut r, total, &leaves).iter().zip(&v).map(|(g, v)| g * v).sum();
        let mut rest = &v[..];
        let mut directions = Vec::new();
        for &leaf in &leaves {
            let shape = r.shape(leaf);
            let (these, after) = rest.split_at(shape.len());
            rest = after;
            directions.push(if shape.is_scalar() { r.real(these[0]) } else { r.constant(shape, these.to_vec()) });
        }
        let change = tangents(&mut r, &[total], &leaves, &directions)[0].unwrap();
        assert!(close(r.value(change), expected, 1e-12), "{}: {} and {expected}", case.name, r.value(change));
    }
}

#[test]
fn the_text_form_holds_everything() {
    for case in cases() {
        let size = case.operands.iter().map(|s| s.len()).sum();
        let (mut r, total, leaves) = recorded(&case, &numbers(size, 1));
        gradient(&mut r, total, &leaves);
        let tape = r.tape();
        tape.verify().unwrap_or_else(|why| panic!("{}: {why}", case.name));
        let again = Tape::parse(&tape.print()).unwrap_or_else(|why| panic!("{}: {why}", case.name));
        assert_eq!(again.print(), tape.print(), "{}", case.name);
    }
}

#[test]
fn the_determinant_has_its_derivative_at_singular_matrices() {
    // Rank 2: the cofactors are not zero. Rank 1: they are.
    let rank_two = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
    let cofactors = [-3.0, 6.0, -3.0, 6.0, -12.0, 6.0, -3.0, 6.0, -3.0];
    let rank_one = [1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 3.0, 6.0, 9.0];
    for (matrix, expected) in [(rank_two, cofactors), (rank_one, [0.0; 9])] {
        let mut r = Recorder::new();
        let leaf = r.tensor_leaf("m", LeafKind::Param, M33, &matrix);
        let det = r.kernel(Kernel::Det, &[leaf], Shape::Scalar);
        for (got, want) in adjoints(&mut r, det, &[leaf]).iter().zip(expected) {
            assert!(close(*got, want, 1e-13), "{got} and {want}");
        }
    }
}

#[test]
fn inverses_and_factors_multiply_back() {
    for n in [1u32, 2, 5, 33] {
        let shape = Shape::Matrix(n, n);
        let mut elements = numbers((n * n) as usize, n.into());
        (0..n as usize).for_each(|i| elements[i * (n as usize + 1)] += 2.0);
        let mut r = Recorder::new();
        let a = r.constant(shape, elements);
        let inverse = r.kernel(Kernel::Inverse, &[a], shape);
        let identity = matmul(&mut r, &[a, inverse], (false, false), [n, n, n], shape);
        for (e, &bits) in r.elements(identity).iter().enumerate() {
            let expected = if (e as u32).is_multiple_of(n + 1) { 1.0 } else { 0.0 };
            assert!((f64::from_bits(bits) - expected).abs() < 1e-12, "{n}: element {e}");
        }
        let definite = matmul(&mut r, &[a, a], (false, true), [n, n, n], shape);
        let lower = r.kernel(Kernel::Cholesky, &[definite], shape);
        let again = matmul(&mut r, &[lower, lower], (false, true), [n, n, n], shape);
        for (&x, &y) in r.elements(again).iter().zip(r.elements(definite)) {
            assert!(close(f64::from_bits(x), f64::from_bits(y), 1e-13), "{n}");
        }
        let (det, logdet) = (r.kernel(Kernel::Det, &[a], Shape::Scalar), r.kernel(Kernel::LogDet, &[a], Shape::Scalar));
        assert!(close(r.value(det).abs().ln(), r.value(logdet), 1e-13), "{n}");
    }
}
