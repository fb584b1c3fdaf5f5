//! The syntactic part of a global environment.

use super::keywords::{Keywords, Special};
use dmci_value::{Symbol, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// What a global environment knows about names at expansion time. All names are interned symbols.
#[derive(Clone, Debug)]
pub struct SyntaxTable {
    /// The keywords of the heap image.
    pub keywords: Arc<Keywords>,
    /// Macros by name: macro objects, or the symbol of a keyword that the name is a synonym of.
    macros: FxHashMap<Symbol, Value>,
    /// Keywords that the program has defined as variables.
    shadowed: FxHashSet<Symbol>,
    /// Names of the system that programs must not define or assign. `None` while the system
    /// itself is expanded: it may define them, and its definition of the procedure `assert` leaves
    /// the form alone.
    pub reserved: Option<Arc<FxHashSet<Symbol>>>,
    /// Names given from outside (`--set`), which `(params ...)` must not override.
    preset: FxHashSet<Symbol>,
}

/// What a global name means to the expander.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Global {
    Variable,
    Special(Special),
    Macro(Value),
}

impl SyntaxTable {
    /// A table with the keywords only.
    pub fn new(keywords: Arc<Keywords>) -> Self {
        SyntaxTable {
            keywords,
            macros: FxHashMap::default(),
            shadowed: FxHashSet::default(),
            reserved: None,
            preset: FxHashSet::default(),
        }
    }

    /// Calls `f` with every heap value that the table holds.
    pub fn roots(&mut self, f: &mut dyn FnMut(&mut Value)) {
        self.macros.values_mut().for_each(f);
    }

    /// Notes a name given from outside: it is a variable, and `(params ...)` leaves it alone.
    pub fn preset(&mut self, name: Symbol) {
        self.preset.insert(name);
        self.define_variable(name);
    }

    /// Whether the name was given from outside.
    pub fn is_preset(&self, name: Symbol) -> bool {
        self.preset.contains(&name)
    }

    /// Notes that the name is a variable now, whatever it was.
    pub fn define_variable(&mut self, name: Symbol) {
        if !self.macros.is_empty() {
            self.macros.remove(&name);
        }
        if let Some(special) = self.keywords.special(name)
            && !(self.reserved.is_none() && special.only_at_head())
        {
            self.shadowed.insert(name);
        }
    }

    /// Notes that the name is a macro now.
    pub(super) fn define_macro(&mut self, name: Symbol, rules: Value) {
        self.shadowed.remove(&name);
        self.macros.insert(name, rules);
    }

    /// Whether the name is a macro or a keyword, so that it has no value.
    pub fn is_syntax(&self, name: Symbol) -> bool {
        match self.meaning(name) {
            Global::Variable => false,
            Global::Special(special) => !special.only_at_head(),
            Global::Macro(_) => true,
        }
    }

    /// Whether programs must leave the name alone.
    pub(super) fn is_reserved(&self, name: Symbol) -> bool {
        self.reserved.as_ref().is_some_and(|names| names.contains(&name))
    }

    #[inline]
    pub(super) fn meaning(&self, name: Symbol) -> Global {
        if !self.macros.is_empty()
            && let Some(&rules) = self.macros.get(&name)
        {
            return match rules.as_symbol().and_then(|s| self.keywords.special(s)) {
                Some(special) => Global::Special(special),
                None => Global::Macro(rules),
            };
        }
        match self.keywords.special(name) {
            Some(special) if self.shadowed.is_empty() || !self.shadowed.contains(&name) => Global::Special(special),
            _ => Global::Variable,
        }
    }

    pub(super) fn shadows(&self) -> FxHashSet<Symbol> {
        self.shadowed.clone()
    }

    pub(super) fn restore_shadows(&mut self, shadowed: FxHashSet<Symbol>) {
        self.shadowed = shadowed;
    }
}
