//! Operations as expressions of Python, and the functions that these need.

use super::Dialect;
use crate::lines::Lines;
use crate::spelling::{fill_names, own_functions};
use dmci_ops::Op;
use std::collections::BTreeSet;

/// An operation on names. Functions of our own that it calls are noted in `used`.
pub fn expression(op: Op, args: &[&str], dialect: Dialect, used: &mut BTreeSet<&'static str>) -> String {
    let spelling = op.spelling().python;
    // PyTorch would make single precision of it.
    let as_real = if dialect == Dialect::Torch { "#1.to(torch.float64)" } else { "#1 * 1.0" };
    let mut text = spelling.replace("REAL(#1)", as_real).replace("M.", &format!("{}.", dialect.module()));
    for name in own_functions(spelling, "_") {
        used.insert(name);
        if dialect == Dialect::NumPy {
            text = text.replace(&format!("_{name}("), &format!("_{name}(xp, "));
        }
    }
    fill_names(&text, args)
}

/// Functions that every module has: constants, lanes, leaves.
fn basics(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::NumPy => {
            "def _full(xp, x, on):
    return xp.broadcast_to(x, on.shape)


def _leaves(params, inputs, xp):
    if len(params) != len(PARAMETERS) or len(inputs) != len(INPUTS):
        raise ValueError(f\"expected {len(PARAMETERS)} parameters and {len(INPUTS)} inputs\")
    leaves = [xp.asarray(x) for x in (*params, *inputs)]
    lanes = xp.ones(numpy.broadcast_shapes(*(x.shape for x in leaves)), dtype=bool)
    for i, kind in enumerate(_KINDS):
        if kind == \"real\":
            leaves[i] = TOREAL
        elif kind == \"int\":
            number = leaves[i] * 1.0
            exact = xp.logical_and(xp.abs(number) < 2.0**47, xp.trunc(number) == number)
            leaves[i] = xp.where(exact, leaves[i], 0).astype(int)
            lanes = xp.logical_and(lanes, exact)
    return leaves, lanes"
        }
        Dialect::Jax => {
            "def _full(x, on):
    return jnp.broadcast_to(x, on.shape)


def _real(x, on):
    return jnp.asarray(x, dtype=REAL)


def _int(x, on):
    return jnp.asarray(x, dtype=jnp.result_type(int))


def _nan(on):
    return _full(_real(float(\"nan\"), on), on)


def _leaves(params, inputs, max_rounds):
    if len(params) != len(PARAMETERS) or len(inputs) != len(INPUTS):
        raise ValueError(f\"expected {len(PARAMETERS)} parameters and {len(INPUTS)} inputs\")
    leaves = [jnp.asarray(x) for x in (*params, *inputs)]
    lanes = jnp.ones(jnp.broadcast_shapes(*(x.shape for x in leaves)), dtype=bool)
    kinds = {\"real\": REAL, \"int\": jnp.result_type(int), \"bool\": jnp.bool_}
    for i, kind in enumerate(_KINDS):
        if kind == \"int\":
            most = min(2.0**47, 2.0 ** (jnp.iinfo(kinds[kind]).bits - 1))
            number = leaves[i] * 1.0
            exact = jnp.logical_and(jnp.abs(number) < most, jnp.trunc(number) == number)
            leaves[i] = jnp.where(exact, leaves[i], 0)
            lanes = jnp.logical_and(lanes, exact)
        leaves[i] = leaves[i].astype(kinds[kind])
    return leaves, lanes"
        }
        Dialect::Torch => {
            "def _full(x, on):
    return x.expand(on.shape)


def _real(x, on):
    return torch.tensor(x, dtype=REAL, device=on.device)


def _int(x, on):
    return torch.tensor(x, dtype=torch.int64, device=on.device)


def _nan(on):
    return _real(float(\"nan\"), on).expand(on.shape)


def _leaves(params, inputs, max_rounds):
    if len(params) != len(PARAMETERS) or len(inputs) != len(INPUTS):
        raise ValueError(f\"expected {len(PARAMETERS)} parameters and {len(INPUTS)} inputs\")
    kinds = {\"real\": REAL, \"int\": torch.int64, \"bool\": torch.bool}
    # Numbers of Python would become single precision.
    leaves = [x if torch.is_tensor(x) else torch.as_tensor(x, dtype=torch.float64) for x in (*params, *inputs)]
    shape = torch.broadcast_shapes(*(x.shape for x in leaves))
    device = leaves[0].device if leaves else None
    lanes = torch.ones(shape, dtype=torch.bool, device=device)
    for i, kind in enumerate(_KINDS):
        if kind == \"int\":
            number = leaves[i].to(torch.float64)
            exact = torch.logical_and(torch.abs(number) < 2.0**47, torch.trunc(number) == number)
            leaves[i] = torch.where(exact, leaves[i], torch.zeros_like(leaves[i]))
            lanes = torch.logical_and(lanes, exact)
        leaves[i] = leaves[i].to(kinds[kind])
    return leaves, lanes"
        }
    }
}

/// What the basics are in double or in single precision: the type of reals, how leaves become real, and the ways
/// between both precisions.
fn precision(dialect: Dialect, single: bool) -> (&'static str, &'static str, &'static str) {
    match (dialect, single) {
        (Dialect::NumPy, false) => ("", "leaves[i] * 1.0", ""),
        (Dialect::Jax, false) => ("jnp.result_type(float)", "", ""),
        (Dialect::Torch, false) => ("torch.float64", "", ""),
        (Dialect::NumPy, true) => (
            "",
            "leaves[i].astype(xp.float32)",
            "def _single(xp, x):
    return xp.asarray(x, dtype=xp.float32)


def _double(xp, x):
    return xp.asarray(x, dtype=xp.float64)",
        ),
        // JAX has double precision only if it was switched on.
        (Dialect::Jax, true) => (
            "jnp.float32",
            "",
            "def _single(x):
    return jnp.asarray(x, dtype=jnp.float32)


def _double(x):
    return jnp.asarray(x, dtype=jnp.result_type(float))",
        ),
        (Dialect::Torch, true) => (
            "torch.float32",
            "",
            "def _single(x):
    return x.to(torch.float32)


def _double(x):
    return x.to(torch.float64)",
        ),
    }
}

/// Functions of our own: name, arguments, and what they return, with `M.` for the module. `S.` is the module of special
/// functions, and words with a leading underscore are other functions of ours.
pub const FUNCTIONS: &[(&str, &str, &str)] = &[
    ("ratio", "a, b", "M.where(b == 0, 0.0, a / M.where(b == 0, 1.0, b))"),
    ("cbrt", "a", "CBRT"),
    ("pow", "a, b", "POW(a, b)"),
    ("pow_base", "a, b", "M.where(b == 0, 0.0, b * POW(a, b - 1.0))"),
    (
        "pow_exponent",
        "a, b",
        "POW(a, b) * M.where(M.logical_and(a == 0, b > 0), 0.0, M.log(M.where(M.logical_and(a == 0, b > 0), 1.0, a)))",
    ),
    ("erf", "a", "S.erf(a)"),
    ("erfc", "a", "S.erfc(a)"),
    (
        "gamma",
        "a",
        "M.where(a == 0, 1.0 / a, M.where(M.logical_and(a < 0, M.floor(a) == a), float(\"nan\"), M.where(M.logical_or(a > \
         0, M.floor(a) % 2 == 0), 1.0, -1.0) * M.exp(S.gammaln(a))))",
    ),
    ("lgamma", "a", "S.gammaln(M.where(a == -float(\"inf\"), float(\"inf\"), a))"),
    ("digamma", "a", "M.where(a == 0, -1.0 / a, S.digamma(a))"),
    // The libraries do not agree below 0: a reflection, for orders up to 2, as dmci has it.
    (
        "polygamma",
        "a, n",
        "M.where(a > 0, 1.0, M.where(n == 1, -1.0, M.where(n == 2, 1.0, float(\"nan\")))) * POLYGAMMA + M.where(a > 0, \
         0.0, M.where(n == 1, (PI / M.sin(PI * (a - M.round(a)))) ** 2, -2.0 * (PI / M.sin(PI * (a - M.round(a)))) ** 3 \
         * M.cos(PI * (a - M.round(a)))))",
    ),
    // Exponentials of what is not above 0, chosen by where: abs has no slope at 0 that autograd could use.
    ("sigmoid", "a", "M.where(a > 0, 1.0, M.exp(M.where(a > 0, -a, a))) / (1.0 + M.exp(M.where(a > 0, -a, a)))"),
    ("softplus", "a", "M.where(a > 0, a, 0.0) + M.log1p(M.exp(M.where(a > 0, -a, a)))"),
    ("relu", "a", "M.where(a <= 0, 0.0, a)"),
    ("share", "a, b", "M.where(a < b, 1.0, M.where(a > b, 0.0, M.where(a == b, 0.5, float(\"nan\"))))"),
    ("gate", "a, b", "M.where(b == 0, 0.0, a * b)"),
    ("counts", "a, b", "M.where(M.logical_or(b != 0, M.isfinite(a)), 1.0, 0.0)"),
    ("counted", "a, b", "M.where(M.logical_or(b != 0, M.isfinite(a)), a, 0.0)"),
    ("quotient", "a, b", "M.round((a - M.fmod(a, b)) / b) + 0.0"),
    ("floor_quotient", "a, b", "M.floor(a / b) + 0.0"),
    ("remainder", "a, b", "M.fmod(a, b) + 0.0"),
    ("modulo", "a, b", "M.remainder(a, b) + 0.0"),
    ("eqv", "a, b", "M.logical_or(M.logical_and(a == b, M.signbit(a) == M.signbit(b)), M.logical_and(a != a, b != b))"),
    ("is_integer", "a", "M.logical_and(M.isfinite(a), M.trunc(a) == a)"),
    ("is_int", "a", "M.logical_and(M.trunc(a) == a, M.abs(a) < 140737488355328.0)"),
    ("to_int", "a", "TOINT"),
    (
        "int_quotient",
        "a, b",
        "M.where(b == 0, 0, M.where((a < 0) != (b < 0), -(M.abs(a) // M.where(b == 0, 1, M.abs(b))), M.abs(a) // \
         M.where(b == 0, 1, M.abs(b))))",
    ),
    ("int_remainder", "a, b", "M.where(b == 0, 0, M.fmod(a, M.where(b == 0, 1, b)))"),
    ("int_floor_quotient", "a, b", "M.where(b == 0, 0, M.floor_divide(a, M.where(b == 0, 1, b)))"),
    ("int_modulo", "a, b", "M.where(b == 0, 0, M.remainder(a, M.where(b == 0, 1, b)))"),
    ("int_divides", "a, b", "M.logical_and(b != 0, M.remainder(a, M.where(b == 0, 1, b)) == 0)"),
];

/// Writes the functions that a module needs.
pub fn helpers(lines: &mut Lines, dialect: Dialect, used: &BTreeSet<&'static str>, single: bool) {
    lines.line("");
    let (real, to_real, ways) = precision(dialect, single);
    lines.line(basics(dialect).replace("TOREAL", to_real).replace("REAL", real));
    if single {
        lines.line(format!("\n\n{ways}"));
    }
    let special = match dialect {
        Dialect::NumPy => "_special(xp)",
        Dialect::Jax => "jax.scipy.special",
        Dialect::Torch => "torch.special",
    };
    let wants = |function: &&(&str, &str, &str)| used.contains(function.0);
    if dialect == Dialect::NumPy
        && FUNCTIONS.iter().filter(wants).any(|f| f.2.contains("S.") || f.2.contains("POLYGAMMA"))
    {
        lines.line(
            "

def _special(xp):
    if xp.__name__ == \"cupy\":
        import cupyx.scipy.special as special
    else:
        import scipy.special as special
    return special",
        );
    }
    for (name, args, body) in FUNCTIONS.iter().filter(wants) {
        let (pow, polygamma, to_int) = match dialect {
            Dialect::NumPy => ("xp.power", "_special(xp).polygamma(n.astype(int), X)", "xp.trunc(a).astype(int)"),
            Dialect::Jax => (
                "jnp.power",
                "jax.scipy.special.polygamma(jnp.asarray(n, int), X)",
                "jnp.trunc(a).astype(jnp.result_type(int))",
            ),
            Dialect::Torch => {
                ("torch.pow", "torch.special.polygamma(int(n.reshape(-1)[0]), X)", "torch.trunc(a).to(torch.int64)")
            }
        };
        // PyTorch has no cube root.
        let cbrt = if dialect == Dialect::Torch { "M.sign(a) * M.abs(a) ** (1.0 / 3.0)" } else { "M.cbrt(a)" };
        let body =
            body.replace("PI", "3.141592653589793").replace("POW", pow).replace("CBRT", cbrt).replace("TOINT", to_int);
        let body = body.replace("POLYGAMMA", &polygamma.replace('X', "M.where(a > 0, a, 1.0 - a)"));
        let body = body.replace("S.", &format!("{special}.")).replace("M.", &format!("{}.", dialect.module()));
        let first = if dialect == Dialect::NumPy { "xp, " } else { "" };
        lines.line(format!("\n\ndef _{name}({first}{args}):\n    return {body}"));
    }
    lines.line("");
}
