//! `import` and `cond-expand`: everything is there already, so libraries are only checked.

use super::expander::Expander;
use super::table::Global;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Value};

/// First words of the names of libraries whose contents are part of the language, with the words that may
/// follow; any, if there are none.
const KNOWN: &[(&str, &[&str])] = &[
    (
        "scheme",
        &[
            "base",
            "case-lambda",
            "char",
            "complex",
            "cxr",
            "eval",
            "file",
            "inexact",
            "lazy",
            "load",
            "process-context",
            "r5rs",
            "read",
            "repl",
            "time",
            "write",
            "bitwise",
            "box",
            "bytevector",
            "charset",
            "comparator",
            "division",
            "ephemeron",
            "fixnum",
            "flonum",
            "generator",
            "hash-table",
            "ideque",
            "ilist",
            "list",
            "list-queue",
            "lseq",
            "mapping",
            "regex",
            "rlist",
            "set",
            "show",
            "sort",
            "stream",
            "text",
            "vector",
        ],
    ),
    ("srfi", &[]),
    (
        "rnrs",
        &[
            "arithmetic",
            "base",
            "bytevectors",
            "conditions",
            "control",
            "enums",
            "eval",
            "exceptions",
            "files",
            "hashtables",
            "io",
            "lists",
            "mutable-pairs",
            "mutable-strings",
            "programs",
            "r5rs",
            "records",
            "sorting",
            "syntax-case",
            "unicode",
        ],
    ),
    ("ice-9", &[]),
    ("chibi", &[]),
];

/// Depth of `and`, `or` and `not` in a requirement.
const MAX_NESTING: usize = 100;

impl Expander<'_> {
    /// Checks the libraries of an `import` form. Renamings become definitions.
    pub fn import(&mut self, form: Value, out: &mut Vec<Value>) -> Result<(), Error> {
        let (_, mut cell) = self.operands_of(form, 0, usize::MAX)?;
        while let Some((_, rest)) = self.heap.uncons(cell) {
            if let Err(error) = self.import_set(cell, out) {
                self.report(error, self.heap.place(form), self.heap.place(cell));
            }
            cell = rest;
        }
        Ok(())
    }

    /// One import set: the car of `cell`.
    fn import_set(&mut self, cell: Value, out: &mut Vec<Value>) -> Result<(), Error> {
        let mut set_cell = cell;
        for _ in 0..MAX_NESTING {
            let set = self.heap.car(set_cell).unwrap_or(Value::NIL);
            let inner = self.heap.cdr(set).unwrap_or(Value::NIL);
            let modified = self.heap.car(inner).is_some_and(Value::is_pair);
            match self.first_word(set) {
                Some("only" | "except") if modified => set_cell = inner,
                Some("rename") if modified => {
                    self.import_renamed(self.heap.cdr(inner).unwrap_or(Value::NIL), out)?;
                    set_cell = inner;
                }
                Some("prefix") if modified => {
                    let error = Diagnostic::error(ErrorCode::E0207, "`prefix` is not supported in an import");
                    return Err(self
                        .at_cell(error, set_cell)
                        .help("import the library as it is: (import (scheme base))"));
                }
                // Guile writes options after a library: ((srfi srfi-1) #:select (fold)).
                None if self.heap.car(set).is_some_and(Value::is_pair) => set_cell = set,
                _ if self.is_known(set) => return Ok(()),
                _ => return Err(self.unknown_library(set, set_cell)),
            }
        }
        Err(self.unknown_library(Value::NIL, cell))
    }

    /// Whether there is a library of this name.
    fn is_known(&self, name: Value) -> bool {
        let Some((_, parts)) = KNOWN.iter().find(|(word, _)| self.first_word(name) == Some(word)) else { return false };
        let rest = self.heap.cdr(name).unwrap_or(Value::NIL);
        // R6RS has a version behind the name: (rnrs (6)).
        parts.is_empty() || self.first_word(rest).map_or(*parts != KNOWN[0].1, |part| parts.contains(&part))
    }

    fn first_word(&self, list: Value) -> Option<&str> {
        self.heap.car(list)?.as_symbol().map(|s| self.base_name(s))
    }

    fn unknown_library(&self, name: Value, cell: Value) -> Error {
        let shown = self.heap.car(cell).map_or_else(String::new, |set| self.shown(set));
        let error = Diagnostic::error(ErrorCode::E0207, format!("there is no library {shown}"));
        let word = self.first_word(name);
        let part = self.heap.cdr(name).and_then(|rest| self.first_word(rest));
        let nearest = |word: &str, known: &mut dyn Iterator<Item = &'static str>| {
            known.map(|known| (distance(word, known), known)).filter(|(d, _)| *d <= 2).min()
        };
        let first = word.and_then(|word| nearest(word, &mut KNOWN.iter().map(|known| known.0)));
        let parts = first.and_then(|(_, first)| KNOWN.iter().find(|known| known.0 == first)).map(|known| known.1);
        let second = part.zip(parts).and_then(|(part, parts)| nearest(part, &mut parts.iter().copied()));
        self.at_cell(error, cell).help(match (first, second, parts) {
            (Some((_, first)), Some((_, second)), _) => format!("did you mean ({first} {second})?"),
            (Some((0, first)), None, Some(parts)) => {
                format!("({first} ...) may be followed by {}, ...", parts[..parts.len().min(16)].join(", "))
            }
            (Some((_, first)), ..) => format!("did you mean ({first} ...)?"),
            _ => "the whole language is there without an import; (scheme ...), (srfi N) and (rnrs ...) are accepted"
                .into(),
        })
    }

    /// `(old new)` pairs: each new name is defined as the old one.
    fn import_renamed(&mut self, pairs: Value, out: &mut Vec<Value>) -> Result<(), Error> {
        for pair in self.heap.list_items(pairs).unwrap_or_default() {
            let names = self.heap.list_items(pair).unwrap_or_default();
            let (Some(old), Some(new)) =
                (names.first().and_then(|v| v.as_symbol()), names.get(1).and_then(|v| v.as_symbol()))
            else {
                let error = Diagnostic::error(ErrorCode::E0207, "`rename` needs pairs (old-name new-name)");
                return Err(self.at_form(error, pair).help("for example (rename (scheme base) (car first))"));
            };
            let place = self.heap.place(pair);
            self.check_reserved(new, place)?;
            match self.table.meaning(old) {
                Global::Macro(rules) => self.table.define_macro(new, rules),
                Global::Special(special) => self.table.define_macro(new, Value::symbol(self.k.symbol_of(special))),
                Global::Variable => {
                    self.table.define_variable(new);
                    self.defined.push(new);
                    out.push(self.define(new, Value::symbol(old), place));
                }
            }
        }
        Ok(())
    }

    /// The forms of the first clause of a `cond-expand` whose requirement holds; none if none does.
    pub fn cond_expand(&mut self, form: Value) -> Result<Value, Error> {
        let (_, mut cell) = self.operands_of(form, 0, usize::MAX)?;
        while let Some((clause, rest)) = self.heap.uncons(cell) {
            let Some((requirement, forms)) = self.heap.uncons(clause).filter(|_| self.length(clause).is_some()) else {
                return Err(self.wrong_part(form, "a clause (requirement form ...)", cell));
            };
            if self.holds(requirement, 0) {
                return Ok(forms);
            }
            cell = rest;
        }
        Ok(Value::NIL)
    }

    fn holds(&self, requirement: Value, depth: usize) -> bool {
        if let Some(symbol) = requirement.as_symbol() {
            return matches!(self.base_name(symbol), "else" | "r7rs" | "ieee-float" | "full-unicode" | "dmci");
        }
        let parts = self.heap.list_items(requirement).unwrap_or_default();
        if depth > MAX_NESTING || parts.is_empty() {
            return false;
        }
        match self.first_word(requirement) {
            Some("and") => parts[1..].iter().all(|&part| self.holds(part, depth + 1)),
            Some("or") => parts[1..].iter().any(|&part| self.holds(part, depth + 1)),
            Some("not") => parts.get(1).is_some_and(|&part| !self.holds(part, depth + 1)),
            Some("library") => parts.get(1).is_some_and(|&name| self.is_known(name)),
            _ => false,
        }
    }
}

/// How many letters must be changed, added or removed to make one word of another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(32).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let next = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = row[j + 1];
            row[j + 1] = next;
        }
    }
    row[b.len()]
}
