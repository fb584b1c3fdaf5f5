//! Weighted sums of the gradients of rows, all derivatives at once, in the order of [`dmci_exec::sum_rows`].

use dmci_exec::{ACCUMULATORS, CHUNK, ColumnTree, sum_rows};

/// The sum of the terms of rows: what [`dmci_exec::sum_rows`] gives, bit for bit, with less work for few rows.
pub fn sum_terms(terms: impl ExactSizeIterator<Item = f64>) -> f64 {
    let rows = terms.len();
    if rows >= CHUNK {
        return sum_rows(terms);
    }
    let mut accumulators = [0.0; ACCUMULATORS];
    terms.enumerate().for_each(|(row, term)| accumulators[row % ACCUMULATORS] += term);
    let mut width = used(rows);
    while width > 1 {
        width /= 2;
        (0..width).for_each(|i| accumulators[i] += accumulators[i + width]);
    }
    accumulators[0]
}

/// The sums over rows of `weight * gradient`, for each of `n` derivatives: what [`dmci_exec::sum_rows`] gives
/// for each derivative alone, bit for bit, but memory is read once and in its order. A row whose weight is 0
/// adds nothing, whatever its gradient is. The sums are the first `n` numbers of `space`, whose memory is used again.
pub fn sum_gradients(weights: &[f64], gradients: &[f64], n: usize, space: &mut Vec<f64>) {
    if weights.len() < CHUNK {
        match n {
            1 => return sum_few::<1>(weights, gradients, space),
            2 => return sum_few::<2>(weights, gradients, space),
            3 => return sum_few::<3>(weights, gradients, space),
            4 => return sum_few::<4>(weights, gradients, space),
            _ => {}
        }
    }
    sum_chosen(weights.iter().enumerate().map(|(row, weight)| (*weight, &gradients[row * n..][..n])), n, space);
}

/// The same for rows with their gradients one by one.
pub fn sum_chosen<'a>(rows: impl Iterator<Item = (f64, &'a [f64])>, n: usize, space: &mut Vec<f64>) {
    space.clear();
    space.resize(ACCUMULATORS * n, 0.0);
    let mut tree = ColumnTree::default();
    tree.start(n);
    let mut count = 0;
    for (weight, gradient) in rows {
        if weight != 0.0 {
            let sums = &mut space[count % ACCUMULATORS * n..][..n];
            sums.iter_mut().zip(gradient).for_each(|(sum, g)| *sum += weight * g);
        }
        count += 1;
        if count % CHUNK == 0 {
            tree.push(space);
        }
    }
    tree.finish(space, used(count % CHUNK), count % CHUNK != 0);
}

/// The same for few derivatives, whose number the compiler knows, and less than a chunk of rows.
fn sum_few<const N: usize>(weights: &[f64], gradients: &[f64], space: &mut Vec<f64>) {
    let mut accumulators = [[0.0; N]; ACCUMULATORS];
    for (row, (weight, gradient)) in weights.iter().zip(gradients.chunks_exact(N)).enumerate() {
        if *weight != 0.0 {
            let sums = &mut accumulators[row % ACCUMULATORS];
            (0..N).for_each(|j| sums[j] += weight * gradient[j]);
        }
    }
    let mut width = used(weights.len());
    while width > 1 {
        width /= 2;
        let (low, high) = accumulators.split_at_mut(width);
        for (low, high) in low.iter_mut().zip(high) {
            (0..N).for_each(|j| low[j] += high[j]);
        }
    }
    space.clear();
    space.extend_from_slice(&accumulators[0]);
}

/// Accumulators that so many rows of a chunk reach, as a power of two. The others are 0, and none is ever a
/// negative zero, so leaving them out changes no bit.
fn used(rows: usize) -> usize {
    rows.clamp(1, ACCUMULATORS).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci_stats::random::Stream;

    #[test]
    fn all_derivatives_at_once_are_each_alone() {
        let mut stream = Stream::new(3, 3);
        let mut space = Vec::new();
        for rows in [0, 1, 2, 3, 5, 8, 9, 15, 16, 17, 1023, 1024, 1025, 3000, 3072, 5000, 7168] {
            for n in [1, 2, 3, 4, 5] {
                let mut number = || stream.normal() * 10f64.powi(stream.below(9) as i32);
                let weights: Vec<f64> = (0..rows).map(|r| if r % 7 == 3 { 0.0 } else { number() }).collect();
                let mut gradients: Vec<f64> = (0..rows * n).map(|_| number()).collect();
                if rows > 3 {
                    gradients[3 * n] = f64::NAN;
                }
                sum_chosen(weights.iter().copied().zip(gradients.chunks(n)), n, &mut space);
                let chosen = space[..n].to_vec();
                sum_gradients(&weights, &gradients, n, &mut space);
                for j in 0..n {
                    assert_eq!(space[j].to_bits(), chosen[j].to_bits(), "{rows} rows, derivative {j} of {n}");
                    let term = |(r, w): (usize, &f64)| if *w == 0.0 { 0.0 } else { w * gradients[r * n + j] };
                    let terms: Vec<f64> = weights.iter().enumerate().map(term).collect();
                    let alone = sum_rows(terms.iter().copied());
                    assert_eq!(space[j].to_bits(), alone.to_bits(), "{rows} rows, derivative {j} of {n}");
                    assert_eq!(sum_terms(terms.iter().copied()).to_bits(), alone.to_bits(), "{rows} rows");
                }
            }
        }
        // Terms of either zero add up to the same zero.
        for rows in 0..20 {
            let zeros = |r: usize| if r.is_multiple_of(2) { -0.0 } else { 0.0 };
            assert_eq!(sum_terms((0..rows).map(zeros)).to_bits(), sum_rows((0..rows).map(zeros)).to_bits());
            assert_eq!(sum_terms((0..rows).map(|_| -0.0)).to_bits(), sum_rows((0..rows).map(|_| -0.0)).to_bits());
        }
    }
}
