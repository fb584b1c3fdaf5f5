//! C99: one lane a call, with the gradient.

pub(crate) mod operations;

use crate::lines::{Lines, quoted, real};
use crate::scalar::{Code, Kind, Repeat, Scalar};
use crate::{Route, Routes, Signature};
use dmci::ErrorCode;
use dmci::{Diagnostic, Report};
use dmci_ops::Type;
use operations::{HELPERS, expression};
use std::collections::BTreeSet;

/// The source of `NAME` and `NAME_grad`.
pub fn source(values: &Routes, gradients: &Routes, signature: &Signature) -> Result<String, Report> {
    let name = identifier(&signature.name);
    if RESERVED.split_whitespace().any(|word| word == name) {
        let error =
            Diagnostic::error(ErrorCode::E0910, format!("a function cannot be called {name}: C has that name itself"));
        return Err(Report::from(error.help("give it another name with ‹name›")));
    }
    let mut used = BTreeSet::new();
    let mut body = Lines::default();
    for (prefix, routes) in [("value", values), ("grad", gradients)] {
        for i in 0..routes.list.len() {
            body.line(format!("static int {prefix}_{i}(const double *in, double *out);"));
        }
        for (i, route) in routes.list.iter().enumerate() {
            let single = routes.single;
            let mut writer = Writer { lines: &mut body, used: &mut used, histories: Vec::new(), temporary: 0, single };
            writer.route(prefix, i, route);
        }
    }
    let mut lines = Lines::default();
    let integers = values.integers();
    head(&mut lines, signature, &name, &integers, values.single);
    for (helper, text) in HELPERS {
        if used.contains(helper) || *helper == "history" && body_uses_history(values, gradients) {
            lines.line(text);
            lines.line("");
        }
    }
    let (params, inputs, outputs) = (signature.params.len(), signature.inputs.len(), signature.outputs);
    let all = outputs * (1 + params);
    let (check, begins) = exact(&integers);
    let text = lines.text() + &body.text() + &check;
    let gather = format!(
        "    double in[{size}];
    int i, status;
    for (i = 0; i < {params}; i++) in[i] = params[i];
    for (i = 0; i < {inputs}; i++) in[{params} + i] = inputs[i];",
        size = (params + inputs).max(1)
    );
    Ok(format!(
        "{text}
int {name}(const double *params, const double *inputs, double *value)
{{
{gather}
    status = {begins}value_0(in, value);
    if (status)
        for (i = 0; i < {outputs}; i++) value[i] = NAN;
    return status;
}}

int {name}_grad(const double *params, const double *inputs, double *value, double *gradient)
{{
    double out[{all}];
{gather}
    status = {begins}grad_0(in, out);
    for (i = 0; i < {outputs}; i++) value[i] = status ? NAN : out[i];
    for (i = 0; i < {slopes}; i++) gradient[i] = status ? NAN : out[{outputs} + i];
    return status;
}}
",
        slopes = outputs * params,
        all = all.max(1),
    ))
}

/// A function that says whether all leaves that are integers have one, and how a call asks it; nothing if there are
/// none. Other numbers cannot be what they were when the paths were recorded.
fn exact(integers: &[usize]) -> (String, &'static str) {
    if integers.is_empty() {
        return (String::new(), "");
    }
    let limit = dmci_ops::INT_LIMIT;
    let tests: Vec<String> =
        integers.iter().map(|i| format!("fabs(in[{i}]) < {limit}.0 && trunc(in[{i}]) == in[{i}]")).collect();
    let text = format!("\nstatic int exact(const double *in)\n{{\n    return {};\n}}\n", tests.join("\n        && "));
    (text, "!exact(in) ? 1 : ")
}

fn head(lines: &mut Lines, signature: &Signature, name: &str, integers: &[usize], single: bool) {
    let params = signature.params.len();
    let list = |names: &[String], first: usize| {
        let kind = |i: usize| if integers.contains(&(first + i)) { " (integer)" } else { "" };
        let part = |(i, n): (usize, &String)| format!("[{i}] {}{}", quoted(n), kind(i));
        let parts: Vec<String> = names.iter().enumerate().map(part).collect();
        if parts.is_empty() { "none".to_string() } else { parts.join(", ") }
    };
    let (n, outputs) = (signature.params.len(), signature.outputs);
    lines.line(format!("/* {}: values and derivatives, exported by dmci. C99.", quoted(&signature.name)));
    lines.line(" *");
    lines.line(format!(" * int {name}(params, inputs, value), int {name}_grad(params, inputs, value, gradient)"));
    lines.line(format!(" * params: {}", list(&signature.params, 0)));
    lines.line(format!(" * inputs: {}", list(&signature.inputs, params)));
    lines.line(format!(" * value: {outputs} number(s); gradient: {outputs} x {n}, by the params"));
    lines.line(" *");
    lines
        .line(" * The result is 0, or 1 if the numbers take a path that was never recorded, 2 if the program fails on");
    lines.line(
        " * this path, 3 if there is no memory: then value and gradient are NaN. Link with -lm; do not compile with",
    );
    lines.line(" * -ffast-math.");
    if single {
        lines.line(" *");
        lines
            .line(" * In single precision: numbers are rounded to float when they come in, and so is every operation.");
    }
    if !integers.is_empty() {
        lines.line(" *");
        lines.line(" * An (integer) is what the data had there: a number with a fraction, or of 2^47 or more, takes a path that");
        lines.line(" * was never recorded. Export with a real in the data, 5.0 instead of 5, for a function of reals.");
    }
    lines.line(" */");
    lines.line("#include <math.h>");
    lines.line("#include <stdint.h>");
    lines.line("#include <stdlib.h>");
    lines.line("");
}

fn body_uses_history(values: &Routes, gradients: &Routes) -> bool {
    fn followed(code: &Code) -> bool {
        code.nodes.iter().any(|n| matches!(n, Scalar::Loop(l) if l.followed || followed(&l.body)))
    }
    values.list.iter().chain(&gradients.list).any(|route| followed(&route.code))
}

/// Words of C99, and names of the headers that a source includes, as far as somebody may want them.
const RESERVED: &str = "
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    _Bool _Complex _Imaginary abort abs acos acosh asin asinh atan atan2 atanh atexit atof atoi bsearch calloc
    cbrt ceil copysign cos cosh div erf erfc exact exit exp exp2 expm1 fabs fdim floor fma fmax fmin fmod free
    frexp getenv hypot ilogb isfinite isinf isnan isnormal labs ldexp ldiv lgamma llrint log log10 log1p log2
    logb lrint lround main malloc modf nan nearbyint nextafter pow qsort rand realloc remainder remember remquo
    rint round scalbn signbit sin sinh sqrt srand strtod system tan tanh tgamma trunc";

/// A name as an identifier of C.
fn identifier(name: &str) -> String {
    let stem = name.rsplit('/').next().unwrap_or(name);
    let stem = stem.strip_suffix(".scm").unwrap_or(stem);
    let clean = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let text: String = stem.chars().map(clean).collect();
    let text = text.trim_matches('_').to_string();
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        format!("model_{text}").trim_end_matches('_').into()
    } else {
        text
    }
}

struct Writer<'a> {
    lines: &'a mut Lines,
    used: &'a mut BTreeSet<&'static str>,
    /// The loops whose rounds are remembered.
    histories: Vec<String>,
    temporary: usize,
    /// Reals are of single precision. What functions give in double precision is rounded where it gets its name.
    single: bool,
}

fn histories(code: &Code, prefix: &str, found: &mut Vec<String>) {
    for (i, node) in code.nodes.iter().enumerate() {
        if let Scalar::Loop(l) = node {
            if l.followed {
                found.push(format!("{prefix}{i}_past"));
            }
            histories(&l.body, &format!("{prefix}{i}_"), found);
        }
    }
}

impl Writer<'_> {
    fn c_type(&self, ty: Type) -> &'static str {
        match ty {
            Type::Real if self.single => "float",
            Type::Real => "double",
            Type::Int => "int64_t",
            Type::Bool => "int",
        }
    }

    fn route(&mut self, prefix: &str, number: usize, route: &Route) {
        self.lines.line("");
        self.lines.line(format!("static int {prefix}_{number}(const double *in, double *out)"));
        self.lines.line("{");
        self.lines.deeper();
        self.lines.line("int status = 0;");
        histories(&route.code, "v", &mut self.histories);
        for past in &self.histories {
            self.lines.line(format!("struct history {past} = {{0, 0, 0, 0}};"));
        }
        let leaf = |(i, ty): (usize, &Type)| match ty {
            Type::Real if !self.single => format!("in[{i}]"),
            ty => format!("(({})in[{i}])", self.c_type(*ty)),
        };
        let leaves: Vec<String> = route.code.leaves.iter().enumerate().map(leaf).collect();
        let fails = |guard: usize| match route.next.iter().find(|(g, _)| *g as usize == guard) {
            Some((_, next)) => format!("{{ status = {prefix}_{next}(in, out); goto done; }}"),
            None => "{ status = 1; goto done; }".into(),
        };
        let names = self.code(&route.code, "v", &leaves, &fails);
        match &route.failure {
            Some(message) => self.lines.line(format!("status = 2; /* {} */", quoted(message))),
            None => {
                for (i, &o) in route.code.outputs.iter().enumerate() {
                    self.lines.line(format!("out[{i}] = {};", names[o]));
                }
            }
        }
        self.lines.line("goto done;");
        self.lines.back();
        self.lines.line("done:");
        self.lines.deeper();
        for past in std::mem::take(&mut self.histories) {
            self.lines.line(format!("free({past}.data);"));
        }
        self.lines.line("return status;");
        self.lines.back();
        self.lines.line("}");
    }

    /// The values of a code; `fails` says what happens where a guard does not hold.
    fn code(&mut self, code: &Code, prefix: &str, leaves: &[String], fails: &dyn Fn(usize) -> String) -> Vec<String> {
        let live = code.live();
        let mut names: Vec<String> = Vec::with_capacity(code.nodes.len());
        let mut guards = code.guards.iter().enumerate().peekable();
        for (i, node) in code.nodes.iter().enumerate() {
            let name = format!("{prefix}{i}");
            match node {
                Scalar::Leaf(n) => names.push(leaves[*n].clone()),
                Scalar::Real(x) => names.push(c_real(*x)),
                Scalar::Int(x) => names.push(format!("INT64_C({x})")),
                Scalar::Op(op, args) => {
                    if live[i] {
                        let args: Vec<&str> = args.iter().map(|&a| names[a].as_str()).collect();
                        let value = expression(*op, &args, self.used);
                        self.lines.line(format!("const {} {name} = {value};", self.c_type(code.types[i])));
                    }
                    names.push(name);
                }
                Scalar::Loop(repeat) => {
                    let operands: Vec<String> = repeat.operands.iter().map(|&o| names[o].clone()).collect();
                    self.repeat(code, repeat, i, &operands, prefix);
                    names.push(format!("{name}_ended"));
                }
                Scalar::Out(of, index) => {
                    let states = match &code.nodes[*of] {
                        Scalar::Loop(repeat) => repeat.states,
                        _ => 0,
                    };
                    let what = if *index < states { format!("_s{index}") } else { "_rounds".into() };
                    names.push(format!("{prefix}{of}{what}"));
                }
            }
            while let Some((number, &(node, outcome, at))) = guards.peek().copied() {
                if at > i + 1 {
                    break;
                }
                guards.next();
                let wrong = if outcome { format!("!{}", names[node]) } else { names[node].clone() };
                self.lines.line(format!("if ({wrong}) {}", fails(number)));
            }
        }
        names
    }

    /// Declares what a loop has: its state, its rounds, and whether it ended, if that is wanted.
    fn begin(&mut self, repeat: &Repeat, name: &str, operands: &[String], rounds: bool, ended: bool) {
        for (s, operand) in operands.iter().enumerate().take(repeat.states) {
            let ty = self.c_type(repeat.body.leaves[s]);
            self.lines.line(format!("{ty} {name}_s{s} = {operand};"));
        }
        if rounds {
            self.lines.line(format!("uint64_t {name}_rounds = 0;"));
        }
        if ended {
            self.lines.line(format!("int {name}_ended = 1;"));
        }
    }

    fn advance(&mut self, repeat: &Repeat, name: &str, names: &[String]) {
        for (s, &o) in repeat.body.outputs.iter().enumerate() {
            let ty = self.c_type(repeat.body.leaves[s]);
            self.lines.line(format!("const {ty} {name}_n{s} = {};", names[o]));
        }
        for s in 0..repeat.body.outputs.len() {
            self.lines.line(format!("{name}_s{s} = {name}_n{s};"));
        }
    }

    fn repeat(&mut self, code: &Code, repeat: &Repeat, node: usize, operands: &[String], prefix: &str) {
        let states = repeat.states;
        let name = &format!("{prefix}{node}");
        let ended = code.uses()[node] > 0;
        let is_read =
            |index: usize| code.nodes.iter().any(|n| matches!(n, Scalar::Out(of, i) if (*of, *i) == (node, index)));
        let forward = matches!(repeat.kind, Kind::Forward(_));
        self.begin(repeat, name, operands, forward || is_read(states), ended);
        let own = (0..states).map(|s| format!("{name}_s{s}"));
        let shared = operands[states..].iter().cloned();
        self.temporary += 1;
        match repeat.kind {
            Kind::Forward(limit) => {
                if repeat.followed {
                    self.lines.line(format!("{name}_past.count = 0;"));
                }
                self.lines.line("for (;;) {");
                self.lines.deeper();
                let leaves: Vec<String> = own.chain(shared).collect();
                let names = self.code(&repeat.body, &format!("{name}_"), &leaves, &|_| "break;".into());
                let end = if ended { format!("{{ {name}_ended = 0; break; }}") } else { "break;".into() };
                self.lines.line(format!("if ({name}_rounds >= UINT64_C({limit})) {end}"));
                if repeat.followed {
                    let room = format!("remember(&{name}_past, {states})");
                    self.lines.line(format!("if (!{room}) {{ status = 3; goto done; }}"));
                    for s in 0..states {
                        let slot = format!("{name}_past.data[{name}_past.count * {states} + {s}]");
                        self.lines.line(format!("{slot} = (double){name}_s{s};"));
                    }
                    self.lines.line(format!("{name}_past.count++;"));
                }
                self.advance(repeat, name, &names);
                self.lines.line(format!("{name}_rounds++;"));
            }
            Kind::Backward(of) => {
                let past = format!("{prefix}{of}_past");
                let count = repeat.body.leaves.len() - operands.len();
                self.lines.line(format!("for ({past}.at = {past}.count; {past}.at-- > 0;) {{"));
                self.lines.deeper();
                let followed = match &code.nodes[of] {
                    Scalar::Loop(l) => l.body.leaves[..count].to_vec(),
                    _ => vec![Type::Real; count],
                };
                let back = followed.iter().enumerate().map(|(p, ty)| {
                    let slot = format!("{past}.data[{past}.at * {count} + {p}]");
                    if *ty == Type::Real { slot } else { format!("(({}){slot})", self.c_type(*ty)) }
                });
                let leaves: Vec<String> = own.chain(back).chain(shared).collect();
                let names = self.code(&repeat.body, &format!("{name}_"), &leaves, &|_| "continue;".into());
                self.advance(repeat, name, &names);
            }
        }
        self.lines.back();
        self.lines.line("}");
        // A state that nothing reads is still carried along.
        let body = repeat.body.live();
        let in_body =
            |s: usize| (0..body.len()).any(|i| body[i] && matches!(repeat.body.nodes[i], Scalar::Leaf(l) if l == s));
        for s in (0..states).filter(|&s| !in_body(s) && !is_read(s) && !repeat.followed) {
            self.lines.line(format!("(void){name}_s{s};"));
        }
    }
}

fn c_real(x: f64) -> String {
    match x {
        _ if x.is_nan() => "NAN".into(),
        _ if x.is_infinite() => if x < 0.0 { "(-INFINITY)" } else { "INFINITY" }.into(),
        _ if x.is_sign_negative() => format!("({})", real(x)),
        _ => real(x),
    }
}
