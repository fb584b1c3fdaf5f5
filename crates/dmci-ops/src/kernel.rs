//! Operations on whole tensors. Element `e` of lane `l` is at `e * width + l`; one lane alone has
//! width 1. Whatever the layout, each element is computed by the same operations in the same order.

use crate::linalg::{Number, Room, Scratch};
use crate::matmul::matmul;
#[cfg(target_arch = "x86_64")]
use crate::real::has_wide_fma;
use crate::shape::Shape;

/// An operation on tensors. Index maps are given by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Element `e` of the result is element `map[e]` of the operand; [`NONE`] gives 0.
    Take(u32),
    /// Element `e` of the operand is added to element `map[e]` of the result, in order; [`NONE`]
    /// is dropped. The reverse of `Take`.
    Put(u32),
    /// As many elements as the result has, from the operand's place (second operand, an integer)
    /// times that number on; 0 where there are none.
    Index,
    /// The reverse of `Index`: the first operand at the place of the second, among zeros.
    Scatter,
    /// The product of two matrices, each transposed first if its flag says so; vectors count as
    /// rows or columns. The sums run in the order of the index.
    MatMul {
        /// The first operand is transposed.
        ta: bool,
        /// The second operand is transposed.
        tb: bool,
        /// Rows of the result.
        m: u32,
        /// Terms of each sum.
        k: u32,
        /// Columns of the result.
        n: u32,
    },
    /// The solution `x` of `a x = b`, or of `aᵀ x = b`.
    Solve {
        /// The matrix is transposed.
        transposed: bool,
    },
    /// The first operand in the order that sorts the second, its keys; equal keys keep their order.
    SortBy {
        /// Large keys come first.
        descending: bool,
    },
    /// The reverse of `SortBy`: elements go back to where their keys are.
    Unsort {
        /// Large keys came first.
        descending: bool,
    },
    /// The inverse.
    Inverse,
    /// The determinant.
    Det,
    /// The matrix of cofactors, which is the derivative of the determinant.
    Cofactor,
    /// The logarithm of the magnitude of the determinant.
    LogDet,
    /// The lower triangular factor of a symmetric positive definite matrix.
    Cholesky,
}

/// No element, in an index map.
pub const NONE: u32 = u32::MAX;

/// A value of some shape in memory.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    /// Its bits.
    pub bits: &'a [u64],
    /// Its shape.
    pub shape: Shape,
}

/// How lanes lie in memory, and the precision.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Distance from one element to the next.
    pub width: usize,
    /// Lanes in use.
    pub lanes: usize,
    /// Operands are of single precision, and so is every operation.
    pub single: bool,
}

/// What a kernel is to do.
struct Job<'a> {
    out: &'a mut [u64],
    shape: Shape,
    args: [Tensor<'a>; 2],
    maps: &'a [std::sync::Arc<[u32]>],
    layout: Layout,
    scratch: &'a mut Scratch,
}

#[inline(always)]
pub(crate) fn canonical(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

impl Kernel {
    /// Number of operands.
    pub fn arity(self) -> usize {
        match self {
            Kernel::Index
            | Kernel::Scatter
            | Kernel::MatMul { .. }
            | Kernel::Solve { .. }
            | Kernel::SortBy { .. }
            | Kernel::Unsort { .. } => 2,
            _ => 1,
        }
    }

    /// The name in text forms.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Take(_) => "take",
            Kernel::Put(_) => "put",
            Kernel::Index => "index",
            Kernel::Scatter => "scatter",
            Kernel::MatMul { ta: false, tb: false, .. } => "matmul",
            Kernel::MatMul { ta: true, tb: false, .. } => "matmul-tn",
            Kernel::MatMul { ta: false, tb: true, .. } => "matmul-nt",
            Kernel::MatMul { .. } => "matmul-tt",
            Kernel::Solve { transposed: false } => "solve",
            Kernel::Solve { transposed: true } => "solve-t",
            Kernel::SortBy { descending: false } => "sort-by",
            Kernel::SortBy { descending: true } => "sort-by-descending",
            Kernel::Unsort { descending: false } => "unsort",
            Kernel::Unsort { descending: true } => "unsort-descending",
            Kernel::Inverse => "inverse",
            Kernel::Det => "det",
            Kernel::Cofactor => "cofactor",
            Kernel::LogDet => "logdet",
            Kernel::Cholesky => "cholesky",
        }
    }

    /// Computes the result of all lanes.
    pub fn run(
        self,
        out: &mut [u64],
        shape: Shape,
        args: [Tensor<'_>; 2],
        maps: &[std::sync::Arc<[u32]>],
        layout: Layout,
        scratch: &mut Scratch,
    ) {
        let job = Job { out, shape, args, maps, layout, scratch };
        #[cfg(target_arch = "x86_64")]
        if has_wide_fma() {
            // SAFETY: the processor has what the function was compiled for.
            return unsafe { self.run_wide(job) };
        }
        self.run_on(job);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn run_wide(self, job: Job<'_>) {
        self.run_on(job);
    }

    #[inline(always)]
    fn run_on(self, Job { out, shape, args, maps, layout, scratch }: Job<'_>) {
        let [a, b] = args;
        let (w, n) = (layout.width, layout.lanes);
        match self {
            Kernel::Take(map) if w == 1 => {
                for (to, &from) in out.iter_mut().zip(maps[map as usize].iter()) {
                    *to = if from == NONE { 0 } else { a.bits[from as usize] };
                }
            }
            Kernel::Take(map) => {
                for (e, &from) in maps[map as usize].iter().enumerate() {
                    if from == NONE {
                        out[e * w..][..n].fill(0);
                    } else {
                        copy_row(&mut out[e * w..][..n], &a.bits[from as usize * w..][..n]);
                    }
                }
            }
            Kernel::Put(map) => put(out, a.bits, &maps[map as usize], layout, &mut scratch.written),
            Kernel::Index => {
                for l in 0..n {
                    let (count, place) = (shape.len(), b.bits[l] as i64);
                    let first = usize::try_from(place).ok().and_then(|p| p.checked_mul(count));
                    for e in 0..count {
                        let from = first.map(|f| f + e).filter(|&f| f < a.shape.len());
                        out[e * w + l] = from.map_or(0, |f| a.bits[f * w + l]);
                    }
                }
            }
            Kernel::Scatter => {
                for l in 0..n {
                    (0..shape.len()).for_each(|e| out[e * w + l] = 0);
                    let (count, place) = (a.shape.len(), b.bits[l] as i64);
                    let first = usize::try_from(place).ok().and_then(|p| p.checked_mul(count));
                    for e in 0..count {
                        if let Some(to) = first.map(|f| f + e).filter(|&t| t < shape.len()) {
                            out[to * w + l] = a.bits[e * w + l];
                        }
                    }
                }
            }
            Kernel::SortBy { descending } | Kernel::Unsort { descending } => {
                let mut order = Vec::with_capacity(b.shape.len());
                for l in 0..n {
                    sorting(&mut order, descending, b.shape.len(), |e| f64::from_bits(b.bits[e * w + l]));
                    for (to, &from) in order.iter().enumerate() {
                        let (to, from) = if matches!(self, Kernel::SortBy { .. }) { (to, from) } else { (from, to) };
                        out[to * w + l] = a.bits[from * w + l];
                    }
                }
            }
            Kernel::MatMul { ta, tb, m, k, n: columns } => {
                let sizes = [m as usize, k as usize, columns as usize];
                let (operands, turned) = ([a.bits, b.bits], &mut scratch.turned);
                if layout.single {
                    matmul::<f32>(out, operands, sizes, (ta, tb), layout, turned);
                } else {
                    matmul::<f64>(out, operands, sizes, (ta, tb), layout, turned);
                }
            }
            _ if layout.single => self.by_groups::<f32>(out, shape, args, layout, scratch),
            _ => self.by_groups::<f64>(out, shape, args, layout, scratch),
        }
    }

    /// Kernels with decisions of their own in each lane: four lanes at a time, gathered and spread again.
    #[inline(always)]
    fn by_groups<T: Number>(
        self,
        out: &mut [u64],
        shape: Shape,
        args: [Tensor<'_>; 2],
        Layout { width, lanes, .. }: Layout,
        scratch: &mut Scratch,
    ) {
        let rooms = T::rooms(scratch);
        let whole = if width % 4 == 0 { lanes.next_multiple_of(4) } else { lanes / 4 * 4 };
        for lane in (0..whole).step_by(4) {
            self.group::<T, 4>(out, shape, args, (width, lane), &mut rooms.four[lane / 4 % 2]);
        }
        for lane in whole..lanes {
            self.group::<T, 1>(out, shape, args, (width, lane), &mut rooms.one);
        }
    }

    #[inline(always)]
    fn group<T: Number, const L: usize>(
        self,
        out: &mut [u64],
        shape: Shape,
        [a, b]: [Tensor<'_>; 2],
        (width, lane): (usize, usize),
        room: &mut Room<T, L>,
    ) {
        let rows = match a.shape {
            Shape::Matrix(n, _) => n as usize,
            _ => 1,
        };
        read(&mut room.a, a, (width, lane));
        room.result.clear();
        room.result.resize(shape.len(), [T::of(0.0); L]);
        match self {
            Kernel::Solve { transposed } => {
                read(&mut room.b, b, (width, lane));
                if transposed {
                    transpose_square(&mut room.a, rows);
                }
                room.solve(rows, b.shape.len() / rows.max(1));
            }
            Kernel::Inverse => room.inverse(rows),
            Kernel::Det => room.determinant(rows),
            Kernel::LogDet => room.log_determinant(rows),
            Kernel::Cofactor => room.cofactors(rows),
            Kernel::Cholesky => room.cholesky(rows),
            _ => {}
        }
        assert!(out.len() >= room.result.len() * width && lane + L <= width);
        for (e, x) in room.result.iter().enumerate() {
            let mut bits = [0; L];
            for l in 0..L {
                bits[l] = canonical(x[l].double());
            }
            // SAFETY: this has just been asserted.
            unsafe { *out.as_mut_ptr().add(e * width + lane).cast() = bits };
        }
    }
}

/// Copies a row. The usual lengths of blocks for tensors are known to the compiler, which then calls nothing.
#[inline(always)]
pub fn copy_row(to: &mut [u64], from: &[u64]) {
    match to.len() {
        4 => to[..4].copy_from_slice(&from[..4]),
        8 => to[..8].copy_from_slice(&from[..8]),
        _ => to.copy_from_slice(from),
    }
}

/// Takes some lanes of a tensor, each element as one vector.
#[inline(always)]
fn read<T: Number, const L: usize>(into: &mut Vec<[T; L]>, from: Tensor<'_>, (width, lane): (usize, usize)) {
    let count = from.shape.len();
    into.resize(count, [T::of(0.0); L]);
    assert!(from.bits.len() >= count * width && lane + L <= width);
    for (e, x) in into.iter_mut().enumerate() {
        // SAFETY: this has just been asserted.
        *x = unsafe { *from.bits.as_ptr().add(e * width + lane).cast::<[f64; L]>() }.map(T::of);
    }
}

/// The stable order of keys; NaN counts as equal to everything.
fn sorting(order: &mut Vec<usize>, descending: bool, n: usize, key: impl Fn(usize) -> f64) {
    order.clear();
    order.extend(0..n);
    let compare = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal);
    order.sort_by(|&i, &j| if descending { compare(key(j), key(i)) } else { compare(key(i), key(j)) });
}

fn transpose_square<T>(x: &mut [T], n: usize) {
    for i in 0..n {
        for j in 0..i {
            x.swap(i * n + j, j * n + i);
        }
    }
}

fn put(
    out: &mut [u64],
    a: &[u64],
    map: &[u32],
    Layout { width: w, lanes: n, single }: Layout,
    written: &mut Vec<bool>,
) {
    written.clear();
    written.resize(out.len() / w, false);
    for (e, &to) in map.iter().enumerate().filter(|(_, to)| **to != NONE) {
        let row = &mut out[to as usize * w..][..n];
        let from = &a[e * w..][..n];
        if !written[to as usize] {
            copy_row(row, from);
            written[to as usize] = true;
            continue;
        }
        for (x, &y) in row.iter_mut().zip(from) {
            let sum = f64::from_bits(*x) + f64::from_bits(y);
            *x = canonical(if single { sum as f32 as f64 } else { sum });
        }
    }
    for (e, _) in written.iter().enumerate().filter(|(_, written)| !**written) {
        out[e * w..][..n].fill(0);
    }
}
