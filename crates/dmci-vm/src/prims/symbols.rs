//! Symbols.

use super::{Primitive, at_least, fixed};
use crate::world::World;
use dmci_value::{Error, Symbol, Value};

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    fixed("symbol?", 1, |_, a| Ok(Value::boolean(a[0].is_symbol()))),
    fixed("symbol->string", 1, |w, a| {
        let name = w.symbol_name("symbol->string", a[0])?;
        Ok(w.heap.string(&name))
    }),
    fixed("string->symbol", 1, |w, a| intern(w, "string->symbol", a[0])),
    fixed("intern", 1, |w, a| intern(w, "intern", a[0])),
    fixed("string->uninterned-symbol", 1, |w, a| {
        let name: String = w.chars("string->uninterned-symbol", a[0])?.into_iter().collect();
        w.heap.charge_outside(SYMBOL_BYTES + name.len());
        Ok(Value::symbol(w.heap.symbols.uninterned(&name)))
    }),
    at_least("symbol-append", 0, |w, a| {
        let mut name = String::new();
        for &v in a {
            name += &w.symbol_name("symbol-append", v)?;
        }
        Ok(w.symbol_named(&name))
    }),
    at_least("symbol=?", 1, |w, a| {
        for &v in a {
            w.symbol("symbol=?", v)?;
        }
        Ok(Value::boolean(a.windows(2).all(|p| p[0] == p[1])))
    }),
    at_least("symbol<?", 1, |w, a| {
        let names = a.iter().map(|&v| w.symbol_name("symbol<?", v)).collect::<Result<Vec<_>, _>>()?;
        Ok(Value::boolean(names.is_sorted_by(|a, b| a < b)))
    }),
];

/// What a symbol holds outside the heap, about.
const SYMBOL_BYTES: usize = 96;

impl World {
    /// A symbol argument.
    pub fn symbol(&self, who: &str, v: Value) -> Result<Symbol, Error> {
        v.as_symbol().ok_or_else(|| self.wrong_type(who, "a symbol", v))
    }

    /// The name of a symbol argument.
    pub fn symbol_name(&self, who: &str, v: Value) -> Result<String, Error> {
        Ok(self.heap.symbols.name(self.symbol(who, v)?).to_string())
    }

    /// The interned symbol with this name; symbols stay for the whole evaluation, so a new one counts
    /// towards the memory limit.
    pub fn symbol_named(&mut self, name: &str) -> Value {
        self.spend(name.len() / 8);
        if self.heap.symbols.find(name).is_none() {
            self.heap.charge_outside(SYMBOL_BYTES + 2 * name.len());
        }
        Value::symbol(self.heap.symbols.intern(name))
    }
}

fn intern(world: &mut World, who: &str, v: Value) -> Result<Value, Error> {
    let name: String = world.chars(who, v)?.into_iter().collect();
    Ok(world.symbol_named(&name))
}
