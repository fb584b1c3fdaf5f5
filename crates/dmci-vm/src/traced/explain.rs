//! What became of the decisions of a recording, place by place, and why nothing better.
//!
//! Pinned numbers are always noted, since they make warnings. The rest takes time and is noted when
//! somebody wants an explanation ([`World::explain`]).

use super::Recording;
use crate::world::World;
use dmci_ops::Op;
use dmci_tape::{Node, NodeId};
use dmci_value::{SpanId, Value};

/// What became of one decision.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Note {
    /// Both arms were recorded, and met.
    Joined,
    /// The path depends on it.
    Guarded,
    /// The path depends on something that an operation on exact integers needs: that a result fits, that
    /// a division comes out even, that an index is inside.
    Checked,
    /// The path depends on the very value of a number; what needed it.
    Pinned(&'static str),
    /// It ends a loop that was recorded once, and that had so many rounds.
    Looped(u64),
    /// Its arms were not joined, or the rounds that it ends are no loop; why.
    Parted(String),
}

/// What became of the decisions at one place of the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decided {
    /// How often both arms were recorded, and met.
    pub joined: u64,
    /// How often it ends a loop of which one round was recorded.
    pub looped: u64,
    /// How many rounds these loops had in the lanes that were walked.
    pub rounds: u64,
    /// How often the path depends on the outcome.
    pub guarded: u64,
    /// How often it depends on what exact integers need: that a result fits, for example.
    pub checked: u64,
    /// How often it depends on the very value of a number.
    pub pinned: u64,
    /// What needed the value.
    pub pinned_by: Vec<&'static str>,
    /// Why arms were not joined or rounds are no loop, each with how often.
    pub reasons: Vec<(String, u64)>,
}

impl Decided {
    fn add(&mut self, note: Note) {
        match note {
            Note::Joined => self.joined += 1,
            Note::Looped(rounds) => {
                self.looped += 1;
                self.rounds += rounds;
            }
            Note::Guarded => self.guarded += 1,
            Note::Checked => self.checked += 1,
            Note::Pinned(by) => {
                self.pinned += 1;
                if !self.pinned_by.contains(&by) {
                    self.pinned_by.push(by);
                }
            }
            Note::Parted(why) => self.reason(&why, 1),
        }
    }

    fn reason(&mut self, why: &str, count: u64) {
        match self.reasons.iter_mut().find(|r| r.0 == why) {
            Some(reason) => reason.1 += count,
            None => self.reasons.push((why.to_string(), count)),
        }
    }

    /// Adds what became of the same place in another recording.
    pub fn merge(&mut self, other: &Decided) {
        self.joined += other.joined;
        self.looped += other.looped;
        self.rounds += other.rounds;
        self.guarded += other.guarded;
        self.checked += other.checked;
        self.pinned += other.pinned;
        for by in &other.pinned_by {
            if !self.pinned_by.contains(by) {
                self.pinned_by.push(by);
            }
        }
        other.reasons.iter().for_each(|(why, count)| self.reason(why, *count));
    }
}

/// What became of the decisions of a recording, by place in the order of the first one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    /// By place.
    pub places: Vec<(SpanId, Decided)>,
    /// Notes of the operation that is running, whose place is not known yet.
    pending: Vec<Note>,
}

impl Explanation {
    pub(crate) fn note(&mut self, place: SpanId, note: Note) {
        let i = self.places.iter().position(|p| p.0 == place).unwrap_or_else(|| {
            self.places.push((place, Decided::default()));
            self.places.len() - 1
        });
        self.places[i].1.add(note);
    }

    /// The operation that is running is at this place.
    pub(crate) fn settle(&mut self, place: SpanId) {
        self.name_pins("the operation");
        for note in std::mem::take(&mut self.pending) {
            self.note(place, note);
        }
    }

    /// The primitive that is running is what pinned numbers.
    pub(super) fn name_pins(&mut self, name: &'static str) {
        for note in &mut self.pending {
            if let Note::Pinned(by) = note
                && by.is_empty()
            {
                *by = name.trim_start_matches('%');
            }
        }
    }
}

impl Recording {
    /// Notes what became of a decision on a boolean node, at the place of the test.
    pub(crate) fn note_decision(&mut self, node: NodeId, note: Note) {
        match SpanId(self.recorder.place_of(node)) {
            SpanId(0) => self.explanation.pending.push(note),
            place => self.explanation.note(place, note),
        }
    }
}

impl World {
    /// From now on everything that is recorded is given its place in the text, and what becomes of
    /// decisions is noted. That takes time.
    pub fn explain(&mut self) {
        self.explaining = true;
        self.placing = true;
    }

    /// Notes what became of a boolean node, if anybody wants to know.
    pub(super) fn note_guard(&mut self, node: NodeId, note: Note) {
        if self.explaining
            && let Some(recording) = &mut self.recording
        {
            recording.note_decision(node, note);
        }
    }

    /// Notes that a number was pinned; its place and what needs it follow.
    pub(super) fn note_pin(&mut self, by: &'static str) {
        if let Some(recording) = self.recording.as_mut().filter(|r| r.wanted) {
            recording.explanation.pending.push(Note::Pinned(by));
            self.placing = true;
        }
    }

    /// What pinned the numbers that were pinned last.
    pub(super) fn name_pins(&mut self, by: &'static str) {
        if let Some(recording) = &mut self.recording {
            recording.explanation.name_pins(by);
        }
    }

    /// Notes that both arms of a decision were recorded, and met.
    pub(crate) fn note_joined(&mut self, test: Value) {
        if let Some(node) = self.node_of(test) {
            self.note_guard(node, Note::Joined);
        }
    }

    /// The places of guards from one on, each once, if anybody wants to know.
    pub(crate) fn places_of_guards(&self, from: usize) -> Vec<SpanId> {
        let Some(recording) = self.recording.as_ref().filter(|_| self.explaining) else { return Vec::new() };
        let recorder = &recording.recorder;
        let mut places: Vec<SpanId> = Vec::new();
        for guard in recorder.tape().guards.iter().skip(from) {
            // That a counter fits is no test of the program.
            if let Node::Op(Op::IntFits | Op::IntMulFits, _) = recorder.tape().nodes[guard.node.0 as usize] {
                continue;
            }
            let place = SpanId(recorder.place_of(guard.node));
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// Notes a loop of so many rounds that the tests at these places end.
    pub(crate) fn note_loop(&mut self, tests: Vec<SpanId>, rounds: u64) {
        if let Some(recording) = &mut self.recording {
            tests.into_iter().for_each(|place| recording.explanation.note(place, Note::Looped(rounds)));
        }
    }

    /// Notes why the rounds that a test ends are no loop.
    pub(crate) fn note_no_loop(&mut self, test: Option<NodeId>) {
        let why = self.why_parted.take().unwrap_or_else(|| "its rounds differ in more than numbers".into());
        if let Some(node) = test {
            self.note_guard(node, Note::Parted(format!("no loop: {}", why.replace("an arm", "a round"))));
        }
    }

    /// Notes why the arms of a decision were not joined.
    pub(crate) fn note_parted(&mut self, test: Value, why: impl FnOnce() -> String) {
        if self.explaining
            && let Some(node) = self.node_of(test)
            && let Some(recording) = &mut self.recording
        {
            recording.note_decision(node, Note::Parted(why()));
        }
    }
}
