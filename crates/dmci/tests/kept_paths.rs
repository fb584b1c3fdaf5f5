//! Which paths a model keeps, and that it makes no difference to results.

#![allow(clippy::unwrap_used)]

mod common;

use common::{bits, uniform};
use dmci::{Column, Datum, JitPolicy, Model, ModelOptions, Program, Want};

/// As many paths as there are whole numbers between 0 and x.
const STEPS: &str = "(define (steps i s) (if (< i x) (steps (+ i 1) (+ (* s a) (sin s))) s)) (steps 0 1.)";

fn model(text: &str, max_paths: usize, max_path_bytes: usize) -> Model {
    let options = ModelOptions { joins: false, loops: false, max_paths, max_path_bytes, ..ModelOptions::default() };
    Model::new(Program::new(text), &["a"], &["x"], options)
}

fn column(range: std::ops::Range<usize>) -> Column {
    Column::Reals(range.map(|i| i as f64 + 0.5).collect())
}

#[test]
fn paths_that_were_not_used_for_the_longest_time_make_room() {
    let model = model(STEPS, 20, usize::MAX);
    let free = Model::new(
        Program::new(STEPS),
        &["a"],
        &["x"],
        ModelOptions { joins: false, loops: false, ..Default::default() },
    );
    let evaluate = |range: std::ops::Range<usize>| {
        let before = model.recordings();
        let batch = model.evaluate(&[0.7], &[column(range.clone())], Want::Gradients).unwrap();
        let other = free.evaluate(&[0.7], &[column(range)], Want::Gradients).unwrap();
        assert_eq!((bits(&batch.values), bits(&batch.gradients)), (bits(&other.values), bits(&other.gradients)));
        (model.recordings() - before, batch.walked)
    };
    assert_eq!(evaluate(0..10), (10, 0));
    assert_eq!(evaluate(0..20), (10, 0));
    assert_eq!(model.statistics().paths, 20);
    // The first ten are used again, so the others go.
    assert_eq!(evaluate(0..10), (0, 0));
    assert_eq!(evaluate(0..20).0, 0);
    assert_eq!(evaluate(0..10), (0, 0));
    assert_eq!(model.statistics().evicted, 0);
    // One call needs more than there is room for: what it has used itself stays, the rest is walked.
    assert_eq!(evaluate(0..30), (10, 10));
    assert_eq!(evaluate(0..30), (10, 10));
    assert_eq!(model.statistics().paths, 20);
    // Other rows: paths that they do not need make room.
    let (recordings, walked) = evaluate(100..110);
    assert_eq!((recordings, walked), (10, 0));
    assert_eq!(evaluate(100..110), (0, 0));
    assert!(model.statistics().evicted >= 10 && model.statistics().paths <= 20);
}

#[test]
fn memory_is_a_bound_too() {
    let model = model(STEPS, 4096, 200_000);
    let batch = model.evaluate(&[0.7], &[column(0..100)], Want::Gradients).unwrap();
    assert!(batch.walked > 10 && batch.walked < 100, "{} lanes were walked", batch.walked);
    let kept = model.statistics().paths;
    assert_eq!(kept, 100 - batch.walked);
    let again = model.evaluate(&[0.7], &[column(0..100)], Want::Gradients).unwrap();
    assert_eq!(bits(&batch.gradients), bits(&again.gradients));
    assert_eq!(model.statistics().paths, kept);
}

#[test]
fn signatures_are_bounded_with_their_paths() {
    let model = model("(* a (apply + x))", 8, usize::MAX);
    let lists = |n: std::ops::Range<u64>| Column::Data(n.map(|i| Datum::from(uniform(i as usize + 1, i))).collect());
    for call in 0..50 {
        let batch = model.evaluate(&[2.0f64], &[lists(4 * call..4 * call + 4)], Want::Gradients).unwrap();
        for (lane, i) in (4 * call..4 * call + 4).enumerate() {
            let sum = uniform(i as usize + 1, i).into_iter().reduce(|a, b| a + b).unwrap();
            assert_eq!(batch.values[lane].to_bits(), (2.0 * sum).to_bits());
        }
        assert_eq!(batch.walked, 0);
        assert!(model.statistics().paths <= 8);
    }
    let statistics = model.statistics();
    assert_eq!((statistics.recordings, statistics.evicted), (200, 192));
    // More signatures in one call than there is room for.
    let batch = model.evaluate(&[2.0], &[lists(0..20)], Want::Gradients).unwrap();
    assert_eq!((batch.walked, batch.failures.len()), (12, 0));
}

#[test]
fn lanes_that_fail_are_not_walked_again() {
    let text = "(if (< x 5) (error \"too small:\" x a) (if (< x 7) (vector-ref (vector 1 2) 2) (* a x)))";
    let model = model(text, 4096, usize::MAX);
    let first = model.evaluate(&[0.7], &[column(0..1000)], Want::Gradients).unwrap();
    assert_eq!(model.recordings(), 3);
    let again = model.evaluate(&[0.7], &[column(0..1000)], Want::Hessians).unwrap();
    assert_eq!(model.recordings(), 3);
    assert_eq!(first.failures.len(), 7);
    let said = |batch: &dmci::Batch| batch.failures.iter().map(|f| (f.0, f.1.to_string())).collect::<Vec<_>>();
    assert_eq!(said(&first), said(&again));
    assert!(said(&first)[3].1.contains("too small: 3.5 0.7"), "{}", said(&first)[3].1);
    assert!(first.values[6].is_nan() && !first.values[7].is_nan());
    assert_eq!(model.statistics().hits, 1997);
}

#[test]
fn limits_are_not_part_of_a_path() {
    let text = "(define (go i) (if (< i x) (go (+ i 1)) i)) (go 0)";
    let mut options = ModelOptions { joins: false, loops: false, ..ModelOptions::default() };
    options.run.limits.fuel = 300;
    let model = Model::new(Program::new(text), &[], &["x"], options);
    let rows = Column::Reals(vec![2.0, 1e9, 3.0, 1e9]);
    let batch = model.evaluate(&[], &[rows], Want::Values).unwrap();
    let failed: Vec<_> = batch.failures.iter().map(|f| (f.0, f.1.diagnostics[0].code.as_str())).collect();
    assert_eq!(failed, [(1, "E0401"), (3, "E0401")]);
    assert_eq!(model.recordings(), 4);
}

#[test]
fn several_threads_share_the_paths() {
    let model = model(STEPS, 10, usize::MAX);
    let alone = model.evaluate(&[0.7], &[column(0..40)], Want::Gradients).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for from in 0..6 {
                    let batch = model.evaluate(&[0.7], &[column(5 * from..5 * from + 12)], Want::Gradients).unwrap();
                    let range = 5 * from..5 * from + 12;
                    assert_eq!(bits(&batch.values), bits(&alone.values[range.clone()]));
                    assert_eq!(bits(&batch.gradients), bits(&alone.gradients[range]));
                }
            });
        }
    });
    assert!(model.statistics().paths <= 10);
}

/// A guard of each lane, one of each set, and a loop behind them that no lane may begin which has left.
const STAGED: &str = "
(define k (if (< (+ a x) 10.) 1. 2.))
(define m (if (< (sin (exp (sin a))) 0.8) 1. 3.))
(let loop ((i 0) (g (* k m (exp x)))) (if (< g 1e-3) (+ g i) (loop (+ i 1) (* g (/ x (+ x 1.))))))";

#[test]
fn lanes_that_a_stage_has_out_leave_at_its_guard() {
    let run = |code: JitPolicy| {
        let options = ModelOptions { joins: false, threads: 1, code, ..ModelOptions::default() };
        let model = Model::new(Program::new(STAGED), &["a"], &["x"], options);
        let mut seen = Vec::new();
        // Too few lanes for stages, then enough of them.
        for rows in [2, 200, 2, 200] {
            let column = Column::Reals((0..rows).map(|i| 0.5 + 10.0 * i as f64 / rows as f64).collect());
            let batch = model.evaluate(&[2.0, 0.0, 0.3, 1.2, 2.5], &[column], Want::Values).unwrap();
            assert!(batch.failures.is_empty());
            seen.push((model.recordings(), model.statistics().paths, bits(&batch.values)));
        }
        seen
    };
    let expected = run(JitPolicy::Never);
    assert_eq!(expected[3].0, 4);
    for code in [JitPolicy::Always, JitPolicy::AlwaysNarrow] {
        assert_eq!(run(code), expected, "{code:?}");
    }
}
