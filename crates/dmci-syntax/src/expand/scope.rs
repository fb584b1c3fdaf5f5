//! Local scopes: what an identifier means where it stands.
//!
//! Expansion opens and closes scopes like a stack, and a local macro can be used only inside the
//! scope that it was defined in. So every environment that can ever be asked is a prefix of the
//! stack, and a depth names it. Each symbol knows its innermost binding, and each binding the one
//! it hides: looking up takes constant time however deep the nesting is.
//!
//! A macro's template inserts aliases: fresh symbols that remember what they stand for and the
//! depth at which the macro was defined. An alias that is not bound itself means what its original
//! means at that depth.

use super::keywords::Special;
use dmci_value::{Symbol, Symbols, Value};
use rustc_hash::FxHashMap;

/// A macro with the depth of its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Macro {
    pub rules: Value,
    pub depth: u32,
}

/// What a local name is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Local {
    /// A variable that is called this in the core form.
    Variable(Symbol),
    Macro(Macro),
    /// A synonym of a keyword.
    Special(Special),
}

/// What an identifier denotes; two identifiers are `free-identifier=?` if this is equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// Number of a local binding.
    Local(u32),
    /// An interned name in the global environment.
    Global(Symbol),
}

#[derive(Debug)]
struct Bind {
    symbol: Symbol,
    depth: u32,
    /// The binding of the same symbol that this one hides.
    hidden: u32,
    local: Local,
}

const NONE: u32 = u32::MAX;

/// The stack of scopes.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    binds: Vec<Bind>,
    innermost: FxHashMap<Symbol, u32>,
    depth: u32,
    /// Depth of the environment of aliases made by local macros; others belong to depth 0.
    alias_depth: FxHashMap<Symbol, u32>,
    /// Local macros in scope.
    macros: u32,
}

/// Where the stack of scopes stood.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    depth: u32,
    binds: usize,
}

impl Scopes {
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Whether a local macro is in scope.
    pub fn has_macros(&self) -> bool {
        self.macros > 0
    }

    pub fn mark(&self) -> Mark {
        Mark { depth: self.depth, binds: self.binds.len() }
    }

    /// Opens a scope; the mark closes it.
    pub fn open(&mut self) -> Mark {
        let mark = self.mark();
        self.depth += 1;
        mark
    }

    /// Closes all scopes opened since the mark was taken.
    pub fn close(&mut self, mark: Mark) {
        while self.binds.len() > mark.binds
            && let Some(bind) = self.binds.pop()
        {
            if bind.hidden == NONE {
                self.innermost.remove(&bind.symbol);
            } else {
                self.innermost.insert(bind.symbol, bind.hidden);
            }
            if matches!(bind.local, Local::Macro(_)) {
                self.macros -= 1;
            }
        }
        self.depth = mark.depth;
    }

    /// Binds a symbol in the innermost scope; `false` if that scope binds it already.
    pub fn bind(&mut self, symbol: Symbol, local: Local) -> bool {
        let number = self.binds.len() as u32;
        let hidden = self.innermost.insert(symbol, number).unwrap_or(NONE);
        let fresh = hidden == NONE || self.binds[hidden as usize].depth < self.depth;
        self.binds.push(Bind { symbol, depth: self.depth, hidden, local });
        if matches!(local, Local::Macro(_)) {
            self.macros += 1;
        }
        fresh
    }

    /// Whether the symbol itself is bound in any open scope.
    pub fn is_bound(&self, symbol: Symbol) -> bool {
        !self.binds.is_empty() && self.innermost.contains_key(&symbol)
    }

    /// Remembers that a macro defined at `depth` made this alias.
    pub fn note_alias(&mut self, alias: Symbol, depth: u32) {
        if depth > 0 {
            self.alias_depth.insert(alias, depth);
        }
    }

    /// What a symbol denotes in the environment of this depth.
    pub fn identity(&self, symbols: &Symbols, mut symbol: Symbol, mut depth: u32) -> Identity {
        loop {
            if let Some(number) = self.find(symbol, depth) {
                return Identity::Local(number);
            }
            let Some(original) = symbols.alias_of(symbol) else { return Identity::Global(symbol) };
            depth = self.alias_depth.get(&symbol).copied().unwrap_or(0);
            symbol = original;
        }
    }

    /// The local binding with this number.
    pub fn local(&self, number: u32) -> Local {
        self.binds[number as usize].local
    }

    #[inline]
    fn find(&self, symbol: Symbol, depth: u32) -> Option<u32> {
        if self.binds.is_empty() {
            return None;
        }
        let mut number = *self.innermost.get(&symbol)?;
        loop {
            let bind = &self.binds[number as usize];
            if bind.depth <= depth {
                return Some(number);
            }
            if bind.hidden == NONE {
                return None;
            }
            number = bind.hidden;
        }
    }
}
