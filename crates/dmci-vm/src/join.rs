//! Joins: both arms of a decision on a traced boolean are recorded from the same state of the
//! machine, and go on as one where they meet again.
//!
//! An arm ends where its frame returns, where it enters a procedure of the program in place of its
//! frame, at the head of a loop around the decision, or where the compiler knows that both arms go
//! on. If both end at the same place, without output and errors, and the values that they pass and
//! the stores that they made differ only in numbers and booleans, these become selections by the
//! boolean. Anything else stays a guard, and the machine is as if nothing had been tried.
//!
//! In the arm that the recorded lane does not take, its numbers decide nothing: a decision there that cannot be
//! joined may go either way, since its guard concerns only lanes that take the arm (`join/choice.rs`).

use crate::calls::Step;
use crate::loops::{Head, WASTE, WASTE_SHARE};
use crate::machine::Vm;
use crate::traced::{Ending, Explanation};
use crate::world::NAMED;
use dmci_compile::bytecode::Reg;
use dmci_tape::NodeId;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Fault, Store, Value};

mod choice;
mod merge;

use choice::Place;

/// Calls and loop edges of both arms together, with all decisions inside.
const BUDGET: i64 = 3000;

/// Nodes that the arms of one decision may record.
const MOST_NODES: usize = 4096;

/// Decisions inside of arms inside of arms ...
const DEEPEST: u32 = 12;

/// A decision whose arms did not meet so often is a guard from then on.
const PATIENCE: u32 = 3;

/// Where an arm ended, and the values that it passes on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum End {
    /// Its frame returns.
    Return,
    /// It enters a procedure in place of its frame: the procedure, then the arguments.
    Enter,
    /// It comes to an instruction of its frame.
    At(u32),
}

impl End {
    /// Why arms that end here and there cannot be joined.
    fn differs_from(&self, other: &End) -> String {
        let place = |end: &End| match end {
            End::Return => "returns",
            End::Enter => "calls a procedure in its place",
            End::At(_) => "goes on in the same procedure",
        };
        let (a, b) = (place(self), place(other));
        if a == b { "the arms go on at different places".into() } else { format!("one arm {a}, the other {b}") }
    }
}

/// Arms that are being tried: the innermost.
#[derive(Clone, Debug)]
pub(crate) struct Arms {
    /// The frame of the decision; no frame if none is tried.
    pub level: usize,
    pub code: u32,
    /// Instructions at which it ends, with the registers of what it passes on.
    pub stops: Vec<(u32, Vec<Reg>)>,
    pub end: Option<(End, Vec<Value>)>,
    pub entries: Entries,
    pub depth: u32,
    /// It is still where it began: that is no end.
    pub at_start: bool,
    /// When it began.
    pub since: u64,
    /// It may be the arm that the recorded lane does not take, and never end.
    pub speculative: bool,
    /// Why it was left before an end that can be joined ([`Vm::leave_arm`]).
    pub left: Option<&'static str>,
    /// The recorded lane does not take it.
    pub dead: bool,
    /// In a dead arm, a decision became a guard.
    pub undecided: bool,
    /// Where dead arms should end.
    pub aim: Option<Place>,
}

/// Procedures at whose entry an arm ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Entries {
    /// All of the program's.
    All,
    /// This one.
    Only(Value),
    /// This one, but not the first time.
    Again(Value),
    /// None.
    None,
}

impl Default for Arms {
    fn default() -> Self {
        Arms {
            level: usize::MAX,
            code: 0,
            stops: Vec::new(),
            end: None,
            entries: Entries::All,
            depth: 0,
            at_start: false,
            since: 0,
            speculative: false,
            left: None,
            dead: false,
            undecided: false,
            aim: None,
        }
    }
}

impl Arms {
    /// Whether an arm is running.
    pub fn running(&self) -> bool {
        self.level != usize::MAX
    }

    /// Whether the arm ends at this instruction.
    pub fn stops_at(&mut self, code: u32, pc: usize) -> bool {
        let at_start = std::mem::take(&mut self.at_start);
        !at_start && code == self.code && self.stops.iter().any(|s| s.0 as usize == pc)
    }
}

/// What came of both arms.
enum Tried {
    /// They met, and pass on these values.
    Met(End, Vec<Value>),
    /// They did not; where each of them ended.
    Parted([Option<Place>; 2]),
}

/// What an arm did.
pub(crate) struct Outcome {
    pub end: End,
    pub values: Vec<Value>,
    pub stores: Vec<Store>,
    guards: std::ops::Range<usize>,
    nodes: std::ops::Range<usize>,
}

/// The state from which both arms start.
pub(crate) struct Start {
    pub fp: usize,
    pc: usize,
    pub code: u32,
    frame: Vec<Value>,
    random: u64,
    output: usize,
    handlers: Value,
    winders: Value,
    stores: usize,
    pub mark: usize,
    nodes: usize,
    guards: usize,
    explanation: Explanation,
}

impl Vm {
    /// Leaves an arm that cannot be joined. The error unwinds to [`Vm::try_arm`], which knows by `Arms::left` that
    /// nothing has failed; no program and no report ever sees it.
    pub(crate) fn leave_arm(&mut self, why: &'static str) -> Error {
        self.arms.left = Some(why);
        Diagnostic::error(ErrorCode::E9901, why)
    }

    /// Whether a procedure is one of the program's, at whose entry arms may meet.
    pub(crate) fn may_meet(&self, word: u64) -> bool {
        match self.arms.entries {
            Entries::All => word & NAMED != 0 || self.codes[(word & 0xFF_FFFF) as usize].user,
            Entries::Only(procedure) => self.stack[self.fp - 1] == procedure,
            Entries::Again(_) | Entries::None => false,
        }
    }

    /// Notes that an arm goes on in the procedure of its frame.
    pub(crate) fn pass_entry(&mut self) {
        if let Entries::Again(procedure) = self.arms.entries
            && self.fp == self.arms.level
            && self.stack[self.fp - 1] == procedure
        {
            self.arms.entries = Entries::Only(procedure);
        }
    }

    /// Ends an arm at the entry of the procedure in the frame.
    pub(crate) fn meet_at_entry(&mut self, n: usize) -> Step {
        let values = self.stack[self.fp - 1..self.fp + n].to_vec();
        self.arms.end = Some((End::Enter, values));
        Step::Done(Value::UNSPECIFIED)
    }

    /// Ends an arm with the value that its frame returns.
    pub(crate) fn meet_at_return(&mut self, v: Value) -> Step {
        self.arms.end = Some((End::Return, vec![v]));
        Step::Done(Value::UNSPECIFIED)
    }

    /// Ends an arm at an instruction.
    pub(crate) fn meet_here(&mut self, pc: usize) -> Value {
        let stop = self.arms.stops.iter().find(|s| s.0 as usize == pc);
        let values = stop.map_or(Vec::new(), |s| s.1.iter().map(|&r| self.stack[self.fp + r as usize]).collect());
        self.arms.end = Some((End::At(pc as u32), values));
        Value::UNSPECIFIED
    }

    /// Tries to join the arms of the branch at `branch`, which goes on behind it if `test` is true and
    /// at `no` otherwise. `None` if that cannot be done.
    pub(crate) fn join(&mut self, test: Value, branch: usize, no: usize) -> Result<Option<Step>, Error> {
        let key = self.decision_key(branch);
        let Some(recording) = &self.world.recording else { return Ok(None) };
        // Where dead arms look for their end, every decision is tried.
        let looking = self.arms.dead && self.arms.aim.is_some();
        let chosen = recording.chosen.contains(&key);
        let wasteful = recording.wasted_on_arms > WASTE + self.steps() / WASTE_SHARE && !recording.met.contains(&key);
        let parted_often = recording.parted.get(&key).is_some_and(|&n| n >= PATIENCE);
        let tired = !looking && !chosen && (parted_often || wasteful && !self.arms.running());
        if self.arms.depth >= DEEPEST || tired {
            self.arms.undecided |= self.arms.dead;
            if self.arms.depth >= DEEPEST {
                self.world.note_parted(test, || format!("decisions are nested deeper than {DEEPEST}"));
            } else if !parted_often {
                self.world.note_parted(test, || "too much was spent on arms that do not meet to try these".into());
            }
            return Ok(None);
        }
        let Some(node) = self.world.boolean_node(test)? else { return Ok(None) };
        let outermost = !self.arms.running();
        if outermost {
            // Nothing may move while arms run, and their steps must fit into what is left.
            if self.world.heap.wants_collection() {
                self.world.heap.postpone_collection();
            }
            if self.world.heap.poll < BUDGET {
                self.account()?;
            }
        }
        let poll = self.world.heap.poll;
        if outermost {
            if poll < BUDGET {
                self.world.note_parted(test, || "there was no fuel left to try both arms".into());
                return Ok(None);
            }
            self.world.heap.poll = BUDGET;
        }
        let start = self.save(0);
        let Some(recording) = &mut self.world.recording else { return Ok(None) };
        // The same decision inside of its own arm: a loop leads back to it.
        let again = recording.trying.contains(&key);
        recording.trying.push(key);
        let arms = self.arms_of(&start, branch);
        let outer = std::mem::replace(&mut self.arms, arms);
        (self.arms.depth, self.arms.since) = (outer.depth + 1, self.world.time());
        (self.arms.dead, self.arms.aim) = (outer.dead, outer.aim.clone());
        let (pcs, mut renewed) = ((branch + 1, no), 0);
        let (chosen, may_choose) = (chosen && !again && outer.aim.is_none(), !again && outer.aim.is_none());
        let mut joined = if chosen { Ok(Tried::Parted([None, None])) } else { self.try_arms(node, &start, pcs) };
        let parted = |joined: &Result<Tried, Error>| matches!(joined, Ok(Tried::Parted(_)));
        if parted(&joined) && may_choose && (chosen || self.arms.undecided) {
            if outermost {
                renewed = BUDGET - self.world.heap.poll;
                self.world.heap.poll = BUDGET;
            }
            joined = self.try_choices(node, &start, pcs, key);
        }
        if let Ok(Tried::Parted(places)) = &joined
            && let Some(procedure) = places.iter().flatten().find_map(|place| place.procedure)
            && !again
            && outer.choice(places).is_none()
        {
            // One arm may call where the other one returns: then both return in the end, unless the call
            // is the next round of a loop.
            self.forget(&start);
            self.arms.entries = Entries::Again(procedure);
            joined = self.try_arms(node, &start, pcs);
        }
        if let Some(recording) = &mut self.world.recording {
            recording.trying.pop();
        }
        let undecided = self.arms.undecided;
        self.arms = outer;
        self.arms.undecided |= undecided && self.arms.dead;
        if outermost {
            let spent = renewed + BUDGET - self.world.heap.poll;
            self.world.heap.poll = (poll - spent).max(0);
            self.world.heap.forget_stores();
            if let (Ok(Tried::Parted(_)), Some(recording)) = (&joined, &mut self.world.recording) {
                recording.wasted_on_arms += spent.max(0) as u64;
            }
        }
        let (end, values) = match joined? {
            Tried::Met(end, values) => (end, values),
            Tried::Parted(places) => {
                self.forget(&start);
                self.arms.undecided |= self.arms.dead;
                let why = self.world.why_parted.take();
                self.world.note_parted(test, || why.unwrap_or_else(|| "its arms do not meet".into()));
                if let Some(recording) = &mut self.world.recording {
                    *recording.parted.entry(key).or_default() += 1;
                }
                return self.choose(test, &places, pcs);
            }
        };
        self.world.note_joined(test);
        if let Some(recording) = &mut self.world.recording {
            recording.met.insert(key);
        }
        self.go_on(&start, end, &values).map(Some)
    }

    /// Runs both arms and makes one state of what they did, if they end at the same place.
    fn try_arms(&mut self, test: NodeId, start: &Start, (yes, no): (usize, usize)) -> Result<Tried, Error> {
        let (entries, dead) = (self.arms.entries, self.arms.dead);
        let taken = self.world.recording.as_ref().is_some_and(|r| r.recorder.bits(test) != 0);
        let mut outcomes = [None, None];
        for (arm, (pc, is_yes)) in outcomes.iter_mut().zip([(yes, true), (no, false)]) {
            (self.arms.entries, self.arms.dead) = (entries, dead || taken != is_yes);
            *arm = self.try_arm(start, pc)?;
            // Where dead arms look for their end, it has to be known which of them have one.
            if arm.is_none() && self.arms.aim.is_none() {
                break;
            }
        }
        self.arms.dead = dead;
        if let [Some(yes), Some(no)] = &outcomes {
            if yes.end != no.end {
                self.world.why_parted = Some(yes.end.differs_from(&no.end));
            } else if let Some(values) = self.merge(test, start, yes, no) {
                return Ok(Tried::Met(yes.end.clone(), values));
            }
        }
        Ok(Tried::Parted(outcomes.map(|arm| arm.map(|arm| Place::of(&arm, start)))))
    }

    /// Forgets what arms have recorded.
    pub(crate) fn forget(&mut self, start: &Start) {
        self.restore(start);
        if let Some(recording) = &mut self.world.recording {
            recording.recorder.truncate(start.nodes);
            recording.recorder.truncate_guards(start.guards);
            recording.explanation = start.explanation.clone();
        }
    }

    /// What a decision is known by: its place in the code, and the procedure that runs it, since the
    /// evaluator has one procedure for each `if` of the program.
    fn decision_key(&mut self, branch: usize) -> u64 {
        let procedure = self.stack[self.fp - 1].as_closure();
        let identity = match procedure {
            Some(r) if !self.codes[self.code as usize].user => self.world.heap.identity(r),
            _ => 0,
        };
        (identity as u64) << 40 ^ (self.code as u64) << 20 ^ branch as u64
    }

    /// What a procedure is known by: its code if that is the program's own. The evaluator makes a procedure anew
    /// wherever the program has a `lambda`, but the body inside of it only once.
    pub(crate) fn procedure_identity(&mut self, r: dmci_value::Ref) -> u64 {
        let code = self.world.heap.field(r, 0).packed_bits() & 0xFF_FFFF;
        let body = self.world.heap.fields(r).skip(1).find_map(Value::as_closure);
        let known = if self.codes[code as usize].user { 0 } else { self.world.heap.identity(body.unwrap_or(r)) };
        (known as u64) << 24 | code
    }

    /// The state with so many arguments, which may be more than there are registers.
    pub(crate) fn save(&mut self, arguments: usize) -> Start {
        let registers = (self.codes[self.code as usize].code.registers as usize).max(arguments);
        let end = (self.fp + registers).min(self.stack.len());
        let heap = &mut self.world.heap;
        let (nodes, guards) =
            self.world.recording.as_ref().map_or((0, 0), |r| (r.recorder.len(), r.recorder.guard_count()));
        Start {
            fp: self.fp,
            pc: self.pc,
            code: self.code,
            frame: self.stack[self.fp - 3..end].to_vec(),
            random: self.world.random,
            output: self.world.output.text.len(),
            handlers: self.world.handlers,
            winders: self.world.winders,
            stores: heap.log_stores(),
            mark: heap.mark(),
            nodes,
            guards,
            explanation: self.world.recording.as_ref().map_or(Explanation::default(), |r| r.explanation.clone()),
        }
    }

    pub(crate) fn restore(&mut self, start: &Start) {
        (self.fp, self.pc, self.code) = (start.fp, start.pc, start.code);
        self.stack[start.fp - 3..start.fp - 3 + start.frame.len()].copy_from_slice(&start.frame);
        self.world.random = start.random;
        self.world.output.truncate(start.output);
        self.world.handlers = start.handlers;
        self.world.winders = start.winders;
        self.world.error_place = None;
        // Where arms begin, no error is on its way: one that ended an arm says nothing about the path.
        self.world.shown.get_mut().clear();
        if let Some(recording) = &mut self.world.recording {
            recording.ending = Ending::None;
        }
    }

    /// Where the arms of a branch may end inside of its frame.
    fn arms_of(&self, start: &Start, branch: usize) -> Arms {
        let code = &self.codes[start.code as usize].code;
        let around = code.labels.iter().filter(|l| l.0 as usize <= branch);
        let mut stops: Vec<(u32, Vec<Reg>)> = around.map(|l| (l.0, l.1.to_vec())).collect();
        if let Ok(i) = code.meetings.binary_search_by_key(&(branch as u32), |m| m.branch) {
            stops.push((code.meetings[i].at, vec![code.meetings[i].value]));
        }
        Arms { level: start.fp, code: start.code, stops, speculative: true, ..Arms::default() }
    }

    /// Runs an arm from an instruction of the decision's frame to its end; the machine is then as
    /// before, but for what was recorded and made. `None` if it has no end that can be joined; an error of the
    /// program or of a limit is met again where the arm is really taken, a bug of ours is reported at once.
    pub(crate) fn try_arm(&mut self, start: &Start, pc: usize) -> Result<Option<Outcome>, Error> {
        let (first, guards) =
            self.world.recording.as_ref().map_or((0, 0), |r| (r.recorder.len(), r.recorder.guard_count()));
        self.pc = pc;
        (self.arms.end, self.arms.left) = (None, None);
        let run = if self.world.numerics.single { self.run::<true, true>() } else { self.run::<false, true>() };
        let (end, left) = (self.arms.end.take(), self.arms.left.take());
        let printed = self.world.output.text.len() != start.output;
        let drew = self.world.random != start.random;
        let quiet = !printed && !drew && self.world.handlers == start.handlers && self.world.winders == start.winders;
        let stores = self.world.heap.undo_stores(start.stores, start.mark);
        self.restore(start);
        let (nodes, after) =
            self.world.recording.as_ref().map_or((0, 0), |r| (r.recorder.len(), r.recorder.guard_count()));
        if let Err(error) = &run
            && error.fault == Fault::Internal
            && left.is_none()
        {
            return Err(error.clone());
        }
        if self.world.explaining {
            self.world.why_parted = match &run {
                Err(_) if left.is_some() => left.map(String::from),
                Err(error) => Some(format!("an arm fails: {}", error.message)),
                Ok(_) if printed => Some("an arm prints".into()),
                Ok(_) if drew => Some("an arm draws random numbers".into()),
                Ok(_) if !quiet => Some("an arm changes handlers or winders".into()),
                Ok(_) if nodes - start.nodes > MOST_NODES => {
                    Some(format!("an arm records more than {MOST_NODES} operations"))
                }
                Ok(_) => None,
            };
        }
        let end = end.filter(|_| run.is_ok() && quiet && nodes - start.nodes <= MOST_NODES);
        Ok(end.map(|(end, values)| Outcome { end, values, stores, guards: guards..after, nodes: first..nodes }))
    }

    /// Makes one state of two: the values that are passed on, with the stores done.
    fn merge(&mut self, test: NodeId, start: &Start, yes: &Outcome, no: &Outcome) -> Option<Vec<Value>> {
        if yes.values.len() != no.values.len() {
            return None;
        }
        if let Some(recording) = &mut self.world.recording {
            recording.recorder.condition_guards(yes.guards.clone(), test, true);
            recording.recorder.condition_guards(no.guards.clone(), test, false);
            recording.recorder.condition_loops(yes.nodes.clone(), test, true);
            recording.recorder.condition_loops(no.nodes.clone(), test, false);
        }
        let mut merger = merge::Merger::new(&mut self.world, test, start.mark);
        let pairs = yes.values.iter().zip(&no.values);
        let values = pairs.map(|(&a, &b)| merger.value(a, b)).collect::<Option<Vec<_>>>();
        let Some(values) = values else {
            self.world.why_parted = Some(merger.why("give"));
            return None;
        };
        let Some(stores) = merger.stores(&yes.stores, &no.stores) else {
            self.world.why_parted = Some(merger.why("store"));
            return None;
        };
        for (store, word) in stores {
            self.world.heap.redo_store(store, word);
        }
        Some(values)
    }

    /// Goes on behind the arms.
    fn go_on(&mut self, start: &Start, end: End, values: &[Value]) -> Result<Step, Error> {
        self.restore(start);
        match end {
            End::Return => Ok(self.return_value(values[0])),
            End::Enter => {
                let need = self.fp + values.len() + 1;
                if need > self.stack.len() {
                    self.grow_stack(need)?;
                }
                self.stack[self.fp - 1..self.fp - 1 + values.len()].copy_from_slice(values);
                self.enter(values.len() - 1, true)
            }
            End::At(pc) => {
                let stops = self.arms_of(start, start.pc).stops;
                let registers = stops.iter().find(|s| s.0 == pc).map_or(&[][..], |s| &s.1);
                for (&r, &v) in registers.iter().zip(values) {
                    self.stack[start.fp + r as usize] = v;
                }
                self.pc = pc as usize;
                // Both arms went back to the head of a loop, and so does what they have become.
                if self.world.loops && self.codes[start.code as usize].code.labels.iter().any(|l| l.0 == pc) {
                    self.at_head(Head::Label(pc))?;
                }
                Ok(Step::Go)
            }
        }
    }
}
