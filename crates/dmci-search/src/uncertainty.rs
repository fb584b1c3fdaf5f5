//! Standard errors of the numbers of a program, from the curvature of its sum of squares.

use crate::data::Part;
use crate::expr::Expr;
use crate::lower::{Lowered, Space};
use dmci_stats::linear::{Factored, dot};

/// The standard error of each parameter at a least-squares fit to some rows; none where the rows do not determine all of
/// them, or leave no degrees of freedom.
pub fn standard_errors(expr: &Expr, values: &[f64], part: &Part) -> Option<Vec<f64>> {
    let (n, k) = (part.len(), values.len());
    if n <= k || k == 0 {
        return None;
    }
    let mut space = Space::default();
    let model = Lowered::new(expr, part.columns.len());
    let out = model.evaluate(values, &part.slices(), n, &mut space);
    let weight = |r: usize| part.root_weights.as_ref().map_or(1.0, |w| w[r]);
    let (mut jacobian, mut residuals) = (Vec::with_capacity(n * k), Vec::with_capacity(n));
    for (r, row) in out.chunks_exact(k + 1).enumerate() {
        residuals.push(weight(r) * (part.target[r] - f64::from_bits(row[0])));
        jacobian.extend(row[1..].iter().map(|bits| weight(r) * f64::from_bits(*bits)));
    }
    let factored = Factored::new(&jacobian, &residuals, k, &mut Vec::new());
    if factored.rank() < k {
        return None;
    }
    let variance = dot(&residuals, &residuals) / (n - k) as f64;
    // The covariance is that of R^-1: its rows, one for each parameter in the order of R.
    let mut errors = vec![0.0; k];
    for column in 0..k {
        let mut x = vec![0.0; k];
        for i in (0..=column).rev() {
            let known: f64 = (i + 1..=column).map(|j| factored.r[i * k + j] * x[j]).sum();
            let right = if i == column { 1.0 } else { 0.0 };
            x[i] = (right - known) / factored.r[i * k + i];
        }
        (0..k).for_each(|i| errors[factored.order[i]] += x[i] * x[i]);
    }
    let errors: Vec<f64> = errors.into_iter().map(|e| (variance * e).sqrt()).collect();
    errors.iter().all(|e| e.is_finite()).then_some(errors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Node;
    use crate::operation::Operation;

    /// A line has the errors of the textbook.
    #[test]
    fn a_line_has_the_errors_of_the_textbook() {
        let x: Vec<f64> = (0..20).map(|i| f64::from(i) * 0.5).collect();
        let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| 1.0 + 2.0 * x + [0.3, -0.1, -0.2, 0.05][i % 4]).collect();
        let n = x.len() as f64;
        let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
        let sxx: f64 = x.iter().map(|v| (v - mx) * (v - mx)).sum();
        let slope = x.iter().zip(&y).map(|(a, b)| (a - mx) * (b - my)).sum::<f64>() / sxx;
        let start = my - slope * mx;
        let left: f64 = x.iter().zip(&y).map(|(a, b)| (b - start - slope * a) * (b - start - slope * a)).sum();
        let s2 = left / (n - 2.0);
        let parameter = |p| Expr::leaf(Node::Param(p));
        let term = Expr::apply(Operation::Mul, &[&parameter(1), &Expr::leaf(Node::Var(0))]);
        let line = Expr::apply(Operation::Add, &[&parameter(0), &term]);
        let part = Part { columns: vec![x.clone()], target: y, root_weights: None };
        let found = standard_errors(&line, &[start, slope], &part).expect("it is determined");
        let expected = [(s2 * (1.0 / n + mx * mx / sxx)).sqrt(), (s2 / sxx).sqrt()];
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < 1e-12 * b, "{found:?} and {expected:?}");
        }
        let twice = Expr::apply(Operation::Add, &[&parameter(0), &parameter(1)]);
        assert_eq!(standard_errors(&twice, &[1.0, 1.0], &part), None);
    }
}
