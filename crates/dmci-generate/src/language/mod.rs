//! Programs from seeds: well-formed, mostly well-typed, mostly terminating, using the whole language.
//!
//! Types are tracked loosely, so that most programs run to a value; loops count down, so that most
//! programs end. A fault (an error on purpose) is planted with a small probability.

mod atoms;
mod control;
mod definitions;
mod effects;
mod faults;
mod lists;
mod macros;
mod numbers;

use crate::Type;
use crate::random::Random;
use crate::sexp::{Sexp, form, text_of};

/// What programs to make.
#[derive(Clone, Debug)]
pub struct Options {
    /// Number of top-level definitions, about.
    pub definitions: usize,
    /// Nesting of expressions.
    pub depth: usize,
    /// One expression in this many is wrong on purpose; 0 for none.
    pub fault_every: usize,
    /// Names of real numbers that the program may use and that somebody else must bind.
    pub inputs: Vec<String>,
    /// Only what R7RS-small and SRFI 1 promise to give the same result everywhere.
    pub portable: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { definitions: 5, depth: 4, fault_every: 150, inputs: Vec::new(), portable: false }
    }
}

/// The program of a seed, as its forms.
pub fn program(seed: u64, options: &Options) -> Vec<Sexp> {
    Generator::new(seed, options).program()
}

/// The text of the program of a seed.
pub fn program_text(seed: u64, options: &Options) -> String {
    text_of(&program(seed, options))
}

const DATA: &[Type] = &[
    Type::Int,
    Type::Int,
    Type::Int,
    Type::Real,
    Type::Real,
    Type::Bool,
    Type::Char,
    Type::Str,
    Type::Sym,
    Type::Ints,
    Type::Ints,
    Type::Reals,
    Type::Vector,
];

#[derive(Clone, Debug)]
struct Variable {
    name: String,
    ty: Type,
    /// May be assigned without breaking the counting of a loop.
    assignable: bool,
}

struct Generator<'a> {
    random: Random,
    options: &'a Options,
    scope: Vec<Variable>,
    /// Where the local variables begin.
    globals: usize,
    names: usize,
    macros: Vec<macros::Macro>,
    records: usize,
    /// Code may be run often here: keep it cheap.
    loops: usize,
}

impl<'a> Generator<'a> {
    fn new(seed: u64, options: &'a Options) -> Self {
        let scope =
            options.inputs.iter().map(|name| Variable { name: name.clone(), ty: Type::Real, assignable: false });
        let scope: Vec<Variable> = scope.collect();
        let globals = scope.len();
        let random = Random::new(seed);
        Generator { random, options, scope, globals, names: 0, macros: Vec::new(), records: 0, loops: 0 }
    }

    fn program(mut self) -> Vec<Sexp> {
        let mut forms = Vec::new();
        let count = 1 + self.random.below(self.options.definitions * 2);
        for _ in 0..count {
            self.top_level(&mut forms);
        }
        let depth = self.options.depth;
        let mut parts = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let ty = self.any_type();
            let value = self.expr(&ty, depth);
            parts.push(self.visible(&ty, value));
        }
        forms.push(form("(list ~~)", parts));
        forms
    }

    /// The value as something that `write` shows in full.
    fn visible(&mut self, ty: &Type, value: Sexp) -> Sexp {
        match ty {
            Type::Table if self.options.portable => form("(hash-table-ref/default ~ 1 0)", [value]),
            Type::Table => form("(hash-table->alist ~)", [value]),
            _ => value,
        }
    }

    fn any_type(&mut self) -> Type {
        self.random.pick(DATA).clone()
    }

    fn fresh(&mut self) -> String {
        self.names += 1;
        // Names that a careless expander would capture or confuse.
        if self.random.one_in(12) {
            return self.random.text(&["tmp", "x", "loop", "it", "k", "t", "acc"]).to_string();
        }
        format!("v{}", self.names)
    }

    /// Runs `work` with a variable more in scope.
    fn with<T>(&mut self, name: &str, ty: Type, work: impl FnOnce(&mut Self) -> T) -> T {
        self.with_all(&[(name.to_string(), ty, true)], work)
    }

    fn with_all<T>(&mut self, variables: &[(String, Type, bool)], work: impl FnOnce(&mut Self) -> T) -> T {
        let mark = self.scope.len();
        self.scope.extend(variables.iter().map(|(name, ty, assignable)| Variable {
            name: name.clone(),
            ty: ty.clone(),
            assignable: *assignable,
        }));
        let result = work(self);
        self.scope.truncate(mark);
        result
    }

    /// Runs `work` where only global variables can be seen.
    fn at_top<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let locals = self.scope.split_off(self.globals);
        let result = work(self);
        self.scope.truncate(self.globals);
        self.scope.extend(locals);
        result
    }

    /// Visible variables that `wanted` accepts, the innermost of each name.
    fn variables(&self, wanted: impl Fn(&Variable) -> bool) -> Vec<Variable> {
        let mut found: Vec<Variable> = Vec::new();
        for (i, v) in self.scope.iter().enumerate().rev() {
            let hidden = self.scope[i + 1..].iter().any(|inner| inner.name == v.name);
            if !hidden && wanted(v) {
                found.push(v.clone());
            }
        }
        found
    }

    fn variable(&mut self, ty: &Type) -> Option<Sexp> {
        let found = self.variables(|v| v.ty == *ty);
        if found.is_empty() { None } else { Some(Sexp::atom(&self.random.pick(&found).name)) }
    }

    fn expr(&mut self, ty: &Type, depth: usize) -> Sexp {
        if self.options.fault_every > 0 && self.random.one_in(self.options.fault_every) {
            return self.fault(depth);
        }
        if depth == 0 || self.random.one_in(6) {
            return self.leaf(ty);
        }
        if let Type::Fun(params, result) = ty {
            return self.function(params, result, depth);
        }
        if self.random.one_in(2) {
            return self.general(ty, depth - 1);
        }
        self.specific(ty, depth - 1)
    }

    /// An expression that only this type has.
    fn specific(&mut self, ty: &Type, depth: usize) -> Sexp {
        match ty {
            Type::Int => self.integer(depth),
            Type::Real => self.real(depth),
            Type::Bool => self.boolean(depth),
            Type::Char => self.character(depth),
            Type::Str => self.string(depth),
            Type::Sym => self.symbol(depth),
            Type::Ints => self.integers(depth),
            Type::Reals => self.reals(depth),
            Type::Vector => self.vector(depth),
            Type::Table => self.table(depth),
            Type::Record(_) | Type::Fun(..) => self.leaf(ty),
        }
    }

    /// A variable or a literal.
    fn leaf(&mut self, ty: &Type) -> Sexp {
        if !self.random.one_in(3)
            && let Some(variable) = self.variable(ty)
        {
            return variable;
        }
        self.literal(ty)
    }

    /// A procedure: a lambda expression, or a variable that holds one.
    fn function(&mut self, params: &[Type], result: &Type, depth: usize) -> Sexp {
        let ty = Type::Fun(params.to_vec(), Box::new(result.clone()));
        if self.random.one_in(3)
            && let Some(variable) = self.variable(&ty)
        {
            return variable;
        }
        let mut names: Vec<String> = Vec::new();
        for _ in params {
            let mut name = self.fresh();
            if names.contains(&name) {
                name = format!("w{}", self.names);
            }
            names.push(name);
        }
        let variables: Vec<(String, Type, bool)> =
            names.iter().zip(params).map(|(n, t)| (n.clone(), t.clone(), true)).collect();
        self.loops += 1;
        let body = self.with_all(&variables, |g| g.expr(result, depth.min(2)));
        self.loops -= 1;
        form("(lambda ~ ~)", [Sexp::List(names.into_iter().map(Sexp::Atom).collect()), body])
    }
}
