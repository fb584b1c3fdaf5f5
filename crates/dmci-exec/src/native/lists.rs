//! Code that reads the numbers of lanes where they are and writes results where they belong.
//!
//! Short programs spend more time with moving numbers to and from rows than with computing. If neighbours
//! have their numbers in lists at equal distances, code loads them from there, and stores results in the
//! lists of the target.

use super::columns::most_columns;
use super::compile::{Compiled, Part};
use super::emit::{LISTS_AT, MOST_LISTS, UNDONE_AT};
use super::fused_loops::FusedLoops;
use super::nontemporal;
use super::packed::can_be_packed;
use super::reach::reaches_lanes;
use super::run::NativeSpace;
use super::vex::Numbers;
use crate::block::{Leaves, List, STAYED, Which, Workspace, note_cut, note_left};
use crate::number::Number;
use crate::plan::Plan;
use crate::target::Target;
use crate::words::Words;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Lanes of a block, with rows that leaves are gathered into and without.
const BLOCK: usize = 256;
const BLOCK_WITHOUT_ROWS: usize = 2048;

/// Lanes from which on it pays to begin where vectors in lists do not lie across lines of the cache.
const WORTH_ALIGNING: usize = 1 << 14;

/// Bytes of a line of the cache.
pub(super) const LINE: usize = 64;

/// Which list a leaf is in, and which of the numbers of a lane it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub list: u8,
    pub at: u32,
}

/// Where code finds leaves and puts results.
#[derive(Debug, PartialEq)]
pub(super) struct Layout {
    /// By leaf; one that is in no list has a row.
    pub spots: Vec<Option<Spot>>,
    /// Numbers that a lane has in each list: first those of leaves, then those of results.
    pub strides: Vec<u32>,
    /// How many of them are lists of leaves.
    pub sources: usize,
    /// A leaf in each of the latter.
    pub members: Vec<usize>,
    /// How many results of a lane each list of the target takes.
    pub widths: [usize; 3],
    /// How the leaves were arranged for which this was made.
    arrangement: Option<u64>,
    /// What all of them hold: numbers of double precision, or of single precision.
    pub numbers: Numbers,
}

impl Layout {
    /// The layout of these leaves and this target; none if no code can be made for it.
    fn of<L: Leaves>(
        plan: &Plan,
        fused: Option<&FusedLoops>,
        leaves: &L,
        target: &Target<'_, L::Number>,
    ) -> Option<Layout> {
        let numbers = if L::Number::SINGLE { Numbers::Single } else { Numbers::Double };
        // Numbers of single precision are read as they are: nothing but these may be in vectors.
        let has_other_loops = fused.is_none() && !plan.is_straight();
        if has_other_loops || L::Number::SINGLE && !can_be_packed(plan, fused) {
            return None;
        }
        let most_columns = most_columns(plan.native.isa(BLOCK), numbers);
        let mut lists: Vec<List<'_, L::Number>> = Vec::new();
        let widths = target.widths().into_iter().filter(|w| *w > 0);
        let fits = |stride: usize| stride <= most_columns && reaches_lanes(stride);
        if !widths.clone().all(fits) {
            return None;
        }
        let most = MOST_LISTS - widths.clone().count();
        let spots = (0..plan.leaves).map(|leaf| {
            let list = leaves.list(leaf).filter(|list| fits(list.stride) && list.at < list.stride)?;
            let number = lists.iter().position(|known| known.is_beside(&list)).or_else(|| {
                (lists.len() < most).then(|| {
                    lists.push(list);
                    lists.len() - 1
                })
            })?;
            Some(Spot { list: number as u8, at: list.at as u32 })
        });
        let spots: Vec<Option<Spot>> = spots.collect();
        let strides = lists.iter().map(|list| list.stride).chain(widths).map(|stride| stride as u32).collect();
        let member = |k: usize| spots.iter().position(|spot| spot.is_some_and(|spot| spot.list as usize == k));
        let members = (0..lists.len()).filter_map(member).collect();
        let (sources, widths, arrangement) = (lists.len(), target.widths(), leaves.arrangement());
        let layout = Layout { spots, strides, sources, members, widths, arrangement, numbers };
        (layout.sources > 0).then_some(layout)
    }

    /// Finds the lists of these leaves, if they are laid out like this.
    fn find<'l, L: Leaves>(
        &self,
        leaves: &'l L,
        target: &Target<'_, L::Number>,
        lists: &mut Lists<'l, L::Number>,
    ) -> bool {
        if self.widths != target.widths() {
            return false;
        }
        let mut known = 0u32;
        for (leaf, spot) in self.spots.iter().enumerate() {
            let Some(spot) = spot else { continue };
            let Some(List { numbers, stride, at, .. }) = leaves.list(leaf) else { return false };
            let (k, bit) = (spot.list as usize, 1 << spot.list);
            if known & bit == 0 {
                known |= bit;
                lists[k] = numbers;
            }
            if !std::ptr::eq(lists[k], numbers) || stride != self.strides[k] as usize || at != spot.at as usize {
                return false;
            }
        }
        true
    }

    /// Whether lists of such numbers are laid out like this.
    #[inline]
    pub fn holds<N: Number>(&self) -> bool {
        (self.numbers == Numbers::Single) == N::SINGLE
    }

    /// Whether there are leaves in no list.
    pub fn has_rows(&self) -> bool {
        self.spots.contains(&None)
    }
}

/// The lists that code reads.
pub(super) type Lists<'l, N> = [&'l [N]; MOST_LISTS];

/// Code for a layout.
#[derive(Debug)]
pub(super) struct Direct {
    pub layout: Layout,
    pub code: Compiled,
    /// Lanes take so many rounds of a loop that they had better be done with rows.
    given_up: AtomicBool,
}

impl Direct {
    /// Lanes of a block.
    pub fn block(&self) -> usize {
        self.code.lanes
    }

    /// Whether lanes may not be done with a loop.
    pub fn may_be_undone(&self) -> bool {
        self.code.may_be_undone
    }

    /// Whether the code does so many lanes at once, with such leaves, and none of them can leave.
    pub fn does_at_once<L: Leaves>(&self, lanes: usize, leaves: &L, target: &Target<'_, L::Number>) -> bool {
        let Direct { layout, code, .. } = self;
        let has_groups = (code.step..=code.lanes.min(code.lanes_at_once())).contains(&lanes);
        let can_leave = code.guarded || code.may_be_undone;
        let is_arranged = layout.arrangement.is_some() && layout.arrangement == leaves.arrangement();
        has_groups && !can_leave && code.rows == 0 && is_arranged && layout.widths == target.widths()
    }

    /// Notes how many of so many lanes are not done with a loop.
    fn note_undone(&self, undone: usize, lanes: usize) {
        if undone > lanes / 4 {
            self.given_up.store(true, Ordering::Relaxed);
        }
    }
}

impl Plan {
    /// Code for the layout of these leaves, and the lists that it reads: what was made first for their arrangement stays.
    pub(super) fn direct_code<'l, L: Leaves>(
        &self,
        lanes: usize,
        leaves: &'l L,
        target: &Target<'_, L::Number>,
        lists: &mut Lists<'l, L::Number>,
    ) -> Option<&Direct> {
        let make = || {
            let fused = self.fused();
            let layout = Layout::of(self, fused.as_deref(), leaves, target)?;
            let lanes = if layout.has_rows() { BLOCK } else { BLOCK_WITHOUT_ROWS };
            let code = Compiled::with_lists(self, fused.as_deref(), &layout, lanes)?;
            Some(Direct { layout, code, given_up: AtomicBool::new(false) })
        };
        let made = &self.native.direct[L::Number::SINGLE as usize];
        let direct = made.find_or_make(leaves.arrangement(), |others| self.pays_for_lists(lanes, others), make)?;
        if direct.given_up.load(Ordering::Relaxed) {
            return None;
        }
        // Less than a group of lanes would do the rounds of a whole one.
        if !self.loops.is_empty() && lanes < direct.code.step {
            return None;
        }
        direct.layout.find(leaves, target, lists).then_some(direct)
    }

    /// Runs lanes from the first on, block by block. Blocks with lanes that are not done with a loop are run with rows.
    pub(super) fn run_direct<L: Leaves>(
        &self,
        (direct, lists, with_rows): (&Direct, &[&[L::Number]], Option<&Compiled>),
        workspace: &mut Workspace,
        (first, lanes): (usize, usize),
        leaves: &L,
        target: &mut Target<'_, L::Number>,
        left: &Mutex<Vec<(u32, usize)>>,
    ) {
        let Direct { layout, code, .. } = direct;
        let NativeSpace { rows, spills, failed: marks, bounce, collected, remembered } = &mut workspace.native;
        spills.ensure(code.spill_bytes.div_ceil(8));
        code.remember(spills, remembered);
        rows.ensure(code.rows * code.width);
        if marks.len() < code.lanes {
            marks.resize(code.lanes, STAYED);
        }
        let apart = match lanes {
            WORTH_ALIGNING.. => until_aligned(layout, lists, first, target),
            _ => 0,
        };
        // To do a lane twice changes nothing. Only rounds of a loop might see that it has left.
        let overlaps = !code.guarded || self.loops.is_empty();
        let streams = nontemporal::pays::<L::Number>(layout, code, lists[0].len());
        let block = if streams { nontemporal::COLLECTED } else { code.lanes.min(code.lanes_at_once()) };
        let (mut next, mut undone) = (0, Vec::new());
        while next < lanes {
            let start = next;
            if dmci_limits::rings() {
                note_cut(first + start..first + lanes, left);
                break;
            }
            spills[UNDONE_AT / 8] = 0;
            let n = if start < apart { apart } else { block.min(lanes - start) };
            next += n;
            let padded = code.padded(n);
            if code.rows > 0 {
                for leaf in (0..layout.spots.len()).filter(|&leaf| layout.spots[leaf].is_none()) {
                    let row = &mut rows[leaf * code.width..][..padded];
                    let (row, padding) = row.split_at_mut(n);
                    leaves.fill(Which::Range(first + start, n), leaf, row);
                    padding.fill(row[n - 1]);
                }
            }
            if code.guarded {
                marks[..padded].fill(STAYED);
            }
            let rest = n & (code.step - 1);
            let whole = n - rest;
            let sources = lists.iter().zip(&layout.strides[..layout.sources]).map(|(list, &stride)| {
                let (list, stride) = (&list[(first + start) * stride as usize..], stride as usize);
                (&list[..n * stride], stride)
            });
            if whole > 0 {
                let begins = sources.clone().map(|(list, _)| list.as_ptr() as u64);
                let table = &mut spills[LISTS_AT / 8..][..MOST_LISTS];
                if streams {
                    let collected = nontemporal::room::<L::Number>(collected, layout, whole);
                    let mut rest = &mut *collected;
                    let ends = layout.widths.iter().filter(|width| **width > 0).map(|width| {
                        let (part, others) = std::mem::take(&mut rest).split_at_mut(whole * width);
                        rest = others;
                        part.as_mut_ptr() as u64
                    });
                    table.iter_mut().zip(begins.chain(ends)).for_each(|(word, at)| *word = at);
                    // SAFETY: lists were cut to these lanes, and so was the room for results; states have memory.
                    unsafe { run(code, rows, 0, whole, marks, spills) };
                    nontemporal::write(collected, target, start, whole);
                } else {
                    let ends = target.lists_from(start, whole).map(|list| list.as_mut_ptr() as u64);
                    table.iter_mut().zip(begins.chain(ends)).for_each(|(word, at)| *word = at);
                    // SAFETY: lists of leaves and of results were cut to these lanes; states have memory.
                    unsafe { run(code, rows, 0, whole, marks, spills) };
                }
            }
            if rest > 0 && whole > 0 && overlaps {
                // The last lanes are done by a group that ends with them.
                let from = n - code.step;
                let begins = sources.map(|(list, stride)| list[from * stride..].as_ptr() as u64);
                let ends = target.lists_from(start + from, code.step).map(|list| list.as_mut_ptr() as u64);
                let table = &mut spills[LISTS_AT / 8..][..MOST_LISTS];
                table.iter_mut().zip(begins.chain(ends)).for_each(|(word, at)| *word = at);
                // SAFETY: lists of leaves and of results were cut to the lanes of the group.
                unsafe { run(code, rows, from, code.step, marks, spills) };
            } else if rest > 0 {
                // The last lanes have lists of their own, with room for a whole group.
                bounce.ensure(code.step * layout.strides.iter().sum::<u32>() as usize);
                let bounce: &mut [L::Number] = numbers_in(bounce);
                let mut parts = &mut *bounce;
                let mut begins = [0u64; MOST_LISTS];
                let mut results = 0;
                let mut lists = sources.map(Some).chain(std::iter::repeat(None));
                for (k, &stride) in layout.strides.iter().enumerate() {
                    let stride = stride as usize;
                    let (part, others) = parts.split_at_mut(code.step * stride);
                    if let Some((list, _)) = lists.next().flatten() {
                        let (own, padding) = part.split_at_mut(rest * stride);
                        own.copy_from_slice(&list[whole * stride..]);
                        padding.chunks_mut(stride).for_each(|lane| lane.copy_from_slice(&own[own.len() - stride..]));
                        results += part.len();
                    }
                    begins[k] = part.as_mut_ptr() as u64;
                    parts = others;
                }
                spills[LISTS_AT / 8..][..MOST_LISTS].copy_from_slice(&begins);
                // SAFETY: all lists have room for a group of their own.
                unsafe { run(code, rows, whole, code.step, marks, spills) };
                let mut results = &bounce[results..];
                for list in target.lists_from(start + whole, rest) {
                    let (part, others) = results.split_at(code.step * (list.len() / rest));
                    list.copy_from_slice(&part[..list.len()]);
                    results = others;
                }
            }
            if spills[UNDONE_AT / 8] > 0 {
                undone.push(start..next);
            } else if code.guarded {
                note_left(&marks[..n], first + start, left);
            }
        }
        if streams {
            nontemporal::finish();
        }
        if let Some(code) = with_rows.filter(|_| !undone.is_empty()) {
            direct.note_undone(undone.iter().map(|block| block.len()).sum(), lanes);
            for block in undone {
                self.run_rows(code, workspace, (first, block), leaves, target, left);
            }
        }
    }
}

/// After how many lanes most numbers are in lists that begin with a line of the cache there.
fn until_aligned<N: Number>(layout: &Layout, lists: &[&[N]], first: usize, target: &mut Target<'_, N>) -> usize {
    let line = LINE / size_of::<N>();
    let number = |list: &[N]| list.as_ptr() as usize / size_of::<N>();
    let sources = lists.iter().take(layout.sources).zip(&layout.strides);
    let sources = sources.map(|(list, &stride)| number(list) + first * stride as usize);
    let results = target.lists_from(0, 1).map(|list| number(list));
    let mut numbers = [0; LINE];
    for (begin, &stride) in sources.chain(results).zip(&layout.strides) {
        for (apart, numbers) in numbers[..line].iter_mut().enumerate() {
            let aligned = (begin + apart * stride as usize).is_multiple_of(line);
            *numbers += if aligned { stride } else { 0 };
        }
    }
    // The first of those that are equally good.
    (0..line).rev().max_by_key(|&apart| numbers[apart]).unwrap_or(0)
}

/// Words as memory for numbers.
pub(super) fn numbers_in<N: Number>(words: &mut [u64]) -> &mut [N] {
    // SAFETY: numbers are of double or single precision, and all bits are such numbers.
    unsafe { words.align_to_mut::<N>().1 }
}

/// Runs the only part of code.
///
/// # Safety
/// As for [`Compiled::call`].
#[inline]
unsafe fn run(code: &Compiled, rows: &mut Words, from: usize, lanes: usize, marks: &mut [u32], spills: &mut Words) {
    if let Some(Part::Code(at)) = code.parts.first() {
        // SAFETY: the part begins there; all else is the caller's promise.
        unsafe { code.call(*at, rows, (from, lanes), marks, spills) };
    }
}
