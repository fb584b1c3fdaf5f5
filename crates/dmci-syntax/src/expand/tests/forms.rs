//! Each special form.

use super::core;

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(core(text), expected, "\n  for {text}");
}

#[test]
fn literals_stand_for_themselves_or_are_quoted() {
    check("1 2.5 \"s\" #\\a #t", "1 2.5 \"s\" #\\a #t");
    check("#(1 x) 'x '()", "(quote #(1 x)) (quote x) (quote ())");
    check("(quote (a . b))", "(quote (a . b))");
}

#[test]
fn if_always_has_three_operands() {
    check("(if a b)", "(if a b #u)");
    check("(if a b c)", "(if a b c)");
    check("(when a b c)", "(if a (begin b c) #u)");
    check("(unless a b)", "(if a #u b)");
}

#[test]
fn and_or_nest() {
    check("(and) (or)", "#t #f");
    check("(and a) (or a)", "a a");
    check("(and a b c)", "(if a (if b c #f) #f)");
    check("(or a b)", "((lambda (t~1) (if t~1 t~1 b)) a)");
    check("(or a b c)", "((lambda (t~1) (if t~1 t~1 ((lambda (t~1) (if t~1 t~1 c)) b))) a)");
}

#[test]
fn cond_has_all_kinds_of_clauses() {
    check("(cond (a 1) (b 2 3) (else 4))", "(if a 1 (if b (begin 2 3) 4))");
    check("(cond (a 1))", "(if a 1 #u)");
    check("(cond (a => f) (else 2))", "((lambda (t~1) (if t~1 (f t~1) 2)) a)");
    check("(cond (a) (else 2))", "((lambda (t~1) (if t~1 t~1 2)) a)");
    check("(cond (else 1 2))", "(begin 1 2)");
}

#[test]
fn case_compares_with_eqv() {
    check(
        "(lambda (x) (case x ((1) 'a) ((b c) 2) (else 3)))",
        "(lambda (x) (if (%eqv? x 1) (quote a) (if (%memv x (quote (b c))) 2 3)))",
    );
    check("(case (f) ((\"s\" x) 1))", "((lambda (key~1) (if (%memv key~1 (quote (\"s\" x))) 1 #u)) (f))");
    check("(case x ((1) => f) (else => g))", "((lambda (key~1) (if (%eqv? key~1 1) (f key~1) (g key~1))) x)");
    check("(lambda (x) (case x (else 1)))", "(lambda (x) (begin x 1))");
    check("(case x ((1) 2))", "((lambda (key~1) (if (%eqv? key~1 1) 2 #u)) x)");
}

#[test]
fn let_forms_become_procedures() {
    check("(let ((x 1) (y 2)) (+ x y))", "((lambda (x y) (+ x y)) 1 2)");
    check("(let () 1)", "1");
    check("(let* ((x 1) (x (+ x 1))) x)", "((lambda (x) ((lambda (x) x) (+ x 1))) 1)");
    check("(let* () 1)", "1");
    check("(letrec ((f (lambda () (f)))) f)", "(letrec* ((f (lambda () (f)))) f)");
    check("(letrec* ((a 1) (b a)) b)", "(letrec* ((a 1) (b a)) b)");
}

#[test]
fn lambda_takes_all_kinds_of_parameters() {
    check("(lambda (x) x)", "(lambda (x) x)");
    check("(lambda (x . r) r)", "(lambda (x . r) r)");
    check("(lambda r 1 r)", "(lambda r (begin 1 r))");
    check("(named-lambda (f x) x)", "(lambda (x) x)");
    check("(case-lambda ((x) x) ((x . r) 1 r))", "(case-lambda ((x) x) ((x . r) (begin 1 r)))");
}

#[test]
fn internal_definitions_become_letrec() {
    check("(lambda (x) (define y 1) (define (f) y) (f))", "(lambda (x) (letrec* ((y 1) (f (lambda () y))) (f)))");
    check("(let () (begin (define a 1) (begin (define b a))) (+ a b))", "(letrec* ((a 1) (b a)) (+ a b))");
    check("(let () (define a 1) (display a) (define b 2) b)", "(letrec* ((a 1) (_~1 (display a)) (b 2)) b)");
    check(
        "(let () (define-values (a . b) (f)) (+ a b))",
        "(letrec* ((a #u) (b #u) (_~1 (%receive (lambda () (f)) 1 #t (lambda (a~2 . b~3) (begin (set! a a~2) (set! b b~3)))))) (+ a b))",
    );
    check(
        "(lambda () (define-record-type p (mk x) p? (x p-x)) mk)",
        "(lambda () (letrec* ((p (%make-record-type (quote p) (quote (x)))) (mk (lambda (x) (%record p x))) \
         (p? (lambda (obj) (%record? obj p))) (p-x (lambda (obj) (%record-ref obj p 0 (quote p-x))))) mk))",
    );
}

#[test]
fn loops_become_letrec() {
    check(
        "(let f ((i 0)) (if (= i 3) i (f (+ i 1))))",
        "(letrec* ((f (lambda (i) (if (= i 3) i (f (+ i 1)))))) (f 0))",
    );
    check(
        "(do ((i 0 (+ i 1)) (k 5)) ((= i 3) k) (display i))",
        "(letrec* ((do~1 (lambda (i k) (if (= i 3) k (begin (display i) (do~1 (+ i 1) k)))))) (do~1 0 5))",
    );
    check("(do ((i 0)) (a))", "(letrec* ((do~1 (lambda (i) (if a #u (do~1 i))))) (do~1 0))");
    check(
        "(loop ((k 0) (s 0.0)) (if (= k 3) s (let ((n 1)) (recur (+ k n) s))))",
        "(letrec* ((loop~1 (lambda (k s) (if (= k 3) s ((lambda (n) (loop~1 (+ k n) s)) 1))))) (loop~1 0 0.0))",
    );
}

#[test]
fn named_let_starts_outside_its_own_scope() {
    check("(let f ((x (f 1))) (f x))", "(letrec* ((f~1 (lambda (x) (f~1 x)))) (f~1 (f 1)))");
    check("(let f ((x (lambda () (set! f 1)))) x)", "(letrec* ((f~1 (lambda (x) x))) (f~1 (lambda () (set! f 1))))");
}

#[test]
fn several_values() {
    check(
        "(let-values (((a b) (f)) ((c) a)) (+ a c))",
        "(%receive (lambda () (f)) 2 #f (lambda (a~1 b~2) (%receive (lambda () a) 1 #f (lambda (c) (+ a~1 c)))))",
    );
    check(
        "(let*-values (((a b) (f)) ((c) a)) c)",
        "(%receive (lambda () (f)) 2 #f (lambda (a b) (%receive (lambda () a) 1 #f (lambda (c) c))))",
    );
    check("(receive (a . r) (f) r)", "(%receive (lambda () (f)) 1 #t (lambda (a . r) r))");
}

#[test]
fn promises_and_streams() {
    check("(delay e)", "(%make-lazy (lambda () (%make-forced e)))");
    check("(delay-force e)", "(%make-lazy (lambda () e))");
    check("(cons-stream a b)", "(%cons a (%make-lazy (lambda () (%make-forced b))))");
}

#[test]
fn dynamic_binding() {
    check("(parameterize ((p 1)) (f))", "(%parameterize (%list (%cons p 1)) (lambda () (f)))");
    check(
        "(fluid-let ((x 1)) (f))",
        "((lambda (x~1) (dynamic-wind (lambda () ((lambda (t~2) (begin (set! x~1 x) (set! x t~2))) x~1)) \
         (lambda () (f)) (lambda () ((lambda (t~2) (begin (set! x~1 x) (set! x t~2))) x~1)))) 1)",
    );
}

#[test]
fn guard_raises_again_without_a_matching_clause() {
    check("(guard (e ((f e) 1)) (g))", "(%guard (lambda () (g)) (lambda (e reraise~1) (if (f e) 1 (reraise~1))))");
    check("(guard (e (else e)) (g) (h))", "(%guard (lambda () (begin (g) (h))) (lambda (e reraise~1) e))");
    check(
        "(guard (e ((assq 'a e) => cdr) ((assq 'b e))) 1)",
        "(%guard (lambda () 1) (lambda (e reraise~1) ((lambda (t~2) (if t~2 (cdr t~2) \
         ((lambda (t~2) (if t~2 t~2 (reraise~1))) (assq (quote b) e)))) (assq (quote a) e))))",
    );
}

#[test]
fn assert_is_a_form_only_at_the_head() {
    check("(assert (> x 0))", "(if (> x 0) #u (%assertion-failed (quote (> x 0))))");
    check("(map assert l)", "(map assert l)");
}

#[test]
fn quasiquote_fills_in() {
    check("`(a b)", "(quote (a b))");
    check("`,x", "x");
    check("`(a ,x)", "(%list (quote a) x)");
    check("`(a ,x b c)", "(%cons (quote a) (%cons x (quote (b c))))");
    check("`(,@x)", "x");
    check("`(,@x b)", "(%append x (quote (b)))");
    check("`(a ,@x . ,y)", "(%cons (quote a) (%append x y))");
    check("`(a . ,y)", "(%cons (quote a) y)");
    check("`(a (b ,x) c)", "(%cons (quote a) (%cons (%list (quote b) x) (quote (c))))");
    check("`#(1 ,x)", "(%list->vector (%list 1 x))");
    check(
        "`(1 `(2 ,(3 ,x)))",
        "(%list 1 (%cons (quote quasiquote) (%list (%list 2 (%cons (quote unquote) (%list (%list 3 x)))))))",
    );
    check("`(1 `,@,x)", "(%list 1 (%cons (quote quasiquote) (%list (%cons (quote unquote-splicing) (%list x)))))");
}

#[test]
fn the_environment_is_the_global_one() {
    check("(the-environment)", "(interaction-environment)");
}

#[test]
fn cond_expand_chooses_by_feature() {
    check("(cond-expand (full-unicode 1) (else 2))", "1");
    check("(cond-expand ((and r7rs (not ratios) (library (scheme base))) (define x 1)) (else 2)) x", "(define x 1) x");
    check("(+ 1 (cond-expand (chicken 1) (else 2)))", "(+ 1 2)");
}
