//! Many rounds at once, in machine code, as long as all lanes take part in them.

use super::history::BUFFER_WORDS;
use super::{Back, LoopSpace, Steady, rows_of, take_row, take_states};
use crate::block::STAYED;
use crate::native::Compiled;
use crate::plan::{LoopStep, RowRange};
use crate::words::Words;
use std::ops::Range;

/// Rounds that are tried at once, at first and at most.
const FIRST: usize = 4;
const MOST: usize = 1024;

/// Rounds to wait, at most, if lanes leave again and again.
const MOST_WAIT: usize = 64;

/// How far a loop looks ahead.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// States of rounds that nobody needs later.
    states: Words,
    /// What lanes that do not take part have in some rows.
    aside: Vec<u64>,
    /// Rounds until the next try, and how many it was last time.
    wait: usize,
    waited: usize,
}

impl Steady {
    /// Sets the counters to what they are at the start of a round.
    pub(super) fn count(&self, round: usize, (rows, width, n): (&mut [u64], usize, usize)) {
        for counter in &self.counters {
            rows[counter.state as usize * width..][..n].fill(counter.at(round as u64));
        }
    }
}

impl LoopSpace {
    /// Lanes that nobody asked for do what the last one does: they must not leave a loop before it.
    pub(super) fn pad(&mut self, step: &LoopStep, width: usize, n: usize, padded: usize) {
        for s in rows_of(step.state()).chain(rows_of(&step.kept)) {
            let row = &mut self.rows[s * width..][..padded];
            let last = row[n - 1];
            row[n..].fill(last);
        }
    }

    /// Copies what the places behind the lanes have in some rows, up to a whole group.
    fn put_aside(&self, ranges: &[RowRange], (width, n, padded): (usize, usize, usize), into: &mut Vec<u64>) {
        into.clear();
        rows_of(ranges).for_each(|s| into.extend_from_slice(&self.rows[s * width + n..s * width + padded]));
    }

    /// The opposite.
    fn put_back(&mut self, ranges: &[RowRange], (width, n, padded): (usize, usize, usize), from: &[u64]) {
        for (s, part) in rows_of(ranges).zip(from.chunks((padded - n).max(1))) {
            self.rows[s * width + n..s * width + padded].copy_from_slice(part);
        }
    }

    /// Does rounds as long as all lanes stay in the loop, up to the limit; how many. All states are then those at the
    /// start of the next round.
    pub(super) fn run_ahead(
        &mut self,
        step: &LoopStep,
        code: &Compiled,
        (width, n): (usize, usize),
        first: usize,
        limit: u64,
        followed: bool,
    ) -> usize {
        let Some(steady) = step.steady.as_ref().filter(|_| code.has_rounds()) else { return 0 };
        if first == 0 {
            (self.ahead.wait, self.ahead.waited) = (0, 0);
            if steady.settles {
                return 0;
            }
        }
        if self.ahead.wait > 0 {
            self.ahead.wait -= 1;
            return 0;
        }
        let most = usize::try_from(limit.min(steady.rounds)).unwrap_or(usize::MAX).saturating_sub(first);
        let (words, padded) = (step.remembered.history.len() * width, code.padded(n));
        self.pad(step, width, n, padded);
        self.failed[..padded].fill(STAYED);
        // Where nothing can be left early, nothing is tried.
        let (mut done, mut length) = (0, if steady.guarded { FIRST } else { MOST });
        let at_once = code.rounds_at_once(padded);
        while done < most {
            if dmci_limits::rings() {
                break;
            }
            let LoopSpace { rows, native, failed, lanes, in_order, history, ahead, .. } = self;
            if followed {
                history.mark(first + done, &step.remembered, (rows, width, n), (lanes, *in_order));
            }
            // Rounds that are done again on the way back, and those that there is no way back for.
            let whole = if followed { history.until_mark(first + done) } else { MOST.min(most - done) };
            let alone = !followed || whole < most - done;
            if alone && code.run_alone(rows, padded, failed, native, whole.min(at_once)) {
                history.skip();
                let mut did = whole.min(at_once);
                steady.count(first + done + did, (rows, width, padded));
                while did < whole && !dmci_limits::rings() {
                    let count = at_once.min(whole - did);
                    code.run_alone(rows, padded, failed, native, count);
                    did += count;
                    steady.count(first + done + did, (rows, width, padded));
                }
                done += whole;
                continue;
            }
            let mut count = length.min(at_once).min(most - done).min(BUFFER_WORDS / words.max(1)).max(1);
            let mut kept = None;
            if followed {
                count = count.min(whole);
                kept = history.room(count, words);
            }
            let keeps = kept.is_some();
            let states = kept.unwrap_or_else(|| {
                ahead.states.ensure(count * words);
                &mut ahead.states[..count * words]
            });
            let left = code.run_rounds(rows, padded, failed, native, (states, words), count);
            let did = count - left;
            if left > 0 {
                take_states(step, &states[did * words..], &step.remembered.history, (rows, width, n));
                failed[..padded].fill(STAYED);
            }
            steady.count(first + done + did, (rows, width, padded));
            if keeps {
                history.used(did * words);
            }
            done += did;
            if left > 0 {
                ahead.waited = if done == 0 { (2 * ahead.waited).clamp(1, MOST_WAIT) } else { 0 };
                ahead.wait = ahead.waited;
                break;
            }
            length = (2 * length).min(MOST);
        }
        done
    }
}

impl Back<'_, '_> {
    /// Does rounds again, and keeps their states, as long as the same lanes take part; how many.
    pub(super) fn again_at_once(
        &mut self,
        before: &mut LoopSpace,
        rounds_at: &[usize],
        rounds: Range<usize>,
        states: &mut [u64],
    ) -> usize {
        let (step, width) = (self.forward, self.frame.width);
        let Some(code) = self.code.1.filter(|code| code.has_rounds()) else { return 0 };
        let Some(steady) = step.steady.as_ref().filter(|s| !s.settles || rounds.start > 0) else { return 0 };
        let n = rounds_at.partition_point(|&r| r > rounds.start);
        // The state of the last round is wanted, but not what becomes of it.
        let end = (rounds.end - 1).min(rounds_at.get(n.wrapping_sub(1)).map_or(0, |&r| r - 1));
        let Some(count) = end.checked_sub(rounds.start).filter(|&count| n > 0 && count > 1) else { return 0 };
        let count = count.min(code.rounds_at_once(code.padded(n)));
        let (words, padded) = (step.remembered.history.len() * width, code.padded(n));
        // Lanes that take part in earlier rounds need what stays from round to round.
        let mut aside = std::mem::take(&mut before.ahead.aside);
        before.put_aside(&step.kept, (width, n, padded), &mut aside);
        before.pad(step, width, n, padded);
        let LoopSpace { rows, native, failed, .. } = before;
        failed[..padded].fill(STAYED);
        let left = code.run_rounds(rows, padded, failed, native, (states, words), count);
        if left > 0 {
            take_states(step, &states[(count - left) * words..], &step.remembered.history, (rows, width, n));
            failed[..padded].fill(STAYED);
        }
        steady.count(rounds.start + count - left, (rows, width, padded));
        before.put_back(&step.kept, (width, n, padded), &aside);
        before.ahead.aside = aside;
        count - left
    }

    /// Does the last of some rounds back as long as the same lanes take part; how many.
    pub(super) fn back_at_once(
        &mut self,
        space: &mut LoopSpace,
        rounds_at: &[usize],
        rounds: Range<usize>,
        states: &mut [u64],
        words: usize,
    ) -> usize {
        let (step, width) = (self.step, self.frame.width);
        let Some(code) = self.code.0.filter(|code| code.has_rounds()) else { return 0 };
        let n = rounds_at.partition_point(|&r| r > rounds.end - 1);
        // The first round of a lane may be different.
        let begins = rounds_at.get(n.wrapping_sub(1)) == Some(&rounds.end);
        if begins && step.steady.as_ref().is_some_and(|s| s.settles) {
            return 0;
        }
        let from = rounds.start.max(rounds_at.get(n).copied().unwrap_or(0));
        let from = from.max(rounds.end.saturating_sub(code.rounds_at_once(code.padded(n))));
        let Some(count) = rounds.end.checked_sub(from).filter(|&count| n > 0 && count > 1) else { return 0 };
        let padded = code.padded(n);
        // Lanes that join later must find their states as they are now.
        let mut aside = std::mem::take(&mut space.ahead.aside);
        space.put_aside(step.state(), (width, n, padded), &mut aside);
        let LoopSpace { rows, native, failed, .. } = space;
        let states = &mut states[(from - rounds.start) * words..][..(count + 1) * words];
        for later in &step.remembered.later {
            let last = &mut states[count * words + later.at * width..][..n];
            last.copy_from_slice(&rows[later.state as usize * width..][..n]);
        }
        let left = code.run_rounds(rows, padded, failed, native, (states, words), count);
        for later in &step.remembered.later {
            let row = &mut rows[later.state as usize * width..][..n];
            take_row(row, &states[later.at * width..][..n], later.real);
        }
        space.put_back(step.state(), (width, n, padded), &aside);
        space.ahead.aside = aside;
        count - left
    }
}
