//! Which operations an expression may consist of, and the types of its parts.

use crate::Type;
use crate::sexp::Sexp;
use std::fmt;
use std::sync::LazyLock;

/// An operation with the types of its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Its name in the language.
    pub name: String,
    /// What it takes.
    pub operands: Vec<Type>,
    /// What it gives.
    pub result: Type,
}

/// A variable that an expression may mention.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub ty: Type,
}

/// What surrounds an expression: variables of `let`, and the loops that it can go on with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    /// Variables, the innermost last.
    pub variables: Vec<Variable>,
    /// Named loops, the innermost last.
    pub procedures: Vec<Operation>,
}

/// The operations and variables that expressions are made of.
///
/// `let`, also with a name, is understood in given programs and never made. Other special forms in given programs are
/// left as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grammar {
    /// Operations.
    pub operations: Vec<Operation>,
    /// Variables: inputs and parameters.
    pub variables: Vec<Variable>,
    /// Whether new expressions may choose between two others with `if`.
    pub has_if: bool,
    /// How many parameters may be made, `p0` the first, and how likely a new leaf of type real is one.
    pub parameters: Option<Parameters>,
}

/// How new parameters come into expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// The most that an expression may have.
    pub most: usize,
    /// The probability that a leaf of type real is a parameter.
    pub share: f64,
}

/// An operation whose types are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown(pub String);

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the types of the operation {} are not known; give them as an Operation", self.0)
    }
}

impl std::error::Error for Unknown {}

/// Operations on real numbers, by the number of their operands.
const REAL: &[(&[&str], usize)] = &[
    (&["+", "-", "*", "/", "expt", "min", "max", "atan"], 2),
    (&["-", "exp", "log", "sqrt", "abs", "square", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh"], 1),
    (&["tanh", "sigmoid", "softplus", "erf", "erfc", "lgamma", "log1p", "expm1", "floor", "ceiling", "round"], 1),
];

/// Operations on exact integers that give one, by the number of their operands. Counters of loops need them.
const INTEGER: &[(&[&str], usize)] =
    &[(&["+", "-", "*", "min", "max", "quotient", "remainder", "modulo"], 2), (&["-", "abs", "square"], 1)];

const COMPARISONS: &[&str] = &["<", "<=", ">", ">=", "="];
const LOGIC: &[&str] = &["and", "or"];

/// Every operation whose types are known by its name.
pub fn known() -> &'static [Operation] {
    static KNOWN: LazyLock<Vec<Operation>> = LazyLock::new(|| {
        let mut all = Vec::new();
        let mut add = |name: &str, operands: Vec<Type>, result: &Type| {
            all.push(Operation { name: name.into(), operands, result: result.clone() });
        };
        for (table, ty) in [(REAL, Type::Real), (INTEGER, Type::Int)] {
            for (names, arity) in table {
                names.iter().for_each(|name| add(name, vec![ty.clone(); *arity], &ty));
            }
        }
        for ty in [Type::Real, Type::Int] {
            COMPARISONS.iter().for_each(|name| add(name, vec![ty.clone(); 2], &Type::Bool));
        }
        LOGIC.iter().for_each(|name| add(name, vec![Type::Bool; 2], &Type::Bool));
        add("not", vec![Type::Bool], &Type::Bool);
        all
    });
    &KNOWN
}

impl Operation {
    /// An operation of real numbers with so many operands.
    pub fn real(name: &str, operands: usize) -> Operation {
        Operation { name: name.into(), operands: vec![Type::Real; operands], result: Type::Real }
    }

    /// The operations of real numbers and truth values that have a name: `-` has two.
    pub fn named(name: &str) -> Result<Vec<Operation>, Unknown> {
        let of_reals = |o: &&Operation| o.name == name && !o.operands.contains(&Type::Int);
        let found: Vec<Operation> = known().iter().filter(of_reals).cloned().collect();
        if found.is_empty() { Err(Unknown(name.into())) } else { Ok(found) }
    }
}

impl Grammar {
    /// Expressions of real numbers over named operations and inputs; `if` among the names makes choices possible.
    pub fn arithmetic(operations: &[&str], inputs: &[&str]) -> Result<Grammar, Unknown> {
        let mut grammar = Grammar { has_if: operations.contains(&"if"), ..Grammar::default() };
        for name in operations.iter().filter(|name| **name != "if") {
            grammar.operations.extend(Operation::named(name)?);
        }
        grammar.variables = inputs.iter().map(|name| Variable { name: name.to_string(), ty: Type::Real }).collect();
        Ok(grammar)
    }

    /// The types that the operands of a call must have for it to give `result`. What a given program uses need not be
    /// among the operations that new expressions are made of.
    pub fn operand_types(&self, name: &str, count: usize, result: &Type, scope: &Scope) -> Option<Vec<Type>> {
        if name == "if" && count == 3 {
            return Some(vec![Type::Bool, result.clone(), result.clone()]);
        }
        let all = scope.procedures.iter().rev().chain(&self.operations).chain(known());
        let fits = |o: &&Operation| o.name == name && o.operands.len() == count && accepts(result, &o.result);
        all.into_iter().find(fits).map(|o| o.operands.clone())
    }

    /// Whether an expression gives a type, as far as the grammar can tell.
    pub fn gives(&self, tree: &Sexp, ty: &Type, scope: &Scope) -> bool {
        match tree {
            Sexp::Atom(text) => self.type_of_atom(text, scope).is_some_and(|found| accepts(ty, &found)),
            Sexp::Prefixed(..) => false,
            Sexp::List(items) => {
                let [Sexp::Atom(name), operands @ ..] = items.as_slice() else { return false };
                if name == "let" {
                    let inner = self.inside_let(operands, ty, scope);
                    return inner.is_some_and(|(inner, body)| self.gives(body, ty, &inner));
                }
                // Comparisons have the same name for integers and for reals.
                let all = scope.procedures.iter().rev().chain(&self.operations).chain(known());
                let mut all = all.filter(|o| o.name == *name && o.operands.len() == operands.len());
                let fits = |types: &[Type]| operands.iter().zip(types).all(|(o, t)| self.gives(o, t, scope));
                if name == "if" {
                    return operands.len() == 3 && fits(&[Type::Bool, ty.clone(), ty.clone()]);
                }
                all.any(|o| accepts(ty, &o.result) && fits(&o.operands))
            }
        }
    }

    /// The type of an expression: the narrowest that it gives, or nothing if a part of it is not of this grammar.
    pub fn type_of(&self, tree: &Sexp, scope: &Scope) -> Option<Type> {
        [Type::Int, Type::Real, Type::Bool].into_iter().find(|ty| self.gives(tree, ty, scope))
    }

    fn type_of_atom(&self, text: &str, scope: &Scope) -> Option<Type> {
        // The innermost binding of a name counts.
        if let Some(variable) = scope.variables.iter().rev().chain(&self.variables).find(|v| v.name == text) {
            return Some(variable.ty.clone());
        }
        if self.parameters.is_some() && parameter_number(text).is_some() {
            return Some(Type::Real);
        }
        match text {
            "#t" | "#f" | "#true" | "#false" => Some(Type::Bool),
            _ if text.parse::<i64>().is_ok() => Some(Type::Int),
            _ if is_real(text) => Some(Type::Real),
            _ => None,
        }
    }

    /// What the body of a `let`, with or without a name, sees, and the body. `ty` is what the whole gives.
    pub fn inside_let<'a>(&self, operands: &'a [Sexp], ty: &Type, scope: &Scope) -> Option<(Scope, &'a Sexp)> {
        let (name, bindings, body) = match operands {
            [Sexp::List(bindings), body] => (None, bindings, body),
            [Sexp::Atom(name), Sexp::List(bindings), body] => (Some(name), bindings, body),
            _ => return None,
        };
        let mut inner = scope.clone();
        let mut types = Vec::new();
        for binding in bindings {
            let [Sexp::Atom(variable), value] = binding.children() else { return None };
            let found = self.type_of(value, scope)?;
            inner.variables.push(Variable { name: variable.clone(), ty: found.clone() });
            types.push(found);
        }
        if let Some(name) = name {
            inner.procedures.push(Operation { name: name.clone(), operands: types, result: ty.clone() });
        }
        Some((inner, body))
    }
}

/// Whether a value of type `found` may stand where `wanted` is: an exact integer is a real number.
pub fn accepts(wanted: &Type, found: &Type) -> bool {
    wanted == found || (*wanted == Type::Real && *found == Type::Int)
}

fn is_real(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) && text.parse::<f64>().is_ok()
}

/// The number of a parameter that was made here: 3 for `p3`.
pub fn parameter_number(name: &str) -> Option<usize> {
    let digits = name.strip_prefix('p')?;
    let number = digits.parse().ok()?;
    (format!("{number}") == digits).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sexp::parse;

    #[test]
    fn types_follow_from_operations_and_bindings() {
        let grammar = Grammar::arithmetic(&["+", "<", "if", "exp", "and"], &["x"]).unwrap();
        let type_of = |text: &str| grammar.type_of(&parse(text)[0], &Scope::default());
        assert_eq!(type_of("(if (< x 1.0) x (exp (+ x 2)))"), Some(Type::Real));
        assert_eq!(type_of("(let ((y (exp x))) (+ y x))"), Some(Type::Real));
        assert_eq!(type_of("(let ((x (< x 1.0))) (and x #t))"), Some(Type::Bool));
        assert_eq!(type_of("(let loop ((n 0) (y 1.0)) (if (= n 9) y (loop (+ n 1) (* y x))))"), Some(Type::Real));
        let wrong = ["(+ x)", "(+ x #t)", "(frob x)", "y", "(if x x x)", "(let ((x)) x)", "'x", "()", "(-1.5e3 x)"];
        for text in wrong {
            assert_eq!(type_of(text), None, "{text}");
        }
        assert_eq!(type_of("(let loop ((n 0)) (if (= n 9) x (loop (exp x))))"), None, "a state keeps its type");
        assert_eq!(Grammar::arithmetic(&["frobnicate"], &[]), Err(Unknown("frobnicate".into())));
        assert_eq!(Operation::named("-").unwrap().len(), 2);
    }

    #[test]
    fn parameters_have_names_of_their_own() {
        assert_eq!(parameter_number("p12"), Some(12));
        assert!(["p", "p01", "px", "q1", "p-1", "p+1"].iter().all(|name| parameter_number(name).is_none()));
    }
}
