//! What names mean: shadowing and renaming.

use super::{Bench, core};

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(core(text), expected, "\n  for {text}");
}

const SWAP: &str = "(define-syntax swap! (syntax-rules () ((_ a b) (let ((tmp a)) (set! a b) (set! b tmp)))))";
const MY_OR: &str =
    "(define-syntax my-or (syntax-rules () ((_) #f) ((_ e) e) ((_ e r ...) (let ((t e)) (if t t (my-or r ...))))))";

#[test]
fn inserted_variables_do_not_capture() {
    check(
        &format!("{SWAP} (let ((tmp 1) (y 2)) (swap! tmp y))"),
        "((lambda (tmp y) ((lambda (tmp~1) (begin (set! tmp y) (set! y tmp~1))) tmp)) 1 2)",
    );
    check(&format!("{MY_OR} (let ((t 5)) (my-or #f t))"), "((lambda (t) ((lambda (t~1) (if t~1 t~1 t)) #f)) 5)");
}

#[test]
fn inserted_mentions_are_not_captured() {
    check(
        &format!("{MY_OR} (let ((if list)) (my-or 1 2))"),
        "((lambda (if~1) ((lambda (t~2) (if t~2 t~2 2)) 1)) list)",
    );
    check(
        "(define-syntax kar (syntax-rules () ((_ x) (car x)))) (lambda (car) (kar car))",
        "(lambda (car) (car~1 car))",
    );
    check("(define-syntax kar (syntax-rules () ((_ x) (car x)))) (lambda (y) (kar y))", "(lambda (y) (car y))");
}

#[test]
fn keywords_can_be_shadowed_by_locals() {
    check("(let ((if list)) (if 1 2 3))", "((lambda (if~1) (if~1 1 2 3)) list)");
    check("(lambda (assert) (assert 1))", "(lambda (assert) (assert 1))");
    check("(lambda (quote) 'x)", "(lambda (quote~1) (quote~1 x))");
    check("(define (f define) (define 3))", "(define f (lambda (define~1) (define~1 3)))");
    check("(let loop ((i 0)) (loop (+ i 1)))", "(letrec* ((loop (lambda (i) (loop (+ i 1))))) (loop 0))");
}

#[test]
fn keywords_can_be_shadowed_by_globals() {
    check("(define (assert x) x) (assert 1)", "(define assert (lambda (x) x)) (assert 1)");
    check(
        "(define (f) (assert 1)) (define (assert x) x)",
        "(define f (lambda () (assert 1))) (define assert (lambda (x) x))",
    );
    check("(define (loop n) (loop n)) (loop 1)", "(define loop (lambda (n) (loop n))) (loop 1)");
    check("(define (if a b c) b) (if 1 2 3)", "(define if (lambda (a b c) b)) (if~1 1 2 3)");
    check("(define list vector) (list 1)", "(define list vector) (list 1)");
}

#[test]
fn auxiliary_words_match_by_meaning() {
    check("(let ((else #f)) (cond (else 1)))", "((lambda (else) (if else 1 #u)) #f)");
    check("(let ((=> 1)) (cond (2 => 3)))", "((lambda (=>) (if 2 (begin => 3) #u)) 1)");
    check(
        "(define-syntax my-if (syntax-rules (then) ((_ a then b) (if a b 'no)) ((_ a x b) 'other))) \
         (my-if 1 then 2) (lambda (then) (my-if 1 then 2))",
        "(if 1 2 (quote no)) (lambda (then) (quote other))",
    );
    check(
        "(define-syntax c (syntax-rules () ((_ a b) (cond (a 1) (else b))))) (lambda (else) (c 1 2))",
        "(lambda (else) (if 1 1 2))",
    );
}

#[test]
fn local_macros_see_their_own_environment() {
    check(
        "(let ((x 'outer)) (let-syntax ((m (syntax-rules () ((_) x)))) (let ((x 'inner)) (m))))",
        "((lambda (x) ((lambda (x~1) x) (quote inner))) (quote outer))",
    );
    check(
        "(let ((x 1)) (define-syntax m (syntax-rules () ((_ y) (+ x y)))) (define x2 2) (let ((x 3)) (m x)))",
        "((lambda (x) (letrec* ((x2 2)) ((lambda (x~1) (+ x x~1)) 3))) 1)",
    );
    check(
        "(letrec-syntax ((ev? (syntax-rules () ((_) #t) ((_ a . r) (od? . r)))) \
                         (od? (syntax-rules () ((_) #f) ((_ a . r) (ev? . r))))) (ev? 1 2))",
        "#t",
    );
    check(
        "(define-syntax m (syntax-rules () ((_) 'outer))) \
         (let-syntax ((m (syntax-rules () ((_ x) (m))))) (m 1))",
        "(quote outer)",
    );
    check(
        "(define (f x) (define-syntax inc! (syntax-rules () ((_) (set! x (+ x 1))))) (inc!) (inc!) x)",
        "(define f (lambda (x) (begin (set! x (+ x 1)) (set! x (+ x 1)) x)))",
    );
}

#[test]
fn nested_scopes_of_the_same_alias_are_kept_apart() {
    // The inner macro mentions the outer x of the same template.
    check(
        "(define-syntax m (syntax-rules () ((_ e) (let ((x 1)) (let-syntax ((get (syntax-rules () ((_) x)))) \
         (let ((x 2)) (list x (get) e)))))))  (m 0)",
        "((lambda (x~1) ((lambda (x~2) (list x~2 x~1 0)) 2)) 1)",
    );
}

#[test]
fn quoted_aliases_are_stripped() {
    check("(define-syntax q (syntax-rules () ((_ x) '(a x #(b))))) (q c)", "(quote (a c #(b)))");
    check("(define-syntax q (syntax-rules () ((_ x) `(a ,x b)))) (q c)", "(%cons (quote a) (%cons c (quote (b))))");
    check(
        "(define-syntax q (syntax-rules () ((_ x) (case x ((a b) 1))))) (lambda (c) (q c))",
        "(lambda (c) (if (%memv c (quote (a b))) 1 #u))",
    );
}

#[test]
fn top_level_definitions_by_macros_define_the_plain_name() {
    check(
        "(define-syntax def (syntax-rules () ((_ v) (begin (define it v) (define (get) it))))) (def 1) (get)",
        "(define it 1) (define get (lambda () it)) (get)",
    );
}

#[test]
fn internal_definitions_by_macros_are_renamed() {
    check(
        "(define-syntax def (syntax-rules () ((_ n v) (begin (define tmp v) (define n tmp))))) \
         (lambda () (define tmp 1) (def a 2) (+ tmp a))",
        "(lambda () (letrec* ((tmp 1) (tmp~1 2) (a tmp~1)) (+ tmp a)))",
    );
}

#[test]
fn macros_are_replaced_by_definitions_and_the_other_way_round() {
    check("(define-syntax m (syntax-rules () ((_) 1))) (define (m) 2) (m)", "(define m (lambda () 2)) (m)");
    check("(define (m) 2) (define-syntax m (syntax-rules () ((_) 1))) (m)", "(define m (lambda () 2)) 1");
    check("(define-syntax my-if if) (my-if 1 2 3)", "(if 1 2 3)");
    check(
        "(define (assert x) x) (define-syntax assert (syntax-rules () ((_ x) 'mine))) (assert 1)",
        "(define assert (lambda (x) x)) (quote mine)",
    );
}

#[test]
fn local_percent_names_do_not_hide_the_system() {
    check("(let ((%list vector)) `(,%list))", "((lambda (%list~1) (%list %list~1)) vector)");
}

#[test]
fn macros_live_on_in_the_table() {
    let mut bench = Bench::new();
    bench.core(SWAP);
    assert_eq!(bench.core("(swap! a b)"), "((lambda (tmp~1) (begin (set! a b) (set! b tmp~1))) a)");
    let mut table = bench.table;
    bench.heap.collect(|f| table.roots(f));
    let mut bench = Bench { heap: bench.heap, table };
    assert_eq!(bench.core("(swap! a b)"), "((lambda (tmp~1) (begin (set! a b) (set! b tmp~1))) a)");
}

#[test]
fn a_failed_program_leaves_keywords_alone() {
    let mut bench = Bench::new();
    assert!(bench.expand("(define (assert x) x) (if)").is_err());
    assert_eq!(bench.core("(assert x)"), "(if x #u (%assertion-failed (quote x)))");
}
