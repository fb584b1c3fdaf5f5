//! Words in memory that begin where vectors and lines of the cache do.

use std::ops::{Deref, DerefMut};

/// Eight words, aligned.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// A list of words that is aligned and only grows.
#[derive(Debug, Default)]
pub(crate) struct Words(Vec<Line>);

impl Words {
    /// Makes room for so many words.
    pub fn ensure(&mut self, words: usize) {
        let lines = words.div_ceil(8);
        if self.0.len() < lines {
            self.0.resize(lines, Line([0; 8]));
        }
    }
}

impl Deref for Words {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        // SAFETY: a line is eight words and nothing else.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * 8) }
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: a line is eight words and nothing else.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * 8) }
    }
}
