//! Loops that were recorded round by round: machine code with rounds has the bits of the straight line.

#![allow(clippy::unwrap_used)]

use dmci_exec::{JitPolicy, Leaves, Plan, Results};
use dmci_ops::{Build, Op};
use dmci_tape::passes::Passes;
use dmci_tape::{LeafKind, NodeId, Recorder, Tape, gradient, tangents};

/// A reproducible stream of numbers.
struct Stream(u64);

impl Stream {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn pick(&mut self, list: &[NodeId]) -> NodeId {
        list[self.below(list.len())]
    }
}

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

const LEAVES: usize = 4;

/// What one round does: operations with their operands, by number among all that there is in a round.
struct Round {
    operations: Vec<(Op, [usize; 3])>,
    inputs: usize,
}

impl Round {
    fn random(inputs: usize, stream: &mut Stream) -> Round {
        let count = 2 + stream.below(9);
        let mut operations = Vec::new();
        for k in 0..count {
            let ops = [Op::Add, Op::Sub, Op::Mul, Op::Sin, Op::Tanh, Op::Max, Op::Sigmoid, Op::Div];
            let args = [0; 3].map(|_| stream.below(inputs + k));
            operations.push((ops[stream.below(ops.len())], args));
        }
        Round { operations, inputs }
    }

    fn run(&self, r: &mut Recorder, inputs: &[NodeId]) -> Vec<NodeId> {
        assert_eq!(inputs.len(), self.inputs);
        let mut all = inputs.to_vec();
        for (op, args) in &self.operations {
            let args = args.map(|k| all[k]);
            let mut made = r.op(*op, &args[..op.operands().len()]);
            if matches!(op, Op::Mul | Op::Add) {
                // Bounded, and with a decision.
                let test = r.op(Op::Lt, &[made, args[1]]);
                let small = r.op(Op::Tanh, &[made]);
                made = r.op(Op::Select, &[test, small, args[0]]);
            }
            all.push(made);
        }
        all.split_off(self.inputs)
    }
}

/// A program that makes lists round by round, and uses them.
fn program(seed: u64, single: bool) -> Tape {
    let mut stream = Stream(seed);
    let mut r = if single { Recorder::single() } else { Recorder::new() };
    let leaves: Vec<NodeId> = (0..LEAVES).map(|i| r.leaf(&format!("x{i}"), LeafKind::Param, 0.3)).collect();
    let rounds = [9, 30, 100, 200][stream.below(4)];
    let mut lists: Vec<Vec<NodeId>> = Vec::new();
    for _ in 0..1 + stream.below(3) {
        // Some state, what earlier lists have in turn, in either order, and what is the same in all rounds.
        let states = 1 + stream.below(3);
        let read: Vec<(usize, bool)> =
            (0..stream.below(3).min(lists.len())).map(|_| (stream.below(lists.len()), stream.below(2) == 0)).collect();
        let has_time = stream.below(3) == 0;
        let round = Round::random(states + read.len() + 1 + has_time as usize, &mut stream);
        let shared = stream.pick(&leaves);
        let mut state: Vec<NodeId> = (0..states).map(|_| stream.pick(&leaves)).collect();
        let places: Vec<usize> = (0..states).map(|_| stream.below(round.operations.len())).collect();
        let moves_on = stream.below(2) == 0;
        let kept: Vec<usize> = (0..1 + stream.below(2)).map(|_| stream.below(round.operations.len())).collect();
        let mut new = vec![Vec::new(); kept.len()];
        for i in 0..rounds {
            let mut inputs = state.clone();
            for &(list, backward) in &read {
                let list = &lists[list];
                inputs.push(list[if backward { list.len() - 1 - i } else { i }]);
            }
            inputs.push(shared);
            if has_time {
                inputs.push(r.real(i as f64 * 0.01));
            }
            let made = round.run(&mut r, &inputs);
            let before = state.clone();
            places.iter().zip(&mut state).for_each(|(&place, state)| *state = made[place]);
            if moves_on && states > 1 {
                state[1] = before[0];
            }
            kept.iter().zip(&mut new).for_each(|(&place, list)| list.push(made[place]));
        }
        lists.extend(new);
    }
    let mut total = r.real(0.0);
    for list in &lists {
        match stream.below(4) {
            0 => total = list.iter().fold(total, |sum, &x| r.op(Op::Add, &[sum, x])),
            1 => total = list.iter().rev().fold(total, |sum, &x| r.op(Op::Add, &[sum, x])),
            2 => {
                for _ in 0..5 {
                    let x = stream.pick(list);
                    total = r.op(Op::Add, &[total, x]);
                }
            }
            _ => {
                let squares: Vec<NodeId> = list.iter().map(|&x| r.op(Op::Mul, &[x, x])).collect();
                total = squares.iter().fold(total, |sum, &x| r.op(Op::Add, &[sum, x]));
            }
        }
    }
    let test = r.op(Op::Lt, &[total, leaves[1]]);
    r.guard(test);
    let mut outputs = vec![total];
    let derivatives = stream.below(3);
    if derivatives > 0 {
        let first: Vec<NodeId> = gradient(&mut r, total, &leaves).into_iter().flatten().collect();
        outputs.extend(&first);
        if derivatives > 1 && rounds < 200 {
            let one = r.real(1.0);
            outputs.extend(tangents(&mut r, &first, &leaves[..1], &[one]).into_iter().flatten());
        }
    }
    outputs.push(stream.pick(&lists[0]));
    let mut tape = r.tape().clone();
    tape.outputs = outputs;
    if seed.is_multiple_of(4) { tape } else { Passes::default().run(&tape) }
}

fn run(tape: &Tape, lanes: usize, code: JitPolicy) -> Results {
    let bits = (0..lanes * LEAVES).map(|i| (((i * 37) % 101) as f64 * 0.021 - 1.0).to_bits());
    let table = Table { leaves: LEAVES, bits: bits.collect() };
    let which: Vec<usize> = (0..lanes).collect();
    let mut results = Results::default();
    Plan::new(tape).with_code(code).run(&which, &table, 1, &mut results);
    results
}

#[test]
fn rounds_in_straight_lines_have_the_same_bits() {
    for seed in 0..if std::env::var_os("DMCI_LONG").is_some() { 2000 } else { 24 } {
        let tape = program(seed, seed % 5 == 0);
        for lanes in [[1, 40], [3, 300]][seed as usize % 2] {
            let expected = run(&tape, lanes, JitPolicy::Never);
            for code in [JitPolicy::Always, JitPolicy::AlwaysNarrow] {
                let found = run(&tape, lanes, code);
                assert_eq!(found.failed, expected.failed, "seed {seed}, {lanes} lanes, {code:?}: guards");
                let first = (0..expected.outputs.len()).find(|&i| found.outputs[i] != expected.outputs[i]);
                let width = tape.outputs.len();
                assert!(
                    first.is_none(),
                    "seed {seed}, {lanes} lanes, {code:?}: {:?}",
                    first.map(|i| (i / width, i % width))
                );
            }
        }
    }
}
