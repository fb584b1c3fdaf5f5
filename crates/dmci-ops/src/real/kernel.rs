//! Kernels: real functions as straight lines of operations, written once for numbers, loops over
//! lanes and code generators.

// Coefficients have all the digits that they were published with.
#![allow(clippy::excessive_precision, clippy::approx_constant)]

mod area;
mod error;
mod exponential;
mod gamma;
mod inverse;
mod logarithm;
mod root;
pub mod single;
mod trigamma;
mod trigonometric;

pub use area::{acosh, asinh, atanh};
pub use error::{erf, erfc};
pub use exponential::{cosh, exp, expm1, sigmoid, sinh, tanh};
pub use gamma::{digamma, gamma, lgamma};
pub use inverse::{acos, asin, atan, atan2};
pub use logarithm::{log, log1p, log2, log10, pow, softplus};
pub use root::{cbrt, hypot};
pub use trigamma::polygamma;
pub use trigonometric::{cos, sin, tan};
