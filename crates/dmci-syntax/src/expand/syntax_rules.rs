//! `syntax-rules`: reading and checking the rules of a macro, and the forms that bind macros.
//!
//! A macro is a heap object (so that it lives as long as its environment) of name, ellipsis,
//! literals and rules. The ellipsis is `#f` for the usual one, a symbol for another one, and
//! `()` if `...` is a literal.

use super::expander::{Expander, Meaning};
use super::keywords::Special;
use super::scope::{Identity, Local, Macro};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Kind, SpanId, Symbol, Value};
use rustc_hash::FxHashMap;

/// Deepest nesting of a pattern or template.
const MAX_NESTING: usize = 500;

/// What matching and filling in need to know about a macro.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    ellipsis: Value,
    literals: Value,
    /// Depth of the environment that the macro was defined in.
    pub depth: u32,
}

impl Expander<'_> {
    /// Name, its place, and the cell of the transformer of a `define-syntax` form.
    pub fn parse_define_syntax(&self, form: Value) -> Result<(Symbol, SpanId, Value), Error> {
        let (_, cell) = self.operands_of(form, 2, 2)?;
        let (name, spec) = self.heap.uncons(cell).unwrap_or((Value::NIL, Value::NIL));
        match name.as_symbol() {
            Some(name) => Ok((name, self.heap.place(cell), spec)),
            None => Err(self.wrong_part(form, "the name of the macro", cell)),
        }
    }

    pub fn let_syntax_form(&mut self, form: Value, recursive: bool, tail: bool) -> Result<Value, Error> {
        let (_, operands) = self.operands_of(form, 2, usize::MAX)?;
        let bindings = self.bindings(form, operands)?;
        let outer = self.scopes.depth();
        let mark = self.scopes.open();
        let depth = if recursive { self.scopes.depth() } else { outer };
        // All transformers are made before any is bound: synonyms mean what is outside.
        let mut locals = Vec::with_capacity(bindings.len());
        for binding in &bindings {
            locals.push(self.transformer(binding.name, binding.value, depth)?);
        }
        for (binding, local) in bindings.iter().zip(locals) {
            self.bind_syntax(binding.name, local, self.heap.place(binding.list))?;
        }
        let core = self.body(form, self.heap.cdr(operands).unwrap_or(Value::NIL), tail)?;
        self.scopes.close(mark);
        Ok(core)
    }

    /// What the transformer in the car of `cell` binds its name to.
    pub fn transformer(&mut self, name: Symbol, cell: Value, depth: u32) -> Result<Local, Error> {
        let mut spec = self.heap.car(cell).unwrap_or(Value::NIL);
        loop {
            let symbol = spec.as_symbol();
            match symbol.map(|s| self.meaning(s)).or_else(|| self.head(spec)) {
                Some(Meaning::Special(special)) if symbol.is_some() => return Ok(Local::Special(special)),
                Some(Meaning::Macro(m)) if symbol.is_some() => return Ok(Local::Macro(m)),
                Some(Meaning::Macro(m)) => spec = self.expand_macro(m, spec)?,
                Some(Meaning::Special(Special::SyntaxRules)) => {
                    let rules = self.parse_rules(name, spec, depth)?;
                    return Ok(Local::Macro(Macro { rules, depth }));
                }
                _ => {
                    let shown = self.shown(spec);
                    let error =
                        Diagnostic::error(ErrorCode::E0204, format!("a macro needs a syntax-rules form, got {shown}"));
                    return Err(self
                        .at_cell(error, cell)
                        .help("for example (syntax-rules () ((_ x) (* x 2))); other transformers are not supported"));
                }
            }
        }
    }

    /// How a global environment keeps what a keyword is bound to.
    pub fn global_rules(&self, local: Local) -> Value {
        match local {
            Local::Macro(m) => m.rules,
            Local::Special(special) => Value::symbol(self.k.symbol_of(special)),
            Local::Variable(name) => Value::symbol(name),
        }
    }

    fn parse_rules(&mut self, name: Symbol, spec: Value, depth: u32) -> Result<Value, Error> {
        let (_, mut operands) = self.operands_of(spec, 1, usize::MAX).map_err(|e| recode(e, ErrorCode::E0204))?;
        let mut ellipsis = Value::FALSE;
        if let Some((custom, rest)) = self.heap.uncons(operands).filter(|(first, _)| first.is_symbol()) {
            ellipsis = custom;
            operands = rest;
        }
        // Where a variable has the name ..., it is no ellipsis.
        let usual = self.scopes.identity(&self.heap.symbols, self.k.ellipsis, depth);
        if ellipsis == Value::FALSE && matches!(usual, Identity::Local(_)) {
            ellipsis = Value::NIL;
        }
        let (literals, rules) = self.heap.uncons(operands).unwrap_or((Value::FALSE, Value::NIL));
        let words = self.heap.list_items(literals).filter(|words| words.iter().all(|w| w.is_symbol()));
        let Some(words) = words else {
            let error =
                Diagnostic::error(ErrorCode::E0204, "`syntax-rules` needs a list of literal words before its rules");
            return Err(self.at_cell(error, operands).help("for example (syntax-rules () ((_ x) (* x 2)))"));
        };
        let is_literal = |w: &Value| match ellipsis {
            Value::FALSE => self.is_usual_ellipsis(*w),
            custom => *w == custom,
        };
        if words.iter().any(is_literal) {
            ellipsis = Value::NIL;
        }
        let view = Rules { ellipsis, literals, depth };
        let mut cell = rules;
        while let Some((rule, rest)) = self.heap.uncons(cell) {
            self.check_rule(&view, rule, cell)?;
            cell = rest;
        }
        let name = Value::symbol(self.heap.symbols.base_of(name));
        Ok(self.heap.alloc(Kind::Macro, &[name, ellipsis, literals, rules]))
    }

    /// The parts of a macro object: its name, what to match with, its rules.
    pub(super) fn rules_of(&self, m: Macro) -> (Symbol, Rules, Value) {
        let field = |i| match self.heap.as_kind(m.rules, Kind::Macro) {
            Some(r) => self.heap.field(r, i),
            None => Value::NIL,
        };
        let name = field(0).as_symbol().unwrap_or(self.k.begin);
        (name, Rules { ellipsis: field(1), literals: field(2), depth: m.depth }, field(3))
    }

    fn is_usual_ellipsis(&self, v: Value) -> bool {
        v.as_symbol().is_some_and(|s| self.heap.symbols.base_of(s) == self.k.ellipsis)
    }

    pub(super) fn is_ellipsis(&self, rules: &Rules, v: Value) -> bool {
        match rules.ellipsis {
            Value::FALSE => self.is_usual_ellipsis(v),
            custom => v == custom && v.is_symbol(),
        }
    }

    pub(super) fn is_literal(&self, rules: &Rules, symbol: Symbol) -> bool {
        let mut list = rules.literals;
        while let Some((word, rest)) = self.heap.uncons(list) {
            if word == Value::symbol(symbol) {
                return true;
            }
            list = rest;
        }
        false
    }

    pub(super) fn is_underscore(&self, symbol: Symbol) -> bool {
        self.heap.symbols.base_of(symbol) == self.k.underscore
    }

    // ---- checking

    fn check_rule(&mut self, rules: &Rules, rule: Value, cell: Value) -> Result<(), Error> {
        let parts = self.heap.uncons(rule).filter(|&(pattern, rest)| pattern.is_pair() && self.length(rest) == Some(1));
        let Some((pattern, template)) = parts else {
            let shown = self.shown(rule);
            let error = Diagnostic::error(ErrorCode::E0204, format!("a rule must be (pattern template), got {shown}"));
            return Err(self.at_cell(error, cell).help("for example ((_ x) (* x 2)): the pattern is a list"));
        };
        let mut variables = FxHashMap::default();
        let operands = self.heap.cdr(pattern).unwrap_or(Value::NIL);
        self.check_pattern(rules, operands, 0, 0, &mut variables).map_err(|e| self.label_missing(e, rule))?;
        let template = self.heap.car(template).unwrap_or(Value::NIL);
        self.check_template(rules, template, 0, 0, true, &variables).map_err(|e| self.label_missing(e, rule))
    }

    fn label_missing(&self, error: Error, rule: Value) -> Error {
        if error.labels.is_empty() { self.at_form(error, rule) } else { error }
    }

    /// Collects the variables of a pattern with the number of ellipses they are under.
    fn check_pattern(
        &self,
        rules: &Rules,
        pattern: Value,
        ellipses: usize,
        nesting: usize,
        variables: &mut FxHashMap<Symbol, usize>,
    ) -> Result<(), Error> {
        if nesting > MAX_NESTING {
            return Err(Diagnostic::error(
                ErrorCode::E0204,
                format!("the pattern is nested more than {MAX_NESTING} levels deep"),
            ));
        }
        if let Some(symbol) = pattern.as_symbol() {
            if self.is_literal(rules, symbol) || self.is_underscore(symbol) {
                return Ok(());
            }
            if self.is_ellipsis(rules, pattern) {
                return Err(Diagnostic::error(ErrorCode::E0204, "an ellipsis must follow a part of the pattern")
                    .help("for example (_ x ...)"));
            }
            if variables.insert(symbol, ellipses).is_some() {
                let shown = self.base_name(symbol);
                return Err(Diagnostic::error(
                    ErrorCode::E0204,
                    format!("the pattern has two variables called `{shown}`"),
                )
                .help("give each part of the pattern a name of its own"));
            }
            return Ok(());
        }
        let (items, tail) = self.spine(pattern)?;
        let mut repeated = false;
        let mut i = 0;
        while i < items.len() {
            let follows = items.get(i + 1).is_some_and(|&next| self.is_ellipsis(rules, next));
            if follows && std::mem::replace(&mut repeated, true) {
                return Err(Diagnostic::error(ErrorCode::E0204, "a list of the pattern has more than one ellipsis")
                    .help("only one part of each list can repeat"));
            }
            self.check_pattern(rules, items[i], ellipses + usize::from(follows), nesting + 1, variables)?;
            i += 1 + usize::from(follows);
        }
        if self.is_part(tail) { self.check_pattern(rules, tail, ellipses, nesting + 1, variables) } else { Ok(()) }
    }

    /// The items of a list or vector and what follows the last one; nothing for other data.
    pub(super) fn spine(&self, datum: Value) -> Result<(Vec<Value>, Value), Error> {
        if let Some(r) = self.heap.as_kind(datum, Kind::Vector) {
            return Ok((self.heap.fields(r).collect(), Value::NIL));
        }
        let (mut items, mut rest) = (Vec::new(), datum);
        while let Some((item, next)) = self.heap.uncons(rest) {
            items.push(item);
            rest = next;
            if items.len() > 1 << 22 {
                return Err(Diagnostic::error(ErrorCode::E0204, "a pattern or template must not be circular"));
            }
        }
        Ok((items, rest))
    }

    /// Whether what follows the last pair of a list has parts of its own.
    pub(super) fn is_part(&self, tail: Value) -> bool {
        tail.is_symbol() || self.heap.as_kind(tail, Kind::Vector).is_some()
    }

    fn check_template(
        &self,
        rules: &Rules,
        template: Value,
        ellipses: usize,
        nesting: usize,
        active: bool,
        variables: &FxHashMap<Symbol, usize>,
    ) -> Result<(), Error> {
        if nesting > MAX_NESTING {
            return Err(Diagnostic::error(
                ErrorCode::E0204,
                format!("the template is nested more than {MAX_NESTING} levels deep"),
            ));
        }
        if let Some(symbol) = template.as_symbol() {
            if active && self.is_ellipsis(rules, template) {
                return Err(Diagnostic::error(ErrorCode::E0204, "an ellipsis must follow a part of the template")
                    .help("write (... ...) for an ellipsis itself"));
            }
            return match variables.get(&symbol) {
                Some(&depth) if depth > ellipses => {
                    let shown = self.base_name(symbol);
                    Err(Diagnostic::error(
                        ErrorCode::E0204,
                        format!("`{shown}` repeats in the pattern but not in the template"),
                    )
                    .help(format!("write {shown} ... in the template, too")))
                }
                _ => Ok(()),
            };
        }
        let (items, tail) = self.spine(template)?;
        if active && template.is_pair() && self.is_ellipsis(rules, items[0]) {
            return match items.get(1) {
                Some(&escaped) if items.len() == 2 => {
                    self.check_template(rules, escaped, ellipses, nesting + 1, false, variables)
                }
                _ => Err(Diagnostic::error(
                    ErrorCode::E0204,
                    "an ellipsis at the start of a list escapes exactly one template",
                )
                .help("for example (... ...)")),
            };
        }
        let mut i = 0;
        while i < items.len() {
            let repeats = items[i + 1..].iter().take_while(|&&next| active && self.is_ellipsis(rules, next)).count();
            if repeats > 0 && !self.drives(items[i], ellipses + repeats, variables, 0) {
                return Err(Diagnostic::error(
                    ErrorCode::E0204,
                    "nothing before an ellipsis of the template repeats in the pattern",
                )
                .help("put a variable that is followed by an ellipsis in the pattern before it"));
            }
            self.check_template(rules, items[i], ellipses + repeats, nesting + 1, active, variables)?;
            i += 1 + repeats;
        }
        if self.is_part(tail) {
            self.check_template(rules, tail, ellipses, nesting + 1, active, variables)
        } else {
            Ok(())
        }
    }

    /// Whether a template mentions a variable that is under at least this many ellipses in the pattern.
    fn drives(&self, template: Value, ellipses: usize, variables: &FxHashMap<Symbol, usize>, nesting: usize) -> bool {
        if let Some(symbol) = template.as_symbol() {
            return variables.get(&symbol).is_some_and(|&depth| depth >= ellipses);
        }
        let Ok((items, tail)) = self.spine(template) else { return false };
        nesting <= MAX_NESTING
            && (items.iter().any(|&item| self.drives(item, ellipses, variables, nesting + 1))
                || self.is_part(tail) && self.drives(tail, ellipses, variables, nesting + 1))
    }
}

fn recode(mut error: Error, code: ErrorCode) -> Error {
    error.code = code;
    error
}
