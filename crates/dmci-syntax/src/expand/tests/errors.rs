//! What is said about wrong programs.

use super::{Bench, codes, errors};

#[track_caller]
fn check(text: &str, code: &str, message: &str, pointed: &str) {
    let found = errors(text);
    let found: Vec<(&str, &str, &str)> = found.iter().map(|(c, m, p)| (*c, m.as_str(), p.as_str())).collect();
    assert_eq!(found, [(code, message, pointed)], "\n  for {text}");
}

#[test]
fn wrong_shapes_name_the_form_and_what_it_needs() {
    check(
        "(if 1 2 3 4)",
        "E0201",
        "`if` needs a test, a consequence and at most one alternative, got 4 operands",
        "(if 1 2 3 4)",
    );
    check("(+ 1 (quote))", "E0201", "`quote` needs one datum, got no operands", "(quote)");
    check("(let ((x)) x)", "E0201", "`let` expected a binding (name value), got (x)", "(x)");
    check("(let x)", "E0201", "`let` needs a list of (name value) bindings and a body, got one operand", "(let x)");
    check("(let (x 1) x)", "E0201", "`let` expected a binding (name value), got `x`", "x");
    check("(lambda (x 1) x)", "E0201", "`lambda` expected a parameter name, got 1", "1");
    check("(cond (else 1) (2 3))", "E0201", "`cond` expected no clause after `else`, got (2 3)", "(2 3)");
    check("(define 5 1)", "E0201", "`define` expected a name, got 5", "5");
    check("(set! (f) 1)", "E0201", "`set!` expected a variable name, got (f)", "(f)");
    check("(f . 1)", "E0201", "a combination must be a proper list: operator, then operands", "(f . 1)");
}

#[test]
fn errors_come_with_an_example() {
    let mut bench = Bench::new();
    let found = bench.expand("(if)").expect_err("wrong");
    assert_eq!(found[0].help.as_deref(), Some("for example (if (> x 0) x (- x))"));
}

#[test]
fn bodies_need_an_expression() {
    check(
        "(define (f) (define x 1))",
        "E0201",
        "the body of `define` ends with a definition: it needs an expression at its end",
        "(define (f) (define x 1))",
    );
    assert_eq!(codes("(lambda (x))"), ["E0201"]);
    assert_eq!(codes("(lambda (x) (begin))"), ["E0201"]);
}

#[test]
fn names_are_bound_once() {
    check("(lambda (x y x) 1)", "E0202", "`x` is bound twice in the same place", "x");
    assert_eq!(codes("(let ((a 1) (a 2)) a)"), ["E0202"]);
    assert_eq!(codes("(let () (define a 1) (define a 2) a)"), ["E0202"]);
    assert_eq!(codes("(do ((i 0) (i 1)) (#t))"), ["E0202"]);
    assert_eq!(codes("(let-values (((a) 1) ((a) 2)) a)"), ["E0202"]);
    assert_eq!(codes("(define-values (a a) 1)"), ["E0202"]);
}

#[test]
fn keywords_are_not_variables() {
    check("(display if)", "E0205", "`if` is a keyword and cannot be used as a variable", "if");
    check("(else 1)", "E0205", "`else` is a keyword and cannot be used as a variable", "else");
    assert_eq!(codes("(set! cond 1)"), ["E0205"]);
    assert_eq!(codes("(define-syntax m (syntax-rules () ((_) 1))) (f m)"), ["E0205"]);
}

#[test]
fn definitions_are_not_expressions() {
    check(
        "(if 1 (define x 2))",
        "E0206",
        "`define` is a definition and cannot be used as an expression",
        "(define x 2)",
    );
    assert_eq!(codes("(f (define-record-type p #f p?))"), ["E0206"]);
    assert_eq!(codes("(when 1 (define x 1) x)"), ["E0206"]);
}

#[test]
fn recur_needs_its_loop() {
    assert_eq!(codes("(recur 1)"), ["E0208"]);
    check(
        "(loop ((k 0)) (+ 1 (recur k)))",
        "E0208",
        "`recur` must be the last thing that an iteration of the loop does",
        "(recur k)",
    );
    check(
        "(loop ((k 0)) (recur))",
        "E0208",
        "`recur` needs 1 values, one for each variable of its loop, got 0",
        "(recur)",
    );
    assert_eq!(codes("(loop ((k 0)) (lambda () (recur 1)))"), ["E0208"]);
    assert_eq!(codes("(loop ((k 0)) (recur 1) 2)"), ["E0208"]);
    assert_eq!(codes("(loop ((k (recur 1))) k)"), ["E0208"]);
}

#[test]
fn the_empty_combination_is_an_error() {
    check("(f ())", "E0212", "`()` is not an expression: a combination needs an operator", "()");
    check("()", "E0212", "`()` is not an expression: a combination needs an operator", "()");
}

#[test]
fn a_program_that_is_wrong_in_five_places_reports_five() {
    let text = "(define (f x) (if) (let ((y)) y)) (define) (g (display if) ()) (recur 1)";
    assert_eq!(codes(text), ["E0201", "E0201", "E0201", "E0205", "E0212", "E0208"]);
}

#[test]
fn errors_in_a_body_do_not_hide_each_other() {
    assert_eq!(codes("(define (f) (define 1 2) (define x (if)) (g ()) x)"), ["E0201", "E0201", "E0212"]);
}

#[test]
fn errors_inside_macro_uses_point_to_the_use() {
    check(
        "(define-syntax m (syntax-rules () ((_ x) (if x)))) (list (m 1))",
        "E0201",
        "`if` needs a test, a consequence and at most one alternative, got one operand",
        "(m 1)",
    );
}
