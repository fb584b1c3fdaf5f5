//! `(result (name value) ...)`: what a program gives when it gives several things by name. It is the
//! association list of the names and the values, so that any program can take it apart.

use super::expander::Expander;
use dmci_value::{Error, Value};

impl Expander<'_> {
    /// `(list (cons 'name value) ...)`.
    pub fn result_form(&mut self, form: Value) -> Result<Value, Error> {
        let (_, mut cell) = self.operands_of(form, 1, usize::MAX)?;
        let place = self.heap.place(form);
        let mut pairs = Vec::new();
        while let Some((entry, rest)) = self.heap.uncons(cell) {
            let parts = self.heap.list_items(entry).filter(|parts| parts.len() == 2 && parts[0].is_symbol());
            let (Some(parts), Some(value)) = (parts, self.heap.cdr(entry)) else { return Err(self.wrong_shape(form)) };
            let name = parts[0].as_symbol().map_or(parts[0], |s| Value::symbol(self.heap.symbols.base_of(s)));
            let at = self.heap.place(entry);
            let name = self.quoted(name, at);
            let value = self.expand_car(value, false);
            pairs.push(self.call(self.k.cons, &[name, value], at));
            cell = rest;
        }
        Ok(self.call(self.k.list, &pairs, place))
    }
}
