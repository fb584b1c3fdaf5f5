//! Separable laws: products of functions of one input each. A product of piecewise linear functions is fitted by
//! alternating least squares; each of them is a problem of one input, for which shapes are tried; the best shapes
//! together are candidates.

use crate::candidate::Candidate;
use crate::data::Part;
use crate::expr::{Expr, Node};
use crate::least_squares::{Fitter, linear_parameters};
use crate::lower::Lowered;
use crate::operation::{Operation, Operations};
use dmci::Datum;
use dmci_ops::real::log;

/// Rows that are looked at.
const ROWS: usize = 1200;

/// Knots of a piecewise linear function.
const KNOTS: usize = 20;

/// Rounds of alternating least squares.
const SWEEPS: usize = 20;

/// The share of the variance that a product has to explain for its factors to be worth a look.
const WORTH: f64 = 0.5;

/// Shapes of a factor that are combined with those of others.
const KEPT: usize = 4;

/// Inputs beyond this are too many for one function of each.
const MOST_INPUTS: usize = 8;

/// Shapes of one input `x`. Places start where rows are, rates `k` at a few turns over their range, scales `s` at a part
/// of it.
const SHAPES: [&str; 17] = [
    "x",
    "(expt x p)",
    "(exp (* k x))",
    "(/ x (+ s x))",
    "(/ 1 (+ s x))",
    "(log (+ s x))",
    "(+ c (* c x) (square x))",
    "(exp (* k (square (- x q))))",
    "(exp (* k (abs (- x q))))",
    "(/ 1 (+ 1 (square (* k (- x q)))))",
    "(/ 1 (+ 1 (square (square (* k (- x q))))))",
    "(tanh (* k (- x q)))",
    "(+ 1 (tanh (* k (- x q))))",
    "(cos (* k (- x q)))",
    "(square (cos (* k (- x q))))",
    "(+ c (exp (* k x)))",
    "(+ c (cos (* k (- x q))))",
];

/// A function of one input: its expression over variable 0, with its numbers, and how well it fits.
#[derive(Clone, Debug)]
struct Shape {
    expr: Expr,
    values: Vec<f64>,
    rank: f64,
}

/// A piecewise linear function.
struct Hats {
    knots: Vec<f64>,
    values: Vec<f64>,
    /// How much each knot is worth.
    weights: Vec<f64>,
    /// For each row the knot at its left and how far it is from it, as a share of the way to the next one.
    rows: Vec<(usize, f64)>,
}

impl Hats {
    fn new(column: &[f64]) -> Option<Hats> {
        let mut sorted = column.to_vec();
        sorted.sort_by(f64::total_cmp);
        let all = sorted.clone();
        sorted.dedup();
        let mut knots: Vec<f64> = match sorted.len() <= KNOTS {
            true => sorted,
            false => (0..KNOTS).map(|k| all[k * (all.len() - 1) / (KNOTS - 1)]).collect(),
        };
        knots.dedup();
        if knots.len() < 4 {
            return None;
        }
        let place = |x: &f64| {
            let k = knots.partition_point(|knot| knot <= x).clamp(1, knots.len() - 1) - 1;
            (k, (x - knots[k]) / (knots[k + 1] - knots[k]))
        };
        let rows = column.iter().map(place).collect();
        let count = knots.len();
        Some(Hats { knots, values: vec![1.0; count], weights: vec![0.0; count], rows })
    }

    fn at(&self, row: usize) -> f64 {
        let (k, t) = self.rows[row];
        self.values[k] * (1.0 - t) + self.values[k + 1] * t
    }

    /// Fits the values at the knots to `target` where the function is multiplied by `factor`.
    fn fit(&mut self, target: &[f64], factor: &[f64]) {
        let n = self.knots.len();
        let (mut main, mut side, mut right) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        for ((&(k, t), y), w) in self.rows.iter().zip(target).zip(factor) {
            let (a, b) = (w * (1.0 - t), w * t);
            main[k] += a * a;
            main[k + 1] += b * b;
            side[k] += a * b;
            right[k] += a * y;
            right[k + 1] += b * y;
        }
        self.weights.clone_from(&main);
        // A little stiffness, for knots that no row is near.
        let stiff = 1e-6 * main.iter().sum::<f64>() / n as f64 + f64::MIN_POSITIVE;
        for k in 0..n - 1 {
            main[k] += stiff;
            main[k + 1] += stiff;
            side[k] -= stiff;
        }
        for k in 1..n {
            let by = side[k - 1] / main[k - 1];
            main[k] -= by * side[k - 1];
            right[k] -= by * right[k - 1];
        }
        for k in (0..n).rev() {
            let next = if k + 1 < n { side[k] * self.values[k + 1] } else { 0.0 };
            self.values[k] = (right[k] - next) / main[k];
        }
    }
}

/// Candidates that are products of functions of one input each; none if no such product explains much.
pub fn separable(part: &Part, operations: &Operations) -> Vec<Candidate> {
    let inputs = part.columns.len();
    if !(2..=MOST_INPUTS).contains(&inputs) || part.len() < 40 || !operations.allows(Operation::Mul) {
        return Vec::new();
    }
    let n = part.len();
    let rows: Vec<usize> = if n <= ROWS { (0..n).collect() } else { (0..ROWS).map(|i| i * n / ROWS).collect() };
    let part = &part.select(&rows);
    let mut hats: Vec<Option<Hats>> = part.columns.iter().map(|column| Hats::new(column)).collect();
    for _ in 0..SWEEPS {
        for j in 0..inputs {
            let others =
                |r: usize| hats.iter().enumerate().filter(|(i, _)| *i != j).map(|(_, h)| value(h, r)).product::<f64>();
            let factor: Vec<f64> = (0..part.len()).map(others).collect();
            if let Some(hat) = &mut hats[j] {
                hat.fit(&part.target, &factor);
                // All but the last have size 1.
                let size = (hat.values.iter().map(|v| v * v).sum::<f64>() / hat.values.len() as f64).sqrt();
                if j + 1 < inputs && size > 0.0 && size.is_finite() {
                    hat.values.iter_mut().for_each(|v| *v /= size);
                }
            }
        }
    }
    let made: Vec<f64> = (0..part.len()).map(|r| hats.iter().map(|h| value(h, r)).product::<f64>()).collect();
    let mean = part.target.iter().sum::<f64>() / part.len() as f64;
    let left: f64 = made.iter().zip(&part.target).map(|(p, y)| (p - y) * (p - y)).sum();
    let all: f64 = part.target.iter().map(|y| (y - mean) * (y - mean)).sum();
    if left.is_nan() || left >= (1.0 - WORTH) * all {
        return Vec::new();
    }
    let mut fitter = Fitter::default();
    let shapes: Vec<Vec<Shape>> =
        hats.iter().map(|h| h.as_ref().map_or_else(Vec::new, |h| shapes(h, operations, &mut fitter))).collect();
    combinations(&shapes, operations)
}

fn value(hat: &Option<Hats>, row: usize) -> f64 {
    hat.as_ref().map_or(1.0, |h| h.at(row))
}

/// The best shapes of a function, and products of two.
fn shapes(hat: &Hats, operations: &Operations, fitter: &mut Fitter) -> Vec<Shape> {
    let spread = hat.values.iter().fold(0.0, |m: f64, v| m.max((v - hat.values[0]).abs()));
    let size = hat.values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    if spread < 1e-6 * size {
        return Vec::new();
    }
    let known: Vec<(Expr, Vec<char>)> =
        SHAPES.iter().filter_map(|text| read(text)).filter(|s| s.0.forbidden(operations).is_none()).collect();
    let mut found: Vec<Shape> = known.iter().filter_map(|(expr, kinds)| best(expr, kinds, None, hat, fitter)).collect();
    sort(&mut found);
    let firsts: Vec<Shape> = found.iter().take(3).cloned().collect();
    for first in &firsts {
        found.extend(known.iter().filter_map(|(expr, kinds)| best(expr, kinds, Some(first), hat, fitter)));
    }
    sort(&mut found);
    found.truncate(KEPT);
    found
}

fn sort(list: &mut [Shape]) {
    list.sort_by(|a, b| a.rank.total_cmp(&b.rank).then_with(|| a.expr.cmp(&b.expr)));
}

/// A shape with the kinds of its numbers: the letters that stand for them.
fn read(text: &str) -> Option<(Expr, Vec<char>)> {
    let mut kinds: Vec<char> = Vec::new();
    // Each letter is a number of its own.
    let mut written = String::new();
    let words = text.replace('(', " ( ").replace(')', " ) ");
    for word in words.split_whitespace() {
        match word {
            "p" | "k" | "s" | "c" | "q" => {
                written += &format!(" v{}", kinds.len());
                kinds.extend(word.chars());
            }
            _ => written += &format!(" {word}"),
        }
    }
    let (_, datum) = Datum::parse_setting(&format!("shape={}", written.trim())).ok()?;
    let names: Vec<String> = (0..kinds.len()).map(|i| format!("v{i}")).collect();
    Some((Expr::read(&datum, &["x".to_string()], &names)?, kinds))
}

/// The best fit of a number times a shape, times a shape that is there already.
fn best(expr: &Expr, kinds: &[char], first: Option<&Shape>, hat: &Hats, fitter: &mut Fitter) -> Option<Shape> {
    let known = first.map_or(0, |f| f.values.len());
    let shifted: Vec<Node> =
        expr.nodes.iter().map(|n| if let Node::Param(p) = n { Node::Param(p + known as u16) } else { *n }).collect();
    let mut shape = Expr { nodes: shifted };
    if let Some(first) = first {
        shape = Expr::apply(Operation::Mul, &[&first.expr, &shape]);
    }
    // The number in front stands last, and is none of the shape's own.
    let count = known + kinds.len();
    let whole = Expr::apply(Operation::Mul, &[&Expr::leaf(Node::Param(count as u16)), &shape]);
    let (low, high) = (hat.knots[0], hat.knots[hat.knots.len() - 1]);
    let width = high - low;
    let starts = |kind: char| -> Vec<f64> {
        match kind {
            'q' => [0.1, 0.35, 0.6, 0.85].iter().map(|share| low + share * width).collect(),
            'k' => [1.0, -1.0, 4.0, -4.0].iter().map(|turns| turns / width).collect(),
            's' => vec![0.3 * width],
            'p' => vec![1.0, -1.0],
            _ => vec![1.0],
        }
    };
    let model = Lowered::new(&whole, 1);
    let linear = linear_parameters(&whole);
    let weights: Vec<f64> = hat.weights.iter().map(|w| w.sqrt()).collect();
    let columns = [hat.knots.as_slice()];
    let rows =
        crate::least_squares::Rows { columns: &columns, target: &hat.values, root_weights: Some(&weights), floor: 0.0 };
    let total: usize = kinds.iter().map(|k| starts(*k).len()).product();
    let mut found: Option<(f64, Vec<f64>)> = None;
    for number in 0..total {
        let mut rest = number;
        let mut values: Vec<f64> = first.map_or_else(Vec::new, |f| f.values.clone());
        for kind in kinds {
            let list = starts(*kind);
            values.push(list[rest % list.len()]);
            rest /= list.len();
        }
        values.push(1.0);
        if let Some(fit) = fitter.fit(&model, &rows, &linear, &values, 25)
            && found.as_ref().is_none_or(|(least, _)| fit.squares < *least)
        {
            found = Some((fit.squares, fit.values));
        }
    }
    let (squares, mut values) = found?;
    values.pop();
    let all: f64 = hat.values.iter().zip(&hat.weights).map(|(v, w)| w * v * v).sum();
    let n = hat.knots.len() as f64;
    let rank = 0.5 * n * log(squares / all + 1e-12) + 1.5 * shape.complexity() as f64;
    (values.iter().all(|v| v.is_finite()) && !rank.is_nan()).then_some(Shape { expr: shape, values, rank })
}

/// Products of the best shapes of all inputs, of which one or two are not the best.
fn combinations(shapes: &[Vec<Shape>], operations: &Operations) -> Vec<Candidate> {
    let used: Vec<usize> = (0..shapes.len()).filter(|j| !shapes[*j].is_empty()).collect();
    let mut choices: Vec<Vec<usize>> = vec![vec![0; used.len()]];
    for (i, &j) in used.iter().enumerate() {
        for first in 1..shapes[j].len() {
            let mut one = vec![0; used.len()];
            one[i] = first;
            choices.push(one.clone());
            for (k, &other) in used.iter().enumerate().skip(i + 1) {
                for second in 1..shapes[other].len() {
                    let mut two = one.clone();
                    two[k] = second;
                    choices.push(two);
                }
            }
        }
    }
    let product = |choice: &Vec<usize>| {
        let mut values = vec![1.0];
        let mut whole = Expr::leaf(Node::Param(0));
        for (&j, &which) in used.iter().zip(choice) {
            let shape = &shapes[j][which];
            let offset = values.len() as u16;
            let of = |n: &Node| match n {
                Node::Var(_) => Node::Var(j as u16),
                Node::Param(p) => Node::Param(p + offset),
                other => *other,
            };
            let factor = Expr { nodes: shape.expr.nodes.iter().map(of).collect() };
            whole = Expr::apply(Operation::Mul, &[&whole, &factor]);
            values.extend_from_slice(&shape.values);
        }
        Candidate::new(&whole, &values, operations)
    };
    if used.len() < 2 { Vec::new() } else { choices.iter().map(product).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Data, Folds};
    use crate::score::Scorer;
    use dmci_stats::random::Stream;

    #[test]
    fn a_product_of_functions_of_one_input_is_found() {
        let mut stream = Stream::new(5, 1);
        let columns: Vec<Vec<f64>> = (0..3).map(|_| (0..400).map(|_| 1.0 + 4.0 * stream.uniform()).collect()).collect();
        let law = |r: usize| {
            let (a, b, c) = (columns[0][r], columns[1][r], columns[2][r]);
            2.0 * a / (1.5 + a) * (-0.8 * (b - 3.0) * (b - 3.0)).exp() * (1.0 + (2.0 * (c - 2.0)).tanh())
        };
        let target: Vec<f64> = (0..400).map(law).collect();
        let part = Part { columns, target, root_weights: None };
        let operations = Operations::parse("+ - * / exp tanh").expect("they exist");
        let names: Vec<String> = (0..3).map(|i| format!("x{i}")).collect();
        let data = Data::new(names, "y", part, Some(&[false; 400]), Folds::Random(5), 1);
        let list = separable(&data.open, &operations);
        assert!(!list.is_empty() && list.iter().all(|c| c.expr.forbidden(&operations).is_none()));
        let mut scorer = Scorer::new(&data, &operations);
        let best = list.iter().take(12).filter_map(|c| scorer.converge(c, 1).ok()).map(|s| s.loss);
        let best = best.fold(f64::INFINITY, f64::min) / data.variance;
        assert!(best < 1e-10, "{best:e}");
        // A sum is no product.
        let sum = Part {
            target: (0..400).map(|r| data.open.columns[0][r] - 4.0 * data.open.columns[1][r].sin()).collect(),
            ..data.open.clone()
        };
        assert!(separable(&sum, &Operations::parse("+ -").expect("they exist")).is_empty());
    }
}
