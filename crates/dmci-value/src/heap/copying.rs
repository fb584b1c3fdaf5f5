//! New objects made of parts of others, copied word by word inside of the heap.

use super::{Heap, Kind, header};
use crate::value::{Ref, Value};
use std::ops::Range;

impl Heap {
    /// A string of parts of strings, each given by its characters, one after the other. A word has two characters: what
    /// begins at an even place and goes to one is copied as words.
    pub fn string_of_parts(&mut self, parts: &[(Ref, Range<usize>)]) -> Value {
        let length: usize = parts.iter().map(|(_, part)| part.len()).sum();
        let r = self.next_ref();
        self.words.reserve(2 + length.div_ceil(2));
        self.words.extend([header(Kind::String, 1 + length.div_ceil(2) as u32), length as u64]);
        let mut written = 0;
        for (string, part) in parts {
            // The header and the length come first.
            let characters = string.index() + 2;
            let mut next = part.start;
            if written % 2 == 0 && part.start.is_multiple_of(2) {
                next = part.end / 2 * 2;
                self.words.extend_from_within(characters + part.start / 2..characters + next / 2);
            }
            written += next - part.start;
            for i in next..part.end {
                let c = self.words[characters + i / 2] >> (32 * (i % 2)) & 0xFFFF_FFFF;
                match self.words.last_mut() {
                    Some(word) if written % 2 == 1 => *word |= c << 32,
                    _ => self.words.push(c),
                }
                written += 1;
            }
        }
        self.note_growth();
        Value::object(r)
    }

    /// A vector of parts of vectors, one after the other.
    pub fn vector_of_parts(&mut self, parts: &[(Ref, Range<usize>)]) -> Value {
        let length: usize = parts.iter().map(|(_, part)| part.len()).sum();
        let r = self.next_ref();
        self.words.reserve(1 + length);
        self.words.push(header(Kind::Vector, length as u32));
        for (vector, part) in parts {
            let items = vector.index() + 1;
            self.words.extend_from_within(items + part.start..items + part.end);
        }
        self.note_growth();
        Value::object(r)
    }
}
