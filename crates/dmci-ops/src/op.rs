//! What operations are made of. The operations themselves are in `table.rs`, one row each.
//!
//! A value is 64 bits: a real, an integer, or a boolean as 0 or 1. Every operation is total on any
//! bits. Applied to tensors, an operation works element by element (see `shape`).
//! Derivatives are given as contributions: how an adjoint `g` of the result reaches operand `i`,
//! written in the same operations, so that gradients can be differentiated again. A contribution
//! is linear in `g`, which makes it serve forward mode too.

use crate::table::Functions;

pub use crate::table::Op;

/// The type of a tape value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A real.
    Real,
    /// An exact integer.
    Int,
    /// A boolean.
    Bool,
}

/// Magnitude that exact integers of a tape stay below: larger ones are not tape values.
pub const INT_LIMIT: i64 = 1 << 47;

/// Most operands that an operation has.
pub const MAX_ARITY: usize = 3;

/// Builds operations on values of some kind; what derivatives are written against.
pub trait Build {
    /// A value.
    type Id: Copy;
    /// Applies an operation.
    fn op(&mut self, op: Op, args: &[Self::Id]) -> Self::Id;
    /// A real constant.
    fn real(&mut self, x: f64) -> Self::Id;
}

/// How machine code computes an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// By a kernel of many instructions.
    Kernel,
    /// By a few instructions, which there are for single precision too.
    Simple,
    /// By instructions for double precision.
    Inline,
    /// By a call.
    Call,
}

/// Whether loops over lanes and machine code need a slow function for some arguments.
pub(crate) enum Speed {
    /// They need none.
    Fast,
    /// They do.
    Slow,
}

/// How other languages write an operation: `#1`, `#2` and `#3` stand for the operands.
#[derive(Clone, Copy, Debug)]
pub struct Spelling {
    /// In C; functions whose names begin with `d_` come with the exported code.
    pub c: &'static str,
    /// With NumPy, JAX or PyTorch, which is `M`; functions whose names begin with `_` come with the exported code, and
    /// `REAL()` makes a real of an integer.
    pub python: &'static str,
    /// With SymPy.
    pub sympy: &'static str,
    /// In LaTeX. An operand may have a mark: it gets parentheses if it is a sum, as in `#*1`; if it is no atom, as in
    /// `#^1`; if it begins with a minus sign, as in `#+1`; if it is a sum that is not just a negative number, as in `#-1`.
    pub latex: &'static str,
    /// What the formula of LaTeX is.
    pub binding: Binding,
}

/// How tightly a formula holds together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// A sum.
    Sum,
    /// A product.
    Product,
    /// Something that needs no parentheses.
    Atom,
    /// The formula of the first operand.
    Operand,
}

#[inline(always)]
pub(crate) fn each_lane(d: &mut [u64], [a, b, c]: [&[u64]; MAX_ARITY], f: impl Fn([u64; MAX_ARITY]) -> u64) {
    for (((d, &a), &b), &c) in d.iter_mut().zip(a).zip(b).zip(c) {
        *d = f([a, b, c]);
    }
}

pub(crate) const fn r(bits: u64) -> f64 {
    f64::from_bits(bits)
}

pub(crate) const fn i(bits: u64) -> i64 {
    bits as i64
}

/// A real result: NaNs have no sign and no payload that anyone could see.
pub(crate) fn real(x: f64) -> u64 {
    if x.is_nan() { 0x7FF8_0000_0000_0000 } else { x.to_bits() }
}

/// The bits of a real, with those of NaN as operations give them.
pub fn canonical(bits: u64) -> u64 {
    real(r(bits))
}

/// A real result rounded to single precision.
#[inline]
pub fn single(bits: u64) -> u64 {
    real(r(bits) as f32 as f64)
}

pub(crate) fn fits(x: i128) -> bool {
    x.abs() < INT_LIMIT as i128
}

pub(crate) fn divided(a: i64, b: i64, f: fn(i64, i64) -> i64) -> u64 {
    if b == 0 { 0 } else { f(a, b) as u64 }
}

pub(crate) fn floor_quotient(a: i64, b: i64) -> i64 {
    let q = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
}

pub(crate) fn modulo(a: i64, b: i64) -> i64 {
    let m = a.wrapping_rem(b);
    if m != 0 && (m < 0) != (b < 0) { m + b } else { m }
}

#[inline(always)]
pub(crate) fn pow_base<K: Functions>(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { b * K::pow(a, b - 1.0) }
}

#[inline(always)]
pub(crate) fn pow_exponent<K: Functions>(a: f64, b: f64) -> f64 {
    if a == 0.0 && b > 0.0 { 0.0 } else { K::pow(a, b) * K::log(a) }
}

pub(crate) fn share(a: f64, b: f64) -> f64 {
    if a < b {
        1.0
    } else if a > b {
        0.0
    } else if a == b {
        0.5
    } else {
        f64::NAN
    }
}

impl Op {
    /// The operation with this name.
    pub fn parse(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// Whether machine code computes it by a kernel of many instructions, or by several.
    pub fn has_kernel(self) -> bool {
        self.code() == Code::Kernel || self.has_slow_arguments()
    }

    /// The value of a real operation on reals.
    pub fn eval_reals(self, args: &[f64]) -> f64 {
        let mut bits = [0; MAX_ARITY];
        for (slot, x) in bits.iter_mut().zip(args) {
            *slot = x.to_bits();
        }
        f64::from_bits(self.eval(bits))
    }
}
