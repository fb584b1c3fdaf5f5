//! Numbers that remember how they were computed, in the usual textbook way.

use crate::adam::fit;
use dmci_ops::Op as Function;
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

#[derive(Clone, Copy, Debug)]
enum Op {
    Leaf,
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    Exp,
    Sin,
    Cos,
    Sqrt,
    Tanh,
    Pow,
}

/// An operation with its operands: where they are on the tape, and their values.
#[derive(Clone, Copy, Debug)]
struct Node {
    op: Op,
    at: [u32; 2],
    of: [f64; 2],
    value: f64,
}

/// Constants are nowhere on the tape.
const NOWHERE: u32 = u32::MAX;

/// A tape.
#[derive(Debug, Default)]
pub struct Tape {
    /// Every operation is rounded to single precision.
    single: bool,
    nodes: RefCell<Vec<Node>>,
}

/// A number on a tape, or a constant.
#[derive(Clone, Copy, Debug)]
pub struct Number<'t> {
    tape: &'t Tape,
    at: u32,
    /// Its value.
    pub value: f64,
}

impl Tape {
    /// An empty tape.
    pub fn new(single: bool) -> Tape {
        Tape { single, nodes: RefCell::default() }
    }

    /// How many operations there are, with leaves.
    pub fn len(&self) -> usize {
        self.nodes.borrow().len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A number that something may be differentiated by.
    pub fn leaf(&self, value: f64) -> Number<'_> {
        self.push(Op::Leaf, [NOWHERE; 2], [0.0; 2], value)
    }

    /// A number that does not matter to derivatives.
    pub fn constant(&self, value: f64) -> Number<'_> {
        Number { tape: self, at: NOWHERE, value: fit(value, self.single) }
    }

    fn push(&self, op: Op, at: [u32; 2], of: [f64; 2], value: f64) -> Number<'_> {
        let value = fit(value, self.single);
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node { op, at, of, value });
        Number { tape: self, at: nodes.len() as u32 - 1, value }
    }

    /// The derivatives of a number by some leaves.
    pub fn gradient(&self, output: Number, leaves: &[Number]) -> Vec<f64> {
        let nodes = self.nodes.borrow();
        let mut adjoints: Vec<Option<f64>> = vec![None; nodes.len()];
        if let Some(adjoint) = adjoints.get_mut(output.at as usize) {
            *adjoint = Some(1.0);
        }
        for i in (0..nodes.len()).rev() {
            let Some(g) = adjoints[i] else { continue };
            let node = nodes[i];
            for (operand, at) in node.at.into_iter().enumerate() {
                if at != NOWHERE {
                    let part = self.part(node, operand, g);
                    let sum = adjoints[at as usize].map_or(part, |sum| fit(sum + part, self.single));
                    adjoints[at as usize] = Some(sum);
                }
            }
        }
        let of = |leaf: &Number| adjoints.get(leaf.at as usize).copied().flatten().unwrap_or(0.0);
        leaves.iter().map(of).collect()
    }

    /// A function in the precision of the tape.
    fn of(&self, function: Function, x: [f64; 2]) -> f64 {
        let [a, b] = x.map(f64::to_bits);
        f64::from_bits(function.eval_in(self.single, [a, b, 0]))
    }

    fn part(&self, node: Node, operand: usize, g: f64) -> f64 {
        let r = |x: f64| fit(x, self.single);
        let Node { op, of: [a, b], value: y, .. } = node;
        match (op, operand) {
            (Op::Leaf, _) => 0.0,
            (Op::Add, _) | (Op::Sub, 0) => g,
            (Op::Sub, _) | (Op::Neg, _) => -g,
            (Op::Mul, 0) => r(g * b),
            (Op::Mul, _) => r(g * a),
            (Op::Div, 0) => r(g / b),
            (Op::Div, _) => -r(g * r(y / b)),
            (Op::Exp, _) => r(g * y),
            (Op::Sin, _) => r(g * self.of(Function::Cos, [a, b])),
            (Op::Cos, _) => -r(g * self.of(Function::Sin, [a, b])),
            (Op::Sqrt, _) => r(g / r(y + y)),
            (Op::Tanh, _) => r(g * r(1.0 - r(y * y))),
            (Op::Pow, 0) => r(g * self.of(Function::PowBase, [a, b])),
            (Op::Pow, _) => r(g * self.of(Function::PowExponent, [a, b])),
        }
    }
}

impl<'t> Number<'t> {
    fn two(self, op: Op, other: Number<'t>, value: f64) -> Number<'t> {
        if self.at == NOWHERE && other.at == NOWHERE {
            return self.tape.constant(value);
        }
        self.tape.push(op, [self.at, other.at], [self.value, other.value], value)
    }

    fn function(self, op: Op, function: Function) -> Number<'t> {
        self.one(op, self.tape.of(function, [self.value, 0.0]))
    }

    fn one(self, op: Op, value: f64) -> Number<'t> {
        if self.at == NOWHERE {
            return self.tape.constant(value);
        }
        self.tape.push(op, [self.at, NOWHERE], [self.value, 0.0], value)
    }

    /// A constant on the same tape.
    pub fn constant(self, value: f64) -> Number<'t> {
        self.tape.constant(value)
    }

    /// e to this power.
    pub fn exp(self) -> Number<'t> {
        self.function(Op::Exp, Function::Exp)
    }

    /// The sine.
    pub fn sin(self) -> Number<'t> {
        self.function(Op::Sin, Function::Sin)
    }

    /// The cosine.
    pub fn cos(self) -> Number<'t> {
        self.function(Op::Cos, Function::Cos)
    }

    /// The square root.
    pub fn sqrt(self) -> Number<'t> {
        self.function(Op::Sqrt, Function::Sqrt)
    }

    /// The hyperbolic tangent.
    pub fn tanh(self) -> Number<'t> {
        self.function(Op::Tanh, Function::Tanh)
    }

    /// This to a power.
    pub fn pow(self, power: Number<'t>) -> Number<'t> {
        self.two(Op::Pow, power, self.tape.of(Function::Pow, [self.value, power.value]))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $sign:tt;)*) => {
        $(impl<'t> $trait for Number<'t> {
            type Output = Number<'t>;

            fn $method(self, other: Number<'t>) -> Number<'t> {
                self.two(Op::$trait, other, self.value $sign other.value)
            }
        }

        impl<'t> $trait<f64> for Number<'t> {
            type Output = Number<'t>;

            fn $method(self, other: f64) -> Number<'t> {
                let other = self.constant(other);
                self $sign other
            }
        }

        impl<'t> $trait<Number<'t>> for f64 {
            type Output = Number<'t>;

            fn $method(self, other: Number<'t>) -> Number<'t> {
                other.constant(self) $sign other
            }
        })*
    };
}

operators! {
    Add add +;
    Sub sub -;
    Mul mul *;
    Div div /;
}

impl<'t> Neg for Number<'t> {
    type Output = Number<'t>;

    fn neg(self) -> Number<'t> {
        self.one(Op::Neg, -self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_those_of_central_differences() {
        fn f<'t>(p: &[Number<'t>]) -> Number<'t> {
            let (a, b) = (p[0], p[1]);
            ((a * b).sin() + (a / b).exp() - (a * a + 1.0).sqrt()) * b.pow(a) - (a.tanh() * b.cos()) / (2.0 + b)
        }
        let at = [0.7, 1.3];
        let value = |p: [f64; 2]| {
            let tape = Tape::new(false);
            f(&p.map(|x| tape.leaf(x))).value
        };
        let tape = Tape::new(false);
        let leaves = at.map(|x| tape.leaf(x));
        let gradient = tape.gradient(f(&leaves), &leaves);
        for i in 0..2 {
            let moved = |by: f64| {
                let mut p = at;
                p[i] += by;
                value(p)
            };
            let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((gradient[i] - expected).abs() < 1e-8, "{i}: {} {expected}", gradient[i]);
        }
    }
}
