//! Every operation's derivative: against 50-digit arithmetic, at its edges, and a second time.

#![allow(clippy::unwrap_used)]

use dmci_ops::{Build, Op};
use dmci_tape::{LeafKind, NodeId, Recorder, adjoints, gradient, tangents};

fn recorded(op: Op, x: &[f64]) -> (Recorder, NodeId, Vec<NodeId>) {
    let mut r = Recorder::new();
    let leaves: Vec<NodeId> = x.iter().map(|&x| r.leaf("x", LeafKind::Param, x)).collect();
    let y = r.op(op, &leaves);
    (r, y, leaves)
}

fn derivative(op: Op, x: &[f64], i: usize) -> f64 {
    let (mut r, y, leaves) = recorded(op, x);
    adjoints(&mut r, y, &leaves)[i]
}

#[test]
fn derivatives_agree_with_high_precision() {
    let mut worst = (0.0, String::new());
    for line in include_str!("derivatives.txt").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let op = Op::parse(words[0]).unwrap();
        let i: usize = words[1].parse().unwrap();
        let numbers: Vec<f64> = words[2..].iter().map(|w| w.parse().unwrap()).collect();
        let (want, x) = numbers.split_last().unwrap();
        let got = derivative(op, x, i);
        let error = (got - want).abs() / want.abs().max(1e-3);
        if error > worst.0 {
            worst = (error, line.to_string());
        }
        assert!(error <= 1e-12, "{line}: got {got}");
        // Forward mode, and the gradient as operations, are the same operations.
        let (mut r, y, leaves) = recorded(op, x);
        let one = r.real(1.0);
        let forward = tangents(&mut r, &[y], &leaves[i..=i], &[one])[0];
        let reverse = gradient(&mut r, y, &leaves)[i];
        let value = |n: Option<NodeId>| n.map_or(0.0, |n| r.value(n)).to_bits();
        assert_eq!(value(forward), got.to_bits(), "{line}");
        assert_eq!(value(reverse), got.to_bits(), "{line}");
    }
    println!("largest relative error {:.1e}: {}", worst.0, worst.1);
}

/// The derivatives of these are made of their values, which are next to 1 there.
#[test]
fn derivatives_of_saturated_steps_have_a_small_absolute_error() {
    let mut worst = [0.0f64; 2];
    for i in 0..20_000 {
        let x = i as f64 * 0.002;
        for (x, small) in [(x, (-2.0 * x).exp()), (-x, (-2.0 * x).exp())] {
            let tanh = (derivative(Op::Tanh, &[x], 0) - 4.0 * small / (1.0 + small).powi(2)).abs();
            let small = (-x.abs()).exp();
            let sigmoid = (derivative(Op::Sigmoid, &[x], 0) - small / (1.0 + small).powi(2)).abs();
            worst = [worst[0].max(tanh), worst[1].max(sigmoid)];
        }
    }
    println!("largest errors {worst:?}");
    assert!(worst.iter().all(|&error| error <= 4e-16), "{worst:?}");
}

#[test]
fn every_differentiable_operation_is_in_the_reference() {
    let text = include_str!("derivatives.txt");
    let internal = [
        "same",
        "stop",
        "pow-base",
        "pow-exponent",
        "polygamma",
        "share",
        "gate",
        "select",
        "to-real",
        "linear",
        "weigh",
        "counts",
        "counted",
    ];
    let rounding = ["ceiling", "truncate", "quotient", "floor-quotient"];
    for op in Op::ALL.iter().filter(|op| op.result() == dmci_ops::Type::Real) {
        let name = op.name();
        let covered = text.lines().any(|l| l.starts_with(&format!("{name} ")));
        assert!(covered || internal.contains(&name) || rounding.contains(&name), "{name} is not tested");
    }
}

#[test]
fn conventions_at_edges() {
    assert_eq!(derivative(Op::Min, &[2.0, 2.0], 0), 0.5);
    assert_eq!(derivative(Op::Max, &[2.0, 2.0], 1), 0.5);
    assert_eq!(derivative(Op::Abs, &[0.0], 0), 0.0);
    assert_eq!(derivative(Op::Relu, &[0.0], 0), 0.0);
    assert_eq!(derivative(Op::Sqrt, &[0.0], 0), f64::INFINITY);
    assert_eq!(derivative(Op::Pow, &[0.0, 2.0], 0), 0.0);
    assert_eq!(derivative(Op::Pow, &[0.0, 0.0], 0), 0.0);
    assert_eq!(derivative(Op::Pow, &[0.0, 1.0], 0), 1.0);
    assert_eq!(derivative(Op::Pow, &[0.0, 2.0], 1), 0.0);
    assert_eq!(derivative(Op::Pow, &[-2.0, 3.0], 0), 12.0);
    assert_eq!(derivative(Op::Floor, &[2.5], 0), 0.0);
    // A side that is not taken gets nothing, whatever it is.
    let mut r = Recorder::new();
    let x = r.leaf("x", LeafKind::Param, 0.0);
    let one = r.real(1.0);
    let pole = r.op(Op::Div, &[one, x]);
    let y = r.op(Op::Min, &[pole, one]);
    assert_eq!(adjoints(&mut r, y, &[pole]), [0.0]);
}

/// Second derivatives against differences of first ones.
#[test]
fn second_derivatives_agree_with_differences() {
    for line in include_str!("derivatives.txt").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let op = Op::parse(words[0]).unwrap();
        if matches!(
            op,
            Op::Abs | Op::Min | Op::Max | Op::Relu | Op::Floor | Op::Round | Op::Sign | Op::Modulo | Op::Remainder
        ) {
            continue;
        }
        let i: usize = words[1].parse().unwrap();
        let x: Vec<f64> = words[2..words.len() - 1].iter().map(|w| w.parse().unwrap()).collect();
        // Differences are too coarse at the ends of a domain.
        let ends = matches!(op, Op::Asin | Op::Acos | Op::Atanh | Op::Acosh);
        if ends && (x[0].abs() - 1.0).abs() < 0.01 {
            continue;
        }
        let (mut r, y, leaves) = recorded(op, &x);
        let first = gradient(&mut r, y, &leaves)[i];
        let second = first.map_or(vec![0.0; x.len()], |d| adjoints(&mut r, d, &leaves));
        for (j, got) in second.into_iter().enumerate() {
            let h = 1e-5 * x[j].abs().max(0.1);
            let at = |s: f64| {
                let mut moved = x.clone();
                moved[j] += s * h;
                derivative(op, &moved, i)
            };
            let want = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h);
            assert!((got - want).abs() <= 1e-7 * want.abs().max(1.0), "{line}: d{j} {got} {want}");
        }
    }
}
