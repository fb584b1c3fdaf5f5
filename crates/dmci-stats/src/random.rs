//! A stream of random numbers that a seed decides: the same bits on every machine.

use dmci_ops::real::{cos, log, sqrt};
use dmci_value::num::{next_random, random_real};
use serde::{Deserialize, Serialize};

/// A stream of random numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stream(u64);

impl Stream {
    /// The stream of a seed and a number: neighbours are unrelated, because both go through the generator.
    pub fn new(seed: u64, number: u64) -> Stream {
        let mut state = seed;
        state = next_random(&mut state) ^ number;
        Stream(next_random(&mut state))
    }

    /// From 0 up to, but without, 1.
    pub fn uniform(&mut self) -> f64 {
        random_real(&mut self.0)
    }

    /// A whole number below `n`; the bias is below n / 2^64.
    pub fn below(&mut self, n: usize) -> usize {
        (next_random(&mut self.0) % n.max(1) as u64) as usize
    }

    /// Of the standard normal distribution (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let u = 1.0 - self.uniform();
        let v = self.uniform();
        sqrt(-2.0 * log(u)) * cos(std::f64::consts::TAU * v)
    }

    /// So many numbers of the standard normal distribution.
    pub fn normals(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.normal()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_normal() {
        let draws = Stream::new(1, 0).normals(20_000);
        let mean = draws.iter().sum::<f64>() / 2e4;
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / 2e4;
        let beyond = draws.iter().filter(|x| x.abs() > 1.96).count() as f64 / 2e4;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05 && (beyond - 0.05).abs() < 0.006);
    }

    #[test]
    fn neighbours_are_unrelated() {
        let mut seen = Vec::new();
        for seed in 0..10 {
            for number in 0..20 {
                let draw = Stream::new(seed, number).uniform();
                assert!(!seen.contains(&draw), "seed {seed}, number {number}");
                seen.push(draw);
            }
        }
        let mean = seen.iter().sum::<f64>() / 200.0;
        assert!((mean - 0.5).abs() < 0.1, "{mean}");
    }
}
