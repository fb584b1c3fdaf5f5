//! Python over arrays of lanes: NumPy (or CuPy), JAX, PyTorch.
//!
//! Every lane computes every operation; masks say which lanes are on a path, and in a loop which ones go on. All
//! operations are total, so lanes that are elsewhere do no harm.

mod loops;
pub(crate) mod operations;

use crate::lines::{Lines, quoted};
use crate::scalar::{Code, Scalar};
use crate::{Route, Routes, Signature};
use dmci_ops::{Op, Type};
use operations::{expression, helpers};
use std::collections::BTreeSet;

/// Which library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// NumPy, or anything with its interface.
    NumPy,
    /// JAX.
    Jax,
    /// PyTorch.
    Torch,
}

impl Dialect {
    /// The name of the module in expressions.
    pub fn module(self) -> &'static str {
        match self {
            Dialect::NumPy => "xp",
            Dialect::Jax => "jnp",
            Dialect::Torch => "torch",
        }
    }
}

/// The source of a module with `value` and `value_and_grad`.
pub fn source(values: &Routes, gradients: &Routes, signature: &Signature, dialect: Dialect) -> String {
    let mut used = BTreeSet::new();
    let mut body = Lines::default();
    for (prefix, routes) in [("_value", values), ("_grad", gradients)] {
        for (i, route) in routes.list.iter().enumerate() {
            let single = routes.single;
            let mut writer = Writer { lines: &mut body, dialect, used: &mut used, temporary: 0, single };
            writer.route(prefix, i, route, signature);
        }
    }
    let mut lines = Lines::default();
    head(&mut lines, signature, dialect, &values.integers(), values.single);
    let kind = |ty: &Type| match ty {
        Type::Real => "\"real\", ",
        Type::Int => "\"int\", ",
        Type::Bool => "\"bool\", ",
    };
    let kinds: String = values.list[0].code.leaves.iter().map(kind).collect();
    lines.line(format!("_KINDS = ({kinds})"));
    helpers(&mut lines, dialect, &used, values.single);
    lines.text() + &body.text() + &tail(signature, dialect)
}

fn head(lines: &mut Lines, signature: &Signature, dialect: Dialect, integers: &[usize], single: bool) {
    lines.line(format!("\"\"\"{}: values and derivatives, exported by dmci.", quoted(&signature.name)));
    lines.line("");
    lines.line(
        "value(params, inputs) gives (value, known); value_and_grad(params, inputs) gives (value, gradient, known).",
    );
    lines.line("params and inputs are sequences of numbers or arrays, in the order of PARAMETERS and INPUTS; arrays broadcast.");
    lines.line("Where known is false, the numbers take a path that was never recorded, or the program fails: the value is NaN.");
    match dialect {
        Dialect::NumPy => lines.line("The array module is an argument: xp=cupy computes on a graphics card."),
        Dialect::Jax => {
            lines.line("Loops of gradients remember max_rounds rounds; where a lane needs more, known is false.")
        }
        Dialect::Torch => lines.line("value is differentiable by autograd too."),
    }
    if single {
        lines.line("In single precision: numbers are rounded when they come in, and so is every operation.");
    }
    let names: Vec<&String> = signature.params.iter().chain(&signature.inputs).collect();
    let exact: Vec<String> = integers.iter().filter_map(|&i| names.get(i)).map(|n| quoted(n)).collect();
    if !exact.is_empty() {
        lines.line("");
        lines.line(format!("Integers in the data, and here: {}.", exact.join(", ")));
        lines.line(
            "A number with a fraction, or of 2^47 or more, takes a path that was never recorded. Export with a real in",
        );
        lines.line("the data, 5.0 instead of 5, for a function of reals.");
    }
    lines.line("\"\"\"");
    lines.line("");
    match dialect {
        Dialect::NumPy => lines.line("import numpy"),
        Dialect::Jax => lines.line("import functools\n\nimport jax\nimport jax.numpy as jnp"),
        Dialect::Torch => lines.line("import torch"),
    }
    lines.line("");
    let list = |names: &[String]| names.iter().map(|n| format!("\"{}\", ", quoted(n))).collect::<String>();
    lines.line(format!("PARAMETERS = ({})", list(&signature.params)));
    lines.line(format!("INPUTS = ({})", list(&signature.inputs)));
    lines.line("");
}

fn tail(signature: &Signature, dialect: Dialect) -> String {
    let (n, outputs) = (signature.params.len(), signature.outputs);
    let one = outputs == 1;
    let values = if one { "found[0]".to_string() } else { format!("tuple(found[:{outputs}])") };
    let rows: Vec<String> =
        (0..outputs).map(|o| format!("tuple(found[{}:{}])", outputs + o * n, outputs + (o + 1) * n)).collect();
    let gradient = if one { rows[0].clone() } else { format!("({})", rows.join(", ")) };
    let (more, pass) = match dialect {
        Dialect::NumPy => (", xp=numpy", "xp"),
        Dialect::Jax => (", max_rounds=1024", "max_rounds"),
        Dialect::Torch => ("", "None"),
    };
    let decorator =
        if dialect == Dialect::Jax { "@functools.partial(jax.jit, static_argnames=(\"max_rounds\",))\n" } else { "" };
    format!(
        "

{decorator}def value(params, inputs=(){more}):
    \"\"\"The value, and whether the path is known.\"\"\"
    leaves, lanes = _leaves(params, inputs, {pass})
    found, known = _value_0({pass}, leaves, lanes)
    return {values}, known


{decorator}def value_and_grad(params, inputs=(){more}):
    \"\"\"The value, its derivatives by the parameters, and whether the path is known.\"\"\"
    leaves, lanes = _leaves(params, inputs, {pass})
    found, known = _grad_0({pass}, leaves, lanes)
    return {values}, {gradient}, known
"
    )
}

struct Writer<'a> {
    lines: &'a mut Lines,
    dialect: Dialect,
    used: &'a mut BTreeSet<&'static str>,
    temporary: usize,
    /// Every operation is rounded to single precision.
    single: bool,
}

impl Writer<'_> {
    fn fresh(&mut self) -> usize {
        self.temporary += 1;
        self.temporary
    }

    fn call(&self, name: &str, args: &str) -> String {
        format!("{}.{name}({args})", self.dialect.module())
    }

    fn real(&self, x: f64) -> String {
        match self.dialect {
            Dialect::NumPy if self.single => format!("xp.asarray({}, dtype=xp.float32)", python_real(x)),
            Dialect::NumPy => format!("xp.asarray({})", python_real(x)),
            _ => format!("_real({}, on)", python_real(x)),
        }
    }

    fn int(&self, x: i64) -> String {
        match self.dialect {
            Dialect::NumPy => format!("xp.asarray({x})"),
            _ => format!("_int({x}, on)"),
        }
    }

    fn full(&self, x: &str) -> String {
        let first = if self.dialect == Dialect::NumPy { "xp, " } else { "" };
        format!("_full({first}{x}, on)")
    }

    fn nan(&self) -> String {
        if self.dialect == Dialect::NumPy { self.full(&self.real(f64::NAN)) } else { "_nan(on)".into() }
    }

    fn and(&self, a: &str, b: &str) -> String {
        self.call("logical_and", &format!("{a}, {b}"))
    }

    fn not(&self, a: &str) -> String {
        self.call("logical_not", a)
    }

    /// An operation in single precision: arithmetic as it is, anything else in double precision and then rounded.
    fn rounded(&mut self, op: Op, args: &[&str]) -> String {
        use Op::{Abs, Add, Div, Linear, Mul, Neg, Same, Select, Stop, Sub};
        let is_plain = matches!(op, Same | Stop | Linear | Add | Sub | Mul | Div | Neg | Abs | Select);
        if is_plain || op.result() != Type::Real {
            return expression(op, args, self.dialect, self.used);
        }
        let first = if self.dialect == Dialect::NumPy { "xp, " } else { "" };
        let wide = |(arg, ty): (&&str, &Type)| match ty {
            Type::Real => format!("_double({first}{arg})"),
            _ => arg.to_string(),
        };
        let args: Vec<String> = args.iter().zip(op.operands()).map(wide).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        format!("_single({first}{})", expression(op, &args, self.dialect, self.used))
    }

    /// One path as a function: the outputs of all lanes, and which of the lanes in `on` are known.
    fn route(&mut self, prefix: &str, number: usize, route: &Route, signature: &Signature) {
        let first = if self.dialect == Dialect::NumPy { "xp" } else { "max_rounds" };
        self.lines.line("");
        self.lines.line(format!("def {prefix}_{number}({first}, leaves, on):"));
        self.lines.deeper();
        let count =
            if prefix == "_grad" { signature.outputs * (1 + signature.params.len()) } else { signature.outputs };
        let leaves: Vec<String> = (0..route.code.leaves.len()).map(|i| format!("leaves[{i}]")).collect();
        let names = self.code(&route.code, "v", &leaves, "on", Some("left"));
        let mask = names.1;
        match &route.failure {
            Some(message) => {
                self.lines.line(format!("# the program fails here: {}", quoted(message)));
                self.lines.line(format!("found = [{}] * {count}", self.nan()));
                self.lines.line(format!("known = {}", self.and(&mask, &self.not(&mask))));
            }
            None => {
                let nan = self.nan();
                let outputs = route.code.outputs.iter().map(|&o| names.0[o].clone());
                let cells: Vec<String> = outputs.map(|o| self.call("where", &format!("{mask}, {o}, {nan}"))).collect();
                self.lines.line(format!("found = [{}]", cells.join(", ")));
                self.lines.line(format!("known = {mask}"));
            }
        }
        for (guard, next) in &route.next {
            let lazily = self.dialect != Dialect::Jax;
            if lazily {
                self.lines.line(format!("if {}:", self.call("any", &format!("left[{guard}]"))));
                self.lines.deeper();
            }
            self.lines.line(format!("other, there = {prefix}_{next}({first}, leaves, left[{guard}])"));
            let pick = self.call("where", &format!("left[{guard}], b, a"));
            self.lines.line(format!("found = [{pick} for a, b in zip(found, other)]"));
            let either = self.call("logical_or", "known, there");
            self.lines.line(format!("known = {either}"));
            if lazily {
                self.lines.back();
            }
        }
        self.lines.line("return found, known");
        self.lines.back();
    }

    /// The values of a code; their names, and the mask of the lanes for which all guards hold. With `left`, a dictionary
    /// of that name gets the lanes that leave at each guard.
    fn code(
        &mut self,
        code: &Code,
        prefix: &str,
        leaves: &[String],
        on: &str,
        left: Option<&str>,
    ) -> (Vec<String>, String) {
        if let Some(left) = left {
            self.lines.line(format!("{left} = {{}}"));
        }
        let mut names: Vec<String> = Vec::with_capacity(code.nodes.len());
        let mut mask = on.to_string();
        let mut guards = code.guards.iter().enumerate().peekable();
        for (i, node) in code.nodes.iter().enumerate() {
            let name = format!("{prefix}{i}");
            let value = match node {
                Scalar::Leaf(n) => {
                    names.push(leaves[*n].clone());
                    self.guard(&mut guards, i, &names, &mut mask, left, prefix);
                    continue;
                }
                Scalar::Real(x) => self.real(*x),
                Scalar::Int(x) => self.int(*x),
                Scalar::Op(op, args) => {
                    let args: Vec<&str> = args.iter().map(|&a| names[a].as_str()).collect();
                    if self.single { self.rounded(*op, &args) } else { expression(*op, &args, self.dialect, self.used) }
                }
                Scalar::Loop(repeat) => {
                    let operands: Vec<String> = repeat.operands.iter().map(|&o| names[o].clone()).collect();
                    self.repeat(repeat, &name, &operands, &mask, prefix);
                    names.push(format!("{name}_ended"));
                    self.guard(&mut guards, i, &names, &mut mask, left, prefix);
                    continue;
                }
                Scalar::Out(of, index) => {
                    let states = match &code.nodes[*of] {
                        Scalar::Loop(repeat) => repeat.states,
                        _ => 0,
                    };
                    let what = if *index < states { format!("_s{index}") } else { "_rounds".into() };
                    names.push(format!("{prefix}{of}{what}"));
                    self.guard(&mut guards, i, &names, &mut mask, left, prefix);
                    continue;
                }
            };
            self.lines.line(format!("{name} = {value}"));
            names.push(name);
            self.guard(&mut guards, i, &names, &mut mask, left, prefix);
        }
        (names, mask)
    }

    /// The guards that can be decided after value `i`.
    fn guard<'c>(
        &mut self,
        guards: &mut std::iter::Peekable<impl Iterator<Item = (usize, &'c (usize, bool, usize))>>,
        i: usize,
        names: &[String],
        mask: &mut String,
        left: Option<&str>,
        prefix: &str,
    ) {
        while let Some((number, &(node, outcome, at))) = guards.peek().copied() {
            if at > i + 1 {
                return;
            }
            guards.next();
            let holds = if outcome { names[node].clone() } else { self.not(&names[node]) };
            if let Some(left) = left {
                let gone = if outcome { self.not(&names[node]) } else { names[node].clone() };
                self.lines.line(format!("{left}[{number}] = {}", self.and(mask, &gone)));
            }
            let new = format!("{prefix}m{}", self.fresh());
            self.lines.line(format!("{new} = {}", self.and(mask, &holds)));
            *mask = new;
        }
    }
}

/// A real as Python writes it.
pub(crate) fn python_real(x: f64) -> String {
    match x {
        _ if x.is_nan() => "float(\"nan\")".into(),
        _ if x.is_infinite() => format!("float(\"{}inf\")", if x < 0.0 { "-" } else { "" }),
        _ => crate::lines::real(x),
    }
}
