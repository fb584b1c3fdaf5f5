//! Which rows are fitted and which are held out.

use dmci_data::num::next_random;

/// Indices of the rows to fit and of those held out, both in order. A share above 0 holds out at
/// least one row, and at least one row is left; the seed decides which.
pub fn split_rows(rows: usize, share: f64, seed: u64) -> (Vec<usize>, Vec<usize>) {
    if share <= 0.0 || rows < 2 {
        return ((0..rows).collect(), Vec::new());
    }
    let count = ((rows as f64 * share).round() as usize).clamp(1, rows - 1);
    let mut state = seed;
    let mut order: Vec<usize> = (0..rows).collect();
    for i in 0..count {
        // The bias of the remainder is below rows / 2^64.
        let j = i + (next_random(&mut state) % (rows - i) as u64) as usize;
        order.swap(i, j);
    }
    let mut fitted = order.split_off(count);
    fitted.sort_unstable();
    order.sort_unstable();
    (fitted, order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_on_one_side() {
        for (rows, share, count) in
            [(10, 0.3, 3), (10, 0.01, 1), (2, 0.9, 1), (100, 0.25, 25), (10, 0.0, 0), (1, 0.5, 0)]
        {
            let (fitted, held) = split_rows(rows, share, 7);
            assert_eq!(held.len(), count);
            let mut all = [fitted.clone(), held.clone()].concat();
            all.sort_unstable();
            assert_eq!(all, (0..rows).collect::<Vec<_>>());
            assert!(fitted.is_sorted() && held.is_sorted());
        }
        assert_eq!(split_rows(50, 0.5, 1), split_rows(50, 0.5, 1));
        assert_ne!(split_rows(50, 0.5, 1), split_rows(50, 0.5, 2));
    }
}
