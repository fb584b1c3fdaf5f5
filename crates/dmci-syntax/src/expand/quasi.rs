//! Quasi-quotation: lists and vectors with parts filled in, nested to any level.

use super::expander::{Expander, Meaning};
use super::keywords::Special;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Kind, SpanId, Symbol, Value};

/// Items put together by `%cons` each; longer runs become one `%list`, so that core forms stay flat.
const SHORT_RUN: usize = 4;

/// An item of a list.
enum Part {
    Constant,
    Core(Value),
    /// The items of a list value.
    Splice(Value),
}

impl Expander<'_> {
    pub fn quasiquote_form(&mut self, form: Value) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 1, 1)?;
        let datum = self.heap.car(operands).unwrap_or(Value::NIL);
        if self.tagged(datum, self.k.unquote_splicing).is_some() {
            let error =
                Diagnostic::error(ErrorCode::E0201, "`unquote-splicing` needs a list around it to put its items into");
            return Err(self.at_cell(error, operands).help("write `(,@items) or `,items"));
        }
        let place = self.heap.place(form);
        Ok(match self.quasi(datum, 0, self.heap.place(operands)) {
            Some(core) => core,
            None => self.constant(datum, place),
        })
    }

    /// The core form of a template at a level of nesting; `None` if it is a constant.
    fn quasi(&mut self, datum: Value, level: usize, at: SpanId) -> Option<Value> {
        if datum.is_pair() {
            let mut changed = false;
            let core = self.deeper(|x| match x.quasi_pair(datum, level) {
                Some(core) => {
                    changed = true;
                    core
                }
                None => Value::NIL,
            });
            return changed.then_some(core);
        }
        let items: Vec<Value> = self.heap.fields(self.heap.as_kind(datum, Kind::Vector)?).collect();
        let list = self.list_at(&items, at);
        let core = self.quasi_list(list, level)?;
        Some(self.call(self.k.list_to_vector, &[core], at))
    }

    fn quasi_pair(&mut self, datum: Value, level: usize) -> Option<Value> {
        if let Some(operand) = self.tagged(datum, self.k.unquote) {
            if level == 0 {
                return Some(self.expand_car(operand, false));
            }
            return self.quasi_tagged(datum, operand, level - 1);
        }
        if let Some(operand) = self.tagged(datum, self.k.unquote_splicing) {
            return self.quasi_tagged(datum, operand, level.saturating_sub(1));
        }
        match self.head(datum) {
            Some(Meaning::Special(Special::Quasiquote)) if self.has_one_operand(datum) => {
                let operand = self.heap.cdr(datum)?;
                self.quasi_tagged(datum, operand, level + 1)
            }
            _ => self.quasi_list(datum, level),
        }
    }

    /// `(word template)` inside another quasi-quotation.
    fn quasi_tagged(&mut self, datum: Value, operand: Value, level: usize) -> Option<Value> {
        let place = self.heap.place(datum);
        // `,@ inside another level fills in several operands: the rest is treated as a list.
        let rest = self.quasi_list(operand, level)?;
        let word = self.constant(self.heap.car(datum)?, place);
        Some(self.call(self.k.cons, &[word, rest], place))
    }

    fn quasi_list(&mut self, list: Value, level: usize) -> Option<Value> {
        if self.is_circular(list) {
            let error = Diagnostic::error(ErrorCode::E0201, "a quasi-quoted list must not be circular");
            return Some(self.report(error, self.heap.place(list), SpanId(0)));
        }
        let mut parts: Vec<(Part, Value)> = Vec::new();
        let mut tail = None;
        let mut cell = list;
        while let Some((item, rest)) = self.heap.uncons(cell) {
            // (a . ,b) is read as (a unquote b).
            if cell != list && self.is_tail_template(cell) {
                tail = self.quasi_pair(cell, level);
                break;
            }
            let part = match self.tagged(item, self.k.unquote_splicing) {
                Some(operand) if level == 0 => Part::Splice(self.expand_car(operand, false)),
                _ => match self.quasi(item, level, self.heap.place(cell)) {
                    Some(core) => Part::Core(core),
                    None => Part::Constant,
                },
            };
            parts.push((part, cell));
            cell = rest;
        }
        if tail.is_none() && !cell.is_pair() {
            tail = self.quasi(cell, level, self.heap.place(list));
        }
        if tail.is_none() && parts.iter().all(|(part, _)| matches!(part, Part::Constant)) {
            return None;
        }
        Some(self.assemble(parts, tail, cell))
    }

    /// Puts a list together from its end. `rest` is the source of the tail, used if that is a constant.
    fn assemble(&mut self, mut parts: Vec<(Part, Value)>, mut tail: Option<Value>, mut rest: Value) -> Value {
        while let Some((Part::Constant, cell)) = parts.last().filter(|_| tail.is_none()) {
            rest = *cell;
            parts.pop();
        }
        let mut run: Vec<Value> = Vec::new();
        while let Some((part, cell)) = parts.pop() {
            let place = self.heap.place(cell);
            match part {
                Part::Core(core) => run.push(core),
                Part::Constant => {
                    let item = self.heap.car(cell).unwrap_or(Value::NIL);
                    let item = self.constant(item, place);
                    run.push(item);
                }
                Part::Splice(core) => {
                    // The place of `,@template`, which begins the cell.
                    let place = self.heap.car(cell).map_or(place, |item| self.heap.place(item));
                    tail = self.put_before(&mut run, tail, rest, place);
                    tail = Some(match tail {
                        None if rest.is_nil() => core,
                        tail => {
                            let tail = self.tail_core(tail, rest, place);
                            self.call(self.k.append, &[core, tail], place)
                        }
                    });
                }
            }
            if parts.is_empty() {
                tail = self.put_before(&mut run, tail, rest, place);
            }
        }
        self.tail_core(tail, rest, SpanId(0))
    }

    fn tail_core(&mut self, tail: Option<Value>, rest: Value, place: SpanId) -> Value {
        match tail {
            Some(core) => core,
            None => {
                let rest = self.strip(rest);
                self.quoted(rest, place)
            }
        }
    }

    /// Puts a run of items (in reverse order) before the tail, and empties it.
    fn put_before(&mut self, run: &mut Vec<Value>, tail: Option<Value>, rest: Value, place: SpanId) -> Option<Value> {
        if run.is_empty() {
            return tail;
        }
        if (tail.is_some() || !rest.is_nil()) && run.len() <= SHORT_RUN {
            let mut core = self.tail_core(tail, rest, place);
            for item in run.drain(..) {
                core = self.call(self.k.cons, &[item, core], place);
            }
            return Some(core);
        }
        run.reverse();
        let items = self.call(self.k.list, run, place);
        run.clear();
        if tail.is_none() && rest.is_nil() {
            return Some(items);
        }
        let tail = self.tail_core(tail, rest, place);
        Some(self.call(self.k.append, &[items, tail], place))
    }

    fn is_tail_template(&self, cell: Value) -> bool {
        self.tagged(cell, self.k.unquote).is_some()
            || self.has_one_operand(cell) && matches!(self.head(cell), Some(Meaning::Special(Special::Quasiquote)))
    }

    /// Whether it is a list of two. Asked for every cell of a list, so the length is not counted.
    fn has_one_operand(&self, datum: Value) -> bool {
        self.heap.cdr(datum).and_then(|operand| self.heap.cdr(operand)) == Some(Value::NIL)
    }

    /// The operand cell of `(word operand)`.
    fn tagged(&self, datum: Value, word: Symbol) -> Option<Value> {
        let (head, operand) = self.heap.uncons(datum)?;
        (self.is_word(head, word) && self.heap.cdr(operand) == Some(Value::NIL)).then_some(operand)
    }

    fn is_circular(&self, list: Value) -> bool {
        let (mut slow, mut fast) = (list, list);
        while let Some(next) = self.heap.cdr(fast).and_then(|next| self.heap.cdr(next)) {
            fast = next;
            slow = self.heap.cdr(slow).unwrap_or(Value::NIL);
            if slow == fast && fast.is_pair() {
                return true;
            }
        }
        false
    }
}
