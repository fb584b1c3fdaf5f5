//! SymPy: one expression, with `Piecewise` for decisions.

use crate::lines::{Lines, quoted};
use crate::python::python_real;
use crate::scalar::Scalar;
use crate::spelling::fill_names;
use crate::{Route, Routes, Signature};

/// The source of a module with `PARAMETERS`, `INPUTS` and `expression`.
pub fn source(values: &Routes, gradients: &Routes, signature: &Signature) -> String {
    let mut lines = Lines::default();
    lines.line(format!("\"\"\"{}: an expression of SymPy, exported by dmci.", quoted(&signature.name)));
    lines.line("");
    lines.line(
        "EXPRESSION is a function of the symbols PARAMETERS and INPUTS, or a list of such; it is nan where the program",
    );
    lines.line("takes a path that was never recorded, or fails.");
    lines.line("\"\"\"");
    lines.line("");
    lines.line("import sympy");
    lines.line("");
    for (what, names) in [("PARAMETERS", &signature.params), ("INPUTS", &signature.inputs)] {
        let symbols: String = names.iter().map(|n| format!("sympy.Symbol(\"{}\", real=True), ", quoted(n))).collect();
        lines.line(format!("{what} = ({symbols})"));
    }
    lines.line("_LEAVES = PARAMETERS + INPUTS");
    lines.line(
        "

def _choose(*cases):
    return sympy.Piecewise(*[case for case in cases if case[1] is not sympy.false], evaluate=False)",
    );
    let (n, outputs) = (signature.params.len(), signature.outputs);
    for (prefix, routes, count) in [("_value", values, outputs), ("_grad", gradients, outputs * (1 + n))] {
        for (i, route) in routes.list.iter().enumerate().rev() {
            function(&mut lines, prefix, i, route, count);
        }
    }
    lines.line("\n\nEXPRESSION = _value_0()");
    lines.line(format!("GRADIENT = _grad_0()[{outputs}:]"));
    match outputs {
        1 => lines.line("EXPRESSION = EXPRESSION[0]"),
        _ => lines.line(format!("GRADIENT = [GRADIENT[i * {n}:(i + 1) * {n}] for i in range({outputs})]")),
    }
    lines.text()
}

fn function(lines: &mut Lines, prefix: &str, number: usize, route: &Route, outputs: usize) {
    lines.line(format!("\n\ndef {prefix}_{number}():"));
    lines.deeper();
    let code = &route.code;
    let mut names: Vec<String> = Vec::with_capacity(code.nodes.len());
    for (i, node) in code.nodes.iter().enumerate() {
        let value = match node {
            Scalar::Leaf(n) => {
                names.push(format!("_LEAVES[{n}]"));
                continue;
            }
            Scalar::Real(x) if x.is_finite() && x.fract() == 0.0 && x.abs() < 1e15 => format!("sympy.Integer({x})"),
            Scalar::Real(x) if x.is_finite() => format!("sympy.Float({}, 17)", python_real(*x)),
            Scalar::Real(x) if x.is_nan() => "sympy.nan".into(),
            Scalar::Real(x) => (if *x > 0.0 { "sympy.oo" } else { "-sympy.oo" }).to_string(),
            Scalar::Int(x) => format!("sympy.Integer({x})"),
            Scalar::Op(op, args) => {
                let args: Vec<&str> = args.iter().map(|&a| names[a].as_str()).collect();
                fill_names(op.spelling().sympy, &args)
            }
            Scalar::Loop(_) | Scalar::Out(..) => "sympy.nan".into(),
        };
        lines.line(format!("v{i} = {value}"));
        names.push(format!("v{i}"));
    }
    let holds = |&(node, outcome, _): &(usize, bool, usize)| {
        if outcome { names[node].clone() } else { format!("sympy.Not({})", names[node]) }
    };
    let all: Vec<String> = code.guards.iter().map(holds).collect();
    for (guard, next) in &route.next {
        lines.line(format!("p{guard} = {prefix}_{next}()"));
    }
    let mut cells = Vec::new();
    for o in 0..outputs {
        let mut cases = Vec::new();
        if route.failure.is_none() {
            cases.push(format!("({}, sympy.And({}))", names[code.outputs[o]], all.join(", ")));
        }
        for (guard, _) in &route.next {
            let g = *guard as usize;
            let before = all[..g].iter().cloned().chain([format!("sympy.Not({})", all[g])]);
            cases.push(format!("(p{guard}[{o}], sympy.And({}))", before.collect::<Vec<_>>().join(", ")));
        }
        let plain = all.is_empty() && route.failure.is_none();
        cells.push(match plain {
            true => names[code.outputs[o]].clone(),
            false => format!("_choose({}, (sympy.nan, sympy.true))", cases.join(", ")),
        });
    }
    lines.line(format!("return [{}]", cells.join(", ")).replace("_choose(, ", "_choose("));
    lines.back();
}
