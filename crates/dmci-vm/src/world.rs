//! The world of one evaluation: everything primitives may see or change. The VM's stack is not in it,
//! so a primitive can read its arguments from the stack while it changes the world.

use crate::environment::Environments;
use crate::limits::{Cancel, Numerics};
use crate::traced::{Choices, LaneText, Piece, Recording};
use dmci_syntax::printer;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, Kind, Place, Value};
use std::cell::RefCell;
use std::sync::Arc;

/// What primitives work on.
#[derive(Debug)]
pub struct World {
    /// Values, symbols, sources, places.
    pub heap: Heap,
    /// Captured output.
    pub output: Output,
    /// Global environments.
    pub environments: Environments,
    /// State of `random`.
    pub random: u64,
    /// Settings and noise of `soft-choice`.
    pub choices: Choices,
    /// Exception handlers, innermost first.
    pub handlers: Value,
    /// Active `dynamic-wind`s, innermost first.
    pub winders: Value,
    /// Where the error is that a primitive is about to report, if it knows better than the machine.
    pub error_place: Option<Place>,
    /// Set by others to stop the run; the machine looks between calls, long primitives inside.
    pub cancel: Cancel,
    /// How numbers are computed.
    pub numerics: Numerics,
    /// Both arms of a decision on a traced boolean are recorded where they meet again.
    pub joins: bool,
    /// Rounds of a loop are recorded once where that can be.
    pub loops: bool,
    /// They are taken for a loop as soon as they can be, though there may be few of them.
    pub early_loops: bool,
    /// Something waits for its place in the text.
    pub(crate) placing: bool,
    /// Everything that is recorded is given its place, and what becomes of decisions is noted.
    pub(crate) explaining: bool,
    /// Why the arms that were tried last were not joined.
    pub(crate) why_parted: Option<String>,
    /// The tape, while there is one.
    pub recording: Option<Box<Recording>>,
    /// Traced numbers that the error on its way depends on, or shows.
    pub(crate) shown: RefCell<Vec<Value>>,
    /// All errors of the last expansion that failed; the first of them is the one that was raised.
    pub syntax_errors: Vec<Diagnostic>,
    /// Names of procedures by code number.
    pub procedure_names: Vec<Option<Arc<str>>>,
}

/// Set in a closure's code word if it carries a name and an arity of its own (see `%named`).
pub const NAMED: u64 = 1 << 24;

impl World {
    /// Counts `steps` of work inside a primitive, so that long ones are stopped by the limits too.
    /// The VM looks up right after the primitive returns.
    pub fn spend(&mut self, steps: usize) {
        self.heap.poll -= steps as i64;
    }

    /// The error of a primitive that stopped because the alarm rang.
    #[cold]
    pub fn stopped(&self) -> Error {
        self.heap.stopped()
    }

    /// The name of a procedure.
    pub fn procedure_name(&self, v: Value) -> Option<String> {
        if let Some(p) = v.as_primitive() {
            return Some(crate::prims::table()[p as usize].name.into());
        }
        let r = self.heap.as_kind(v, Kind::Closure)?;
        let word = self.heap.field(r, 0).packed_bits();
        if word == 0 {
            // A `case-lambda`: its clauses have its name.
            return if self.heap.len(r) > 1 { self.procedure_name(self.heap.field(r, 1)) } else { None };
        }
        if word & NAMED != 0 {
            let name = self.heap.field(r, self.heap.len(r) - 2).as_symbol()?;
            return Some(self.heap.symbols.name(self.heap.symbols.base_of(name)).into());
        }
        self.procedure_names.get((word & 0xFF_FFFF) as usize)?.as_deref().map(str::to_string)
    }

    /// Text of a value as `write` prints it.
    pub fn written(&self, v: Value) -> String {
        self.printed(v, printer::Style::WRITE)
    }

    /// Text of a value as `display` prints it.
    pub fn display(&self, v: Value) -> String {
        self.printed(v, printer::Style::DISPLAY)
    }

    /// It ends somewhere if the alarm rings.
    fn printed(&self, v: Value, style: printer::Style) -> String {
        let names = |v| self.procedure_name(v);
        let stop = || self.heap.alarm.rings();
        printer::print(&self.heap, v, printer::Style { names: &names, stop: &stop, ..style })
    }
}

/// Captured output with its limit.
#[derive(Debug, Default)]
pub struct Output {
    /// What was printed so far.
    pub text: String,
    /// Traced numbers in it.
    pub(crate) pieces: Vec<Piece>,
    /// Largest size in bytes.
    pub limit: usize,
}

impl Output {
    /// Adds text; an error when the limit is passed.
    pub fn push(&mut self, text: &str) -> Result<(), Error> {
        if self.text.len() + text.len() > self.limit {
            return Err(Diagnostic::error(
                ErrorCode::E0404,
                format!("the program prints more than {} bytes", self.limit),
            )
            .help("print less, or raise the limit with ‹output_limit›"));
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Forgets what was printed after so many bytes.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
        while self.pieces.pop_if(|piece| piece.at.end > len).is_some() {}
    }

    /// What was printed, for all lanes of the path.
    pub fn lane_text(&mut self) -> LaneText {
        LaneText { text: std::mem::take(&mut self.text), pieces: std::mem::take(&mut self.pieces) }
    }
}
