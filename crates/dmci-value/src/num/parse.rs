//! Text to numbers: the numeric literals of R7RS 7.1.1 without complex ones.

use super::arithmetic::ratio;
use super::*;
use crate::codes::ErrorCode;
use num_integer::Integer;
use num_traits::Zero;

/// The number that `text` denotes in `radix` (unless it has a radix prefix of its own).
///
/// `Ok(None)`: not a number at all. `Err`: a number that we do not have: E0502 for an exact one
/// that is not an integer, E0406 for an integer that is too large.
pub fn parse(text: &str, radix: u32) -> Result<Option<Number>, Error> {
    let Some((prefix, body)) = split_prefixes(text.as_bytes(), radix) else { return Ok(None) };
    let (negative, body, signed) = match body {
        [b'+', rest @ ..] => (false, rest, true),
        [b'-', rest @ ..] => (true, rest, true),
        _ => (false, body, false),
    };
    if signed && let Some(x) = infinity_or_nan(body) {
        let x = if negative { -x } else { x };
        return if prefix.exactness == Some(b'e') { Err(no_exact_value(text)) } else { Ok(Some(Number::Real(x))) };
    }
    let Some(literal) = split_literal(body, prefix.radix) else { return Ok(None) };
    let number = match (literal, prefix.exactness) {
        (Literal::Integer(digits), Some(b'i')) if prefix.radix == 10 => Number::Real(decimal(digits)),
        (Literal::Integer(digits), exactness) => {
            let n = Number::integer(integer(digits, prefix.radix)?);
            if exactness == Some(b'i') { Number::Real(n.to_f64()) } else { n }
        }
        (Literal::Ratio(n, d), exactness) => {
            let (n, d) = (integer(n, prefix.radix)?, integer(d, prefix.radix)?);
            if d.is_zero() {
                return Ok(None);
            }
            let (quotient, rest) = n.div_rem(&d);
            match exactness {
                Some(b'i') => Number::Real(ratio(&n, &d)),
                _ if rest.is_zero() => Number::integer(quotient),
                Some(_) => return Err(no_exact_value(text)),
                None => Number::Real(ratio(&n, &d)),
            }
        }
        (Literal::Decimal { whole, fraction, exponent }, Some(b'e')) => {
            exact_decimal(whole, fraction, exponent)?.ok_or_else(|| no_exact_value(text))?
        }
        (Literal::Decimal { .. }, _) => Number::Real(decimal(body)),
    };
    Ok(Some(if negative { negated(number) } else { number }))
}

fn negated(number: Number) -> Number {
    match number {
        Number::Fix(i) => Number::integer(-i),
        Number::Big(n) => Number::integer(-n),
        Number::Real(x) => Number::Real(-x),
    }
}

/// The radix argument of a procedure: 2 to 36.
pub(super) fn radix_operand(heap: &Heap, who: &str, v: Value) -> Result<u32, Error> {
    match v.as_fixnum() {
        Some(radix @ 2..=36) => Ok(radix as u32),
        _ => Err(wrong_type(heap, who, "a radix from 2 to 36", v)),
    }
}

struct Prefix {
    radix: u32,
    exactness: Option<u8>,
}

/// At most one radix and one exactness prefix, in any order.
fn split_prefixes(mut text: &[u8], default_radix: u32) -> Option<(Prefix, &[u8])> {
    let (mut radix, mut exactness) = (None, None);
    while let [b'#', letter, rest @ ..] = text {
        let new_radix = match letter.to_ascii_lowercase() {
            b'x' => 16,
            b'd' => 10,
            b'o' => 8,
            b'b' => 2,
            e @ (b'e' | b'i') if exactness.is_none() => {
                exactness = Some(e);
                text = rest;
                continue;
            }
            _ => return None,
        };
        if radix.replace(new_radix).is_some() {
            return None;
        }
        text = rest;
    }
    Some((Prefix { radix: radix.unwrap_or(default_radix), exactness }, text))
}

fn infinity_or_nan(body: &[u8]) -> Option<f64> {
    if body.eq_ignore_ascii_case(b"inf.0") {
        Some(f64::INFINITY)
    } else if body.eq_ignore_ascii_case(b"nan.0") {
        Some(f64::NAN)
    } else {
        None
    }
}

enum Literal<'a> {
    Integer(&'a [u8]),
    Ratio(&'a [u8], &'a [u8]),
    Decimal { whole: &'a [u8], fraction: &'a [u8], exponent: &'a [u8] },
}

/// The parts of a literal without sign and prefixes; `None` if it is not one.
fn split_literal(body: &[u8], radix: u32) -> Option<Literal<'_>> {
    let digits_of = |text: &[u8], radix: u32| text.iter().take_while(|b| (**b as char).is_digit(radix)).count();
    let (whole, rest) = body.split_at(digits_of(body, radix));
    match rest {
        [] if !whole.is_empty() => return Some(Literal::Integer(whole)),
        [b'/', d @ ..] if !whole.is_empty() && !d.is_empty() && digits_of(d, radix) == d.len() => {
            return Some(Literal::Ratio(whole, d));
        }
        _ if radix != 10 => return None,
        _ => {}
    }
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => rest.split_at(digits_of(rest, 10)),
        _ => (&rest[..0], rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let exponent = match rest {
        [] => rest,
        [b'e' | b's' | b'f' | b'd' | b'l' | b'E' | b'S' | b'F' | b'D' | b'L', exponent @ ..] => {
            let unsigned = exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-")).unwrap_or(exponent);
            if unsigned.is_empty() || digits_of(unsigned, 10) != unsigned.len() {
                return None;
            }
            exponent
        }
        _ => return None,
    };
    Some(Literal::Decimal { whole, fraction, exponent })
}

fn strip_zeros(digits: &[u8]) -> &[u8] {
    &digits[digits.iter().take_while(|&&b| b == b'0').count()..]
}

/// The integer that the digits denote; E0406 if there are too many, found without computing it.
fn integer(digits: &[u8], radix: u32) -> Result<BigInt, Error> {
    let digits = strip_zeros(digits);
    // Every digit but the first adds at least floor(log2(radix)) bits.
    if digits.len().saturating_sub(1) as u64 * u64::from(radix.ilog2()) > MAX_BITS {
        return Err(too_large());
    }
    let n = BigInt::parse_bytes(digits, radix).unwrap_or_default();
    if n.bits() > MAX_BITS { Err(too_large()) } else { Ok(n) }
}

/// The nearest real to a decimal without sign.
fn decimal(body: &[u8]) -> f64 {
    // Rust wants the exponent marker to be e; everything else is the same.
    let text: String = body.iter().map(|&b| if b.is_ascii_alphabetic() { 'e' } else { b as char }).collect();
    text.parse().unwrap_or(f64::NAN)
}

/// The exact integer that a decimal denotes, if it is one.
fn exact_decimal(whole: &[u8], fraction: &[u8], exponent: &[u8]) -> Result<Option<Number>, Error> {
    let mut digits = [whole, fraction].concat();
    let trailing = digits.iter().rev().take_while(|&&b| b == b'0').count();
    digits.truncate(digits.len() - trailing);
    if digits.is_empty() {
        return Ok(Some(Number::Fix(0)));
    }
    let text: String = exponent.iter().map(|&b| b as char).collect();
    // Only digits are left, so what does not fit is far beyond every limit.
    let huge = if text.starts_with('-') { i64::MIN / 4 } else { i64::MAX / 4 };
    let exponent = if text.is_empty() { 0 } else { text.parse().unwrap_or(huge).clamp(i64::MIN / 4, i64::MAX / 4) };
    let zeros = exponent - fraction.len() as i64 + trailing as i64;
    if zeros < 0 {
        return Ok(None);
    }
    // A decimal digit is more than three bits.
    if zeros as u64 > MAX_BITS / 3 {
        return Err(too_large());
    }
    digits.resize(digits.len() + zeros as usize, b'0');
    Ok(Some(Number::integer(integer(&digits, 10)?)))
}

fn no_exact_value(text: &str) -> Error {
    let shown: String = text.chars().take(40).collect();
    Diagnostic::error(ErrorCode::E0502, format!("{shown} has no exact value: it is not an integer"))
        .help("exact numbers are integers; leave out #e to get a real")
}
