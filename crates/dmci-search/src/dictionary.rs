//! Sparse sums: terms of a dictionary that explain a target together, by orthogonal least squares.

use crate::columns::{Found, exchange};
use crate::expr::Expr;
use crate::operation::Operation;
use dmci_stats::linear::{length, long_dot as dot};
use dmci_stats::random::Stream;
use dmci_units::Dimension;

/// A term of sums.
#[derive(Clone, Debug)]
pub struct Word {
    expr: Expr,
    /// Deviations from their mean, of length 1.
    column: Vec<f64>,
    /// The complexity of the larger of its factors, or its own.
    size: usize,
    /// Its dimension, if that is known.
    dimension: Option<Dimension>,
}

/// The terms that sums are made of.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    words: Vec<Word>,
}

/// What is left of a target, as a square, from which on sums of products are computed anew: differences have lost
/// too many digits.
const FRESH: f64 = 1e-6;

/// Terms of a sum that are exchanged at most.
const MOST_EXCHANGED: usize = 6;

/// How often terms are exchanged, and the largest that come in.
const EXCHANGED_SHARE: f64 = 0.4;
const SIMPLE: usize = 6;

/// What is left of a target that needs no exchange.
const EXACT: f64 = 1e-20;

impl Dictionary {
    /// Adds a term, unless it is the same in all rows.
    pub fn add(&mut self, expr: &Expr, standard: &[f64], dimension: Option<Dimension>) {
        if !standard.is_empty() {
            self.words.push(Word { expr: expr.clone(), column: standard.to_vec(), size: expr.complexity(), dimension });
        }
    }

    /// Adds the products of all pairs of these terms, with their values.
    pub fn add_products(&mut self, terms: &[(&Expr, &[f64], Option<Dimension>)]) {
        for (i, (a, x, first)) in terms.iter().enumerate() {
            for (b, y, second) in &terms[i + 1..] {
                let column: Vec<f64> = x.iter().zip(*y).map(|(x, y)| x * y).collect();
                let column = standard(&column);
                if !column.is_empty() {
                    let size = a.complexity().max(b.complexity());
                    let dimension = first.zip(*second).map(|(a, b)| a.times(&b));
                    self.words.push(Word { expr: Expr::apply(Operation::Mul, &[a, b]), column, size, dimension });
                }
            }
        }
    }

    /// Terms are taken one by one, each time the one that explains most of what is left besides those that are taken,
    /// from a part of the dictionary that the stream draws. Each prefix is a sum. `residual` is what is to be explained;
    /// if it has a dimension, terms have that one.
    pub fn sparse(
        &self,
        residual: &[f64],
        longest: usize,
        wanted: Option<&Dimension>,
        stream: &mut Stream,
    ) -> Vec<Vec<Expr>> {
        // Greed is misled by large dictionaries, in which sums of true terms are terms themselves.
        let largest = [2, 3, 3, 4, 5, 9][stream.below(6)];
        let keep = if stream.uniform() < 0.5 { 1.0 } else { 0.3 + 0.7 * stream.uniform() };
        let has_unit = |w: &Word| wanted.zip(w.dimension.as_ref()).is_none_or(|(a, b)| a.is_same(b));
        let fits = |w: &&Word| w.size <= largest && has_unit(w);
        let drawn: Vec<&Word> =
            self.words.iter().filter(fits).filter(|_| keep == 1.0 || stream.uniform() < keep).collect();
        let mut left = standard(residual);
        let mut chosen: Vec<Expr> = Vec::new();
        let mut places: Vec<usize> = Vec::new();
        let target = left.clone();
        let mut basis: Vec<Vec<f64>> = Vec::new();
        let mut prefixes = Vec::new();
        // Of each term: its product with what is left, and what is left of its own length besides those that are taken.
        let mut state: Vec<(f64, f64)> = match left.is_empty() {
            true => Vec::new(),
            false => drawn.iter().map(|w| (dot(&w.column, &left), 1.0)).collect(),
        };
        while chosen.len() < longest && !state.is_empty() {
            let gain = |(w, (product, own)): (&&Word, &(f64, f64))| {
                // What is left of a column that depends on the others is rounding.
                if *own > 1e-10 { product * product / own * (1.0 - 0.005 * w.expr.complexity() as f64) } else { 0.0 }
            };
            let (mut best, mut most) = (0, 0.0);
            for (i, pair) in drawn.iter().zip(&state).enumerate() {
                let gain = gain(pair);
                if gain > most {
                    (best, most) = (i, gain);
                }
            }
            if most <= 1e-18 {
                break;
            }
            let mut q = drawn[best].column.clone();
            // Twice is enough (Giraud, Langou and Rozloznik 2005).
            for _ in 0..2 {
                for other in &basis {
                    let along = dot(other, &q);
                    subtract(&mut q, along, other);
                }
            }
            let long = length(&q);
            q.iter_mut().for_each(|x| *x /= long);
            let explained = dot(&q, &left);
            subtract(&mut left, explained, &q);
            let square = dot(&left, &left);
            for (word, (product, own)) in drawn.iter().zip(&mut state) {
                let along = dot(&word.column, &q);
                *own -= along * along;
                *product = if square < FRESH { dot(&word.column, &left) } else { *product - along * explained };
            }
            state[best] = (0.0, 0.0);
            basis.push(q);
            chosen.push(drawn[best].expr.clone());
            places.push(best);
            prefixes.push(chosen.clone());
            if square < 1e-26 {
                break;
            }
        }
        let rest = dot(&left, &left);
        if places.len() > 1 && rest > EXACT && stream.uniform() < EXCHANGED_SHARE {
            // The terms of laws are simple; a sum of simple ones must not end at a large one that does the work of several.
            let is_simple = |i: &usize| places.contains(i) || drawn[*i].expr.complexity() <= SIMPLE;
            let simple: Vec<usize> = (0..drawn.len()).filter(is_simple).collect();
            let units: Vec<&[f64]> = simple.iter().map(|&i| drawn[i].column.as_slice()).collect();
            places.iter_mut().for_each(|place| *place = simple.partition_point(|i| *i < *place));
            let count = 2 + stream.below((places.len() - 1).min(MOST_EXCHANGED - 1));
            let begin = Found { columns: places[..count].to_vec(), left: f64::INFINITY };
            let found = exchange(&units, &target, begin);
            prefixes.push(found.columns.iter().map(|&c| drawn[simple[c]].expr.clone()).collect());
        }
        prefixes
    }
}

fn subtract(from: &mut [f64], factor: f64, direction: &[f64]) {
    from.iter_mut().zip(direction).for_each(|(x, d)| *x -= factor * d);
}

/// Deviations from the mean, of length 1; empty if there are none, or no numbers.
pub fn standard(column: &[f64]) -> Vec<f64> {
    let mean = column.iter().sum::<f64>() / column.len().max(1) as f64;
    let centred: Vec<f64> = column.iter().map(|x| x - mean).collect();
    let length = length(&centred);
    let largest = column.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    if !(length.is_finite() && length > 1e-9 * largest) {
        return Vec::new();
    }
    centred.into_iter().map(|x| x / length).collect()
}
