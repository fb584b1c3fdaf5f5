//! Operations as other languages write them: spellings of the table of operations with operands in their places.

/// A spelling with its operands. `operand` gets the mark of an operand, if it has one, and which operand it is.
pub fn fill(spelling: &str, mut operand: impl FnMut(Option<char>, usize) -> String) -> String {
    let mut pieces = spelling.split('#');
    let mut text = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let digit = piece.find(|c: char| c.is_ascii_digit()).unwrap_or(piece.len());
        let number = piece[digit..].chars().next().and_then(|c| c.to_digit(10)).unwrap_or(1);
        text += &operand(piece[..digit].chars().next(), number.saturating_sub(1) as usize);
        text += piece.get(digit + 1..).unwrap_or_default();
    }
    text
}

/// A spelling with names as operands.
pub fn fill_names(spelling: &str, args: &[&str]) -> String {
    fill(spelling, |_, i| args.get(i).copied().unwrap_or("0").to_string())
}

/// The functions of our own that a spelling calls: their names without the prefix that they all have.
pub fn own_functions(spelling: &'static str, prefix: &'static str) -> impl Iterator<Item = &'static str> {
    let calls = spelling.split('(').map(|before| {
        let start = before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        &before[start..]
    });
    calls.filter_map(move |word| word.strip_prefix(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{c, python};
    use dmci_ops::{Op, Spelling};

    #[test]
    fn spellings_name_operands_that_there_are_and_functions_that_are_exported() {
        for op in Op::ALL {
            let Spelling { c, python, sympy, latex, .. } = op.spelling();
            for text in [c, python, sympy, latex] {
                assert!(!text.is_empty(), "{op:?}");
                for (at, _) in text.match_indices('#') {
                    let place = text[at + 1..].trim_start_matches(['*', '^', '+', '-']);
                    let number = place.chars().next().and_then(|c| c.to_digit(10)).map(|n| n as usize);
                    assert!(number.is_some_and(|n| (1..=op.operands().len()).contains(&n)), "{op:?}: {text}");
                    assert!(
                        text == latex || text[at + 1..].starts_with(|c: char| c.is_ascii_digit()),
                        "{op:?}: {text}"
                    );
                }
            }
            for name in own_functions(c, "d_") {
                assert!(c::operations::HELPERS.iter().any(|h| h.0 == name), "{op:?}: C has no d_{name}");
            }
            for name in own_functions(python, "_") {
                assert!(python::operations::FUNCTIONS.iter().any(|f| f.0 == name), "{op:?}: Python has no _{name}");
            }
            for name in own_functions(sympy, "_") {
                assert_eq!(name, "choose", "{op:?}");
            }
        }
    }

    #[test]
    fn operands_take_their_places() {
        assert_eq!(fill_names("#2 == 0.0 ? 0.0 : #1 / #2", &["x", "#1"]), "#1 == 0.0 ? 0.0 : x / #1");
        assert_eq!(fill(r"{#^1}^{#2}", |mark, i| format!("{mark:?}{i}")), "{Some('^')0}^{None1}");
        assert_eq!(own_functions("a * d_min(x, d_max(1.0, fd_no(2)))", "d_").collect::<Vec<_>>(), ["min", "max"]);
    }
}
