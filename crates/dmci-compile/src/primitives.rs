//! What the compiler knows of the machine's primitives: names, numbers and argument counts.

use rustc_hash::FxHashMap;

/// The primitives of a machine by name.
#[derive(Clone, Debug, Default)]
pub struct PrimitiveSet {
    by_name: FxHashMap<&'static str, (u16, u8, Option<u8>)>,
}

impl PrimitiveSet {
    /// Adds a primitive: its number in the machine's table, fewest and most arguments.
    pub fn add(&mut self, name: &'static str, number: u16, min: u8, max: Option<u8>) {
        self.by_name.insert(name, (number, min, max));
    }

    /// Whether there is a primitive of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Whether the primitive takes this many arguments (and so few that one instruction can).
    pub fn accepts(&self, name: &str, n: usize) -> bool {
        self.by_name
            .get(name)
            .is_some_and(|&(_, min, max)| n >= min as usize && max.is_none_or(|m| n <= m as usize) && n <= 64)
    }

    /// The number of a primitive.
    pub fn number(&self, name: &str) -> Option<u16> {
        self.by_name.get(name).map(|p| p.0)
    }
}
