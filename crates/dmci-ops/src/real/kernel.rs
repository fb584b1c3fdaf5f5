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

pub use area::*;
pub use error::*;
pub use exponential::*;
pub use gamma::*;
pub use inverse::*;
pub use logarithm::*;
pub use root::*;
pub use trigamma::polygamma;
pub use trigonometric::*;
