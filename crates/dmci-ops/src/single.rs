//! Operations in single precision: with kernels of their own, or as in double precision and then rounded.

use crate::arith::{Single, Soft};
use crate::op::{MAX_ARITY, Op, Type, single};
use crate::wide::round_lanes;
use crate::word::{Word, lengthen, shorten};

#[inline(always)]
pub(crate) fn each_lane<W: Word>(d: &mut [W], a: &[W], b: &[W], mut f: impl FnMut(f32, f32) -> f32) {
    for ((d, &a), &b) in d.iter_mut().zip(a).zip(b) {
        *d = W::of_single(f(a.single(), b.single()));
    }
}

impl Op {
    /// The value, in bits, in double or in single precision.
    #[inline]
    pub fn eval_in(self, is_single: bool, args: [u64; MAX_ARITY]) -> u64 {
        if is_single { self.eval_single(args) } else { self.eval(args) }
    }

    fn eval_single(self, args: [u64; MAX_ARITY]) -> u64 {
        match self.single_scalar(args[0].single(), args[1].single()) {
            Some(x) => u64::of_single(x),
            None if self.result() == Type::Real => single(self.eval(args)),
            None => self.eval(args),
        }
    }

    fn single_scalar(self, x: f32, y: f32) -> Option<f32> {
        #[cfg(all(feature = "native", target_arch = "x86_64"))]
        {
            #[target_feature(enable = "avx2,fma")]
            fn hard(op: Op, x: f32, y: f32) -> Option<f32> {
                op.single_kernel(&mut Single::<crate::arith::Hard, false>::new(), x, y)
            }
            if crate::real::has_wide_fma() {
                // SAFETY: the processor has what the function was compiled for.
                return unsafe { hard(self, x, y) };
            }
        }
        #[cfg(target_arch = "aarch64")]
        return self.single_kernel(&mut Single::<crate::arith::Hard, false>::new(), x, y);
        #[cfg(not(target_arch = "aarch64"))]
        self.single_kernel(&mut Single::<Soft, false>::new(), x, y)
    }

    /// The values of many lanes at once, in double or in single precision. Operands beyond the arity are ignored but
    /// must be as long as `d`.
    #[inline]
    pub fn eval_lanes_in(self, is_single: bool, d: &mut [u64], args: [&[u64]; MAX_ARITY]) {
        if is_single { self.eval_single_lanes(d, args) } else { self.eval_lanes(d, args) }
    }

    fn eval_single_lanes(self, d: &mut [u64], args: [&[u64]; MAX_ARITY]) {
        if self.has_single_kernel() {
            return self.single_lanes(d, args);
        }
        self.eval_lanes(d, args);
        if self.result() == Type::Real {
            round_lanes(d);
        }
    }

    fn single_lanes<W: Word>(self, d: &mut [W], [a, b, _]: [&[W]; MAX_ARITY]) {
        let one = |a: W, b: W| W::of_single(self.single_scalar(a.single(), b.single()).unwrap_or(f32::NAN));
        #[cfg(all(feature = "native", target_arch = "x86_64"))]
        if crate::real::has_wide_fma() {
            // SAFETY: the processor has what the function was compiled for.
            unsafe { self.single_wide(d, a, b) };
            let nan = W::of_single(f32::NAN);
            for (i, d) in d.iter_mut().enumerate().filter(|(_, d)| **d == nan) {
                *d = one(a[i], b[i]);
            }
            return;
        }
        for ((d, &a), &b) in d.iter_mut().zip(a).zip(b) {
            *d = one(a, b);
        }
    }

    /// The values of many lanes at once, in words of 32 bits: reals of single precision, or booleans. Operands beyond
    /// the arity are ignored but must be as long as `d`.
    pub(crate) fn eval_short_lanes(self, d: &mut [u32], args: [&[u32]; MAX_ARITY]) {
        if self.has_single_kernel() {
            return self.single_lanes(d, args);
        }
        let [a, b, _] = args;
        #[cfg(all(feature = "native", target_arch = "x86_64"))]
        if crate::real::has_wide_fma() {
            #[target_feature(enable = "avx2,fma")]
            fn wide(op: Op, d: &mut [u32], a: &[u32], b: &[u32]) -> bool {
                op.short_simple(d, a, b)
            }
            // SAFETY: the processor has what the function was compiled for.
            if !unsafe { wide(self, d, a, b) } {
                self.lengthened_lanes(d, args);
            }
            return;
        }
        if !self.short_simple(d, a, b) {
            self.lengthened_lanes(d, args);
        }
    }

    /// Operations that are the same in single precision: what they give in double precision, rounded, has the same bits,
    /// since a number of double precision has more than twice as many digits. False, and nothing done, for others.
    #[inline(always)]
    fn short_simple(self, d: &mut [u32], a: &[u32], b: &[u32]) -> bool {
        match self {
            Op::Same | Op::Stop | Op::Linear => d.copy_from_slice(a),
            Op::Add => each_lane(d, a, b, |x, y| x + y),
            Op::Sub => each_lane(d, a, b, |x, y| x - y),
            Op::Mul => each_lane(d, a, b, |x, y| x * y),
            Op::Div => each_lane(d, a, b, |x, y| x / y),
            Op::Neg => each_lane(d, a, b, |x, _| -x),
            Op::Sqrt | Op::Root => each_lane(d, a, b, |x, _| x.sqrt()),
            Op::Gate | Op::Weigh => each_lane(d, a, b, |x, w| if w == 0.0 { 0.0 } else { x * w }),
            _ => return false,
        }
        true
    }

    /// In words of 64 bits, and back.
    fn lengthened_lanes(self, d: &mut [u32], args: [&[u32]; MAX_ARITY]) {
        /// Words that are worked on together.
        const PART: usize = 64;
        let (mut long, mut result) = ([[0u64; PART]; MAX_ARITY], [0u64; PART]);
        for (part, d) in d.chunks_mut(PART).enumerate() {
            let n = d.len();
            for ((long, short), ty) in long.iter_mut().zip(args).zip(self.operands()) {
                let short = &short[part * PART..][..n];
                match ty {
                    Type::Real => lengthen(&mut long[..n], short),
                    _ => long.iter_mut().zip(short).for_each(|(long, &bits)| *long = bits.into()),
                }
            }
            let [a, b, c] = &long;
            self.eval_lanes_in(true, &mut result[..n], [&a[..n], &b[..n], &c[..n]]);
            match self.result() {
                Type::Real => shorten(d, &result[..n]),
                _ => d.iter_mut().zip(&result).for_each(|(d, &bits)| *d = bits as u32),
            }
        }
    }
}
