//! A sparse library in weak form (Messenger and Bortz 2021): an equation is multiplied by test functions that vanish at
//! the ends of windows and integrated by parts, so that no noisy series is differentiated. Terms are then chosen one by
//! one, and dropped where they matter least.

use super::Run;
use crate::candidate::Candidate;
use crate::expr::{Expr, Node};
use crate::lower::{Lowered, Space};
use crate::operation::{Operation, Operations};
use dmci_stats::linear::{Factored, dot};

/// Windows over a run, for each of their lengths.
const WINDOWS: usize = 40;

/// Lengths of windows, as shares of a run.
const SHARES: [f64; 2] = [0.12, 0.25];

/// Fewest points of a window.
const FEWEST: usize = 7;

/// Terms of a sum at most.
const LONGEST: usize = 8;

/// The highest degree of a product of variables.
const DEGREE: usize = 3;

/// The terms of a library over so many variables, each without a parameter, the constant first.
pub fn terms(variables: usize, operations: &Operations) -> Vec<Expr> {
    let leaf = |v: usize| Expr::leaf(Node::Var(v as u16));
    let mut list = vec![Expr::leaf(Node::Int(1))];
    if operations.allows(Operation::Mul) {
        // Products of variables in order, by degree.
        let mut level: Vec<(Expr, usize)> = (0..variables).map(|v| (leaf(v), v)).collect();
        for _ in 0..DEGREE {
            list.extend(level.iter().map(|(e, _)| e.clone()));
            level = level
                .iter()
                .flat_map(|(e, last)| (*last..variables).map(move |v| (Expr::apply(Operation::Mul, &[e, &leaf(v)]), v)))
                .collect();
        }
    } else {
        list.extend((0..variables).map(leaf));
    }
    for operation in [Operation::Sin, Operation::Cos, Operation::Exp, Operation::Log, Operation::Sqrt, Operation::Abs] {
        if operations.allows(operation) {
            list.extend((0..variables).map(|v| Expr::apply(operation, &[&leaf(v)])));
        }
    }
    if operations.allows(Operation::Sin) && operations.allows(Operation::Mul) {
        let sin = |v: usize| Expr::apply(Operation::Sin, &[&leaf(v)]);
        let cos = |v: usize| Expr::apply(Operation::Cos, &[&leaf(v)]);
        for v in 0..variables {
            list.push(Expr::apply(Operation::Mul, &[&sin(v), &cos(v)]));
            for w in (0..variables).filter(|w| *w != v) {
                list.push(Expr::apply(Operation::Mul, &[&cos(v), &leaf(w)]));
                if v < w {
                    let apart = Expr::apply(Operation::Sub, &[&leaf(v), &leaf(w)]);
                    list.push(Expr::apply(Operation::Sin, &[&apart]));
                }
            }
        }
    }
    if operations.allows(Operation::Div) && operations.allows(Operation::Mul) {
        for v in 0..variables {
            let one = Expr::leaf(Node::Int(1));
            let square = Expr::apply(Operation::Mul, &[&leaf(v), &leaf(v)]);
            for below in [leaf(v), square] {
                let below = Expr::apply(Operation::Add, &[&one, &below]);
                list.push(Expr::apply(Operation::Div, &[&leaf(v), &below]));
                for w in (0..variables).filter(|w| *w != v) {
                    let product = Expr::apply(Operation::Mul, &[&leaf(v), &leaf(w)]);
                    list.push(Expr::apply(Operation::Div, &[&product, &below]));
                }
            }
        }
    }
    list
}

/// The integrals of a library over windows, and those of the derivatives of each state.
#[derive(Clone, Debug)]
pub struct Weak {
    terms: Vec<Expr>,
    /// For each term its integrals.
    columns: Vec<Vec<f64>>,
    /// For each state the integrals of its derivative.
    rights: Vec<Vec<f64>>,
}

impl Weak {
    /// Integrates a library over all runs. `arguments` gives for a run the columns that right-hand sides may mention.
    pub fn new(runs: &[Run], variables: usize, arguments: &dyn Fn(&Run) -> Vec<Vec<f64>>, ops: &Operations) -> Weak {
        let mut terms = terms(variables, ops);
        let mut columns: Vec<Vec<f64>> = vec![Vec::new(); terms.len()];
        let mut rights: Vec<Vec<f64>> = vec![Vec::new(); runs.first().map_or(0, |r| r.states.len())];
        let mut space = Space::default();
        for run in runs {
            let inputs = arguments(run);
            let slices: Vec<&[f64]> = inputs.iter().map(Vec::as_slice).collect();
            let n = run.times.len();
            let values: Vec<Vec<f64>> = terms
                .iter()
                .map(|term| match term.mentions_variables() {
                    true => Lowered::new(term, variables).values(&[], &slices, n, &mut space),
                    false => vec![1.0; n],
                })
                .collect();
            let span = run.times[n - 1] - run.times[0];
            for share in SHARES {
                let half = 0.5 * share * span;
                for k in 0..WINDOWS {
                    let middle = run.times[0] + half + (span - 2.0 * half) * k as f64 / (WINDOWS - 1) as f64;
                    let inside: Vec<usize> = (0..n).filter(|&i| (run.times[i] - middle).abs() < half).collect();
                    if inside.len() < FEWEST {
                        continue;
                    }
                    // A bump, and minus its slope, times the weights of the trapezoidal rule.
                    let weigh = |i: usize| {
                        let before = if i > 0 { run.times[i] - run.times[i - 1] } else { 0.0 };
                        let after = if i + 1 < n { run.times[i + 1] - run.times[i] } else { 0.0 };
                        let u = (run.times[i] - middle) / half;
                        let (a, w) = (1.0 - u * u, 0.5 * (before + after) / half);
                        (w * a * a * a * a, w * 8.0 * u * a * a * a / half)
                    };
                    let weights: Vec<(f64, f64)> = inside.iter().map(|&i| weigh(i)).collect();
                    for (column, values) in columns.iter_mut().zip(&values) {
                        column.push(inside.iter().zip(&weights).map(|(&i, w)| w.0 * values[i]).sum());
                    }
                    for (s, right) in rights.iter_mut().enumerate() {
                        let seen = |i: usize| {
                            let y = run.states[s][i];
                            if y.is_finite() { y } else { run.smooth[s].values[i] }
                        };
                        right.push(inside.iter().zip(&weights).map(|(&i, w)| w.1 * seen(i)).sum());
                    }
                }
            }
        }
        // What leaves its domain somewhere, or grows without bounds, is no term.
        let usable: Vec<bool> = columns.iter().map(|c| c.iter().all(|x| x.is_finite() && x.abs() < 1e100)).collect();
        let mut keep = usable.iter();
        terms.retain(|_| *keep.next().unwrap_or(&false));
        let mut keep = usable.iter();
        columns.retain(|_| *keep.next().unwrap_or(&false));
        Weak { terms, columns, rights }
    }

    /// The least-squares coefficients of some terms for the derivative of a state, and what they leave.
    fn solve(&self, state: usize, which: &[usize]) -> (Vec<f64>, f64) {
        let right = &self.rights[state];
        let matrix: Vec<f64> = (0..right.len()).flat_map(|k| which.iter().map(move |&j| self.columns[j][k])).collect();
        let solution = Factored::new(&matrix, right, which.len(), &mut Vec::new()).solve(&vec![0.0; which.len()]);
        let found = solution.x.to_vec();
        let off = |k: usize| right[k] - which.iter().zip(&found).map(|(&j, c)| c * self.columns[j][k]).sum::<f64>();
        let left = (0..right.len()).map(|k| off(k) * off(k)).sum();
        (found, left)
    }

    /// Sparse sums for the derivative of a state: the best that were found with one term, with two, and so on.
    pub fn sums(&self, state: usize, operations: &Operations) -> Vec<Candidate> {
        let rows = self.rights[state].len();
        if rows == 0 || !operations.allows(Operation::Mul) || !operations.allows(Operation::Add) {
            return Vec::new();
        }
        let longest = LONGEST.min(self.terms.len()).min(rows);
        let mut best: Vec<Option<(f64, Vec<usize>, Vec<f64>)>> = vec![None; longest + 1];
        let mut note = |chosen: &[usize], found: Vec<f64>, left: f64| {
            let place = &mut best[chosen.len()];
            if place.as_ref().is_none_or(|(least, ..)| left < *least) {
                *place = Some((left, chosen.to_vec(), found));
            }
        };
        // Forwards, one term after the other, from each of the best first terms.
        let mut firsts: Vec<(f64, usize)> = (0..self.terms.len()).map(|j| (self.solve(state, &[j]).1, j)).collect();
        firsts.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (_, first) in firsts.iter().take(3) {
            let mut chosen = vec![*first];
            let (found, left) = self.solve(state, &chosen);
            note(&chosen, found, left);
            while chosen.len() < longest {
                let Some(next) = self.next(state, &chosen) else { break };
                chosen.push(next);
                let (found, left) = self.solve(state, &chosen);
                note(&chosen, found, left);
            }
            // Backwards: the term that matters least goes.
            while chosen.len() > 1 {
                let without = |i: usize| -> Vec<usize> {
                    chosen.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, j)| *j).collect()
                };
                let all = (0..chosen.len()).map(|i| (self.solve(state, &without(i)).1, i));
                let Some((_, out)) = all.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
                chosen = without(out);
                let (found, left) = self.solve(state, &chosen);
                note(&chosen, found, left);
            }
        }
        // Sequential thresholds: from all terms of low degree.
        let small: Vec<usize> = (0..self.terms.len()).filter(|&j| self.terms[j].complexity() <= 3).collect();
        if small.len() < rows {
            let mut chosen = small;
            while chosen.len() > 1 {
                let (found, _) = self.solve(state, &chosen);
                let size = |k: usize| found[k].abs() * dmci_stats::linear::length(&self.columns[chosen[k]]);
                let Some(out) = (0..chosen.len()).min_by(|a, b| size(*a).total_cmp(&size(*b))) else { break };
                chosen.remove(out);
                if chosen.len() <= longest {
                    let (found, left) = self.solve(state, &chosen);
                    note(&chosen, found, left);
                }
            }
        }
        best.into_iter().flatten().map(|(_, chosen, found)| self.sum(&chosen, &found, operations)).collect()
    }

    /// The term that explains most of what is left besides some others.
    fn next(&self, state: usize, chosen: &[usize]) -> Option<usize> {
        let basis = self.basis(chosen);
        let mut left = self.rights[state].clone();
        project(&mut left, &basis);
        let gain = |j: usize| {
            let mut column = self.columns[j].clone();
            let whole = dot(&column, &column);
            project(&mut column, &basis);
            let own = dot(&column, &column);
            // What depends on the others explains nothing.
            if own <= 1e-10 * whole { 0.0 } else { dot(&column, &left) * dot(&column, &left) / own }
        };
        let free = (0..self.terms.len()).filter(|j| !chosen.contains(j));
        let best = free.map(|j| (gain(j), j)).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
        (best.0 > 0.0).then_some(best.1)
    }

    /// Orthonormal columns that span some terms.
    fn basis(&self, chosen: &[usize]) -> Vec<Vec<f64>> {
        let mut basis: Vec<Vec<f64>> = Vec::new();
        for &j in chosen {
            let mut column = self.columns[j].clone();
            project(&mut column, &basis);
            project(&mut column, &basis);
            let length = dmci_stats::linear::length(&column);
            if length > 0.0 {
                column.iter_mut().for_each(|x| *x /= length);
                basis.push(column);
            }
        }
        basis
    }

    fn sum(&self, chosen: &[usize], values: &[f64], operations: &Operations) -> Candidate {
        let mut sum: Option<Expr> = None;
        for (k, &j) in chosen.iter().enumerate() {
            let parameter = Expr::leaf(Node::Param(k as u16));
            let term = match self.terms[j].mentions_variables() {
                true => Expr::apply(Operation::Mul, &[&parameter, &self.terms[j]]),
                false => parameter,
            };
            sum = Some(match sum {
                Some(before) => Expr::apply(Operation::Add, &[&before, &term]),
                None => term,
            });
        }
        let expr = sum.unwrap_or_else(|| Expr::leaf(Node::Param(0)));
        Candidate::new(&expr, values, operations)
    }
}

/// Takes away what orthonormal columns explain.
fn project(column: &mut [f64], basis: &[Vec<f64>]) {
    for other in basis {
        let share = dot(column, other);
        column.iter_mut().zip(other).for_each(|(x, y)| *x -= share * y);
    }
}
