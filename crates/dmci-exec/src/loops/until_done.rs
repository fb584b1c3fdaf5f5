//! Rounds in machine code in which lanes that have left wait for others.

use super::{LoopSpace, all_stayed, height, rows_of};
use crate::block::Frame;
use crate::native::Compiled;
use crate::plan::LoopStep;

/// Rounds until lanes that have left make room, at first: more if that costs more than the rounds that they wait.
const FIRST: usize = 16;
const FIRST_OF_LONG: usize = 4;

/// Instructions in a round, for each lane, from which on rounds are long.
const LONG: usize = 8;

/// How many rounds to do at first.
fn first_rounds(cost: usize) -> usize {
    if cost < LONG { FIRST } else { FIRST_OF_LONG }
}

impl LoopSpace {
    /// Does the first rounds, if there is code from the operands of a loop to its results; how many. Then the lanes
    /// here are those that are not done. If the loop is followed back, this pays only where the states on the way,
    /// which are not kept, could not be used: where lanes leave at different rounds, as they probably do if they did
    /// last time.
    pub(super) fn run_whole_loop(
        &mut self,
        step: &LoopStep,
        code: &Compiled,
        frame: &mut Frame<'_>,
        failed: &[u32],
        (limit, followed): (u64, bool),
    ) -> Option<u64> {
        let steady = step.steady.as_ref()?;
        let (width, n) = (frame.width, failed.len());
        if n == 0 || !all_stayed(failed) || followed && self.history.whole {
            return None;
        }
        // Places behind the lanes may belong to lanes of other rounds, so their operands stay as they are, whatever
        // that is: it costs no more than so many rounds.
        let padded = code.padded(n);
        let count = limit.min(steady.rounds).min(first_rounds(code.round_cost()) as u64);
        if !code.run_whole_loop(frame.rows, padded, &mut self.native, count as usize) {
            return None;
        }
        let first = step.d as usize + 1;
        let (states, counts) = frame.rows.split_at_mut((first + height(step.state())) * width);
        let counts = &counts[..n];
        for (i, state) in rows_of(step.state()).enumerate() {
            if let Some(counter) = steady.counters.iter().find(|c| c.state as usize == state) {
                let row = &mut states[(first + i) * width..][..n];
                row.iter_mut().zip(counts).for_each(|(slot, &rounds)| *slot = counter.at(rounds));
            }
        }
        self.lanes.clear();
        if counts.iter().fold(false, |any, &rounds| any | (rounds == count)) {
            self.lanes.extend((0..n as u32).filter(|&lane| counts[lane as usize] == count));
        }
        self.in_order = self.lanes.len() == n;
        if followed {
            let even = counts.iter().all(|&rounds| rounds == counts[0]);
            self.history.begin_before(step, (frame.rows, width, n), !even);
        }
        Some(count)
    }

    /// Does rounds, up to the limit, if there is code in which each lane stays as long as it needs; how many lanes are
    /// left. What the others end with has been given to them.
    pub(super) fn run_until_done(
        &mut self,
        step: &LoopStep,
        code: &Compiled,
        mut n: usize,
        round: &mut u64,
        limit: u64,
        (outside, width): (&mut [u64], usize),
    ) -> usize {
        let (Some(steady), Some(cost)) = (step.steady.as_ref(), code.runs_until_done()) else { return n };
        if *round == 0 && steady.settles {
            return n;
        }
        let mut length = first_rounds(cost);
        let counts = step.body.slots * width;
        loop {
            let most = limit.min(steady.rounds).saturating_sub(*round);
            let padded = code.padded(n);
            let count = usize::try_from(most).unwrap_or(usize::MAX).min(length).min(code.rounds_at_once(padded));
            if n == 0 || count == 0 || dmci_limits::rings() {
                return n;
            }
            self.pad(step, width, n, padded);
            self.rows[counts..][..padded].fill(0);
            code.run_until_done(&mut self.rows, padded, &mut self.failed, &mut self.native, count);
            let before = n;
            n = self.leave(step, n, (*round, count as u64), (outside, width));
            *round += count as u64;
            // Lanes that have left should not wait longer than others have been in the loop.
            if n == before {
                length = length.saturating_mul(2);
            } else if 2 * n < before {
                length = (length / 2).max(1);
            }
        }
    }

    /// Lanes that have not stayed in all of so many rounds from one on leave; how many are left.
    fn leave(
        &mut self,
        step: &LoopStep,
        mut n: usize,
        (first, count): (u64, u64),
        (outside, width): (&mut [u64], usize),
    ) -> usize {
        let (rows, counts) = self.rows.split_at_mut(step.body.slots * width);
        let counts = &mut counts[..n];
        counts.iter_mut().for_each(|rounds| *rounds += first);
        for counter in step.steady.iter().flat_map(|steady| &steady.counters) {
            let row = &mut rows[counter.state as usize * width..][..n];
            row.iter_mut().zip(&*counts).for_each(|(slot, &rounds)| *slot = counter.at(rounds));
        }
        if self.in_order && counts.iter().fold(true, |all, &rounds| all & (rounds < first + count)) {
            self.give_counted(step, n, outside, width);
            return 0;
        }
        // Which lanes these are, nobody can guess: so there is no jump that depends on it.
        let mut gone = std::mem::take(&mut self.gone);
        gone.resize(gone.len().max(n), 0);
        let mut found = 0;
        for (place, &rounds) in (0..).zip(&*counts) {
            gone[found] = place;
            found += (rounds < first + count) as usize;
        }
        for &place in gone[..found].iter().rev() {
            let place = place as usize;
            let rounds = self.rows[step.body.slots * width + place];
            self.give(step, place, outside, width, (true, rounds));
            n -= 1;
            self.move_lane(n, place, rows_of(step.state()).chain(rows_of(&step.kept)), width);
        }
        self.gone = gone;
        n
    }

    /// Gives the states of the first so many lanes, if each is at its place and has left, to all of them outside.
    fn give_counted(&self, step: &LoopStep, n: usize, outside: &mut [u64], width: usize) {
        let first = step.d as usize;
        outside[first * width..][..n].fill(1);
        let counts = std::iter::once(step.body.slots);
        for (at, s) in (first + 1..).zip(rows_of(step.state()).chain(counts)) {
            outside[at * width..][..n].copy_from_slice(&self.rows[s * width..][..n]);
        }
    }
}
