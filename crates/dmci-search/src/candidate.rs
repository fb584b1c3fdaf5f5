//! Candidates: an expression in canonical form, with the values that its fit starts from.

use crate::expr::{Expr, Node};
use crate::normal::{canonical_within, hash};
use crate::operation::Operations;
use serde::{Deserialize, Serialize};

/// A candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its body, or the content of the first hole of its seed.
    pub expr: Expr,
    /// The contents of further holes, each with parameters numbered from 0.
    pub rest: Vec<Expr>,
    /// The seed, if a search has several.
    pub seed: u16,
    /// Where its parameters start: those of the contents in order, then those that the seed keeps.
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
        Candidate { expr, rest: Vec::new(), seed: 0, values, hash }
    }

    /// The candidate of a seed with several holes: their contents, and the values of the parameters that the seed keeps.
    pub fn joined(seed: u16, contents: Vec<Candidate>, own: &[f64]) -> Candidate {
        let mix = |hash: u64, next: u64| (hash.rotate_left(17) ^ next).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = contents.iter().map(|c| c.hash).reduce(mix).unwrap_or(0);
        let hash = if seed == 0 { hash } else { mix(hash, u64::from(seed)) };
        let values = contents.iter().flat_map(|c| c.values.iter().copied()).chain(own.iter().copied()).collect();
        let mut contents = contents.into_iter().map(|c| c.expr);
        // A seed without a hole has nothing to fill in.
        let expr = contents.next().unwrap_or_else(|| Expr::leaf(Node::Int(1)));
        Candidate { expr, rest: contents.collect(), seed, values, hash }
    }

    /// The contents of all holes.
    pub fn contents(&self) -> impl Iterator<Item = &Expr> {
        std::iter::once(&self.expr).chain(&self.rest)
    }

    /// Nodes of all contents.
    pub fn complexity(&self) -> usize {
        self.contents().map(Expr::complexity).sum()
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
