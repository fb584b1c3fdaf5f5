//! Data without aliases: what `quote` gives is what the user wrote.

use super::expander::Expander;
use dmci_value::{Kind, Value};
use rustc_hash::FxHashMap;

impl Expander<'_> {
    /// The datum with every alias replaced by the symbol that it stands for. Shared and circular
    /// parts stay so; a datum without aliases is returned as it is.
    pub fn strip(&mut self, datum: Value) -> Value {
        // Only macros make aliases.
        if !self.renamed {
            return datum;
        }
        if let Some(symbol) = datum.as_symbol() {
            return Value::symbol(self.heap.symbols.base_of(symbol));
        }
        if !self.is_container(datum) {
            return datum;
        }
        // All pairs and vectors of the datum, in the order in which they are met, numbered.
        let mut numbers: FxHashMap<Value, usize> = FxHashMap::default();
        let mut found = vec![datum];
        numbers.insert(datum, 0);
        let mut aliases = false;
        let mut next = 0;
        while let Some(&container) = found.get(next) {
            next += 1;
            let Some(r) = container.as_ref() else { continue };
            for i in 0..self.heap.len(r) {
                let part = self.heap.field(r, i);
                if let Some(symbol) = part.as_symbol() {
                    aliases |= self.heap.symbols.alias_of(symbol).is_some();
                } else if self.is_container(part) && !numbers.contains_key(&part) {
                    numbers.insert(part, found.len());
                    found.push(part);
                }
            }
        }
        if !aliases {
            return datum;
        }
        let copies: Vec<Value> = found.iter().map(|&container| self.shallow_copy(container)).collect();
        for &copy in &copies {
            let Some(r) = copy.as_ref() else { continue };
            for i in 0..self.heap.len(r) {
                let part = self.heap.field(r, i);
                if let Some(symbol) = part.as_symbol() {
                    let base = self.heap.symbols.base_of(symbol);
                    self.heap.store(r, i, Value::symbol(base));
                } else if let Some(&number) = numbers.get(&part) {
                    self.heap.store(r, i, copies[number]);
                }
            }
        }
        copies[0]
    }

    fn is_container(&self, v: Value) -> bool {
        v.is_pair() || self.heap.as_kind(v, Kind::Vector).is_some()
    }

    fn shallow_copy(&mut self, container: Value) -> Value {
        if let Some((car, cdr)) = self.heap.uncons(container) {
            return self.heap.cons_at(car, cdr, self.heap.place(container));
        }
        let items: Vec<Value> = container.as_ref().map(|r| self.heap.fields(r).collect()).unwrap_or_default();
        self.heap.vector(&items)
    }
}
