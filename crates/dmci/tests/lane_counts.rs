//! However many lanes a call has, whole groups of code or not, each lane has the bits that it has alone.

#![allow(clippy::unwrap_used)]

mod common;

use common::uniform;
use dmci::{Batch, Column, JitPolicy, Model, ModelOptions, Number, Numerics, Program, RunOptions, Want};

const MOST: usize = 130;

/// Straight lines, short and long; a guard; loops of known and of unknown length.
const PROGRAMS: [&str; 5] = [
    "(* a (exp (- (* b x))))",
    "(+ (sin (* a x)) (/ (log (+ 1.5 x)) (+ 2. b)) (expt (+ 1. a) (tanh (* b x))) (sqrt (+ x 2.)))",
    "(if (< (* a x) (* 0.25 b)) (* a x) (+ b (exp x)))",
    "(let loop ((i 0) (s x)) (if (= i 7) (* s b) (loop (+ i 1) (+ (* s a) (sin s)))))",
    "(let loop ((s (+ 1. x))) (if (< s 0.1) (* s b) (loop (* s (+ 0.2 (* 0.5 a))))))",
];

fn model(text: &str, code: JitPolicy, single: bool) -> Model {
    let run = RunOptions { numerics: Numerics { single, clamps: false }, ..RunOptions::default() };
    let options = ModelOptions { run, joins: false, code, threads: 1, ..ModelOptions::default() };
    Model::new(Program::new(text), &["a", "b"], &["x"], options)
}

fn same_as_alone<N: Number>(text: &str, single: bool, want: Want) {
    let number = |&x: &f64| N::rounded(x);
    let params: Vec<N> = uniform(2 * MOST, 1).iter().map(number).collect();
    let column: Vec<N> = uniform(MOST, 2).iter().map(number).collect();
    let bits = |list: &[N]| list.iter().map(|x| x.bits()).collect::<Vec<u64>>();
    let plain = model(text, JitPolicy::Never, single);
    let alone: Vec<_> = (0..MOST)
        .map(|lane| {
            let column = [Column::Reals(vec![column[lane]])];
            let batch = plain.evaluate(&params[2 * lane..2 * lane + 2], &column, want).unwrap();
            (bits(&batch.values), bits(&batch.gradients))
        })
        .collect();
    let fast = model(text, JitPolicy::Always, single);
    for lanes in 9..=MOST {
        let mut batch = Batch::default();
        let columns = [Column::Reals(column[..lanes].to_vec())];
        // The third call and all later ones are like the one before.
        for call in 0..4 {
            batch.values.fill(N::default());
            batch.gradients.fill(N::default());
            fast.evaluate_pairs_into(&mut batch, &params[..2 * lanes], &columns, want).unwrap();
            for (lane, (value, gradient)) in alone[..lanes].iter().enumerate() {
                let what = || format!("{text}, {want:?}, lane {lane} of {lanes}, call {call}");
                assert_eq!(&bits(&batch.values[lane..=lane]), value, "{}", what());
                let width = gradient.len();
                assert_eq!(&bits(&batch.gradients[width * lane..][..width]), gradient, "{}", what());
            }
        }
    }
}

#[test]
fn lanes_have_the_bits_of_lanes_alone() {
    for text in PROGRAMS {
        for want in [Want::Values, Want::Gradients] {
            same_as_alone::<f64>(text, false, want);
            same_as_alone::<f64>(text, true, want);
            same_as_alone::<f32>(text, true, want);
        }
    }
}
