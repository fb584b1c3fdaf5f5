//! Source text to printed core. Aliases are printed as their base name with a number in order of
//! appearance (`tmp~1`), the unspecified value as `#u`.

mod errors;
mod forms;
mod generated;
mod hygiene;
mod limits;
mod macros;
mod top_level;

use super::*;
use dmci_value::{Diagnostic, Heap, Kind, Origin, Symbol, Value};
use rustc_hash::FxHashSet;
use std::fmt::Write;
use std::sync::Arc;

/// A heap with its syntax table.
pub(super) struct Bench {
    pub heap: Heap,
    pub table: SyntaxTable,
}

impl Bench {
    pub fn new() -> Self {
        let mut heap = Heap::new();
        let keywords = Arc::new(intern_keywords(&mut heap));
        let mut table = SyntaxTable::new(keywords);
        let reserved: FxHashSet<Symbol> = ["%cons", "%list"].iter().map(|n| heap.symbols.intern(n)).collect();
        table.reserved = Some(Arc::new(reserved));
        Bench { heap, table }
    }

    pub fn read(&mut self, text: &str) -> Value {
        let source = self.heap.sources.add("test", text, Origin::User);
        crate::reader::read_all(&mut self.heap, source).expect("tests are readable").forms
    }

    pub fn expand(&mut self, text: &str) -> Result<Expansion, Vec<Diagnostic>> {
        let forms = self.read(text);
        expand_program(&mut self.heap, &mut self.table, forms)
    }

    /// All core forms, printed.
    pub fn core(&mut self, text: &str) -> String {
        match self.expand(text) {
            Ok(expansion) => {
                let mut printer = Printer { heap: &self.heap, aliases: Vec::new(), out: String::new() };
                for (i, &form) in expansion.forms.iter().enumerate() {
                    if i > 0 {
                        printer.out.push(' ');
                    }
                    printer.print(form);
                }
                printer.out
            }
            Err(errors) => errors.iter().map(|e| format!("{}: {}\n", e.code, e.message)).collect(),
        }
    }

    /// The text that the primary label of an error points to.
    pub fn pointed(&self, error: &Diagnostic) -> String {
        self.heap.sources.slice(error.span().expect("a place")).to_string()
    }
}

/// The printed core of a program.
pub(super) fn core(text: &str) -> String {
    Bench::new().core(text)
}

/// The errors of a program: code, message and the text that each points to.
pub(super) fn errors(text: &str) -> Vec<(&'static str, String, String)> {
    let mut bench = Bench::new();
    let errors = bench.expand(text).expect_err("the program is wrong");
    errors
        .iter()
        .map(|e| (e.code.as_str(), e.message.clone(), e.span().map_or_else(String::new, |_| bench.pointed(e))))
        .collect()
}

/// The codes of a program's errors.
pub(super) fn codes(text: &str) -> Vec<&'static str> {
    errors(text).into_iter().map(|e| e.0).collect()
}

struct Printer<'a> {
    heap: &'a Heap,
    aliases: Vec<Symbol>,
    out: String,
}

impl Printer<'_> {
    fn print(&mut self, v: Value) {
        if let Some(symbol) = v.as_symbol() {
            let base = self.heap.symbols.base_of(symbol);
            self.out.push_str(self.heap.symbols.name(base));
            if base != symbol {
                let number = self.aliases.iter().position(|&a| a == symbol).unwrap_or_else(|| {
                    self.aliases.push(symbol);
                    self.aliases.len() - 1
                });
                write!(self.out, "~{}", number + 1).expect("strings take everything");
            }
        } else if let Some((head, rest)) = self.heap.uncons(v) {
            if let (Some(symbol), Some((Value::UNSPECIFIED, _))) = (head.as_symbol(), self.heap.uncons(rest))
                && self.heap.symbols.name(symbol) == "quote"
            {
                self.out.push_str("#u");
                return;
            }
            // (begin x) only gives the variable x a place.
            if let (Some(symbol), Some((item, Value::NIL))) = (head.as_symbol(), self.heap.uncons(rest))
                && self.heap.symbols.name(symbol) == "begin"
                && item.is_symbol()
            {
                return self.print(item);
            }
            self.out.push('(');
            self.print(head);
            let mut rest = rest;
            while let Some((item, next)) = self.heap.uncons(rest) {
                self.out.push(' ');
                self.print(item);
                rest = next;
            }
            if !rest.is_nil() {
                self.out.push_str(" . ");
                self.print(rest);
            }
            self.out.push(')');
        } else if let Some(r) = self.heap.as_kind(v, Kind::Vector) {
            self.out.push_str("#(");
            for (i, item) in self.heap.fields(r).enumerate() {
                if i > 0 {
                    self.out.push(' ');
                }
                self.print(item);
            }
            self.out.push(')');
        } else {
            self.out.push_str(&crate::printer::write(self.heap, v));
        }
    }
}
