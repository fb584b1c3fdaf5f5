//! Statements: output and mutation.

use super::{Generator, Type};
use crate::sexp::{Sexp, form};

impl Generator<'_> {
    pub(super) fn effect(&mut self, d: usize) -> Sexp {
        match self.random.below(10) {
            0..=2 => {
                let ty = self.output_type();
                let op = if ty == Type::Real || self.random.one_in(2) { "write" } else { "display" };
                form(&format!("({op} ~)"), [self.expr(&ty, d)])
            }
            3 => form("(newline)", []),
            4 | 5 => {
                let found = self.variables(|v| v.assignable && !matches!(v.ty, Type::Fun(..) | Type::Record(_)));
                if found.is_empty() {
                    return form("(display \"-\")", []);
                }
                let variable = self.random.pick(&found).clone();
                form("(set! ~ ~)", [Sexp::atom(&variable.name), self.expr(&variable.ty, d)])
            }
            6 => match self.variable(&Type::Vector) {
                Some(v) => form("(vector-set! ~ 0 ~)", [v, self.expr(&Type::Int, d)]),
                None => form("(display 'no-vector)", []),
            },
            7 => match self.variable(&Type::Table) {
                Some(t) if self.random.one_in(2) => form(
                    "(hash-table-update!/default ~ ~ (lambda (old) (+ old 1)) 0)",
                    [t, Sexp::atom(self.random.below(4))],
                ),
                Some(t) => {
                    form("(hash-table-set! ~ ~ ~)", [t, Sexp::atom(self.random.below(4)), self.expr(&Type::Int, d)])
                }
                None => form("(write \"no table\")", []),
            },
            8 => form("(for-each display ~)", [self.expr(&Type::Ints, d)]),
            _ => {
                let op = *self.random.pick(&["when", "unless"]);
                form(&format!("({op} ~ (display ~))"), [self.expr(&Type::Bool, d), self.expr(&Type::Int, d)])
            }
        }
    }

    /// What can be printed the same by every Scheme.
    pub(super) fn output_type(&mut self) -> Type {
        if self.options.portable {
            self.random.pick(&[Type::Int, Type::Ints, Type::Bool]).clone()
        } else {
            self.any_type()
        }
    }
}
