//! From the raw numbers that a fit searches over to the values that a program sees, and back.

use dmci::{Parameter, ParameterKind};
use dmci_ops::real::{atanh, exp, expm1, log, log1p, sigmoid, softplus, tanh};
use std::cmp::Ordering;

/// How far from a bound a search starts that another one ended at, as a share of the interval or of the scale.
const OFF_BOUND: f64 = 1e-6;

/// The transform of one parameter: of each of its numbers alone, or of all of them together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform {
    kind: ParameterKind,
    scale: f64,
    /// Numbers of the parameter.
    count: usize,
}

impl Transform {
    /// The transform that a schema asks for.
    pub fn of(parameter: &Parameter) -> Transform {
        Transform { kind: parameter.kind, scale: parameter.scale.unwrap_or(1.0), count: parameter.starts.len() }
    }

    /// How many raw numbers the parameter has.
    pub fn raws(self) -> usize {
        match self.kind {
            ParameterKind::Cholesky(n) | ParameterKind::Lower(n) => n * (n + 1) / 2,
            ParameterKind::Simplex(n) => n - 1,
            _ => self.count,
        }
    }

    /// How many numbers the program sees.
    pub fn values(self) -> usize {
        self.count
    }

    /// What each raw number is multiplied with, if that is all that happens to it.
    pub fn factor(self) -> Option<f64> {
        matches!(self.kind, ParameterKind::Free | ParameterKind::Unknown).then_some(self.scale)
    }

    /// Whether a number lies so near to a bound of its kind that it would go beyond if it could. A bound of 0 alone is
    /// far from small numbers on their own scale, so that there it takes more, above all if nothing is known of how
    /// `vague` the number is.
    pub fn is_at_bound(self, value: f64, start: f64, vague: Option<bool>) -> bool {
        let room = match self.kind {
            ParameterKind::Positive => {
                let usual = if vague.is_some() { 1e-4 } else { 1e-8 };
                1e-3 * value / (usual * start.min(self.scale))
            }
            ParameterKind::Unit => value.min(self.scale - value) / self.scale,
            ParameterKind::SignedUnit => 0.5 * (self.scale - value.abs()) / self.scale,
            ParameterKind::Bounded(low, high) => (value - low).min(high - value) / (high - low),
            ParameterKind::Log(low, high) => log(value / low).min(log(high / value)) / log(high / low),
            _ => return false,
        };
        room < 1e-3 && vague != Some(false)
    }

    /// Appends the numbers that raw ones stand for.
    pub fn values_into(self, raw: &[f64], values: &mut Vec<f64>) {
        match self.kind {
            ParameterKind::Cholesky(n) | ParameterKind::Lower(n) => {
                for i in 0..n {
                    let row = (0..n).map(|j| match j.cmp(&i) {
                        Ordering::Less => self.scale * self.sign(raw, j) * raw[place(i, j)],
                        // Above 0 even where a search comes to 0 itself.
                        Ordering::Equal if self.kind != ParameterKind::Lower(n) => {
                            self.scale * raw[place(i, i)].abs().max(f64::MIN_POSITIVE)
                        }
                        Ordering::Equal => self.scale * raw[place(i, i)],
                        Ordering::Greater => 0.0,
                    });
                    values.extend(row);
                }
            }
            ParameterKind::Simplex(_) => values.extend(shares(raw)),
            _ => values.extend(raw.iter().map(|&x| self.value(x))),
        }
    }

    /// Adds to `out` the derivatives by raw numbers of what has these derivatives by values.
    pub fn pull_back(self, raw: &[f64], by_value: &[f64], out: &mut [f64]) {
        match self.kind {
            ParameterKind::Cholesky(n) | ParameterKind::Lower(n) => {
                for i in 0..n {
                    for j in 0..=i {
                        out[place(i, j)] += by_value[i * n + j] * self.scale * self.sign(raw, j);
                    }
                }
            }
            ParameterKind::Simplex(_) => {
                let shares = shares(raw);
                let mean: f64 = shares.iter().zip(by_value).map(|(s, g)| s * g).sum();
                for (k, out) in out.iter_mut().enumerate() {
                    *out += shares[k] * (by_value[k] - mean);
                }
            }
            _ => out.iter_mut().zip(by_value).zip(raw).for_each(|((out, g), &x)| *out += g * self.slope(x)),
        }
    }

    /// The logarithm of how much the values move with the raw numbers (of the determinant of their
    /// derivatives), and its derivatives, which are added to `out`.
    pub fn log_stretch(self, raw: &[f64], out: &mut [f64]) -> f64 {
        let positive = |x: f64| (log(self.scale * sigmoid(x)), sigmoid(-x));
        let sigmoidal = |x: f64, width: f64| (log(width * sigmoid_slope(x)), sigmoid(-x) - sigmoid(x));
        let mut sum = 0.0;
        for (k, (&x, out)) in raw.iter().zip(out).enumerate() {
            let (log, slope) = match self.kind {
                ParameterKind::Positive => positive(x),
                ParameterKind::Unit => sigmoidal(x, self.scale),
                ParameterKind::SignedUnit => (log(self.slope(x)), -2.0 * tanh(x)),
                ParameterKind::Bounded(low, high) => sigmoidal(x, high - low),
                ParameterKind::Log(low, high) => {
                    let span = log(high / low);
                    let (log_slope, slope) = sigmoidal(x, span);
                    (log_slope + log(self.value(x)), slope + span * sigmoid_slope(x))
                }
                ParameterKind::Simplex(n) => {
                    let shares = shares(raw);
                    (log(shares[k]) + if k == 0 { log(shares[n - 1]) } else { 0.0 }, 1.0 - n as f64 * shares[k])
                }
                _ => (log(self.scale), 0.0),
            };
            sum += log;
            *out += slope;
        }
        sum
    }

    /// The raw numbers for values; `None` if no finite ones have them.
    pub fn raws_of(self, values: &[f64]) -> Option<Vec<f64>> {
        match self.kind {
            ParameterKind::Cholesky(n) | ParameterKind::Lower(n) => {
                let inside = (0..n).flat_map(|i| (0..=i).map(move |j| (i, j)));
                let mut above = (0..n).flat_map(|i| (i + 1..n).map(move |j| i * n + j));
                let is_positive = (0..n).all(|i| values[i * n + i] > 0.0) || self.kind == ParameterKind::Lower(n);
                if above.any(|k| values[k] != 0.0) || !is_positive {
                    return None;
                }
                let raw = |x: f64| Some(x / self.scale).filter(|x| x.is_finite());
                inside.map(|(i, j)| raw(values[i * n + j])).collect()
            }
            ParameterKind::Simplex(n) => {
                let sum: f64 = values.iter().sum();
                let inside = values.iter().all(|x| *x > 0.0 && x.is_finite()) && (sum - 1.0).abs() < 1e-6;
                inside.then(|| values[..n - 1].iter().map(|x| log(x / values[n - 1])).collect())
            }
            _ => values.iter().map(|&x| self.raw(x)).collect(),
        }
    }

    /// The value that a raw number stands for, where numbers are transformed alone.
    pub fn value(self, raw: f64) -> f64 {
        match self.kind {
            ParameterKind::Positive => self.scale * softplus(raw),
            ParameterKind::Unit => self.scale * sigmoid(raw),
            ParameterKind::SignedUnit => self.scale * tanh(raw),
            // Rounding must not lead out of the interval.
            ParameterKind::Bounded(low, high) => (low + (high - low) * sigmoid(raw)).clamp(low, high),
            ParameterKind::Log(low, high) => (low * exp(log(high / low) * sigmoid(raw))).clamp(low, high),
            _ => self.scale * raw,
        }
    }

    /// The derivative of the value by the raw number.
    pub fn slope(self, raw: f64) -> f64 {
        match self.kind {
            ParameterKind::Positive => self.scale * sigmoid(raw),
            ParameterKind::Unit => self.scale * sigmoid_slope(raw),
            ParameterKind::SignedUnit => {
                let t = tanh(raw);
                self.scale * ((1.0 - t) * (1.0 + t))
            }
            ParameterKind::Bounded(low, high) => (high - low) * sigmoid_slope(raw),
            ParameterKind::Log(low, high) => self.value(raw) * log(high / low) * sigmoid_slope(raw),
            _ => self.scale,
        }
    }

    /// The raw number for a value; `None` if no finite one has it.
    pub fn raw(self, value: f64) -> Option<f64> {
        let x = value / self.scale;
        let raw = match self.kind {
            // log(exp(x) - 1) without overflow and without cancellation.
            ParameterKind::Positive => x + log(-expm1(-x)),
            ParameterKind::Unit => logit(x),
            ParameterKind::SignedUnit => atanh(x),
            ParameterKind::Bounded(low, high) => logit((value - low) / (high - low)),
            ParameterKind::Log(low, high) => logit(log(value / low) / log(high / low)),
            _ => x,
        };
        raw.is_finite().then_some(raw)
    }

    /// What a start must satisfy, in words.
    pub fn domain(self) -> String {
        match self.kind {
            ParameterKind::Positive => "above 0".into(),
            ParameterKind::Unit => format!("between 0 and {}", self.scale),
            ParameterKind::SignedUnit => format!("between {} and {}", -self.scale, self.scale),
            ParameterKind::Bounded(low, high) | ParameterKind::Log(low, high) => format!("between {low} and {high}"),
            ParameterKind::Lower(_) => "with nothing above the diagonal".into(),
            ParameterKind::Cholesky(_) => "with a positive diagonal and nothing above it".into(),
            ParameterKind::Simplex(_) => "with positive numbers that add up to 1".into(),
            _ => "finite".into(),
        }
    }

    /// Whether raw numbers stand for values one by one, so that intervals can be carried over.
    pub fn is_separate(self) -> bool {
        !matches!(self.kind, ParameterKind::Cholesky(_) | ParameterKind::Lower(_) | ParameterKind::Simplex(_))
    }

    /// The interval that values are confined to, if they are: the value at a share of it from the low end and at the
    /// same share from the high end. Shares of a logarithmic interval are shares of its logarithm.
    pub fn inside(self, share: f64) -> Option<(f64, f64)> {
        let (low, high) = match self.kind {
            ParameterKind::Unit => (0.0, self.scale),
            ParameterKind::SignedUnit => (-self.scale, self.scale),
            ParameterKind::Bounded(low, high) => (low, high),
            ParameterKind::Log(low, high) => {
                let factor = exp(log(high / low) * share);
                return Some((low * factor, high / factor));
            }
            _ => return None,
        };
        Some((low + share * (high - low), high - share * (high - low)))
    }

    /// Values at a bound of their kind, or beyond it by rounding, moved inside; none if that does not help.
    pub fn moved_inside(self, values: &[f64]) -> Option<Vec<f64>> {
        let moved = |&x: &f64| match (self.kind, self.inside(OFF_BOUND)) {
            (_, Some((low, high))) => x.clamp(low, high),
            (ParameterKind::Positive, _) => x.max(OFF_BOUND * self.scale),
            _ => x,
        };
        let moved: Vec<f64> = values.iter().map(moved).collect();
        self.raws_of(&moved).map(|_| moved)
    }

    /// Adds to a matrix by raw numbers, which has `stride` numbers in a row, what the bends of the values add to the
    /// second derivatives of what has these derivatives by values.
    pub fn add_bends(self, raw: &[f64], by_value: &[f64], out: &mut [f64], stride: usize) {
        match self.kind {
            ParameterKind::Simplex(_) => {
                let shares = shares(raw);
                let mean: f64 = shares.iter().zip(by_value).map(|(s, g)| s * g).sum();
                for i in 0..raw.len() {
                    for j in 0..raw.len() {
                        let own = if i == j { shares[i] * (by_value[i] - mean) } else { 0.0 };
                        let both = shares[i] * shares[j] * (by_value[i] + by_value[j] - 2.0 * mean);
                        out[i * stride + j] += own - both;
                    }
                }
            }
            ParameterKind::Cholesky(_) | ParameterKind::Lower(_) => {}
            _ => (0..raw.len()).for_each(|i| out[i * stride + i] += by_value[i] * self.bend(raw[i])),
        }
    }

    /// The second derivative of the value by the raw number, where numbers are transformed alone.
    fn bend(self, raw: f64) -> f64 {
        let sigmoidal = |width: f64| width * sigmoid_slope(raw) * (sigmoid(-raw) - sigmoid(raw));
        match self.kind {
            ParameterKind::Positive => self.scale * sigmoid_slope(raw),
            ParameterKind::Unit => sigmoidal(self.scale),
            ParameterKind::SignedUnit => -2.0 * tanh(raw) * self.slope(raw),
            ParameterKind::Bounded(low, high) => sigmoidal(high - low),
            ParameterKind::Log(low, high) => {
                let span = log(high / low);
                self.slope(raw) * (span * sigmoid_slope(raw) + sigmoid(-raw) - sigmoid(raw))
            }
            _ => 0.0,
        }
    }

    /// What a column of a triangle is multiplied with so that its diagonal is above 0, where it must be.
    fn sign(self, raw: &[f64], column: usize) -> f64 {
        let turned = matches!(self.kind, ParameterKind::Cholesky(_)) && raw[place(column, column)] < 0.0;
        if turned { -1.0 } else { 1.0 }
    }
}

/// Where a number of a lower triangle stands among the raw ones.
fn place(row: usize, column: usize) -> usize {
    row * (row + 1) / 2 + column
}

/// Positive numbers that add up to 1: exponentials of the raw numbers and of 0, divided by their sum.
fn shares(raw: &[f64]) -> Vec<f64> {
    let largest = raw.iter().copied().fold(0.0, f64::max);
    let parts: Vec<f64> = raw.iter().chain(&[0.0]).map(|x| exp(x - largest)).collect();
    let sum: f64 = parts.iter().sum();
    parts.into_iter().map(|x| x / sum).collect()
}

/// s (1 - s), small but right on both sides.
fn sigmoid_slope(raw: f64) -> f64 {
    sigmoid(raw) * sigmoid(-raw)
}

fn logit(p: f64) -> f64 {
    log(p) - log1p(-p)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [(ParameterKind, f64); 9] = [
        (ParameterKind::Free, 1.0),
        (ParameterKind::Free, 250.0),
        (ParameterKind::Positive, 1.0),
        (ParameterKind::Positive, 0.01),
        (ParameterKind::Unit, 1.0),
        (ParameterKind::Unit, 7.0),
        (ParameterKind::SignedUnit, 2.0),
        (ParameterKind::Bounded(-3.0, 5.0), 1.0),
        (ParameterKind::Log(0.5, 20.0), 1.0),
    ];

    #[test]
    fn values_come_back_as_raw_numbers() {
        for (kind, scale) in KINDS {
            let t = Transform { kind, scale, count: 1 };
            for i in -40..=40 {
                let raw = f64::from(i) * 0.2;
                let back = t.raw(t.value(raw)).expect("inside");
                // tanh and sigmoid are flat far out, so a rounding error of the value grows.
                assert!((back - raw).abs() < 1e-7, "{t:?} {raw} {back}");
            }
        }
        let tiny = Transform { kind: ParameterKind::Positive, scale: 1.0, count: 1 };
        for value in [1e-300, 1e-10, 1.0, 50.0, 1e6, 1e300] {
            let raw = tiny.raw(value).expect("inside");
            assert!((tiny.value(raw) / value - 1.0).abs() < 1e-12, "{value}");
        }
    }

    #[test]
    fn slopes_are_derivatives() {
        for (kind, scale) in KINDS {
            let t = Transform { kind, scale, count: 1 };
            for i in -30..=30 {
                let (raw, h) = (f64::from(i) * 0.2, 1e-5);
                let numeric = (t.value(raw + h) - t.value(raw - h)) / (2.0 * h);
                assert!((t.slope(raw) - numeric).abs() < 1e-8 * (1.0 + numeric.abs()) * scale.max(1.0), "{t:?} {raw}");
            }
        }
    }

    #[test]
    fn values_stay_inside_and_starts_outside_are_refused() {
        let bounded = Transform { kind: ParameterKind::Bounded(0.1, 0.3), scale: 1.0, count: 1 };
        for raw in [-1e9, -100.0, 0.0, 100.0, 1e9] {
            assert!((0.1..=0.3).contains(&bounded.value(raw)));
        }
        assert_eq!(bounded.raw(0.3), None);
        assert_eq!(bounded.raw(0.4), None);
        let t = |kind| Transform { kind, scale: 1.0, count: 1 };
        for (kind, value) in [
            (ParameterKind::Positive, 0.0),
            (ParameterKind::Positive, -1.0),
            (ParameterKind::Unit, 1.0),
            (ParameterKind::Unit, 1.5),
            (ParameterKind::Log(1.0, 10.0), 1.0),
            (ParameterKind::Log(1.0, 10.0), -2.0),
            (ParameterKind::SignedUnit, -1.0),
            (ParameterKind::Free, f64::INFINITY),
        ] {
            assert_eq!(t(kind).raw(value), None, "{kind} {value}");
        }
    }

    #[test]
    fn structured_values_come_back_and_pull_back_their_derivatives() {
        let cases = [
            (ParameterKind::Cholesky(3), 9, vec![2.0, 0.0, 0.0, -1.0, 0.5, 0.0, 0.3, 4.0, 1.5]),
            (ParameterKind::Lower(2), 4, vec![-2.0, 0.0, -1.0, 0.0]),
            (ParameterKind::Log(0.5, 40.0), 2, vec![1.0, 20.0]),
            (ParameterKind::Simplex(4), 4, vec![0.1, 0.2, 0.3, 0.4]),
            (ParameterKind::Positive, 2, vec![0.1, 20.0]),
        ];
        for (kind, count, values) in cases {
            let t = Transform { kind, scale: 1.0, count };
            let raw = t.raws_of(&values).expect("inside");
            assert_eq!(raw.len(), t.raws());
            let at = |raw: &[f64]| {
                let mut out = Vec::new();
                t.values_into(raw, &mut out);
                out
            };
            assert!(at(&raw).iter().zip(&values).all(|(a, b)| (a - b).abs() < 1e-14 * b.abs().max(1.0)), "{kind}");
            // The derivative of a weighted sum of values, against differences.
            let weights: Vec<f64> = (0..count).map(|k| 1.0 + k as f64).collect();
            let weighted = |raw: &[f64]| at(raw).iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>();
            let mut exact = vec![0.0; raw.len()];
            t.pull_back(&raw, &weights, &mut exact);
            for (k, exact) in exact.iter().enumerate() {
                let (mut up, mut down) = (raw.clone(), raw.clone());
                up[k] += 1e-6;
                down[k] -= 1e-6;
                assert!((exact - (weighted(&up) - weighted(&down)) / 2e-6).abs() < 1e-8, "{kind} {k}");
            }
            // And the second derivatives of the same sum, against differences of the first.
            let n = raw.len();
            let mut bends = vec![0.0; n * n];
            t.add_bends(&raw, &weights, &mut bends, n);
            for k in 0..n {
                let moved = |by: f64| {
                    let (mut raw, mut out) = (raw.clone(), vec![0.0; n]);
                    raw[k] += by;
                    t.pull_back(&raw, &weights, &mut out);
                    out
                };
                for (i, (up, down)) in moved(1e-6).iter().zip(moved(-1e-6)).enumerate() {
                    assert!((bends[k * n + i] - (up - down) / 2e-6).abs() < 1e-7, "{kind} {k} {i}");
                }
            }
        }
        // A column whose raw diagonal is below 0 is turned round: the product with its transpose stays.
        let turned = Transform { kind: ParameterKind::Cholesky(2), scale: 2.0, count: 4 };
        let mut values = Vec::new();
        turned.values_into(&[-1.5, 0.25, 3.0], &mut values);
        assert_eq!(values, [3.0, 0.0, -0.5, 6.0]);
        assert_eq!(turned.raws_of(&[-3.0, 0.0, 1.0, 6.0]), None);
        let wrong = Transform { kind: ParameterKind::Simplex(2), scale: 1.0, count: 2 };
        assert_eq!(wrong.raws_of(&[0.4, 0.4]), None);
        let above = Transform { kind: ParameterKind::Cholesky(2), scale: 1.0, count: 4 };
        assert_eq!(above.raws_of(&[1.0, 1.0, 0.0, 1.0]), None);
    }

    #[test]
    fn stretches_are_determinants_with_their_derivatives() {
        let cases = [
            (ParameterKind::Free, 2.0, 2, vec![0.3, -1.0]),
            (ParameterKind::Positive, 3.0, 2, vec![0.3, -1.0]),
            (ParameterKind::Unit, 2.0, 2, vec![0.3, -1.0]),
            (ParameterKind::SignedUnit, 0.5, 1, vec![0.4]),
            (ParameterKind::Bounded(-1.0, 4.0), 1.0, 1, vec![0.4]),
            (ParameterKind::Log(0.5, 20.0), 1.0, 1, vec![0.4]),
            (ParameterKind::Lower(2), 2.0, 4, vec![0.3, -1.0, 0.7]),
            (ParameterKind::Cholesky(2), 2.0, 4, vec![0.3, -1.0, -0.7]),
            (ParameterKind::Simplex(3), 1.0, 3, vec![0.3, -1.0]),
        ];
        for (kind, scale, count, raw) in cases {
            let t = Transform { kind, scale, count };
            let n = raw.len();
            let stretch = |raw: &[f64]| {
                let mut gradient = vec![0.0; n];
                (t.log_stretch(raw, &mut gradient), gradient)
            };
            // The determinant of the derivatives of the values that are not decided by the others.
            let kept: Vec<usize> = match kind {
                ParameterKind::Cholesky(_) | ParameterKind::Lower(_) => vec![0, 2, 3],
                _ => (0..n).collect(),
            };
            let mut jacobian: Vec<Vec<f64>> = kept
                .iter()
                .map(|&k| {
                    let (mut unit, mut row) = (vec![0.0; count], vec![0.0; n]);
                    unit[k] = 1.0;
                    t.pull_back(&raw, &unit, &mut row);
                    row
                })
                .collect();
            let mut determinant = 1.0;
            for i in 0..n {
                determinant *= jacobian[i][i];
                for j in i + 1..n {
                    let factor = jacobian[j][i] / jacobian[i][i];
                    (0..n).for_each(|k| jacobian[j][k] -= factor * jacobian[i][k]);
                }
            }
            let (value, gradient) = stretch(&raw);
            assert!((value - determinant.abs().ln()).abs() < 1e-12, "{kind}: {value} {determinant}");
            for (k, exact) in gradient.iter().enumerate() {
                let moved = |by: f64| {
                    let mut raw = raw.clone();
                    raw[k] += by;
                    stretch(&raw).0
                };
                assert!((exact - (moved(1e-6) - moved(-1e-6)) / 2e-6).abs() < 1e-8, "{kind} {k}");
            }
        }
    }
}
