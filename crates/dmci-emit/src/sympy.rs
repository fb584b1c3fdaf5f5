//! SymPy: one expression, with `Piecewise` for decisions.

use crate::lines::{Lines, quoted};
use crate::python::python_real;
use crate::scalar::Scalar;
use crate::{Route, Routes, Signature};
use dmci_ops::Op;

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
                expression(*op, &args)
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

fn expression(op: Op, args: &[&str]) -> String {
    let arg = |i: usize| args.get(i).copied().unwrap_or("0");
    let (a, b, c) = (arg(0), arg(1), arg(2));
    let infix = |sign: &str| format!("{a} {sign} {b}");
    let call = |name: &str| format!("sympy.{name}({})", args.join(", "));
    let choose = |test: String, yes: &str, no: &str| format!("_choose(({yes}, {test}), ({no}, sympy.true))");
    match op {
        Op::Same | Op::Stop | Op::Linear => a.to_string(),
        Op::Add | Op::IntAdd => infix("+"),
        Op::Sub | Op::IntSub => infix("-"),
        Op::Mul | Op::IntMul | Op::Gate | Op::Weigh => infix("*"),
        Op::Div | Op::Ratio => infix("/"),
        Op::Neg => format!("-{a}"),
        Op::Abs | Op::IntAbs => call("Abs"),
        Op::Sign => call("sign"),
        Op::Sqrt | Op::Root => call("sqrt"),
        Op::Cbrt => format!("sympy.sign({a}) * sympy.Abs({a}) ** sympy.Rational(1, 3)"),
        Op::Exp => call("exp"),
        Op::Expm1 => format!("sympy.exp({a}) - 1"),
        Op::Log => call("log"),
        Op::Log2 => format!("sympy.log({a}, 2)"),
        Op::Log10 => format!("sympy.log({a}, 10)"),
        Op::Log1p => format!("sympy.log(1 + {a})"),
        Op::Hypot => format!("sympy.sqrt({a} ** 2 + {b} ** 2)"),
        Op::Pow => infix("**"),
        Op::PowBase => format!("{b} * {a} ** ({b} - 1)"),
        Op::PowExponent => format!("{a} ** {b} * sympy.log({a})"),
        Op::Lgamma => call("loggamma"),
        Op::Polygamma => format!("sympy.polygamma({b}, {a})"),
        Op::Sigmoid => format!("1 / (1 + sympy.exp(-{a}))"),
        Op::Softplus => format!("sympy.log(1 + sympy.exp({a}))"),
        Op::Relu => choose(format!("{a} < 0"), "sympy.Integer(0)", a),
        Op::Min | Op::IntMin => choose(format!("{a} <= {b}"), a, b),
        Op::Max | Op::IntMax => choose(format!("{a} >= {b}"), a, b),
        Op::Share => format!("_choose((1, {a} < {b}), (0, {a} > {b}), (sympy.Rational(1, 2), sympy.true))"),
        Op::Counts => "sympy.Integer(1)".into(),
        Op::Counted => a.to_string(),
        Op::Floor => call("floor"),
        Op::Ceiling => call("ceiling"),
        Op::Round => {
            // Halves go to the even number.
            let even = format!("2 * sympy.floor({a} / 2 + sympy.Rational(1, 4))");
            let half = format!("sympy.Eq(sympy.Mod({a}, 1), sympy.Rational(1, 2))");
            choose(half, &even, &format!("sympy.floor({a} + sympy.Rational(1, 2))"))
        }
        Op::Truncate => format!("sympy.sign({a}) * sympy.floor(sympy.Abs({a}))"),
        Op::Quotient | Op::IntQuotient => format!("sympy.sign({a} / {b}) * sympy.floor(sympy.Abs({a} / {b}))"),
        Op::FloorQuotient | Op::IntFloorQuotient => format!("sympy.floor({a} / {b})"),
        Op::Remainder | Op::IntRemainder => {
            format!("{a} - {b} * sympy.sign({a} / {b}) * sympy.floor(sympy.Abs({a} / {b}))")
        }
        Op::Modulo | Op::IntModulo => format!("sympy.Mod({a}, {b})"),
        Op::Lt | Op::IntLt => format!("sympy.Lt({a}, {b})"),
        Op::Le | Op::IntLe => format!("sympy.Le({a}, {b})"),
        Op::Gt => format!("sympy.Gt({a}, {b})"),
        Op::Ge => format!("sympy.Ge({a}, {b})"),
        Op::Eq | Op::IntEq | Op::Eqv => format!("sympy.Eq({a}, {b})"),
        Op::IsInteger | Op::IsInt => format!("sympy.Eq(sympy.floor({a}), {a})"),
        Op::IntFits | Op::IntMulFits => "sympy.true".into(),
        Op::IntDivides => format!("sympy.Eq(sympy.Mod({a}, {b}), 0)"),
        Op::ToReal | Op::ToInt => a.to_string(),
        Op::Not => call("Not"),
        Op::And => call("And"),
        Op::Or => call("Or"),
        Op::Select | Op::IntSelect => choose(a.to_string(), b, c),
        Op::BoolSelect => format!("sympy.ITE({a}, {b}, {c})"),
        other => call(other.name()),
    }
}
