//! Deep and circular data, and deeply nested programs, are handled without a crash or a hang.

mod common;

use common::{FAST, MODES, alone, options, run_with, summary};
use dmci::{Limits, Mode};
use std::time::{Duration, Instant};

#[test]
fn data_nested_a_million_deep_is_handled() {
    let _alone = alone();
    let deep = "(define (nest n x) (if (= n 0) x (nest (- n 1) (list x)))) (define a (nest DEEP 1)) (define b (nest DEEP 1)) \
                (define (vnest n x) (if (= n 0) x (vnest (- n 1) (vector x)))) (define v (vnest DEEP 1)) ";
    let mut complaints = common::Complaints::default();
    for (work, expected) in [
        ("(equal? a b)", "#t"),
        ("(equal? a (nest (- DEEP 1) 1))", "#f"),
        ("(equal? v (vnest DEEP 1))", "#t"),
        ("(= (string-length (with-output-to-string (lambda () (write a)))) (+ 1 (* 2 DEEP)))", "#t"),
        ("(begin (with-output-to-string (lambda () (display v))) 'fine)", "fine"),
        (
            "(let ((h (make-equal-hash-table))) (hash-table-set! h a 'found) (hash-table-ref/default h b 'missing))",
            "found",
        ),
        ("(pair? (list-copy a))", "#t"),
        ("(eq? (eval (list 'quote a)) a)", "#t"),
        ("(member a (list 1 b))", ""),
        ("(guard (e (#t 'caught)) (eval a))", "E0407"),
        ("(guard (e (#t 'caught)) (error \"deep\" a))", "caught"),
        ("(guard (e (#t 'caught)) (car a a))", "caught"),
        ("(guard (e (#t 'caught)) (vector-ref a 0))", "caught"),
        ("(guard (e (#t 'caught)) (+ 1 v))", "caught"),
        ("(raise a)", "E0308"),
        ("(error \"deep\" v)", "E0307"),
        ("(+ 1 a)", "E0303"),
        ("(a)", "E0304"),
        (
            "(define (expr n x) (if (= n 0) x (expr (- n 1) (list '+ 1 x)))) (guard (e (#t 'caught)) (eval (expr (quotient DEEP 10) 0)))",
            "",
        ),
        (
            "(define (expr n x) (if (= n 0) x (expr (- n 1) (list 'lambda '() x)))) (guard (e (#t 'caught)) (procedure? (eval (expr (quotient DEEP 10) 0))))",
            "",
        ),
        (
            "(define (expr n x) (if (= n 0) x (expr (- n 1) (list 'let (list (list 'y x)) 'y)))) (guard (e (#t 'caught)) (eval (expr (quotient DEEP 10) 0)))",
            "",
        ),
        (
            "(define (expr n x) (if (= n 0) x (expr (- n 1) (list 'quasiquote (list 'unquote x))))) (guard (e (#t 'caught)) (eval (expr (quotient DEEP 10) 0)))",
            "",
        ),
        ("a", ""),
        ("v", ""),
        ("(define l (iota 3000000)) l", ""),
    ] {
        for mode in &FAST {
            let mut options = options(mode);
            options.limits.output = 16 << 20;
            // Interpreted programs build their data more slowly.
            let levels = if *mode == Mode::Direct { "1000000" } else { "100000" };
            let text = format!("{deep} {work}").replace("DEEP", levels);
            let got = summary(&run_with(&text, &options));
            let got: String = got.chars().take(300).collect();
            if !got.starts_with(expected) || got.starts_with("E99") || got.starts_with("E0405") {
                complaints.add(format!("[{mode}] {work}: expected {expected}, got {got}"));
            }
        }
    }
    complaints.none();
}

#[test]
fn programs_nested_deeply_do_not_crash() {
    let _alone = alone();
    let n = 200_000;
    let texts = [
        format!("{}1{}", "(+ 1 ".repeat(n), ")".repeat(n)),
        format!("{}1{}", "(let ((x 1)) ".repeat(n), ")".repeat(n)),
        format!("{}1{}", "(lambda () ".repeat(n), ")".repeat(n)),
        format!("{}1{}", "(if #t ".repeat(n), ")".repeat(n)),
        format!("{}1{}", "(begin ".repeat(n), ")".repeat(n)),
        format!("{}1{}", "(and 1 ".repeat(n), ")".repeat(n)),
        format!("{}1{}", "((lambda (x) x) ".repeat(n), ")".repeat(n)),
        format!("'{}{}", "(".repeat(n), ")".repeat(n)),
        format!("{}x", "'".repeat(n)),
        format!("{}x", "`".repeat(n)),
        format!("{}1{}", "#(".repeat(n), ")".repeat(n)),
        "(".repeat(1_000_000),
        ")".repeat(1_000_000),
        "#;".repeat(1_000_000),
        format!("(begin {})", "(define x 1) ".repeat(100_000)),
        format!("(+ {})", "1 ".repeat(300_000)),
        format!("(list {})", "1 ".repeat(300_000)),
        format!("(let* ({}) 1)", "(x 1) ".repeat(20_000)),
        format!("(cond {} (else 1))", "(#f 2) ".repeat(20_000)),
        format!("(let () {} 1)", "(define x 1)".replace('x', "y")),
        format!("(vector {})", "(list 1) ".repeat(100_000)),
    ];
    for text in &texts {
        for mode in &MODES {
            let start = Instant::now();
            let got = summary(&run_with(text, &options(mode)));
            let (head, got): (String, String) = (text.chars().take(30).collect(), got.chars().take(120).collect());
            println!("{mode}: {head}: {got} in {:?}", start.elapsed());
            assert!(!got.starts_with("E99"), "[{mode}] {head}: {got}");
            assert!(start.elapsed() < Duration::from_secs(20), "[{mode}] {head}: {:?}", start.elapsed());
        }
    }
}

#[test]
fn circular_data_give_errors_or_end() {
    let _alone = alone();
    let circular = "(define c (list 1 2 3)) (set-cdr! (cddr c) c) (define v (vector 1 2)) (vector-set! v 0 v) \
                    (define p (list 1)) (set-car! p p) ";
    let mut complaints = common::Complaints::default();
    for (work, expected) in [
        ("(length c)", "E0314 @ (length c)"),
        ("(list? c)", "#f"),
        ("(list-copy c)", "E0303 @ (list-copy c)"),
        ("(reverse c)", "E0314 @ (reverse c)"),
        ("(append c '(1))", "E0314 @ (append c '(1))"),
        ("(apply + c)", "E0314 @ (apply + c)"),
        ("(map 1+ c)", "E0"),
        ("(for-each display c)", "E0"),
        ("(map + c '(1 2 3 4 5))", "(2 4 6 5 7)"),
        ("(vector-map + #(1 2) v)", "E0303 @ (vector-map + #(1 2) v)"),
        ("(list->vector c)", "E0314 @ (list->vector c)"),
        ("(memv 5 c)", "E0314 @ (memv 5 c)"),
        ("(assv 5 c)", ""),
        ("(sort c <)", "E0303 @ (sort c <)"),
        ("(fold-left + 0 c)", "E0"),
        ("(fold-right + 0 c)", "E0"),
        ("(reduce + 0 c)", "E0"),
        ("(filter odd? c)", "E0"),
        ("(delete 1 c)", "E0"),
        ("(last-pair c)", ""),
        ("(equal? c c)", "#t"),
        ("(equal? c (let ((d (list 1 2 3))) (set-cdr! (cddr d) d) d))", "#t"),
        ("(equal? v (let ((w (vector 1 2))) (vector-set! w 0 w) w))", "#t"),
        ("(equal? p (list p))", "#t"),
        ("(with-output-to-string (lambda () (write c)))", "\"#0=(1 2 3 . #0#)\""),
        ("(with-output-to-string (lambda () (display v)))", "\"#0=#(#0# 2)\""),
        ("(with-output-to-string (lambda () (write-shared p)))", "\"#0=(#0#)\""),
        ("(let ((h (make-equal-hash-table))) (hash-table-set! h c 1) (hash-table-ref/default h c 0))", "1"),
        ("(list-tail c 1000)", "#0=(2 3 1 . #0#)"),
        ("(list-ref c 1000)", "2"),
        ("(list->string c)", ""),
        ("(apply list c)", "E0314 @ (apply list c)"),
        ("(eval c)", "E0"),
        ("(eval (list 'quote c))", "#0=(1 2 3 . #0#)"),
        ("(eval (cons '+ c))", "E0"),
        ("(eval (cons 'begin c))", "E0"),
        ("(eval (list 'lambda c 1))", "E0"),
        ("(eval (list 'let c 1))", "E0"),
        ("(eval p)", "E0"),
        ("(let ((e (list 'if #t #f 1))) (set-car! (cddr e) e) (eval e))", "E0"),
        ("(error \"circular\" c)", "E0307"),
        ("(raise p)", "E0308"),
        ("(+ 1 c)", "E0303"),
        ("(length+ c)", ""),
        ("(list-index even? c)", "1"),
        ("(any even? c)", "#t"),
        ("(every odd? c)", "#f"),
        ("(assoc 2 (list c))", ""),
        ("(string-append c)", "E0303"),
        ("(hash-table? c)", "#f"),
        ("c", "#0=(1 2 3 . #0#)"),
        ("v", "#0=#(#0# 2)"),
    ] {
        for mode in &FAST {
            let mut options = options(mode);
            options.limits = Limits { fuel: 1_000_000, heap: 32 << 20, ..options.limits };
            let result = run_with(&format!("{circular} {work}"), &options);
            let got = match &result {
                Ok(outcome) => outcome.text.clone(),
                Err(failure) => {
                    let (code, at) = common::code_and_text(failure);
                    format!("{code} @ {at}")
                }
            };
            let bad = ["E0405", "E99"].iter().any(|code| got.starts_with(code));
            if !got.starts_with(expected) || bad {
                complaints.add(format!("[{mode}] {work}: expected {expected}, got {}", summary(&result)));
            }
        }
    }
    complaints.none();
}
