//! When an evaluation has to stop: long work on data looks here now and then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Steps of work between two looks at the alarm.
pub const STEPS: usize = 1 << 12;

/// A flag that others may set, and a time. Work that sees it ring stops with whatever result: the machine
/// sees that it rang, and reports that instead.
#[derive(Debug, Default)]
pub struct Alarm {
    flag: Arc<AtomicBool>,
    deadline: Option<Instant>,
    limit: Duration,
    rang: AtomicBool,
}

impl Alarm {
    /// An alarm that rings when the flag is set, or when this much time is over.
    pub fn new(flag: Arc<AtomicBool>, limit: Duration) -> Self {
        Alarm { flag, deadline: Instant::now().checked_add(limit), limit, rang: AtomicBool::new(false) }
    }

    /// Looks whether to stop.
    pub fn rings(&self) -> bool {
        let rings = self.flag.load(Ordering::Relaxed) || self.deadline.is_some_and(|d| Instant::now() >= d);
        if rings {
            self.rang.store(true, Ordering::Relaxed);
        }
        rings
    }

    /// Whether it rang when somebody looked.
    #[inline]
    pub fn rang(&self) -> bool {
        self.rang.load(Ordering::Relaxed)
    }

    /// Whether it was the flag.
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// The time that there was.
    pub fn limit(&self) -> Duration {
        self.limit
    }
}
