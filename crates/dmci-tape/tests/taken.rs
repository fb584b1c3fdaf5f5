//! Tensors whose elements are taken one by one: each gets the sums that tensors of zeros and one number would give it.

#![allow(clippy::unwrap_used)]

use dmci_ops::{Build, Op, Shape};
use dmci_tape::{LeafKind, Recorder, gradient};

const ELEMENTS: usize = 40;

/// The gradient of a weighed sum of elements, and how many nodes it has.
fn of_tape(uses: &[(usize, f64)], has_whole: bool) -> (usize, Vec<u64>) {
    let mut r = Recorder::new();
    let x = r.tensor_leaf("x", LeafKind::Param, Shape::Vector(ELEMENTS as u32), &[0.5; ELEMENTS]);
    let mut total = r.real(0.0);
    if has_whole {
        let weighed = r.op(Op::Mul, &[x, x]);
        let sum = r.sum(weighed);
        total = r.op(Op::Add, &[total, sum]);
    }
    for &(element, weight) in uses {
        let taken = r.take(x, vec![element as u32], Shape::Scalar);
        let weight = r.real(weight);
        let term = r.op(Op::Mul, &[taken, weight]);
        total = r.op(Op::Add, &[total, term]);
    }
    let before = r.len();
    let part = gradient(&mut r, total, &[x])[0].unwrap();
    (r.len() - before, r.elements(part).to_vec())
}

/// The same, tensor by tensor, the last use first.
fn by_hand(uses: &[(usize, f64)], has_whole: bool) -> Vec<u64> {
    let mut sum: Option<Vec<f64>> = None;
    let mut add = |part: Vec<f64>| {
        sum = Some(match &sum {
            None => part,
            Some(sum) => sum.iter().zip(&part).map(|(a, b)| a + b).collect(),
        });
    };
    for &(element, weight) in uses.iter().rev() {
        let mut part = vec![0.0; ELEMENTS];
        part[element] = weight;
        add(part);
    }
    if has_whole {
        add(vec![0.5; ELEMENTS]);
        add(vec![0.5; ELEMENTS]);
    }
    sum.unwrap().into_iter().map(f64::to_bits).collect()
}

#[test]
fn elements_get_the_sums_of_tensors() {
    let mut state = 1u64;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for round in 0..400 {
        let few = 1 + below(if round % 2 == 0 { 3 } else { ELEMENTS as u64 });
        let uses: Vec<(usize, f64)> = (0..1 + below(12))
            .map(|_| (below(few) as usize, [-0.0, 0.0, 0.1, 1.0 / 3.0, -0.7, 1e-300][below(6) as usize]))
            .collect();
        for has_whole in [false, true] {
            assert_eq!(of_tape(&uses, has_whole).1, by_hand(&uses, has_whole), "{uses:?} {has_whole}");
        }
    }
}

#[test]
fn as_many_elements_as_there_are_cost_no_more_than_their_number() {
    let uses: Vec<(usize, f64)> = (0..ELEMENTS).map(|i| (i, 0.25 + i as f64)).collect();
    let (nodes, found) = of_tape(&uses, false);
    assert_eq!(found, by_hand(&uses, false));
    assert!(nodes < 2 * ELEMENTS + 8, "{nodes} nodes");
}
