//! x86-64 instructions as bytes: the few that the emitter needs.

use super::extended::Masked;
use dmci_ops::real::has_whole_vectors;

/// What vectors a processor works on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Vectors {
    /// Sixteen of 256 bits; masks are vectors. AVX2 and FMA.
    #[default]
    Half,
    /// Thirty-two of 512 bits; masks have registers of their own. AVX-512 with F, DQ, BW and VL.
    Whole,
}

impl Vectors {
    /// The widest that this processor has.
    pub fn widest() -> Vectors {
        if has_whole_vectors() { Vectors::Whole } else { Vectors::Half }
    }

    pub fn bytes(self) -> usize {
        match self {
            Vectors::Half => 32,
            Vectors::Whole => 64,
        }
    }

    pub fn registers(self) -> usize {
        match self {
            Vectors::Half => 16,
            Vectors::Whole => 32,
        }
    }

    /// Numbers of double precision in a vector.
    pub fn lanes(self) -> usize {
        self.bytes() / 8
    }

    /// Puts two numbers into a vector, and takes them out.
    pub fn insert_pair(self) -> Opcode {
        match self {
            Vectors::Half => INSERT_UPPER,
            Vectors::Whole => INSERT_QUARTER,
        }
    }

    pub fn extract_pair(self) -> Opcode {
        match self {
            Vectors::Half => EXTRACT_UPPER,
            Vectors::Whole => EXTRACT_QUARTER,
        }
    }

    /// Bytes of a number in the table of constants: whole vectors, or one number that is read into all lanes.
    pub fn constant_bytes(self) -> usize {
        match self {
            Vectors::Half => 32,
            Vectors::Whole => 8,
        }
    }
}

/// Where the last operand of an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A vector register.
    Register(u8),
    /// Memory at a general register.
    Memory { base: u8, offset: i32 },
    /// The table of constants, so many bytes from its beginning, which is where the code begins.
    Constant(u32),
    /// A whole vector there, likewise.
    Vector(u32),
}

/// General registers by number.
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
    pub fn lanes(self, vectors: Vectors) -> usize {
        vectors.lanes() * if self == Numbers::Single { 2 } else { 1 }
    }

    /// Bytes of each.
    pub fn bytes(self) -> usize {
        if self.are_single() { 4 } else { 8 }
    }

    /// An instruction on the bits of such numbers.
    pub fn sized(self, op: Opcode) -> Opcode {
        Opcode { wide: !self.are_single(), short: self == Numbers::Short, ..op }
    }
}

/// An instruction on vectors: opcode map, mandatory prefix, width bit, opcode, whether it is about the lower half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opcode {
    pub map: u8,
    pub prefix: u8,
    pub wide: bool,
    pub code: u8,
    pub short: bool,
}

impl Opcode {
    /// The same on whole vectors.
    pub fn on_all(self) -> Opcode {
        Opcode { short: false, ..self }
    }
}

/// An opcode of map 1 with prefix 66, as most are.
pub(super) const fn plain(code: u8) -> Opcode {
    Opcode { map: 1, prefix: 1, wide: false, code, short: false }
}

pub(super) const LOAD: Opcode = plain(0x10);
pub(super) const STORE: Opcode = plain(0x11);
pub(super) const SIGN_BITS: Opcode = plain(0x50);
pub(super) const INSERT_UPPER: Opcode = Opcode { map: 3, ..plain(0x18) };
pub(super) const EXTRACT_UPPER: Opcode = Opcode { map: 3, ..plain(0x19) };

/// A quarter of a vector of 512 bits, put in or taken out.
pub(super) const INSERT_QUARTER: Opcode = Opcode { wide: true, ..INSERT_UPPER };
pub(super) const EXTRACT_QUARTER: Opcode = Opcode { wide: true, ..EXTRACT_UPPER };

/// Bytes of code.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub bytes: Vec<u8>,
    /// What instructions on vectors are about.
    pub wide: Vectors,
    /// Instructions on vectors so far.
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

    /// An instruction on vectors: destination or only register, first operand, last operand, and a byte behind them.
    pub fn vector(&mut self, op: Opcode, register: u8, first: u8, last: Place, byte: Option<u8>) {
        match self.wide {
            Vectors::Half => self.instruction(op, (!op.short as u8) << 2, register, first, last, byte),
            Vectors::Whole => self.whole(op, Masked::default(), (register, first), last, byte),
        }
    }

    /// An instruction on the lower 128 bits.
    pub fn quarter(&mut self, op: Opcode, register: u8, last: Place) {
        match self.wide {
            Vectors::Half => self.instruction(op, 0, register, 0, last, None),
            Vectors::Whole => self.extended_quarter(op, register, last),
        }
    }

    /// An instruction on mask registers, with one operand or two.
    pub fn masks(&mut self, op: Opcode, register: u8, first: Option<u8>, last: Place) {
        let length = (first.is_some() as u8) << 2;
        self.instruction(op, length, register, first.unwrap_or(0), last, None);
    }

    fn instruction(&mut self, op: Opcode, length: u8, register: u8, first: u8, last: Place, byte: Option<u8>) {
        self.vectors += 1;
        let base_high = match last {
            Place::Register(r) => r >= 8,
            Place::Memory { base, .. } => base >= 8,
            Place::Constant(_) | Place::Vector(_) => false,
        };
        let (not_r, not_vvvv) = ((register < 8) as u8, !first & 15);
        let low = not_vvvv << 3 | length | op.prefix;
        if op.map == 1 && !op.wide && !base_high {
            self.raw(&[0xC5, not_r << 7 | low]);
        } else {
            let second = not_r << 7 | 1 << 6 | (!base_high as u8) << 5 | op.map;
            self.raw(&[0xC4, second, (op.wide as u8) << 7 | low]);
        }
        self.bytes.push(op.code);
        self.operand((register & 7) << 3, last, 1, byte);
    }

    /// The last operand and the byte behind it; short distances in memory count so many bytes.
    pub(super) fn operand(&mut self, reg: u8, last: Place, unit: i32, byte: Option<u8>) {
        match last {
            Place::Register(r) => self.bytes.push(0xC0 | reg | r & 7),
            Place::Memory { base, offset } => self.memory(reg, base, offset, unit),
            Place::Constant(at) | Place::Vector(at) => {
                self.bytes.push(reg | 5);
                let end = self.position() + 4 + byte.is_some() as usize;
                self.word(at as i32 - end as i32);
            }
        }
        self.bytes.extend(byte);
    }

    /// The bytes of a memory operand; no base that needs more is used.
    fn memory(&mut self, reg: u8, base: u8, offset: i32, unit: i32) {
        let short = if offset % unit == 0 { i8::try_from(offset / unit).ok() } else { None };
        match short {
            Some(0) if base & 7 != 5 => self.bytes.push(reg | base & 7),
            Some(short) => self.raw(&[0x40 | reg | base & 7, short as u8]),
            None => {
                self.bytes.push(0x80 | reg | base & 7);
                self.word(offset);
            }
        }
    }

    /// Moves one general register to another.
    pub fn move_general(&mut self, to: u8, from: u8) {
        self.raw(&[0x48 | (from >> 3) << 2 | to >> 3, 0x89, 0xC0 | (from & 7) << 3 | to & 7]);
    }

    /// Adds a constant to a general register.
    pub fn add_general(&mut self, to: u8, x: i32) {
        self.raw(&[0x48 | to >> 3, 0x81, 0xC0 | to & 7]);
        self.word(x);
    }

    /// Sets a general register to an address.
    pub fn address(&mut self, to: u8, base: u8, offset: i32) {
        self.raw(&[0x48 | (to >> 3) << 2 | base >> 3, 0x8D]);
        self.memory((to & 7) << 3, base, offset, 1);
    }

    /// Sets a general register to a constant of 64 bits.
    pub fn constant_general(&mut self, to: u8, x: u64) {
        self.raw(&[0x48 | to >> 3, 0xB8 | to & 7]);
        self.raw(&x.to_le_bytes());
    }

    /// Sets a general register to a word in memory.
    pub fn load_general(&mut self, to: u8, base: u8, offset: i32) {
        self.raw(&[0x48 | (to >> 3) << 2 | base >> 3, 0x8B]);
        self.memory((to & 7) << 3, base, offset, 1);
    }

    /// Keeps the bits of a general register that a word in memory has too.
    pub fn and_general(&mut self, to: u8, base: u8, offset: i32) {
        self.raw(&[0x48 | (to >> 3) << 2 | base >> 3, 0x23]);
        self.memory((to & 7) << 3, base, offset, 1);
    }

    /// Sets the bits of a general register that another one has.
    pub fn or_general(&mut self, to: u8, from: u8) {
        self.raw(&[0x48 | (from >> 3) << 2 | to >> 3, 0x09, 0xC0 | (from & 7) << 3 | to & 7]);
    }

    /// A jump if a general register is zero, to be given its target later: where its distance is.
    pub fn jump_if_zero(&mut self, register: u8) -> usize {
        let (high, low) = (register >> 3, register & 7);
        self.raw(&[0x48 | high << 2 | high, 0x85, 0xC0 | low << 3 | low, 0x0F, 0x84]);
        self.word(0);
        self.position() - 4
    }

    /// Puts a general register into a word in memory if it is larger.
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

    /// Subtracts one from a general register, and jumps if that leaves something.
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

    /// Compares the lower half of `rax` with a constant.
    pub fn compare_rax(&mut self, x: u32) {
        self.bytes.push(0x3D);
        self.word(x as i32);
    }

    /// Flips bits of the lower half of `rax`.
    pub fn exclusive_or_rax(&mut self, bits: u32) {
        self.bytes.push(0x35);
        self.word(bits as i32);
    }

    /// Whether the lower half of `rax` has any of these bits.
    pub fn test_rax(&mut self, bits: u32) {
        self.bytes.push(0xA9);
        self.word(bits as i32);
    }

    /// Calls what `rax` points to.
    pub fn call_rax(&mut self) {
        self.raw(&[0xFF, 0xD0]);
    }

    /// A jump to be given its target later: where its distance is.
    pub fn jump(&mut self) -> usize {
        self.bytes.push(0xE9);
        self.word(0);
        self.position() - 4
    }

    /// A jump if not equal, likewise.
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

    /// Gives a jump its target.
    pub fn land(&mut self, jump: usize, target: usize) {
        let distance = (target as i64 - (jump as i64 + 4)) as i32;
        self.bytes[jump..jump + 4].copy_from_slice(&distance.to_le_bytes());
    }
}
