//! New expressions, grown from the root.

use crate::expression::call;
use crate::grammar::{Grammar, Scope};
use crate::random::Random;
use crate::sexp::Sexp;
use crate::{Operation, Type};

/// Who decides what grows. An experiment whose trees must come from a given stream of random numbers brings its own.
pub trait Decide {
    /// Whether to end with a leaf here, where so many levels may follow.
    fn ends(&mut self, depth: usize) -> bool;

    /// One of the operations, as its position in the list. Never called with an empty one.
    fn operation(&mut self, choices: &[&Operation]) -> usize;

    /// A variable or literal of a type; nothing if there is none.
    fn leaf(&mut self, ty: &Type) -> Option<Sexp>;
}

/// An expression of a type with at most so many levels below its root; nothing if a leaf is needed of a type that has
/// none.
pub fn grow(grammar: &Grammar, ty: &Type, depth: usize, decide: &mut impl Decide) -> Option<Sexp> {
    let choice = choice_between(grammar, ty);
    let choices = choices(grammar, &choice, ty);
    if choices.is_empty() || decide.ends(depth) {
        return decide.leaf(ty);
    }
    let operation = choices[decide.operation(&choices)];
    let mut operands = Vec::with_capacity(operation.operands.len());
    for operand in &operation.operands {
        operands.push(grow(grammar, operand, depth.saturating_sub(1), decide)?);
    }
    Some(call(&operation.name, operands))
}

/// `if` as an operation that gives a type.
pub(crate) fn choice_between(grammar: &Grammar, ty: &Type) -> Option<Operation> {
    let operands = vec![Type::Bool, ty.clone(), ty.clone()];
    grammar.has_if.then(|| Operation { name: "if".into(), operands, result: ty.clone() })
}

/// The operations that give a type, `if` among them.
pub(crate) fn choices<'a>(grammar: &'a Grammar, choice: &'a Option<Operation>, ty: &Type) -> Vec<&'a Operation> {
    grammar.operations.iter().filter(|o| o.result == *ty).chain(choice).collect()
}

/// Decisions with equal probabilities: of all operations of a type, and of all its variables.
#[derive(Debug)]
pub struct Uniform<'a> {
    grammar: &'a Grammar,
    random: &'a mut Random,
    /// What else can be seen from where the expression will stand.
    scope: Scope,
    /// The number of the next new parameter, and how many there may still be.
    next: usize,
    left: usize,
}

/// The probability that an expression ends above the last level.
const END: f64 = 0.3;

/// The probability that a real leaf is a literal where variables are there.
const LITERAL: f64 = 0.2;

impl<'a> Uniform<'a> {
    /// Decisions for an expression that stands alone.
    pub fn new(grammar: &'a Grammar, random: &'a mut Random) -> Uniform<'a> {
        let left = grammar.parameters.as_ref().map_or(0, |p| p.most);
        Uniform { grammar, random, scope: Scope::default(), next: 0, left }
    }

    /// Decisions for an expression inside of another one: it sees what surrounds it, and parameters that the whole has
    /// already are not made again.
    pub fn inside(grammar: &'a Grammar, random: &'a mut Random, scope: &Scope, taken: &[usize]) -> Uniform<'a> {
        let most = grammar.parameters.as_ref().map_or(0, |p| p.most);
        let next = taken.iter().max().map_or(0, |last| last + 1);
        Uniform { grammar, random, scope: scope.clone(), next, left: most.saturating_sub(taken.len()) }
    }

    fn new_parameter(&mut self) -> Option<Sexp> {
        let share = self.grammar.parameters.as_ref()?.share;
        if self.left == 0 || self.random.uniform() >= share {
            return None;
        }
        self.left -= 1;
        self.next += 1;
        Some(Sexp::atom(format!("p{}", self.next - 1)))
    }
}

impl Decide for Uniform<'_> {
    fn ends(&mut self, depth: usize) -> bool {
        depth == 0 || self.random.uniform() < END
    }

    fn operation(&mut self, choices: &[&Operation]) -> usize {
        self.random.below(choices.len())
    }

    fn leaf(&mut self, ty: &Type) -> Option<Sexp> {
        if *ty == Type::Real
            && let Some(parameter) = self.new_parameter()
        {
            return Some(parameter);
        }
        let variables = self.grammar.variables.iter().chain(&self.scope.variables).filter(|v| v.ty == *ty);
        let names: Vec<&str> = variables.map(|v| v.name.as_str()).collect();
        let is_literal = names.is_empty() || self.random.uniform() < LITERAL;
        match ty {
            _ if !is_literal => Some(Sexp::atom(*self.random.pick(&names))),
            // Literals have few digits: they are guesses, and fits make them better.
            Type::Real => Some(Sexp::atom(format!("{:?}", self.random.between(-20, 40) as f64 / 10.0))),
            Type::Int => Some(Sexp::atom(self.random.between(0, 9))),
            Type::Bool => Some(Sexp::atom(self.random.text(&["#t", "#f"]))),
            _ if names.is_empty() => None,
            _ => Some(Sexp::atom(*self.random.pick(&names))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression;
    use crate::grammar::Parameters;

    #[test]
    fn what_grows_is_of_its_type_and_no_deeper_than_asked() {
        let mut grammar = Grammar::arithmetic(&["+", "/", "exp", "if", "<", "and", "not"], &["x", "y"]).unwrap();
        grammar.parameters = Some(Parameters { most: 3, share: 0.4 });
        let mut random = Random::new(1);
        let (mut deepest, mut with_parameters) = (0, 0);
        for i in 0..2000 {
            let ty = if i % 3 == 0 { Type::Bool } else { Type::Real };
            let tree = grow(&grammar, &ty, 4, &mut Uniform::new(&grammar, &mut random)).unwrap();
            assert!(grammar.gives(&tree, &ty, &Scope::default()), "{tree}");
            let names = crate::parameters::names(&tree);
            assert!(names.len() <= 3 && names.iter().enumerate().all(|(i, n)| *n == i), "{tree}");
            with_parameters += usize::from(!names.is_empty());
            deepest = deepest.max(expression::depth(&tree));
        }
        assert_eq!(deepest, 5);
        assert!(with_parameters > 500);
    }

    #[test]
    fn a_type_without_leaves_cannot_grow() {
        let grammar = Grammar::default();
        let mut random = Random::new(1);
        assert_eq!(grow(&grammar, &Type::Str, 3, &mut Uniform::new(&grammar, &mut random)), None);
    }
}
