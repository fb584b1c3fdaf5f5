//! Errors on purpose.

use super::{Generator, Type};
use crate::sexp::{Sexp, form};

const FAULTS: &[&str] = &[
    "(car ~)",
    "(cdr '())",
    "(cadr '(1))",
    "(vector-ref (vector 1 2) 7)",
    "(vector-ref (vector 1 2) -1)",
    "(vector-ref '(1) 0)",
    "(vector-set! (vector) 0 ~)",
    "no-such-name",
    "(no-such-procedure ~)",
    "(set! never-defined ~)",
    "(quotient ~ 0)",
    "(modulo ~ 0)",
    "(/ ~ 0)",
    "(error \"bad thing:\" ~ 'x \"s\")",
    "(error 'who \"went wrong\" ~)",
    "(raise 'oops)",
    "(raise ~)",
    "(raise (list 1 ~))",
    "(raise-continuable ~)",
    "(+ 'a ~)",
    "(- \"1\" ~)",
    "(* ~ #t)",
    "(< 1 'b ~)",
    "(~ 1 2)",
    "((lambda (x) x))",
    "((lambda (x y) x) ~)",
    "((lambda (x . r) x))",
    "((case-lambda ((a) a) ((a b) b)))",
    "(string-ref \"abc\" 10)",
    "(substring \"abc\" 2 1)",
    "(string-append \"a\" ~)",
    "(symbol->string ~)",
    "(assert (= 1 2))",
    "(letrec ((a b) (b ~)) a)",
    "(let () (define p q) (define q ~) p)",
    "(let-values (((a b) (values ~))) a)",
    "(list-tail '(1 2) 5)",
    "(list-ref '(1 2) 2)",
    "(length '(1 . 2))",
    "(length ~)",
    "(apply + 1 ~)",
    "(apply car '(1 2))",
    "(integer->char -1)",
    "(char-upcase \"a\")",
    "(exact +nan.0)",
    "(exact 2.5)",
    "(with-exception-handler (lambda (e) ~) (lambda () (raise 'not-continuable)))",
    "(with-exception-handler (lambda (e) ~) (lambda () (car 1)))",
    "(with-exception-handler (lambda (e) (raise e)) (lambda () (error \"inner\" ~)))",
    "(map car '(1 2))",
    "(map (lambda (x y) x) '(1 2))",
    "(for-each ~ '(1))",
    "(fold-left + 0 ~)",
    "(sort ~ <)",
    "(sort '(1 a 2) <)",
    "(vector-map (lambda (x) (car x)) (vector 1))",
    "(filter 5 '(1))",
    "(reduce + 0 '(1 b))",
    "(hash-table-ref (make-equal-hash-table) ~)",
    "(call/cc ~)",
    "(dynamic-wind 1 2 3)",
    "(dynamic-wind (lambda () #f) (lambda () (car ~)) (lambda () (display \"after\")))",
    "(force (delay (car ~)))",
    "(parameterize ((~ 1)) 2)",
    "(list->string '(1))",
    "(string->symbol ~)",
    "(exact->inexact 'a)",
    "(sqrt 'x)",
    "(expt \"2\" 3)",
    "(even? 1.5)",
    "(char->integer ~)",
    "(vector-fill! 5 0)",
    "(let loop ((i 0)) (if (= i 3) (car i) (loop (+ i 1))))",
    "(do ((i 0 (+ i 1))) ((= i 2) (vector-ref (vector) i)))",
    "(guard (e ((string? e) e)) (raise ~))",
    "(guard (e (#f e)) (car ~))",
    "(call-with-values (lambda () (values 1 2)) (lambda (a) a))",
    "(begin (values 1 2) (car ~))",
    "(let* ((a 1) (b (a))) b)",
    "(cons 1)",
    "(cons 1 2 3)",
    "(abs)",
    "(exit-now)",
    "(list-copy ~ ~)",
    "(reverse '(1 2 . 3))",
    "(append '(1) 2 '(3))",
    "(string->number ~)",
    "(number->string 'a)",
    "(min 1 'a)",
    "(gcd 1.5 2)",
    "(exact-integer-sqrt -1)",
    "(vector-ref (vector 1 2) 1.0)",
    "(make-vector -1)",
    "(list-set! (list 1) 1 ~)",
    "(string-map char-upcase 5)",
    "(assq 'a '(1 2))",
    "(cond (~ => 5))",
    "(case-lambda)",
    "(eval '(car 1) (interaction-environment))",
    "(eval '(undefined-in-eval) (interaction-environment))",
    "(eval '(let ((x)) x) (interaction-environment))",
];

/// Errors in every Scheme that checks anything.
const PORTABLE: &[&str] = &[
    "(car '())",
    "(vector-ref (vector 1 2) 7)",
    "(raise 'oops)",
    "(error \"no\" 1)",
    "(no-such-name)",
    "((lambda (x) x))",
    "(+ 'a 1)",
];

impl Generator<'_> {
    /// An expression that is an error when it is evaluated.
    pub(super) fn fault(&mut self, d: usize) -> Sexp {
        if self.options.portable {
            return form(self.random.text(PORTABLE), []);
        }
        if self.random.one_in(6)
            && let Some(call) = self.wrong_call()
        {
            return call;
        }
        let template = *self.random.pick(FAULTS);
        let holes = template.matches('~').count();
        let depth = d.min(1);
        let parts: Vec<Sexp> = (0..holes)
            .map(|_| {
                let ty = self.random.pick(&[Type::Int, Type::Sym, Type::Real, Type::Str]).clone();
                self.leaf_or(&ty, depth)
            })
            .collect();
        form(template, parts)
    }

    fn leaf_or(&mut self, ty: &Type, depth: usize) -> Sexp {
        if depth > 0 && self.random.one_in(3) { self.specific(ty, 0) } else { self.leaf(ty) }
    }

    /// A call of a known procedure with an argument too few or too many, or of the wrong type.
    fn wrong_call(&mut self) -> Option<Sexp> {
        let found = self.variables(|v| matches!(v.ty, Type::Fun(..)));
        if found.is_empty() {
            return None;
        }
        let variable = self.random.pick(&found).clone();
        let Type::Fun(params, _) = &variable.ty else { return None };
        let mut parts: Vec<Sexp> = vec![Sexp::atom(&variable.name)];
        parts.extend(params.iter().map(|p| self.leaf(p)));
        match self.random.below(3) {
            0 if parts.len() > 1 => {
                parts.pop();
            }
            0 | 1 => parts.push(self.leaf(&Type::Int)),
            _ => {
                if let Some(last) = parts.last_mut() {
                    *last = form("'wrong", []);
                }
            }
        }
        Some(Sexp::List(parts))
    }
}
