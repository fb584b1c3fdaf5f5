//! A program ends when its fuel, depth, time or output are used up, or when it is cancelled.

mod common;

use common::{FAST, MODES, alone, cancel_after, options, run_with, summary};
use dmci::{Limits, Mode, RunOptions};
use std::time::{Duration, Instant};

// ---- depth

#[test]
fn recursion_a_million_deep_works_or_reports_the_limit() {
    let _alone = alone();
    for (text, expected) in [
        ("(define (count n) (if (= n 0) 0 (+ 1 (count (- n 1))))) (count 1000000)", "1000000"),
        ("(define (build n) (if (= n 0) '() (cons n (build (- n 1))))) (length (build 1000000))", "1000000"),
        ("(define (f n) (if (= n 0) 0 (+ 1 (apply f (list (- n 1)))))) (f 1000000)", "1000000"),
        ("(define (f n) (if (= n 0) 0 (+ 1 (car (map f (list (- n 1))))))) (f 1000000)", "1000000"),
        ("(define (f n) (if (= n 0) 0 (+ 1 (call/cc (lambda (k) (f (- n 1))))))) (f 1000000)", "1000000"),
        (
            "(define (f n) (if (= n 0) 0 (+ 1 (dynamic-wind (lambda () #f) (lambda () (f (- n 1))) (lambda () #f))))) (f 300000)",
            "300000",
        ),
        ("(define (f n) (if (= n 0) (raise 'deep) (+ 1 (f (- n 1))))) (guard (e (#t e)) (f 1000000))", "deep"),
        ("(define (f n) (if (= n 0) 0 (+ 1 (guard (e (#t 1)) (f (- n 1)))))) (f 100000)", "100000"),
        ("(define (f n) (if (= n 0) 0 (+ 1 (force (delay (f (- n 1))))))) (f 300000)", "300000"),
        ("(define (f n) (if (= n 0) 0 (+ 1 (eval (list f (- n 1)))))) (f 100000)", "100000"),
        ("(define (f n) (if (= n 0) 0 (+ 1 (vector-ref (vector-map f (vector (- n 1))) 0)))) (f 300000)", "300000"),
    ] {
        for mode in &FAST {
            let start = Instant::now();
            let result = run_with(text, &options(mode));
            let got = summary(&result);
            println!("{mode}: {:?}: {text}", start.elapsed());
            let ok = got.starts_with(&format!("{expected} |")) || got.starts_with("E0403") || got.starts_with("E0402");
            assert!(ok, "[{mode}] {text}: {got}");
        }
    }
}

#[test]
fn endless_recursion_reports_the_depth() {
    let _alone = alone();
    for text in [
        "(define (f n) (+ 1 (f n))) (f 0)",
        "(define (f) (cons 1 (f))) (f)",
        "(define (f x) (car (map f (list x)))) (f 0)",
        "(define (f x) (+ 1 (sort (list 1 2) (lambda (a b) (f x))))) (f 0)",
        "(define (f x) (+ 1 (call/cc f))) (f 0)",
        "(define (f) (guard (e (#f 0)) (f))) (f)",
        "(define (f) (with-exception-handler (lambda (e) 0) f) 1) (f)",
        "(define (f) (dynamic-wind f f f)) (f)",
        "(define (f) (+ 1 (eval '(f)))) (f)",
        "(define (f . l) (+ 1 (apply f 1 l))) (f)",
        "(define-syntax m (syntax-rules () ((_ x) (+ 1 x)))) (define (f) (m (f))) (f)",
        "(with-exception-handler (lambda (e) (raise e)) (lambda () (raise 'x)))",
        "(define (h e) (car e)) (define (f) (with-exception-handler h (lambda () (+ 1 (f))))) (f)",
        "(define s (delay (+ 1 (force s)))) (force s)",
    ] {
        for mode in &FAST {
            let mut options = options(mode);
            options.limits = Limits { depth: 1000, heap: 32 << 20, ..options.limits };
            let got = summary(&run_with(text, &options));
            let fine = ["E0403", "E0402", "E0308", "E0303"].iter().any(|code| got.starts_with(code));
            assert!(fine, "[{mode}] {text}: {got}");
        }
    }
}

// ---- fuel, time, cancelling

const ENDLESS: &[&str] = &[
    "(let loop ((i 0)) (loop (+ i 1)))",
    "(define (f) (g)) (define (g) (f)) (f)",
    "(do () (#f))",
    "(call/cc (lambda (k) (let loop () (call/cc (lambda (j) #f)) (loop))))",
    "(let ((k #f)) (call/cc (lambda (c) (set! k c))) (k 1))",
    "(define (f) (apply f '())) (f)",
    "(let loop () (guard (e (#t #f)) (raise 'x)) (loop))",
    "(let loop () (map (lambda (x) x) '(1 2 3)) (loop))",
    "(loop ((i 0)) (recur (+ i 1)))",
    "(define v (vector 1)) (let loop () (vector-set! v 0 v) (loop))",
    "(let loop ((s \"\")) (loop (number->string 5)))",
    "(let loop ((x 1.0)) (loop (* x 0.5)))",
    "(dynamic-wind (lambda () #f) (lambda () (let loop () (loop))) (lambda () (let loop () (loop))))",
    "(let loop () (eval '(+ 1 2)) (loop))",
    "(define (f) (with-exception-handler (lambda (e) 1) (lambda () (raise-continuable 1))) (f)) (f)",
    "(define s (let loop ((i 0)) (cons-stream i (loop (+ i 1))))) (let loop ((s s)) (loop (stream-cdr s)))",
    "(let loop ((i 0)) (string->symbol (number->string i)) (loop (+ i 1)))",
];

#[test]
fn endless_loops_end_by_fuel() {
    let _alone = alone();
    for text in ENDLESS {
        for mode in &MODES {
            let mut options = options(mode);
            options.limits.fuel = 20_000;
            let got = summary(&run_with(text, &options));
            assert!(got.starts_with("E0401"), "[{mode}] {text}: {got}");
        }
    }
}

#[test]
fn endless_loops_end_by_time() {
    let _alone = alone();
    for text in &ENDLESS[..4] {
        for mode in &MODES {
            let mut options = options(mode);
            options.limits.time = Duration::from_millis(50);
            let start = Instant::now();
            let got = summary(&run_with(text, &options));
            assert!(got.starts_with("E0405"), "[{mode}] {text}: {got}");
            assert!(start.elapsed() < Duration::from_millis(50 + 150), "[{mode}] {text}: {:?}", start.elapsed());
        }
    }
}

/// Starts a program that never ends, cancels it after a while and returns how long it took to stop.
fn time_to_stop(text: &str, mode: &Mode, delay: Duration) -> (Duration, String) {
    let mut options = options(mode);
    options.limits = Limits { heap: 1 << 30, output: 1 << 30, ..options.limits };
    options.cancel = cancel_after(delay);
    let start = Instant::now();
    let got = summary(&run_with(text, &options));
    (start.elapsed().saturating_sub(delay), got)
}

/// The first of some measurements that is short enough, or the shortest.
fn best(tries: impl Iterator<Item = (Duration, String)>) -> (Duration, String) {
    let mut best = (Duration::MAX, String::new());
    for measured in tries {
        best = best.min(measured);
        if best.0 < Duration::from_millis(50) {
            break;
        }
    }
    best
}

#[test]
fn cancelling_stops_every_loop_at_once() {
    let _alone = alone();
    let mut worst = Duration::ZERO;
    for text in ENDLESS {
        for mode in &FAST {
            let tries = (0..6).map(|_| time_to_stop(text, mode, Duration::from_millis(30)));
            let (time, got) = best(tries);
            assert!(got.starts_with("E0409"), "[{mode}] {text}: {got}");
            assert!(time < Duration::from_millis(150), "[{mode}] {text}: {time:?}");
            worst = worst.max(time);
        }
    }
    println!("loops stop within {worst:?}");
}

/// Programs that spend their time inside single primitives and library procedures.
#[test]
fn cancelling_stops_long_primitives() {
    let _alone = alone();
    let big = "(define big (iota 200000)) (define v (make-vector 200000 1.5)) (define s (make-string 200000 #\\a)) \
               (define n (expt 3 100000)) (define (forever f) (f) (forever f)) ";
    let mut slow = Vec::new();
    for work in [
        "(list-copy big)",
        "(length big)",
        "(reverse big)",
        "(append big big)",
        "(equal? big (list-copy big))",
        "(sort big <)",
        "(sort big >)",
        "(sort v <)",
        "(list->vector big)",
        "(vector->list v)",
        "(vector-copy v)",
        "(vector-fill! v 2)",
        "(vector-map + v v)",
        "(apply + big)",
        "(apply max big)",
        "(map + big big)",
        "(list-tail big 199999)",
        "(memv 'x big)",
        "(assv 'x (map (lambda (x) (cons x x)) big))",
        "(string-append s s)",
        "(string->list s)",
        "(string->symbol s)",
        "(string=? s (string-copy s))",
        "(string-search-forward \"b\" s 0)",
        "(string-upcase s)",
        "(* n n)",
        "(number->string n)",
        "(quotient (* n n) (+ n 1))",
        "(expt 7 100000)",
        "(exact-integer-sqrt n)",
        "(gcd n (+ n 1))",
        "(call-with-output-string (lambda (p) (write big p)))",
        "(with-output-to-string (lambda () (display v)))",
        "(list->string (string->list s))",
        "(filter odd? big)",
        "(fold-left + 0 big)",
        "(delete 5 big)",
        "(last-pair big)",
        "(equal? (make-vector 1000000 1) (make-vector 1000000 1))",
        "(let ((h (make-equal-hash-table))) (hash-table-set! h big 1) (hash-table-ref/default h big 0))",
        "(hash-table->alist (let ((h (make-equal-hash-table))) (for-each (lambda (x) (hash-table-set! h x x)) big) h))",
        "(read (open-input-string (string-append \"(\" s \")\")))",
        "(eval (cons '+ big))",
        "(string->number (number->string n))",
    ] {
        for mode in &FAST {
            let text = format!("{big} (forever (lambda () {work}))");
            // The machine may be busy with something else: the best of several counts.
            let tries = (0..6).map(|_| time_to_stop(&text, mode, Duration::from_millis(200)));
            let (time, got) = best(tries);
            println!("{mode}: {work}: stopped after {time:?}");
            if !got.starts_with("E0409") || time > Duration::from_millis(150) {
                slow.push(format!("[{mode}] {work}: {time:?}: {}", got.chars().take(200).collect::<String>()));
            }
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

/// One call of a primitive on data so large that it takes longer than the time allowed. The program ends with it,
/// so nothing but the primitive itself can notice.
#[test]
fn a_long_primitive_observes_flag_and_time() {
    let _alone = alone();
    let data = "(define a (iota 300000)) (define b (append (iota 300000) '(1)))";
    let ready = Instant::now();
    run_with(data, &options(&Mode::Direct)).unwrap();
    let ready = ready.elapsed();
    for work in ["(member a (list b b b b b b b b))", "(assoc a (map list (list b b b b b b b b)))"] {
        let text = format!("{data} {work}");
        let delay = ready + Duration::from_millis(100);
        let (time, got) = best((0..3).map(|_| time_to_stop(&text, &Mode::Direct, delay)));
        // A machine on which the whole takes no longer than that has nothing to show.
        assert!(got.starts_with("E0409") || got.starts_with("#f"), "{work}: {got}");
        assert!(time < Duration::from_millis(150), "{work}: {time:?} {got}");
        let mut options = options(&Mode::Direct);
        options.limits.time = delay;
        let got = summary(&run_with(&text, &options));
        assert!(got.starts_with("E0405") || got.starts_with("#f"), "{work}: {got}");
    }
}

// ---- output

#[test]
fn endless_output_ends_by_the_output_limit() {
    let _alone = alone();
    for text in [
        "(let loop () (display \"hello\") (loop))",
        "(let loop () (newline) (loop))",
        "(let loop () (write-char #\\a) (loop))",
        "(display (make-string 5000000 #\\a))",
        "(write (iota 1000000))",
        "(define l (list 1)) (set-cdr! l l) (let loop () (write l) (loop))",
        "(define (nest n l) (if (= n 0) l (nest (- n 1) (list l l)))) (display (nest 40 '()))",
        "(define (nest n l) (if (= n 0) l (nest (- n 1) (vector l l)))) (write (nest 60 '()))",
    ] {
        for mode in &FAST {
            let options = options(mode);
            let limit = options.limits.output;
            let result = run_with(text, &options);
            let got = summary(&result);
            assert!(got.starts_with("E0404"), "[{mode}] {text}: {}", got.chars().take(200).collect::<String>());
            let output = result.map_or_else(|f| f.output, |o| o.output);
            assert!(output.len() <= limit, "[{mode}] {text}: {} bytes", output.len());
        }
    }
}

#[test]
fn machines_are_clean_after_a_failure() {
    let _alone = alone();
    // The interpreter keeps machines for reuse: nothing of a failed run may be seen by the next one.
    let options = RunOptions { mode: Mode::Direct, ..RunOptions::default() };
    let spoil = [
        "(define car 5) (define x 'left) (parameterize () (car 1))",
        "(define-syntax if (syntax-rules () ((_ . x) 'mine))) (car 5)",
        "(with-exception-handler (lambda (e) 'handler) (lambda () (car 5)))",
        "(dynamic-wind (lambda () #f) (lambda () (car 5)) (lambda () #f))",
        "(eval '(define + -)) (set! list 5) (raise 'x)",
        "(display \"left over\") (car 5)",
        "(define (f n) (+ 1 (f n))) (f 0)",
        "(let loop ((l '())) (loop (cons 1 l)))",
    ];
    for text in spoil {
        for mode in &MODES {
            let mut spoiling = common::options(mode);
            spoiling.limits = Limits { heap: 32 << 20, depth: 10_000, ..spoiling.limits };
            let _ = run_with(text, &spoiling);
            let outcome =
                run_with("(display (+ 1 2)) (list (car '(1)) (if #f 1 2) (guard (e (#t 'unbound)) x))", &options)
                    .unwrap_or_else(|e| panic!("after {text}: {e}"));
            assert_eq!((outcome.text.as_str(), outcome.output.as_str()), ("(1 2 unbound)", "3"), "after {text}");
        }
    }
}
