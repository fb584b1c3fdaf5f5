//! Lists with a few numbers for each lane: whole vectors of them, whose numbers change places in registers.
//!
//! With vectors of 512 bits, two vectors become any third by one instruction, whose pattern is in memory. That is less
//! work than to move pairs of numbers one by one, and results are stored by whole vectors.

use super::ir::{Action, Builder, NONE, Value};

/// Numbers of a vector.
const LANES: usize = 8;

/// Which numbers of two vectors make a third: those of the first, and from `LANES` on those of the second.
pub(super) type Pattern = [u8; LANES];

/// Numbers of a lane up to which this is less work than pairs.
pub(super) const MOST_COLUMNS: u32 = 4;

/// Two vectors as one of pairs: the lower halves of them, and the upper ones.
const PAIRED: [Pattern; 2] = [[0, 8, 1, 9, 2, 10, 3, 11], [4, 12, 5, 13, 6, 14, 7, 15]];

/// The same for pairs of numbers.
const PAIRS_PAIRED: [Pattern; 2] = [[0, 1, 8, 9, 2, 3, 10, 11], [4, 5, 12, 13, 6, 7, 14, 15]];

/// Lower halves of two vectors, and upper ones.
const HALVES: [Pattern; 2] = [[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]];

impl Builder {
    fn merged(&mut self, a: Value, b: Value, pattern: Pattern) -> Value {
        let known = self.patterns.iter().position(|p| *p == pattern);
        let at = known.unwrap_or_else(|| {
            self.patterns.push(pattern);
            self.patterns.len() - 1
        });
        self.push(Action::Merge { pattern: at as u32 }, &[a, b])
    }

    /// The numbers of a list for the lanes of a vector, one vector for each number of a lane. Those that nothing needs
    /// are left out later.
    pub(super) fn load_columns(&mut self, list: u8, columns: usize, lane: u8) -> Vec<Value> {
        let part = |this: &mut Builder, part: usize| this.push(Action::LoadPart { list, part: part as u8, lane }, &[]);
        let parts: Vec<Value> = (0..columns).map(|k| part(self, k)).collect();
        if columns == 4 {
            // Four lanes of two columns first.
            let pairs = [0, 2].map(|first| {
                let pattern = std::array::from_fn(|i| (4 * (i % 4) + first + i / 4) as u8);
                [self.merged(parts[0], parts[1], pattern), self.merged(parts[2], parts[3], pattern)]
            });
            return (0..4).map(|c| self.merged(pairs[c / 2][0], pairs[c / 2][1], HALVES[c % 2])).collect();
        }
        let place = |column: usize, lane: usize| (columns * lane + column) / LANES;
        let number = |column: usize, lane: usize| (columns * lane + column) % LANES;
        (0..columns).map(|c| self.one_of_each(&parts, |lane| (place(c, lane), number(c, lane)))).collect()
    }

    /// Stores such vectors.
    pub(super) fn store_columns(&mut self, list: u8, values: &[Value], lane: u8) {
        let columns = values.len();
        let parts: Vec<Value> = if columns == 4 {
            let pairs = PAIRED.map(|half| [0, 2].map(|c| self.merged(values[c], values[c + 1], half)));
            (0..4).map(|k| self.merged(pairs[k / 2][0], pairs[k / 2][1], PAIRS_PAIRED[k % 2])).collect()
        } else {
            let from = |part: usize, i: usize| ((LANES * part + i) % columns, (LANES * part + i) / columns);
            (0..columns).map(|part| self.one_of_each(values, |i| from(part, i))).collect()
        };
        for (part, value) in (0..).zip(parts) {
            self.effect(Action::StorePart { list, part, lane }, &[value], NONE);
        }
    }

    /// A vector of numbers of several vectors: for each, from which of them and which one.
    fn one_of_each(&mut self, vectors: &[Value], from: impl Fn(usize) -> (usize, usize)) -> Value {
        let mut all = vectors[0];
        for (k, &next) in vectors.iter().enumerate().skip(1) {
            let pattern = std::array::from_fn(|i| match from(i) {
                (vector, number) if vector == k => (LANES + number) as u8,
                (0, number) if k == 1 => number as u8,
                _ => i as u8,
            });
            all = self.merged(all, next, pattern);
        }
        all
    }
}
