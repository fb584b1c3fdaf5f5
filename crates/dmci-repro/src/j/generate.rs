//! The generator of programs: random trees in closed form, and recursive relaxations towards them.

use crate::task::linspace;
use crate::torch::Torch;
use dmci_ops::real::{cos, exp, sin};
use std::collections::HashSet;

/// A tree.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// The input.
    X,
    /// A parameter by number.
    Parameter(usize),
    /// A constant.
    Constant(f64),
    /// `exp`, `sin` or `cos`.
    One(&'static str, Box<Tree>),
    /// `+`, `-` or `*`.
    Two(&'static str, Box<Tree>, Box<Tree>),
}

/// A program with the parameters that made its data.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// The tree.
    pub tree: Tree,
    /// True parameters; the last one is the damping if it is recursive.
    pub truth: Vec<f64>,
    /// Whether it relaxes towards the tree.
    pub recursive: bool,
}

impl Tree {
    fn value(&self, x: f64, p: &[f64]) -> f64 {
        match self {
            Tree::X => x,
            Tree::Parameter(i) => p[*i],
            Tree::Constant(c) => *c,
            Tree::One(name, a) => {
                let a = a.value(x, p);
                match *name {
                    "exp" => exp(a),
                    "sin" => sin(a),
                    _ => cos(a),
                }
            }
            Tree::Two(name, a, b) => {
                let (a, b) = (a.value(x, p), b.value(x, p));
                match *name {
                    "+" => a + b,
                    "-" => a - b,
                    _ => a * b,
                }
            }
        }
    }

    fn nodes(&self) -> usize {
        match self {
            Tree::One(_, a) => 1 + a.nodes(),
            Tree::Two(_, a, b) => 1 + a.nodes() + b.nodes(),
            _ => 1,
        }
    }

    fn scheme(&self) -> String {
        match self {
            Tree::X => "x".into(),
            Tree::Parameter(i) => format!("p{i}"),
            Tree::Constant(c) => format!("{c:?}"),
            Tree::One(name, a) => format!("({name} {})", a.scheme()),
            Tree::Two(name, a, b) => format!("({name} {} {})", a.scheme(), b.scheme()),
        }
    }

    /// For `eval` in Python: `p` and the functions must be there.
    pub fn python(&self) -> String {
        match self {
            Tree::X => "x".into(),
            Tree::Parameter(i) => format!("p{i}"),
            Tree::Constant(c) => format!("{c:?}"),
            Tree::One(name, a) => format!("{name}({})", a.python()),
            Tree::Two(name, a, b) => format!("({} {name} {})", a.python(), b.python()),
        }
    }
}

/// Steps of a relaxation.
pub const STEPS: usize = 15;

impl Generated {
    /// Its value, computed without the engine.
    pub fn value(&self, x: f64, p: &[f64]) -> f64 {
        let g = self.tree.value(x, p);
        if !self.recursive {
            return g;
        }
        let tau = p[p.len() - 1];
        (0..STEPS).fold(1.0, |y, _| y + 0.1 * (g - tau * y))
    }

    /// Whether the input is in it.
    pub fn uses_input(&self) -> bool {
        fn uses(tree: &Tree) -> bool {
            match tree {
                Tree::X => true,
                Tree::One(_, a) => uses(a),
                Tree::Two(_, a, b) => uses(a) || uses(b),
                _ => false,
            }
        }
        uses(&self.tree)
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
        let body = self.tree.scheme();
        if !self.recursive {
            return format!("{head}\n{body}\n");
        }
        format!(
            "{head}\n(define (g x) {body})\n(let relax ((n 0) (y 1.0))\n  (if (= n {STEPS})\n      y\n      (relax (+ n 1) (+ y (* 0.1 (- (g x) (* tau y)))))))\n"
        )
    }

    /// The lines that somebody would write to port it: one for each node, and four for the recursion.
    pub fn lines(&self) -> usize {
        self.tree.nodes() + if self.recursive { 4 } else { 0 }
    }
}

struct Generator {
    torch: Torch,
    parameters: usize,
}

impl Generator {
    fn tree(&mut self, depth: usize) -> Tree {
        if depth == 0 || self.torch.uniform() < 0.35 {
            return self.leaf();
        }
        let pick = |torch: &mut Torch, list: [&'static str; 3]| list[(torch.uniform() * 3.0) as usize % 3];
        if self.torch.uniform() < 0.4 {
            let name = pick(&mut self.torch, ["exp", "sin", "cos"]);
            return Tree::One(name, Box::new(self.tree(depth - 1)));
        }
        let name = pick(&mut self.torch, ["+", "-", "*"]);
        let a = self.tree(depth - 1);
        Tree::Two(name, Box::new(a), Box::new(self.tree(depth - 1)))
    }

    fn leaf(&mut self) -> Tree {
        let draw = self.torch.uniform();
        if draw < 0.55 {
            Tree::X
        } else if self.parameters < 4 && draw < 0.85 {
            self.parameters += 1;
            Tree::Parameter(self.parameters - 1)
        } else {
            Tree::Constant(((0.5 + 1.5 * self.torch.uniform()) * 100.0).round() / 100.0)
        }
    }
}

/// So many distinct programs, all of them recursive or none.
pub fn generate(n: usize, recursive: bool, seed: u64) -> Vec<Generated> {
    let mut generator = Generator { torch: Torch::new(seed), parameters: 0 };
    let (depth, grid) = if recursive { (2, 6) } else { (3, 8) };
    let places = linspace(0.0, 2.0, grid, false);
    let mut seen = HashSet::new();
    let mut all = Vec::with_capacity(n);
    // Small trees are soon all known; then deeper ones are drawn.
    let mut refused = 0;
    while all.len() < n {
        generator.parameters = 0;
        let tree = generator.tree(depth + refused / 400_000);
        let count = generator.parameters + usize::from(recursive);
        let truth: Vec<f64> = (0..count).map(|_| 0.2 + 1.3 * generator.torch.uniform()).collect();
        let program = Generated { tree, truth, recursive };
        let fine = |x: &f64| {
            let y = program.value(*x, &program.truth);
            y.is_finite() && y.abs() <= 1e4
        };
        if generator.parameters > 0 && places.iter().all(fine) && seen.insert(program.tree.scheme()) {
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
}
