//! Encodes x86-64 instructions: VEX-prefixed vector instructions and the few scalar ones that the emitter needs.
//! AVX-512 instructions have an EVEX prefix; `evex.rs` encodes them.

use super::evex::Masked;
use dmci_ops::real::has_whole_vectors;

/// The instruction set that code is emitted for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Isa {
    /// AVX2 and FMA: sixteen ymm registers of 256 bits; masks are vectors.
    #[default]
    Avx2,
    /// AVX-512 with F, DQ, BW and VL: thirty-two zmm registers of 512 bits; masks are in k registers.
    Avx512,
}

impl Isa {
    /// The widest instruction set that this processor has.
    pub fn widest() -> Isa {
        if has_whole_vectors() { Isa::Avx512 } else { Isa::Avx2 }
    }

    pub fn bytes(self) -> usize {
        match self {
            Isa::Avx2 => 32,
            Isa::Avx512 => 64,
        }
    }

    pub fn registers(self) -> usize {
        match self {
            Isa::Avx2 => 16,
            Isa::Avx512 => 32,
        }
    }

    /// Doubles in a vector register.
    pub fn lanes(self) -> usize {
        self.bytes() / 8
    }

    /// The instruction that inserts two doubles into a vector, and the one that extracts them.
    pub fn insert_pair(self) -> Opcode {
        match self {
            Isa::Avx2 => INSERT_UPPER,
            Isa::Avx512 => INSERT_QUARTER,
        }
    }

    pub fn extract_pair(self) -> Opcode {
        match self {
            Isa::Avx2 => EXTRACT_UPPER,
            Isa::Avx512 => EXTRACT_QUARTER,
        }
    }

    /// Bytes of an entry in the constant pool: a whole vector, or one number that loads broadcast to all lanes.
    pub fn constant_bytes(self) -> usize {
        match self {
            Isa::Avx2 => 32,
            Isa::Avx512 => 8,
        }
    }
}

/// The operand that ModRM.rm names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A vector register.
    Register(u8),
    /// Memory at a general-purpose register.
    Memory { base: u8, offset: i32 },
    /// The constant pool, at this offset from where the code begins; addressed relative to `rip`.
    Constant(u32),
    /// A whole vector in the constant pool.
    Vector(u32),
}

/// General-purpose registers by number.
pub(super) const RAX: u8 = 0;
pub(super) const RCX: u8 = 1;
pub(super) const RDX: u8 = 2;
pub(super) const RBX: u8 = 3;
pub(super) const RBP: u8 = 5;
pub(super) const RSI: u8 = 6;
pub(super) const RDI: u8 = 7;
pub(super) const R8: u8 = 8;
pub(super) const R9: u8 = 9;
pub(super) const R12: u8 = 12;
pub(super) const R13: u8 = 13;
pub(super) const R14: u8 = 14;
pub(super) const R15: u8 = 15;

/// What the numbers in a vector are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Numbers of double precision.
    #[default]
    Double,
    /// Twice as many of single precision.
    Single,
    /// As many, but of single precision, in the lower half.
    Short,
}

impl Numbers {
    pub fn are_single(self) -> bool {
        self != Numbers::Double
    }

    /// How many there are.
    pub fn lanes(self, isa: Isa) -> usize {
        isa.lanes() * if self == Numbers::Single { 2 } else { 1 }
    }

    /// Bytes of each.
    pub fn bytes(self) -> usize {
        if self.are_single() { 4 } else { 8 }
    }

    /// An instruction on the bits of such numbers.
    pub fn sized(self, op: Opcode) -> Opcode {
        Opcode { w: !self.are_single(), short: self == Numbers::Short, ..op }
    }
}

/// A vector instruction: opcode map, mandatory prefix, the W bit, the opcode byte, and whether the vector length is half
/// of what the instruction set has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opcode {
    pub map: u8,
    pub prefix: u8,
    pub w: bool,
    pub code: u8,
    pub short: bool,
}

impl Opcode {
    /// The same instruction at full vector length.
    pub fn on_all(self) -> Opcode {
        Opcode { short: false, ..self }
    }
}

/// An opcode of map 1 (0F) with prefix 66, as most are.
pub(super) const fn plain(code: u8) -> Opcode {
    Opcode { map: 1, prefix: 1, w: false, code, short: false }
}

pub(super) const LOAD: Opcode = plain(0x10);
pub(super) const STORE: Opcode = plain(0x11);
pub(super) const SIGN_BITS: Opcode = plain(0x50);
pub(super) const INSERT_UPPER: Opcode = Opcode { map: 3, ..plain(0x18) };
pub(super) const EXTRACT_UPPER: Opcode = Opcode { map: 3, ..plain(0x19) };

/// Inserts or extracts a quarter of a zmm register.
pub(super) const INSERT_QUARTER: Opcode = Opcode { w: true, ..INSERT_UPPER };
pub(super) const EXTRACT_QUARTER: Opcode = Opcode { w: true, ..EXTRACT_UPPER };

/// Machine code under construction.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub bytes: Vec<u8>,
    /// The instruction set that vector instructions are encoded for.
    pub isa: Isa,
    /// Vector instructions so far.
    pub vectors: usize,
}

impl Code {
    pub fn position(&self) -> usize {
        self.bytes.len()
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn word(&mut self, x: i32) {
        self.raw(&x.to_le_bytes());
    }

    /// A vector instruction: ModRM.reg, vvvv, ModRM.rm, imm8.
    pub fn vector(&mut self, op: Opcode, reg: u8, vvvv: u8, rm: Place, imm8: Option<u8>) {
        match self.isa {
            Isa::Avx2 => self.vex(op, (!op.short as u8) << 2, reg, vvvv, rm, imm8),
            Isa::Avx512 => self.evex(op, Masked::default(), (reg, vvvv), rm, imm8),
        }
    }

    /// A vector instruction on the lower 128 bits (xmm).
    pub fn quarter(&mut self, op: Opcode, reg: u8, rm: Place) {
        match self.isa {
            Isa::Avx2 => self.vex(op, 0, reg, 0, rm, None),
            Isa::Avx512 => self.evex_quarter(op, reg, rm),
        }
    }

    /// An instruction on mask registers, with one operand or two.
    pub fn masks(&mut self, op: Opcode, reg: u8, vvvv: Option<u8>, rm: Place) {
        let length = (vvvv.is_some() as u8) << 2;
        self.vex(op, length, reg, vvvv.unwrap_or(0), rm, None);
    }

    /// A VEX prefix of two bytes where it suffices, else of three; then opcode, ModRM and imm8.
    fn vex(&mut self, op: Opcode, length: u8, reg: u8, vvvv: u8, rm: Place, imm8: Option<u8>) {
        self.vectors += 1;
        let base_high = match rm {
            Place::Register(r) => r >= 8,
            Place::Memory { base, .. } => base >= 8,
            Place::Constant(_) | Place::Vector(_) => false,
        };
        let (not_r, not_vvvv) = ((reg < 8) as u8, !vvvv & 15);
        let low = not_vvvv << 3 | length | op.prefix;
        if op.map == 1 && !op.w && !base_high {
            self.raw(&[0xC5, not_r << 7 | low]);
        } else {
            let second = not_r << 7 | 1 << 6 | (!base_high as u8) << 5 | op.map;
            self.raw(&[0xC4, second, (op.w as u8) << 7 | low]);
        }
        self.bytes.push(op.code);
        self.modrm((reg & 7) << 3, rm, 1, imm8);
    }

    /// ModRM, a displacement if there is one, and imm8. With EVEX, disp8 counts units of this many bytes.
    pub(super) fn modrm(&mut self, reg: u8, rm: Place, unit: i32, imm8: Option<u8>) {
        match rm {
            Place::Register(r) => self.bytes.push(0xC0 | reg | r & 7),
            Place::Memory { base, offset } => self.memory(reg, base, offset, unit),
            Place::Constant(at) | Place::Vector(at) => {
                self.bytes.push(reg | 5);
                let end = self.position() + 4 + imm8.is_some() as usize;
                self.word(at as i32 - end as i32);
            }
        }
        self.bytes.extend(imm8);
    }

    /// ModRM and displacement of a memory operand. No base needs a SIB byte: neither `rsp` nor `r12` is used as one.
    fn memory(&mut self, reg: u8, base: u8, offset: i32, unit: i32) {
        let disp8 = if offset % unit == 0 { i8::try_from(offset / unit).ok() } else { None };
        match disp8 {
            Some(0) if base & 7 != 5 => self.bytes.push(reg | base & 7),
            Some(disp8) => self.raw(&[0x40 | reg | base & 7, disp8 as u8]),
            None => {
                self.bytes.push(0x80 | reg | base & 7);
                self.word(offset);
            }
        }
    }

    /// Moves one general-purpose register to another.
    pub fn move_general(&mut self, to: u8, from: u8) {
        self.raw(&[0x48 | (from >> 3) << 2 | to >> 3, 0x89, 0xC0 | (from & 7) << 3 | to & 7]);
    }

    /// Adds a constant to a general-purpose register.
    pub fn add_general(&mut self, to: u8, x: i32) {
        self.raw(&[0x48 | to >> 3, 0x81, 0xC0 | to & 7]);
        self.word(x);
    }

    /// Sets a general-purpose register to an address (`lea`).
    pub fn address(&mut self, to: u8, base: u8, offset: i32) {
        self.raw(&[0x48 | (to >> 3) << 2 | base >> 3, 0x8D]);
        self.memory((to & 7) << 3, base, offset, 1);
    }

    /// Sets a general-purpose register to a constant of 64 bits.
    pub fn constant_general(&mut self, to: u8, x: u64) {
        self.raw(&[0x48 | to >> 3, 0xB8 | to & 7]);
        self.raw(&x.to_le_bytes());
    }

    /// Sets a general-purpose register to a word in memory.
    pub fn load_general(&mut self, to: u8, base: u8, offset: i32) {
        self.raw(&[0x48 | (to >> 3) << 2 | base >> 3, 0x8B]);
        self.memory((to & 7) << 3, base, offset, 1);
    }

    /// `and` of a general-purpose register with a word in memory.
    pub fn and_general(&mut self, to: u8, base: u8, offset: i32) {
        self.raw(&[0x48 | (to >> 3) << 2 | base >> 3, 0x23]);
        self.memory((to & 7) << 3, base, offset, 1);
    }

    /// `or` of a general-purpose register with another one.
    pub fn or_general(&mut self, to: u8, from: u8) {
        self.raw(&[0x48 | (from >> 3) << 2 | to >> 3, 0x09, 0xC0 | (from & 7) << 3 | to & 7]);
    }

    /// A jump if a general-purpose register is zero, patched by `land`: the position of its displacement.
    pub fn jump_if_zero(&mut self, register: u8) -> usize {
        let (high, low) = (register >> 3, register & 7);
        self.raw(&[0x48 | high << 2 | high, 0x85, 0xC0 | low << 3 | low, 0x0F, 0x84]);
        self.word(0);
        self.position() - 4
    }

    /// Stores a general-purpose register into a word in memory if it is larger than that.
    pub fn store_if_larger(&mut self, from: u8, base: u8, offset: i32) {
        let prefix = 0x48 | (from >> 3) << 2 | base >> 3;
        self.raw(&[prefix, 0x3B]);
        self.memory((from & 7) << 3, base, offset, 1);
        self.raw(&[0x0F, 0x86]);
        self.word(0);
        let jump = self.position() - 4;
        self.raw(&[prefix, 0x89]);
        self.memory((from & 7) << 3, base, offset, 1);
        self.land(jump, self.position());
    }

    /// Decrements a general-purpose register, and jumps unless it is zero.
    pub fn count_down(&mut self, register: u8, target: usize) {
        self.raw(&[0x48 | register >> 3, 0xFF, 0xC8 | register & 7]);
        let jump = self.jump_unless_equal();
        self.land(jump, target);
    }

    /// Compares all bits of `rax` with ones.
    pub fn compare_rax_with_ones(&mut self) {
        self.raw(&[0x48, 0x83, 0xF8, 0xFF]);
    }

    /// Adds a constant to a word in memory.
    pub fn add_memory(&mut self, base: u8, offset: i32, x: i32) {
        self.raw(&[0x48 | base >> 3, 0x81]);
        self.memory(0, base, offset, 1);
        self.word(x);
    }

    /// Compares `eax` with a constant.
    pub fn compare_rax(&mut self, x: u32) {
        self.bytes.push(0x3D);
        self.word(x as i32);
    }

    /// `xor` of `eax` with a constant.
    pub fn exclusive_or_rax(&mut self, bits: u32) {
        self.bytes.push(0x35);
        self.word(bits as i32);
    }

    /// `test` of `eax` with a constant.
    pub fn test_rax(&mut self, bits: u32) {
        self.bytes.push(0xA9);
        self.word(bits as i32);
    }

    /// Calls what `rax` points to.
    pub fn call_rax(&mut self) {
        self.raw(&[0xFF, 0xD0]);
    }

    /// A jump, patched by `land`: the position of its displacement.
    pub fn jump(&mut self) -> usize {
        self.bytes.push(0xE9);
        self.word(0);
        self.position() - 4
    }

    /// The same if not equal.
    pub fn jump_unless_equal(&mut self) -> usize {
        self.raw(&[0x0F, 0x85]);
        self.word(0);
        self.position() - 4
    }

    /// Calls code at a position.
    pub fn call(&mut self, target: usize) {
        self.bytes.push(0xE8);
        self.word(0);
        self.land(self.position() - 4, target);
    }

    /// Patches the displacement of a jump so that it goes to the target.
    pub fn land(&mut self, jump: usize, target: usize) {
        let distance = (target as i64 - (jump as i64 + 4)) as i32;
        self.bytes[jump..jump + 4].copy_from_slice(&distance.to_le_bytes());
    }
}
