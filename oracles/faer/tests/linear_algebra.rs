//! Linear algebra on tapes against faer.

use dmci_ops::{Kernel, Shape};
use dmci_tape::Recorder;
use faer::linalg::solvers::{DenseSolveCore, Solve};

/// Numbers between -1 and 1, the same in every run.
fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + b.abs())
}

#[test]
fn linear_algebra_agrees_with_faer() {
    for n in [1usize, 2, 5, 10, 33] {
        let mut elements = numbers(n * n, n as u64);
        (0..n).for_each(|i| elements[i * (n + 1)] += 2.0);
        let right = numbers(n, 77);
        let matrix = faer::Mat::from_fn(n, n, |i, j| elements[i * n + j]);
        let shape = Shape::Matrix(n as u32, n as u32);
        let mut r = Recorder::new();
        let a = r.constant(shape, elements.clone());
        let b = r.constant(Shape::Vector(n as u32), right.clone());
        let read = |r: &Recorder, id| r.elements(id).iter().map(|&x| f64::from_bits(x)).collect::<Vec<_>>();
        let lu = matrix.partial_piv_lu();

        let inverse = r.kernel(Kernel::Inverse, &[a], shape);
        let expected = lu.inverse();
        for (e, x) in read(&r, inverse).iter().enumerate() {
            assert!(close(*x, expected[(e / n, e % n)], 1e-12), "inverse of {n}");
        }
        let solution = r.kernel(Kernel::Solve { transposed: false }, &[a, b], Shape::Vector(n as u32));
        let expected = lu.solve(faer::Mat::from_fn(n, 1, |i, _| right[i]));
        for (i, x) in read(&r, solution).iter().enumerate() {
            assert!(close(*x, expected[(i, 0)], 1e-12), "solution of {n}");
        }
        let det = r.kernel(Kernel::Det, &[a], Shape::Scalar);
        let logdet = r.kernel(Kernel::LogDet, &[a], Shape::Scalar);
        let expected = matrix.determinant();
        assert!((r.value(det) / expected - 1.0).abs() < 1e-12, "determinant of {n}");
        assert!(close(r.value(logdet), expected.abs().ln(), 1e-12), "logdet of {n}");

        let definite = &matrix * matrix.transpose();
        let c = r.constant(shape, (0..n * n).map(|e| definite[(e / n, e % n)]));
        let lower = r.kernel(Kernel::Cholesky, &[c], shape);
        let llt = definite.llt(faer::Side::Lower).unwrap();
        for (e, x) in read(&r, lower).iter().enumerate().filter(|(e, _)| e % n <= e / n) {
            assert!(close(*x, llt.L()[(e / n, e % n)], 1e-10), "cholesky of {n}");
        }
    }
}
