//! Staging sets apart what depends on one axis only, changes no bit, and keeps the order of guards.

#![allow(clippy::unwrap_used)]

use dmci_exec::{Leaves, Results, STAYED, StageResults, Staged};
use dmci_ops::{Build, Op};
use dmci_tape::{LeafKind, NodeId, Recorder, Tape};

/// Parameter sets and rows, one number each.
struct Table {
    sets: Vec<f64>,
    rows: Vec<f64>,
}

impl Leaves for Table {
    type Number = f64;

    fn leaf(&self, lane: usize, leaf: usize) -> u64 {
        let x = if leaf == 0 { self.sets[lane / self.rows.len()] } else { self.rows[lane % self.rows.len()] };
        x.to_bits()
    }
}

fn table() -> Table {
    Table {
        sets: (0..7).map(|i| 0.3 + 0.17 * i as f64).collect(),
        rows: (0..23).map(|i| 0.1 * i as f64 - 1.0).collect(),
    }
}

/// A tape over a parameter and an input.
fn tape(build: impl FnOnce(&mut Recorder, NodeId, NodeId) -> Vec<NodeId>) -> Tape {
    let mut r = Recorder::new();
    let (a, x) = (r.leaf("a", LeafKind::Param, 0.5), r.leaf("x", LeafKind::Input, 0.5));
    let outputs = build(&mut r, a, x);
    let mut tape = r.tape().clone();
    tape.outputs = outputs;
    tape.verify().unwrap();
    tape
}

fn run(staged: &Staged, table: &Table, which: &[usize]) -> (Vec<u64>, Vec<u32>) {
    let (mut stages, mut results) = (StageResults::default(), Results::default());
    staged.run(which, table.rows.len(), table, 1, &mut stages, &mut results);
    (results.outputs, results.failed)
}

/// All ways of staging give the same; returns the work of the full one.
fn same(tape: &Tape) -> [usize; 3] {
    let table = table();
    let all: Vec<usize> = (0..table.sets.len() * table.rows.len()).collect();
    // Some lanes only, as after a guard: sets and rows without lanes are not computed.
    let some: Vec<usize> = all.iter().copied().filter(|lane| lane % 5 == 2 || lane % 7 == 0).collect();
    for which in [&all, &some] {
        let plain = run(&Staged::new(tape, false, false), &table, which);
        for (by_set, by_row) in [(true, false), (false, true), (true, true)] {
            let staged = run(&Staged::new(tape, by_set, by_row), &table, which);
            assert_eq!(staged.1, plain.1, "guards, staged {by_set} {by_row}");
            for (i, failed) in plain.1.iter().enumerate().filter(|f| *f.1 == STAYED) {
                let lane = |outputs: &[u64]| outputs[i * tape.outputs.len()..][..tape.outputs.len()].to_vec();
                assert_eq!(lane(&staged.0), lane(&plain.0), "lane {i} {failed}");
            }
        }
    }
    Staged::new(tape, true, true).work()
}

#[test]
fn what_depends_on_one_axis_is_set_apart() {
    let work = same(&tape(|r, a, x| {
        let (e, s) = (r.op(Op::Exp, &[a]), r.op(Op::Sin, &[x]));
        let (e, s) = (r.op(Op::Sin, &[e]), r.op(Op::Exp, &[s]));
        let two = r.real(2.0);
        let e = r.op(Op::Mul, &[e, two]);
        vec![r.op(Op::Mul, &[e, s]), e, s, x, two]
    }));
    assert!(work[0] > 0 && work[1] > 0, "{work:?}");
}

#[test]
fn what_depends_on_both_stays() {
    let product = tape(|r, a, x| {
        let p = r.op(Op::Mul, &[a, x]);
        let (s, e) = (r.op(Op::Sin, &[p]), r.op(Op::Exp, &[p]));
        vec![r.op(Op::Add, &[s, e])]
    });
    let work = same(&product);
    assert_eq!((work[0], work[1]), (0, 0), "{work:?}");
    assert_eq!(work[2], Staged::new(&product, false, false).work()[2]);
}

#[test]
fn the_first_guard_that_fails_is_the_same_in_stages() {
    // Guards on the lane, the set, the row and again the set: whichever stage fails, the first counts.
    let guarded = tape(|r, a, x| {
        let sum = r.op(Op::Add, &[a, x]);
        let limits = [1.4, 1.0, 0.9, 0.8].map(|limit| r.real(limit));
        for (value, limit) in [(sum, 0), (a, 1), (x, 2), (a, 3)] {
            let test = r.op(Op::Lt, &[value, limits[limit]]);
            r.guard(test);
        }
        vec![r.op(Op::Mul, &[a, x])]
    });
    same(&guarded);
    let table = table();
    let all: Vec<usize> = (0..table.sets.len() * table.rows.len()).collect();
    let (_, failed) = run(&Staged::new(&guarded, true, true), &table, &all);
    for guard in [0, 1, 2, 3, STAYED] {
        assert!(failed.contains(&guard), "no lane leaves at {guard}");
    }
}
