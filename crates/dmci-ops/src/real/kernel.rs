//! Kernels: real functions as straight lines of operations, written once for numbers, loops over
//! lanes and code generators.

// Coefficients have all the digits that they were published with.
#![allow(clippy::excessive_precision, clippy::approx_constant)]

mod exponential;
mod logarithm;
mod trigonometric;

pub use exponential::{cosh, exp, expm1, sigmoid, sinh, tanh};
pub use logarithm::{log, log1p, pow, softplus};
pub use trigonometric::{cos, sin, tan};
