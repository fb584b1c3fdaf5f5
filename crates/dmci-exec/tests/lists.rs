//! JitPolicy that reads and writes lists gives the bits of lanes alone, however many there are and whatever the lists are like.

#![cfg(all(feature = "native", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used)]

use dmci_exec::{JitPolicy, Leaves, List, PreparedCall, Results, StageResults, Staged, Target};
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
        let plan = Staged::new(&doubled(), false, false).with_code(JitPolicy::Always);
        assert!(plan.run_all(lanes, lanes, &said, 1, &mut StageResults::default(), &mut target, &mut Vec::new()));
        let expected: Vec<f64> = (0..lanes).map(|lane| 2.0 * said.numbers[lane * stride + at]).collect();
        assert_eq!(found, expected, "stride {stride}, number {at}");
    }
}

/// Two leaves of each lane, of which each is in a list of its own or in none.
struct Arranged {
    lists: [Vec<f64>; 2],
    in_lists: [bool; 2],
}

impl Leaves for Arranged {
    type Number = f64;

    fn leaf(&self, lane: usize, leaf: usize) -> u64 {
        self.lists[leaf][lane].to_bits()
    }

    fn list(&self, leaf: usize) -> Option<List<'_, f64>> {
        self.in_lists[leaf].then(|| List { which: leaf, numbers: &self.lists[leaf], stride: 1, at: 0 })
    }

    fn arrangement(&self) -> Option<u64> {
        Some(self.in_lists.iter().fold(0, |all, &one| 2 * all + u64::from(one)))
    }
}

/// The difference of two leaves.
fn difference() -> Staged {
    let mut r = Recorder::new();
    let leaves = ["x", "y"].map(|name| r.leaf(name, LeafKind::Input, 1.0));
    let difference = r.op(Op::Sub, &leaves);
    let mut tape = r.tape().clone();
    tape.outputs = vec![difference];
    Staged::new(&tape, false, false).with_code(JitPolicy::Always)
}

/// Runs so many lanes with leaves in lists or not, and once more if that makes code ready for such calls; whether it does.
fn can_be_prepared(plan: &Staged, lanes: usize, in_lists: [bool; 2]) -> bool {
    let lists = [3, 5].map(|by| (0..lanes).map(|i| (i * i % by) as f64).collect::<Vec<f64>>());
    let expected: Vec<f64> = lists[0].iter().zip(&lists[1]).map(|(x, y)| x - y).collect();
    let leaves = Arranged { lists, in_lists };
    // Nothing may be written behind the last lane.
    let mut found = vec![7.0; lanes + 64];
    let mut target = Target::new([(&mut found[..lanes], 1), (&mut [], 0), (&mut [], 0)]);
    assert!(plan.run_all(lanes, lanes, &leaves, 1, &mut StageResults::default(), &mut target, &mut Vec::new()));
    let prepared = plan.prepared_call(lanes, &leaves, 1, &target);
    assert_eq!(found[..lanes], expected, "{lanes} lanes, {in_lists:?}");
    let Some(PreparedCall::Lists(mut call)) = prepared else { return false };
    found[..lanes].fill(0.0);
    assert!(call.run(|leaf| &leaves.lists[leaf], [&mut found[..lanes], &mut [], &mut []]));
    assert_eq!(found[..lanes], expected, "{lanes} lanes, {in_lists:?}, prepared");
    assert!(found[lanes..].iter().all(|&x| x == 7.0));
    true
}

#[test]
fn every_arrangement_of_leaves_has_code_of_its_own() {
    let plan = difference();
    // What comes first decides nothing for the others.
    for _ in 0..2 {
        assert!(!can_be_prepared(&plan, 64, [false, false]));
        assert!(!can_be_prepared(&plan, 64, [true, false]) && !can_be_prepared(&plan, 64, [false, true]));
        assert!(can_be_prepared(&plan, 64, [true, true]));
    }
}

#[test]
fn lanes_that_fill_no_group_are_done_at_once() {
    let plan = difference();
    for lanes in 9..300 {
        let is_prepared = can_be_prepared(&plan, lanes, [true, true]);
        assert!(is_prepared || lanes < 64, "{lanes} lanes");
    }
}

#[test]
fn what_the_interpreter_has_done_pays_for_code() {
    let plan = difference().with_code(JitPolicy::WhenItPays);
    let (lanes, lists) = (64, [vec![1.0; 64], vec![2.0; 64]]);
    let leaves = Arranged { lists, in_lists: [true, true] };
    let mut found = vec![0.0; lanes];
    let mut stages = StageResults::default();
    let mut has_code = |stages: &mut StageResults| {
        let mut target = Target::new([(&mut found, 1), (&mut [], 0), (&mut [], 0)]);
        plan.run_all(lanes, lanes, &leaves, 1, stages, &mut target, &mut Vec::new())
    };
    // To look for code costs nothing that code would save.
    assert!((0..10_000).all(|_| !has_code(&mut stages)));
    let (which, mut results): (Vec<usize>, _) = ((0..lanes).collect(), Results::default());
    let runs = (0..10_000).take_while(|_| {
        plan.run(&which, lanes, &leaves, 1, &mut stages, &mut results);
        !has_code(&mut stages)
    });
    let runs = runs.count();
    assert!((5..1000).contains(&runs), "{runs} runs");
}
