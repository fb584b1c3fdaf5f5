//! The top level: programs and single forms.

use super::depth::{BIG_STACK_FROM, nesting_depth};
use super::expander::{Expander, Meaning, Pending, too_deep};
use super::keywords::Special;
use super::table::SyntaxTable;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, SpanId, Symbol, Value};

/// A program as core forms.
#[derive(Clone, Debug, Default)]
pub struct Expansion {
    /// The core forms, in order.
    pub forms: Vec<Value>,
    /// The globals that they define, in order, some perhaps twice.
    pub defined: Vec<Symbol>,
    /// The globals that they assign with `set!`.
    pub assigned: Vec<Symbol>,
    /// Traced numbers that were compared with data in patterns of macros: with others, the core forms might be others.
    pub compared: Vec<Value>,
}

/// Expands a program: a list of top-level forms. On failure all errors found are returned; macros
/// defined up to there stay defined.
pub fn expand_program(heap: &mut Heap, table: &mut SyntaxTable, forms: Value) -> Result<Expansion, Vec<Diagnostic>> {
    let shadows = table.shadows();
    let deep = nesting_depth(heap, forms) >= BIG_STACK_FROM;
    let mut x = Expander::new(heap, table);
    let mut out = Vec::new();
    if deep {
        if x.with_room(|x| x.program(forms, &mut out)).is_none() {
            x.stop(too_deep());
        }
    } else {
        x.program(forms, &mut out);
    }
    let Expander { errors, defined, assigned, compared, .. } = x;
    if errors.is_empty() {
        return Ok(Expansion { forms: out, defined, assigned, compared });
    }
    table.restore_shadows(shadows);
    Err(errors)
}

/// Expands one top-level form. A `begin`, a macro use or a definition of a record type may give
/// any number of core forms.
pub fn expand_form(heap: &mut Heap, table: &mut SyntaxTable, form: Value) -> Result<Expansion, Vec<Diagnostic>> {
    let place = heap.place(form);
    let forms = heap.cons_at(form, Value::NIL, place);
    expand_program(heap, table, forms)
}

impl Expander<'_> {
    fn program(&mut self, forms: Value, out: &mut Vec<Value>) {
        if self.length(forms).is_none() {
            self.stop(Diagnostic::error(ErrorCode::E0201, "a program must be a proper list of forms"));
            return;
        }
        self.find_shadowing(forms);
        let mut todo = vec![Pending { cell: forms, macro_depth: 0, nesting: 0 }];
        while let Some(pending) = todo.pop() {
            let Some((form, rest)) = self.heap.uncons(pending.cell) else { continue };
            if !rest.is_nil() {
                todo.push(Pending { cell: rest, ..pending });
            }
            if !self.count_form(pending.nesting) {
                break;
            }
            self.macro_depth = pending.macro_depth;
            let at = self.heap.place(pending.cell);
            let before = todo.len();
            if let Err(error) = self.top_form(form, at, out, &mut todo) {
                self.report(error, self.heap.place(form), at);
            }
            // What was put there is the content of this form.
            todo[before..].iter_mut().for_each(|inner| inner.nesting = pending.nesting + 1);
        }
    }

    /// A program that defines a keyword such as `assert` as a procedure means its own everywhere,
    /// also before the definition. Core keywords change their meaning only where they are defined.
    fn find_shadowing(&mut self, forms: Value) {
        let mut cell = forms;
        while let Some((form, rest)) = self.heap.uncons(cell) {
            cell = rest;
            if self.heap.car(form) != Some(Value::symbol(self.k.define)) {
                continue;
            }
            let target = self.heap.cdr(form).and_then(|c| self.heap.car(c)).unwrap_or(Value::NIL);
            let name = target.as_symbol().or_else(|| self.heap.car(target)?.as_symbol());
            if let Some(name) = name
                && self.table.keywords.special(name).is_some()
                && !self.k.is_core(name)
            {
                self.table.define_variable(name);
            }
        }
    }

    fn top_form(
        &mut self,
        mut form: Value,
        at: SpanId,
        out: &mut Vec<Value>,
        todo: &mut Vec<Pending>,
    ) -> Result<(), Error> {
        loop {
            match self.head(form) {
                Some(Meaning::Macro(m)) => form = self.expand_macro(m, form)?,
                Some(Meaning::Special(special)) => return self.top_special(special, form, at, out, todo),
                _ => break,
            }
        }
        let core = self.expand(form, at, false);
        let core = self.placed(core, at);
        out.push(core);
        Ok(())
    }

    fn top_special(
        &mut self,
        special: Special,
        form: Value,
        at: SpanId,
        out: &mut Vec<Value>,
        todo: &mut Vec<Pending>,
    ) -> Result<(), Error> {
        let place = self.heap.place(form);
        match special {
            Special::Begin => {
                let (_, list) = self.operands_of(form, 0, usize::MAX)?;
                todo.push(Pending { cell: list, macro_depth: self.macro_depth, nesting: 0 });
            }
            Special::CondExpand => {
                let cell = self.cond_expand(form)?;
                todo.push(Pending { cell, macro_depth: self.macro_depth, nesting: 0 });
            }
            Special::Define => {
                let definition = self.parse_define(form)?;
                let name = self.define_global(definition.symbol, definition.at)?;
                let core = self.definition_value(definition);
                out.push(self.define(name, core, place));
            }
            Special::DefineValues => {
                let mut names = Vec::new();
                for (symbol, at) in self.define_values_names(form)? {
                    let name = self.define_global(symbol, at)?;
                    let nothing = self.nothing();
                    out.push(self.define(name, nothing, place));
                    names.push(name);
                }
                out.push(self.define_values_assign(form, &names));
            }
            Special::DefineRecordType => self.top_record(form, place, out)?,
            Special::DefineSyntax => {
                let (symbol, at, spec) = self.parse_define_syntax(form)?;
                let name = self.heap.symbols.base_of(symbol);
                self.check_reserved(name, at)?;
                let local = self.transformer(name, spec, 0)?;
                let rules = self.global_rules(local);
                self.table.define_macro(name, rules);
            }
            Special::Import => self.import(form, out)?,
            Special::Params => {
                for (name, at, start) in self.parse_params(form)? {
                    if self.table.is_preset(name) {
                        continue;
                    }
                    let name = self.define_global(name, at)?;
                    out.push(self.define(name, start, place));
                }
            }
            Special::DefineLibrary | Special::Include => return Err(self.out_of_place(special, form)),
            _ => {
                let core = self.expand(form, at, false);
                let core = self.placed(core, at);
                out.push(core);
            }
        }
        Ok(())
    }

    /// Makes a global variable of a name. A name that a macro has introduced is defined as itself:
    /// programs rely on macros that define things for them.
    fn define_global(&mut self, symbol: Symbol, at: SpanId) -> Result<Symbol, Error> {
        let name = self.heap.symbols.base_of(symbol);
        self.check_reserved(name, at)?;
        self.table.define_variable(name);
        self.defined.push(name);
        Ok(name)
    }

    fn top_record(&mut self, form: Value, place: SpanId, out: &mut Vec<Value>) -> Result<(), Error> {
        let spec = self.parse_record(form)?;
        // The procedures refer to the type by a name of its own, because programs use the
        // name of the type for other things, too: (define point (make-point 1 2)).
        let shown = self.base_name(spec.name);
        let hidden = format!("%record-type:{shown}:{}", self.heap.symbols.len());
        let hidden = self.heap.symbols.intern(&hidden);
        self.defined.push(hidden);
        let made = self.record_type_core(&spec, place);
        out.push(self.define(hidden, made, place));
        let name = self.define_global(spec.name, spec.name_at)?;
        out.push(self.define(name, Value::symbol(hidden), place));
        for (symbol, at, core) in self.record_procedures(&spec, hidden, place) {
            let name = self.define_global(symbol, at)?;
            out.push(self.define(name, core, place));
        }
        Ok(())
    }
}
