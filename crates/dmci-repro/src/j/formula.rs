//! Generated trees computed without the engine, and written in Python.

use dmci_generate::sexp::Sexp;
use dmci_ops::real::{cos, exp, sin};

/// A tree as the steps of a computation with a stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula(Vec<Step>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Input,
    Parameter(usize),
    Constant(f64),
    Exp,
    Sin,
    Cos,
    Add,
    Subtract,
    Multiply,
}

impl Formula {
    /// The steps of a tree of `x`, parameters, constants and the six functions of the protocol.
    pub fn of(tree: &Sexp) -> Formula {
        let mut steps = Vec::new();
        add(tree, &mut steps);
        Formula(steps)
    }

    /// Its value.
    pub fn value(&self, x: f64, p: &[f64]) -> f64 {
        let mut stack = Vec::with_capacity(8);
        for step in &self.0 {
            let mut operand = || stack.pop().expect("a tree puts operands there first");
            let value = match step {
                Step::Input => x,
                Step::Parameter(i) => p[*i],
                Step::Constant(c) => *c,
                Step::Exp => exp(operand()),
                Step::Sin => sin(operand()),
                Step::Cos => cos(operand()),
                Step::Add | Step::Subtract | Step::Multiply => {
                    let (b, a) = (operand(), operand());
                    match step {
                        Step::Add => a + b,
                        Step::Subtract => a - b,
                        _ => a * b,
                    }
                }
            };
            stack.push(value);
        }
        stack.pop().expect("a tree has a value")
    }

    /// Whether the input is in it.
    pub fn uses_input(&self) -> bool {
        self.0.contains(&Step::Input)
    }
}

fn add(tree: &Sexp, steps: &mut Vec<Step>) {
    let name = match tree {
        Sexp::Atom(name) => name,
        call => {
            call.children()[1..].iter().for_each(|operand| add(operand, steps));
            match &call.children()[0] {
                Sexp::Atom(name) => name,
                other => unreachable!("the protocol has no operation {other}"),
            }
        }
    };
    steps.push(match name.as_str() {
        "x" => Step::Input,
        "exp" => Step::Exp,
        "sin" => Step::Sin,
        "cos" => Step::Cos,
        "+" => Step::Add,
        "-" => Step::Subtract,
        "*" => Step::Multiply,
        leaf => match dmci_generate::grammar::parameter_number(leaf) {
            Some(i) => Step::Parameter(i),
            None => Step::Constant(leaf.parse().expect("other leaves of the protocol are numbers")),
        },
    });
}

/// A tree for `eval` in Python: parameters and functions must be there.
pub fn python(tree: &Sexp) -> String {
    match tree.children() {
        [] => tree.to_string(),
        [name, a] => format!("{name}({})", python(a)),
        [name, a, b] => format!("({} {name} {})", python(a), python(b)),
        _ => unreachable!("operations of the protocol have one operand or two"),
    }
}
