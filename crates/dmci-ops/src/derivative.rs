//! Derivatives of operations, written in operations.

use crate::op::{Build, Op};
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10};

/// What an adjoint `g` of the result `y` of `op` on `x` contributes to operand `i`; `None` where
/// the derivative is zero almost everywhere. Linear in `g`.
///
/// Conventions where a derivative does not exist: `min`, `max` split a tie evenly, `abs` and
/// `relu` have 0 at 0, rounding has 0. `sqrt` has infinity at 0, `root` (norms) has 0. `pow` has 0 by its base for
/// exponent 0 and 0 by its exponent at base 0 for positive exponents.
pub fn contribution<B: Build>(b: &mut B, op: Op, x: &[B::Id], y: B::Id, i: usize, g: B::Id) -> Option<B::Id> {
    Some(match (op, i) {
        (Op::Same | Op::Add, _) | (Op::Sub | Op::Linear, 0) => g,
        (Op::Linear, 2) => b.op(Op::Mul, &[g, x[1]]),
        (Op::Sub, _) | (Op::Neg, _) => b.op(Op::Neg, &[g]),
        (Op::Mul, _) => b.op(Op::Mul, &[g, x[1 - i]]),
        (Op::Div, 0) => b.op(Op::Div, &[g, x[1]]),
        (Op::Div, _) => {
            let q = b.op(Op::Div, &[y, x[1]]);
            let product = b.op(Op::Mul, &[g, q]);
            b.op(Op::Neg, &[product])
        }
        (Op::Abs, _) => {
            let sign = b.op(Op::Sign, &[x[0]]);
            b.op(Op::Mul, &[g, sign])
        }
        (Op::Sqrt, _) => {
            let twice = b.op(Op::Add, &[y, y]);
            b.op(Op::Div, &[g, twice])
        }
        (Op::Root, _) => {
            let twice = b.op(Op::Add, &[y, y]);
            b.op(Op::Ratio, &[g, twice])
        }
        (Op::Ratio, 0) => b.op(Op::Ratio, &[g, x[1]]),
        (Op::Ratio, _) => {
            let q = b.op(Op::Ratio, &[y, x[1]]);
            let product = b.op(Op::Mul, &[g, q]);
            b.op(Op::Neg, &[product])
        }
        (Op::Cbrt, _) => {
            let square = b.op(Op::Mul, &[y, y]);
            let three = b.real(3.0);
            let d = b.op(Op::Mul, &[three, square]);
            b.op(Op::Div, &[g, d])
        }
        (Op::Exp, _) => b.op(Op::Mul, &[g, y]),
        (Op::Expm1, _) => {
            let e = b.op(Op::Exp, &[x[0]]);
            b.op(Op::Mul, &[g, e])
        }
        (Op::Log, _) => b.op(Op::Div, &[g, x[0]]),
        (Op::Log2, _) => scaled_log(b, g, x[0], LN_2),
        (Op::Log10, _) => scaled_log(b, g, x[0], LN_10),
        (Op::Log1p, _) => {
            let d = plus(b, x[0], 1.0);
            b.op(Op::Div, &[g, d])
        }
        (Op::Sin, _) => {
            let c = b.op(Op::Cos, &[x[0]]);
            b.op(Op::Mul, &[g, c])
        }
        (Op::Cos, _) => {
            let s = b.op(Op::Sin, &[x[0]]);
            let product = b.op(Op::Mul, &[g, s]);
            b.op(Op::Neg, &[product])
        }
        (Op::Tan, _) => {
            let square = b.op(Op::Mul, &[y, y]);
            let d = plus(b, square, 1.0);
            b.op(Op::Mul, &[g, d])
        }
        (Op::Asin, _) => {
            let inside = one_less_square(b, x[0]);
            over_root(b, g, inside)
        }
        (Op::Acos, _) => {
            let inside = one_less_square(b, x[0]);
            let d = over_root(b, g, inside);
            b.op(Op::Neg, &[d])
        }
        (Op::Atan, _) => {
            let square = b.op(Op::Mul, &[x[0], x[0]]);
            let d = plus(b, square, 1.0);
            b.op(Op::Div, &[g, d])
        }
        (Op::Atan2, _) => {
            let (p, q) = (b.op(Op::Mul, &[x[0], x[0]]), b.op(Op::Mul, &[x[1], x[1]]));
            let sum = b.op(Op::Add, &[p, q]);
            let part = b.op(Op::Div, &[x[1 - i], sum]);
            let product = b.op(Op::Mul, &[g, part]);
            if i == 0 { product } else { b.op(Op::Neg, &[product]) }
        }
        (Op::Sinh, _) => {
            let c = b.op(Op::Cosh, &[x[0]]);
            b.op(Op::Mul, &[g, c])
        }
        (Op::Cosh, _) => {
            let s = b.op(Op::Sinh, &[x[0]]);
            b.op(Op::Mul, &[g, s])
        }
        (Op::Tanh, _) => {
            let square = b.op(Op::Mul, &[y, y]);
            let one = b.real(1.0);
            let d = b.op(Op::Sub, &[one, square]);
            b.op(Op::Mul, &[g, d])
        }
        (Op::Asinh, _) => {
            let square = b.op(Op::Mul, &[x[0], x[0]]);
            let inside = plus(b, square, 1.0);
            over_root(b, g, inside)
        }
        (Op::Acosh, _) => {
            let (below, above) = (plus(b, x[0], -1.0), plus(b, x[0], 1.0));
            let inside = b.op(Op::Mul, &[below, above]);
            over_root(b, g, inside)
        }
        (Op::Atanh, _) => {
            let d = one_less_square(b, x[0]);
            b.op(Op::Div, &[g, d])
        }
        (Op::Hypot, _) => {
            let part = b.op(Op::Div, &[x[i], y]);
            b.op(Op::Mul, &[g, part])
        }
        (Op::Pow, 0) => {
            let d = b.op(Op::PowBase, &[x[0], x[1]]);
            b.op(Op::Mul, &[g, d])
        }
        (Op::Pow, _) => {
            let d = b.op(Op::PowExponent, &[x[0], x[1]]);
            b.op(Op::Mul, &[g, d])
        }
        (Op::PowBase, 0) => {
            // b (b - 1) a^(b - 2) = b times the same derivative one power down
            let less = plus(b, x[1], -1.0);
            let d = b.op(Op::PowBase, &[x[0], less]);
            let d = b.op(Op::Mul, &[x[1], d]);
            b.op(Op::Mul, &[g, d])
        }
        (Op::PowBase, _) => power_mixed(b, x, g),
        (Op::PowExponent, 0) => power_mixed(b, x, g),
        (Op::PowExponent, _) => {
            let log = b.op(Op::Log, &[x[0]]);
            let d = b.op(Op::Mul, &[y, log]);
            b.op(Op::Mul, &[g, d])
        }
        (Op::Erf, _) => gaussian(b, g, x[0], FRAC_2_SQRT_PI),
        (Op::Erfc, _) => gaussian(b, g, x[0], -FRAC_2_SQRT_PI),
        (Op::Gamma, _) => {
            let psi = b.op(Op::Digamma, &[x[0]]);
            let d = b.op(Op::Mul, &[y, psi]);
            b.op(Op::Mul, &[g, d])
        }
        (Op::Lgamma, _) => {
            let psi = b.op(Op::Digamma, &[x[0]]);
            b.op(Op::Mul, &[g, psi])
        }
        (Op::Digamma, _) => {
            let order = b.real(1.0);
            let d = b.op(Op::Polygamma, &[x[0], order]);
            b.op(Op::Mul, &[g, d])
        }
        (Op::Polygamma, 0) => {
            let order = plus(b, x[1], 1.0);
            let d = b.op(Op::Polygamma, &[x[0], order]);
            b.op(Op::Mul, &[g, d])
        }
        (Op::Sigmoid, _) => {
            let one = b.real(1.0);
            let rest = b.op(Op::Sub, &[one, y]);
            let d = b.op(Op::Mul, &[y, rest]);
            b.op(Op::Mul, &[g, d])
        }
        (Op::Softplus, _) => {
            let d = b.op(Op::Sigmoid, &[x[0]]);
            b.op(Op::Mul, &[g, d])
        }
        (Op::Relu, _) => {
            let sign = b.op(Op::Sign, &[y]);
            b.op(Op::Gate, &[g, sign])
        }
        (Op::Min, _) => {
            let share = b.op(Op::Share, &[x[i], x[1 - i]]);
            b.op(Op::Gate, &[g, share])
        }
        (Op::Max, _) => {
            let share = b.op(Op::Share, &[x[1 - i], x[i]]);
            b.op(Op::Gate, &[g, share])
        }
        (Op::Gate, 0) => b.op(Op::Gate, &[g, x[1]]),
        (Op::Gate, _) => b.op(Op::Mul, &[g, x[0]]),
        (Op::Weigh, 0) => b.op(Op::Weigh, &[g, x[1]]),
        (Op::Weigh, _) => {
            let counted = b.op(Op::Counted, &[x[0], x[1]]);
            b.op(Op::Mul, &[g, counted])
        }
        (Op::Counted, 0) => {
            let counts = b.op(Op::Counts, &[x[0], x[1]]);
            b.op(Op::Weigh, &[g, counts])
        }
        (Op::Remainder | Op::Modulo, 0) => g,
        (Op::Remainder, _) => minus_quotient(b, Op::Quotient, x, g),
        (Op::Modulo, _) => minus_quotient(b, Op::FloorQuotient, x, g),
        (Op::Select, 1) => {
            let zero = b.real(0.0);
            b.op(Op::Select, &[x[0], g, zero])
        }
        (Op::Select, 2) => {
            let zero = b.real(0.0);
            b.op(Op::Select, &[x[0], zero, g])
        }
        (
            Op::Stop
            | Op::Linear
            | Op::Counts
            | Op::Counted
            | Op::Sign
            | Op::Share
            | Op::Floor
            | Op::Ceiling
            | Op::Round
            | Op::Truncate
            | Op::Quotient
            | Op::FloorQuotient
            | Op::Polygamma
            | Op::Select
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge
            | Op::Eq
            | Op::Eqv
            | Op::IsInteger
            | Op::IntAdd
            | Op::IntSub
            | Op::IntMul
            | Op::IntMin
            | Op::IntMax
            | Op::IntAbs
            | Op::IntQuotient
            | Op::IntRemainder
            | Op::IntFloorQuotient
            | Op::IntModulo
            | Op::IntLt
            | Op::IntLe
            | Op::IntEq
            | Op::IntFits
            | Op::IntMulFits
            | Op::IntDivides
            | Op::ToReal
            | Op::ToInt
            | Op::IsInt
            | Op::Not
            | Op::And
            | Op::Or
            | Op::IntSelect
            | Op::BoolSelect,
            _,
        ) => return None,
    })
}

/// Whether operand `i` counts for nothing, with everything that it depends on, where the other one is 0.
pub fn is_weighed(op: Op, i: usize) -> bool {
    matches!((op, i), (Op::Weigh | Op::Counted, 0))
}

/// Whether an adjoint of 0 contributes 0 to operand `i`, whatever the operands are.
pub fn passes_zero(op: Op, i: usize) -> bool {
    matches!((op, i), (Op::Same | Op::Add | Op::Sub | Op::Neg | Op::Select, _) | (Op::Linear, 0))
}

fn plus<B: Build>(b: &mut B, x: B::Id, constant: f64) -> B::Id {
    let constant = b.real(constant);
    b.op(Op::Add, &[x, constant])
}

fn scaled_log<B: Build>(b: &mut B, g: B::Id, x: B::Id, scale: f64) -> B::Id {
    let scale = b.real(scale);
    let d = b.op(Op::Mul, &[x, scale]);
    b.op(Op::Div, &[g, d])
}

/// 1 - x^2 as (1 - x)(1 + x), which keeps its digits where x is near 1 or -1.
fn one_less_square<B: Build>(b: &mut B, x: B::Id) -> B::Id {
    let one = b.real(1.0);
    let (below, above) = (b.op(Op::Sub, &[one, x]), plus(b, x, 1.0));
    b.op(Op::Mul, &[below, above])
}

/// g / sqrt(inside)
fn over_root<B: Build>(b: &mut B, g: B::Id, inside: B::Id) -> B::Id {
    let root = b.op(Op::Sqrt, &[inside]);
    b.op(Op::Div, &[g, root])
}

/// g scale exp(-x^2)
fn gaussian<B: Build>(b: &mut B, g: B::Id, x: B::Id, scale: f64) -> B::Id {
    let square = b.op(Op::Mul, &[x, x]);
    let minus = b.op(Op::Neg, &[square]);
    let e = b.op(Op::Exp, &[minus]);
    let scale = b.real(scale);
    let d = b.op(Op::Mul, &[scale, e]);
    b.op(Op::Mul, &[g, d])
}

/// g a^(b-1) (1 + b log a)
fn power_mixed<B: Build>(b: &mut B, x: &[B::Id], g: B::Id) -> B::Id {
    let less = plus(b, x[1], -1.0);
    let power = b.op(Op::Pow, &[x[0], less]);
    let part = b.op(Op::PowExponent, &[x[0], less]);
    let part = b.op(Op::Mul, &[x[1], part]);
    let sum = b.op(Op::Add, &[power, part]);
    b.op(Op::Mul, &[g, sum])
}

fn minus_quotient<B: Build>(b: &mut B, quotient: Op, x: &[B::Id], g: B::Id) -> B::Id {
    let q = b.op(quotient, &[x[0], x[1]]);
    let product = b.op(Op::Mul, &[g, q]);
    b.op(Op::Neg, &[product])
}
