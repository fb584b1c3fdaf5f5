//! Kernels give every lane the bits of the definition, which is written here once more with plain loops: alone, among
//! any number of lanes, for every size, in double and single precision.
#![allow(clippy::unwrap_used)]

use dmci_ops::linalg::Scratch;
use dmci_ops::{Kernel, Layout, Op, Shape, Tensor, Type, Word, lengthen, real, shorten};
use std::cell::RefCell;

/// One matrix, row by row.
type Matrix = Vec<f64>;

struct Rounding(bool);

impl Rounding {
    fn fit(&self, x: f64) -> f64 {
        if self.0 { x as f32 as f64 } else { x }
    }

    fn product(&self, a: &Matrix, b: &Matrix, (ta, tb): (bool, bool), [m, k, n]: [usize; 3]) -> Matrix {
        let mut out = Vec::new();
        for i in 0..m {
            for j in 0..n {
                let term = |p: usize| {
                    let x = a[if ta { p * m + i } else { i * k + p }];
                    let y = b[if tb { j * k + p } else { p * n + j }];
                    self.fit(x * y)
                };
                out.push((1..k).fold(term(0), |sum, p| self.fit(sum + term(p))));
            }
        }
        out
    }

    /// The factors, the order of the rows, the sign of that order.
    fn factor(&self, a: &Matrix, n: usize) -> (Matrix, Vec<usize>, f64) {
        let (mut lu, mut order, mut sign) = (a.clone(), (0..n).collect::<Vec<_>>(), 1.0);
        for c in 0..n {
            let pivot = (c + 1..n).fold(c, |p, r| if lu[r * n + c].abs() > lu[p * n + c].abs() { r } else { p });
            if pivot != c {
                (0..n).for_each(|j| lu.swap(c * n + j, pivot * n + j));
                order.swap(c, pivot);
                sign = -sign;
            }
            for r in c + 1..n {
                lu[r * n + c] = self.fit(lu[r * n + c] / lu[c * n + c]);
                for j in c + 1..n {
                    lu[r * n + j] = self.fit(lu[r * n + j] - self.fit(lu[r * n + c] * lu[c * n + j]));
                }
            }
        }
        (lu, order, sign)
    }

    fn solve(&self, a: &Matrix, b: &Matrix, n: usize) -> Matrix {
        let (lu, order, _) = self.factor(a, n);
        let columns = b.len() / n;
        let mut out = vec![0.0; b.len()];
        for c in 0..columns {
            let mut x: Vec<f64> = order.iter().map(|&r| b[r * columns + c]).collect();
            for i in 0..n {
                x[i] = (0..i).fold(x[i], |sum, j| self.fit(sum - self.fit(lu[i * n + j] * x[j])));
            }
            for i in (0..n).rev() {
                x[i] = (i + 1..n).fold(x[i], |sum, j| self.fit(sum - self.fit(lu[i * n + j] * x[j])));
                x[i] = self.fit(x[i] / lu[i * n + i]);
            }
            x.iter().enumerate().for_each(|(r, &x)| out[r * columns + c] = x);
        }
        out
    }

    fn determinant(&self, a: &Matrix, n: usize) -> f64 {
        let (lu, _, sign) = self.factor(a, n);
        (0..n).fold(sign, |d, i| if d == 0.0 || lu[i * n + i] == 0.0 { 0.0 } else { self.fit(d * lu[i * n + i]) })
    }

    fn log_determinant(&self, a: &Matrix, n: usize) -> f64 {
        let lu = self.factor(a, n).0;
        (0..n).fold(0.0, |sum, i| self.fit(sum + self.fit(real::log(lu[i * n + i].abs()))))
    }

    fn cholesky(&self, a: &Matrix, n: usize) -> Matrix {
        let mut out = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let mean = self.fit(0.5 * self.fit(a[i * n + j] + a[j * n + i]));
                let x = (0..j).fold(mean, |x, k| self.fit(x - self.fit(out[i * n + k] * out[j * n + k])));
                out[i * n + j] = self.fit(if i == j { real::sqrt(x) } else { x / out[j * n + j] });
            }
        }
        out
    }
}

/// A number from a seed: some are small, some are large, some are zeros of either sign.
fn number(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    let x = (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
    match *seed >> 60 {
        0 => 0.0,
        1 => -0.0,
        2 => x * 1e6,
        _ => x,
    }
}

fn bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

thread_local! {
    /// The same for all kernels of a test, so that each meets what others have left there.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Runs a kernel over lanes in rows of so many words and compares every lane with its definition: in words of 64 bits,
/// and in single precision in words of 32 bits too.
fn compare(kernel: Kernel, shape: Shape, args: [(&[Matrix], Shape); 2], single: bool, want: impl Fn(usize) -> Matrix) {
    let layouts = [(1, 1), (4, 1), (4, 3), (4, 4), (6, 5), (8, 7), (8, 8), (12, 9), (16, 9)];
    for layout in layouts.map(|(width, lanes)| Layout { width, lanes, single }) {
        compare_words::<u64>(kernel, shape, args, layout, &want);
        if single {
            compare_words::<u32>(kernel, shape, args, layout, &want);
        }
    }
}

fn compare_words<W: Word>(
    kernel: Kernel,
    shape: Shape,
    args: [(&[Matrix], Shape); 2],
    layout: Layout,
    want: impl Fn(usize) -> Matrix,
) {
    let Layout { width, lanes, .. } = layout;
    let rows = |of: &[Matrix], elements: usize| {
        let mut words = vec![W::default(); elements * width];
        for lane in 0..lanes {
            (0..elements).for_each(|e| words[e * width + lane] = W::of_real(of[lane][e].to_bits()));
        }
        words
    };
    let operands = args.map(|(of, shape)| (rows(of, shape.len()), shape));
    let tensors = [0, 1].map(|k| Tensor { bits: &operands[k].0, shape: operands[k].1 });
    let mut out = vec![W::of_single(f32::NAN); shape.len() * width];
    SCRATCH.with_borrow_mut(|scratch| kernel.run(&mut out, shape, tensors, &[], layout, scratch));
    for lane in 0..lanes {
        let ours: Vec<u64> = (0..shape.len()).map(|e| out[e * width + lane].into()).collect();
        let theirs: Vec<u64> = want(lane).into_iter().map(|x| W::of_real(bits(x)).into()).collect();
        assert_eq!(ours, theirs, "{kernel:?}, lane {lane}, {layout:?}, words of {} bytes", size_of::<W>());
    }
}

fn matrices(seed: &mut u64, elements: usize, single: bool) -> Vec<Matrix> {
    let fit = |x: f64| Rounding(single).fit(x);
    (0..9).map(|_| (0..elements).map(|_| fit(number(seed))).collect()).collect()
}

#[test]
fn products_of_all_sizes() {
    let mut seed = 1;
    for single in [false, true] {
        let rounding = Rounding(single);
        let few = [[1, 1, 1], [1, 10, 1], [2, 5, 1], [1, 3, 7], [6, 4, 1], [37, 6, 1]];
        let many = [[10, 1, 10], [3, 2, 5], [10, 10, 10], [7, 3, 9], [4, 8, 11], [20, 20, 20], [13, 5, 31]];
        for [m, k, n] in few.into_iter().chain(many) {
            for flags in [(false, false), (true, false), (false, true), (true, true)] {
                let (a, b) = (matrices(&mut seed, m * k, single), matrices(&mut seed, k * n, single));
                let [x, y, z] = [m, k, n].map(|s| s as u32);
                let kernel = Kernel::MatMul { ta: flags.0, tb: flags.1, m: x, k: y, n: z };
                let shapes = [Shape::Matrix(x, y), Shape::Matrix(y, z), Shape::Matrix(x, z)];
                compare(kernel, shapes[2], [(&a, shapes[0]), (&b, shapes[1])], single, |lane| {
                    rounding.product(&a[lane], &b[lane], flags, [m, k, n])
                });
            }
        }
    }
}

#[test]
fn systems_of_all_sizes() {
    let mut seed = 2;
    let sizes = || (1..=11).chain([16, 19, 22]);
    for (single, n) in [false, true].into_iter().flat_map(|single| sizes().map(move |n| (single, n))) {
        let (rounding, size) = (Rounding(single), n as u32);
        let square = Shape::Matrix(size, size);
        let a = matrices(&mut seed, n * n, single);
        let b = matrices(&mut seed, n * 3, single);
        let both = [(&a[..], square), (&b[..], Shape::Matrix(size, 3))];
        let solve = Kernel::Solve { transposed: false };
        compare(solve, Shape::Matrix(size, 3), both, single, |lane| rounding.solve(&a[lane], &b[lane], n));
        let turned = |a: &Matrix| (0..n * n).map(|e| a[e % n * n + e / n]).collect::<Matrix>();
        let solve = Kernel::Solve { transposed: true };
        compare(solve, Shape::Matrix(size, 3), both, single, |lane| rounding.solve(&turned(&a[lane]), &b[lane], n));
        let alone = [both[0]; 2];
        let identity: Matrix = (0..n * n).map(|e| if e % (n + 1) == 0 { 1.0 } else { 0.0 }).collect();
        compare(Kernel::Inverse, square, alone, single, |lane| rounding.solve(&a[lane], &identity, n));
        compare(Kernel::Det, Shape::Scalar, alone, single, |lane| vec![rounding.determinant(&a[lane], n)]);
        compare(Kernel::LogDet, Shape::Scalar, alone, single, |lane| vec![rounding.log_determinant(&a[lane], n)]);
        // Matrices of single precision once more, in the other precision.
        let other = Rounding(!single);
        let round = |a: &Matrix| a.iter().map(|&x| x as f32 as f64).collect::<Matrix>();
        let rounded: Vec<Matrix> = a.iter().map(round).collect();
        let both_rounded = [(&rounded[..], square); 2];
        compare(Kernel::LogDet, Shape::Scalar, both_rounded, !single, |lane| {
            vec![other.log_determinant(&rounded[lane], n)]
        });
        compare(Kernel::Cholesky, square, alone, single, |lane| rounding.cholesky(&a[lane], n));
    }
}

#[test]
fn cofactors_are_determinants_of_minors() {
    let mut seed = 3;
    for n in 2..=5usize {
        let a = matrices(&mut seed, n * n, false);
        let square = Shape::Matrix(n as u32, n as u32);
        compare(Kernel::Cofactor, square, [(&a, square); 2], false, |lane| {
            let cofactor = |e: usize| {
                let (i, j) = (e / n, e % n);
                let minor = (0..n * n).filter(|m| m / n != i && m % n != j).map(|m| a[lane][m]).collect();
                let d = Rounding(false).determinant(&minor, n - 1);
                if (i + j) % 2 == 0 { d } else { -d }
            };
            (0..n * n).map(cofactor).collect()
        });
    }
}

#[test]
fn operations_have_the_same_bits_in_words_of_32_bits() {
    let mut seed = 4;
    let kinds = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-40, -1e-45, 3e38, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0];
    // More than are worked on together, so that the last part is a short one.
    let mut column = |turn: usize| -> Vec<u64> {
        let real =
            |i: usize| if i.is_multiple_of(3) { kinds[(i / 3 + i / 36 * turn) % 12] } else { 3.0 * number(&mut seed) };
        (0..1000).map(real).map(|x| bits(x as f32 as f64)).collect()
    };
    let reals = [column(1), column(5), column(7)];
    let short = reals.each_ref().map(|long| {
        let mut short = vec![0u32; long.len()];
        shorten(&mut short, long);
        short
    });
    let booleans = [0, 1, 2].map(|k| (0..1000).map(|i| (i >> k & 1) as u64).collect::<Vec<u64>>());
    let short_booleans = booleans.each_ref().map(|list| list.iter().map(|&b| b as u32).collect::<Vec<u32>>());
    let has_integers = |op: &Op| op.operands().contains(&Type::Int) || op.result() == Type::Int;
    for &op in Op::ALL.iter().filter(|op| !has_integers(op)) {
        let is_real = |k: usize| op.operands().get(k) != Some(&Type::Bool);
        let (mut long_result, mut short_result) = (vec![0u64; 1000], vec![0u32; 1000]);
        let args = [0, 1, 2].map(|k| if is_real(k) { &reals[k][..] } else { &booleans[k] });
        u64::eval_lanes(op, true, &mut long_result, args);
        let args = [0, 1, 2].map(|k| if is_real(k) { &short[k][..] } else { &short_booleans[k] });
        u32::eval_lanes(op, true, &mut short_result, args);
        let mut found = vec![0u64; 1000];
        match op.result() {
            Type::Real => lengthen(&mut found, &short_result),
            _ => found.iter_mut().zip(&short_result).for_each(|(to, &bits)| *to = bits.into()),
        }
        let other = (0..1000).find(|&i| found[i] != long_result[i]);
        let operands = other.map(|i| reals.each_ref().map(|list| f64::from_bits(list[i])));
        assert_eq!(operands, None, "{op:?}");
    }
}
