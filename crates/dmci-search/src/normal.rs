//! The canonical form of an expression: one text for what is the same up to the order of operands, the arithmetic of
//! integers, and parameters that do the work of others.
//!
//! A parameter that is mentioned once can take any value, so `p q x` is `p x`, `x - p` is `x + p`, `exp(p + x)` is
//! `p exp x`. The canonical form describes every function that the expression does, and possibly more of them. Fitted
//! values are carried along. A parameter that is mentioned twice is left where it is.

use crate::expr::{Expr, Node};
use crate::operation::{Operation, Operations};
use std::cmp::Ordering;

/// The value of a free parameter, which no comparison looks at.
#[derive(Clone, Copy, Debug)]
struct Start(f64);

impl PartialEq for Start {
    fn eq(&self, _: &Start) -> bool {
        true
    }
}

impl Eq for Start {}

impl PartialOrd for Start {
    fn partial_cmp(&self, other: &Start) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Start {
    fn cmp(&self, _: &Start) -> Ordering {
        Ordering::Equal
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Term {
    Var(u16),
    /// A parameter that is mentioned more than once, with its value.
    Tied(u16, Start),
    /// A parameter of its own.
    Free(Start),
    Int(i64),
    Apply(Operation, Vec<Term>),
    /// A whole power of something with parameters.
    Power(Box<Term>, i64),
    /// Factors, and which of them divide.
    Product(Vec<(Term, bool)>),
    /// Terms with their integer coefficients.
    Sum(Vec<(Term, i64)>),
}

/// Integers beyond this are parameters.
const LARGEST_INT: i64 = 9;

/// The canonical form of an expression with values for its parameters.
pub fn canonical(expr: &Expr, values: &[f64]) -> (Expr, Vec<f64>) {
    let mut uses = vec![0; expr.parameters()];
    expr.nodes.iter().for_each(|n| {
        if let Node::Param(p) = n {
            uses[*p as usize] += 1;
        }
    });
    let mut stack: Vec<Term> = Vec::new();
    for node in expr.nodes.iter().rev() {
        let term = match *node {
            Node::Var(v) => Term::Var(v),
            Node::Int(i) => Term::Int(i.into()),
            Node::Param(p) => {
                let start = Start(values.get(p as usize).copied().unwrap_or(1.0));
                if uses[p as usize] == 1 { Term::Free(start) } else { Term::Tied(p, start) }
            }
            Node::Op(operation) => {
                let a = stack.pop().expect("prefix order has the operands");
                let b = (operation.arity() == 2).then(|| stack.pop().expect("prefix order has the operands"));
                apply(operation, a, b)
            }
        };
        stack.push(term);
    }
    let term = stack.pop().expect("an expression is not empty");
    let mut out = Emit { nodes: Vec::new(), values: Vec::new(), tied: Vec::new() };
    out.term(&term);
    (Expr { nodes: out.nodes }, out.values)
}

/// The same, or the expression itself if its canonical form has operations that are not allowed.
pub fn canonical_within(expr: &Expr, values: &[f64], allowed: &Operations) -> (Expr, Vec<f64>) {
    let found = canonical(expr, values);
    if found.0.forbidden(allowed).is_none() || expr.forbidden(allowed).is_some() {
        return found;
    }
    let mut own = expr.clone();
    let old = own.renumber();
    (own, old.iter().map(|&p| values.get(p as usize).copied().unwrap_or(1.0)).collect())
}

/// A number that is the same for expressions of the same canonical form, in every process.
pub fn hash(expr: &Expr) -> u64 {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    for node in &expr.nodes {
        let word = match *node {
            Node::Var(v) => u64::from(v),
            Node::Param(p) => 0x1_0000 + u64::from(p),
            Node::Int(i) => 0x2_0000 + u64::from(i as u16),
            Node::Op(o) => 0x3_0000 + o as u64,
        };
        // The finaliser of SplitMix64.
        state = state.wrapping_add(word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^= state >> 31;
    }
    state
}

fn apply(operation: Operation, a: Term, b: Option<Term>) -> Term {
    match (operation, b) {
        (Operation::Add, Some(b)) => sum(vec![(a, 1), (b, 1)]),
        (Operation::Sub, Some(b)) => sum(vec![(a, 1), (b, -1)]),
        (Operation::Neg, _) => sum(vec![(a, -1)]),
        (Operation::Mul, Some(b)) => product(vec![(a, false), (b, false)]),
        (Operation::Div, Some(b)) => product(vec![(a, false), (b, true)]),
        (Operation::Square, _) => power(a, 2),
        (Operation::Cube, _) => power(a, 3),
        (Operation::Pow, Some(Term::Int(1))) => a,
        (Operation::Pow, Some(Term::Int(n @ 2..=4))) => power(a, n),
        (operation, b) => {
            let mut operands = vec![a];
            operands.extend(b);
            if let Some(numbers) = operands.iter().map(number).collect::<Option<Vec<f64>>>() {
                return Term::Free(Start(operation.op().map_or(f64::NAN, |op| op.eval_reals(&numbers))));
            }
            match (operation, &operands[0]) {
                (Operation::Exp, Term::Sum(terms)) if terms.iter().any(|t| matches!(t.0, Term::Free(_))) => {
                    let constant: f64 = terms.iter().filter_map(|(t, c)| Some(number(t)? * *c as f64)).sum();
                    let rest = sum(terms.iter().filter(|t| number(&t.0).is_none()).cloned().collect());
                    let factor = Term::Free(Start(Operation::Exp.op().map_or(1.0, |op| op.eval_reals(&[constant]))));
                    return product(vec![(factor, false), (apply(Operation::Exp, rest, None), false)]);
                }
                (Operation::Abs, Term::Product(factors)) if factors.iter().any(|f| matches!(f.0, Term::Free(_))) => {
                    let (free, rest): (Vec<_>, Vec<_>) =
                        factors.iter().cloned().partition(|f| matches!(f.0, Term::Free(_)));
                    let inner = apply(Operation::Abs, product(rest), None);
                    return product(free.into_iter().chain([(inner, false)]).collect());
                }
                _ => {}
            }
            if operation.commutes() {
                operands.sort();
                if operands[0] == operands[1] && !has_free(&operands[0]) {
                    operands.truncate(1);
                    return operands.remove(0);
                }
            }
            Term::Apply(operation, operands)
        }
    }
}

/// A whole power: a product, unless what is multiplied has parameters, each of which is one and not several.
fn power(term: Term, n: i64) -> Term {
    if let Some(value) = number(&term).filter(|_| has_free(&term)) {
        return Term::Free(Start((0..n).map(|_| value).product()));
    }
    let (rest, coefficient) = without_coefficient(term);
    let mut factors: Vec<(Term, bool)> = Vec::new();
    factors.extend(coefficient.map(|c| (Term::Free(Start((0..n).map(|_| c).product())), false)));
    if has_free(&rest) {
        factors.push((Term::Power(Box::new(rest), n), false));
    } else {
        factors.extend((0..n).map(|_| (rest.clone(), false)));
    }
    product(factors)
}

fn has_free(term: &Term) -> bool {
    match term {
        Term::Free(_) => true,
        Term::Var(_) | Term::Tied(..) | Term::Int(_) => false,
        Term::Apply(_, list) => list.iter().any(has_free),
        Term::Power(of, _) => has_free(of),
        Term::Product(list) => list.iter().any(|t| has_free(&t.0)),
        Term::Sum(list) => list.iter().any(|t| has_free(&t.0)),
    }
}

/// The value of a number or of a free parameter.
fn number(term: &Term) -> Option<f64> {
    match term {
        Term::Int(i) => Some(*i as f64),
        Term::Free(start) => Some(start.0),
        _ => None,
    }
}

/// A term without its free coefficient, and that coefficient.
fn without_coefficient(term: Term) -> (Term, Option<f64>) {
    let Term::Product(mut factors) = term else { return (term, None) };
    let Some(at) = factors.iter().position(|f| matches!(f.0, Term::Free(_))) else {
        return (Term::Product(factors), None);
    };
    let (free, _) = factors.remove(at);
    let value = number(&free);
    let rest = match &factors[..] {
        [(_, false)] => factors.remove(0).0,
        _ => Term::Product(factors),
    };
    (rest, value)
}

fn sum(terms: Vec<(Term, i64)>) -> Term {
    let mut todo = terms;
    todo.reverse();
    let (mut free, mut integer, mut has_constant) = (0.0, 0, false);
    // Terms by what they are without a coefficient: that of integers, and the free one.
    let mut groups: Vec<(Term, i64, Option<f64>)> = Vec::new();
    while let Some((term, c)) = todo.pop() {
        match term {
            Term::Sum(inner) => todo.extend(inner.into_iter().rev().map(|(t, d)| (t, c * d))),
            Term::Free(start) => (free, has_constant) = (free + c as f64 * start.0, true),
            Term::Int(i) => integer += c * i,
            term => {
                let (mut rest, value) = without_coefficient(term);
                let mut c = c;
                // An integer factor is a coefficient.
                if let Term::Product(factors) = &mut rest
                    && let Some(at) = factors.iter().position(|f| matches!(f, (Term::Int(_), false)))
                    && factors.len() > 1
                {
                    if let (Term::Int(i), _) = factors.remove(at) {
                        c *= i;
                    }
                    if let [(_, false)] = &factors[..] {
                        rest = factors.remove(0).0;
                    }
                }
                let value = value.map(|v| v * c as f64);
                let c = if value.is_some() { 0 } else { c };
                match groups.iter_mut().find(|g| g.0 == rest && !has_free(&rest)) {
                    Some(group) => {
                        group.1 += c;
                        group.2 = match (group.2, value) {
                            (Some(a), Some(b)) => Some(a + b),
                            (a, b) => a.or(b),
                        };
                    }
                    None => groups.push((rest, c, value)),
                }
            }
        }
    }
    let mut list: Vec<(Term, i64)> = Vec::new();
    for (rest, c, value) in groups {
        match value {
            Some(v) => list.push((product(vec![(Term::Free(Start(v + c as f64)), false), (rest, false)]), 1)),
            None if c.abs() > LARGEST_INT => {
                list.push((product(vec![(Term::Free(Start(c as f64)), false), (rest, false)]), 1));
            }
            None if c != 0 => list.push((rest, c)),
            None => {}
        }
    }
    let has_constant = has_constant || integer.abs() > LARGEST_INT;
    if has_constant {
        // q + p (x + 1) is q + p x.
        for (term, _) in &mut list {
            if let Term::Product(factors) = term
                && let [(Term::Sum(inner), false), (Term::Free(f), false)]
                | [(Term::Free(f), false), (Term::Sum(inner), false)] = &factors[..]
                && let Some(i) = inner.iter().find_map(|t| if let (Term::Int(i), c) = t { Some(i * c) } else { None })
            {
                let factor = f.0;
                let others: Vec<(Term, i64)> = inner.iter().filter(|t| !matches!(t.0, Term::Int(_))).cloned().collect();
                free += factor * i as f64;
                *term = product(vec![(Term::Free(Start(factor)), false), (sum(others), false)]);
            }
        }
    }
    if list.is_empty() {
        return if has_constant || integer == 0 {
            Term::Free(Start(free + integer as f64))
        } else {
            Term::Int(integer)
        };
    }
    if has_constant {
        list.push((Term::Free(Start(free + integer as f64)), 1));
    } else if integer != 0 {
        list.push((Term::Int(integer), 1));
    }
    list.sort();
    match &list[..] {
        [(_, 1)] => list.remove(0).0,
        _ => Term::Sum(list),
    }
}

/// Whether a factor can take any scale: a sum whose terms all have parameters of their own.
fn takes_scale(term: &Term) -> bool {
    let own = |t: &Term| match t {
        Term::Free(_) => true,
        Term::Product(factors) => factors.iter().any(|f| matches!(f.0, Term::Free(_)) || takes_scale(&f.0)),
        _ => false,
    };
    matches!(term, Term::Sum(terms) if terms.iter().all(|t| own(&t.0)))
}

fn scaled(term: Term, by: f64) -> Term {
    match term {
        Term::Free(start) => Term::Free(Start(start.0 * by)),
        Term::Product(mut factors) => {
            if let Some(f) = factors.iter_mut().find(|f| matches!(f.0, Term::Free(_))) {
                let by = if f.1 { 1.0 / by } else { by };
                f.0 = scaled(f.0.clone(), by);
            } else if let Some(f) = factors.iter_mut().find(|f| takes_scale(&f.0)) {
                let by = if f.1 { 1.0 / by } else { by };
                f.0 = scaled(f.0.clone(), by);
            }
            Term::Product(factors)
        }
        Term::Sum(terms) => Term::Sum(terms.into_iter().map(|(t, c)| (scaled(t, by), c)).collect()),
        other => other,
    }
}

fn product(factors: Vec<(Term, bool)>) -> Term {
    let mut todo = factors;
    todo.reverse();
    let (mut free, mut has_free_factor) = (1.0, false);
    let (mut above, mut below) = (1i64, 1i64);
    let mut list: Vec<(Term, bool)> = Vec::new();
    while let Some((term, inverted)) = todo.pop() {
        match term {
            Term::Product(inner) => todo.extend(inner.into_iter().rev().map(|(t, i)| (t, i != inverted))),
            Term::Free(start) => {
                has_free_factor = true;
                free *= if inverted { 1.0 / start.0 } else { start.0 };
            }
            Term::Int(i) if inverted => below = below.saturating_mul(i),
            Term::Int(i) => above = above.saturating_mul(i),
            // A single term with a coefficient, such as the negative of something.
            Term::Sum(terms) if terms.len() == 1 => {
                let (t, c) = terms.into_iter().next().expect("it has one");
                todo.push((t, inverted));
                todo.push((Term::Int(c), inverted));
            }
            term => match list.iter().position(|f| f.0 == term && f.1 != inverted && !has_free(&term)) {
                Some(at) => drop(list.remove(at)),
                None => list.push((term, inverted)),
            },
        }
    }
    let integral = above % below == 0 && (above / below).abs() <= LARGEST_INT;
    let mut integer = 1;
    if has_free_factor || !integral {
        free *= above as f64 / below as f64;
        has_free_factor = true;
    } else {
        integer = above / below;
    }
    if list.iter().all(|f| f.1) && list.is_empty() {
        return if has_free_factor { Term::Free(Start(free)) } else { Term::Int(integer) };
    }
    if has_free_factor && let Some(f) = list.iter_mut().find(|f| takes_scale(&f.0)) {
        let by = if f.1 { 1.0 / free } else { free };
        f.0 = scaled(f.0.clone(), by);
        has_free_factor = false;
    }
    if has_free_factor && let [(Term::Sum(terms), false)] = &list[..] {
        // p (x + q) is p x + q.
        let (constants, others): (Vec<_>, Vec<_>) = terms.iter().cloned().partition(|t| matches!(t.0, Term::Free(_)));
        if !constants.is_empty() && !others.is_empty() {
            let inner = product(vec![(Term::Free(Start(free)), false), (sum(others), false)]);
            let constants = constants.into_iter().map(|(t, c)| (scaled(t, free), c));
            return sum(constants.chain([(inner, 1)]).collect());
        }
    }
    if has_free_factor {
        list.push((Term::Free(Start(free)), false));
    }
    list.sort();
    let term = match &list[..] {
        [(_, false)] => list.remove(0).0,
        _ => Term::Product(list),
    };
    match (integer, term) {
        (1, term) => term,
        (integer, Term::Sum(terms)) => Term::Sum(terms.into_iter().map(|(t, c)| (t, c * integer)).collect()),
        (integer, term) => Term::Sum(vec![(term, integer)]),
    }
}

struct Emit {
    nodes: Vec<Node>,
    values: Vec<f64>,
    tied: Vec<(u16, u16)>,
}

impl Emit {
    fn op(&mut self, operation: Operation) {
        self.nodes.push(Node::Op(operation));
    }

    fn integer(&mut self, i: i64) {
        match i16::try_from(i) {
            Ok(i) if i != 0 => self.nodes.push(Node::Int(i)),
            _ => self.parameter(i as f64),
        }
    }

    fn parameter(&mut self, value: f64) {
        self.nodes.push(Node::Param(self.values.len() as u16));
        self.values.push(value);
    }

    fn term(&mut self, term: &Term) {
        match term {
            Term::Var(v) => self.nodes.push(Node::Var(*v)),
            Term::Int(i) => self.integer(*i),
            Term::Free(start) => self.parameter(start.0),
            Term::Tied(p, start) => match self.tied.iter().find(|t| t.0 == *p) {
                Some(&(_, new)) => self.nodes.push(Node::Param(new)),
                None => {
                    self.tied.push((*p, self.values.len() as u16));
                    self.parameter(start.0);
                }
            },
            Term::Apply(operation, operands) => {
                self.op(*operation);
                operands.iter().for_each(|t| self.term(t));
            }
            Term::Power(of, n) => self.power(of, *n as usize),
            Term::Product(factors) => self.product(factors),
            Term::Sum(terms) => self.sum(terms),
        }
    }

    fn sum(&mut self, terms: &[(Term, i64)]) {
        // Positive terms first, so that a difference begins with what it subtracts from.
        let ordered: Vec<&(Term, i64)> =
            terms.iter().filter(|t| t.1 > 0).chain(terms.iter().filter(|t| t.1 < 0)).collect();
        for k in (1..ordered.len()).rev() {
            self.op(if ordered[k].1 > 0 { Operation::Add } else { Operation::Sub });
        }
        for (k, (term, c)) in ordered.into_iter().enumerate() {
            let c = if k == 0 { *c } else { c.abs() };
            match c {
                1 => self.term(term),
                -1 => {
                    self.op(Operation::Neg);
                    self.term(term);
                }
                c => {
                    self.op(Operation::Mul);
                    self.integer(c);
                    self.term(term);
                }
            }
        }
    }

    fn product(&mut self, factors: &[(Term, bool)]) {
        let part = |inverted: bool| -> Vec<(&Term, usize)> {
            let mut runs: Vec<(&Term, usize)> = Vec::new();
            for (term, i) in factors.iter().filter(|f| f.1 == inverted) {
                debug_assert_eq!(*i, inverted);
                match runs.last_mut() {
                    // Equal factors with parameters of their own are different functions.
                    Some(last) if last.0 == term && !has_free(term) => last.1 += 1,
                    _ => runs.push((term, 1)),
                }
            }
            runs
        };
        let (above, below) = (part(false), part(true));
        if !below.is_empty() {
            self.op(Operation::Div);
        }
        if above.is_empty() {
            self.nodes.push(Node::Int(1));
        }
        for runs in [above, below] {
            (1..runs.len()).for_each(|_| self.op(Operation::Mul));
            runs.into_iter().for_each(|(term, power)| self.power(term, power));
        }
    }

    fn power(&mut self, term: &Term, power: usize) {
        match power {
            1 => self.term(term),
            p if p % 2 == 0 => {
                self.op(Operation::Square);
                self.power(term, p / 2);
            }
            p if p % 3 == 0 => {
                self.op(Operation::Cube);
                self.power(term, p / 3);
            }
            // Those of parameters have no such power.
            p => {
                self.op(Operation::Mul);
                self.term(term);
                self.power(term, p - 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::{Lowered, Space};
    use dmci::Program;
    use dmci_stats::random::Stream;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|s| s.to_string()).collect()
    }

    fn read(text: &str) -> Expr {
        let data = Program::new(text).data().expect("it is read");
        let parameters = names(&["p", "q", "r", "s"]);
        let mut expr = Expr::read(&data[0], &names(&["x", "y"]), &parameters).expect("it is an expression");
        expr.renumber();
        expr
    }

    fn form(text: &str) -> String {
        canonical(&read(text), &[]).0.text(&names(&["x", "y"]), &names(&["p", "q", "r", "s"]))
    }

    #[test]
    fn what_is_the_same_has_one_form() {
        for list in [
            &["(+ x (* p y))", "(- x (* p y))", "(+ (* y p) x)", "(+ (/ y p) x)", "(+ x (* p q y))"][..],
            &["(+ p (* q x))", "(* p (+ x q))", "(- p (/ x q))", "(+ p (* q x) r)", "(* (+ p (* q x)) r)"],
            &["(* p (exp x))", "(exp (+ p x))", "(exp (- x p))"],
            &["(* p x x)", "(* p (square x))", "(square (* p x))", "(* p (expt x 2))"],
            &["(+ x x)", "(* 2 x)", "(- (* 3 x) x)"],
            &["(/ x y)", "(* x (/ 1 y))", "(/ (* x x) (* y x))"],
            &["(min (* p x) y)", "(min y (* x p))"],
            &["(+ p (* q x))", "(+ p (* q (+ x 1)))", "(+ p (* q (- 2 x)))"],
            &["p", "(+ p q)", "(exp p)", "(/ 1 2)", "(- x x)"],
        ] {
            let forms: Vec<String> = list.iter().map(|t| form(t)).collect();
            assert!(forms.iter().all(|f| *f == forms[0]), "{list:?}: {forms:?}");
        }
        for (a, b) in [("(+ x y)", "(* x y)"), ("(sqrt (* p x))", "(* p (sqrt x))"), ("(- x y)", "(- y x)")] {
            assert_ne!(form(a), form(b));
        }
        // A square of parameters has no more of them.
        assert_eq!(form("(* p (square (+ x q)))"), "(* p (square (+ x q)))");
        // A parameter that is mentioned twice ties two places together.
        assert_eq!(form("(+ (* p x) (sin (* p x)))"), "(+ (sin (* x p)) (* x p))");
    }

    /// The canonical form computes the same numbers, with the values that it is given, up to rounding.
    #[test]
    fn values_survive() {
        let mut stream = Stream::new(3, 1);
        let columns: Vec<Vec<f64>> = (0..2).map(|_| (0..9).map(|_| 0.5 + stream.uniform()).collect()).collect();
        let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let mut space = Space::default();
        for text in [
            "(- x (* p y q))",
            "(* p (+ (* q x) r))",
            "(/ (+ (* p x) q) (* r (+ x (* s y))))",
            "(exp (+ p (* q x) 2))",
            "(square (- (* p x) (* 3 y)))",
            "(abs (* p x (sin y)))",
            "(- (- x) (- p))",
            "(* (- x) y (/ 6 4))",
            "(+ (* 2 x) (* p x) (* 4 (- y x)) (* 20 y))",
            "(/ 1 (* x x x x x x))",
            "(+ p (* q (+ x 1)))",
            "(* p (+ x y q))",
            "(cube (square x))",
            "(square (+ x p))",
            "(* q (cube (sin (* p x))))",
            "(expt (+ x (* p y)) 4)",
        ] {
            let expr = read(text);
            let values: Vec<f64> = (0..expr.parameters()).map(|_| stream.normal()).collect();
            let (other, carried) = canonical(&expr, &values);
            let a = Lowered::new(&expr, 2).values(&values, &slices, 9, &mut space);
            let b = Lowered::new(&other, 2).values(&carried, &slices, 9, &mut space);
            for (x, y) in a.iter().zip(&b) {
                assert!((x - y).abs() <= 1e-12 * x.abs().max(1.0), "{text}: {x} and {y}, {other:?} {carried:?}");
            }
            assert_eq!(canonical(&other, &carried).0, other, "{text}: the form of a form is itself");
        }
    }
}
