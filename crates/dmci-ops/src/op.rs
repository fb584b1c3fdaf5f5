//! The operations of a tape: one row each, with everything an engine needs to know about it.
//!
//! A value is 64 bits: a real, an integer, or a boolean as 0 or 1. Every operation is total on any
//! bits. Applied to tensors, an operation works element by element (see `shape`).
//! Derivatives are given as contributions: how an adjoint `g` of the result reaches operand `i`,
//! written in the same operations, so that gradients can be differentiated again. A contribution
//! is linear in `g`, which makes it serve forward mode too.

use crate::real;
use crate::wide::{Functions, Plain};

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

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident $name:literal ($($arg:ident)*) -> $result:ident = $eval:expr;)*) => {
        /// An operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Op {
            $($(#[$doc])* $variant,)*
        }

        impl Op {
            /// All operations.
            pub const ALL: &'static [Op] = &[$(Op::$variant,)*];

            /// The name in text forms.
            pub fn name(self) -> &'static str {
                match self { $(Op::$variant => $name,)* }
            }

            /// Types of the operands.
            pub fn operands(self) -> &'static [Type] {
                match self { $(Op::$variant => &[$(Type::$arg),*],)* }
            }

            /// Type of the result.
            pub fn result(self) -> Type {
                match self { $(Op::$variant => Type::$result,)* }
            }

            /// The value, in bits.
            #[inline]
            pub fn eval(self, args: [u64; MAX_ARITY]) -> u64 {
                type K = Plain;
                match self { $(Op::$variant => { let f: fn([u64; MAX_ARITY]) -> u64 = $eval; f(args) })* }
            }

            #[inline(always)]
            pub(crate) fn lanes_with<K: Functions>(self, d: &mut [u64], args: [&[u64]; MAX_ARITY]) {
                match self { $(Op::$variant => each_lane(d, args, $eval),)* }
            }
        }
    };
}

#[inline(always)]
fn each_lane(d: &mut [u64], [a, b, c]: [&[u64]; MAX_ARITY], f: impl Fn([u64; MAX_ARITY]) -> u64) {
    for (((d, &a), &b), &c) in d.iter_mut().zip(a).zip(b).zip(c) {
        *d = f([a, b, c]);
    }
}

const fn r(bits: u64) -> f64 {
    f64::from_bits(bits)
}

const fn i(bits: u64) -> i64 {
    bits as i64
}

/// A real result: NaNs have no sign and no payload that anyone could see.
fn real(x: f64) -> u64 {
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

operations! {
    /// The same value under a new name: where a derivative was asked for inside a program.
    Same "same" (Real) -> Real = |[a, ..]| a;
    /// The same value, without a derivative.
    Stop "stop" (Real) -> Real = |[a, ..]| a;
    /// The first operand, as it is, but its derivative by the third is the second. The first may be
    /// such a value too: so a function of several numbers gets all its derivatives.
    Linear "linear" (Real Real Real) -> Real = |[v, ..]| v;
    Add "add" (Real Real) -> Real = |[a, b, _]| real(r(a) + r(b));
    Sub "sub" (Real Real) -> Real = |[a, b, _]| real(r(a) - r(b));
    Mul "mul" (Real Real) -> Real = |[a, b, _]| real(r(a) * r(b));
    Div "div" (Real Real) -> Real = |[a, b, _]| real(r(a) / r(b));
    Neg "neg" (Real) -> Real = |[a, ..]| real(-r(a));
    Abs "abs" (Real) -> Real = |[a, ..]| real(r(a).abs());
    Sign "sign" (Real) -> Real = |[a, ..]| real(real::sign(r(a)));
    Sqrt "sqrt" (Real) -> Real = |[a, ..]| real(real::sqrt(r(a)));
    /// A square root whose derivative at 0 is 0: the norm of nothing does not move.
    Root "root" (Real) -> Real = |[a, ..]| real(real::sqrt(r(a)));
    /// The first operand over the second, but 0 if the second is 0.
    Ratio "ratio" (Real Real) -> Real = |[a, b, _]| if r(b) == 0.0 { 0 } else { real(r(a) / r(b)) };
    Cbrt "cbrt" (Real) -> Real = |[a, ..]| real(K::cbrt(r(a)));
    Exp "exp" (Real) -> Real = |[a, ..]| real(K::exp(r(a)));
    Expm1 "expm1" (Real) -> Real = |[a, ..]| real(K::expm1(r(a)));
    Log "log" (Real) -> Real = |[a, ..]| real(K::log(r(a)));
    Log2 "log2" (Real) -> Real = |[a, ..]| real(K::log2(r(a)));
    Log10 "log10" (Real) -> Real = |[a, ..]| real(K::log10(r(a)));
    Log1p "log1p" (Real) -> Real = |[a, ..]| real(K::log1p(r(a)));
    Sin "sin" (Real) -> Real = |[a, ..]| real(K::sin(r(a)));
    Cos "cos" (Real) -> Real = |[a, ..]| real(K::cos(r(a)));
    Tan "tan" (Real) -> Real = |[a, ..]| real(K::tan(r(a)));
    Asin "asin" (Real) -> Real = |[a, ..]| real(K::asin(r(a)));
    Acos "acos" (Real) -> Real = |[a, ..]| real(K::acos(r(a)));
    Atan "atan" (Real) -> Real = |[a, ..]| real(K::atan(r(a)));
    Atan2 "atan2" (Real Real) -> Real = |[a, b, _]| real(K::atan2(r(a), r(b)));
    Sinh "sinh" (Real) -> Real = |[a, ..]| real(K::sinh(r(a)));
    Cosh "cosh" (Real) -> Real = |[a, ..]| real(K::cosh(r(a)));
    Tanh "tanh" (Real) -> Real = |[a, ..]| real(K::tanh(r(a)));
    Asinh "asinh" (Real) -> Real = |[a, ..]| real(K::asinh(r(a)));
    Acosh "acosh" (Real) -> Real = |[a, ..]| real(K::acosh(r(a)));
    Atanh "atanh" (Real) -> Real = |[a, ..]| real(K::atanh(r(a)));
    Hypot "hypot" (Real Real) -> Real = |[a, b, _]| real(K::hypot(r(a), r(b)));
    Pow "pow" (Real Real) -> Real = |[a, b, _]| real(K::pow(r(a), r(b)));
    /// Derivative of `pow` by its base: 0 for exponent 0, also at base 0.
    PowBase "pow-base" (Real Real) -> Real = |[a, b, _]| real(pow_base::<K>(r(a), r(b)));
    /// Derivative of `pow` by its exponent: 0 at base 0 for positive exponents.
    PowExponent "pow-exponent" (Real Real) -> Real = |[a, b, _]| real(pow_exponent::<K>(r(a), r(b)));
    Erf "erf" (Real) -> Real = |[a, ..]| real(K::erf(r(a)));
    Erfc "erfc" (Real) -> Real = |[a, ..]| real(K::erfc(r(a)));
    Gamma "gamma" (Real) -> Real = |[a, ..]| real(K::gamma(r(a)));
    Lgamma "lgamma" (Real) -> Real = |[a, ..]| real(K::lgamma(r(a)));
    Digamma "digamma" (Real) -> Real = |[a, ..]| real(K::digamma(r(a)));
    /// The derivative of `digamma`, order 1, or of order given by the second operand.
    Polygamma "polygamma" (Real Real) -> Real = |[a, n, _]| real(K::polygamma(r(a), r(n)));
    Sigmoid "sigmoid" (Real) -> Real = |[a, ..]| real(K::sigmoid(r(a)));
    Softplus "softplus" (Real) -> Real = |[a, ..]| real(K::softplus(r(a)));
    Relu "relu" (Real) -> Real = |[a, ..]| real(real::relu(r(a)));
    Min "min" (Real Real) -> Real = |[a, b, _]| real(real::min(r(a), r(b)));
    Max "max" (Real Real) -> Real = |[a, b, _]| real(real::max(r(a), r(b)));
    /// 1 if a < b, 0 if a > b, and 1/2 at a tie: the share of the smaller one.
    Share "share" (Real Real) -> Real = |[a, b, _]| real(share(r(a), r(b)));
    /// The first operand times the second, but 0 if the second is 0: a share of nothing is nothing.
    Gate "gate" (Real Real) -> Real = |[g, w, _]| if r(w) == 0.0 { 0 } else { real(r(g) * r(w)) };
    /// The first operand times the second, its weight. What has weight 0 counts for nothing, not even
    /// if it is infinite, nor does its derivative.
    Weigh "weigh" (Real Real) -> Real = |[a, w, _]| if r(w) == 0.0 { 0 } else { real(r(a) * r(w)) };
    /// 0 for a number that is not finite and has weight 0, else 1: whether it counts.
    Counts "counts" (Real Real) -> Real = |[a, w, _]| real((r(w) != 0.0 || r(a).is_finite()) as u8 as f64);
    /// The first operand if it counts, else 0.
    Counted "counted" (Real Real) -> Real = |[a, w, _]| if r(w) != 0.0 || r(a).is_finite() { a } else { 0 };
    Floor "floor" (Real) -> Real = |[a, ..]| real(real::floor(r(a)));
    Ceiling "ceiling" (Real) -> Real = |[a, ..]| real(real::ceiling(r(a)));
    Round "round" (Real) -> Real = |[a, ..]| real(real::round(r(a)));
    Truncate "truncate" (Real) -> Real = |[a, ..]| real(real::truncate(r(a)));
    Quotient "quotient" (Real Real) -> Real = |[a, b, _]| real(real::quotient(r(a), r(b)));
    FloorQuotient "floor-quotient" (Real Real) -> Real = |[a, b, _]| real(real::floor_quotient(r(a), r(b)));
    Remainder "remainder" (Real Real) -> Real = |[a, b, _]| real(real::remainder(r(a), r(b)));
    Modulo "modulo" (Real Real) -> Real = |[a, b, _]| real(real::modulo(r(a), r(b)));
    Lt "lt" (Real Real) -> Bool = |[a, b, _]| (r(a) < r(b)) as u64;
    Le "le" (Real Real) -> Bool = |[a, b, _]| (r(a) <= r(b)) as u64;
    Gt "gt" (Real Real) -> Bool = |[a, b, _]| (r(a) > r(b)) as u64;
    Ge "ge" (Real Real) -> Bool = |[a, b, _]| (r(a) >= r(b)) as u64;
    Eq "eq" (Real Real) -> Bool = |[a, b, _]| (r(a) == r(b)) as u64;
    /// The same bits (all NaNs are the same).
    Eqv "eqv" (Real Real) -> Bool = |[a, b, _]| (a == b) as u64;
    IsInteger "is-integer" (Real) -> Bool = |[a, ..]| (r(a).is_finite() && real::truncate(r(a)) == r(a)) as u64;
    IntAdd "int-add" (Int Int) -> Int = |[a, b, _]| i(a).wrapping_add(i(b)) as u64;
    IntSub "int-sub" (Int Int) -> Int = |[a, b, _]| i(a).wrapping_sub(i(b)) as u64;
    IntMul "int-mul" (Int Int) -> Int = |[a, b, _]| i(a).wrapping_mul(i(b)) as u64;
    IntMin "int-min" (Int Int) -> Int = |[a, b, _]| i(a).min(i(b)) as u64;
    IntMax "int-max" (Int Int) -> Int = |[a, b, _]| i(a).max(i(b)) as u64;
    IntAbs "int-abs" (Int) -> Int = |[a, ..]| i(a).wrapping_abs() as u64;
    /// Rounds towards zero; 0 for a divisor of 0, as in all divisions of integers.
    IntQuotient "int-quotient" (Int Int) -> Int = |[a, b, _]| divided(i(a), i(b), i64::wrapping_div);
    IntRemainder "int-remainder" (Int Int) -> Int = |[a, b, _]| divided(i(a), i(b), i64::wrapping_rem);
    IntFloorQuotient "int-floor-quotient" (Int Int) -> Int = |[a, b, _]| divided(i(a), i(b), floor_quotient);
    IntModulo "int-modulo" (Int Int) -> Int = |[a, b, _]| divided(i(a), i(b), modulo);
    IntLt "int-lt" (Int Int) -> Bool = |[a, b, _]| (i(a) < i(b)) as u64;
    IntLe "int-le" (Int Int) -> Bool = |[a, b, _]| (i(a) <= i(b)) as u64;
    IntEq "int-eq" (Int Int) -> Bool = |[a, b, _]| (a == b) as u64;
    /// Whether an integer is small enough to be a tape value.
    IntFits "int-fits" (Int) -> Bool = |[a, ..]| fits(i(a).into()) as u64;
    /// Whether a product is.
    IntMulFits "int-mul-fits" (Int Int) -> Bool = |[a, b, _]| fits(i(a) as i128 * i(b) as i128) as u64;
    /// Whether the first is a multiple of the second.
    IntDivides "int-divides" (Int Int) -> Bool = |[a, b, _]| (b != 0 && i(a).wrapping_rem(i(b)) == 0) as u64;
    ToReal "to-real" (Int) -> Real = |[a, ..]| real(i(a) as f64);
    /// The integer that a real is; anything for other reals.
    ToInt "to-int" (Real) -> Int = |[a, ..]| (r(a) as i64) as u64;
    /// Whether a real is an integer that is small enough to be a tape value.
    IsInt "is-int" (Real) -> Bool = |[a, ..]| (real::truncate(r(a)) == r(a) && r(a).abs() < INT_LIMIT as f64) as u64;
    Not "not" (Bool) -> Bool = |[a, ..]| (a == 0) as u64;
    And "and" (Bool Bool) -> Bool = |[a, b, _]| (a != 0 && b != 0) as u64;
    Or "or" (Bool Bool) -> Bool = |[a, b, _]| (a != 0 || b != 0) as u64;
    /// The second operand if the first is true, else the third.
    Select "select" (Bool Real Real) -> Real = |[t, a, b]| if t != 0 { a } else { b };
    IntSelect "int-select" (Bool Int Int) -> Int = |[t, a, b]| if t != 0 { a } else { b };
    BoolSelect "bool-select" (Bool Bool Bool) -> Bool = |[t, a, b]| if t != 0 { a } else { b };
}

fn fits(x: i128) -> bool {
    x.abs() < INT_LIMIT as i128
}

fn divided(a: i64, b: i64, f: fn(i64, i64) -> i64) -> u64 {
    if b == 0 { 0 } else { f(a, b) as u64 }
}

fn floor_quotient(a: i64, b: i64) -> i64 {
    let q = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
}

fn modulo(a: i64, b: i64) -> i64 {
    let m = a.wrapping_rem(b);
    if m != 0 && (m < 0) != (b < 0) { m + b } else { m }
}

#[inline(always)]
fn pow_base<K: Functions>(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { b * K::pow(a, b - 1.0) }
}

#[inline(always)]
fn pow_exponent<K: Functions>(a: f64, b: f64) -> f64 {
    if a == 0.0 && b > 0.0 { 0.0 } else { K::pow(a, b) * K::log(a) }
}

fn share(a: f64, b: f64) -> f64 {
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

    /// The value of a real operation on reals.
    pub fn eval_reals(self, args: &[f64]) -> f64 {
        let mut bits = [0; MAX_ARITY];
        for (slot, x) in bits.iter_mut().zip(args) {
            *slot = x.to_bits();
        }
        f64::from_bits(self.eval(bits))
    }
}
