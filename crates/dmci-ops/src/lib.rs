//! Scalar numerics: the one definition of every real function.
//!
//! Every engine computes with what is defined here, so that the same operation on the same bits
//! gives the same bits everywhere. Nothing calls the platform's mathematics library.
//!
//! **Invariant:** this crate does not know values, heaps or programs.

#[macro_use]
mod pieces;
#[macro_use]
mod rows;

pub mod arith;
pub mod derivative;
mod kernel;
pub mod linalg;
mod lu;
mod matmul;
pub mod op;
pub mod real;
mod shape;
mod single;
mod table;
mod wide;
mod word;

pub use kernel::{Kernel, Layout, NONE, Tensor, copy_row};
pub use op::{Binding, Build, Code, INT_LIMIT, MAX_ARITY, Op, Spelling, Type};
pub use shape::Shape;
pub use wide::round_lanes;
pub use word::{Word, lengthen, shorten};
