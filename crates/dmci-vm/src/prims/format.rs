//! `format`: the directives of Guile and MIT Scheme that programs use.

use super::{Primitive, at_least};
use crate::world::World;
use dmci_syntax::printer::Style;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Value, num};
use std::str::Chars;

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[at_least("%format", 1, |w, a| {
    let control: String = w.chars("format", a[0])?.into_iter().collect();
    let text = format(w, &control, &a[1..])?;
    w.new_string(&text)
})];

const MOST_TEXT: usize = 16 << 20;

/// The widest that a directive may ask for.
const MOST_COLUMNS: usize = 10_000;

/// One directive: `~`, optional numbers with commas between, a letter.
struct Directive {
    letter: char,
    parameters: Vec<Option<usize>>,
}

impl Directive {
    fn parse(chars: &mut Chars) -> Option<Directive> {
        let mut parameters: Vec<Option<usize>> = vec![None];
        loop {
            let c = chars.next()?;
            let last = parameters.last_mut().expect("there is always one");
            match c {
                '0'..='9' => {
                    let digit = c as usize - '0' as usize;
                    *last = Some(last.unwrap_or(0).saturating_mul(10).saturating_add(digit));
                }
                ',' => parameters.push(None),
                _ => return Some(Directive { letter: c.to_ascii_lowercase(), parameters }),
            }
        }
    }

    fn parameter(&self, i: usize) -> Option<usize> {
        self.parameters.get(i).copied().flatten()
    }
}

fn format(world: &mut World, control: &str, args: &[Value]) -> Result<String, Error> {
    let mut out = String::new();
    let mut left = args.iter();
    let mut chars = control.chars();
    while let Some(c) = chars.next() {
        if c != '~' {
            out.push(c);
            continue;
        }
        let unfinished = || Diagnostic::error(ErrorCode::E0303, "format: the control string ends inside a directive");
        let directive = Directive::parse(&mut chars).ok_or_else(unfinished)?;
        match directive.letter {
            '~' => out.push('~'),
            '%' | 'n' => out.push('\n'),
            '&' if out.is_empty() || out.ends_with('\n') => {}
            '&' => out.push('\n'),
            '\n' => {
                // A tilde at the end of a line: the line goes on after the blanks of the next one.
                let rest = chars.as_str().trim_start_matches([' ', '\t']);
                chars = rest.chars();
            }
            _ => {
                let text = argument(world, &directive, &mut left)?;
                out.push_str(&text);
            }
        }
        world.heap.ensure(out.len())?;
        world.spend(1);
    }
    match left.len() {
        0 => Ok(out),
        n => {
            Err(Diagnostic::error(ErrorCode::E0302, format!("format: {n} more arguments than the control string uses")))
        }
    }
}

fn argument(world: &mut World, directive: &Directive, left: &mut std::slice::Iter<Value>) -> Result<String, Error> {
    let letter = directive.letter;
    if !"aswydbxocfeg".contains(letter) {
        return Err(Diagnostic::error(ErrorCode::E0303, format!("format: unknown directive ~{letter}"))
            .help("known are ~a ~s ~d ~b ~o ~x ~c ~f ~% ~& ~~"));
    }
    let &v = left.next().ok_or_else(|| {
        Diagnostic::error(ErrorCode::E0302, format!("format: there is no argument left for the directive ~{letter}"))
    })?;
    if let Some(wide) = directive.parameters.iter().flatten().find(|&&n| n > MOST_COLUMNS) {
        let message = format!("format: ~{wide}{letter} asks for more than {MOST_COLUMNS} columns");
        return Err(Diagnostic::error(ErrorCode::E0303, message).help("give a smaller number"));
    }
    // Digits that the program goes on with.
    let v = world.pin(v)?;
    let text = match letter {
        'a' | 'd' | 'e' | 'g' => world.text_of(v, Style::DISPLAY, MOST_TEXT)?,
        's' | 'w' | 'y' => world.text_of(v, Style::WRITE, MOST_TEXT)?,
        'b' | 'o' | 'x' => num::number_to_string(&mut world.heap, v, radix(letter))?,
        'c' => world.char("format", v)?.to_string(),
        _ => fixed_point(world, v, directive.parameter(1))?,
    };
    let padding = " ".repeat(directive.parameter(0).unwrap_or(0).saturating_sub(text.chars().count()));
    Ok(if matches!(letter, 'a' | 's') { text + &padding } else { padding + &text })
}

fn radix(letter: char) -> Value {
    Value::fixnum(match letter {
        'b' => 2,
        'o' => 8,
        _ => 16,
    })
}

fn fixed_point(world: &mut World, v: Value, digits: Option<usize>) -> Result<String, Error> {
    let shown = world.text_of(v, Style::DISPLAY, MOST_TEXT)?;
    match (v.as_real().or(v.as_fixnum().map(|i| i as f64)), digits) {
        (Some(x), Some(digits)) if x.is_finite() => Ok(format!("{x:.digits$}")),
        _ => Ok(shown),
    }
}
