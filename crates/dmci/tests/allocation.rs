//! A model that was used before is evaluated again without allocating anything.

#![allow(clippy::unwrap_used)]

mod common;

use common::uniform;
use dmci::{
    Batch, Column, Datum, JitPolicy, Limits, Model, ModelOptions, Numerics, Passes, Program, RunOptions, Shape, Sums,
    Want,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static COUNT: Cell<Option<usize>> = const { Cell::new(None) };
}

fn count() {
    // A thread that ends has no counter any more.
    let _ = COUNT.try_with(|c| c.set(c.get().map(|n| n + 1)));
}

// SAFETY: all work is the system allocator's; counting touches a cell of the own thread only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread while `work` runs.
fn allocations(work: impl FnOnce()) -> usize {
    COUNT.set(Some(0));
    work();
    COUNT.replace(None).unwrap_or(0)
}

/// Two calls at different parameters must allocate nothing once two calls have been made.
#[track_caller]
fn check(name: &str, model: &Model, sets: [&[f64]; 2], columns: &[Column]) {
    let rows = columns.first().map_or(1, |c| match c {
        Column::Reals(list) => list.len(),
        Column::Data(list) => list.len(),
        Column::Shaped(..) => 1,
    });
    for want in [Want::Values, Want::Gradients, Want::Hessians] {
        let (mut batch, mut sums) = (Batch::default(), Sums::default());
        let mut calls = || {
            for set in sets {
                model.evaluate_into(&mut batch, set, columns, want).unwrap();
                model.sum(&batch, rows, &mut sums);
            }
        };
        // The first calls record, plan and take memory; that is over then.
        calls();
        let recordings = model.recordings();
        let again = allocations(&mut calls);
        assert_eq!(model.recordings(), recordings, "{name}: the second call recorded");
        assert_eq!(again, 0, "{name}, {want:?}: allocations of a call that was made before");
        assert!(batch.failures.is_empty() && batch.values.iter().all(|x| x.is_finite()), "{name}");
    }
}

fn options(stage: bool, joins: bool) -> ModelOptions {
    let passes = Passes { stage, ..Passes::default() };
    // Compiling when it pays would allocate in some later call.
    ModelOptions { threads: 1, code: JitPolicy::Always, passes, joins, ..ModelOptions::default() }
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1u8; 100]))), 1);
}

#[test]
fn branching_programs_over_sets_and_rows_allocate_nothing() {
    let text =
        "(let loop ((i 0) (s x)) (if (= i 5) (if (< s 0.2) (* a s) (* b (sin s) (exp a))) (loop (+ i 1) (* s b))))";
    let (one, two) = (uniform(14, 1), uniform(14, 2));
    for (stage, joins) in [(true, true), (true, false), (false, true), (false, false)] {
        let model = Model::new(Program::new(text), &["a", "b"], &["x"], options(stage, joins));
        check("two arms", &model, [&one, &two], &[Column::Reals(uniform(500, 3))]);
        assert_eq!(model.recordings(), if joins { 1 } else { 2 });
    }
}

#[test]
fn many_paths_allocate_nothing() {
    // Groups of very different sizes: 40 paths.
    let text = "(let loop ((i 0) (s 1.)) (if (< (* i 0.05) (* x x)) (loop (+ i 1) (* s a)) s))";
    let model = Model::new(Program::new(text), &["a"], &["x"], options(true, false));
    check("many paths", &model, [&[0.9, 1.1], &[1.2, 0.8]], &[Column::Reals(uniform(3000, 5))]);
}

const TENSORS: &str = "
(define m (+ (* a (eye 3)) (outer v v)))
(define (quadratic l) (dot v (solve m l)))
(+ (logdet m) (det m) (quadratic x) (trace (inv m)) (ref (cholesky m) 1 0) (norm (* x v)) (* a (ref x 0))
   (vsum (matmul m (transpose m))) (if (< (ref x 1) 0.5) a 0.))";

#[test]
fn tensor_programs_allocate_nothing() {
    let params = vec![("a".into(), Datum::Real(0.0)), ("v".into(), Datum::Tensor(Shape::Vector(3), vec![0.0; 3]))];
    let rows: Vec<Datum> = (0..60).map(|i| Datum::Tensor(Shape::Vector(3), uniform(3, i))).collect();
    let sets: Vec<Vec<f64>> = (0..2).map(|i| uniform(8, 50 + i).iter().map(|u| 0.5 + u).collect()).collect();
    for single in [false, true] {
        let run = RunOptions { numerics: Numerics { single, clamps: false }, ..RunOptions::default() };
        let options = ModelOptions { run, ..options(true, false) };
        let model = Model::with_params(Program::new(TENSORS), params.clone(), &["x"], options);
        check("tensors", &model, [&sets[0], &sets[1]], &[Column::Data(rows.clone())]);
    }
}

#[test]
fn rows_of_different_structure_allocate_nothing() {
    let text = "(if (symbol? x) a (if (pair? x) (* a (apply + x)) (* a a (vector-ref #(0.5 1.5 2.5) (modulo x 3)))))";
    let rows: Vec<Datum> = (0..300)
        .map(|i| match i % 4 {
            0 => Datum::Integer(i),
            1 => Datum::Symbol("s".into()),
            2 => Datum::from(uniform(2, i as u64)),
            _ => Datum::from(uniform(3, i as u64)),
        })
        .collect();
    let model = Model::new(Program::new(text), &["a"], &["x", "y"], options(true, false));
    check("structures", &model, [&[0.5, 1.5], &[0.7, 1.1]], &[Column::Data(rows), Column::Reals(uniform(300, 9))]);
}

#[test]
fn rows_that_fail_in_one_batch_take_nothing_from_another() {
    let text = "(if (< x 0.) (let loop () (loop)) (* a x))";
    let limits = Limits { fuel: 10_000, ..Limits::default() };
    let run = RunOptions { limits, ..RunOptions::default() };
    let model = Model::new(Program::new(text), &["a"], &["x"], ModelOptions { run, ..options(true, true) });
    let (mut good, mut bad) = (Batch::default(), Batch::default());
    let mut good_calls = || {
        for x in [0.5, 1.5, 2.5] {
            let column = &[Column::Reals(vec![x])];
            let allocations = allocations(|| model.evaluate_into(&mut good, &[2.0], column, Want::Gradients).unwrap());
            assert_eq!(good.values, [2.0 * x]);
            assert!(allocations == 0 || model.recordings() == 1, "allocations of a call like the one before");
        }
    };
    good_calls();
    for failures in 1..4 {
        // Such a row is walked every time, and no path comes of it.
        model.evaluate_into(&mut bad, &[2.0], &[Column::Reals(vec![-1.0])], Want::Gradients).unwrap();
        assert_eq!((bad.failures.len(), model.recordings()), (1, 1 + failures));
        good_calls();
    }
}
