//! Units as a hard filter: a candidate whose dimensions cannot agree is never fitted.

use crate::expr::{Expr, Node};
use crate::operation::Operation;
use dmci::{Diagnostic, ErrorCode, Report};
use dmci_fit::{Table, find_column};
use dmci_units::{Dimension, Equations, Quantity, Rule, apply, rule};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the numbers are that a search adds to programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Constants {
    /// They take whatever unit fits.
    #[default]
    Any,
    /// They have no unit: every constant of nature is among the inputs.
    Pure,
}

/// The dimensions of a problem. What has none takes whatever fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Units {
    /// Of the inputs, in their order.
    pub inputs: Vec<Option<Dimension>>,
    /// Of the target.
    pub target: Option<Dimension>,
    /// Of the numbers that a search adds.
    pub constants: Constants,
}

/// Dimensions that cannot agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disagreeing;

/// The dimensions of columns by name: those of the table, and those that are given, which count more.
pub fn dimensions(given: &BTreeMap<String, String>, table: &Table) -> Result<BTreeMap<String, Dimension>, Report> {
    for name in given.keys() {
        find_column(table, name)?;
    }
    let mut all = table.units.clone();
    all.extend(given.iter().map(|(name, unit)| (name.clone(), unit.clone())));
    let read = |(name, unit): (String, String)| match dmci_units::parse(&unit) {
        Ok(dimension) => Ok((name, dimension)),
        Err(message) => {
            let message = format!("the unit of {name} cannot be read: {message}");
            Err(Report::from(Diagnostic::error(ErrorCode::E0831, message).help("write SI units, such as kg m/s^2")))
        }
    };
    all.into_iter().map(read).collect()
}

/// What is known of a subexpression: its quantity, and its value if it is a number.
type Part = (Quantity, Option<f64>);

impl Units {
    /// The units of a search over these columns; none if nothing is known.
    pub fn of(
        known: &BTreeMap<String, Dimension>,
        inputs: &[String],
        target: &str,
        constants: Constants,
    ) -> Option<Units> {
        let of = |name: &str| known.get(name).copied();
        let units = Units { inputs: inputs.iter().map(|i| of(i)).collect(), target: of(target), constants };
        (units.target.is_some() || units.inputs.iter().any(Option::is_some)).then_some(units)
    }

    /// Whether numbers of candidates have no unit.
    pub fn is_pure(&self) -> bool {
        self.constants == Constants::Pure
    }

    /// Whether the dimensions of a candidate can agree with each other and with that of the target.
    pub fn agree(&self, expr: &Expr) -> bool {
        self.follow(expr, self.target.as_ref())
    }

    /// Whether the dimensions of an expression can agree, and its own be this one.
    pub fn allow(&self, expr: &Expr, wanted: &Dimension) -> bool {
        self.follow(expr, Some(wanted))
    }

    fn follow(&self, expr: &Expr, wanted: Option<&Dimension>) -> bool {
        let mut equations = Equations::default();
        let Some(found) = self.quantity(expr, &mut equations) else { return false };
        wanted.is_none_or(|wanted| equations.equate(&found, &Quantity::known(*wanted)).is_ok())
    }

    /// The dimension of an expression, if it follows from those of the inputs; `Err` if dimensions disagree.
    pub fn dimension(&self, expr: &Expr) -> Result<Option<Dimension>, Disagreeing> {
        let mut equations = Equations::default();
        let found = self.quantity(expr, &mut equations).ok_or(Disagreeing)?;
        Ok(equations.resolve(&found).dimension())
    }

    /// The dimension of a product of inputs to powers that are doubled; none if it has an input of unknown dimension.
    pub fn product(&self, doubled: &[i8]) -> Option<Dimension> {
        let mut used = self.inputs.iter().zip(doubled).filter(|(_, e)| **e != 0);
        used.try_fold(Dimension::NONE, |sum, (input, e)| Some(sum.plus(f64::from(*e) / 2.0, input.as_ref()?)))
    }

    /// The dimension that an operation gives on terms without parameters, as far as those are known; `Err` if they
    /// disagree. `exponent` is the right operand if it is a number.
    pub fn combine(
        operation: Operation,
        first: Option<Dimension>,
        second: Option<Option<Dimension>>,
        exponent: Option<f64>,
    ) -> Result<Option<Dimension>, Disagreeing> {
        let mut equations = Equations::default();
        let mut operands = Vec::with_capacity(2);
        for dimension in std::iter::once(first).chain(second) {
            operands.push(dimension.map_or_else(|| equations.fresh(), Quantity::known));
        }
        let rule = rule(operation.name(), operation.arity()).ok_or(Disagreeing)?;
        let found = apply(rule, &mut equations, &operands, exponent).map_err(|_| Disagreeing)?;
        // A term to a power that differs from row to row is a number.
        if rule == Rule::Expt && exponent.is_none() {
            return if operands[0].dimension().is_none_or(|d| d.is_none()) {
                Ok(Some(Dimension::NONE))
            } else {
                Err(Disagreeing)
            };
        }
        Ok(equations.resolve(&found).dimension())
    }

    fn quantity(&self, expr: &Expr, equations: &mut Equations) -> Option<Quantity> {
        let mut inputs: Vec<Option<Quantity>> = vec![None; self.inputs.len()];
        let mut numbers: Vec<Option<Quantity>> = vec![None; expr.parameters()];
        let mut stack: Vec<Part> = Vec::new();
        for node in expr.nodes.iter().rev() {
            let part = match *node {
                Node::Int(i) => (Quantity::number(), Some(f64::from(i))),
                Node::Param(_) if self.is_pure() => (Quantity::number(), None),
                Node::Param(p) => (numbers[p as usize].get_or_insert_with(|| equations.fresh()).clone(), None),
                Node::Var(v) => {
                    let known = |e: &mut Equations| self.inputs[v as usize].map_or_else(|| e.fresh(), Quantity::known);
                    (inputs[v as usize].get_or_insert_with(|| known(equations)).clone(), None)
                }
                Node::Op(operation) => {
                    let first = stack.pop()?;
                    let second = if operation.arity() == 2 { Some(stack.pop()?) } else { None };
                    self.operation(operation, first, second, equations)?
                }
            };
            stack.push(part);
        }
        stack.pop().map(|part| part.0)
    }

    fn operation(
        &self,
        operation: Operation,
        first: Part,
        second: Option<Part>,
        equations: &mut Equations,
    ) -> Option<Part> {
        let value = match (operation, first.1, second.as_ref().and_then(|s| s.1)) {
            (Operation::Div, Some(a), Some(b)) => Some(a / b),
            (Operation::Neg, Some(a), _) => Some(-a),
            _ => None,
        };
        let exponent = second.as_ref().and_then(|s| s.1);
        let rule = rule(operation.name(), operation.arity())?;
        // To a power that is fitted only a number may be raised if no other number can make up for it.
        if rule == Rule::Expt && exponent.is_none() && self.is_pure() {
            equations.equate(&first.0, &Quantity::number()).ok()?;
        }
        let mut operands = vec![first.0];
        operands.extend(second.map(|s| s.0));
        Some((apply(rule, equations, &operands, exponent).ok()?, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci::Datum;

    fn units(constants: Constants) -> Units {
        let unit = |text: &str| Some(dmci_units::parse(text).expect("a unit"));
        Units { inputs: vec![unit("m"), unit("s"), None], target: unit("m/s"), constants }
    }

    fn expr(text: &str) -> Expr {
        let names = ["x", "t", "u"].map(String::from);
        let parameters = ["a", "b"].map(String::from);
        let datum = Datum::parse_setting(&format!("e={text}")).expect("a datum").1;
        Expr::read(&datum, &names, &parameters).expect("an expression")
    }

    #[test]
    fn what_cannot_agree_is_refused() {
        let agree = |text: &str, constants| units(constants).agree(&expr(text));
        for (text, any, pure) in [
            ("(/ x t)", true, true),
            ("(+ x t)", false, false),
            ("(* a (+ x t))", false, false),
            ("(+ (* a x) (* b t))", true, false),
            ("(* a (/ x t))", true, true),
            ("(exp (* a t))", false, false),
            ("(* b (exp (* a t)))", true, false),
            ("(* (/ x t) (exp (* a u)))", true, true),
            ("(* (/ x t) (sin u))", true, true),
            ("(* a (expt x b))", true, false),
            ("(sqrt (/ (* x x) (square t)))", true, true),
            ("(* x (expt t (- 1)))", true, true),
            ("(* (sqrt x) (expt (/ (expt t 2) x) (/ (- 1) 2)))", true, true),
            ("u", true, true),
            ("(+ u (exp u))", false, false),
        ] {
            assert_eq!((agree(text, Constants::Any), agree(text, Constants::Pure)), (any, pure), "{text}");
        }
    }

    #[test]
    fn dimensions_of_terms_are_known_where_they_follow() {
        let units = units(Constants::Pure);
        let of = |text: &str| units.dimension(&expr(text)).map(|d| d.map(|d| d.to_string()));
        assert_eq!(of("(* x (square t))"), Ok(Some("m s^2".into())));
        assert_eq!(of("(* x u)"), Ok(None));
        assert_eq!(of("(- x t)"), Err(Disagreeing));
    }
}
