//! Numbers on the command line: `10M` steps, `64K` bytes, `0.5` seconds. Which of them a setting takes is said where
//! settings are.

/// A count: digits, underscores, and k, M or G for thousands.
pub fn count(text: &str) -> Result<u64, String> {
    scaled(text, 1000).ok_or_else(|| "expected a whole number such as 500000 or 10M".into())
}

/// A size in bytes: digits, underscores, and K, M or G for powers of 1024 (KB and KiB mean the same).
pub fn size(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let number = lower.strip_suffix("ib").or_else(|| lower.strip_suffix('b')).unwrap_or(&lower);
    scaled(number, 1024).ok_or_else(|| "expected a size such as 100000, 64K or 2G".into())
}

/// A seed: any whole number below 2^64.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "expected a whole number of at least 0, such as 42".into())
}

/// A time in seconds.
pub fn seconds(text: &str) -> Result<f64, String> {
    real(text.strip_suffix('s').unwrap_or(text)).map_err(|_| "expected a number of seconds such as 10 or 0.5".into())
}

/// Any finite number.
pub fn real(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|x: &f64| x.is_finite());
    number.ok_or_else(|| "expected a number such as 0.1".into())
}

fn scaled(text: &str, unit: u64) -> Option<u64> {
    let power = match text.chars().last()?.to_ascii_lowercase() {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        _ => 0,
    };
    let digits = if power > 0 { &text[..text.len() - 1] } else { text };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    digits.replace('_', "").parse::<u64>().ok()?.checked_mul(unit.pow(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_units() {
        assert_eq!(count("10M"), Ok(10_000_000));
        assert_eq!(count("1_000"), Ok(1000));
        assert_eq!(size("64K"), Ok(65536));
        assert_eq!(size("2GiB"), Ok(2 << 30));
        assert_eq!(seconds("0.5"), Ok(0.5));
        for bad in ["", "-1", "x", "M", "1.5", "99999999999999999999", "+3", "\u{e9}"] {
            assert!(count(bad).is_err() && size(bad).is_err(), "{bad}");
        }
        assert_eq!((count("0"), real("1e-3"), real("-3")), (Ok(0), Ok(0.001), Ok(-3.0)));
        for bad in ["", "nan", "inf", "x"] {
            assert!(seconds(bad).is_err() && real(bad).is_err(), "{bad}");
        }
    }
}
