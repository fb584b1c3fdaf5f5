//! Scrambled Sobol points: low-discrepancy points of the unit cube that a seed decides, the same bits on every machine.

use crate::random::Stream;

/// Points with a number below this are Owen-scrambled Sobol points; those behind are random.
pub const MOST_POINTS: u32 = 1 << 16;

/// A point of the unit cube, each coordinate from 0 up to, but without, 1. Dimensions beyond those of the sequence, and
/// points beyond its end, are random.
pub fn sobol(number: u32, dimensions: usize, seed: u64) -> Vec<f64> {
    let mut stream = Stream::new(seed ^ 0x50b01, u64::from(number));
    let low = (seed ^ (seed >> 32)) as u32;
    let coordinate = |dimension: usize| {
        let random = stream.uniform();
        match u32::try_from(dimension) {
            Ok(d) if d < sobol_burley::NUM_DIMENSIONS && number < MOST_POINTS => {
                f64::from(sobol_burley::sample(number, d, low))
            }
            _ => random,
        }
    };
    (0..dimensions).map(coordinate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_fill_the_cube_evenly() {
        for seed in [0, 1, 1 << 40] {
            let points: Vec<Vec<f64>> = (0..64).map(|i| sobol(i, 300, seed)).collect();
            for d in [0, 1, 7, 255, 256, 299] {
                let mut cells = [0; 8];
                points.iter().for_each(|p| cells[(p[d] * 8.0) as usize] += 1);
                if d < 256 {
                    // A net in base 2: every eighth of the interval has as many points.
                    assert_eq!(cells, [8; 8], "dimension {d}");
                }
                assert!(points.iter().all(|p| (0.0..1.0).contains(&p[d])));
            }
        }
        assert_ne!(sobol(3, 2, 0), sobol(3, 2, 1));
        assert_eq!(sobol(70_000, 2, 5), sobol(70_000, 2, 5));
    }
}
