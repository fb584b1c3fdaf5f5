//! From the raw numbers that a fit searches over to the values that a program sees, and back.

use dmci::{Parameter, ParameterKind};
use dmci_ops::real::{atanh, expm1, log, log1p, sigmoid, softplus, tanh};

/// The transform of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform {
    kind: ParameterKind,
    scale: f64,
}

impl Transform {
    /// The transform that a schema asks for.
    pub fn of(parameter: &Parameter) -> Transform {
        Transform { kind: parameter.kind, scale: parameter.scale.unwrap_or(1.0) }
    }

    /// The value that a raw number stands for.
    pub fn value(self, raw: f64) -> f64 {
        match self.kind {
            ParameterKind::Positive => self.scale * softplus(raw),
            ParameterKind::Unit => self.scale * sigmoid(raw),
            ParameterKind::SignedUnit => self.scale * tanh(raw),
            // Rounding must not lead out of the interval.
            ParameterKind::Bounded(low, high) => (low + (high - low) * sigmoid(raw)).clamp(low, high),
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
            ParameterKind::Bounded(low, high) => format!("between {low} and {high}"),
            _ => "finite".into(),
        }
    }
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

    const KINDS: [(ParameterKind, f64); 8] = [
        (ParameterKind::Free, 1.0),
        (ParameterKind::Free, 250.0),
        (ParameterKind::Positive, 1.0),
        (ParameterKind::Positive, 0.01),
        (ParameterKind::Unit, 1.0),
        (ParameterKind::Unit, 7.0),
        (ParameterKind::SignedUnit, 2.0),
        (ParameterKind::Bounded(-3.0, 5.0), 1.0),
    ];

    #[test]
    fn values_come_back_as_raw_numbers() {
        for (kind, scale) in KINDS {
            let t = Transform { kind, scale };
            for i in -40..=40 {
                let raw = f64::from(i) * 0.2;
                let back = t.raw(t.value(raw)).expect("inside");
                // tanh and sigmoid are flat far out, so a rounding error of the value grows.
                assert!((back - raw).abs() < 1e-7, "{t:?} {raw} {back}");
            }
        }
        let tiny = Transform { kind: ParameterKind::Positive, scale: 1.0 };
        for value in [1e-300, 1e-10, 1.0, 50.0, 1e6, 1e300] {
            let raw = tiny.raw(value).expect("inside");
            assert!((tiny.value(raw) / value - 1.0).abs() < 1e-12, "{value}");
        }
    }

    #[test]
    fn slopes_are_derivatives() {
        for (kind, scale) in KINDS {
            let t = Transform { kind, scale };
            for i in -30..=30 {
                let (raw, h) = (f64::from(i) * 0.2, 1e-5);
                let numeric = (t.value(raw + h) - t.value(raw - h)) / (2.0 * h);
                assert!((t.slope(raw) - numeric).abs() < 1e-8 * (1.0 + numeric.abs()) * scale.max(1.0), "{t:?} {raw}");
            }
        }
    }

    #[test]
    fn values_stay_inside_and_starts_outside_are_refused() {
        let bounded = Transform { kind: ParameterKind::Bounded(0.1, 0.3), scale: 1.0 };
        for raw in [-1e9, -100.0, 0.0, 100.0, 1e9] {
            assert!((0.1..=0.3).contains(&bounded.value(raw)));
        }
        assert_eq!(bounded.raw(0.3), None);
        assert_eq!(bounded.raw(0.4), None);
        let t = |kind| Transform { kind, scale: 1.0 };
        for (kind, value) in [
            (ParameterKind::Positive, 0.0),
            (ParameterKind::Positive, -1.0),
            (ParameterKind::Unit, 1.0),
            (ParameterKind::Unit, 1.5),
            (ParameterKind::SignedUnit, -1.0),
            (ParameterKind::Free, f64::INFINITY),
        ] {
            assert_eq!(t(kind).raw(value), None, "{kind} {value}");
        }
    }
}
