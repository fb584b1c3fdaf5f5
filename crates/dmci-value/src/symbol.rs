//! Symbols: interned names as small numbers, in a shared base plus what one heap has added.

use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A symbol: an index into the heap's [`Symbols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(pub u32);

#[derive(Clone, Debug)]
struct Entry {
    name: Arc<str>,
    /// For an uninterned symbol made by renaming: the symbol it stands for.
    alias_of: Option<Symbol>,
}

#[derive(Clone, Debug, Default)]
struct Table {
    entries: Vec<Entry>,
    by_name: FxHashMap<Arc<str>, Symbol>,
}

/// The symbol table of a heap. The base is shared by all heaps that start from the same image.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    base: Arc<Table>,
    local: Table,
}

impl Symbols {
    /// The symbol with this name; makes it if needed.
    pub fn intern(&mut self, name: &str) -> Symbol {
        if let Some(symbol) = self.find(name) {
            return symbol;
        }
        let name: Arc<str> = name.into();
        let symbol = self.push(Entry { name: name.clone(), alias_of: None });
        self.local.by_name.insert(name, symbol);
        symbol
    }

    /// The symbol with this name, if it exists.
    pub fn find(&self, name: &str) -> Option<Symbol> {
        self.base.by_name.get(name).or_else(|| self.local.by_name.get(name)).copied()
    }

    /// A fresh uninterned symbol that stands for `original`; prints as `original.N`.
    pub fn alias(&mut self, original: Symbol) -> Symbol {
        let base = self.base_of(original);
        let name = format!("{}.{}", self.name(base), self.len());
        self.push(Entry { name: name.into(), alias_of: Some(original) })
    }

    /// A fresh symbol that is like no other and stands for itself.
    pub fn uninterned(&mut self, name: &str) -> Symbol {
        self.push(Entry { name: name.into(), alias_of: None })
    }

    /// What an uninterned symbol stands for, one step.
    pub fn alias_of(&self, symbol: Symbol) -> Option<Symbol> {
        self.entry(symbol).alias_of
    }

    /// The interned symbol behind any number of renamings.
    pub fn base_of(&self, mut symbol: Symbol) -> Symbol {
        while let Some(original) = self.entry(symbol).alias_of {
            symbol = original;
        }
        symbol
    }

    /// The printed name.
    pub fn name(&self, symbol: Symbol) -> &str {
        &self.entry(symbol).name
    }

    /// Number of symbols.
    pub fn len(&self) -> usize {
        self.base.entries.len() + self.local.entries.len()
    }

    /// Whether there is no symbol.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes everything so far the shared base.
    pub fn freeze(&mut self) {
        let mut base = (*self.base).clone();
        base.entries.append(&mut self.local.entries);
        base.by_name.extend(self.local.by_name.drain());
        self.base = Arc::new(base);
    }

    /// Forgets all symbols from the `len`th on, but none of the shared base.
    pub fn truncate(&mut self, len: usize) {
        let shared = self.base.entries.len();
        let kept = len.saturating_sub(shared).min(self.local.entries.len());
        if kept == 0 {
            self.local.by_name.clear();
        }
        for (i, entry) in self.local.entries.drain(kept..).enumerate() {
            // Names of symbols that were not interned may be those of others.
            let symbol = Symbol((shared + kept + i) as u32);
            if self.local.by_name.get(&entry.name) == Some(&symbol) {
                self.local.by_name.remove(&entry.name);
            }
        }
    }

    fn push(&mut self, entry: Entry) -> Symbol {
        self.local.entries.push(entry);
        Symbol(self.len() as u32 - 1)
    }

    fn entry(&self, symbol: Symbol) -> &Entry {
        let i = symbol.0 as usize;
        let shared = self.base.entries.len();
        if i < shared { &self.base.entries[i] } else { &self.local.entries[i - shared] }
    }
}
