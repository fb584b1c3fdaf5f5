//! Expressions: what a formula is, whichever way it is written.

use crate::functions::Function;

/// An operator between two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Or,
}

impl BinaryOp {
    /// Infix sign, name in programs, and how tightly it binds.
    pub(crate) fn row(self) -> (&'static str, &'static str, u8) {
        match self {
            BinaryOp::Or => ("or", "or", 1),
            BinaryOp::And => ("and", "and", 2),
            BinaryOp::Less => ("<", "<", 4),
            BinaryOp::LessEqual => ("<=", "<=", 4),
            BinaryOp::Greater => (">", ">", 4),
            BinaryOp::GreaterEqual => (">=", ">=", 4),
            BinaryOp::Equal => ("==", "=", 4),
            BinaryOp::NotEqual => ("!=", "=", 4),
            BinaryOp::Add => ("+", "+", 5),
            BinaryOp::Sub => ("-", "-", 5),
            BinaryOp::Mul => ("*", "*", 6),
            BinaryOp::Div => ("/", "/", 6),
            BinaryOp::Pow => ("^", "expt", 8),
        }
    }

    /// Whether it gives a truth value of numbers.
    pub fn is_comparison(self) -> bool {
        self.row().2 == 4
    }
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number, as it is written.
    Number(String),
    /// A column, a parameter, or `pi`.
    Name(String),
    /// The negative of an expression.
    Negative(Box<Expr>),
    /// The opposite of a condition.
    Not(Box<Expr>),
    /// Two expressions and an operator.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// A call.
    Call(&'static Function, Vec<Expr>),
    /// `if(condition, then, otherwise)`.
    If(Box<[Expr; 3]>),
}

impl Expr {
    /// Whether it is true or false, and not a number.
    pub fn is_condition(&self) -> bool {
        match self {
            Expr::Not(_) => true,
            Expr::Binary(op, ..) => op.is_comparison() || matches!(op, BinaryOp::And | BinaryOp::Or),
            _ => false,
        }
    }

    /// Its parts.
    pub(crate) fn parts(&self) -> Vec<&Expr> {
        match self {
            Expr::Number(_) | Expr::Name(_) => Vec::new(),
            Expr::Negative(a) | Expr::Not(a) => vec![a],
            Expr::Binary(_, a, b) => vec![a, b],
            Expr::Call(_, arguments) => arguments.iter().collect(),
            Expr::If(parts) => parts.iter().collect(),
        }
    }

    /// The names in it, each once, in the order in which they are first met.
    pub fn names(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        let mut rest = vec![self];
        while let Some(expr) = rest.pop() {
            match expr {
                Expr::Name(name) if !found.contains(&name.as_str()) => found.push(name),
                _ => rest.extend(expr.parts().into_iter().rev()),
            }
        }
        found
    }

    /// The functions that it calls.
    pub fn functions(&self) -> Vec<&'static Function> {
        let mut found = Vec::new();
        let mut rest = vec![self];
        while let Some(expr) = rest.pop() {
            if let Expr::Call(function, _) = expr {
                found.push(*function);
            }
            rest.extend(expr.parts());
        }
        found
    }
}
