//! Loops over lanes, compiled for what the processor has.

use crate::op::{MAX_ARITY, Op, single};
#[cfg(all(feature = "native", target_arch = "x86_64"))]
use crate::real;

/// Functions that have kernels, one number at a time.
pub(crate) struct Plain;

/// Functions that have kernels, inside of a loop that is vectorised: what needs a slow function comes out as NaN.
#[cfg(all(feature = "native", target_arch = "x86_64"))]
pub(crate) struct Wide;

/// Rounds the reals of many lanes to single precision.
pub fn round_lanes(row: &mut [u64]) {
    #[cfg(all(feature = "native", target_arch = "x86_64"))]
    if real::has_wide_fma() {
        // SAFETY: the processor has what the function was compiled for.
        return unsafe { round_wide(row) };
    }
    row.iter_mut().for_each(|bits| *bits = single(*bits));
}

#[cfg(all(feature = "native", target_arch = "x86_64"))]
#[target_feature(enable = "avx2,fma")]
fn round_wide(row: &mut [u64]) {
    row.iter_mut().for_each(|bits| *bits = single(*bits));
}

/// Not a number, as operations give it.
#[cfg(all(feature = "native", target_arch = "x86_64"))]
const NAN: u64 = 0x7FF8_0000_0000_0000;

impl Op {
    /// The values of many lanes at once: the same function, in a loop that can be vectorised.
    /// Operands beyond the arity are ignored but must be as long as `d`.
    #[inline(always)]
    pub fn eval_lanes(self, d: &mut [u64], args: [&[u64]; MAX_ARITY]) {
        #[cfg(all(feature = "native", target_arch = "x86_64"))]
        if real::has_wide_fma() {
            let [a, b, c] = args;
            // SAFETY: the processor has what the function was compiled for.
            unsafe { self.eval_wide(d, a, b, c) };
            if self.has_slow_arguments() && d.contains(&NAN) {
                self.eval_slow(d, args);
            }
            return;
        }
        self.eval_plain(d, args);
    }

    /// One lane after the other.
    #[inline(never)]
    fn eval_plain(self, d: &mut [u64], args: [&[u64]; MAX_ARITY]) {
        self.lanes_with::<Plain>(d, args);
    }

    #[cfg(all(feature = "native", target_arch = "x86_64"))]
    #[target_feature(enable = "avx2,fma")]
    #[inline(never)]
    fn eval_wide(self, d: &mut [u64], a: &[u64], b: &[u64], c: &[u64]) {
        // One by one they come in registers; three together would be written to memory and waited for.
        self.lanes_with::<Wide>(d, [a, b, c]);
    }

    #[cfg(all(feature = "native", target_arch = "x86_64"))]
    #[cold]
    fn eval_slow(self, d: &mut [u64], [a, b, c]: [&[u64]; MAX_ARITY]) {
        for (i, d) in d.iter_mut().enumerate().filter(|(_, d)| **d == NAN) {
            *d = self.eval([a[i], b[i], c[i]]);
        }
    }
}
