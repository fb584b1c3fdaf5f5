//! Products of matrices. Every element is the sum of its products in the order of the index, whatever is computed
//! beside it: neighbouring lanes, or in one lane neighbouring columns.

use crate::linalg::Number;
use crate::word::Word;
use dmci_limits::Ticks;

/// The sum of nothing, which leaves the sign of a zero that is added to it.
const NOTHING: f64 = -0.0;

/// Two matrices and what becomes of them.
struct Product<'a, T> {
    a: &'a [T],
    b: &'a [T],
    /// Rows of the result, terms of each sum, columns of the result.
    sizes: [usize; 3],
    /// From one row of `a` to the next, and from one column.
    a_steps: [usize; 2],
    /// From one row of `b` to the next, and from one column.
    b_steps: [usize; 2],
}

/// The product of two matrices, each transposed first if its flag says so, of so many lanes in rows of so many words.
/// `WHOLE` if there are vectors of 512 bits, and twice as many of them.
#[inline(always)]
pub(crate) fn matmul<W: Word, const WHOLE: bool>(
    out: &mut [W],
    operands: [&[W]; 2],
    sizes @ [m, k, n]: [usize; 3],
    (ta, tb): (bool, bool),
    (w, lanes): (usize, usize),
    turned: &mut Vec<W::Number>,
) {
    let [a, b] = operands.map(W::numbers);
    assert!(out.len() >= m * n * w && a.len() >= m * k * w && b.len() >= k * n * w && lanes <= w);
    if k == 0 {
        return out[..m * n * w].fill(W::default());
    }
    let a_steps = if ta { [w, m * w] } else { [k * w, w] };
    let b_steps = if tb { [w, k * w] } else { [n * w, w] };
    let mut ticks = Ticks::default();
    if w == 1 {
        let mut product = Product { a, b, sizes, a_steps, b_steps: [n, 1] };
        if tb && n > 1 {
            turned.resize(k * n, W::Number::default());
            turn(b, [k, n], turned, n);
            product.b = turned;
        }
        if n == 1 && ta {
            // The rows of what is transposed lie beside each other like columns.
            let product = Product { a: b, b: a, sizes: [1, k, m], a_steps: [1, b_steps[0]], b_steps: [m, 1] };
            return product.one_lane::<W, WHOLE>(out, &mut ticks);
        }
        product.one_lane::<W, WHOLE>(out, &mut ticks);
        return;
    }
    let mut product = Product { a, b, sizes, a_steps, b_steps };
    if m == 1 {
        // One row lies there like one column, and rows are what is done beside each other.
        let [[down, right], [other_down, other_right]] = [a_steps, b_steps];
        let (a_steps, b_steps) = ([other_right, other_down], [right, down]);
        product = Product { a: b, b: a, sizes: [n, k, 1], a_steps, b_steps };
    }
    let mut lane = 0;
    if WHOLE && W::Number::LANES == 8 {
        lane = product.vectors::<W, 16, true>(out, (w, lanes), lane, &mut ticks);
    } else if WHOLE {
        lane = product.vectors::<W, 8, true>(out, (w, lanes), lane, &mut ticks);
    }
    if W::Number::LANES == 8 {
        lane = product.vectors::<W, 8, false>(out, (w, lanes), lane, &mut ticks);
    }
    lane = product.vectors::<W, 4, false>(out, (w, lanes), lane, &mut ticks);
    let [m, _, n] = product.sizes;
    for lane in lane..lanes {
        in_pieces!(m, [1], |i, I| in_pieces!(n, [1], |j, J| {
            product.lanes::<W, 1, 1, I, J>(out, (i, j), (w, lane));
            if ticks.spend(k) {
                return;
            }
        }));
    }
}

/// Writes a matrix of `k` rows and `n` columns that lies there column by column, row by row; rows are `step` apart.
// Plain loops, as below: squares of four are turned in registers.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
pub(crate) fn turn<T: Number>(b: &[T], [k, n]: [usize; 2], turned: &mut [T], step: usize) {
    assert!(b.len() >= k * n && turned.len() >= k * step && n <= step);
    in_pieces!(n, [4, 1], |j, J| in_pieces!(k, [4, 1], |p, P| {
        let (mut rows, mut columns) = ([[T::default(); P]; J], [[T::default(); J]; P]);
        for r in 0..J {
            // SAFETY: both matrices are long enough.
            rows[r] = unsafe { *b.as_ptr().add((j + r) * k + p).cast() };
        }
        for r in 0..J {
            for c in 0..P {
                columns[c][r] = rows[r][c];
            }
        }
        for c in 0..P {
            // SAFETY: the same.
            unsafe { *turned.as_mut_ptr().add((p + c) * step + j).cast() = columns[c] };
        }
    }));
}

// Plain loops over indices: whether they become vectors must not depend on what else is inlined.
#[allow(clippy::needless_range_loop)]
impl<T: Number> Product<'_, T> {
    /// All that is done with whole vectors of `L` lanes, from a lane on; returns the first lane that is left, or that
    /// none is if the work was stopped. Lanes that are not in use are computed along, if rows have room for them.
    #[inline(always)]
    fn vectors<W: Word<Number = T>, const L: usize, const WHOLE: bool>(
        &self,
        out: &mut [W],
        (w, lanes): (usize, usize),
        first: usize,
        ticks: &mut Ticks,
    ) -> usize {
        let [m, k, n] = self.sizes;
        let count = lanes.saturating_sub(first);
        let end = first + if w % L == 0 { count.next_multiple_of(L) } else { count / L * L };
        let mut lane = first;
        // Two vectors if there are as many lanes: the one comes with the other from the cache.
        while !WHOLE && end - lane >= 2 * L {
            in_pieces!(m, [5, 4, 3, 2, 1], |i, I| in_pieces!(n, [1], |j, J| {
                self.lanes::<W, L, 2, I, J>(out, (i, j), (w, lane));
                if ticks.spend(2 * L * I * J * k) {
                    return lanes;
                }
            }));
            lane += 2 * L;
        }
        while lane < end {
            let (place, out) = ((w, lane), &mut *out);
            if WHOLE {
                // There are registers for many sums, so that each number is loaded for several of them.
                in_pieces!(m, [5, 4, 2, 1], |i, I| {
                    in_pieces!(n, [5, 4, 2, 1], |j, J| {
                        self.lanes::<W, L, 1, I, J>(out, (i, j), place);
                        if ticks.spend(L * I * J * k) {
                            return lanes;
                        }
                    })
                });
            } else {
                in_pieces!(m, [2, 1], |i, I| {
                    in_pieces!(n, [5, 4, 3, 2, 1], |j, J| {
                        self.lanes::<W, L, 1, I, J>(out, (i, j), place);
                        if ticks.spend(L * I * J * k) {
                            return lanes;
                        }
                    })
                });
            }
            lane += L;
        }
        end
    }

    /// The whole result of one lane, row by row. Where there are vectors of 512 bits, sums of as many rows are under way
    /// as there are registers for.
    #[inline(always)]
    fn one_lane<W: Word<Number = T>, const WHOLE: bool>(&self, out: &mut [W], ticks: &mut Ticks) {
        let [m, k, n] = self.sizes;
        macro_rules! piece {
            ($i:ident, $I:ident, $j:expr, $J:expr, $V:literal) => {{
                self.columns::<W, $I, { $J }, $V>(out, $i, $j);
                if ticks.spend($I * $J * $V * k) {
                    return;
                }
            }};
        }
        if n == 1 {
            in_pieces!(m, [4, 2, 1], |i, I| piece!(i, I, 0, 1, 1));
        } else if T::LANES == 8 {
            // Eight columns are one vector, so there are registers for more rows, whose sums do not wait for each other.
            in_pieces!(m, [10, 5, 4, 2, 1], |i, I| in_pieces!(n, [8, 4, 2, 1], |j, J| piece!(i, I, j, J, 1)));
        } else if WHOLE {
            let (wide, vectors) = (n / 16 * 16, n / 8 * 8);
            for j in (0..wide).step_by(16) {
                in_pieces!(m, [5, 4, 2, 1], |i, I| piece!(i, I, j, 8, 2));
            }
            for j in (wide..vectors).step_by(8) {
                in_pieces!(m, [10, 5, 4, 2, 1], |i, I| piece!(i, I, j, 8, 1));
            }
            in_pieces!(n - vectors, [4, 2, 1], |j, J| {
                in_pieces!(m, [10, 5, 4, 2, 1], |i, I| piece!(i, I, vectors + j, J, 1));
            });
        } else {
            in_pieces!(m, [4, 2, 1], |i, I| in_pieces!(n, [8, 4, 2, 1], |j, J| piece!(i, I, j, J, 1)));
        }
    }

    /// Some rows and columns of the result of one lane: columns are beside each other in `V` vectors.
    #[inline(always)]
    fn columns<W: Word<Number = T>, const I: usize, const J: usize, const V: usize>(
        &self,
        out: &mut [W],
        i: usize,
        j: usize,
    ) {
        let [_, k, n] = self.sizes;
        let mut sums = [[[T::of(NOTHING); J]; V]; I];
        for p in 0..k {
            let mut y = [[T::of(0.0); J]; V];
            for v in 0..V {
                // SAFETY: the matrices are as large as their sizes say, which `matmul` has asserted.
                y[v] = unsafe { *self.b.as_ptr().add(j + v * J + p * self.b_steps[0]).cast::<[T; J]>() };
            }
            for r in 0..I {
                let at = (i + r) * self.a_steps[0] + p * self.a_steps[1];
                // SAFETY: the same.
                let x = unsafe { *self.a.as_ptr().add(at) };
                for v in 0..V {
                    for c in 0..J {
                        sums[r][v][c] = sums[r][v][c] + x * y[v][c];
                    }
                }
            }
        }
        for r in 0..I {
            for v in 0..V {
                let to = &mut out[(i + r) * n + j + v * J..][..J];
                for c in 0..J {
                    to[c] = W::of(sums[r][v][c]);
                }
            }
        }
    }

    /// Some rows and columns of the result of some lanes: `V` vectors of `L` lanes beside each other.
    #[inline(always)]
    fn lanes<W: Word<Number = T>, const L: usize, const V: usize, const I: usize, const J: usize>(
        &self,
        out: &mut [W],
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
                    x[r] = unsafe { *self.a.as_ptr().add(a + r * self.a_steps[0] + v * L).cast::<[T; L]>() };
                }
                for c in 0..J {
                    // SAFETY: the same.
                    let y = unsafe { *self.b.as_ptr().add(b + c * self.b_steps[1] + v * L).cast::<[T; L]>() };
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
                    let to = unsafe { &mut *out.as_mut_ptr().add(to + v * L).cast::<[W; L]>() };
                    for l in 0..L {
                        to[l] = W::of(sums[v][r][c][l]);
                    }
                }
            }
        }
    }
}
