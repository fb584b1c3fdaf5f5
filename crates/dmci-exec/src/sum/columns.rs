//! Sums over rows of several numbers: each column in the order of [`super::sum_rows`], all of them at once, so that
//! memory is read in its order.

use super::{ACCUMULATORS, CHUNK};
use crate::number::Number;

/// The tree over the chunks of rows of so many numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnTree {
    width: usize,
    chunks: usize,
    /// Sums of complete subtrees, a row each: level `k` has one if bit `k` of the number of chunks is set.
    levels: Vec<f64>,
}

impl ColumnTree {
    /// A tree over nothing yet, in the memory of this one.
    pub fn start(&mut self, width: usize) {
        (self.width, self.chunks) = (width, 0);
        self.levels.clear();
    }

    /// Puts in a finished chunk, given by its accumulators, each a row; they are 0 then.
    pub fn push(&mut self, accumulators: &mut [f64]) {
        let width = self.width;
        combine(accumulators, ACCUMULATORS, width);
        let (sums, _) = accumulators.split_at_mut(width);
        let mut level = 0;
        while self.chunks >> level & 1 == 1 {
            let others = &self.levels[level * width..][..width];
            sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
            level += 1;
        }
        if self.levels.len() == level * width {
            self.levels.extend_from_slice(sums);
        } else {
            self.levels[level * width..][..width].copy_from_slice(sums);
        }
        accumulators.fill(0.0);
        self.chunks += 1;
    }

    /// The sums of all rows become the first of the accumulators of the last, unfinished chunk, of which so many have
    /// been used.
    pub fn finish(&self, accumulators: &mut [f64], used: usize, rest: bool) {
        combine(accumulators, used, self.width);
        let mut first = !rest;
        let levels = self.levels.chunks(self.width.max(1)).enumerate();
        for (_, left) in levels.filter(|(level, _)| self.chunks >> level & 1 == 1) {
            let total = accumulators.iter_mut().zip(left);
            if first {
                total.for_each(|(total, left)| *total = *left);
            } else {
                total.for_each(|(total, left)| *total += left);
            }
            first = false;
        }
    }
}

/// The first accumulators of a chunk, combined by halves into the first.
fn combine(accumulators: &mut [f64], mut used: usize, width: usize) {
    while used > 1 {
        used /= 2;
        let (low, high) = accumulators.split_at_mut(used * width);
        low.iter_mut().zip(high).for_each(|(a, b)| *a += *b);
    }
}

/// Memory for sums, used again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnSpace {
    tree: ColumnTree,
    accumulators: Vec<f64>,
}

/// Appends the sums of the columns of a list with rows of so many numbers.
pub fn sum_columns<N: Number>(list: &[N], width: usize, space: &mut ColumnSpace, sums: &mut Vec<f64>) {
    if width == 0 {
        return;
    }
    let ColumnSpace { tree, accumulators } = space;
    tree.start(width);
    accumulators.clear();
    accumulators.resize(ACCUMULATORS * width, 0.0);
    for chunk in list.chunks(CHUNK * width) {
        for rows in chunk.chunks(ACCUMULATORS * width) {
            accumulators.iter_mut().zip(rows).for_each(|(sum, &x)| *sum += x.into());
        }
        if chunk.len() == CHUNK * width {
            tree.push(accumulators);
        }
    }
    let rest = !(list.len() / width).is_multiple_of(CHUNK);
    tree.finish(accumulators, ACCUMULATORS, rest);
    sums.extend_from_slice(&accumulators[..width]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sum_rows;

    #[test]
    fn columns_add_up_as_each_does_alone() {
        let mut space = ColumnSpace::default();
        for rows in [0, 1, 15, 16, 17, 1023, 1024, 1025, 2048, 3000, 3072, 5000, 7168, 12345] {
            for width in [1, 2, 3, 7] {
                let term = |i: usize| ((i * 7919) as f64).sin() * 10f64.powi((i * 31 % 17) as i32 - 8);
                let list: Vec<f64> = (0..rows * width).map(term).collect();
                let mut sums = Vec::new();
                sum_columns(&list, width, &mut space, &mut sums);
                assert_eq!(sums.len(), width);
                for (k, sum) in sums.iter().enumerate() {
                    let alone = sum_rows(list.iter().skip(k).step_by(width).copied());
                    assert_eq!(sum.to_bits(), alone.to_bits(), "{rows} rows, column {k} of {width}");
                }
            }
        }
    }
}
