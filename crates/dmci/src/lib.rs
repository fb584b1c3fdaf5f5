//! Programs as differentiable data.
pub mod system;
