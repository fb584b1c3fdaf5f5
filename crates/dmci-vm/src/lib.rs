//! The virtual machine: the reference semantics of programs.
//!
//! **Invariant:** the machine's own stack is the only one that grows with a program's recursion,
//! its own heap the only memory a program can fill; both are bounded by [`Limits`].

pub mod boot;
mod calls;
pub mod deep;
pub mod environment;
mod image;
mod interpret;
mod join;
mod limits;
mod loops;
mod machine;
pub mod ports;
pub mod prims;
pub mod traced;
mod world;

pub use image::Image;
pub use limits::{Cancel, Limits, Numerics, Reason};
pub use machine::Vm;
pub use world::{Output, World};
