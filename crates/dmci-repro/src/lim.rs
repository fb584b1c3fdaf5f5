//! The study of ENSO: a linear inverse model whose Kalman likelihood is a program.

pub mod field;
pub mod prepare;
