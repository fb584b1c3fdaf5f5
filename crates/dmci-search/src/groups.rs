//! Dimensionless groups (Buckingham 1914): where all inputs and the target have known dimensions and numbers have none,
//! a law is a product of powers of the inputs with the dimension of the target, times a function of groups of them that
//! are numbers. That leaves fewer inputs, and power laws whose exponents are exact.

use crate::candidate::Candidate;
use crate::data::Part;
use crate::enumeration::Enumeration;
use crate::expr::{Expr, Node};
use crate::monomial::{Monomial, monomials, product};
use crate::operation::{Operation, Operations};
use crate::units::Units;
use dmci_units::BASES;

/// The products of powers that dimensions allow.
#[derive(Clone, Debug)]
pub struct Groups {
    /// Exponents of the inputs in one product with the dimension of the target.
    scale: Vec<f64>,
    /// Exponents of the inputs in groups of which all others are products of powers.
    basis: Vec<Vec<f64>>,
}

/// Scales that are tried in front of functions of groups, and groups that these are of.
const SCALES: usize = 8;
const GROUPS: usize = 7;

/// Numbers below this are 0.
const ZERO: f64 = 1e-9;

impl Groups {
    /// The groups of a problem; none if a dimension is unknown, or if nothing has that of the target.
    pub fn new(units: &Units) -> Option<Groups> {
        let inputs: Vec<_> = units.inputs.iter().copied().collect::<Option<Vec<_>>>()?;
        let target = units.target.filter(|_| units.is_pure())?;
        let n = inputs.len();
        // One equation for each base unit: the exponents in question, and what they must add up to.
        let mut rows: Vec<Vec<f64>> = (0..BASES.len())
            .map(|base| inputs.iter().chain([&target]).map(|dimension| dimension.0[base]).collect())
            .collect();
        let mut pivots: Vec<usize> = Vec::new();
        for column in 0..n {
            let row = pivots.len();
            let Some(largest) =
                (row..rows.len()).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))
            else {
                break;
            };
            if rows[largest][column].abs() < ZERO {
                continue;
            }
            rows.swap(row, largest);
            let by = rows[row][column];
            rows[row].iter_mut().for_each(|x| *x /= by);
            let taken = rows[row].clone();
            for (_, line) in rows.iter_mut().enumerate().filter(|(other, _)| *other != row) {
                let factor = line[column];
                line.iter_mut().zip(&taken).for_each(|(x, t)| *x -= factor * t);
            }
            pivots.push(column);
        }
        if rows[pivots.len()..].iter().any(|row| row[n].abs() > ZERO) {
            return None;
        }
        let mut scale = vec![0.0; n];
        pivots.iter().zip(&rows).for_each(|(&column, row)| scale[column] = row[n]);
        let of = |free: usize| {
            let mut exponents = vec![0.0; n];
            exponents[free] = 1.0;
            pivots.iter().zip(&rows).for_each(|(&column, row)| exponents[column] = -row[free]);
            exponents
        };
        let basis = (0..n).filter(|column| !pivots.contains(column)).map(of).collect();
        Some(Groups { scale, basis })
    }

    /// How many groups there are of which all others are products of powers.
    pub fn count(&self) -> usize {
        self.basis.len()
    }

    /// The exponents of the inputs in the scale times the groups to these powers.
    pub fn exponents(&self, powers: &[f64]) -> Vec<f64> {
        let mut sum = self.scale.clone();
        for (group, power) in self.basis.iter().zip(powers) {
            sum.iter_mut().zip(group).for_each(|(s, g)| *s += power * g);
        }
        // Twelfths are exact, whatever elimination has rounded.
        let nearest = |e: f64| (12.0 * e).round() / 12.0;
        sum.into_iter().map(|e| if (e - nearest(e)).abs() < ZERO { nearest(e) } else { e }).collect()
    }

    /// The logarithm of the scale, or of a group, in each row.
    pub fn logarithm(&self, group: Option<usize>, logarithms: &[Vec<f64>], rows: usize) -> Vec<f64> {
        let exponents = group.map_or(&self.scale, |g| &self.basis[g]);
        (0..rows).map(|r| exponents.iter().zip(logarithms).map(|(e, x)| e * x[r]).sum()).collect()
    }
}

/// Candidates that are a scale times a function of groups, for the scale of this number: the best lines in terms of an
/// enumeration over the groups. None behind the last scale.
pub fn functions_of_groups(
    part: &Part,
    operations: &Operations,
    units: &Units,
    number: usize,
) -> Option<Vec<Candidate>> {
    let target = units.target.filter(|_| units.is_pure())?;
    let is_product =
        |doubled: &[i8], wanted: &dmci_units::Dimension| units.product(doubled).is_some_and(|d| d.is_same(wanted));
    let mut scales = monomials(part, 6, 8, 200, &|doubled| is_product(doubled, &target));
    if target.is_none() {
        scales.insert(0, Monomial::one(part.columns.len()));
    }
    if scales.is_empty() {
        let exponents = Groups::new(units)?.exponents(&[]);
        let is_usable = |(e, column): (&f64, &Vec<f64>)| {
            (2.0 * e).fract() == 0.0 && e.abs() <= 6.0 && (e.fract() == 0.0 || column.iter().all(|x| *x > 0.0))
        };
        if exponents.iter().zip(&part.columns).all(is_usable) {
            scales.push(Monomial { doubled: exponents.iter().map(|e| (2.0 * e) as i8).collect(), atom: None });
        }
    }
    let scale = scales.get(number).filter(|_| number < SCALES)?;
    let none = dmci_units::Dimension::NONE;
    let mut groups = monomials(part, 6, 8, 60, &|doubled| is_product(doubled, &none));
    groups.retain(Monomial::is_positive);
    groups.truncate(GROUPS);
    if groups.is_empty() {
        return None;
    }
    let size = scale.column(part);
    let inner = Part {
        columns: groups.iter().map(|group| group.column(part)).collect(),
        target: part.target.iter().zip(&size).map(|(y, s)| y / s).collect(),
        root_weights: None,
    };
    let is_finite = inner.columns.iter().chain([&inner.target]).all(|c| c.iter().all(|x| x.is_finite()));
    if !is_finite {
        return Some(Vec::new());
    }
    let found = Enumeration::new(&inner, operations, None).batch(0).unwrap_or_default();
    let written: Vec<Expr> = groups.iter().map(Monomial::expr).collect();
    let whole = |candidate: Candidate| {
        let mut nodes: Vec<Node> = Vec::new();
        for node in &candidate.expr.nodes {
            match node {
                Node::Var(v) => nodes.extend_from_slice(&written[*v as usize].nodes),
                other => nodes.push(*other),
            }
        }
        let factors = [(scale.expr(), 1.0), (Expr { nodes }, 1.0)];
        let expr = if scale.degree() == 0 { factors[1].0.clone() } else { product(&factors) };
        Candidate::new(&expr, &candidate.values, operations)
    };
    let allowed = scale.degree() == 0 || operations.allows(Operation::Mul);
    Some(if allowed { found.into_iter().map(whole).collect() } else { Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Constants;

    fn units(inputs: &[&str], target: &str) -> Units {
        let of = |text: &str| dmci_units::parse(text).expect("a unit");
        Units {
            inputs: inputs.iter().map(|i| Some(of(i))).collect(),
            target: Some(of(target)),
            constants: Constants::Pure,
        }
    }

    #[test]
    fn exponents_are_those_that_dimensions_leave() {
        // The period of a pendulum: length, gravity, mass and amplitude.
        let groups = Groups::new(&units(&["m", "m/s^2", "kg", "rad"], "s")).expect("there is a scale");
        assert_eq!(groups.exponents(&[0.0]), [0.5, -0.5, 0.0, 0.0]);
        assert_eq!((groups.count(), groups.exponents(&[2.0])), (1, vec![0.5, -0.5, 0.0, 2.0]));
        // Nothing made of lengths is a mass.
        assert!(Groups::new(&units(&["m", "s"], "kg")).is_none());
        let unknown = Units { inputs: vec![None], ..units(&["m"], "m") };
        assert!(Groups::new(&unknown).is_none());
    }

    #[test]
    fn a_function_of_a_group_is_found() {
        // v / sqrt(1 - v^2 / c^2), with speeds alone.
        let mut stream = dmci_stats::random::Stream::new(3, 5);
        let mut columns = vec![Vec::new(), Vec::new()];
        for _ in 0..100 {
            columns[0].push(0.1 + stream.uniform());
            columns[1].push(2.0 + stream.uniform());
        }
        let law = |v: f64, c: f64| v / (1.0 - v * v / (c * c)).sqrt();
        let target = (0..100).map(|r| law(columns[0][r], columns[1][r])).collect();
        let part = Part { columns, target, root_weights: None };
        let units = units(&["m/s", "m/s"], "m/s");
        let operations = Operations::default();
        let names = ["v", "c"].map(String::from);
        let mut texts = Vec::new();
        for number in 0.. {
            let Some(list) = functions_of_groups(&part, &operations, &units, number) else { break };
            assert!(list.iter().all(|c| units.agree(&c.expr)));
            texts.extend(list.iter().take(5).map(|c| c.formula(&names, &vec![1.0; c.values.len()])));
        }
        assert!(texts.iter().any(|t| t.contains("sqrt")), "{texts:?}");
    }
}
