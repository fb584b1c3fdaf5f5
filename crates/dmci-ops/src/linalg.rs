//! Linear algebra on matrices of one lane, or of several lanes beside each other. Each function has one order of
//! operations for every lane, written here; whoever needs the same numbers calls the same function. Nothing fails: a
//! singular matrix gives infinities or NaN. With `S`, every operation is rounded to single precision.

// Plain loops over indices: whether they become vectors must not depend on what else is inlined.
#![allow(clippy::needless_range_loop)]

use crate::op::Op;
use crate::real;

/// Rounds to single precision if asked to.
#[inline(always)]
pub(crate) fn fit<const S: bool>(x: f64) -> f64 {
    if S { x as f32 as f64 } else { x }
}

/// Memory for kernels, reused between calls.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Which elements have been written.
    pub(crate) written: Vec<bool>,
    /// Operands of an operation on elements with the elements of smaller ones repeated.
    pub spread: [Vec<u64>; 3],
    /// A matrix that was transposed.
    pub(crate) turned: Vec<u64>,
    pub(crate) one: Room<1>,
    /// Each for every second group of lanes: factors of the few groups of a small block stay there for the next kernel.
    pub(crate) four: [Room<4>; 2],
}

/// An element of so many lanes.
type Group<const L: usize> = [f64; L];

/// Two operands, row by row, what becomes of them, and memory on the way there.
#[derive(Clone, Debug)]
pub(crate) struct Room<const L: usize> {
    pub a: Vec<Group<L>>,
    pub b: Vec<Group<L>>,
    /// Zeros at first.
    pub result: Vec<Group<L>>,
    /// What was factored last, and whether in single precision: one matrix is often inverted and has its determinant
    /// taken.
    factored: (Vec<Group<L>>, bool),
    lu: Vec<Group<L>>,
    /// The row of the matrix that each row of its factors comes from.
    order: Vec<[u32; L]>,
    /// The sign of that exchange.
    sign: Group<L>,
    logs: [Vec<u64>; 2],
}

impl<const L: usize> Default for Room<L> {
    fn default() -> Self {
        Room {
            a: Vec::new(),
            b: Vec::new(),
            result: Vec::new(),
            factored: Default::default(),
            lu: Vec::new(),
            order: Vec::new(),
            sign: [1.0; L],
            logs: Default::default(),
        }
    }
}

/// Element by element.
#[inline(always)]
fn each<const L: usize>(f: impl Fn(usize) -> f64) -> Group<L> {
    let mut group = [0.0; L];
    for (l, x) in group.iter_mut().enumerate() {
        *x = f(l);
    }
    group
}

impl<const L: usize> Room<L> {
    /// Whether the factors of the matrix are there, bit by bit the same ones.
    #[inline(always)]
    fn is_factored<const S: bool>(&self) -> bool {
        let (before, single) = &self.factored;
        if *single != S || before.len() != self.a.len() {
            return false;
        }
        for i in 0..before.len() {
            let mut other = 0;
            for l in 0..L {
                other |= before[i][l].to_bits() ^ self.a[i][l].to_bits();
            }
            if other != 0 {
                return false;
            }
        }
        true
    }

    /// Factors the matrix `a`, which then has no meaning: rows are exchanged so that the largest element of each column
    /// (the first of several) divides. Returns the sign of the exchange.
    #[inline(always)]
    fn factor<const S: bool>(&mut self, n: usize) -> Group<L> {
        if !self.is_factored::<S>() {
            self.sign = self.factor_anew::<S>(n);
            std::mem::swap(&mut self.a, &mut self.factored.0);
            self.factored.1 = S;
        }
        self.sign
    }

    #[inline(always)]
    fn factor_anew<const S: bool>(&mut self, n: usize) -> Group<L> {
        self.lu.clear();
        self.lu.extend_from_slice(&self.a[..n * n]);
        self.order.clear();
        self.order.extend((0..n as u32).map(|r| [r; L]));
        let lu = &mut self.lu[..n * n];
        let mut sign = [1.0; L];
        for c in 0..n {
            let (mut pivot, mut largest) = ([c; L], lu[c * n + c].map(f64::abs));
            for r in c + 1..n {
                for l in 0..L {
                    let larger = lu[r * n + c][l].abs() > largest[l];
                    largest[l] = if larger { lu[r * n + c][l].abs() } else { largest[l] };
                    pivot[l] = if larger { r } else { pivot[l] };
                }
            }
            for l in (0..L).filter(|&l| pivot[l] != c) {
                for j in 0..n {
                    let other = lu[pivot[l] * n + j][l];
                    lu[pivot[l] * n + j][l] = std::mem::replace(&mut lu[c * n + j][l], other);
                }
                let other = self.order[pivot[l]][l];
                self.order[pivot[l]][l] = std::mem::replace(&mut self.order[c][l], other);
                sign[l] = -sign[l];
            }
            let (top, below) = lu.split_at_mut((c + 1) * n);
            let (divisor, top) = (top[c * n + c], &top[c * n + c + 1..]);
            for row in below.chunks_exact_mut(n) {
                let factor: Group<L> = each(|l| fit::<S>(row[c][l] / divisor[l]));
                row[c] = factor;
                let row = &mut row[c + 1..][..top.len()];
                for j in 0..top.len() {
                    row[j] = each(|l| fit::<S>(row[j][l] - fit::<S>(factor[l] * top[j][l])));
                }
            }
        }
        sign
    }

    /// Solves for all columns of the right side, which are in `result` in the order of the factors.
    #[inline(always)]
    fn substitute<const S: bool>(&mut self, n: usize, columns: usize) {
        let (lu, x) = (&self.lu[..n * n], &mut self.result[..n * columns]);
        in_pieces!(columns, [10, 8, 4, 2, 1], |c, C| {
            for i in 0..n {
                subtract::<S, L, C>(x, i * columns + c, &lu[i * n..i * n + i], c, columns);
            }
            for i in (0..n).rev() {
                subtract::<S, L, C>(x, i * columns + c, &lu[i * n + i + 1..i * n + n], (i + 1) * columns + c, columns);
                let divisor = lu[i * n + i];
                for x in &mut x[i * columns + c..][..C] {
                    *x = each(|l| fit::<S>(x[l] / divisor[l]));
                }
            }
        });
    }

    /// The solution of `a x = b` with some right sides.
    #[inline(always)]
    pub fn solve<const S: bool>(&mut self, n: usize, columns: usize) {
        self.factor::<S>(n);
        for (row, order) in self.result.chunks_exact_mut(columns.max(1)).zip(&self.order) {
            for (c, x) in row.iter_mut().enumerate() {
                *x = each(|l| self.b[order[l] as usize * columns + c][l]);
            }
        }
        self.substitute::<S>(n, columns);
    }

    /// The inverse.
    #[inline(always)]
    pub fn inverse<const S: bool>(&mut self, n: usize) {
        self.factor::<S>(n);
        for (r, order) in self.order.iter().enumerate() {
            order.iter().enumerate().for_each(|(l, &c)| self.result[r * n + c as usize][l] = 1.0);
        }
        self.substitute::<S>(n, n);
    }

    #[inline(always)]
    fn determinant_of<const S: bool>(&mut self, n: usize) -> Group<L> {
        let sign = self.factor::<S>(n);
        (0..n).fold(sign, |product, i| {
            let x = self.lu[i * n + i];
            // A column without a pivot: the rest of the factorisation divided by zero.
            each(|l| if product[l] == 0.0 || x[l] == 0.0 { 0.0 } else { fit::<S>(product[l] * x[l]) })
        })
    }

    /// The determinant.
    #[inline(always)]
    pub fn determinant<const S: bool>(&mut self, n: usize) {
        self.result[0] = self.determinant_of::<S>(n);
    }

    /// The logarithm of the magnitude of the determinant.
    #[inline(always)]
    pub fn log_determinant<const S: bool>(&mut self, n: usize) {
        self.factor::<S>(n);
        let [magnitudes, logs] = &mut self.logs;
        magnitudes.resize(n * L, 0);
        logs.resize(n * L, 0);
        for (i, magnitudes) in magnitudes.chunks_exact_mut(L).enumerate() {
            for l in 0..L {
                magnitudes[l] = self.lu[i * n + i][l].abs().to_bits();
            }
        }
        Op::Log.eval_lanes(logs, [magnitudes; 3]);
        let mut sum = [0.0; L];
        for log in logs.chunks_exact(L) {
            sum = each(|l| fit::<S>(sum[l] + fit::<S>(f64::from_bits(log[l]))));
        }
        self.result[0] = sum;
    }

    /// The cofactors, each from its own minor: right at singular matrices too.
    #[inline(always)]
    pub fn cofactors<const S: bool>(&mut self, n: usize) {
        let whole = std::mem::take(&mut self.a);
        let mut minor = std::mem::take(&mut self.b);
        for i in 0..n {
            for j in 0..n {
                minor.clear();
                for r in (0..n).filter(|&r| r != i) {
                    minor.extend((0..n).filter(|&c| c != j).map(|c| whole[r * n + c]));
                }
                self.a = minor;
                let d = self.determinant_of::<S>(n - 1);
                minor = std::mem::take(&mut self.a);
                self.result[i * n + j] = if (i + j) % 2 == 0 { d } else { d.map(|d| -d) };
            }
        }
        (self.a, self.b) = (whole, minor);
    }

    /// The lower triangular factor of a positive definite matrix, which is made symmetric first as the
    /// mean of itself and its transpose. NaN where it is not positive definite.
    #[inline(always)]
    pub fn cholesky<const S: bool>(&mut self, n: usize) {
        let (a, out) = (&self.a[..n * n], &mut self.result[..n * n]);
        for i in 0..n {
            for j in 0..=i {
                let mut x: Group<L> = each(|l| fit::<S>(0.5 * fit::<S>(a[i * n + j][l] + a[j * n + i][l])));
                let (p, q) = (&out[i * n..][..j], &out[j * n..][..j]);
                for k in 0..j {
                    x = each(|l| fit::<S>(x[l] - fit::<S>(p[k][l] * q[k][l])));
                }
                let divisor = out[j * n + j];
                out[i * n + j] = each(|l| fit::<S>(if i == j { real::sqrt(x[l]) } else { x[l] / divisor[l] }));
            }
        }
    }
}

/// Subtracts rows times their factors from `C` elements of a row, one row after the other.
#[inline(always)]
fn subtract<const S: bool, const L: usize, const C: usize>(
    x: &mut [Group<L>],
    at: usize,
    factors: &[Group<L>],
    first: usize,
    columns: usize,
) {
    let mut sums = [[0.0; L]; C];
    sums.copy_from_slice(&x[at..at + C]);
    let mut row = first;
    for factor in factors {
        let other = &x[row..row + C];
        for c in 0..C {
            sums[c] = each(|l| fit::<S>(sums[c][l] - fit::<S>(factor[l] * other[c][l])));
        }
        row += columns;
    }
    x[at..at + C].copy_from_slice(&sums);
}
