//! Rounding, and integer division of reals that hold integers.

/// The largest integer not above x.
#[inline]
pub fn floor(x: f64) -> f64 {
    x.floor()
}

/// The smallest integer not below x.
#[inline]
pub fn ceiling(x: f64) -> f64 {
    x.ceil()
}

/// The nearest integer; halves go to the even one (R7RS 6.2.6).
#[inline]
pub fn round(x: f64) -> f64 {
    x.round_ties_even()
}

/// x without its fraction.
#[inline]
pub fn truncate(x: f64) -> f64 {
    x.trunc()
}

/// Quotient of two integers rounded towards zero. Where it is above 2^53 it may differ from the
/// rounded exact quotient in the last place. No result is `-0.0`.
#[inline]
pub fn quotient(x: f64, y: f64) -> f64 {
    // x - r is a multiple of y, so the quotient cannot be rounded across an integer below 2^53.
    ((x - x % y) / y).round_ties_even() + 0.0
}

/// Quotient of two integers rounded down; otherwise as `quotient`.
#[inline]
pub fn floor_quotient(x: f64, y: f64) -> f64 {
    let r = x % y;
    let truncated = ((x - r) / y).round_ties_even();
    if r != 0.0 && (r < 0.0) != (y < 0.0) { truncated - 1.0 } else { truncated + 0.0 }
}

/// What `quotient` leaves: exact, with the sign of x. No result is `-0.0`.
#[inline]
pub fn remainder(x: f64, y: f64) -> f64 {
    x % y + 0.0
}

/// What rounding the quotient down leaves: with the sign of y. No result is `-0.0`.
#[inline]
pub fn modulo(x: f64, y: f64) -> f64 {
    let r = x % y;
    if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r + 0.0 }
}
