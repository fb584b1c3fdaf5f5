//! `dmci explain`.

use crate::args::Explain;
use crate::output;
use dmci::{ErrorCode, Report};
use serde_json::{Value as Json, json};

/// Explains a code, or lists them all.
pub fn explain(args: &Explain) -> u8 {
    let Some(text) = args.code.as_deref() else {
        list(args.json);
        return 0;
    };
    match find(text) {
        Ok(found) if args.json => output::print_form("explain", shown(found)),
        Ok(found) => output::print(&format!("{found}: {}\n\n{}\n", found.title(), found.explanation().trim_end())),
        Err(report) => return output::fail(&report, args.json),
    }
    0
}

/// The explanation of a code for machines.
pub fn json(text: &str) -> Result<Json, Report> {
    find(text).map(shown)
}

fn shown(code: ErrorCode) -> Json {
    json!({"code": code.as_str(), "title": code.title(), "explanation": code.explanation()})
}

fn find(text: &str) -> Result<ErrorCode, Report> {
    let code = normal(text);
    ErrorCode::find(&code).ok_or_else(|| {
        let help = match nearest(&code) {
            Some(near) => format!("did you mean {near} ({})? dmci explain --list shows all codes", near.title()),
            None => "dmci explain --list shows all codes".into(),
        };
        output::usage_error(format!("there is no error code {text}"), help)
    })
}

fn list(json: bool) {
    if json {
        let codes: Vec<_> = ErrorCode::ALL.iter().map(|c| json!({"code": c.as_str(), "title": c.title()})).collect();
        return output::print_form("codes", json!({ "codes": codes }));
    }
    let lines: Vec<String> = ErrorCode::ALL.iter().map(|c| format!("{c}  {}\n", c.title())).collect();
    output::print(&lines.concat());
}

/// `e301` and `301` mean `E0301`.
fn normal(text: &str) -> String {
    let digits = text.trim_start_matches(['e', 'E']);
    match digits.parse::<u16>() {
        Ok(n) => format!("E{n:04}"),
        Err(_) => text.to_ascii_uppercase(),
    }
}

/// The code with the fewest differing characters, if it is close; the later characters count less,
/// because they only number the errors of a group.
fn nearest(code: &str) -> Option<ErrorCode> {
    let distance = |c: &ErrorCode| -> u32 {
        let weights = [4, 4, 4, 2, 1];
        c.as_str().chars().zip(code.chars()).zip(weights).map(|((a, b), w)| if a == b { 0 } else { w }).sum()
    };
    let near = |c: &ErrorCode| code.chars().count() == c.as_str().len() && distance(c) <= 4;
    ErrorCode::ALL.iter().copied().filter(near).min_by_key(|c| distance(c))
}
