//! Refusals: what is wrong with a setting, and what to write instead. Settings are named between `‹` and `›`.

use dmci::{Diagnostic, ErrorCode, Report};
use std::fmt::Display;

/// A report of a setting that cannot be used.
pub fn refusal(message: impl Into<String>, help: impl Into<String>) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0910, message).help(help))
}

fn out_of_range(name: &str, range: &str, got: impl Display, example: &str) -> Report {
    refusal(format!("‹{name}› must be {range}, got {got}"), format!("write ‹{name} {example}›, for example"))
}

/// Refuses a number that is not finite and above 0.
pub fn above_zero(name: &str, value: Option<f64>, example: &str) -> Result<(), Report> {
    match value.filter(|x| !(x.is_finite() && *x > 0.0)) {
        Some(x) => Err(out_of_range(name, "a number above 0", x, example)),
        None => Ok(()),
    }
}

/// Refuses a number that is not between 0 and 1.
pub fn share(name: &str, value: Option<f64>, example: &str) -> Result<(), Report> {
    match value.filter(|x| !(*x > 0.0 && *x < 1.0)) {
        Some(x) => Err(out_of_range(name, "a number between 0 and 1", x, example)),
        None => Ok(()),
    }
}

/// Refuses a number that is not finite and at least 0.
pub fn not_negative(name: &str, value: Option<f64>, example: &str) -> Result<(), Report> {
    match value.filter(|x| !(x.is_finite() && *x >= 0.0)) {
        Some(x) => Err(out_of_range(name, "a number of at least 0", x, example)),
        None => Ok(()),
    }
}

/// Refuses a number that is not finite.
pub fn finite(name: &str, value: Option<f64>, example: &str) -> Result<(), Report> {
    match value.filter(|x| !x.is_finite()) {
        Some(x) => Err(out_of_range(name, "a finite number", x, example)),
        None => Ok(()),
    }
}

/// Refuses a count below the least one that makes sense.
pub fn at_least(name: &str, least: u64, value: Option<u64>, example: &str) -> Result<(), Report> {
    match value.filter(|n| *n < least) {
        Some(n) => Err(out_of_range(name, &format!("at least {least}"), n, example)),
        None => Ok(()),
    }
}

/// Refuses a setting beside one that leaves it nothing to say.
pub fn apart(name: &str, given: bool, other: &str, present: bool, help: &str) -> Result<(), Report> {
    match given && present {
        true => Err(refusal(format!("‹{name}› does not go with ‹{other}›"), help)),
        false => Ok(()),
    }
}

/// Refuses a setting without one that it needs.
pub fn needs(name: &str, given: bool, other: &str, present: bool, help: &str) -> Result<(), Report> {
    match given && !present {
        true => Err(refusal(format!("‹{name}› needs ‹{other}›"), help)),
        false => Ok(()),
    }
}
