//! Lists that are never closed, and guesses from the indentation where they should have been.

use super::{OpenList, Parser, Waiting};
use dmci_value::Diagnostic;
use dmci_value::ErrorCode;

impl Parser<'_> {
    /// A line starts at this column: open lists that are not left of it should have ended before.
    pub(super) fn note_indentation(&mut self, column: usize) {
        while let Some(&i) = self.unguessed.last() {
            match &mut self.stack[i] {
                Waiting::List(list) if list.column >= column => list.guess = Some(self.previous_end),
                _ => break,
            }
            self.unguessed.pop();
        }
    }

    /// The text has ended: whatever is open is an error. Lists that should end at the same place
    /// are one error.
    pub(super) fn end(&mut self) {
        self.drop_prefixes();
        let mut run: Vec<OpenList> = Vec::new();
        while let Some(waiting) = self.stack.pop() {
            let Waiting::List(mut list) = waiting else { continue };
            if run.is_empty() && self.suspect.is_some_and(|s| s > list.start && list.guess.is_none_or(|g| s < g)) {
                list.guess = self.suspect.take();
            }
            if run.last().is_some_and(|inner| inner.guess != list.guess) {
                self.unclosed(&run);
                run.clear();
            }
            run.push(list);
        }
        if !run.is_empty() {
            self.unclosed(&run);
        }
    }

    /// One error for lists that end at the same place, innermost first.
    fn unclosed(&mut self, run: &[OpenList]) {
        let Some(outer) = run.last() else { return };
        let message = match run.len() {
            1 => format!("a {} is never closed by {}", outer.shape.open(), outer.shape.close()),
            n => format!("{n} parentheses are never closed"),
        };
        let closers: String = run.iter().take(20).map(|list| list.shape.close()).collect();
        let label = if run.len() == 1 { "opened here" } else { "the first one is opened here" };
        let error = self.labelled(Diagnostic::error(ErrorCode::E0101, message), outer.start, outer.open_end, label);
        let (at, label) = match outer.guess {
            Some(at) => (at, "by the indentation, it is missing here"),
            None => (self.previous_end, "the text ends here"),
        };
        let from = self.lexer.text[..at].char_indices().next_back().map_or(at, |(i, _)| i);
        let error = self.labelled(error, from, at, label);
        self.report(error.help(format!("add {closers} there")));
    }
}
