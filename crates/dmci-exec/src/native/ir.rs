//! Vector instructions in single assignment, and the arithmetic that kernels are written in as a way
//! to make them.

use super::columns::Pattern;
use super::division::{Division, Inverse, Ways};
use super::vex::{Isa, LOAD, Numbers, Opcode, plain};
use dmci_ops::Op;
use dmci_ops::arith::{Arith, SIGN, Slow};
use rustc_hash::FxHashMap;

/// A vector of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Value(pub u32);

pub(super) const NONE: Value = Value(u32::MAX);

/// What an instruction does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// Two operands; whether they may be exchanged.
    Binary(Opcode, bool),
    /// Two operands and imm8.
    WithByte(Opcode, u8),
    /// One operand, and imm8 or none.
    Unary(Opcode, Option<u8>),
    /// A shift by a constant: the opcode, its extension in ModRM.reg, and imm8.
    Shift(Opcode, u8, u8),
    /// The second operand where the first is set, else the third.
    Blend(Opcode),
    /// The first operand, but for bits that are set in both others.
    Flip(Opcode),
    /// The upper half of the operand in the lower half.
    Upper,
    /// Numbers of a row, for a vector of double precision from one lane of the group on.
    LoadRow { row: u32, lane: u8 },
    /// a b + c, or c - a b.
    Fused { negated: bool, numbers: Numbers },
    /// The operand goes to a row.
    Store { row: u32 },
    /// The same for a vector of double precision, from one lane of the group on.
    StoreRow { row: u32, lane: u8 },
    /// Numbers of a list that has one for each lane, likewise.
    Load { list: u8, lane: u8 },
    /// Two neighbours in a list for a lane in the lowest quarter, for the lane after the next behind it, and so on.
    LoadPairs { list: u8, at: u32, lane: u8 },
    /// A vector of a list that has several numbers for each lane, from one lane of the group on.
    LoadPart { list: u8, part: u8, lane: u8 },
    /// The operand goes there.
    StorePart { list: u8, part: u8, lane: u8 },
    /// Numbers of the first two operands, as the third says, which is a pattern.
    Merge,
    /// The operand goes to a list that has one number for each lane.
    StoreList { list: u8, lane: u8 },
    /// The opposite of loading pairs.
    StorePairs { list: u8, at: u32, lane: u8 },
    /// Results in lists from one on that are not numbers get the bits of an operation, if the operand is not a number
    /// somewhere: it is overwritten, so nothing else may need it.
    Canonical { first: u8, numbers: Numbers },
    /// Lanes where the operand is not what it should be leave.
    Guard { outcome: bool, index: u32 },
    /// The first operand, but what a function makes of the third and fourth where the second is not set.
    Usual { slow: Slow, numbers: Numbers },
    /// The first operand, but the quotient of the third and fourth where the second is not set.
    Quotient,
    /// An operation that has no instructions here.
    Call(Op),
}

impl Action {
    /// Cycles until the result is there, roughly.
    pub fn latency(self) -> u32 {
        match self {
            Action::Binary(op, _) if op.map == SCALE.map && op.code == SCALE.code => 6,
            Action::Binary(op, _) => match op.code {
                0x58 | 0x59 | 0x5C => 3,
                0x5E => 13,
                _ => 1,
            },
            Action::Unary(op, _) if op.code == 0x51 => 20,
            Action::WithByte(..) | Action::Unary(..) | Action::Upper => 3,
            Action::Fused { .. } => 4,
            Action::Load { .. } | Action::LoadPairs { .. } | Action::LoadPart { .. } | Action::LoadRow { .. } => 5,
            Action::Merge => 5,
            Action::Call(_) => 100,
            _ => 1,
        }
    }
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    pub action: Action,
    pub result: Value,
    pub operands: [Value; 4],
}

impl Instruction {
    /// Its operands, each once.
    pub fn distinct_operands(&self) -> impl Iterator<Item = Value> {
        let operands = self.operands;
        (0..4).filter(move |&k| operands[k] != NONE && !operands[..k].contains(&operands[k])).map(move |k| operands[k])
    }
}

/// Where a value can be found if it is in no register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    Nowhere,
    Constant(u32),
    Pattern(u32),
    Row(u32),
    Spill(u32),
    /// It is recomputed from its operands.
    Remat,
}

/// Rows from this one on are there for one group of lanes at a time, in front of spilled values; those before them, from
/// this one on, are what is remembered of a round.
pub(super) const LOCAL_ROWS: u32 = 1 << 30;
pub(super) const PAST_ROWS: u32 = 1 << 29;

pub(super) fn is_past(row: u32) -> bool {
    (PAST_ROWS..LOCAL_ROWS).contains(&row)
}

/// Instructions under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct Builder {
    pub instructions: Vec<Instruction>,
    /// By value.
    pub homes: Vec<Home>,
    pub constants: Vec<u64>,
    pub patterns: Vec<(Pattern, Value)>,
    by_bits: FxHashMap<u64, Value>,
    /// Equal instructions are made once, as parts of different kernels often are.
    pub merging: bool,
    /// The instruction set that values are vectors of.
    pub isa: Isa,
    /// What lists hold.
    pub lists: Numbers,
    /// Values are numbers of single precision, for now.
    pub packed: bool,
    /// If they are, they are in the lower halves of vectors.
    pub short: bool,
    /// Such values, and the same ones in double precision.
    pub(super) shortened: FxHashMap<Value, Value>,
    pub(super) lengthened: FxHashMap<Value, Value>,
    known: FxHashMap<(u64, [Value; 3]), Value>,
    /// How divisions are done, those that were asked for, and inverses of divisors that are at hand.
    pub ways: Ways,
    pub divisions: Vec<Division>,
    pub inverses: FxHashMap<Value, Inverse>,
    /// Values whose sign was changed, and what they were before.
    pub opposites: FxHashMap<Value, Value>,
}

/// What makes two instructions equal, besides operands; `None` if they must not be merged.
fn key(action: Action) -> Option<u64> {
    let of =
        |op: Opcode| u64::from_le_bytes([op.map, op.prefix, op.w as u8 | (op.short as u8) << 1, op.code, 0, 0, 0, 0]);
    Some(match action {
        Action::Binary(op, _) => of(op) | 1 << 32,
        Action::WithByte(op, byte) => of(op) | 2 << 32 | (byte as u64) << 40,
        Action::Unary(op, byte) => of(op) | 3 << 32 | (byte.map_or(0, |b| b as u64 + 1)) << 40,
        Action::Shift(op, extension, by) => of(op) | 4 << 32 | (extension as u64) << 40 | (by as u64) << 48,
        Action::Blend(op) => of(op) | 5 << 32,
        Action::Upper => 7 << 32,
        Action::Flip(op) => of(op) | 8 << 32,
        Action::Fused { negated, numbers } => 6 << 32 | (numbers as u64) << 1 | negated as u64,
        _ => return None,
    })
}

const fn map2(code: u8) -> Opcode {
    Opcode { map: 2, w: true, ..plain(code) }
}

const fn map3(code: u8) -> Opcode {
    Opcode { map: 3, ..plain(code) }
}

/// The second of two operands where a mask is set.
pub(super) const BLEND: Opcode = map3(0x4B);

pub(super) const AND: Opcode = plain(0x54);
pub(super) const AND_NOT: Opcode = plain(0x55);
pub(super) const OR: Opcode = plain(0x56);
pub(super) const XOR: Opcode = plain(0x57);
pub(super) const DIVIDE: Opcode = plain(0x5E);
pub(super) const COMPARE: Opcode = plain(0xC2);
pub(super) const INT_EQUAL: Opcode = map2(0x29);
pub(super) const INT_GREATER: Opcode = map2(0x37);

/// Operations on the bits of numbers of single precision.
pub(super) const HALF_ADD: u8 = 0xFE;
pub(super) const HALF_SUB: u8 = 0xFA;
pub(super) const HALF_SHIFT: u8 = 0x72;

/// Whether two words have a bit in common: for vectors of 512 bits.
pub(super) const TEST_BITS: Opcode = map2(0x27);

/// Bits of two operands and the result, by a table: for vectors of 512 bits.
const BY_TABLE: Opcode = map3(0x25);

/// The table for a, but for bits that are set in b and c.
pub(super) const FLIP: u8 = 0x78;

/// A number times two to the power of another: for vectors of 512 bits.
const SCALE: Opcode = map2(0x2C);

/// Whether an instruction compares the bits of words: then its result is a mask.
pub(super) fn compares_bits(op: Opcode) -> bool {
    op.map == TEST_BITS.map && [INT_EQUAL, INT_GREATER, TEST_BITS].iter().any(|known| known.code == op.code)
}

pub(super) const LESS: u8 = 0x11;
pub(super) const LESS_EQUAL: u8 = 0x12;
const GREATER_EQUAL: u8 = 0x1D;
const GREATER: u8 = 0x1E;
pub(super) const EQUAL: u8 = 0x00;
pub(super) const UNORDERED: u8 = 0x03;

pub(super) const NEAREST: u8 = 8;
pub(super) const DOWN: u8 = 9;
pub(super) const UP: u8 = 10;
pub(super) const TO_ZERO: u8 = 11;

impl Builder {
    pub fn new(isa: Isa, ways: Ways, numbers: Numbers, lists: Numbers) -> Builder {
        let (packed, short) = (numbers == Numbers::Single, numbers == Numbers::Short);
        Builder { isa, ways, lists, packed, short, ..Builder::default() }
    }

    /// What values are now.
    pub(super) fn numbers(&self) -> Numbers {
        match (self.packed, self.short) {
            (false, _) => Numbers::Double,
            (true, false) => Numbers::Single,
            (true, true) => Numbers::Short,
        }
    }

    fn value(&mut self, home: Home) -> Value {
        self.homes.push(home);
        Value(self.homes.len() as u32 - 1)
    }

    /// A pattern as a vector.
    pub fn pattern(&mut self, pattern: Pattern) -> Value {
        if let Some((_, known)) = self.patterns.iter().find(|known| known.0 == pattern) {
            return *known;
        }
        let value = self.value(Home::Pattern(self.patterns.len() as u32));
        self.patterns.push((pattern, value));
        value
    }

    pub fn row(&mut self, row: u32) -> Value {
        self.value(Home::Row(row))
    }

    /// The row that a value is found in, if it was in one from the start.
    pub fn row_of(&self, v: Value) -> Option<u32> {
        match self.homes[v.0 as usize] {
            Home::Row(row) => Some(row),
            _ => None,
        }
    }

    /// The same value, wherever it is.
    pub fn copied(&mut self, v: Value) -> Value {
        self.push(Action::Unary(LOAD, None), &[v])
    }

    /// The number that a value is in all lanes, if that is known.
    pub fn constant(&self, v: Value) -> Option<f64> {
        match self.homes[v.0 as usize] {
            Home::Constant(n) if self.packed => Some(f32::from_bits(self.constants[n as usize] as u32).into()),
            Home::Constant(n) => Some(f64::from_bits(self.constants[n as usize])),
            _ => None,
        }
    }

    pub fn push(&mut self, action: Action, operands: &[Value]) -> Value {
        if self.merging
            && let Some(key) = key(action)
        {
            let mut all = [NONE; 3];
            all[..operands.len()].copy_from_slice(operands);
            if let Some(&known) = self.known.get(&(key, all)) {
                return known;
            }
            let result = self.value(Home::Nowhere);
            self.effect(action, operands, result);
            self.known.insert((key, all), result);
            return result;
        }
        let result = self.value(Home::Nowhere);
        self.effect(action, operands, result);
        result
    }

    /// Forgets what was made: it is not at hand behind this point.
    pub fn forget(&mut self) {
        self.known.clear();
        self.opposites.clear();
        self.inverses.clear();
        self.shortened.clear();
        self.lengthened.clear();
    }

    /// An instruction without a result.
    pub fn effect(&mut self, action: Action, operands: &[Value], result: Value) {
        let mut all = [NONE; 4];
        all[..operands.len()].copy_from_slice(operands);
        self.instructions.push(Instruction { action, result, operands: all });
    }

    /// The instruction for the numbers that values are now.
    pub(super) fn sized(&self, op: Opcode) -> Opcode {
        let op = Opcode { short: self.packed && self.short, ..op };
        match op {
            Opcode { map: 1, .. } if self.packed => Opcode { prefix: 0, ..op },
            // Those for single precision come before those for double precision.
            Opcode { map: 3, .. } if self.packed => Opcode { code: op.code - 1, ..op },
            _ => op,
        }
    }

    /// An instruction on bits: its codes for words and for halves of them.
    fn on_bits(&self, [word, half]: [u8; 2]) -> Opcode {
        Opcode { short: self.packed && self.short, ..plain(if self.packed { half } else { word }) }
    }

    fn binary(&mut self, code: Opcode, exchange: bool, a: Value, b: Value) -> Value {
        self.push(Action::Binary(self.sized(code), exchange), &[a, b])
    }

    pub fn compare(&mut self, how: u8, a: Value, b: Value) -> Value {
        // Only the second operand can be in memory, where constants are.
        let constant = |v: Value| matches!(self.homes[v.0 as usize], Home::Constant(_));
        let mirrored = match how {
            LESS => GREATER,
            LESS_EQUAL => GREATER_EQUAL,
            symmetric => symmetric,
        };
        let (how, a, b) = if constant(a) && !constant(b) { (mirrored, b, a) } else { (how, a, b) };
        self.push(Action::WithByte(self.sized(COMPARE), how), &[a, b])
    }

    pub fn rounded(&mut self, how: u8, a: Value) -> Value {
        self.push(Action::Unary(self.sized(map3(0x09)), Some(how)), &[a])
    }

    fn blend(&mut self, m: Value, a: Value, b: Value) -> Value {
        self.push(Action::Blend(self.sized(BLEND)), &[m, a, b])
    }

    fn shifted(&mut self, extension: u8, by: u8, a: Value) -> Value {
        self.push(Action::Shift(self.on_bits([0x73, HALF_SHIFT]), extension, by), &[a])
    }

    /// A word in the table of constants.
    fn table(&mut self, bits: u64) -> Value {
        if let Some(&known) = self.by_bits.get(&bits) {
            return known;
        }
        let value = self.value(Home::Constant(self.constants.len() as u32));
        self.constants.push(bits);
        self.by_bits.insert(bits, value);
        value
    }

    /// b where a is not set.
    pub fn without(&mut self, a: Value, b: Value) -> Value {
        self.binary(AND_NOT, false, a, b)
    }

    pub fn int_equal(&mut self, a: Value, b: Value) -> Value {
        self.binary(INT_EQUAL, true, a, b)
    }

    pub fn int_greater(&mut self, a: Value, b: Value) -> Value {
        self.binary(INT_GREATER, false, a, b)
    }

    /// The first of each two, from both in turn.
    pub fn firsts(&mut self, a: Value, b: Value) -> Value {
        self.binary(plain(0x14), false, a, b)
    }

    /// The second of each two, from both in turn.
    pub fn seconds(&mut self, a: Value, b: Value) -> Value {
        self.binary(plain(0x15), false, a, b)
    }

    /// The product of the lower halves.
    pub fn half_product(&mut self, a: Value, b: Value) -> Value {
        self.binary(plain(0xF4), true, a, b)
    }

    /// All bits set.
    pub fn ones(&mut self) -> Value {
        self.bits(u64::MAX)
    }

    pub fn not(&mut self, a: Value) -> Value {
        let ones = self.ones();
        self.xor(a, ones)
    }
}

impl Arith for Builder {
    type V = Value;
    type M = Value;

    fn real(&mut self, x: f64) -> Value {
        let twice = |bits: u32| u64::from(bits) << 32 | u64::from(bits);
        self.table(if self.packed { twice((x as f32).to_bits()) } else { x.to_bits() })
    }
    fn bits(&mut self, bits: u64) -> Value {
        let upper = bits >> 32;
        self.table(if self.packed { upper << 32 | upper } else { bits })
    }
    fn add(&mut self, a: Value, b: Value) -> Value {
        self.binary(plain(0x58), true, a, b)
    }
    fn sub(&mut self, a: Value, b: Value) -> Value {
        self.binary(plain(0x5C), false, a, b)
    }
    fn mul(&mut self, a: Value, b: Value) -> Value {
        self.binary(plain(0x59), true, a, b)
    }
    fn div(&mut self, a: Value, b: Value) -> Value {
        self.divide(a, b)
    }
    fn sqrt(&mut self, a: Value) -> Value {
        self.push(Action::Unary(self.sized(plain(0x51)), None), &[a])
    }
    fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.push(Action::Fused { negated: false, numbers: self.numbers() }, &[a, b, c])
    }
    fn fnma(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.push(Action::Fused { negated: true, numbers: self.numbers() }, &[a, b, c])
    }
    fn lesser(&mut self, a: Value, b: Value) -> Value {
        self.binary(plain(0x5D), false, a, b)
    }
    fn greater(&mut self, a: Value, b: Value) -> Value {
        self.binary(plain(0x5F), false, a, b)
    }
    fn round(&mut self, a: Value) -> Value {
        self.rounded(NEAREST, a)
    }
    fn and(&mut self, a: Value, b: Value) -> Value {
        self.binary(AND, true, a, b)
    }
    fn or(&mut self, a: Value, b: Value) -> Value {
        // A number and its opposite are the same below the sign: so are kernels that begin with that.
        let signs = if self.packed { SIGN | SIGN >> 32 } else { SIGN };
        let sign = matches!(self.homes[b.0 as usize], Home::Constant(n) if self.constants[n as usize] == signs);
        let a = self.opposites.get(&a).copied().filter(|_| sign).unwrap_or(a);
        self.binary(OR, true, a, b)
    }
    fn xor(&mut self, a: Value, b: Value) -> Value {
        self.binary(XOR, true, a, b)
    }
    fn int_add(&mut self, a: Value, b: Value) -> Value {
        self.push(Action::Binary(self.on_bits([0xD4, HALF_ADD]), true), &[a, b])
    }
    fn int_sub(&mut self, a: Value, b: Value) -> Value {
        self.push(Action::Binary(self.on_bits([0xFB, HALF_SUB]), false), &[a, b])
    }
    fn shl(&mut self, a: Value, by: u8) -> Value {
        self.shifted(6, by, a)
    }
    fn shr(&mut self, a: Value, by: u8) -> Value {
        self.shifted(2, by, a)
    }
    fn lt(&mut self, a: Value, b: Value) -> Value {
        self.compare(LESS, a, b)
    }
    fn le(&mut self, a: Value, b: Value) -> Value {
        self.compare(LESS_EQUAL, a, b)
    }
    fn eq(&mut self, a: Value, b: Value) -> Value {
        self.compare(EQUAL, a, b)
    }
    fn both(&mut self, a: Value, b: Value) -> Value {
        self.and(a, b)
    }
    fn either(&mut self, a: Value, b: Value) -> Value {
        self.or(a, b)
    }
    fn select(&mut self, m: Value, a: Value, b: Value) -> Value {
        self.blend(m, a, b)
    }
    fn select_sign(&mut self, s: Value, a: Value, b: Value) -> Value {
        self.blend(s, a, b)
    }
    fn usual(&mut self, m: Value, fast: Value, x: Value, y: Value, slow: Slow) -> Value {
        self.push(Action::Usual { slow, numbers: self.numbers() }, &[fast, m, x, y])
    }
    fn select_odd(&mut self, s: Value, top: u8, a: Value, b: Value) -> Value {
        let mask = match self.isa {
            Isa::Avx2 => self.shl(s, top),
            Isa::Avx512 => {
                let lowest = self.table(if self.packed { 1 << 32 | 1 } else { 1 });
                self.push(Action::Binary(self.numbers().sized(TEST_BITS), true), &[s, lowest])
            }
        };
        self.blend(mask, a, b)
    }
    fn flipped(&mut self, s: Value, top: u8, a: Value) -> Value {
        if self.isa == Isa::Avx2 {
            let high = self.shr(s, 1);
            let flip = self.shl(high, top);
            return self.xor(a, flip);
        }
        let (moved, sign) = (self.shl(s, top - 1), self.bits(SIGN));
        let op = Opcode { short: self.packed && self.short, ..BY_TABLE };
        self.push(Action::Flip(op), &[a, moved, sign])
    }
    fn scaled_at_once(&mut self, p: Value, n: Value) -> Option<Value> {
        let scale = Action::Binary(self.numbers().sized(SCALE), false);
        (self.isa == Isa::Avx512).then(|| self.push(scale, &[p, n]))
    }
}
