//! Lists with a few numbers for each lane: whole vectors of them, whose numbers change places in registers.
//!
//! With vectors of 512 bits, two vectors become any third by one instruction, whose pattern is a vector too. That is less
//! work than to move pairs of numbers one by one, and results are stored by whole vectors.

use super::ir::{Action, Builder, NONE, Value};
use super::vex::{Isa, Numbers};

/// Which numbers of two vectors make a third: those of the first, and behind these those of the second.
pub(super) type Pattern = [u8; 16];

/// Numbers of a lane up to which this is less work than pairs.
const MOST_COLUMNS: usize = 4;

/// The same for numbers of single precision, which are not moved as pairs.
const MOST_SINGLE_COLUMNS: usize = 8;

/// How many numbers of a lane a list may have, so that code reads and writes it.
pub(super) fn most_columns(isa: Isa, numbers: Numbers) -> usize {
    match (numbers, isa) {
        (Numbers::Double, _) => usize::MAX,
        (_, Isa::Avx512) => MOST_SINGLE_COLUMNS,
        (_, Isa::Avx2) => 1,
    }
}

/// A pattern of runs of so many numbers: one of the first vector, one of the second, and so on, from one on.
fn in_turns(lanes: usize, run: usize, from: usize) -> Pattern {
    std::array::from_fn(|i| (i / run % 2 * lanes + from + i / (2 * run) * run + i % run) as u8)
}

impl Builder {
    /// Whether lists with so many numbers for each lane are read and written by whole vectors.
    pub(super) fn has_columns(&self, stride: u32) -> bool {
        self.isa == Isa::Avx512 && (self.lists == Numbers::Single || stride as usize <= MOST_COLUMNS)
    }

    fn merged(&mut self, a: Value, b: Value, pattern: Pattern) -> Value {
        let pattern = self.pattern(pattern);
        self.push(Action::Merge, &[a, b, pattern])
    }

    /// The numbers of a list for the lanes of a vector, one vector for each number of a lane. Those that nothing needs
    /// are left out later.
    pub(super) fn load_columns(&mut self, list: u8, columns: usize, lane: u8) -> Vec<Value> {
        let part = |this: &mut Builder, part: usize| this.push(Action::LoadPart { list, part: part as u8, lane }, &[]);
        let parts: Vec<Value> = (0..columns).map(|k| part(self, k)).collect();
        let lanes = self.lists.lanes(self.isa);
        if columns == 4 {
            // Two columns for half of the lanes first.
            let half = lanes / 2;
            let pairs = [0, 2].map(|first| {
                let pattern = std::array::from_fn(|i| (4 * (i % half) + first + i / half % 2) as u8);
                [self.merged(parts[0], parts[1], pattern), self.merged(parts[2], parts[3], pattern)]
            });
            let halves = [in_turns(lanes, half, 0), in_turns(lanes, half, half)];
            return (0..4).map(|c| self.merged(pairs[c / 2][0], pairs[c / 2][1], halves[c % 2])).collect();
        }
        let place = |column: usize, lane: usize| (columns * lane + column) / lanes;
        let number = |column: usize, lane: usize| (columns * lane + column) % lanes;
        (0..columns).map(|c| self.one_of_each(&parts, |lane| (place(c, lane), number(c, lane)))).collect()
    }

    /// Stores such vectors.
    pub(super) fn store_columns(&mut self, list: u8, values: &[Value], lane: u8) {
        let columns = values.len();
        let lanes = self.lists.lanes(self.isa);
        let parts: Vec<Value> = if columns == 4 {
            let by_run = |run: usize| [0, lanes / 2].map(|from| in_turns(lanes, run, from));
            let pairs = by_run(1).map(|half| [0, 2].map(|c| self.merged(values[c], values[c + 1], half)));
            (0..4).map(|k| self.merged(pairs[k / 2][0], pairs[k / 2][1], by_run(2)[k % 2])).collect()
        } else {
            let from = |part: usize, i: usize| ((lanes * part + i) % columns, (lanes * part + i) / columns);
            (0..columns).map(|part| self.one_of_each(values, |i| from(part, i))).collect()
        };
        for (part, value) in (0..).zip(parts) {
            self.effect(Action::StorePart { list, part, lane }, &[value], NONE);
        }
    }

    /// A vector of numbers of several vectors: for each, from which of them and which one.
    fn one_of_each(&mut self, vectors: &[Value], from: impl Fn(usize) -> (usize, usize)) -> Value {
        let lanes = self.lists.lanes(self.isa);
        let mut all = vectors[0];
        for (k, &next) in vectors.iter().enumerate().skip(1) {
            let pattern = std::array::from_fn(|i| match from(i) {
                (vector, number) if vector == k => (lanes + number) as u8,
                (0, number) if k == 1 => number as u8,
                _ => i as u8,
            });
            all = self.merged(all, next, pattern);
        }
        all
    }
}
