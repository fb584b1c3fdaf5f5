//! Hashes that tell programs and data apart: FNV-1a over 128 bits. They guard against mix-ups, not
//! against malice.

/// A hash under construction.
#[derive(Clone, Copy, Debug)]
pub struct Hash(u128);

impl Default for Hash {
    fn default() -> Self {
        Hash(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Hash {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = (self.0 ^ u128::from(b)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }

    /// Adds a number.
    pub fn add_number(&mut self, x: f64) {
        self.add(&x.to_bits().to_le_bytes());
    }

    /// The hash as 32 digits.
    pub fn digits(&self) -> String {
        format!("{:032x}", self.0)
    }
}

/// The hash of a text.
pub fn of_text(text: &str) -> String {
    let mut hash = Hash::default();
    hash.add(text.as_bytes());
    hash.digits()
}

/// The checksum that PNG and ZIP files carry.
pub fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, &b| (0..8).fold(crc ^ u32::from(b), step))
}

#[cfg(test)]
mod tests {
    /// Against the check value of the definition.
    #[test]
    fn the_checksum_is_crc_32() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }

    /// Against the test vectors of the definition.
    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(super::of_text(""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(super::of_text("a"), "d228cb696f1a8caf78912b704e4a8964");
    }
}
