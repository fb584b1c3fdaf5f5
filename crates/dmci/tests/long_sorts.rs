//! Sorts of many traced numbers by `<` or `>`.

#![allow(clippy::unwrap_used)]

mod common;

use common::uniform;
use dmci::{Column, Datum, GradOptions, Interpreter, Mode, Model, ModelOptions, Program, RunOptions, Want, Wrt};

/// Numbers with many ties, each as a quotient of the parameter: the items of equal ones are told apart by their gradients.
const LONG_SORT: &str = "
(define weights (iota (length xs) 1))
(define sorted (sort (map (lambda (x) (* x k)) xs) less))
(let loop ((s 0.) (l sorted) (w weights)) (if (null? l) s (loop (+ s (* (car l) (car w))) (cdr l) (cdr w))))";

#[test]
fn a_long_sort_of_traced_numbers_costs_a_decision_for_each_and_keeps_its_order() {
    let n = 20_000;
    let list: Vec<f64> = uniform(n, 5).iter().map(|u| (u * 5000.0).floor() - 100.0).collect();
    for (less, descending) in [("<", false), (">", true)] {
        let text = LONG_SORT.replace("less", less);
        let mut run = RunOptions { mode: Mode::Direct, ..RunOptions::default() };
        // A merge sort in the language takes some 15 steps for each of its 286,000 comparisons.
        run.limits.fuel = 3_000_000;
        run.bindings = vec![("k".into(), Datum::Real(1.5)), ("xs".into(), Datum::from(list.clone()))];
        let options = GradOptions { run, wrt: Wrt::Names(vec!["k".into(), "xs".into()]), hessian: false };
        let found = Interpreter::shared().grad(&Program::new(&text), &options).unwrap();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| {
            let (x, y) = (list[a] * 1.5, list[b] * 1.5);
            if descending { y.total_cmp(&x) } else { x.total_cmp(&y) }
        });
        let value = order.iter().enumerate().fold(0.0, |s, (i, &at)| s + list[at] * 1.5 * (i + 1) as f64);
        assert_eq!(found.value.to_bits(), value.to_bits());
        for (i, &at) in order.iter().enumerate() {
            assert_eq!(found.flat[1 + at], 1.5 * (i + 1) as f64, "{less}: place {i}");
        }
    }
}

#[test]
fn lanes_of_a_long_sort_with_another_order_or_a_nan_leave_its_path() {
    let n = 5000;
    let options =
        ModelOptions { run: RunOptions { mode: Mode::Direct, ..RunOptions::default() }, ..Default::default() };
    let model = Model::new(Program::new(&LONG_SORT.replace("less", "<")), &["k"], &["xs"], options);
    let base: Vec<f64> = (0..n).map(|i| ((i * 7919) % n) as f64).collect();
    let mut swapped = base.clone();
    swapped.swap(10, 11);
    let mut tied = base.clone();
    tied[20] = tied[21];
    let mut missing = base.clone();
    missing[30] = f64::NAN;
    let shifted: Vec<f64> = base.iter().map(|x| x * 0.5 - 3.0).collect();
    let lists = [base, shifted, swapped, tied, missing];
    let column = [Column::Data(lists.iter().cloned().map(Datum::from).collect())];
    let batch: dmci::Batch = model.evaluate(&[2.0], &column, Want::Gradients).unwrap();
    assert_eq!(batch.path(0), batch.path(1));
    for lane in 2..lists.len() {
        assert_ne!(batch.path(0), batch.path(lane), "lane {lane}");
    }
    for (lane, list) in lists.iter().enumerate() {
        let bindings = vec![("k".into(), Datum::Real(2.0)), ("xs".into(), Datum::from(list.clone()))];
        let run = RunOptions { mode: Mode::Dmci, bindings, ..RunOptions::default() };
        let alone = GradOptions { run, wrt: Wrt::Names(vec!["k".into()]), hessian: false };
        let alone = Interpreter::shared().grad(&Program::new(&LONG_SORT.replace("less", "<")), &alone).unwrap();
        let got = (batch.values[lane].to_bits(), batch.gradients[lane].to_bits());
        assert_eq!(got, (alone.value.to_bits(), alone.flat[0].to_bits()), "lane {lane}");
    }
}
