//! The functions that formulas may call, one row each.

/// A function.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Its names in formulas; the first is the one that is printed.
    pub names: &'static [&'static str],
    /// Its name in programs.
    pub scheme: &'static str,
    /// How many arguments it takes at least.
    pub least: usize,
    /// And at most.
    pub most: usize,
}

const fn row(names: &'static [&'static str], scheme: &'static str, least: usize, most: usize) -> Function {
    Function { names, scheme, least, most }
}

/// As many arguments as one likes.
const MANY: usize = usize::MAX;

/// All of them.
pub const FUNCTIONS: &[Function] = &[
    row(&["exp"], "exp", 1, 1),
    row(&["expm1"], "expm1", 1, 1),
    row(&["log", "ln"], "log", 1, 2),
    row(&["log10"], "log10", 1, 1),
    row(&["log2"], "log2", 1, 1),
    row(&["log1p"], "log1p", 1, 1),
    row(&["sqrt"], "sqrt", 1, 1),
    row(&["cbrt"], "cbrt", 1, 1),
    row(&["square"], "square", 1, 1),
    row(&["abs", "fabs"], "abs", 1, 1),
    row(&["sign", "sgn"], "sign", 1, 1),
    row(&["sin"], "sin", 1, 1),
    row(&["cos"], "cos", 1, 1),
    row(&["tan"], "tan", 1, 1),
    row(&["asin", "arcsin"], "asin", 1, 1),
    row(&["acos", "arccos"], "acos", 1, 1),
    row(&["atan", "arctan"], "atan", 1, 2),
    row(&["atan2", "arctan2"], "atan2", 2, 2),
    row(&["sinh"], "sinh", 1, 1),
    row(&["cosh"], "cosh", 1, 1),
    row(&["tanh"], "tanh", 1, 1),
    row(&["asinh", "arcsinh"], "asinh", 1, 1),
    row(&["acosh", "arccosh"], "acosh", 1, 1),
    row(&["atanh", "arctanh"], "atanh", 1, 1),
    row(&["sigmoid", "logistic", "expit"], "sigmoid", 1, 1),
    row(&["softplus"], "softplus", 1, 1),
    row(&["relu"], "relu", 1, 1),
    row(&["erf"], "erf", 1, 1),
    row(&["erfc"], "erfc", 1, 1),
    row(&["gamma"], "gamma", 1, 1),
    row(&["lgamma", "gammaln"], "lgamma", 1, 1),
    row(&["digamma"], "digamma", 1, 1),
    row(&["hypot"], "hypot", 2, 2),
    row(&["floor"], "floor", 1, 1),
    row(&["ceil", "ceiling"], "ceiling", 1, 1),
    row(&["round"], "round", 1, 1),
    row(&["trunc", "truncate"], "truncate", 1, 1),
    row(&["mod"], "modulo", 2, 2),
    row(&["min"], "min", 1, MANY),
    row(&["max"], "max", 1, MANY),
    row(&["pow"], "expt", 2, 2),
];

/// The function of a name in formulas. Prefixes of Python's libraries are passed over.
pub fn function(name: &str) -> Option<&'static Function> {
    let name = ["np.", "numpy.", "math.", "jnp.", "torch."].iter().find_map(|p| name.strip_prefix(p)).unwrap_or(name);
    FUNCTIONS.iter().find(|f| f.names.contains(&name))
}

/// The function of a name in programs.
pub(crate) fn of_scheme(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|f| f.scheme == name)
}

/// The function whose name is nearest to one that is none.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let names = FUNCTIONS.iter().flat_map(|f| f.names.iter().copied());
    let near = names.map(|known| (distance(name, known), known)).min()?;
    (near.0 <= 2 && near.0 < name.len().max(2)).then_some(near.1)
}

/// The least number of insertions, deletions, substitutions and swaps of neighbours that make one word of the other.
pub fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = match (i, j) {
                (0, j) => j,
                (i, 0) => i,
                _ => {
                    let differs = usize::from(a[i - 1] != b[j - 1]);
                    let mut least = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + differs);
                    if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                        least = least.min(rows[i - 2][j - 2] + 1);
                    }
                    least
                }
            };
        }
    }
    rows[a.len()][b.len()]
}
