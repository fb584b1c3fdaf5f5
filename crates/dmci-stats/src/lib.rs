//! What fits and searches need from statistics: distributions, linear algebra and random streams.
//!
//! **Invariant:** nothing here knows a program, a table or a fit.

pub mod bounded;
pub mod diagnosis;
pub mod distribution;
pub mod lanczos;
pub mod linear;
pub mod random;
pub mod residuals;
pub mod smooth;
pub mod sobol;
pub mod spectrum;
mod symmetric;
