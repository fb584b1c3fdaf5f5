//! Quotients by multiplication.
//!
//! A processor divides eight numbers in about as many cycles as it takes for thirty multiplications, and does one
//! division after the other. Where code would wait for that, some of its quotients are made of products, with the same
//! bits, while others are divided.
//!
//! Let 1 <= b < 2 and y be 1/b with an error of at most (1 + 2^-30)/2 of its last place; q = a y, rounded; r = a - b q.
//! Then q + r y, rounded, is a/b, rounded:
//!
//! - It differs from a/b by less than 2^-51 of the last place, so a wrong result needs an a/b as near as that to the
//!   middle between two numbers. Then q is one of the two (its own error is less than 3/2, so it is 1/2), r has no
//!   error, and the difference is at most r/b times the error of y, b 2^-55 (1 + 2^-30) of the last place.
//! - No quotient is in the middle, and all are away from it by at least 2^-53 / b of the last place, which is more
//!   unless b > 2 - 2^-30.
//! - Between 2 - 2^-27 and 2 - 2^-41, 1/b is so far from the middle between two numbers that y is the nearest one, and
//!   with that the difference is less than the distance for every b. By a larger b, numbers are divided.
//!
//! Sizes are such that nothing overflows and no remainder loses digits; anything else is divided too.

use super::encode::{Opcode, plain};
use super::ir::{Action, Builder, Value};
use dmci_ops::arith::Arith;

/// The reciprocal, to fourteen digits.
const NEARLY_INVERSE: Opcode = Opcode { map: 2, wide: true, ..plain(0x4C) };

/// Which of two sizes is larger, or smaller.
const SIZES: Opcode = Opcode { map: 3, wide: true, ..plain(0x50) };
const LARGER: u8 = 0b1011;
const SMALLER: u8 = 0b1010;

/// The digits of a divisor that are not all set.
const DIGITS: u64 = 0x000F_FFFF_FFFF_F000;

/// Sizes of quotients and reciprocals are between this and its inverse: 2^500.
const LARGE: u64 = (1023 + 500) << 52;
const SMALL: u64 = (1023 - 500) << 52;

/// Cycles for a division, and for instructions that make a quotient.
const DIVISION: f64 = 16.0;
const INSTEAD: f64 = 9.5;
const PER_CYCLE: f64 = 2.0;

/// How many divisions are done by multiplication: `some` of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Share {
    some: usize,
    of: usize,
}

impl Share {
    /// The share with which code of so many divisions and other instructions waits least.
    pub fn of(divisions: usize, others: usize) -> Share {
        let waits = DIVISION * divisions as f64 - others as f64 / PER_CYCLE;
        Share { some: (waits / (DIVISION + INSTEAD)).max(0.0) as usize, of: divisions }
    }

    pub fn is_none(self) -> bool {
        self.some == 0
    }

    /// Whether a division is one of them: they are spread evenly.
    fn has(self, division: usize) -> bool {
        self.of > 0 && (division + 1) * self.some / self.of > division * self.some / self.of
    }
}

impl Builder {
    /// Whether the next quotient is to be made by multiplication.
    pub(super) fn multiplies_next(&mut self) -> bool {
        self.divisions += 1;
        self.multiplied.has(self.divisions - 1) && !self.packed
    }

    /// a/b by multiplication.
    pub(super) fn quotient(&mut self, a: Value, b: Value) -> Value {
        let one = self.real(1.0);
        let first = self.push(Action::Unary(NEARLY_INVERSE, None), &[b]);
        let e = self.fnma(b, first, one);
        let e = self.fma(e, e, e);
        let better = self.fma(first, e, first);
        let e = self.fnma(b, better, one);
        let inverse = self.fma(better, e, better);
        let near = self.mul(a, inverse);
        let rest = self.fnma(b, near, a);
        let quotient = self.fma(rest, inverse, near);

        let [larger, smaller] =
            [LARGER, SMALLER].map(|which| self.push(Action::WithByte(SIZES, which), &[near, inverse]));
        let (most, least, digits) = (self.bits(LARGE), self.bits(SMALL), self.bits(DIGITS));
        let (not_large, not_small) = (self.lt(larger, most), self.lt(least, smaller));
        let of_size = self.both(not_large, not_small);
        let set = self.and(b, digits);
        let all_set = self.int_equal(set, digits);
        let usual = self.without(all_set, of_size);
        self.push(Action::Quotient, &[quotient, usual, a, b])
    }
}
