//! Loops: a round is recorded once, as the body of a loop on the tape, and the rest of its rounds is
//! not walked.
//!
//! A loop head is a label of a frame, or the entry of a procedure of the program in place of a frame.
//! Where it is reached again and again, one round is run from head to head to see which numbers of the
//! state differ; then again with these numbers as leaves, so that every test on them is in the body. If the
//! machine is then as before but for those numbers, what was recorded is a round of any lane that
//! takes the same decisions; the loop ends where a lane does not. Its last state is put back, and
//! the walk goes on at the head. Where this cannot be shown, rounds are recorded one after the other.

use crate::join::{Arms, End as ArmEnd, Entries, Outcome, Start};
use crate::machine::Vm;
use crate::world::{NAMED, World};
use dmci_compile::bytecode::Reg;
use dmci_ops::Type;
use dmci_tape::{LoopEnd, LoopKind, NewLoop, NodeId, Repeat, Round};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, SpanId, Value};
use state::{End, Found, State};

mod state;

/// Steps that the rounds which are recorded for a loop may take, and how many rounds in any case.
const BUDGET: i64 = 60_000;
const ROUNDS: i64 = 6;

/// Nodes after which rounds that took no decision on a traced number are taken for a loop: as long as its code stays in
/// the cache, a straight line is faster.
const LONG: usize = 1 << 15;

/// The same for rounds of at most so many nodes, since their states are in registers all the time.
const LONG_IF_SHORT: usize = 1 << 10;
const SHORT_ROUND: usize = 12;

/// Both if the program is known to have a long loop.
const LONG_IF_KNOWN: usize = 1 << 11;
const LONG_IF_SHORT_AND_KNOWN: usize = 1 << 5;

/// How often a loop may fail to be one before it is not tried any more.
const PATIENCE: u32 = 6;

/// Steps that may be spent on rounds that turn out to be no loop, beside a share of the steps of the walk so far: a
/// recording must not take much longer than it does without loops, and a step of a round that is tried, with all that is
/// saved and undone, costs several of the walk.
pub(crate) const WASTE: u64 = 30_000;
pub(crate) const WASTE_SHARE: u64 = 8;

/// How often more may turn out to differ.
const TRIES: usize = 4;

/// Loops inside of loops and arms ...
const DEEPEST: u32 = 12;

/// Rounds that a loop should have, on average, to be worth it.
const FEW_ROUNDS: u64 = 4;

/// Rounds of a loop in an arm that the recorded lane may not take.
const SPECULATIVE_ROUNDS: u64 = 10_000;

/// Where rounds begin.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Head {
    /// An instruction of the frame.
    Label(u32),
    /// The procedure of the frame, entered with so many arguments.
    Entry(usize),
}

/// The arguments that are on the stack at a head.
fn arguments(head: Head) -> usize {
    match head {
        Head::Label(_) => 0,
        Head::Entry(n) => n,
    }
}

/// What is known of a loop head.
#[derive(Debug)]
pub(crate) struct HeadState {
    fp: usize,
    /// When it was last reached, and how many nodes there were then and the time before.
    last: u64,
    /// Steps of the run when it was last reached outside of arms.
    steps: u64,
    rounds_at: [usize; 2],
    nodes: usize,
    guards: usize,
    patience: u32,
    loops: u64,
    rounds: u64,
}

/// A loop that was found, and its state in the recorded lane.
struct NewState {
    state: State,
    body: dmci_tape::Tape,
    shared: Vec<NodeId>,
    /// Steps of a round.
    steps: u64,
    /// Places of the tests that end it, if anybody wants to know.
    tests: Vec<SpanId>,
}

impl Vm {
    /// Whether a procedure can be a loop head.
    pub(crate) fn may_repeat(&self, word: u64) -> bool {
        word & NAMED != 0 || self.codes[(word & 0xFF_FFFF) as usize].user
    }

    /// What a head is known by: its place in the code, and the procedure, since the evaluator has one
    /// for each procedure of the program.
    pub(crate) fn head_key(&mut self, head: Head) -> u64 {
        let at = match head {
            Head::Label(pc) => 1 + pc as u64,
            Head::Entry(_) => 0,
        };
        let identity = match self.stack[self.fp - 1].as_closure() {
            Some(r) => self.procedure_identity(r),
            None => 0,
        };
        identity << 20 ^ at
    }

    /// Notes that a procedure is entered; it may be the head of a loop.
    pub(crate) fn note_head(&mut self, head: Head) {
        let (key, fp, steps) = (self.head_key(head), self.fp, self.steps());
        let Some(recording) = &mut self.world.recording else { return };
        let (nodes, guards) = (recording.recorder.len(), recording.recorder.guard_count());
        let now = recording.next_time();
        let known = recording.heads.entry(key).or_insert(HeadState {
            fp,
            last: now,
            steps,
            rounds_at: [nodes; 2],
            nodes,
            guards,
            patience: PATIENCE,
            loops: 0,
            rounds: 0,
        });
        (known.fp, known.last, known.rounds_at, known.steps) = (fp, now, [nodes; 2], steps);
        (known.nodes, known.guards) = (nodes, guards);
    }

    /// A loop head is reached in place of its frame. If rounds can be recorded as a loop, the machine is
    /// then at the same head behind them.
    pub(crate) fn at_head(&mut self, head: Head) -> Result<(), Error> {
        // An arm that ends here must not go on.
        if let Head::Label(pc) = head
            && self.fp == self.arms.level
            && self.arms.stops.iter().any(|s| s.0 == pc)
        {
            return Ok(());
        }
        let key = self.head_key(head);
        let (fp, steps) = (self.fp, self.steps());
        let Some(recording) = &mut self.world.recording else { return Ok(()) };
        if !recording.is_outermost() {
            return Ok(());
        }
        let (nodes, guards) = (recording.recorder.len(), recording.recorder.guard_count());
        let now = recording.next_time();
        let Some(known) = recording.heads.get_mut(&key).filter(|h| h.fp == fp) else {
            self.note_head(head);
            return Ok(());
        };
        let decided = guards > known.guards;
        let tested = recording.recorder.tape().guards.get(known.guards).map(|guard| guard.node);
        known.guards = guards;
        let round = steps.saturating_sub(std::mem::replace(&mut known.steps, steps));
        // Inside of an arm or a round, a loop of its own comes by twice.
        let repeated = std::mem::replace(&mut known.last, now) > self.arms.since;
        // Nodes of what was tried and forgotten say nothing.
        let [last, since] = known.rounds_at.map(|count| if count > nodes { 0 } else { count });
        known.rounds_at = [nodes, last];
        let short = nodes - last <= SHORT_ROUND;
        let long = match (self.world.early_loops, short) {
            (false, false) => LONG,
            (false, true) => LONG_IF_SHORT,
            (true, false) => LONG_IF_KNOWN,
            (true, true) => LONG_IF_SHORT_AND_KNOWN,
        };
        let worth = decided || nodes.saturating_sub(known.nodes) >= long;
        if known.patience == 0 || !repeated || !worth || recording.wasted > WASTE + steps / WASTE_SHARE {
            return Ok(());
        }
        let rounds = self.try_loop(head, since, round)?;
        // Loops of the library and of the evaluator are not the program's.
        if rounds.is_none() && (matches!(head, Head::Entry(_)) || self.codes[self.code as usize].user) {
            self.world.note_no_loop(tested);
        }
        let Some(recording) = &mut self.world.recording else { return Ok(()) };
        let (nodes, guards) = (recording.recorder.len(), recording.recorder.guard_count());
        recording.late_loop |= !decided && rounds.is_some();
        if let Some(known) = recording.heads.get_mut(&key) {
            (known.nodes, known.guards) = (nodes, guards);
            if rounds.is_some() {
                known.rounds_at = [nodes; 2];
            }
            known.loops += rounds.is_some() as u64;
            known.rounds += rounds.unwrap_or(0);
            if rounds.is_none() || known.rounds < FEW_ROUNDS * known.loops {
                known.patience = known.patience.saturating_sub(1);
            }
        }
        Ok(())
    }

    /// A procedure of so many arguments is about to be entered in place of its frame.
    pub(crate) fn enter_head(&mut self, code: u32, n: usize) -> Result<(), Error> {
        let (caller, pc) = (self.code, self.pc);
        (self.code, self.pc) = (code, 0);
        let looked = self.at_head(Head::Entry(n));
        if looked.is_err() {
            (self.code, self.pc) = (caller, pc);
        }
        looked
    }

    /// The values that rounds pass on.
    fn roots(&self, head: Head) -> Vec<Value> {
        match head {
            Head::Label(_) => self.label_registers(head).iter().map(|&r| self.stack[self.fp + r as usize]).collect(),
            Head::Entry(n) => self.stack[self.fp - 1..self.fp + n].to_vec(),
        }
    }

    fn set_roots(&mut self, head: Head, values: &[Value]) {
        match head {
            Head::Label(_) => {
                for (r, &v) in self.label_registers(head).into_iter().zip(values) {
                    self.stack[self.fp + r as usize] = v;
                }
            }
            Head::Entry(n) => self.stack[self.fp - 1..self.fp + n].copy_from_slice(values),
        }
    }

    fn label_registers(&self, head: Head) -> Vec<Reg> {
        let Head::Label(pc) = head else { return Vec::new() };
        let labels = &self.codes[self.code as usize].code.labels;
        labels.iter().find(|l| l.0 == pc).map_or(Vec::new(), |l| l.1.to_vec())
    }

    /// Tries to make a loop of the rounds from here on; how many rounds it has.
    fn try_loop(&mut self, head: Head, since: usize, round: u64) -> Result<Option<u64>, Error> {
        if self.arms.depth >= DEEPEST {
            return Ok(None);
        }
        let outermost = !self.arms.running();
        if outermost {
            // Nothing may move while rounds are tried.
            if self.world.heap.wants_collection() {
                self.world.heap.postpone_collection();
            }
            self.account()?;
        }
        let (poll, mut spent) = (self.world.heap.poll, 0);
        let budget = BUDGET.max(ROUNDS.saturating_mul(round.min(self.fuel_left()) as i64));
        if outermost {
            self.world.heap.poll = budget;
        }
        let start = self.save(arguments(head));
        let found = self.find_loop(head, &start);
        self.forget(&start);
        if outermost {
            spent = (budget - self.world.heap.poll - self.world.heap.poll_taken).max(0);
            self.world.heap.poll = poll - spent;
            self.world.heap.poll_taken = 0;
            self.world.heap.forget_stores();
        }
        let rounds = match found? {
            Some(new) => self.add_loop(head, new, since)?,
            None => None,
        };
        if let (None, Some(recording)) = (rounds, &mut self.world.recording) {
            recording.wasted += spent as u64;
        }
        Ok(rounds)
    }

    /// Records a round, if it can be repeated. The machine has to be restored.
    fn find_loop(&mut self, head: Head, start: &Start) -> Result<Option<NewState>, Error> {
        let roots = self.roots(head);
        let before = self.world.heap.poll;
        let Some(first) = self.one_round(head, start)? else { return Ok(None) };
        let steps = (before - self.world.heap.poll).max(1) as u64;
        let end = End { values: &first.values, stores: &first.stores, mark: start.mark };
        let Some(mut state) = State::compare(&self.world, &roots, &end) else { return Ok(None) };
        for _ in 0..TRIES {
            self.forget(start);
            let Some(recording) = &self.world.recording else { return Ok(None) };
            let recorder = &recording.recorder;
            let (leaves, from, guards) = (recorder.leaf_count(), recorder.len(), recorder.guard_count());
            let nodes = self.world.leaves_for(&state);
            let values: Vec<Value> = nodes.iter().map(|&(_, v)| v).collect();
            let (roots, words) = state.with(&mut self.world, &values);
            // The round begins with these: what it writes is told from them.
            let logged = self.world.heap.log_stores();
            words.into_iter().for_each(|(store, word)| self.world.heap.redo_store(store, word));
            self.set_roots(head, &roots);
            let again = self.save(arguments(head));
            let round = self.one_round(head, &again);
            let found = match &round {
                Ok(Some(round)) => {
                    let end = End { values: &round.values, stores: &round.stores, mark: again.mark };
                    state.end(&self.world, &values, &roots, &end)
                }
                _ => None,
            };
            self.world.heap.undo_stores(logged, start.mark);
            round?;
            let ends = match found {
                Some(Found::Numbers(ends)) => self.world.end_nodes(&state, &ends),
                Some(Found::More) => {
                    self.drop_leaves(from, guards, leaves);
                    continue;
                }
                None => None,
            };
            let Some(end) = ends else {
                self.drop_leaves(from, guards, leaves);
                return Ok(None);
            };
            let round = Round { from, guards, start: nodes.iter().map(|n| n.0).collect(), end };
            let tests = self.world.places_of_guards(guards);
            let Some(recording) = &mut self.world.recording else { return Ok(None) };
            let cut = recording.recorder.cut_round(&round, leaves);
            return Ok(cut.map(|(body, shared)| NewState { state, body, shared, steps, tests }));
        }
        Ok(None)
    }

    fn drop_leaves(&mut self, from: usize, guards: usize, leaves: usize) {
        if let Some(recording) = &mut self.world.recording {
            recording.recorder.truncate(from);
            recording.recorder.truncate_guards(guards);
            recording.recorder.truncate_leaves(leaves);
        }
    }

    /// Runs from the head until it is reached again.
    fn one_round(&mut self, head: Head, start: &Start) -> Result<Option<Outcome>, Error> {
        let (stops, entries, pc) = match head {
            // At the head of a loop around this one, registers change that are no state of this one.
            Head::Label(pc) => {
                let around = self.codes[start.code as usize].code.labels.iter().filter(|l| l.0 < pc);
                let around = around.map(|l| (l.0, Vec::new()));
                (around.chain([(pc, self.label_registers(head))]).collect(), Entries::None, pc)
            }
            Head::Entry(_) => (Vec::new(), Entries::Only(self.stack[self.fp - 1]), 0),
        };
        let arms = Arms {
            level: start.fp,
            code: start.code,
            stops,
            end: None,
            entries,
            depth: self.arms.depth + 1,
            at_start: true,
            since: self.world.time(),
            speculative: self.arms.speculative,
            left: None,
            // What a round decides ends the loop: there is nothing to choose in it.
            dead: false,
            undecided: false,
            aim: None,
        };
        let outer = std::mem::replace(&mut self.arms, arms);
        if let Head::Entry(n) = head {
            self.take_rest(start.code, n);
        }
        let outcome = self.try_arm(start, pc as usize);
        self.arms = outer;
        let back = match head {
            Head::Label(pc) => ArmEnd::At(pc),
            Head::Entry(_) => ArmEnd::Enter,
        };
        Ok(outcome?.filter(|o| o.end == back))
    }

    /// Puts the loop on the tape and its last state into the machine.
    fn add_loop(&mut self, head: Head, new: NewState, since: usize) -> Result<Option<u64>, Error> {
        let NewState { state, body, shared, steps, tests } = new;
        let Some(first) = self.world.start_nodes(&state)? else { return Ok(None) };
        let Some(recording) = &mut self.world.recording else { return Ok(None) };
        let Some(repeat) = recording.recorder.repeat(body, shared, first, since) else { return Ok(None) };
        let limit = self.fuel_left() / steps;
        let operands: Vec<NodeId> = repeat.first.iter().chain(&repeat.shared).copied().collect();
        let Some(recording) = &mut self.world.recording else { return Ok(None) };
        let recorder = &mut recording.recorder;
        let bits: Vec<u64> = operands.iter().flat_map(|&o| recorder.elements(o).iter().copied()).collect();
        let kind = LoopKind::Forward { limit };
        let body = std::sync::Arc::new(repeat.body.clone());
        let mut l = dmci_tape::Loop { body, states: repeat.first.len() as u32, kind, first: 0, count: 0 };
        if self.arms.speculative {
            l.kind = LoopKind::Forward { limit: limit.min(SPECULATIVE_ROUNDS) };
        }
        let mut stopped = None;
        let end = self.run_lane(&l, &bits, &mut stopped);
        if let Some(error) = stopped {
            return Err(error);
        }
        let Some(end) = end else { return Ok(None) };
        if self.arms.speculative && !end.finished {
            return Err(self.leave_arm("a loop in it does not end soon"));
        }
        if end.finished && end.rounds == 0 {
            return Ok(None);
        }
        self.world.spend((end.rounds.saturating_mul(steps)).min(i64::MAX as u64 / 4) as usize);
        if !end.finished {
            self.account()?;
        }
        let body = repeat.body.clone();
        let Some(recording) = &mut self.world.recording else { return Ok(None) };
        let recorder = &mut recording.recorder;
        let of = recorder.push_loop(NewLoop { body, kind, operands }, Some(&end));
        recorder.guard(of);
        self.world.note_loop(tests, end.rounds);
        let numbers = self.world.numbers_of(&state, &repeat, of)?;
        let (roots, words) = state.with(&mut self.world, &numbers);
        words.into_iter().for_each(|(store, word)| self.world.heap.redo_store(store, word));
        self.set_roots(head, &roots);
        Ok(Some(end.rounds))
    }

    /// Runs a loop in the recorded lane.
    fn run_lane(&mut self, l: &dmci_tape::Loop, bits: &[u64], stopped: &mut Option<Error>) -> Option<LoopEnd> {
        l.run_lane(bits, &mut || match self.check_time() {
            Ok(()) => true,
            Err(error) => {
                *stopped = Some(error);
                false
            }
        })
    }
}

impl World {
    /// A leaf for each number of a state.
    fn leaves_for(&mut self, state: &State) -> Vec<(NodeId, Value)> {
        let mut leaves = Vec::with_capacity(state.numbers.len());
        for number in &state.numbers {
            let plain = self.plain(number.value);
            let bits: Vec<u64> = match (self.heap.as_tensor(plain), number.ty) {
                (Some((_, elements)), _) => elements.to_vec(),
                (None, Type::Bool) => vec![plain.is_true() as u64],
                (None, Type::Int) => vec![plain.as_fixnum().unwrap_or(0) as u64],
                (None, Type::Real) => vec![self.fit(plain).as_real().unwrap_or(f64::NAN).to_bits()],
            };
            let Some(recording) = &mut self.recording else { return leaves };
            let node = recording.recorder.local(number.ty, number.shape, &bits);
            leaves.push((node, self.traced_value(node, plain)));
        }
        leaves
    }

    /// The nodes of the numbers that a state begins with; `None` if one cannot be on a tape.
    fn start_nodes(&mut self, state: &State) -> Result<Option<Vec<NodeId>>, Error> {
        let values: Vec<Value> = state.numbers.iter().map(|n| n.value).collect();
        self.nodes_of(state, &values)
    }

    /// The nodes of the numbers that a round ends with; `None` if one cannot be on a tape.
    fn end_nodes(&mut self, state: &State, values: &[Value]) -> Option<Vec<NodeId>> {
        self.nodes_of(state, values).ok().flatten()
    }

    fn nodes_of(&mut self, state: &State, values: &[Value]) -> Result<Option<Vec<NodeId>>, Error> {
        let mut nodes = Vec::with_capacity(values.len());
        for (number, &value) in state.numbers.iter().zip(values) {
            let node = match number.ty {
                Type::Bool => Some(self.boolean_or_constant(value)?),
                Type::Int => self.int_node(value)?,
                Type::Real => Some(self.value_node(value)?),
            };
            let Some(node) = node else { return Ok(None) };
            nodes.push(node);
        }
        Ok(Some(nodes))
    }

    /// The numbers that a loop ends with.
    fn numbers_of(&mut self, state: &State, repeat: &Repeat, of: NodeId) -> Result<Vec<Value>, Error> {
        let mut numbers = Vec::with_capacity(state.numbers.len());
        for (i, number) in state.numbers.iter().enumerate() {
            let Some(recording) = &mut self.recording else {
                return Err(Diagnostic::error(ErrorCode::E9901, "there is no tape"));
            };
            let node = recording.recorder.end_of(repeat, of, i);
            let bits = recording.recorder.elements(node).to_vec();
            let plain = match number.ty {
                Type::Bool => Value::boolean(bits[0] != 0),
                Type::Int => Value::fixnum(bits[0] as i64),
                Type::Real => self.plain_value(number.shape, &bits)?,
            };
            numbers.push(self.traced_value(node, plain));
        }
        Ok(numbers)
    }
}
