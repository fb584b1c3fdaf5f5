//! The arithmetic that kernels are written in, so that one definition serves numbers, loops over
//! lanes and code generators.
//!
//! A kernel is a straight line of these operations: no branch depends on a number. Multiply-adds
//! are fused where a kernel says so and nowhere else, and every operation is rounded once, so all
//! implementations give the same bits.

use std::marker::PhantomData;

/// A function for arguments that a kernel's straight line does not serve.
pub type Slow = fn(f64, f64) -> f64;

/// Operations on values, which are reals or bit patterns, and on masks. Values have 64 bits, or 32 in single precision.
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
    /// The bits shifted left.
    fn shl(&mut self, a: Self::V, by: u8) -> Self::V;
    /// The bits shifted right, zeros from above.
    fn shr(&mut self, a: Self::V, by: u8) -> Self::V;
    fn lt(&mut self, a: Self::V, b: Self::V) -> Self::M;
    fn le(&mut self, a: Self::V, b: Self::V) -> Self::M;
    fn eq(&mut self, a: Self::V, b: Self::V) -> Self::M;
    fn both(&mut self, a: Self::M, b: Self::M) -> Self::M;
    fn either(&mut self, a: Self::M, b: Self::M) -> Self::M;
    /// a where the mask is set, else b.
    fn select(&mut self, m: Self::M, a: Self::V, b: Self::V) -> Self::V;
    /// a where the highest bit of s is set, else b.
    fn select_sign(&mut self, s: Self::V, a: Self::V, b: Self::V) -> Self::V;
    /// a where the lowest bit of s is set, else b; the highest bit of values has this place.
    fn select_odd(&mut self, s: Self::V, top: u8, a: Self::V, b: Self::V) -> Self::V {
        let odd = self.shl(s, top);
        self.select_sign(odd, a, b)
    }
    /// a with the other sign where the second lowest bit of s is set; likewise.
    fn flipped(&mut self, s: Self::V, top: u8, a: Self::V) -> Self::V {
        let high = self.shr(s, 1);
        let flip = self.shl(high, top);
        self.xor(a, flip)
    }
    /// `fast` where the mask is set, else what `slow` makes of x and y. The mask is set nearly always.
    fn usual(&mut self, m: Self::M, fast: Self::V, x: Self::V, y: Self::V, slow: Slow) -> Self::V;
    /// p times 2^n for an integer n, rounded once, where that is one operation.
    fn scaled_at_once(&mut self, _p: Self::V, _n: Self::V) -> Option<Self::V> {
        None
    }

    /// A pattern of bits; in single precision its upper half.
    fn bits(&mut self, bits: u64) -> Self::V;
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
    /// `c[0] + c[1] x + ...`, even and odd powers apart; x2 is the square of x.
    fn polynomial(&mut self, x: Self::V, x2: Self::V, c: &[f64]) -> Self::V {
        let odd = self.every_other(x2, &c[1..]);
        let even = self.every_other(x2, c);
        self.fma(odd, x, even)
    }
    /// `c[0] + c[2] x + c[4] x^2 + ...`
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
    /// `c[0] + c[1] x + ...`, one after the other.
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
    /// The same in single precision.
    fn fma_single(a: f32, b: f32, c: f32) -> f32;
}

/// By the processor: only inside of functions that are compiled for one that can.
#[derive(Debug)]
pub struct Hard;

impl Fused for Hard {
    #[inline(always)]
    fn fma(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn fma_single(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// In software.
#[derive(Debug)]
pub struct Soft;

// A call is nothing beside the dozens of integer operations behind it, and kernels have hundreds of these.
impl Fused for Soft {
    #[inline(never)]
    fn fma(a: f64, b: f64, c: f64) -> f64 {
        libm::fma(a, b, c)
    }
    #[inline(never)]
    fn fma_single(a: f32, b: f32, c: f32) -> f32 {
        libm::fmaf(a, b, c)
    }
}

/// Arithmetic on numbers of one precision. In loops (`WIDE`), arguments that need a slow function give NaN, so that
/// the loop can be vectorised; whoever runs the loop computes what came out as NaN again. From the last of the macro's
/// operands on, all numbers are integers.
macro_rules! arithmetic {
    ($(#[$doc:meta])* $name:ident, $number:ty, $word:ty, $fma:ident, $whole:literal) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<F, const WIDE: bool>(PhantomData<F>);

        impl<F, const WIDE: bool> $name<F, WIDE> {
            /// The arithmetic.
            #[inline(always)]
            pub fn new() -> Self {
                $name(PhantomData)
            }
        }

        impl<F, const WIDE: bool> Default for $name<F, WIDE> {
            fn default() -> Self {
                $name::new()
            }
        }

        impl<F: Fused, const WIDE: bool> Arith for $name<F, WIDE> {
            type V = $number;
            type M = bool;

            #[inline(always)]
            fn real(&mut self, x: f64) -> $number {
                x as $number
            }
            #[inline(always)]
            fn bits(&mut self, bits: u64) -> $number {
                <$number>::from_bits((bits >> (64 - <$word>::BITS)) as $word)
            }
            #[inline(always)]
            fn add(&mut self, a: $number, b: $number) -> $number {
                a + b
            }
            #[inline(always)]
            fn sub(&mut self, a: $number, b: $number) -> $number {
                a - b
            }
            #[inline(always)]
            fn mul(&mut self, a: $number, b: $number) -> $number {
                a * b
            }
            #[inline(always)]
            fn div(&mut self, a: $number, b: $number) -> $number {
                a / b
            }
            #[inline(always)]
            fn sqrt(&mut self, a: $number) -> $number {
                a.sqrt()
            }
            #[inline(always)]
            fn fma(&mut self, a: $number, b: $number, c: $number) -> $number {
                F::$fma(a, b, c)
            }
            #[inline(always)]
            fn fnma(&mut self, a: $number, b: $number, c: $number) -> $number {
                F::$fma(-a, b, c)
            }
            #[inline(always)]
            fn lesser(&mut self, a: $number, b: $number) -> $number {
                if a < b { a } else { b }
            }
            #[inline(always)]
            fn greater(&mut self, a: $number, b: $number) -> $number {
                if a > b { a } else { b }
            }
            #[inline(always)]
            fn round(&mut self, a: $number) -> $number {
                if WIDE {
                    return a.round_ties_even();
                }
                // Without a call: the processor may have no instruction for it.
                let size = a.abs();
                let rounded = if size < $whole { (size + $whole) - $whole } else { size };
                rounded.copysign(a)
            }
            #[inline(always)]
            fn and(&mut self, a: $number, b: $number) -> $number {
                <$number>::from_bits(a.to_bits() & b.to_bits())
            }
            #[inline(always)]
            fn or(&mut self, a: $number, b: $number) -> $number {
                <$number>::from_bits(a.to_bits() | b.to_bits())
            }
            #[inline(always)]
            fn xor(&mut self, a: $number, b: $number) -> $number {
                <$number>::from_bits(a.to_bits() ^ b.to_bits())
            }
            #[inline(always)]
            fn int_add(&mut self, a: $number, b: $number) -> $number {
                <$number>::from_bits(a.to_bits().wrapping_add(b.to_bits()))
            }
            #[inline(always)]
            fn int_sub(&mut self, a: $number, b: $number) -> $number {
                <$number>::from_bits(a.to_bits().wrapping_sub(b.to_bits()))
            }
            #[inline(always)]
            fn shl(&mut self, a: $number, by: u8) -> $number {
                <$number>::from_bits(a.to_bits() << by)
            }
            #[inline(always)]
            fn shr(&mut self, a: $number, by: u8) -> $number {
                <$number>::from_bits(a.to_bits() >> by)
            }
            #[inline(always)]
            fn lt(&mut self, a: $number, b: $number) -> bool {
                a < b
            }
            #[inline(always)]
            fn le(&mut self, a: $number, b: $number) -> bool {
                a <= b
            }
            #[inline(always)]
            fn eq(&mut self, a: $number, b: $number) -> bool {
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
            fn select(&mut self, m: bool, a: $number, b: $number) -> $number {
                if m { a } else { b }
            }
            #[inline(always)]
            fn select_sign(&mut self, s: $number, a: $number, b: $number) -> $number {
                if s.is_sign_negative() { a } else { b }
            }
            #[inline(always)]
            fn usual(&mut self, m: bool, fast: $number, x: $number, y: $number, slow: Slow) -> $number {
                if m {
                    fast
                } else if WIDE {
                    <$number>::NAN
                } else {
                    slow(x.into(), y.into()) as $number
                }
            }
        }
    };
}

arithmetic! {
    /// Arithmetic in double precision.
    Scalar, f64, u64, fma, 4503599627370496.0
}
arithmetic! {
    /// Arithmetic in single precision.
    Single, f32, u32, fma_single, 8388608.0
}
