//! Texts with traced numbers inside.
//!
//! What a program prints, and what it says in an error that nobody catches, it does not see again: such
//! texts keep their numbers as tape values, and every lane gets its own. A text that the program goes on
//! with, a string, has the digits of this lane: its numbers are pinned.

use crate::world::World;
use dmci_syntax::printer::{self, Style};
use dmci_tape::NodeId;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Value};
use std::cell::RefCell;
use std::ops::Range;

/// A number or boolean of the lane inside of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Where it stands, in bytes.
    pub at: Range<usize>,
    /// Its node on the tape.
    pub node: NodeId,
    /// It is the negation of a boolean node.
    pub negated: bool,
}

/// A text that is the same in all lanes of a path but for some pieces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaneText {
    /// The text in the lane that was walked.
    pub text: String,
    /// The pieces in order.
    pub pieces: Vec<Piece>,
}

impl LaneText {
    /// The text of another lane, whose pieces come in order.
    pub fn fill(&self, pieces: impl IntoIterator<Item = String>) -> String {
        let mut filled = String::with_capacity(self.text.len());
        let mut from = 0;
        for (piece, text) in self.pieces.iter().zip(pieces) {
            filled.push_str(&self.text[from..piece.at.start]);
            filled.push_str(&text);
            from = piece.at.end;
        }
        filled.push_str(&self.text[from..]);
        filled
    }
}

/// How the error of a run that failed depends on the lane.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Ending {
    /// There was none while the program ran.
    #[default]
    None,
    /// Every lane of the path has it, with its own numbers in these pieces of the message.
    OfPath(Vec<Piece>),
    /// Other lanes of the path may have another error, or none.
    OfLane,
}

/// Traced values that a text shows, with where they stand.
pub(crate) type Shown = Vec<(Value, Range<usize>)>;

impl World {
    /// The text of a value, for a place with room for so many bytes, and the traced numbers in it. It
    /// is longer than that if it was cut off.
    pub(crate) fn text_with_numbers(&self, v: Value, style: Style, room: usize) -> (String, Shown) {
        let names = |v| self.procedure_name(v);
        let stop = || self.heap.alarm.rings();
        let shown = RefCell::new(Shown::new());
        let traced = |v, at| shown.borrow_mut().push((v, at));
        let Style { write, sharing, .. } = style;
        let style = Style { write, sharing, names: &names, limit: room, stop: &stop, traced: &traced };
        (printer::print(&self.heap, v, style), shown.into_inner())
    }

    /// A text that the program goes on with: the numbers in it are pinned.
    pub fn text_of(&mut self, v: Value, style: Style, room: usize) -> Result<String, Error> {
        let (text, shown) = self.text_with_numbers(v, style, room);
        if self.heap.alarm.rang() {
            return Err(self.stopped());
        }
        if text.len() > room {
            return Err(Diagnostic::error(
                ErrorCode::E0404,
                format!("the text of a value is longer than {room} bytes"),
            )
            .help("print a part of it, or use write-shared if parts of it occur many times"));
        }
        self.pin_shown(&shown)?;
        Ok(text)
    }

    /// Pins the numbers that a text shows.
    pub(crate) fn pin_shown(&mut self, shown: &Shown) -> Result<(), Error> {
        shown.iter().try_for_each(|(v, _)| self.pin(*v).map(|_| ()))
    }

    /// The numbers of a text as pieces of a longer one that has `before` bytes in front of it; none if
    /// nobody wants the tape.
    pub(crate) fn pieces(&self, shown: Shown, before: usize) -> Vec<Piece> {
        let Some(recording) = self.recording.as_ref().filter(|r| r.wanted) else { return Vec::new() };
        let piece = |(v, at): (Value, Range<usize>)| {
            let node = self.node_of(v)?;
            let plain = self.plain(v);
            let negated = plain.is_boolean() && plain.is_true() != (recording.recorder.bits(node) != 0);
            Some(Piece { at: before + at.start..before + at.end, node, negated })
        };
        shown.into_iter().filter_map(piece).collect()
    }

    /// The text of an object that was raised and that nobody caught; the recording keeps its pieces.
    pub(crate) fn uncaught_text(&mut self, object: Value) -> String {
        let mut message = LaneText::default();
        match self.heap.as_condition(object) {
            Some(r) => {
                let (text, shown) = self.text_with_numbers(self.heap.condition_message(r), Style::DISPLAY, MOST_TEXT);
                message = LaneText { text, pieces: self.pieces(shown, 0) };
                for irritant in self.heap.list_items(self.heap.condition_irritants(r)).unwrap_or_default() {
                    message.text.push(' ');
                    self.append_brief(&mut message, irritant);
                }
            }
            None => {
                message.text.push_str("uncaught exception: ");
                self.append_brief(&mut message, object);
            }
        }
        if let Some(recording) = &mut self.recording {
            recording.ending = Ending::OfPath(message.pieces);
        }
        message.text
    }

    fn append_brief(&self, message: &mut LaneText, v: Value) {
        let shown = RefCell::new(Shown::new());
        let traced = |v, at| shown.borrow_mut().push((v, at));
        let (text, cut) = printer::brief_with(&self.heap, v, &|v| self.procedure_name(v), &traced);
        let shown = shown.into_inner();
        if cut {
            // Where a text is cut depends on the digits of its numbers.
            self.note_shown(&shown);
        }
        message.pieces.extend(self.pieces(shown, message.text.len()));
        message.text.push_str(&text);
    }

    /// Text of a value as `write` prints it, shortened for messages. The error that says it depends on
    /// the numbers in it.
    pub fn show(&self, v: Value) -> String {
        let shown = RefCell::new(Shown::new());
        let traced = |v, at| shown.borrow_mut().push((v, at));
        let (text, _) = printer::brief_with(&self.heap, v, &|v| self.procedure_name(v), &traced);
        self.note_shown(&shown.into_inner());
        text
    }

    fn note_shown(&self, shown: &Shown) {
        shown.iter().for_each(|(v, _)| self.note_operands(&[*v]));
    }

    /// Notes that the error on its way depends on those of the values that are traced.
    pub(crate) fn note_operands(&self, args: &[Value]) {
        if args.iter().any(|v| v.is_traced()) {
            self.shown.borrow_mut().extend(args.iter().filter(|&&v| self.node_of(v).is_some()));
        }
    }

    /// A result; if it is an error, it depends on these values.
    pub(super) fn noting<T>(&self, args: &[Value], result: Result<T, Error>) -> Result<T, Error> {
        if result.is_err() {
            self.note_operands(args);
        }
        result
    }

    /// An error goes to a handler: what the program does then depends on the numbers that it depends on.
    pub(crate) fn pin_noted(&mut self) -> Result<(), Error> {
        let mut noted = self.shown.take();
        if self.recording.as_ref().is_some_and(|r| r.wanted) {
            let mut seen = rustc_hash::FxHashSet::default();
            noted.retain(|&v| self.node_of(v).is_some_and(|node| seen.insert(node)));
            noted.into_iter().try_for_each(|v| self.pin(v).map(|_| ()))?;
            self.name_pins("the handler of an error");
        }
        Ok(())
    }

    /// The run ends with an error. It is that of every lane of the path if it depends on no numbers but
    /// those inside its message.
    pub fn end_with_error(&mut self) {
        let noted = self.shown.take();
        if let Some(recording) = &mut self.recording {
            if !noted.is_empty() {
                recording.ending = Ending::OfLane;
            } else if recording.ending == Ending::None {
                recording.ending = Ending::OfPath(Vec::new());
            }
        }
    }
}

/// Longest text of a message, in bytes.
const MOST_TEXT: usize = 16 << 20;
