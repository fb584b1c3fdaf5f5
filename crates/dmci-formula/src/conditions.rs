//! What is said about parameters beside a formula: `A > 0, 0 < p < 1` and `A = 20, k = 0.5`.

use crate::FormulaError;
use crate::expr::{BinaryOp, Expr};
use crate::parse::Parser;

/// The range of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The parameter.
    pub name: String,
    /// What it must lie above.
    pub low: Option<f64>,
    /// What it must lie below.
    pub high: Option<f64>,
}

/// Reads ranges, with commas between them: `A > 0, 0 < p < 1`.
pub fn conditions(text: &str) -> Result<Vec<Condition>, FormulaError> {
    let mut parser = Parser::new(text)?;
    let mut found: Vec<Condition> = Vec::new();
    loop {
        let parts = flat(parser.expression(0)?);
        for (op, a, b) in parts.ok_or_else(|| unclear(text))? {
            let (name, bound, below) = match (op, a, b) {
                (BinaryOp::Less | BinaryOp::LessEqual, Expr::Name(name), Expr::Number(x)) => (name, x, true),
                (BinaryOp::Greater | BinaryOp::GreaterEqual, Expr::Name(name), Expr::Number(x)) => (name, x, false),
                (BinaryOp::Less | BinaryOp::LessEqual, Expr::Number(x), Expr::Name(name)) => (name, x, false),
                (BinaryOp::Greater | BinaryOp::GreaterEqual, Expr::Number(x), Expr::Name(name)) => (name, x, true),
                _ => return Err(unclear(text)),
            };
            let bound: f64 = bound.parse().map_err(|_| unclear(text))?;
            let at = found.iter().position(|c| c.name == name).unwrap_or_else(|| {
                found.push(Condition { name, low: None, high: None });
                found.len() - 1
            });
            let side = if below { &mut found[at].high } else { &mut found[at].low };
            *side = Some(bound);
        }
        if !parser.accept(",") {
            break;
        }
    }
    parser.end()?;
    if let Some(c) = found.iter().find(|c| matches!((c.low, c.high), (Some(low), Some(high)) if low >= high)) {
        let message = format!("no number lies in the range of {}", c.name);
        return Err(FormulaError::new(0..text.len(), message, "write the smaller bound first: 0 < p < 1"));
    }
    Ok(found)
}

/// Reads values, with commas between them: `A = 20, k = 0.5`.
pub fn starts(text: &str) -> Result<Vec<(String, f64)>, FormulaError> {
    let mut parser = Parser::new(text)?;
    let mut found: Vec<(String, f64)> = Vec::new();
    loop {
        let name = parser.name()?;
        let value = match parser.accept("=") {
            true => parser.expression(5)?,
            false => return Err(no_value(text, &name)),
        };
        let Some(value) = number_of(&value) else { return Err(no_value(text, &name)) };
        if found.iter().any(|(other, _)| *other == name) {
            let message = format!("{name} has two values");
            return Err(FormulaError::new(0..text.len(), message, "write each parameter once"));
        }
        found.push((name, value));
        if !parser.accept(",") {
            break;
        }
    }
    parser.end()?;
    Ok(found)
}

/// The value of an expression without names, as far as it is plain arithmetic.
fn number_of(expr: &Expr) -> Option<f64> {
    Some(match expr {
        Expr::Number(text) => text.parse().ok()?,
        Expr::Negative(a) => -number_of(a)?,
        Expr::Binary(BinaryOp::Add, a, b) => number_of(a)? + number_of(b)?,
        Expr::Binary(BinaryOp::Sub, a, b) => number_of(a)? - number_of(b)?,
        Expr::Binary(BinaryOp::Mul, a, b) => number_of(a)? * number_of(b)?,
        Expr::Binary(BinaryOp::Div, a, b) => number_of(a)? / number_of(b)?,
        _ => return None,
    })
}

/// The comparisons that all hold in a condition.
fn flat(expr: Expr) -> Option<Vec<(BinaryOp, Expr, Expr)>> {
    match expr {
        Expr::Binary(BinaryOp::And, a, b) => {
            let mut both = flat(*a)?;
            both.extend(flat(*b)?);
            Some(both)
        }
        Expr::Binary(op, a, b) if op.is_comparison() => Some(vec![(op, *a, *b)]),
        _ => None,
    }
}

fn unclear(text: &str) -> FormulaError {
    let help = "write ranges of parameters such as A > 0, 0 < p < 1";
    FormulaError::new(0..text.len(), format!("{text} does not say between which numbers parameters lie"), help)
}

fn no_value(text: &str, name: &str) -> FormulaError {
    FormulaError::new(0..text.len(), format!("{name} has no value"), "write values such as A=20, k=0.5")
}
