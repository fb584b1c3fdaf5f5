//! A sort written in the language, of traced numbers, over many random lanes: nearly every lane has a
//! path of its own. Kept paths and their memory stay within their bounds, and every lane is exact.

#![allow(clippy::unwrap_used)]

use dmci::{Column, Datum, GradOptions, Interpreter, Mode, Model, ModelOptions, Program, RunOptions, Want, Wrt};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory in use, and the most that was.
struct Measuring;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all work is the system allocator's; the counters are atomic.
unsafe impl GlobalAlloc for Measuring {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Measuring = Measuring;

fn uniform(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..n).map(|_| next()).collect()
}

const SORT: &str = "
(define (insert x l) (if (or (null? l) (< x (car l))) (cons x l) (cons (car l) (insert x (cdr l)))))
(define (sorted l) (if (null? l) l (insert (car l) (sorted (cdr l)))))
(define (dot a b) (if (null? a) 0. (+ (* (car a) (car b)) (dot (cdr a) (cdr b)))))
(dot (sorted (map (lambda (x) (* x k)) xs)) xs)";

/// The weighted sum of the sorted numbers, and its derivative, by Rust's own sort.
fn expected(list: &[f64], k: f64) -> (f64, f64) {
    let mut sorted = list.to_vec();
    sorted.sort_by(f64::total_cmp);
    let d: f64 = sorted.iter().zip(list).map(|(a, b)| a * b).sum();
    (k * d, d)
}

#[test]
fn an_insertion_sort_over_random_lanes_is_exact_and_bounded() {
    let long = std::env::var_os("DMCI_LONG").is_some_and(|v| v != "0");
    let (lanes, max_paths, max_path_bytes) = if long { (100_000, 4096, 512 << 20) } else { (5000, 1000, 64 << 20) };
    let run = RunOptions { mode: Mode::Direct, ..RunOptions::default() };
    let options = ModelOptions { run: run.clone(), max_paths, max_path_bytes, ..ModelOptions::default() };
    let program = Program::new(SORT);
    let model = Model::new(program.clone(), &["k"], &["xs"], options);
    let lists: Vec<Vec<f64>> = (0..lanes).map(|i| uniform(12, i)).collect();
    let column = [Column::Data(lists.iter().cloned().map(Datum::from).collect())];
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let k = 1.5;
    let batch = model.evaluate(&[k], &column, Want::Gradients).unwrap();
    let peak = PEAK.load(Ordering::Relaxed) - before;
    let kept = model.recordings() as usize - batch.walked;
    println!("{lanes} lanes: {kept} paths kept, {} lanes walked, {} MB at most", batch.walked, peak >> 20);
    assert!(batch.failures.is_empty());
    assert!(kept <= max_paths, "{kept} paths are kept");
    assert!(batch.walked > 0, "so many lanes have more paths than that");
    assert!(peak < max_path_bytes, "{peak} bytes");
    for (lane, list) in lists.iter().enumerate() {
        let (value, derivative) = expected(list, k);
        assert!((batch.values[lane] - value).abs() < 1e-12, "lane {lane}");
        assert!((batch.gradients[lane] - derivative).abs() < 1e-12, "lane {lane}");
    }
    for (lane, list) in lists.iter().enumerate().step_by(lists.len() / 500) {
        let bindings = vec![("k".into(), Datum::Real(k)), ("xs".into(), Datum::from(list.clone()))];
        let run = RunOptions { bindings, ..run.clone() };
        let alone = GradOptions { run, wrt: Wrt::Names(vec!["k".into()]), hessian: false };
        let alone = Interpreter::shared().grad(&program, &alone).unwrap();
        let got = (batch.values[lane].to_bits(), batch.gradients[lane].to_bits());
        assert_eq!(got, (alone.value.to_bits(), alone.flat[0].to_bits()), "lane {lane}");
    }
}
