//! Families of functions: rewrites of one family, families within others, and near misses.

use dmci::Program;
use dmci_fit::Table;
use dmci_search::candidate::Candidate;
use dmci_search::funnel::{Contract, read};
use dmci_search::operation::{Operation, Operations};
use dmci_search::same::{Comparison, Family, Recovery, Relation, compare, recovered};

fn table() -> Table {
    let rows: Vec<String> = (0..60).map(|i| format!("{}.5", i + 1)).collect();
    Table::from_csv("k.csv", format!("k\n{}\n", rows.join("\n")).as_bytes()).expect("a table")
}

fn compared(a: &str, b: &str) -> Comparison {
    let inputs = ["k".to_string()];
    let of = |text: &str| Family::read(&Program::new(text), &inputs).unwrap_or_else(|report| panic!("{report}"));
    compare(&of(a), &of(b), &table(), &inputs, 1).unwrap_or_else(|report| panic!("{report}"))
}

fn check(a: &str, b: &str, expected: Relation) {
    let found = compared(a, b);
    assert_eq!(found.relation, expected, "{a}\n{b}\n{found:?}");
    let turned = match expected {
        Relation::FirstWithinSecond => Relation::SecondWithinFirst,
        Relation::SecondWithinFirst => Relation::FirstWithinSecond,
        other => other,
    };
    assert_eq!(compared(b, a).relation, turned, "{b}\n{a}");
}

#[test]
fn rewrites_are_the_same_family() {
    let pairs = [
        // The knee of the battery, in two ways of writing it.
        (
            "(params (q free 1.0) (a free 0.02) (c free 0.003)) (* q (min (- 1 (* a (sqrt k))) (- 1 (* c k))))",
            "(params (q free 1.0) (a free 0.02) (c free 0.003)) (- q (max (* a (sqrt k)) (* c k)))",
        ),
        (
            "(params (a free 2.0) (b free 0.5)) (* a (expt k b))",
            "(params (a free 0.7) (b free 0.5)) (exp (+ a (* b (log k))))",
        ),
        (
            "(params (v free 3.0) (m free 2.0)) (/ (* v k) (+ m k))",
            "(params (p free 0.3) (q free 0.7)) (/ 1 (+ p (/ q k)))",
        ),
        (
            "(params (a free 1.0) (t free 10.0)) (* a (exp (- (/ k t))))",
            "(params (a free 1.0) (r free 0.1)) (/ a (exp (* r k)))",
        ),
    ];
    for (a, b) in pairs {
        check(a, b, Relation::Same);
    }
}

#[test]
fn nested_families_are_told_apart() {
    let root = "(params (q free 1.0) (b free 0.02)) (- q (* b (sqrt k)))";
    let knee = "(params (q free 1.0) (a free 0.02) (c free 0.003)) (- q (max (* a (sqrt k)) (* c k)))";
    let power = "(params (q free 1.0) (b free 0.02) (p free 0.5)) (- q (* b (expt k p)))";
    check(root, knee, Relation::FirstWithinSecond);
    check(root, power, Relation::FirstWithinSecond);
    check(knee, power, Relation::Different);
    // With an intercept of its own the second branch can be more.
    let wider =
        "(params (q free 1.0) (a free 0.02) (r free 1.1) (c free 0.003)) (min (- q (* a (sqrt k))) (- r (* c k)))";
    check(knee, wider, Relation::FirstWithinSecond);
}

#[test]
fn near_misses_are_different() {
    let line = "(params (a free 1.0) (b free 0.1)) (+ a (* b k))";
    let nearly = "(params (a free 1.0) (b free 0.1)) (+ a (* b (expt k 0.999)))";
    check(line, nearly, Relation::Different);
    let found = compared(line, nearly);
    assert!(found.first_failed.iter().all(|f| f.error > 1e-8 && f.error < 1e-2), "{found:?}");
    // The same on the inputs, and another function outside of them.
    let bent = "(params (a free 1.0) (b free 0.1)) (+ a (* b (min k 61)))";
    assert!(compared(line, bent).first_failed.iter().any(|f| f.outside));
}

/// Programs that are no expressions: a loop, and kinds and groups of parameters.
#[test]
fn programs_are_compared_as_expressions_are() {
    let euler = "(params (a positive 1.0 (per cell)) (r (bounded 0.0 0.2) 0.05 (per cell)))\n\
                 (let loop ((i 0) (x a)) (if (>= i 10) (* x k) (loop (+ i 1) (- x (* r x)))))";
    let closed = "(params (a positive 1.0)) (* a k)";
    let found = compared(euler, closed);
    assert_eq!(found.relation, Relation::Same, "{found:?}");
    let shifted = "(params (a positive 1.0) (b free 0.3)) (+ b (* a k))";
    assert_eq!(compared(euler, shifted).relation, Relation::FirstWithinSecond);
}

#[test]
fn a_truth_is_recovered_by_other_forms_and_not_by_near_ones() {
    let inputs = ["k".to_string()];
    let operations = Operations { list: Operation::ALL.to_vec() };
    let contract = Contract { inputs: &inputs, operations: &operations, size: 60 };
    let candidate = |text: &str| -> Candidate { read(text, &contract).expect(text) };
    let found = |truth: &str, text: &str| recovered(truth, &candidate(text), &table(), &inputs).expect("it runs");
    assert_eq!(
        found("(+ 1.5 (* 0.3 (log k)))", "(params (a free 1.0) (b free 1.0)) (+ a (* b (log k)))"),
        Recovery::Same
    );
    assert_eq!(found("(* 2.0 (sqrt k))", "(params (a free 1.0)) (sqrt (* a k))"), Recovery::Same);
    assert_eq!(found("(* 2.0 (sqrt k))", "(* 2 (sqrt k))"), Recovery::Refitted);
    assert_eq!(found("(* 2.0 (sqrt k))", "(params (a free 1.0) (b free 0.4)) (* a (expt k b))"), Recovery::No);
    assert_eq!(found("(* 2.0 (sqrt k))", "(params (a free 1.0)) (* a (log k))"), Recovery::No);
}
