//! Matching a macro use against the patterns of its rules (R7RS 4.3.2).

use super::expander::{Expander, MAX_MACRO_DEPTH};
use super::scope::Macro;
use super::syntax_rules::Rules;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Kind, Symbol, Value};

/// What a pattern variable stands for: a datum, or one match for each repetition.
#[derive(Clone, Debug)]
pub(super) enum Match {
    One(Value),
    Many(Vec<Match>),
}

/// The variables of a pattern with their matches, in the order of the pattern.
pub(super) type Matches = Vec<(Symbol, Match)>;

impl Expander<'_> {
    /// One step of expansion: the first rule whose pattern matches, filled in.
    pub fn expand_macro(&mut self, m: Macro, form: Value) -> Result<Value, Error> {
        self.renamed = true;
        self.macro_depth += 1;
        if self.macro_depth > MAX_MACRO_DEPTH {
            self.stopped = true;
            return Err(self.endless());
        }
        let (name, rules, mut list) = self.rules_of(m);
        let input = self.heap.cdr(form).unwrap_or(Value::NIL);
        let mut matches = Vec::new();
        while let Some((rule, rest)) = self.heap.uncons(list) {
            let (pattern, template) = self.heap.uncons(rule).unwrap_or((Value::NIL, Value::NIL));
            let pattern = self.heap.cdr(pattern).unwrap_or(Value::NIL);
            matches.clear();
            if self.matches(&rules, pattern, input, &mut matches) {
                let template = self.heap.car(template).unwrap_or(Value::NIL);
                let filled = self.fill_in(&rules, template, &matches, form)?;
                return Ok(if self.stopped { self.nothing() } else { filled });
            }
            if self.stopped {
                return Ok(self.nothing());
            }
            list = rest;
        }
        let patterns = list_of_patterns(self, m);
        Err(self.no_rule(name, patterns, form))
    }

    fn no_rule(&mut self, name: Symbol, patterns: Vec<String>, form: Value) -> Error {
        let stripped = self.strip(form);
        let form_shown = self.shown(stripped);
        let shown = self.heap.symbols.name(name);
        let error =
            Diagnostic::error(ErrorCode::E0203, format!("no pattern of the macro `{shown}` matches {form_shown}"));
        let error = self.at_form(error, form);
        match patterns.is_empty() {
            true => error.help("the macro has no rules"),
            false => error.help(format!("its patterns are {}", patterns.join(" and "))),
        }
    }

    fn matches(&mut self, rules: &Rules, mut pattern: Value, mut form: Value, out: &mut Matches) -> bool {
        loop {
            if !self.count_items(1) {
                return false;
            }
            if let Some(symbol) = pattern.as_symbol() {
                if self.is_literal(rules, symbol) {
                    return self.matches_literal(rules, symbol, form);
                }
                if !self.is_underscore(symbol) {
                    out.push((symbol, Match::One(form)));
                }
                return true;
            }
            if let Some((first, rest)) = self.heap.uncons(pattern) {
                let next = self.heap.uncons(rest).filter(|&(next, _)| self.is_ellipsis(rules, next));
                if let Some((_, after)) = next {
                    let (total, needed) = (self.pairs(form), self.pairs(after));
                    let (Some(total), Some(needed)) = (total, needed) else { return false };
                    let Some(count) = total.checked_sub(needed) else { return false };
                    self.count_items(total / 16);
                    let Some(left) = self.matches_many(rules, first, form, count, out) else { return false };
                    pattern = after;
                    form = left;
                    continue;
                }
                let Some((item, left)) = self.heap.uncons(form) else { return false };
                if !self.matches(rules, first, item, out) {
                    return false;
                }
                pattern = rest;
                form = left;
                continue;
            }
            if let Some(r) = self.heap.as_kind(pattern, Kind::Vector) {
                let Some(s) = self.heap.as_kind(form, Kind::Vector) else { return false };
                let (patterns, items): (Vec<_>, Vec<_>) =
                    (self.heap.fields(r).collect(), self.heap.fields(s).collect());
                pattern = self.heap.list(&patterns);
                form = self.heap.list(&items);
                continue;
            }
            return self.same_datum(pattern, form);
        }
    }

    /// Matches the first `count` items against one pattern; what is left of the form.
    fn matches_many(
        &mut self,
        rules: &Rules,
        pattern: Value,
        mut form: Value,
        count: usize,
        out: &mut Matches,
    ) -> Option<Value> {
        let start = out.len();
        self.pattern_variables(rules, pattern, out);
        let mut row = Vec::new();
        for _ in 0..count {
            let (item, rest) = self.heap.uncons(form)?;
            row.clear();
            if !self.matches(rules, pattern, item, &mut row) {
                return None;
            }
            for ((_, column), (_, found)) in out[start..].iter_mut().zip(row.drain(..)) {
                if let Match::Many(column) = column {
                    column.push(found);
                }
            }
            form = rest;
        }
        Some(form)
    }

    /// Adds the variables of a pattern, in the order in which matching finds them, without matches yet.
    fn pattern_variables(&self, rules: &Rules, mut pattern: Value, out: &mut Matches) {
        loop {
            if let Some(symbol) = pattern.as_symbol() {
                let other =
                    self.is_literal(rules, symbol) || self.is_underscore(symbol) || self.is_ellipsis(rules, pattern);
                if !other {
                    out.push((symbol, Match::Many(Vec::new())));
                }
                return;
            }
            if let Some(r) = self.heap.as_kind(pattern, Kind::Vector) {
                self.heap.fields(r).for_each(|item| self.pattern_variables(rules, item, out));
                return;
            }
            let Some((first, rest)) = self.heap.uncons(pattern) else { return };
            self.pattern_variables(rules, first, out);
            pattern = rest;
        }
    }

    /// A literal matches an identifier that means the same here as the literal where the macro was defined.
    fn matches_literal(&self, rules: &Rules, literal: Symbol, form: Value) -> bool {
        let Some(symbol) = form.as_symbol() else { return false };
        self.identity(symbol) == self.scopes.identity(&self.heap.symbols, literal, rules.depth)
    }

    /// Number of pairs in a list that may end in anything; `None` if it is circular.
    fn pairs(&self, list: Value) -> Option<usize> {
        let (mut slow, mut fast, mut n) = (list, list, 0);
        while let Some(next) = self.heap.cdr(fast) {
            fast = next;
            n += 1;
            if n % 2 == 0 {
                slow = self.heap.cdr(slow).unwrap_or(Value::NIL);
                if slow == fast && fast.is_pair() {
                    return None;
                }
            }
        }
        Some(n)
    }

    /// `equal?` of data that are neither lists nor vectors.
    fn same_datum(&mut self, a: Value, b: Value) -> bool {
        if a.is_traced() || b.is_traced() {
            return self.same_number(a, b);
        }
        if a == b {
            return true;
        }
        let (Some(r), Some(s)) = (a.as_object(), b.as_object()) else { return false };
        let kind = self.heap.kind(r);
        matches!(kind, Kind::String | Kind::Bignum | Kind::Bytevector)
            && kind == self.heap.kind(s)
            && self.heap.raw(r) == self.heap.raw(s)
    }

    /// The same where a datum is a traced number or boolean.
    fn same_number(&mut self, a: Value, b: Value) -> bool {
        let plain = |v: Value| self.heap.as_kind(v, Kind::Traced).map_or(v, |r| self.heap.field(r, 1));
        let (x, y) = (plain(a), plain(b));
        if x.is_real() && y.is_real() || x.is_fixnum() && y.is_fixnum() || x.is_boolean() && y.is_boolean() {
            self.compared.extend([a, b].into_iter().filter(|v| v.is_traced()));
        }
        x == y
    }
}

/// The patterns of a macro, for a message: the first few.
fn list_of_patterns(x: &Expander<'_>, m: Macro) -> Vec<String> {
    let (_, _, mut rules) = x.rules_of(m);
    let mut shown = Vec::new();
    while let Some((rule, rest)) = x.heap.uncons(rules).filter(|_| shown.len() < 4) {
        if let Some(pattern) = x.heap.car(rule) {
            shown.push(x.shown(pattern));
        }
        rules = rest;
    }
    shown
}
