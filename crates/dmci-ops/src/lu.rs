//! The factors of one matrix that lies there column by column: whatever is done to the rows of a column is done in
//! vectors. Every element goes through the same operations in the same order as where lanes lie beside each other
//! (`linalg.rs`): columns are only taken four at a time, so that those behind them are read and written once for four.

// Plain loops over indices: whether they become vectors must not depend on what else is inlined.
#![allow(clippy::needless_range_loop)]

use crate::linalg::Number;
use dmci_limits::Ticks;

/// Rows of a vector, and columns that are taken together.
pub(crate) const BLOCK: usize = 4;

/// A few rows of a column.
type Rows<T> = [T; BLOCK];

/// A square matrix, column by column; columns end with rows without a meaning, so that they are whole vectors.
struct Columns<'a, T> {
    numbers: &'a mut [T],
    /// From one column to the next.
    height: usize,
    /// Rows and columns.
    n: usize,
}

/// Factors a matrix of `n` columns that lie `n.next_multiple_of(BLOCK)` apart: rows are exchanged so that the largest
/// element of each column (the first of several) divides. Notes in `order` which row each comes from, and returns the sign
/// of the exchange; `None` if it was stopped.
#[inline(always)]
pub(crate) fn factor<T: Number>(numbers: &mut [T], order: &mut [u32], n: usize) -> Option<T> {
    let height = n.next_multiple_of(BLOCK);
    assert!(numbers.len() >= n * height && order.len() >= n);
    let mut matrix = Columns { numbers, height, n };
    let (mut sign, mut ticks) = (T::of(1.0), Ticks::default());
    for first in (0..n).step_by(BLOCK) {
        let end = n.min(first + BLOCK);
        for c in first..end {
            let pivot = matrix.pivot(c);
            if pivot != c {
                matrix.exchange(c, pivot);
                order.swap(c, pivot);
                sign = -sign;
            }
            matrix.divide(c);
            (c + 1..end).for_each(|j| matrix.subtract(c, j));
        }
        if ticks.spend(BLOCK * (n - first) * (n - first)) {
            return None;
        }
        let mut j = end;
        while n - j >= BLOCK {
            matrix.subtract_four::<BLOCK>(first, j);
            j += BLOCK;
        }
        (j..n).for_each(|j| matrix.subtract_four::<1>(first, j));
    }
    Some(sign)
}

impl<T: Number> Columns<'_, T> {
    #[inline(always)]
    fn at(&self, row: usize, column: usize) -> T {
        debug_assert!(row < self.height && column < self.n);
        // SAFETY: `factor` has asserted the length, and looks at no row and no column that is not there.
        unsafe { *self.numbers.as_ptr().add(column * self.height + row) }
    }

    #[inline(always)]
    fn rows(&self, row: usize, column: usize) -> Rows<T> {
        debug_assert!(row + BLOCK <= self.height && column < self.n);
        // SAFETY: the same.
        unsafe { *self.numbers.as_ptr().add(column * self.height + row).cast() }
    }

    #[inline(always)]
    fn set_rows(&mut self, row: usize, column: usize, rows: Rows<T>) {
        debug_assert!(row + BLOCK <= self.height && column < self.n);
        // SAFETY: the same.
        unsafe { *self.numbers.as_mut_ptr().add(column * self.height + row).cast() = rows };
    }

    /// The row of the largest element of a column from the diagonal on; what is not a number is the largest only where it
    /// comes first.
    #[inline(always)]
    fn pivot(&self, c: usize) -> usize {
        let own = self.at(c, c).abs();
        let mut largest = [own; BLOCK];
        for row in (first_block(c + 1)..self.height).step_by(BLOCK) {
            let rows = self.rows(row, c);
            for l in 0..BLOCK {
                let x = if row + l > c && row + l < self.n { rows[l].abs() } else { own };
                largest[l] = if x > largest[l] { x } else { largest[l] };
            }
        }
        let [x, y, z, w] = largest;
        let (x, y) = (if x > y { x } else { y }, if z > w { z } else { w });
        let most = if x > y { x } else { y };
        if own == most {
            return c;
        }
        (c + 1..self.n).find(|&r| self.at(r, c).abs() == most).unwrap_or(c)
    }

    #[inline(always)]
    fn exchange(&mut self, a: usize, b: usize) {
        for column in self.numbers[..self.n * self.height].chunks_exact_mut(self.height) {
            column.swap(a, b);
        }
    }

    /// Divides what is below the diagonal.
    #[inline(always)]
    fn divide(&mut self, c: usize) {
        let divisor = self.at(c, c);
        for row in (first_block(c + 1)..self.height).step_by(BLOCK) {
            let mut rows = self.rows(row, c);
            for l in 0..BLOCK {
                rows[l] = if row + l > c { rows[l] / divisor } else { rows[l] };
            }
            self.set_rows(row, c, rows);
        }
    }

    /// Subtracts the multiples of row `c` from what is below it, in column `j`.
    #[inline(always)]
    fn subtract(&mut self, c: usize, j: usize) {
        let top = self.at(c, j);
        for row in (first_block(c + 1)..self.height).step_by(BLOCK) {
            let (factors, mut rows) = (self.rows(row, c), self.rows(row, j));
            for l in 0..BLOCK {
                rows[l] = if row + l > c { rows[l] - factors[l] * top } else { rows[l] };
            }
            self.set_rows(row, j, rows);
        }
    }

    /// Subtracts the multiples of four rows from what is below them, in `J` columns.
    #[inline(always)]
    fn subtract_four<const J: usize>(&mut self, first: usize, j: usize) {
        let mut top = [[T::default(); BLOCK]; J];
        for q in 0..J {
            top[q] = self.rows(first, j + q);
            for i in 1..BLOCK {
                for c in 0..i {
                    top[q][i] = top[q][i] - self.at(first + i, first + c) * top[q][c];
                }
            }
            self.set_rows(first, j + q, top[q]);
        }
        for row in (first + BLOCK..self.height).step_by(BLOCK) {
            let mut rows = [[T::default(); BLOCK]; J];
            for q in 0..J {
                rows[q] = self.rows(row, j + q);
            }
            for c in 0..BLOCK {
                let factors = self.rows(row, first + c);
                for q in 0..J {
                    for l in 0..BLOCK {
                        rows[q][l] = rows[q][l] - factors[l] * top[q][c];
                    }
                }
            }
            for q in 0..J {
                self.set_rows(row, j + q, rows[q]);
            }
        }
    }
}

/// Where the vector of a row begins.
#[inline(always)]
fn first_block(row: usize) -> usize {
    row / BLOCK * BLOCK
}
