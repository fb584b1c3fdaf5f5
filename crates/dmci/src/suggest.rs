//! Help for misspelt names.

use crate::program::Program;
use dmci_value::ErrorCode;
use dmci_value::nearest::closest;
use dmci_value::{Diagnostic, Symbol};
use dmci_vm::Vm;

/// Adds help to unbound variables: what is defined under a similar name, or what the name means in
/// another language. Known are the names of the system, the program and its bindings.
pub(crate) fn add_help(vm: &Vm, program: &Program, diagnostics: &mut [Diagnostic]) {
    // A name that nothing binds is no suggestion for another one.
    let unbound: Vec<String> = diagnostics.iter().filter_map(name_of).collect();
    for diagnostic in diagnostics.iter_mut() {
        if matches!(diagnostic.code, ErrorCode::E0401 | ErrorCode::E0405) && program.text.contains("(= ") {
            let help = diagnostic.help.take().map_or(String::new(), |help| format!("{help}; "));
            let question = "does a loop test = on a real number? It may step over it: test with >= instead";
            diagnostic.help = Some(format!("{help}{question}"));
        }
        let Some(name) = name_of(diagnostic) else { continue };
        let symbols = &vm.world.heap.symbols;
        let system = vm.world.environments.bound_names(&vm.world.heap);
        let system = system.iter().map(|&s: &Symbol| symbols.name(s)).filter(|n| !n.starts_with('%'));
        let near = if is_defined_in(&program.text, &name) {
            Some("it is defined further down: move its definition before the first use".to_string())
        } else if let Some((_, ours)) = FOREIGN.iter().find(|(foreign, _)| *foreign == name) {
            Some(format!("in Scheme this is {ours}"))
        } else if let Some(help) = infix(&name) {
            Some(help.to_string())
        } else {
            let own = names_in(&program.text).filter(|own| unbound.iter().all(|name| name != own));
            closest(&name, own, system).map(|best| format!("did you mean {best}?"))
        };
        if near.is_some() || diagnostic.help.is_none() {
            diagnostic.help = near.or_else(|| Some(format!("define it, or give it a value with ‹set {name}=...›")));
        }
    }
}

/// The name that an error about an unbound variable is about.
fn name_of(diagnostic: &Diagnostic) -> Option<String> {
    let is_unbound = matches!(diagnostic.code, ErrorCode::E0301 | ErrorCode::E0310);
    let word = diagnostic.message.split_whitespace().nth(2).filter(|_| is_unbound)?;
    Some(word.trim_end_matches(',').to_string())
}

/// What a name means that is infix notation without blanks, or a power of another language.
fn infix(name: &str) -> Option<&'static str> {
    if name.contains("**") || name.contains('^') {
        return Some("in Scheme a power is (expt x 2)");
    }
    let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let is_infix = name
        .match_indices(['*', '+'])
        .any(|(at, sign)| is_part(name[..at].chars().next_back()) && is_part(name[at + sign.len()..].chars().next()));
    is_infix.then_some("in Scheme the operator comes first: a*x is (* a x)")
}

/// Words that people bring from other languages.
const FOREIGN: &[(&str, &str)] = &[
    ("None", "'()"),
    ("True", "#t"),
    ("False", "#f"),
    ("elif", "a further clause of cond"),
    ("def", "define"),
    ("defn", "define"),
    ("defun", "define"),
    ("defvar", "define"),
    ("false", "#f"),
    ("float", "exact->inexact"),
    ("fn", "lambda"),
    ("int", "truncate, or round"),
    ("len", "length"),
    ("ln", "log"),
    ("mod", "modulo"),
    ("nil", "'()"),
    ("null", "'() (null? tests for it)"),
    ("pow", "expt"),
    ("print", "display, and newline to end the line"),
    ("printf", "display, and newline to end the line"),
    ("println", "display, and newline to end the line"),
    ("progn", "begin"),
    ("return", "the last expression of a body: its value is the result"),
    ("setf", "set!"),
    ("setq", "set!"),
    ("true", "#t"),
    ("var", "define, or let"),
    ("while", "do, or a named let that calls itself"),
];

/// Whether the text defines the name somewhere.
fn is_defined_in(text: &str, name: &str) -> bool {
    text.match_indices("(define").any(|(at, word)| {
        let rest = text[at + word.len()..].strip_prefix("-values").unwrap_or(&text[at + word.len()..]);
        if !rest.starts_with(char::is_whitespace) {
            return false;
        }
        let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
        let ends = |after: &str| after.starts_with(|c: char| c.is_whitespace() || "()[]".contains(c));
        rest.strip_prefix(name).is_some_and(ends)
    })
}

/// Words of a program that could be names.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split(';').next().unwrap_or(""));
    code.flat_map(|line| line.split(|c: char| c.is_whitespace() || "()[]'`,\"#".contains(c)))
        .filter(|word| word.len() > 1 && !word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infix_notation_is_seen() {
        for name in ["**", "x**2", "^", "x^2"] {
            assert!(infix(name).is_some_and(|help| help.contains("expt")), "{name}");
        }
        for (name, seen) in [("a*x", true), ("2*x+1", true), ("let*", false), ("*global*", false), ("a-b", false)] {
            assert_eq!(infix(name).is_some(), seen, "{name}");
        }
    }

    #[test]
    fn a_misspelt_name_is_found() {
        let known = ["vector-ref", "vector-set!", "length", "lambda"];
        let closest_to = |name: &str| closest(name, std::iter::empty(), known.into_iter());
        assert_eq!(closest_to("lenght"), Some("length"));
        assert_eq!(closest_to("vector-reff"), Some("vector-ref"));
        assert_eq!(closest_to("zebra"), None);
    }

    #[test]
    fn names_of_the_program_come_first() {
        let find = |name: &str| closest(name, names_in("(let loop ((i 0)) (lop i))"), ["log", "lot"].into_iter());
        assert_eq!(find("lop"), Some("loop"));
        assert_eq!(find("logg"), Some("log"));
    }

    #[test]
    fn a_definition_further_down_is_found() {
        for text in ["(define b 1)", "(define (b x) x)", "(define-values (b c) 1)"] {
            assert!(is_defined_in(text, "b"), "{text}");
        }
        assert!(!is_defined_in("(define bb 1) (defineb) (let ((b 1)) b)", "b"));
    }
}
