//! What lanes print, and what their errors say: the text of the path with the numbers of the lane.

use super::Batch;
use super::path::Path;
use dmci_ops::{Shape, Type};
use dmci_syntax::printer::tensor_text;
use dmci_tape::Tape;
use dmci_value::num::{Number, format_number};
use dmci_vm::traced::LaneText;
use std::sync::Arc;

/// Numbers in what lanes print that one batch keeps; lanes beyond have no output.
const MOST_NUMBERS: usize = 8 << 20;

/// What the lanes of a batch printed.
#[derive(Debug, Default)]
pub(super) struct Printed {
    paths: Vec<Arc<Path>>,
    /// By lane: its path, counted from 1, and where its numbers begin. Empty if nothing was printed.
    lanes: Vec<(u32, usize)>,
    numbers: Vec<u64>,
}

impl Printed {
    /// Forgets the last call.
    pub fn clear(&mut self) {
        self.paths.clear();
        self.lanes.clear();
        self.numbers.clear();
    }

    /// Takes what a lane of a path printed; whether there was room for it.
    pub fn store(&mut self, path: &Arc<Path>, lane: usize, lanes: usize, numbers: &[u64]) -> bool {
        if self.numbers.len() + numbers.len() > MOST_NUMBERS {
            return false;
        }
        if self.paths.last().is_none_or(|last| !Arc::ptr_eq(last, path)) {
            self.paths.push(path.clone());
        }
        if self.lanes.is_empty() {
            self.lanes.resize(lanes, (0, 0));
        }
        self.lanes[lane] = (self.paths.len() as u32, self.numbers.len());
        self.numbers.extend_from_slice(numbers);
        true
    }

    fn text(&self, lane: usize) -> String {
        let Some(&(path, start)) = self.lanes.get(lane) else { return String::new() };
        let Some(path) = (path as usize).checked_sub(1).and_then(|i| self.paths.get(i)) else { return String::new() };
        fill(&path.printed, path.recorded_tape(), &mut self.numbers[start..].iter().copied())
    }
}

impl<N> Batch<N> {
    /// What the program printed in a lane; nothing if the options of the model say that output is not
    /// kept, or if there was too much of it ([`Batch::unkept`] says for how many lanes).
    pub fn output(&self, lane: usize) -> String {
        match self.failures.iter().find(|failure| failure.0 == lane) {
            Some((_, failure)) => failure.output.clone(),
            None => self.printed.text(lane),
        }
    }
}

/// The nodes of the numbers in a text, with the shapes that say how many words each has.
pub(super) fn width(text: &LaneText, tape: &Tape) -> usize {
    text.pieces.iter().map(|piece| tape.shape(piece.node).len()).sum()
}

/// The text of a lane, whose numbers come in order, in bits.
pub(super) fn fill(text: &LaneText, tape: &Tape, numbers: &mut impl Iterator<Item = u64>) -> String {
    let pieces = text.pieces.iter().map(|piece| {
        let shape = tape.shape(piece.node);
        let bits: Vec<u64> = numbers.take(shape.len()).collect();
        match (shape, tape.type_of(piece.node), bits.first()) {
            (Shape::Scalar, Type::Real, Some(&bits)) => format_number(&Number::Real(f64::from_bits(bits)), 10),
            (Shape::Scalar, Type::Int, Some(&bits)) => (bits as i64).to_string(),
            (Shape::Scalar, Type::Bool, Some(&bits)) => if (bits != 0) != piece.negated { "#t" } else { "#f" }.into(),
            _ => {
                let mut text = String::new();
                tensor_text(&mut text, shape, &bits, usize::MAX);
                text
            }
        }
    });
    text.fill(pieces)
}
