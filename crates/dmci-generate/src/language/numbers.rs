//! Arithmetic.

use super::{Generator, Type};
use crate::sexp::{Sexp, form};

impl Generator<'_> {
    pub(super) fn integer(&mut self, d: usize) -> Sexp {
        let int = Type::Int;
        match self.random.below(18) {
            0..=4 => {
                let op = *self.random.pick(&["+", "-", "*", "+", "-", "min", "max"]);
                let count = if self.random.one_in(4) { 3 } else { 2 };
                let parts: Vec<Sexp> = (0..count).map(|_| self.expr(&int, d)).collect();
                form(&format!("({op} ~~)"), parts)
            }
            5 => {
                let op = *self.random.pick(&[
                    "quotient",
                    "remainder",
                    "modulo",
                    "floor/",
                    "truncate-quotient",
                    "floor-remainder",
                    "exact-integer-sqrt",
                ]);
                let divisor = if self.random.one_in(20) {
                    self.expr(&int, d)
                } else {
                    Sexp::atom(self.random.pick(&[2, 3, 7, -4, 10, 1000]))
                };
                match op {
                    "floor/" => form(
                        "(call-with-values (lambda () (floor/ ~ ~)) (lambda (q r) (- q r)))",
                        [self.expr(&int, d), divisor],
                    ),
                    "exact-integer-sqrt" => {
                        form("(call-with-values (lambda () (exact-integer-sqrt (abs ~))) +)", [self.expr(&int, d)])
                    }
                    _ => form(&format!("({op} ~ ~)"), [self.expr(&int, d), divisor]),
                }
            }
            6 => form(&format!("({} ~)", self.random.pick(&["abs", "-", "square", "+"])), [self.expr(&int, d)]),
            7 => {
                form(&format!("({} ~ ~)", self.random.pick(&["gcd", "lcm"])), [self.expr(&int, d), self.expr(&int, d)])
            }
            8 => form("(expt ~ ~)", [self.expr(&int, d.min(1)), Sexp::atom(self.random.between(0, 9))]),
            9 => form("(length ~)", [self.expr(&Type::Ints, d)]),
            10 => form("(string-length ~)", [self.expr(&Type::Str, d)]),
            11 => form("(char->integer ~)", [self.expr(&Type::Char, d)]),
            12 => form(
                "(let ((v ~)) (vector-ref v (modulo ~ (vector-length v))))",
                [self.expr(&Type::Vector, d), self.expr(&int, d)],
            ),
            13 => {
                let fold = self.random.pick(&["fold-left", "fold-right", "fold"]);
                let f = self.function(&[int.clone(), int.clone()], &int, d);
                form(&format!("({fold} ~ ~ ~)"), [f, self.expr(&int, d), self.expr(&Type::Ints, d)])
            }
            14 => form("(apply + ~)", [self.expr(&Type::Ints, d)]),
            15 => {
                let f = self.function(&[int.clone(), int.clone()], &int, d);
                form("(reduce ~ 0 ~)", [f, self.expr(&Type::Ints, d)])
            }
            16 => form("(exact (floor (if (< -1e15 ~ 1e15) ~ 7.5)))", {
                let x = self.leaf(&Type::Real);
                [x.clone(), x]
            }),
            _ => form("(let ((l ~)) (if (pair? l) (car l) ~))", [self.expr(&Type::Ints, d), self.expr(&int, d)]),
        }
    }

    pub(super) fn real(&mut self, d: usize) -> Sexp {
        let real = Type::Real;
        match self.random.below(12) {
            0..=3 => {
                let op = *self.random.pick(&["+", "-", "*", "/", "min", "max"]);
                let count = if self.random.one_in(4) { 3 } else { 2 };
                let mut parts: Vec<Sexp> = (0..count).map(|_| self.expr(&real, d)).collect();
                if op != "/" && self.random.one_in(4) {
                    parts[0] = self.expr(&Type::Int, d);
                }
                form(&format!("({op} ~~)"), parts)
            }
            4 => form(
                &format!("({} ~)", self.random.pick(&["floor", "ceiling", "round", "truncate", "abs", "-"])),
                [self.expr(&real, d)],
            ),
            // A library function may differ in the last bit from one system to another.
            5 if !self.options.portable => {
                let f = self.random.pick(&[
                    "sin", "cos", "exp", "tanh", "erf", "sigmoid", "log1p", "atan", "softplus", "lgamma", "sinh",
                ]);
                form(&format!("({f} ~)"), [self.expr(&real, d)])
            }
            5 | 6 => form("(sqrt (abs ~))", [self.expr(&real, d)]),
            7 => form("(exact->inexact ~)", [self.expr(&Type::Int, d)]),
            8 if !self.options.portable => {
                form("(/ ~ ~)", [self.expr(&Type::Int, d), Sexp::atom(self.random.pick(&["3", "7", "10", "64"]))])
            }
            8 => form("(/ ~ ~)", [self.expr(&real, d), self.expr(&Type::Int, d)]),
            9 => form("(apply + 0.5 ~)", [self.expr(&Type::Reals, d)]),
            10 => {
                let f = self.function(&[real.clone(), real.clone()], &real, d);
                form("(fold-left ~ ~ ~)", [f, self.expr(&real, d), self.expr(&Type::Reals, d)])
            }
            _ if !self.options.portable => form("(expt (abs ~) ~)", [self.expr(&real, d), self.expr(&real, d)]),
            _ => form("(exact->inexact (expt 2 ~))", [Sexp::atom(self.random.between(0, 60))]),
        }
    }
}
