//! When plans are compiled, and how they are run.

use super::arranged::Arranged;
use super::compile::{Compiled, Part, vectors_written};
use super::emit::MOST_LISTS;
use super::fused_loops::FusedLoops;
use super::lists::{Direct, Lists};
use super::rolled::{LONG_LINE, rolled};
use super::vex::Isa;
use crate::block::{CUT, Frame, Leaves, STAYED, WORKSPACE, Which, Workspace, note_cut, note_left};
use crate::plan::{JitPolicy, LoopStep, Plan, Step};
use crate::target::Target;
use crate::words::Words;
use dmci_ops::real::has_wide_fma;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Lanes that are worked on together, unless rows get too long.
const BLOCK: usize = 256;

/// The same if all loops are of known lengths: their code runs for long, and the states of many rounds are near.
const LOOP_BLOCK: usize = 64;

/// Words that the rows of a block should not exceed.
const BLOCK_WORDS: usize = 1 << 15;

/// Lanes of a block at least, however many rows it has: calls must pay. Kernels on tensors have enough to do with few.
const LEAST: usize = 32;
const LEAST_DENSE: usize = 8;

/// Costs in units of a step of the interpreter on few lanes, some 12 ns: a kernel of many instructions, and the
/// instructions that it becomes; writing an instruction for a vector; what the system takes for executable memory.
const KERNEL_STEP: u64 = 6;
const KERNEL_INSTRUCTIONS: u64 = 24;
const COMPILE_INSTRUCTION: u64 = 16;
const COMPILE_PLAN: u64 = 1000;

/// JIT threshold: 1/N of the estimated compile cost, for few lanes and for many. A plan that was called that often is
/// mostly called again.
const PARTS_FEW: u64 = 2;
const PARTS_MANY: u64 = 3;

/// Lanes that the code for few lanes takes at once.
pub(super) const FEW: usize = 8;

/// The code of a plan, made when it has been used enough.
#[derive(Debug, Default)]
pub(crate) struct Native {
    /// Whether it is to be used.
    pub when: JitPolicy,
    /// What the interpreter has spent on the plan.
    work: AtomicU64,
    effort: OnceLock<Effort>,
    /// If it is a long straight line: the same with rounds in it, if there are any, and what is spent before it is compiled.
    rolled: OnceLock<Option<Arc<FusedLoops>>>,
    rolled_effort: OnceLock<[u64; 2]>,
    pub(super) few: OnceLock<Option<Arc<Compiled>>>,
    many: OnceLock<Option<Arc<Compiled>>>,
    /// For lists of double and of single precision.
    pub(super) direct: [Arranged; 2],
}

/// What a plan costs.
#[derive(Clone, Copy, Debug)]
struct Effort {
    /// A run of the interpreter over few lanes.
    run: u64,
    /// What is spent before it is compiled for few lanes, and for many.
    compile: [u64; 2],
    /// What is spent before rounds are looked for in it.
    look: u64,
}

/// The same in units of a step, of a line that is long.
const LOOK: u64 = 40;

/// What is spent before so many instructions are written, for few lanes and for many.
fn compile_efforts(instructions: u64) -> [u64; 2] {
    let compile = |vectors: usize| COMPILE_PLAN + COMPILE_INSTRUCTION * instructions * vectors as u64;
    [compile(1) / PARTS_FEW, compile(vectors_written(instructions as usize)) / PARTS_MANY]
}

impl Native {
    /// The instruction set for blocks of so many lanes.
    pub(super) fn isa(&self, lanes: usize) -> Isa {
        if lanes <= FEW || self.when == JitPolicy::AlwaysNarrow { Isa::Avx2 } else { Isa::widest() }
    }
}

impl Clone for Native {
    /// The copy is compiled anew: code belongs to its plan.
    fn clone(&self) -> Native {
        Native { when: self.when, ..Native::default() }
    }
}

impl PartialEq for Native {
    fn eq(&self, _: &Native) -> bool {
        true
    }
}

/// Memory for code, used again.
#[derive(Debug, Default)]
pub(crate) struct NativeSpace {
    pub(super) rows: Words,
    pub(super) spills: Words,
    pub(super) failed: Vec<u32>,
    /// Lists of lanes that do not fill a group.
    pub(super) bounce: Words,
    /// Results that are not yet where they belong.
    pub(super) collected: Words,
    /// States of loops inside of code.
    pub(super) remembered: Words,
}

impl Plan {
    /// The code for so many lanes, if it is to be used.
    pub(crate) fn code_for(&self, lanes: usize) -> Option<&Compiled> {
        // One lane's tensors are vectors in themselves: kernels run over their elements.
        if self.dense && lanes == 1 {
            return None;
        }
        let cell = if lanes <= FEW { &self.native.few } else { &self.native.many };
        let pays = cell.get().is_some() || self.pays(lanes);
        let make = || self.compile(lanes <= FEW).map(Arc::new);
        if pays { cell.get_or_init(make).as_deref() } else { None }
    }

    /// Whether code is to be made for so many lanes, if there is none.
    fn pays(&self, lanes: usize) -> bool {
        self.pays_again(lanes, 0)
    }

    /// The same if code for other arrangements of lanes was made so many times: then as much again must have been spent
    /// each time.
    fn pays_again(&self, lanes: usize, times: u64) -> bool {
        let native = &self.native;
        if native.when == JitPolicy::Never || lanes == 0 || !has_wide_fma() {
            return false;
        }
        // How often a loop runs nobody knows, and its code is short.
        if native.when != JitPolicy::WhenItPays || !self.loops.is_empty() {
            return true;
        }
        let Effort { compile, look, .. } = *self.effort();
        let spent = native.work.load(Ordering::Relaxed).saturating_add(self.work_of(lanes));
        let compile = if spent >= look { *native.rolled_effort.get_or_init(|| self.rolled_effort()) } else { compile };
        spent >= (1 + times).saturating_mul(compile[(lanes > FEW) as usize])
    }

    fn rolled_effort(&self) -> [u64; 2] {
        match self.fused() {
            Some(fused) => compile_efforts(fused.length(KERNEL_INSTRUCTIONS)),
            None => self.effort().compile,
        }
    }

    /// The plan as lines and rounds, if it has loops that can be part of its code, or if loops are found in it.
    pub(super) fn fused(&self) -> Option<Arc<FusedLoops>> {
        if self.is_straight() {
            return self.native.rolled.get_or_init(|| rolled(self).map(Arc::new)).clone();
        }
        FusedLoops::of(self).map(Arc::new)
    }

    /// Whether code for lists is to be made, if there is some for so many other arrangements. Until it is, lanes are run
    /// with rows, and that counts like the interpreter's work.
    pub(super) fn pays_for_lists(&self, lanes: usize, others: usize) -> bool {
        let pays = self.pays_again(lanes, others as u64);
        if !pays && others > 0 {
            self.note_work(lanes);
        }
        pays
    }

    /// Notes that so many lanes were run without the code that might be made for them.
    pub(crate) fn note_work(&self, lanes: usize) {
        if self.native.when == JitPolicy::WhenItPays {
            self.native.work.fetch_add(self.work_of(lanes), Ordering::Relaxed);
        }
    }

    /// What the interpreter spends on so many lanes: a call for each step, and something for each lane.
    fn work_of(&self, lanes: usize) -> u64 {
        self.effort().run.saturating_mul(1 + lanes as u64 / 32)
    }

    fn effort(&self) -> &Effort {
        self.native.effort.get_or_init(|| self.find_effort())
    }

    fn find_effort(&self) -> Effort {
        let kernels = self.steps.iter().filter(|s| matches!(s, Step::Op { op, .. } if op.has_kernel())).count() as u64;
        let instructions = self.steps.len() as u64 + KERNEL_INSTRUCTIONS * kernels;
        let run = self.work() as u64 + KERNEL_STEP * kernels;
        let is_long = self.is_straight() && instructions as usize >= LONG_LINE;
        let look = if is_long { LOOK * self.steps.len() as u64 } else { u64::MAX };
        Effort { run, compile: compile_efforts(instructions), look }
    }

    fn compile(&self, few: bool) -> Option<Compiled> {
        if few {
            return Compiled::new(self, FEW);
        }
        let rows =
            self.leaves + self.outputs + if self.tensors.is_empty() && self.loops.is_empty() { 0 } else { self.slots };
        let least = if self.dense { LEAST_DENSE } else { LEAST };
        let runs_alone = |l: &LoopStep| l.steady.as_ref().is_some_and(|steady| !steady.guarded);
        let most = if !self.loops.is_empty() && self.loops.iter().all(runs_alone) { LOOP_BLOCK } else { BLOCK };
        Compiled::new(self, (BLOCK_WORDS / rows.max(1)).next_power_of_two().clamp(least, most))
    }

    /// Runs the code over one block of lanes: gathers leaves and runs all parts. Rows have the results.
    fn run_block_code<'w>(
        &self,
        code: &Compiled,
        workspace: &'w mut Workspace,
        which: Which<'_>,
        leaves: &impl Leaves,
    ) -> (&'w [u64], &'w [u32]) {
        let Workspace { native, loops, left, scratch, .. } = workspace;
        let NativeSpace { rows, spills, failed: marks, remembered, .. } = native;
        let most = code.lanes;
        if marks.len() < most {
            marks.resize(most, STAYED);
        }
        rows.ensure(code.rows * code.width);
        spills.ensure(code.spill_bytes.div_ceil(8));
        code.remember(spills, remembered);
        let n = which.count();
        let padded = code.padded(n);
        leaves.gather(which, self.leaves, &mut rows[code.leaf_rows * code.width..], code.width);
        if padded > n {
            // Lanes that nobody asked for do what the last one does.
            for row in rows[code.leaf_rows * code.width..].chunks_mut(code.width).take(self.leaves) {
                let last = row[n - 1];
                row[n..padded].fill(last);
            }
        }
        if code.guarded {
            marks[..padded].fill(STAYED);
        }
        for part in &code.parts {
            match *part {
                Part::Code(at) => {
                    let each = code.lanes_at_once();
                    for from in (0..padded).step_by(each) {
                        // SAFETY: the part begins there, and memory for states was noted above; code for rows has no lists.
                        unsafe { code.call(at, rows, (from, each.min(padded - from)), marks, spills) };
                        if each < padded && dmci_limits::rings() {
                            break;
                        }
                    }
                }
                // What follows relies on what was stopped.
                Part::Step(_) if dmci_limits::rang() => break,
                Part::Step(i) => {
                    let mut frame =
                        Frame { rows, width: code.width, lanes: n, loops, scratch, code: Some(&code.bodies) };
                    let Step::Loop(l) = self.steps[i] else {
                        self.step(&self.steps[i], &mut frame, &mut marks[..n]);
                        continue;
                    };
                    // A lane that has left must not run a loop, wherever it did. Without guards, marks are of another plan.
                    let left_at = |(lane, &mark): (usize, &u32)| match code.guarded {
                        _ if leaves.is_out(which.lane(lane)) => 0,
                        true => mark,
                        false => STAYED,
                    };
                    left.clear();
                    left.extend(marks[..n].iter().enumerate().map(left_at));
                    self.run_loop(l as usize, &mut frame, left);
                }
            }
        }
        (&rows[code.output_rows * code.width..], &marks[..n])
    }

    /// Runs a round of a loop for the lanes of a frame.
    pub(crate) fn run_body(
        &self,
        code: &Compiled,
        frame: &mut Frame<'_>,
        failed: &mut [u32],
        NativeSpace { spills, .. }: &mut NativeSpace,
    ) {
        spills.ensure(code.spill_bytes.div_ceil(8));
        let n = frame.lanes;
        let padded = code.padded(n);
        for part in &code.parts {
            match *part {
                // SAFETY: the part begins there, and a single round has neither lists nor a history.
                Part::Code(at) => unsafe { code.call(at, frame.rows, (0, padded), failed, spills) },
                Part::Step(i) => {
                    let Frame { rows, width, loops, scratch, .. } = &mut *frame;
                    let code = Some(&*code.bodies);
                    let mut inner = Frame { rows, width: *width, lanes: n, loops, scratch, code };
                    self.step(&self.steps[i], &mut inner, &mut failed[..n]);
                }
            }
        }
    }

    /// Runs the code over lanes in a list.
    pub(crate) fn run_listed(
        &self,
        code: &Compiled,
        workspace: &mut Workspace,
        which: &[usize],
        leaves: &impl Leaves,
        outputs: &mut [u64],
        failed: &mut [u32],
    ) {
        let most = code.lanes;
        let blocks = which.chunks(most).zip(outputs.chunks_mut(most * self.outputs.max(1)));
        for ((which, outputs), failed) in blocks.zip(failed.chunks_mut(most)) {
            if dmci_limits::rings() {
                failed.fill(CUT);
                continue;
            }
            let (rows, marks) = self.run_block_code(code, workspace, Which::List(which), leaves);
            if code.guarded {
                failed.copy_from_slice(marks);
            }
            for k in 0..self.outputs {
                let row = &rows[k * code.width..][..which.len()];
                let places = outputs[k..].iter_mut().step_by(self.outputs);
                places.zip(row).for_each(|(place, &bits)| *place = bits);
            }
        }
    }

    /// Runs all of so many lanes and gives their results to the target; `left` gets guards that
    /// failed, with their lanes. False, and nothing done, if there is no code for it.
    pub(crate) fn run_all<L: Leaves>(
        &self,
        lanes: usize,
        leaves: &L,
        threads: usize,
        target: &mut Target<'_, L::Number>,
        left: &Mutex<Vec<(u32, usize)>>,
    ) -> bool {
        if self.has_f32_rows() {
            self.run_all_f32(lanes, leaves, threads, target, left);
            return true;
        }
        let mut lists: Lists<'_, L::Number> = [&[]; MOST_LISTS];
        if lanes > FEW
            && let Some(direct) = self.direct_code(lanes, leaves, target, &mut lists)
        {
            // What it is not done with must not be left to nobody.
            let with_rows = if direct.may_be_undone() { self.code_for(lanes).map(Some) } else { Some(None) };
            if let Some(with_rows) = with_rows {
                let way = Way::Lists(direct, &lists, with_rows);
                self.run_range((way, direct.block()), lanes, leaves, threads, target, left);
                return true;
            }
        }
        let Some(code) = self.code_for(lanes) else { return false };
        self.run_range((Way::Rows(code), code.lanes), lanes, leaves, threads, target, left);
        true
    }

    fn run_range<L: Leaves>(
        &self,
        (way, block): (Way<'_, L::Number>, usize),
        lanes: usize,
        leaves: &L,
        threads: usize,
        target: &mut Target<'_, L::Number>,
        left: &Mutex<Vec<(u32, usize)>>,
    ) {
        let run = |lanes: (usize, usize), target: &mut Target<'_, L::Number>| {
            WORKSPACE.with_borrow_mut(|workspace| match way {
                Way::Rows(code) => self.run_rows(code, workspace, (lanes.0, 0..lanes.1), leaves, target, left),
                Way::Lists(direct, lists, with_rows) => {
                    self.run_direct((direct, lists, with_rows), workspace, lanes, leaves, target, left)
                }
            });
        };
        // Short calls take longer to be cut than to be done.
        if self.is_for_one_thread(lanes, threads) {
            return run((0, lanes), target);
        }
        let cut = |each: usize| std::mem::take(target).pieces(lanes, each);
        self.run_pieces((lanes, block), threads, cut, |(first, lanes, mut target)| run((first, lanes), &mut target));
    }

    /// Runs some of the lanes from the first on, block by block.
    pub(super) fn run_rows<L: Leaves>(
        &self,
        code: &Compiled,
        workspace: &mut Workspace,
        (first, lanes): (usize, Range<usize>),
        leaves: &L,
        target: &mut Target<'_, L::Number>,
        left: &Mutex<Vec<(u32, usize)>>,
    ) {
        for start in lanes.clone().step_by(code.lanes) {
            let n = code.lanes.min(lanes.end - start);
            if dmci_limits::rings() {
                return note_cut(first + start..first + lanes.end, left);
            }
            let (rows, marks) = self.run_block_code(code, workspace, Which::Range(first + start, n), leaves);
            target.put(start, |k| &rows[k * code.width..][..n]);
            if dmci_limits::rang() {
                note_cut(first + start..first + start + n, left);
            } else if code.guarded {
                note_left(marks, first + start, left);
            }
        }
    }
}

/// Code, and where it finds the numbers of lanes.
#[derive(Clone, Copy)]
enum Way<'a, N> {
    Rows(&'a Compiled),
    /// With code that reads rows, if some lanes may not be done.
    Lists(&'a Direct, &'a [&'a [N]], Option<&'a Compiled>),
}
