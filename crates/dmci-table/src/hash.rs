//! Hashes that tell programs and data apart: XXH3 with 128 bits. They guard against mix-ups, not against malice.

use xxhash_rust::xxh3::Xxh3;

/// A hash under construction.
#[derive(Clone, Default)]
pub struct Hash(Xxh3);

impl Hash {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds a number.
    pub fn add_number(&mut self, x: f64) {
        self.add(&x.to_bits().to_le_bytes());
    }

    /// The hash as 32 digits.
    pub fn digits(&self) -> String {
        format!("{:032x}", self.0.digest128())
    }
}

/// The hash of a text.
pub fn of_text(text: &str) -> String {
    let mut hash = Hash::default();
    hash.add(text.as_bytes());
    hash.digits()
}

#[cfg(test)]
mod tests {
    /// Against the published value for empty input.
    #[test]
    fn the_hash_is_xxh3() {
        assert_eq!(super::of_text(""), "99aa06d3014798d86001c324468d497f");
    }
}
