//! Settings in messages. A library names a setting between `‹` and `›`, alone or with a value, and each front end
//! spells it the way its user writes it: `‹missing›` is `--missing` on the command line and `missing=` in Python.

use std::borrow::Cow;

/// How a front end writes settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    /// As a field of a request, in Rust and in files: `loss = "gaussian"`.
    #[default]
    Field,
    /// As an option of the command line: `--loss gaussian`.
    Flag,
    /// As a keyword of Python: `loss="gaussian"`.
    Keyword,
}

/// Settings that Python calls by another name than a request does.
const KEYWORDS: &[(&str, &str)] = &[
    ("f32", "dtype=\"float32\""),
    ("no_loops", "loops=False"),
    ("output_limit", "output="),
    ("set", "constants="),
    ("start", "start="),
];

/// Settings that are no options of the command line, or options of another name.
const FLAGS: &[(&str, &str)] = &[("program", "PROGRAM"), ("text", "-e")];

impl Spelling {
    /// The text with every setting spelled.
    pub fn spell(self, text: &str) -> Cow<'_, str> {
        if !text.contains('‹') {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = rest.find('‹') {
            let behind = &rest[open + '‹'.len_utf8()..];
            let inside = behind.find('›').map(|close| &behind[..close]);
            let named = inside.and_then(|inside| Some((inside, self.setting(inside)?)));
            out += &rest[..open];
            match named {
                Some((inside, spelled)) => {
                    out += &spelled;
                    rest = &behind[inside.len() + '›'.len_utf8()..];
                }
                None => {
                    out.push('‹');
                    rest = behind;
                }
            }
        }
        Cow::Owned(out + rest)
    }

    /// One setting: its name, or its name and a value; none if it has no name of a setting.
    fn setting(self, text: &str) -> Option<String> {
        let (name, value) = text.split_once(' ').map_or((text, None), |(name, value)| (name, Some(value)));
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        // A start is a value for a name; only Python keeps them apart.
        let field = if name == "start" { "set" } else { name };
        let flag = || match FLAGS.iter().find(|(setting, _)| *setting == field) {
            Some((_, flag)) => flag.to_string(),
            None => format!("--{}", field.replace('_', "-")),
        };
        Some(match (self, value) {
            (Spelling::Flag, None) => flag(),
            (Spelling::Flag, Some(value)) => format!("{} {value}", flag()),
            (Spelling::Field, None) => field.to_string(),
            (Spelling::Field, Some(value)) if field == "set" => format!("{field}.{}", value.replacen('=', " = ", 1)),
            (Spelling::Field, Some(value)) => format!("{field} = {}", quoted(value)),
            (Spelling::Keyword, value) => match (KEYWORDS.iter().find(|(field, _)| *field == name), value) {
                (Some(_), Some(value)) if name == "set" => value.to_string(),
                (Some((_, keyword)), Some(value)) if name == "start" => {
                    let (parameter, value) = value.split_once('=').unwrap_or((value, "..."));
                    format!("{keyword}{{\"{parameter}\": {value}}}")
                }
                (Some((_, keyword)), None) => keyword.to_string(),
                (_, None) => format!("{name}="),
                (_, Some(value)) => format!("{name}={}", quoted(value)),
            },
        })
    }
}

/// A value as a text, unless it is a number.
fn quoted(value: &str) -> String {
    match value {
        // An empty text, as a shell needs it.
        "''" => "\"\"".into(),
        "..." => value.to_string(),
        _ if value.parse::<f64>().is_ok() => value.to_string(),
        _ => format!("\"{value}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_front_end_spells_a_setting_its_own_way() {
        let spelled = |text: &str| {
            [Spelling::Field, Spelling::Flag, Spelling::Keyword].map(|spelling| spelling.spell(text).into_owned())
        };
        assert_eq!(spelled("use ‹start_from›"), ["use start_from", "use --start-from", "use start_from="]);
        assert_eq!(spelled("‹loss gaussian›"), ["loss = \"gaussian\"", "--loss gaussian", "loss=\"gaussian\""]);
        assert_eq!(spelled("‹program›, ‹text›"), ["program, text", "PROGRAM, -e", "program=, text="]);
        assert_eq!(spelled("‹missing ''›"), ["missing = \"\"", "--missing ''", "missing=\"\""]);
        assert_eq!(spelled("‹bootstrap 200›."), ["bootstrap = 200.", "--bootstrap 200.", "bootstrap=200."]);
        assert_eq!(spelled("‹set x=1.5›"), ["set.x = 1.5", "--set x=1.5", "x=1.5"]);
        assert_eq!(spelled("‹start k=2›"), ["set.k = 2", "--set k=2", "start={\"k\": 2}"]);
        assert_eq!(
            spelled("‹output_limit›, ‹set›"),
            ["output_limit, set", "--output-limit, --set", "output=, constants="]
        );
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in ["", "a < b", "‹", "‹A›", "‹ x›", "›‹", "the column ‹été›"] {
            assert_eq!(Spelling::Flag.spell(text), text);
        }
    }
}
