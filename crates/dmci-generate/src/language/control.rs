//! Expressions that any type can have: binding, branching, loops, exceptions, continuations.

use super::{Generator, Type};
use crate::sexp::{Sexp, form};

impl Generator<'_> {
    pub(super) fn general(&mut self, ty: &Type, d: usize) -> Sexp {
        match self.random.below(44) {
            0..=4 => self.call(ty, d),
            5..=7 => form("(if ~ ~ ~)", [self.expr(&Type::Bool, d), self.expr(ty, d), self.expr(ty, d)]),
            8 => form(
                "(cond (~ ~) (~ => (lambda (it) ~)) (else ~))",
                [
                    self.expr(&Type::Bool, d),
                    self.expr(ty, d),
                    self.expr(&Type::Int, d),
                    self.with("it", Type::Int, |g| g.expr(ty, d)),
                    self.expr(ty, d),
                ],
            ),
            9 => form(
                "(case ~ ((0 1 2 3) ~) ((a b 7) ~) (else ~))",
                [self.expr(&Type::Int, d), self.expr(ty, d), self.expr(ty, d), self.expr(ty, d)],
            ),
            10..=13 => self.binding(ty, d),
            14 | 15 => self.named_let(ty, d),
            16 => self.do_loop(ty, d),
            17 => form("(begin ~ ~)", [self.effect(d), self.expr(ty, d)]),
            18..=20 => self.escape(ty, d),
            21..=24 => self.exceptions(ty, d),
            25 | 26 => self.wind(ty, d),
            27 => form("(force (delay ~))", [self.expr(ty, d)]),
            28 => self.promise_twice(ty, d),
            29 => self.parameter(ty, d),
            30 | 31 => self.values(ty, d),
            32 => self.case_lambda(ty, d),
            33 => self.rest_arguments(ty, d),
            34 => self.assigned(ty, d),
            35 => form("(car (list ~ ~))", [self.expr(ty, d), self.expr(&Type::Int, d)]),
            36 => form(
                "(vector-ref (vector ~ ~) ~)",
                [self.expr(ty, d), self.expr(ty, d), Sexp::atom(self.random.below(2))],
            ),
            37 => self.local_definitions(ty, d),
            38 if !self.options.portable => self.evaluated(ty),
            39 if !self.options.portable => self.recur_loop(ty, d),
            40 => self.reentered(ty, d),
            41 | 42 => self.macro_use(ty, d),
            _ => self.field(ty, d),
        }
    }

    /// A call of a procedure in scope that gives this type.
    fn call(&mut self, ty: &Type, d: usize) -> Sexp {
        let found = self.variables(|v| matches!(&v.ty, Type::Fun(_, result) if **result == *ty));
        if found.is_empty() || self.loops > 2 {
            return self.specific(ty, d);
        }
        let variable = self.random.pick(&found).clone();
        let Type::Fun(params, _) = &variable.ty else { return self.leaf(ty) };
        let mut parts = vec![Sexp::atom(&variable.name)];
        for (i, param) in params.iter().enumerate() {
            // Names that start with `f` are procedures whose first argument counts how often they recur.
            let counter = i == 0 && *param == Type::Int && variable.name.starts_with('f');
            parts.push(if counter { Sexp::atom(self.random.between(0, 6)) } else { self.expr(param, d.min(2)) });
        }
        if self.random.one_in(6) {
            let f = parts.remove(0);
            return form("(apply ~ (list ~~))", std::iter::once(f).chain(parts));
        }
        Sexp::List(parts)
    }

    fn binding(&mut self, ty: &Type, d: usize) -> Sexp {
        let (a, mut b) = (self.fresh(), self.fresh());
        if a == b {
            b = format!("w{}", self.names);
        }
        let (ta, tb) = (self.any_type(), self.any_type());
        let first = self.expr(&ta, d);
        let names = [Sexp::atom(&a), Sexp::atom(&b)];
        let [na, nb] = names;
        match self.random.below(4) {
            0 => form("((lambda (~) ~) ~)", [na, self.with(&a, ta, |g| g.expr(ty, d)), first]),
            1 => {
                let (second, body) = self.with(&a, ta, |g| (g.expr(&tb, d), g.with(&b, tb.clone(), |g| g.expr(ty, d))));
                form("(let* ((~ ~) (~ ~)) ~)", [na, first, nb, second, body])
            }
            2 => {
                let fun = Type::Fun(vec![Type::Int], Box::new(tb.clone()));
                let body = self.with(&a, fun, |g| g.expr(ty, d));
                let inner = self.with("n", Type::Int, |g| g.expr(&tb, d.min(2)));
                form("(letrec ((~ (lambda (n) ~))) ~)", [na, inner, body])
            }
            _ => {
                let second = self.expr(&tb, d);
                let both = [(a, ta, true), (b, tb, true)];
                let body = self.with_all(&both, |g| g.expr(ty, d));
                form("(let ((~ ~) (~ ~)) ~)", [na, first, nb, second, body])
            }
        }
    }

    /// A loop that counts down and carries a value of the type.
    fn named_let(&mut self, ty: &Type, d: usize) -> Sexp {
        let name = format!("go{}", self.names);
        self.names += 1;
        let count = Sexp::atom(self.random.between(0, 5));
        let start = self.expr(ty, d);
        self.loops += 1;
        let variables = [("i".to_string(), Type::Int, false), ("sum".to_string(), ty.clone(), true)];
        let next = self.with_all(&variables, |g| g.expr(ty, d.min(2)));
        let effect = self.with_all(&variables, |g| g.effect(d.min(1)));
        self.loops -= 1;
        let go = Sexp::Atom(name);
        match self.random.below(3) {
            0 => form(
                "(let ~ ((i ~) (sum ~)) (if (<= i 0) sum (begin ~ (~ (- i 1) ~))))",
                [go.clone(), count, start, effect, go, next],
            ),
            1 => form("(let ~ ((i ~) (sum ~)) (if (<= i 0) sum (~ (- i 1) ~)))", [go.clone(), count, start, go, next]),
            // The same without a proper tail call.
            _ => form(
                "(let ~ ((i ~) (sum ~)) (cond ((<= i 0) sum) (else (let ((sum (~ (- i 1) sum))) ~))))",
                [go.clone(), count, start, go, next],
            ),
        }
    }

    fn do_loop(&mut self, ty: &Type, d: usize) -> Sexp {
        let start = self.expr(ty, d);
        self.loops += 1;
        let variables = [("i".to_string(), Type::Int, false), ("sum".to_string(), ty.clone(), true)];
        let next = self.with_all(&variables, |g| g.expr(ty, d.min(2)));
        let effect = self.with_all(&variables, |g| g.effect(d.min(1)));
        self.loops -= 1;
        form(
            "(do ((i 0 (+ i 1)) (sum ~ ~)) ((= i ~) sum) ~)",
            [start, next, Sexp::atom(self.random.between(0, 5)), effect],
        )
    }

    fn recur_loop(&mut self, ty: &Type, d: usize) -> Sexp {
        let start = self.expr(ty, d);
        self.loops += 1;
        let variables = [("i".to_string(), Type::Int, false), ("sum".to_string(), ty.clone(), true)];
        let next = self.with_all(&variables, |g| g.expr(ty, d.min(2)));
        self.loops -= 1;
        form(
            "(loop ((i ~) (sum ~)) (if (<= i 0) sum (recur (- i 1) ~)))",
            [Sexp::atom(self.random.between(0, 5)), start, next],
        )
    }

    /// Escapes by call/cc, from inside of other things.
    fn escape(&mut self, ty: &Type, d: usize) -> Sexp {
        let out = format!("out{}", self.names);
        self.names += 1;
        let fun = Type::Fun(vec![ty.clone()], Box::new(ty.clone()));
        let k = Sexp::atom(&out);
        match self.random.below(4) {
            0 => {
                let body = self.with(&out, fun, |g| g.expr(ty, d));
                form("(call/cc (lambda (~) ~))", [k, body])
            }
            1 => {
                let value = self.expr(ty, d);
                let rest = self.expr(ty, d);
                let list = self.expr(&Type::Ints, d);
                let test = self.with("item", Type::Int, |g| g.expr(&Type::Bool, d.min(2)));
                form(
                    "(call/cc (lambda (~) (for-each (lambda (item) (if ~ (~ ~))) ~) ~))",
                    [k.clone(), test, k, value, list, rest],
                )
            }
            2 => form("(+ 0 (call-with-current-continuation (lambda (~) (* 2 (~ ~)))))", {
                [k.clone(), k, self.expr(&Type::Int, d)]
            })
            .into_type(self, ty, d),
            _ => {
                let value = self.expr(ty, d);
                let other = self.expr(ty, d);
                form(
                    "(call/cc (lambda (~) (dynamic-wind (lambda () ~) (lambda () (~ ~) ~) (lambda () ~))))",
                    [k.clone(), self.effect(d.min(1)), k, value, other, self.effect(d.min(1))],
                )
            }
        }
    }

    /// A continuation that is entered again, a bounded number of times.
    fn reentered(&mut self, ty: &Type, d: usize) -> Sexp {
        let effect = self.effect(d.min(1));
        let result = self.with("turn", Type::Int, |g| g.expr(ty, d.min(2)));
        let again = Sexp::atom(self.random.between(1, 4));
        match self.random.below(2) {
            0 => form(
                "(let ((saved #f) (turn 0)) (call/cc (lambda (here) (set! saved here))) (set! turn (+ turn 1)) ~ \
                 (if (< turn ~) (saved #f) ~))",
                [effect, again, result],
            ),
            _ => form(
                "(let* ((turn 0) (saved #f) (seen (map (lambda (item) (call/cc (lambda (here) (if (= item 2) (set! saved \
                 here)) item))) '(1 2 3)))) (set! turn (+ turn 1)) ~ (if (< turn ~) (saved (* 10 turn)) (begin (write \
                 seen) ~)))",
                [effect, again, result],
            ),
        }
    }

    fn exceptions(&mut self, ty: &Type, d: usize) -> Sexp {
        let raised = self.output_type();
        match self.random.below(9) {
            0 => form("(guard (e (#t ~)) ~)", [self.expr(ty, d), self.expr(ty, d)]),
            1 => form(
                "(guard (e ((symbol? e) ~) ((string? e) ~)) ~)",
                [self.expr(ty, d), self.expr(ty, d), self.expr(ty, d)],
            ),
            2 => form("(guard (e (#t (write e) ~)) (raise ~))", [self.expr(ty, d), self.expr(&raised, d)]),
            3 => form(
                "(guard (e ((error? e) (display (condition/report-string e)) ~)) (error ~ ~ ~))",
                [self.expr(ty, d), Sexp::atom("\"it broke:\""), self.expr(&raised, d), self.expr(&Type::Int, d)],
            )
            .portable_or(self, |g| {
                form(
                    "(guard (e ((error-object? e) (display (error-object-message e)) ~)) (error \"no:\" ~))",
                    [g.expr(ty, d), g.expr(&Type::Int, d)],
                )
            }),
            4 => form(
                "(with-exception-handler (lambda (e) ~) (lambda () ~))",
                [self.expr(&Type::Int, d), self.raising(ty, d)],
            ),
            5 => form(
                "(call/cc (lambda (stop) (with-exception-handler (lambda (e) (stop ~)) (lambda () ~))))",
                [self.expr(ty, d), self.expr(ty, d)],
            ),
            6 => {
                let fault = self.fault(d);
                form("(guard (e (#t ~)) ~ ~)", [self.expr(ty, d), fault, self.expr(ty, d)])
            }
            7 if !self.options.portable => {
                // The text of an error is part of the behaviour that all modes share.
                let fault = self.fault(d);
                form(
                    "(guard (e (#t (display (condition/report-string e)) ~)) ~ ~)",
                    [self.expr(ty, d), fault, self.expr(ty, d)],
                )
            }
            _ => form(
                "(guard (e ((number? e) ~)) (dynamic-wind (lambda () ~) (lambda () ~) (lambda () ~)))",
                [self.expr(ty, d), self.effect(0), self.raising(ty, d), self.effect(0)],
            ),
        }
    }

    /// An expression that may raise something on its way.
    fn raising(&mut self, ty: &Type, d: usize) -> Sexp {
        match self.random.below(3) {
            0 => form("(begin (raise-continuable ~) ~)", [self.expr(&Type::Int, d), self.expr(ty, d)]),
            1 => form("(if ~ (raise ~) ~)", [self.expr(&Type::Bool, d), self.expr(&Type::Int, d), self.expr(ty, d)]),
            _ => self.expr(ty, d),
        }
    }

    fn wind(&mut self, ty: &Type, d: usize) -> Sexp {
        let mark = self.random.between(0, 9);
        form(
            &format!(
                "(dynamic-wind (lambda () (display \"<{mark}\")) (lambda () ~) (lambda () (display \"{mark}>\")))"
            ),
            [self.expr(ty, d)],
        )
    }

    fn promise_twice(&mut self, ty: &Type, d: usize) -> Sexp {
        let maker = *self.random.pick(&["delay", "make-promise", "delay-force (delay"]);
        let close = if maker.contains('(') { ")" } else { "" };
        form(&format!("(let ((p ({maker} ~){close})) (begin (force p) (force p)))"), [self.expr(ty, d)])
    }

    fn parameter(&mut self, ty: &Type, d: usize) -> Sexp {
        let (first, second) = (self.expr(ty, d), self.expr(ty, d));
        match self.random.below(3) {
            0 => form("(let ((p (make-parameter ~))) (parameterize ((p ~)) (p)))", [first, second]),
            1 => form(
                "(let ((p (make-parameter ~ (lambda (value) value)))) (parameterize ((p ~)) ~) (p))",
                [first, second, self.effect(d.min(1))],
            ),
            _ => form(
                "(let* ((p (make-parameter ~)) (get (lambda () (p)))) (car (list (parameterize ((p ~)) (get)))))",
                [first, second],
            ),
        }
    }

    fn values(&mut self, ty: &Type, d: usize) -> Sexp {
        let (a, b) = (self.expr(ty, d), self.expr(&Type::Int, d));
        let both = [("va".to_string(), ty.clone(), true), ("vb".to_string(), Type::Int, true)];
        let body = self.with_all(&both, |g| g.expr(ty, d));
        match self.random.below(5) {
            0 => form("(let-values (((va vb) (values ~ ~))) ~)", [a, b, body]),
            1 => form("(let*-values (((va) (values ~)) ((vb . more) (values ~ 1 2))) ~)", [a, b, body]),
            2 => form("(call-with-values (lambda () (values ~ ~)) (lambda (va vb) ~))", [a, b, body]),
            3 => form("(receive (va vb . more) (values ~ ~ 3) ~)", [a, b, body]),
            _ => form("(let () (define-values (va vb) (values ~ ~)) ~)", [a, b, body]),
        }
    }

    fn case_lambda(&mut self, ty: &Type, d: usize) -> Sexp {
        let one = self.with("a", Type::Int, |g| g.expr(ty, d));
        let two = self.with("a", Type::Int, |g| g.expr(ty, d.min(1)));
        let arguments: Vec<Sexp> = (0..1 + self.random.below(3)).map(|_| self.expr(&Type::Int, d.min(1))).collect();
        form(
            "((case-lambda ((a) ~) ((a b) ~) ((a . others) ~)) ~~)",
            [one, two.clone(), two].into_iter().chain(arguments),
        )
    }

    fn rest_arguments(&mut self, ty: &Type, d: usize) -> Sexp {
        let variables = [("first".to_string(), Type::Int, true), ("others".to_string(), Type::Ints, true)];
        let body = self.with_all(&variables, |g| g.expr(ty, d));
        let arguments: Vec<Sexp> = (0..1 + self.random.below(5)).map(|_| self.expr(&Type::Int, d.min(1))).collect();
        form("((lambda (first . others) ~) ~~)", std::iter::once(body).chain(arguments))
    }

    fn assigned(&mut self, ty: &Type, d: usize) -> Sexp {
        let name = self.fresh();
        let (first, second) = (self.expr(ty, d), self.with(&name, ty.clone(), |g| g.expr(ty, d)));
        let n = Sexp::atom(&name);
        match self.random.below(3) {
            0 => form("(let ((~ ~)) (set! ~ ~) ~)", [n.clone(), first, n.clone(), second, n]),
            1 => form("(let* ((~ ~) (get (lambda () ~))) (set! ~ ~) (get))", [n.clone(), first, n.clone(), n, second]),
            _ => form(
                "(let ((~ ~)) (for-each (lambda (item) (set! ~ ~)) '(1 2)) ~)",
                [n.clone(), first, n.clone(), second, n],
            ),
        }
    }

    fn local_definitions(&mut self, ty: &Type, d: usize) -> Sexp {
        let value = self.expr(&Type::Int, d);
        let inner = self.with("n", Type::Int, |g| g.expr(ty, d.min(2)));
        let variables = [
            ("here".to_string(), Type::Int, true),
            ("helper".to_string(), Type::Fun(vec![Type::Int], Box::new(ty.clone())), false),
        ];
        let body = self.with_all(&variables, |g| g.expr(ty, d));
        form("(let () (define here ~) (define (helper n) ~) ~)", [value, inner, body])
    }

    /// `eval` of a datum that sees only global variables.
    fn evaluated(&mut self, ty: &Type) -> Sexp {
        let inner = self.at_top(|g| g.expr(ty, 2));
        match self.random.below(2) {
            0 => form("(eval '~ (interaction-environment))", [inner]),
            _ => form(
                "(eval (list 'let (list (list 'q ''~)) '~) (interaction-environment))",
                [self.literal(&Type::Int), inner],
            ),
        }
    }

    fn field(&mut self, ty: &Type, d: usize) -> Sexp {
        if self.records == 0 || !matches!(ty, Type::Int | Type::Ints) {
            return self.specific(ty, d);
        }
        let i = self.random.below(self.records);
        let accessor = if *ty == Type::Int { "a" } else { "b" };
        let record = match self.variable(&Type::Record(i)) {
            Some(variable) if !self.random.one_in(3) => variable,
            _ => form(&format!("(make-r{i} ~ ~)"), [self.expr(&Type::Int, d), self.expr(&Type::Ints, d)]),
        };
        form(&format!("(r{i}-{accessor} ~)"), [record])
    }
}

impl Sexp {
    /// An expression of a type that evaluates this one on the way.
    fn into_type(self, g: &mut Generator<'_>, ty: &Type, d: usize) -> Sexp {
        if *ty == Type::Int { self } else { form("(begin ~ ~)", [self, g.expr(ty, d)]) }
    }

    /// This, or what `other` makes if the program must be portable.
    fn portable_or(self, g: &mut Generator<'_>, other: impl FnOnce(&mut Generator<'_>) -> Sexp) -> Sexp {
        if g.options.portable { other(g) } else { self }
    }
}
