//! Encodes AVX-512 instructions: EVEX prefix, zmm registers, mask registers.

use super::ir::{HALF_ADD, HALF_SHIFT, HALF_SUB};
use super::packed::{WIDEN, WIDEN_MASK};
use super::vex::{Code, EXTRACT_QUARTER, EXTRACT_UPPER, INSERT_QUARTER, INSERT_UPPER, LOAD, Opcode, Place, plain};

/// A write mask, and whether lanes outside of it become zero (EVEX.z) or stay.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Masked {
    pub by: u8,
    pub zero: bool,
}

/// The second of two operands in lanes of a mask.
pub(super) const CHOOSE: Opcode = Opcode { map: 2, w: true, ..plain(0x65) };

/// Broadcasts a general-purpose register to all lanes.
pub(super) const FROM_GENERAL: Opcode = Opcode { map: 2, w: true, ..plain(0x7C) };

/// Numbers of two vectors; the result takes the place of a vector that says which.
pub(super) const MERGE: Opcode = Opcode { map: 2, w: true, ..plain(0x7F) };

/// All bits of the lanes of a mask, and back.
pub(super) const EXPAND: Opcode = Opcode { map: 2, prefix: 2, w: true, ..plain(0x38) };
pub(super) const COLLECT: Opcode = Opcode { map: 2, prefix: 2, w: true, ..plain(0x39) };

/// Masks of sixteen lanes: to and from memory, and to a general-purpose register.
pub(super) const LOAD_MASK: Opcode = Opcode { prefix: 0, ..plain(0x90) };
pub(super) const STORE_MASK: Opcode = Opcode { prefix: 0, ..plain(0x91) };
pub(super) const MASK_BITS: Opcode = Opcode { prefix: 0, ..plain(0x93) };

const LOAD_SINGLE: Opcode = Opcode { prefix: 0, ..LOAD };

/// EVEX.L'L: vector lengths of 512, 256 and 128 bits.
const ZMM: u8 = 2 << 5;
const YMM: u8 = 1 << 5;
const XMM: u8 = 0;

/// What the EVEX encoding of an instruction differs in from its VEX encoding.
struct Evex {
    op: Opcode,
    /// EVEX.W.
    w: bool,
    /// Bytes that disp8 counts (disp8*N).
    unit: i32,
    /// A number in memory is broadcast to all lanes (EVEX.b).
    broadcast: bool,
}

impl Evex {
    fn of(op: Opcode, rm: Place) -> Evex {
        let constant = matches!(rm, Place::Constant(_));
        let other = |op: Opcode, unit: i32| Evex { op, w: true, unit, broadcast: false };
        match op.on_all() {
            LOAD if constant => other(Opcode { map: 2, ..plain(0x19) }, 8),
            LOAD_SINGLE if constant => Evex { w: false, ..other(Opcode { map: 2, ..plain(0x18) }, 4) },
            INSERT_QUARTER | EXTRACT_QUARTER => other(op, 16),
            INSERT_UPPER => other(Opcode { code: 0x1A, ..op }, 32),
            EXTRACT_UPPER => other(Opcode { code: 0x1B, ..op }, 32),
            _ => {
                // Instructions on numbers of single precision have no prefix, or come before those of double precision.
                let w = match op.map {
                    1 => op.prefix == 1 && !matches!(op.code, HALF_ADD | HALF_SUB | HALF_SHIFT),
                    2 => op.w,
                    _ => op.w || op.code & 1 == 1,
                };
                let half = op.short || op == WIDEN || op == WIDEN_MASK;
                Evex { op, w, unit: if half { 32 } else { 64 }, broadcast: constant }
            }
        }
    }
}

impl Code {
    /// An instruction on a zmm register, or on a ymm register if it is half as long: ModRM.reg and vvvv, ModRM.rm, imm8.
    pub fn evex(&mut self, op: Opcode, masked: Masked, registers: (u8, u8), rm: Place, imm8: Option<u8>) {
        let length = if op.short { YMM } else { ZMM };
        self.evex_encoded(Evex::of(op, rm), length, masked, registers, rm, imm8);
    }

    /// An instruction on an xmm register.
    pub fn evex_quarter(&mut self, op: Opcode, reg: u8, rm: Place) {
        let evex = Evex { op, w: true, unit: 16, broadcast: false };
        self.evex_encoded(evex, XMM, Masked::default(), (reg, 0), rm, None);
    }

    fn evex_encoded(
        &mut self,
        Evex { op, w, unit, broadcast }: Evex,
        length: u8,
        masked: Masked,
        (reg, vvvv): (u8, u8),
        rm: Place,
        imm8: Option<u8>,
    ) {
        self.vectors += 1;
        let bit = |n: u8, of: u8| of >> n & 1;
        let (index_high, base_high) = match rm {
            Place::Register(r) => (bit(4, r), bit(3, r)),
            Place::Memory { base, .. } => (0, bit(3, base)),
            Place::Constant(_) | Place::Vector(_) => (0, 0),
        };
        let inverted = bit(3, reg) << 7 | index_high << 6 | base_high << 5 | bit(4, reg) << 4;
        self.raw(&[
            0x62,
            inverted ^ 0xF0 | op.map,
            (w as u8) << 7 | (!vvvv & 15) << 3 | 1 << 2 | op.prefix,
            (masked.zero as u8) << 7 | length | (broadcast as u8) << 4 | (bit(4, vvvv) ^ 1) << 3 | masked.by,
            op.code,
        ]);
        self.modrm((reg & 7) << 3, rm, unit, imm8);
    }
}
