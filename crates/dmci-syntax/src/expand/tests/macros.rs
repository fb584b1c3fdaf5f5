//! `syntax-rules`: patterns and templates.

use super::{codes, core, errors};

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(core(text), expected, "\n  for {text}");
}

fn with(rules: &str, uses: &str) -> String {
    format!("(define-syntax m (syntax-rules () {rules})) {uses}")
}

#[test]
fn ellipsis_repeats() {
    check(&with("((_ (n v) ...) (f '(n ...) v ...))", "(m (a 1) (b 2)) (m)"), "(f (quote (a b)) 1 2) (f (quote ()))");
    check(
        &with("((_ (k v ...) ...) (f '((v ... k) ...)))", "(m (a 1 2) (b) (c 3))"),
        "(f (quote ((1 2 a) (b) (3 c))))",
    );
    check(&with("((_ (v ...) ...) '(v ... ...))", "(m (1 2) () (3))"), "(quote (1 2 3))");
    check(&with("((_ k (v ...)) '((k v) ...))", "(m a (1 2))"), "(quote ((a 1) (a 2)))");
}

#[test]
fn patterns_after_an_ellipsis() {
    check(&with("((_ a ... last) '(last a ...))", "(m 1 2 3) (m 1)"), "(quote (3 1 2)) (quote (1))");
    check(&with("((_ a ... y z . r) '((a ...) y z r))", "(m 1 2 3 4 . 5)"), "(quote ((1 2) 3 4 5))");
}

#[test]
fn dotted_and_vector_patterns() {
    check(&with("((_ a . b) '(b a))", "(m 1 2 3) (m 1 . 2)"), "(quote ((2 3) 1)) (quote (2 1))");
    check(&with("((_ #(a b ...)) '#(b ... a))", "(m #(1 2 3))"), "(quote #(2 3 1))");
    check(
        &with("((_ \"x\" 1 #\\c #t) 'yes) ((_ . _) 'no)", "(m \"x\" 1 #\\c #t) (m \"y\" 1 #\\c #t)"),
        "(quote yes) (quote no)",
    );
    check(&with("((_ _ a _) 'a)", "(m 1 2 3)"), "(quote 2)");
}

#[test]
fn escapes_and_other_ellipses() {
    check(&with("((_ a) '(a (... ...)))", "(m 1)"), "(quote (1 ...))");
    check("(define-syntax m (syntax-rules ::: () ((_ a :::) '(a ::: ...)))) (m 1 2)", "(quote (1 2 ...))");
    check(
        "(define-syntax m (syntax-rules (...) ((_ a ...) 'lit) ((_ a b) 'other))) (m 1 ...) (m 1 2)",
        "(quote lit) (quote other)",
    );
}

#[test]
fn macros_define_macros() {
    check(
        "(define-syntax def-get (syntax-rules () ((_ name v) (define-syntax name (syntax-rules () ((_ x (... ...)) (list v x (... ...)))))))) \
         (def-get g 5) (g 1 2)",
        "(list 5 1 2)",
    );
    check(
        "(define-syntax be-like-begin (syntax-rules () ((_ name) (define-syntax name (syntax-rules () ((_ expr (... ...)) (begin expr (... ...)))))))) \
         (be-like-begin sequence) (sequence 1 2 3 4)",
        "1 2 3 4",
    );
}

#[test]
fn while_loops_and_for_loops() {
    check(
        "(define-syntax while (syntax-rules () ((_ c body ...) (let lp () (when c body ... (lp)))))) \
         (lambda (lp) (while (lp) (f)))",
        "(lambda (lp) (letrec* ((lp~1 (lambda () (if (lp) (begin (f) (lp~1)) #u)))) (lp~1)))",
    );
    check(
        "(define-syntax for (syntax-rules (in) ((_ x in l b ...) (for-each (lambda (x) b ...) l)))) (for y in '(1 2) (display y))",
        "(for-each (lambda (y) (display y)) (quote (1 2)))",
    );
}

#[test]
fn let_values_of_the_report_works() {
    // The reference implementation in R7RS 7.3, which builds temporaries by recursion.
    let text = "(define-syntax my-let-values (syntax-rules () \
        ((_ (binding ...) body0 body1 ...) (my-let-values \"bind\" (binding ...) () (begin body0 body1 ...))) \
        ((_ \"bind\" () tmps body) (let tmps body)) \
        ((_ \"bind\" ((b0 e0) binding ...) tmps body) (my-let-values \"mktmp\" b0 e0 () (binding ...) tmps body)) \
        ((_ \"mktmp\" () e0 args bindings tmps body) (call-with-values (lambda () e0) (lambda args (my-let-values \"bind\" bindings tmps body)))) \
        ((_ \"mktmp\" (a . b) e0 (arg ...) bindings (tmp ...) body) (my-let-values \"mktmp\" b e0 (arg ... x) bindings (tmp ... (a x)) body)) \
        ((_ \"mktmp\" a e0 (arg ...) bindings (tmp ...) body) (call-with-values (lambda () e0) (lambda (arg ... . x) (my-let-values \"bind\" bindings (tmp ... (a x)) body)))))) \
        (my-let-values (((a b) (f)) ((c . d) (g))) (list a b c d))";
    check(
        text,
        "(call-with-values (lambda () (f)) (lambda (x~1 x~2) (call-with-values (lambda () (g)) \
         (lambda (x~3 . x~4) ((lambda (a b c d) (list a b c d)) x~1 x~2 x~3 x~4)))))",
    );
}

#[test]
fn syntax_error_reports_its_message() {
    let found = errors(&with("((_ x) (syntax-error \"bad use of m:\" x))", "(m (1 2))"));
    assert_eq!(found, [("E0201", "bad use of m: (1 2)".into(), "(m (1 2))".into())]);
}

#[test]
fn a_use_that_no_pattern_matches_is_an_error() {
    let found = errors(&with("((_ a b) 1) ((_ a b c) 2)", "(+ 1 (m 2))"));
    assert_eq!(found, [("E0203", "no pattern of the macro `m` matches (m 2)".into(), "(m 2)".into())]);
}

#[test]
fn malformed_rules_are_errors() {
    for text in [
        "(define-syntax m 5)",
        "(define-syntax m (lambda (x) x))",
        "(define-syntax m (syntax-rules))",
        "(define-syntax m (syntax-rules x))",
        "(define-syntax m (syntax-rules (1)))",
        "(define-syntax m (syntax-rules () (m 1)))",
        "(define-syntax m (syntax-rules () ((_ a))))",
        "(define-syntax m (syntax-rules () ((_ a a) 1)))",
        "(define-syntax m (syntax-rules () ((_ ... a) 1)))",
        "(define-syntax m (syntax-rules () ((_ a ... b ...) 1)))",
        "(define-syntax m (syntax-rules () ((_ a ...) a)))",
        "(define-syntax m (syntax-rules () ((_ a) (a ...))))",
        "(define-syntax m (syntax-rules () ((_ a ...) (... a))))".replace("(... a)", "(... a b)").as_str(),
        "(syntax-rules () ((_ a) a))",
    ] {
        assert_eq!(codes(text), ["E0204"], "{text}");
    }
}

#[test]
fn different_numbers_of_repetitions_are_an_error() {
    assert_eq!(codes(&with("((_ (a ...) (b ...)) '((a b) ...))", "(m (1 2) (3))")), ["E0203"]);
}
