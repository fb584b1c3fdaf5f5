//! Kernels of their own for single precision: as short as fewer digits allow.
//!
//! They are written for arithmetic in single precision. Functions that are not here are the ones in double precision,
//! rounded. Where a kernel does not reach, a function in double precision is used and its result rounded.

mod exponential;
mod logarithm;
mod trigonometric;

pub use exponential::*;
pub use logarithm::*;
pub use trigonometric::*;

use crate::arith::Arith;

/// A pattern of 32 bits.
#[inline(always)]
fn pattern<A: Arith>(a: &mut A, bits: u32) -> A::V {
    a.bits(u64::from(bits) << 32)
}
