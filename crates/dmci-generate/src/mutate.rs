//! Expressions changed at one place, each keeping its type.
//!
//! Every function gives a new expression and leaves the old one as it is, or gives nothing if the old one has no place
//! for such a change.

use crate::Type;
use crate::expression::call;
use crate::grammar::{Grammar, accepts};
use crate::grow::{Uniform, choice_between, choices, grow};
use crate::parameters;
use crate::random::Random;
use crate::sexp::Sexp;
use crate::sites::{Site, get, sites, with};

/// The kinds of changes, for who chooses among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// [`subtree`]
    Subtree,
    /// [`point`]
    Point,
    /// [`hoist`]
    Hoist,
    /// [`insert`]
    Insert,
    /// [`wrap`]
    Wrap,
    /// [`parameters::add`]
    AddParameter,
    /// [`parameters::merge`]
    MergeParameters,
    /// [`parameters::to_expression`]
    ParameterToExpression,
}

impl Mutation {
    /// All of them.
    pub const ALL: [Mutation; 8] = [
        Mutation::Subtree,
        Mutation::Point,
        Mutation::Hoist,
        Mutation::Insert,
        Mutation::Wrap,
        Mutation::AddParameter,
        Mutation::MergeParameters,
        Mutation::ParameterToExpression,
    ];

    /// Changes an expression that gives `ty`. What is new in it has at most `depth` levels below its root.
    pub fn apply(self, grammar: &Grammar, tree: &Sexp, ty: &Type, depth: usize, random: &mut Random) -> Option<Sexp> {
        match self {
            Mutation::Subtree => subtree(grammar, tree, ty, depth, random),
            Mutation::Point => point(grammar, tree, ty, random),
            Mutation::Hoist => hoist(grammar, tree, ty, random),
            Mutation::Insert => insert(grammar, tree, ty, depth, random),
            Mutation::Wrap => wrap(grammar, tree, ty, depth, random),
            Mutation::AddParameter => parameters::add(grammar, tree, ty, random),
            Mutation::MergeParameters => parameters::merge(tree, random),
            Mutation::ParameterToExpression => parameters::to_expression(grammar, tree, ty, depth, random),
        }
    }
}

/// One of the places whose content may change. A call of a named loop stays: without it the loop would not go on.
fn place(grammar: &Grammar, tree: &Sexp, ty: &Type, random: &mut Random, fits: impl Fn(&Site) -> bool) -> Option<Site> {
    let mut places = sites(grammar, tree, ty);
    places.retain(|site| get(tree, &site.path).is_some_and(|t| !holds_loop_call(t, site)) && fits(site));
    let chosen = random.below(places.len());
    (!places.is_empty()).then(|| places.swap_remove(chosen))
}

/// Whether a loop that surrounds a place goes on somewhere inside of it.
fn holds_loop_call(tree: &Sexp, site: &Site) -> bool {
    fn calls(tree: &Sexp, name: &str) -> bool {
        let head = tree.children().first();
        head.is_some_and(|h| *h == Sexp::Atom(name.into())) || tree.children().iter().any(|child| calls(child, name))
    }
    site.scope.procedures.iter().any(|procedure| calls(tree, &procedure.name))
}

pub(crate) fn new_at(grammar: &Grammar, tree: &Sexp, site: &Site, depth: usize, random: &mut Random) -> Option<Sexp> {
    let taken = parameters::names(tree);
    grow(grammar, &site.ty, depth, &mut Uniform::inside(grammar, random, &site.scope, &taken))
}

/// A new expression in the place of an old one.
pub fn subtree(grammar: &Grammar, tree: &Sexp, ty: &Type, depth: usize, random: &mut Random) -> Option<Sexp> {
    let site = place(grammar, tree, ty, random, |_| true)?;
    let new = new_at(grammar, tree, &site, depth, random)?;
    with(tree, &site.path, new)
}

/// Another operation with the same operands, or another leaf.
pub fn point(grammar: &Grammar, tree: &Sexp, ty: &Type, random: &mut Random) -> Option<Sexp> {
    let changeable = |site: &Site| match get(tree, &site.path) {
        Some(Sexp::Atom(_)) => true,
        Some(old) => !siblings(grammar, old, site).is_empty(),
        None => false,
    };
    let site = place(grammar, tree, ty, random, changeable)?;
    let old = get(tree, &site.path)?;
    let Sexp::List(items) = old else {
        let new = new_at(grammar, tree, &site, 0, random)?;
        return with(tree, &site.path, new);
    };
    let names = siblings(grammar, old, &site);
    let new = call(random.pick(&names).as_str(), items[1..].to_vec());
    with(tree, &site.path, new)
}

/// The other operations that could take the operands of a call.
fn siblings(grammar: &Grammar, old: &Sexp, site: &Site) -> Vec<String> {
    let [Sexp::Atom(name), operands @ ..] = old.children() else { return Vec::new() };
    if name == "let" || name == "if" {
        return Vec::new();
    }
    let Some(types) = grammar.operand_types(name, operands.len(), &site.ty, &site.scope) else { return Vec::new() };
    let fits = |o: &&crate::Operation| o.name != *name && o.result == site.ty && o.operands == types;
    grammar.operations.iter().filter(fits).map(|o| o.name.clone()).collect()
}

/// An expression in the place of one that contained it.
pub fn hoist(grammar: &Grammar, tree: &Sexp, ty: &Type, random: &mut Random) -> Option<Sexp> {
    let all = sites(grammar, tree, ty);
    // What is lifted out must not see a variable that is bound between the two places.
    let below = |outer: &Site| -> Vec<Site> {
        let inner = all.iter().filter(|inner| inner.path.len() > outer.path.len());
        let inner = inner.filter(|inner| inner.path.starts_with(&outer.path) && inner.scope == outer.scope);
        inner.filter(|inner| accepts(&outer.ty, &inner.ty)).cloned().collect()
    };
    let outer = place(grammar, tree, ty, random, |outer| !below(outer).is_empty())?;
    let candidates = below(&outer);
    let inner = get(tree, &random.pick(&candidates).path)?.clone();
    with(tree, &outer.path, inner)
}

/// An operation around an expression somewhere, with new expressions as its other operands.
pub fn insert(grammar: &Grammar, tree: &Sexp, ty: &Type, depth: usize, random: &mut Random) -> Option<Sexp> {
    let can = |site: &Site| {
        let choice = choice_between(grammar, &site.ty);
        choices(grammar, &choice, &site.ty).iter().any(|o| o.operands.contains(&site.ty))
    };
    let site = place(grammar, tree, ty, random, can)?;
    around(grammar, tree, &site, depth, random)
}

/// An operation around the whole.
pub fn wrap(grammar: &Grammar, tree: &Sexp, ty: &Type, depth: usize, random: &mut Random) -> Option<Sexp> {
    let root = sites(grammar, tree, ty).swap_remove(0);
    around(grammar, tree, &root, depth, random)
}

fn around(grammar: &Grammar, tree: &Sexp, site: &Site, depth: usize, random: &mut Random) -> Option<Sexp> {
    let choice = choice_between(grammar, &site.ty);
    let mut operations = choices(grammar, &choice, &site.ty);
    operations.retain(|o| o.operands.contains(&site.ty));
    if operations.is_empty() {
        return None;
    }
    let operation = *random.pick(&operations);
    let positions: Vec<usize> = (0..operation.operands.len()).filter(|&i| operation.operands[i] == site.ty).collect();
    let position = *random.pick(&positions);
    let mut decide = Uniform::inside(grammar, random, &site.scope, &parameters::names(tree));
    let mut operands = Vec::new();
    for (i, operand) in operation.operands.iter().enumerate() {
        operands.push(match i == position {
            true => get(tree, &site.path)?.clone(),
            false => grow(grammar, operand, depth.saturating_sub(1), &mut decide)?,
        });
    }
    with(tree, &site.path, call(&operation.name, operands))
}

/// An expression of `donor` in the place of one of `tree`; both give `ty`.
pub fn crossover(grammar: &Grammar, tree: &Sexp, donor: &Sexp, ty: &Type, random: &mut Random) -> Option<Sexp> {
    // Only what sees no variables of its surroundings can live elsewhere.
    let mut gifts = sites(grammar, donor, ty);
    gifts.retain(|gift| gift.scope == crate::Scope::default());
    let gift = random.pick(&gifts).clone();
    let site = place(grammar, tree, ty, random, |site| accepts(&site.ty, &gift.ty))?;
    with(tree, &site.path, get(donor, &gift.path)?.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{Parameters, Scope};
    use crate::sexp::parse;

    fn grammar() -> Grammar {
        let names = ["+", "-", "*", "/", "exp", "sin", "if", "<", ">", "and"];
        let mut grammar = Grammar::arithmetic(&names, &["x", "y"]).unwrap();
        grammar.parameters = Some(Parameters { most: 4, share: 0.3 });
        grammar
    }

    const SEEDS: [&str; 4] = [
        "(+ (* p0 x) (exp (- y)))",
        "(if (< x y) (* p0 (sin x)) (+ p1 x))",
        "(let ((u (* x y))) (+ u (exp u)))",
        "(let loop ((n 0) (s 1.0)) (if (= n 9) s (loop (+ n 1) (+ s (* 0.1 (- p0 (* p1 s)))))))",
    ];

    #[test]
    fn every_mutation_keeps_the_type_and_changes_most_expressions() {
        let (grammar, mut random) = (grammar(), Random::new(3));
        for mutation in Mutation::ALL {
            let (mut made, mut changed) = (0, 0);
            for i in 0..400 {
                let tree = parse(SEEDS[i % SEEDS.len()]).remove(0);
                let Some(new) = mutation.apply(&grammar, &tree, &Type::Real, 2, &mut random) else { continue };
                assert!(grammar.gives(&new, &Type::Real, &Scope::default()), "{mutation:?} of {tree}: {new}");
                made += 1;
                changed += usize::from(new != tree);
            }
            assert!(made >= 200 && changed > made * 4 / 5, "{mutation:?}: {made} made, {changed} changed");
        }
    }

    #[test]
    fn long_chains_of_mutations_and_crossovers_keep_the_type() {
        let (grammar, mut random) = (grammar(), Random::new(4));
        let mut population: Vec<Sexp> = SEEDS.iter().map(|text| parse(text).remove(0)).collect();
        for _ in 0..3000 {
            let [i, j] = [0; 2].map(|_| random.below(4));
            let new = if random.one_in(3) {
                crossover(&grammar, &population[i], &population[j], &Type::Real, &mut random)
            } else {
                let mutation = *random.pick(&Mutation::ALL);
                mutation.apply(&grammar, &population[i], &Type::Real, 2, &mut random)
            };
            let Some(new) = new.filter(|new| new.size() < 60) else { continue };
            assert!(grammar.gives(&new, &Type::Real, &Scope::default()), "{new}");
            population[i] = new;
        }
    }

    #[test]
    fn a_loop_goes_on_after_every_mutation() {
        let (grammar, mut random) = (grammar(), Random::new(5));
        let tree = parse(SEEDS[3]).remove(0);
        for mutation in [Mutation::Subtree, Mutation::Point, Mutation::Insert] {
            for _ in 0..200 {
                let new = mutation.apply(&grammar, &tree, &Type::Real, 2, &mut random).unwrap();
                assert!(!new.to_string().contains("loop") || new.to_string().contains("(loop "), "{new}");
            }
        }
    }
}
