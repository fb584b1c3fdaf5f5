//! Defects that earlier systems had (silent zeros, garbage, dynamic scope, ...), each with the right
//! answer in every mode.

mod common;

use common::{MODES, expect_errors, expect_values, options, run, run_with, summary};
use dmci::{Datum, Limits};
use std::time::{Duration, Instant};

/// Type errors, deep recursion and shape mismatches crashed or read memory out of bounds.
#[test]
fn type_errors_are_errors_with_a_place() {
    expect_errors(&[
        ("(car 5)", "E0303", "(car 5)"),
        ("(+ 1 (car '()))", "E0303", "(car '())"),
        ("(cdr '())", "E0303", "(cdr '())"),
        ("(not-a-name (vector 1 2))", "E0301", "not-a-name"),
        ("(exp (vector 1 2))", "E0303", "(exp (vector 1 2))"),
        ("(* 2 (vector 1 2))", "E0303", "(* 2 (vector 1 2))"),
        ("(vector-ref (vector 1 2 3) 3)", "E0306", "(vector-ref (vector 1 2 3) 3)"),
        ("(vector-ref (vector 1 2 3) -1)", "E0303", "(vector-ref (vector 1 2 3) -1)"),
        ("(vector-ref (vector 1 2 3) 1.0)", "E0303", "(vector-ref (vector 1 2 3) 1.0)"),
        ("(define (f x) (* x 2))\n(define (g l) (+ 1 (f (car l))))\n(g '(a))", "E0303", "(* x 2)"),
        ("(let loop ((l '(1 2 . 3)) (s 0)) (if (null? l) s (loop (cdr l) (+ s (car l)))))", "E0303", "(cdr l)"),
    ]);
    expect_values(&[("(not '())", "#f"), ("(not 0)", "#f"), ("(not #f)", "#t"), ("(not 'nil)", "#f")]);
}

#[test]
fn recursion_a_hundred_thousand_deep_works() {
    expect_values(&[
        ("(define (count n) (if (= n 0) 0 (+ 1 (count (- n 1))))) (count 100000)", "100000"),
        ("(define (build n) (if (= n 0) '() (cons n (build (- n 1))))) (length (build 100000))", "100000"),
        (
            "(define (ev? n) (if (= n 0) #t (not (od? (- n 1))))) (define (od? n) (if (= n 0) #f (not (ev? (- n 1))))) (ev? 100000)",
            "#t",
        ),
        ("(apply + (map (lambda (x) 1) (iota 100000)))", "100000"),
        ("(fold-right + 0 (iota 100000))", "4999950000"),
    ]);
}

/// Letrecs of the same name collided; captures two levels up were lost; both arms of an `if` were computed.
#[test]
fn names_of_letrecs_do_not_collide() {
    expect_values(&[
        ("(+ (letrec ((f (lambda (x) (+ x 1)))) (f 1)) (letrec ((f (lambda (x) (* x 5)))) (f 3)))", "17"),
        (
            "(define (a) (define (f x) (+ x 1)) (f 10)) (define (b) (define (f x) (* x 2)) (f 10)) (list (a) (b) (a))",
            "(11 20 11)",
        ),
        ("(let loop ((i 0)) (if (< i 3) (loop (+ i 1)) (let loop ((j i)) (if (< j 10) (loop (+ j 2)) j))))", "11"),
        ("(letrec ((f (lambda (n) (letrec ((f (lambda (m) (* m 100)))) (f n))))) (f 3))", "300"),
        (
            "(letrec ((ev? (lambda (n) (if (= n 0) #t (od? (- n 1))))) (od? (lambda (n) (if (= n 0) #f (ev? (- n 1)))))) (ev? 101))",
            "#f",
        ),
    ]);
}

#[test]
fn captures_reach_any_number_of_levels_up() {
    expect_values(&[
        ("((((lambda (a) (lambda (b) (lambda (c) (+ a b c)))) 1) 2) 3)", "6"),
        ("(define (f a) (letrec ((g (lambda (n) (if (= n 0) a (g (- n 1)))))) (g 3))) (f 42)", "42"),
        ("(define (f a) (let ((b (* a 2))) (define (g n) (define (h k) (+ a b n k)) (h (* n 10))) (g 1))) (f 3)", "20"),
        (
            "(define (counter) (let ((n 0)) (lambda () (set! n (+ n 1)) (lambda () (set! n (* n 10)) n)))) (define c (counter)) (c) ((c))",
            "20",
        ),
        ("(define x 5) (let ((y x)) (+ y 1))", "6"),
        (
            "(define fs (let loop ((i 0) (l '())) (if (= i 3) (reverse l) (loop (+ i 1) (cons (lambda () i) l))))) (map (lambda (f) (f)) fs)",
            "(0 1 2)",
        ),
        (
            "(define fs '()) (do ((i 0 (+ i 1))) ((= i 3)) (set! fs (cons (lambda () i) fs))) (map (lambda (f) (f)) fs)",
            "(2 1 0)",
        ),
        (
            "(let ((a 1)) (let ((b 2)) (let ((c 3)) (let ((d 4)) (let ((e 5)) ((lambda () ((lambda () (list a b c d e)))))))))) ",
            "(1 2 3 4 5)",
        ),
    ]);
}

#[test]
fn only_the_chosen_arm_is_computed() {
    expect_values(&[
        ("(define x 0) (if (> x 0) (/ 1 x) 0)", "0"),
        ("(define x 0.0) (if (> x 0) (/ 1 x) 0)", "0"),
        ("(define (f n) (if (= n 0) 0 (f (- n 1)))) (define x -1) (if (> x 0) (f x) 'no)", "no"),
        (
            "(define (fact n) (if (= n 0) 1 (* n (fact (- n 1))))) (define x -1) (cond ((> x 0) (fact x)) (else 'negative))",
            "negative",
        ),
        ("(if #t 1 (car '()))", "1"),
        ("(and #f (car '()))", "#f"),
        ("(or 5 (car '()))", "5"),
        ("(case 1 ((1) 'one) (else (car '())))", "one"),
    ]);
}

/// Unbound variables, operators as values, early definitions and internal ones silently gave 0.
#[test]
fn there_are_no_silent_zeros() {
    expect_errors(&[
        ("(+ 1 undefined-name)", "E0301", "undefined-name"),
        ("(undefined-procedure 1 2)", "E0301", "undefined-procedure"),
        ("(define a (* 2 b)) (define b 3) a", "E0301", "b"),
        ("(define y (f 3)) (define (f x) (* x x)) y", "E0301", "f"),
        ("\"abc\" abc", "E0301", "abc"),
        ("(eq? #\\a b)", "E0301", "b"),
        ("(list inf nan)", "E0301", "inf"),
    ]);
    expect_values(&[
        ("((lambda (f) (f 1 2)) +)", "3"),
        ("(define (apply-twice f x) (f (f x))) (apply-twice sqrt 16)", "2"),
        ("(map + '(1 2) '(10 20))", "(11 22)"),
        ("(let ((op (if #t * +))) (op 3 4))", "12"),
        ("(define ops (list + - * /)) (map (lambda (op) (op 8 2)) ops)", "(10 6 16 4)"),
        ("(define (f x) (define a (* 2 x)) (define b (+ a 1)) b) (f 3)", "7"),
        ("(define (f x) (define (g y) (* y y)) (+ (g x) 1)) (f 3)", "10"),
        ("(define (f x) (* x x)) (define y (f 3)) (+ y 1)", "10"),
        ("(define x 1) (set! x (+ x 1)) (define y x) (* 10 y)", "20"),
        ("(eq? #\\a #\\b)", "#f"),
        ("(let ((v (list 1 2 3))) `(0 ,@v 4))", "(0 1 2 3 4)"),
        ("16777217", "16777217"),
        ("(eq? '1 1)", "#t"),
        ("(string-length \"abc\")", "3"),
    ]);
}

/// Missing arguments and a missing arm read garbage.
#[test]
fn argument_counts_are_checked() {
    expect_errors(&[
        ("((lambda (a b) (+ a b)) 1)", "E0302", "((lambda (a b) (+ a b)) 1)"),
        ("((lambda (a b) (+ a b)) 1 2 3)", "E0302", "((lambda (a b) (+ a b)) 1 2 3)"),
        ("(define (f a b) a) (f 1)", "E0302", "(f 1)"),
        ("(define (f a b) a) (f 1 2 3)", "E0302", "(f 1 2 3)"),
        ("(define (f a b . c) a) (f 1)", "E0302", "(f 1)"),
        ("(define (f) 1) (+ 1 (f 2))", "E0302", "(f 2)"),
        ("(cons 1)", "E0302", "(cons 1)"),
        ("(car '(1) '(2))", "E0302", "(car '(1) '(2))"),
        ("(let loop ((i 0)) (if (< i 3) (loop) i))", "E0302", "(loop)"),
        ("(map (lambda (x y) x) '(1 2))", "E0302", "(map (lambda (x y) x) '(1 2))"),
        ("((case-lambda ((a) a) ((a b) b)))", "E0302", "((case-lambda ((a) a) ((a b) b)))"),
        ("(vector-ref (vector 1))", "E0302", "(vector-ref (vector 1))"),
        ("(5 5)", "E0304", "(5 5)"),
        ("(define x 3) (x)", "E0304", "(x)"),
        ("((if #f car) '(1))", "E0304", "((if #f car) '(1))"),
    ]);
    expect_values(&[
        ("(if #f 7)", "#<unspecified>"),
        ("(let ((r (if #f 7))) (eq? r 7))", "#f"),
        ("(if '() 1 2)", "1"),
        ("((lambda (a . b) (list a b)) 1)", "(1 ())"),
        ("((lambda a a))", "()"),
    ]);
}

/// Named functions ran in their caller's environment.
#[test]
fn scope_is_lexical() {
    expect_errors(&[("(define (f) y) (define (g y) (f)) (g 5)", "E0301", "y")]);
    expect_values(&[
        ("(define y 1) (define (f) y) (define (g y) (f)) (g 5)", "1"),
        ("(let ((x 1)) (letrec ((f (lambda (n) (+ n x)))) (let ((x 100)) (f 1))))", "2"),
        ("(define (make) (letrec ((h (lambda (n) (if (= n 0) 0 (+ 1 (h (- n 1))))))) h)) (define h (make)) (h 3)", "3"),
        (
            "(define h (letrec ((g (lambda (n) (if (= n 0) 0 (+ 1 (g (- n 1))))))) g)) (let ((g (lambda (n) 50))) (h 3))",
            "3",
        ),
        ("(define x 10) (define (f) x) (let ((x 20)) (f))", "10"),
        ("(define (make-adder n) (lambda (x) (+ x n))) (let ((n 1000)) ((make-adder 5) 1))", "6"),
        ("(define n 1) (define (f) (set! n (+ n 1)) n) (let ((n 100)) (f) n)", "100"),
    ]);
}

/// `let` was `let*`, the last binding of `let*` was not expanded, `cond` dropped expressions, `and` and `or` were missing.
#[test]
fn binding_forms_and_conditionals_are_schemes() {
    expect_errors(&[("(let ((x 1) (y x)) y)", "E0301", "x"), ("(let ((f (lambda () x)) (x 2)) (f))", "E0301", "x")]);
    expect_values(&[
        ("(define x 5) (let ((x 1) (y x)) y)", "5"),
        ("(let ((x 1) (y 2)) (let ((x y) (y x)) (list x y)))", "(2 1)"),
        ("(let* ((x 1) (y (+ x 1)) (z (let* ((a y)) (vector a x)))) z)", "#(2 1)"),
        ("(let* ((a 1) (v (let loop ((i 0)) (if (< i 5) (loop (+ i 1)) (when #t i))))) v)", "5"),
        ("(cond (#t 5 6))", "6"),
        ("(cond (#f 1) (#t 2 3 4))", "4"),
        ("(cond (#f 1) (else 2 3))", "3"),
        ("(cond (5))", "5"),
        ("(cond ((assv 2 '((1 . a) (2 . b))) => cdr) (else 'none))", "b"),
        ("(and 1 1 0)", "0"),
        ("(and 1 #f 2)", "#f"),
        ("(and)", "#t"),
        ("(or)", "#f"),
        ("(or #f #f 3 (car '()))", "3"),
        ("(let ((x 3)) (and (> x 1) (< x 5) 'between))", "between"),
        ("(begin 1 2 3)", "3"),
        (
            "(letrec ((even? (lambda (n) (if (= n 0) #t (odd? (- n 1))))) (odd? (lambda (n) (if (= n 0) #f (even? (- n 1)))))) (even? 100))",
            "#t",
        ),
        ("(when #t 1 2)", "2"),
        ("(unless #f 1 2)", "2"),
        ("'(a . b)", "(a . b)"),
        ("#| block |# (+ 1 #;(ignored) 2)", "3"),
    ]);
}

/// `modulo` and `remainder` were swapped, further operands dropped, 0 and some pairs false.
#[test]
fn arithmetic_and_truth_are_schemes() {
    expect_values(&[
        ("(map modulo '(7 -7 7 -7) '(3 3 -3 -3))", "(1 2 -2 -1)"),
        ("(map remainder '(7 -7 7 -7) '(3 3 -3 -3))", "(1 -1 1 -1)"),
        ("(map quotient '(7 -7 7 -7) '(3 3 -3 -3))", "(2 -2 -2 2)"),
        ("(list (modulo -7.0 3) (remainder -7.0 3))", "(2.0 -1.0)"),
        ("(list (+ 1 2 3) (* 2 3 4) (- 10 1 2) (/ 24 2 3) (- 5) (/ 4))", "(6 24 7 4 -5 0.25)"),
        ("(list (+) (*) (min 3 2 1) (max 1 2 3))", "(0 1 1 3)"),
        ("(list (= 1 1 2) (= 1 1 1) (< 1 2 3) (< 1 3 2) (>= 3 3 1) (<= 1 2 2 1))", "(#f #t #t #f #t #f)"),
        (
            "(list (if 0 'true 'false) (if '() 'true 'false) (if \"\" 'true 'false) (if (cons 1 2) 'true 'false) (if #f 'true 'false))",
            "(true true true true false)",
        ),
        ("(let ((nan (/ 0. 0.))) (list (<= nan 1) (>= nan 1) (= nan nan)))", "(#f #f #f)"),
        ("(list (exact? 3) (exact? 3.0) (* 1.0 3) (+ 1/2 1))", "(#t #f 3.0 1.5)"),
        ("(* 99999999999 99999999999)", "9999999999800000000001"),
        ("(sqrt 0)", "0"),
        ("(log 1e-12)", "-27.631021115928547"),
    ]);
}

/// Errors had no positions, runs could not be stopped, limits could not be set.
#[test]
fn errors_have_positions() {
    let text = "(define (area r)\n  (* 3.14 r r))\n\n(area\n  \"two\")\n";
    for mode in &MODES {
        let failure = run(text, mode).expect_err("a string is no number");
        let (under, span) = failure.source_text().expect("a place");
        let at = failure.sources.line_col(span.source, span.start);
        assert_eq!((under, at.line, at.column), ("(* 3.14 r r)", 2, 3), "[{mode}] {failure}");
        assert_eq!(failure.exit_code(), 1);
    }
}

#[test]
fn five_mistakes_give_five_errors() {
    let text = "(if)\n(let ((x)) x)\n(lambda (a a) a)\n(define)\n(cond)";
    for mode in &MODES {
        let failure = run(text, mode).expect_err("it is wrong");
        let lines: Vec<usize> = failure
            .diagnostics
            .iter()
            .map(|d| d.span().map_or(0, |s| failure.sources.line_col(s.source, s.start).line))
            .collect();
        assert_eq!(lines, [1, 2, 3, 4, 5], "[{mode}] {failure}");
    }
}

#[test]
fn runs_can_be_cancelled_and_limited() {
    for mode in &MODES {
        let mut options = options(mode);
        options.cancel = common::cancel_after(Duration::from_millis(100));
        let start = Instant::now();
        let result = run_with("(let loop ((i 0)) (loop (+ i 1)))", &options);
        assert!(summary(&result).starts_with("E0409"), "[{mode}] {}", summary(&result));
        assert!(start.elapsed() < Duration::from_millis(100 + 150), "[{mode}] stopped after {:?}", start.elapsed());

        let mut options = common::options(mode);
        options.limits = Limits { heap: 4 << 20, ..options.limits };
        let grow = "(let loop ((l '())) (loop (cons 1 l)))";
        let result = run_with(grow, &options);
        assert!(summary(&result).starts_with("E0402"), "[{mode}] {}", summary(&result));
        let need = "(length (let loop ((i 0) (l '())) (if (< i 300000) (loop (+ i 1) (cons i l)) l)))";
        let result = run_with(need, &options);
        assert!(summary(&result).starts_with("E0402"), "[{mode}] {}", summary(&result));
        options.limits.heap = 256 << 20;
        let outcome = run_with(need, &options).unwrap_or_else(|e| panic!("[{mode}] {e}"));
        assert_eq!(outcome.value, Datum::Integer(300_000));
    }
}

/// Corners of R7RS that were taken for something else.
#[test]
fn corners_of_the_standard_are_as_it_says() {
    expect_values(&[
        // A variable called ... is no ellipsis.
        ("(let ((... 2)) (let-syntax ((s (syntax-rules () ((_ x ...) 'bad) ((_ . r) 'ok)))) (s a b c)))", "ok"),
        ("(let-syntax ((s (syntax-rules () ((_ x ...) (list x ...))))) (let ((... 2)) (s 1 2)))", "(1 2)"),
        ("'|\\\\123|", "|\\\\123|"),
        ("(string->symbol \"a\\\\b\")", "|a\\\\b|"),
        ("(map symbol? '(x+i +x 1+ 2pi -inf inf.0i i e+i -))", "(#t #t #t #t #t #t #t #t #t)"),
        ("(take-right '(1 2 . 3) 1)", "(2 . 3)"),
    ]);
    expect_errors(&[
        ("(apply +)", "E0302", "(apply +)"),
        ("3.0+inf.0i", "E0104", "3.0+inf.0i"),
        ("+nan.0-i", "E0104", "+nan.0-i"),
        ("-inf.0i", "E0104", "-inf.0i"),
        ("+inf.0-inf.0I", "E0104", "+inf.0-inf.0I"),
        ("1e3-2.5e-3i", "E0104", "1e3-2.5e-3i"),
        ("(take-right '(1 2) 3)", "E0306", "(take-right '(1 2) 3)"),
        ("(format #f \"~999999999999a\" 1)", "E0303", "(format #f \"~999999999999a\" 1)"),
    ]);
}

/// The numbers of a derivative that has ended are plain: entering it again found no list of them.
#[test]
fn a_derivative_that_has_ended_cannot_be_entered_again() {
    for take in ["(derivative f 3.0)", "((grad f) 3.0)", "(jvp f 3.0 1.0)"] {
        let text = format!(
            "(define k #f) (define n 0)
             (define (f x) (call/cc (lambda (c) (set! k c))) (* x x))
             (define d {take})
             (set! n (+ n 1))
             (if (< n 2) (k 1) d)"
        );
        for mode in &MODES {
            let failure = run(&text, mode).expect_err("it has ended");
            let message = &failure.diagnostics[0].message;
            assert_eq!(message, "a continuation leads back into a derivative that has ended", "{mode} {take}");
        }
    }
}

#[test]
fn a_loop_that_steps_over_its_end_is_asked_about() {
    let text = "(let loop ((t 0) (s 0.0)) (if (= t 2.5) s (loop (+ t 1) (+ s t))))";
    let limited =
        dmci::RunOptions { limits: Limits { fuel: 100_000, ..Limits::default() }, ..dmci::RunOptions::default() };
    let failure = run_with(text, &limited).expect_err("it does not end");
    let help = failure.diagnostics[0].help.clone().unwrap_or_default();
    assert!(help.contains("does a loop test = on a real number?"), "{help}");
}
