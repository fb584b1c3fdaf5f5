//! Code that reads and writes lists gives the bits of lanes alone, however many there are and whatever the lists are like.

#![allow(clippy::unwrap_used)]

use dmci_exec::{Code, Leaves, List, StageResults, Staged, Target};
use dmci_ops::{Build, Op};
use dmci_tape::{LeafKind, Recorder, Tape};

/// One leaf, which is said to be in a list like this; what it is in each lane is its number there.
struct Said {
    numbers: Vec<f64>,
    stride: usize,
    at: usize,
}

impl Leaves for Said {
    type Number = f64;

    fn leaf(&self, lane: usize, _: usize) -> u64 {
        self.numbers[lane * self.stride + self.at].to_bits()
    }

    fn list(&self, _: usize) -> Option<List<'_, f64>> {
        Some(List { which: 0, numbers: &self.numbers, stride: self.stride, at: self.at })
    }
}

/// Twice a leaf.
fn doubled() -> Tape {
    let mut r = Recorder::new();
    let x = r.leaf("x", LeafKind::Input, 1.0);
    let twice = r.op(Op::Add, &[x, x]);
    let mut tape = r.tape().clone();
    tape.outputs = vec![twice];
    tape
}

#[test]
fn lists_that_no_code_can_read_are_read_lane_by_lane() {
    let lanes = 33;
    // All lanes have the same number, or have numbers of the lanes behind them.
    for (stride, at) in [(0, 0), (1, 1), (2, 2), (3, 7)] {
        let numbers: Vec<f64> = (0..(lanes - 1) * stride + at + 1).map(|i| i as f64).collect();
        let said = Said { numbers, stride, at };
        let mut found = vec![0.0; lanes];
        let mut target = Target::new([(&mut found, 1), (&mut [], 0), (&mut [], 0)]);
        let plan = Staged::new(&doubled(), false, false).with_code(Code::Always);
        assert!(plan.run_all(lanes, lanes, &said, 1, &mut StageResults::default(), &mut target, &mut Vec::new()));
        let expected: Vec<f64> = (0..lanes).map(|lane| 2.0 * said.numbers[lane * stride + at]).collect();
        assert_eq!(found, expected, "stride {stride}, number {at}");
    }
}
