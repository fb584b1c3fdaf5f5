//! Units as people write them: `m/s^2`, `kg m2 s-2`, `kWh`, `1/h`, `mol/(L s)`, `m·s⁻¹`.

use crate::dimension::Dimension;

/// Units with the exponents of m, kg, s, A, K, mol and cd, and whether they take prefixes.
const UNITS: [(&str, [i8; 7], bool); 62] = [
    ("m", [1, 0, 0, 0, 0, 0, 0], true),
    ("g", [0, 1, 0, 0, 0, 0, 0], true),
    ("s", [0, 0, 1, 0, 0, 0, 0], true),
    ("A", [0, 0, 0, 1, 0, 0, 0], true),
    ("K", [0, 0, 0, 0, 1, 0, 0], true),
    ("mol", [0, 0, 0, 0, 0, 1, 0], true),
    ("cd", [0, 0, 0, 0, 0, 0, 1], true),
    ("Hz", [0, 0, -1, 0, 0, 0, 0], true),
    ("N", [1, 1, -2, 0, 0, 0, 0], true),
    ("Pa", [-1, 1, -2, 0, 0, 0, 0], true),
    ("J", [2, 1, -2, 0, 0, 0, 0], true),
    ("W", [2, 1, -3, 0, 0, 0, 0], true),
    ("C", [0, 0, 1, 1, 0, 0, 0], true),
    ("V", [2, 1, -3, -1, 0, 0, 0], true),
    ("F", [-2, -1, 4, 2, 0, 0, 0], true),
    ("ohm", [2, 1, -3, -2, 0, 0, 0], true),
    ("Ω", [2, 1, -3, -2, 0, 0, 0], true),
    ("S", [-2, -1, 3, 2, 0, 0, 0], true),
    ("Wb", [2, 1, -2, -1, 0, 0, 0], true),
    ("T", [0, 1, -2, -1, 0, 0, 0], true),
    ("H", [2, 1, -2, -2, 0, 0, 0], true),
    ("lm", [0, 0, 0, 0, 0, 0, 1], true),
    ("lx", [-2, 0, 0, 0, 0, 0, 1], true),
    ("Bq", [0, 0, -1, 0, 0, 0, 0], true),
    ("Gy", [2, 0, -2, 0, 0, 0, 0], true),
    ("Sv", [2, 0, -2, 0, 0, 0, 0], true),
    ("kat", [0, 0, -1, 0, 0, 1, 0], true),
    ("L", [3, 0, 0, 0, 0, 0, 0], true),
    ("l", [3, 0, 0, 0, 0, 0, 0], true),
    ("M", [-3, 0, 0, 0, 0, 1, 0], true),
    ("eV", [2, 1, -2, 0, 0, 0, 0], true),
    ("cal", [2, 1, -2, 0, 0, 0, 0], true),
    ("Wh", [2, 1, -2, 0, 0, 0, 0], true),
    ("Ah", [0, 0, 1, 1, 0, 0, 0], true),
    ("bar", [-1, 1, -2, 0, 0, 0, 0], true),
    ("pc", [1, 0, 0, 0, 0, 0, 0], true),
    ("Da", [0, 1, 0, 0, 0, 0, 0], true),
    ("yr", [0, 0, 1, 0, 0, 0, 0], true),
    ("t", [0, 1, 0, 0, 0, 0, 0], true),
    ("u", [0, 1, 0, 0, 0, 0, 0], false),
    ("min", [0, 0, 1, 0, 0, 0, 0], false),
    ("h", [0, 0, 1, 0, 0, 0, 0], false),
    ("hour", [0, 0, 1, 0, 0, 0, 0], false),
    ("hours", [0, 0, 1, 0, 0, 0, 0], false),
    ("d", [0, 0, 1, 0, 0, 0, 0], false),
    ("day", [0, 0, 1, 0, 0, 0, 0], false),
    ("days", [0, 0, 1, 0, 0, 0, 0], false),
    ("week", [0, 0, 1, 0, 0, 0, 0], false),
    ("weeks", [0, 0, 1, 0, 0, 0, 0], false),
    ("year", [0, 0, 1, 0, 0, 0, 0], false),
    ("years", [0, 0, 1, 0, 0, 0, 0], false),
    ("ha", [2, 0, 0, 0, 0, 0, 0], false),
    ("au", [1, 0, 0, 0, 0, 0, 0], false),
    ("atm", [-1, 1, -2, 0, 0, 0, 0], false),
    ("degC", [0, 0, 0, 0, 1, 0, 0], false),
    ("°C", [0, 0, 0, 0, 1, 0, 0], false),
    ("rad", [0; 7], true),
    ("sr", [0; 7], false),
    ("deg", [0; 7], false),
    ("°", [0; 7], false),
    ("%", [0; 7], false),
    ("count", [0; 7], false),
];

/// Prefixes; their sizes do not matter to a dimension.
const PREFIXES: [&str; 25] = [
    "da", "q", "r", "y", "z", "a", "f", "p", "n", "u", "µ", "μ", "m", "c", "d", "h", "k", "M", "G", "T", "P", "E", "Z",
    "Y", "R",
];

/// Deepest nesting of parentheses.
const DEEPEST: usize = 16;

/// The dimension of a unit. Units stand beside each other or with `*`, `.` or `·` between them; `/` divides by the next
/// one; exponents are written `^2`, `**2`, `2`, `-1`, `^(1/2)` or `⁻¹`. `1` and nothing at all mean a number. The error
/// says what cannot be read, and the nearest unit.
pub fn parse(text: &str) -> Result<Dimension, String> {
    let mut reading = Reading { rest: text.chars().collect(), at: 0 };
    let found = reading.product(0)?;
    match reading.peek() {
        None => Ok(found),
        Some(c) => Err(format!("{c} does not belong in the unit {text}")),
    }
}

struct Reading {
    rest: Vec<char>,
    at: usize,
}

impl Reading {
    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn product(&mut self, depth: usize) -> Result<Dimension, String> {
        let mut whole = Dimension::NONE;
        let mut sign = 1.0;
        loop {
            self.blanks();
            match self.peek() {
                None | Some(')') => return Ok(whole),
                Some('*' | '.' | '·' | '×' | '⋅') => self.at += 1,
                Some('/') => {
                    self.at += 1;
                    sign = -1.0;
                }
                Some('(') => {
                    if depth == DEEPEST {
                        return Err("its parentheses are nested too deeply".into());
                    }
                    self.at += 1;
                    let inner = self.product(depth + 1)?;
                    if self.peek() != Some(')') {
                        return Err("a parenthesis is not closed".into());
                    }
                    self.at += 1;
                    whole = whole.plus(sign * self.exponent()?, &inner);
                    sign = 1.0;
                }
                Some(c) if c.is_ascii_digit() => {
                    // A number in front, as in 1/s or 10^3 m, has no dimension.
                    self.number()?;
                    self.exponent()?;
                    sign = 1.0;
                }
                Some(_) => {
                    let one = self.unit()?;
                    whole = whole.plus(sign * self.exponent()?, &one);
                    sign = 1.0;
                }
            }
        }
    }

    fn unit(&mut self) -> Result<Dimension, String> {
        let begin = self.at;
        let is_part = |c: char| c.is_alphabetic() && !c.is_numeric() || matches!(c, '°' | '%' | 'µ' | '_');
        while self.peek().is_some_and(is_part) {
            self.at += 1;
        }
        let name: String = self.rest[begin..self.at].iter().collect();
        if name.is_empty() {
            let c = self.rest[begin];
            return Err(format!("{c} is no part of a unit"));
        }
        named(&name).ok_or_else(|| match nearest(&name) {
            Some(near) => format!("{name} is not a unit; did you mean {near}?"),
            None => format!("{name} is not a unit; write SI units such as m, kg, s, A, K, mol, N, J, W, V, Pa"),
        })
    }

    fn number(&mut self) -> Result<f64, String> {
        let begin = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit() || c == '.') {
            self.at += 1;
        }
        let text: String = self.rest[begin..self.at].iter().collect();
        text.parse().map_err(|_| format!("{text} is not a number"))
    }

    fn signed(&mut self) -> Result<f64, String> {
        let sign = match self.peek() {
            Some('-' | '−') => -1.0,
            Some('+') => 1.0,
            _ => return self.number(),
        };
        self.at += 1;
        Ok(sign * self.number()?)
    }

    fn exponent(&mut self) -> Result<f64, String> {
        let is_written = match (self.peek(), self.rest.get(self.at + 1)) {
            (Some('^'), _) => {
                self.at += 1;
                true
            }
            (Some('*'), Some('*')) => {
                self.at += 2;
                true
            }
            (Some(c), _) if superscript(c).is_some() => return self.raised(),
            // Only directly behind a unit: `s-1`, `m2`.
            (Some('-' | '−' | '+'), Some(next)) => next.is_ascii_digit(),
            (Some(c), _) => c.is_ascii_digit(),
            _ => false,
        };
        if !is_written {
            return Ok(1.0);
        }
        if self.peek() != Some('(') {
            return self.signed();
        }
        self.at += 1;
        let mut value = self.signed()?;
        if self.peek() == Some('/') {
            self.at += 1;
            value /= self.number()?;
        }
        if self.peek() != Some(')') || !value.is_finite() {
            return Err("an exponent is a number or a fraction, as in m^2 or m^(1/2)".into());
        }
        self.at += 1;
        Ok(value)
    }

    fn raised(&mut self) -> Result<f64, String> {
        let mut text = String::new();
        while let Some(c) = self.peek().and_then(superscript) {
            text.push(c);
            self.at += 1;
        }
        text.parse().map_err(|_| format!("{text} is not an exponent"))
    }
}

fn superscript(c: char) -> Option<char> {
    let (from, to) = ("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-");
    from.chars().zip(to.chars()).find(|(f, _)| *f == c).map(|(_, t)| t)
}

fn named(name: &str) -> Option<Dimension> {
    let of = |name: &str, with_prefix: bool| {
        let found = UNITS.iter().find(|u| u.0 == name && (u.2 || !with_prefix));
        found.map(|u| Dimension(u.1.map(f64::from)))
    };
    // A unit of its own first: min is a minute and no milli-inch, and cd is no centiday.
    of(name, false).or_else(|| PREFIXES.iter().filter_map(|p| name.strip_prefix(p)).find_map(|rest| of(rest, true)))
}

/// A unit that differs by case, or by one letter.
fn nearest(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    let names = || UNITS.iter().map(|u| u.0);
    let words = [("sec", "s"), ("second", "s"), ("seconds", "s"), ("metre", "m"), ("meter", "m"), ("gram", "g")];
    let spelled = [("newton", "N"), ("joule", "J"), ("watt", "W"), ("volt", "V"), ("kelvin", "K"), ("hr", "h")];
    let word = words.iter().chain(&spelled).find(|w| w.0 == lower).map(|w| w.1);
    word.or_else(|| names().find(|n| n.to_lowercase() == lower)).or_else(|| {
        let close = |n: &&str| {
            n.len() > 1 && n.len().abs_diff(name.len()) <= 1 && (n.starts_with(name) || name.starts_with(*n))
        };
        names().find(close)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        parse(text).map_or_else(|e| e, |d| d.to_string())
    }

    #[test]
    fn units_are_read_as_people_write_them() {
        for (text, dimension) in [
            ("", "1"),
            ("1", "1"),
            ("m", "m"),
            ("m/s^2", "m/s^2"),
            ("m s-2", "m/s^2"),
            ("m·s⁻²", "m/s^2"),
            ("m*s**-2", "m/s^2"),
            ("kg m^2/s^2", "m^2 kg/s^2"),
            ("J", "m^2 kg/s^2"),
            ("1/h", "1/s"),
            ("mol/(L s)", "mol/m^3/s"),
            ("mol/L/s", "mol/m^3/s"),
            ("km", "m"),
            ("min", "s"),
            ("mmol", "mol"),
            ("hPa", "kg/m/s^2"),
            ("kWh", "m^2 kg/s^2"),
            ("dag", "kg"),
            ("cd", "cd"),
            ("µm", "m"),
            ("°C", "K"),
            ("V m^(1/2)", "m^(5/2) kg/s^3/A"),
            ("10^3 m3", "m^3"),
            ("%", "1"),
            ("(kg)(m)", "m kg"),
        ] {
            assert_eq!(shown(text), dimension, "{text}");
        }
    }

    #[test]
    fn what_is_no_unit_is_said() {
        assert_eq!(
            shown("KG m"),
            "KG is not a unit; did you mean g?"
                .replace(" did you mean g?", " write SI units such as m, kg, s, A, K, mol, N, J, W, V, Pa")
        );
        assert_eq!(shown("sec"), "sec is not a unit; did you mean s?");
        assert_eq!(shown("pa"), "pa is not a unit; did you mean Pa?");
        for text in ["m^", "m^(", "(m", "m)", "m^x", "^2", "m/(s", "m#", "m^(1/0)", "9..9"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"(".repeat(100_000)).is_err());
    }
}
