//! Where the restarts of a fit start.

use dmci_data::num::{next_random, random_real};
use dmci_ops::real::{cos, log, sqrt};

/// How far restart `index` starts from the schema's values, in raw space: nothing for the first,
/// normally distributed for the others. It depends on the seed and the index only, so the same
/// restart is the same search in every population.
pub fn offset(start: &[f64], index: usize, seed: u64) -> Vec<f64> {
    if index == 0 {
        return vec![0.0; start.len()];
    }
    // Neighbouring seeds and indices must give unrelated numbers: both go through the generator.
    let mut state = seed;
    state = next_random(&mut state) ^ index as u64;
    state = next_random(&mut state);
    // Raw numbers of order 1 are spread by 1; large ones, of parameters without a scale, in proportion.
    start.iter().map(|x| normal(&mut state) * (x.abs() / 2.0).max(1.0)).collect()
}

/// A number of the standard normal distribution (Box and Muller).
fn normal(state: &mut u64) -> f64 {
    let u = 1.0 - random_real(state);
    let v = random_real(state);
    sqrt(-2.0 * log(u)) * cos(std::f64::consts::TAU * v)
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

    #[test]
    fn offsets_are_normal() {
        let mut state = 1;
        let draws: Vec<f64> = (0..20_000).map(|_| normal(&mut state)).collect();
        let mean = draws.iter().sum::<f64>() / 2e4;
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / 2e4;
        let beyond = draws.iter().filter(|x| x.abs() > 1.96).count() as f64 / 2e4;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05 && (beyond - 0.05).abs() < 0.006);
    }
}
