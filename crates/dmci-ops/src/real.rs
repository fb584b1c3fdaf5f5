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

pub use integer::{ceiling, floor, floor_quotient, modulo, quotient, remainder, round, truncate};
pub use smooth::{relu, sign};

use crate::arith::Scalar;

/// A function of one real.
pub type Function = fn(f64) -> f64;

/// The functions that take any number to a real, by their names in Scheme. Those that keep
/// exactness (`sqrt`, `floor`, `abs`, `relu`, ...) are not among them.
pub const UNARY: &[(&str, Function)] = &[
    ("exp", exp),
    ("log", log),
    ("log2", log2),
    ("log10", log10),
    ("log1p", log1p),
    ("expm1", expm1),
    ("sin", sin),
    ("cos", cos),
    ("tan", tan),
    ("asin", asin),
    ("acos", acos),
    ("atan", atan),
    ("sinh", sinh),
    ("cosh", cosh),
    ("tanh", tanh),
    ("asinh", asinh),
    ("acosh", acosh),
    ("atanh", atanh),
    ("cbrt", cbrt),
    ("erf", erf),
    ("erfc", erfc),
    ("gamma", gamma),
    ("lgamma", lgamma),
    ("log-gamma", lgamma),
    ("digamma", digamma),
    ("sigmoid", sigmoid),
    ("logistic", sigmoid),
    ("softplus", softplus),
];

/// The function of [`UNARY`] with this name.
pub fn unary(name: &str) -> Option<Function> {
    UNARY.iter().find(|(n, _)| *n == name).map(|&(_, f)| f)
}

/// Whether loops can be compiled for wide registers and multiply-adds are fused by the processor.
#[inline]
pub fn has_wide_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether there are vectors of 512 bits besides, 32 of them: AVX-512 with F, DQ, BW and VL.
#[inline]
pub fn has_whole_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    return has_wide_fma()
        && std::is_x86_feature_detected!("avx512f")
        && std::is_x86_feature_detected!("avx512dq")
        && std::is_x86_feature_detected!("avx512bw")
        && std::is_x86_feature_detected!("avx512vl");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Functions whose kernels are used as the processor allows; the bits are the same. They are long, and so compiled here
/// and nowhere else: inlined, each crate that evaluates operations would compile all of them again.
macro_rules! from_kernels {
    ($($(#[$doc:meta])* $name:ident($($x:ident),*);)*) => {$(
        $(#[$doc])*
        pub fn $name($($x: f64),*) -> f64 {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn hard($($x: f64),*) -> f64 {
                    kernel::$name(&mut Scalar::<crate::arith::Hard, false>::new(), $($x),*)
                }
                if has_wide_fma() {
                    // SAFETY: the processor has what the function was compiled for.
                    return unsafe { hard($($x),*) };
                }
            }
            #[cfg(target_arch = "aarch64")]
            return kernel::$name(&mut Scalar::<crate::arith::Hard, false>::new(), $($x),*);
            #[cfg(not(target_arch = "aarch64"))]
            kernel::$name(&mut Scalar::<crate::arith::Soft, false>::new(), $($x),*)
        }
    )*};
}

from_kernels! {
    /// e to the power x.
    exp(x);
    /// Natural logarithm; `-inf` at zero, NaN below.
    log(x);
    /// log(1 + x) without cancellation near zero.
    log1p(x);
    /// exp(x) - 1 without cancellation near zero.
    expm1(x);
    /// Sine of an angle in radians.
    sin(x);
    /// Cosine of an angle in radians.
    cos(x);
    /// Tangent of an angle in radians.
    tan(x);
    /// Hyperbolic sine.
    sinh(x);
    /// Hyperbolic cosine.
    cosh(x);
    /// Hyperbolic tangent.
    tanh(x);
    /// 1 / (1 + exp(-x)), without overflow and with full relative accuracy in both tails.
    sigmoid(x);
    /// log(1 + exp(x)), without overflow and with full relative accuracy in both tails.
    softplus(x);
    /// Logarithm to base 2; exact at powers of 2.
    log2(x);
    /// Logarithm to base 10; exact at powers of 10.
    log10(x);
    /// Inverse sine, in [-pi/2, pi/2].
    asin(x);
    /// Inverse cosine, in [0, pi].
    acos(x);
    /// Inverse tangent, in [-pi/2, pi/2].
    atan(x);
    /// The angle of the point (x, y), in [-pi, pi]; the signs of zeros choose the quadrant.
    atan2(y, x);
    /// Inverse hyperbolic sine.
    asinh(x);
    /// Inverse hyperbolic cosine, from 1 on.
    acosh(x);
    /// Inverse hyperbolic tangent, between -1 and 1.
    atanh(x);
    /// Cube root, of negative numbers too.
    cbrt(x);
    /// Square root of x² + y² without overflow on the way.
    hypot(x, y);
    /// Error function.
    erf(x);
    /// 1 - erf(x) without cancellation.
    erfc(x);
    /// The gamma function; exact factorials up to 22!. `gamma(0.0)` is `+inf`, `gamma(-0.0)` is
    /// `-inf`, NaN at negative integers.
    gamma(x);
    /// Logarithm of the absolute value of the gamma function; `+inf` at zero and negative integers.
    lgamma(x);
    /// The derivative of `lgamma`. `digamma(0.0)` is `-inf`, `digamma(-0.0)` is `+inf`, NaN at negative
    /// integers and at `-inf`. Next to its zeros left of 0 only the absolute error is small.
    digamma(x);
    /// The derivative of order `n` of digamma at `x`: n = 0 is digamma itself. Left of 0 only n up to 2
    /// is given, by reflection; NaN otherwise.
    polygamma(x, n);
    /// x to the power y. `pow(x, 0)` and `pow(1, y)` are 1 even for NaN; a negative base with an
    /// exponent that is not an integer gives NaN.
    pow(x, y);
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
