//! Edits of a parent: blocks of SEARCH and REPLACE.

use super::{Form, Hints, Reading};

/// One block.
struct Edit {
    search: String,
    replace: String,
}

/// Applies the edits of an answer; gives the text without them. Blocks that follow each other are one candidate; a line
/// that speaks of a candidate, or a heading, begins another.
pub fn read(text: &str, hints: &Hints<'_>, reading: &mut Reading) -> String {
    let mut rest = String::new();
    let mut edits: Vec<Edit> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !line.trim_start().starts_with("<<<<<<<") {
            let heading = line.trim_start().trim_start_matches(['*', '#', '`', ' ', '-']).to_ascii_lowercase();
            let words = ["candidate", "program", "variant", "option", "proposal", "version", "idea"];
            let next = words.iter().any(|word| heading.starts_with(word));
            if next && !edits.is_empty() {
                apply(&std::mem::take(&mut edits), hints, reading);
            }
            rest.push_str(line);
            rest.push('\n');
            continue;
        }
        let (mut search, mut replace) = (Vec::new(), Vec::new());
        let (mut in_replace, mut closed) = (false, false);
        for line in lines.by_ref() {
            let mark = line.trim();
            if mark.starts_with(">>>>>>>") {
                closed = true;
                break;
            }
            if mark.starts_with("=======") && !in_replace {
                in_replace = true;
            } else if in_replace {
                replace.push(line);
            } else {
                search.push(line);
            }
        }
        if closed && in_replace {
            edits.push(Edit { search: search.join("\n"), replace: replace.join("\n") });
        } else {
            reading.problems.push("an edit was cut; write it from <<<<<<< SEARCH to >>>>>>> REPLACE".into());
        }
    }
    apply(&edits, hints, reading);
    rest
}

/// Applies edits to the first parent that has all of them.
fn apply(edits: &[Edit], hints: &Hints<'_>, reading: &mut Reading) {
    if edits.is_empty() {
        return;
    }
    for parent in hints.parents {
        let changed = edits.iter().try_fold(parent.clone(), |text, edit| replaced(&text, edit));
        match changed {
            Some(program) if program != *parent => return reading.add(program, Form::Edit, None),
            Some(_) => {
                reading.problems.push("an edit changes nothing".into());
                return;
            }
            None => {}
        }
    }
    let what: String = edits[0].search.trim().chars().take(80).collect();
    reading.problems.push(format!("no program above has the text of the edit: {what}"));
}

/// The text with an edit: exact, or else with any white space where the search has some.
fn replaced(text: &str, edit: &Edit) -> Option<String> {
    let search = edit.search.trim();
    if search.is_empty() {
        return Some(format!("{text}\n{}", edit.replace));
    }
    if let Some(at) = text.find(search) {
        return Some(format!("{}{}{}", &text[..at], edit.replace.trim(), &text[at + search.len()..]));
    }
    let wanted: Vec<char> = search.chars().filter(|c| !c.is_whitespace()).collect();
    for (from, _) in text.char_indices() {
        let mut left = wanted.iter();
        let mut next = left.next();
        for (at, c) in text[from..].char_indices() {
            if c.is_whitespace() && at > 0 {
                continue;
            }
            if next != Some(&c) {
                break;
            }
            next = left.next();
            if next.is_none() {
                let end = from + at + c.len_utf8();
                return Some(format!("{}{}{}", &text[..from], edit.replace.trim(), &text[end..]));
            }
        }
    }
    None
}
