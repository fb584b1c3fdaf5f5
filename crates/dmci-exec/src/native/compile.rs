//! A plan as machine code: straight lines of steps become functions, other steps stay as they are.

use super::division::Ways;
use super::emit::{Emitter, SPILLS_AT};
use super::fused_body::{FusedBody, Piece};
use super::fused_loops::FusedLoops;
use super::ir::{Builder, Instruction, NONE, Value};
use super::line::Lowering;
use super::lists::Layout;
use super::order::ordered;
use super::packed::{can_be_packed, packing_pays};
use super::reach::reaches;
use super::rounds::{Rounds, RoundsCode};
use super::run::FEW;
use super::schedule::scheduled;
use super::vex::{Isa, Numbers};
use super::whole_loop::WholeLoop;
use crate::plan::{LoopStep, Plan, RowRange, Slot, Step, TensorKind, TensorStep};
use memmap2::{Mmap, MmapMut};
use std::ops::Range;

/// A part of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// Code, by where it begins.
    Code(usize),
    /// A step for the block interpreter.
    Step(usize),
}

/// A plan as machine code.
#[derive(Debug)]
pub(crate) struct Compiled {
    code: Mmap,
    /// The bodies of its loops.
    pub(super) bodies: Vec<Compiled>,
    pub(super) parts: Vec<Part>,
    /// Rows of a block: those of slots, if other steps need them, of leaves, of outputs.
    pub(super) leaf_rows: usize,
    pub(super) output_rows: usize,
    pub(super) rows: usize,
    /// Lanes from one row to the next, lanes of a block, lanes that are worked on together.
    pub(super) width: usize,
    pub(super) lanes: usize,
    /// A power of two.
    pub(super) step: usize,
    /// Whether there are guards.
    pub(super) guarded: bool,
    /// Whether there is a loop in it with which some groups of lanes may not be done.
    pub(super) may_be_undone: bool,
    /// Words in which states of loops in it are remembered.
    pub(super) remembered: usize,
    /// Bytes for values that do not fit into registers.
    pub(super) spill_bytes: usize,
    /// Instructions on vectors for lanes that are worked on together; too many to be of interest if there are loops.
    pub(super) instructions: usize,
    /// The same if there are loops in it, at most.
    pub(super) cost: usize,
    /// If it is the body of a loop: the code for many rounds.
    pub(super) rounds: Option<RoundsCode>,
}

/// Instructions on vectors that one call may take, some milliseconds: code does not look whether to stop.
pub(super) const MOST_AT_ONCE: usize = 1 << 24;

/// Bytes of an instruction on vectors, at least.
const BYTES_OF_INSTRUCTION: usize = 5;

/// Rows and their end, where guards note their numbers, and memory for spilled values.
type Function = unsafe extern "sysv64" fn(*mut u64, *const u64, *mut u32, *mut u64);

impl Compiled {
    /// Compiles a plan for blocks of so many lanes. `None` if the system does not allow it, or if the plan is so large
    /// that instructions do not reach all of it.
    pub fn new(plan: &Plan, lanes: usize) -> Option<Compiled> {
        // Lanes that wait for others in a loop have rows outside of it.
        let fused = plan.fused().filter(|fused| !fused.may_be_undone());
        let leaf_rows = if plan.is_straight() || fused.is_some() { 0 } else { plan.slots };
        let output_rows = leaf_rows + plan.leaves;
        let rows = [leaf_rows, output_rows, output_rows + plan.outputs];
        Compiled::with_rows(plan, lanes, rows, None, (None, fused.as_deref()))
    }

    /// Compiles a plan that is a straight line, but for loops inside, for leaves and results in lists.
    pub(super) fn with_lists(
        plan: &Plan,
        fused: Option<&FusedLoops>,
        layout: &Layout,
        lanes: usize,
    ) -> Option<Compiled> {
        let rows = if layout.has_rows() { plan.leaves } else { 0 };
        Compiled::with_rows(plan, lanes, [0, rows, rows], None, (Some(layout), fused))
    }

    /// The body of a loop: all its rows are slots, and some of them are its results; one is for counts of rounds.
    fn body(step: &LoopStep, lanes: usize) -> Option<Compiled> {
        let slots = step.body.slots;
        Compiled::with_rows(&step.body, lanes, [slots, slots, slots + 1], Some(step), (None, None))
    }

    fn with_rows(
        plan: &Plan,
        lanes: usize,
        [leaf_rows, output_rows, rows]: [usize; 3],
        of_loop: Option<&LoopStep>,
        (layout, fused): (Option<&Layout>, Option<&FusedLoops>),
    ) -> Option<Compiled> {
        if !reaches(rows, 8 * width_for(lanes)) {
            return None;
        }
        let outside = if fused.is_some() { &[][..] } else { &plan.loops };
        let bodies = outside.iter().map(|l| Compiled::body(l, lanes)).collect::<Option<Vec<_>>>()?;
        let results = of_loop.map_or(&[][..], |step| &step.next);
        let isa = plan.native.isa(lanes);
        let rounds = of_loop.filter(|_| plan.is_straight()).and_then(Rounds::of);
        let is_line = of_loop.is_none() && (plan.is_straight() || fused.is_some());
        let numbers = match plan.single {
            false => Numbers::Double,
            // What is in lists of single precision fills vectors as it is.
            true if layout.is_some_and(|layout| layout.numbers == Numbers::Single) => Numbers::Single,
            true if is_line && can_be_packed(plan, fused) && packing_pays(plan) => Numbers::Single,
            true => Numbers::Short,
        };
        let sources = (layout, rounds.as_ref().zip(of_loop));
        let lower = |ways: Ways| match fused {
            Some(fused) => Lowered::of_fused(fused, [leaf_rows, output_rows], layout, (isa, ways, numbers)),
            None => Some(Lowered::new(plan, [leaf_rows, output_rows], results, sources, (isa, ways, numbers))),
        };
        let mut lowered = lower(Ways::default())?;
        let ways = lowered.ways_of_divisions();
        let repeats = rounds.is_some() || fused.is_some();
        if !repeats && !ways.are_divisions() {
            lowered = lower(ways)?;
        }
        let guarded = match fused {
            Some(fused) => fused.is_guarded(),
            None => plan.steps.iter().any(|step| matches!(step, Step::Guard { .. })),
        };
        let strides = layout.map_or(&[][..], |l| &l.strides);
        let chain = lowered.chain();
        let choices: &[usize] = match lowered.length() {
            _ if lanes <= FEW => &[1],
            0..SHORT => &[2, 4],
            SHORT..LONG if isa == Isa::Avx512 => &[1, 2, 4],
            SHORT..LONG => &[1, 2],
            // Long code comes from far away: the less there is of it, the better, unless it is waited for.
            length if chain > length as f64 => &[1, 2],
            _ => &[1],
        };
        let fits = |interleave: &&usize| **interleave == 1 || lowered.lanes() * **interleave <= lanes;
        let mut best: Option<(f64, Emitted, (&Lowered<'_>, usize))> = None;
        // Values that stay in registers leave fewer of them for everything else.
        let residents: &[usize] = if repeats { &[32, 4, 0] } else { &[0] };
        // Another order pays where there are few registers, if it does.
        let reordered = if lanes > FEW && lowered.length() < SHORT { lowered.reordered() } else { None };
        let orders = || std::iter::once(&lowered).chain(&reordered);
        let choices = choices.iter().filter(fits).flat_map(|&i| residents.iter().map(move |&r| (i, r)));
        for ((interleave, resident), lowered) in choices.flat_map(|c| orders().map(move |lowered| (c, lowered))) {
            let how = (width_for(lanes), interleave, resident);
            let emitted = lowered.emit(plan.single, strides, how, (rounds.as_ref(), true));
            let cost = cost(&emitted, chain);
            let worth = |emitted: &Emitted| if interleave > emitted.interleave { WORTH_MORE_LANES } else { 0.99 };
            if best.as_ref().is_none_or(|(least, by, _)| cost < worth(by) * least) {
                best = Some((cost, emitted, (lowered, resident)));
            }
        }
        let (_, mut emitted, (lowered, resident)) = best?;
        if !repeats && lanes > FEW && lowered.length() < SHORT && chain < emitted.for_each() {
            let how = (width_for(lanes), emitted.interleave, 0);
            let in_time =
                lowered.scheduled(emitted.interleave).map(|s| s.emit(plan.single, strides, how, (None, true)));
            let is_short = |e: &Emitted| e.for_each() <= WORTH_WAITING_LESS * emitted.for_each();
            emitted = in_time.filter(is_short).unwrap_or(emitted);
        }
        if repeats {
            let how = (width_for(lanes), emitted.interleave, resident);
            emitted = lowered.emit(plan.single, strides, how, (rounds.as_ref(), false));
        }
        let spill_bytes = SPILLS_AT + emitted.spills * isa.bytes() * emitted.interleave;
        if !reaches(emitted.bytes.len(), 1) || !reaches(spill_bytes, 1) {
            return None;
        }
        let mut memory = MmapMut::map_anon(emitted.bytes.len()).ok()?;
        memory.copy_from_slice(&emitted.bytes);
        // From here on the memory can be executed and no longer written.
        let code = memory.make_exec().ok()?;
        Some(Compiled {
            code,
            bodies,
            parts: emitted.parts,
            leaf_rows,
            output_rows,
            rows,
            width: width_for(lanes),
            lanes,
            step: emitted.lanes * emitted.interleave,
            guarded,
            may_be_undone: fused.is_some_and(FusedLoops::may_be_undone),
            remembered: fused.map_or(0, |fused| fused.remembered * isa.bytes() * emitted.interleave / 8),
            instructions: if repeats { usize::MAX } else { emitted.vectors },
            cost: fused.map_or(0, FusedLoops::cost).max(emitted.bytes.len() / BYTES_OF_INSTRUCTION),
            rounds: emitted.rounds,
            spill_bytes,
        })
    }

    /// How many lanes one call may do, a multiple of `step`: it must end soon.
    pub(super) fn lanes_at_once(&self) -> usize {
        (MOST_AT_ONCE / self.cost.max(1)).max(1).saturating_mul(self.step)
    }

    /// So many lanes and what is missing to whole groups.
    pub fn padded(&self, lanes: usize) -> usize {
        (lanes + self.step - 1) & !(self.step - 1)
    }

    /// Runs code over so many lanes, a multiple of `step`, from one on.
    ///
    /// # Safety
    /// A function begins at `at`. What it finds by addresses in the table in front of `spills` is there, and nobody else
    /// uses what it writes to: lists with room for these lanes, memory for the states of loops inside, the history of as
    /// many rounds as it is to do.
    pub unsafe fn call(
        &self,
        at: usize,
        rows: &mut [u64],
        (from, lanes): (usize, usize),
        failed: &mut [u32],
        spills: &mut [u64],
    ) {
        assert!(!self.guarded || failed.len() >= from + lanes);
        // SAFETY: the caller's promise is passed on, and there is room for guards.
        unsafe { self.enter(at, (rows, self.rows), (from, lanes), failed, spills) };
    }

    /// The same for code that needs so many rows.
    ///
    /// # Safety
    /// As for [`Compiled::call`]; so many rows are all that the function needs, and it has no guards if there is no room
    /// in `failed` to note those of all lanes.
    pub(super) unsafe fn enter(
        &self,
        at: usize,
        (rows, needed): (&mut [u64], usize),
        (from, lanes): (usize, usize),
        failed: &mut [u32],
        spills: &mut [u64],
    ) {
        // A function does at least one group.
        if lanes == 0 {
            return;
        }
        assert!(lanes & (self.step - 1) == 0 && from + lanes <= self.width);
        assert!(rows.len() >= needed * self.width && spills.len() * 8 >= self.spill_bytes);
        let rows = rows.as_mut_ptr().wrapping_add(from);
        // SAFETY: a function of this type begins there, says the caller. It reads and writes rows up to the given lanes and
        // spills, which are large enough, guards of these lanes, and what the table says.
        unsafe {
            let function: Function = std::mem::transmute(self.code.as_ptr().add(at));
            function(rows, rows.wrapping_add(lanes), failed.as_mut_ptr().wrapping_add(from), spills.as_mut_ptr());
        }
    }
}

/// Lanes from one row to the next: long rows do not begin at the same place of a page.
fn width_for(lanes: usize) -> usize {
    if lanes <= FEW { lanes } else { lanes + 8 }
}

/// A plan as instructions: parts with the instructions of each, and those of a round of a loop under way.
#[derive(Clone)]
struct Lowered<'a> {
    builder: Builder,
    pieces: Vec<(Part, Range<usize>)>,
    round: Range<usize>,
    /// Where lanes stay in the loop, if they go on until all have left.
    stays: Option<Value>,
    /// The whole loop as one function, if that is possible.
    whole_loop: Option<WholeLoop<'a>>,
    /// All of it, if there are loops in it.
    fused_body: Option<FusedBody>,
}

/// Code that is not yet in executable memory.
struct Emitted {
    bytes: Vec<u8>,
    parts: Vec<Part>,
    spills: usize,
    /// Lanes of a vector, and vectors that are worked on together.
    lanes: usize,
    interleave: usize,
    /// Instructions on vectors, in rounds if there are any.
    vectors: usize,
    /// Those that are run for each group of lanes, if there are no rounds.
    run: usize,
    repeats: bool,
    rounds: Option<RoundsCode>,
}

/// Instructions below which code is short: lanes beside each other make up for what it waits for.
const SHORT: usize = 600;

/// Instructions from which on code is long.
const LONG: usize = 2500;

/// How many vectors an instruction is written for, in code of so many of them, until the best code is known. To find
/// the instructions costs as much as several of these.
pub(super) fn vectors_written(instructions: usize) -> usize {
    match instructions {
        // Two choices, each in two orders.
        0..SHORT => 12,
        SHORT..LONG => 7,
        _ => 5,
    }
}

/// What must be left of the cost if more lanes are worked on together: their loads and stores get into each other's way.
const WORTH_MORE_LANES: f64 = 0.87;

/// How many instructions it takes at most, in comparison, to wait less.
const WORTH_WAITING_LESS: f64 = 1.07;

/// Instructions that a processor looks at together, and does in a cycle, from its cache of decoded
/// instructions or not.
const WINDOW: f64 = 224.0;
const PER_CYCLE: f64 = 3.0;
const PER_CYCLE_DECODED: f64 = 2.0;
const DECODED_CACHE: usize = 4000;

/// Estimated cycles for a vector: front-end bound by the number of instructions, or latency-bound by the longest chain.
fn cost(emitted: &Emitted, chain: f64) -> f64 {
    let vectors = emitted.vectors as f64;
    let rate = if emitted.vectors > DECODED_CACHE { PER_CYCLE_DECODED } else { PER_CYCLE };
    // Rounds wait for each other; groups of lanes do not.
    let (overlap, least) = match emitted.repeats {
        true => (1.0, vectors / (4.0 * rate)),
        false => ((WINDOW / vectors.max(1.0)).max(1.0), 0.0),
    };
    ((vectors / rate).max(chain / overlap) + least) / emitted.interleave as f64
}

impl Emitted {
    /// Instructions for a vector.
    fn for_each(&self) -> f64 {
        self.run as f64 / self.interleave as f64
    }
}

impl<'a> Lowered<'a> {
    fn new(
        plan: &'a Plan,
        rows: [usize; 2],
        results: &[RowRange],
        (layout, rounds): (Option<&'a Layout>, Option<(&Rounds<'a>, &'a LoopStep)>),
        how: (Isa, Ways, Numbers),
    ) -> Lowered<'a> {
        let mut lowering = Lowering::new(plan.slots, exported(plan, results), rows, layout, how);
        let mut pieces = Vec::new();
        let mut start = 0;
        for (i, step) in plan.steps.iter().enumerate() {
            if is_straight(step) {
                lowering.step(i, step);
                continue;
            }
            let end = lowering.builder.instructions.len();
            if end > start {
                pieces.push((Part::Code(0), start..end));
            }
            pieces.push((Part::Step(i), end..end));
            start = end;
            lowering.next_line();
        }
        lowering.store_results();
        let end = lowering.builder.instructions.len();
        if end > start {
            pieces.push((Part::Code(0), start..end));
        }
        let mut stays = None;
        if let Some((rounds, steady)) = rounds.and_then(|(rounds, step)| Some((rounds, step.steady.as_ref()?))) {
            lowering.round(steady);
            stays = if rounds.until_done { lowering.builder.keep_going(end, rounds) } else { None };
        }
        let round = end..lowering.builder.instructions.len();
        let whole_loop = rounds.and_then(|(rounds, step)| WholeLoop::of(step, rounds, &mut lowering));
        lowering.builder.forget();
        Lowered { builder: lowering.builder, pieces, round, stays, whole_loop, fused_body: None }
    }

    /// The same for a plan with loops in it.
    fn of_fused(
        fused: &'a FusedLoops,
        rows: [usize; 2],
        layout: Option<&'a Layout>,
        how: (Isa, Ways, Numbers),
    ) -> Option<Lowered<'a>> {
        let mut lowering = Lowering::new(fused.slots, Vec::new(), rows, layout, how);
        let fused_body = Some(FusedBody::of(fused, &mut lowering)?);
        lowering.builder.forget();
        Some(Lowered {
            builder: lowering.builder,
            pieces: Vec::new(),
            round: 0..0,
            stays: None,
            whole_loop: None,
            fused_body,
        })
    }

    /// The code, or of a loop only what tells how good it is.
    fn emit(
        &self,
        single: bool,
        strides: &[u32],
        (width, interleave, resident): (usize, usize, usize),
        (rounds, tried): (Option<&Rounds<'_>>, bool),
    ) -> Emitted {
        let mut emitter = Emitter::new(&self.builder, strides, interleave, width * 8, single);
        let before = emitter.code.vectors;
        let pieces = if tried && rounds.is_some() { &[][..] } else { &self.pieces };
        let parts = pieces.iter().map(|(part, range)| match part {
            Part::Code(_) => Part::Code(emitter.function(range.clone())),
            step => *step,
        });
        let mut parts: Vec<Part> = parts.collect();
        let mut in_rounds = None;
        if let Some(fused_body) = &self.fused_body {
            let (at, vectors) = emitter.fused_body(fused_body, resident, tried);
            parts.push(Part::Code(at));
            in_rounds = Some(vectors);
        }
        let rounds = rounds.map(|rounds| {
            let mut code = emitter.rounds(self.round.clone(), rounds, self.stays, resident, tried);
            let whole_loop = self.whole_loop.as_ref().filter(|_| !tried);
            code.whole_loop = whole_loop.map(|whole_loop| emitter.whole_loop(whole_loop, resident));
            in_rounds = Some(code.vectors);
            code
        });
        let (repeats, vectors) = (in_rounds.is_some(), in_rounds.unwrap_or(emitter.code.vectors));
        let (spills, lanes, run) = (emitter.spills as usize, emitter.lanes, emitter.code.vectors - before);
        Emitted { bytes: emitter.code.bytes, parts, spills, lanes, interleave, vectors, run, repeats, rounds }
    }

    /// The same, each piece in an order that needs fewer registers, if any has one.
    fn reordered(&self) -> Option<Lowered<'a>> {
        self.in_order(|instructions| ordered(instructions, &self.builder.homes))
    }

    /// The same in an order for so many vectors beside each other in which few instructions wait.
    fn scheduled(&self, interleave: usize) -> Option<Lowered<'a>> {
        let Builder { homes, isa, .. } = &self.builder;
        self.in_order(|instructions| Some(scheduled(instructions, homes, *isa, interleave)))
    }

    fn in_order(&self, order: impl Fn(&[Instruction]) -> Option<Vec<Instruction>>) -> Option<Lowered<'a>> {
        let whole_loop = self.whole_loop.iter().flat_map(|whole_loop| [&whole_loop.prelude, &whole_loop.round]);
        let fused_body =
            self.fused_body.iter().flat_map(|fused_body| fused_body.pieces.iter().filter_map(Piece::range));
        let ranges = self.pieces.iter().map(|piece| &piece.1).chain([&self.round]).chain(whole_loop).chain(fused_body);
        let of_piece = |range: &Range<usize>| order(&self.builder.instructions[range.clone()]);
        let orders: Vec<_> = ranges.filter_map(|range| Some((range.clone(), of_piece(range)?))).collect();
        if orders.is_empty() {
            return None;
        }
        let mut builder = self.builder.clone();
        for (range, order) in orders {
            builder.instructions[range].copy_from_slice(&order);
        }
        Some(Lowered { builder, ..self.clone() })
    }

    /// How divisions are better done; only vectors of 512 bits have what it takes to multiply.
    fn ways_of_divisions(&self) -> Ways {
        if self.builder.isa == Isa::Avx2 {
            return Ways::default();
        }
        let divisions = &self.builder.divisions;
        Ways::of(divisions, self.builder.instructions.len().saturating_sub(divisions.len()))
    }

    /// Lanes of a vector.
    fn lanes(&self) -> usize {
        self.builder.isa.lanes() * if self.builder.packed { 2 } else { 1 }
    }

    /// Instructions that are run again and again.
    fn of_interest(&self) -> Vec<Range<usize>> {
        let all = if self.round.is_empty() { 0..self.builder.instructions.len() } else { self.round.clone() };
        self.fused_body.as_ref().map_or(Vec::from([all]), |fused_body| fused_body.rounds().cloned().collect())
    }

    /// How many these are.
    fn length(&self) -> usize {
        self.of_interest().iter().map(|range| range.len()).sum()
    }

    /// The longest chains of those that wait for each other, in cycles.
    fn chain(&self) -> f64 {
        self.of_interest().into_iter().map(|range| self.chain_in(range)).sum()
    }

    fn chain_in(&self, range: Range<usize>) -> f64 {
        let mut ready = vec![0u32; self.builder.homes.len()];
        let mut longest = 0;
        for instruction in &self.builder.instructions[range] {
            let operands = instruction.operands.iter().filter(|v| **v != NONE);
            let start = operands.map(|v| ready[v.0 as usize]).max().unwrap_or(0);
            let end = start + instruction.action.latency();
            longest = longest.max(end);
            if instruction.result != NONE {
                ready[instruction.result.0 as usize] = end;
            }
        }
        longest as f64
    }
}

impl Plan {
    /// Whether everything becomes one function.
    pub(super) fn is_straight(&self) -> bool {
        self.steps.iter().all(is_straight)
    }
}

fn is_straight(step: &Step) -> bool {
    matches!(
        step,
        Step::Leaf { .. }
            | Step::Constant { .. }
            | Step::Op { .. }
            | Step::Move { .. }
            | Step::Guard { .. }
            | Step::Output { .. }
    )
}

/// Rows that a step on tensors reads.
fn tensor_reads(step: &TensorStep) -> Vec<(Slot, u32)> {
    let count = step.shape.len() as u32;
    match &step.kind {
        TensorKind::Constant(_) => Vec::new(),
        TensorKind::Wide { op, args } => args[..op.operands().len()].iter().map(|&s| (s, count)).collect(),
        TensorKind::Spread { op, args } => {
            let mut reads = Vec::new();
            for (s, rows) in &args[..op.operands().len()] {
                match rows {
                    Some(rows) => reads.extend(rows.iter().map(|&s| (s, 1))),
                    None => reads.push((*s, count)),
                }
            }
            reads
        }
        TensorKind::Kernel { kernel, args } => {
            args[..kernel.arity()].iter().map(|&(s, shape)| (s, shape.len() as u32)).collect()
        }
        TensorKind::Pack(parts) => parts.to_vec(),
    }
}

/// Which steps make values that are needed outside of their straight line: those must be in their rows.
fn exported(plan: &Plan, results: &[RowRange]) -> Vec<bool> {
    let mut exported = vec![false; plan.steps.len()];
    // By which step and in which line each row was made: in none at first.
    let mut made: Vec<(u32, u32)> = vec![(u32::MAX, 0); plan.slots];
    let mut line = 1;
    for (i, step) in plan.steps.iter().enumerate() {
        let mut read = |slot: Slot, count: u32, line: u32| {
            for &(by, at) in &made[slot as usize..(slot + count) as usize] {
                if at != line && by != u32::MAX && is_straight(&plan.steps[by as usize]) {
                    exported[by as usize] = true;
                }
            }
        };
        let (d, count) = match step {
            Step::Leaf { d, count, .. } => (*d, *count),
            Step::Constant { d, .. } => (*d, 1),
            Step::Op { op, d, args } => {
                args[..op.operands().len()].iter().for_each(|&s| read(s, 1, line));
                (*d, 1)
            }
            Step::Guard { test, .. } => {
                read(*test, 1, line);
                continue;
            }
            Step::Output { s, count, .. } => {
                read(*s, *count, line);
                continue;
            }
            Step::Move { d, s, count } => {
                read(*s, *count, line);
                (*d, *count)
            }
            Step::Loop(l) => {
                let step = &plan.loops[*l as usize];
                step.operands.iter().for_each(|&(s, count)| read(s, count, 0));
                line += 1;
                (step.d, step.results())
            }
            Step::Tensor(t) => {
                let step = &plan.tensors[*t as usize];
                tensor_reads(step).into_iter().for_each(|(s, count)| read(s, count, 0));
                line += 1;
                (step.d, step.shape.len() as u32)
            }
        };
        made[d as usize..(d + count) as usize].fill((i as u32, line));
    }
    for &(first, count) in results {
        for &(by, _) in &made[first as usize..(first + count) as usize] {
            if by != u32::MAX && is_straight(&plan.steps[by as usize]) {
                exported[by as usize] = true;
            }
        }
    }
    exported
}
