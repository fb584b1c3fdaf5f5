//! Enumeration: all expressions without parameters, from the small ones up, each function of the rows once. Their
//! columns are kept, so a larger one costs one operation on columns, and a line in it is fitted in closed form.

use crate::candidate::Candidate;
use crate::data::Part;
use crate::dictionary::{Dictionary, standard};
use crate::expr::{Expr, Node};
use crate::operation::{Operation, Operations};
use crate::units::Units;
use dmci_units::Dimension;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// An expression without parameters, with its value in every row.
#[derive(Clone, Debug)]
pub struct Term {
    /// The expression.
    pub expr: Expr,
    /// Its values.
    pub column: Vec<f64>,
    /// Deviations from their mean, of length 1; empty for a number.
    standard: Vec<f64>,
    /// Whether a line in it is no line in an earlier one.
    is_new: bool,
    /// Its dimension, if that is known.
    dimension: Option<Dimension>,
}

/// A function around a sum. Its inverse makes of the target what the sum must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outer {
    /// None.
    Itself,
    /// `exp`.
    Exp,
    /// 1 divided by it.
    Inverse,
    /// `sqrt`.
    Sqrt,
    /// Its square.
    Square,
    /// `log`.
    Log,
    /// 1 divided by its root.
    InverseSqrt,
}

impl Outer {
    /// The operation that it needs.
    fn operation(self) -> Option<Operation> {
        match self {
            Outer::Itself => None,
            Outer::Exp => Some(Operation::Exp),
            Outer::Inverse => Some(Operation::Div),
            Outer::Sqrt | Outer::InverseSqrt => Some(Operation::Sqrt),
            Outer::Square => Some(Operation::Mul),
            Outer::Log => Some(Operation::Log),
        }
    }

    /// Of which numbers the function gives these; none if there are not such numbers for all of them.
    pub fn inverse(self, target: &[f64]) -> Option<Vec<f64>> {
        let of = |y: f64| match self {
            Outer::Itself => y,
            Outer::Exp if y > 0.0 => dmci_ops::real::log(y),
            Outer::Inverse => 1.0 / y,
            Outer::Sqrt if y >= 0.0 => y * y,
            Outer::Square if y > 0.0 => dmci_ops::real::sqrt(y),
            Outer::Log => dmci_ops::real::exp(y),
            Outer::InverseSqrt if y > 0.0 => 1.0 / (y * y),
            _ => f64::NAN,
        };
        let list: Vec<f64> = target.iter().map(|y| of(*y)).collect();
        list.iter().all(|v| v.abs() < LARGEST).then_some(list)
    }

    /// The dimension inside of the function, if this is the one outside.
    pub fn inside(self, outside: &Dimension) -> Dimension {
        match self {
            Outer::Itself => *outside,
            Outer::Exp | Outer::Log => Dimension::NONE,
            Outer::Inverse => outside.power(-1.0),
            Outer::Sqrt => outside.power(2.0),
            Outer::Square => outside.power(0.5),
            Outer::InverseSqrt => outside.power(-2.0),
        }
    }

    /// The function of an expression.
    pub fn around(self, inner: &Expr) -> Expr {
        match self {
            Outer::Itself => inner.clone(),
            Outer::Exp => Expr::apply(Operation::Exp, &[inner]),
            Outer::Inverse => Expr::apply(Operation::Div, &[&Expr::leaf(Node::Int(1)), inner]),
            Outer::Sqrt => Expr::apply(Operation::Sqrt, &[inner]),
            Outer::Square => Expr::apply(Operation::Square, &[inner]),
            Outer::Log => Expr::apply(Operation::Log, &[inner]),
            Outer::InverseSqrt => {
                let root = Expr::apply(Operation::Sqrt, &[inner]);
                Expr::apply(Operation::Div, &[&Expr::leaf(Node::Int(1)), &root])
            }
        }
    }
}

const OUTERS: [Outer; 6] = [Outer::Itself, Outer::Exp, Outer::Inverse, Outer::Sqrt, Outer::Square, Outer::Log];

/// Terms that are kept.
const MOST_TERMS: usize = 20_000;

/// Terms that one batch makes.
const BATCH_TERMS: usize = 2_500;

/// The smallest terms, whose products are in the dictionary besides.
const PAIRED: usize = 70;

/// Numbers beyond this are of no use.
const LARGEST: f64 = 1e12;

/// All expressions so far.
#[derive(Debug)]
pub struct Enumeration {
    operations: Operations,
    units: Option<Units>,
    target: Vec<(Outer, Vec<f64>)>,
    inputs: Vec<Vec<f64>>,
    /// In the order of size.
    terms: Vec<Term>,
    /// Where terms of each size begin.
    levels: Vec<usize>,
    values: FxHashSet<u64>,
    shapes: FxHashSet<u64>,
    /// What is tried next: the size, the operation and the pair of operands.
    cursor: Cursor,
    /// Lines in a term that were fitted so far.
    pub screened: u64,
    done: bool,
    batches: Vec<Vec<Candidate>>,
    /// Terms of the first batch: sparse sums are made of these, however many there are by then.
    small: usize,
    weights: Vec<f64>,
    dictionary: Option<Arc<Dictionary>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    size: usize,
    operation: usize,
    left: usize,
    right: usize,
}

impl Enumeration {
    /// An enumeration over some rows.
    pub fn new(part: &Part, operations: &Operations, units: Option<&Units>) -> Enumeration {
        let n = part.len();
        let weights = part.root_weights.clone().unwrap_or_else(|| vec![1.0; n]);
        let allowed = |o: &Outer| o.operation().is_none_or(|needed| operations.allows(needed));
        let target = OUTERS.into_iter().filter(allowed);
        let target = target.filter_map(|o| Some((o, standard(&o.inverse(&part.target)?)))).collect();
        let mut made = Enumeration {
            operations: operations.clone(),
            units: units.cloned(),
            target,
            inputs: part.columns.clone(),
            terms: Vec::new(),
            levels: vec![0, 0],
            values: FxHashSet::default(),
            shapes: FxHashSet::default(),
            cursor: Cursor::default(),
            screened: 0,
            done: false,
            batches: Vec::new(),
            small: 0,
            weights,
            dictionary: None,
        };
        for v in 0..part.columns.len() {
            let dimension = units.and_then(|units| units.inputs[v]);
            made.add(Expr::leaf(Node::Var(v as u16)), made.inputs[v].clone(), dimension);
        }
        for i in [1, 2] {
            let term = Term {
                expr: Expr::leaf(Node::Int(i)),
                column: vec![f64::from(i); n],
                standard: Vec::new(),
                is_new: false,
                dimension: Some(Dimension::NONE),
            };
            made.terms.push(term);
        }
        made.levels.push(made.terms.len());
        made.cursor = Cursor { size: 2, ..Cursor::default() };
        made
    }

    /// Adds a term unless it is a number, not finite, or known.
    fn add(&mut self, expr: Expr, column: Vec<f64>, dimension: Option<Dimension>) {
        if !column.iter().all(|x| x.abs() < LARGEST) || !self.values.insert(digest(&column)) {
            return;
        }
        let standard = standard(&column);
        if standard.is_empty() {
            return;
        }
        // The sign and scale of a term are those of its coefficient.
        let sign = standard.iter().find(|x| x.abs() > 1e-6).map_or(1.0, |x| x.signum());
        let shape: Vec<f64> = standard.iter().map(|x| sign * x + 2.0).collect();
        let is_new = self.shapes.insert(digest(&shape));
        self.terms.push(Term { expr, column, standard, is_new, dimension });
    }

    /// The candidates of a batch: the terms in which lines fit best, alone and inside of outer functions. None behind
    /// the last batch.
    pub fn batch(&mut self, number: usize) -> Option<Vec<Candidate>> {
        while self.batches.len() <= number && !self.done {
            let batch = self.next_batch();
            self.batches.push(batch);
        }
        self.batches.get(number).cloned()
    }

    fn next_batch(&mut self) -> Vec<Candidate> {
        let first = if self.batches.is_empty() { 0 } else { self.terms.len() };
        let wanted = self.terms.len() + BATCH_TERMS;
        while self.terms.len() < wanted && !self.done {
            if self.terms.len() >= MOST_TERMS || !self.step() {
                self.done = true;
            }
        }
        if self.batches.is_empty() {
            self.small = self.terms.len();
        }
        let mut found = Vec::new();
        for (t, term) in self.terms.iter().enumerate().skip(first).filter(|t| t.1.is_new) {
            self.screened += self.target.len() as u64;
            for (k, (outer, target)) in self.target.iter().enumerate().filter(|(_, (_, list))| !list.is_empty()) {
                let inside = self.inside(*outer);
                if inside.zip(term.dimension).is_some_and(|(wanted, own)| !wanted.is_same(&own)) {
                    continue;
                }
                let r = dmci_stats::linear::long_dot(&term.standard, target);
                // What is left of the variance, with a little for size.
                let left = f64::max(1.0 - r * r, 1e-14);
                let rank = self.weights.len() as f64 * dmci_ops::real::log(left) + 3.0 * term.expr.complexity() as f64;
                found.push((rank, t, k));
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        found.truncate(160);
        found.into_iter().map(|(_, t, k)| self.line(&self.terms[t].expr, self.target[k].0)).collect()
    }

    /// The outer function of a line in a term.
    fn line(&self, term: &Expr, outer: Outer) -> Candidate {
        // Where a number has no unit and the line has one, it goes through 0.
        if self.inside(outer).is_some_and(|d| !d.is_none()) {
            let slope = Expr::apply(Operation::Mul, &[&Expr::leaf(Node::Param(0)), term]);
            return Candidate::new(&outer.around(&slope), &[1.0], &self.operations);
        }
        let slope = Expr::apply(Operation::Mul, &[&Expr::leaf(Node::Param(1)), term]);
        let line = Expr::apply(Operation::Add, &[&Expr::leaf(Node::Param(0)), &slope]);
        let expr = outer.around(&line);
        Candidate::new(&expr, &self.start(term, outer), &self.operations)
    }

    /// The dimension that a line inside of this function has, if numbers have none.
    fn inside(&self, outer: Outer) -> Option<Dimension> {
        let units = self.units.as_ref().filter(|units| units.is_pure())?;
        units.target.map(|target| outer.inside(&target))
    }

    /// The line that fits the inverse of the outer function.
    fn start(&self, term: &Expr, outer: Outer) -> Vec<f64> {
        let found = self.terms.iter().find(|t| t.expr == *term);
        let target = self.target.iter().find(|t| t.0 == outer);
        let (Some(found), Some(_)) = (found, target) else { return vec![0.1, 1.0] };
        let spread = found.column.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        if outer == Outer::Itself { vec![0.0, 1.0] } else { vec![1.0, 0.1 / spread.max(1e-9)] }
    }

    /// Tries the next combination; false if all sizes are done.
    fn step(&mut self) -> bool {
        let size = self.cursor.size;
        if size > 9 {
            return false;
        }
        let operations = self.operations.list.clone();
        let Some(&operation) = operations.get(self.cursor.operation) else {
            self.levels.push(self.terms.len());
            self.cursor = Cursor { size: size + 1, ..Cursor::default() };
            return true;
        };
        let here = self.cursor;
        let level = |s: usize| (self.levels[s], self.levels[s + 1]);
        if operation.arity() == 1 {
            let (first, end) = level(size - 1);
            if first + here.left >= end {
                self.cursor = Cursor { size, operation: here.operation + 1, ..Cursor::default() };
                return true;
            }
            self.cursor.left += 1;
            self.combine(operation, first + here.left, None);
            return true;
        }
        // All terms below the size on the left; on the right those that make it up.
        let last = if size >= 3 { self.levels[size - 1] } else { 0 };
        if here.left >= last {
            self.cursor = Cursor { size, operation: here.operation + 1, ..Cursor::default() };
            return true;
        }
        let left_size = self.terms[here.left].expr.complexity();
        let Some(right_size) = (size - 1).checked_sub(left_size).filter(|s| *s > 0) else {
            self.cursor = Cursor { left: here.left + 1, right: 0, ..here };
            return true;
        };
        let (first, end) = level(right_size);
        let right = first + here.right;
        if right >= end {
            self.cursor = Cursor { left: here.left + 1, right: 0, ..here };
            return true;
        }
        self.cursor.right += 1;
        if !operation.commutes() || here.left <= right {
            self.combine(operation, here.left, Some(right));
        }
        true
    }

    fn combine(&mut self, operation: Operation, left: usize, right: Option<usize>) {
        let (a, b) = (&self.terms[left], right.map(|r| &self.terms[r]));
        if a.standard.is_empty() && b.is_none_or(|b| b.standard.is_empty()) {
            return;
        }
        let exponent = b.and_then(|b| if let [Node::Int(i)] = b.expr.nodes[..] { Some(f64::from(i)) } else { None });
        let dimension = match self.units {
            None => None,
            Some(_) => match Units::combine(operation, a.dimension, b.map(|b| b.dimension), exponent) {
                Ok(dimension) => dimension,
                Err(_) => return,
            },
        };
        let column: Vec<f64> = match (operation, operation.op(), b) {
            (Operation::Square, ..) => a.column.iter().map(|x| x * x).collect(),
            (Operation::Cube, ..) => a.column.iter().map(|x| x * x * x).collect(),
            (_, Some(op), Some(b)) => a.column.iter().zip(&b.column).map(|(x, y)| op.eval_reals(&[*x, *y])).collect(),
            (_, Some(op), None) => a.column.iter().map(|x| op.eval_reals(&[*x])).collect(),
            _ => return,
        };
        let expr = match b {
            Some(b) => Expr::apply(operation, &[&a.expr, &b.expr]),
            None => Expr::apply(operation, &[&a.expr]),
        };
        self.add(expr, column, dimension);
    }

    /// The terms of the first batch and the products of the smallest, of which sparse sums are made.
    pub fn dictionary(&mut self) -> Arc<Dictionary> {
        self.batch(0);
        if let Some(made) = &self.dictionary {
            return made.clone();
        }
        let mut made = Dictionary::default();
        let terms = &self.terms[..self.small];
        terms.iter().filter(|t| t.is_new).for_each(|t| made.add(&t.expr, &t.standard, t.dimension));
        if self.operations.allows(Operation::Mul) {
            let varying = terms.iter().filter(|t| !t.standard.is_empty()).take(PAIRED);
            made.add_products(&varying.map(|t| (&t.expr, t.column.as_slice(), t.dimension)).collect::<Vec<_>>());
        }
        let made = Arc::new(made);
        self.dictionary = Some(made.clone());
        made
    }

    /// The outer functions whose inverse the target has, besides none at all.
    pub fn outers(&self) -> Vec<Outer> {
        self.target.iter().map(|t| t.0).filter(|o| *o != Outer::Itself).collect()
    }
}

/// A number for a column up to rounding.
fn digest(column: &[f64]) -> u64 {
    column.iter().fold(column.len() as u64, |hash, x| {
        // Single precision, and 0 has no sign.
        let bits = u64::from((*x as f32 + 0.0).to_bits() >> 3);
        let mixed = (hash ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci_stats::random::Stream;

    fn part(f: impl Fn(f64, f64) -> f64) -> Part {
        let mut stream = Stream::new(7, 7);
        let columns: Vec<Vec<f64>> = (0..2).map(|_| (0..60).map(|_| 0.5 + 2.0 * stream.uniform()).collect()).collect();
        let target = (0..60).map(|r| f(columns[0][r], columns[1][r])).collect();
        Part { columns, target, root_weights: None }
    }

    #[test]
    fn each_function_is_there_once() {
        let operations = Operations::parse("+ * sqrt").expect("they exist");
        let part = part(|x, y| x + y);
        let mut made = Enumeration::new(&part, &operations, None);
        made.batch(0);
        let mut seen = FxHashSet::default();
        for term in &made.terms {
            assert!(seen.insert(digest(&term.column)), "{:?}", term.expr);
        }
        assert!(made.terms.len() > 500);
    }

    #[test]
    fn outer_functions_and_sums_are_found() {
        let operations = Operations::default();
        let names = ["x".to_string(), "y".to_string()];
        let of = |f: &dyn Fn(f64, f64) -> f64| {
            let mut made = Enumeration::new(&part(f), &operations, None);
            let list = made.batch(0).expect("there is one");
            list[..20].iter().map(|c| c.formula(&names, &vec![1.0; c.values.len()])).collect::<Vec<_>>()
        };
        let inverse = of(&|x, y| 1.0 / (0.3 + 2.0 * x * y));
        assert!(inverse.iter().any(|t| t == "(/ 1 (+ 1 (* x y 1)))"), "{inverse:?}");
        let part = part(|x, y| 2.0 * x * x - 3.0 * y.sqrt() + 0.5);
        let mut made = Enumeration::new(&part, &operations, None);
        // Two terms explain everything, and some of the dictionaries show that.
        let exact = (0..12).any(|k| {
            let sums = made.dictionary().sparse(&part.target, 6, None, &mut Stream::new(1, k));
            let texts: Vec<String> =
                sums.last().map_or(Vec::new(), |s| s.iter().map(|e| e.text(&names, &[])).collect());
            texts.len() == 2 && texts.iter().any(|t| t == "(square x)")
        });
        assert!(exact);
    }
}
