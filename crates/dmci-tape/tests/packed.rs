//! Numbers that are packed again and again: each gets the sums that it would get alone, in the same order.

#![allow(clippy::unwrap_used)]

use dmci_ops::{Build, Op, Shape};
use dmci_tape::{LeafKind, Node, NodeId, Recorder, gradient};

const PLACES: usize = 4;

/// What happens to the numbers, one after the other.
#[derive(Clone, Copy, Debug)]
enum Use {
    /// All are packed and weighed.
    Packed,
    /// The same as a matrix.
    Matrix,
    /// One of them is squared.
    Alone(usize),
    /// Two of them are packed, in another order.
    Others(usize, usize),
    /// One of them is packed twice.
    Twice(usize),
}

/// A weight for each use and number that no sum of others equals.
fn weight(turn: usize, place: usize) -> f64 {
    1.0 / (3.0 + 7.0 * turn as f64 + place as f64)
}

/// The number of nodes of the gradient, and the gradient.
fn of_tape(uses: &[Use], x: [f64; PLACES]) -> (usize, Vec<f64>) {
    let mut r = Recorder::new();
    let leaves = x.map(|x| r.leaf("x", LeafKind::Param, x));
    let mut total = r.real(0.0);
    for (turn, &what) in uses.iter().enumerate() {
        let weighed = |r: &mut Recorder, members: &[NodeId], shape: Shape| {
            let packed = r.pack(members, shape);
            let weights = r.constant(shape, (0..members.len()).map(|place| weight(turn, place)));
            let terms = r.op(Op::Mul, &[packed, weights]);
            r.sum(terms)
        };
        let term = match what {
            Use::Packed => weighed(&mut r, &leaves, Shape::Vector(4)),
            Use::Matrix => weighed(&mut r, &leaves, Shape::Matrix(2, 2)),
            Use::Others(a, b) => weighed(&mut r, &[leaves[a], leaves[b]], Shape::Vector(2)),
            Use::Twice(a) => weighed(&mut r, &[leaves[a], leaves[a]], Shape::Vector(2)),
            Use::Alone(a) => r.op(Op::Mul, &[leaves[a], leaves[a]]),
        };
        total = r.op(Op::Add, &[total, term]);
    }
    let before = r.tape().nodes.len();
    let parts = gradient(&mut r, total, &leaves);
    let takes = r.tape().nodes[before..].iter().filter(|n| matches!(n, Node::Kernel(..))).count();
    (takes, parts.into_iter().map(|part| part.map_or(0.0, |part| r.value(part))).collect())
}

/// The gradient by hand: contributions from the last use to the first, operands from left to right.
fn by_hand(uses: &[Use], x: [f64; PLACES]) -> Vec<f64> {
    let mut sums: [Option<f64>; PLACES] = [None; PLACES];
    let mut add = |place: usize, part: f64| sums[place] = Some(sums[place].map_or(part, |sum| sum + part));
    for (turn, &what) in uses.iter().enumerate().rev() {
        match what {
            Use::Packed | Use::Matrix => (0..PLACES).for_each(|place| add(place, weight(turn, place))),
            Use::Others(a, b) => [a, b].into_iter().enumerate().for_each(|(k, place)| add(place, weight(turn, k))),
            Use::Twice(a) => (0..2).for_each(|k| add(a, weight(turn, k))),
            Use::Alone(a) => (0..2).for_each(|_| add(a, x[a])),
        }
    }
    sums.map(|sum| sum.unwrap_or(0.0)).to_vec()
}

#[test]
fn every_order_of_uses_gives_the_sums_of_numbers_alone() {
    let all = [Use::Packed, Use::Matrix, Use::Alone(2), Use::Others(3, 1), Use::Twice(0), Use::Alone(0)];
    let x = [0.3, -1.7, 0.9, 2.1];
    let mut seed = 1usize;
    for _ in 0..2000 {
        let uses: Vec<Use> = (0..6)
            .map(|_| {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                all[(seed >> 33) % all.len()]
            })
            .collect();
        let bits = |list: Vec<f64>| list.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(of_tape(&uses, x).1), bits(by_hand(&uses, x)), "{uses:?}");
    }
}

#[test]
fn packs_are_taken_apart_once() {
    let takes = of_tape(&[Use::Packed; 50], [1.0; PLACES]).0;
    // One for each number, and those that spread the adjoint of each sum.
    assert!(takes <= PLACES + 50, "{takes}");
}
