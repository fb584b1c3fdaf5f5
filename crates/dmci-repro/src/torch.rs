//! The random streams of torch's CPU generator, from which the reference protocol draws its starts.

use dmci_ops::real::{cos, log, sin, sqrt};

const N: usize = 624;
const M: usize = 397;

/// A generator like `torch.Generator().manual_seed(seed)`: the Mersenne twister of 32 bits, and the second of
/// a pair of normal numbers, which torch keeps for the next call.
#[derive(Clone, Debug)]
pub struct Torch {
    state: [u32; N],
    next: usize,
    kept: Option<f64>,
}

impl Torch {
    /// The generator after `manual_seed`.
    pub fn new(seed: u64) -> Torch {
        let mut state = [0; N];
        state[0] = seed as u32;
        for i in 1..N {
            let before: u32 = state[i - 1];
            state[i] = 1_812_433_253_u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(i as u32);
        }
        Torch { state, next: N, kept: None }
    }

    fn refill(&mut self) {
        for i in 0..N {
            let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % N] & 0x7fff_ffff);
            let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + M) % N] ^ (y >> 1) ^ odd;
        }
        self.next = 0;
    }

    /// The next 32 bits.
    pub fn bits(&mut self) -> u32 {
        if self.next == N {
            self.refill();
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    fn bits64(&mut self) -> u64 {
        let high = self.bits();
        u64::from(high) << 32 | u64::from(self.bits())
    }

    /// `torch.rand(1)` in single precision.
    pub fn uniform(&mut self) -> f64 {
        f64::from(self.bits() & 0x00ff_ffff) / f64::from(1 << 24)
    }

    /// `tensor.uniform_(low, high)` of one number in single precision.
    pub fn uniform_in(&mut self, low: f64, high: f64) -> f64 {
        let (low, high) = (low as f32, high as f32);
        f64::from(self.uniform() as f32 * (high - low) + low)
    }

    fn uniform64(&mut self) -> f64 {
        (self.bits64() & ((1 << 53) - 1)) as f64 / (1u64 << 53) as f64
    }

    /// `torch.randn(1, dtype=torch.float64)`.
    pub fn normal64(&mut self) -> f64 {
        if let Some(kept) = self.kept.take() {
            return kept;
        }
        let u = self.uniform64();
        let v = self.uniform64();
        let radius = sqrt(-2.0 * log(1.0 - v));
        let angle = std::f64::consts::TAU * u;
        self.kept = Some(radius * sin(angle));
        radius * cos(angle)
    }

    /// `torch.randn(1)` in single precision.
    pub fn normal(&mut self) -> f64 {
        self.normal64() as f32 as f64
    }

    /// `torch.randn(n)` in single precision. Sizes of 16 and more take another way in torch, whose own vectorised
    /// logarithm and sine differ from these in the last bits.
    pub fn normals(&mut self, n: usize) -> Vec<f64> {
        if n < 16 {
            return (0..n).map(|_| self.normal()).collect();
        }
        let mut list: Vec<f64> = (0..n).map(|_| self.uniform()).collect();
        let whole = n / 16 * 16;
        list[..whole].chunks_mut(16).for_each(pairs);
        if whole < n {
            let last = &mut list[n - 16..];
            last.iter_mut().for_each(|x| *x = self.uniform());
            pairs(last);
        }
        list
    }

    /// `torch.randperm(n)`.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut list: Vec<usize> = (0..n).collect();
        for i in 0..n.saturating_sub(1) {
            let j = i + self.bits() as usize % (n - i);
            list.swap(i, j);
        }
        list
    }
}

/// Sixteen uniform numbers to sixteen normal ones, in single precision.
fn pairs(list: &mut [f64]) {
    for j in 0..8 {
        let (u, v) = (1.0 - list[j], list[j + 8]);
        let radius = sqrt(-2.0 * log(u)) as f32;
        let angle = f64::from(std::f32::consts::TAU * v as f32);
        list[j] = f64::from(radius * cos(angle) as f32);
        list[j + 8] = f64::from(radius * sin(angle) as f32);
    }
}

/// Python's `random.Random(seed).random()`: the same twister, seeded by an array, 53 bits of two draws.
#[derive(Clone, Debug)]
pub struct Python(Torch);

impl Python {
    /// The generator of a seed below 2^32.
    pub fn new(seed: u32) -> Python {
        let mut twister = Torch::new(19_650_218);
        let state = &mut twister.state;
        let mut i = 1;
        for _ in 0..N {
            let mixed = (state[i - 1] ^ (state[i - 1] >> 30)).wrapping_mul(1_664_525);
            state[i] = (state[i] ^ mixed).wrapping_add(seed);
            i += 1;
            if i == N {
                state[0] = state[N - 1];
                i = 1;
            }
        }
        for _ in 1..N {
            let mixed = (state[i - 1] ^ (state[i - 1] >> 30)).wrapping_mul(1_566_083_941);
            state[i] = (state[i] ^ mixed).wrapping_sub(i as u32);
            i += 1;
            if i == N {
                state[0] = state[N - 1];
                i = 1;
            }
        }
        state[0] = 0x8000_0000;
        Python(twister)
    }

    /// From 0 up to, but without, 1.
    pub fn uniform(&mut self) -> f64 {
        let high = self.0.bits() >> 5;
        let low = self.0.bits() >> 6;
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tenth thousandth draw of the default seed, from the definition of `std::mt19937`.
    #[test]
    fn the_twister_is_the_mersenne_twister() {
        let mut torch = Torch::new(5489);
        let last = (0..10_000).map(|_| torch.bits()).last();
        assert_eq!(last, Some(4_123_659_995));
    }

    /// Against `random.Random(0).random()` of Python.
    #[test]
    fn pythons_stream_is_pythons() {
        let mut python = Python::new(0);
        assert_eq!(python.uniform(), 0.844_421_851_525_048_1);
        assert_eq!(python.uniform(), 0.757_954_402_940_302_5);
    }
}
