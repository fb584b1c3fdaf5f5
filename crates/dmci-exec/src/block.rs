//! The block interpreter: lanes in blocks, each step a loop over the block.

use crate::f32_rows;
use crate::loops::{LoopSpace, all_stayed};
use crate::native::{Compiled, NativeSpace};
use crate::number::Number;
use crate::plan::{Plan, Slot, Step, TensorKind, TensorStep};
use crate::words::Words;
use dmci_limits::Ticks;
use dmci_ops::linalg::Scratch;
use dmci_ops::op::canonical;
use dmci_ops::{Layout, Op, Tensor, Word, copy_row, round_lanes};
use std::cell::RefCell;
use std::sync::Mutex;

/// Lanes that are worked on together: few enough that the live rows stay in cache.
const BLOCK: usize = 256;

/// Rows of a block are fewer if a plan has so many of them that a full one would not fit in cache.
const BLOCK_WORDS: usize = 10 << 17;

/// No guard failed.
pub const STAYED: u32 = u32::MAX;

/// The work was stopped before the lane was done: in the place of a guard.
pub const CUT: u32 = u32::MAX - 1;

/// Some lanes: neighbours, or any in a list.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// So many lanes from the first on.
    Range(usize, usize),
    /// These, in order.
    List(&'a [usize]),
}

impl Which<'_> {
    /// How many there are.
    pub fn count(self) -> usize {
        match self {
            Which::Range(_, count) => count,
            Which::List(list) => list.len(),
        }
    }

    /// One of them.
    pub fn lane(self, i: usize) -> usize {
        match self {
            Which::Range(first, _) => first + i,
            Which::List(list) => list[i],
        }
    }

    /// A row with what a function gives for each lane.
    #[inline]
    pub fn fill(self, row: &mut [u64], f: impl Fn(usize) -> u64) {
        match self {
            Which::Range(first, _) => row.iter_mut().enumerate().for_each(|(i, slot)| *slot = f(first + i)),
            Which::List(list) => row.iter_mut().zip(list).for_each(|(slot, &lane)| *slot = f(lane)),
        }
    }
}

/// Neighbours cut where their sets end: the set, its first row among them, and which of them they are.
pub fn by_set(first: usize, count: usize, rows: usize) -> impl Iterator<Item = (usize, usize, std::ops::Range<usize>)> {
    let mut lane = first;
    std::iter::from_fn(move || {
        let (set, row) = (lane / rows, lane % rows);
        let end = (lane + rows - row).min(first + count);
        let part = (set, row, lane - first..end - first);
        (lane < end).then(|| {
            lane = end;
            part
        })
    })
}

/// A list with some numbers of every lane, one lane after the other.
#[derive(Clone, Copy, Debug)]
pub struct List<'a, N> {
    /// Which of the lists it is. Two of them may be in the same place in one call, and apart in the next one.
    pub which: usize,
    /// All of its numbers.
    pub numbers: &'a [N],
    /// How many of them a lane has.
    pub stride: usize,
    /// Which of these is meant.
    pub at: usize,
}

impl<N> List<'_, N> {
    /// Whether both mean numbers in the same list.
    pub(crate) fn is_beside(&self, other: &List<'_, N>) -> bool {
        self.which == other.which && self.stride == other.stride
    }
}

/// Where lanes find their leaves.
pub trait Leaves: Sync {
    /// What lists hold.
    type Number: Number;

    /// A number of a lane, in bits.
    fn leaf(&self, lane: usize, leaf: usize) -> u64;
    /// Whether a lane is known to have left the path, so that nothing need be computed for it.
    fn is_out(&self, _lane: usize) -> bool {
        false
    }

    /// Where all lanes have a number, if that is in a list at equal distances.
    fn list(&self, _leaf: usize) -> Option<List<'_, Self::Number>> {
        None
    }

    /// A number for how all numbers are arranged in lists: where it is the same, [`Leaves::list`] differs in what the
    /// lists hold alone. None if nobody knows.
    fn arrangement(&self) -> Option<u64> {
        None
    }

    /// The same number of several lanes.
    fn fill(&self, which: Which<'_>, leaf: usize, row: &mut [u64]) {
        which.fill(row, |lane| self.leaf(lane, leaf));
    }

    /// The first so many numbers of several lanes, into rows of so many words.
    fn gather(&self, which: Which<'_>, leaves: usize, rows: &mut [u64], width: usize) {
        let n = which.count();
        for (leaf, row) in rows.chunks_mut(width).take(leaves).enumerate() {
            self.fill(which, leaf, &mut row[..n]);
        }
    }
}

/// What came out, in the order in which the lanes were given; reused between calls.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The numbers of each lane, in bits.
    pub outputs: Vec<u64>,
    /// The first guard that each lane failed, or [`STAYED`].
    pub failed: Vec<u32>,
}

/// Memory of a thread, used again.
#[derive(Default)]
pub(crate) struct Workspace {
    pub rows: Vec<u64>,
    /// Rows of 32 bits.
    pub short: Words,
    pub loops: Vec<LoopSpace>,
    /// Lanes that have left the path before a loop.
    pub left: Vec<u32>,
    pub scratch: Scratch,
    pub native: NativeSpace,
}

/// Rows of lanes that steps work on.
pub(crate) struct Frame<'a> {
    pub rows: &'a mut [u64],
    /// Lanes that a row has room for.
    pub width: usize,
    /// Lanes that are there.
    pub lanes: usize,
    /// Memory of the loops among the steps.
    pub loops: &'a mut Vec<LoopSpace>,
    pub scratch: &'a mut Scratch,
    /// Machine code of the bodies of these loops.
    pub code: Option<&'a [Compiled]>,
}

thread_local! {
    pub(crate) static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

/// Rows from which on the memory of a plan is not kept for others once it is gone.
const MANY_ROWS: usize = 1 << 16;

/// Gives back what this thread and those of the pool hold for plans, which find it again if they are still there.
fn release_memory() {
    let release = || {
        // A thread that ends, or is in the midst of a plan, has other worries.
        let _ = WORKSPACE.try_with(|workspace| workspace.try_borrow_mut().map(|mut w| *w = Workspace::default()));
    };
    release();
    rayon::spawn_broadcast(move |_| release());
}

impl Plan {
    /// Gives back what threads hold for plans, if this one, which nobody runs any more, may have needed much of it.
    pub(crate) fn release_memory(&self) {
        let rows = self.slots + self.loops.iter().map(|l| l.body.slots).sum::<usize>();
        if rows > MANY_ROWS {
            release_memory();
        }
    }

    /// Runs the plan over the lanes numbered in `which`, on up to so many threads. A lane's results
    /// do not depend on the other lanes, nor on the number of threads.
    pub fn run(&self, which: &[usize], leaves: &impl Leaves, threads: usize, results: &mut Results) {
        results.failed.clear();
        results.failed.resize(which.len(), STAYED);
        results.outputs.clear();
        results.outputs.resize(which.len() * self.outputs, 0);
        let cached = (BLOCK_WORDS / self.footprint().max(1)).next_power_of_two().clamp(16, BLOCK);
        let is_short = self.has_f32_rows();
        let code = if is_short { None } else { self.code_for(which.len()) };
        if code.is_none() && !is_short {
            self.note_work(which.len());
        }
        // Code has blocks of its own inside of these.
        let most = if code.is_some() { BLOCK } else { cached };
        let width = match which.len() {
            lanes if is_short => f32_rows::width(lanes),
            1 if self.dense => 1,
            lanes => most.min(lanes.next_multiple_of(4).max(4)),
        };
        let stride = self.outputs.max(1);
        let block = |((which, outputs), failed): ((&[usize], &mut [u64]), &mut [u32])| {
            if dmci_limits::rings() {
                return failed.fill(CUT);
            }
            WORKSPACE.with_borrow_mut(|workspace| {
                if let Some(code) = code {
                    return self.run_listed(code, workspace, which, leaves, outputs, failed);
                }
                if is_short {
                    return self.run_f32_listed(workspace, which, leaves, outputs, failed);
                }
                let rows = self.slots * width;
                if workspace.rows.len() < rows {
                    workspace.rows.resize(rows, 0);
                }
                self.run_block(workspace, width, which, leaves, outputs, failed);
            });
            if dmci_limits::rang() {
                failed.fill(CUT);
            }
        };
        // Without outputs there is still a word a lane, so that the parts stay in step.
        if self.outputs == 0 {
            results.outputs.resize(which.len(), 0);
        }
        let Results { outputs, failed } = results;
        let work = |((which, outputs), failed): ((&[usize], &mut [u64]), &mut [u32])| {
            let blocks = which.chunks(width).zip(outputs.chunks_mut(width * stride));
            blocks.zip(failed.chunks_mut(width)).for_each(block);
        };
        self.run_pieces(
            (which.len(), width),
            threads,
            |lanes| which.chunks(lanes).zip(outputs.chunks_mut(lanes * stride)).zip(failed.chunks_mut(lanes)),
            work,
        );
    }

    fn run_block(
        &self,
        workspace: &mut Workspace,
        width: usize,
        which: &[usize],
        leaves: &impl Leaves,
        outputs: &mut [u64],
        failed: &mut [u32],
    ) {
        let n = which.len();
        let Workspace { rows, loops, left, scratch, .. } = workspace;
        let mut ticks = Ticks::default();
        for step in &self.steps {
            // What follows relies on what was stopped.
            if ticks.spend(STEP_COST * width) || matches!(step, Step::Loop(_)) && dmci_limits::rang() {
                return;
            }
            match *step {
                Step::Leaf { d, first, count, real } => {
                    for e in 0..count as usize {
                        let row = &mut rows[(d as usize + e) * width..][..n];
                        leaves.fill(Which::List(which), first as usize + e, row);
                        if real && self.single {
                            round_lanes(row);
                        } else if real {
                            row.iter_mut().for_each(|bits| *bits = canonical(*bits));
                        }
                    }
                }
                Step::Output { s, index, count } => {
                    for e in 0..count as usize {
                        let row = &rows[(s as usize + e) * width..][..n];
                        for (l, &bits) in row.iter().enumerate() {
                            outputs[l * self.outputs + index as usize + e] = bits;
                        }
                    }
                }
                Step::Loop(l) => {
                    let lanes = failed.iter().zip(which);
                    left.clear();
                    left.extend(lanes.map(|(&f, &lane)| if leaves.is_out(lane) { 0 } else { f }));
                    self.run_loop(l as usize, &mut Frame { rows, width, lanes: n, loops, scratch, code: None }, left);
                }
                _ => {
                    let mut frame = Frame { rows, width, lanes: n, loops, scratch, code: None };
                    self.step(step, &mut frame, failed);
                }
            }
        }
    }

    /// Does a step that neither reads leaves nor writes outputs; `failed` gets the guards that fail.
    pub(crate) fn step(&self, step: &Step, frame: &mut Frame<'_>, failed: &mut [u32]) {
        let (width, n) = (frame.width, frame.lanes);
        match *step {
            Step::Constant { d, bits } => frame.rows[d as usize * width..][..n].fill(bits),
            Step::Op { op, d, args } => {
                let (target, others) = Rows::split(frame.rows, d as usize, 1, width);
                let (target, [a, b, c]) = (&mut target[..n], args);
                op.eval_lanes_in(self.single, target, [others.row(a, n), others.row(b, n), others.row(c, n)]);
            }
            Step::Tensor(t) => self.tensor_step(&self.tensors[t as usize], frame.rows, width, n, frame.scratch),
            Step::Loop(l) => self.run_loop(l as usize, frame, &failed[..n]),
            Step::Move { d, s, count } => {
                for e in 0..count as usize {
                    frame
                        .rows
                        .copy_within((s as usize + e) * width..(s as usize + e) * width + n, (d as usize + e) * width);
                }
            }
            Step::Guard { test, outcome, index } => {
                let row = &frame.rows[test as usize * width..][..n];
                for (f, &bit) in failed.iter_mut().zip(row) {
                    if (bit != 0) != outcome && *f == STAYED {
                        *f = index;
                    }
                }
            }
            // Only whole plans have leaves and outputs.
            Step::Leaf { .. } | Step::Output { .. } => {}
        }
    }

    pub(crate) fn tensor_step<W: Word>(
        &self,
        step: &TensorStep,
        rows: &mut [W],
        width: usize,
        n: usize,
        scratch: &mut Scratch,
    ) {
        let count = step.shape.len();
        let (target, others) = Rows::split(rows, step.d as usize, count, width);
        match &step.kind {
            TensorKind::Constant(bits) if width == 1 => {
                target.iter_mut().zip(bits.iter()).for_each(|(to, &bits)| *to = W::of_real(bits));
            }
            TensorKind::Constant(bits) => {
                target.chunks_mut(width).zip(bits.iter()).for_each(|(row, &bits)| row[..n].fill(W::of_real(bits)));
            }
            TensorKind::Wide { op, args } => {
                // Lanes that are not in use are computed along: whatever is there, operations are total.
                eval_in_pieces(*op, self.single, target, args.map(|s| others.rows(s as usize, count)));
            }
            TensorKind::Spread { op, args } => {
                let mut spread = std::mem::take(W::spread(scratch));
                for ((_, rows), spread) in args.iter().zip(&mut spread) {
                    if let Some(rows) = rows {
                        others.gather(rows, spread);
                    }
                }
                // Operands beyond the arity are ignored but must be as long as the result.
                let arity = op.operands().len();
                let operand = |k: usize| match &args[if k < arity { k } else { 0 }] {
                    (_, Some(_)) => &spread[if k < arity { k } else { 0 }][..],
                    (s, None) => others.rows(*s as usize, count),
                };
                eval_in_pieces(*op, self.single, target, [operand(0), operand(1), operand(2)]);
                *W::spread(scratch) = spread;
            }
            TensorKind::Kernel { kernel, args } => {
                let layout = Layout { width, lanes: n, single: self.single };
                let args = args.map(|(s, shape)| Tensor { bits: others.rows(s as usize, shape.len()), shape });
                kernel.run(target, step.shape, args, &self.maps, layout, scratch);
            }
            TensorKind::Pack(parts) => {
                let mut at = 0;
                for &(s, count) in parts.iter() {
                    let words = count as usize * width;
                    copy_row(&mut target[at..at + words], others.rows(s as usize, count as usize));
                    at += words;
                }
            }
        }
    }
}

/// Elements that an operation does between two looks whether to stop.
const PIECE: usize = 1 << 14;

/// What a step may take for a lane, in operations.
pub(crate) const STEP_COST: usize = 16;

/// Operations on the elements of all lanes; it may be stopped if there are many of them.
fn eval_in_pieces<W: Word>(op: Op, single: bool, target: &mut [W], args: [&[W]; 3]) {
    if target.len() <= PIECE {
        return W::eval_lanes(op, single, target, args);
    }
    let mut ticks = Ticks::default();
    for (k, target) in target.chunks_mut(PIECE).enumerate() {
        let (from, len) = (k * PIECE, target.len());
        W::eval_lanes(op, single, target, args.map(|a| &a[from..from + len]));
        if ticks.spend(STEP_COST * len) {
            return;
        }
    }
}

/// Notes lanes that were not done because the work was stopped.
pub(crate) fn note_cut(lanes: std::ops::Range<usize>, left: &Mutex<Vec<(u32, usize)>>) {
    left.lock().unwrap_or_else(|e| e.into_inner()).extend(lanes.map(|lane| (CUT, lane)));
}

/// Notes the guards that lanes failed, if any did.
pub(crate) fn note_left(marks: &[u32], first: usize, left: &Mutex<Vec<(u32, usize)>>) {
    if !all_stayed(marks) {
        let gone = marks.iter().enumerate().filter(|m| *m.1 != STAYED);
        let mut left = left.lock().unwrap_or_else(|e| e.into_inner());
        left.extend(gone.map(|(lane, &guard)| (guard, first + lane)));
    }
}

/// All rows but those that are written.
pub(crate) struct Rows<'a, W> {
    before: &'a [W],
    after: &'a [W],
    target: usize,
    count: usize,
    width: usize,
}

impl<'a, W: Word> Rows<'a, W> {
    pub fn split(rows: &'a mut [W], target: usize, count: usize, width: usize) -> (&'a mut [W], Rows<'a, W>) {
        let (before, rest) = rows.split_at_mut(target * width);
        let (row, after) = rest.split_at_mut(count * width);
        (row, Rows { before, after, target, count, width })
    }

    /// Rows from all over, one after the other.
    fn gather(&self, rows: &[Slot], into: &mut Vec<W>) {
        if self.width == 1 {
            into.clear();
            into.extend(rows.iter().map(|&s| self.rows(s as usize, 1)[0]));
        } else {
            into.resize(rows.len() * self.width, W::default());
            for (row, &s) in into.chunks_exact_mut(self.width).zip(rows) {
                copy_row(row, self.rows(s as usize, 1));
            }
        }
    }

    /// The first so many lanes of one row.
    #[inline(always)]
    pub fn row(&self, slot: Slot, lanes: usize) -> &'a [W] {
        let slot = slot as usize;
        let (rows, at) =
            if slot < self.target { (self.before, slot) } else { (self.after, slot - self.target - self.count) };
        &rows[at * self.width..][..lanes]
    }

    #[inline]
    fn rows(&self, slot: usize, count: usize) -> &'a [W] {
        let words = count * self.width;
        if words == 0 {
            &[]
        } else if slot < self.target {
            &self.before[slot * self.width..][..words]
        } else {
            &self.after[(slot - self.target - self.count) * self.width..][..words]
        }
    }
}
