//! Tables: read from CSV, NumPy and NetCDF, and split into rows to fit and rows to hold out.
//!
//! **Invariant:** nothing here opens a file or knows what a column will be used for.

pub mod data;
mod dialect;
pub mod hash;
mod netcdf;
mod npy;
pub mod sha256;
mod split;

pub use data::{Format, Table, TableColumn, reals, select};
pub use npy::write_npz;
pub use split::{Holdout, none_left, split};
