//! Quotients by multiplication.
//!
//! A processor divides eight numbers in about as many cycles as it takes for ten to thirty multiplications, and does one
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
//! Derivatives of a quotient are quotients by the same b, whose inverse is divided once then: that y is the nearest
//! number for every b. An inverse of a constant is a constant.
//!
//! Sizes are such that nothing overflows and no remainder loses digits; anything else is divided too.

use super::ir::{Action, Builder, DIVIDE, TEST_BITS, Value};
use super::vex::{Opcode, plain};
use dmci_ops::arith::Arith;
use rustc_hash::FxHashMap;
use std::arch::x86_64::__cpuid;
use std::sync::LazyLock;

/// The reciprocal, to fourteen digits.
const NEARLY_INVERSE: Opcode = Opcode { map: 2, w: true, ..plain(0x4C) };

/// Which of two sizes is larger, or smaller.
const SIZES: Opcode = Opcode { map: 3, w: true, ..plain(0x50) };
const LARGER: u8 = 0b1011;
const SMALLER: u8 = 0b1010;

/// The digits of a divisor that are not all set.
const DIGITS: u64 = 0x000F_FFFF_FFFF_F000;

/// Sizes of quotients and reciprocals are between this and its inverse: 2^500.
const LARGE: u64 = (1023 + 500) << 52;
const SMALL: u64 = (1023 - 500) << 52;

/// Added to the bits of a number, this sets the bit `INSIDE` for exponents of half of all sizes: from 2^-511 to 2^513
/// for a quotient, from 2^-623 to 2^401 for the inverse of its divisor. A remainder is a multiple of 2^-1016 then.
const OF_QUOTIENT: u64 = 512 << 52;
const OF_INVERSE: u64 = (512 + 112) << 52;
const INSIDE: u64 = 1 << 62;

/// Cycles for a division, for a quotient of products, and for one whose inverse is at hand.
struct Cycles {
    division: f64,
    quotient: f64,
    with_inverse: f64,
}

/// Instructions of other kinds in a cycle.
const PER_CYCLE: f64 = 2.0;

impl Cycles {
    /// Those of this processor: there are two kinds, by how many lanes a multiplication works on.
    fn of_processor() -> Cycles {
        // In a virtual machine the question takes longer than compiling a short plan.
        static IS_AMD: LazyLock<bool> = LazyLock::new(|| __cpuid(0).ebx == u32::from_le_bytes(*b"Auth"));
        match *IS_AMD {
            true => Cycles { division: 9.0, quotient: 14.0, with_inverse: 4.5 },
            false => Cycles { division: 16.0, quotient: 9.5, with_inverse: 3.5 },
        }
    }
}

/// A division that was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    by: Value,
    /// Of the number 1, and by a number that is known.
    of_one: bool,
    by_constant: bool,
}

/// How a division is done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Way {
    #[default]
    Divided,
    Multiplied,
    /// By multiplication with an inverse that others need too.
    Inverse,
}

/// How divisions are done, in their order; those that are not mentioned are done as such.
#[derive(Clone, Debug, Default)]
pub(super) struct Ways(Vec<Way>);

impl Ways {
    /// The ways with which code of these divisions and so many other instructions waits least.
    pub fn of(divisions: &[Division], others: usize) -> Ways {
        let cycles = Cycles::of_processor();
        let mut ways = vec![Way::Divided; divisions.len()];
        let (mut waits, mut busy) = (cycles.division * ways.len() as f64, others as f64 / PER_CYCLE);
        for group in groups(divisions) {
            let inverse = !divisions[group[0]].by_constant as usize;
            let products = group.iter().filter(|&&i| !divisions[i].of_one).count();
            let (less, more) = ((group.len() - inverse) as f64, products as f64 * cycles.with_inverse);
            let waits_then = waits - less * cycles.division;
            if together(waits_then, busy + more) < together(waits, busy) {
                (waits, busy) = (waits_then, busy + more);
                group.iter().for_each(|&i| ways[i] = Way::Inverse);
            }
        }
        // Of the others, some are multiplied, spread evenly.
        let others: Vec<usize> = (0..ways.len()).filter(|&i| ways[i] == Way::Divided).collect();
        let some = ((waits - busy) / (cycles.division + cycles.quotient)).max(0.0) as usize;
        for (k, &i) in others.iter().enumerate() {
            if (k + 1) * some / others.len() > k * some / others.len() {
                ways[i] = Way::Multiplied;
            }
        }
        Ways(ways)
    }

    pub fn are_divisions(&self) -> bool {
        self.0.iter().all(|way| *way == Way::Divided)
    }
}

/// Cycles for divisions and for everything else, which are done at the same time for the most part.
fn together(waits: f64, busy: f64) -> f64 {
    waits.max(busy) + 0.5 * waits.min(busy)
}

/// Divisions by the same number that are better done with its inverse, those first that gain most.
fn groups(divisions: &[Division]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut known: FxHashMap<Value, usize> = FxHashMap::default();
    for (i, division) in divisions.iter().enumerate() {
        let group = *known.entry(division.by).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(i);
    }
    groups.retain(|group| group.len() > 1 || divisions[group[0]].by_constant);
    let gain = |group: &[usize]| {
        let inverses =
            group.iter().filter(|&&i| divisions[i].of_one).count() + divisions[group[0]].by_constant as usize;
        group.len() - 1 + 2 * inverses
    };
    groups.sort_by_key(|group| std::cmp::Reverse(gain(group)));
    groups
}

/// The inverse of a divisor, and a word with the bit `INSIDE` if it is of the right size, else without any.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inverse {
    value: Value,
    inside: Value,
}

impl Builder {
    /// a/b, in the way that was chosen for it.
    pub(super) fn divide(&mut self, a: Value, b: Value) -> Value {
        let way = self.ways.0.get(self.divisions.len()).copied().unwrap_or_default();
        let is_one = |x: Option<f64>| x == Some(1.0);
        let by_constant = self.constant(b).is_some_and(|b| is_inside(1.0 / b, OF_INVERSE));
        self.divisions.push(Division { by: b, of_one: is_one(self.constant(a)), by_constant });
        match way {
            Way::Multiplied if !self.packed => self.quotient(a, b),
            Way::Inverse if !self.packed => self.quotient_by_inverse(a, b),
            _ => self.push(Action::Binary(self.sized(DIVIDE), false), &[a, b]),
        }
    }

    /// a/b with the inverse of b.
    fn quotient_by_inverse(&mut self, a: Value, b: Value) -> Value {
        let Inverse { value: inverse, inside } = self.inverse(b);
        if self.constant(a) == Some(1.0) {
            return inverse;
        }
        let near = self.mul(a, inverse);
        let rest = self.fnma(b, near, a);
        let quotient = self.fma(rest, inverse, near);
        let window = self.bits(OF_QUOTIENT);
        let moved = self.int_add(near, window);
        let usual = self.push(Action::Binary(TEST_BITS, true), &[moved, inside]);
        self.push(Action::Quotient, &[quotient, usual, a, b])
    }

    /// The inverse of b, which is made once.
    fn inverse(&mut self, b: Value) -> Inverse {
        if let Some(&known) = self.inverses.get(&b) {
            return known;
        }
        let (one, bit) = (self.real(1.0), self.bits(INSIDE));
        let inverse = match self.constant(b).map(|b| 1.0 / b).filter(|y| is_inside(*y, OF_INVERSE)) {
            Some(y) => Inverse { value: self.real(y), inside: bit },
            None => {
                let value = self.push(Action::Binary(DIVIDE, false), &[one, b]);
                let window = self.bits(OF_INVERSE);
                let moved = self.int_add(value, window);
                Inverse { value, inside: self.and(moved, bit) }
            }
        };
        self.inverses.insert(b, inverse);
        inverse
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

/// Whether a number is of the right size.
fn is_inside(x: f64, window: u64) -> bool {
    x.to_bits().wrapping_add(window) & INSIDE != 0
}
