//! Linear algebra on one matrix, row by row in memory. Each function has one order of operations,
//! written here; whoever needs the same numbers calls the same function. Nothing fails: a singular
//! matrix gives infinities or NaN. With `S`, every operation is rounded to single precision.

use crate::real;

#[inline]
fn fit<const S: bool>(x: f64) -> f64 {
    if S { x as f32 as f64 } else { x }
}

/// Memory for kernels, reused between calls.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Operands and result of one lane.
    pub(crate) lane: [Vec<f64>; 3],
    /// Which elements have been written.
    pub(crate) written: Vec<bool>,
    lu: Vec<f64>,
    order: Vec<usize>,
    column: Vec<f64>,
    minor: Vec<f64>,
}

impl Scratch {
    /// Factors a matrix: rows are exchanged so that the largest element of each column (the first
    /// of several) divides. Returns the sign of the exchange.
    fn factor<const S: bool>(&mut self, a: &[f64], n: usize) -> f64 {
        self.lu.clear();
        self.lu.extend_from_slice(a);
        self.order.clear();
        self.order.extend(0..n);
        let lu = &mut self.lu;
        let mut sign = 1.0;
        for c in 0..n {
            let mut pivot = c;
            for r in c + 1..n {
                if lu[r * n + c].abs() > lu[pivot * n + c].abs() {
                    pivot = r;
                }
            }
            if pivot != c {
                for j in 0..n {
                    lu.swap(c * n + j, pivot * n + j);
                }
                self.order.swap(c, pivot);
                sign = -sign;
            }
            let (top, below) = lu.split_at_mut((c + 1) * n);
            let top = &top[c * n..];
            for row in below.chunks_exact_mut(n) {
                let factor = fit::<S>(row[c] / top[c]);
                row[c] = factor;
                for (x, &t) in row[c + 1..].iter_mut().zip(&top[c + 1..]) {
                    *x = fit::<S>(*x - fit::<S>(factor * t));
                }
            }
        }
        sign
    }

    /// Solves for one column of the right side, given by `right`, into `self.column`.
    fn substitute<const S: bool>(&mut self, n: usize, right: impl Fn(usize) -> f64) {
        self.column.clear();
        self.column.extend(self.order.iter().map(|&r| right(r)));
        let (lu, x) = (&self.lu, &mut self.column);
        for i in 0..n {
            for j in 0..i {
                x[i] = fit::<S>(x[i] - fit::<S>(lu[i * n + j] * x[j]));
            }
        }
        for i in (0..n).rev() {
            for j in i + 1..n {
                x[i] = fit::<S>(x[i] - fit::<S>(lu[i * n + j] * x[j]));
            }
            x[i] = fit::<S>(x[i] / lu[i * n + i]);
        }
    }
}

/// The solution of `a x = b` with `columns` right sides.
pub fn solve<const S: bool>(out: &mut [f64], a: &[f64], b: &[f64], n: usize, columns: usize, scratch: &mut Scratch) {
    scratch.factor::<S>(a, n);
    for c in 0..columns {
        scratch.substitute::<S>(n, |r| b[r * columns + c]);
        for (r, &x) in scratch.column.iter().enumerate() {
            out[r * columns + c] = x;
        }
    }
}

/// The inverse.
pub fn inverse<const S: bool>(out: &mut [f64], a: &[f64], n: usize, scratch: &mut Scratch) {
    scratch.factor::<S>(a, n);
    for c in 0..n {
        scratch.substitute::<S>(n, |r| if r == c { 1.0 } else { 0.0 });
        for (r, &x) in scratch.column.iter().enumerate() {
            out[r * n + c] = x;
        }
    }
}

/// The determinant.
pub fn determinant<const S: bool>(a: &[f64], n: usize, scratch: &mut Scratch) -> f64 {
    let sign = scratch.factor::<S>(a, n);
    (0..n).fold(sign, |product, i| {
        let x = scratch.lu[i * n + i];
        // A column without a pivot: the rest of the factorisation divided by zero.
        if product == 0.0 || x == 0.0 { 0.0 } else { fit::<S>(product * x) }
    })
}

/// The logarithm of the magnitude of the determinant.
pub fn log_determinant<const S: bool>(a: &[f64], n: usize, scratch: &mut Scratch) -> f64 {
    scratch.factor::<S>(a, n);
    (0..n).fold(0.0, |sum, i| fit::<S>(sum + fit::<S>(real::log(scratch.lu[i * n + i].abs()))))
}

/// The cofactors, each from its own minor: right at singular matrices too.
pub fn cofactors<const S: bool>(out: &mut [f64], a: &[f64], n: usize, scratch: &mut Scratch) {
    for i in 0..n {
        for j in 0..n {
            let mut minor = std::mem::take(&mut scratch.minor);
            minor.clear();
            for r in (0..n).filter(|&r| r != i) {
                minor.extend((0..n).filter(|&c| c != j).map(|c| a[r * n + c]));
            }
            let d = determinant::<S>(&minor, n - 1, scratch);
            scratch.minor = minor;
            out[i * n + j] = if (i + j) % 2 == 0 { d } else { -d };
        }
    }
}

/// The lower triangular factor of a positive definite matrix, which is made symmetric first as the
/// mean of itself and its transpose. NaN where it is not positive definite.
pub fn cholesky<const S: bool>(out: &mut [f64], a: &[f64], n: usize) {
    out.fill(0.0);
    for i in 0..n {
        for j in 0..=i {
            let mut x = fit::<S>(0.5 * fit::<S>(a[i * n + j] + a[j * n + i]));
            for k in 0..j {
                x = fit::<S>(x - fit::<S>(out[i * n + k] * out[j * n + k]));
            }
            let x = if i == j { real::sqrt(x) } else { x / out[j * n + j] };
            out[i * n + j] = fit::<S>(x);
        }
    }
}
