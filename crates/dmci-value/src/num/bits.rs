//! Bitwise operations on exact integers in two's complement. `who` is the name in messages, since
//! each operation goes by several names.

use super::*;
use num_traits::Signed;

macro_rules! bitwise {
    ($($(#[$doc:meta])* $name:ident $op:tt;)*) => {$(
        $(#[$doc])*
        pub fn $name(heap: &mut Heap, who: &str, a: Value, b: Value) -> Result<Value, Error> {
            if let (Some(x), Some(y)) = (a.as_fixnum(), b.as_fixnum()) {
                return Ok(Value::fixnum(x $op y));
            }
            let (x, y) = (exact_operand(heap, who, a)?, exact_operand(heap, who, b)?);
            spend(heap, words(&x) + words(&y));
            Number::integer(x $op y).to_value(heap)
        }
    )*};
}

bitwise! {
    /// Bits set in both.
    and &;
    /// Bits set in at least one.
    or |;
    /// Bits set in exactly one.
    xor ^;
}

/// All bits flipped: -1 - a.
pub fn not(heap: &mut Heap, who: &str, a: Value) -> Result<Value, Error> {
    let n = exact_operand(heap, who, a)?;
    Number::integer(!n).to_value(heap)
}

/// Number of bits set; of a negative integer, of those not set.
pub fn bit_count(heap: &mut Heap, who: &str, a: Value) -> Result<Value, Error> {
    let n = exact_operand(heap, who, a)?;
    let n = if n.is_negative() { !n } else { n };
    let ones: u32 = n.iter_u64_digits().map(u64::count_ones).sum();
    Ok(Value::fixnum(ones.into()))
}

/// a * 2^k rounded down; k may be negative.
pub fn arithmetic_shift(heap: &mut Heap, who: &str, a: Value, k: Value) -> Result<Value, Error> {
    let n = exact_operand(heap, who, a)?;
    let k = exact_operand(heap, who, k)?;
    shift(heap, n, k)
}

/// a * 2^k.
pub fn shift_left(heap: &mut Heap, a: Value, k: Value) -> Result<Value, Error> {
    arithmetic_shift(heap, "shift-left", a, k)
}

/// a / 2^k rounded down.
pub fn shift_right(heap: &mut Heap, a: Value, k: Value) -> Result<Value, Error> {
    let n = exact_operand(heap, "shift-right", a)?;
    let k = exact_operand(heap, "shift-right", k)?;
    shift(heap, n, -k)
}

fn shift(heap: &mut Heap, n: BigInt, k: BigInt) -> Result<Value, Error> {
    let distance = k.magnitude().to_u64().unwrap_or(u64::MAX);
    if k.is_negative() {
        // Beyond its own bits only the sign is left.
        return Number::integer(n.clone() >> distance.min(n.bits() + 1)).to_value(heap);
    }
    if n.bits() == 0 {
        return Ok(Value::fixnum(0));
    }
    if n.bits().saturating_add(distance) > MAX_BITS {
        return Err(too_large());
    }
    Number::integer(n << distance).to_value(heap)
}
