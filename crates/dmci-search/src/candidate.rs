//! Candidates: an expression in canonical form, with the values that its fit starts from.

use crate::expr::Expr;
use crate::normal::{canonical_within, hash};
use crate::operation::Operations;
use serde::{Deserialize, Serialize};

/// A candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its body.
    pub expr: Expr,
    /// Where its parameters start.
    pub values: Vec<f64>,
    /// The number of its hypothesis: equal for equal canonical forms.
    pub hash: u64,
}

impl Candidate {
    /// The candidate of an expression with values for its parameters.
    pub fn new(expr: &Expr, values: &[f64], allowed: &Operations) -> Candidate {
        let (expr, mut values) = canonical_within(expr, values, allowed);
        // Where merging made no number of two, the fit begins anywhere.
        values.iter_mut().filter(|v| !v.is_finite()).for_each(|v| *v = 1.0);
        let hash = hash(&expr);
        Candidate { expr, values, hash }
    }

    /// The program: a schema with these starts, and the body.
    pub fn program(&self, inputs: &[String], values: &[f64]) -> String {
        let names = parameter_names(values.len(), inputs);
        let body = self.expr.text(inputs, &names);
        if names.is_empty() {
            return body;
        }
        let entries: Vec<String> = names.iter().zip(values).map(|(n, v)| format!("({n} free {v:?})")).collect();
        format!("(params {})\n{body}", entries.join(" "))
    }

    /// The body alone, with numbers rounded for people.
    pub fn formula(&self, inputs: &[String], values: &[f64]) -> String {
        let shown: Vec<String> = values.iter().map(|v| short(*v)).collect();
        self.expr.text(inputs, &shown)
    }
}

/// Names for so many parameters that no input has.
pub fn parameter_names(count: usize, inputs: &[String]) -> Vec<String> {
    let taken = |name: &String| inputs.contains(name);
    (1..).map(|i| format!("c{i}")).filter(|name| !taken(name)).take(count).collect()
}

/// A number with six digits.
pub fn short(x: f64) -> String {
    let text = format!("{x:.5e}");
    let parsed: f64 = text.parse().unwrap_or(x);
    if parsed == 0.0 || (1e-4..1e7).contains(&parsed.abs()) { format!("{parsed}") } else { format!("{parsed:e}") }
}
