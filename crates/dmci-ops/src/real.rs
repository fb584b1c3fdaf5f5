//! Functions of real numbers.
//!
//! Every function is total: outside its real domain it gives NaN, at a pole the infinity that C99
//! (annex F) asks for, and a NaN operand gives NaN (only `pow` and `hypot` have the exceptions of
//! C99). Results are the same bits on every machine: what models use has kernels of its own (`kernel`);
//! where these do not reach, which is rare, it is the `libm` crate, which is FreeBSD's msun in Rust.
//!
//! How large the errors are is in docs/accuracy.md, which a test writes.

mod gamma;
mod integer;
pub mod kernel;
mod polygamma;
mod smooth;

pub use crate::table::functions::*;
pub use integer::{ceiling, floor, floor_quotient, modulo, quotient, remainder, round, truncate};
pub use smooth::{relu, sign};

/// A function of one real.
pub type Function = fn(f64) -> f64;

/// Whether loops can be compiled for wide registers and multiply-adds are fused by the processor.
#[inline]
pub fn has_wide_fma() -> bool {
    #[cfg(all(feature = "native", target_arch = "x86_64"))]
    return std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
    #[cfg(not(all(feature = "native", target_arch = "x86_64")))]
    false
}

/// Whether there are vectors of 512 bits besides, 32 of them: AVX-512 with F, DQ, BW and VL.
#[inline]
pub fn has_whole_vectors() -> bool {
    #[cfg(all(feature = "native", target_arch = "x86_64"))]
    return has_wide_fma()
        && std::is_x86_feature_detected!("avx512f")
        && std::is_x86_feature_detected!("avx512dq")
        && std::is_x86_feature_detected!("avx512bw")
        && std::is_x86_feature_detected!("avx512vl");
    #[cfg(not(all(feature = "native", target_arch = "x86_64")))]
    false
}

/// Square root, correctly rounded; NaN below zero, `-0.0` at `-0.0`.
#[inline]
pub fn sqrt(x: f64) -> f64 {
    x.sqrt()
}

/// Logarithm of x to base b. Bases 2 and 10 are exact at powers of the base; the others are
/// log(x) / log(b).
#[inline]
pub fn log_base(x: f64, b: f64) -> f64 {
    if b == 2.0 {
        log2(x)
    } else if b == 10.0 {
        log10(x)
    } else {
        log(x) / log(b)
    }
}

/// The larger one, as IEEE 754-2019 `maximum`: NaN if either is NaN, and `0.0` is above `-0.0`.
#[inline]
pub fn max(x: f64, y: f64) -> f64 {
    if x > y || x.is_nan() || (x == y && y.is_sign_negative()) { x } else { y }
}

/// The smaller one, as IEEE 754-2019 `minimum`: NaN if either is NaN, and `-0.0` is below `0.0`.
#[inline]
pub fn min(x: f64, y: f64) -> f64 {
    if x < y || x.is_nan() || (x == y && x.is_sign_negative()) { x } else { y }
}

#[cfg(test)]
mod tests;
