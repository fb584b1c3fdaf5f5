//! A lane fails among others as it does alone, and where it does not fail, its numbers are those of the lane alone.

#![allow(clippy::unwrap_used)]

mod common;

use common::Complaints;
use dmci::{
    Column, Datum, GradOptions, Interpreter, Mode, Model, ModelOptions, Numerics, Program, RunOptions, Want, Wrt,
};

/// What became of a lane: its value and its derivative by `a`, or its error.
type Fate = Result<[u64; 2], String>;

/// Bits with one NaN.
fn fate(numbers: [f64; 2]) -> Fate {
    Ok(numbers.map(|x| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }))
}

fn alone(program: &Program, row: &Datum, numerics: Numerics) -> Fate {
    let bindings = vec![("a".to_string(), Datum::Real(1.5)), ("x".to_string(), row.clone())];
    let run = RunOptions { mode: Mode::Direct, bindings, numerics, ..RunOptions::default() };
    let options = GradOptions { run, wrt: Wrt::Names(vec!["a".into()]), hessian: false };
    match Interpreter::shared().grad(program, &options) {
        Ok(gradient) => fate([gradient.value, gradient.flat[0]]),
        Err(failure) => Err(failure.diagnostics[0].message.clone()),
    }
}

/// What the rows of a batch come to, in their order, of which the first is walked first.
fn together(program: &Program, rows: &[Datum], numerics: Numerics, joins: bool) -> Vec<Fate> {
    let run = RunOptions { mode: Mode::Direct, numerics, ..RunOptions::default() };
    let options = ModelOptions { run, joins, ..ModelOptions::default() };
    let model = Model::new(program.clone(), &["a"], &["x"], options);
    let batch = model.evaluate(&[1.5], &[Column::Data(rows.to_vec())], Want::Gradients).unwrap();
    let mut fates: Vec<Fate> = batch.values.iter().zip(&batch.gradients).map(|(&v, &g)| fate([v, g])).collect();
    for (lane, failure) in &batch.failures {
        fates[*lane] = Err(failure.diagnostics[0].message.clone());
    }
    fates
}

/// Checks that programs of a parameter `a` and an input `x` give every row what it gives alone, whichever is first.
#[track_caller]
fn expect_lanes_alone(rows: &[Datum], table: &[&str]) {
    let mut complaints = Complaints::default();
    for text in table {
        let program = Program::new(text);
        for numerics in [Numerics::default(), Numerics { single: true, clamps: false }] {
            let expected: Vec<Fate> = rows.iter().map(|row| alone(&program, row, numerics)).collect();
            // Where one order of the rows is wrong, others say no more.
            let wrong = (0..2 * rows.len()).find_map(|i| {
                let (first, joins) = (i / 2, i % 2 == 0);
                let mut rows = rows.to_vec();
                let mut expected = expected.clone();
                rows.rotate_left(first);
                expected.rotate_left(first);
                let got = together(&program, &rows, numerics, joins);
                let lane = (0..rows.len()).find(|&lane| got[lane] != expected[lane])?;
                let what = format!("{text} at {:?} behind {:?}, {numerics:?}, joins {joins}", rows[lane], rows[0]);
                Some((what, format!("{:?}", got[lane]), format!("{:?}", expected[lane])))
            });
            if let Some((what, got, expected)) = wrong {
                complaints.check(&what, &got, &expected);
            }
        }
    }
    complaints.none();
}

fn integers(list: &[i64]) -> Vec<Datum> {
    list.iter().map(|&i| Datum::Integer(i)).collect()
}

fn reals(list: &[f64]) -> Vec<Datum> {
    list.iter().map(|&x| Datum::Real(x)).collect()
}

#[test]
fn a_lane_that_divides_by_an_exact_zero_fails_among_others() {
    let rows = integers(&[2, 0, -3, 0, 1]);
    expect_lanes_alone(
        &rows,
        &[
            "(/ a x)",
            "(/ 1. x)",
            "(/ 3 x)",
            "(/ x)",
            "(/ a 2 x)",
            "(/ a x x)",
            "(apply / (list a x))",
            "(* a (/ 1.5 (* x 2)))",
            "(if (< a 0) a (/ a x))",
            "(if (< x 1) (/ a x) (/ a 2))",
            "(if (< x 2) a (/ a x))",
            "(guard (e (#t a)) (/ a x))",
            "(fold-left / a (list 1 x))",
            "(let loop ((i x) (s a)) (if (< i 6) (loop (+ i 1) (+ s (/ 1. i))) s))",
            "(let loop ((i 0) (s a)) (if (< i 40) (loop (+ i 1) (+ s (/ a (+ i x)))) s))",
            "(* a (quotient 7 x))",
            "(* a (remainder 7 x))",
            "(* a (modulo 7 x))",
            "(* a (floor-quotient x x))",
            "(* a (quotient 7. x))",
            "(* a (remainder 7. x))",
            "(* a (modulo 7. x))",
            "(* a (floor-quotient 7. x))",
            "(* a (truncate-quotient 7. x))",
            "(* a (floor-remainder 7. x))",
            "(* a (truncate-remainder 7. x))",
            "(* a (quotient (floor a) x))",
            "(* a (modulo (exact->inexact x) x))",
            "(* a (quotient 7 (exact->inexact x)))",
            "(* a (modulo 7. (exact->inexact x)))",
            "(* a (call-with-values (lambda () (floor/ 7 x)) +))",
            "(* a (call-with-values (lambda () (truncate/ 7. x)) +))",
            "(* a (expt x -1))",
            "(* a (expt x -2.))",
            "(* a (expt 0 x))",
            "(* a (expt 0. x))",
            "(* a (exact (/ 6. x)))",
            "(* a (exact (/ 6 x)))",
            "(* a (exact->inexact (/ x 2)))",
            "(* a (exact (/ x 2)))",
            "(* a (exact (* x 0.5)))",
            "(* a (log x))",
            "(* a (atan x 0))",
            "(* a (gcd x 4) (lcm x 6))",
            "(* a (exact-integer-sqrt x))",
            "(* a (sqrt x))",
            "(vsum (/ (vec a 1.) x))",
            "(* a (string->number (number->string x 10)))",
            "(derivative (lambda (y) (/ y x)) a)",
            "(derivative (lambda (y) (/ a y)) x)",
        ],
    );
}

#[test]
fn a_lane_whose_index_is_outside_fails_among_others() {
    expect_lanes_alone(
        &integers(&[1, 3, 0, -1, 2]),
        &[
            "(* a (vector-ref (vector 1. 2. 3.) x))",
            "(* a (vector-ref (vector 1 2. 3) x))",
            "(* a (list-ref (list 1. 2. a) x))",
            "(* a (list-ref (list 1 2. a) x))",
            "(* a (list-ref (cons 1. (cons 2. 3.)) x))",
            "(* a (ref (vec 1. 2. 3.) x))",
            "(* a (vsum (ref (matrix (list 1. 2.) (list a 1.) (list 2. 3.)) x)))",
            "(* a (length (list-tail (list 1 2) x)))",
            "(* a (length (list-head (list 1 2) x)))",
            "(* a (vector-length (make-vector x a)))",
            "(* a (string-length (make-string x #\\a)))",
            "(let ((v (vector 1. 2. 3.))) (vector-set! v x a) (vector-ref v 1))",
            "(* a (string-length (string-pad-left \"abc\" x)))",
            "(* a (char->integer (string-ref \"abc\" x)))",
            "(* a (char->integer (integer->char x)))",
            "(* a (vector-length (subvector (vector 1 2 3) x 3)))",
            "(* a (string-length (substring \"abc\" x 3)))",
            "(* a (apply + (iota x)))",
            "(* a (exact-rational? x) 1)",
            "(* a (arithmetic-shift x x))",
            "(* a (shift-left 1 x))",
            "(* a (bit-and x 3))",
            "(* a (random x))",
            "(* a (vsum (zeros x)))",
            "(* a (vsum (slice (vec 1. 2. 3.) x 3)))",
            "(* a (string-length (number->string 12 x)))",
            "(* a (vector-ref (vector 1. 2. 3.) (exact->inexact x)))",
            "(* a (if (exact-nonnegative-integer? x) 1. 2.))",
            "(let ((v (vector a a a))) (vector-fill! v 2. x) (vector-ref v 1))",
            "(* a (length (vector->list (vector 1 2 3) x)))",
            "(* a (if (boolean=? (< x 1) #t) 1. 2.))",
            "(* a (or (char->digit #\\1 x) 5))",
            "(* a (string-length (string x)))",
            "(* a (string-length (string-pad-left (number->string x) 3)))",
            "(* a (length (or (memv x '(0 1 2)) '())))",
            "(* a (cdr (or (assv x '((0 . 1) (2 . 5))) '(1 . 7))))",
            "(* a (bytevector-u8-ref (bytevector 1 2 3) x))",
            "(* a (bytevector-length (make-bytevector x 0)))",
            "(* a (bytevector-u8-ref (bytevector x) 0))",
            "(let ((l (list 1. 2. 3.))) (list-set! l x a) (cadr l))",
            "(* a (or (string-search-forward \"a\" \"aba\" x) 7))",
            "(* a (truncate->exact (/ x 2)))",
            "(* a (min x 1.5) (max x 1.5))",
            "(* a (vector-length (vector-grow (vector 1) x)))",
            "(* a (hash-table-ref/default (let ((h (make-equal-hash-table))) (hash-table-set! h 1 4.) h) x 2.))",
            "(* a (length (list-copy (make-list x 1))))",
            "(* a (vsum (reshape (vec 1. 2. 3.) x)))",
            "(* a (vsum (vector->tensor (make-vector x 1.))))",
            "(* a (sign x) (relu x) (square x) (cube x) (exact->inexact x))",
            "(apply + (vector->list (vec 1. a 3.) x))",
            "(apply + (vector->list (vec 1. a 3.) 0 x))",
            "(* a (length (vector->list (mat (vec 1. a) (vec 2. 3.)) x)))",
            "(vector-ref (vec 1. a 3.) x)",
            "(* a (length (vector->list x)))",
            "(* a (vector-length x))",
            "(* a (vector-ref x x))",
            "(pow x \"x\")",
            "(* a (1+ (< x 1)))",
            "(* a (exact->inexact (< x 1)))",
            "(* a (length (del-assv x (list x 2 (cons x 1)))))",
            "(reshape (* a x) 1)",
            "(list (* a x))",
        ],
    );
}

#[test]
fn a_lane_whose_real_is_not_an_integer_fails_among_others() {
    expect_lanes_alone(
        &reals(&[4.0, 4.5, 0.0, -3.0, f64::INFINITY, f64::NAN, 1e300, -0.0]),
        &[
            "(* a (quotient x 2.))",
            "(* a (quotient x 2))",
            "(* a (remainder x 3))",
            "(* a (modulo x 3.))",
            "(* a (floor-quotient x 3.))",
            "(* a (modulo 7 x))",
            "(* a (quotient 7. x))",
            "(* a (floor-remainder 7. x))",
            "(* a (exact x))",
            "(* a (exact (floor x)))",
            "(* a (round->exact x))",
            "(* a (floor->exact x))",
            "(if (even? x) a (* 2 a))",
            "(if (odd? x) a (* 2 a))",
            "(* a (gcd x 2))",
            "(* a (exact-integer-sqrt x))",
            "(* a (numerator x))",
            "(if (integer? x) a (* 2 a))",
            "(if (rational? x) a (* 2 a))",
            "(* a (vector-ref (vector 1. 2. 3. 4. 5.) (exact x)))",
            "(* a (vector-ref (vector 1. 2. 3. 4. 5.) x))",
            "(* a (expt x 2))",
            "(* a (/ x 0.))",
            "(* a (max x 9007199254740993))",
            "(* a (+ x 9007199254740993))",
            "(if (< x 9007199254740993) a 1.)",
            "(apply + (sort (list a x 3.) <))",
            "(car (sort (list a x 3) <))",
            "(guard (e (#t (string-length (condition/report-string e)))) (car x))",
            "(guard (e (#t (string-length (condition/report-string e)))) (x))",
            "(guard (e (#t (string-length (condition/report-string e)))) ((vec a x)))",
            "(guard (e (#t (string-length (condition/report-string e)))) (eval (list 'let x 1)))",
            "(guard (e (#t (string-length (condition/report-string e)))) (eval (list 'lambda (list x) 1)))",
            "(guard (e (#t (string-length (condition/report-string e)))) (car (vec a x)))",
            "(guard (e (#t (string-length (condition/report-string e)))) (set! never-defined x))",
            "(guard (e (#t (string-length (condition/report-string e)))) (error \"text\" x))",
            "(guard (e (#t (string-length (condition/report-string e)))) (raise x))",
            "(guard (e (#t (string-length (condition/report-string e)))) (assert (< x 1)) a)",
            "(set! never-defined x)",
            "(car x)",
            "(x)",
            "((vec a x))",
            "(car (vec a x))",
            "(eval (list 'let x 1))",
            "(eval (list 'lambda (list x) 1))",
            "(begin (define-syntax m (syntax-rules () ((_ 4.) 1.) ((_ y) (* 2 y)))) (* a (eval (list 'm x))))",
            "(begin (define-syntax m (syntax-rules () ((_ #t) 1.) ((_ y) 2.))) (* a (eval (list 'm (< x 1)))))",
            "(begin (define-syntax m (syntax-rules () ((_ ()) 1.) ((_ y) (* 2 y)))) (* a (eval (list 'm x))))",
            "(error \"text\" x)",
            "(raise x)",
            "(vector-ref (vector 1) x)",
            "(string-append \"x\" x)",
            "(list-tail (list x) 2)",
            "(length (cons x x))",
            "(symbol->string (list x a))",
            "(hash-table-ref (make-equal-hash-table) x)",
            "(begin (assert (< x 1)) a)",
            "(exit x)",
        ],
    );
}

#[test]
fn logarithms_to_any_base_are_those_of_the_lane_alone() {
    expect_lanes_alone(&reals(&[4.0, 4.5, 0.0, -3.0, 1e300]), &["(* a (log 8. x))"]);
    expect_lanes_alone(&reals(&[3.0, 2.0, 10.0, 7.0]), &["(log a x)", "(* a (log 3. x))", "(* a (log x x))"]);
    expect_lanes_alone(&integers(&[3, 2, 10, 7, 0, 1]), &["(log a x)", "(* a (log 3. x))", "(* a (log x x))"]);
}

#[test]
fn large_integers_stay_what_they_are_beside_reals_of_either_precision() {
    expect_lanes_alone(
        &reals(&[4.0, 0.5, 0.0, -3.0, f64::INFINITY, f64::NAN, -1.0, 1.0, -0.0]),
        &["(* a (expt x 9007199254740993))", "(* a (expt x -9007199254740993))"],
    );
    expect_lanes_alone(
        &integers(&[3, 16777217, 0, -16777219, (1 << 40) + 1]),
        &[
            "(/ a x)",
            "(/ x 7.)",
            "(* a (quotient 1e9 x))",
            "(* a (modulo x 1e3))",
            "(if (< x 16777216.) a (* 2 a))",
            "(if (= x 16777216.) a (* 2 a))",
            "(* a (car (sort (list x 16777216 5) <)))",
            "(* a (expt x 2) (expt 2. x))",
            "(* a (max x 16777216.) (min x 16777216.))",
            "(* a (sqrt x))",
            "(* a (/ x 3))",
            "(* a (/ x 7))",
            "(* a (/ 7 x))",
            "(* a (atan x 3))",
            "(* a (hypot x 5000))",
        ],
    );
}

#[test]
fn integers_at_the_ends_of_64_bits_are_no_other_integers() {
    let two = 1 << 47;
    expect_lanes_alone(
        &integers(&[100, i64::MIN, i64::MIN + 1, i64::MAX, two, -two, two - 1, 1 - two, 0, -(1 << 31)]),
        &[
            "(* a (+ x 1))",
            "(* a (- x 1))",
            "(* a (- x))",
            "(* a (abs x))",
            "(* a x x)",
            "(* a (square x))",
            "(* a (expt x 2))",
            "(* a (gcd x 12))",
            "(* a (lcm x 12))",
            "(* a (quotient x 7))",
            "(* a (quotient x -1))",
            "(* a (modulo x -1))",
            "(* a (arithmetic-shift x -3))",
            "(* a (arithmetic-shift x 3))",
            "(* a (bitwise-and x 255))",
            "(if (= x 0) a (* 2 a))",
            "(if (< x 0) a (* 2 a))",
            "(if (even? x) a (* 2 a))",
            "(if (exact-nonnegative-integer? x) a (* 2 a))",
            "(if (eqv? x -9223372036854775808) a (* 2 a))",
            "(if (memv x '(100 -9223372036854775808)) a (* 2 a))",
            "(* a (max x 5) (min x 5))",
            "(* a (string-length (number->string x)))",
            "(begin (display x) a)",
            // Results that are -2^63 in a lane.
            "(* a (+ (* x 4294967296) 1))",
            "(* a (abs (* x 4294967296)))",
            "(* a (- (* x 65536 65536)))",
            "(* a (quotient (* x 4294967296) -1))",
            "(if (= (* x 4294967296) 0) a (* 2 a))",
            "(* a (abs (- x 9223372036854775908)))",
            "(* a (exact (* x 4294967296.)))",
            "(* a (bitwise-and (exact (* x 4294967296.)) 255))",
            "(let loop ((i 0) (n x)) (if (< i 32) (loop (+ i 1) (* n 2)) (* a (abs n))))",
        ],
    );
}

#[test]
fn functions_are_the_same_of_plain_and_of_traced_numbers_in_either_precision() {
    let unary = "- abs sqrt cbrt exp expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh \
                 erf erfc gamma lgamma digamma sigmoid softplus relu sign floor ceiling round truncate square cube";
    let binary = "+ - * / max min expt atan hypot log";
    let mut table: Vec<String> = unary.split_whitespace().map(|f| format!("(* a ({f} x))")).collect();
    for f in binary.split_whitespace() {
        table.extend([format!("(* a ({f} x 1.7))"), format!("(* a ({f} 1.7 x))"), format!("({f} a x)")]);
    }
    let table: Vec<&str> = table.iter().map(String::as_str).collect();
    expect_lanes_alone(&reals(&[0.3, 1.1, -2.7, 0.0, 10.0, 2.0, -0.0, 3.5]), &table);
    expect_lanes_alone(&integers(&[3, 1, -2, 10, 4, 7, 0]), &table);
}

/// An index that has to be pinned is refused at first, and arms and rounds are undone: what such errors depended on is
/// nothing that a later error depends on.
#[test]
fn errors_that_nobody_sees_are_forgotten() {
    let caught = "(define q (guard (e (#t 1.0)) (vector-ref (vector) x)))";
    let put = "(define v (vector a 1.0 2.0)) (define p (if (> a 0.0) a (vector-set! v (modulo x 3) (* 2 a))))";
    let texts = [
        format!("{put} {caught} (* p q)"),
        format!("{put} (define s (+ (* a a) (sin a) (cos a) (* x 2))) {caught} (* p q s)"),
        format!("(define v (vector a 1.0 2.0)) (vector-set! v (modulo x 3) (* 2 a)) {caught} (* (vector-ref v 1) q)"),
        "(define v (vector a)) ((if (<= a a) a (vector-set! v (modulo (+ x 2) 3) a)) (guard (e) (a)))".to_string(),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    expect_lanes_alone(&[4, 5, 6].map(Datum::Integer), &texts);
    let sorted = "(let loop ((i 0) (s a)) (if (>= i 5) s (loop (+ i 1) (+ s (begin (sort (list x x i) >) 1.0)))))";
    let texts = [
        format!("(define s {sorted}) (define q (guard (e (#t 1.0)) (car x))) (* s q)"),
        format!("(+ {sorted} (guard (e (#t 1.0)) (a)) x)"),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    expect_lanes_alone(&[-0.329, 0.5, 7.0].map(Datum::Real), &texts);
}

/// An item that a lane does not take contributes nothing to its gradient, not even a zero or what is no number.
#[test]
fn items_at_an_index_have_the_derivatives_of_the_lane_alone() {
    let rows = integers(&[1, 0, 2, 1]);
    expect_lanes_alone(
        &rows,
        &[
            "(list-ref (list (sqrt (- a 1.5)) a (log (- a 1.5))) x)",
            "(let* ((A (mat (vec (sin (+ (* a a) 1.)) 2.) (vec 0.5 2.))) (z (vec 1. (list-ref (list 3. a 0.5) x)))) (ref (matmul A z) 1))",
            "(let ((y (vector-ref (vector a (* 2 a) 1.) x))) (+ (* y y 0.1) (sin y) (* a 0.3) (exp y)))",
            "(let ((y (vector-ref (vector (* 2 a) a 1.) x))) (+ (* y y 0.1) (sin y) (exp y) (sqrt y) (tanh (* 0.37 a))))",
            "(let ((v (vector a (sin a) (* 0.3 a)))) (+ (* 0.1 (vector-ref v x)) (* a (vector-ref v (- 2 x))) (vector-ref v x)))",
            "(define v (vector a (sin a) (* 0.3 a))) (define (pick i) (vector-ref v (modulo (+ i x) 3)))
             (let loop ((i 0) (s 0.)) (if (= i 40) s (loop (+ i 1) (+ s (* (pick i) (exp (* -0.1 s)))))))",
            "(let loop ((i 0) (s a) (t 1.)) (if (= i 30) (+ s t) (loop (+ i 1) (list-ref (list s (* 0.9 t) (sin a)) x) (* 0.5 s))))",
            "(* a (list-ref (list 1. 2. (* a a)) (list-ref (list 2 0 1) x)))",
        ],
    );
}

/// An arm that is only tried may end with an error of its own; the path that goes on does not have its message.
#[test]
fn an_error_in_an_arm_that_is_not_taken_leaves_nothing_behind() {
    let rate = "(define (rate c) (if (< c 0) (error \"negative concentration:\" c (* 2 c)) (* a c)))";
    let texts = [
        "(* a (if (< x 0) (error \"mole fraction out of range\" x) (car 5)))".to_string(),
        "(* a (if (< x 0) (error \"bad\" x) (car 5)))".to_string(),
        "(* a (if (< x 0) (error \"b\" (* 2 x)) (length 5)))".to_string(),
        "(* a (if (< x 0) (raise x) (vector-ref (vector 1) 5)))".to_string(),
        format!("{rate} (if (> x 0.4) (+ (rate x) (lenght '(1 2))) (rate x))"),
        format!("{rate} (let loop ((i 0) (s 0.0)) (if (= i 5) (car s) (loop (+ i 1) (+ s (rate (- x (* i 0.1)))))))"),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    expect_lanes_alone(&[0.2, 0.5, -1.0, 0.7].map(Datum::Real), &texts);
}
