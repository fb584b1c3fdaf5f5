//! Time on the clock and processor time: on a busy machine the second is the steadier one.

use std::time::{Duration, Instant};

/// How long something took.
#[derive(Clone, Copy)]
pub struct Lap {
    /// By the clock.
    pub wall: Duration,
    /// Processor time of all threads of the process.
    pub cpu: Duration,
}

/// Measures one lap.
pub struct Stopwatch {
    start: Instant,
    cpu: Duration,
}

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Stopwatch {
        let cpu = processor_time();
        Stopwatch { start: Instant::now(), cpu }
    }

    /// The time since the start.
    pub fn lap(&self) -> Lap {
        let wall = self.start.elapsed();
        Lap { wall, cpu: processor_time().saturating_sub(self.cpu) }
    }
}

fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec to the place it is given; the clock exists on every POSIX system.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
