//! Dimensions: exponents of the SI base units.

use std::fmt;

/// The SI base units, in the order of exponents.
pub const BASES: [&str; 7] = ["m", "kg", "s", "A", "K", "mol", "cd"];

/// Exponents that differ by less are equal: they are fractions with small denominators.
const SAME: f64 = 1e-9;

/// Largest denominator of an exponent that is printed as a fraction.
const DENOMINATORS: std::ops::RangeInclusive<u8> = 1..=12;

/// The dimension of a unit: an exponent for each of [`BASES`].
///
/// ```
/// let speed = dmci_units::parse("km/h")?;
/// let time = dmci_units::parse("min")?;
/// assert_eq!(speed.times(&time).to_string(), "m");
/// assert!(speed.power(0.0).is_none());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dimension(pub [f64; 7]);

impl Dimension {
    /// The dimension of numbers.
    pub const NONE: Dimension = Dimension([0.0; 7]);

    /// Whether it is that of numbers.
    pub fn is_none(&self) -> bool {
        self.0.iter().all(|e| e.abs() < SAME)
    }

    /// Whether two are equal.
    pub fn is_same(&self, other: &Dimension) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| (a - b).abs() < SAME)
    }

    /// The dimension of a product.
    pub fn times(&self, other: &Dimension) -> Dimension {
        self.plus(1.0, other)
    }

    /// The dimension of a quotient.
    pub fn over(&self, other: &Dimension) -> Dimension {
        self.plus(-1.0, other)
    }

    /// The dimension of a power.
    pub fn power(&self, exponent: f64) -> Dimension {
        Dimension(self.0.map(|e| e * exponent))
    }

    /// The dimension of this times another one to a power.
    pub fn plus(&self, exponent: f64, other: &Dimension) -> Dimension {
        let mut sum = self.0;
        sum.iter_mut().zip(&other.0).for_each(|(a, b)| *a += exponent * b);
        Dimension(sum)
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let write = |f: &mut fmt::Formatter<'_>, above: bool| -> Result<usize, fmt::Error> {
            let mut count = 0;
            for (base, &e) in BASES.iter().zip(&self.0).filter(|(_, e)| e.abs() >= SAME && (**e > 0.0) == above) {
                let between = if above { " " } else { "/" };
                if count > 0 || !above {
                    f.write_str(between)?;
                }
                f.write_str(base)?;
                exponent(f, e.abs())?;
                count += 1;
            }
            Ok(count)
        };
        if !self.0.iter().any(|e| *e >= SAME) {
            f.write_str("1")?;
        }
        write(f, true)?;
        write(f, false)?;
        Ok(())
    }
}

fn exponent(f: &mut fmt::Formatter<'_>, e: f64) -> fmt::Result {
    let fraction = DENOMINATORS.map(f64::from).find(|q| (e * q - (e * q).round()).abs() < SAME * q);
    match fraction {
        Some(1.0) if (e - 1.0).abs() < SAME => Ok(()),
        Some(1.0) => write!(f, "^{}", e.round()),
        Some(q) => write!(f, "^({}/{q})", (e * q).round()),
        None => write!(f, "^{e:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_shown_as_units() {
        let shown = |e: [f64; 7]| Dimension(e).to_string();
        assert_eq!(shown([0.0; 7]), "1");
        assert_eq!(shown([1.0, 0.0, -2.0, 0.0, 0.0, 0.0, 0.0]), "m/s^2");
        assert_eq!(shown([2.0, 1.0, -3.0, -1.0, 0.0, 0.0, 0.0]), "m^2 kg/s^3/A");
        assert_eq!(shown([0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0]), "1/s");
        assert_eq!(shown([0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), "m^(1/2)");
        assert_eq!(shown([1.0 / 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), "m^(1/3)");
    }

    #[test]
    fn shown_dimensions_can_be_read_again() {
        for e in [[0.0; 7], [1.0, 0.5, -2.0, 0.0, -1.5, 3.0, 0.0], [0.0, 0.0, -1.0 / 3.0, 0.0, 0.0, 0.0, -1.0]] {
            let one = Dimension(e);
            assert!(crate::parse(&one.to_string()).expect("a unit").is_same(&one), "{one}");
        }
    }
}
