//! When plans are compiled, and how they are run.

use super::compile::{Compiled, Part};
use crate::block::{Frame, Leaves, STAYED};
use crate::loops::LoopSpace;
use crate::plan::{Code, Plan};
use dmci_ops::linalg::Scratch;
use dmci_ops::real::has_wide_fma;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Lanes that are worked on together, unless rows get too long.
const BLOCK: usize = 256;

/// Words that the rows of a block should not exceed.
const BLOCK_WORDS: usize = 1 << 15;

/// Steps on blocks after which compiling has paid: about twenty steps of the interpreter cost as much
/// as compiling one, and the system's part as much as several hundred.
const COMPILE_STEP: u32 = 16;
const COMPILE_PLAN: u32 = 1000;

/// Lanes that the code for few lanes takes at once.
const FEW: usize = 4;

/// The code of a plan, made when it has been used enough.
#[derive(Debug, Default)]
pub(crate) struct Native {
    /// Whether it is to be used.
    pub when: Code,
    work: AtomicU32,
    few: OnceLock<Option<Box<Compiled>>>,
    many: OnceLock<Option<Box<Compiled>>>,
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

/// Sixteen lanes, aligned.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// Memory for blocks, used again.
#[derive(Debug, Default)]
pub(crate) struct NativeSpace {
    lines: Vec<Line>,
    failed: Vec<u32>,
}

impl NativeSpace {
    /// So many words, aligned.
    fn words(&mut self, count: usize) -> &mut [u64] {
        let lines = count.div_ceil(8);
        if self.lines.len() < lines {
            self.lines.resize(lines, Line([0; 8]));
        }
        // SAFETY: a line is eight words and nothing else.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), lines * 8) }
    }
}

impl Plan {
    /// The code for so many lanes, if it is to be used.
    pub(crate) fn code_for(&self, lanes: usize) -> Option<&Compiled> {
        let native = &self.native;
        if native.when == Code::Never || lanes == 0 {
            return None;
        }
        let cell = if lanes <= FEW { &native.few } else { &native.many };
        if let Some(known) = cell.get() {
            return known.as_deref();
        }
        // Each step costs a call of the interpreter and something for each lane.
        let steps = self.steps.len() as u32;
        let work = steps.saturating_mul(1 + (lanes / 32) as u32);
        let before = native.work.fetch_add(work, Ordering::Relaxed);
        let always = native.when == Code::Always;
        if !always && before.saturating_add(work) < COMPILE_PLAN.saturating_add(steps.saturating_mul(COMPILE_STEP)) {
            return None;
        }
        cell.get_or_init(|| has_wide_fma().then(|| self.compile(lanes <= FEW).map(Box::new)).flatten()).as_deref()
    }

    fn compile(&self, few: bool) -> Option<Compiled> {
        if few {
            return Compiled::new(self, FEW, 1);
        }
        let interleave = self.interleave();
        let rows = self.leaves + self.outputs + if self.tensors.is_empty() && self.loops.is_empty() { 0 } else { self.slots };
        let lanes = (BLOCK_WORDS / rows.max(1)).next_power_of_two().clamp(32, BLOCK);
        // Rows do not begin at the same place of a page.
        Compiled::new(self, lanes + 8, interleave)
    }

    /// How many vectors are worked on at once.
    fn interleave(&self) -> usize {
        if let Ok(text) = std::env::var("DMCI_U") {
            return text.parse().unwrap_or(1);
        }
        2
    }

    /// Runs the code over lanes: gathers leaves, runs all parts, spreads outputs.
    pub(crate) fn run_code(
        &self,
        code: &Compiled,
        space: &mut NativeSpace,
        (loops, scratch): (&mut Vec<LoopSpace>, &mut Scratch),
        (which, leaves): (&[usize], &impl Leaves),
        outputs: &mut [u64],
        failed: &mut [u32],
    ) {
        let most = code.width - if code.width > FEW { 8 } else { 0 };
        let row_words = code.rows * code.width;
        space.failed.resize(most.max(space.failed.len()), STAYED);
        let mut marks = std::mem::take(&mut space.failed);
        let (rows, spills) =
            space.words(row_words + code.spill_bytes / 8 + 8).split_at_mut(row_words.next_multiple_of(4));
        let blocks = which.chunks(most).zip(outputs.chunks_mut(most * self.outputs.max(1)));
        for ((which, outputs), failed) in blocks.zip(failed.chunks_mut(most)) {
            let n = which.len();
            let padded = n.next_multiple_of(code.step);
            for leaf in 0..self.leaves {
                let row = &mut rows[(code.leaf_rows + leaf) * code.width..][..padded];
                leaves.fill(which, leaf, &mut row[..n]);
                // Lanes that nobody asked for do what the last one does.
                let last = row[n - 1];
                row[n..].fill(last);
            }
            marks[..padded].fill(STAYED);
            for part in &code.parts {
                match *part {
                    Part::Code(at) => code.call(at, rows, padded, &mut marks, spills),
                    Part::Step(i) => {
                        let mut frame = Frame { rows, width: code.width, lanes: padded, loops, scratch };
                        self.step(&self.steps[i], &mut frame, &mut marks[..padded]);
                    }
                }
            }
            failed.copy_from_slice(&marks[..n]);
            for k in 0..self.outputs {
                let row = &rows[(code.output_rows + k) * code.width..][..n];
                for (lane, &bits) in row.iter().enumerate() {
                    outputs[lane * self.outputs + k] = bits;
                }
            }
        }
        space.failed = marks;
    }
}
