//! Loops: with and without them, in every mode, lanes have the same bits; with them a loop is recorded once.

#![allow(clippy::unwrap_used)]

mod common;

use common::{first_difference, uniform};
use dmci::{Batch, Column, Datum, JitPolicy, Mode, Model, ModelOptions, Program, RunOptions, Want};

fn run(text: &str, mode: Mode, (joins, loops): (bool, bool), want: Want) -> (Batch, u64) {
    let run = RunOptions { mode, ..RunOptions::default() };
    let options = ModelOptions { run, joins, loops, ..ModelOptions::default() };
    let model = Model::new(Program::new(text), &["a", "b"], &["x", "n"], options);
    let theta = [0.4, 1.5, 0.7, -0.3, 0.1, 0.9];
    let ns = uniform(60, 9).into_iter().map(|u| Datum::Integer((u * 40.0) as i64)).collect();
    let columns = [Column::Reals(uniform(60, 3)), Column::Data(ns)];
    let batch = model.evaluate(&theta, &columns, want).unwrap();
    (batch, model.recordings())
}

/// Compares all modes and switches; returns the number of recordings with all of them on.
fn same(text: &str, want: Want) -> u64 {
    let (flat, _) = run(text, Mode::Direct, (false, false), want);
    assert!(flat.failures.is_empty(), "{text}: {}", flat.failures[0].1);
    let mut most = 0;
    for mode in [Mode::Direct, Mode::Dmci, Mode::Tower(2)] {
        for joins in [false, true] {
            let (found, recordings) = run(text, mode.clone(), (joins, true), want);
            assert!(found.failures.is_empty(), "{text} in {mode:?}: {}", found.failures[0].1);
            let lists = [
                ("values", &flat.values, &found.values),
                ("gradients", &flat.gradients, &found.gradients),
                ("second derivatives", &flat.hessians, &found.hessians),
            ];
            for (what, a, b) in lists {
                let at = first_difference(a, b);
                let shown = at.and_then(|at| Some((a.get(at)?, b.get(at)?)));
                assert!(at.is_none(), "{what} of {text} in {mode:?}, joins {joins}: {at:?} {shown:?}");
            }
            if mode != Mode::Tower(2) && joins {
                most = most.max(recordings);
            }
        }
    }
    most
}

/// Loops whose ends depend on lanes.
const LOOPS: &[&str] = &[
    "(let loop ((t 0.0) (h 0.25) (s x) (k 0)) (if (or (>= t 2.0) (> k 90)) (* s a) (let* ((h (min h (- 2.0 t))) (big (+ s (* h (sin (* b s))))) (half (+ s (* 0.5 h (sin (* b s))))) (small (+ half (* 0.5 h (sin (* b half))))) (err (/ (abs (- big small)) 3e-3)) (fac (max 0.3 (min 2.0 (/ 0.9 (sqrt (+ err 1e-9))))))) (if (<= err 1.0) (loop (+ t h) (* h fac) small (+ k 1)) (if (> err 1.0) (loop t (* h fac) s (+ k 1)) +nan.0)))))",
    "(let loop ((i 0) (s x)) (if (= i n) (* s a) (loop (+ i 1) (+ (* s b 0.9) a))))",
    "(define (go i s) (if (>= i n) s (go (+ i 1) (+ (* s b 0.9) (* a i))))) (go 0 x)",
    "(+ 1 (let loop ((i 0) (s x)) (if (= i n) (* s a) (loop (+ i 1) (sin (+ s a b))))))",
    "(do ((i 0 (+ i 1)) (s x (* s (- 1 s) b 2.0))) ((= i n) (+ a s)))",
    "(let loop ((i 0) (s x) (t a)) (if (= i n) (+ s (* 2 t)) (loop (+ i 1) t (+ (* 0.5 s) (* b t 0.3)))))",
    "(define s x) (do ((i 0 (+ i 1))) ((= i n)) (set! s (+ (* 0.7 s) (* a b)))) (* s s)",
    "(define v (vector x 1.0)) (let loop ((i 0)) (when (< i n) (vector-set! v 0 (+ (* 0.5 (vector-ref v 0)) (* a (vector-ref v 1)))) (vector-set! v 1 (cos (vector-ref v 0))) (loop (+ i 1)))) (+ (vector-ref v 0) (* b (vector-ref v 1)))",
    "(let loop ((i 0) (p (list x 1.0))) (if (= i n) (+ (car p) (cadr p)) (loop (+ i 1) (list (* a (+ (car p) 0.1)) (+ (* 0.4 (cadr p)) (* b (car p)))))))",
    "(let loop ((i 0) (g (+ 1.0 x))) (if (or (< (abs (- (* g g) 2.0)) 1e-3) (> i 200)) (* a g b) (loop (+ i 1) (+ g (* 0.1 (- (/ 2.0 g) g))))))",
    "(let loop ((i 0) (s x) (t a) (u b) (v '(1.0 (2.0 0.5)))) (if (= i n) (+ s t u (car v) (caadr v)) (loop (+ i 1) (* 0.5 (+ s t)) (+ u (* 0.1 s)) (sin (* a t)) (list (* b (car v)) (list (+ 0.1 (* 0.3 (caadr v))) (car v))))))",
    "(define (go s . rest) (if (= (cadr rest) n) (* b (+ s (car rest))) (go (+ (* 0.5 s) a) (* 0.9 (car rest)) (+ 1 (cadr rest))))) (go x b 0)",
    "(let loop ((i 0) (s x)) (if (= i n) (* s b) (loop (+ i 1) (if (< s a) (+ s 0.3) (* s 0.5)))))",
    "(let loop ((i 0) (s x)) (if (= i n) (* s b) (loop (+ i 1) (if (> (* 1.1 s) a) a (* 1.1 s)))))",
    "(let outer ((i 0) (s x)) (if (= i 5) s (outer (+ i 1) (let inner ((j 0) (t s)) (if (= j n) (* t 0.9) (inner (+ j 1) (+ (* 0.5 t) (* a b))))))))",
    "(let outer ((i 0) (s x)) (if (= i n) s (outer (+ i 1) (let inner ((j 0) (t s)) (if (= j i) (* t 0.9) (inner (+ j 1) (+ (* 0.5 t) (* a b))))))))",
    "(let loop ((i 0) (s x) (even #t)) (if (= i n) (* s a) (loop (+ i 1) (if even (+ s b) (* s 0.5)) (not even))))",
    "(let loop ((i n) (s 0)) (if (= i 0) (* s a) (loop (- i 1) (+ s (* b i x)))))",
    "(define ys (vector 0.3 0.1 0.7 0.2 0.9)) (let loop ((i 0) (s 0.0)) (if (or (= i 5) (= i n)) s (let ((d (- (vector-ref ys i) (* a x)))) (loop (+ i 1) (+ s (* d d b))))))",
    "(call/cc (lambda (k) (let loop ((i 0) (s x)) (if (= i n) (k (* s a)) (loop (+ i 1) (+ s b))))))",
    "(let loop ((s (vec x 1.0)) (i 0)) (if (= i n) (sum s) (loop (+ (* 0.5 s) (* a (vec b x))) (+ i 1))))",
    "(let loop ((i 0) (s x)) (if (= i n) s (let* ((m (mat (vec (+ 3.0 (sin a)) b) (vec 0.5 2.0))) (l (cholesky (matmul m (transpose m))))) (loop (+ i 1) (+ (* 0.7 s) (ref l 1 0))))))",
    "(define (f i s) (if (= i n) s (g (+ i 1) (* a s)))) (define (g i s) (if (= i n) (* 2 s) (f (+ i 1) (+ b s)))) (f 0 x)",
    "(let loop ((i 0) (m x) (s x)) (if (= i n) (* m a) (let ((s (sin (+ s b (* 0.1 i))))) (loop (+ i 1) (max m s) s))))",
    "(let loop ((i 0) (m x) (s x)) (if (= i n) (* m a) (let ((s (sin (+ s b (* 0.1 i))))) (loop (+ i 1) (if (> s m) s m) s))))",
];

#[test]
fn loops_have_the_bits_of_their_rounds_one_by_one() {
    for text in LOOPS {
        let recordings = same(text, Want::Gradients);
        println!("{recordings} recordings: {text}");
        assert!(recordings <= 5, "{recordings} recordings for lanes of 0 to 39 rounds: {text}");
    }
}

#[test]
fn second_derivatives_are_the_same_through_loops() {
    for text in LOOPS {
        same(text, Want::Hessians);
    }
}

#[test]
fn integers_that_become_the_same_keep_what_they_were() {
    // Lanes leave the recorded loop while its rounds make one value of two states, and the first of them is used no more.
    let text = "(define cell (vector n)) (define seen (vector 0.0))
      (let loop ((i 0.0) (p a) (w a))
        (if (>= i 8) (vector-ref cell 0)
            (begin (if (>= p b) (vector-set! seen 0 p) (vector-set! cell 0 3))
                   (loop (+ i 1.0) 1.0 (if (< i w p) w (vector-ref cell 0))))))";
    for code in [JitPolicy::Never, JitPolicy::Always, JitPolicy::AlwaysNarrow] {
        let run = RunOptions { mode: Mode::Direct, ..RunOptions::default() };
        let options = ModelOptions { run, code, ..ModelOptions::default() };
        let model = Model::new(Program::new(text), &["a", "b"], &["n"], options);
        let ns: Vec<i64> = (0..40).map(|i| 2 + i % 3).collect();
        let column = Column::Data(ns.iter().map(|&n| Datum::Integer(n)).collect());
        let batch = model.evaluate(&[1.25, -1.5], &[column], Want::Values).unwrap();
        assert_eq!(batch.values, ns.iter().map(|&n| n as f64).collect::<Vec<_>>(), "{code:?}");
    }
}

/// Loops of known lengths, long enough to be loops: how a counter begins, changes, and ends them.
const COUNTED: &[(&str, &str, &str)] = &[
    ("0", "(+ n 1)", "(= n 700)"),
    ("700", "(- n 1)", "(= n 0)"),
    ("-3", "(+ 2 n)", "(>= n 1397)"),
    ("5", "(+ n 3)", "(> n 2100)"),
    ("5", "(- n 3)", "(< n -2100)"),
    ("1", "(- n 2)", "(<= n -1400)"),
    ("0", "(+ n 2)", "(not (< n 1401))"),
    ("140737488354627", "(+ n 1)", "(= n 140737488355327)"),
];

/// What becomes of a number in a round of them.
const ROUNDS: &[&str] = &[
    "(* b s (- 1 s) 1.7)",
    "(+ (* s 0.9) (* a (/ n 1e4)))",
    // Numbers that are none, and get so in different rounds.
    "(* s s (+ 1.5 a))",
    "(sqrt (- s (* 0.002 x)))",
    "(if (> s a) (* 0.5 s) (+ s b))",
];

fn counted(text: &str, loops: bool, want: Want) -> (Batch, u64) {
    let model = Model::new(Program::new(text), &["a", "b"], &["x"], ModelOptions { loops, ..ModelOptions::default() });
    let batch = model.evaluate(&[0.4, 1.5, 0.7, -0.3, 0.1, 0.9], &[Column::Reals(uniform(70, 3))], want).unwrap();
    (batch, model.recordings())
}

#[test]
fn counters_end_loops_as_they_do_round_by_round() {
    for (start, next, end) in COUNTED {
        for (i, round) in ROUNDS.iter().enumerate() {
            let text = format!("(let loop ((n {start}) (s x)) (if {end} s (loop {next} {round})))");
            let ((flat, _), (found, recordings)) =
                (counted(&text, false, Want::Gradients), counted(&text, true, Want::Gradients));
            assert_eq!(first_difference(&flat.values, &found.values), None, "values of {text}");
            assert_eq!(first_difference(&flat.gradients, &found.gradients), None, "gradients of {text}");
            assert_eq!(recordings, 1, "{text}");
            // Without gradients nothing is kept of the rounds.
            let values = counted(&text, true, Want::Values).0.values;
            assert_eq!(first_difference(&flat.values, &values), None, "values alone of {text}");
            if i == 2 {
                assert!(flat.values.iter().any(|v| !v.is_finite()), "{text}");
            }
        }
    }
}

#[test]
fn states_change_places_from_round_to_round() {
    let texts = [
        "(let loop ((n 0) (s x) (t a)) (if (= n 600) (- s (* 2 t)) (loop (+ n 1) t (* 0.999 s))))",
        "(let loop ((n 0) (s x) (t a) (u b)) (if (= n 600) (+ s (* 2 t) (* 3 u)) (loop (+ n 1) t u (* 0.999 s))))",
        "(let loop ((n 0) (s x) (t a) (u b)) (if (= n 600) (+ s (* t u)) (loop (+ n 1) u (+ s (* 0.1 t)) (sin t))))",
        "(let loop ((n 0) (s x) (last 0.0)) (if (= n 600) (+ s (* b last)) (loop (+ n 1) (sin (+ s a)) s)))",
        "(let loop ((n 0) (s x) (t 1.0)) (if (= n 600) (* s t) (loop (+ n 1) (* 0.99 s) (if (< s a) t (* t 0.99)))))",
    ];
    for text in texts {
        let ((flat, _), (found, _)) = (counted(text, false, Want::Gradients), counted(text, true, Want::Gradients));
        assert_eq!(first_difference(&flat.values, &found.values), None, "values of {text}");
        assert_eq!(first_difference(&flat.gradients, &found.gradients), None, "gradients of {text}");
    }
}

/// On the way back, lanes with fewer rounds join behind marks: rounds that are done again for others before must not
/// have left anything behind where these are.
#[test]
fn lanes_join_a_loop_around_a_loop_on_the_way_back() {
    let text = "(define m 0.0) (define p 0.0) (define c 0)
                (define (inverse i)
                  (let loop ((i i) (f 0.5) (r 0.0))
                    (if (= i 0) r (loop (quotient i 2) (/ f 2) (+ r (* f (remainder i 2)))))))
                (let loop ((i 0))
                  (when (< i n)
                    (set! c (+ c 1))
                    (set! m (+ (* 0.5 m) (* a (inverse c))))
                    (set! p (+ p (- (* x m) (* 0.1 b p))))
                    (loop (+ i 1))))
                p";
    let rounds = [5, 20, 60, 100, 400, 399, 1, 0, 250, 260];
    let run = |loops: bool| {
        let model =
            Model::new(Program::new(text), &["a", "b"], &["x", "n"], ModelOptions { loops, ..ModelOptions::default() });
        let columns = [Column::Reals(uniform(rounds.len(), 3)), Column::Data(rounds.map(Datum::Integer).to_vec())];
        model.evaluate(&[0.4, 1.5], &columns, Want::Gradients).unwrap()
    };
    let (flat, found) = (run(false), run(true));
    assert_eq!(first_difference(&flat.values, &found.values), None);
    assert_eq!(first_difference(&flat.gradients, &found.gradients), None);
}

/// Each result has a way back of its own through the loop, and reads other states of it, counters too.
#[test]
fn results_of_one_loop_read_different_states_on_their_ways_back() {
    let text = "(let loop ((n 0) (y a) (u x) (v b) (z 0.0))
                  (if (= n 400)
                      (list u z v)
                      (loop (+ n 1)
                            (+ y 0.001)
                            (* u (+ 0.99 (* 0.01 a)))
                            (+ (* 0.999 v) (* 1e-6 n b))
                            (+ z (* b y y)))))";
    let run = |loops: bool| {
        let options = ModelOptions { loops, outputs: 3, ..ModelOptions::default() };
        let model = Model::new(Program::new(text), &["a", "b"], &["x"], options);
        let batch = model.evaluate(&[0.4, 1.5], &[Column::Reals(uniform(100, 3))], Want::Gradients).unwrap();
        assert!(batch.failures.is_empty());
        batch
    };
    let (flat, found) = (run(false), run(true));
    assert_eq!(first_difference(&flat.values, &found.values), None);
    assert_eq!(first_difference(&flat.gradients, &found.gradients), None);
}
