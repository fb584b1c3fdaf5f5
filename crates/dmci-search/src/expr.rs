//! Expressions: what a search changes. Operations, variables, parameters and small integers in prefix order.

use crate::operation::{Operation, Operations};
use dmci::Datum;
use serde::{Deserialize, Serialize};

/// One node of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Node {
    /// A variable, by its number.
    Var(u16),
    /// A parameter, by its number.
    Param(u16),
    /// An exact integer, never 0.
    Int(i16),
    /// An operation; its operands follow.
    Op(Operation),
}

impl Node {
    /// How many operands follow.
    pub fn arity(self) -> usize {
        if let Node::Op(o) = self { o.arity() } else { 0 }
    }
}

/// An expression in prefix order, never empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Expr {
    /// Its nodes: each operation before its operands.
    pub nodes: Vec<Node>,
}

/// Nodes beyond which a text is not taken as an expression.
pub const LARGEST: usize = 4096;

impl Expr {
    /// An expression of one node.
    pub fn leaf(node: Node) -> Expr {
        Expr { nodes: vec![node] }
    }

    /// An operation on expressions.
    pub fn apply(operation: Operation, operands: &[&Expr]) -> Expr {
        let mut nodes = vec![Node::Op(operation)];
        operands.iter().for_each(|e| nodes.extend_from_slice(&e.nodes));
        Expr { nodes }
    }

    /// **The complexity of a candidate**: every operation, and every mention of a variable, a parameter or a number,
    /// counts 1; an operation of n operands counts as the n - 1 operations of two that it stands for.
    pub fn complexity(&self) -> usize {
        self.nodes.len()
    }

    /// The node behind the subexpression that begins at `at`.
    pub fn end(&self, at: usize) -> usize {
        let (mut open, mut i) = (1, at);
        while open > 0 {
            open += self.nodes[i].arity();
            open -= 1;
            i += 1;
        }
        i
    }

    /// Where the operands of the node at `at` begin.
    pub fn operands(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let mut next = at + 1;
        (0..self.nodes[at].arity()).map(move |_| {
            let here = next;
            next = self.end(here);
            here
        })
    }

    /// A subexpression.
    pub fn part(&self, at: usize) -> Expr {
        Expr { nodes: self.nodes[at..self.end(at)].to_vec() }
    }

    /// The expression with another one in the place of what begins at `at`.
    pub fn with(&self, at: usize, new: &[Node]) -> Expr {
        let mut nodes = Vec::with_capacity(self.nodes.len() + new.len());
        nodes.extend_from_slice(&self.nodes[..at]);
        nodes.extend_from_slice(new);
        nodes.extend_from_slice(&self.nodes[self.end(at)..]);
        Expr { nodes }
    }

    /// The deepest nesting.
    pub fn depth(&self) -> usize {
        let mut open: Vec<usize> = Vec::new();
        let mut deepest = 0;
        for node in &self.nodes {
            deepest = deepest.max(open.len() + 1);
            open.push(node.arity());
            while open.last() == Some(&0) {
                open.pop();
                if let Some(left) = open.last_mut() {
                    *left -= 1;
                }
            }
        }
        deepest
    }

    /// How many parameters there are: one more than the largest number.
    pub fn parameters(&self) -> usize {
        self.nodes.iter().map(|n| if let Node::Param(p) = n { *p as usize + 1 } else { 0 }).max().unwrap_or(0)
    }

    /// Whether a variable is mentioned.
    pub fn mentions_variables(&self) -> bool {
        self.nodes.iter().any(|n| matches!(n, Node::Var(_)))
    }

    /// Whether it is a line in the variables, whatever its parameters are.
    pub fn is_affine(&self) -> bool {
        // The degree of each operand, as far as it is known to be a polynomial; what is none counts as of degree 2.
        let mut degrees: Vec<usize> = Vec::new();
        for node in self.nodes.iter().rev() {
            let degree = match node {
                Node::Var(_) => 1,
                Node::Param(_) | Node::Int(_) => 0,
                Node::Op(operation) => {
                    let a = degrees.pop().unwrap_or(0);
                    let b = if operation.arity() == 2 { degrees.pop().unwrap_or(0) } else { 0 };
                    match operation {
                        Operation::Add | Operation::Sub | Operation::Neg => a.max(b),
                        Operation::Mul => a + b,
                        Operation::Div if b == 0 => a,
                        _ if a + b == 0 => 0,
                        _ => 2,
                    }
                }
            };
            degrees.push(degree.min(2));
        }
        degrees.pop().is_some_and(|degree| degree <= 1)
    }

    /// Numbers parameters in the order of use; gives the old number of each.
    pub fn renumber(&mut self) -> Vec<u16> {
        let mut old: Vec<u16> = Vec::new();
        for node in &mut self.nodes {
            if let Node::Param(p) = node {
                let at = old.iter().position(|q| q == p).unwrap_or_else(|| {
                    old.push(*p);
                    old.len() - 1
                });
                *p = at as u16;
            }
        }
        old
    }

    /// The text of the expression: sums and products of several operands in one form.
    pub fn text(&self, variables: &[String], parameters: &[String]) -> String {
        let mut out = String::new();
        self.write(0, &mut out, &|node| match node {
            Node::Var(v) => variables[v as usize].clone(),
            Node::Param(p) => parameters[p as usize].clone(),
            Node::Int(i) => i.to_string(),
            Node::Op(o) => o.name().to_string(),
        });
        out
    }

    fn write(&self, at: usize, out: &mut String, name: &dyn Fn(Node) -> String) {
        let Node::Op(operation) = self.nodes[at] else { return *out += &name(self.nodes[at]) };
        *out += "(";
        *out += operation.name();
        let mut todo: Vec<usize> = self.operands(at).collect();
        todo.reverse();
        // (+ (+ a b) c) is (+ a b c): the same operations in the same order.
        let mut first = true;
        while let Some(i) = todo.pop() {
            let is_first = std::mem::take(&mut first);
            if is_first && operation.folds() && operation.arity() == 2 && self.nodes[i] == Node::Op(operation) {
                let mut inner = vec![i];
                // Down the left edge, which is where folds nest.
                while let Some(&deepest) = inner.last() {
                    let left = deepest + 1;
                    if self.nodes[left] != Node::Op(operation) {
                        break;
                    }
                    inner.push(left);
                }
                for (k, &j) in inner.iter().rev().enumerate() {
                    let pair: Vec<usize> = self.operands(j).collect();
                    for &operand in if k == 0 { &pair[..] } else { &pair[1..] } {
                        *out += " ";
                        self.write(operand, out, name);
                    }
                }
                continue;
            }
            *out += " ";
            self.write(i, out, name);
        }
        *out += ")";
    }

    /// Reads an expression over variables and parameters; none if it is anything else: another form, another name,
    /// a real number, or an operation that no candidate has.
    pub fn read(datum: &Datum, variables: &[String], parameters: &[String]) -> Option<Expr> {
        Expr::read_lifting(datum, variables, parameters).filter(|(_, lifted)| lifted.is_empty()).map(|(expr, _)| expr)
    }

    /// The same, but each real number becomes a parameter behind the others; gives their values.
    pub fn read_lifting(datum: &Datum, variables: &[String], parameters: &[String]) -> Option<(Expr, Vec<f64>)> {
        let mut reading = Reading { variables, parameters, nodes: Vec::new(), lifted: Vec::new() };
        reading.add(datum)?;
        Some((Expr { nodes: reading.nodes }, reading.lifted))
    }

    /// The operations that are not allowed.
    pub fn forbidden(&self, allowed: &Operations) -> Option<Operation> {
        self.nodes.iter().find_map(|n| match n {
            Node::Op(o) if !allowed.allows(*o) => Some(*o),
            _ => None,
        })
    }
}

struct Reading<'a> {
    variables: &'a [String],
    parameters: &'a [String],
    nodes: Vec<Node>,
    lifted: Vec<f64>,
}

impl Reading<'_> {
    fn add(&mut self, datum: &Datum) -> Option<()> {
        if self.nodes.len() > LARGEST {
            return None;
        }
        match datum {
            Datum::Symbol(name) => {
                // A parameter shadows a column.
                let parameter = self.parameters.iter().position(|p| p == name).map(|i| Node::Param(i as u16));
                let variable = || self.variables.iter().position(|v| v == name).map(|i| Node::Var(i as u16));
                self.nodes.push(parameter.or_else(variable)?);
            }
            Datum::Integer(i) if *i != 0 => self.nodes.push(Node::Int(i16::try_from(*i).ok()?)),
            Datum::Real(x) if x.is_finite() => {
                self.nodes.push(Node::Param((self.parameters.len() + self.lifted.len()) as u16));
                self.lifted.push(*x);
            }
            Datum::List(items, None) => {
                let (Datum::Symbol(head), operands) = items.split_first()? else { return None };
                if self.parameters.contains(head) || self.variables.contains(head) {
                    return None;
                }
                let operation = match Operation::find(head, operands.len()) {
                    Some(operation) => operation,
                    None => Operation::find(head, 2).filter(|o| operands.len() > 2 && o.folds())?,
                };
                let times = if operation.arity() == 2 { operands.len() - 1 } else { 1 };
                self.nodes.extend((0..times).map(|_| Node::Op(operation)));
                operands.iter().try_for_each(|operand| self.add(operand))?;
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci::Program;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|s| s.to_string()).collect()
    }

    #[test]
    fn texts_are_read_as_they_are_written() {
        let (variables, parameters) = (names(&["x", "y"]), names(&["a", "b"]));
        for text in ["x", "(+ a (* b x y))", "(- x)", "(expt x 2)", "(+ x y 3 a)", "(- x y a)", "(* x (* y a))"] {
            let data = Program::new(text).data().expect("it is read");
            let expr = Expr::read(&data[0], &variables, &parameters).expect("it is an expression");
            assert_eq!(expr.text(&variables, &parameters), text);
        }
        for text in ["(f x)", "1.5", "z", "(if x 1 2)", "(/ x 0)", "(sin x y)", "'x", "(expt x y a)"] {
            let data = Program::new(text).data().expect("it is read");
            assert_eq!(Expr::read(&data[0], &variables, &parameters), None, "{text}");
        }
    }

    #[test]
    fn lines_are_told_from_what_is_none() {
        let (variables, parameters) = (names(&["x", "y"]), names(&["a", "b"]));
        let is = |text: &str| {
            let data = Program::new(text).data().expect("it is read");
            Expr::read(&data[0], &variables, &parameters).expect("it is an expression").is_affine()
        };
        assert!(
            ["x", "a", "(+ a (* b x))", "(- (/ x (exp a)) (* 3 (- y a)))", "(* (+ a b) (- x))"].into_iter().all(is)
        );
        assert!(!["(* x y)", "(square x)", "(/ a x)", "(sin x)", "(expt x a)", "(+ x (* x a x))"].into_iter().any(is));
    }

    #[test]
    fn parts_are_where_they_are() {
        let variables = names(&["x"]);
        let data = Program::new("(+ (sin x) (* 2 (exp x)))").data().expect("it is read");
        let expr = Expr::read(&data[0], &variables, &[]).expect("it is an expression");
        assert_eq!(expr.complexity(), 7);
        assert_eq!(expr.depth(), 4);
        assert_eq!(expr.operands(0).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(expr.part(3).text(&variables, &[]), "(* 2 (exp x))");
        assert_eq!(expr.with(1, &[Node::Int(5)]).text(&variables, &[]), "(+ 5 (* 2 (exp x)))");
    }
}
