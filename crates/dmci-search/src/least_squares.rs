//! Least squares for one expression: Levenberg-Marquardt over exact Jacobians, with the parameters that enter linearly
//! solved for and never damped. No text, no picture, no error bars: a fit of a search is this and nothing else.

use crate::expr::{Expr, Node};
use crate::lower::{Lowered, Space};
use crate::operation::Operation;
use crate::steps::Steps;
use dmci_stats::linear::{column_lengths, dot};

/// The rows that are fitted.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The inputs.
    pub columns: &'a [&'a [f64]],
    /// What is predicted.
    pub target: &'a [f64],
    /// Roots of the weights, if rows have any.
    pub root_weights: Option<&'a [f64]>,
    /// The sum of squares below which there is nothing to gain: rounding of the target, or less than any score counts.
    pub floor: f64,
}

/// How a fit ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The parameters.
    pub values: Vec<f64>,
    /// The weighted sum of squares.
    pub squares: f64,
    /// Whether the next step would gain nothing (the Newton decrement is small beside the sum of squares or its floor).
    pub converged: bool,
    /// Evaluations of all rows.
    pub evaluations: usize,
    /// Directions that the data determine.
    pub rank: usize,
}

/// The decrement that counts as none, beside the sum of squares.
const DECREMENT: f64 = 1e-8;

/// Writes residuals and Jacobian at some values and returns the sum of squares.
type Evaluate<'a> = dyn FnMut(&mut Vec<f64>, &mut Vec<f64>, &[f64]) -> f64 + 'a;

/// Memory of fits, used again.
#[derive(Debug, Default)]
pub struct Fitter {
    /// Of evaluations.
    pub space: Space,
    jacobian: Vec<f64>,
    residuals: Vec<f64>,
    columns: Vec<f64>,
    linear_part: Vec<f64>,
}

/// The parameters in which an expression is affine together.
pub fn linear_parameters(expr: &Expr) -> Vec<bool> {
    let mut linear = vec![false; expr.parameters()];
    let mut uses = vec![0; linear.len()];
    expr.nodes.iter().for_each(|n| {
        if let Node::Param(p) = n {
            uses[*p as usize] += 1;
        }
    });
    for p in affine(expr, 0) {
        linear[p as usize] = uses[p as usize] == 1;
    }
    linear
}

fn affine(expr: &Expr, at: usize) -> Vec<u16> {
    match expr.nodes[at] {
        Node::Param(p) => vec![p],
        Node::Var(_) | Node::Int(_) => Vec::new(),
        Node::Op(Operation::Add | Operation::Sub | Operation::Neg) => {
            expr.operands(at).flat_map(|i| affine(expr, i)).collect()
        }
        Node::Op(Operation::Mul) => {
            let parts: Vec<Vec<u16>> = expr.operands(at).map(|i| affine(expr, i)).collect();
            parts.into_iter().max_by_key(Vec::len).unwrap_or_default()
        }
        Node::Op(Operation::Div) => affine(expr, at + 1),
        Node::Op(_) => Vec::new(),
    }
}

impl Fitter {
    /// Evaluates residuals and Jacobian; the sum of squares, not finite if any number is not.
    fn evaluate(&mut self, model: &Lowered, rows: &Rows<'_>, values: &[f64]) -> f64 {
        let (n, k) = (rows.target.len(), values.len());
        let out = model.evaluate(values, rows.columns, n, &mut self.space);
        self.residuals.clear();
        self.jacobian.clear();
        self.jacobian.reserve(n * k);
        let mut all = 0.0;
        for (r, row) in out.chunks_exact(k + 1).enumerate() {
            let weight = rows.root_weights.map_or(1.0, |w| w[r]);
            let residual = weight * (rows.target[r] - f64::from_bits(row[0]));
            self.residuals.push(residual);
            for bits in &row[1..] {
                let slope = weight * f64::from_bits(*bits);
                all += slope * 0.0;
                self.jacobian.push(slope);
            }
        }
        // NaN if any derivative is not finite.
        dot(&self.residuals, &self.residuals) + all
    }

    /// The sum of squares at some parameters.
    pub fn squares(&mut self, model: &Lowered, rows: &Rows<'_>, values: &[f64]) -> f64 {
        self.evaluate(model, rows, values)
    }

    /// Solves for the linear parameters at the point where residuals and Jacobian are known; what further steps need.
    fn solve_linear(&mut self, linear: &[bool], values: &mut [f64]) -> Steps {
        let k = values.len();
        let which: Vec<usize> = (0..k).filter(|&j| linear[j]).collect();
        self.linear_part.clear();
        for row in self.jacobian.chunks_exact(k) {
            self.linear_part.extend(which.iter().map(|&j| row[j]));
        }
        let steps = Steps::new(&self.linear_part, &self.residuals, which.len(), &mut self.columns);
        let step = steps.solve(&vec![0.0; which.len()]);
        for (&j, by) in which.iter().zip(step) {
            values[j] += by;
        }
        steps
    }

    /// Fits from one start. None if it has a number that is not finite there.
    pub fn fit(
        &mut self,
        model: &Lowered,
        rows: &Rows<'_>,
        linear: &[bool],
        start: &[f64],
        iterations: usize,
    ) -> Option<Solution> {
        let k = start.len();
        let mut values = start.to_vec();
        let mut squares = self.evaluate(model, rows, &values);
        let mut evaluations = 1;
        // Work that is stopped has no result: whoever stops it throws all of it away.
        if !squares.is_finite() || dmci_limits::rings() {
            return None;
        }
        if k == 0 {
            return Some(Solution { values, squares, converged: true, evaluations, rank: 0 });
        }
        let all_linear = linear.iter().all(|l| *l);
        let mut solved: Option<Steps> = None;
        if linear.iter().any(|l| *l) {
            let before = values.clone();
            // Where the target is huge, what rounding leaves of a first solution is worth a second.
            for _ in 0..2 {
                let steps = self.solve_linear(linear, &mut values);
                let found = self.evaluate(model, rows, &values);
                evaluations += 1;
                if !found.is_finite() {
                    values = before;
                    squares = self.evaluate(model, rows, &values);
                    evaluations += 1;
                    solved = None;
                    break;
                }
                solved = all_linear.then_some(steps);
                let enough = found <= rows.floor || found > 1e-6 * squares;
                squares = found;
                if enough {
                    break;
                }
            }
        }
        let mut begun = Solution { values, squares, converged: squares <= rows.floor, evaluations, rank: k };
        if let Some(steps) = &solved {
            begun.rank = steps.rank();
            let decrement = steps.decrement_of(&self.jacobian, &self.residuals);
            begun.converged |= decrement <= DECREMENT * squares.max(rows.floor);
        }
        self.descend(begun, linear, rows.floor, iterations, &mut |fitter, values| fitter.evaluate(model, rows, values))
    }

    /// Fits residuals that somebody else evaluates: it leaves them and their Jacobian with the fitter, and gives the sum
    /// of squares, which is not finite where there is no fit. None if it is not at the start, or if the time is over.
    pub fn fit_residuals(
        &mut self,
        start: &[f64],
        floor: f64,
        iterations: usize,
        evaluate: &mut Evaluate<'_>,
    ) -> Option<Solution> {
        let mut evaluate = |fitter: &mut Fitter, values: &[f64]| {
            let Fitter { residuals, jacobian, .. } = fitter;
            evaluate(residuals, jacobian, values)
        };
        let squares = evaluate(self, start);
        let begun = Solution {
            values: start.to_vec(),
            squares,
            converged: squares <= floor || start.is_empty(),
            evaluations: 1,
            rank: start.len(),
        };
        if !squares.is_finite() {
            return None;
        }
        self.descend(begun, &vec![false; start.len()], floor, iterations, &mut evaluate)
    }

    /// Steps of Levenberg and Marquardt from a point where residuals and Jacobian are known. None if the time is over.
    fn descend(
        &mut self,
        begun: Solution,
        linear: &[bool],
        floor: f64,
        iterations: usize,
        evaluate: &mut dyn FnMut(&mut Fitter, &[f64]) -> f64,
    ) -> Option<Solution> {
        let Solution { mut values, mut squares, mut converged, mut evaluations, mut rank } = begun;
        let k = values.len();
        let all_linear = linear.iter().all(|l| *l);
        let mut damping: f64 = 1e-3;
        let mut growth = 2.0;
        let mut units = vec![0.0; k];
        let mut iteration = 0;
        while !converged && iteration < iterations {
            if dmci_limits::rings() {
                return None;
            }
            iteration += 1;
            let steps = Steps::new(&self.jacobian, &self.residuals, k, &mut self.columns);
            rank = steps.rank();
            let decrement = steps.decrement();
            if decrement <= DECREMENT * squares.max(floor) {
                converged = true;
                break;
            }
            for (unit, length) in units.iter_mut().zip(column_lengths(&self.jacobian, k)) {
                *unit = f64::max(*unit, length);
            }
            let (jacobian, residuals) = (self.jacobian.clone(), self.residuals.clone());
            let mut accepted = false;
            while iteration <= iterations {
                let root = dmci_ops::real::sqrt(damping);
                let dampings: Vec<f64> =
                    (0..k).map(|j| if linear[j] && !all_linear { 0.0 } else { root * units[j] }).collect();
                let step = steps.solve(&dampings);
                let next: Vec<f64> = values.iter().zip(&step).map(|(v, s)| v + s).collect();
                if next == values {
                    break;
                }
                let predicted: f64 = squares
                    - jacobian
                        .chunks_exact(k)
                        .zip(&residuals)
                        .map(|(row, r)| {
                            let left = r - dot(row, &step);
                            left * left
                        })
                        .sum::<f64>();
                let found = evaluate(self, &next);
                evaluations += 1;
                let gain = (squares - found) / predicted;
                if found.is_finite() && found < squares && gain > 1e-4 {
                    let bend = 2.0 * gain.min(1.0) - 1.0;
                    damping *= f64::max(1.0 / 3.0, 1.0 - bend * bend * bend);
                    damping = damping.max(1e-15);
                    growth = 2.0;
                    (values, squares, accepted) = (next, found, true);
                    break;
                }
                damping *= growth;
                growth *= 2.0;
                iteration += 1;
                if damping > 1e16 {
                    break;
                }
            }
            if !accepted {
                // Nothing around is better: what is left is rounding, if the decrement is small, or a cliff.
                converged = decrement <= 1e-4 * squares.max(floor) && iteration < iterations;
                break;
            }
            converged = squares <= floor;
        }
        Some(Solution { values, squares, converged, evaluations, rank })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::canonical;
    use dmci::Program;

    fn expr(text: &str, parameters: usize) -> Expr {
        let names: Vec<String> = (0..parameters).map(|i| format!("p{i}")).collect();
        let data = Program::new(text).data().expect("it is read");
        Expr::read(&data[0], &["x".to_string()], &names).expect("it is an expression")
    }

    #[test]
    fn linear_parameters_are_found() {
        let cases = [
            ("(+ p0 (* p1 x))", vec![true, true]),
            ("(* p0 (exp (* p1 x)))", vec![true, false]),
            ("(+ p0 (/ (* p1 x) (+ p2 x)))", vec![true, true, false]),
            ("(- (* p0 x) (* p1 (sin (+ x p2))))", vec![true, true, false]),
            ("(sin (* p0 x))", vec![false]),
            ("(+ (* p0 x) (sin p0))", vec![false]),
        ];
        for (text, expected) in cases {
            assert_eq!(linear_parameters(&expr(text, expected.len())), expected, "{text}");
        }
    }

    #[test]
    fn exact_laws_are_found_to_the_rounding_floor() {
        let x: Vec<f64> = (0..60).map(|i| 0.1 + i as f64 / 12.0).collect();
        let cases: [(&str, Vec<f64>); 4] = [
            ("(+ p0 (* p1 x))", vec![3.0, -2.0]),
            ("(* p0 (exp (* p1 x)))", vec![2.0, -0.7]),
            ("(/ (* p0 x) (+ p1 x))", vec![5.0, 0.4]),
            ("(+ p0 (* p1 (sin (* p2 x))))", vec![1.0, 2.0, 1.3]),
        ];
        let mut fitter = Fitter::default();
        for (text, truth) in cases {
            let (e, _) = canonical(&expr(text, truth.len()), &truth);
            let mut model = Lowered::new(&expr(text, truth.len()), 1);
            let y = model.values(&truth, &[&x], x.len(), &mut fitter.space);
            let floor = 1e-20 * dot(&y, &y);
            let rows = Rows { columns: &[&x], target: &y, root_weights: None, floor };
            let model = Lowered::new(&e, 1);
            let linear = linear_parameters(&e);
            let start = vec![1.0; e.parameters()];
            let found = fitter.fit(&model, &rows, &linear, &start, 100).expect("it is finite");
            assert!(found.converged && found.squares <= floor, "{text}: {found:?}");
        }
    }
}
