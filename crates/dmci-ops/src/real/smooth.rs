//! Functions that models are made of: step-like and ramp-like.

use super::{exp, log1p};

/// 1 / (1 + exp(-x)), without overflow and with full relative accuracy in both tails.
#[inline]
pub fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + exp(-x))
    } else {
        let e = exp(x);
        e / (1.0 + e)
    }
}

/// log(1 + exp(x)), without overflow and with full relative accuracy in both tails.
#[inline]
pub fn softplus(x: f64) -> f64 {
    if x > 0.0 { x + log1p(exp(-x)) } else { log1p(exp(x)) }
}

/// The larger one of x and 0.
#[inline]
pub fn relu(x: f64) -> f64 {
    super::max(x, 0.0)
}

/// -1, 0 or 1; zeros and NaN stay as they are.
#[inline]
pub fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        x
    }
}
