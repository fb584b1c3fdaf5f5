//! Bodies: internal definitions become `letrec*`.
//!
//! A body is first scanned: macros at the heads of its forms are expanded, `begin`s spliced and all
//! definitions bound; only then is anything inside expanded, so that every definition is known.
//! Expressions before a definition are accepted; they become values of variables that nothing mentions.

use super::definition::Definition;
use super::expander::{Expander, Meaning, Pending};
use super::keywords::Special;
use super::scope::Local;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, SpanId, Symbol, Value};

/// What a form of a body turned out to be.
enum Item {
    Expression {
        form: Value,
        at: SpanId,
    },
    Define {
        name: Symbol,
        definition: Definition,
    },
    /// Variables that start without value, and the `define-values` form that gives them theirs.
    Values {
        names: Vec<Symbol>,
        form: Value,
    },
    /// A variable whose value is a core form already.
    Core {
        name: Symbol,
        core: Value,
        place: SpanId,
    },
}

impl Expander<'_> {
    /// Expands the body of a form: a list of definitions and expressions.
    pub fn body(&mut self, form: Value, list: Value, tail: bool) -> Result<Value, Error> {
        if let Some((only, rest)) = self.heap.uncons(list)
            && rest.is_nil()
        {
            let plain = match self.head(only) {
                None => true,
                Some(Meaning::Special(special)) => !special.matters_in_body(),
                Some(_) => false,
            };
            if plain {
                return Ok(self.expand_car(list, tail));
            }
        }
        if self.length(list).is_none() {
            return Err(self.wrong_shape(form));
        }
        let macro_depth = self.macro_depth;
        let mark = self.scopes.open();
        let items = self.scan(list);
        let core = self.body_items(form, items, tail);
        self.scopes.close(mark);
        self.macro_depth = macro_depth;
        core
    }

    /// Finds out what the forms of a body are, and binds what they define. Each item comes with
    /// the number of macro uses that it is nested in.
    fn scan(&mut self, list: Value) -> Vec<(Item, u32)> {
        let mut items = Vec::new();
        let mut todo = vec![Pending { cell: list, macro_depth: self.macro_depth, nesting: 0 }];
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
            if let Err(error) = self.scan_form(form, at, &mut items, &mut todo) {
                self.report(error, self.heap.place(form), at);
                // Keeps the body from being empty on top of being wrong.
                let nothing = self.nothing();
                items.push((Item::Expression { form: nothing, at }, pending.macro_depth));
            }
            // What was put there is the content of this form.
            todo[before..].iter_mut().for_each(|inner| inner.nesting = pending.nesting + 1);
        }
        items
    }

    fn scan_form(
        &mut self,
        mut form: Value,
        at: SpanId,
        items: &mut Vec<(Item, u32)>,
        todo: &mut Vec<Pending>,
    ) -> Result<(), Error> {
        loop {
            match self.head(form) {
                Some(Meaning::Macro(m)) => form = self.expand_macro(m, form)?,
                Some(Meaning::Special(special)) if special.matters_in_body() => {
                    return self.scan_special(special, form, items, todo);
                }
                _ => {
                    items.push((Item::Expression { form, at }, self.macro_depth));
                    return Ok(());
                }
            }
        }
    }

    fn scan_special(
        &mut self,
        special: Special,
        form: Value,
        items: &mut Vec<(Item, u32)>,
        todo: &mut Vec<Pending>,
    ) -> Result<(), Error> {
        let depth = self.macro_depth;
        match special {
            Special::Begin => {
                let (_, list) = self.operands_of(form, 0, usize::MAX)?;
                todo.push(Pending { cell: list, macro_depth: depth, nesting: 0 });
            }
            Special::CondExpand => {
                let cell = self.cond_expand(form)?;
                todo.push(Pending { cell, macro_depth: depth, nesting: 0 });
            }
            Special::DefineSyntax => {
                let (symbol, at, spec) = self.parse_define_syntax(form)?;
                let local = self.transformer(symbol, spec, self.scopes.depth())?;
                self.bind_syntax(symbol, local, at)?;
            }
            Special::DefineValues => {
                let mut names = Vec::new();
                for (symbol, at) in self.define_values_names(form)? {
                    names.push(self.bind_variable(symbol, at)?);
                }
                items.push((Item::Values { names, form }, depth));
            }
            Special::DefineRecordType => {
                let spec = self.parse_record(form)?;
                let type_name = self.bind_variable(spec.name, spec.name_at)?;
                let place = self.heap.place(form);
                let made = self.record_type_core(&spec, place);
                items.push((Item::Core { name: type_name, core: made, place }, depth));
                for (symbol, at, core) in self.record_procedures(&spec, type_name, place) {
                    let name = self.bind_variable(symbol, at)?;
                    items.push((Item::Core { name, core, place }, depth));
                }
            }
            _ => {
                let definition = self.parse_define(form)?;
                let name = self.bind_variable(definition.symbol, definition.at)?;
                items.push((Item::Define { name, definition }, depth));
            }
        }
        Ok(())
    }

    /// Binds a local keyword in the innermost scope.
    pub fn bind_syntax(&mut self, symbol: Symbol, local: Local, at: SpanId) -> Result<(), Error> {
        if self.scopes.bind(symbol, local) {
            return Ok(());
        }
        let shown = self.base_name(symbol);
        let error = Diagnostic::error(ErrorCode::E0202, format!("`{shown}` is bound twice in the same place"));
        Err(self.at_car(error, at).help("give each macro a name of its own"))
    }

    fn body_items(&mut self, form: Value, items: Vec<(Item, u32)>, tail: bool) -> Result<Value, Error> {
        let place = self.heap.place(form);
        let definitions =
            items.iter().rposition(|(item, _)| !matches!(item, Item::Expression { .. })).map_or(0, |i| i + 1);
        let count = items.len();
        if definitions == count && !self.stopped {
            let name = self.heap.car(form).and_then(Value::as_symbol).map_or("lambda", |s| self.base_name(s));
            let what = if count == 0 { "is empty" } else { "ends with a definition" };
            let error = Diagnostic::error(
                ErrorCode::E0201,
                format!("the body of `{name}` {what}: it needs an expression at its end"),
            );
            return Err(self.at_form(error, form).help("the last expression of a body is its value"));
        }
        let mut bindings = Vec::with_capacity(definitions);
        let mut expressions = Vec::with_capacity(count - definitions);
        for (i, (item, macro_depth)) in items.into_iter().enumerate() {
            self.macro_depth = macro_depth;
            match item {
                Item::Expression { form, at } => {
                    let core = self.expand(form, at, tail && i + 1 == count);
                    let core = self.placed(core, at);
                    if i < definitions {
                        let name = self.heap.symbols.alias(self.k.underscore);
                        bindings.push(self.binding(name, core, at));
                    } else {
                        expressions.push((core, at));
                    }
                }
                Item::Define { name, definition } => {
                    let core = self.definition_value(definition);
                    bindings.push(self.binding(name, core, self.heap.place(definition.form)));
                }
                Item::Core { name, core, place } => bindings.push(self.binding(name, core, place)),
                Item::Values { names, form } => {
                    let place = self.heap.place(form);
                    for &name in &names {
                        let nothing = self.nothing();
                        bindings.push(self.binding(name, nothing, place));
                    }
                    let core = self.define_values_assign(form, &names);
                    let name = self.heap.symbols.alias(self.k.underscore);
                    bindings.push(self.binding(name, core, place));
                }
            }
        }
        let body = match expressions[..] {
            [] => self.nothing(),
            [(only, _)] => only,
            _ => {
                let list =
                    expressions.iter().rev().fold(Value::NIL, |list, &(core, at)| self.heap.cons_at(core, list, at));
                self.heap.cons_at(Value::symbol(self.k.begin), list, place)
            }
        };
        if bindings.is_empty() {
            return Ok(body);
        }
        let bindings = self.list_at(&bindings, place);
        Ok(self.list_at(&[Value::symbol(self.k.letrec_star), bindings, body], place))
    }

    fn binding(&mut self, name: Symbol, core: Value, place: SpanId) -> Value {
        self.list_at(&[Value::symbol(name), core], place)
    }
}
