//! Macros, and uses of them in places where bad hygiene shows.

use super::{Generator, Type};
use crate::sexp::{Sexp, form};

/// A macro that a program has defined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Macro {
    Or,
    Swap,
    While,
    For,
    Let,
    Count,
    Chain,
    Nested,
}

const ALL: &[(Macro, &str)] = &[
    (
        Macro::Or,
        "(define-syntax my-or (syntax-rules () ((_) #f) ((_ e) e) ((_ e r ...) (let ((t e)) (if t t (my-or r ...))))))",
    ),
    (Macro::Swap, "(define-syntax swap! (syntax-rules () ((_ a b) (let ((tmp a)) (set! a b) (set! b tmp)))))"),
    (
        Macro::While,
        "(define-syntax while (syntax-rules () ((_ test body ...) (let loop () (when test body ... (loop))))))",
    ),
    (
        Macro::For,
        "(define-syntax for (syntax-rules (in) ((_ x in list body ...) (for-each (lambda (x) body ...) list))))",
    ),
    (
        Macro::Let,
        "(define-syntax my-let* (syntax-rules () ((_ () body ...) (let () body ...)) ((_ ((n v) more ...) body ...) (let \
         ((n v)) (my-let* (more ...) body ...)))))",
    ),
    (Macro::Count, "(define-syntax count-args (syntax-rules () ((_) 0) ((_ x . rest) (+ 1 (count-args . rest)))))"),
    (Macro::Chain, "(define-syntax chain (syntax-rules () ((_ (a b ...) ...) (list (list b ... a) ...))))"),
    (
        Macro::Nested,
        "(define-syntax define-getter (syntax-rules () ((_ name value) (begin (define hidden value) (define-syntax name \
         (syntax-rules () ((_) hidden)))))))",
    ),
];

impl Generator<'_> {
    pub(super) fn define_macro(&mut self, forms: &mut Vec<Sexp>) {
        let (which, text) = *self.random.pick(ALL);
        if which == Macro::Nested && self.options.portable {
            return;
        }
        if !self.macros.contains(&which) {
            forms.push(form(text, []));
            self.macros.push(which);
        }
    }

    pub(super) fn macro_use(&mut self, ty: &Type, d: usize) -> Sexp {
        if self.macros.is_empty() {
            return self.local_macro(ty, d);
        }
        match *self.random.pick(&self.macros.clone()) {
            Macro::Or => match self.random.below(3) {
                0 => form("(my-or ~ ~)", [self.expr(ty, d), self.expr(ty, d)]),
                // The user's `t` is not the macro's.
                1 => form("(let ((t ~)) (my-or #f t))", [self.expr(ty, d)]),
                _ => form("(let ((if list)) (my-or #f ~))", [self.leaf(ty)]),
            },
            Macro::Swap => {
                let (a, b) = (self.expr(ty, d), self.expr(ty, d));
                form("(let ((tmp ~) (other ~)) (swap! tmp other) other)", [a, b])
            }
            Macro::While => {
                let effect = self.with("loop", Type::Int, |g| g.effect(d.min(1)));
                let count = Sexp::atom(self.random.between(0, 4));
                let result = self.with("loop", Type::Int, |g| g.expr(ty, d.min(2)));
                form("(let ((loop 0)) (while (< loop ~) (set! loop (+ loop 1)) ~) ~)", [count, effect, result])
            }
            Macro::For => {
                let effect = self.with("y", Type::Int, |g| g.effect(d.min(1)));
                form("(begin (for y in ~ ~) ~)", [self.expr(&Type::Ints, d), effect, self.expr(ty, d)])
            }
            Macro::Let => {
                let (a, b) = (self.expr(ty, d), self.with("m", ty.clone(), |g| g.expr(ty, d)));
                form("(my-let* ((m ~) (m ~)) m)", [a, b])
            }
            Macro::Count => match ty {
                Type::Int => form("(+ ~ (count-args a b (c d) \"e\"))", [self.expr(ty, d)]),
                _ => form("(begin (write (count-args 1 2)) ~)", [self.expr(ty, d)]),
            },
            Macro::Chain => {
                let parts = [self.expr(&Type::Int, d), self.expr(ty, d), self.expr(&Type::Int, d)];
                form("(cadr (reverse (car (reverse (chain (~) (~ 1 ~))))))", {
                    let [a, b, c] = parts;
                    // (chain (a) (b 1 c)) is ((a) (1 c b)).
                    [a, c, b]
                })
            }
            Macro::Nested => form("(let () (define-getter get-it ~) (define hidden 5) (get-it))", [self.expr(ty, d)]),
        }
    }

    fn local_macro(&mut self, ty: &Type, d: usize) -> Sexp {
        match self.random.below(4) {
            0 => form("(let-syntax ((twice (syntax-rules () ((_ e) (begin e e))))) (twice ~))", [self.expr(ty, d)]),
            1 => form(
                "(let ((x ~)) (let-syntax ((get (syntax-rules () ((_) x)))) (let ((x 1)) (get))))",
                [self.expr(ty, d)],
            ),
            2 => form(
                "(letrec-syntax ((pick (syntax-rules (first) ((_ first a b) a) ((_ other a b) (pick first b a))))) (pick \
                 second ~ ~))",
                [self.expr(&Type::Int, d), self.expr(ty, d)],
            ),
            _ => form("(let ((=> #f)) (cond (#t => ~)))", [self.expr(ty, d)]),
        }
    }
}
