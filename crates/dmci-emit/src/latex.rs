//! LaTeX: formulas, with a line for every number that is used more than once, and cases for decisions.

use crate::lines::{Lines, quoted};
use crate::scalar::{Code, Scalar};
use crate::spelling::fill;
use crate::{Route, Routes, Signature};
use dmci::Report;
use dmci_ops::{Binding, Op};

/// How tightly a formula holds together.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Bind {
    Sum,
    Product,
    Atom,
}

/// A formula.
#[derive(Clone)]
struct Formula(String, Bind);

impl Formula {
    fn atom(text: impl Into<String>) -> Formula {
        Formula(text.into(), Bind::Atom)
    }

    /// The formula where something at least as tight is wanted.
    fn at(&self, least: Bind) -> String {
        if self.1 >= least { self.0.clone() } else { format!(r"\left({}\right)", self.0) }
    }
}

/// Formulas in an `align*` environment.
pub fn source(routes: &Routes, signature: &Signature) -> Result<String, Report> {
    let mut lines = Lines::default();
    lines.line(format!("% {}: formulas, exported by dmci.", quoted(&signature.name)));
    lines.line(r"\begin{align*}");
    let names: Vec<String> = signature.params.iter().chain(&signature.inputs).map(|n| symbol(n)).collect();
    let many = routes.list.len() > 1;
    let mut rows = Vec::new();
    for (i, route) in routes.list.iter().enumerate() {
        rows.extend(path(i, route, &names, signature.outputs, many));
    }
    let last = rows.len();
    for (i, row) in rows.into_iter().enumerate() {
        lines.line(format!("{row}{}", if i + 1 < last { r" \\" } else { "" }));
    }
    lines.line(r"\end{align*}");
    Ok(lines.text())
}

/// A name as a symbol: `w.0` is indexed, and long names are upright.
fn symbol(name: &str) -> String {
    let (stem, index) = name.split_once('.').unwrap_or((name, ""));
    let escaped: String =
        stem.chars().map(|c| if "_#$%&{}".contains(c) { format!("\\{c}") } else { c.to_string() }).collect();
    let stem =
        if stem.chars().count() == 1 { escaped } else { format!(r"\mathrm{{{}}}", escaped.replace('-', r"\text{-}")) };
    if index.is_empty() { stem } else { format!("{stem}_{{{}}}", index.replace('.', ",")) }
}

fn path(number: usize, route: &Route, leaves: &[String], outputs: usize, many: bool) -> Vec<String> {
    let code = &route.code;
    let uses = code.uses();
    let mut rows = Vec::new();
    let mut formulas: Vec<Formula> = Vec::with_capacity(code.nodes.len());
    for (i, node) in code.nodes.iter().enumerate() {
        let formula = match node {
            Scalar::Leaf(n) => Formula::atom(leaves[*n].clone()),
            Scalar::Real(x) => number_formula(*x),
            Scalar::Int(x) => number_formula(*x as f64),
            Scalar::Op(op, args) => {
                let args: Vec<&Formula> = args.iter().map(|&a| &formulas[a]).collect();
                formula(*op, &args)
            }
            Scalar::Loop(_) | Scalar::Out(..) => Formula::atom(r"\bot"),
        };
        let long = formula.0.len() > 400;
        if matches!(node, Scalar::Op(..)) && (uses[i] > 1 && formula.0.len() > 12 || long) && is_number(code, i) {
            let name = format!("v_{{{}}}", if many { format!("{number},{i}") } else { i.to_string() });
            rows.push(format!("{name} &= {}", formula.0));
            formulas.push(Formula::atom(name));
        } else {
            formulas.push(formula);
        }
    }
    let condition = |&(node, outcome, _): &(usize, bool, usize)| {
        let test = &formulas[node].0;
        if outcome { test.clone() } else { format!(r"\neg\left({test}\right)") }
    };
    let all: Vec<String> = code.guards.iter().map(condition).collect();
    for o in 0..outputs {
        let name = match (outputs, many) {
            (1, false) => "f".to_string(),
            (1, true) => format!("f_{{{number}}}"),
            (_, false) => format!("f^{{({})}}", o + 1),
            (_, true) => format!("f_{{{number}}}^{{({})}}", o + 1),
        };
        let value = if route.failure.is_some() { r"\bot".into() } else { formulas[code.outputs[o]].0.clone() };
        if all.is_empty() {
            rows.push(format!("{name} &= {value}"));
            continue;
        }
        let mut cases = vec![format!(r"{value} & \text{{if }} {}", all.join(r" \wedge "))];
        for (guard, next) in &route.next {
            let g = *guard as usize;
            let before: Vec<String> =
                all[..g].iter().cloned().chain([format!(r"\neg\left({}\right)", all[g])]).collect();
            let there = if outputs == 1 { format!("f_{{{next}}}") } else { format!("f_{{{next}}}^{{({})}}", o + 1) };
            cases.push(format!(r"{there} & \text{{if }} {}", before.join(r" \wedge ")));
        }
        cases.push(r"\text{unknown} & \text{otherwise}".into());
        rows.push(format!(r"{name} &= \begin{{cases}} {} \end{{cases}}", cases.join(r" \\ ")));
    }
    rows
}

fn is_number(code: &Code, i: usize) -> bool {
    code.types[i] != dmci_ops::Type::Bool
}

fn number_formula(x: f64) -> Formula {
    if x.is_nan() {
        return Formula::atom(r"\mathrm{NaN}");
    }
    if x.is_infinite() {
        return Formula(
            if x > 0.0 { r"\infty" } else { r"-\infty" }.into(),
            if x > 0.0 { Bind::Atom } else { Bind::Sum },
        );
    }
    let text = format!("{x}");
    let text = if text.len() > 17 { format!("{x:e}") } else { text };
    let bind = if x < 0.0 { Bind::Sum } else { Bind::Atom };
    match text.split_once('e') {
        Some((digits, power)) => {
            Formula(format!(r"{digits} \cdot 10^{{{power}}}"), if x < 0.0 { Bind::Sum } else { Bind::Product })
        }
        None => Formula(text, bind),
    }
}

fn formula(op: Op, args: &[&Formula]) -> Formula {
    let spelling = op.spelling();
    let mut bind = match spelling.binding {
        Binding::Sum => Bind::Sum,
        Binding::Product => Bind::Product,
        Binding::Atom => Bind::Atom,
        Binding::Operand => args[0].1,
    };
    let text = fill(spelling.latex, |mark, i| {
        let x = args[i];
        let is_negative = x.0.starts_with('-');
        match mark {
            Some('*') => x.at(Bind::Product),
            Some('^') => x.at(Bind::Atom),
            Some('+') if is_negative => x.at(Bind::Product),
            // A negative number in front needs no parentheses of its own.
            Some('-') if is_negative && !x.0.contains(' ') => {
                bind = Bind::Sum;
                x.0.clone()
            }
            Some('-') => x.at(Bind::Product),
            _ => x.0.clone(),
        }
    });
    Formula(text, bind)
}
