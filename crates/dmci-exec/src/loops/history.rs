//! The states of a loop that the way back needs.

use super::{Remembered, rows_of};
use crate::plan::LoopStep;
use crate::words::Words;

/// Words of the states of successive rounds that are kept at once: they should stay in the second cache.
pub(super) const BUFFER_WORDS: usize = 1 << 15;

/// The same for rounds that do so many operations, or more, for each row of their state: to do them again takes longer
/// than to have their states in the third cache.
const MORE_BUFFER_WORDS: usize = 1 << 19;
const MUCH_WORK: usize = 10;

/// Rounds between marks, at first and at most.
const MOST_BETWEEN: usize = 4096;

/// Marks are thinned out if there are more of them than this, and than so many for each round between two.
const FEW_MARKS: usize = 64;
const MARKS_PER_ROUND: usize = 8;

/// The states of a loop at the start of its rounds.
#[derive(Debug)]
pub(super) struct History {
    /// Rounds between marks.
    pub every: usize,
    /// States at the marks, each a row of all lanes for each row of the state.
    pub marks: Vec<u64>,
    /// The round of the last mark.
    marked: Option<usize>,
    /// States of the rounds from `recent_from` on, as long as no lane has left: so many words, and room behind them.
    pub recent: Words,
    recent_words: usize,
    pub recent_from: usize,
    pub whole: bool,
    /// How many lanes there are.
    pub lanes: usize,
    /// Words that are kept at once.
    buffer_words: usize,
}

impl Default for History {
    fn default() -> History {
        History {
            every: 0,
            marks: Vec::new(),
            marked: None,
            recent: Words::default(),
            recent_words: 0,
            recent_from: 0,
            whole: true,
            lanes: 0,
            buffer_words: 0,
        }
    }
}

/// Rounds between marks of a loop of so many rounds, about so many at most: the last stretch, whose states are kept as
/// they come, should not be a short one.
fn stretch(total: usize, most: usize) -> usize {
    let stretches = total.div_ceil(most + most / 4).max(1);
    total / stretches + 1
}

impl History {
    /// Begins a loop with so many lanes in rows of so many words.
    pub fn begin(&mut self, step: &LoopStep, width: usize, lanes: usize) {
        let rows = step.remembered.history.len();
        let much_work = step.body.work() >= MUCH_WORK * rows;
        self.buffer_words = if much_work { MORE_BUFFER_WORDS } else { BUFFER_WORDS };
        self.lanes = lanes;
        let most = (self.buffer_words / (rows * width).max(1)).clamp(16, MOST_BETWEEN);
        self.every = step.rounds_known().map_or(most, |total| stretch(total as usize, most));
        self.marks.clear();
        self.marked = None;
        self.recent_words = 0;
        self.recent_from = 0;
        self.whole = true;
    }

    /// Begins with the first state of all lanes in their order; the states of the first rounds are not kept. Whether
    /// lanes have parted.
    pub fn begin_before(&mut self, step: &LoopStep, (rows, width, n): (&[u64], usize, usize), parted: bool) {
        self.begin(step, width, n);
        let mut marked = step.remembered.marked.iter().peekable();
        let first = rows_of(&step.operands[..step.next.len()]).zip(rows_of(step.state()));
        for (s, _) in first.filter(|&(_, state)| marked.next_if(|&&row| row as usize == state).is_some()) {
            self.marks.extend_from_slice(&rows[s * width..(s + 1) * width]);
        }
        self.marked = Some(0);
        self.whole = !parted;
        self.skip();
    }

    /// Rounds until the next one with a mark.
    pub fn until_mark(&self, round: usize) -> usize {
        self.every - round % self.every
    }

    /// Keeps the state of a round if a mark is due, in its own place for each lane.
    pub fn mark(
        &mut self,
        round: usize,
        remembered: &Remembered,
        (rows, width, n): (&[u64], usize, usize),
        (lanes, in_order): (&[u32], bool),
    ) {
        if !round.is_multiple_of(self.every) || self.marked == Some(round) {
            return;
        }
        let words = remembered.marked.len() * width;
        let count = self.marks.len() / words.max(1);
        if count > (MARKS_PER_ROUND * self.every).max(FEW_MARKS) {
            for m in 1..count.div_ceil(2) {
                self.marks.copy_within(2 * m * words..(2 * m + 1) * words, m * words);
            }
            self.marks.truncate(count.div_ceil(2) * words);
            self.every *= 2;
        }
        if round.is_multiple_of(self.every) {
            for &s in &remembered.marked {
                let row = &rows[s as usize * width..][..width];
                if in_order {
                    self.marks.extend_from_slice(row);
                    continue;
                }
                let at = self.marks.len();
                self.marks.resize(at + width, 0);
                let place = &mut self.marks[at..];
                lanes[..n].iter().zip(row).for_each(|(&lane, &bits)| place[lane as usize] = bits);
            }
            self.marked = Some(round);
            self.recent_words = 0;
            self.recent_from = round;
        }
    }

    /// Rounds are done whose states are not kept.
    pub fn skip(&mut self) {
        self.recent_words = 0;
        self.recent_from = usize::MAX;
    }

    /// Room for the states of so many more rounds, if these are still wanted.
    pub fn room(&mut self, rounds: usize, words: usize) -> Option<&mut [u64]> {
        if self.whole && self.recent_words + words > 2 * self.buffer_words.max(16 * words) {
            self.skip();
        }
        if !self.whole || self.recent_from == usize::MAX {
            return None;
        }
        let end = self.recent_words + rounds * words;
        // One more for what the last of them ends with.
        self.recent.ensure(end + words);
        Some(&mut self.recent[self.recent_words..end])
    }

    /// So many words of the room were used.
    pub fn used(&mut self, words: usize) {
        self.recent_words += words;
    }

    /// Keeps the state of a round if it is to be kept.
    pub fn note(&mut self, round: usize, of: &Remembered, space: (&[u64], usize, usize), lanes: (&[u32], bool)) {
        self.mark(round, of, space, lanes);
        let (rows, width, _) = space;
        let words = of.history.len() * width;
        if let Some(room) = self.room(1, words) {
            for (r, &s) in of.history.iter().enumerate() {
                room[r * width..(r + 1) * width].copy_from_slice(&rows[s as usize * width..][..width]);
            }
            self.used(words);
        }
    }
}
