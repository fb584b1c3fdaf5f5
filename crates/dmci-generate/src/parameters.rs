//! What is fitted in an expression: parameters `p0`, `p1`, ...

use crate::Type;
use crate::expression::call;
use crate::grammar::{Grammar, parameter_number};
use crate::mutate::new_at;
use crate::random::Random;
use crate::sexp::Sexp;
use crate::sites::{Site, get, sites, with};

/// The numbers of the parameters of an expression, each once, in the order of the text.
pub fn names(tree: &Sexp) -> Vec<usize> {
    let mut found = Vec::new();
    visit(tree, &mut |text| {
        if let Some(number) = parameter_number(text)
            && !found.contains(&number)
        {
            found.push(number);
        }
    });
    found
}

fn visit(tree: &Sexp, see: &mut impl FnMut(&str)) {
    match tree {
        Sexp::Atom(text) => see(text),
        other => other.children().iter().for_each(|child| visit(child, see)),
    }
}

/// The expression with its parameters numbered from 0 in the order of the text.
pub fn renumbered(tree: &Sexp) -> Sexp {
    let order = names(tree);
    replaced(tree, &|number| order.iter().position(|n| *n == number).unwrap_or(number))
}

fn replaced(tree: &Sexp, new: &impl Fn(usize) -> usize) -> Sexp {
    match tree {
        Sexp::Atom(text) => match parameter_number(text) {
            Some(number) => Sexp::atom(format!("p{}", new(number))),
            None => tree.clone(),
        },
        Sexp::List(items) => Sexp::List(items.iter().map(|item| replaced(item, new)).collect()),
        Sexp::Prefixed(prefix, inner) => Sexp::Prefixed(prefix, Box::new(replaced(inner, new))),
    }
}

/// A whole program: the schema, with every parameter free and starting at these numbers, above the expression. The
/// parameters must be numbered from 0.
pub fn program(tree: &Sexp, starts: &[f64]) -> String {
    let declared: Vec<String> = starts.iter().enumerate().map(|(i, start)| format!("(p{i} free {start:?})")).collect();
    if declared.is_empty() {
        return format!("{tree}\n");
    }
    format!("(params {})\n{tree}\n", declared.join(" "))
}

fn real_places(grammar: &Grammar, tree: &Sexp, ty: &Type) -> Vec<Site> {
    let mut places = sites(grammar, tree, ty);
    places.retain(|site| site.ty == Type::Real);
    places
}

/// A new parameter that multiplies something or is added to it; nothing if there are as many as the grammar allows.
pub fn add(grammar: &Grammar, tree: &Sexp, ty: &Type, random: &mut Random) -> Option<Sexp> {
    let taken = names(tree);
    if taken.len() >= grammar.parameters.as_ref()?.most {
        return None;
    }
    let new = Sexp::atom(format!("p{}", taken.iter().max().map_or(0, |last| last + 1)));
    let mut places = real_places(grammar, tree, ty);
    // Around the call of a loop, it would end the loop's being one.
    places.retain(|site| !site.is_tail || site.scope.procedures.is_empty());
    let operators: Vec<&str> =
        ["*", "+"].into_iter().filter(|name| grammar.operations.iter().any(|o| o.name == *name)).collect();
    if places.is_empty() || operators.is_empty() {
        return None;
    }
    let site = random.pick(&places).clone();
    let old = get(tree, &site.path)?.clone();
    with(tree, &site.path, call(operators[random.below(operators.len())], [new, old]))
}

/// One parameter in the place of two; nothing if there are fewer than two.
pub fn merge(tree: &Sexp, random: &mut Random) -> Option<Sexp> {
    let mut taken = names(tree);
    if taken.len() < 2 {
        return None;
    }
    let kept = taken.swap_remove(random.below(taken.len()));
    let gone = *random.pick(&taken);
    Some(replaced(tree, &|number| if number == gone { kept } else { number }))
}

/// A new expression where a parameter was: what seemed constant depends on something.
pub fn to_expression(grammar: &Grammar, tree: &Sexp, ty: &Type, depth: usize, random: &mut Random) -> Option<Sexp> {
    let mut places = real_places(grammar, tree, ty);
    let is_parameter = |text: &Sexp| matches!(text, Sexp::Atom(name) if parameter_number(name).is_some());
    places.retain(|site| get(tree, &site.path).is_some_and(is_parameter));
    if places.is_empty() {
        return None;
    }
    let site = random.pick(&places).clone();
    let new = new_at(grammar, tree, &site, depth.max(1), random)?;
    with(tree, &site.path, new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sexp::parse;

    #[test]
    fn a_program_declares_what_it_uses() {
        let tree = renumbered(&parse("(+ p7 (* p2 (+ p7 x)))")[0]);
        assert_eq!(names(&tree), [0, 1]);
        let text = program(&tree, &[1.0, 0.5]);
        assert_eq!(text, "(params (p0 free 1.0) (p1 free 0.5))\n(+ p0 (* p1 (+ p0 x)))\n");
        assert_eq!(program(&parse("x")[0], &[]), "x\n");
    }

    #[test]
    fn two_parameters_become_one() {
        let mut random = Random::new(1);
        let tree = parse("(+ p0 (* p1 x))").remove(0);
        let merged = merge(&tree, &mut random).unwrap();
        assert_eq!(names(&merged).len(), 1);
        assert_eq!(merge(&merged, &mut random), None);
    }
}
