//! Loops that lanes leave after different numbers of rounds, with nobody asking for the states in between: a lane that
//! waits for its neighbours keeps what it had when it left.

#![allow(clippy::unwrap_used)]

use dmci_exec::{JitPolicy, Leaves, Plan, Results, STAYED};
use dmci_ops::{Build, Op, Shape, Type};
use dmci_tape::passes::Passes;
use dmci_tape::{LeafKind, LoopKind, NewLoop, NodeId, Recorder, Round, Tape, gradient};

type Lane = [u64; 4];

struct Table<'a>(&'a [Lane]);

impl Leaves for Table<'_> {
    type Number = f64;

    fn leaf(&self, lane: usize, leaf: usize) -> u64 {
        self.0[lane][leaf]
    }
}

/// What a loop is like besides its steps to a square root.
#[derive(Clone, Copy)]
struct Kind {
    /// In single precision.
    single: bool,
    /// It ends after a number of rounds that lanes bring along.
    counts: bool,
    /// Numbers that nothing converges by: a state that becomes another one, a boolean, an integer, a slow function,
    /// and an integer that becomes what the other one does.
    more: bool,
    limit: u64,
}

/// The guards of a round, and what its states become: g <- g + eta ((g + x / g) / 2 - g).
fn round(r: &mut Recorder, state: &[NodeId], [x, eta, tol, n]: [NodeId; 4], kind: Kind) -> Vec<NodeId> {
    let [t, g] = [state[0], state[1]];
    if kind.counts {
        let goes_on = r.op(Op::IntLt, &[t, n]);
        r.guard(goes_on);
    }
    let (one, half) = (r.real(1.0), r.real(0.5));
    let square = r.op(Op::Mul, &[g, g]);
    let off = r.op(Op::Sub, &[square, x]);
    let off = r.op(Op::Abs, &[off]);
    let most = r.op(Op::Max, &[one, x]);
    let most = r.op(Op::Mul, &[tol, most]);
    let done = r.op(Op::Lt, &[off, most]);
    r.guard(done);
    let quotient = r.op(Op::Div, &[x, g]);
    let sum = r.op(Op::Add, &[g, quotient]);
    let mean = r.op(Op::Mul, &[sum, half]);
    let by = r.op(Op::Sub, &[mean, g]);
    let by = r.op(Op::Mul, &[by, eta]);
    let next = r.op(Op::Add, &[g, by]);
    let step = r.int(1);
    let later = r.op(Op::IntAdd, &[t, step]);
    let mut end = vec![later, next];
    if kind.more {
        let [before, grows, changes, slow] = [state[2], state[3], state[4], state[5]];
        let grown = r.op(Op::Lt, &[before, g]);
        let same = r.op(Op::IntAdd, &[changes, step]);
        let changes = r.op(Op::IntSelect, &[grows, changes, same]);
        let large = r.op(Op::Mul, &[slow, x]);
        let slow = r.op(Op::Sin, &[large]);
        end.extend([g, grown, changes, slow, changes]);
    }
    end
}

fn looped(kind: Kind) -> Tape {
    let (r, of, states) = recorded(kind);
    let mut tape = r.tape().clone();
    tape.outputs = std::iter::once(of).chain((0..states).map(|i| r.out(of, i))).collect();
    tape.verify().unwrap();
    tape
}

/// The same with the derivatives of a number by two leaves, for which a loop runs back.
fn followed(kind: Kind) -> Tape {
    let (mut r, of, states) = recorded(kind);
    let mut outputs: Vec<NodeId> = (0..states).map(|i| r.out(of, i)).collect();
    let last = if kind.more { r.op(Op::Mul, &[outputs[1], outputs[2]]) } else { outputs[1] };
    outputs.extend(gradient(&mut r, last, &[NodeId(0), NodeId(1)]).into_iter().flatten());
    let mut tape = r.tape().clone();
    tape.outputs = outputs;
    tape.verify().unwrap();
    tape
}

/// The loop, and how many states it has.
fn recorded(kind: Kind) -> (Recorder, NodeId, usize) {
    let mut r = if kind.single { Recorder::single() } else { Recorder::new() };
    let x = r.leaf("x", LeafKind::Param, 2.0);
    let eta = r.leaf("eta", LeafKind::Param, 1.0);
    let tol = r.leaf("tol", LeafKind::Input, 1e-6);
    let n = r.int_leaf("n", LeafKind::Input, 5);
    let half = r.real(0.5);
    let first = r.op(Op::Mul, &[half, x]);
    let (zero, no) = (r.int(0), r.op(Op::Lt, &[x, x]));
    let mut operands = vec![zero, first];
    if kind.more {
        operands.extend([x, no, n, x, zero]);
    }
    let (from, guards, count) = (r.len(), 0, r.leaf_count());
    let values = [
        (Type::Int, 0),
        (Type::Real, 1f64.to_bits()),
        (Type::Real, 2f64.to_bits()),
        (Type::Bool, 0),
        (Type::Int, 5),
        (Type::Real, 2f64.to_bits()),
        (Type::Int, 0),
    ];
    let locals = values[..operands.len()].iter();
    let start: Vec<NodeId> = locals.map(|&(ty, bits)| r.local(ty, Shape::Scalar, &[bits])).collect();
    let end = round(&mut r, &start, [x, eta, tol, n], kind);
    let states = end.len();
    let (body, shared) = r.cut_round(&Round { from, guards, start, end }, count).unwrap();
    operands.extend(shared);
    let of = r.push_loop(NewLoop { body, kind: LoopKind::Forward { limit: kind.limit }, operands }, None);
    (r, of, states)
}

fn run(tape: &Tape, lanes: &[Lane], code: JitPolicy) -> Vec<u64> {
    let which: Vec<usize> = (0..lanes.len()).collect();
    let mut results = Results::default();
    Plan::new(tape).with_code(code).run(&which, &Table(lanes), 1, &mut results);
    assert!(results.failed.iter().all(|&f| f == STAYED));
    results.outputs
}

/// Lanes that need none, few, many or all rounds, next to each other; some are not numbers.
fn lanes(n: usize) -> Vec<Lane> {
    let odd = [f64::NAN, f64::INFINITY, 0.0, -1.0, 4.0, 1e-310, 1e308];
    (0..n)
        .map(|i| {
            let u = (i * i * 7 + i * 13) % 101;
            let x = if i % 11 == 3 { odd[i / 11 % odd.len()] } else { 10f64.powf(u as f64 / 12.0 - 4.0) };
            let eta: f64 = [1.0, 0.7, 0.2, 1.0, 0.05][i / 3 % 5];
            let tol: f64 = [1e-6, 1e-2, 1e-12, 10.0][i / 5 % 4];
            [x.to_bits(), eta.to_bits(), tol.to_bits(), (i * 37 % 200) as u64]
        })
        .collect()
}

#[test]
fn lanes_that_have_left_keep_their_states() {
    for (counts, limit) in [(true, 1 << 40), (true, 40), (false, 100), (false, 3), (false, 0)] {
        for (more, single) in [(false, false), (true, false), (false, true), (true, true)] {
            let tape = looped(Kind { single, counts, more, limit });
            let merged = Passes::default().run(&tape);
            for n in [1, 5, 37, 300] {
                let lanes = lanes(n);
                let expected = run(&tape, &lanes, JitPolicy::Never);
                for (tape, code) in
                    [(&tape, JitPolicy::Always), (&tape, JitPolicy::AlwaysNarrow), (&merged, JitPolicy::Always)]
                {
                    let found = run(tape, &lanes, code);
                    let first = (0..found.len()).find(|&i| found[i] != expected[i]);
                    assert!(first.is_none(), "{code:?}, {n} lanes, limit {limit}, {counts} {more} {single}: {first:?}");
                }
            }
        }
    }
}

#[test]
fn lanes_are_as_they_are_alone() {
    let lanes = lanes(300);
    for (code, single) in [(JitPolicy::Always, false), (JitPolicy::AlwaysNarrow, false), (JitPolicy::Always, true)] {
        let tape = looped(Kind { single, counts: false, more: true, limit: 60 });
        let all = run(&tape, &lanes, code);
        let width = all.len() / lanes.len();
        // Some of them leave at once, some never.
        assert!(all.chunks(width).any(|l| l[0] == 1 && l[1] == 0) && all.chunks(width).any(|l| l[0] == 0));
        for (i, lane) in lanes.iter().enumerate() {
            let alone = run(&tape, &[*lane], JitPolicy::Never);
            assert!(all[i * width..(i + 1) * width] == alone, "lane {i} with {code:?}");
        }
    }
}

#[test]
fn the_way_back_has_as_many_rounds() {
    for (counts, limit) in [(true, 1 << 40), (false, 100), (false, 10)] {
        for (more, single) in [(false, false), (true, false), (false, true), (true, true)] {
            let tape = Passes::default().run(&followed(Kind { single, counts, more, limit }));
            // Blocks of lanes, the later of which know what lanes did in earlier ones; some of them are all alike.
            for (n, same) in [(7, 1), (300, 1), (1000, 1), (1000, 300)] {
                let different = lanes(n);
                let lanes: Vec<Lane> = (0..n).map(|i| different[i - i % same]).collect();
                let expected = run(&tape, &lanes, JitPolicy::Never);
                for code in [JitPolicy::Always, JitPolicy::AlwaysNarrow] {
                    let found = run(&tape, &lanes, code);
                    let first = (0..found.len()).find(|&i| found[i] != expected[i]);
                    assert!(first.is_none(), "{code:?}, {n} lanes, limit {limit}, {counts} {more} {single}: {first:?}");
                }
            }
        }
    }
}

#[test]
fn lanes_that_left_another_plan_run_loops_of_this_one() {
    let mut r = Recorder::new();
    let leaves = ["x", "eta", "tol"].map(|name| r.leaf(name, LeafKind::Input, 1.0));
    let test = r.op(Op::Lt, &[leaves[0], leaves[1]]);
    r.guard(test);
    let mut guarded = r.tape().clone();
    guarded.outputs = leaves.to_vec();
    let lanes = lanes(200);
    let which: Vec<usize> = (0..lanes.len()).collect();
    let tape = looped(Kind { single: false, counts: false, more: false, limit: 100 });
    let expected = run(&tape, &lanes, JitPolicy::Never);
    for code in [JitPolicy::Always, JitPolicy::AlwaysNarrow] {
        let mut results = Results::default();
        Plan::new(&guarded).with_code(code).run(&which, &Table(&lanes), 1, &mut results);
        assert!(results.failed.iter().any(|&f| f != STAYED));
        assert!(run(&tape, &lanes, code) == expected, "{code:?}");
    }
}
