//! When a call is tried again: exponential backoff with jitter, or as the server asks.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retries {
    /// Calls at most, the first one included.
    pub most: u32,
    /// The first wait; each further one is twice as long.
    pub first: Duration,
    /// The longest wait. A server that asks for more is not waited for.
    pub longest: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Retries { most: 5, first: Duration::from_millis(500), longest: Duration::from_secs(60) }
    }
}

impl Retries {
    /// The wait before the call after `failed` failures; `luck` is in [0, 1). None if that is not worth it.
    pub fn wait(&self, failed: u32, asked: Option<Duration>, luck: f64) -> Option<Duration> {
        if failed >= self.most {
            return None;
        }
        let doubled = self.first.saturating_mul(1_u32.checked_shl(failed.saturating_sub(1)).unwrap_or(u32::MAX));
        // Half of the wait is jitter, so that parallel calls do not come back together.
        let own = doubled.min(self.longest).mul_f64(0.5 + 0.5 * luck.clamp(0.0, 1.0));
        match asked {
            Some(time) if time > self.longest => None,
            Some(time) => Some(time.max(own.min(time + self.first))),
            None => Some(own),
        }
    }
}

/// A number in [0, 1) that differs between calls; nothing but waits depends on it.
pub(crate) fn luck(key: &str, failed: u32) -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.subsec_nanos());
    let bits = xxhash_rust::xxh3::xxh3_64(format!("{key} {failed} {now} {}", std::process::id()).as_bytes());
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// Reads `Retry-After`: seconds, or a date in the form of RFC 9110.
pub fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds.max(0.0)).ok();
    }
    let at = UNIX_EPOCH + Duration::from_secs(http_date(text)?);
    Some(at.duration_since(now).unwrap_or_default())
}

/// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date(text: &str) -> Option<u64> {
    let rest = text.split_once(", ")?.1.strip_suffix(" GMT")?;
    let mut parts = rest.split([' ', ':']);
    let day: i64 = parts.next()?.parse().ok()?;
    let name = parts.next()?;
    let month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        .iter()
        .position(|m| *m == name)? as i64
        + 1;
    let mut numbers = parts.map(|p| p.parse::<i64>().ok().filter(|n| (0..10_000).contains(n)));
    let (year, hour, minute, second) = (numbers.next()??, numbers.next()??, numbers.next()??, numbers.next()??);
    // Days from a civil date: years begin in March, so that a leap day is the last one.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
    u64::try_from(days * 86_400 + hour * 3600 + minute * 60 + second).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_with_jitter_and_end() {
        let retries = Retries::default();
        let wait = |failed, luck| retries.wait(failed, None, luck).map(|t| t.as_millis());
        assert_eq!([wait(1, 0.0), wait(1, 1.0)], [Some(250), Some(500)]);
        assert_eq!([wait(4, 0.0), wait(4, 1.0)], [Some(2000), Some(4000)]);
        assert_eq!(wait(5, 0.5), None);
        let long = Retries { most: 99, ..retries };
        assert_eq!(long.wait(98, None, 1.0), Some(Duration::from_secs(60)));
    }

    #[test]
    fn the_server_is_heard() {
        let retries = Retries::default();
        let asked = |s| retries.wait(1, Some(Duration::from_secs(s)), 1.0);
        assert_eq!(asked(7), Some(Duration::from_secs(7)));
        assert_eq!(asked(0), Some(Duration::from_millis(500)));
        assert_eq!(asked(3600), None, "an hour is not waited for");
        let now = UNIX_EPOCH + Duration::from_secs(784_111_767);
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now), Some(Duration::from_secs(10)));
        assert_eq!(retry_after("1.5", now), Some(Duration::from_millis(1500)));
        assert_eq!(retry_after("soon", now), None);
        assert_eq!(retry_after("Sun, 06 Nov 1894 08:49:37 GMT", now), None);
    }
}
