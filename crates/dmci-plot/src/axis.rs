//! Axes: ranges, ticks at round numbers, and places on paper.

use dmci_ops::real::{floor, log10, pow};

/// A range of numbers and its ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The smallest number that is shown, or its decimal logarithm.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// Numbers with a label.
    pub ticks: Vec<f64>,
    step: f64,
    logarithmic: bool,
}

impl Axis {
    /// An axis over these numbers, with some air around them and about `count` ticks. Numbers that
    /// are not finite are ignored.
    pub fn new(numbers: impl Iterator<Item = f64>, count: usize, air: f64) -> Axis {
        let finite = numbers.filter(|x| x.is_finite()).map(|x| x.clamp(-LARGEST, LARGEST));
        let (mut low, mut high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        // Numbers that are all the same need room as well, more than rounding takes away.
        let smallest = (low.abs().max(high.abs()) * 1e-9).max(SMALLEST);
        if high - low <= smallest {
            let room = if low.abs() <= SMALLEST { 1.0 } else { low.abs() * 0.1 };
            (low, high) = (low - room, high + room);
        }
        let room = (high - low) * air;
        (low, high) = (low - room, high + room);
        // Rounding must not lose a tick at an end.
        let ends = |step: f64| (-floor(-low / step + 1e-9), floor(high / step + 1e-9));
        let mut step = nice_step((high - low) / count.max(1) as f64);
        // Two ticks or fewer say little about the size of things between them.
        if ends(step).1 - ends(step).0 < 2.0 {
            step = nice_step(step / 2.5);
        }
        let (first, last) = ends(step);
        let ticks = (0..=(last - first).max(0.0) as usize).map(|i| (first + i as f64) * step).collect();
        Axis { low, high, ticks, step, logarithmic: false }
    }

    /// A logarithmic axis over these numbers: those that are not above 0 have no place on it.
    pub fn logarithmic(numbers: impl Iterator<Item = f64>, count: usize, air: f64) -> Axis {
        let positive = numbers.filter(|x| *x > 0.0 && x.is_finite()).map(log10);
        let Axis { low, high, .. } = Axis::new(positive, count, air);
        let decades = high - low;
        // Powers of ten, 2 and 5 between them where there is room, and fewer where there is none.
        let every = floor(decades / count.max(1) as f64).max(0.0) as i32 + 1;
        let digits: &[f64] = if decades < 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let powers = (floor(low) as i32..=floor(high) as i32 + 1).filter(|power| power % every == 0);
        let all = powers.flat_map(|power| digits.iter().map(move |digit| digit * pow(10.0, f64::from(power))));
        let inside = |tick: &f64| (low - 1e-9..=high + 1e-9).contains(&log10(*tick));
        Axis { low, high, ticks: all.filter(inside).collect(), step: 1.0, logarithmic: true }
    }

    /// A linear or a logarithmic axis.
    pub fn of(numbers: impl Iterator<Item = f64>, count: usize, air: f64, logarithmic: bool) -> Axis {
        match logarithmic {
            true => Axis::logarithmic(numbers, count, air),
            false => Axis::new(numbers, count, air),
        }
    }

    /// Where a number is, between 0 and 1 if it is inside; NaN if it has no place.
    pub fn place(&self, x: f64) -> f64 {
        let x = match self.logarithmic {
            true if x > 0.0 => log10(x),
            true => f64::NAN,
            false => x,
        };
        (x - self.low) / (self.high - self.low)
    }

    /// The label of a tick.
    pub fn label(&self, tick: f64) -> String {
        if self.logarithmic {
            return minus(crate::digits(tick, 3));
        }
        let largest = self.ticks.iter().fold(0.0, |m: f64, t| m.max(t.abs()));
        let exponent = floor(log10(self.step) + 1e-9) as i32;
        if tick == 0.0 {
            return "0".into();
        }
        if largest < 1e6 && exponent >= -5 {
            return minus(format!("{tick:.*}", (-exponent).max(0) as usize));
        }
        let size = floor(log10(tick.abs()) + 1e-9) as i32;
        minus(format!("{tick:.*e}", (size - exponent).clamp(0, 6) as usize))
    }
}

/// Beyond this, differences would overflow.
const LARGEST: f64 = 1e300;

/// Below this, the steps between ticks would underflow.
const SMALLEST: f64 = 1e-290;

/// A proper minus sign, as wide as a digit.
fn minus(text: String) -> String {
    text.replacen('-', "\u{2212}", 1)
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `step`.
fn nice_step(step: f64) -> f64 {
    let power = 10f64.powi(floor(log10(step)) as i32);
    let candidates = [1.0, 2.0, 5.0, 10.0].map(|m| m * power);
    candidates.into_iter().find(|c| *c >= step * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(numbers: &[f64], count: usize) -> Vec<String> {
        let axis = Axis::new(numbers.iter().copied(), count, 0.0);
        assert!(axis.ticks.iter().all(|t| (-1e-9..=1.0 + 1e-9).contains(&axis.place(*t))), "{axis:?}");
        axis.ticks.iter().map(|t| axis.label(*t)).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(labels(&[-3.9, 3.9], 4), ["\u{2212}2", "0", "2"]);
        assert_eq!(labels(&[0.0, 10.0], 5), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(&[-0.13, 0.27], 4), ["\u{2212}0.1", "0", "0.1", "0.2"]);
        assert_eq!(labels(&[0.0, 3.2], 6), ["0", "1", "2", "3"]);
        assert_eq!(labels(&[0.0, 2.4], 5), ["0", "0.5", "1.0", "1.5", "2.0"]);
        assert_eq!(labels(&[1e9, 3e9], 4), ["1.0e9", "1.5e9", "2.0e9", "2.5e9", "3.0e9"]);
        assert_eq!(labels(&[0.0, 3e-8], 3), ["0", "1e\u{2212}8", "2e\u{2212}8", "3e\u{2212}8"]);
    }

    #[test]
    fn decades_are_even_on_logarithmic_axes() {
        let shown = |numbers: &[f64]| {
            let axis = Axis::logarithmic(numbers.iter().copied(), 6, 0.0);
            assert!(axis.place(0.0).is_nan() && axis.place(-1.0).is_nan());
            axis.ticks.iter().map(|t| axis.label(*t)).collect::<Vec<_>>()
        };
        assert_eq!(shown(&[0.01, 100.0]), ["0.01", "0.1", "1", "10", "100"]);
        assert_eq!(shown(&[2.0, 50.0, -1.0, 0.0]), ["2", "5", "10", "20", "50"]);
        assert_eq!(shown(&[1e-6, 1e6]), ["1e\u{2212}6", "0.001", "1", "1000", "1e6"]);
        let axis = Axis::logarithmic([1.0, 100.0].into_iter(), 6, 0.0);
        assert!((axis.place(10.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn every_range_has_room() {
        for numbers in [vec![], vec![5.0], vec![0.0, 0.0], vec![1e300, -1e308], vec![f64::NAN, 1.0, 1.0 + 1e-16]] {
            let axis = Axis::new(numbers.iter().copied(), 5, 0.05);
            assert!(axis.low < axis.high && axis.ticks.len() >= 2 && axis.ticks.len() < 20, "{numbers:?} {axis:?}");
            assert!(numbers.iter().filter(|x| x.abs() <= LARGEST).all(|x| (0.0..=1.0).contains(&axis.place(*x))));
        }
    }
}
