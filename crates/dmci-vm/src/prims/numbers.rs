//! Numeric procedures (R7RS 6.2, bitwise operations, scientific functions): a thin table over
//! [`dmci_value::num`] and [`dmci_ops::real`].

use super::{Primitive, at_least, between, fixed};
use crate::world::World;
use dmci_ops::real;
use dmci_value::ErrorCode;
use dmci_value::{Error, Heap, Kind, Value, num};
use std::cmp::Ordering;

type Binary = fn(&mut Heap, Value, Value) -> Result<Value, Error>;

/// Folds left from the first argument. One argument is only checked to be a number.
fn fold(world: &mut World, who: &str, args: &[Value], empty: i64, f: Binary) -> Result<Value, Error> {
    match args {
        [] => Ok(Value::fixnum(empty)),
        [only] => num::operand(&world.heap, who, *only).map(|_| *only),
        [first, rest @ ..] => rest.iter().try_fold(*first, |sum, &next| f(&mut world.heap, sum, next)),
    }
}

/// `-` and `/`: one argument is inverted.
fn fold_or_invert(
    world: &mut World,
    args: &[Value],
    invert: fn(&mut Heap, Value) -> Result<Value, Error>,
    f: Binary,
) -> Result<Value, Error> {
    match args {
        [only] => invert(&mut world.heap, *only),
        _ => args[1..].iter().try_fold(args[0], |sum, &next| f(&mut world.heap, sum, next)),
    }
}

/// Tests neighbours and stops comparing at the first false; the rest must be numbers all the same.
fn chain(world: &mut World, who: &str, args: &[Value], test: fn(Ordering) -> bool) -> Result<Value, Error> {
    if let [only] = args {
        num::operand(&world.heap, who, *only)?;
    }
    let mut holds = true;
    for pair in args.windows(2) {
        if holds {
            holds = num::compare(&world.heap, who, pair[0], pair[1])?.is_some_and(test);
        } else {
            num::operand(&world.heap, who, pair[1])?;
        }
    }
    Ok(Value::boolean(holds))
}

/// Folds an operation on exact integers; none give `empty`.
fn fold_bits(
    world: &mut World,
    who: &str,
    args: &[Value],
    empty: i64,
    f: fn(&mut Heap, &str, Value, Value) -> Result<Value, Error>,
) -> Result<Value, Error> {
    args.iter().try_fold(Value::fixnum(empty), |sum, &next| f(&mut world.heap, who, sum, next))
}

/// `gcd` and `lcm`; a single argument is made positive.
fn fold_integers(world: &mut World, args: &[Value], empty: i64, f: Binary) -> Result<Value, Error> {
    args.iter().try_fold(Value::fixnum(empty), |sum, &next| f(&mut world.heap, sum, next))
}

/// Two results at once.
fn both(world: &mut World, args: &[Value], first: Binary, second: Binary) -> Result<Value, Error> {
    let fields = [first(&mut world.heap, args[0], args[1])?, second(&mut world.heap, args[0], args[1])?];
    Ok(world.heap.alloc(Kind::Values, &fields))
}

/// The result of a procedure that goes by another name too: errors use the name it was called by.
pub(crate) fn under(name: &str, own_name: &str, result: Result<Value, Error>) -> Result<Value, Error> {
    result.map_err(|mut error| {
        if let Some(rest) = error.message.strip_prefix(own_name) {
            error.message = format!("{name}{rest}");
        }
        error
    })
}

fn exact_integer_sqrt(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let (root, rest) = num::exact_integer_sqrt(&mut world.heap, args[0])?;
    Ok(world.heap.alloc(Kind::Values, &[root, rest]))
}

fn log(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    match args {
        [x, base] => num::log_base(&mut world.heap, *x, *base),
        _ => num::log(&mut world.heap, args[0]),
    }
}

fn atan(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    match args {
        [y, x] => reals(world, "atan", real::atan2, *y, *x),
        _ => num::apply_real(&mut world.heap, "atan", real::atan, args[0]),
    }
}

/// A function of two reals, of any numbers.
fn reals(world: &mut World, who: &str, f: fn(f64, f64) -> f64, a: Value, b: Value) -> Result<Value, Error> {
    let (x, y) = (num::operand(&world.heap, who, a)?, num::operand(&world.heap, who, b)?);
    Ok(Value::real(f(x.to_f64(), y.to_f64())))
}

fn number_to_string(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let radix = args.get(1).copied().unwrap_or(Value::fixnum(10));
    let text = num::number_to_string(&mut world.heap, args[0], radix)?;
    Ok(world.heap.string(&text))
}

fn string_to_number(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let Some(text) = world.heap.text(args[0]) else {
        return Err(world.wrong_type("string->number", "a string", args[0]));
    };
    let radix = match args.get(1).map(|v| v.as_fixnum()) {
        None => 10,
        Some(Some(radix @ 2..=36)) => radix as u32,
        Some(_) => return Err(world.wrong_type("string->number", "a radix from 2 to 36", args[1])),
    };
    world.spend(text.len() / 8);
    match num::parse(&text, radix) {
        Ok(Some(number)) => number.to_value(&mut world.heap),
        Ok(None) => Ok(Value::FALSE),
        // Text of an exact number that we do not have is text of no number.
        Err(error) if error.code == ErrorCode::E0502 => Ok(Value::FALSE),
        Err(error) => Err(error),
    }
}

fn random(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    num::random_below(&mut world.heap, &mut world.random, "random", args[0])
}

fn random_integer(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    if !num::is_exact_integer(&world.heap, args[0]) {
        return Err(world.wrong_type("random-integer", "a positive exact integer", args[0]));
    }
    num::random_below(&mut world.heap, &mut world.random, "random-integer", args[0])
}

macro_rules! unary {
    ($name:literal, $f:expr) => {
        fixed($name, 1, |world, args| $f(&mut world.heap, args[0]))
    };
}

macro_rules! binary {
    ($name:literal, $f:expr) => {
        fixed($name, 2, |world, args| $f(&mut world.heap, args[0], args[1]))
    };
}

/// Another name for a procedure of one argument, or of two of which the last may be given here.
macro_rules! alias {
    ($name:literal, $own_name:literal, $f:expr) => {
        fixed($name, 1, |world, args| under($name, $own_name, $f(&mut world.heap, args[0])))
    };
    ($name:literal, $own_name:literal, $f:expr, $last:literal) => {
        fixed($name, 1, |world, args| under($name, $own_name, $f(&mut world.heap, args[0], Value::fixnum($last))))
    };
}

/// A predicate on any value.
macro_rules! type_test {
    ($name:literal, $f:expr) => {
        fixed($name, 1, |world, args| Ok(Value::boolean($f(&world.heap, args[0]))))
    };
}

/// A predicate on numbers.
macro_rules! test {
    ($name:literal, $f:expr) => {
        fixed($name, 1, |world, args| Ok(Value::boolean($f(&world.heap, args[0])?)))
    };
}

/// A function of one real.
macro_rules! science {
    ($name:literal, $f:expr) => {
        fixed($name, 1, |world, args| num::apply_real(&mut world.heap, $name, $f, args[0]))
    };
}

macro_rules! bits {
    ($name:literal, $empty:literal, $f:expr) => {
        at_least($name, 0, |world, args| fold_bits(world, $name, args, $empty, $f))
    };
}

macro_rules! comparison {
    ($name:literal, $f:expr) => {
        at_least($name, 0, |world, args| chain(world, $name, args, $f))
    };
}

/// The table.
pub const PRIMITIVES: &[Primitive] = &[
    // Arithmetic.
    at_least("+", 0, |world, args| fold(world, "+", args, 0, num::add)),
    at_least("*", 0, |world, args| fold(world, "*", args, 1, num::mul)),
    at_least("-", 1, |world, args| fold_or_invert(world, args, num::negate, num::sub)),
    at_least("/", 1, |world, args| fold_or_invert(world, args, num::reciprocal, num::div)),
    comparison!("=", Ordering::is_eq),
    comparison!("<", Ordering::is_lt),
    comparison!(">", Ordering::is_gt),
    comparison!("<=", Ordering::is_le),
    comparison!(">=", Ordering::is_ge),
    at_least("max", 1, |world, args| fold(world, "max", args, 0, num::max)),
    at_least("min", 1, |world, args| fold(world, "min", args, 0, num::min)),
    alias!("1+", "+", num::add, 1),
    alias!("-1+", "-", num::sub, 1),
    alias!("1-", "-", num::sub, 1),
    alias!("add1", "+", num::add, 1),
    alias!("sub1", "-", num::sub, 1),
    unary!("abs", num::abs),
    alias!("magnitude", "abs", num::abs),
    unary!("square", num::square),
    unary!("cube", num::cube),
    // Integer division.
    binary!("quotient", num::quotient),
    binary!("remainder", num::remainder),
    binary!("modulo", num::modulo),
    binary!("floor-quotient", num::floor_quotient),
    binary!("floor-remainder", num::floor_remainder),
    binary!("truncate-quotient", num::truncate_quotient),
    binary!("truncate-remainder", num::truncate_remainder),
    fixed("floor/", 2, |world, args| {
        under("floor/", "floor-quotient", both(world, args, num::floor_quotient, num::floor_remainder))
    }),
    fixed("truncate/", 2, |world, args| {
        under("truncate/", "truncate-quotient", both(world, args, num::truncate_quotient, num::truncate_remainder))
    }),
    at_least("gcd", 0, |world, args| fold_integers(world, args, 0, num::gcd)),
    at_least("lcm", 0, |world, args| fold_integers(world, args, 1, num::lcm)),
    unary!("numerator", num::numerator),
    unary!("denominator", num::denominator),
    binary!("rationalize", num::rationalize),
    // Rounding and exactness.
    unary!("floor", num::floor),
    unary!("ceiling", num::ceiling),
    unary!("round", num::round),
    unary!("truncate", num::truncate),
    unary!("floor->exact", num::floor_to_exact),
    unary!("ceiling->exact", num::ceiling_to_exact),
    unary!("round->exact", num::round_to_exact),
    unary!("truncate->exact", num::truncate_to_exact),
    alias!("exact-floor", "floor->exact", num::floor_to_exact),
    alias!("exact-ceiling", "ceiling->exact", num::ceiling_to_exact),
    alias!("exact-round", "round->exact", num::round_to_exact),
    alias!("exact-truncate", "truncate->exact", num::truncate_to_exact),
    unary!("exact", num::exact),
    unary!("inexact", num::inexact),
    alias!("inexact->exact", "exact", num::exact),
    alias!("exact->inexact", "inexact", num::inexact),
    between("number->string", 1, 2, number_to_string),
    between("string->number", 1, 2, string_to_number),
    // Predicates.
    type_test!("number?", num::is_number),
    type_test!("complex?", num::is_number),
    type_test!("real?", num::is_number),
    type_test!("rational?", num::is_rational),
    type_test!("integer?", num::is_integer),
    type_test!("exact-integer?", num::is_exact_integer),
    type_test!("exact-rational?", num::is_exact_integer),
    type_test!("exact-nonnegative-integer?", num::is_exact_nonnegative_integer),
    test!("exact?", num::is_exact),
    test!("inexact?", num::is_inexact),
    test!("nan?", num::is_nan),
    test!("finite?", num::is_finite),
    test!("infinite?", num::is_infinite),
    test!("zero?", num::is_zero),
    test!("positive?", num::is_positive),
    test!("negative?", num::is_negative),
    test!("odd?", num::is_odd),
    test!("even?", num::is_even),
    // Bits.
    bits!("bitwise-and", -1, num::and),
    bits!("bitwise-or", 0, num::or),
    bits!("bitwise-xor", 0, num::xor),
    bits!("bit-and", -1, num::and),
    bits!("bit-or", 0, num::or),
    bits!("bit-xor", 0, num::xor),
    bits!("logand", -1, num::and),
    bits!("logior", 0, num::or),
    bits!("logxor", 0, num::xor),
    fixed("bitwise-not", 1, |world, args| num::not(&mut world.heap, "bitwise-not", args[0])),
    fixed("bit-not", 1, |world, args| num::not(&mut world.heap, "bit-not", args[0])),
    fixed("lognot", 1, |world, args| num::not(&mut world.heap, "lognot", args[0])),
    fixed("bit-count", 1, |world, args| num::bit_count(&mut world.heap, "bit-count", args[0])),
    fixed("arithmetic-shift", 2, |world, args| {
        num::arithmetic_shift(&mut world.heap, "arithmetic-shift", args[0], args[1])
    }),
    fixed("ash", 2, |world, args| num::arithmetic_shift(&mut world.heap, "ash", args[0], args[1])),
    binary!("shift-left", num::shift_left),
    binary!("shift-right", num::shift_right),
    // Powers, roots, logarithms.
    binary!("expt", num::expt),
    fixed("pow", 2, |world, args| under("pow", "expt", num::expt(&mut world.heap, args[0], args[1]))),
    unary!("sqrt", num::sqrt),
    fixed("exact-integer-sqrt", 1, exact_integer_sqrt),
    between("log", 1, 2, log),
    unary!("log2", num::log2),
    unary!("log10", num::log10),
    science!("exp", real::exp),
    science!("log1p", real::log1p),
    science!("expm1", real::expm1),
    science!("cbrt", real::cbrt),
    fixed("hypot", 2, |world, args| reals(world, "hypot", real::hypot, args[0], args[1])),
    // Angles.
    science!("sin", real::sin),
    science!("cos", real::cos),
    science!("tan", real::tan),
    science!("asin", real::asin),
    science!("acos", real::acos),
    between("atan", 1, 2, atan),
    fixed("atan2", 2, |world, args| reals(world, "atan2", real::atan2, args[0], args[1])),
    science!("sinh", real::sinh),
    science!("cosh", real::cosh),
    science!("tanh", real::tanh),
    science!("asinh", real::asinh),
    science!("acosh", real::acosh),
    science!("atanh", real::atanh),
    // Special functions and those that models are made of.
    science!("erf", real::erf),
    science!("erfc", real::erfc),
    science!("gamma", real::gamma),
    science!("lgamma", real::lgamma),
    science!("log-gamma", real::lgamma),
    science!("digamma", real::digamma),
    science!("sigmoid", real::sigmoid),
    science!("logistic", real::sigmoid),
    science!("softplus", real::softplus),
    unary!("relu", num::relu),
    unary!("sign", num::sign),
    // Random numbers.
    fixed("random", 1, random),
    fixed("random-integer", 1, random_integer),
    fixed("random-real", 0, |world, _| Ok(Value::real(num::random_real(&mut world.random)))),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_with_a_name_in_scheme_is_a_procedure_once() {
        for op in dmci_ops::Op::ALL {
            for name in op.scheme() {
                let rows: Vec<_> = super::super::table().iter().filter(|p| p.name == *name).collect();
                assert_eq!(rows.len(), 1, "{name}");
                let n = op.operands().len() as u8;
                assert!(rows[0].min <= n && rows[0].max.is_none_or(|max| n <= max), "{name} of {n} arguments");
            }
        }
        for (i, row) in PRIMITIVES.iter().enumerate() {
            assert!(PRIMITIVES[..i].iter().all(|other| other.name != row.name), "{} twice", row.name);
        }
    }
}
