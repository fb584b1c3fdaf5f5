//! Places in an expression where another one of the same type could stand.

use crate::Type;
use crate::grammar::{Grammar, Scope};
use crate::sexp::Sexp;

/// A place in an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// The way to it: which child of which child.
    pub path: Vec<usize>,
    /// What must stand there.
    pub ty: Type,
    /// What can be seen from there.
    pub scope: Scope,
    /// It is where a named loop goes on or ends, so that what stands there may be a call of the loop.
    pub is_tail: bool,
}

/// All places of an expression that gives `ty`, the root first. Nothing inside of forms that the grammar does not know
/// is a place.
pub fn sites(grammar: &Grammar, tree: &Sexp, ty: &Type) -> Vec<Site> {
    let mut found = Vec::new();
    let root = Site { path: Vec::new(), ty: ty.clone(), scope: Scope::default(), is_tail: true };
    walk(grammar, tree, root, &mut found);
    found
}

fn walk(grammar: &Grammar, tree: &Sexp, site: Site, found: &mut Vec<Site>) {
    found.push(site.clone());
    let Sexp::List(items) = tree else { return };
    let [Sexp::Atom(name), operands @ ..] = items.as_slice() else { return };
    let child = |path: &[usize], ty: &Type, scope: &Scope, is_tail: bool| Site {
        path: [&site.path, path].concat(),
        ty: ty.clone(),
        scope: scope.clone(),
        is_tail,
    };
    if name == "let" {
        let Some((inner, body)) = grammar.inside_let(operands, &site.ty, &site.scope) else { return };
        let list = operands.len() - 1;
        let types = inner.variables[site.scope.variables.len()..].iter().map(|v| v.ty.clone());
        for (i, (binding, ty)) in operands[list - 1].children().iter().zip(types).enumerate() {
            if let [_, value] = binding.children() {
                walk(grammar, value, child(&[list, i, 1], &ty, &site.scope, false), found);
            }
        }
        return walk(grammar, body, child(&[list + 1], &site.ty, &inner, site.is_tail), found);
    }
    let Some(types) = call_types(grammar, name, operands, &site) else { return };
    for (i, (operand, ty)) in operands.iter().zip(&types).enumerate() {
        let is_tail = site.is_tail && name == "if" && i > 0;
        walk(grammar, operand, child(&[i + 1], ty, &site.scope, is_tail), found);
    }
}

/// What the operands of a call must be. Comparisons of integers and of reals have one name: what stands there decides.
fn call_types(grammar: &Grammar, name: &str, operands: &[Sexp], site: &Site) -> Option<Vec<Type>> {
    let types = grammar.operand_types(name, operands.len(), &site.ty, &site.scope)?;
    let integers = vec![Type::Int; operands.len()];
    let are_integers = operands.iter().all(|o| grammar.gives(o, &Type::Int, &site.scope));
    let is_comparison = site.ty == Type::Bool && types.iter().all(|ty| *ty == Type::Real);
    Some(if is_comparison && are_integers { integers } else { types })
}

/// The expression at a place.
pub fn get<'a>(tree: &'a Sexp, path: &[usize]) -> Option<&'a Sexp> {
    path.iter().try_fold(tree, |tree, &i| tree.children().get(i))
}

/// The whole with another expression at a place.
pub fn with(tree: &Sexp, path: &[usize], new: Sexp) -> Option<Sexp> {
    let mut whole = tree.clone();
    let place = path.iter().try_fold(&mut whole, |tree, &i| tree.children_mut().get_mut(i))?;
    *place = new;
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sexp::parse;

    #[test]
    fn places_know_what_surrounds_them() {
        let grammar = Grammar::arithmetic(&["+", "exp", "<", "if"], &["x"]).unwrap();
        let text = "(let loop ((n 0) (y (exp x))) (if (= n 9) y (loop (+ n 1) (* y (odd x)))))";
        let tree = parse(text).remove(0);
        let shown: Vec<(String, Type)> = sites(&grammar, &tree, &Type::Real)
            .into_iter()
            .map(|site| (get(&tree, &site.path).unwrap().to_string(), site.ty))
            .collect();
        let expected = [
            (text, Type::Real),
            ("0", Type::Int),
            ("(exp x)", Type::Real),
            ("x", Type::Real),
            ("(if (= n 9) y (loop (+ n 1) (* y (odd x))))", Type::Real),
            ("(= n 9)", Type::Bool),
            ("n", Type::Int),
            ("9", Type::Int),
            ("y", Type::Real),
            ("(loop (+ n 1) (* y (odd x)))", Type::Real),
            ("(+ n 1)", Type::Int),
            ("n", Type::Int),
            ("1", Type::Int),
            ("(* y (odd x))", Type::Real),
            ("y", Type::Real),
            ("(odd x)", Type::Real),
        ];
        let expected: Vec<(String, Type)> = expected.map(|(text, ty)| (text.to_string(), ty)).to_vec();
        assert_eq!(shown, expected);
    }
}
