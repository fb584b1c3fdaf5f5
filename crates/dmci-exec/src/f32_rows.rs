//! Rows of 32 bits for single-precision plans that are mostly tensors: a vector and a cache line hold twice the lanes,
//! and nothing is rounded on the way.

use crate::block::{Leaves, Rows, STAYED, STEP_COST, WORKSPACE, Which, Workspace, note_cut, note_left};
use crate::plan::{JitPolicy, Plan, RowRange, Step, TensorKind, TensorStep};
use crate::target::Target;
use dmci_limits::Ticks;
use dmci_ops::{Type, Word, lengthen, shorten};
use std::sync::Mutex;

/// Lanes that are worked on together at most: a row is a line of the cache.
const BLOCK: usize = 16;

/// Elements of tensors for each operation on single numbers from which on the latter need no machine code.
const ELEMENTS: usize = 32;

/// Whether all values of a plan are reals of single precision, or outcomes of comparisons, and nearly all are elements
/// of tensors.
pub(crate) fn fits_f32_rows(steps: &[Step], tensors: &[TensorStep], slots: usize) -> bool {
    let elements: usize = tensors.iter().map(|t| t.shape.len()).sum();
    let scalars = steps.iter().filter(|s| matches!(s, Step::Op { .. } | Step::Guard { .. })).count();
    if tensors.is_empty() || elements < ELEMENTS * scalars {
        return false;
    }
    // What is in each slot.
    let mut types = vec![Type::Int; slots];
    let fits = |bits: u64| f64::from_bits(bits).is_nan() || f64::from(f64::from_bits(bits) as f32).to_bits() == bits;
    steps.iter().all(|step| {
        let are = |ty: Type, (s, count): RowRange| types[s as usize..][..count as usize].iter().all(|t| *t == ty);
        let (d, count, ty, fits) = match *step {
            Step::Leaf { d, count, real, .. } => (d, count, Type::Real, real),
            Step::Constant { d, bits } => (d, 1, Type::Real, fits(bits)),
            Step::Op { op, d, args } => {
                (d, 1, op.result(), op.operands().iter().zip(args).all(|(&ty, s)| are(ty, (s, 1))))
            }
            Step::Guard { test, .. } => return are(Type::Bool, (test, 1)),
            Step::Output { s, count, .. } => return are(Type::Real, (s, count)),
            Step::Tensor(t) => {
                let TensorStep { d, shape, ref kind } = tensors[t as usize];
                let count = shape.len() as u32;
                let (ty, fits) = match kind {
                    TensorKind::Constant(bits) => (Type::Real, bits.iter().all(|&bits| fits(bits))),
                    TensorKind::Wide { op, args } => {
                        (op.result(), op.operands().iter().zip(args).all(|(&ty, &s)| are(ty, (s, count))))
                    }
                    TensorKind::Spread { op, args } => {
                        let fits = op.operands().iter().zip(args).all(|(&ty, (s, rows))| match rows {
                            None => are(ty, (*s, count)),
                            Some(rows) => rows.iter().all(|&s| are(ty, (s, 1))),
                        });
                        (op.result(), fits)
                    }
                    TensorKind::Kernel { args, .. } => {
                        (Type::Real, args.iter().all(|(s, shape)| are(Type::Real, (*s, shape.len() as u32))))
                    }
                    TensorKind::Pack(parts) => (Type::Real, parts.iter().all(|&part| are(Type::Real, part))),
                };
                (d, count, ty, fits)
            }
            Step::Move { .. } | Step::Loop(_) => return false,
        };
        types[d as usize..][..count as usize].fill(ty);
        fits && ty != Type::Int
    })
}

/// Words of a row, if there are so many lanes.
pub(crate) fn width(lanes: usize) -> usize {
    if lanes == 1 { 1 } else { lanes.next_multiple_of(4).min(BLOCK) }
}

impl Plan {
    /// Whether it is run with rows of 32 bits.
    pub(crate) fn has_f32_rows(&self) -> bool {
        // Without code, the block interpreter runs everything, which is what this is compared with.
        self.short && self.native.when != JitPolicy::Never
    }

    /// Runs some lanes, no more than a block has: rows with the results of each, and their width.
    fn run_f32_block<'w>(
        &self,
        workspace: &'w mut Workspace,
        which: Which<'_>,
        leaves: &impl Leaves,
        failed: &mut [u32],
    ) -> (&'w [u64], usize) {
        let n = which.count();
        let width = width(n);
        let Workspace { rows: long, short, scratch, .. } = workspace;
        let words = self.leaves.max(self.outputs) * width;
        if long.len() < words {
            long.resize(words, 0);
        }
        leaves.gather(which, self.leaves, long, width);
        let rows = short.ensure_short(self.slots * width);
        let range = |s: u32, count: u32| s as usize * width..(s + count) as usize * width;
        let mut ticks = Ticks::default();
        for step in &self.steps {
            if ticks.spend(STEP_COST * width) {
                break;
            }
            match *step {
                Step::Leaf { d, first, count, .. } => shorten(&mut rows[range(d, count)], &long[range(first, count)]),
                Step::Output { s, index, count } => lengthen(&mut long[range(index, count)], &rows[range(s, count)]),
                Step::Constant { d, bits } => rows[range(d, 1)].fill(u32::of_real(bits)),
                Step::Op { op, d, args } => {
                    let (target, others) = Rows::split(rows, d as usize, 1, width);
                    u32::eval_lanes(op, true, target, args.map(|s| others.row(s, width)));
                }
                Step::Guard { test, outcome, index } => {
                    for (f, &bit) in failed.iter_mut().zip(&rows[range(test, 1)]) {
                        if (bit != 0) != outcome && *f == STAYED {
                            *f = index;
                        }
                    }
                }
                Step::Tensor(t) => self.tensor_step(&self.tensors[t as usize], rows, width, n, scratch),
                // No such plan has short rows.
                Step::Move { .. } | Step::Loop(_) => {}
            }
        }
        (long, width)
    }

    /// Runs lanes in a list; none of them has failed before.
    pub(crate) fn run_f32_listed(
        &self,
        workspace: &mut Workspace,
        which: &[usize],
        leaves: &impl Leaves,
        outputs: &mut [u64],
        failed: &mut [u32],
    ) {
        let (rows, width) = self.run_f32_block(workspace, Which::List(which), leaves, failed);
        for k in 0..self.outputs {
            let places = outputs[k..].iter_mut().step_by(self.outputs);
            places.zip(&rows[k * width..][..which.len()]).for_each(|(place, &bits)| *place = bits);
        }
    }

    /// Runs all of so many lanes and gives their results to the target; `left` gets guards that failed, with their
    /// lanes.
    pub(crate) fn run_all_f32<L: Leaves>(
        &self,
        lanes: usize,
        leaves: &L,
        threads: usize,
        target: &mut Target<'_, L::Number>,
        left: &Mutex<Vec<(u32, usize)>>,
    ) {
        let cut = |each: usize| std::mem::take(target).pieces(lanes, each);
        self.run_pieces((lanes, BLOCK), threads, cut, |(first, lanes, mut target)| {
            WORKSPACE.with_borrow_mut(|workspace| {
                for start in (0..lanes).step_by(BLOCK) {
                    if dmci_limits::rings() {
                        return note_cut(first + start..first + lanes, left);
                    }
                    let n = BLOCK.min(lanes - start);
                    let failed = &mut [STAYED; BLOCK][..n];
                    let which = Which::Range(first + start, n);
                    let (rows, width) = self.run_f32_block(workspace, which, leaves, failed);
                    target.put(start, |k| &rows[k * width..][..n]);
                    match dmci_limits::rang() {
                        true => note_cut(first + start..first + start + n, left),
                        false => note_left(failed, first + start, left),
                    }
                }
            });
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::block::Results;
    use dmci_ops::{Build, Kernel, Op, Shape};
    use dmci_tape::{LeafKind, NodeId, Recorder, Tape, gradient};

    struct Table(usize, Vec<f64>);

    impl Leaves for Table {
        type Number = f64;

        fn leaf(&self, lane: usize, leaf: usize) -> u64 {
            self.1[lane * self.0 + leaf].to_bits()
        }
    }

    const N: u32 = 5;
    const LEAVES: usize = (N * N + N + 1) as usize;

    fn product(r: &mut Recorder, a: NodeId, b: NodeId, tb: bool) -> NodeId {
        let columns = r.shape(b).len() as u32 / N;
        let shape = if columns == 1 { Shape::Vector(N) } else { Shape::Matrix(N, columns) };
        r.kernel(Kernel::MatMul { ta: false, tb, m: N, k: N, n: columns }, &[a, b], shape)
    }

    /// Steps like those of a filter, with all kinds of operations on tensors, a guard, and the gradient.
    fn filter() -> Tape {
        let mut r = Recorder::single();
        let square = Shape::Matrix(N, N);
        let values: Vec<f64> = (0..N * N).map(|i| if i % (N + 1) == 0 { 0.9 } else { 0.01 * i as f64 }).collect();
        let f = r.tensor_leaf("f", LeafKind::Param, square, &values);
        let start = r.tensor_leaf("x", LeafKind::Param, Shape::Vector(N), &values[..N as usize]);
        let s = r.leaf("s", LeafKind::Param, 0.5);
        let unit = r.constant(square, (0..N * N).map(|i| if i % (N + 1) == 0 { 1.0 } else { 0.0 }));
        let (mut x, mut p, mut sum) = (start, unit, s);
        for _ in 0..3 {
            x = product(&mut r, f, x, false);
            p = product(&mut r, f, p, false);
            p = product(&mut r, p, f, true);
            let scaled = r.op(Op::Mul, &[unit, s]);
            let q = r.op(Op::Add, &[p, scaled]);
            let v = r.kernel(Kernel::Inverse, &[q], square);
            let k = product(&mut r, p, v, false);
            let rest = r.op(Op::Sub, &[unit, k]);
            p = product(&mut r, rest, p, false);
            let map = r.map((0..N).rev().collect::<Vec<_>>());
            let turned = r.kernel(Kernel::Take(map), &[x], Shape::Vector(N));
            let less = r.op(Op::Lt, &[turned, x]);
            let bounded = r.op(Op::Tanh, &[x]);
            x = r.op(Op::Select, &[less, bounded, turned]);
            let solved = r.kernel(Kernel::Solve { transposed: true }, &[q, x], Shape::Vector(N));
            x = r.op(Op::Max, &[x, solved]);
            let log = r.kernel(Kernel::LogDet, &[q], Shape::Scalar);
            sum = r.op(Op::Add, &[sum, log]);
        }
        let dot = r.kernel(Kernel::MatMul { ta: false, tb: false, m: 1, k: N, n: 1 }, &[x, x], Shape::Scalar);
        let value = r.op(Op::Add, &[sum, dot]);
        let bound = r.real(2.0);
        let below = r.op(Op::Lt, &[value, bound]);
        r.guard(below);
        let wanted = [f, start, s];
        let derivatives = gradient(&mut r, value, &wanted);
        let mut tape = r.tape().clone();
        tape.outputs = [value].into_iter().chain(derivatives.into_iter().flatten()).collect();
        tape
    }

    fn table(lanes: usize) -> Table {
        let value = |i: usize| {
            let (lane, leaf) = (i / LEAVES, i % LEAVES);
            let noise = (i as f64 * 0.618_033_988_749_894_9).fract() - 0.5;
            match lane % 7 {
                // Singular matrices, and numbers that are none.
                5 => 0.0,
                6 if leaf == 3 => f64::NAN,
                _ if leaf < (N * N) as usize && leaf % (N as usize + 1) == 0 => 0.9 + 0.1 * noise,
                _ => 0.3 * noise,
            }
        };
        Table(LEAVES, (0..lanes * LEAVES).map(value).collect())
    }

    #[test]
    fn short_rows_give_the_bits_of_the_block_interpreter() {
        let tape = filter();
        tape.verify().unwrap();
        let [long, short] = [JitPolicy::Never, JitPolicy::Always].map(|code| Plan::new(&tape).with_code(code));
        assert!(short.has_f32_rows() && !long.has_f32_rows());
        for lanes in [1, 2, 4, 5, 8, 11, 13, 16, 17, 24, 31, 100] {
            let (table, which) = (table(lanes), (0..lanes).rev().collect::<Vec<usize>>());
            let (mut expected, mut found) = (Results::default(), Results::default());
            long.run(&which, &table, 1, &mut expected);
            short.run(&which, &table, 2, &mut found);
            assert_eq!(found.failed, expected.failed, "{lanes} lanes");
            assert_eq!(found.outputs, expected.outputs, "{lanes} lanes");
            let mut numbers = vec![0.0; lanes * LEAVES + lanes];
            let (values, gradients) = numbers.split_at_mut(lanes);
            let mut target = Target::new([(values, 1), (gradients, LEAVES), (&mut [], 0)]);
            let left = Mutex::default();
            assert!(short.run_all(lanes, &table, 2, &mut target, &left));
            let failed = expected.failed.iter().zip(&which).filter(|f| *f.0 != STAYED);
            let mut failed: Vec<_> = failed.map(|(&guard, &lane)| (guard, lane)).collect();
            let mut left = left.into_inner().unwrap();
            failed.sort_unstable();
            left.sort_unstable();
            assert!(lanes < 5 || !left.is_empty() && left.len() < lanes);
            assert_eq!(left, failed);
            for (i, &lane) in which.iter().enumerate() {
                let gradient = &numbers[lanes + lane * LEAVES..][..LEAVES];
                let ours: Vec<u64> = [numbers[lane]].iter().chain(gradient).map(|x| x.to_bits()).collect();
                assert_eq!(ours, expected.outputs[i * (LEAVES + 1)..][..LEAVES + 1], "lane {lane} of {lanes}");
            }
        }
    }

    #[test]
    fn constants_of_double_precision_need_rows_of_64_bits() {
        let mut tape = filter();
        assert!(Plan::new(&tape).has_f32_rows());
        tape.constants[0] = vec![0.1f64.to_bits(); (N * N) as usize].into();
        assert!(!Plan::new(&tape).has_f32_rows());
        assert!(!Plan::new(&Tape { single: false, ..filter() }).has_f32_rows());
    }
}
