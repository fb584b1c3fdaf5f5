//! Weighted sums of the gradients of rows, all derivatives at once, in the order of [`dmci_exec::sum_rows`].

/// Rows of a chunk and accumulators, as that order defines them.
const CHUNK: usize = 1024;
const ACCUMULATORS: usize = 16;

/// The sums over rows of `weight * gradient`, for each of `n` derivatives: what [`dmci_exec::sum_rows`] gives
/// for each derivative alone, bit for bit, but memory is read once and in its order. A row whose weight is 0
/// adds nothing, whatever its gradient is.
pub fn sum_gradients<'a>(rows: impl Iterator<Item = (f64, &'a [f64])>, n: usize) -> Vec<f64> {
    let mut accumulators = vec![0.0; ACCUMULATORS * n];
    // Sums of complete subtrees: level k has one if bit k of the number of chunks is set.
    let mut levels: Vec<Vec<f64>> = Vec::new();
    let mut count = 0;
    for (weight, gradient) in rows {
        if weight != 0.0 {
            let sums = &mut accumulators[count % ACCUMULATORS * n..][..n];
            sums.iter_mut().zip(gradient).for_each(|(sum, g)| *sum += weight * g);
        }
        count += 1;
        if count % CHUNK == 0 {
            carry(&mut levels, &mut accumulators, count / CHUNK - 1, n);
        }
    }
    let mut total = None;
    if count % CHUNK != 0 || count == 0 {
        combine(&mut accumulators, n);
        accumulators.truncate(n);
        total = Some(accumulators);
    }
    let chunks = count / CHUNK;
    for (_, left) in levels.into_iter().enumerate().filter(|(level, _)| chunks >> level & 1 == 1) {
        total = Some(match total {
            None => left,
            Some(right) => left.iter().zip(&right).map(|(l, r)| l + r).collect(),
        });
    }
    total.unwrap_or_default()
}

/// Puts a finished chunk into the tree over those before it.
fn carry(levels: &mut Vec<Vec<f64>>, accumulators: &mut [f64], before: usize, n: usize) {
    combine(accumulators, n);
    let mut sums = accumulators[..n].to_vec();
    accumulators.fill(0.0);
    let mut level = 0;
    while before >> level & 1 == 1 {
        sums.iter_mut().zip(&levels[level]).for_each(|(sum, other)| *sum += other);
        level += 1;
    }
    match levels.get_mut(level) {
        Some(place) => *place = sums,
        None => levels.push(sums),
    }
}

/// The accumulators of a chunk, combined by halves into the first.
fn combine(accumulators: &mut [f64], n: usize) {
    let mut width = ACCUMULATORS;
    while width > 1 {
        width /= 2;
        let (low, high) = accumulators.split_at_mut(width * n);
        low.iter_mut().zip(high).for_each(|(a, b)| *a += *b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;
    use dmci_exec::sum_rows;

    #[test]
    fn all_derivatives_at_once_are_each_alone() {
        let mut stream = Stream::new(3, 3);
        for rows in [0, 1, 15, 16, 17, 1023, 1024, 1025, 3000, 3072, 5000, 7168] {
            for n in [1, 2, 5] {
                let mut number = || stream.normal() * 10f64.powi(stream.below(9) as i32);
                let weights: Vec<f64> = (0..rows).map(|r| if r % 7 == 3 { 0.0 } else { number() }).collect();
                let mut gradients: Vec<f64> = (0..rows * n).map(|_| number()).collect();
                if rows > 3 {
                    gradients[3 * n] = f64::NAN;
                }
                let all = sum_gradients(weights.iter().copied().zip(gradients.chunks(n)), n);
                for j in 0..n {
                    let term = |(r, w): (usize, &f64)| if *w == 0.0 { 0.0 } else { w * gradients[r * n + j] };
                    let alone = sum_rows(weights.iter().enumerate().map(term));
                    assert_eq!(all[j].to_bits(), alone.to_bits(), "{rows} rows, derivative {j} of {n}");
                }
            }
        }
    }
}
