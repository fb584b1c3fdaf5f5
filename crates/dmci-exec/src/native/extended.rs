//! Instructions on 512 bits, and on registers for masks.

use super::encode::{Code, EXTRACT_QUARTER, EXTRACT_UPPER, INSERT_QUARTER, INSERT_UPPER, LOAD, Opcode, Place, plain};
use super::ir::{HALF_ADD, HALF_SHIFT, HALF_SUB};
use super::packed::{WIDEN, WIDEN_MASK};

/// A mask register, and whether lanes outside of it become zero.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Masked {
    pub by: u8,
    pub zero: bool,
}

/// The second of two operands in lanes of a mask.
pub(super) const CHOOSE: Opcode = Opcode { map: 2, wide: true, ..plain(0x65) };

/// A general register into all lanes.
pub(super) const FROM_GENERAL: Opcode = Opcode { map: 2, wide: true, ..plain(0x7C) };

/// Numbers of two vectors; the result takes the place of a vector that says which.
pub(super) const MERGE: Opcode = Opcode { map: 2, wide: true, ..plain(0x7F) };

/// All bits of the lanes of a mask, and back.
pub(super) const EXPAND: Opcode = Opcode { map: 2, prefix: 2, wide: true, ..plain(0x38) };
pub(super) const COLLECT: Opcode = Opcode { map: 2, prefix: 2, wide: true, ..plain(0x39) };

/// Masks of sixteen lanes: to and from memory, and to a general register.
pub(super) const LOAD_MASK: Opcode = Opcode { prefix: 0, ..plain(0x90) };
pub(super) const STORE_MASK: Opcode = Opcode { prefix: 0, ..plain(0x91) };
pub(super) const MASK_BITS: Opcode = Opcode { prefix: 0, ..plain(0x93) };

const LOAD_SINGLE: Opcode = Opcode { prefix: 0, ..LOAD };

const WHOLE: u8 = 2 << 5;
const HALF: u8 = 1 << 5;
const QUARTER: u8 = 0;

/// An instruction as it is on 512 bits.
struct Extended {
    op: Opcode,
    wide: bool,
    /// Bytes that short distances count.
    unit: i32,
    /// A number from memory goes to all lanes.
    broadcast: bool,
}

impl Extended {
    fn of(op: Opcode, last: Place) -> Extended {
        let constant = matches!(last, Place::Constant(_));
        let other = |op: Opcode, unit: i32| Extended { op, wide: true, unit, broadcast: false };
        match op.on_all() {
            LOAD if constant => other(Opcode { map: 2, ..plain(0x19) }, 8),
            LOAD_SINGLE if constant => Extended { wide: false, ..other(Opcode { map: 2, ..plain(0x18) }, 4) },
            INSERT_QUARTER | EXTRACT_QUARTER => other(op, 16),
            INSERT_UPPER => other(Opcode { code: 0x1A, ..op }, 32),
            EXTRACT_UPPER => other(Opcode { code: 0x1B, ..op }, 32),
            _ => {
                // Instructions on numbers of single precision have no prefix, or come before those of double precision.
                let wide = match op.map {
                    1 => op.prefix == 1 && !matches!(op.code, HALF_ADD | HALF_SUB | HALF_SHIFT),
                    2 => op.wide,
                    _ => op.wide || op.code & 1 == 1,
                };
                let half = op.short || op == WIDEN || op == WIDEN_MASK;
                Extended { op, wide, unit: if half { 32 } else { 64 }, broadcast: constant }
            }
        }
    }
}

impl Code {
    /// An instruction on 512 bits.
    pub fn whole(&mut self, op: Opcode, masked: Masked, registers: (u8, u8), last: Place, byte: Option<u8>) {
        let length = if op.short { HALF } else { WHOLE };
        self.extended(Extended::of(op, last), length, masked, registers, last, byte);
    }

    /// One on the lower quarter.
    pub fn extended_quarter(&mut self, op: Opcode, register: u8, last: Place) {
        let extended = Extended { op, wide: true, unit: 16, broadcast: false };
        self.extended(extended, QUARTER, Masked::default(), (register, 0), last, None);
    }

    fn extended(
        &mut self,
        Extended { op, wide, unit, broadcast }: Extended,
        length: u8,
        masked: Masked,
        (register, first): (u8, u8),
        last: Place,
        byte: Option<u8>,
    ) {
        self.vectors += 1;
        let bit = |n: u8, of: u8| of >> n & 1;
        let (index_high, base_high) = match last {
            Place::Register(r) => (bit(4, r), bit(3, r)),
            Place::Memory { base, .. } => (0, bit(3, base)),
            Place::Constant(_) | Place::Vector(_) => (0, 0),
        };
        let inverted = bit(3, register) << 7 | index_high << 6 | base_high << 5 | bit(4, register) << 4;
        self.raw(&[
            0x62,
            inverted ^ 0xF0 | op.map,
            (wide as u8) << 7 | (!first & 15) << 3 | 1 << 2 | op.prefix,
            (masked.zero as u8) << 7 | length | (broadcast as u8) << 4 | (bit(4, first) ^ 1) << 3 | masked.by,
            op.code,
        ]);
        self.operand((register & 7) << 3, last, unit, byte);
    }
}
