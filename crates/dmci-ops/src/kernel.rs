//! Operations on whole tensors. Element `e` of lane `l` is at `e * width + l`; one lane alone has
//! width 1. Whatever the layout, each element is computed by the same operations in the same order.

use crate::linalg::{Number, Room, Scratch};
use crate::matmul::matmul;
#[cfg(all(feature = "native", target_arch = "x86_64"))]
use crate::real::{has_whole_vectors, has_wide_fma};
use crate::shape::Shape;
use crate::word::{Word, lengthen, shorten};
use dmci_limits::Ticks;
use std::sync::Arc;

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
pub struct Tensor<'a, W = u64> {
    /// Its bits.
    pub bits: &'a [W],
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
    /// Operands are of single precision, and so is every operation; so they always are in short words.
    pub single: bool,
}

/// What a kernel is to do.
struct Job<'a, W> {
    out: &'a mut [W],
    shape: Shape,
    args: [Tensor<'a, W>; 2],
    maps: &'a [Arc<[u32]>],
    layout: Layout,
    scratch: &'a mut Scratch,
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

    /// Whether it computes with numbers, in a precision, and does more than adding them.
    fn computes(self) -> bool {
        use Kernel::*;
        matches!(self, MatMul { .. } | Solve { .. } | Inverse | Det | Cofactor | LogDet | Cholesky)
    }

    /// Computes the result of all lanes.
    pub fn run<W: Word>(
        self,
        out: &mut [W],
        shape: Shape,
        args: [Tensor<'_, W>; 2],
        maps: &[Arc<[u32]>],
        layout: Layout,
        scratch: &mut Scratch,
    ) {
        W::run_kernel(self, out, shape, args, maps, layout, scratch);
    }

    pub(crate) fn run_words<W: Word>(
        self,
        out: &mut [W],
        shape: Shape,
        args: [Tensor<'_, W>; 2],
        maps: &[Arc<[u32]>],
        layout: Layout,
        scratch: &mut Scratch,
    ) {
        if layout.single && size_of::<W>() > size_of::<f32>() && self.computes() {
            return self.run_in_short_words(out, shape, args, layout, scratch);
        }
        let job = Job { out, shape, args, maps, layout, scratch };
        #[cfg(all(feature = "native", target_arch = "x86_64"))]
        if has_wide_fma() {
            // Products of matrices are bound by what can be loaded, and with more registers less is loaded. For all else
            // halves of these vectors are as good.
            if matches!(self, Kernel::MatMul { .. }) && has_whole_vectors() {
                // SAFETY: the processor has what the function was compiled for.
                return unsafe { self.run_widest(job) };
            }
            // SAFETY: the same.
            return unsafe { self.run_wide(job) };
        }
        self.run_on(job);
    }

    /// Rounds operands once, and not where sums are computed: an element of a matrix is a term of many of them.
    fn run_in_short_words<W: Word>(
        self,
        out: &mut [W],
        shape: Shape,
        args: [Tensor<'_, W>; 2],
        layout: Layout,
        scratch: &mut Scratch,
    ) {
        let mut short = std::mem::take(&mut scratch.short);
        let [a, b, result] = &mut short;
        for (to, from) in [&mut *a, &mut *b].into_iter().zip(args).take(self.arity()) {
            to.resize(from.bits.len(), 0);
            shorten(to, from.bits);
        }
        result.resize(out.len(), 0);
        let operands: [&[u32]; 2] = [a, if self.arity() == 1 { a } else { b }];
        let tensors = [0, 1].map(|k| Tensor { bits: operands[k], shape: args[k].shape });
        self.run(&mut result[..], shape, tensors, &[], layout, scratch);
        lengthen(out, result);
        scratch.short = short;
    }

    #[cfg(all(feature = "native", target_arch = "x86_64"))]
    #[target_feature(enable = "avx2,fma")]
    fn run_wide<W: Word>(self, job: Job<'_, W>) {
        self.run_on(job);
    }

    #[cfg(all(feature = "native", target_arch = "x86_64"))]
    #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")]
    fn run_widest<W: Word>(self, job: Job<'_, W>) {
        self.multiply::<W, true>(job);
    }

    #[inline(always)]
    fn multiply<W: Word, const WHOLE: bool>(self, Job { out, args: [a, b], layout, scratch, .. }: Job<'_, W>) {
        if let Kernel::MatMul { ta, tb, m, k, n } = self {
            let sizes = [m as usize, k as usize, n as usize];
            let turned = &mut W::Number::rooms(scratch).turned;
            matmul::<W, WHOLE>(out, [a.bits, b.bits], sizes, (ta, tb), (layout.width, layout.lanes), turned);
        }
    }

    #[inline(always)]
    fn run_on<W: Word>(self, Job { out, shape, args, maps, layout, scratch }: Job<'_, W>) {
        let [a, b] = args;
        let (w, n) = (layout.width, layout.lanes);
        match self {
            Kernel::Take(map) if w == 1 => {
                for (to, &from) in out.iter_mut().zip(maps[map as usize].iter()) {
                    *to = if from == NONE { W::default() } else { a.bits[from as usize] };
                }
            }
            Kernel::Take(map) => {
                for (e, &from) in maps[map as usize].iter().enumerate() {
                    if from == NONE {
                        out[e * w..][..n].fill(W::default());
                    } else {
                        copy_row(&mut out[e * w..][..n], &a.bits[from as usize * w..][..n]);
                    }
                }
            }
            Kernel::Put(map) => put(out, a.bits, &maps[map as usize], layout, &mut scratch.written),
            Kernel::Index => {
                for l in 0..n {
                    let (count, place) = (shape.len(), b.bits[l].into() as i64);
                    let first = usize::try_from(place).ok().and_then(|p| p.checked_mul(count));
                    for e in 0..count {
                        let from = first.map(|f| f + e).filter(|&f| f < a.shape.len());
                        out[e * w + l] = from.map_or(W::default(), |f| a.bits[f * w + l]);
                    }
                }
            }
            Kernel::Scatter => {
                for l in 0..n {
                    (0..shape.len()).for_each(|e| out[e * w + l] = W::default());
                    let (count, place) = (a.shape.len(), b.bits[l].into() as i64);
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
                    if dmci_limits::rang() {
                        return;
                    }
                    sorting(&mut order, descending, b.shape.len(), |e| b.bits[e * w + l].number());
                    for (to, &from) in order.iter().enumerate() {
                        let (to, from) = if matches!(self, Kernel::SortBy { .. }) { (to, from) } else { (from, to) };
                        out[to * w + l] = a.bits[from * w + l];
                    }
                }
            }
            Kernel::MatMul { .. } => self.multiply::<W, false>(Job { out, shape, args, maps, layout, scratch }),
            _ => self.by_groups(out, shape, args, layout, scratch),
        }
    }

    /// Kernels with decisions of their own in each lane: a vector of lanes at a time, gathered and spread again.
    #[inline(always)]
    fn by_groups<W: Word>(
        self,
        out: &mut [W],
        shape: Shape,
        args: [Tensor<'_, W>; 2],
        Layout { width, lanes, .. }: Layout,
        scratch: &mut Scratch,
    ) {
        let rooms = W::Number::rooms(scratch);
        let whole = |group: usize| {
            if width.is_multiple_of(group) { lanes.next_multiple_of(group) } else { lanes / group * group }
        };
        let mut lane = 0;
        while W::Number::LANES == 8 && lane < whole(8) {
            self.group(out, shape, args, (width, lane), &mut rooms.eight[lane / 8 % 2]);
            lane += 8;
        }
        while lane < whole(4) {
            self.group(out, shape, args, (width, lane), &mut rooms.four[lane / 4 % 2]);
            lane += 4;
        }
        for lane in lane..lanes {
            self.group(out, shape, args, (width, lane), &mut rooms.one);
        }
    }

    #[inline(always)]
    fn group<W: Word, const L: usize>(
        self,
        out: &mut [W],
        shape: Shape,
        [a, b]: [Tensor<'_, W>; 2],
        (width, lane): (usize, usize),
        room: &mut Room<W::Number, L>,
    ) {
        let rows = match a.shape {
            Shape::Matrix(n, _) => n as usize,
            _ => 1,
        };
        read(&mut room.a, a, (width, lane));
        room.result.clear();
        room.result.resize(shape.len(), [W::Number::default(); L]);
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
            let mut bits = [W::default(); L];
            for l in 0..L {
                bits[l] = W::of(x[l]);
            }
            // SAFETY: this has just been asserted.
            unsafe { *out.as_mut_ptr().add(e * width + lane).cast() = bits };
        }
    }
}

/// Copies a row. The usual lengths of blocks for tensors are known to the compiler, which then calls nothing.
#[inline(always)]
pub fn copy_row<W: Word>(to: &mut [W], from: &[W]) {
    match to.len() {
        1 => to[0] = from[0],
        4 => to[..4].copy_from_slice(&from[..4]),
        8 => to[..8].copy_from_slice(&from[..8]),
        16 => to[..16].copy_from_slice(&from[..16]),
        _ => to.copy_from_slice(from),
    }
}

/// Takes some lanes of a tensor, each element as one vector.
#[inline(always)]
fn read<W: Word, const L: usize>(into: &mut Vec<[W::Number; L]>, from: Tensor<'_, W>, (width, lane): (usize, usize)) {
    let count = from.shape.len();
    into.resize(count, [W::Number::default(); L]);
    assert!(from.bits.len() >= count * width && lane + L <= width);
    let numbers = W::numbers(from.bits);
    for (e, x) in into.iter_mut().enumerate() {
        // SAFETY: this has just been asserted.
        *x = unsafe { *numbers.as_ptr().add(e * width + lane).cast() };
    }
}

/// The stable order of keys; NaN counts as equal to everything.
fn sorting<T: Number>(order: &mut Vec<usize>, descending: bool, n: usize, key: impl Fn(usize) -> T) {
    order.clear();
    order.extend(0..n);
    let compare = |a: T, b: T| a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal);
    let compare = |&i: &usize, &j: &usize| if descending { compare(key(j), key(i)) } else { compare(key(i), key(j)) };
    if n <= RUN {
        return order.sort_by(compare);
    }
    // Long lists are sorted in runs and merged, so that the work can be stopped.
    let mut ticks = Ticks::default();
    for run in order.chunks_mut(RUN) {
        run.sort_by(compare);
        if ticks.spend(32 * RUN) {
            return;
        }
    }
    let (mut length, mut merged) = (RUN, Vec::with_capacity(n));
    while length < n {
        merged.clear();
        for pair in order.chunks(2 * length) {
            let (mut a, mut b) = pair.split_at(length.min(pair.len()));
            while let ([i, rest_a @ ..], [j, rest_b @ ..]) = (a, b) {
                // The first run comes first among equals.
                if compare(i, j) == std::cmp::Ordering::Greater {
                    merged.push(*j);
                    b = rest_b;
                } else {
                    merged.push(*i);
                    a = rest_a;
                }
                if ticks.spend(8) {
                    return;
                }
            }
            merged.extend_from_slice(a);
            merged.extend_from_slice(b);
        }
        std::mem::swap(order, &mut merged);
        length *= 2;
    }
}

/// Keys that are sorted at once.
const RUN: usize = 1 << 16;

fn transpose_square<T>(x: &mut [T], n: usize) {
    for i in 0..n {
        for j in 0..i {
            x.swap(i * n + j, j * n + i);
        }
    }
}

fn put<W: Word>(
    out: &mut [W],
    a: &[W],
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
            let sum = x.number() + y.number();
            *x = W::of(if single { sum.rounded() } else { sum });
        }
    }
    for (e, _) in written.iter().enumerate().filter(|(_, written)| !**written) {
        out[e * w..][..n].fill(W::default());
    }
}
