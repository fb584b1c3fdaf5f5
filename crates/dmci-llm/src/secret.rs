//! Keys: they are shown nowhere.

use std::fmt;

/// A key. It has no way out but the header of a request; `Debug` and `Display` show stars.
#[derive(Clone, Default)]
pub struct Secret(String);

/// What stands where a key was.
pub const STARS: &str = "***";

impl Secret {
    /// A key; spaces and line ends around it are dropped, as files and shells add them.
    pub fn new(key: &str) -> Secret {
        Secret(key.trim().to_string())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of the header `Authorization`, if there is a key.
    pub(crate) fn header(&self) -> Option<String> {
        (!self.is_empty()).then(|| format!("Bearer {}", self.0))
    }

    /// A text from outside without the key. Servers like to repeat it in their errors, some of them in part: every
    /// stretch of at least eight characters of the key goes.
    pub fn scrub(&self, text: &str) -> String {
        let key: Vec<char> = self.0.chars().collect();
        if key.is_empty() {
            return text.to_string();
        }
        let least = key.len().min(SHORTEST);
        let chars: Vec<char> = text.chars().collect();
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while at < chars.len() {
            let longest = (0..key.len())
                .map(|from| key[from..].iter().zip(&chars[at..]).take_while(|(a, b)| a == b).count())
                .max()
                .unwrap_or(0);
            if longest >= least {
                out.push_str(STARS);
                at += longest;
            } else {
                out.push(chars[at]);
                at += 1;
            }
        }
        out
    }
}

/// The shortest part of a key that is taken out of a text.
const SHORTEST: usize = 8;

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STARS)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STARS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_nowhere() {
        let key = Secret::new(" sk-very-secret-0123456789\n");
        assert_eq!(format!("{key:?} {key} {:#?}", Some(&key)), "*** *** Some(\n    ***,\n)");
        let text = "Incorrect key: sk-very-secret-0123456789. You sent sk-very-sec*****6789";
        assert_eq!(key.scrub(text), "Incorrect key: ***. You sent ********6789");
        assert_eq!(Secret::new("abc").scrub("xabcx"), "x***x");
        assert_eq!(Secret::default().scrub("anything"), "anything");
        assert_eq!(Secret::default().header(), None);
    }
}
