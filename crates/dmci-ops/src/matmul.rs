//! Products of matrices. Every element is the sum of its products in the order of the index, whatever is computed
//! beside it: neighbouring lanes, or in one lane neighbouring columns.

use crate::kernel::{Layout, canonical};
use crate::linalg::Number;

/// Lanes that are computed together.
const LANES: usize = 4;

/// The sum of nothing, which leaves the sign of a zero that is added to it.
const NOTHING: f64 = -0.0;

/// Two matrices and what becomes of them.
struct Product<'a> {
    a: &'a [u64],
    b: &'a [u64],
    /// Rows of the result, terms of each sum, columns of the result.
    sizes: [usize; 3],
    /// From one row of `a` to the next, and from one column.
    a_steps: [usize; 2],
    /// From one row of `b` to the next, and from one column.
    b_steps: [usize; 2],
}

/// The product of two matrices, each transposed first if its flag says so.
#[inline(always)]
pub(crate) fn matmul<T: Number>(
    out: &mut [u64],
    [a, b]: [&[u64]; 2],
    sizes @ [m, k, n]: [usize; 3],
    (ta, tb): (bool, bool),
    Layout { width: w, lanes, .. }: Layout,
    turned: &mut Vec<u64>,
) {
    assert!(out.len() >= m * n * w && a.len() >= m * k * w && b.len() >= k * n * w && lanes <= w);
    if k == 0 {
        return out[..m * n * w].fill(0);
    }
    let a_steps = if ta { [w, m * w] } else { [k * w, w] };
    let b_steps = if tb { [w, k * w] } else { [n * w, w] };
    if w == 1 {
        let b = if tb && n > 1 { turn(b, [k, n], turned) } else { b };
        let product = Product { a, b, sizes, a_steps, b_steps: [n, 1] };
        in_pieces!(m, [4, 2, 1], |i, I| in_pieces!(n, [8, 4, 2, 1], |j, J| product.columns::<T, I, J>(out, i, j)));
        return;
    }
    let mut product = Product { a, b, sizes, a_steps, b_steps };
    if m == 1 {
        // One row lies there like one column, and rows are what is done beside each other.
        let [[down, right], [other_down, other_right]] = [a_steps, b_steps];
        let (a_steps, b_steps) = ([other_right, other_down], [right, down]);
        product = Product { a: b, b: a, sizes: [n, k, 1], a_steps, b_steps };
    }
    let [m, _, n] = product.sizes;
    let whole = if w % LANES == 0 { lanes.next_multiple_of(LANES) } else { lanes / LANES * LANES };
    // Two vectors if there are as many lanes: the one comes with the other from the cache.
    for lane in (0..whole / (2 * LANES) * (2 * LANES)).step_by(2 * LANES) {
        in_pieces!(m, [5, 4, 3, 2, 1], |i, I| in_pieces!(n, [1], |j, J| product.lanes::<T, LANES, 2, I, J>(
            out,
            (i, j),
            (w, lane)
        )));
    }
    if whole % (2 * LANES) > 0 {
        in_pieces!(m, [2, 1], |i, I| in_pieces!(n, [5, 4, 3, 2, 1], |j, J| product.lanes::<T, LANES, 1, I, J>(
            out,
            (i, j),
            (w, whole - LANES)
        )));
    }
    for lane in whole..lanes {
        in_pieces!(m, [1], |i, I| in_pieces!(n, [1], |j, J| product.lanes::<T, 1, 1, I, J>(out, (i, j), (w, lane))));
    }
}

/// A matrix of `k` rows and `n` columns that lies there column by column.
#[inline(always)]
fn turn<'t>(b: &[u64], [k, n]: [usize; 2], turned: &'t mut Vec<u64>) -> &'t [u64] {
    turned.clear();
    turned.resize(k * n, 0);
    for (j, column) in b[..k * n].chunks_exact(k).enumerate() {
        column.iter().enumerate().for_each(|(p, &x)| turned[p * n + j] = x);
    }
    turned
}

// Plain loops over indices: whether they become vectors must not depend on what else is inlined.
#[allow(clippy::needless_range_loop)]
impl Product<'_> {
    /// Some rows and columns of the result of one lane: columns are beside each other in vectors.
    #[inline(always)]
    fn columns<T: Number, const I: usize, const J: usize>(&self, out: &mut [u64], i: usize, j: usize) {
        let [_, k, n] = self.sizes;
        let mut sums = [[T::of(NOTHING); J]; I];
        for p in 0..k {
            // SAFETY: the matrices are as large as their sizes say, which `matmul` has asserted.
            let y = unsafe { *self.b.as_ptr().add(j + p * self.b_steps[0]).cast::<[f64; J]>() }.map(T::of);
            for r in 0..I {
                let at = (i + r) * self.a_steps[0] + p * self.a_steps[1];
                // SAFETY: the same.
                let x = T::of(unsafe { *self.a.as_ptr().add(at).cast::<f64>() });
                for c in 0..J {
                    sums[r][c] = sums[r][c] + x * y[c];
                }
            }
        }
        for r in 0..I {
            let to = &mut out[(i + r) * n + j..][..J];
            for c in 0..J {
                to[c] = canonical(sums[r][c].double());
            }
        }
    }

    /// Some rows and columns of the result of some lanes: `V` vectors of `L` lanes beside each other.
    #[inline(always)]
    fn lanes<T: Number, const L: usize, const V: usize, const I: usize, const J: usize>(
        &self,
        out: &mut [u64],
        (i, j): (usize, usize),
        (width, lane): (usize, usize),
    ) {
        let mut sums = [[[[T::of(NOTHING); L]; J]; I]; V];
        let (mut a, mut b) = (i * self.a_steps[0] + lane, j * self.b_steps[1] + lane);
        for _ in 0..self.sizes[1] {
            for v in 0..V {
                let mut x = [[T::of(0.0); L]; I];
                for r in 0..I {
                    // SAFETY: the matrices are as large as their sizes say, which `matmul` has asserted, and a row has
                    // at least `lane + V * L` words.
                    x[r] =
                        unsafe { *self.a.as_ptr().add(a + r * self.a_steps[0] + v * L).cast::<[f64; L]>() }.map(T::of);
                }
                for c in 0..J {
                    // SAFETY: the same.
                    let y =
                        unsafe { *self.b.as_ptr().add(b + c * self.b_steps[1] + v * L).cast::<[f64; L]>() }.map(T::of);
                    for r in 0..I {
                        for l in 0..L {
                            sums[v][r][c][l] = sums[v][r][c][l] + x[r][l] * y[l];
                        }
                    }
                }
            }
            a += self.a_steps[1];
            b += self.b_steps[0];
        }
        for r in 0..I {
            for c in 0..J {
                let to = ((i + r) * self.sizes[2] + j + c) * width + lane;
                for v in 0..V {
                    // SAFETY: the same.
                    let to = unsafe { &mut *out.as_mut_ptr().add(to + v * L).cast::<[u64; L]>() };
                    for l in 0..L {
                        to[l] = canonical(sums[v][r][c][l].double());
                    }
                }
            }
        }
    }
}
