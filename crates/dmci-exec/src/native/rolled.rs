//! Straight lines as rounds: re-rolling.
//!
//! A stretch of equal rounds becomes a loop. What a round hands on to the next ones is its state; what others need of all
//! rounds is put into memory round by round, one row for each of them, and read there in the same order or from the last
//! one to the first. So a straight line of any length needs as much code as one round of each of its stretches. Bits stay
//! what they are: the operations are the same, in an order in which each comes behind its operands.

use super::fused_loops::{FusedLoops, FusedPart, FusedRounds, Past};
use super::repeats::{FEWEST_ROUNDS, Operations, Ref, Stretch, outside, stretches};
use crate::plan::{Plan, Slot, Step};
use dmci_ops::{Op, Type};
use rustc_hash::{FxHashMap, FxHashSet};

/// Steps from which on a line is looked at, and those of them that are functions count for more. Below, the code stays in
/// the cache.
pub(super) const LONG_LINE: usize = 3000;
const FUNCTION: usize = 24;

/// The share of a line that may be left.
const WORTH: usize = 2;

/// Rounds before and behind a stretch that may be in memory beside those of the stretch.
const MARGIN: usize = 4;

/// Rows of memory, at most.
const MOST_ROWS: usize = 1 << 15;

/// Where an operand in a round comes from.
#[derive(Clone, Debug)]
enum Source {
    /// From a place of the round, or of one so many rounds before.
    Round(usize, usize),
    /// The same value in all rounds.
    Shared(Ref),
    /// Values of another stretch in turn, from this row on.
    Row(Row),
    /// Values that are copied into rows of their own first.
    Copied(Vec<Ref>),
}

/// A value of a place in all rounds of a stretch: the one of the first round that reads it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    stretch: usize,
    place: usize,
    round: isize,
    forward: bool,
}

/// A stretch that becomes rounds.
struct Block {
    stretch: Stretch,
    /// By place, and by operand.
    sources: Vec<Vec<Source>>,
    /// Whether rows are filled in the order of the rounds, or in the opposite one.
    ascends: bool,
    /// By place: where rows begin, if all rounds are needed, and whether the last one is.
    rows: Vec<Option<usize>>,
    is_last_needed: Vec<bool>,
}

impl Block {
    /// Where in memory the value of a round is, from the row of its place on.
    fn position(&self, round: isize) -> usize {
        let in_order = if self.ascends { round } else { self.stretch.rounds as isize - 1 - round };
        (in_order + MARGIN as isize) as usize
    }

    fn step(&self) -> i32 {
        if self.ascends { 1 } else { -1 }
    }
}

/// The value of an operation in a stretch.
#[derive(Clone, Copy, Debug)]
struct Element {
    block: usize,
    place: usize,
    round: usize,
}

struct Rolling {
    operations: Operations,
    blocks: Vec<Block>,
    /// By operation: the block that it is in.
    block_of: Vec<u32>,
    /// Operations beside a stretch that go to its rows: block, place, round.
    beside: FxHashMap<usize, Vec<(usize, usize, isize)>>,
    /// By value of a copied operand: block, place, operand, and where its rows begin.
    copies: FxHashMap<(usize, usize, usize), usize>,
    used_rows: usize,
}

const NO_BLOCK: u32 = u32::MAX;

/// A long straight line as rounds; nothing if there are no loops in it.
pub(super) fn rolled(plan: &Plan) -> Option<FusedLoops> {
    let weight = |step: &Step| match step {
        Step::Op { op, .. } if op.has_kernel() => FUNCTION,
        _ => 1,
    };
    if plan.steps.iter().map(weight).sum::<usize>() < LONG_LINE {
        return None;
    }
    let operations = Operations::of(plan)?;
    let found = stretches(&operations);
    let mut rolling = Rolling {
        block_of: vec![NO_BLOCK; operations.all.len()],
        operations,
        blocks: Vec::new(),
        beside: FxHashMap::default(),
        copies: FxHashMap::default(),
        used_rows: 0,
    };
    found.into_iter().for_each(|stretch| rolling.add(stretch));
    let count = |ops: &mut dyn Iterator<Item = Op>| ops.map(|op| if op.has_kernel() { FUNCTION } else { 1 }).sum();
    let all: usize = count(&mut rolling.operations.all.iter().map(|o| o.op));
    let in_line = (0..rolling.operations.all.len()).filter(|&k| rolling.block_of[k] == NO_BLOCK);
    let left: usize = count(&mut in_line.map(|k| rolling.operations.all[k].op));
    if rolling.blocks.is_empty() || WORTH * left > all {
        return None;
    }
    rolling.find_needs();
    (rolling.used_rows <= MOST_ROWS).then(|| Writer::new(&rolling).write())
}

impl Rolling {
    fn element(&self, value: Ref) -> Option<Element> {
        let k = usize::try_from(value).ok()?;
        let block = Some(self.block_of[k]).filter(|b| *b != NO_BLOCK)? as usize;
        let Stretch { start, period, .. } = self.blocks[block].stretch;
        Some(Element { block, place: (k - start) % period, round: (k - start) / period })
    }

    /// Makes a stretch a block, or a part of it; all before it are known.
    fn add(&mut self, mut stretch: Stretch) {
        let Some((from, to)) = self.common_rounds(stretch) else { return };
        stretch.start += from * stretch.period;
        stretch.rounds = to - from;
        let mut ascends = None;
        let mut sources: Vec<Vec<Source>> = Vec::with_capacity(stretch.period);
        let mut copied = 0;
        for place in 0..stretch.period {
            let count = self.operations.all[stretch.start + place].args().len();
            let of_place = (0..count).map(|operand| {
                if let Some((ago, from)) = stretch.carried(&self.operations, place, operand) {
                    return Source::Round(ago, from);
                }
                let values: Vec<Ref> = self.values(stretch, place, operand).collect();
                if values.iter().all(|v| *v == values[0]) {
                    return Source::Shared(values[0]);
                }
                if let Some((row, 0, to)) = self.row(&values)
                    && to == values.len()
                {
                    let goes_up = row.forward == self.blocks[row.stretch].ascends;
                    if *ascends.get_or_insert(goes_up) == goes_up {
                        return Source::Row(row);
                    }
                }
                copied += 1;
                Source::Copied(values)
            });
            sources.push(of_place.collect());
        }
        let work = |k: usize| if self.operations.all[k].op.has_kernel() { FUNCTION } else { 1 };
        if 2 * copied > (stretch.start..stretch.start + stretch.period).map(work).sum::<usize>() {
            return;
        }
        let number = self.blocks.len() as u32;
        self.block_of[stretch.start..stretch.end()].fill(number);
        self.blocks.push(Block {
            stretch,
            sources,
            ascends: ascends.unwrap_or(true),
            rows: vec![None; stretch.period],
            is_last_needed: vec![false; stretch.period],
        });
    }

    /// What an operand is in each round.
    fn values(&self, stretch: Stretch, place: usize, operand: usize) -> impl Iterator<Item = Ref> + '_ {
        let Stretch { start, period, rounds } = stretch;
        (0..rounds).map(move |round| self.operations.all[start + round * period + place].args()[operand])
    }

    /// The rounds in which all operands that change come from the rows of other stretches, if that is most of them.
    fn common_rounds(&self, stretch: Stretch) -> Option<(usize, usize)> {
        let (mut from, mut to) = (0, stretch.rounds);
        for place in 0..stretch.period {
            for operand in 0..self.operations.all[stretch.start + place].args().len() {
                if stretch.carried(&self.operations, place, operand).is_some() {
                    continue;
                }
                let values: Vec<Ref> = self.values(stretch, place, operand).collect();
                if let Some((_, first, end)) = self.row(&values)
                    && end - first + 2 * MARGIN >= stretch.rounds
                {
                    (from, to) = (from.max(first), to.min(end));
                }
            }
        }
        (to >= from + FEWEST_ROUNDS).then_some((from, to))
    }

    /// The row of another stretch that some values are, one after the other, and which of them.
    fn row(&self, values: &[Ref]) -> Option<(Row, usize, usize)> {
        let middle = values.len() / 2;
        let at = self.element(values[middle])?;
        let Stretch { period, rounds, .. } = self.blocks[at.block].stretch;
        let step = values[middle + 1] - values[middle];
        if step.unsigned_abs() as usize != period {
            return None;
        }
        let forward = step > 0;
        let round = |i: usize| {
            let away = i as isize - middle as isize;
            at.round as isize + if forward { away } else { -away }
        };
        let is_in_row = |i: usize| {
            let (round, k) = (round(i), values[i]);
            let is_inside = (0..rounds as isize).contains(&round);
            let is_near = (-(MARGIN as isize)..(rounds + MARGIN) as isize).contains(&round);
            k == values[middle] + (i as Ref - middle as Ref) * step
                && is_near
                && (is_inside || k >= 0 && self.block_of[k as usize] == NO_BLOCK)
                && self.operations.type_of(k) == self.operations.type_of(values[middle])
        };
        let first = (0..middle).rev().take_while(|&i| is_in_row(i)).last().unwrap_or(middle);
        let end = (middle..values.len()).take_while(|&i| is_in_row(i)).last().unwrap_or(middle) + 1;
        Some((Row { stretch: at.block, place: at.place, round: round(first), forward }, first, end))
    }

    /// Finds out which values of blocks are needed outside of them.
    fn find_needs(&mut self) {
        let in_line = (0..self.operations.all.len()).filter(|&k| self.block_of[k] == NO_BLOCK);
        let by_line = in_line.flat_map(|k| self.operations.all[k].args().to_vec());
        let by_sinks = self.operations.sinks.iter().flat_map(|(_, read)| read.clone());
        let mut needed: Vec<Ref> = by_line.chain(by_sinks).collect();
        for block in (0..self.blocks.len()).rev() {
            needed.drain(..).for_each(|value| self.need(value));
            let stretch = self.blocks[block].stretch;
            for place in 0..stretch.period {
                for (operand, source) in self.blocks[block].sources[place].clone().into_iter().enumerate() {
                    match source {
                        Source::Round(..) => {}
                        Source::Shared(value) => needed.push(value),
                        Source::Copied(values) => {
                            self.copies.insert((block, place, operand), self.used_rows);
                            self.used_rows += values.len();
                            needed.extend(values);
                        }
                        Source::Row(row) => self.need_row(row, stretch.rounds),
                    }
                }
            }
            needed.extend(self.states(block).into_iter().map(|(place, ago)| self.start(block, place, ago)));
        }
        needed.into_iter().for_each(|value| self.need(value));
    }

    fn need(&mut self, value: Ref) {
        let Some(Element { block, place, round }) = self.element(value) else { return };
        if round + 1 == self.blocks[block].stretch.rounds {
            self.blocks[block].is_last_needed[place] = true;
        } else {
            self.need_rows(block, place);
        }
    }

    fn need_rows(&mut self, block: usize, place: usize) {
        let of_place = &mut self.blocks[block].rows[place];
        if of_place.is_none() {
            *of_place = Some(self.used_rows);
            self.used_rows += self.blocks[block].stretch.rounds + 2 * MARGIN;
        }
    }

    fn need_row(&mut self, row: Row, count: usize) {
        self.need_rows(row.stretch, row.place);
        let Stretch { start, period, rounds } = self.blocks[row.stretch].stretch;
        for i in 0..count as isize {
            let round = row.round + if row.forward { i } else { -i };
            if !(0..rounds as isize).contains(&round) {
                let k = start as isize + row.place as isize + round * period as isize;
                let places = self.beside.entry(k as usize).or_default();
                if !places.contains(&(row.stretch, row.place, round)) {
                    places.push((row.stretch, row.place, round));
                }
            }
        }
    }

    /// Places whose values of earlier rounds are a block's state, and of how many rounds ago.
    fn states(&self, block: usize) -> Vec<(usize, usize)> {
        let of_block = &self.blocks[block];
        let mut farthest = vec![0; of_block.stretch.period];
        for source in of_block.sources.iter().flatten() {
            if let Source::Round(ago, place) = *source {
                farthest[place] = farthest[place].max(ago);
            }
        }
        for (farthest, &needed) in farthest.iter_mut().zip(&of_block.is_last_needed) {
            *farthest = (*farthest).max(needed as usize);
        }
        farthest.iter().enumerate().flat_map(|(place, &most)| (1..=most).map(move |ago| (place, ago))).collect()
    }

    /// What a state is before the first round.
    fn start(&self, block: usize, place: usize, ago: usize) -> Ref {
        let Stretch { start, period, .. } = self.blocks[block].stretch;
        (start + place) as Ref - (ago * period) as Ref
    }
}

/// Writes the parts of a line.
struct Writer<'a> {
    rolling: &'a Rolling,
    parts: Vec<FusedPart>,
    /// The line that there is: what it reads from memory, as values of their own or not, and what goes there.
    line: Vec<Step>,
    recalled: [Vec<Past>; 2],
    kept: Vec<Past>,
    slots: Slot,
    /// Slots of the last round behind a block.
    last: FxHashMap<(usize, usize), Slot>,
}

impl<'a> Writer<'a> {
    fn new(rolling: &'a Rolling) -> Writer<'a> {
        let slots = (rolling.operations.outside.len() + rolling.operations.all.len()) as Slot;
        Writer {
            rolling,
            parts: Vec::new(),
            line: Vec::new(),
            recalled: Default::default(),
            kept: Vec::new(),
            slots,
            last: FxHashMap::default(),
        }
    }

    fn write(mut self) -> FusedLoops {
        for &(step, number) in &self.rolling.operations.sources {
            let d = self.slot(outside(number));
            self.line.push(match step {
                Step::Leaf { first, count, real, .. } => Step::Leaf { d, first, count, real },
                Step::Constant { bits, .. } => Step::Constant { d, bits },
                other => other,
            });
        }
        let mut k = 0;
        while k < self.rolling.operations.all.len() {
            match self.rolling.block_of[k] {
                NO_BLOCK => {
                    self.operation(k);
                    k += 1;
                }
                block => {
                    self.block(block as usize);
                    k = self.rolling.blocks[block as usize].stretch.end();
                }
            }
        }
        let (guards, outputs): (Vec<_>, Vec<_>) =
            self.rolling.operations.sinks.iter().partition(|(step, _)| matches!(step, Step::Guard { .. }));
        for (step, read) in guards.into_iter().chain(outputs) {
            for (e, &value) in (0..).zip(read) {
                let s = self.read(value, false);
                self.line.push(match *step {
                    Step::Guard { outcome, index, .. } => Step::Guard { test: s, outcome, index },
                    Step::Output { index, .. } => Step::Output { s, index: index + e, count: 1 },
                    other => other,
                });
            }
        }
        self.end_line();
        FusedLoops { parts: self.parts, slots: self.slots as usize, remembered: self.rolling.used_rows }
    }

    fn new_slot(&mut self) -> Slot {
        self.slots += 1;
        self.slots - 1
    }

    /// The slot of a value of its own: one in a block has that of the first round.
    fn slot(&self, value: Ref) -> Slot {
        let outside = self.rolling.operations.outside.len() as Ref;
        if value < 0 { (-1 - value) as Slot } else { (outside + value) as Slot }
    }

    fn is_real(&self, value: Ref) -> bool {
        self.rolling.operations.type_of(value) == Type::Real
    }

    /// Ends the line that there is.
    fn end_line(&mut self) {
        let [read, moved] = std::mem::take(&mut self.recalled);
        let (line, kept) = (std::mem::take(&mut self.line), std::mem::take(&mut self.kept));
        if !read.is_empty() || !moved.is_empty() || !kept.is_empty() {
            self.parts.push(FusedPart::Recall { from: 0, past: moved, moves: true });
            self.parts.push(FusedPart::Recall { from: 0, past: read, moves: false });
        }
        self.parts.push(FusedPart::Line(line));
        if !kept.is_empty() {
            self.parts.push(FusedPart::Keep(kept));
        }
    }

    /// The slot in which the line finds a value; if it is needed behind it, it does not stay in memory.
    fn read(&mut self, value: Ref, moves: bool) -> Slot {
        let Some(Element { block, place, round }) = self.rolling.element(value) else { return self.slot(value) };
        if let Some(&slot) = self.last.get(&(block, place))
            && round + 1 == self.rolling.blocks[block].stretch.rounds
        {
            return slot;
        }
        let of_block = &self.rolling.blocks[block];
        let at = of_block.rows[place].unwrap_or(0) + of_block.position(round as isize);
        if let Some(known) = self.recalled[moves as usize].iter().find(|past| past.at == at) {
            return known.slot;
        }
        let slot = self.new_slot();
        self.recalled[moves as usize].push(Past { slot, at, real: self.is_real(value) });
        slot
    }

    /// An operation of the line.
    fn operation(&mut self, k: usize) {
        let operation = &self.rolling.operations.all[k];
        let mut args = [0; dmci_ops::MAX_ARITY];
        for (slot, &value) in args.iter_mut().zip(operation.args()) {
            *slot = self.read(value, false);
        }
        let d = self.slot(k as Ref);
        self.line.push(Step::Op { op: operation.op, d, args });
        for &(block, place, round) in self.rolling.beside.get(&k).into_iter().flatten() {
            let of_block = &self.rolling.blocks[block];
            let at = of_block.rows[place].unwrap_or(0) + of_block.position(round);
            self.kept.push(Past { slot: d, at, real: self.is_real(k as Ref) });
        }
    }

    /// The rounds of a block.
    fn block(&mut self, number: usize) {
        let rolling = self.rolling;
        let block = &rolling.blocks[number];
        let Stretch { start, period, rounds } = block.stretch;
        let mut states: FxHashMap<(usize, usize), Slot> = FxHashMap::default();
        let mut reals: FxHashSet<Slot> = FxHashSet::default();
        let all_states = rolling.states(number);
        for &(place, ago) in &all_states {
            let state = self.new_slot();
            let s = self.read(rolling.start(number, place, ago), true);
            self.line.push(Step::Move { d: state, s, count: 1 });
            if self.is_real((start + place) as Ref) {
                reals.insert(state);
            }
            states.insert((place, ago), state);
        }
        let mut past: Vec<Past> = Vec::new();
        let mut steps = Vec::with_capacity(period);
        for place in 0..period {
            let operation = &rolling.operations.all[start + place];
            let mut args = [0; dmci_ops::MAX_ARITY];
            for (operand, source) in block.sources[place].iter().enumerate() {
                let real = operation.op.operands()[operand] == Type::Real;
                let row = match source {
                    Source::Round(0, from) => {
                        args[operand] = self.slot((start + from) as Ref);
                        continue;
                    }
                    Source::Round(ago, from) => {
                        args[operand] = states[&(*from, *ago)];
                        continue;
                    }
                    Source::Shared(value) => {
                        let (s, d) = (self.read(*value, true), self.new_slot());
                        self.line.push(Step::Move { d, s, count: 1 });
                        args[operand] = d;
                        continue;
                    }
                    Source::Row(Row { stretch, place, round, .. }) => {
                        let from = &rolling.blocks[*stretch];
                        from.rows[*place].unwrap_or(0) + from.position(*round)
                    }
                    Source::Copied(values) => {
                        let first = rolling.copies.get(&(number, place, operand)).copied().unwrap_or(0);
                        for (i, &value) in values.iter().enumerate() {
                            let in_order = if block.ascends { i } else { values.len() - 1 - i };
                            let slot = self.read(value, false);
                            self.kept.push(Past { slot, at: first + in_order, real });
                        }
                        first + if block.ascends { 0 } else { values.len() - 1 }
                    }
                };
                args[operand] = match past.iter().find(|known| known.at == row) {
                    Some(known) => known.slot,
                    None => {
                        let slot = self.new_slot();
                        past.push(Past { slot, at: row, real });
                        slot
                    }
                };
            }
            steps.push(Step::Op { op: operation.op, d: self.slot((start + place) as Ref), args });
        }
        self.end_line();
        let mut next = Vec::with_capacity(all_states.len());
        for &(place, ago) in &all_states {
            let mut from = self.slot((start + place) as Ref);
            if ago > 1 {
                // A state that moves on is made anew.
                from = self.new_slot();
                steps.push(Step::Move { d: from, s: states[&(place, ago - 1)], count: 1 });
            }
            next.push((from, states[&(place, ago)]));
        }
        let first = if block.ascends { MARGIN } else { MARGIN + rounds - 1 };
        let stores = (0..period).filter_map(|place| {
            let (slot, real) = (self.slot((start + place) as Ref), self.is_real((start + place) as Ref));
            block.rows[place].map(|row| Past { slot, at: row + first, real })
        });
        let stores = stores.collect();
        let rolled = FusedRounds { steps, next, reals, most: rounds as u64, stores, ..FusedRounds::default() };
        self.parts.push(FusedPart::Rounds(FusedRounds { past, moves: block.step(), ..rolled }));
        for place in (0..period).filter(|&place| block.is_last_needed[place]) {
            self.last.insert((number, place), states[&(place, 1)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci_ops::Build;
    use dmci_tape::{LeafKind, NodeId, Recorder, gradient};

    /// x <- a x + b sin(x), all x in a list; then the sum of their squares.
    fn rollout(rounds: usize, is_reversed: bool) -> (Recorder, NodeId, Vec<NodeId>) {
        let mut r = Recorder::new();
        let leaves: Vec<NodeId> = ["a", "b", "x"].iter().map(|name| r.leaf(name, LeafKind::Param, 0.5)).collect();
        let (mut x, mut all) = (leaves[2], Vec::new());
        for _ in 0..rounds {
            let (product, sin) = (r.op(Op::Mul, &[leaves[0], x]), r.op(Op::Sin, &[x]));
            let part = r.op(Op::Mul, &[leaves[1], sin]);
            x = r.op(Op::Add, &[product, part]);
            all.push(x);
        }
        if is_reversed {
            all.reverse();
        }
        let squares: Vec<NodeId> = all.iter().map(|&x| r.op(Op::Mul, &[x, x])).collect();
        let sum = squares[1..].iter().fold(squares[0], |sum, &x| r.op(Op::Add, &[sum, x]));
        (r, sum, leaves)
    }

    fn parts(plan: &Plan) -> (usize, usize) {
        let fused = rolled(plan).unwrap();
        let count = |part: &FusedPart| match part {
            FusedPart::Line(steps) => (steps.len(), 0),
            FusedPart::Rounds(rounds) => (rounds.steps.len(), rounds.most as usize * rounds.steps.len()),
            _ => (0, 0),
        };
        fused.parts.iter().map(count).fold((0, 0), |all, part| (all.0 + part.0, all.1 + part.1))
    }

    #[test]
    fn a_rollout_that_collects_its_values_is_a_few_loops() {
        for is_reversed in [false, true] {
            let (mut r, sum, leaves) = rollout(1000, is_reversed);
            let first = gradient(&mut r, sum, &leaves);
            let mut tape = r.tape().clone();
            tape.outputs = vec![sum];
            let (written, done) = parts(&Plan::new(&dmci_tape::passes::Passes::default().run(&tape)));
            assert!(written < 200 && done > 5900, "{written} {done}");
            tape.outputs.extend(first.into_iter().flatten());
            let (written, done) = parts(&Plan::new(&dmci_tape::passes::Passes::default().run(&tape)));
            assert!(written < 400 && done > 12_000, "{written} {done}");
        }
    }
}
