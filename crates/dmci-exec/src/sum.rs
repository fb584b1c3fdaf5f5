//! Sums over rows in one written order.
//!
//! Floating-point addition is not associative, so a sum is defined by its tree. Row `r` adds to
//! accumulator `r mod 16` of its chunk of 1,024 rows, in the order of rows; the accumulators of a
//! chunk combine by halves (`i` with `i + 8`, then with `i + 4`, ...), and the chunks combine in
//! pairs of neighbours, level by level, with an odd one carried up. The result is a function of the
//! rows and their number only: not of how lanes were grouped, of calls, or of threads.

mod columns;

pub use columns::{ColumnSpace, ColumnTree, sum_columns};

/// Rows of a chunk.
pub const CHUNK: usize = 1024;

/// Accumulators of a chunk.
pub const ACCUMULATORS: usize = 16;

/// Enough levels for every number of chunks that fits into a `usize`.
const LEVELS: usize = usize::BITS as usize;

/// A sum over rows under construction: terms come in the order of rows, in any number of calls.
#[derive(Clone, Debug)]
pub struct RowSum {
    rows: usize,
    accumulators: [f64; ACCUMULATORS],
    /// Complete subtrees of chunks: level `k` holds one over 2^k chunks if bit `k` of the number of
    /// chunks is set, as in a binary counter.
    levels: [f64; LEVELS],
}

impl Default for RowSum {
    fn default() -> Self {
        RowSum { rows: 0, accumulators: [0.0; ACCUMULATORS], levels: [0.0; LEVELS] }
    }
}

impl RowSum {
    /// Adds the term of the next row.
    #[inline]
    pub fn add(&mut self, term: f64) {
        self.accumulators[self.rows % ACCUMULATORS] += term;
        self.rows += 1;
        if self.rows.is_multiple_of(CHUNK) {
            self.carry();
        }
    }

    /// Adds the terms of the next rows.
    pub fn extend(&mut self, terms: impl IntoIterator<Item = f64>) {
        terms.into_iter().for_each(|term| self.add(term));
    }

    /// The sum of all rows so far; 0 without rows.
    pub fn total(&self) -> f64 {
        let chunks = self.rows / CHUNK;
        let rest = !self.rows.is_multiple_of(CHUNK);
        let mut sum = rest.then(|| combined(self.accumulators));
        for level in (0..LEVELS).filter(|level| chunks >> level & 1 == 1) {
            // The larger subtree stands on the left: its rows come first.
            sum = Some(sum.map_or(self.levels[level], |right| self.levels[level] + right));
        }
        sum.unwrap_or(0.0)
    }

    /// Puts the finished chunk into the tree.
    fn carry(&mut self) {
        let mut sum = combined(std::mem::take(&mut self.accumulators));
        let before = self.rows / CHUNK - 1;
        let mut level = 0;
        while before >> level & 1 == 1 {
            sum += self.levels[level];
            level += 1;
        }
        self.levels[level] = sum;
    }
}

/// The accumulators of a chunk, combined by halves.
fn combined(mut accumulators: [f64; ACCUMULATORS]) -> f64 {
    let mut width = ACCUMULATORS;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            accumulators[i] += accumulators[i + width];
        }
    }
    accumulators[0]
}

/// The sum of the terms of all rows, in order.
pub fn sum_rows(terms: impl IntoIterator<Item = f64>) -> f64 {
    let mut sum = RowSum::default();
    sum.extend(terms);
    sum.total()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of very different sizes and signs, so that every other order gives other bits.
    fn terms(rows: usize) -> Vec<f64> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..rows).map(|_| (next() - 0.5) * 10f64.powi((next() * 8.0) as i32)).collect()
    }

    /// The definition, word by word, with memory for everything.
    fn by_definition(terms: &[f64]) -> f64 {
        let mut level: Vec<f64> = terms
            .chunks(CHUNK)
            .map(|chunk| {
                let mut a = [0.0; ACCUMULATORS];
                chunk.iter().enumerate().for_each(|(r, x)| a[r % ACCUMULATORS] += x);
                for width in [8, 4, 2, 1] {
                    (0..width).for_each(|i| a[i] += a[i + width]);
                }
                a[0]
            })
            .collect();
        while level.len() > 1 {
            level = level.chunks(2).map(|pair| pair.iter().copied().reduce(|a, b| a + b).unwrap()).collect();
        }
        level.first().copied().unwrap_or(0.0)
    }

    #[test]
    fn a_sum_is_the_tree_of_its_definition() {
        for rows in [0, 1, 15, 16, 17, 1023, 1024, 1025, 2048, 3000, 3072, 5000, 7168, 7200, 12345] {
            let terms = terms(rows);
            assert_eq!(sum_rows(terms.iter().copied()).to_bits(), by_definition(&terms).to_bits(), "{rows} rows");
        }
    }

    #[test]
    fn a_sum_does_not_depend_on_how_rows_are_split_into_calls() {
        let terms = terms(5000);
        let expected = sum_rows(terms.iter().copied()).to_bits();
        for size in [1, 7, 16, 100, 256, 1024, 1500, 4999] {
            let mut sum = RowSum::default();
            for call in terms.chunks(size) {
                sum.extend(call.iter().copied());
                let _ = sum.total();
            }
            assert_eq!(sum.total().to_bits(), expected, "calls of {size}");
        }
        let plain: f64 = terms.iter().sum();
        assert_ne!(plain.to_bits(), expected, "the test would not see another order");
    }

    #[test]
    fn a_sum_agrees_with_a_plain_one_to_rounding() {
        for rows in [10, 1000, 100_000] {
            let terms = terms(rows);
            let plain: f64 = terms.iter().sum();
            let size: f64 = terms.iter().map(|x| x.abs()).sum();
            assert!((sum_rows(terms.iter().copied()) - plain).abs() <= size * rows as f64 * f64::EPSILON);
        }
        assert_eq!(sum_rows((1..=2000).map(f64::from)), 2_001_000.0);
        assert!(sum_rows([1.0, f64::NAN, 2.0]).is_nan());
    }
}
