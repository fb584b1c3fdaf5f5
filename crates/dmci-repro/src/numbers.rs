//! Numbers in result files and in tables: means, Wilson's interval, and short texts.

use dmci_ops::real::{exp, log, sqrt};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A real that JSON can hold: what is not finite becomes a text.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Real(pub f64);

impl Serialize for Real {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() {
            serializer.serialize_f64(self.0)
        } else {
            serializer.serialize_str(&self.0.to_string())
        }
    }
}

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Real, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(f64),
            Text(String),
        }
        match Either::deserialize(deserializer)? {
            Either::Number(x) => Ok(Real(x)),
            Either::Text(text) => text.parse().map(Real).map_err(serde::de::Error::custom),
        }
    }
}

/// The mean.
pub fn mean(list: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, n) = list.into_iter().fold((0.0, 0), |(sum, n), x| (sum + x, n + 1));
    sum / f64::from(n)
}

/// The geometric mean.
pub fn geometric_mean(list: impl IntoIterator<Item = f64>) -> f64 {
    exp(mean(list.into_iter().map(log)))
}

/// The middle of a list.
pub fn median(list: impl IntoIterator<Item = f64>) -> f64 {
    let mut list: Vec<f64> = list.into_iter().collect();
    list.sort_by(f64::total_cmp);
    match list.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => list[n / 2],
        n => (list[n / 2 - 1] + list[n / 2]) / 2.0,
    }
}

/// A rate: how many of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Those that did.
    pub hits: usize,
    /// All.
    pub of: usize,
}

impl Rate {
    /// Counts.
    pub fn of(list: impl IntoIterator<Item = bool>) -> Rate {
        let mut rate = Rate { hits: 0, of: 0 };
        for hit in list {
            rate.hits += usize::from(hit);
            rate.of += 1;
        }
        rate
    }

    /// The share.
    pub fn share(self) -> f64 {
        self.hits as f64 / self.of as f64
    }

    /// Wilson's score interval of 95%.
    pub fn interval(self) -> (f64, f64) {
        let (n, p, z) = (self.of as f64, self.share(), 1.959_963_984_540_054);
        if self.of == 0 {
            return (0.0, 1.0);
        }
        let below = 1.0 + z * z / n;
        let middle = (p + z * z / (2.0 * n)) / below;
        let half = z / below * sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n));
        ((middle - half).max(0.0), (middle + half).min(1.0))
    }

    /// `60/60 [94.0, 100]%`.
    pub fn text(self) -> String {
        let (low, high) = self.interval();
        let percent = |x: f64| {
            let text = format!("{:.1}", 100.0 * x);
            match text.as_str() {
                "0.0" => "0".into(),
                "100.0" => "100".into(),
                _ => text,
            }
        };
        format!("{}/{} [{}, {}]%", self.hits, self.of, percent(low), percent(high))
    }
}

/// A number with about three digits.
pub fn short(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    if !x.is_finite() {
        return if x.is_nan() { "n/a".into() } else { format!("{x}") };
    }
    match x.abs() {
        a if !(1e-3..1e6).contains(&a) => format!("{x:.1e}"),
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        a if a >= 1.0 => format!("{x:.2}"),
        _ => format!("{x:.4}"),
    }
}

/// A time with its unit.
pub fn seconds(x: f64) -> String {
    match x {
        x if !x.is_finite() => "n/a".into(),
        x if x < 1e-6 => format!("{:.0} ns", x * 1e9),
        x if x < 1e-3 => format!("{:.1} us", x * 1e6),
        x if x < 1.0 => format!("{:.1} ms", x * 1e3),
        x => format!("{x:.1} s"),
    }
}

/// How many times as much: `12.5x`.
pub fn times(x: f64) -> String {
    if x.is_finite() { format!("{}x", short(x)) } else { "n/a".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The intervals that the paper prints for experiments A and E.
    #[test]
    fn wilsons_interval_is_that_of_the_paper() {
        assert_eq!(Rate { hits: 60, of: 60 }.text(), "60/60 [94.0, 100]%");
        assert_eq!(Rate { hits: 199, of: 240 }.text(), "199/240 [77.6, 87.2]%");
        assert_eq!(Rate { hits: 26, of: 240 }.text(), "26/240 [7.5, 15.4]%");
        assert_eq!(Rate { hits: 5, of: 240 }.text(), "5/240 [0.9, 4.8]%");
    }

    #[test]
    fn every_number_survives_a_result_file() {
        for x in [0.1, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0 / 3.0, 5e-324] {
            let text = serde_json::to_string(&Real(x)).unwrap();
            let back: Real = serde_json::from_str(&text).unwrap();
            assert_eq!(back.0.to_bits(), x.to_bits(), "{text}");
        }
    }

    #[test]
    fn numbers_are_short() {
        let list = [0.0, 1.5e-4, 0.0123, 1.234, 12.34, 123.4, 2017.0, 1.2e7].map(short);
        assert_eq!(list, ["0", "1.5e-4", "0.0123", "1.23", "12.3", "123", "2017", "1.2e7"]);
    }
}
