//! The value: one 64-bit word. Reals are stored as themselves; everything else hides in the space
//! of negative quiet NaNs, with a 16-bit tag and a 48-bit payload.
//!
//! Arithmetic only makes the two NaNs `0x7FF8..` and `0xFFF8..`, both below the first tag, so
//! results of float operations need no check. NaNs from elsewhere go through [`Value::real`].

use crate::symbol::Symbol;

/// A Scheme value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Value(pub(crate) u64);

/// Index of an object's header word in its heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ref(pub(crate) u32);

impl Ref {
    /// The word index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

const TAG_SHIFT: u32 = 48;
const PAYLOAD: u64 = (1 << TAG_SHIFT) - 1;
const FIRST_TAG: u64 = 0xFFF9;
const TAG_FIXNUM: u64 = 0xFFF9;
const TAG_PAIR: u64 = 0xFFFA;
const TAG_OBJECT: u64 = 0xFFFB;
const TAG_CLOSURE: u64 = 0xFFFC;
const TAG_TRACED: u64 = 0xFFFD;
const TAG_IMMEDIATE: u64 = 0xFFFE;

const fn immediate(kind: u64, payload: u32) -> Value {
    Value(TAG_IMMEDIATE << TAG_SHIFT | kind << 32 | payload as u64)
}

const IMM_CONSTANT: u64 = 0;
const IMM_CHAR: u64 = 1;
const IMM_SYMBOL: u64 = 2;
const IMM_PRIMITIVE: u64 = 3;

/// Smallest and largest integer that fits in the word; others are bignums on the heap.
pub const FIXNUM_MIN: i64 = -(1 << 47);
/// See [`FIXNUM_MIN`].
pub const FIXNUM_MAX: i64 = (1 << 47) - 1;

#[allow(missing_docs)]
impl Value {
    pub const FALSE: Value = immediate(IMM_CONSTANT, 0);
    pub const TRUE: Value = immediate(IMM_CONSTANT, 1);
    /// The empty list.
    pub const NIL: Value = immediate(IMM_CONSTANT, 2);
    pub const UNSPECIFIED: Value = immediate(IMM_CONSTANT, 3);
    pub const EOF: Value = immediate(IMM_CONSTANT, 4);
    /// Content of a variable that has no value yet; never seen by programs.
    pub const UNBOUND: Value = immediate(IMM_CONSTANT, 5);
    /// An optional argument that was not given; never seen by programs.
    pub const DEFAULT: Value = immediate(IMM_CONSTANT, 6);

    /// A real; any NaN becomes the one NaN.
    #[inline]
    pub fn real(x: f64) -> Value {
        if x.is_nan() { Value(0x7FF8_0000_0000_0000) } else { Value(x.to_bits()) }
    }

    /// A real that came out of float arithmetic on reals (see the module's first comment).
    #[inline]
    pub fn real_result(x: f64) -> Value {
        debug_assert!(x.to_bits() >> TAG_SHIFT < FIRST_TAG);
        Value(x.to_bits())
    }

    #[inline]
    pub fn boolean(b: bool) -> Value {
        if b { Value::TRUE } else { Value::FALSE }
    }

    /// An exact integer within the fixnum range.
    #[inline]
    pub fn fixnum(i: i64) -> Value {
        debug_assert!((FIXNUM_MIN..=FIXNUM_MAX).contains(&i));
        Value(TAG_FIXNUM << TAG_SHIFT | i as u64 & PAYLOAD)
    }

    /// An exact integer if it fits in the word.
    #[inline]
    pub fn try_fixnum(i: i64) -> Option<Value> {
        (FIXNUM_MIN..=FIXNUM_MAX).contains(&i).then(|| Value::fixnum(i))
    }

    /// The sum of two fixnums, if both are and it is one: the payloads are added at the top of the
    /// word, where the processor sees the overflow.
    #[inline]
    pub fn add_fixnums(self, other: Value) -> Option<Value> {
        if !(self.is_fixnum() && other.is_fixnum()) {
            return None;
        }
        let sum = ((self.0 << 16) as i64).checked_add((other.0 << 16) as i64)?;
        Some(Value(TAG_FIXNUM << TAG_SHIFT | sum as u64 >> 16))
    }

    /// The difference of two fixnums, likewise.
    #[inline]
    pub fn sub_fixnums(self, other: Value) -> Option<Value> {
        if !(self.is_fixnum() && other.is_fixnum()) {
            return None;
        }
        let difference = ((self.0 << 16) as i64).checked_sub((other.0 << 16) as i64)?;
        Some(Value(TAG_FIXNUM << TAG_SHIFT | difference as u64 >> 16))
    }

    /// The product of two fixnums, likewise.
    #[inline]
    pub fn mul_fixnums(self, other: Value) -> Option<Value> {
        if !(self.is_fixnum() && other.is_fixnum()) {
            return None;
        }
        let product = ((self.0 << 16) as i64).checked_mul(((other.0 << 16) as i64) >> 16)?;
        Some(Value(TAG_FIXNUM << TAG_SHIFT | product as u64 >> 16))
    }

    /// 48 bits that are not a number to programs (return addresses in frames).
    #[inline]
    pub fn packed(bits: u64) -> Value {
        Value(TAG_FIXNUM << TAG_SHIFT | bits & PAYLOAD)
    }

    /// The bits of [`Value::packed`].
    #[inline]
    pub fn packed_bits(self) -> u64 {
        self.0 & PAYLOAD
    }

    #[inline]
    pub fn char(c: char) -> Value {
        immediate(IMM_CHAR, c as u32)
    }

    #[inline]
    pub fn symbol(s: Symbol) -> Value {
        immediate(IMM_SYMBOL, s.0)
    }

    /// The primitive procedure with this number.
    #[inline]
    pub fn primitive(number: u32) -> Value {
        immediate(IMM_PRIMITIVE, number)
    }

    #[inline]
    pub(crate) fn pair(r: Ref) -> Value {
        Value(TAG_PAIR << TAG_SHIFT | r.0 as u64)
    }

    #[inline]
    pub(crate) fn object(r: Ref) -> Value {
        Value(TAG_OBJECT << TAG_SHIFT | r.0 as u64)
    }

    #[inline]
    pub(crate) fn closure(r: Ref) -> Value {
        Value(TAG_CLOSURE << TAG_SHIFT | r.0 as u64)
    }

    #[inline]
    pub(crate) fn traced(r: Ref) -> Value {
        Value(TAG_TRACED << TAG_SHIFT | r.0 as u64)
    }

    #[inline]
    fn tag(self) -> u64 {
        self.0 >> TAG_SHIFT
    }

    #[inline]
    pub fn is_real(self) -> bool {
        self.0 < FIRST_TAG << TAG_SHIFT
    }

    #[inline]
    pub fn as_real(self) -> Option<f64> {
        self.is_real().then(|| f64::from_bits(self.0))
    }

    #[inline]
    pub fn is_fixnum(self) -> bool {
        self.tag() == TAG_FIXNUM
    }

    #[inline]
    pub fn as_fixnum(self) -> Option<i64> {
        self.is_fixnum().then_some(((self.0 << 16) as i64) >> 16)
    }

    #[inline]
    pub fn is_pair(self) -> bool {
        self.tag() == TAG_PAIR
    }

    #[inline]
    pub fn is_nil(self) -> bool {
        self == Value::NIL
    }

    /// Only `#f` is false.
    #[inline]
    pub fn is_true(self) -> bool {
        self != Value::FALSE
    }

    #[inline]
    pub fn is_boolean(self) -> bool {
        self == Value::TRUE || self == Value::FALSE
    }

    #[inline]
    pub fn as_char(self) -> Option<char> {
        self.immediate_of(IMM_CHAR).and_then(char::from_u32)
    }

    #[inline]
    pub fn is_symbol(self) -> bool {
        self.0 >> 32 == TAG_IMMEDIATE << 16 | IMM_SYMBOL
    }

    #[inline]
    pub fn as_symbol(self) -> Option<Symbol> {
        self.immediate_of(IMM_SYMBOL).map(Symbol)
    }

    #[inline]
    pub fn as_primitive(self) -> Option<u32> {
        self.immediate_of(IMM_PRIMITIVE)
    }

    #[inline]
    pub fn is_closure(self) -> bool {
        self.tag() == TAG_CLOSURE
    }

    #[inline]
    pub fn is_traced(self) -> bool {
        self.tag() == TAG_TRACED
    }

    /// The heap object behind it, if it is one (pairs and closures included).
    #[inline]
    pub fn as_ref(self) -> Option<Ref> {
        (TAG_PAIR..=TAG_TRACED).contains(&self.tag()).then_some(Ref(self.0 as u32))
    }

    /// The pair behind it.
    #[inline]
    pub fn as_pair(self) -> Option<Ref> {
        self.is_pair().then_some(Ref(self.0 as u32))
    }

    /// The closure behind it.
    #[inline]
    pub fn as_closure(self) -> Option<Ref> {
        self.is_closure().then_some(Ref(self.0 as u32))
    }

    /// The object behind it that is neither pair nor closure.
    #[inline]
    pub fn as_object(self) -> Option<Ref> {
        (self.tag() == TAG_OBJECT).then_some(Ref(self.0 as u32))
    }

    /// The same kind of reference to another place (used when objects move).
    #[inline]
    pub(crate) fn moved_to(self, r: Ref) -> Value {
        Value(self.0 & !PAYLOAD | r.0 as u64)
    }

    /// The value with these bits, as [`Value::bits`] gave them.
    pub fn from_bits(bits: u64) -> Value {
        Value(bits)
    }

    /// The word itself.
    #[inline]
    pub fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    fn immediate_of(self, kind: u64) -> Option<u32> {
        (self.0 >> 32 == TAG_IMMEDIATE << 16 | kind).then_some(self.0 as u32)
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(x) = self.as_real() {
            write!(f, "{x:?}")
        } else if let Some(i) = self.as_fixnum() {
            write!(f, "{i}")
        } else {
            write!(f, "<{:04x}:{:x}>", self.tag(), self.0 & PAYLOAD)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixnum_arithmetic_agrees_with_wide_arithmetic() {
        let edges =
            [0, 1, -1, 2, -2, 12345, -98765, 1 << 23, -(1 << 23), 1 << 24, FIXNUM_MAX, FIXNUM_MIN, FIXNUM_MAX - 1];
        for a in edges {
            for b in edges {
                let (x, y) = (Value::fixnum(a), Value::fixnum(b));
                assert_eq!(x.add_fixnums(y), Value::try_fixnum(a + b), "{a} + {b}");
                assert_eq!(x.sub_fixnums(y), Value::try_fixnum(a - b), "{a} - {b}");
                let product = i64::try_from(a as i128 * b as i128).ok().and_then(Value::try_fixnum);
                assert_eq!(x.mul_fixnums(y), product, "{a} * {b}");
                assert_eq!(x.add_fixnums(Value::real(1.0)), None);
            }
        }
    }
}
