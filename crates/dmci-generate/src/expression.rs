//! The expressions inside of a program text.
//!
//! In `(+ x (exp y))` the expressions are the call, `x`, `(exp y)` and `y`: names of operations are none. They are
//! numbered from the root, which is 0, in the order of the text.

use crate::sexp::Sexp;

/// The expressions that a call computes from; nothing for variables, literals and quoted data.
pub fn operands(tree: &Sexp) -> &[Sexp] {
    match tree {
        Sexp::List(items) if items.len() > 1 => &items[1..],
        _ => &[],
    }
}

fn operands_mut(tree: &mut Sexp) -> &mut [Sexp] {
    match tree {
        Sexp::List(items) if items.len() > 1 => &mut items[1..],
        _ => &mut [],
    }
}

/// How many expressions there are in a tree of calls, itself included.
pub fn size(tree: &Sexp) -> usize {
    1 + operands(tree).iter().map(size).sum::<usize>()
}

/// How deeply calls are nested; 1 for a variable or a literal.
pub fn depth(tree: &Sexp) -> usize {
    1 + operands(tree).iter().map(depth).max().unwrap_or(0)
}

/// The expression of a number.
pub fn at(tree: &Sexp, number: usize) -> Option<&Sexp> {
    let mut left = number;
    find(tree, &mut left)
}

fn find<'a>(tree: &'a Sexp, left: &mut usize) -> Option<&'a Sexp> {
    if *left == 0 {
        return Some(tree);
    }
    *left -= 1;
    operands(tree).iter().find_map(|operand| find(operand, left))
}

/// The expression of a number, to change it in place.
pub fn at_mut(tree: &mut Sexp, number: usize) -> Option<&mut Sexp> {
    let mut left = number;
    find_mut(tree, &mut left)
}

fn find_mut<'a>(tree: &'a mut Sexp, left: &mut usize) -> Option<&'a mut Sexp> {
    if *left == 0 {
        return Some(tree);
    }
    *left -= 1;
    operands_mut(tree).iter_mut().find_map(|operand| find_mut(operand, left))
}

/// A call of an operation.
pub fn call(name: &str, operands: impl IntoIterator<Item = Sexp>) -> Sexp {
    let mut items = vec![Sexp::atom(name)];
    items.extend(operands);
    Sexp::List(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sexp::parse;

    #[test]
    fn expressions_are_numbered_in_the_order_of_the_text() {
        let mut tree = parse("(+ (* a b) (exp (- c)))").remove(0);
        assert_eq!((size(&tree), depth(&tree)), (7, 4));
        let numbered: Vec<String> = (0..7).map(|i| at(&tree, i).unwrap().to_string()).collect();
        assert_eq!(numbered[1..], ["(* a b)", "a", "b", "(exp (- c))", "(- c)", "c"]);
        assert!(at(&tree, 7).is_none());
        *at_mut(&mut tree, 5).unwrap() = Sexp::atom("z");
        assert_eq!(tree.to_string(), "(+ (* a b) (exp z))");
    }
}
