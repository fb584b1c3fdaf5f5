//! Top-level forms.

use super::{Generator, Type, Variable};
use crate::sexp::{Sexp, form};

impl Generator<'_> {
    pub(super) fn top_level(&mut self, forms: &mut Vec<Sexp>) {
        let d = self.options.depth;
        match self.random.below(24) {
            0..=4 => {
                let ty = if self.random.one_in(8) { Type::Table } else { self.any_type() };
                let name = self.global_name('g');
                forms.push(form("(define ~ ~)", [Sexp::atom(&name), self.expr(&ty, d)]));
                self.define(name, ty, true);
            }
            5..=8 => self.plain_function(forms),
            9..=12 => self.recursive_function(forms),
            13 => self.mutual_recursion(forms),
            14 | 15 => self.closure_maker(forms),
            16 => self.record(forms),
            17 | 18 => self.define_macro(forms),
            19 => self.generator_by_continuation(forms),
            20 => self.tree_walk(forms),
            21 => {
                // The same name again: the latest definition counts, also for callers defined before.
                let found = self.variables(|v| v.name.starts_with('g') && !matches!(v.ty, Type::Fun(..)));
                match found.first().cloned() {
                    Some(v) => forms.push(form("(define ~ ~)", [Sexp::atom(&v.name), self.expr(&v.ty, d)])),
                    None => forms.push(self.effect(d)),
                }
            }
            _ => forms.push(self.effect(d)),
        }
    }

    fn global_name(&mut self, prefix: char) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn define(&mut self, name: String, ty: Type, assignable: bool) {
        self.scope.push(Variable { name, ty, assignable });
        self.globals = self.scope.len();
    }

    fn plain_function(&mut self, forms: &mut Vec<Sexp>) {
        let name = self.global_name('h');
        let count = self.random.below(6);
        let params: Vec<Type> = (0..count).map(|_| self.any_type()).collect();
        let result = self.any_type();
        let variables: Vec<(String, Type, bool)> =
            params.iter().enumerate().map(|(i, t)| (format!("a{i}"), t.clone(), true)).collect();
        let d = self.options.depth;
        let body = self.with_all(&variables, |g| g.expr(&result, d));
        let names = variables.iter().map(|(n, _, _)| Sexp::atom(n));
        let head = Sexp::List(std::iter::once(Sexp::atom(&name)).chain(names).collect());
        forms.push(form("(define ~ ~)", [head, body]));
        self.define(name, Type::Fun(params, Box::new(result)), false);
    }

    /// A procedure that recurs as often as its first argument says.
    fn recursive_function(&mut self, forms: &mut Vec<Sexp>) {
        let name = self.global_name('f');
        let extra = self.any_type();
        let result = self.any_type();
        let variables = [("n".to_string(), Type::Int, false), ("a".to_string(), extra.clone(), true)];
        let d = self.options.depth - 1;
        let base = self.with_all(&variables, |g| g.expr(&result, d));
        self.loops += 1;
        let next = self.with_all(&variables, |g| g.expr(&extra, d.min(2)));
        let f = || Sexp::atom(&name);
        let body = match self.random.below(4) {
            // Tail recursion.
            0 => form("(if (<= n 0) ~ (~ (- n 1) ~))", [base, f(), next]),
            1 => {
                let effect = self.with_all(&variables, |g| g.effect(d.min(2)));
                form("(begin ~ (if (<= n 0) ~ (~ (- n 1) ~)))", [effect, base, f(), next])
            }
            // The result of the recursion is used.
            2 => {
                let both = [variables[0].clone(), variables[1].clone(), ("deeper".to_string(), result.clone(), true)];
                let after = self.with_all(&both, |g| g.expr(&result, d));
                form("(if (<= n 0) ~ (let ((deeper (~ (- n 1) ~))) ~))", [base, f(), next, after])
            }
            _ => {
                let list = form("(map (lambda (m) (~ (- n 1 m) ~)) '(0 1))", [f(), next]);
                form("(cond ((<= n 0) ~) ((null? ~) ~) (else (~ (- n 2) a)))", [base.clone(), list, base, f()])
            }
        };
        self.loops -= 1;
        forms.push(form("(define (~ n a) ~)", [f(), body]));
        self.define(name, Type::Fun(vec![Type::Int, extra], Box::new(result)), false);
    }

    fn mutual_recursion(&mut self, forms: &mut Vec<Sexp>) {
        let (a, b) = (self.global_name('f'), self.global_name('f'));
        let ty = self.any_type();
        let variables = [("n".to_string(), Type::Int, false), ("x".to_string(), ty.clone(), true)];
        for (this, other) in [(&a, &b), (&b, &a)] {
            let base = self.with_all(&variables, |g| g.expr(&ty, 2));
            let next = self.with_all(&variables, |g| g.expr(&ty, 1));
            let (this, other) = (Sexp::atom(this), Sexp::atom(other));
            forms.push(form("(define (~ n x) (if (<= n 0) ~ (~ (- n 1) ~)))", [this, base, other, next]));
        }
        for name in [a, b] {
            self.define(name, Type::Fun(vec![Type::Int, ty.clone()], Box::new(ty.clone())), false);
        }
    }

    /// A procedure that makes procedures with a state of their own.
    fn closure_maker(&mut self, forms: &mut Vec<Sexp>) {
        let (maker, made) = (self.global_name('m'), self.global_name('h'));
        let ty = self.any_type();
        let state = [("state".to_string(), ty.clone(), true), ("by".to_string(), Type::Int, true)];
        let next = self.with_all(&state, |g| g.expr(&ty, 2));
        forms.push(form("(define (~ state) (lambda (by) (set! state ~) state))", [Sexp::atom(&maker), next]));
        forms.push(form("(define ~ (~ ~))", [Sexp::atom(&made), Sexp::atom(&maker), self.expr(&ty, 2)]));
        self.define(made, Type::Fun(vec![Type::Int], Box::new(ty)), false);
    }

    fn record(&mut self, forms: &mut Vec<Sexp>) {
        let i = self.records;
        forms.push(form(
            &format!("(define-record-type r{i} (make-r{i} a b) r{i}? (a r{i}-a set-r{i}-a!) (b r{i}-b))"),
            [],
        ));
        self.records += 1;
        let name = self.global_name('g');
        forms.push(form("(define ~ ~)", [Sexp::atom(&name), self.literal(&Type::Record(i))]));
        if self.random.one_in(2) {
            forms.push(form(&format!("(set-r{i}-a! ~ ~)"), [Sexp::atom(&name), self.expr(&Type::Int, 2)]));
        }
        self.define(name, Type::Record(i), false);
    }

    /// A generator in the old sense: each call goes on where the last one stopped.
    fn generator_by_continuation(&mut self, forms: &mut Vec<Sexp>) {
        let (maker, made) = (self.global_name('m'), self.global_name('h'));
        forms.push(form(
            "(define (~ items) (define return #f) (define (start) (for-each (lambda (item) (call/cc (lambda (next) (set! \
             start (lambda () (next #f))) (return item)))) items) (return 0)) (lambda () (call/cc (lambda (r) (set! \
             return r) (start)))))",
            [Sexp::atom(&maker)],
        ));
        forms.push(form("(define ~ (~ ~))", [Sexp::atom(&made), Sexp::atom(&maker), self.expr(&Type::Ints, 2)]));
        self.define(made, Type::Fun(Vec::new(), Box::new(Type::Int)), false);
    }

    /// Recursion over nested data.
    fn tree_walk(&mut self, forms: &mut Vec<Sexp>) {
        let name = self.global_name('h');
        let f = Sexp::atom(&name);
        let leaf = self.with("tree", Type::Int, |g| g.expr(&Type::Int, 2));
        forms.push(form(
            "(define (~ tree) (cond ((null? tree) 0) ((pair? tree) (+ (~ (car tree)) (~ (cdr tree)))) ((number? tree) ~) \
             (else 1)))",
            [f.clone(), f.clone(), f.clone(), leaf],
        ));
        forms.push(form("(write (~ '((1 2 (3)) x (4 . 5) \"s\")))", [f]));
        self.define(name, Type::Fun(vec![Type::Ints], Box::new(Type::Int)), false);
    }
}
