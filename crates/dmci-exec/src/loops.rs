//! Loops over a block of lanes.
//!
//! Each lane does the rounds that it needs. Forward, a lane that is done gives its place to the last
//! one, so that work follows the lanes that are still in the loop; where no state is needed later, it does so only
//! after some rounds, and waits for its neighbours until then. For the way back, the state is
//! kept at some rounds only (the *marks*), so many that their number grows like the square root of
//! the number of rounds; the rounds between two marks are done again, with their states in a buffer
//! that stays in cache. The lanes are then in the order of their rounds: those that take part in a
//! round are the first ones.

mod ahead;
mod history;
mod places;
mod remembered;
mod steady;
mod until_done;

use crate::block::{Frame, STAYED, STEP_COST};
use crate::native::{Compiled, NativeSpace};
use crate::plan::{self, LoopStep, LoopStepKind, Plan, RowRange, Slot};
use crate::words::Words;
use ahead::Ahead;
use dmci_limits::Ticks;
use dmci_ops::linalg::Scratch;
use dmci_ops::op::canonical;
use history::History;
pub(crate) use places::all_stayed;
pub(crate) use remembered::{Later, Remembered};
pub(crate) use steady::{Steady, ends, fold, simplified};

/// Memory of a loop, kept from block to block.
#[derive(Debug, Default)]
pub(crate) struct LoopSpace {
    rows: Words,
    native: NativeSpace,
    /// Memory of the loops inside.
    loops: Vec<LoopSpace>,
    failed: Vec<u32>,
    /// The lane at each place; whether that is the one of the same number.
    lanes: Vec<u32>,
    in_order: bool,
    /// Places of lanes that are done; where lanes with so many rounds go.
    gone: Vec<u32>,
    begins: Vec<u32>,
    /// On the way back, the rounds of each lane, and those of the lane at each place.
    rounds: Vec<u64>,
    rounds_at: Vec<usize>,
    history: History,
    ahead: Ahead,
}

/// Number of rows.
fn height(ranges: &[RowRange]) -> usize {
    ranges.iter().map(|r| r.1 as usize).sum()
}

/// The rows of ranges one after the other.
fn rows_of(ranges: &[RowRange]) -> impl Iterator<Item = usize> + '_ {
    plan::rows_of(ranges).map(|s| s as usize)
}

/// Takes the states of a loop from its history into some rows, with the bits that operations give.
fn take_states(step: &LoopStep, states: &[u64], to: &[Slot], (rows, width, n): (&mut [u64], usize, usize)) {
    let reals = step.steady.as_ref().map(|steady| &steady.reals);
    for ((r, &s), state) in to.iter().enumerate().zip(&step.remembered.history) {
        let (row, from) = (&mut rows[s as usize * width..][..n], &states[r * width..][..n]);
        take_row(row, from, reals.is_some_and(|reals| reals.contains(state)));
    }
}

/// The same for one row, of reals or not.
fn take_row(row: &mut [u64], from: &[u64], real: bool) {
    if real {
        row.iter_mut().zip(from).for_each(|(slot, &bits)| *slot = canonical(bits));
    } else {
        row.copy_from_slice(from);
    }
}

impl LoopSpace {
    /// Makes room.
    fn prepare(&mut self, step: &LoopStep, width: usize) {
        // One more for counts of rounds.
        self.rows.ensure((step.body.slots + 1) * width);
        self.failed.clear();
        self.failed.resize(width, STAYED);
    }

    /// What is the same in all rounds.
    fn prelude(&mut self, step: &LoopStep, width: usize, n: usize, scratch: &mut Scratch) {
        let LoopSpace { rows, loops, failed, .. } = self;
        let mut frame = Frame { rows, width, lanes: n, loops, scratch, code: None };
        for inner in &step.prelude {
            step.body.step(inner, &mut frame, &mut failed[..n]);
        }
    }

    /// One round.
    fn round(&mut self, step: &LoopStep, code: Option<&Compiled>, width: usize, n: usize, scratch: &mut Scratch) {
        let LoopSpace { rows, native, loops, failed, .. } = self;
        let mut frame = Frame { rows, width, lanes: n, loops, scratch, code: None };
        if let Some(code) = code {
            return step.body.run_body(code, &mut frame, failed, native);
        }
        for inner in &step.body.steps {
            step.body.step(inner, &mut frame, &mut failed[..n]);
        }
    }

    /// Takes rows from outside, for the first lanes in their order.
    fn load(&mut self, to: &[RowRange], outside: &[u64], from: &[RowRange], width: usize, n: usize) {
        for (d, s) in rows_of(to).zip(rows_of(from)) {
            self.load_row(d, &outside[s * width..(s + 1) * width], width, n);
        }
    }

    /// Takes a row of all lanes, for the first ones in their order.
    fn load_row(&mut self, d: usize, source: &[u64], width: usize, n: usize) {
        let row = &mut self.rows[d * width..][..n];
        if self.in_order {
            row.copy_from_slice(&source[..n]);
        } else {
            row.iter_mut().zip(&self.lanes).for_each(|(slot, &lane)| *slot = source[lane as usize]);
        }
    }

    /// The next state becomes the state.
    fn advance(&mut self, step: &LoopStep, width: usize, n: usize) {
        for (s, d) in rows_of(&step.next).zip(rows_of(step.state())) {
            self.rows.copy_within(s * width..s * width + n, d * width);
        }
    }

    /// Gives the states of the first so many lanes, if each is at its place, to all of them outside.
    fn give_all(&self, step: &LoopStep, n: usize, outside: &mut [u64], width: usize, (finished, rounds): (bool, u64)) {
        let first = step.d as usize;
        outside[first * width..][..n].fill(finished as u64);
        let mut at = first + 1;
        for s in rows_of(step.state()) {
            outside[at * width..][..n].copy_from_slice(&self.rows[s * width..][..n]);
            at += 1;
        }
        outside[at * width..][..n].fill(rounds);
    }

    /// Gives the state at a place to its lane outside.
    fn give(&self, step: &LoopStep, place: usize, outside: &mut [u64], width: usize, (finished, rounds): (bool, u64)) {
        let lane = self.lanes[place] as usize;
        let first = step.d as usize;
        outside[first * width + lane] = finished as u64;
        let mut at = first + 1;
        for s in rows_of(step.state()) {
            outside[at * width + lane] = self.rows[s * width + place];
            at += 1;
        }
        outside[at * width + lane] = rounds;
    }
}

impl Plan {
    /// Runs a loop for the lanes of a frame that have not left the path: others might never end.
    pub(crate) fn run_loop(&self, number: usize, frame: &mut Frame<'_>, failed: &[u32]) {
        // A loop that runs back relies on one that was not stopped.
        if dmci_limits::rings() {
            return;
        }
        if frame.loops.len() < self.loops.len() {
            frame.loops.resize_with(self.loops.len(), LoopSpace::default);
        }
        let step = &self.loops[number];
        let mut space = std::mem::take(&mut frame.loops[number]);
        match step.kind {
            LoopStepKind::Forward { limit, followed } => {
                forward(number, step, frame, &mut space, failed, (limit, followed))
            }
            LoopStepKind::Backward { of } => {
                let mut before = std::mem::take(&mut frame.loops[of as usize]);
                let code = (frame.code.map(|code| &code[number]), frame.code.map(|code| &code[of as usize]));
                Back { step, forward: &self.loops[of as usize], code, frame }.run(&mut space, &mut before, failed);
                frame.loops[of as usize] = before;
            }
        }
        frame.loops[number] = space;
    }
}

fn forward(
    number: usize,
    step: &LoopStep,
    frame: &mut Frame<'_>,
    space: &mut LoopSpace,
    failed: &[u32],
    (limit, followed): (u64, bool),
) {
    let width = frame.width;
    let code = frame.code.map(|code| &code[number]);
    let done = code.and_then(|code| space.run_whole_loop(step, code, frame, failed, (limit, followed)));
    let all = if done.is_some() { space.lanes.len() } else { space.take_lanes(failed) };
    if all == 0 {
        return;
    }
    space.prepare(step, width);
    let mut n = all;
    let (first, shared) = step.operands.split_at(step.next.len());
    // The states of lanes that are not done are with the results of others.
    let so_far = [(step.d + 1, height(step.state()) as u32)];
    space.load(step.state(), frame.rows, if done.is_some() { &so_far } else { first }, width, n);
    space.load(step.shared(), frame.rows, shared, width, n);
    space.prelude(step, width, n, frame.scratch);
    if done.is_none() {
        space.history.begin(step, width, all);
    }
    let mut round = done.unwrap_or(0);
    let (mut ticks, cost) = (Ticks::default(), STEP_COST * width * (1 + step.body.steps.len()));
    while n > 0 {
        if ticks.spend(cost) {
            return;
        }
        if let Some(code) = code {
            n = space.run_until_done(step, code, n, &mut round, limit, (frame.rows, width));
            if n == 0 {
                return;
            }
            round += space.run_ahead(step, code, (width, n), round as usize, limit, followed) as u64;
        }
        if followed {
            let LoopSpace { rows, lanes, in_order, history, .. } = &mut *space;
            history.note(round as usize, &step.remembered, (rows, width, n), (lanes, *in_order));
        }
        space.failed[..n].fill(STAYED);
        space.round(step, code, width, n, frame.scratch);
        let out = round == limit;
        let left = space.failed[..n].iter().map(|&mark| (mark != STAYED) as usize).sum::<usize>();
        if space.in_order && (left == n || out && left == 0) {
            return space.give_all(step, n, frame.rows, width, (left == n, round));
        }
        for place in (0..n).rev() {
            let left = space.failed[place] != STAYED;
            if !left && !out {
                continue;
            }
            space.give(step, place, frame.rows, width, (left, round));
            n -= 1;
            space.move_lane(n, place, rows_of(&step.next).chain(rows_of(&step.kept)), width);
        }
        if n > 0 && n < all {
            space.history.whole = false;
        }
        space.advance(step, width, n);
        round += 1;
    }
}

/// A loop that runs back.
struct Back<'a, 'f> {
    step: &'a LoopStep,
    forward: &'a LoopStep,
    /// Machine code of its rounds, and of those of the loop that it follows.
    code: (Option<&'a Compiled>, Option<&'a Compiled>),
    frame: &'a mut Frame<'f>,
}

impl Back<'_, '_> {
    fn run(&mut self, space: &mut LoopSpace, before: &mut LoopSpace, failed: &[u32]) {
        let (step, width) = (self.step, self.frame.width);
        let states = height(self.forward.state());
        space.prepare(step, width);
        let n = space.take_lanes(failed);
        space.put_in_order(&self.frame.rows[(self.forward.d as usize + 1 + states) * width..][..failed.len()]);
        before.lanes.clone_from(&space.lanes);
        before.in_order = space.in_order;
        let (first, shared) = step.operands.split_at(step.next.len());
        space.load(step.state(), self.frame.rows, first, width, n);
        space.load(step.shared(), self.frame.rows, shared, width, n);
        space.prelude(step, width, n, self.frame.scratch);
        let rounds_at = std::mem::take(&mut space.rounds_at);
        let most = rounds_at.first().copied().unwrap_or(0);
        // The states that were kept on the way are those of all lanes, in their order.
        let even = rounds_at.last() == rounds_at.first();
        let mut history = std::mem::take(&mut before.history);
        let even = even && history.lanes == n;
        let Remembered { marked, history: kept, .. } = &self.forward.remembered;
        let (marked, words) = (marked.len() * width, kept.len() * width);
        let marks = history.marks.len().checked_div(marked).unwrap_or(most.div_ceil(history.every.max(1)));
        let mut ready = false;
        let (mut ticks, cost) = (Ticks::default(), STEP_COST * width * (1 + step.body.steps.len()));
        'marks: for mark in (0..marks).rev() {
            let start = mark * history.every;
            let end = (start + history.every).min(most);
            if start >= end {
                continue;
            }
            let is_kept = even && history.whole && history.recent_from == start;
            if words > 0 && !is_kept {
                if !ready {
                    self.prepare_again(before);
                    ready = true;
                }
                let state = &history.marks[mark * marked..][..marked];
                self.again(before, state, start..end, &rounds_at, &mut history.recent);
                history.recent_from = usize::MAX;
            }
            let mut end = end;
            while end > start {
                if ticks.spend(cost) {
                    break 'marks;
                }
                end -= self.back_at_once(space, &rounds_at, start..end, &mut history.recent[..], words);
                if end > start {
                    let live = rounds_at.partition_point(|&r| r > end - 1);
                    let states = &history.recent[(end - 1 - start) * words..][..words];
                    self.back(space, states, live);
                    end -= 1;
                }
            }
        }
        if space.in_order && rounds_at.first() == rounds_at.last() {
            space.give_all(step, n, self.frame.rows, width, (true, most as u64));
        } else {
            for (place, &rounds) in rounds_at.iter().enumerate() {
                space.give(step, place, self.frame.rows, width, (true, rounds as u64));
            }
        }
        before.history = history;
        space.rounds_at = rounds_at;
    }

    /// Makes the forward loop ready to do rounds again, with the lanes in the order of the way back.
    fn prepare_again(&mut self, before: &mut LoopSpace) {
        let (width, n) = (self.frame.width, before.lanes.len());
        let shared = &self.forward.operands[self.forward.next.len()..];
        before.prepare(self.forward, width);
        before.load(self.forward.shared(), self.frame.rows, shared, width, n);
        before.prelude(self.forward, width, n, self.frame.scratch);
    }

    /// Does rounds from a mark on again and keeps their states.
    fn again(
        &mut self,
        before: &mut LoopSpace,
        mark: &[u64],
        rounds: std::ops::Range<usize>,
        rounds_at: &[usize],
        states: &mut Words,
    ) {
        let (width, forward) = (self.frame.width, self.forward);
        let live = |round: usize| rounds_at.partition_point(|&r| r > round);
        let n = live(rounds.start);
        for (r, &s) in forward.remembered.marked.iter().enumerate() {
            before.load_row(s as usize, &mark[r * width..], width, n);
        }
        if let Some(steady) = &forward.steady {
            steady.count(rounds.start, (&mut before.rows, width, n));
        }
        let history = &forward.remembered.history;
        let words = history.len() * width;
        // One more for what the last of them ends with.
        states.ensure((rounds.len() + 1) * words);
        let mut round = rounds.start;
        let (mut ticks, cost) = (Ticks::default(), STEP_COST * width * (1 + forward.body.steps.len()));
        while round < rounds.end {
            if ticks.spend(cost) {
                return;
            }
            round +=
                self.again_at_once(before, rounds_at, round..rounds.end, &mut states[(round - rounds.start) * words..]);
            let kept = &mut states[(round - rounds.start) * words..][..words];
            for (r, &s) in history.iter().enumerate() {
                kept[r * width..(r + 1) * width].copy_from_slice(&before.rows[s as usize * width..][..width]);
            }
            if round + 1 < rounds.end {
                let n = live(round + 1);
                // Code has run over places behind the lanes of later rounds, too.
                before.failed[..n].fill(STAYED);
                before.round(forward, self.code.1, width, n, self.frame.scratch);
                before.advance(forward, width, n);
            }
            round += 1;
        }
    }

    /// One round back.
    fn back(&mut self, space: &mut LoopSpace, states: &[u64], n: usize) {
        let (step, width) = (self.step, self.frame.width);
        take_states(self.forward, states, &step.remembered.history, (&mut space.rows, width, n));
        space.round(step, self.code.0, width, n, self.frame.scratch);
        space.advance(step, width, n);
    }
}
