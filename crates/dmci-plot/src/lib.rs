//! Pictures, independent of what they show: the picture of a fit, figures of lines, and how they become SVG, PNG and
//! text.
//!
//! **Invariant:** nothing here knows a program, a problem or a fit.

mod aligned;
mod axis;
mod chart;
mod drawing;
pub mod figure;
mod font;
mod png;
mod svg;

pub use aligned::aligned;
pub use axis::Axis;
pub use chart::chart;
pub use png::png;
pub use svg::svg;

/// One row of data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Its place on the horizontal axis.
    pub x: f64,
    /// What was measured.
    pub y: f64,
    /// What the program predicts.
    pub prediction: f64,
    /// Whether it was kept out of the fit.
    pub held_out: bool,
    /// The number of its group.
    pub group: usize,
}

/// A piece of a fitted curve without gaps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece {
    /// The number of the group that it is fitted to.
    pub group: usize,
    /// Its places.
    pub places: Vec<(f64, f64)>,
}

/// What is drawn, independent of how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// What the picture shows.
    pub title: String,
    /// How good the fit is.
    pub subtitle: String,
    /// The name of the horizontal axis.
    pub x: String,
    /// The name of the vertical axis.
    pub y: String,
    /// The data.
    pub points: Vec<Point>,
    /// The fitted curve in pieces without gaps. Empty if predictions depend on more than the
    /// horizontal axis: then they are drawn as points.
    pub curve: Vec<Piece>,
    /// Where the curve lies with a probability of 95%, as far as parameters are uncertain: a place, the
    /// lowest and the highest value.
    pub band: Vec<(f64, f64, f64)>,
    /// Where 95% of new measurements lie; empty if the noise is not normal or differs by row.
    pub prediction: Vec<(f64, f64, f64)>,
    /// The part of the horizontal axis of which nothing was fitted.
    pub shade: Option<(f64, f64)>,
    /// The names of the groups, each with a colour of its own; empty if all rows have the same.
    pub groups: Vec<String>,
    /// Which axes are logarithmic.
    pub logarithmic: (bool, bool),
    /// Pictures below this one: those of further targets.
    pub further: Vec<Picture>,
}

/// A number with so many significant digits, without useless zeros: `9.8062`, `1.25e-7`.
pub fn digits(x: f64, count: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return if x.is_nan() { "nan".into() } else { x.to_string() };
    }
    let scientific = format!("{x:.*e}", count.saturating_sub(1));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if (-5..count.max(6) as i32).contains(&exponent) {
        trimmed(&format!("{x:.*}", (count as i32 - 1 - exponent).max(0) as usize))
    } else {
        format!("{}e{exponent}", trimmed(mantissa))
    }
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn numbers_have_significant_digits() {
        for (x, expected) in [
            (9.80623456, "9.8062"),
            (0.5, "0.5"),
            (-1234.5678, "-1234.6"),
            (99999.6, "1e5".replace("1e5", "100000").as_str()),
            (1.25e-7, "1.25e-7"),
            (0.000123456, "0.00012346"),
            (1e20, "1e20"),
            (0.0, "0"),
            (100.0, "100"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(digits(x, 5), expected);
        }
    }
}
