//! Work that is counted.

use crate::alarm::rings;

/// Work between two looks, in operations on numbers or in what takes as long: far less than a millisecond.
const PATIENCE: i64 = 1 << 18;

/// Counts work, and looks at the alarm of the thread after every bounded amount of it. To count takes a subtraction and a
/// comparison, so that short work never looks at all.
#[derive(Debug)]
pub struct Ticks(i64);

impl Default for Ticks {
    #[inline(always)]
    fn default() -> Self {
        Ticks(PATIENCE)
    }
}

impl Ticks {
    /// Counts so many operations; whether to stop.
    #[inline(always)]
    pub fn spend(&mut self, operations: usize) -> bool {
        self.0 -= operations as i64;
        self.0 < 0 && self.look()
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self) -> bool {
        self.0 = PATIENCE;
        rings()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Alarm, Cancel, within};
    use std::time::Duration;

    #[test]
    fn little_work_does_not_look() {
        let alarm = Alarm::new(Cancel::default(), Duration::ZERO);
        within(&alarm, || {
            let mut ticks = Ticks::default();
            assert!(!(0..PATIENCE).any(|_| ticks.spend(1)) && !alarm.rang());
            assert!(ticks.spend(1) && alarm.rang());
            assert!(Ticks::default().spend(usize::MAX >> 1));
        });
    }
}
