//! Loops over lanes: the same bits as the rounds written out, whatever the lanes do.

#![allow(clippy::unwrap_used)]

use dmci_exec::{JitPolicy, Leaves, Plan, Results, STAYED};
use dmci_ops::{Build, Op, Shape, Type};
use dmci_tape::passes::{Passes, merge_equal, remove_dead};
use dmci_tape::{LeafKind, LoopKind, NewLoop, NodeId, Recorder, Round, Tape, gradient, tangents};

struct Table {
    leaves: usize,
    bits: Vec<u64>,
}

impl Leaves for Table {
    type Number = f64;

    fn leaf(&self, lane: usize, leaf: usize) -> u64 {
        self.bits[lane * self.leaves + leaf]
    }
}

/// x <- p x (1 - x) + y, then y <- x y, while t < rounds: by rounds of a loop, or written out.
fn round(r: &mut Recorder, [t, x, y]: [NodeId; 3], p: NodeId) -> [NodeId; 3] {
    let one = r.real(1.0);
    let rest = r.op(Op::Sub, &[one, x]);
    let grown = r.op(Op::Mul, &[p, x]);
    let next = r.op(Op::Mul, &[grown, rest]);
    let next = r.op(Op::Add, &[next, y]);
    let both = r.op(Op::Mul, &[next, y]);
    let step = r.int(1);
    let t = r.op(Op::IntAdd, &[t, step]);
    [t, next, both]
}

fn leaves(r: &mut Recorder) -> [NodeId; 4] {
    [
        r.leaf("p", LeafKind::Param, 3.1),
        r.leaf("x", LeafKind::Param, 0.3),
        r.leaf("y", LeafKind::Param, 0.01),
        r.int_leaf("n", LeafKind::Input, 5),
    ]
}

fn looped(single: bool) -> (Recorder, NodeId, Vec<NodeId>) {
    let mut r = if single { Recorder::single() } else { Recorder::new() };
    let [p, x, y, n] = leaves(&mut r);
    let t = r.int(0);
    let (from, guards, count) = (r.len(), 0, r.leaf_count());
    let start = vec![
        r.local(Type::Int, Shape::Scalar, &[0]),
        r.local(Type::Real, Shape::Scalar, &[0.3f64.to_bits()]),
        r.local(Type::Real, Shape::Scalar, &[0.01f64.to_bits()]),
    ];
    let goes_on = r.op(Op::IntLt, &[start[0], n]);
    r.guard(goes_on);
    let end = round(&mut r, [start[0], start[1], start[2]], p);
    let (body, shared) = r.cut_round(&Round { from, guards, start, end: end.to_vec() }, count).unwrap();
    assert_eq!(shared, [p, n]);
    let operands = vec![t, x, y, p, n];
    let new = NewLoop { body, kind: LoopKind::Forward { limit: 1 << 40 }, operands };
    let of = r.push_loop(new, None);
    let (x, y) = (r.out(of, 1), r.out(of, 2));
    let out = r.op(Op::Add, &[x, y]);
    let out = r.op(Op::Mul, &[out, p]);
    (r, out, vec![p, NodeId(1), NodeId(2)])
}

fn flat(rounds: usize, single: bool) -> (Recorder, NodeId, Vec<NodeId>) {
    let mut r = if single { Recorder::single() } else { Recorder::new() };
    let [p, x, y, _] = leaves(&mut r);
    let t = r.int(0);
    let mut state = [t, x, y];
    for _ in 0..rounds {
        state = round(&mut r, state, p);
    }
    let out = r.op(Op::Add, &[state[1], state[2]]);
    let out = r.op(Op::Mul, &[out, p]);
    (r, out, vec![p, x, y])
}

/// Value, gradient and Hessian.
fn derivatives((mut r, out, wanted): (Recorder, NodeId, Vec<NodeId>)) -> Tape {
    let first: Vec<NodeId> = gradient(&mut r, out, &wanted).into_iter().map(Option::unwrap).collect();
    let mut outputs = vec![out];
    outputs.extend(&first);
    for &leaf in &wanted {
        let one = r.real(1.0);
        for part in tangents(&mut r, &first, &[leaf], &[one]) {
            let zero = r.real(0.0);
            outputs.push(part.unwrap_or(zero));
        }
    }
    let mut tape = r.tape().clone();
    tape.outputs = outputs;
    tape
}

fn run(tape: &Tape, lanes: &[[f64; 3]], rounds: impl Fn(usize) -> i64) -> Vec<u64> {
    let bits = lanes.iter().enumerate().flat_map(|(i, l)| l.map(f64::to_bits).into_iter().chain([rounds(i) as u64]));
    let table = Table { leaves: 4, bits: bits.collect() };
    let which: Vec<usize> = (0..lanes.len()).collect();
    let [results, wide, narrow] = [JitPolicy::Never, JitPolicy::Always, JitPolicy::AlwaysNarrow].map(|code| {
        let mut results = Results::default();
        Plan::new(tape).with_code(code).run(&which, &table, 1, &mut results);
        assert!(results.failed.iter().all(|&f| f == STAYED));
        results
    });
    assert!(results.outputs == wide.outputs, "machine code gives other bits");
    assert!(results.outputs == narrow.outputs, "machine code with 256 bits gives other bits");
    results.outputs
}

fn lanes(n: usize) -> Vec<[f64; 3]> {
    (0..n).map(|i| [2.5 + 0.001 * i as f64, 0.1 + 0.0007 * i as f64, 0.02 - 0.00001 * i as f64]).collect()
}

#[test]
fn a_loop_is_its_rounds_written_out() {
    let none = Passes { dead: false, merge: false, stage: false, split: false };
    for (passes, single) in [(Passes::default(), false), (none, false), (Passes::default(), true)] {
        let tape = derivatives(looped(single));
        tape.verify().unwrap();
        let reread = Tape::parse(&tape.print()).unwrap();
        assert_eq!(reread.print(), tape.print());
        let tape = passes.run(&tape);
        tape.verify().unwrap();
        for rounds in [0, 1, 2, 7, 100, 1000] {
            let lanes = lanes(37);
            let expected = run(&derivatives(flat(rounds, single)), &lanes, |_| 0);
            let found = run(&tape, &lanes, |_| rounds as i64);
            let first = (0..expected.len()).find(|&i| found[i] != expected[i]);
            assert!(first.is_none(), "{rounds} rounds, {} of {}: {first:?}", found.len(), lanes.len());
        }
    }
}

#[test]
fn lanes_take_the_rounds_that_they_need() {
    let tape = Passes::default().run(&derivatives(looped(false)));
    let lanes = lanes(300);
    let rounds = |i: usize| (i * i * 7 % 500) as i64;
    let all = run(&tape, &lanes, rounds);
    let width = all.len() / lanes.len();
    for (i, lane) in lanes.iter().enumerate() {
        let alone = run(&tape, &[*lane], |_| rounds(i));
        assert!(all[i * width..(i + 1) * width] == alone, "lane {i}, {} rounds", rounds(i));
    }
}

/// The new x, which the way back needs for y, is what the next round began with.
#[test]
fn rounds_back_look_up_what_rounds_ended_with() {
    let (mut r, out, wanted) = looped(false);
    let parts = gradient(&mut r, out, &wanted);
    let mut tape = r.tape().clone();
    tape.outputs = parts.into_iter().map(Option::unwrap).collect();
    let carried = Passes::default().run(&tape);
    carried.verify().unwrap();
    assert_eq!(Tape::parse(&carried.print()).unwrap(), carried);
    let back = |tape: &Tape| tape.loops.iter().find(|l| l.kind == LoopKind::Backward).unwrap().clone();
    let (before, after) = (back(&tape), back(&carried));
    assert_eq!(after.states, before.states + 1);
    // x (1 - x) p + y, of which p x and 1 - x are needed for other adjoints.
    let computed = remove_dead(&merge_equal(&before.body)).operations();
    assert_eq!(after.body.operations(), computed - 2);
}
