//! A sparse library in weak form (Messenger and Bortz 2021): an equation is multiplied by test functions that vanish at
//! the ends of windows and integrated by parts, so that no noisy series is differentiated. Small sets of terms are then tried all,
//! larger ones grow from the best.

use super::Run;
use crate::candidate::Candidate;
use crate::expr::{Expr, Node};
use crate::lower::{Lowered, Space};
use crate::operation::{Operation, Operations};
use dmci_stats::linear::{Factored, dot, length};

/// Windows over a run, for each of their lengths.
const WINDOWS: usize = 40;

/// Lengths of windows, as shares of a run.
const SHARES: [f64; 2] = [0.12, 0.25];

/// Fewest points of a window.
const FEWEST: usize = 7;

/// Terms of a sum at most.
const LONGEST: usize = 8;

/// Sets of terms of each size that larger ones grow from, and those that become sums.
const HELD: usize = 24;
const GIVEN: usize = 3;

/// Terms of which all sets of three are tried.
const MOST_TRIPLES: usize = 120;

/// What is left of a column beside others, as a square, below which it depends on them.
const LEAST_PIVOT: f64 = 1e-11;

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

    /// The least-squares coefficients of some terms for the derivative of a state.
    fn solve(&self, state: usize, which: &[usize]) -> Vec<f64> {
        let right = &self.rights[state];
        let matrix: Vec<f64> = (0..right.len()).flat_map(|k| which.iter().map(move |&j| self.columns[j][k])).collect();
        let factored = Factored::new(&matrix, right, which.len(), &mut Vec::new());
        factored.solve(&vec![0.0; which.len()]).x.to_vec()
    }

    /// Sparse sums for the derivative of a state: the best that were found with one term, with two, and so on. Up to
    /// three terms, all sets are tried; larger ones grow from the best.
    pub fn sums(&self, state: usize, operations: &Operations) -> Vec<Candidate> {
        let rows = self.rights[state].len();
        let count = self.terms.len();
        if rows == 0 || !operations.allows(Operation::Mul) || !operations.allows(Operation::Add) {
            return Vec::new();
        }
        let gram = Gram::new(&self.columns, &self.rights[state]);
        let (mut list, mut held): (Vec<Candidate>, Vec<Vec<usize>>) = (Vec::new(), vec![Vec::new()]);
        for size in 1..=LONGEST.min(count).min(rows) {
            let mut best: Vec<(f64, Vec<usize>)> = Vec::new();
            let mut note = |chosen: &[usize]| {
                let left = gram.left(chosen);
                let worst = if best.len() < HELD { f64::INFINITY } else { best[best.len() - 1].0 };
                if left < worst && best.iter().all(|(_, other)| other != chosen) {
                    let at = best.partition_point(|(other, _)| *other <= left);
                    best.insert(at, (left, chosen.to_vec()));
                    best.truncate(HELD);
                }
            };
            match size {
                2 => (0..count).for_each(|i| (0..i).for_each(|j| note(&[j, i]))),
                3 if count <= MOST_TRIPLES => {
                    (0..count).for_each(|i| (0..i).for_each(|j| (0..j).for_each(|k| note(&[k, j, i]))));
                }
                _ => {
                    for set in &held {
                        for next in (0..count).filter(|next| !set.contains(next)) {
                            let mut chosen = set.clone();
                            chosen.push(next);
                            chosen.sort_unstable();
                            note(&chosen);
                        }
                    }
                }
            }
            for (_, chosen) in best.iter().take(GIVEN) {
                list.push(self.sum(chosen, &self.solve(state, chosen), operations));
            }
            held = best.into_iter().map(|(_, chosen)| chosen).collect();
        }
        list
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

/// Products of columns in units in which all of them, and what they explain, have length 1.
struct Gram {
    count: usize,
    products: Vec<f64>,
    with_right: Vec<f64>,
}

impl Gram {
    fn new(columns: &[Vec<f64>], right: &[f64]) -> Gram {
        let count = columns.len();
        let unit = |c: &[f64]| 1.0 / length(c).max(f64::MIN_POSITIVE);
        let units: Vec<f64> = columns.iter().map(|c| unit(c)).collect();
        let own = unit(right);
        let product = |i: usize| units[i / count] * units[i % count] * dot(&columns[i / count], &columns[i % count]);
        Gram {
            count,
            products: (0..count * count).map(product).collect(),
            with_right: columns.iter().zip(&units).map(|(c, u)| u * own * dot(c, right)).collect(),
        }
    }

    /// What some columns leave of the right-hand side, as a square; 1 if they depend on each other.
    fn left(&self, chosen: &[usize]) -> f64 {
        let mut factor = [0.0; LONGEST * LONGEST];
        let mut left = 1.0;
        let mut z = [0.0; LONGEST];
        for (i, &a) in chosen.iter().enumerate() {
            for (j, &b) in chosen[..=i].iter().enumerate() {
                let known: f64 = (0..j).map(|k| factor[i * LONGEST + k] * factor[j * LONGEST + k]).sum();
                let rest = self.products[a * self.count + b] - known;
                if i != j {
                    factor[i * LONGEST + j] = rest / factor[j * LONGEST + j];
                } else if rest > LEAST_PIVOT {
                    factor[i * LONGEST + i] = dmci_ops::real::sqrt(rest);
                } else {
                    return 1.0;
                }
            }
            let known: f64 = (0..i).map(|k| factor[i * LONGEST + k] * z[k]).sum();
            z[i] = (self.with_right[a] - known) / factor[i * LONGEST + i];
            left -= z[i] * z[i];
        }
        left.max(0.0)
    }
}
