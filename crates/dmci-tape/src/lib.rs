//! Tapes: what a program did with its parameters and inputs, as operations in order.
//!
//! **Invariant:** a tape knows no Scheme. Everything it needs from the walk that recorded it is in
//! its nodes, leaves and guards.

mod forward;
mod kernels;
mod lane;
mod loops;
mod masks;
mod packed;
pub mod passes;
mod rebuild;
mod recorder;
mod reverse;
mod taken;
mod tape;
mod text;
mod verify;

pub use forward::tangents;
pub use lane::LoopEnd;
pub use loops::{NewLoop, Repeat, Round};
pub use rebuild::Rebuild;
pub use recorder::Recorder;
pub use reverse::{adjoints, gradient, scalar_adjoints};
pub use tape::{Guard, Leaf, LeafKind, Loop, LoopKind, Node, NodeId, Tape};
