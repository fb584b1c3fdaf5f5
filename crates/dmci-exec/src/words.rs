//! Words in memory that begin where vectors and lines of the cache do.

use std::ops::{Deref, DerefMut};

/// Eight words, aligned.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Line([u64; 8]);

/// A list of words that is aligned and only grows.
#[derive(Debug)]
pub(crate) enum Words {
    Lines(Vec<Line>),
    /// Very many of them.
    Pages(pages::Pages),
}

impl Default for Words {
    fn default() -> Words {
        Words::Lines(Vec::new())
    }
}

impl Words {
    /// So many of them.
    pub fn with(words: usize) -> Words {
        let mut all = Words::default();
        all.ensure(words);
        all
    }

    /// All of them, with room for so many.
    #[inline]
    pub fn ensure(&mut self, words: usize) -> &mut [u64] {
        if self.len() < words {
            self.grow(words.max(2 * self.len()).next_multiple_of(8));
        }
        self
    }

    /// Room for so many words of 32 bits.
    pub fn ensure_short(&mut self, words: usize) -> &mut [u32] {
        let long = self.ensure(words.div_ceil(2));
        // SAFETY: a word is two of 32 bits, and all bits are one.
        unsafe { std::slice::from_raw_parts_mut(long.as_mut_ptr().cast(), words) }
    }

    #[cold]
    fn grow(&mut self, words: usize) {
        let before = self.len();
        let mut more = match pages::with_room(words) {
            Some(pages) => Words::Pages(pages),
            None => Words::Lines(vec![Line([0; 8]); words / 8]),
        };
        more[..before].copy_from_slice(self);
        *self = more;
    }
}

impl Deref for Words {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        match self {
            // SAFETY: a line is eight words and nothing else.
            Words::Lines(list) => unsafe { std::slice::from_raw_parts(list.as_ptr().cast(), list.len() * 8) },
            // SAFETY: pages are aligned, and all bits are words.
            Words::Pages(pages) => unsafe { std::slice::from_raw_parts(pages.as_ptr().cast(), pages.len() / 8) },
        }
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u64] {
        match self {
            // SAFETY: a line is eight words and nothing else.
            Words::Lines(list) => unsafe { std::slice::from_raw_parts_mut(list.as_mut_ptr().cast(), list.len() * 8) },
            // SAFETY: pages are aligned, and all bits are words.
            Words::Pages(pages) => unsafe {
                std::slice::from_raw_parts_mut(pages.as_mut_ptr().cast(), pages.len() / 8)
            },
        }
    }
}

/// Large pages: with small ones, finding so much memory takes about as long as reading what is there.
#[cfg(all(feature = "native", target_arch = "x86_64", target_os = "linux"))]
mod pages {
    use memmap2::{Advice, MmapMut};

    pub type Pages = MmapMut;

    /// Words from which on they are used.
    const MANY: usize = 1 << 19;

    /// Zeros, so many words at least, if these are many and the system has them.
    pub fn with_room(words: usize) -> Option<Pages> {
        let pages = if words < MANY { None } else { MmapMut::map_anon(8 * words).ok() }?;
        // If there are no large pages, the usual ones do.
        let _ = pages.advise(Advice::HugePage);
        Some(pages)
    }
}

/// There are none, or nothing is known of them.
#[cfg(not(all(feature = "native", target_arch = "x86_64", target_os = "linux")))]
mod pages {
    pub type Pages = Vec<u8>;

    pub fn with_room(_: usize) -> Option<Pages> {
        None
    }
}
