//! Programs with other schemas: without one, or with other starts.

/// A program without its first `(params ...)`.
pub fn without(text: &str) -> String {
    let Some(start) = text.find("(params") else { return text.to_string() };
    let mut depth = 0usize;
    for (i, c) in text[start..].char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return format!("{}{}", &text[..start], &text[start + i + 1..]),
            ')' => depth -= 1,
            _ => {}
        }
    }
    text[..start].to_string()
}

/// A program with free parameters of these names and starts in place of its schema.
pub fn with_starts<S: AsRef<str>>(text: &str, names: &[S], starts: &[f64]) -> String {
    let one = |(name, start): (&S, &f64)| format!("({} free {start:?})", name.as_ref());
    let list: Vec<String> = names.iter().zip(starts).map(one).collect();
    format!("(params {})\n{}", list.join(" "), without(text).trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_replaced() {
        let text = "; a\n(params (a free 1.0) (b (bounded 0 1) 0.5))\n(* a b)";
        assert_eq!(without(text), "; a\n\n(* a b)");
        assert_eq!(with_starts("(params (a free 1.0)) a", &["a"], &[2.5]), "(params (a free 2.5))\na");
        assert_eq!(without("(* x 2)"), "(* x 2)");
        assert_eq!(without("(+ 1 2) (params (a"), "(+ 1 2) ");
    }
}
