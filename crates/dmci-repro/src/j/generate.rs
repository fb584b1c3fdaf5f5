//! The generator of programs: random trees in closed form, and recursive relaxations towards them.

use super::formula::Formula;
use crate::task::linspace;
use crate::torch::Torch;
use dmci_generate::expression;
use dmci_generate::grow::{Decide, grow};
use dmci_generate::sexp::Sexp;
use dmci_generate::{Grammar, Operation, Type};
use std::collections::HashSet;

/// A program with the parameters that made its data.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// The tree, with `x` and parameters `p0`, `p1`, ...
    pub tree: Sexp,
    /// The same, to be computed without the engine.
    formula: Formula,
    /// True parameters; the last one is the damping if it is recursive.
    pub truth: Vec<f64>,
    /// Whether it relaxes towards the tree.
    pub recursive: bool,
}

/// Steps of a relaxation.
pub const STEPS: usize = 15;

impl Generated {
    /// Its value, computed without the engine.
    pub fn value(&self, x: f64, p: &[f64]) -> f64 {
        let g = self.formula.value(x, p);
        if !self.recursive {
            return g;
        }
        let tau = p[p.len() - 1];
        (0..STEPS).fold(1.0, |y, _| y + 0.1 * (g - tau * y))
    }

    /// Whether the input is in it.
    pub fn uses_input(&self) -> bool {
        self.formula.uses_input()
    }

    /// Names of the parameters.
    pub fn names(&self) -> Vec<String> {
        let n = self.truth.len() - usize::from(self.recursive);
        let mut names: Vec<String> = (0..n).map(|i| format!("p{i}")).collect();
        if self.recursive {
            names.push("tau".into());
        }
        names
    }

    /// The text of the program, with parameters at these values.
    pub fn scheme(&self, at: &[f64]) -> String {
        let declared: Vec<String> = self.names().iter().zip(at).map(|(n, v)| format!("({n} free {v:?})")).collect();
        let head = format!("(params {})", declared.join(" "));
        self.with_head(&head)
    }

    /// The text of the program under another head.
    pub fn with_head(&self, head: &str) -> String {
        let body = &self.tree;
        if !self.recursive {
            return format!("{head}\n{body}\n");
        }
        format!(
            "{head}\n(define (g x) {body})\n(let relax ((n 0) (y 1.0))\n  (if (= n {STEPS})\n      y\n      (relax (+ n 1) (+ y (* 0.1 (- (g x) (* tau y)))))))\n"
        )
    }

    /// The lines that somebody would write to port it: one for each node, and four for the recursion.
    pub fn lines(&self) -> usize {
        expression::size(&self.tree) + if self.recursive { 4 } else { 0 }
    }
}

/// The protocol's decisions, drawn from torch's stream.
struct Protocol {
    torch: Torch,
    parameters: usize,
}

const FUNCTIONS: [(&str, usize); 6] = [("exp", 1), ("sin", 1), ("cos", 1), ("+", 2), ("-", 2), ("*", 2)];

impl Decide for Protocol {
    fn ends(&mut self, depth: usize) -> bool {
        depth == 0 || self.torch.uniform() < 0.35
    }

    fn operation(&mut self, choices: &[&Operation]) -> usize {
        let operands = if self.torch.uniform() < 0.4 { 1 } else { 2 };
        let of: Vec<usize> = (0..choices.len()).filter(|&i| choices[i].operands.len() == operands).collect();
        of[(self.torch.uniform() * of.len() as f64) as usize % of.len()]
    }

    fn leaf(&mut self, _: &Type) -> Option<Sexp> {
        let draw = self.torch.uniform();
        Some(if draw < 0.55 {
            Sexp::atom("x")
        } else if self.parameters < 4 && draw < 0.85 {
            self.parameters += 1;
            Sexp::atom(format!("p{}", self.parameters - 1))
        } else {
            let constant = ((0.5 + 1.5 * self.torch.uniform()) * 100.0).round() / 100.0;
            Sexp::atom(format!("{constant:?}"))
        })
    }
}

/// So many distinct programs, all of them recursive or none.
pub fn generate(n: usize, recursive: bool, seed: u64) -> Vec<Generated> {
    let operations = FUNCTIONS.iter().map(|(name, operands)| Operation::real(name, *operands)).collect();
    let grammar = Grammar { operations, ..Grammar::default() };
    let mut protocol = Protocol { torch: Torch::new(seed), parameters: 0 };
    let (depth, grid) = if recursive { (2, 6) } else { (3, 8) };
    let places = linspace(0.0, 2.0, grid, false);
    let mut seen = HashSet::new();
    let mut all = Vec::with_capacity(n);
    // Small trees are soon all known; then deeper ones are drawn.
    let mut refused = 0;
    while all.len() < n {
        protocol.parameters = 0;
        let tree = grow(&grammar, &Type::Real, depth + refused / 400_000, &mut protocol);
        let tree = tree.expect("every leaf of the protocol is there");
        let count = protocol.parameters + usize::from(recursive);
        let truth: Vec<f64> = (0..count).map(|_| 0.2 + 1.3 * protocol.torch.uniform()).collect();
        let formula = Formula::of(&tree);
        let program = Generated { tree, formula, truth, recursive };
        let fine = |x: &f64| {
            let y = program.value(*x, &program.truth);
            y.is_finite() && y.abs() <= 1e4
        };
        if protocol.parameters > 0 && places.iter().all(fine) && seen.insert(program.tree.to_string()) {
            all.push(program);
        } else {
            refused += 1;
        }
    }
    all
}

/// The data of a program: places and values.
pub fn data(program: &Generated, number: u64) -> (Vec<f64>, Vec<f64>) {
    let mut torch = Torch::new(1 + number);
    let xs: Vec<f64> = (0..16).map(|_| 2.0 * torch.uniform()).collect();
    let ys = xs.iter().map(|&x| program.value(x, &program.truth)).collect();
    (xs, ys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci_table::hash::Hash;

    #[test]
    fn programs_are_distinct_and_the_same_every_time() {
        for recursive in [false, true] {
            let programs = generate(500, recursive, 0);
            assert_eq!(programs, generate(500, recursive, 0));
            let texts: HashSet<String> = programs.iter().map(|p| p.scheme(&p.truth)).collect();
            assert_eq!(texts.len(), 500);
            assert!(programs.iter().all(|p| !p.truth.is_empty() && p.truth.iter().all(|t| (0.2..1.5).contains(t))));
        }
    }

    #[test]
    fn programs_are_those_of_the_published_results() {
        for (recursive, digits) in
            [(false, "09478c03aea25daaf60255f775099edc"), (true, "7a080d4fdc22add433df694bbcc3cf87")]
        {
            let mut hash = Hash::default();
            for program in generate(3000, recursive, 0) {
                hash.add(program.scheme(&program.truth).as_bytes());
                hash.add(crate::j::formula::python(&program.tree).as_bytes());
                hash.add_number(program.value(1.25, &program.truth));
                hash.add_number((program.lines() * 2 + usize::from(program.uses_input())) as f64);
            }
            assert_eq!(hash.digits(), digits);
        }
    }
}
