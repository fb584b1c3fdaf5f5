//! Prepared calls: an earlier call of the same shape has chosen the code and allocated its memory, so a prepared call needs
//! nothing but its numbers. For few lanes the lookup takes longer than the code.

use super::compile::{Compiled, Part};
use super::emit::{LISTS_AT, MOST_LISTS};
use super::lists::Direct;
use super::run::FEW;
use crate::block::{Leaves, STAYED};
use crate::number::Number;
use crate::plan::Plan;
use crate::target::Target;
use crate::words::Words;
use std::sync::Arc;

/// Code and memory for calls that differ in their numbers alone.
#[derive(Debug)]
pub enum PreparedCall {
    /// One lane.
    Lane(PreparedLane),
    /// Lanes with their numbers in lists.
    Lists(PreparedLists),
}

/// Code for one lane.
#[derive(Debug)]
pub struct PreparedLane {
    code: Arc<Compiled>,
    at: usize,
    rows: Words,
    spills: Words,
    marks: [u32; FEW],
    /// Spills have its address.
    _remembered: Words,
}

/// Code for so many lanes, of which none can leave.
#[derive(Debug)]
pub struct PreparedLists {
    direct: Arc<Direct>,
    at: usize,
    lanes: usize,
    /// For each list of leaves one of these, and how many numbers it must have.
    sources: Box<[(usize, usize)]>,
    /// How many numbers the lists of results must have.
    results: [usize; 3],
    spills: Words,
    /// Spills have its address.
    _remembered: Words,
}

/// Words of memory that are not too many to be kept for one kind of call.
const FEW_WORDS: usize = 1 << 13;

impl Plan {
    /// What does calls like this one, if one call of code does everything.
    pub(crate) fn prepared_call<L: Leaves>(
        &self,
        lanes: usize,
        leaves: &L,
        threads: usize,
        target: &Target<'_, L::Number>,
    ) -> Option<PreparedCall> {
        if lanes == 1 {
            return PreparedLane::new(self.native.few.get()?.as_ref()?).map(PreparedCall::Lane);
        }
        let direct = self.native.direct[L::Number::SINGLE as usize].find(leaves.arrangement())?;
        let is_all = direct.does_at_once(lanes, leaves, target) && self.is_for_one_thread(lanes, threads);
        if is_all { PreparedLists::new(direct, lanes).map(PreparedCall::Lists) } else { None }
    }
}

impl PreparedLane {
    fn new(code: &Arc<Compiled>) -> Option<PreparedLane> {
        let &[Part::Code(at)] = &code.parts[..] else { return None };
        let (rows, spills) = (code.rows * FEW, code.spill_bytes.div_ceil(8));
        if code.step > FEW || code.lanes_at_once() <= code.step || rows + spills + code.remembered > FEW_WORDS {
            return None;
        }
        let code = code.clone();
        let (rows, mut spills, mut remembered) = (Words::with(rows), Words::with(spills), Words::default());
        code.remember(&mut spills, &mut remembered);
        Some(PreparedLane { code, at, rows, spills, marks: [STAYED; FEW], _remembered: remembered })
    }

    /// Runs one lane with these numbers for its leaves, and then those. False if it leaves the path, or if these are not
    /// all; then results are as they were.
    #[inline]
    pub fn run<N: Number>(
        &mut self,
        numbers: &[N],
        more: impl ExactSizeIterator<Item = N>,
        results: [&mut [N]; 3],
    ) -> bool {
        let PreparedLane { code, at, rows, spills, marks, .. } = self;
        if numbers.len() + more.len() != code.output_rows - code.leaf_rows {
            return false;
        }
        let (leaves, _) = rows[code.leaf_rows * FEW..].as_chunks_mut::<FEW>();
        let (first, others) = leaves.split_at_mut(numbers.len());
        first.iter_mut().zip(numbers).for_each(|(row, &x)| spread(row, x));
        others.iter_mut().zip(more).for_each(|(row, x)| spread(row, x));
        if code.guarded {
            *marks = [STAYED; FEW];
        }
        // SAFETY: the only part begins there, and memory for states was noted when this was made; there are no lists.
        unsafe { code.call(*at, rows, (0, code.step), marks, spills) };
        if code.guarded && marks[0] != STAYED {
            return false;
        }
        let (mut outputs, _) = rows[code.output_rows * FEW..].as_chunks::<FEW>();
        for list in results {
            list.iter_mut().zip(outputs).for_each(|(place, row)| *place = N::of_bits(row[0]));
            outputs = &outputs[list.len().min(outputs.len())..];
        }
        true
    }
}

/// Lanes that nobody asked for do what the first one does.
#[inline]
fn spread<N: Number>(row: &mut [u64; FEW], x: N) {
    // SAFETY: there is machine code, so the processor has AVX.
    unsafe { spread_at_once(row, x.bits()) };
}

/// One store as wide as the load that follows, or store forwarding fails.
///
/// # Safety
/// The processor has AVX.
#[target_feature(enable = "avx")]
unsafe fn spread_at_once(row: &mut [u64; FEW], bits: u64) {
    *row = [bits; FEW];
}

impl PreparedLists {
    fn new(direct: &Arc<Direct>, lanes: usize) -> Option<PreparedLists> {
        let code = &direct.code;
        let &[Part::Code(at)] = &code.parts[..] else { return None };
        let spills = code.spill_bytes.div_ceil(8);
        if spills + code.remembered > FEW_WORDS {
            return None;
        }
        let (mut spills, mut remembered) = (Words::with(spills), Words::default());
        code.remember(&mut spills, &mut remembered);
        let layout = &direct.layout;
        let members = layout.members.iter().zip(&layout.strides);
        let sources = members.map(|(&leaf, &stride)| (leaf, lanes * stride as usize)).collect();
        let results = layout.widths.map(|width| lanes * width);
        Some(PreparedLists { direct: direct.clone(), at, lanes, sources, results, spills, _remembered: remembered })
    }

    /// Runs the lanes; `list` gives the numbers that a leaf is among. False, and nothing done, if these or the results
    /// are too few or of another precision.
    #[inline]
    pub fn run<'l, N: Number>(&mut self, list: impl Fn(usize) -> &'l [N], results: [&mut [N]; 3]) -> bool {
        let PreparedLists { direct, at, lanes, sources, results: needed, spills, .. } = self;
        let (layout, code) = (&direct.layout, &direct.code);
        let spills = &mut spills[..];
        let Some(table) = spills[LISTS_AT / 8..].first_chunk_mut::<MOST_LISTS>() else { return false };
        if !layout.holds::<N>() {
            return false;
        }
        let mut put = |place: usize, address: u64, is_enough: bool| {
            let place = table.get_mut(place).filter(|_| is_enough);
            place.map(|place| *place = address).is_some()
        };
        for (place, &(leaf, needed)) in sources.iter().enumerate() {
            let numbers = list(leaf);
            if !put(place, numbers.as_ptr() as u64, numbers.len() >= needed) {
                return false;
            }
        }
        // By index: lists in arrays would be copied before they are looked at.
        let mut place = sources.len();
        for k in 0..3 {
            if needed[k] > 0 {
                if !put(place, results[k].as_mut_ptr() as u64, results[k].len() >= needed[k]) {
                    return false;
                }
                place += 1;
            }
        }
        let rest = *lanes & (code.step - 1);
        // SAFETY: the only part begins there, and memory for states was noted when this was made. All lists of the layout
        // have room for these lanes; those of results are borrowed for nobody else.
        unsafe { code.call(*at, &mut [], (0, *lanes - rest), &mut [], spills) };
        if rest > 0 {
            // Code has gone on by what it has done: it goes back, to a group that ends with the last lane.
            let back = (code.step - rest) * size_of::<N>();
            let places = spills[LISTS_AT / 8..].iter_mut().zip(&layout.strides);
            places.for_each(|(place, &stride)| *place -= (back * stride as usize) as u64);
            // SAFETY: as before; these are lanes of the same lists, since there is at least a whole group.
            unsafe { code.call(*at, &mut [], (0, code.step), &mut [], spills) };
        }
        true
    }
}
