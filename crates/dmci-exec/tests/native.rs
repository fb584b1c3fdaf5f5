//! Machine code and the block interpreter give the same bits, for every operation and any lanes.

#![allow(clippy::unwrap_used)]

use dmci_exec::{JitPolicy, Leaves, List, Number, Plan, Results, STAYED, StageResults, Staged, Target};
use dmci_ops::{Build, Kernel, Op, Shape, Type};
use dmci_tape::{Guard, Leaf, LeafKind, Node, NodeId, Rebuild, Recorder, Tape, gradient};

/// A reproducible stream of numbers.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn real(&mut self) -> f64 {
        const SPECIAL: [f64; 12] =
            [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310, 1e300, 745.0];
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        match self.below(16) {
            0 => SPECIAL[self.below(SPECIAL.len())],
            // Numbers of any size, or not numbers, with any sign and payload.
            1 => f64::from_bits(self.next() | if self.below(4) == 0 { 0x7FF << 52 } else { 0 }),
            2 => (unit - 0.5) * 2000.0,
            3..6 => (unit * 10.0).round(),
            _ => (unit - 0.3) * 5.0,
        }
    }
}

struct Table<N = f64> {
    bits: Vec<u64>,
    leaves: usize,
    /// Lists with the same numbers: how many leaves each holds; leaves behind them are in none.
    widths: Vec<usize>,
    lists: Vec<Vec<N>>,
}

impl Table {
    fn of(bits: impl Iterator<Item = u64>, leaves: usize) -> Table {
        Table { bits: bits.collect(), leaves, widths: Vec::new(), lists: Vec::new() }
    }

    fn with_lists<N: Number>(self, widths: &[usize]) -> Table<N> {
        let mut lists = Vec::new();
        let mut first = 0;
        for &width in widths {
            let lanes = self.bits.chunks(self.leaves);
            let list = lanes.flat_map(|lane| lane[first..first + width].iter().map(|&bits| N::of_bits(bits)));
            lists.push(list.collect());
            first += width;
        }
        Table { bits: self.bits, leaves: self.leaves, widths: widths.to_vec(), lists }
    }
}

impl<N: Number> Leaves for Table<N> {
    type Number = N;

    fn leaf(&self, lane: usize, leaf: usize) -> u64 {
        match self.list(leaf) {
            Some(List { numbers, stride, at, .. }) => numbers[lane * stride + at].bits(),
            None => self.bits[lane * self.leaves + leaf],
        }
    }

    fn list(&self, leaf: usize) -> Option<List<'_, N>> {
        let mut at = leaf;
        for (which, (list, &stride)) in self.lists.iter().zip(&self.widths).enumerate() {
            if at < stride {
                return Some(List { which, numbers: list, stride, at });
            }
            at -= stride;
        }
        None
    }
}

const REALS: usize = 4;
const INTS: usize = 3;

fn table(lanes: usize, stream: &mut Stream) -> Table {
    let leaves = REALS + INTS;
    let bits = (0..lanes * leaves)
        .map(|i| if i % leaves < REALS { stream.real().to_bits() } else { (stream.below(41) as i64 - 20) as u64 });
    Table::of(bits, leaves)
}

/// A tape of so many operations, each with operands of the right types; every operation is used.
fn random_tape(operations: usize, stream: &mut Stream, single: bool) -> Tape {
    let mut tape = Tape { single, ..Tape::default() };
    let mut of_type: [Vec<NodeId>; 3] = Default::default();
    let index = |ty: Type| match ty {
        Type::Real => 0,
        Type::Int => 1,
        Type::Bool => 2,
    };
    let push = |tape: &mut Tape, node: Node| {
        tape.nodes.push(node);
        tape.shapes.push(Shape::Scalar);
        NodeId(tape.nodes.len() as u32 - 1)
    };
    for i in 0..REALS + INTS {
        let ty = if i < REALS { Type::Real } else { Type::Int };
        tape.leaves.push(Leaf { name: format!("x{i}"), kind: LeafKind::Input, ty, shape: Shape::Scalar });
        let id = push(&mut tape, Node::Leaf(i as u32));
        of_type[index(ty)].push(id);
    }
    for x in [1.5, -0.25, 0.0, 2.0] {
        let x = if single { x as f32 as f64 } else { x };
        let id = push(&mut tape, Node::Real(x.to_bits()));
        of_type[0].push(id);
    }
    let id = push(&mut tape, Node::Int(7));
    of_type[1].push(id);
    for i in 0..operations {
        let op = if i < Op::ALL.len() { Op::ALL[i] } else { Op::ALL[stream.below(Op::ALL.len())] };
        if op.operands().iter().any(|&ty| of_type[index(ty)].is_empty()) {
            continue;
        }
        let mut args = [NodeId(0); 3];
        for (arg, &ty) in args.iter_mut().zip(op.operands()) {
            let list = &of_type[index(ty)];
            // Recent values are used more often, so that tapes are deep.
            let far = if stream.below(3) == 0 { 1000 } else { 12 };
            let back = stream.below(list.len().min(far));
            *arg = list[list.len() - 1 - back];
        }
        let id = push(&mut tape, Node::Op(op, args));
        of_type[index(op.result())].push(id);
        if op.result() == Type::Bool && stream.below(4) == 0 {
            tape.guards.push(Guard { node: id, outcome: stream.below(2) == 0, pinned: false });
        }
    }
    tape.outputs = (REALS as u32..tape.nodes.len() as u32).step_by(3).map(NodeId).collect();
    tape
}

fn same(tape: &Tape, lanes: usize, table: &Table, what: &str) {
    let which: Vec<usize> = (0..lanes).collect();
    let mut expected = Results::default();
    Plan::new(tape).with_code(JitPolicy::Never).run(&which, table, 1, &mut expected);
    for code in [JitPolicy::Always, JitPolicy::AlwaysNarrow] {
        let mut got = Results::default();
        Plan::new(tape).with_code(code).run(&which, table, 1, &mut got);
        assert_eq!(got.failed, expected.failed, "{what}, {code:?}: guards");
        let width = expected.outputs.len() / lanes;
        for (i, (g, e)) in got.outputs.iter().zip(&expected.outputs).enumerate() {
            let (lane, k) = (i / width, i % width);
            let node = tape.outputs[k.min(tape.outputs.len() - 1)];
            assert_eq!(
                g,
                e,
                "{what}, {code:?}: lane {lane}, output {k}, {:?}: {:?} instead of {:?}",
                tape.nodes[node.0 as usize],
                f64::from_bits(*g),
                f64::from_bits(*e)
            );
        }
    }
}

/// Operations on reals and outcomes of comparisons that have instructions or kernels.
#[rustfmt::skip]
const PACKED: &[Op] = &[
    Op::Same, Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Neg, Op::Abs, Op::Sign, Op::Sqrt, Op::Root, Op::Ratio, Op::Gate,
    Op::Weigh, Op::Counts, Op::Counted, Op::Relu, Op::Min, Op::Max, Op::Share, Op::Floor, Op::Ceiling, Op::Round,
    Op::Truncate, Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Not, Op::And, Op::Or, Op::Select, Op::BoolSelect, Op::Exp,
    Op::Expm1, Op::Log, Op::Log1p, Op::Sin, Op::Cos, Op::Tan, Op::Sinh, Op::Cosh, Op::Tanh, Op::Sigmoid, Op::Softplus,
    Op::Pow, Op::PowBase, Op::PowExponent, Op::Log2, Op::Log10, Op::Asin, Op::Acos, Op::Atan, Op::Atan2, Op::Asinh,
    Op::Acosh, Op::Atanh, Op::Cbrt, Op::Hypot, Op::Erf, Op::Erfc, Op::Gamma, Op::Lgamma, Op::Digamma, Op::Polygamma,
];

/// The part of the tape that can be computed with twice the lanes to a vector.
fn reals_of(mut tape: Tape) -> Tape {
    let mut kept = vec![false; tape.nodes.len()];
    for i in 0..tape.nodes.len() {
        kept[i] = match tape.nodes[i] {
            Node::Leaf(n) => tape.leaves[n as usize].ty == Type::Real,
            Node::Real(_) => true,
            Node::Op(op, args) => {
                let known = op.operands().iter().zip(args).all(|(_, a)| kept[a.0 as usize]);
                PACKED.contains(&op) && known
            }
            _ => false,
        };
    }
    tape.guards.retain(|g| kept[g.node.0 as usize]);
    let real = |id: &NodeId| kept[id.0 as usize] && tape.type_of(*id) == Type::Real;
    let outputs: Vec<NodeId> = (REALS as u32..tape.nodes.len() as u32).map(NodeId).filter(real).collect();
    tape.outputs = outputs.into_iter().step_by(2).collect();
    let mut rebuild = Rebuild::new(&tape);
    let needed = rebuild.needed(tape.outputs.iter().copied().chain(tape.guards.iter().map(|g| g.node)));
    for i in (0..needed.len()).filter(|&i| needed[i]) {
        rebuild.copy(i);
    }
    rebuild.finish(&tape.guards, &tape.outputs)
}

#[test]
fn lists_are_read_and_written_like_rows() {
    // Only machine code reads and writes them.
    if !cfg!(all(feature = "native", target_arch = "x86_64")) {
        return;
    }
    for seed in 0..if std::env::var_os("DMCI_LONG").is_some() { 2000 } else { 80 } {
        let mut stream = Stream(seed + 1_000_000);
        let operations = [3, 20, 100, 700][stream.below(4)];
        let tape = random_tape(operations, &mut stream, seed % 2 == 0);
        // Without integers, vectors hold twice the lanes in single precision, and results are looked at together.
        let tape = if seed % 4 >= 2 { reals_of(tape) } else { tape };
        let plan = Staged::new(&tape, false, false).with_code(JitPolicy::Always);
        let widths: &[usize] =
            [&[4, 3][..], &[1, 2, 1, 1], &[7], &[3, 1], &[2], &[1, 1, 1, 1, 1, 1, 1]][stream.below(6)];
        let outputs = tape.outputs.len();
        let taken = [stream.below(outputs.min(4)), stream.below(outputs)];
        let taken = [taken[0], taken[1].min(outputs - taken[0])];
        // With many lanes, those in front of a line of the cache are run apart.
        let many = if seed % 8 < 2 && operations < 700 { 20_000 } else { 4100 };
        let parts = [taken[0], taken[1], outputs - taken[0] - taken[1]];
        for lanes in [5, 12, 64, 300, many] {
            let what = format!("seed {seed}, {lanes} lanes");
            lists_are_like_rows(&plan, &tape, &table(lanes, &mut stream).with_lists::<f64>(widths), parts, &what);
            if seed % 4 >= 2 {
                // Integers are not in lists of single precision.
                let widths = [&[4][..], &[1, 2, 1], &[3, 1], &[2], &[1, 1, 1, 1]][stream.below(5)];
                lists_are_like_rows(&plan, &tape, &table(lanes, &mut stream).with_lists::<f32>(widths), parts, &what);
            }
        }
    }
}

/// Runs a plan on lists, and compares with the block interpreter.
fn lists_are_like_rows<N: Number>(plan: &Staged, tape: &Tape, table: &Table<N>, parts: [usize; 3], what: &str) {
    let lanes = table.bits.len() / table.leaves;
    let outputs = tape.outputs.len();
    let which: Vec<usize> = (0..lanes).collect();
    let mut expected = Results::default();
    Plan::new(tape).with_code(JitPolicy::Never).run(&which, table, 1, &mut expected);
    let [mut a, mut b, mut c] = parts.map(|width| vec![N::default(); width * lanes]);
    let mut target = Target::new([(&mut a, parts[0]), (&mut b, parts[1]), (&mut c, parts[2])]);
    let (mut stages, mut left) = (StageResults::default(), Vec::new());
    assert!(plan.run_all(lanes, lanes, table, 1 + lanes % 2, &mut stages, &mut target, &mut left));
    left.sort_by_key(|l| l.1);
    let failed = expected.failed.iter().enumerate().filter(|f| *f.1 != STAYED);
    assert_eq!(left, failed.map(|(lane, &guard)| (guard, lane)).collect::<Vec<_>>(), "{what}");
    for lane in 0..lanes {
        let mut got = Vec::new();
        for (list, width) in [&a, &b, &c].into_iter().zip(parts) {
            got.extend(list[lane * width..(lane + 1) * width].iter().map(|x| x.bits()));
        }
        let expected = &expected.outputs[lane * outputs..(lane + 1) * outputs];
        assert_eq!(
            got,
            expected.iter().map(|&bits| N::of_bits(bits).bits()).collect::<Vec<_>>(),
            "{what}, lane {lane}"
        );
    }
}

#[test]
fn random_tapes_have_the_same_bits() {
    for seed in 0..if std::env::var_os("DMCI_LONG").is_some() { 3000 } else { 60 } {
        let mut stream = Stream(seed);
        let operations = [20, 100, 300, 1200][stream.below(4)];
        let tape = random_tape(operations, &mut stream, seed % 3 == 0);
        // In single precision and without integers, vectors hold twice the lanes.
        let tape = if seed % 6 == 0 { reals_of(tape) } else { tape };
        for lanes in [1, 3, 4, 5, 64, 300] {
            let table = table(lanes, &mut stream);
            same(&tape, lanes, &table, &format!("seed {seed}, {lanes} lanes"));
        }
    }
}

/// Every operation alone, on numbers of all kinds.
#[test]
fn single_operations_have_the_same_bits() {
    for &op in Op::ALL {
        // In single precision, vectors hold twice the lanes if there is enough to do.
        for (single, times) in [(false, 1), (true, 1), (true, 10)] {
            let mut stream = Stream(op as u64);
            let mut tape = Tape { single, ..Tape::default() };
            for (i, &ty) in op.operands().iter().enumerate() {
                let ty = if ty == Type::Real { Type::Real } else { Type::Int };
                tape.leaves.push(Leaf { name: format!("x{i}"), kind: LeafKind::Input, ty, shape: Shape::Scalar });
                tape.nodes.push(Node::Leaf(i as u32));
                tape.shapes.push(Shape::Scalar);
            }
            tape.nodes.extend([Node::Op(op, [NodeId(0), NodeId(1), NodeId(2)])].repeat(times));
            tape.shapes.extend([Shape::Scalar].repeat(times));
            tape.outputs = vec![NodeId(tape.nodes.len() as u32 - 1)];
            let (lanes, leaves) = (1000, op.operands().len());
            let bits = (0..lanes * leaves).map(|i| match op.operands()[i % leaves] {
                Type::Real => stream.real().to_bits(),
                Type::Int if stream.below(4) == 0 => stream.next(),
                Type::Int => (stream.below(41) as i64 - 20) as u64,
                Type::Bool => stream.below(2) as u64,
            });
            let table = Table::of(bits, leaves);
            same(&tape, lanes, &table, op.name());
        }
    }
}

/// Tensor steps are left to the block interpreter, in between.
#[test]
fn plans_with_tensors_have_the_same_bits() {
    let mut r = Recorder::new();
    let (a, x) = (r.leaf("a", LeafKind::Param, 0.5), r.leaf("x", LeafKind::Input, 0.5));
    let e = r.op(Op::Exp, &[a]);
    let mut list = vec![a, x, e];
    for i in 0..6 {
        let sum = r.op(Op::Add, &[list[i], list[i + 1]]);
        list.push(sum);
    }
    let matrix = r.pack(&list[..4], Shape::Matrix(2, 2));
    let vector = r.pack(&list[4..6], Shape::Vector(2));
    let kernel = Kernel::MatMul { ta: false, tb: false, m: 2, k: 2, n: 1 };
    let product = r.kernel(kernel, &[matrix, vector], Shape::Vector(2));
    let first = r.element(product, 0);
    let s = r.op(Op::Sin, &[first]);
    let result = r.op(Op::Mul, &[s, list[7]]);
    let adjoints = gradient(&mut r, result, &[a, x]);
    let mut tape = r.tape().clone();
    tape.outputs = [Some(result), adjoints[0], adjoints[1], Some(product)].into_iter().flatten().collect();
    tape.verify().unwrap();
    for lanes in [1, 2, 7, 100, 500] {
        let mut stream = Stream(lanes as u64);
        let table = Table::of((0..2 * lanes).map(|_| stream.real().to_bits()), 2);
        same(&tape, lanes, &table, "tensors");
    }
}

/// A numerator and a denominator whose quotient is as near as it can be to the middle between two numbers, or not near.
fn hard_quotient(stream: &mut Stream) -> [f64; 2] {
    let top = 1u64 << 52;
    let divisor = match stream.below(4) {
        // Just below a power of two, where the reciprocal is just above one.
        0 => 2 * top - 1 - 2 * (stream.next() >> (20 + stream.below(45)).min(63)).min(top / 4),
        1 => top + 1 + 2 * stream.below(64) as u64,
        _ => top | (stream.next() >> 12) | 1,
    };
    // Newton's method for the inverse modulo a power of two: each round doubles the digits that are right.
    let inverse = (0..6).fold(divisor, |x, _| x.wrapping_mul(2u64.wrapping_sub(divisor.wrapping_mul(x))));
    // The quotient is a little below the middle, or above.
    let near = (1 + 2 * (stream.below(16) / 4) as i128) * if stream.below(2) == 0 { 1 } else { -1 };
    let middle = (near as u64).wrapping_mul(inverse) % (1 << 54);
    let numerator = ((divisor as i128 * middle as i128 - near) >> 54) as u64;
    let scale = |x: u64, by: i32| x as f64 * 2f64.powi(by);
    let exponents = [stream.below(300) as i32 - 150, stream.below(300) as i32 - 150];
    match stream.below(8) {
        0 => [stream.real(), stream.real()],
        1 => [scale(numerator, exponents[0] * 6), scale(divisor, exponents[1] * 6)],
        2 => [scale(stream.next() >> 11, exponents[0]), scale(divisor, exponents[1])],
        _ => [scale(numerator, exponents[0]), scale(divisor, exponents[1])],
    }
}

const PAIRS: usize = 12;

/// Looks at what is made of pairs of numbers whose quotients are hard to round.
fn divides_right(outputs: impl Fn(&mut Recorder, NodeId, NodeId) -> Vec<NodeId>, name: &str) {
    let mut r = Recorder::new();
    let leaves: Vec<NodeId> = (0..2 * PAIRS).map(|i| r.leaf(&format!("x{i}"), LeafKind::Input, 2.0)).collect();
    let results: Vec<NodeId> = leaves.chunks(2).flat_map(|pair| outputs(&mut r, pair[0], pair[1])).collect();
    let mut tape = r.tape().clone();
    tape.outputs = results;
    tape.verify().unwrap();
    let lanes = if std::env::var_os("DMCI_LONG").is_some() { 2_000_000 } else { 40_000 };
    let mut stream = Stream(5);
    let table = Table::of((0..lanes * PAIRS).flat_map(|_| hard_quotient(&mut stream)).map(f64::to_bits), 2 * PAIRS);
    same(&tape, lanes, &table, name);
}

/// Some of many divisions are done by multiplication, where that is faster.
#[test]
fn quotients_are_rounded_right() {
    divides_right(|r, a, b| vec![r.op(Op::Div, &[a, b])], "quotients");
}

/// Quotients by the same number have its inverse in common.
#[test]
fn quotients_by_one_number_are_rounded_right() {
    let quotients = |r: &mut Recorder, a: NodeId, b: NodeId| {
        let one = r.real(1.0);
        let first = r.op(Op::Div, &[a, b]);
        vec![first, r.op(Op::Div, &[one, b]), r.op(Op::Div, &[first, b])]
    };
    divides_right(quotients, "quotients by one number");
}

/// The inverse of a constant is a constant, unless it is too large or too small.
#[test]
fn quotients_by_constants_are_rounded_right() {
    let below_two = f64::from_bits(2f64.to_bits() - 1);
    let divisors = [3.0, -7.0, below_two, 1.0 + f64::EPSILON, 1e-160, 1e300, 0.0, f64::INFINITY, 5e-324];
    let quotients = |r: &mut Recorder, a: NodeId, b: NodeId| {
        let by = |r: &mut Recorder, divisor: f64| {
            let divisor = r.real(divisor);
            [a, b].map(|x| r.op(Op::Div, &[x, divisor]))
        };
        divisors.into_iter().flat_map(|divisor| by(r, divisor)).collect()
    };
    divides_right(quotients, "quotients by constants");
}
