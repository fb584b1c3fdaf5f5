//! Functions that models are made of: step-like and ramp-like.

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
