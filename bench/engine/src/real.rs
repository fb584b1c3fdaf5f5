//! Numbers in double and in single precision, for programs by hand. Functions are straight lines of operations, so that
//! the compiler can use vectors: in double precision the kernels of the engine, in single precision the usual
//! polynomials of that precision (those of Cephes), for arguments of moderate size.

// Coefficients have all the digits that they were published with, and bounds are two instructions, whatever NaN does.
#![allow(clippy::excessive_precision, clippy::manual_clamp)]

use dmci_ops::arith::{Hard, Scalar};
use dmci_ops::real::kernel;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A real number.
pub trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    fn real(x: f64) -> Self;
    fn exp(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    /// Of a positive number.
    fn log(self) -> Self;
}

impl Real for f64 {
    #[inline(always)]
    fn real(x: f64) -> f64 {
        x
    }

    #[inline(always)]
    fn exp(self) -> f64 {
        kernel::exp(&mut Scalar::<Hard, true>::new(), self)
    }

    #[inline(always)]
    fn sin(self) -> f64 {
        kernel::sin(&mut Scalar::<Hard, true>::new(), self)
    }

    #[inline(always)]
    fn cos(self) -> f64 {
        kernel::cos(&mut Scalar::<Hard, true>::new(), self)
    }

    #[inline(always)]
    fn log(self) -> f64 {
        // The kernel without its test, which does not become vectors: the number is positive.
        let bits = self.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - ROOT_HALF);
        let k = f64::from_bits((bits >> 52) | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0);
        let f = f64::from_bits((bits & ((1 << 52) - 1)).wrapping_add(ROOT_HALF)) - 1.0;
        let s = f / (2.0 + f);
        let (z, half_square) = (s * s, 0.5 * (f * f));
        let z2 = z * z;
        let odd =
            0.153_138_376_992_093_73f64.mul_add(z2, 0.222_221_984_321_497_84).mul_add(z2, 0.399_999_999_994_094_2);
        let even = 0.147_981_986_051_165_86f64.mul_add(z2, 0.181_835_721_616_180_5);
        let even = even.mul_add(z2, 0.285_714_287_436_623_9).mul_add(z2, 0.666_666_666_666_673_5);
        let sum = half_square + z * odd.mul_add(z, even);
        let rest = s.mul_add(sum, k * 5.497_923_018_708_371e-14) - half_square;
        let first = k * 0.693_147_180_559_890_3;
        let top = first + f;
        top + (rest + (f - (top - first)))
    }
}

/// The exponent of a number is counted from just above sqrt(1/2).
const ROOT_HALF: u64 = 0x3fe6_a09e_0000_0000;

/// Added and taken away, it rounds to an integer, whose lowest bits are then those of the sum.
const ROUND: f32 = 12_582_912.0;

#[inline(always)]
fn horner<const K: usize>(x: f32, c: [f32; K]) -> f32 {
    let mut sum = c[0];
    for &next in &c[1..] {
        sum = sum.mul_add(x, next);
    }
    sum
}

/// The sine of x + `quarters` pi / 2.
#[inline(always)]
fn sine(x: f32, quarters: u32) -> f32 {
    let sum = x.mul_add(std::f32::consts::FRAC_2_PI, ROUND);
    let (n, which) = (sum - ROUND, sum.to_bits().wrapping_add(quarters));
    let r = n.mul_add(-7.549_79e-8, n.mul_add(-4.837_513e-4, n.mul_add(-1.570_312_5, x)));
    let z = r * r;
    let sine = (z * r).mul_add(horner(z, [-1.951_529_6e-4, 8.332_161e-3, -0.166_666_55]), r);
    let cosine = (z * z).mul_add(horner(z, [2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2]), 1.0 - 0.5 * z);
    // All ones where it is the cosine: a choice without a branch.
    let odd = 0u32.wrapping_sub(which & 1);
    f32::from_bits(((sine.to_bits() & !odd) | (cosine.to_bits() & odd)) ^ ((which & 2) << 30))
}

impl Real for f32 {
    #[inline(always)]
    fn real(x: f64) -> f32 {
        x as f32
    }

    #[inline(always)]
    fn exp(self) -> f32 {
        let x = self.max(-87.0).min(88.0);
        let sum = x.mul_add(std::f32::consts::LOG2_E, ROUND);
        let n = sum - ROUND;
        let r = n.mul_add(2.121_944_4e-4, n.mul_add(-0.693_359_375, x));
        let c = [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_66, 0.5];
        let y = horner(r, c).mul_add(r * r, r) + 1.0;
        f32::from_bits(y.to_bits().wrapping_add(sum.to_bits() << 23))
    }

    #[inline(always)]
    fn sin(self) -> f32 {
        sine(self, 0)
    }

    #[inline(always)]
    fn cos(self) -> f32 {
        sine(self, 1)
    }

    #[inline(always)]
    fn log(self) -> f32 {
        // The exponent is counted from sqrt(1/2), so that the rest is near 1.
        let bits = self.to_bits().wrapping_sub(0x3f35_04f3);
        let e = (bits as i32 >> 23) as f32;
        let f = f32::from_bits((bits & 0x7f_ffff).wrapping_add(0x3f35_04f3)) - 1.0;
        let c = [
            7.037_684e-2,
            -0.115_146_1,
            0.116_769_99,
            -0.124_201_41,
            0.142_493_23,
            -0.166_680_58,
            0.200_007_15,
            -0.249_999_94,
            0.333_333_3,
        ];
        let z = f * f;
        let y = e.mul_add(-2.121_944_4e-4, horner(f, c) * (f * z));
        e.mul_add(0.693_359_375, z.mul_add(-0.5, y) + f)
    }
}
