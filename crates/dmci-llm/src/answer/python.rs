//! Functions in Python that are straight lines of assignments, such as skeletons with `params[0]`.

use super::infix::{Scope, legal};
use super::{Form, Hints, Reading};

/// Reads every function of a block; without one, its assignments.
pub fn read(text: &str, hints: &Hints<'_>, reading: &mut Reading) {
    let text = joined(text);
    let mut functions: Vec<Vec<String>> = vec![Vec::new()];
    for line in text.lines() {
        if line.trim_start().starts_with("def ") {
            functions.push(Vec::new());
        }
        if let Some(last) = functions.last_mut() {
            last.push(line.to_string());
        }
    }
    let several = functions.len() > 1;
    for lines in functions {
        let is_function = lines.first().is_some_and(|l| l.trim_start().starts_with("def "));
        // What stands beside functions calls them.
        if is_function || !several {
            read_function(&lines, hints, reading);
        }
    }
}

/// Lines with everything that an open parenthesis holds together.
fn joined(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut depth = 0_i32;
    let mut in_string = false;
    for line in text.lines() {
        let quotes = line.matches("\"\"\"").count() + line.matches("'''").count();
        if in_string || quotes % 2 == 1 {
            in_string = in_string != (quotes % 2 == 1);
            continue;
        }
        let code = line.split(" #").next().unwrap_or("");
        let code = if code.trim_start().starts_with('#') { "" } else { code };
        let code = code.trim_end().trim_end_matches('\\');
        depth += code.matches(['(', '[', '{']).count() as i32 - code.matches([')', ']', '}']).count() as i32;
        out.push_str(code);
        out.push(if depth > 0 { ' ' } else { '\n' });
    }
    out
}

fn read_function(lines: &[String], hints: &Hints<'_>, reading: &mut Reading) {
    let mut scope = Scope { inputs: hints.inputs, ..Scope::default() };
    let mut result: Option<String> = None;
    let mut seen = false;
    for line in lines {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['"', '\'', '@']) || skipped(line) {
            continue;
        }
        let outcome = if let Some(head) = line.strip_prefix("def ") {
            arguments(head, &mut scope)
        } else if let Some(value) = line.strip_prefix("return") {
            seen = true;
            scope.expression(value.trim()).map(|body| result = Some(body))
        } else {
            statement(line, &mut scope, &mut result)
        };
        if let Err(why) = outcome {
            let first: String = line.chars().take(60).collect();
            reading.problems.push(format!("Python that cannot be translated ({why}): {first}; write Scheme"));
            return;
        }
        if seen {
            break;
        }
    }
    let Some(body) = result else { return };
    if body.contains('(') || hints.inputs.contains(&body) {
        reading.add(scope.program(&body), Form::Translated, Some("translated from Python".into()));
    }
}

fn skipped(line: &str) -> bool {
    ["import ", "from ", "print", "plt.", "assert "].iter().any(|w| line.starts_with(w)) || line == "pass"
}

/// The arguments of a function: those that are no inputs are parameters, with their defaults as starts.
fn arguments(head: &str, scope: &mut Scope<'_>) -> Result<(), String> {
    let inside = head.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')).ok_or("its head has no arguments")?.0;
    let mut depth = 0;
    let parts = inside.split(|c: char| {
        depth += i32::from(matches!(c, '[' | '(')) - i32::from(matches!(c, ']' | ')'));
        c == ',' && depth == 0
    });
    for part in parts {
        let (name, default) = part.split_once('=').unwrap_or((part, ""));
        let name = name.split(':').next().unwrap_or("").trim().trim_start_matches('*');
        let is_vector =
            matches!(name, "params" | "parameters" | "theta" | "p" | "c" | "self" | "X" | "inputs" | "data");
        if name.is_empty() || is_vector || scope.inputs.iter().any(|i| i == name) {
            continue;
        }
        let start = default.trim().parse().ok().filter(|x: &f64| x.is_finite()).unwrap_or(1.0);
        scope.parameters.push((legal(name), start));
    }
    Ok(())
}

/// An assignment.
fn statement(line: &str, scope: &mut Scope<'_>, result: &mut Option<String>) -> Result<(), String> {
    for word in ["if ", "for ", "while ", "with ", "else", "elif ", "try", "class ", "yield "] {
        if line.starts_with(word) {
            return Err(format!("{} has no translation", word.trim()));
        }
    }
    let Some((left, right)) = line.split_once('=') else { return Err("it is no assignment".into()) };
    let left = left.trim();
    if let Some(right) = right.trim().strip_prefix("lambda") {
        let (head, body) = right.split_once(':').ok_or("a lambda without a body")?;
        arguments(&format!("f({})", head.trim()), scope)?;
        *result = Some(scope.expression(body.trim())?);
        return Ok(());
    }
    // a, b = params
    let names: Vec<&str> = left.trim_matches(['(', ')', '[', ']']).split(',').map(str::trim).collect();
    if names.len() > 1 {
        let values: Vec<&str> = right.trim().trim_matches(['(', ')']).split(',').collect();
        let vector = values.len() == 1 && !right.contains('(');
        for (i, name) in names.iter().enumerate().filter(|(_, n)| !n.is_empty()) {
            if scope.inputs.iter().any(|x| x == name) {
                continue;
            }
            let start = values.get(i).and_then(|v| v.trim().parse().ok()).unwrap_or(1.0);
            if !vector && values.get(i).is_none() {
                return Err("its sides have different lengths".into());
            }
            scope.parameters.push((legal(name), start));
        }
        return Ok(());
    }
    let (name, operator) = match left.strip_suffix(['+', '-', '*', '/']) {
        Some(name) => (name.trim(), left.chars().last()),
        None => (left.split(':').next().unwrap_or("").trim(), None),
    };
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.') {
        return Err("its left side is no name".into());
    }
    let mut value = scope.expression(right.trim())?;
    if let Some(operator) = operator {
        let old = scope.known.get(name).cloned().unwrap_or_else(|| name.to_string());
        value = format!("({operator} {old} {value})");
    }
    // A number that gets a name is where a parameter starts.
    if let (Ok(start), false) = (value.parse::<f64>(), scope.inputs.iter().any(|i| i == name)) {
        if start.is_finite() && !scope.parameters.iter().any(|(n, _)| n == name) {
            scope.parameters.push((legal(name), start));
        }
        return Ok(());
    }
    *result = Some(value.clone());
    scope.known.insert(name.to_string(), value);
    Ok(())
}
