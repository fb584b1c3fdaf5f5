//! When work has to stop. A run has one cancel flag, one clock and one budget of memory ([`Alarm`]), and every long loop looks
//! at them within milliseconds, in whatever crate it is.
//!
//! A thread works under the alarm of [`within`], and under those around it: work stops when anything that it is a part of has
//! to stop. A loop counts its work with [`Ticks`], which look at that alarm after a
//! bounded amount of it, and stops with whatever result it has: the alarm remembers that it rang, and whoever entered it
//! reports that instead of the result.
//!
//! **Invariant:** this crate knows nothing but time and memory. It allocates nothing where an alarm is entered or looked at.

mod alarm;
mod cancel;
pub mod memory;
mod ticks;

pub use alarm::{Alarm, Level, Why, rang, rings, unstopped, within};
pub use cancel::{Cancel, Reason};
pub use ticks::Ticks;
