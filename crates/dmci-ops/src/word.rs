//! The words that rows of lanes are made of: 64 bits, or 32 bits where all reals are of single precision.

use crate::kernel::{Kernel, Layout, Tensor};
use crate::linalg::{Number, Scratch};
use crate::op::{MAX_ARITY, Op};
#[cfg(all(feature = "native", target_arch = "x86_64"))]
use crate::real::has_wide_fma;
use crate::shape::Shape;
use std::sync::Arc;

/// Any bits must be a number, as they are with these.
mod sealed {
    pub trait Sealed {}
    impl Sealed for u64 {}
    impl Sealed for u32 {}
}

/// A real, or something else in its bits.
pub trait Word: sealed::Sealed + Copy + Default + PartialEq + Into<u64> + 'static {
    /// Reals as numbers.
    type Number: Number;

    /// A real; whatever is not a number has the same bits.
    fn of(x: Self::Number) -> Self;

    /// The real that it is.
    fn number(self) -> Self::Number;

    /// Reals, where they are.
    #[inline(always)]
    fn numbers(words: &[Self]) -> &[Self::Number] {
        const { assert!(size_of::<Self>() == size_of::<Self::Number>()) };
        const { assert!(align_of::<Self>() == align_of::<Self::Number>()) };
        // SAFETY: a number has the size and the alignment of its word, and any bits are a number.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
    }

    /// A real of double precision, rounded if it has to be.
    fn of_real(bits: u64) -> Self;

    /// The real that it is, in single precision.
    fn single(self) -> f32;

    /// A real of single precision.
    fn of_single(x: f32) -> Self;

    /// Memory for operands with the elements of smaller ones repeated.
    fn spread(scratch: &mut Scratch) -> &mut [Vec<Self>; MAX_ARITY];

    /// The values of an operation on many lanes at once, in double or in single precision; short words are always in
    /// single precision. Operands beyond the arity are ignored but must be as long as `d`.
    fn eval_lanes(op: Op, is_single: bool, d: &mut [Self], args: [&[Self]; MAX_ARITY]);

    /// [`Kernel::run`] for these words. It is no generic function, so that kernels are compiled once, in this crate.
    fn run_kernel(
        kernel: Kernel,
        out: &mut [Self],
        shape: Shape,
        args: [Tensor<'_, Self>; 2],
        maps: &[Arc<[u32]>],
        layout: Layout,
        scratch: &mut Scratch,
    );
}

macro_rules! run_kernel {
    () => {
        fn run_kernel(
            kernel: Kernel,
            out: &mut [Self],
            shape: Shape,
            args: [Tensor<'_, Self>; 2],
            maps: &[Arc<[u32]>],
            layout: Layout,
            scratch: &mut Scratch,
        ) {
            kernel.run_words(out, shape, args, maps, layout, scratch);
        }
    };
}

impl Word for u64 {
    type Number = f64;

    #[inline(always)]
    fn of(x: f64) -> u64 {
        if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
    }

    #[inline(always)]
    fn number(self) -> f64 {
        f64::from_bits(self)
    }

    #[inline(always)]
    fn of_real(bits: u64) -> u64 {
        bits
    }

    #[inline(always)]
    fn single(self) -> f32 {
        self.number() as f32
    }

    #[inline(always)]
    fn of_single(x: f32) -> u64 {
        u64::of(x.into())
    }

    fn spread(scratch: &mut Scratch) -> &mut [Vec<u64>; MAX_ARITY] {
        &mut scratch.spread
    }

    #[inline]
    fn eval_lanes(op: Op, is_single: bool, d: &mut [u64], args: [&[u64]; MAX_ARITY]) {
        op.eval_lanes_in(is_single, d, args);
    }

    run_kernel!();
}

impl Word for u32 {
    type Number = f32;

    #[inline(always)]
    fn of(x: f32) -> u32 {
        if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }
    }

    #[inline(always)]
    fn number(self) -> f32 {
        f32::from_bits(self)
    }

    #[inline(always)]
    fn of_real(bits: u64) -> u32 {
        u32::of(f64::from_bits(bits) as f32)
    }

    #[inline(always)]
    fn single(self) -> f32 {
        self.number()
    }

    #[inline(always)]
    fn of_single(x: f32) -> u32 {
        u32::of(x)
    }

    fn spread(scratch: &mut Scratch) -> &mut [Vec<u32>; MAX_ARITY] {
        &mut scratch.short_spread
    }

    #[inline]
    fn eval_lanes(op: Op, _: bool, d: &mut [u32], args: [&[u32]; MAX_ARITY]) {
        op.eval_short_lanes(d, args);
    }

    run_kernel!();
}

/// Reals rounded to single precision, in 32 bits.
pub fn shorten<W: Word>(to: &mut [u32], from: &[W]) {
    each(to, from, |x| u32::of_single(x.single()));
}

/// Reals of single precision, in words of any kind.
pub fn lengthen<W: Word>(to: &mut [W], from: &[u32]) {
    each(to, from, |x| W::of_single(x.single()));
}

fn each<A: Word, B: Word>(to: &mut [A], from: &[B], f: impl Fn(B) -> A) {
    #[cfg(all(feature = "native", target_arch = "x86_64"))]
    {
        #[target_feature(enable = "avx2,fma")]
        fn wide<A: Word, B: Word>(to: &mut [A], from: &[B], f: impl Fn(B) -> A) {
            to.iter_mut().zip(from).for_each(|(to, &from)| *to = f(from));
        }
        if has_wide_fma() {
            // SAFETY: the processor has what the function was compiled for.
            return unsafe { wide(to, from, f) };
        }
    }
    to.iter_mut().zip(from).for_each(|(to, &from)| *to = f(from));
}
