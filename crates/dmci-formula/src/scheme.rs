//! Programs as expressions: what can be written as a formula, and texts that are formulas and not programs.

use crate::Formula;
use crate::expr::{BinaryOp, Expr};
use crate::functions::of_scheme;

/// A datum, as far as formulas need it.
enum Datum {
    Word(String),
    List(Vec<Datum>),
}

/// The expression of a program that is one expression behind its `(params ...)`, with `let`, `let*` and definitions of
/// values written out. None if the program is more than that.
pub fn from_scheme(text: &str) -> Option<Expr> {
    let mut scope: Vec<(String, Expr)> = Vec::new();
    let mut result = None;
    for form in read(text)? {
        if result.is_some() {
            return None;
        }
        match &form {
            Datum::List(items) if is_call(items, "params") => {}
            Datum::List(items) if is_call(items, "define") => {
                let [_, Datum::Word(name), value] = items.as_slice() else { return None };
                let value = expression(value, &scope, 0)?;
                scope.push((name.clone(), value));
            }
            form => result = Some(expression(form, &scope, 0)?),
        }
    }
    result
}

/// Whether a text is a formula, or Python, where a program is expected.
pub fn looks_like_infix(text: &str) -> bool {
    let text = text.trim();
    let python = ["def ", "lambda ", "import ", "from ", "return "];
    if python.iter().any(|word| text.starts_with(word)) || text.contains("\n    return ") {
        return true;
    }
    let Ok(formula) = Formula::parse(text) else { return false };
    // A name, a number and (- x) are programs, and so is a name with a hyphen.
    let is_atom = formula.target.is_none() && matches!(formula.body, Expr::Name(_) | Expr::Number(_));
    let is_one_datum = read(text).is_some_and(|forms| forms.len() == 1);
    let is_hyphenated = !text.contains(|c: char| !c.is_alphanumeric() && c != '-');
    !is_atom && !(is_one_datum && (text.starts_with('(') || is_hyphenated))
}

fn is_call(items: &[Datum], name: &str) -> bool {
    matches!(items.first(), Some(Datum::Word(word)) if word == name)
}

/// The data of a text without strings, quotes and vectors.
fn read(text: &str) -> Option<Vec<Datum>> {
    let mut open: Vec<Vec<Datum>> = vec![Vec::new()];
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let used = match c {
            ';' => rest.find('\n').unwrap_or(rest.len()),
            '(' | '[' => {
                if open.len() > 200 {
                    return None;
                }
                open.push(Vec::new());
                1
            }
            ')' | ']' => {
                let list = open.pop().filter(|_| !open.is_empty())?;
                open.last_mut()?.push(Datum::List(list));
                1
            }
            '|' => {
                let end = rest[1..].find('|')?;
                open.last_mut()?.push(Datum::Word(rest[1..=end].to_string()));
                end + 2
            }
            '"' | '#' | '\'' | '`' | ',' => return None,
            _ => {
                let end = rest.find(|c: char| c.is_whitespace() || "()[];\"'`,|".contains(c)).unwrap_or(rest.len());
                open.last_mut()?.push(Datum::Word(rest[..end].to_string()));
                end
            }
        };
        rest = rest[used..].trim_start();
    }
    let forms = open.pop()?;
    open.is_empty().then_some(forms)
}

fn expression(datum: &Datum, scope: &[(String, Expr)], depth: usize) -> Option<Expr> {
    if depth > 200 {
        return None;
    }
    let items = match datum {
        Datum::Word(word) => return Some(atom(word, scope)),
        Datum::List(items) => items,
    };
    let (Datum::Word(head), arguments) = items.split_first()? else { return None };
    if scope.iter().any(|(name, _)| name == head) {
        return None;
    }
    let part = |i: usize| expression(arguments.get(i)?, scope, depth + 1);
    let all = || arguments.iter().map(|a| expression(a, scope, depth + 1)).collect::<Option<Vec<Expr>>>();
    match (head.as_str(), arguments.len()) {
        ("let" | "let*", 2) => {
            let Datum::List(bindings) = &arguments[0] else { return None };
            let mut inner = scope.to_vec();
            for binding in bindings {
                let Datum::List(pair) = binding else { return None };
                let [Datum::Word(name), value] = pair.as_slice() else { return None };
                let value = expression(value, if head == "let" { scope } else { &inner }, depth + 1)?;
                inner.push((name.clone(), value));
            }
            expression(&arguments[1], &inner, depth + 1)
        }
        ("if", 3) => Some(Expr::If(Box::new([part(0)?, part(1)?, part(2)?]))),
        ("not", 1) => Some(Expr::Not(Box::new(part(0)?))),
        ("-", 1) => Some(Expr::Negative(Box::new(part(0)?))),
        ("/", 1) => Some(Expr::Binary(BinaryOp::Div, Box::new(Expr::Number("1".into())), Box::new(part(0)?))),
        ("+" | "*", 0) => Some(Expr::Number(if head == "+" { "0" } else { "1" }.into())),
        ("+" | "-" | "*" | "/" | "and" | "or", _) => {
            let op = match head.as_str() {
                "+" => BinaryOp::Add,
                "-" => BinaryOp::Sub,
                "*" => BinaryOp::Mul,
                "/" => BinaryOp::Div,
                "and" => BinaryOp::And,
                _ => BinaryOp::Or,
            };
            all()?.into_iter().reduce(|a, b| Expr::Binary(op, Box::new(a), Box::new(b)))
        }
        ("expt" | "pow", 2) => Some(Expr::Binary(BinaryOp::Pow, Box::new(part(0)?), Box::new(part(1)?))),
        ("<" | "<=" | ">" | ">=" | "=", 2) => {
            let op = match head.as_str() {
                "<" => BinaryOp::Less,
                "<=" => BinaryOp::LessEqual,
                ">" => BinaryOp::Greater,
                ">=" => BinaryOp::GreaterEqual,
                _ => BinaryOp::Equal,
            };
            Some(Expr::Binary(op, Box::new(part(0)?), Box::new(part(1)?)))
        }
        (name, count) => {
            let function = of_scheme(name).filter(|f| (f.least..=f.most).contains(&count))?;
            Some(Expr::Call(function, all()?))
        }
    }
}

fn atom(word: &str, scope: &[(String, Expr)]) -> Expr {
    match scope.iter().rev().find(|(name, _)| name == word) {
        Some((_, value)) => value.clone(),
        None if word.parse::<f64>().is_ok_and(f64::is_finite) => Expr::Number(word.to_string()),
        None => Expr::Name(word.to_string()),
    }
}
