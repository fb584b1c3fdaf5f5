//! Formulas in LaTeX as plain ones.

/// The formulas of a block: one a line, without its environment.
pub fn lines(text: &str) -> Vec<String> {
    let text = text.replace("\\\\", "\n").replace('&', "");
    let is_mark = |l: &str| l.starts_with("\\begin") || l.starts_with("\\end") || matches!(l, "\\[" | "\\]" | "$$");
    text.lines().map(str::trim).filter(|l| !l.is_empty() && !is_mark(l)).map(str::to_string).collect()
}

/// A formula without the commands of LaTeX: `\frac{a}{b}` is `((a)/(b))`.
pub fn plain(text: &str) -> String {
    if !text.contains('\\') && !text.contains('{') {
        return text.to_string();
    }
    let mut text = text.to_string();
    for word in
        ["\\left", "\\right", "\\,", "\\;", "\\!", "\\:", "\\quad", "\\displaystyle", "\\[", "\\]", "\\(", "\\)"]
    {
        text = text.replace(word, " ");
    }
    for word in ["\\cdot", "\\times", "\\ast"] {
        text = text.replace(word, "*");
    }
    for word in ["\\operatorname", "\\mathrm", "\\text", "\\mathit"] {
        text = text.replace(word, "");
    }
    for word in ["\\dfrac", "\\tfrac"] {
        text = text.replace(word, "\\frac");
    }
    // Innermost last: every round takes one away.
    for _ in 0..64 {
        let Some(at) = text.rfind("\\frac") else { break };
        let rest = text[at + 5..].trim_start();
        let Some((top, after)) = group(rest) else { break };
        let Some((bottom, after)) = group(after.trim_start()) else { break };
        text = format!("{}(({top})/({bottom})){after}", &text[..at]);
    }
    // Subscripts belong to names.
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("_{") {
        out.push_str(&rest[..at]);
        match group(&rest[at + 1..]) {
            Some((inside, after)) if inside.chars().all(char::is_alphanumeric) => {
                out.push('_');
                out.push_str(inside);
                rest = after;
            }
            _ => {
                out.push('_');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out.replace('{', "(").replace('}', ")").replace('\\', " ")
}

/// The inside of the group in braces with which a text begins, and what follows.
fn group(text: &str) -> Option<(&str, &str)> {
    if !text.starts_with('{') {
        return None;
    }
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                if depth == 0 {
                    return Some((&text[1..at], &text[at + 1..]));
                }
            }
            _ => {}
        }
    }
    None
}
