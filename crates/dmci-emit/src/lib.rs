//! Models as source of other languages.
//!
//! An export holds every path that a model knows, with the decisions that lead to it, both arms of joins, and loops as
//! loops. Numbers that take a path nobody knows give NaN and a flag, never a wrong number. Parameters and inputs are
//! arguments.
//!
//! **Invariant:** nothing here runs programs; a path is all that is known of one.

mod c;
mod latex;
mod lines;
mod python;
mod scalar;
mod spelling;
mod sympy;

use dmci::ErrorCode;
use dmci::{Diagnostic, KnownPath, Model, Report, Want};
use dmci_ops::Type;
use scalar::Code;

/// A language to write in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C99, one lane a call, with the gradient.
    C,
    /// Python with NumPy, or CuPy, over arrays of lanes, with the gradient.
    NumPy,
    /// Python with JAX, for `jit`, with the gradient.
    Jax,
    /// Python with PyTorch: gradients by `autograd`, or by a function.
    Torch,
    /// An expression of SymPy, with `Piecewise`.
    SymPy,
    /// Formulas.
    Latex,
}

impl Language {
    /// All languages with their names.
    pub const ALL: [(&'static str, Language); 6] = [
        ("c", Language::C),
        ("numpy", Language::NumPy),
        ("jax", Language::Jax),
        ("torch", Language::Torch),
        ("sympy", Language::SymPy),
        ("latex", Language::Latex),
    ];

    /// The language with this name.
    pub fn named(name: &str) -> Result<Language, Report> {
        let found = Language::ALL.iter().find(|(known, _)| *known == name).map(|l| l.1);
        found.ok_or_else(|| {
            let names: Vec<&str> = Language::ALL.iter().map(|l| l.0).collect();
            let error = Diagnostic::error(ErrorCode::E0910, format!("there is no export to {name}"));
            Report::from(error.help(format!("there are {}", names.join(", "))))
        })
    }

    /// Whether it has loops; models for the others must be recorded without them.
    pub fn has_loops(self) -> bool {
        !matches!(self, Language::SymPy)
    }

    /// Whether it computes with numbers of a precision; formulas do not.
    pub fn has_precision(self) -> bool {
        !matches!(self, Language::SymPy | Language::Latex)
    }
}

/// The names of the numbers that a model takes, and how many it gives.
#[derive(Clone, Debug, Default)]
pub struct Signature {
    /// What the functions are called, in languages where that matters.
    pub name: String,
    /// The numbers of the parameters.
    pub params: Vec<String>,
    /// The numbers of the inputs.
    pub inputs: Vec<String>,
    /// Numbers that the program gives.
    pub outputs: usize,
}

/// One path, in scalars.
struct Route {
    code: Code,
    /// Where numbers go that leave it at a guard.
    next: Vec<(u32, usize)>,
    /// The error that it ends with.
    failure: Option<String>,
}

/// All paths of one kind of result.
struct Routes {
    list: Vec<Route>,
    /// Every operation is rounded to single precision.
    single: bool,
}

impl Routes {
    fn of(paths: Vec<KnownPath>, signature: &Signature) -> Result<Routes, Report> {
        let mut routes = Vec::with_capacity(paths.len());
        let single = paths.iter().any(|path| path.tape.single);
        let leaves = signature.params.len() + signature.inputs.len();
        for path in paths {
            let code = Code::of(&path.tape)?;
            if code.leaves.len() > leaves {
                let message = format!("the program takes {} numbers, but {leaves} have names", code.leaves.len());
                return Err(Report::from(Diagnostic::error(ErrorCode::E0720, message)));
            }
            routes.push(Route { code, next: path.next, failure: path.failure });
        }
        Ok(Routes { list: routes, single })
    }

    /// The leaves that are exact integers.
    fn integers(&self) -> Vec<usize> {
        let leaves = self.list.first().map_or(&[] as &[Type], |route| &route.code.leaves);
        (0..leaves.len()).filter(|&i| leaves[i] == Type::Int).collect()
    }
}

/// The source of a model in a language: all paths that it knows by now. Evaluate it over rows of all kinds before.
pub fn emit(model: &Model, signature: &Signature, language: Language) -> Result<String, Report> {
    let values = Routes::of(model.known_paths(Want::Values)?, signature)?;
    if values.list.is_empty() {
        let error = Diagnostic::error(ErrorCode::E0720, "no path through the program is known yet");
        return Err(Report::from(error.help("evaluate the model first, over rows of all kinds")));
    }
    if !language.has_loops() && values.list.iter().any(|r| r.code.has_loops()) {
        let error = Diagnostic::error(ErrorCode::E0720, "formulas have no loops, and a path of the program has one");
        return Err(Report::from(error.help("record the model without loops: ‹no_loops›")));
    }
    if values.single && !language.has_precision() {
        let error =
            Diagnostic::error(ErrorCode::E0720, "formulas are not rounded, and the model computes in single precision");
        return Err(Report::from(error.help("export a model in double precision: remove ‹f32›")));
    }
    if matches!(language, Language::Latex) {
        return latex::source(&values, signature);
    }
    let gradients = Routes::of(model.known_paths(Want::Gradients)?, signature)?;
    match language {
        Language::SymPy => Ok(sympy::source(&values, &gradients, signature)),
        Language::C => c::source(&values, &gradients, signature),
        Language::NumPy => Ok(python::source(&values, &gradients, signature, python::Dialect::NumPy)),
        Language::Torch => Ok(python::source(&values, &gradients, signature, python::Dialect::Torch)),
        _ => Ok(python::source(&values, &gradients, signature, python::Dialect::Jax)),
    }
}
