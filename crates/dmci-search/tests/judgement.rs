//! The judgement: what it says of programs that are one.

use dmci_search::archive::Entry;
use dmci_search::candidate::Candidate;
use dmci_search::data::{Data, Folds, Part};
use dmci_search::expr::{Expr, Node};
use dmci_search::judge::{Finding, judge};
use dmci_search::normal::hash;
use dmci_search::operation::{Operation, Operations};
use dmci_search::score::{Score, Scorer};
use dmci_stats::random::Stream;

/// A baseline is not listed a second time as an alternative because it is written in another way.
#[test]
fn a_baseline_in_another_form_is_the_baseline() {
    let mut stream = Stream::new(3, 3);
    let x: Vec<f64> = (0..25).map(|_| 0.5 + 2.0 * stream.uniform()).collect();
    let target = x.iter().map(|x| 1.0 + 2.0 * x * x + 0.1 * stream.normal()).collect();
    let part = Part { columns: vec![x], target, root_weights: None };
    let data = Data::new(vec!["x".into()], "y", part, None, Folds::Random(5), 0);
    let operations = Operations::default();
    let (leaf, apply) = (Expr::leaf, Expr::apply);
    let affine = |of: &Expr| {
        let slope = apply(Operation::Mul, &[&leaf(Node::Param(1)), of]);
        apply(Operation::Add, &[&leaf(Node::Param(0)), &slope])
    };
    let var = leaf(Node::Var(0));
    let log = apply(Operation::Log, &[&var]);
    let double = apply(Operation::Mul, &[&leaf(Node::Int(2)), &log]);
    let wave = apply(Operation::Mul, &[&leaf(Node::Param(2)), &apply(Operation::Sin, &[&var])]);
    let square = affine(&apply(Operation::Square, &[&var]));
    let of = |expr: &Expr| Candidate::new(expr, &vec![1.0; expr.parameters()], &operations);
    let baseline = of(&square);
    let other_form = of(&affine(&apply(Operation::Exp, &[&double])));
    let more = of(&apply(Operation::Add, &[&square, &wave]));
    assert_ne!(hash(&baseline.expr), hash(&other_form.expr));
    let mut scorer = Scorer::new(&data, &operations);
    let mut entry = |candidate: &Candidate, score: f64| {
        let found = scorer.converge(candidate, 1).expect("it is finite");
        let found = scorer.validate(candidate, &found);
        Entry { candidate: candidate.clone(), score: Score { score, ..found } }
    };
    let front = [entry(&other_form, 0.0), entry(&more, 0.0)];
    let found = judge(&mut scorer, &front, &[("squares".into(), baseline)], 3, 0).expect("there is a judgement");
    let others: Vec<&String> = found.not_distinguishable.iter().filter(|f| f.contains("exp")).collect();
    assert!(others.is_empty(), "{}", found.text);
    let said: Vec<&str> = found.against.iter().map(|a| a.baseline.as_str()).collect();
    assert!(found.finding == Finding::Baseline, "{} {said:?}", found.text);
}

/// Without sealed rows each comparison counts for all that were tried: what is plain is found all the same.
#[test]
fn what_is_plain_is_found_without_sealed_rows() {
    let mut stream = Stream::new(8, 3);
    let x: Vec<f64> = (0..120).map(|_| 0.5 + 4.0 * stream.uniform()).collect();
    let target = x.iter().map(|x| 1.0 + 2.0 * (3.0 * x).sin() + 0.1 * stream.normal()).collect();
    let part = Part { columns: vec![x], target, root_weights: None };
    let data = Data::new(vec!["x".into()], "y", part, Some(&[false; 120]), Folds::Random(5), 0);
    let operations = Operations::default();
    let parameter = |p| Expr::leaf(Node::Param(p));
    let inner = Expr::apply(Operation::Mul, &[&parameter(2), &Expr::leaf(Node::Var(0))]);
    let wave = Expr::apply(Operation::Mul, &[&parameter(1), &Expr::apply(Operation::Sin, &[&inner])]);
    let law = Candidate::new(&Expr::apply(Operation::Add, &[&parameter(0), &wave]), &[1.0, 1.0, 2.9], &operations);
    let mut scorer = Scorer::new(&data, &operations);
    let found = scorer.converge(&law, 8).expect("it is finite");
    let front = [Entry { candidate: law.clone(), score: scorer.validate(&law, &found) }];
    for (tried, finding) in [(3_000, Finding::Found), (u64::MAX, Finding::NoStructure)] {
        let found = judge(&mut scorer, &front, &[], tried, 0).expect("there is a judgement");
        assert_eq!(found.finding, finding, "{}", found.text);
    }
}
