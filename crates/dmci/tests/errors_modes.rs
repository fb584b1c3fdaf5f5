//! Errors are the same in every mode: the code, the message and the place in the user's text.

mod common;

use common::{MODES, expect_errors, expect_output, expect_values, run, summary};

#[test]
fn names() {
    expect_errors(&[
        ("y", "E0301", "y"),
        ("((lambda () y))", "E0301", "y"),
        ("(define (f) y) (f)", "E0301", "y"),
        ("(let () y)", "E0301", "y"),
        ("(begin 1 y)", "E0301", "y"),
        ("(define z y)", "E0301", "y"),
        ("(if y 1 2)", "E0301", "y"),
        ("(if #t y 2)", "E0301", "y"),
        ("(cond (y 1))", "E0301", "y"),
        ("(cond (#f 1) (else y))", "E0301", "y"),
        ("(cond (1 => y))", "E0301", "y"),
        ("(case y ((1) 2))", "E0301", "y"),
        ("(case 1 ((1) y))", "E0301", "y"),
        ("(and 1 y)", "E0301", "y"),
        ("(or #f y)", "E0301", "y"),
        ("(when #t y)", "E0301", "y"),
        ("(unless #f y)", "E0301", "y"),
        ("(do ((i 0 (+ i 1))) ((= i 3) y))", "E0301", "y"),
        ("(do ((i y (+ i 1))) ((= i 3) 1))", "E0301", "y"),
        ("(let loop ((i y)) i)", "E0301", "y"),
        ("`(1 ,y)", "E0301", "y"),
        ("`(1 ,@y)", "E0301", "y"),
        ("`#(1 ,y)", "E0301", "y"),
        ("(let-values (((a b) y)) a)", "E0301", "y"),
        ("(force (delay y))", "E0301", "y"),
        ("(let ((a 1)) (let* ((b y)) b))", "E0301", "y"),
        ("(set! car y)", "E0301", "y"),
        ("(vector-map y #(1))", "E0301", "y"),
        ("(parameterize ((y 1)) 2)", "E0301", "y"),
        ("(guard (e (y 1)) (raise 1))", "E0301", "y"),
        ("(guard (e (#t y)) (raise 1))", "E0301", "y"),
        ("(set! y 1)", "E0310", "(set! y 1)"),
        ("(define (f) (set! undefined-name 1)) (f)", "E0310", "(set! undefined-name 1)"),
        ("(define x 1) (begin (y) (define (y) 1))", "E0301", "y"),
    ]);
}

#[test]
fn tensors_where_vectors_are_taken() {
    expect_values(&[
        ("(vector->list (vec 1 2 3) 1)", "(2.0 3.0)"),
        ("(vector->list (vec 1 2 3) 1 2)", "(2.0)"),
        ("(vector->list (vec 1 2 3) 3)", "()"),
        ("(vector->list (mat (vec 1 2) (vec 3 4)) 1)", "((3.0 4.0))"),
        ("(vector-map + (vec 1 2) (vec 3 4))", "#[vec 4.0 6.0]"),
    ]);
    expect_errors(&[
        ("(vector->list (vec 1 2 3) 7)", "E0306", "(vector->list (vec 1 2 3) 7)"),
        ("(vector->list (vec 1 2 3) 2 1)", "E0306", "(vector->list (vec 1 2 3) 2 1)"),
        ("(vector->list (vec 1 2 3) 'a)", "E0303", "(vector->list (vec 1 2 3) 'a)"),
        ("(vector->list (mat (vec 1 2)) 2)", "E0306", "(vector->list (mat (vec 1 2)) 2)"),
        ("(vector-copy (vec 1 2 3) 1)", "E0303", "(vector-copy (vec 1 2 3) 1)"),
        ("(vector-fill! (vec 1 2 3) 1)", "E0303", "(vector-fill! (vec 1 2 3) 1)"),
        ("(subvector (vec 1 2 3) 1 2)", "E0303", "(subvector (vec 1 2 3) 1 2)"),
        ("(vector-for-each car (vec 1 2 3))", "E0303", "(vector-for-each car (vec 1 2 3))"),
        ("(vector-map + (vector 1 2) (vec 3 4))", "E0303", "(vector-map + (vector 1 2) (vec 3 4))"),
        ("(hash-table-count car cdr)", "E0303", "(hash-table-count car cdr)"),
    ]);
}

#[test]
fn values_before_their_time() {
    expect_errors(&[
        ("(letrec ((a b) (b 1)) a)", "E0305", "b"),
        ("(letrec* ((a 1) (b c) (c 2)) b)", "E0305", "c"),
        ("(define (f) (define a b) (define b 1) a) (f)", "E0305", "b"),
        ("(define (f) (define a (+ b 1)) (define b 1) a) (f)", "E0305", "b"),
        ("(define (f) (define (g) b) (define a (g)) (define b 1) a) (f)", "E0305", "b"),
        ("(letrec ((a (lambda () b)) (b (a))) b)", "E0305", "b"),
        ("(letrec ((f (lambda () (g))) (x (f)) (g (lambda () 1))) x)", "E0305", "g"),
        ("(let () (define x (list y)) (define y 2) x)", "E0305", "y"),
        ("(define (f) (define-values (a b) (values c 1)) (define c 1) a) (f)", "E0305", "c"),
    ]);
    expect_values(&[
        ("(letrec ((a (lambda () b)) (b 1)) (a))", "1"),
        ("(define (f) (define (g) b) (define b 1) (g)) (f)", "1"),
        ("(letrec ((a 1)) (set! a 2) a)", "2"),
    ]);
}

#[test]
fn callbacks_of_library_procedures() {
    expect_errors(&[
        ("(map (lambda (x) (car x)) '(1 2))", "E0303", "(car x)"),
        ("(map car '(1 2))", "E0303", "(map car '(1 2))"),
        ("(+ 1 (map car '(1 2)))", "E0303", "(map car '(1 2))"),
        ("(for-each (lambda (x) (vector-ref (vector) x)) '(0))", "E0306", "(vector-ref (vector) x)"),
        ("(vector-map (lambda (x) (+ x 'a)) #(1 2))", "E0303", "(+ x 'a)"),
        ("(sort '(3 1 2) (lambda (a b) (car a)))", "E0303", "(car a)"),
        ("(sort '(3 1 a) <)", "E0303", "(sort '(3 1 a) <)"),
        ("(define (before? a b) (< (car a) (car b))) (sort (list '(2) 1) before?)", "E0303", "(car a)"),
        ("(fold-left (lambda (a b) (+ a (car b))) 0 '(1))", "E0303", "(car b)"),
        ("(fold-left + 0 '(1 a))", "E0303", "(fold-left + 0 '(1 a))"),
        ("(reduce + 0 '(1 a))", "E0303", "(reduce + 0 '(1 a))"),
        ("(apply + 1 '(2 a))", "E0303", "(apply + 1 '(2 a))"),
        ("(apply (lambda (x) (car x)) '(1))", "E0303", "(car x)"),
        ("(apply + 1 2)", "E0303", "(apply + 1 2)"),
        ("(assoc 2.0 '((1 1) (2 4)) (lambda (a b) (car a)))", "E0303", "(car a)"),
        ("(hash-table-update! (make-equal-hash-table) 'a (lambda (x) (car x)) (lambda () 5))", "E0303", "(car x)"),
        ("(hash-table-ref (make-equal-hash-table) 'a)", "E0312", "(hash-table-ref (make-equal-hash-table) 'a)"),
        (
            "(hash-table-walk (let ((h (make-equal-hash-table))) (hash-table-set! h 1 2) h) (lambda (k v) (car v)))",
            "E0303",
            "(car v)",
        ),
        ("(call-with-output-string (lambda (p) (car p)))", "E0303", "(car p)"),
        (
            "(call-with-values (lambda () (values 1 2)) (lambda (a) a))",
            "E0302",
            "(call-with-values (lambda () (values 1 2)) (lambda (a) a))",
        ),
        ("(string-for-each (lambda (c) (car c)) \"abc\")", "E0303", "(car c)"),
        ("(force (delay (car 5)))", "E0303", "(car 5)"),
        ("(stream-head (let loop ((i 0)) (cons-stream i (if (= i 2) (car i) (loop (+ i 1))))) 5)", "E0303", "(car i)"),
        ("(filter (lambda (x) (undefined-test x)) '(1))", "E0301", "undefined-test"),
        ("(list-index (lambda (x) (string-length x)) '(1))", "E0303", "(string-length x)"),
        ("(define p (make-parameter 1 (lambda (x) (car x)))) p", "E0303", "(car x)"),
        ("(vector-for-each (lambda (x) (error \"in a callback:\" x)) #(1))", "E0307", "(error \"in a callback:\" x)"),
    ]);
}

#[test]
fn after_a_callback_has_returned() {
    expect_errors(&[
        ("(begin (map (lambda (x) (* x x)) '(1 2)) (car 5))", "E0303", "(car 5)"),
        (
            "(car (length (map (lambda (x) (+ x 1)) '(1 2))))",
            "E0303",
            "(car (length (map (lambda (x) (+ x 1)) '(1 2))))",
        ),
        (
            "(define (f x) (* x x)) (vector-ref (vector (f 1) (f 2)) (f 3))",
            "E0306",
            "(vector-ref (vector (f 1) (f 2)) (f 3))",
        ),
        ("(define (f x) (g x) (car x)) (define (g x) (list x)) (f 1)", "E0303", "(car x)"),
        ("(+ (call/cc (lambda (k) (k 1))) 'a)", "E0303", "(+ (call/cc (lambda (k) (k 1))) 'a)"),
        ("(+ (guard (e (#t 1)) (raise 'x)) 'a)", "E0303", "(+ (guard (e (#t 1)) (raise 'x)) 'a)"),
        (
            "(+ (dynamic-wind (lambda () 1) (lambda () 2) (lambda () 3)) 'a)",
            "E0303",
            "(+ (dynamic-wind (lambda () 1) (lambda () 2) (lambda () 3)) 'a)",
        ),
        ("(let ((x (sort '(2 1) (lambda (a b) (< a b))))) (car (car x)))", "E0303", "(car (car x))"),
        (
            "(define (f) (for-each (lambda (x) x) '(1 2)) (+ 1 (string->symbol \"a\"))) (f)",
            "E0303",
            "(+ 1 (string->symbol \"a\"))",
        ),
        (
            "(string-append (with-output-to-string (lambda () (display 1))) 5)",
            "E0303",
            "(string-append (with-output-to-string (lambda () (display 1))) 5)",
        ),
    ]);
}

#[test]
fn tail_calls_report_the_last_call() {
    expect_errors(&[
        ("(define (g x) (h x)) (define (h x) (k x)) (define (k x) (car x)) (g 5)", "E0303", "(car x)"),
        (
            "(define (g x) (+ 1 (h x))) (define (h x) (+ 1 (k x))) (define (k x) (+ 1 (car x))) (g 5)",
            "E0303",
            "(car x)",
        ),
        ("(let loop ((i 0)) (if (= i 5) (car i) (loop (+ i 1))))", "E0303", "(car i)"),
        ("(define (f g) (g 1 2)) (f (lambda (x) x))", "E0302", "(g 1 2)"),
        ("(define (f g) (g 1 2)) (+ 1 (f car))", "E0302", "(g 1 2)"),
        ("(define (f g) (g 1)) (f car)", "E0303", "(g 1)"),
        ("(define (f g) (g 1)) (f 5)", "E0304", "(g 1)"),
        ("(define (f l) (apply car l)) (f '(5))", "E0303", "(apply car l)"),
        ("(define (f l) (map car l)) (f '(5))", "E0303", "(map car l)"),
        ("(define (ev? n) (if (= n 0) (oops) (od? (- n 1)))) (define (od? n) (ev? (- n 1))) (ev? 10)", "E0301", "oops"),
        ("(define (f x) (vector-ref x 10)) (define (g x) (f x)) (g (vector 1))", "E0306", "(vector-ref x 10)"),
        ("(loop ((i 0)) (if (< i 5) (recur (+ i 1)) (car i)))", "E0303", "(car i)"),
        ("(do ((i 0 (+ i 1)) (l '() (cons (car i) l))) ((= i 3) l))", "E0303", "(car i)"),
        ("((lambda (x) (x)) 1)", "E0304", "(x)"),
        ("((car '(1)) 2)", "E0304", "((car '(1)) 2)"),
        ("(define-record-type p (mk x) p? (x px)) (px 5)", "E0303", "(px 5)"),
        ("(define-record-type p (mk x) p? (x px)) (define (f r) (px r)) (f 5)", "E0303", "(px r)"),
        ("(define-record-type p (mk x) p? (x px)) (map px (list (mk 1) 2))", "E0303", "(map px (list (mk 1) 2))"),
        ("(define-record-type p (mk x) p? (x px)) (mk)", "E0302", "(mk)"),
    ]);
}

#[test]
fn exceptions() {
    expect_errors(&[
        ("(raise 42)", "E0308", "(raise 42)"),
        ("(raise (list 1 2))", "E0308", "(raise (list 1 2))"),
        ("(raise-continuable 5)", "E0308", "(raise-continuable 5)"),
        ("(define (f) (raise 'in-f)) (+ 1 (f))", "E0308", "(raise 'in-f)"),
        ("(error \"bad thing:\" 1 \"two\" 'three)", "E0307", "(error \"bad thing:\" 1 \"two\" 'three)"),
        ("(error 'my-proc \"bad\" 1)", "E0307", "(error 'my-proc \"bad\" 1)"),
        ("(assert (= 1 2))", "E0309", "(assert (= 1 2))"),
        ("(define (f x) (assert (> x 0) \"positive\") x) (f -1)", "E0309", "(assert (> x 0) \"positive\")"),
        ("(guard (e ((string? e) 1)) (raise 'x))", "E0308", "(raise 'x)"),
        ("(guard (e ((string? e) 1)) (car 5))", "E0303", "(car 5)"),
        ("(guard (e (#t (car e))) (raise 'x))", "E0303", "(car e)"),
        ("(guard (e (#t (raise e))) (car 7))", "E0303", "(car 7)"),
        (
            "(guard (e (#t (error \"again\" (condition/report-string e)))) (car 7))",
            "E0307",
            "(error \"again\" (condition/report-string e))",
        ),
        (
            "(guard (a ((string? a) 1)) (guard (b ((number? b) 2)) (vector-ref (vector) 0)))",
            "E0306",
            "(vector-ref (vector) 0)",
        ),
        ("(with-exception-handler (lambda (e) 10) (lambda () (+ 1 (raise 'oops))))", "E0311", "(raise 'oops)"),
        ("(with-exception-handler (lambda (e) 10) (lambda () (+ 1 (car 5))))", "E0311", "(car 5)"),
        ("(with-exception-handler (lambda (e) 10) (lambda () (error \"x\")))", "E0311", "(error \"x\")"),
        ("(with-exception-handler (lambda (e) 10) (lambda () no-such-name))", "E0311", "no-such-name"),
        (
            "(with-exception-handler (lambda (e) (car e)) (lambda () (+ 1 (raise-continuable 'oops))))",
            "E0303",
            "(car e)",
        ),
        ("(with-exception-handler (lambda () 1) (lambda () (raise 'x)))", "E0302", "(raise 'x)"),
        ("(with-exception-handler 5 (lambda () 1))", "E0303", "(with-exception-handler 5 (lambda () 1))"),
        ("(dynamic-wind (lambda () (car 1)) (lambda () 2) (lambda () 3))", "E0303", "(car 1)"),
        ("(dynamic-wind (lambda () 1) (lambda () (car 2)) (lambda () 3))", "E0303", "(car 2)"),
        ("(dynamic-wind (lambda () 1) (lambda () 2) (lambda () (car 3)))", "E0303", "(car 3)"),
        (
            "(call/cc (lambda (k) (dynamic-wind (lambda () 1) (lambda () (k 2)) (lambda () (car 3)))))",
            "E0303",
            "(car 3)",
        ),
        ("(parameterize ((5 1)) 2)", "E0303", "(parameterize ((5 1)) 2)"),
        ("(call/cc 5)", "E0304", "(call/cc 5)"),
        (
            "(define k #f) (define n 0) (+ 1 (call/cc (lambda (c) (set! k c) 1))) (set! n (+ n 1)) (if (= n 3) (car n) (k n))",
            "E0303",
            "(car n)",
        ),
        (
            "(define k #f) (define n 0) (define (f x) (if (> x 2) (car x) x)) (f (call/cc (lambda (c) (set! k c) 1))) (set! n (+ n 1)) (k (* n 2))",
            "E0303",
            "(car x)",
        ),
        (
            "(define k #f) (define (f) (+ 1 (call/cc (lambda (c) (set! k c) 1)))) (f) (let ((j k)) (set! k (lambda (x) (car x))) (j 'a))",
            "E0303",
            "(+ 1 (call/cc (lambda (c) (set! k c) 1)))",
        ),
        ("(let-values (((a b) (values 1 2 3))) a)", "E0313", "(let-values (((a b) (values 1 2 3))) a)"),
        ("(+ 1 (values 1 2))", "E0303", "(+ 1 (values 1 2))"),
    ]);
}

#[test]
fn macros_report_the_users_text() {
    expect_errors(&[
        ("(define-syntax m (syntax-rules () ((_ x) (car x)))) (m 5)", "E0303", "(m 5)"),
        ("(define-syntax m (syntax-rules () ((_ x) (let ((t x)) (car t))))) (+ 1 (m 5))", "E0303", "(m 5)"),
        ("(define-syntax m (syntax-rules () ((_ x) (list x)))) (m (car 5))", "E0303", "(car 5)"),
        ("(define-syntax m (syntax-rules () ((_ x) x))) (m)", "E0203", "(m)"),
        ("(define-syntax m (syntax-rules () ((_ x) (if x)))) (m 1)", "E0201", "(m 1)"),
        (
            "(define-syntax while (syntax-rules () ((_ c b ...) (let loop () (when c b ... (loop)))))) (define i 0) (while (< i 3) (set! i (+ i 1)) (vector-ref (vector 1 2) i))",
            "E0306",
            "(vector-ref (vector 1 2) i)",
        ),
        ("(define-syntax m (syntax-rules () ((_ f x) (f x)))) (define (g y) (m car y)) (g 1)", "E0303", "(m car y)"),
    ]);
}

#[test]
fn data_given_to_eval() {
    expect_errors(&[
        ("(eval '(car 5) (interaction-environment))", "E0303", "(car 5)"),
        ("(eval (list 'car 5) (interaction-environment))", "E0303", "(eval (list 'car 5) (interaction-environment))"),
        ("(+ 1 (eval (list 'vector-ref (vector) 0)))", "E0306", "(eval (list 'vector-ref (vector) 0))"),
        ("(define program '(let ((x 1)) (undefined x))) (eval program)", "E0301", "undefined"),
        ("(eval '(if) (interaction-environment))", "E0201", "(if)"),
        ("(eval (list 'if) (interaction-environment))", "E0201", "(eval (list 'if) (interaction-environment))"),
        ("(eval '(lambda (x x) x))", "E0202", "x"),
        ("((eval '(lambda (x) (car x))) 5)", "E0303", "(car x)"),
        ("((eval (list 'lambda '(x) '(car x))) 5)", "E0303", "(car x)"),
        ("(eval 1 2)", "E0303", "(eval 1 2)"),
        ("(define f (eval '(lambda (a) a))) (f 1 2)", "E0302", "(f 1 2)"),
        ("(eval '(define + 5)) (+ 1 2)", "E0304", "(+ 1 2)"),
        ("(eval '(raise 'inside))", "E0308", "(raise 'inside)"),
    ]);
}

#[test]
fn syntax_errors_are_found_before_anything_runs() {
    for (text, code, at) in [
        ("(display 1) (if)", "E0201", "(if)"),
        ("(display 1) (let ((x 1) (x 2)) x)", "E0202", "x"),
        ("(display 1) (lambda (a a) a)", "E0202", "a"),
        ("(display 1) (f . 5)", "E0201", "(f . 5)"),
        ("(display 1) ()", "E0212", "()"),
        ("(display 1) (define)", "E0201", "(define)"),
        ("(display 1) if", "E0205", "if"),
        ("(display 1) (+ 1 else)", "E0205", "else"),
        ("(display 1) (list 1 (define x 2))", "E0206", "(define x 2)"),
        ("(display 1) (+ 1 2", "E0101", "("),
        ("(display 1) (+ 1 2))", "E0102", ")"),
        ("(display 1) \"abc", "E0105", "\"abc"),
        ("(display 1) (loop ((i 0)) (+ 1 (recur 1)))", "E0208", "(recur 1)"),
        ("(display 1) (recur 1)", "E0208", "(recur 1)"),
        ("(display 1) (define-library (a b))", "E0210", "(define-library (a b))"),
        ("(display 1) (import (unknown library))", "E0207", "(unknown library)"),
        ("(display 1) (define-syntax m 5)", "E0204", "5"),
    ] {
        for mode in &MODES {
            let result = run(text, mode);
            let failure = result.as_ref().expect_err(text);
            let (got, under) = common::code_and_text(failure);
            assert_eq!((got.as_str(), under.as_str()), (code, at), "[{mode}] {text}: {}", summary(&result));
            assert_eq!(failure.output, "", "[{mode}] {text}");
        }
    }
}

#[test]
fn output_before_an_error_is_kept() {
    for mode in &MODES {
        let failure = run("(display \"before\") (newline) (car 5) (display \"after\")", mode).expect_err("an error");
        assert_eq!(failure.output, "before\n", "[{mode}]");
    }
}

#[test]
fn conditions_can_be_looked_at() {
    expect_values(&[
        ("(guard (e (#t (condition/report-string e))) (car 5))", "\"car expected a pair, got 5\""),
        ("(guard (e (#t (condition/report-string e))) (error \"msg:\" 'a \"b\" 3))", "\"msg: a \\\"b\\\" 3\""),
        (
            "(guard (e (#t (list (error-object? e) (error-object-message e) (error-object-irritants e)))) (error \"msg\" 1 2))",
            "(#t \"msg\" (1 2))",
        ),
        ("(guard (e ((error? e) 'error) (else 'other)) (vector-ref (vector 1) 5))", "error"),
        ("(guard (e ((error? e) 'error) (else 'other)) (raise 5))", "other"),
        (
            "(guard (e ((error-object? e) (error-object-message e))) (undefined-thing))",
            "\"the variable undefined-thing is not bound\"",
        ),
        (
            "(guard (e ((symbol? e) (list 'symbol e))) (with-exception-handler (lambda (e) (raise 'wrapped)) (lambda () (error \"inner\"))))",
            "(symbol wrapped)",
        ),
        (
            "(call/cc (lambda (k) (with-exception-handler (lambda (e) (k (list 'handled (error-object-message e)))) (lambda () (error \"deep\")))))",
            "(handled \"deep\")",
        ),
        ("(with-exception-handler (lambda (e) (* e 2)) (lambda () (+ 1 (raise-continuable 21))))", "43"),
        ("(guard (e (#t (list 'outer e))) (guard (e ((number? e) 'inner)) (raise 'sym)))", "(outer sym)"),
        ("(guard (e (#f 'never) ((assq 'a e) => cdr) ((assq 'b e))) (raise (list (cons 'a 42))))", "42"),
        // The after thunk runs inside the guard, whose handler takes its error too.
        (
            "(guard (e (#t (if (number? e) 'first 'second))) (dynamic-wind (lambda () 1) (lambda () (raise 2)) (lambda () (vector-ref 3 0))))",
            "second",
        ),
        ("(guard (e (#t (error-object-message e))) (exact (/ 5 0)))", "\"/: division by zero\""),
    ]);
    expect_output(&[
        (
            "(guard (e (#t (display \"caught \") (display (condition/report-string e)))) (dynamic-wind (lambda () (display \"in \")) (lambda () (error \"x\" 1)) (lambda () (display \"out \"))))",
            "in out caught x 1",
        ),
        (
            "(with-exception-handler (lambda (e) (display \"handler \") 5) (lambda () (display (+ 1 (raise-continuable 'c)))))",
            "handler 6",
        ),
    ]);
}
