//! The expander itself: one form at a time, from source datum to core datum.

use super::depth::{BIG_STACK_FROM, MAX_DEPTH, on_big_stack};
use super::keywords::{Keywords, Special};
use super::scope::{Identity, Local, Macro, Scopes};
use super::table::{Global, SyntaxTable};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, Kind, SpanId, Symbol, Value};
use std::sync::Arc;

/// Forms looked at in one go. A datum that a program builds can share parts, and so stand for
/// a tree that is exponentially larger than itself.
const MAX_FORMS: usize = 5_000_000;

/// Forms, or items that macros match and make, between two looks at the limits of the run.
const LOOK: usize = 1024;

/// Errors collected before giving up.
const MAX_ERRORS: usize = 100;

/// Macro uses nested in expansions of each other.
pub(super) const MAX_MACRO_DEPTH: u32 = 10_000;

/// What an identifier means.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning {
    /// A local variable, by its name in core forms.
    Local(Symbol),
    /// A global variable, by its interned name.
    Global(Symbol),
    Special(Special),
    Macro(Macro),
}

/// A `loop` whose body is being expanded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    pub variables: usize,
    pub place: SpanId,
}

/// Forms of a body or program that are still to be looked at: those of the list from this cell on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub cell: Value,
    /// Macro uses that the list comes from.
    pub macro_depth: u32,
    /// How many `begin`s it was taken out of.
    pub nesting: usize,
}

/// The state of one expansion.
///
/// Forms are expanded with the place of the cell that they are the car of (so that atoms have
/// places in messages) and with whether they are in tail position of the innermost `loop`.
pub(super) struct Expander<'a> {
    pub heap: &'a mut Heap,
    pub table: &'a mut SyntaxTable,
    pub k: Arc<Keywords>,
    pub scopes: Scopes,
    pub errors: Vec<Diagnostic>,
    /// Set by errors that leave no sense in going on: whatever is left becomes nothing.
    pub stopped: bool,
    pub loops: Vec<Loop>,
    /// Names whose mention is being looked for, and whether they were mentioned.
    pub watched: Vec<(Symbol, bool)>,
    /// Expanded operands waiting to be put into a list, each before the cell it came from.
    pub operands: Vec<Value>,
    pub defined: Vec<Symbol>,
    pub assigned: Vec<Symbol>,
    /// Traced numbers that the expansion depends on.
    pub compared: Vec<Value>,
    /// Whether any macro was expanded, so that data may hold aliases.
    pub renamed: bool,
    pub macro_depth: u32,
    /// Pairs made by macros, and their aliases.
    pub produced: usize,
    /// Items that macros matched or made since the last look.
    items: usize,
    /// Where to point for forms that have no place.
    near: SpanId,
    depth: usize,
    forms: usize,
    roomy: bool,
    nothing: Value,
}

impl<'a> Expander<'a> {
    pub fn new(heap: &'a mut Heap, table: &'a mut SyntaxTable) -> Self {
        let k = table.keywords.clone();
        Expander {
            heap,
            table,
            k,
            scopes: Scopes::default(),
            errors: Vec::new(),
            stopped: false,
            loops: Vec::new(),
            watched: Vec::new(),
            operands: Vec::new(),
            defined: Vec::new(),
            assigned: Vec::new(),
            compared: Vec::new(),
            renamed: false,
            macro_depth: 0,
            produced: 0,
            items: 0,
            near: SpanId(0),
            depth: 0,
            forms: 0,
            roomy: false,
            nothing: Value::UNBOUND,
        }
    }

    /// Runs everything on a big stack from here on, if there is memory for one.
    pub fn with_room<T: Send>(&mut self, f: impl FnOnce(&mut Self) -> T + Send) -> Option<T> {
        self.roomy = true;
        let result = on_big_stack(|| f(self));
        self.roomy = false;
        result
    }

    // ---- what identifiers mean

    /// What a symbol means here.
    #[inline]
    pub fn meaning(&self, symbol: Symbol) -> Meaning {
        self.meaning_of(self.identity(symbol))
    }

    #[inline]
    pub fn identity(&self, symbol: Symbol) -> Identity {
        self.scopes.identity(&self.heap.symbols, symbol, self.scopes.depth())
    }

    fn meaning_of(&self, identity: Identity) -> Meaning {
        match identity {
            Identity::Local(number) => match self.scopes.local(number) {
                Local::Variable(name) => Meaning::Local(name),
                Local::Macro(m) => Meaning::Macro(m),
                Local::Special(special) => Meaning::Special(special),
            },
            Identity::Global(name) => match self.table.meaning(name) {
                Global::Variable => Meaning::Global(name),
                Global::Special(special) => Meaning::Special(special),
                Global::Macro(rules) => Meaning::Macro(Macro { rules, depth: 0 }),
            },
        }
    }

    /// Whether a datum is an identifier that means the auxiliary keyword `word`.
    pub fn is_word(&self, datum: Value, word: Symbol) -> bool {
        let Some(symbol) = datum.as_symbol() else { return false };
        // Cheap first: nearly all symbols are others.
        (symbol == word || self.heap.symbols.base_of(symbol) == word)
            && self.identity(symbol) == Identity::Global(word)
            && self.table.meaning(word) == Global::Special(Special::Auxiliary)
    }

    /// What a form starts with, if that is a keyword or a macro.
    pub fn head(&self, form: Value) -> Option<Meaning> {
        let symbol = self.heap.car(form)?.as_symbol()?;
        match self.meaning(symbol) {
            Meaning::Local(_) | Meaning::Global(_) => None,
            meaning => Some(meaning),
        }
    }

    /// The core name of a global that is mentioned as `symbol`. An alias that nothing binds means
    /// the global of its base name, which gets around local variables and core keywords.
    pub fn global_name(&mut self, symbol: Symbol, name: Symbol) -> Symbol {
        let hidden = self.k.is_core(name) || symbol != name && self.scopes.is_bound(name);
        match hidden {
            true if symbol == name => self.heap.symbols.alias(name),
            true => symbol,
            false => name,
        }
    }

    /// A mention of a global that an expansion needs.
    pub fn library(&mut self, name: Symbol) -> Value {
        Value::symbol(if self.scopes.is_bound(name) { self.heap.symbols.alias(name) } else { name })
    }

    /// Binds a local variable in the innermost scope and returns its core name.
    pub fn bind_variable(&mut self, symbol: Symbol, at: SpanId) -> Result<Symbol, Error> {
        // A local macro could mention the variable that this one hides.
        let hides = self.scopes.has_macros() && self.scopes.is_bound(symbol);
        self.bind_renamed(symbol, at, hides)
    }

    /// The same, with a core name that nothing else has if `fresh`.
    pub fn bind_renamed(&mut self, symbol: Symbol, at: SpanId, fresh: bool) -> Result<Symbol, Error> {
        let name = if fresh || self.k.is_core(symbol) || self.is_percent(symbol) {
            self.heap.symbols.alias(symbol)
        } else {
            symbol
        };
        if self.scopes.bind(symbol, Local::Variable(name)) {
            return Ok(name);
        }
        let shown = self.base_name(symbol);
        let error = Diagnostic::error(ErrorCode::E0202, format!("`{shown}` is bound twice in the same place"));
        Err(self.at_car(error, at).help("give each variable a name of its own"))
    }

    /// Whether a system procedure could have this name.
    fn is_percent(&self, symbol: Symbol) -> bool {
        self.heap.symbols.name(symbol).starts_with('%') && self.heap.symbols.alias_of(symbol).is_none()
    }

    // ---- expressions

    /// Expands the car of a cell.
    #[inline]
    pub fn expand_car(&mut self, cell: Value, tail: bool) -> Value {
        let form = self.heap.car(cell).unwrap_or(Value::NIL);
        let place = self.heap.place(cell);
        let core = self.expand(form, place, tail);
        self.placed(core, place)
    }

    /// Expands an expression. Errors are noted, and nothing stands in for what is wrong.
    #[inline]
    pub fn expand(&mut self, form: Value, at: SpanId, tail: bool) -> Value {
        if form.is_pair() {
            return self.combination(form, at, tail);
        }
        match form.as_symbol() {
            Some(symbol) => self.variable(symbol, at),
            None => self.literal(form, at),
        }
    }

    /// A variable that is to stand in a cell with a place of its own, wrapped so that it keeps its own.
    pub fn placed(&mut self, core: Value, at: SpanId) -> Value {
        if core.is_symbol() && at != SpanId(0) { self.list_at(&[Value::symbol(self.k.begin), core], at) } else { core }
    }

    fn variable(&mut self, symbol: Symbol, at: SpanId) -> Value {
        let name = match self.meaning(symbol) {
            Meaning::Local(name) => name,
            Meaning::Global(name) if self.table.is_reserved(name) => {
                let shown = self.heap.symbols.name(name);
                let error = Diagnostic::error(
                    ErrorCode::E0213,
                    format!("`{shown}` is a name of the system and not for programs"),
                )
                .help("names that start with % are the library's own: use a name without it");
                return self.report(error, SpanId(0), at);
            }
            Meaning::Global(name) => self.global_name(symbol, name),
            Meaning::Special(special) if special.only_at_head() => {
                let name = self.heap.symbols.base_of(symbol);
                self.global_name(symbol, name)
            }
            _ => {
                let error = self.keyword_as_variable(symbol, at);
                return self.report(error, SpanId(0), at);
            }
        };
        self.mention(name);
        Value::symbol(name)
    }

    /// Notes that a variable is mentioned by its core name.
    #[inline]
    pub fn mention(&mut self, name: Symbol) {
        for (watched, mentioned) in &mut self.watched {
            *mentioned |= *watched == name;
        }
    }

    fn literal(&mut self, form: Value, at: SpanId) -> Value {
        if form.is_nil() {
            let error =
                Diagnostic::error(ErrorCode::E0212, "`()` is not an expression: a combination needs an operator")
                    .help("write '() for the empty list");
            return self.report(error, SpanId(0), at);
        }
        self.constant(form, at)
    }

    /// The core form of a datum that stands for itself.
    pub fn constant(&mut self, datum: Value, at: SpanId) -> Value {
        let plain = datum.is_fixnum()
            || datum.is_real()
            || datum.is_boolean()
            || datum.as_char().is_some()
            || self.heap.as_kind(datum, Kind::String).is_some()
            || self.heap.as_kind(datum, Kind::Bignum).is_some()
            || self.heap.as_kind(datum, Kind::Tensor).is_some();
        if plain {
            return datum;
        }
        let datum = self.strip(datum);
        self.quoted(datum, at)
    }

    fn combination(&mut self, form: Value, at: SpanId, tail: bool) -> Value {
        if !self.enter() {
            return self.nothing();
        }
        if self.depth == BIG_STACK_FROM && !self.roomy {
            let result = self.with_room(|x| x.combination_here(form, at, tail));
            self.depth -= 1;
            return match result {
                Some(core) => core,
                None => {
                    self.stopped = true;
                    self.report(too_deep(), self.heap.place(form), at)
                }
            };
        }
        let core = self.combination_here(form, at, tail);
        self.depth -= 1;
        core
    }

    /// Goes one level deeper; `false` if nothing more is to be expanded.
    fn enter(&mut self) -> bool {
        if !self.count_form(self.depth) {
            return false;
        }
        self.depth += 1;
        true
    }

    /// Counts a form at a depth of nesting; `false` if nothing more is to be expanded.
    pub fn count_form(&mut self, depth: usize) -> bool {
        if self.stopped {
            return false;
        }
        self.forms += 1;
        let error = if depth >= MAX_DEPTH {
            if self.macro_depth > 1000 { self.endless() } else { too_deep() }
        } else if self.forms > MAX_FORMS {
            Diagnostic::error(ErrorCode::E0407, format!("the program has more than {MAX_FORMS} forms"))
        } else if self.forms.is_multiple_of(LOOK)
            && let Err(error) = self.heap.ensure(0).and_then(|()| self.heap.look())
        {
            error
        } else {
            return true;
        };
        self.stop(error);
        false
    }

    /// Counts items that a macro matches or makes; `false` if nothing more is to be expanded.
    #[inline]
    pub fn count_items(&mut self, count: usize) -> bool {
        self.items += count;
        if self.items < LOOK { !self.stopped } else { self.look() }
    }

    #[cold]
    fn look(&mut self) -> bool {
        self.items = 0;
        match self.heap.ensure(0).and_then(|()| self.heap.look()) {
            Ok(()) => !self.stopped,
            Err(error) => {
                if !self.stopped {
                    self.stop(error);
                }
                false
            }
        }
    }

    /// Runs `f` one level deeper, for forms that are taken apart without being expanded.
    pub fn deeper(&mut self, f: impl FnOnce(&mut Self) -> Value + Send) -> Value {
        if !self.enter() {
            return self.nothing();
        }
        let result = if self.depth == BIG_STACK_FROM && !self.roomy {
            self.with_room(f).unwrap_or_else(|| {
                self.stop(too_deep());
                self.nothing()
            })
        } else {
            f(self)
        };
        self.depth -= 1;
        result
    }

    fn combination_here(&mut self, form: Value, at: SpanId, tail: bool) -> Value {
        self.protected(form, at, |x| x.dispatch(form, at, tail))
    }

    /// Runs `f` on a form; if it fails, the error is noted and everything is put back as it was.
    pub fn protected(&mut self, form: Value, at: SpanId, f: impl FnOnce(&mut Self) -> Result<Value, Error>) -> Value {
        let place = self.heap.place(form);
        let near = self.near;
        if place != SpanId(0) {
            self.near = place;
        }
        let macro_depth = self.macro_depth;
        let mark = self.scopes.mark();
        let (operands, loops, watched) = (self.operands.len(), self.loops.len(), self.watched.len());
        let core = match f(self) {
            Ok(core) => core,
            Err(error) => {
                self.scopes.close(mark);
                self.operands.truncate(operands);
                self.loops.truncate(loops);
                self.watched.truncate(watched);
                self.report(error, place, at)
            }
        };
        self.macro_depth = macro_depth;
        self.near = near;
        core
    }

    fn dispatch(&mut self, mut form: Value, at: SpanId, tail: bool) -> Result<Value, Error> {
        loop {
            match self.head(form) {
                None => return self.application(form),
                Some(Meaning::Special(special)) => return self.special(special, form, at, tail),
                Some(Meaning::Macro(m)) => {
                    form = self.expand_macro(m, form)?;
                    if !form.is_pair() {
                        return Ok(self.expand(form, at, tail));
                    }
                }
                Some(Meaning::Local(_) | Meaning::Global(_)) => unreachable!("head() answers only syntax"),
            }
        }
    }

    fn application(&mut self, form: Value) -> Result<Value, Error> {
        if self.length(form).is_none() {
            let error =
                Diagnostic::error(ErrorCode::E0201, "a combination must be a proper list: operator, then operands")
                    .help("a dot belongs only into quoted data and parameter lists");
            return Err(self.at_form(error, form));
        }
        Ok(self.expand_list(form))
    }

    /// Expands every item of a proper list, none in tail position; the cells keep their places.
    pub fn expand_list(&mut self, list: Value) -> Value {
        let base = self.operands.len();
        let mut changed = false;
        let mut cell = list;
        while let Some((item, rest)) = self.heap.uncons(cell) {
            let core = self.expand(item, self.heap.place(cell), false);
            changed |= core != item;
            self.operands.push(core);
            self.operands.push(cell);
            cell = rest;
        }
        if !changed {
            self.operands.truncate(base);
            return list;
        }
        self.take_operands(base, Value::NIL)
    }

    /// The list of the operands from `base` on, each in a cell with the place of its source cell.
    pub fn take_operands(&mut self, base: usize, tail: Value) -> Value {
        let mut list = tail;
        for i in (base..self.operands.len()).step_by(2).rev() {
            let place = self.heap.place(self.operands[i + 1]);
            list = self.heap.cons_at(self.operands[i], list, place);
        }
        self.operands.truncate(base);
        list
    }

    /// Length of a proper list; `None` if it is improper or circular.
    pub fn length(&self, list: Value) -> Option<usize> {
        let (mut slow, mut fast, mut n) = (list, list, 0);
        loop {
            let Some(next) = self.heap.cdr(fast) else { return fast.is_nil().then_some(n) };
            let Some(after) = self.heap.cdr(next) else { return next.is_nil().then_some(n + 1) };
            n += 2;
            fast = after;
            slow = self.heap.cdr(slow).unwrap_or(Value::NIL);
            if slow == fast && fast.is_pair() {
                return None;
            }
        }
    }

    // ---- errors

    /// Notes an error, at the place if it has none of its own, and gives what stands in for the form.
    pub fn report(&mut self, mut error: Error, place: SpanId, at: SpanId) -> Value {
        if error.labels.is_empty() {
            let spans = &self.heap.spans;
            let span = spans.get(place).map(|s| s.form()).or_else(|| spans.get(at).map(|s| s.car()));
            if let Some(span) = span.or_else(|| spans.get(self.near).map(|s| s.form())) {
                error = error.at(span);
            }
        }
        if self.errors.last() != Some(&*error) {
            self.errors.push(*error);
        }
        self.stopped |= self.errors.len() >= MAX_ERRORS;
        self.nothing()
    }

    /// Notes an error that ends the expansion.
    pub fn stop(&mut self, error: Error) {
        self.report(error, SpanId(0), SpanId(0));
        self.stopped = true;
    }

    /// The core form of the unspecified value.
    pub fn nothing(&mut self) -> Value {
        if self.nothing == Value::UNBOUND {
            self.nothing = self.quoted(Value::UNSPECIFIED, SpanId(0));
        }
        self.nothing
    }
}

pub(super) fn too_deep() -> Error {
    Diagnostic::error(ErrorCode::E0407, format!("the program is nested more than {MAX_DEPTH} levels deep"))
        .help("give the inner parts names with define")
}
