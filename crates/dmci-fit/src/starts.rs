//! Where the restarts of a fit start.

use dmci_stats::random::Stream;

/// How far other points may lie from a start, in each direction of raw space: raw numbers of order 1
/// are spread by 1; large ones, of parameters without a scale, in proportion.
pub fn spread(start: &[f64]) -> Vec<f64> {
    start.iter().map(|x| (x.abs() / 2.0).max(1.0)).collect()
}

/// How far restart `index` starts from the schema's values, in raw space: nothing for the first,
/// normally distributed for the others. It depends on the seed and the index only, so the same
/// restart is the same search in every population.
pub fn offset(start: &[f64], index: usize, seed: u64) -> Vec<f64> {
    if index == 0 {
        return vec![0.0; start.len()];
    }
    let mut stream = Stream::new(seed, index as u64);
    spread(start).into_iter().map(|s| stream.normal() * s).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_start_at_different_places_that_a_seed_decides() {
        let start = [0.0, 1.0, 1000.0];
        assert_eq!(offset(&start, 0, 5), [0.0; 3]);
        let mut seen: Vec<Vec<f64>> = Vec::new();
        for seed in 0..10 {
            for index in 1..20 {
                let place = offset(&start, index, seed);
                assert_eq!(place, offset(&start, index, seed));
                assert!(!seen.contains(&place) && place[0] != place[1], "seed {seed}, restart {index}");
                seen.push(place);
            }
        }
        assert!(seen.iter().any(|place| place[2].abs() > 100.0));
    }
}
