//! Functions of real numbers.
//!
//! Every function is total: outside its real domain it gives NaN, at a pole the infinity that C99
//! (annex F) asks for, and a NaN operand gives NaN (only `pow` and `hypot` have the exceptions of
//! C99). Results are the same bits on every machine: the base is the `libm` crate, which is
//! FreeBSD's msun in Rust, and no operation is contracted.
//!
//! # Accuracy
//! Largest error in units in the last place of the exact result, against 60-digit arithmetic, over
//! 20,000 arguments a function (normal and log-uniform over the domain, and around special points).
//! 0.5 is correctly rounded.
//!
//! | function | error | function | error | function | error |
//! |---|---|---|---|---|---|
//! | exp | 0.80 | asin | 0.75 | sqrt, cbrt | 0.50 |
//! | log | 0.76 | acos | 0.85 | erf | 0.84 |
//! | log2 | 0.67 | atan | 0.72 | erfc | 2.51 |
//! | log10 | 0.64 | atan2 | 1.18 | gamma | 6.80 |
//! | log1p | 0.75 | sinh | 1.67 | lgamma, x > 0 | 2.29 |
//! | expm1 | 0.77 | cosh | 1.21 | digamma, x > 0 | 2.71 |
//! | sin | 0.74 | tanh | 2.07 | sigmoid | 1.85 |
//! | cos | 0.74 | asinh | 1.35 | softplus | 1.43 |
//! | tan | 0.73 | acosh | 1.71 | pow | 0.78 |
//! | hypot | 0.89 | atanh | 1.47 | | |
//!
//! Left of 0, between poles, `lgamma` and `digamma` have zeros next to which only the absolute
//! error is small: 3.1 and 7.4 units in the last place of max(1, |result|). Rounding, `max`, `min`,
//! `relu`, `sign` and `remainder` are exact.

mod gamma;
mod integer;
mod polygamma;
mod smooth;

pub use gamma::{digamma, gamma, lgamma};
pub use integer::{ceiling, floor, floor_quotient, modulo, quotient, remainder, round, truncate};
pub use polygamma::polygamma;
pub use smooth::{relu, sigmoid, sign, softplus};

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

macro_rules! from_libm {
    ($($(#[$doc:meta])* $name:ident = $libm:ident;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name(x: f64) -> f64 {
            libm::$libm(x)
        }
    )*};
}

from_libm! {
    /// e to the power x.
    exp = exp;
    /// Natural logarithm; `-inf` at zero, NaN below.
    log = log;
    /// Logarithm to base 2.
    log2 = log2;
    /// Logarithm to base 10.
    log10 = log10;
    /// log(1 + x) without cancellation near zero.
    log1p = log1p;
    /// exp(x) - 1 without cancellation near zero.
    expm1 = expm1;
    /// Sine of an angle in radians.
    sin = sin;
    /// Cosine of an angle in radians.
    cos = cos;
    /// Tangent of an angle in radians.
    tan = tan;
    /// Inverse sine, in [-pi/2, pi/2].
    asin = asin;
    /// Inverse cosine, in [0, pi].
    acos = acos;
    /// Inverse tangent, in [-pi/2, pi/2].
    atan = atan;
    /// Hyperbolic sine.
    sinh = sinh;
    /// Hyperbolic cosine.
    cosh = cosh;
    /// Hyperbolic tangent.
    tanh = tanh;
    /// Inverse hyperbolic sine.
    asinh = asinh;
    /// Inverse hyperbolic cosine, from 1 on.
    acosh = acosh;
    /// Inverse hyperbolic tangent, between -1 and 1.
    atanh = atanh;
    /// Cube root, of negative numbers too.
    cbrt = cbrt;
    /// Error function.
    erf = erf;
    /// 1 - erf(x) without cancellation.
    erfc = erfc;
    /// Square root, correctly rounded; NaN below zero, `-0.0` at `-0.0`.
    sqrt = sqrt;
}

/// The angle of the point (x, y), in [-pi, pi]; the signs of zeros choose the quadrant.
#[inline]
pub fn atan2(y: f64, x: f64) -> f64 {
    libm::atan2(y, x)
}

/// x to the power y. `pow(x, 0)` and `pow(1, y)` are 1 even for NaN; a negative base with an
/// exponent that is not an integer gives NaN.
#[inline]
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// Square root of x² + y² without overflow on the way.
#[inline]
pub fn hypot(x: f64, y: f64) -> f64 {
    libm::hypot(x, y)
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
