//! Equations between dimensions of which some are unknown: linear ones over the exponents, solved as they come
//! (Kennedy 1996, unification in abelian groups; exponents are rational here, so every unknown can be solved for).

use crate::dimension::Dimension;

/// A dimension with unknown factors: a known one, times unknowns to powers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quantity {
    /// What is known.
    pub known: Dimension,
    /// Unknowns with their exponents, sorted, without zeros.
    pub unknown: Vec<(u32, f64)>,
}

/// Exponents below this are 0.
const ZERO: f64 = 1e-9;

impl Quantity {
    /// A known dimension.
    pub fn known(dimension: Dimension) -> Quantity {
        Quantity { known: dimension, unknown: Vec::new() }
    }

    /// A number.
    pub fn number() -> Quantity {
        Quantity::default()
    }

    /// Its dimension, if nothing of it is unknown.
    pub fn dimension(&self) -> Option<Dimension> {
        self.unknown.is_empty().then_some(self.known)
    }

    /// The quantity of this times another one to a power.
    pub fn times(&self, exponent: f64, other: &Quantity) -> Quantity {
        let mut unknown = self.unknown.clone();
        for &(number, e) in &other.unknown {
            match unknown.binary_search_by_key(&number, |u| u.0) {
                Ok(at) => unknown[at].1 += exponent * e,
                Err(at) => unknown.insert(at, (number, exponent * e)),
            }
        }
        unknown.retain(|u| u.1.abs() > ZERO);
        Quantity { known: self.known.plus(exponent, &other.known), unknown }
    }

    /// The quantity of a power.
    pub fn power(&self, exponent: f64) -> Quantity {
        Quantity::number().times(exponent, self)
    }
}

/// The equations so far: what unknowns are, as far as that follows.
///
/// ```
/// use dmci_units::{Equations, Quantity, parse};
///
/// let (metre, second) = (Quantity::known(parse("m")?), Quantity::known(parse("s")?));
/// let mut equations = Equations::default();
/// let speed = equations.fresh();
/// // x = v t
/// assert!(equations.equate(&metre, &speed.times(1.0, &second)).is_ok());
/// assert_eq!(equations.resolve(&speed).dimension().map(|d| d.to_string()), Some("m/s".into()));
/// let (a, b) = equations.equate(&speed, &metre).unwrap_err();
/// assert_eq!((a.to_string(), b.to_string()), ("m/s".into(), "m".into()));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Equations {
    solved: Vec<Option<Quantity>>,
}

impl Equations {
    /// A quantity of which nothing is known.
    pub fn fresh(&mut self) -> Quantity {
        self.solved.push(None);
        Quantity { known: Dimension::NONE, unknown: vec![(self.solved.len() as u32 - 1, 1.0)] }
    }

    /// Forgets everything, and keeps the memory.
    pub fn clear(&mut self) {
        self.solved.clear();
    }

    /// A quantity in unknowns that are not solved for.
    pub fn resolve(&self, quantity: &Quantity) -> Quantity {
        let mut found = quantity.clone();
        // Solutions mention later unknowns only as long as these are open, so this comes to an end.
        while let Some(&(number, e)) = found.unknown.iter().find(|u| self.solved[u.0 as usize].is_some()) {
            found.unknown.retain(|u| u.0 != number);
            if let Some(solution) = &self.solved[number as usize] {
                found = found.times(e, solution);
            }
        }
        found
    }

    /// Demands that two are equal. The error has the dimensions that differ; where some of both is unknown, they are the
    /// smallest ones that differ as much.
    pub fn equate(&mut self, a: &Quantity, b: &Quantity) -> Result<(), (Dimension, Dimension)> {
        let (a, b) = (self.resolve(a), self.resolve(b));
        let ratio = a.times(-1.0, &b);
        if let Some(&(number, e)) = ratio.unknown.first() {
            let mut others = ratio.clone();
            others.unknown.remove(0);
            self.solved[number as usize] = Some(others.power(-1.0 / e));
            return Ok(());
        }
        if ratio.known.is_none() { Ok(()) } else { Err((a.known, b.known)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknowns_are_solved_for_in_any_order() {
        let metre = Quantity::known(crate::parse("m").expect("a unit"));
        let mut equations = Equations::default();
        let (p, q) = (equations.fresh(), equations.fresh());
        // p q = m, p / q = m^3, so p = m^2 and q = 1/m.
        assert!(equations.equate(&p.times(1.0, &q), &metre).is_ok());
        assert!(equations.equate(&p.times(-1.0, &q), &metre.power(3.0)).is_ok());
        let found = |x: &Quantity| equations.resolve(x).dimension().map(|d| d.to_string());
        assert_eq!((found(&p), found(&q)), (Some("m^2".into()), Some("1/m".into())));
        let p2 = p.power(2.0);
        assert!(equations.clone().equate(&p2, &metre.power(4.0)).is_ok());
        assert!(equations.equate(&p2, &metre).is_err());
    }
}
