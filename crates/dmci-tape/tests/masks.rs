//! Weighed terms: what has weight 0 contributes nothing, whatever its derivative is.

#![allow(clippy::unwrap_used)]

use dmci_ops::{Build, Op};
use dmci_tape::{LeafKind, NodeId, Recorder, adjoints, gradient, tangents};

/// Values of leaves, then of nodes: (operation, operands).
fn tape(leaves: &[f64], nodes: &[(Op, &[u32])]) -> (Recorder, NodeId, Vec<NodeId>) {
    let mut r = Recorder::new();
    let leaves: Vec<NodeId> = leaves.iter().map(|&x| r.leaf("x", LeafKind::Param, x)).collect();
    let mut last = NodeId(0);
    for (op, args) in nodes {
        let args: Vec<NodeId> = args.iter().map(|&a| NodeId(a)).collect();
        last = r.op(*op, &args);
    }
    (r, last, leaves)
}

/// The gradient, which must be the same on the tape and on its values.
fn derivatives(mut tape: (Recorder, NodeId, Vec<NodeId>)) -> Vec<f64> {
    let (r, y, leaves) = (&mut tape.0, tape.1, &tape.2);
    let direct = adjoints(r, y, leaves);
    let nodes = gradient(r, y, leaves);
    let recorded: Vec<f64> = nodes.iter().map(|n| n.map_or(0.0, |n| r.value(n))).collect();
    let bits = |list: &[f64]| list.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&direct), bits(&recorded));
    // Forward mode agrees where it is finite.
    for (i, leaf) in leaves.iter().enumerate() {
        let one = r.real(1.0);
        let forward = tangents(r, &[y], &[*leaf], &[one])[0].map_or(0.0, |n| r.value(n));
        assert_eq!(forward, direct[i]);
    }
    direct
}

#[test]
fn a_term_of_weight_0_has_no_derivative() {
    // w0 sqrt(x) + w1 3 x at x = 0: leaves are x, w0, w1, 3.
    let nodes: &[(Op, &[u32])] =
        &[(Op::Sqrt, &[0]), (Op::Weigh, &[4, 1]), (Op::Mul, &[3, 0]), (Op::Weigh, &[6, 2]), (Op::Add, &[5, 7])];
    assert_eq!(derivatives(tape(&[0.0, 0.0, 1.0, 3.0], nodes)), [3.0, 0.0, 0.0, 0.0]);
    assert_eq!(derivatives(tape(&[0.0, 0.5, 1.0, 3.0], nodes))[0], f64::INFINITY);
    assert_eq!(derivatives(tape(&[4.0, 0.0, 1.0, 3.0], nodes)), [3.0, 2.0, 12.0, 4.0]);
}

#[test]
fn infinite_terms_of_weight_0_do_not_reach_the_weights() {
    // w0 / x + w1 x at x = 0: leaves are x, w0, w1, 1.
    let nodes: &[(Op, &[u32])] = &[(Op::Div, &[3, 0]), (Op::Weigh, &[4, 1]), (Op::Weigh, &[0, 2]), (Op::Add, &[5, 6])];
    assert_eq!(derivatives(tape(&[0.0, 0.0, 2.0, 1.0], nodes)), [2.0, 0.0, 0.0, 0.0]);
    assert!(derivatives(tape(&[0.0, 1e-300, 2.0, 1.0], nodes))[0].is_infinite());
}

#[test]
fn what_terms_share_is_off_only_if_all_of_them_are() {
    // u = sqrt(x); w0 u + w1 (u u): leaves are x, w0, w1.
    let nodes: &[(Op, &[u32])] =
        &[(Op::Sqrt, &[0]), (Op::Weigh, &[3, 1]), (Op::Mul, &[3, 3]), (Op::Weigh, &[5, 2]), (Op::Add, &[4, 6])];
    assert_eq!(derivatives(tape(&[0.0, 0.0, 0.0], nodes))[0], 0.0);
    assert_eq!(derivatives(tape(&[0.0, 1.0, 0.0], nodes))[0], f64::INFINITY);
    assert_eq!(derivatives(tape(&[0.25, 0.0, 3.0], nodes))[0], 3.0);
    // 0 times infinity is no number where a weight says that it counts.
    assert!(derivatives_without_forward(tape(&[0.0, 0.0, 1.0], nodes))[0].is_nan());
}

fn derivatives_without_forward(tape: (Recorder, NodeId, Vec<NodeId>)) -> Vec<f64> {
    let (mut r, y, leaves) = tape;
    let _ = gradient(&mut r, y, &leaves);
    adjoints(&mut r, y, &leaves)
}

#[test]
fn weights_inside_of_weights() {
    // v (w sqrt(x)) + x at x = 0: leaves are x, w, v.
    let nodes: &[(Op, &[u32])] = &[(Op::Sqrt, &[0]), (Op::Weigh, &[3, 1]), (Op::Weigh, &[4, 2]), (Op::Add, &[5, 0])];
    for (w, v, want) in [(0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (0.0, 0.0, 1.0), (1.0, 1.0, f64::INFINITY)] {
        assert_eq!(derivatives(tape(&[0.0, w, v], nodes))[0], want, "{w} {v}");
    }
}

#[test]
fn a_derivative_of_0_may_have_a_derivative() {
    // w (3 x x) at x = 0: the second derivative is 6 w, also where the first is 0.
    let nodes: &[(Op, &[u32])] = &[(Op::Mul, &[2, 0]), (Op::Mul, &[3, 0]), (Op::Weigh, &[4, 1])];
    let (mut r, y, leaves) = tape(&[0.0, 0.5, 3.0], nodes);
    let first = gradient(&mut r, y, &leaves)[0].unwrap();
    assert_eq!(r.value(first), 0.0);
    assert_eq!(adjoints(&mut r, first, &leaves)[..2], [3.0, 0.0]);
    // By a weight of 0, the derivative of w f(x) by x is f'(x).
    let (mut r, y, leaves) = tape(&[2.0, 0.0, 3.0], nodes);
    let first = gradient(&mut r, y, &leaves)[0].unwrap();
    assert_eq!(adjoints(&mut r, first, &leaves)[..2], [0.0, 12.0]);
}
