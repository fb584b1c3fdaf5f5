//! Numbers to text.

use super::*;
use crate::codes::ErrorCode;

/// The text of a number; reals are written in base 10 whatever the radix.
pub fn format_number(number: &Number, radix: u32) -> String {
    match number {
        Number::Fix(i) if radix == 10 => i.to_string(),
        Number::Fix(i) => BigInt::from(*i).to_str_radix(radix),
        Number::Big(n) => n.to_str_radix(radix),
        Number::Real(x) => format_real(*x),
    }
}

/// The shortest text that reads back as the same real: `1.0`, `0.5`, `1e21`, `1.5e-7`, `+inf.0`.
pub fn format_real(x: f64) -> String {
    if x.is_nan() {
        return "+nan.0".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "+inf.0" } else { "-inf.0" }.into();
    }
    // Rust's exponent form has the shortest digits: d.ddde-7.
    let scientific = format!("{x:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-7 < exponent && exponent < 21) {
        return scientific;
    }
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |m| ("-", m));
    let digits = mantissa.replace('.', "");
    if exponent < 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(-exponent as usize - 1));
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        return format!("{sign}{digits}{}.0", "0".repeat(whole - digits.len()));
    }
    format!("{sign}{}.{}", &digits[..whole], &digits[whole..])
}

/// `number->string`. The radix is an exact integer from 2 to 36, and 10 for reals.
pub fn number_to_string(heap: &mut Heap, v: Value, radix: Value) -> Result<String, Error> {
    let number = operand(heap, "number->string", v)?;
    let radix = parse::radix_operand(heap, "number->string", radix)?;
    if radix != 10 && !number.is_exact() {
        return Err(Diagnostic::error(ErrorCode::E0303, "number->string writes reals in radix 10 only")
            .help("leave the radix out, or convert to an integer first with (exact (round x))"));
    }
    if let Number::Big(n) = &number {
        spend(heap, words(n) * words(n) / 2);
    }
    Ok(format_number(&number, radix))
}
