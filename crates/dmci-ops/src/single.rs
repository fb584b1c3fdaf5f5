//! Operations in single precision: with kernels of their own, or as in double precision and then rounded.

use crate::arith::{Arith, Single, Soft};
use crate::op::{MAX_ARITY, Op, Type, single};
use crate::real::kernel::single as kernel;
use crate::wide::{NAN, round_lanes};

macro_rules! kernels {
    (one: $($one:ident $unary:ident)*; two: $($two:ident $binary:ident)*) => {
        impl Op {
            /// Whether the operation has a kernel of its own in single precision.
            pub fn has_single_kernel(self) -> bool {
                matches!(self, $(Op::$one)|* | $(Op::$two)|*)
            }

            /// What its kernel in single precision makes of one or two numbers.
            #[inline(always)]
            pub fn single_kernel<A: Arith>(self, a: &mut A, x: A::V, y: A::V) -> Option<A::V> {
                Some(match self {
                    $(Op::$one => kernel::$unary(a, x),)*
                    $(Op::$two => kernel::$binary(a, x, y),)*
                    _ => return None,
                })
            }

            /// The same for many lanes: what needs a slow function comes out as NaN.
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn single_wide(self, d: &mut [u64], a: &[u64], b: &[u64]) {
                let mut wide = Single::<crate::arith::Hard, true>::new();
                match self {
                    $(Op::$one => each_lane(d, a, b, |x, _| kernel::$unary(&mut wide, x)),)*
                    $(Op::$two => each_lane(d, a, b, |x, y| kernel::$binary(&mut wide, x, y)),)*
                    _ => {}
                }
            }
        }
    };
}

kernels! {
    one:
        Exp exp
        Expm1 expm1
        Log log
        Log1p log1p
        Sin sin
        Cos cos
        Sinh sinh
        Cosh cosh
        Tanh tanh
        Sigmoid sigmoid
        Softplus softplus;
    two:
        Pow pow
        PowBase pow_base
        PowExponent pow_exponent
}

/// A real as a number of single precision.
#[inline(always)]
fn narrow(bits: u64) -> f32 {
    f64::from_bits(bits) as f32
}

/// The bits of a real result.
#[inline(always)]
fn widened(x: f32) -> u64 {
    if x.is_nan() { NAN } else { f64::from(x).to_bits() }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn each_lane(d: &mut [u64], a: &[u64], b: &[u64], mut f: impl FnMut(f32, f32) -> f32) {
    for ((d, &a), &b) in d.iter_mut().zip(a).zip(b) {
        *d = widened(f(narrow(a), narrow(b)));
    }
}

impl Op {
    /// The value, in bits, in double or in single precision.
    #[inline]
    pub fn eval_in(self, is_single: bool, args: [u64; MAX_ARITY]) -> u64 {
        if is_single { self.eval_single(args) } else { self.eval(args) }
    }

    fn eval_single(self, args: [u64; MAX_ARITY]) -> u64 {
        match self.single_scalar(narrow(args[0]), narrow(args[1])) {
            Some(x) => widened(x),
            None if self.result() == Type::Real => single(self.eval(args)),
            None => self.eval(args),
        }
    }

    fn single_scalar(self, x: f32, y: f32) -> Option<f32> {
        #[cfg(target_arch = "x86_64")]
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
        if is_single && self.has_single_kernel() {
            return self.single_lanes(d, args);
        }
        self.eval_lanes(d, args);
        if is_single && self.result() == Type::Real {
            round_lanes(d);
        }
    }

    fn single_lanes(self, d: &mut [u64], [a, b, c]: [&[u64]; MAX_ARITY]) {
        #[cfg(target_arch = "x86_64")]
        if crate::real::has_wide_fma() {
            // SAFETY: the processor has what the function was compiled for.
            unsafe { self.single_wide(d, a, b) };
            for (i, d) in d.iter_mut().enumerate().filter(|(_, d)| **d == NAN) {
                *d = self.eval_single([a[i], b[i], c[i]]);
            }
            return;
        }
        for (i, d) in d.iter_mut().enumerate() {
            *d = self.eval_single([a[i], b[i], c[i]]);
        }
    }
}
