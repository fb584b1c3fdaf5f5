//! The arithmetic that kernels are written in, so that one definition serves numbers, loops over
//! lanes and code generators.
//!
//! A kernel is a straight line of these operations: no branch depends on a number. Multiply-adds
//! are fused where a kernel says so and nowhere else, and every operation is rounded once, so all
//! implementations give the same bits.

use std::marker::PhantomData;

/// A function for arguments that a kernel's straight line does not serve.
pub type Slow = fn(f64, f64) -> f64;

/// Operations on 64-bit values, which are reals or bit patterns, and on masks.
#[allow(missing_docs)]
pub trait Arith {
    /// A value.
    type V: Copy;
    /// The outcome of a comparison.
    type M: Copy;

    /// A constant.
    fn real(&mut self, x: f64) -> Self::V;
    fn add(&mut self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(&mut self, a: Self::V, b: Self::V) -> Self::V;
    fn mul(&mut self, a: Self::V, b: Self::V) -> Self::V;
    fn div(&mut self, a: Self::V, b: Self::V) -> Self::V;
    fn sqrt(&mut self, a: Self::V) -> Self::V;
    /// a b + c, rounded once.
    fn fma(&mut self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// c - a b, rounded once.
    fn fnma(&mut self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// a if a < b, else b: also if one is NaN.
    fn lesser(&mut self, a: Self::V, b: Self::V) -> Self::V;
    /// a if a > b, else b: also if one is NaN.
    fn greater(&mut self, a: Self::V, b: Self::V) -> Self::V;
    /// The nearest integer, ties to even.
    fn round(&mut self, a: Self::V) -> Self::V;
    fn and(&mut self, a: Self::V, b: Self::V) -> Self::V;
    fn or(&mut self, a: Self::V, b: Self::V) -> Self::V;
    fn xor(&mut self, a: Self::V, b: Self::V) -> Self::V;
    /// Sum of the bits as integers.
    fn int_add(&mut self, a: Self::V, b: Self::V) -> Self::V;
    /// Difference of the bits as integers.
    fn int_sub(&mut self, a: Self::V, b: Self::V) -> Self::V;
    /// The bits moved up.
    fn up(&mut self, a: Self::V, by: u8) -> Self::V;
    /// The bits moved down, zeros from above.
    fn down(&mut self, a: Self::V, by: u8) -> Self::V;
    fn lt(&mut self, a: Self::V, b: Self::V) -> Self::M;
    fn le(&mut self, a: Self::V, b: Self::V) -> Self::M;
    fn eq(&mut self, a: Self::V, b: Self::V) -> Self::M;
    fn both(&mut self, a: Self::M, b: Self::M) -> Self::M;
    fn either(&mut self, a: Self::M, b: Self::M) -> Self::M;
    /// a where the mask is set, else b.
    fn select(&mut self, m: Self::M, a: Self::V, b: Self::V) -> Self::V;
    /// a where the highest bit of s is set, else b.
    fn select_sign(&mut self, s: Self::V, a: Self::V, b: Self::V) -> Self::V;
    /// `fast` where the mask is set, else what `slow` makes of x and y. The mask is set nearly always.
    fn usual(&mut self, m: Self::M, fast: Self::V, x: Self::V, y: Self::V, slow: Slow) -> Self::V;

    fn bits(&mut self, bits: u64) -> Self::V {
        self.real(f64::from_bits(bits))
    }
    fn abs(&mut self, a: Self::V) -> Self::V {
        let mask = self.bits(!SIGN);
        self.and(a, mask)
    }
    /// The sign bit alone.
    fn sign_of(&mut self, a: Self::V) -> Self::V {
        let mask = self.bits(SIGN);
        self.and(a, mask)
    }
    /// a + b and what rounding has taken from it, if b is the smaller one or a is 0.
    fn ordered_sum(&mut self, a: Self::V, b: Self::V) -> [Self::V; 2] {
        let sum = self.add(a, b);
        let lost = self.sub(a, sum);
        [sum, self.add(lost, b)]
    }
    /// a + b and what rounding has taken from it.
    fn sum_in_two(&mut self, a: Self::V, b: Self::V) -> [Self::V; 2] {
        let sum = self.add(a, b);
        let part = self.sub(sum, a);
        let other = self.sub(sum, part);
        let other = self.sub(a, other);
        let lost = self.sub(b, part);
        [sum, self.add(lost, other)]
    }
    /// a b and what rounding has taken from it.
    fn product_in_two(&mut self, a: Self::V, b: Self::V) -> [Self::V; 2] {
        let (product, minus) = (self.mul(a, b), self.real(-0.0));
        let negative = self.sub(minus, product);
        [product, self.fma(a, b, negative)]
    }
    /// c[0] + c[1] x + ..., even and odd powers apart; x2 is the square of x.
    fn polynomial(&mut self, x: Self::V, x2: Self::V, c: &[f64]) -> Self::V {
        let odd = self.every_other(x2, &c[1..]);
        let even = self.every_other(x2, c);
        self.fma(odd, x, even)
    }
    /// c[0] + c[2] x + c[4] x^2 + ...
    fn every_other(&mut self, x: Self::V, c: &[f64]) -> Self::V {
        let mut i = (c.len() - 1) / 2 * 2;
        let mut sum = self.real(c[i]);
        while i >= 2 {
            i -= 2;
            let next = self.real(c[i]);
            sum = self.fma(sum, x, next);
        }
        sum
    }
    /// c[0] + c[1] x + ..., one after the other.
    fn horner(&mut self, x: Self::V, c: &[f64]) -> Self::V {
        let mut sum = self.real(c[c.len() - 1]);
        for &next in c[..c.len() - 1].iter().rev() {
            let next = self.real(next);
            sum = self.fma(sum, x, next);
        }
        sum
    }
}

/// The sign bit of a real.
pub const SIGN: u64 = 1 << 63;

/// How a multiply-add is rounded once.
pub trait Fused {
    /// a b + c.
    fn fma(a: f64, b: f64, c: f64) -> f64;
}

/// By the processor: only inside of functions that are compiled for one that can.
#[derive(Debug)]
pub struct Hard;

impl Fused for Hard {
    #[inline(always)]
    fn fma(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

/// In software.
#[derive(Debug)]
pub struct Soft;

impl Fused for Soft {
    #[inline]
    fn fma(a: f64, b: f64, c: f64) -> f64 {
        libm::fma(a, b, c)
    }
}

/// Arithmetic on numbers. In loops (`WIDE`), arguments that need a slow function give NaN, so that the
/// loop can be vectorised; whoever runs the loop computes what came out as NaN again.
#[derive(Debug)]
pub struct Scalar<F, const WIDE: bool>(PhantomData<F>);

impl<F, const WIDE: bool> Scalar<F, WIDE> {
    /// The arithmetic.
    #[inline(always)]
    pub fn new() -> Self {
        Scalar(PhantomData)
    }
}

impl<F, const WIDE: bool> Default for Scalar<F, WIDE> {
    fn default() -> Self {
        Scalar::new()
    }
}

#[inline(always)]
fn on_bits(a: f64, b: f64, f: impl Fn(u64, u64) -> u64) -> f64 {
    f64::from_bits(f(a.to_bits(), b.to_bits()))
}

/// 1.5 times 2^52: adding and taking it away again rounds to integers.
const ROUNDER: f64 = 6755399441055744.0;

impl<F: Fused, const WIDE: bool> Arith for Scalar<F, WIDE> {
    type V = f64;
    type M = bool;

    #[inline(always)]
    fn real(&mut self, x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn add(&mut self, a: f64, b: f64) -> f64 {
        a + b
    }
    #[inline(always)]
    fn sub(&mut self, a: f64, b: f64) -> f64 {
        a - b
    }
    #[inline(always)]
    fn mul(&mut self, a: f64, b: f64) -> f64 {
        a * b
    }
    #[inline(always)]
    fn div(&mut self, a: f64, b: f64) -> f64 {
        a / b
    }
    #[inline(always)]
    fn sqrt(&mut self, a: f64) -> f64 {
        a.sqrt()
    }
    #[inline(always)]
    fn fma(&mut self, a: f64, b: f64, c: f64) -> f64 {
        F::fma(a, b, c)
    }
    #[inline(always)]
    fn fnma(&mut self, a: f64, b: f64, c: f64) -> f64 {
        F::fma(-a, b, c)
    }
    #[inline(always)]
    fn lesser(&mut self, a: f64, b: f64) -> f64 {
        if a < b { a } else { b }
    }
    #[inline(always)]
    fn greater(&mut self, a: f64, b: f64) -> f64 {
        if a > b { a } else { b }
    }
    #[inline(always)]
    fn round(&mut self, a: f64) -> f64 {
        if WIDE {
            return a.round_ties_even();
        }
        // Without a call: the processor may have no instruction for it.
        let rounded = (a.abs() + ROUNDER) - ROUNDER;
        let rounded = if a.abs() < 4503599627370496.0 { rounded } else { a.abs() };
        on_bits(rounded, a, |r, a| r & !SIGN | a & SIGN)
    }
    #[inline(always)]
    fn and(&mut self, a: f64, b: f64) -> f64 {
        on_bits(a, b, |a, b| a & b)
    }
    #[inline(always)]
    fn or(&mut self, a: f64, b: f64) -> f64 {
        on_bits(a, b, |a, b| a | b)
    }
    #[inline(always)]
    fn xor(&mut self, a: f64, b: f64) -> f64 {
        on_bits(a, b, |a, b| a ^ b)
    }
    #[inline(always)]
    fn int_add(&mut self, a: f64, b: f64) -> f64 {
        on_bits(a, b, u64::wrapping_add)
    }
    #[inline(always)]
    fn int_sub(&mut self, a: f64, b: f64) -> f64 {
        on_bits(a, b, u64::wrapping_sub)
    }
    #[inline(always)]
    fn up(&mut self, a: f64, by: u8) -> f64 {
        f64::from_bits(a.to_bits() << by)
    }
    #[inline(always)]
    fn down(&mut self, a: f64, by: u8) -> f64 {
        f64::from_bits(a.to_bits() >> by)
    }
    #[inline(always)]
    fn lt(&mut self, a: f64, b: f64) -> bool {
        a < b
    }
    #[inline(always)]
    fn le(&mut self, a: f64, b: f64) -> bool {
        a <= b
    }
    #[inline(always)]
    fn eq(&mut self, a: f64, b: f64) -> bool {
        a == b
    }
    #[inline(always)]
    fn both(&mut self, a: bool, b: bool) -> bool {
        a & b
    }
    #[inline(always)]
    fn either(&mut self, a: bool, b: bool) -> bool {
        a | b
    }
    #[inline(always)]
    fn select(&mut self, m: bool, a: f64, b: f64) -> f64 {
        if m { a } else { b }
    }
    #[inline(always)]
    fn select_sign(&mut self, s: f64, a: f64, b: f64) -> f64 {
        if (s.to_bits() as i64) < 0 { a } else { b }
    }
    #[inline(always)]
    fn usual(&mut self, m: bool, fast: f64, x: f64, y: f64, slow: Slow) -> f64 {
        if m {
            fast
        } else if WIDE {
            f64::NAN
        } else {
            slow(x, y)
        }
    }
}
