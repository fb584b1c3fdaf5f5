//! Characters.

use super::{Primitive, at_least, between, fixed};
use crate::world::World;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Value};
use std::cmp::Ordering;

macro_rules! compare {
    ($name:literal, $fold:ident, $test:expr) => {
        at_least($name, 1, |w, a| {
            for &v in a {
                w.char($name, v)?;
            }
            let key = |v: &Value| v.as_char().map($fold);
            let holds: fn(Ordering) -> bool = $test;
            Ok(Value::boolean(a.windows(2).all(|p| holds(key(&p[0]).cmp(&key(&p[1]))))))
        })
    };
}

macro_rules! test {
    ($name:literal, $test:expr) => {
        fixed($name, 1, |w, a| {
            let c = w.char($name, a[0])?;
            let holds: fn(char) -> bool = $test;
            Ok(Value::boolean(holds(c)))
        })
    };
}

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    fixed("char?", 1, |_, a| Ok(Value::boolean(a[0].as_char().is_some()))),
    compare!("char=?", itself, Ordering::is_eq),
    compare!("char<?", itself, Ordering::is_lt),
    compare!("char>?", itself, Ordering::is_gt),
    compare!("char<=?", itself, Ordering::is_le),
    compare!("char>=?", itself, Ordering::is_ge),
    compare!("char-ci=?", foldcase, Ordering::is_eq),
    compare!("char-ci<?", foldcase, Ordering::is_lt),
    compare!("char-ci>?", foldcase, Ordering::is_gt),
    compare!("char-ci<=?", foldcase, Ordering::is_le),
    compare!("char-ci>=?", foldcase, Ordering::is_ge),
    test!("char-alphabetic?", char::is_alphabetic),
    test!("char-numeric?", |c| digit_value(c).is_some()),
    test!("char-alphanumeric?", |c| c.is_alphabetic() || digit_value(c).is_some()),
    test!("char-whitespace?", char::is_whitespace),
    test!("char-upper-case?", char::is_uppercase),
    test!("char-lower-case?", char::is_lowercase),
    test!("char-ascii?", |c| c.is_ascii()),
    fixed("char-upcase", 1, |w, a| Ok(Value::char(upcase(w.char("char-upcase", a[0])?)))),
    fixed("char-downcase", 1, |w, a| Ok(Value::char(downcase(w.char("char-downcase", a[0])?)))),
    fixed("char-foldcase", 1, |w, a| Ok(Value::char(foldcase(w.char("char-foldcase", a[0])?)))),
    fixed("char->integer", 1, |w, a| Ok(Value::fixnum(w.char("char->integer", a[0])? as i64))),
    fixed("integer->char", 1, integer_to_char),
    fixed("digit-value", 1, |w, a| Ok(integer_or_false(digit_value(w.char("digit-value", a[0])?)))),
    between("char->digit", 1, 2, |w, a| {
        let c = w.char("char->digit", a[0])?;
        let radix = w.radix("char->digit", a.get(1))?;
        Ok(integer_or_false(c.to_digit(radix).or_else(|| digit_value(c).filter(|&d| d < radix))))
    }),
    between("digit->char", 1, 2, |w, a| {
        let digit = w.index("digit->char", a[0])?;
        let radix = w.radix("digit->char", a.get(1))?;
        let c = u32::try_from(digit).ok().and_then(|d| char::from_digit(d, radix));
        Ok(c.map_or(Value::FALSE, Value::char))
    }),
];

impl World {
    /// A character argument.
    pub fn char(&self, who: &str, v: Value) -> Result<char, Error> {
        v.as_char().ok_or_else(|| self.wrong_type(who, "a character", v))
    }

    fn radix(&self, who: &str, v: Option<&Value>) -> Result<u32, Error> {
        match v.map_or(Some(10), |v| v.as_fixnum()) {
            Some(radix @ 2..=36) => Ok(radix as u32),
            _ => Err(self.wrong_type(who, "a radix from 2 to 36", v.copied().unwrap_or(Value::FALSE))),
        }
    }
}

fn itself(c: char) -> char {
    c
}

/// The only item, or the fallback: a character has no upper case if that takes several characters.
fn single(mut items: impl Iterator<Item = char>, fallback: char) -> char {
    match (items.next(), items.next()) {
        (Some(c), None) => c,
        _ => fallback,
    }
}

fn upcase(c: char) -> char {
    single(c.to_uppercase(), c)
}

fn downcase(c: char) -> char {
    single(c.to_lowercase(), c)
}

fn foldcase(c: char) -> char {
    downcase(upcase(c))
}

fn integer_or_false(i: Option<u32>) -> Value {
    i.map_or(Value::FALSE, |i| Value::fixnum(i.into()))
}

fn integer_to_char(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let i = world.index("integer->char", args[0])?;
    u32::try_from(i).ok().and_then(char::from_u32).map(Value::char).ok_or_else(|| {
        Diagnostic::error(ErrorCode::E0306, format!("integer->char: {i} is not the number of a Unicode character"))
            .help("the numbers are 0 to 55295 and 57344 to 1114111")
    })
}

/// Where the ten decimal digits of each script start (Unicode category Nd).
const ZEROS: [u32; 54] = [
    0x30, 0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0,
    0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620,
    0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x104A0, 0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0,
    0x11450, 0x114D0, 0x11650, 0x116C0, 0x11730, 0x118E0, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6,
];

fn digit_value(c: char) -> Option<u32> {
    let c = c as u32;
    let i = ZEROS.partition_point(|&zero| zero <= c).checked_sub(1)?;
    Some(c - ZEROS[i]).filter(|&digit| digit < 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_all_scripts_have_values() {
        assert!(ZEROS.is_sorted());
        assert_eq!(digit_value('7'), Some(7));
        assert_eq!(digit_value('\u{0EA6}'), None);
        assert_eq!(digit_value('\u{0664}'), Some(4));
        assert_eq!(digit_value('x'), None);
    }

    #[test]
    fn case_mappings_that_need_several_characters_are_not_taken() {
        assert_eq!(upcase('ß'), 'ß');
        assert_eq!(foldcase('ς'), 'σ');
        assert_eq!(downcase('Σ'), 'σ');
    }
}
