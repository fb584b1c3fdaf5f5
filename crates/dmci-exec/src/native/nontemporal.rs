//! Results written with non-temporal stores.
//!
//! An ordinary store to a line that is in no cache reads the line first. If a call has more results than the caches hold,
//! their reader finds them in memory anyway: they are collected, some lanes at a time, and then written with non-temporal
//! stores of whole lines, which bypass the cache.

use super::compile::Compiled;
use super::lists::{LINE, Layout, numbers_in};
use crate::number::Number;
use crate::target::Target;
use crate::words::Words;
use std::arch::x86_64::{__m256i, _mm_sfence, _mm256_loadu_si256, _mm256_stream_si256};

/// Bytes of results from which on stores are non-temporal: fewer may still be cached when they are read.
const MANY: usize = 20 << 20;

/// Lanes whose results are collected: these stay in the L1 cache.
pub(super) const COLLECTED: usize = 256;

/// Vector instructions that take as long as reading a line: with more of them per line, the read is hidden.
const LINE_INSTRUCTIONS: usize = 16;

/// Whether non-temporal stores pay for a call whose first list holds `numbers`.
pub(super) fn pays<N: Number>(layout: &Layout, code: &Compiled, numbers: usize) -> bool {
    let bytes = layout.widths.iter().sum::<usize>() * size_of::<N>();
    if bytes * numbers < MANY * layout.strides[0] as usize {
        return false;
    }
    let waits = code.step * bytes / LINE * LINE_INSTRUCTIONS >= code.instructions;
    waits && COLLECTED.is_multiple_of(code.step)
}

/// Room for the results of so many lanes, list by list.
pub(super) fn room<'w, N: Number>(space: &'w mut Words, layout: &Layout, lanes: usize) -> &'w mut [N] {
    let numbers = layout.widths.iter().sum::<usize>() * lanes;
    &mut numbers_in(space.ensure((numbers * size_of::<N>()).div_ceil(8)))[..numbers]
}

/// Writes collected results of lanes from the first on to where they belong.
pub(super) fn write<N: Number>(collected: &[N], target: &mut Target<'_, N>, first: usize, lanes: usize) {
    let mut rest = collected;
    for list in target.lists_from(first, lanes) {
        let (part, others) = rest.split_at(list.len());
        // SAFETY: there is machine code, so the processor has AVX.
        unsafe { copy(part, list) };
        rest = others;
    }
}

/// Store fence: non-temporal stores become visible to other threads.
pub(super) fn finish() {
    // SAFETY: every processor for which there is machine code has it.
    unsafe { _mm_sfence() }
}

/// Copies numbers; whole lines by non-temporal stores.
///
/// # Safety
/// The processor has AVX.
#[target_feature(enable = "avx")]
unsafe fn copy<N: Number>(from: &[N], to: &mut [N]) {
    let before = (to.as_ptr().align_offset(LINE)).min(to.len());
    let whole = (to.len() - before) * size_of::<N>() / LINE * (LINE / size_of::<N>());
    let (start, end) = (before, before + whole);
    to[..start].copy_from_slice(&from[..start]);
    to[end..].copy_from_slice(&from[end..]);
    let (from, to) = (&from[start..end], &mut to[start..end]);
    let halves = size_of_val(to) / size_of::<__m256i>();
    let (from, to): (*const __m256i, *mut __m256i) = (from.as_ptr().cast(), to.as_mut_ptr().cast());
    for half in 0..halves {
        // SAFETY: both lists have so many halves of lines, and the second one begins with a line.
        unsafe { _mm256_stream_si256(to.add(half), _mm256_loadu_si256(from.add(half))) };
    }
}
