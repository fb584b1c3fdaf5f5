//! Each pass applies where it may, and leaves alone what it must.

#![allow(clippy::unwrap_used)]

use dmci_ops::{Build, Kernel, Op, Shape};
use dmci_tape::passes::{Passes, SMALL, merge_equal, remove_dead, split_small};
use dmci_tape::{LeafKind, Node, NodeId, Recorder, Tape, gradient};

fn ops(tape: &Tape) -> Vec<Op> {
    let op = |node: &Node| if let Node::Op(op, _) = node { Some(*op) } else { None };
    tape.nodes.iter().filter_map(op).collect()
}

#[test]
fn dead_code_goes_but_not_what_a_guard_tests() {
    let mut r = Recorder::new();
    let (a, b) = (r.leaf("a", LeafKind::Param, 2.0), r.leaf("b", LeafKind::Input, 3.0));
    let _unused = r.op(Op::Exp, &[a]);
    let tested = r.op(Op::Sin, &[b]);
    let less = r.op(Op::Lt, &[tested, a]);
    r.guard(less);
    let y = r.op(Op::Mul, &[a, a]);
    let mut tape = r.tape().clone();
    tape.outputs = vec![y];
    let short = remove_dead(&tape);
    short.verify().unwrap();
    // Nothing is computed from the test, and still every lane must pass it.
    assert_eq!(ops(&short), [Op::Sin, Op::Lt, Op::Mul]);
    assert_eq!(short.guards.len(), 1);
    assert_eq!(ops(&tape).len(), 4);
    // Leaves are the interface, used or not.
    assert_eq!(short.leaves.len(), 2);
    tape.guards.clear();
    assert_eq!(ops(&remove_dead(&tape)), [Op::Mul]);
}

/// `a b c + a b d` with the product `a b` computed twice, or once.
fn twice(x: [f64; 4], once: bool) -> (Recorder, NodeId, Vec<NodeId>) {
    let mut r = Recorder::new();
    let leaves: Vec<NodeId> = x.iter().map(|&x| r.leaf("x", LeafKind::Param, x)).collect();
    let u = r.op(Op::Mul, &[leaves[0], leaves[1]]);
    let v = if once { u } else { r.op(Op::Mul, &[leaves[0], leaves[1]]) };
    let (p, q) = (r.op(Op::Mul, &[u, leaves[2]]), r.op(Op::Mul, &[v, leaves[3]]));
    let y = r.op(Op::Add, &[p, q]);
    (r, y, leaves)
}

#[test]
fn merging_must_wait_for_the_last_differentiation() {
    let x = [0.1, 0.7, 0.3, 1.9];
    let derivatives = |once: bool| {
        let (mut r, y, leaves) = twice(x, once);
        let nodes = gradient(&mut r, y, &leaves);
        let bits: Vec<u64> = nodes.iter().map(|n| r.bits(n.unwrap())).collect();
        let mut tape = r.tape().clone();
        tape.outputs = nodes.into_iter().map(Option::unwrap).collect();
        (bits, tape, y)
    };
    // Merged first, the two adjoints of the product are added before they are handed on: other bits.
    let ((right, tape, y), (early, ..)) = (derivatives(false), derivatives(true));
    assert_ne!(right, early, "the test would not see a merge that comes too early");
    let (r, ..) = twice(x, false);
    let mut before = r.tape().clone();
    before.outputs = vec![y];
    assert_eq!(ops(&merge_equal(&before)).len(), ops(&before).len() - 1, "there is something to merge");
    // Afterwards it applies, and computes the same operations on the same operands.
    let merged = merge_equal(&tape);
    merged.verify().unwrap();
    assert!(ops(&merged).len() < ops(&tape).len());
    assert_eq!(merged.outputs.len(), 4);
}

#[test]
fn merging_compares_operands_as_they_stand() {
    let mut r = Recorder::new();
    let (a, b) = (r.leaf("a", LeafKind::Param, 2.0), r.leaf("b", LeafKind::Param, 3.0));
    let same = [r.op(Op::Add, &[a, b]), r.op(Op::Add, &[a, b])];
    let other = r.op(Op::Add, &[b, a]);
    let mut tape = r.tape().clone();
    tape.outputs = vec![same[0], same[1], other];
    let merged = merge_equal(&tape);
    assert_eq!(merged.outputs[0], merged.outputs[1]);
    assert_ne!(merged.outputs[0], merged.outputs[2], "merging reorders nothing");
    // Constants are equal by their bits: 0 and -0 are two.
    let (zero, minus) = (r.real(0.0), r.real(-0.0));
    let mut tape = r.tape().clone();
    tape.outputs = vec![zero, minus];
    let merged = merge_equal(&tape);
    assert_ne!(merged.outputs[0], merged.outputs[1]);
}

#[test]
fn switches_switch() {
    let (r, y, _) = twice([1.0, 2.0, 3.0, 4.0], false);
    let mut tape = r.tape().clone();
    tape.outputs = vec![y];
    let run = |dead: bool, merge: bool| ops(&Passes { dead, merge, ..Passes::default() }.run(&tape)).len();
    assert_eq!((run(false, false), run(true, false)), (5, 5));
    assert_eq!((run(false, true), run(true, true)), (4, 4));
}

/// How many values are tensors.
fn tensors(tape: &Tape) -> usize {
    tape.shapes.iter().filter(|shape| !shape.is_scalar()).count()
}

/// A sum over a product of a vector of `n` numbers with itself.
fn squares(n: usize) -> Tape {
    let mut r = Recorder::new();
    let numbers: Vec<NodeId> = (0..n).map(|i| r.leaf("x", LeafKind::Param, i as f64)).collect();
    let x = r.pack(&numbers, Shape::Vector(n as u32));
    let y = r.op(Op::Mul, &[x, x]);
    let k = Kernel::MatMul { ta: false, tb: false, m: 1, k: n as u32, n: 1 };
    let sum = r.kernel(k, &[x, y], Shape::Scalar);
    Tape { outputs: vec![sum], ..r.tape().clone() }
}

#[test]
fn small_tensors_become_numbers_and_large_ones_do_not() {
    let small = split_small(&squares(SMALL)).unwrap();
    small.verify().unwrap();
    assert_eq!(tensors(&small), 0);
    assert_eq!(ops(&small).len(), 2 * SMALL + SMALL - 1);
    assert_eq!(split_small(&squares(SMALL + 1)), None);
    let kept = Passes { split: false, ..Passes::default() }.run(&squares(3));
    assert!(tensors(&kept) > 0);
}

#[test]
fn small_tensors_in_linear_algebra_or_beside_large_ones_stay() {
    let mut r = Recorder::new();
    let m = r.tensor_leaf("m", LeafKind::Param, Shape::Matrix(2, 2), &[2.0, 1.0, 1.0, 3.0]);
    let inverse = r.kernel(Kernel::Inverse, &[m], Shape::Matrix(2, 2));
    let twice = r.op(Op::Add, &[inverse, inverse]);
    let wide = r.tensor_leaf("w", LeafKind::Param, Shape::Matrix(20, 2), &[0.5; 40]);
    let row = r.tensor_leaf("r", LeafKind::Param, Shape::Vector(2), &[0.5; 2]);
    let sum = r.op(Op::Add, &[wide, row]);
    // This one has nothing to do with the others.
    let alone = r.op(Op::Exp, &[row]);
    let free = r.tensor_leaf("f", LeafKind::Param, Shape::Vector(3), &[0.1, 0.2, 0.3]);
    let split = r.op(Op::Sin, &[free]);
    let tape = Tape { outputs: vec![twice, sum, alone, split], ..r.tape().clone() };
    let new = split_small(&tape).unwrap();
    new.verify().unwrap();
    assert_eq!(
        new.outputs.iter().map(|&o| new.shape(o)).collect::<Vec<_>>(),
        [m, wide, row, free].map(|n| tape.shape(n))
    );
    // Three sines, and everything else as it was.
    assert_eq!(ops(&new), [Op::Add, Op::Add, Op::Exp, Op::Sin, Op::Sin, Op::Sin]);
}
