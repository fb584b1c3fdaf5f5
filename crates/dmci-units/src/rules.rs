//! What operations of the language do to dimensions.

use crate::dimension::Dimension;
use crate::equations::{Equations, Quantity};

/// What an operation does to the dimensions of its operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// All operands have one dimension, which is that of the value.
    Same,
    /// All operands have one dimension; the value has none.
    Compare,
    /// The product of all operands.
    Times,
    /// The first operand divided by the others, or the inverse of the only one.
    Over,
    /// The operand to a power.
    Power(f64),
    /// The first operand to the power of the second one.
    Expt,
    /// Operands and value are numbers.
    Number,
    /// The value has the dimension of the only operand.
    Like,
}

/// The rule of an operation with so many operands; none for those about which nothing is known.
pub fn rule(name: &str, operands: usize) -> Option<Rule> {
    Some(match name {
        "+" | "-" | "min" | "max" | "hypot" | "modulo" | "remainder" => Rule::Same,
        "=" | "<" | ">" | "<=" | ">=" => Rule::Compare,
        "atan" | "atan2" if operands == 2 => Rule::Compare,
        "*" => Rule::Times,
        "/" => Rule::Over,
        "square" => Rule::Power(2.0),
        "cube" => Rule::Power(3.0),
        "sqrt" => Rule::Power(0.5),
        "cbrt" => Rule::Power(1.0 / 3.0),
        "expt" | "pow" => Rule::Expt,
        "abs" | "magnitude" | "floor" | "ceiling" | "round" | "truncate" | "exact" | "inexact" | "stop-gradient" => {
            Rule::Like
        }
        "exact->inexact" | "inexact->exact" => Rule::Like,
        "exp" | "log" | "sin" | "cos" | "tan" | "asin" | "acos" | "atan" | "sinh" | "cosh" | "tanh" | "asinh"
        | "acosh" | "atanh" | "sigmoid" | "softplus" | "erf" | "erfc" | "log1p" | "expm1" | "gamma" | "log-gamma"
        | "digamma" | "logistic" | "exp2" | "log2" | "log10" => Rule::Number,
        _ => return None,
    })
}

/// An operand whose dimension is not the one that it must have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disagreement {
    /// Its place, from 0.
    pub operand: usize,
    /// What it must be.
    pub expected: Dimension,
    /// What it is.
    pub found: Dimension,
}

/// The quantity that an operation gives. `exponent` is that of [`Rule::Expt`] where it is a constant; to a power that is
/// none, a quantity with a dimension becomes one of which nothing is known.
pub fn apply(
    rule: Rule,
    equations: &mut Equations,
    operands: &[Quantity],
    exponent: Option<f64>,
) -> Result<Quantity, Disagreement> {
    let equate = |equations: &mut Equations, operand: usize, expected: &Quantity| {
        let disagrees = |(expected, found)| Disagreement { operand, expected, found };
        equations.equate(expected, &operands[operand]).map_err(disagrees)
    };
    let number = Quantity::number();
    let first = operands.first().unwrap_or(&number);
    match rule {
        Rule::Same | Rule::Compare => {
            for operand in 1..operands.len() {
                equate(equations, operand, first)?;
            }
            Ok(if rule == Rule::Same { first.clone() } else { number })
        }
        Rule::Times => Ok(operands.iter().fold(number, |product, q| product.times(1.0, q))),
        Rule::Over if operands.len() == 1 => Ok(first.power(-1.0)),
        Rule::Over => Ok(operands.iter().skip(1).fold(first.clone(), |quotient, q| quotient.times(-1.0, q))),
        Rule::Power(exponent) => Ok(first.power(exponent)),
        Rule::Like => Ok(first.clone()),
        Rule::Number => {
            for operand in 0..operands.len() {
                equate(equations, operand, &number)?;
            }
            Ok(number)
        }
        Rule::Expt => {
            if operands.len() == 2 {
                equate(equations, 1, &number)?;
            }
            match exponent {
                Some(exponent) => Ok(first.power(exponent)),
                None if equations.resolve(first).dimension().is_some_and(|d| d.is_none()) => Ok(number),
                None => Ok(equations.fresh()),
            }
        }
    }
}
