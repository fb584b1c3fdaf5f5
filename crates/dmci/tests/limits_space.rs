//! Tail calls run in constant space, and a program keeps to the memory it was given.

mod common;

use common::{FAST, MODES, alone, options, run_with, summary};
use dmci::{Interpreter, Mode, Program};
use std::process::Command;
use std::time::{Duration, Instant};

/// Peak memory of this process in bytes, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// Not a test of its own: runs one program in a process whose peak memory is its own.
#[test]
fn child() {
    let (Ok(text), Ok(mode)) = (std::env::var("DMCI_TEST_PROGRAM"), std::env::var("DMCI_TEST_MODE")) else { return };
    let mut options = options(&Mode::parse(&mode).expect("a mode"));
    if let Some(heap) = std::env::var("DMCI_TEST_HEAP").ok().and_then(|h| h.parse().ok()) {
        options.limits.heap = heap;
    }
    Interpreter::shared();
    let before = peak_memory().unwrap_or(0);
    let start = Instant::now();
    let result = Interpreter::shared().run(&Program::new(&text), &options);
    let grown = peak_memory().unwrap_or(0).saturating_sub(before);
    println!("\n@@ {} {} {}", grown, start.elapsed().as_millis(), summary(&result).replace('\n', " "));
}

/// Runs a program in a process of its own: growth of its peak memory, and the summary of the result.
fn in_child(text: &str, mode: &Mode, heap: usize) -> (u64, Duration, String) {
    let output = Command::new(std::env::current_exe().expect("a test binary"))
        .args(["child", "--exact", "--nocapture"])
        .env("DMCI_TEST_PROGRAM", text)
        .env("DMCI_TEST_MODE", mode.to_string())
        .env("DMCI_TEST_HEAP", heap.to_string())
        .output()
        .expect("a child process");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|l| l.strip_prefix("@@ ")).unwrap_or_else(|| {
        panic!("the child ended with {}: {text}{}", output.status, String::from_utf8_lossy(&output.stderr))
    });
    let mut parts = line.splitn(3, ' ');
    let mut number = || parts.next().and_then(|p| p.parse::<u64>().ok()).unwrap_or(0);
    let (grown, millis) = (number(), number());
    (grown, Duration::from_millis(millis), parts.next().unwrap_or("").to_string())
}

/// Loops of `N` iterations whose every step is a tail call of some kind, and their values.
const TAIL_LOOPS: &[(&str, &str, &str)] = &[
    ("named let", "(let loop ((i 0) (s 0)) (if (< i N) (loop (+ i 1) (+ s i)) s))", ""),
    ("define", "(define (loop i) (if (= i N) 'done (loop (+ i 1)))) (loop 0)", "done"),
    ("do", "(do ((i 0 (+ i 1))) ((= i N) 'done))", "done"),
    (
        "mutual",
        "(define (ev? n) (if (= n 0) #t (od? (- n 1)))) (define (od? n) (if (= n 0) #f (ev? (- n 1)))) (ev? N)",
        "#t",
    ),
    (
        "mutual through variables",
        "(define f #f) (define (g n) (if (= n 0) 'done (f (- n 1)))) (set! f (lambda (n) (g n))) (g N)",
        "done",
    ),
    ("apply", "(define (loop i . rest) (if (= i N) 'done (apply loop (+ i 1) rest))) (loop 0 1 2)", "done"),
    ("cond arrow", "(define (loop i) (cond ((= i N) 'done) ((+ i 1) => loop))) (loop 0)", "done"),
    ("and or", "(define (loop i) (or (and (= i N) 'done) (loop (+ i 1)))) (loop 0)", "done"),
    ("when unless", "(define (loop i) (when #t (if (= i N) 'done (unless #f (loop (+ i 1)))))) (loop 0)", "done"),
    ("case", "(define (loop i) (case i ((N) 'done) (else (loop (+ i 1))))) (loop 0)", "done"),
    (
        "continuation passing",
        "(define (loop i k) (if (= i N) (k 'done) (loop (+ i 1) (lambda (x) (k x))))) (loop N (lambda (x) x))",
        "done",
    ),
    ("floats", "(let loop ((i 0) (x 0.5)) (if (< i N) (loop (+ i 1) (* 3.9 x (- 1.0 x))) (< 0. x 1.)))", "#t"),
    (
        "call with values",
        "(define (loop i) (if (= i N) 'done (call-with-values (lambda () (values (+ i 1))) loop))) (loop 0)",
        "done",
    ),
    ("loop recur", "(loop ((i 0)) (if (< i N) (recur (+ i 1)) 'done))", "done"),
    (
        "state in a vector",
        "(define v (make-vector 3 0)) (define (loop) (vector-set! v 0 (+ 1 (vector-ref v 0))) (if (< (vector-ref v 0) N) (loop) 'done)) (loop)",
        "done",
    ),
    ("garbage", "(let loop ((i 0) (l '())) (if (< i N) (loop (+ i 1) (list i i i)) (length l)))", "3"),
    ("call/cc", "(define (loop i) (if (= i N) 'done (call/cc (lambda (k) (loop (+ i 1)))))) (loop 0)", "done"),
    (
        "call/cc escapes",
        "(define (loop i) (if (= i N) 'done (begin (call/cc (lambda (k) (k i))) (loop (+ i 1))))) (loop 0)",
        "done",
    ),
    (
        "guard",
        "(define (loop i) (if (= i N) 'done (begin (guard (e (#t e)) (raise i)) (loop (+ i 1))))) (loop 0)",
        "done",
    ),
    (
        "parameterize",
        "(define p (make-parameter 0)) (define (loop i) (if (= i N) 'done (begin (parameterize ((p i)) (p)) (loop (+ i 1))))) (loop 0)",
        "done",
    ),
    (
        "delay force",
        "(define (stream n) (delay-force (if (= n 0) (delay 'done) (stream (- n 1))))) (force (stream N))",
        "done",
    ),
    (
        "eval",
        "(define (loop i) (if (= i N) 'done (eval (list loop (+ i 1)) (interaction-environment)))) (loop 0)",
        "done",
    ),
    ("strings", "(let loop ((i 0) (s \"\")) (if (< i N) (loop (+ i 1) (number->string i)) 'done))", "done"),
    (
        "symbols",
        "(let loop ((i 0)) (if (< i N) (begin (string->symbol (number->string (modulo i 1000))) (loop (+ i 1))) 'done))",
        "done",
    ),
];

/// Loops that do much per iteration run fewer of them.
fn iterations(name: &str, mode: &Mode) -> u64 {
    let full = if *mode == Mode::Direct { 10_000_000 } else { 1_000_000 };
    match name {
        "named let" | "define" | "mutual" => full,
        "eval" => 50_000,
        "guard" | "parameterize" | "call/cc escapes" => full / 50,
        _ => full / 10,
    }
}

#[test]
fn tail_calls_run_in_constant_space() {
    let _alone = alone();
    let mut failures = Vec::new();
    for mode in &FAST {
        for (name, text, expected) in TAIL_LOOPS {
            let n = iterations(name, mode);
            let expected = if expected.is_empty() { (n * (n - 1) / 2).to_string() } else { expected.to_string() };
            let text = text.replace('N', &n.to_string());
            let (grown, time, result) = in_child(&text, mode, 512 << 20);
            println!("{mode}: {name}: {n} iterations, {} MiB, {time:?}", grown >> 20);
            if result.trim_end_matches([' ', '|']) != expected || grown > 256 << 20 {
                failures.push(format!("[{mode}] {name}: {result}, {} MiB", grown >> 20));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn tail_calls_need_no_depth() {
    let _alone = alone();
    let mut failures = Vec::new();
    for mode in &MODES {
        let n = if *mode == Mode::Tower(2) { 1000 } else { 5000 };
        for (name, text, _) in TAIL_LOOPS {
            let text = text.replace('N', &n.to_string());
            let mut options = options(mode);
            options.limits.depth = 60;
            if let Err(failure) = run_with(&text, &options) {
                failures.push(format!("[{mode}] {name}: {failure}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn endless_allocation_ends_by_the_heap_limit() {
    let _alone = alone();
    let limit = 16 << 20;
    let mut complaints = common::Complaints::default();
    for text in [
        "(let loop ((l '())) (loop (cons 1 l)))",
        "(define (f n) (cons n (f (+ n 1)))) (f 0)",
        "(let loop ((v (vector))) (loop (vector v v v v)))",
        "(let loop ((v (make-vector 10 0))) (loop (vector-append v v)))",
        "(let loop ((s \"ab\")) (loop (string-append s s)))",
        "(let loop ((l '(1 2))) (loop (append l l)))",
        "(make-vector 1000000000000 0)",
        "(make-string 1000000000000 #\\a)",
        "(make-bytevector 1000000000000 0)",
        "(make-list 1000000000000 0)",
        "(iota 1000000000000)",
        "(let loop ((n 1)) (make-vector n 0) (loop (* 2 n)))",
        "(define l (list 1)) (let loop () (set! l (cons l l)) (loop))",
        "(define h (make-equal-hash-table)) (let loop ((i 0)) (hash-table-set! h i (list i)) (loop (+ i 1)))",
        "(let loop ((k #f)) (loop (lambda () k)))",
        "(let loop ((i 0) (l '())) (loop (+ i 1) (cons (string->symbol (number->string i)) l)))",
        "(let loop ((l '())) (loop (cons (delay l) l)))",
        "(let loop ((l '())) (loop (cons (call/cc (lambda (k) k)) l)))",
        "(let loop ((l '())) (loop (cons (open-input-string \"abc\") l)))",
        "(define p (open-output-string)) (let loop () (write-string \"0123456789\" p) (loop))",
        "(define s (let loop ((i 0)) (cons-stream i (loop (+ i 1))))) (let loop ((t s)) (loop (stream-cdr t)))",
        "(let loop ((l '())) (loop (cons (scheme-report-environment 5) l)))",
        "(let loop ((l '())) (loop (cons (eval '(lambda (x) (lambda (y) (+ x y)))) l)))",
        "(define-record-type r (mk a) r? (a ra)) (let loop ((x 0)) (loop (mk x)))",
        "(let loop ((l '()) (n 1)) (loop (cons n l) (* n 3)))",
    ] {
        for mode in &FAST {
            let (grown, time, got) = in_child(text, mode, limit);
            println!("{mode}: {} MiB, {time:?}: {text}", grown >> 20);
            let fine = ["E0402", "E0406", "E0403"].iter().any(|code| got.starts_with(code));
            // Two spaces while collecting, and the stack.
            if !fine || grown > 5 * limit as u64 || time > Duration::from_secs(30) {
                complaints.add(format!("[{mode}] {text}: {got}, {} MiB, {time:?}", grown >> 20));
            }
        }
    }
    complaints.none();
}

#[test]
fn garbage_does_not_count_for_long() {
    let _alone = alone();
    // Each makes some gigabytes of garbage under a limit of 32 MiB.
    for text in [
        "(let loop ((i 0)) (if (< i 100) (begin (make-vector 1000000 0) (loop (+ i 1))) 'done))",
        "(let loop ((i 0)) (if (< i 100) (begin (make-string 1000000 #\\a) (loop (+ i 1))) 'done))",
        "(let loop ((i 0)) (if (< i 500) (begin (iota 10000) (loop (+ i 1))) 'done))",
        "(define (count n) (if (= n 0) 0 (+ 1 (count (- n 1))))) (let loop ((i 0)) (if (< i 100) (begin (iota 100000) (count 10000) (loop (+ i 1))) 'done))",
        "(let loop ((i 0) (n 1)) (if (< i 1000) (loop (+ i 1) (modulo (* n 3) (expt 2 10000))) 'done))",
        "(let loop ((i 0)) (if (< i 100) (begin (with-output-to-string (lambda () (write (make-string 10000 #\\b)))) (loop (+ i 1))) 'done))",
    ] {
        for mode in &FAST {
            let mut options = options(mode);
            options.limits.heap = 32 << 20;
            let got = summary(&run_with(text, &options));
            assert_eq!(got, "done | ", "[{mode}] {text}");
        }
    }
}
