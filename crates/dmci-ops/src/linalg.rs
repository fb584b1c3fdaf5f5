//! Linear algebra on matrices of one lane, or of several lanes beside each other. Each function has one order of
//! operations for every lane, written here; whoever needs the same numbers calls the same function. Nothing fails: a
//! singular matrix gives infinities or NaN.

// Plain loops over indices: whether they become vectors must not depend on what else is inlined.
#![allow(clippy::needless_range_loop)]

use crate::lu::{self, BLOCK};
use crate::matmul::turn;
use crate::op::Op;
use dmci_limits::Ticks;
use std::fmt::Debug;
use std::ops::{Add, BitOr, BitXor, Div, Mul, Neg, Sub};

/// Numbers of one precision. Sums, products, quotients and roots of single precision have the bits of those in double
/// precision, rounded, since a number of double precision has more than twice as many digits.
pub trait Number:
    Copy
    + Default
    + Debug
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// As many bits as it has.
    type Bits: Copy + Default + PartialEq + BitOr<Output = Self::Bits> + BitXor<Output = Self::Bits>;
    /// Numbers in a vector of 256 bits.
    const LANES: usize;
    /// The memory for kernels in this precision.
    fn rooms(scratch: &mut Scratch) -> &mut Rooms<Self>;
    /// Rounded.
    fn of(x: f64) -> Self;
    /// The same number in double precision.
    fn double(self) -> f64;
    /// In single precision.
    fn rounded(self) -> Self;
    /// Its bits.
    fn bits(self) -> Self::Bits;
    /// Its magnitude.
    fn abs(self) -> Self;
    /// Its root.
    fn sqrt(self) -> Self;
}

macro_rules! number {
    ($number:ty, $bits:ty, $rooms:ident) => {
        impl Number for $number {
            type Bits = $bits;
            const LANES: usize = 32 / size_of::<$number>();
            fn rooms(scratch: &mut Scratch) -> &mut Rooms<$number> {
                &mut scratch.$rooms
            }
            #[inline(always)]
            fn of(x: f64) -> $number {
                x as $number
            }
            #[inline(always)]
            fn double(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn rounded(self) -> $number {
                self as f32 as $number
            }
            #[inline(always)]
            fn bits(self) -> $bits {
                self.to_bits()
            }
            #[inline(always)]
            fn abs(self) -> $number {
                self.abs()
            }
            #[inline(always)]
            fn sqrt(self) -> $number {
                self.sqrt()
            }
        }
    };
}

number!(f64, u64, double);
number!(f32, u32, single);

/// Memory for kernels, reused between calls.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Which elements have been written.
    pub(crate) written: Vec<bool>,
    /// Operands of an operation on elements with the elements of smaller ones repeated.
    pub(crate) spread: [Vec<u64>; 3],
    pub(crate) short_spread: [Vec<u32>; 3],
    /// Operands and result of a kernel in single precision, in 32 bits.
    pub(crate) short: [Vec<u32>; 3],
    double: Rooms<f64>,
    single: Rooms<f32>,
}

/// Memory for kernels in one precision, for one lane, for four and for eight.
#[derive(Clone, Debug, Default)]
pub struct Rooms<T: Number> {
    /// A matrix that was transposed.
    pub(crate) turned: Vec<T>,
    pub(crate) one: Room<T, 1>,
    /// Each for every second group of lanes: factors of the few groups of a small block stay there for the next kernel.
    pub(crate) four: [Room<T, 4>; 2],
    pub(crate) eight: [Room<T, 8>; 2],
}

/// An element of so many lanes.
type Group<T, const L: usize> = [T; L];

/// Two operands, row by row, what becomes of them, and memory on the way there.
#[derive(Clone, Debug)]
pub(crate) struct Room<T, const L: usize> {
    pub a: Vec<Group<T, L>>,
    pub b: Vec<Group<T, L>>,
    /// Zeros at first.
    pub result: Vec<Group<T, L>>,
    /// What was factored last: one matrix is often inverted and has its determinant taken.
    factored: Vec<Group<T, L>>,
    lu: Vec<Group<T, L>>,
    /// From one row of the factors to the next, and from one column.
    steps: [usize; 2],
    /// The row of the matrix that each row of its factors comes from.
    order: Vec<[u32; L]>,
    /// The sign of that exchange.
    sign: Group<T, L>,
    logs: [Vec<u64>; 2],
}

impl<T: Number, const L: usize> Default for Room<T, L> {
    fn default() -> Self {
        Room {
            a: Vec::new(),
            b: Vec::new(),
            result: Vec::new(),
            factored: Vec::new(),
            lu: Vec::new(),
            steps: [0; 2],
            order: Vec::new(),
            sign: [T::of(1.0); L],
            logs: Default::default(),
        }
    }
}

/// Element by element.
#[inline(always)]
fn each<T: Number, const L: usize>(f: impl Fn(usize) -> T) -> Group<T, L> {
    let mut group = [T::of(0.0); L];
    for (l, x) in group.iter_mut().enumerate() {
        *x = f(l);
    }
    group
}

impl<T: Number, const L: usize> Room<T, L> {
    /// Whether the factors of the matrix are there, bit by bit the same ones.
    #[inline(always)]
    fn is_factored(&self) -> bool {
        let before = &self.factored;
        if before.len() != self.a.len() {
            return false;
        }
        for i in 0..before.len() {
            let mut other = T::Bits::default();
            for l in 0..L {
                other = other | (before[i][l].bits() ^ self.a[i][l].bits());
            }
            if other != T::Bits::default() {
                return false;
            }
        }
        true
    }

    /// Factors the matrix `a`, which then has no meaning: rows are exchanged so that the largest element of each column
    /// (the first of several) divides. Returns the sign of the exchange.
    #[inline(always)]
    fn factor(&mut self, n: usize) -> Group<T, L> {
        if !self.is_factored() {
            match self.factor_anew(n) {
                Some(sign) => {
                    self.sign = sign;
                    std::mem::swap(&mut self.a, &mut self.factored);
                }
                // What is there are no factors of anything.
                None => self.factored.clear(),
            }
        }
        self.sign
    }

    /// `None` if it was stopped.
    #[inline(always)]
    fn factor_anew(&mut self, n: usize) -> Option<Group<T, L>> {
        let mut ticks = Ticks::default();
        self.order.clear();
        self.order.extend((0..n as u32).map(|r| [r; L]));
        self.lu.clear();
        if L == 1 && n >= FEW_ROWS {
            // Rows are in vectors instead of lanes.
            let height = n.next_multiple_of(BLOCK);
            self.steps = [1, height];
            self.lu.resize(n * height, [T::default(); L]);
            let lu = self.lu.as_flattened_mut();
            turn(self.a.as_flattened(), [n, n], lu, height);
            return lu::factor(lu, self.order.as_flattened_mut(), n).map(|sign| [sign; L]);
        }
        self.steps = [n, 1];
        self.lu.extend_from_slice(&self.a[..n * n]);
        let lu = &mut self.lu[..n * n];
        let mut sign = [T::of(1.0); L];
        for c in 0..n {
            // The row as a number of this precision: it is selected by the same mask as the largest element.
            let (mut pivot, mut largest) = ([T::of(c as f64); L], lu[c * n + c].map(T::abs));
            for r in c + 1..n {
                let row = T::of(r as f64);
                for l in 0..L {
                    let larger = lu[r * n + c][l].abs() > largest[l];
                    largest[l] = if larger { lu[r * n + c][l].abs() } else { largest[l] };
                    pivot[l] = if larger { row } else { pivot[l] };
                }
            }
            let pivot = pivot.map(|row| row.double() as usize);
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
                if ticks.spend(L * (n - c)) {
                    return None;
                }
                let factor: Group<T, L> = each(|l| row[c][l] / divisor[l]);
                row[c] = factor;
                let row = &mut row[c + 1..][..top.len()];
                for j in 0..top.len() {
                    row[j] = each(|l| row[j][l] - factor[l] * top[j][l]);
                }
            }
        }
        Some(sign)
    }

    /// Solves for all columns of the right side, which are in `result` in the order of the factors.
    #[inline(always)]
    fn substitute(&mut self, n: usize, columns: usize) {
        if L == 1 {
            // There is one vector to four columns, and sums of more columns wait less for each other.
            in_pieces!(columns, [20, 16, 10, 8, 4, 2, 1], |c, C| self.substitute_columns::<C>(n, columns, c));
        } else {
            in_pieces!(columns, [10, 8, 4, 2, 1], |c, C| self.substitute_columns::<C>(n, columns, c));
        }
    }

    /// The same for `C` columns.
    #[inline(always)]
    fn substitute_columns<const C: usize>(&mut self, n: usize, columns: usize, c: usize) {
        let (lu, x, [down, right]) = (&self.lu, &mut self.result[..n * columns], self.steps);
        let mut ticks = Ticks::default();
        for i in 0..n {
            if ticks.spend(L * C * n) {
                return;
            }
            let factors = lu[i * down..].iter().step_by(right).take(i);
            subtract::<T, L, C>(x, i * columns + c, factors, c, columns);
        }
        for i in (0..n).rev() {
            let mut factors = lu[i * down + i * right..].iter().step_by(right).take(n - i);
            let Some(divisor) = factors.next() else { return };
            subtract::<T, L, C>(x, i * columns + c, factors, (i + 1) * columns + c, columns);
            for x in &mut x[i * columns + c..][..C] {
                *x = each(|l| x[l] / divisor[l]);
            }
        }
    }

    /// The solution of `a x = b` with some right sides.
    #[inline(always)]
    pub fn solve(&mut self, n: usize, columns: usize) {
        self.factor(n);
        for (row, order) in self.result.chunks_exact_mut(columns.max(1)).zip(&self.order) {
            for (c, x) in row.iter_mut().enumerate() {
                *x = each(|l| self.b[order[l] as usize * columns + c][l]);
            }
        }
        self.substitute(n, columns);
    }

    /// The inverse.
    #[inline(always)]
    pub fn inverse(&mut self, n: usize) {
        self.factor(n);
        for (r, order) in self.order.iter().enumerate() {
            order.iter().enumerate().for_each(|(l, &c)| self.result[r * n + c as usize][l] = T::of(1.0));
        }
        self.substitute(n, n);
    }

    #[inline(always)]
    fn determinant_of(&mut self, n: usize) -> Group<T, L> {
        let sign = self.factor(n);
        (0..n).fold(sign, |product, i| {
            let x = self.lu[i * (self.steps[0] + self.steps[1])];
            // A column without a pivot: the rest of the factorisation divided by zero.
            each(|l| if product[l] == T::of(0.0) || x[l] == T::of(0.0) { T::of(0.0) } else { product[l] * x[l] })
        })
    }

    /// The determinant.
    #[inline(always)]
    pub fn determinant(&mut self, n: usize) {
        self.result[0] = self.determinant_of(n);
    }

    /// The logarithm of the magnitude of the determinant.
    #[inline(always)]
    pub fn log_determinant(&mut self, n: usize) {
        self.factor(n);
        let [magnitudes, logs] = &mut self.logs;
        magnitudes.resize(n * L, 0);
        logs.resize(n * L, 0);
        for (i, magnitudes) in magnitudes.chunks_exact_mut(L).enumerate() {
            for l in 0..L {
                magnitudes[l] = self.lu[i * (self.steps[0] + self.steps[1])][l].abs().double().to_bits();
            }
        }
        Op::Log.eval_lanes(logs, [magnitudes; 3]);
        let mut sum = [T::of(0.0); L];
        for log in logs.chunks_exact(L) {
            sum = each(|l| sum[l] + T::of(f64::from_bits(log[l])));
        }
        self.result[0] = sum;
    }

    /// The cofactors, each from its own minor: right at singular matrices too.
    #[inline(always)]
    pub fn cofactors(&mut self, n: usize) {
        let whole = std::mem::take(&mut self.a);
        let mut minor = std::mem::take(&mut self.b);
        let mut ticks = Ticks::default();
        'all: for i in 0..n {
            for j in 0..n {
                if ticks.spend(L * n * n) {
                    break 'all;
                }
                minor.clear();
                for r in (0..n).filter(|&r| r != i) {
                    minor.extend((0..n).filter(|&c| c != j).map(|c| whole[r * n + c]));
                }
                self.a = minor;
                let d = self.determinant_of(n - 1);
                minor = std::mem::take(&mut self.a);
                self.result[i * n + j] = if (i + j) % 2 == 0 { d } else { d.map(|d| -d) };
            }
        }
        (self.a, self.b) = (whole, minor);
    }

    /// The lower triangular factor of a positive definite matrix, which is made symmetric first as the
    /// mean of itself and its transpose. NaN where it is not positive definite.
    #[inline(always)]
    pub fn cholesky(&mut self, n: usize) {
        let (a, out) = (&self.a[..n * n], &mut self.result[..n * n]);
        let mut ticks = Ticks::default();
        for i in 0..n {
            for j in 0..=i {
                if ticks.spend(L * (j + 1)) {
                    return;
                }
                let mut x: Group<T, L> = each(|l| T::of(0.5) * (a[i * n + j][l] + a[j * n + i][l]));
                let (p, q) = (&out[i * n..][..j], &out[j * n..][..j]);
                for k in 0..j {
                    x = each(|l| x[l] - p[k][l] * q[k][l]);
                }
                let divisor = out[j * n + j];
                out[i * n + j] = each(|l| if i == j { x[l].sqrt() } else { x[l] / divisor[l] });
            }
        }
    }
}

/// Rows from which on one matrix is factored column by column.
const FEW_ROWS: usize = 16;

/// Subtracts rows times their factors from `C` elements of a row, one row after the other.
#[inline(always)]
fn subtract<'a, T: Number + 'a, const L: usize, const C: usize>(
    x: &mut [Group<T, L>],
    at: usize,
    factors: impl Iterator<Item = &'a Group<T, L>>,
    first: usize,
    columns: usize,
) {
    let mut sums = [[T::of(0.0); L]; C];
    sums.copy_from_slice(&x[at..at + C]);
    let mut row = first;
    for factor in factors {
        let other = &x[row..row + C];
        for c in 0..C {
            sums[c] = each(|l| sums[c][l] - factor[l] * other[c][l]);
        }
        row += columns;
    }
    x[at..at + C].copy_from_slice(&sums);
}
