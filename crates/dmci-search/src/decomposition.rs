//! Decomposition: laws that are products of powers and of simple factors, and sums of few monomials, found by linear
//! regression. `log |y|` of a product is a sum, so the exponents of the inputs come out at once, and each further factor,
//! such as `1 - u/v`, `sin(x)` or `1 - exp(x/y)`, is one more column. Sums are sought for the target and for what the
//! inverse of an outer function makes of it.

use crate::candidate::Candidate;
use crate::columns::{Columns, Found};
use crate::data::Part;
use crate::enumeration::Outer;
use crate::expr::{Expr, Node};
use crate::groups::{Groups, functions_of_groups};
use crate::monomial::{Monomial, Shape, atoms, monomials, product};
use crate::operation::{Operation, Operations};
use crate::units::Units;
use dmci_ops::real::{exp, log};
use dmci_units::Dimension;

/// Rows that decide which columns are worth a fit.
const ROWS: usize = 64;

/// First factors and first terms that are each combined with all others, in one proposal.
const BEAM: usize = 60;

/// Proposals of pairs.
const ROUNDS: usize = 5;

/// Candidates of a proposal at most.
const MOST: usize = 160;

/// What may be left of a target, as a share of its variation, if a regression is to count as exact.
const EXACT: f64 = 1e-9;

/// Coefficients inside of factors that are tried.
const COEFFICIENTS: [f64; 5] = [1.0, 0.5, 2.0, 1.0 / 3.0, 3.0];

/// Scales of exponents that are tried.
const SCALES: [f64; 9] = [1.0, 2.0, 0.5, 0.25, 0.16, 0.08, 0.04, 4.0, 8.0];

/// Makes products and sums of the inputs.
#[derive(Debug)]
pub struct Decomposition {
    operations: Operations,
    part: Part,
    units: Option<Units>,
    /// The groups whose powers stand in the base of `logs`, in the place of the inputs.
    groups: Option<Groups>,
    logs: Option<Columns<Factor>>,
    /// Outer functions, and what sums inside of them are made of.
    outers: Vec<(Outer, usize)>,
    sums: Vec<Columns<Monomial>>,
}

/// A factor of a product: an expression, with the coefficient inside of it if it has one that is not exact.
#[derive(Clone, Debug)]
struct Factor {
    shape: Shape,
    monomial: Monomial,
    coefficient: f64,
    /// Whether its values are below 0 in all rows, or in some of them.
    negative: Option<bool>,
}

impl Factor {
    /// The factor with its coefficient as a number of the expression if it is 1 or -1, as parameter `next` otherwise.
    fn expr(&self, next: usize, free: bool) -> (Expr, Option<f64>) {
        let inner = self.monomial.expr();
        let is_exact = self.coefficient.abs() == 1.0 && !free;
        let one = Expr::leaf(Node::Int(1));
        let parameter = Expr::leaf(Node::Param(next as u16));
        let scaled = if is_exact { inner.clone() } else { Expr::apply(Operation::Mul, &[&parameter, &inner]) };
        let value = (!is_exact).then_some(self.coefficient);
        let is_minus = is_exact && self.coefficient < 0.0;
        let signed = if is_minus { Expr::apply(Operation::Neg, &[&scaled]) } else { scaled.clone() };
        let expr = match self.shape {
            Shape::Plain => signed,
            Shape::Sin => Expr::apply(Operation::Sin, &[&signed]),
            Shape::Cos => Expr::apply(Operation::Cos, &[&signed]),
            Shape::Exp => Expr::apply(Operation::Exp, &[&signed]),
            Shape::Log => Expr::apply(Operation::Log, &[&signed]),
            Shape::OnePlus if is_minus && self.negative == Some(true) => {
                return (Expr::apply(Operation::Sub, &[&scaled, &one]), value);
            }
            Shape::OnePlus if is_minus => Expr::apply(Operation::Sub, &[&one, &scaled]),
            Shape::OnePlus => Expr::apply(Operation::Add, &[&one, &scaled]),
            Shape::OnePlusExp => {
                let grown = Expr::apply(Operation::Exp, &[&signed]);
                Expr::apply(Operation::Add, &[&grown, &one])
            }
            Shape::ExpMinusOne => {
                let grown = Expr::apply(Operation::Exp, &[&signed]);
                let pair = if self.negative == Some(true) { [&one, &grown] } else { [&grown, &one] };
                return (Expr::apply(Operation::Sub, &pair), value);
            }
        };
        match self.negative {
            Some(true) => (Expr::apply(Operation::Neg, &[&expr]), value),
            _ => (expr, value),
        }
    }
}

impl Decomposition {
    /// The columns of a table.
    pub fn new(part: &Part, operations: &Operations, units: Option<&Units>) -> Decomposition {
        let n = part.len();
        // Evenly spread, as the rows may be in some order.
        let rows: Vec<usize> = if n <= ROWS { (0..n).collect() } else { (0..ROWS).map(|i| i * n / ROWS).collect() };
        let part = part.select(&rows);
        // Where numbers take any unit, every sum of products can agree.
        let units = units.filter(|units| units.is_pure());
        let is_factor = |column: &Vec<f64>| column.iter().all(|x| *x != 0.0);
        let groups = units.filter(|_| part.columns.iter().all(is_factor)).and_then(Groups::new);
        let logs = product_columns(&part, operations, units, groups.as_ref());
        let (mut outers, mut sums) = (Vec::new(), Vec::new());
        let mut known: Vec<Option<Dimension>> = Vec::new();
        for outer in [Outer::Itself, Outer::Sqrt, Outer::Inverse, Outer::InverseSqrt, Outer::Exp] {
            let wanted = units.and_then(|units| units.target).map(|target| outer.inside(&target));
            let is_same = |k: &Option<Dimension>| match (k, &wanted) {
                (Some(a), Some(b)) => a.is_same(b),
                (a, b) => a.is_none() && b.is_none(),
            };
            let at = known.iter().position(is_same).unwrap_or_else(|| {
                known.push(wanted);
                sums.push(sum_columns(&part, operations, units.zip(wanted.as_ref())));
                known.len() - 1
            });
            outers.push((outer, at));
        }
        Decomposition { operations: operations.clone(), part, units: units.cloned(), groups, logs, outers, sums }
    }

    /// The candidates of a proposal of this number; none behind the last one.
    pub fn batch(&self, number: usize) -> Vec<Candidate> {
        if self.part.columns.is_empty() || self.part.len() < 4 {
            return Vec::new();
        }
        if number > ROUNDS {
            let scale = number - ROUNDS - 1;
            let of = |units| functions_of_groups(&self.part, &self.operations, units, scale);
            return self.units.as_ref().and_then(of).unwrap_or_default();
        }
        let mut list: Vec<(f64, Vec<Candidate>)> = Vec::new();
        if let Some(logs) = &self.logs {
            let mut target: Vec<f64> = self.part.target.iter().map(|y| log(y.abs())).collect();
            if let Some(groups) = &self.groups {
                let scale = groups.logarithm(None, &logarithms(&self.part), self.part.len());
                target.iter_mut().zip(scale).for_each(|(y, s)| *y -= s);
            }
            for found in self.regress(logs, &target, number) {
                list.push((found.left, self.products(logs, &target, &found)));
            }
        }
        for &(outer, at) in &self.outers {
            let Some(target) = outer.inverse(&self.part.target) else { continue };
            let sums = &self.sums[at];
            for found in self.regress(sums, &target, number) {
                list.push((found.left, self.sum(sums, &target, outer, &found)));
            }
        }
        list.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut made: Vec<Candidate> = list.into_iter().flat_map(|(_, list)| list).collect();
        made.retain(|c| c.expr.forbidden(&self.operations).is_none());
        made.truncate(MOST);
        made
    }

    fn regress<T>(&self, columns: &Columns<T>, target: &[f64], number: usize) -> Vec<Found> {
        match number {
            0 => columns.sums(target).into_iter().chain(columns.singles(target)).collect(),
            _ => columns.pairs(target, (number - 1) * BEAM, BEAM),
        }
    }

    /// `c x^a y^b t^d`: with exponents rounded to halves, and if that is not exact with free coefficients.
    fn products(&self, logs: &Columns<Factor>, target: &[f64], found: &Found) -> Vec<Candidate> {
        let Some(solved) = logs.solve(target, &found.columns) else { return Vec::new() };
        // Powers of the inputs, or of groups of them.
        let powers = self.groups.as_ref().map_or(self.part.columns.len(), Groups::count);
        let halves: Vec<f64> = solved.iter().map(|a| (2.0 * a).round() / 2.0).collect();
        if halves.iter().skip(1).any(|a| a.abs() > 6.0) {
            return Vec::new();
        }
        let left = logs.left(target, &found.columns, &halves);
        let mut list = Vec::new();
        for free in [false, true] {
            let mut values = vec![1.0];
            let mut factors: Vec<(Expr, f64)> = Vec::new();
            let mut usable = true;
            let exponents = match &self.groups {
                Some(groups) => groups.exponents(&halves[1..1 + powers]),
                None => halves[1..1 + powers].to_vec(),
            };
            for (v, a) in exponents.into_iter().enumerate() {
                usable &= (2.0 * a).fract() == 0.0 && a.abs() <= 6.0;
                usable &= a.fract() == 0.0 || self.part.columns[v].iter().all(|x| *x > 0.0);
                factors.push((Expr::leaf(Node::Var(v as u16)), a));
            }
            for (&column, (half, exact)) in found.columns.iter().zip(halves.iter().zip(&solved).skip(1 + powers)) {
                let factor = &logs.of[column];
                let is_exponential = factor.shape == Shape::Exp;
                let power = if is_exponential { 1.0 } else { *half };
                usable &= power.fract() == 0.0 || factor.negative.is_some();
                let factor = match is_exponential {
                    // The exponent of an exponential is its coefficient.
                    true => Factor {
                        coefficient: if near_whole(*exact) == Some(1.0) { 1.0 } else { *exact },
                        ..factor.clone()
                    },
                    false => factor.clone(),
                };
                let (expr, value) = factor.expr(values.len(), free);
                values.extend(value);
                factors.push((expr, power));
            }
            if !usable {
                continue;
            }
            // The sign and size of the whole: the first parameter, unless it is a number that a person would write.
            let scale = exp(logs.mean_left(target, &found.columns, &halves));
            let whole = product(&factors);
            let parameter = Expr::leaf(Node::Param(0));
            let scaled = Expr::apply(Operation::Mul, &[&parameter, &whole]);
            values[0] = scale;
            list.push(Candidate::new(&scaled, &values, &self.operations));
            if left <= EXACT && !free && values.len() == 1 {
                break;
            }
        }
        list
    }

    /// An outer function of a sum of monomials.
    fn sum(&self, sums: &Columns<Monomial>, target: &[f64], outer: Outer, found: &Found) -> Vec<Candidate> {
        let Some(solved) = sums.solve(target, &found.columns) else { return Vec::new() };
        let mut values = Vec::new();
        let mut whole: Option<Expr> = None;
        for (&column, coefficient) in found.columns.iter().zip(&solved) {
            let parameter = Expr::leaf(Node::Param(values.len() as u16));
            values.push(*coefficient);
            let term = Expr::apply(Operation::Mul, &[&parameter, &sums.of[column].expr()]);
            whole = Some(whole.map_or(term.clone(), |so_far| Expr::apply(Operation::Add, &[&so_far, &term])));
        }
        let Some(whole) = whole else { return Vec::new() };
        vec![Candidate::new(&outer.around(&whole), &values, &self.operations)]
    }
}

/// A whole number that this one is, up to rounding.
fn near_whole(x: f64) -> Option<f64> {
    ((x - x.round()).abs() < 1e-7).then(|| x.round())
}

/// The logarithms of the inputs.
fn logarithms(part: &Part) -> Vec<Vec<f64>> {
    let of = |column: &Vec<f64>| {
        // An input with zeros is no factor, but keeps its place.
        let is_factor = column.iter().all(|x| *x != 0.0);
        column.iter().map(|x| if is_factor { log(x.abs()) } else { 0.0 }).collect()
    };
    part.columns.iter().map(of).collect()
}

/// The logarithms of all factors; none if the target has zeros.
fn product_columns(
    part: &Part,
    operations: &Operations,
    units: Option<&Units>,
    groups: Option<&Groups>,
) -> Option<Columns<Factor>> {
    if !part.target.iter().all(|y| *y != 0.0 && y.is_finite()) {
        return None;
    }
    let mut base = vec![vec![1.0; part.len()]];
    let logarithms = logarithms(part);
    match groups {
        None => base.extend(logarithms),
        Some(groups) => base.extend((0..groups.count()).map(|g| groups.logarithm(Some(g), &logarithms, part.len()))),
    }
    let mut made = Columns::new(base);
    let mut add = |shape: Shape, monomial: &Monomial, coefficient: f64, column: &[f64]| {
        if !shape.operation().is_none_or(|o| operations.allows(o)) {
            return;
        }
        let values: Vec<f64> = column.iter().map(|m| shape.of(coefficient * m)).collect();
        let below = values.iter().filter(|v| **v < 0.0).count();
        let negative = if below == 0 { Some(false) } else { (below == values.len()).then_some(true) };
        let logs: Vec<f64> = values.iter().map(|v| log(v.abs())).collect();
        let factor = Factor { shape, monomial: monomial.clone(), coefficient, negative };
        // An exact coefficient costs nothing.
        let cost = monomial.complexity() + 1 + 2 * usize::from(coefficient.abs() != 1.0);
        made.add(factor, cost, logs);
    };
    // Factors are functions of numbers: with units fewer monomials are, so larger ones are affordable.
    let is_number = |doubled: &[i8]| match units.map(|units| units.product(doubled)) {
        Some(Some(dimension)) => dimension.is_none(),
        _ => true,
    };
    let is_known = |m: &Monomial| units.is_none_or(|units| units.allow(&m.expr(), &Dimension::NONE));
    let (active, degree) = if units.is_some() { (6, 9) } else { (4, 7) };
    let list = monomials(part, active, degree, 6_000, &is_number);
    for monomial in &list {
        let column = monomial.column(part);
        let is_first = monomial.is_positive();
        for c in COEFFICIENTS {
            if c != 1.0 && monomial.degree() > 4 {
                continue;
            }
            // 1 + m and 1 + 1/m differ by a power.
            if is_first || c != 1.0 {
                add(Shape::OnePlus, monomial, c, &column);
                add(Shape::OnePlus, monomial, -c, &column);
            }
            if monomial.degree() <= 3 && monomial.is_simple() {
                add(Shape::Sin, monomial, c, &column);
                add(Shape::Cos, monomial, c, &column);
            }
        }
        if monomial.degree() <= 4 {
            add(Shape::Exp, monomial, 1.0, &column);
            if is_first || monomial.degree() <= 3 {
                add(Shape::Log, monomial, 1.0, &column);
            }
        }
        if monomial.is_simple() && monomial.degree() <= 4 {
            for c in SCALES {
                add(Shape::ExpMinusOne, monomial, c, &column);
                add(Shape::OnePlusExp, monomial, c, &column);
            }
        }
    }
    let few = monomials(part, 3, 4, 1_000, &|_| true);
    for atom in atoms(part, operations) {
        let alone = Monomial { atom: Some(atom.clone()), ..Monomial::one(part.columns.len()) };
        if units.is_some_and(|units| units.dimension(&alone.expr()).is_err()) {
            continue;
        }
        let column = alone.column(part);
        if atom.is_difference() {
            add(Shape::Plain, &alone, 1.0, &column);
        }
        if is_known(&alone) {
            if atom.is_difference() {
                add(Shape::Sin, &alone.inside(), 0.5, &alone.inside().column(part));
            }
            add(Shape::OnePlus, &alone, 1.0, &column);
            add(Shape::OnePlus, &alone, -1.0, &column);
        }
        if let Some(factor) = atom.as_factor() {
            add(factor, &alone.inside(), 1.0, &alone.inside().column(part));
        }
        for monomial in &few {
            let scaled = Monomial { atom: Some(atom.clone()), ..monomial.clone() };
            if !is_known(&scaled) {
                continue;
            }
            let column = scaled.column(part);
            if atom.is_difference() && monomial.degree() <= 2 {
                for c in [1.0, 0.5, 2.0] {
                    add(Shape::Sin, &scaled, c, &column);
                    add(Shape::Cos, &scaled, c, &column);
                }
            }
            for c in [1.0f64, -1.0, 2.0, -2.0] {
                if c.abs() == 1.0 || monomial.degree() <= 2 {
                    add(Shape::OnePlus, &scaled, c, &column);
                }
            }
        }
    }
    Some(made)
}

/// All monomials, and the smaller ones times a function of an input, of one dimension if there is one.
fn sum_columns(part: &Part, operations: &Operations, units: Option<(&Units, &Dimension)>) -> Columns<Monomial> {
    let mut made = Columns::new(Vec::new());
    let one = Monomial::one(part.columns.len());
    let is_wanted = |doubled: &[i8]| match units.map(|(units, wanted)| (units.product(doubled), wanted)) {
        Some((Some(dimension), wanted)) => dimension.is_same(wanted),
        _ => true,
    };
    let is_known = |m: &Monomial| units.is_none_or(|(units, wanted)| units.allow(&m.expr(), wanted));
    let (active, degree) = if units.is_some() { (6, 9) } else { (5, 8) };
    let list = monomials(part, active, degree, 8_000, &is_wanted);
    for monomial in [one.clone()].into_iter().chain(list).chain(crate::monomial::roots(part)) {
        if is_known(&monomial) {
            let column = monomial.column(part);
            made.add(monomial.clone(), monomial.complexity(), column);
        }
    }
    let (degree, most) = if units.is_some() { (6, 20_000) } else { (4, 400) };
    let few = monomials(part, 4, degree, most, &|_| true);
    let few: Vec<Monomial> = few.into_iter().chain(crate::monomial::roots(part)).chain([one]).collect();
    for atom in atoms(part, operations) {
        let alone = Monomial { atom: Some(atom.clone()), ..Monomial::one(part.columns.len()) };
        let own = match units.map(|(units, _)| units.dimension(&alone.expr())) {
            Some(Err(_)) => continue,
            Some(Ok(own)) => own,
            None => None,
        };
        for monomial in &few {
            if let (Some((units, wanted)), Some(own)) = (units, own)
                && units.product(&monomial.doubled).is_some_and(|d| !d.times(&own).is_same(wanted))
            {
                continue;
            }
            let scaled = Monomial { atom: Some(atom.clone()), ..monomial.clone() };
            let column = scaled.column(part);
            made.add(scaled.clone(), scaled.complexity(), column);
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Data, FLOOR, Folds};
    use crate::score::Scorer;
    use dmci_stats::random::Stream;

    /// The number of the proposal that holds a law which leaves nothing but rounding.
    fn solved_at(inputs: usize, law: fn(&[f64]) -> f64) -> Option<usize> {
        let mut stream = Stream::new(11, 3);
        let columns: Vec<Vec<f64>> =
            (0..inputs).map(|_| (0..120).map(|_| 1.0 + 2.0 * stream.uniform()).collect()).collect();
        let target = (0..120).map(|r| law(&columns.iter().map(|c| c[r]).collect::<Vec<f64>>())).collect();
        let names: Vec<String> = (0..inputs).map(|i| format!("x{i}")).collect();
        let part = Part { columns, target, root_weights: None };
        let data = Data::new(names, "y", part, Some(&[false; 120]), Folds::Random(5), 1);
        let operations = Operations::default();
        let made = Decomposition::new(&data.few, &operations, None);
        let mut scorer = Scorer::new(&data, &operations);
        (0..=ROUNDS).find(|number| {
            made.batch(*number).iter().any(|candidate| {
                let found = scorer.converge(candidate, 1);
                found.is_ok_and(|score| score.loss <= FLOOR * data.variance)
            })
        })
    }

    #[test]
    fn powers_and_one_more_factor_are_found_at_once() {
        assert_eq!(solved_at(4, |x| 0.3 * x[0] * x[1] * x[1] / (x[2] * x[3].sqrt())), Some(0));
        assert_eq!(solved_at(3, |x| -2.0 * x[0] / x[1] * x[2].cos()), Some(0));
        assert_eq!(solved_at(3, |x| x[0] / (1.0 + x[1] / (5.0 * x[2]))), Some(0));
        assert_eq!(solved_at(3, |x| x[0] / ((0.16 * x[1] / x[2]).exp() - 1.0)), Some(0));
        assert_eq!(solved_at(2, |x| x[0] * (-0.7 * x[1] * x[1]).exp()), Some(0));
    }

    #[test]
    fn two_factors_and_sums_of_monomials_follow() {
        assert!(solved_at(4, |x| (x[0] + x[1]) / (1.0 + x[0] * x[1] / (x[2] * x[2]))).is_some());
        assert!(solved_at(3, |x| (x[0] * x[0] * x[1] + 3.0 * x[2] / x[1]).sqrt()).is_some());
        assert!(solved_at(3, |x| 1.0 / (1.0 / x[0] + x[1] / x[2])).is_some());
    }

    #[test]
    fn there_is_an_end_and_nothing_that_is_not_allowed() {
        let part = Part {
            columns: vec![vec![0.0, 1.0, 2.0, 3.0, 4.0]],
            target: vec![0.0, 1.0, 4.0, 9.0, 16.0],
            root_weights: None,
        };
        let operations = Operations::parse("+ *").expect("they exist");
        let made = Decomposition::new(&part, &operations, None);
        assert!(!made.batch(0).is_empty() && made.batch(ROUNDS + 1).is_empty());
        for candidate in (0..=ROUNDS).flat_map(|number| made.batch(number)) {
            assert!(candidate.expr.forbidden(&operations).is_none(), "{candidate:?}");
        }
    }
}
