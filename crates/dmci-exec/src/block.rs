//! The block interpreter: lanes in blocks, each step a loop over the block.

use crate::plan::{Plan, Step};

/// Lanes that are worked on together: few enough that the live rows stay in cache.
const BLOCK: usize = 256;

/// Memory for one block, reused between calls.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    rows: Vec<u64>,
}

/// Where lanes find their leaves and leave their results.
pub trait Lanes {
    /// The value of a leaf in a lane, in bits.
    fn leaf(&self, lane: usize, leaf: usize) -> u64;
    /// Takes a result of a lane that stayed on the path.
    fn output(&mut self, lane: usize, output: usize, bits: u64);
    /// Takes the index of the first guard that a lane failed.
    fn left(&mut self, lane: usize, guard: u32);
}

impl Plan {
    /// Runs the plan over the lanes numbered in `which`.
    pub fn run(&self, workspace: &mut Workspace, which: &[usize], lanes: &mut impl Lanes) {
        let width = BLOCK.min(which.len().next_multiple_of(4).max(4));
        workspace.rows.resize(self.slots * width, 0);
        for block in which.chunks(width) {
            self.run_block(&mut workspace.rows, width, block, lanes);
        }
    }

    fn run_block(&self, rows: &mut [u64], width: usize, which: &[usize], lanes: &mut impl Lanes) {
        let n = which.len();
        // First failed guard of each lane; none is u32::MAX.
        let mut failed = [u32::MAX; BLOCK];
        for step in &self.steps {
            match *step {
                Step::Leaf { d, leaf } => {
                    let row = &mut rows[d as usize * width..][..n];
                    for (slot, &lane) in row.iter_mut().zip(which) {
                        *slot = lanes.leaf(lane, leaf as usize);
                    }
                }
                Step::Real { d, bits } => rows[d as usize * width..][..n].fill(bits),
                Step::Op { op, d, args } => {
                    let (target, others) = Rows::split(rows, d as usize, width, n);
                    op.eval_lanes(target, args.map(|s| others.row(s as usize)));
                }
                Step::Guard { test, outcome, index } => {
                    let row = &rows[test as usize * width..][..n];
                    for (f, &bit) in failed.iter_mut().zip(row) {
                        if (bit != 0) != outcome && *f == u32::MAX {
                            *f = index;
                        }
                    }
                }
                Step::Output { s, index } => {
                    let row = &rows[s as usize * width..][..n];
                    for ((&bits, &lane), &f) in row.iter().zip(which).zip(&failed) {
                        if f == u32::MAX {
                            lanes.output(lane, index as usize, bits);
                        }
                    }
                }
            }
        }
        for (&lane, &guard) in which.iter().zip(&failed) {
            if guard != u32::MAX {
                lanes.left(lane, guard);
            }
        }
    }
}

/// All rows but one that is written.
struct Rows<'a> {
    before: &'a [u64],
    after: &'a [u64],
    target: usize,
    width: usize,
    n: usize,
}

impl<'a> Rows<'a> {
    fn split(rows: &'a mut [u64], target: usize, width: usize, n: usize) -> (&'a mut [u64], Rows<'a>) {
        let (before, rest) = rows.split_at_mut(target * width);
        let (row, after) = rest.split_at_mut(width);
        (&mut row[..n], Rows { before, after, target, width, n })
    }

    fn row(&self, slot: usize) -> &'a [u64] {
        if slot < self.target {
            &self.before[slot * self.width..][..self.n]
        } else {
            &self.after[(slot - self.target - 1) * self.width..][..self.n]
        }
    }
}
