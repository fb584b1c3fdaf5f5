//! Collection: everything that is reachable moves into a fresh space.

use super::{Heap, MIN_NURSERY, RAW_FROM, ROOM, payload_words};
use crate::value::{Ref, Value};

/// Header of an object that has moved: the high half is its new place.
const FORWARDED: u64 = 0xFF;

impl Heap {
    /// Moves everything reachable from the roots into a fresh space; returns the words in use, or nothing if there is no
    /// memory for that space. `roots` is called with a function to apply to each root slot.
    pub fn collect(&mut self, roots: impl FnOnce(&mut dyn FnMut(&mut Value))) -> Option<usize> {
        debug_assert!(self.store_log.is_none());
        let mut to = std::mem::take(&mut self.spare);
        to.clear();
        // All may be live. Pages that are not written to take no memory.
        if to.try_reserve_exact(self.words.len()).is_err() {
            return None;
        }
        to.extend_from_slice(&self.words[..self.image_end]);
        let mut from = std::mem::take(&mut self.words);
        let image_end = self.image_end;
        roots(&mut |slot| *slot = forward(&mut from, &mut to, image_end, *slot));
        // The image is a root too; then Cheney's scan over what was copied.
        let mut at = 1;
        while at < to.len() {
            let head = to[at];
            let n = payload_words(head);
            if (head as u8) < RAW_FROM {
                for i in at + 1..=at + n {
                    let old = Value(to[i]);
                    to[i] = forward(&mut from, &mut to, image_end, old).0;
                }
            }
            at += n + 1;
        }
        let live = to.len() - image_end;
        self.live = live;
        self.words = to;
        self.collect_at = (self.words.len() + live.max(MIN_NURSERY)).min(image_end + self.max_words.max(live + 1));
        // Fresh memory would have to be mapped page by page again. What the next collection cannot need is given back.
        if from.capacity() <= 4 * (live + MIN_NURSERY) {
            from.clear();
            from.shrink_to(self.collect_at + ROOM);
            self.spare = from;
        }
        self.make_room();
        Some(live)
    }
}

fn forward(from: &mut [u64], to: &mut Vec<u64>, image_end: usize, v: Value) -> Value {
    let Some(r) = v.as_ref() else { return v };
    if r.index() < image_end {
        return v;
    }
    let head = from[r.index()];
    if head as u8 as u64 == FORWARDED {
        return v.moved_to(Ref((head >> 32) as u32));
    }
    let new = to.len();
    to.extend_from_slice(&from[r.index()..=r.index() + payload_words(head)]);
    from[r.index()] = FORWARDED | (new as u64) << 32;
    v.moved_to(Ref(new as u32))
}
