//! Regression on few of many columns: the best one, the best two, the best three, beside a base that is always there.

use dmci_stats::linear::long_dot as dot;

/// Columns with what they stand for.
#[derive(Clone, Debug)]
pub struct Columns<T> {
    /// What each column stands for.
    pub of: Vec<T>,
    base: Vec<Vec<f64>>,
    /// An orthonormal basis of the base.
    basis: Vec<Vec<f64>>,
    plain: Vec<Vec<f64>>,
    /// What the base does not explain of each column, of length 1, one behind the other.
    units: Vec<f64>,
    /// How complex each of them is.
    costs: Vec<usize>,
}

/// Some columns, and what they leave of a target: a share of its squares besides the base.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Their places.
    pub columns: Vec<usize>,
    /// What is left.
    pub left: f64,
}

/// What is left of a column besides others, as a share of its squares, if it is not one of them.
const INDEPENDENT: f64 = 1e-9;

/// The best that are kept.
const KEPT: usize = 40;

/// Pairs that get a third.
const THIRDS: usize = 12;

/// The simplest columns, of which sums are sought by exchange: from so many of them on, each exchanged so often.
const SIMPLE: usize = 900;
const EXCHANGED: usize = 10;
const EXCHANGES: usize = 6;

/// What is left of a target, as a share of its squares, if nothing is.
const EXACT: f64 = 1e-13;

/// Columns beyond this are of no use.
const LARGEST: f64 = 1e9;

impl<T> Columns<T> {
    /// No columns besides a base.
    pub fn new(base: Vec<Vec<f64>>) -> Columns<T> {
        let mut basis: Vec<Vec<f64>> = Vec::new();
        for column in &base {
            if let Some(unit) = besides(column, &basis) {
                basis.push(unit);
            }
        }
        Columns { of: Vec::new(), base, basis, plain: Vec::new(), units: Vec::new(), costs: Vec::new() }
    }

    /// Adds a column of some complexity unless the base explains it or it is not finite.
    pub fn add(&mut self, of: T, cost: usize, column: Vec<f64>) {
        if !column.iter().all(|x| x.abs() < LARGEST) {
            return;
        }
        if let Some(unit) = besides(&column, &self.basis) {
            self.units.extend_from_slice(&unit);
            self.plain.push(column);
            self.of.push(of);
            self.costs.push(cost);
        }
    }

    fn rows(&self) -> usize {
        self.plain.first().or(self.base.first()).map_or(0, Vec::len)
    }

    fn unit(&self, column: usize) -> &[f64] {
        let n = self.rows();
        &self.units[column * n..(column + 1) * n]
    }

    /// What the base leaves of a target, of length 1; none if that is nothing.
    fn rest(&self, target: &[f64]) -> Option<Vec<f64>> {
        besides(target, &self.basis)
    }

    /// The base alone, and the best columns, each alone.
    pub fn singles(&self, target: &[f64]) -> Vec<Found> {
        let mut list = Vec::new();
        if !self.base.is_empty() {
            // It is tried first, whatever it leaves.
            list.push(Found { columns: Vec::new(), left: 0.0 });
        }
        let Some(rest) = self.rest(target) else { return list };
        for (at, r) in self.ranked(&rest).into_iter().take(KEPT) {
            list.push(Found { columns: vec![at], left: 1.0 - r * r });
        }
        list
    }

    /// Columns by their products with what is left, the largest first.
    fn ranked(&self, rest: &[f64]) -> Vec<(usize, f64)> {
        let mut list: Vec<(usize, f64)> = (0..self.of.len()).map(|c| (c, dot(self.unit(c), rest))).collect();
        list.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        list
    }

    /// The best pairs of which one is among so many of the best columns from the place `from` on, and the best of them
    /// with a third.
    pub fn pairs(&self, target: &[f64], from: usize, count: usize) -> Vec<Found> {
        let Some(rest) = self.rest(target) else { return Vec::new() };
        let ranked = self.ranked(&rest);
        let mut products = vec![0.0; self.of.len()];
        ranked.iter().for_each(|(at, r)| products[*at] = *r);
        let mut list: Vec<Found> = Vec::new();
        for &(first, r) in ranked.iter().skip(from).take(count) {
            let mut best: Vec<Found> = Vec::new();
            let unit = self.unit(first);
            for (second, s) in products.iter().enumerate() {
                let g = dot(unit, self.unit(second));
                let own = 1.0 - g * g;
                if own > INDEPENDENT {
                    let more = s - r * g;
                    let left = 1.0 - r * r - more * more / own;
                    if best.len() < 2 || left < best[1].left {
                        let at = best.partition_point(|f| f.left <= left);
                        best.insert(at, Found { columns: vec![first, second], left });
                        best.truncate(2);
                    }
                }
            }
            list.append(&mut best);
        }
        list.sort_by(|a, b| a.left.total_cmp(&b.left));
        list.truncate(KEPT);
        let units: Vec<&[f64]> = (0..self.of.len()).map(|c| self.unit(c)).collect();
        let mut thirds = Vec::new();
        for pair in list.iter().take(THIRDS) {
            let Some((third, left)) = one_more(&units, &rest, &pair.columns) else { continue };
            let columns = pair.columns.iter().copied().chain([third]).collect();
            thirds.push(Found { columns, left });
        }
        list.extend(thirds);
        list
    }

    /// Sums of three and four of the simplest columns: from each of the best ones on by greed, then by exchange.
    pub fn sums(&self, target: &[f64]) -> Vec<Found> {
        let Some(rest) = self.rest(target) else { return Vec::new() };
        let mut simple: Vec<usize> = (0..self.of.len()).collect();
        simple.sort_by_key(|&c| (self.costs[c], c));
        simple.truncate(SIMPLE);
        let units: Vec<&[f64]> = simple.iter().map(|&c| self.unit(c)).collect();
        let mut first: Vec<(usize, f64)> = units.iter().map(|unit| dot(unit, &rest).abs()).enumerate().collect();
        first.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut list: Vec<Found> = Vec::new();
        for (start, _) in first.into_iter().take(EXCHANGED) {
            let mut found = Found { columns: vec![start], left: f64::INFINITY };
            for terms in 2..=4 {
                let Some((next, left)) = one_more(&units, &rest, &found.columns) else { break };
                found.columns.push(next);
                found.left = left;
                found = exchange(&units, &rest, found);
                let mut columns: Vec<usize> = found.columns.iter().map(|&c| simple[c]).collect();
                columns.sort_unstable();
                if (terms > 2 || found.left < EXACT) && list.iter().all(|f| f.columns != columns) {
                    list.push(Found { columns, left: found.left });
                }
                if found.left < EXACT {
                    return list;
                }
            }
        }
        list
    }

    fn chosen(&self, columns: &[usize]) -> Vec<&Vec<f64>> {
        self.base.iter().chain(columns.iter().map(|c| &self.plain[*c])).collect()
    }

    /// The coefficients of the base and of some columns; 0 for one that others explain.
    pub fn solve(&self, target: &[f64], columns: &[usize]) -> Option<Vec<f64>> {
        let chosen = self.chosen(columns);
        // Gram-Schmidt twice, then back-substitution.
        let mut units: Vec<Option<Vec<f64>>> = Vec::new();
        for column in &chosen {
            let before: Vec<Vec<f64>> = units.iter().flatten().cloned().collect();
            units.push(besides(column, &before));
        }
        let mut left = target.to_vec();
        let mut solved = vec![0.0; chosen.len()];
        for at in (0..chosen.len()).rev() {
            let Some(unit) = &units[at] else { continue };
            solved[at] = dot(unit, &left) / dot(unit, chosen[at]);
            left.iter_mut().zip(chosen[at]).for_each(|(l, x)| *l -= solved[at] * x);
        }
        solved.iter().all(|x| x.is_finite()).then_some(solved)
    }

    fn errors(&self, target: &[f64], columns: &[usize], coefficients: &[f64]) -> Vec<f64> {
        let mut left = target.to_vec();
        // The first of the base is the constant, which is found anew.
        for (column, c) in self.chosen(columns).into_iter().zip(coefficients).skip(1) {
            left.iter_mut().zip(column).for_each(|(l, x)| *l -= c * x);
        }
        left
    }

    /// The mean of what these coefficients, the first left out, leave.
    pub fn mean_left(&self, target: &[f64], columns: &[usize], coefficients: &[f64]) -> f64 {
        let left = self.errors(target, columns, coefficients);
        left.iter().sum::<f64>() / left.len().max(1) as f64
    }

    /// The mean square around that mean.
    pub fn left(&self, target: &[f64], columns: &[usize], coefficients: &[f64]) -> f64 {
        let left = self.errors(target, columns, coefficients);
        let mean = left.iter().sum::<f64>() / left.len().max(1) as f64;
        left.iter().map(|l| (l - mean) * (l - mean)).sum::<f64>() / left.len().max(1) as f64
    }
}

/// The column of length 1 that explains most of what others leave of a target, and what is left then.
fn one_more(units: &[&[f64]], rest: &[f64], chosen: &[usize]) -> Option<(usize, f64)> {
    let mut taken: Vec<Vec<f64>> = Vec::new();
    for &column in chosen {
        taken.extend(besides(units[column], &taken));
    }
    let mut left = rest.to_vec();
    for unit in &taken {
        let along = dot(unit, &left);
        left.iter_mut().zip(unit).for_each(|(l, u)| *l -= along * u);
    }
    let mut best: Option<(f64, usize)> = None;
    for (next, unit) in units.iter().enumerate() {
        let r = dot(unit, &left);
        let own = 1.0 - taken.iter().map(|t| dot(t, unit)).map(|g| g * g).sum::<f64>();
        let gain = r * r / own;
        if own > 1e-6 && best.is_none_or(|(most, _)| gain > most) {
            best = Some((gain, next));
        }
    }
    best.map(|(gain, next)| (next, (dot(&left, &left) - gain).max(0.0)))
}

/// Takes each of some columns of length 1 out in turn and puts the best one in its place, until that changes nothing:
/// greed takes a column for what two others do together.
pub fn exchange(units: &[&[f64]], rest: &[f64], mut found: Found) -> Found {
    for _ in 0..EXCHANGES {
        let before = found.left;
        for at in 0..found.columns.len() {
            let mut others = found.columns.clone();
            others.remove(at);
            if let Some((next, left)) = one_more(units, rest, &others)
                && left < found.left
            {
                found.columns[at] = next;
                found.left = left;
            }
        }
        if found.left > 0.999 * before {
            break;
        }
    }
    found
}

/// What an orthonormal basis does not explain of a column, of length 1; none if it explains it.
fn besides(column: &[f64], basis: &[Vec<f64>]) -> Option<Vec<f64>> {
    let before = dot(column, column);
    let mut left = column.to_vec();
    for _ in 0..2 {
        for unit in basis {
            let along = dot(unit, &left);
            left.iter_mut().zip(unit).for_each(|(l, u)| *l -= along * u);
        }
    }
    let after = dot(&left, &left);
    if !(after.is_finite() && after > 1e-16 * before && after > 0.0) {
        return None;
    }
    let length = after.sqrt();
    left.iter_mut().for_each(|l| *l /= length);
    Some(left)
}
