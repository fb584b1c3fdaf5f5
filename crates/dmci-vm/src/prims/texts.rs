//! Strings as texts: searching, splitting, joining, padding, trimming.

use super::{Primitive, between, fixed};
use crate::world::World;
use dmci_value::{Error, Kind, Value};

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    between("string-search-forward", 2, 3, search_forward),
    between("string-search-backward", 2, 3, search_backward),
    fixed("string-search-all", 2, search_all),
    between("string-contains", 2, 4, |w, a| {
        let text = w.text_range("string-contains", &[&[a[0]], &a[2..]].concat(), 1)?;
        let start = a.get(2).map_or(Ok(0), |&v| w.index("string-contains", v))?;
        let pattern = w.text_chars("string-contains", a[1])?;
        Ok(found(find(w, &text, &pattern).map(|i| start + i)))
    }),
    fixed("%string-index", 2, |w, a| {
        let c = w.char("string-index", a[1])?;
        Ok(found(w.text_chars("string-index", a[0])?.iter().position(|&x| x == c)))
    }),
    fixed("%string-rindex", 2, |w, a| {
        let c = w.char("string-rindex", a[1])?;
        Ok(found(w.text_chars("string-rindex", a[0])?.iter().rposition(|&x| x == c)))
    }),
    fixed("string-prefix?", 2, |w, a| {
        let prefix = w.text_chars("string-prefix?", a[0])?;
        Ok(Value::boolean(w.text_chars("string-prefix?", a[1])?.starts_with(&prefix)))
    }),
    fixed("string-suffix?", 2, |w, a| {
        let suffix = w.text_chars("string-suffix?", a[0])?;
        Ok(Value::boolean(w.text_chars("string-suffix?", a[1])?.ends_with(&suffix)))
    }),
    between("string-pad-left", 2, 3, |w, a| pad(w, "string-pad-left", a, true)),
    between("string-pad-right", 2, 3, |w, a| pad(w, "string-pad-right", a, false)),
    fixed("string-trim", 1, |w, a| trim(w, "string-trim", a[0], true, true)),
    fixed("string-trim-both", 1, |w, a| trim(w, "string-trim-both", a[0], true, true)),
    fixed("string-trim-left", 1, |w, a| trim(w, "string-trim-left", a[0], true, false)),
    fixed("string-trim-right", 1, |w, a| trim(w, "string-trim-right", a[0], false, true)),
    between("string-join", 1, 3, join),
    fixed("%string-split", 2, split),
];

fn found(i: Option<usize>) -> Value {
    i.map_or(Value::FALSE, |i| Value::fixnum(i as i64))
}

/// The first place of `pattern` in `text`, by Knuth, Morris and Pratt: linear on any input.
fn find(world: &mut World, text: &[char], pattern: &[char]) -> Option<usize> {
    find_all(world, text, pattern, 1).first().copied()
}

/// Up to `most` places of `pattern`, overlapping ones too, in order.
fn find_all(world: &mut World, text: &[char], pattern: &[char], most: usize) -> Vec<usize> {
    world.spend((text.len() + pattern.len()) / 4);
    if pattern.is_empty() {
        return (0..=text.len()).take(most).collect();
    }
    // border[i]: length of the longest proper prefix of the pattern that ends at i.
    let mut border = vec![0; pattern.len()];
    let mut k = 0;
    for i in 1..pattern.len() {
        while k > 0 && pattern[i] != pattern[k] {
            k = border[k - 1];
        }
        k += usize::from(pattern[i] == pattern[k]);
        border[i] = k;
    }
    let (mut places, mut matched) = (Vec::new(), 0);
    for (i, &c) in text.iter().enumerate() {
        while matched > 0 && (matched == pattern.len() || c != pattern[matched]) {
            matched = border[matched - 1];
        }
        matched += usize::from(c == pattern[matched]);
        if matched == pattern.len() {
            places.push(i + 1 - matched);
            if places.len() == most {
                break;
            }
        }
    }
    places
}

/// `(string-search-forward pattern string [start])`: index of the first match from `start` on.
fn search_forward(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let who = "string-search-forward";
    let pattern = world.text_chars(who, args[0])?;
    let text = world.text_range(who, &args[1..], 1)?;
    let start = args.get(2).map_or(Ok(0), |&v| world.index(who, v))?;
    Ok(found(find(world, &text, &pattern).map(|i| start + i)))
}

/// `(string-search-backward pattern string [end])`: index of the end of the last match before `end`.
fn search_backward(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let who = "string-search-backward";
    let mut pattern = world.text_chars(who, args[0])?;
    let end = args.get(2).copied();
    let bounds: Vec<Value> = [args[1], Value::fixnum(0)].into_iter().chain(end).collect();
    let mut text = world.text_range(who, &bounds, 1)?;
    text.reverse();
    pattern.reverse();
    Ok(found(find(world, &text, &pattern).map(|i| text.len() - i)))
}

fn search_all(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let pattern = world.text_chars("string-search-all", args[0])?;
    let text = world.text_chars("string-search-all", args[1])?;
    let places = find_all(world, &text, &pattern, usize::MAX);
    world.heap.ensure(3 * places.len())?;
    let places: Vec<Value> = places.into_iter().map(|i| Value::fixnum(i as i64)).collect();
    Ok(world.heap.list(&places))
}

/// As in MIT Scheme and SRFI 13: characters are added, or taken away, on the given side.
fn pad(world: &mut World, who: &str, args: &[Value], left: bool) -> Result<Value, Error> {
    let chars = world.text_chars(who, args[0])?;
    let n = world.index(who, args[1])?;
    let fill = args.get(2).map_or(Ok(' '), |&v| world.char(who, v))?;
    world.heap.ensure(n)?;
    world.spend(n / 8);
    let missing = vec![fill; n.saturating_sub(chars.len())];
    let extra = chars.len().saturating_sub(n);
    let padded = if left { [&missing, &chars[extra..]] } else { [&chars[..chars.len() - extra], &missing] };
    Ok(world.heap.string_from_chars(&padded.concat()))
}

fn trim(world: &mut World, who: &str, v: Value, left: bool, right: bool) -> Result<Value, Error> {
    let chars = world.text_chars(who, v)?;
    let mut part = &chars[..];
    while let Some((_, rest)) = part.split_first().filter(|(c, _)| left && c.is_whitespace()) {
        part = rest;
    }
    while let Some((_, rest)) = part.split_last().filter(|(c, _)| right && c.is_whitespace()) {
        part = rest;
    }
    Ok(world.heap.string_from_chars(part))
}

/// `(string-join list [delimiter [grammar]])` as in SRFI 13; the delimiter is a space if not given.
fn join(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let who = "string-join";
    let parts = world.list(who, args[0])?;
    let delimiter = args.get(1).map_or(Ok(vec![' ']), |&v| world.text_chars(who, v))?;
    let grammar = args.get(2).map_or(Ok("infix".to_string()), |&v| world.symbol_name(who, v))?;
    let (before, after) = match grammar.as_str() {
        "infix" | "strict-infix" => (false, false),
        "prefix" => (true, false),
        "suffix" => (false, true),
        _ => return Err(world.wrong_type(who, "infix, strict-infix, prefix or suffix", args[2])),
    };
    let mut chars = Vec::new();
    for (i, &part) in parts.iter().enumerate() {
        if before || (i > 0 && !after) {
            chars.extend_from_slice(&delimiter);
        }
        chars.extend(world.text_chars(who, part)?);
        if after {
            chars.extend_from_slice(&delimiter);
        }
        world.heap.ensure(chars.len())?;
    }
    Ok(world.heap.string_from_chars(&chars))
}

/// Splits at every occurrence of a character or a non-empty string.
fn split(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let who = "string-split";
    let text = world.text_chars(who, args[0])?;
    let delimiter = match args[1].as_char() {
        Some(c) => vec![c],
        None if world.heap.as_kind(args[1], Kind::String).is_some() => world.text_chars(who, args[1])?,
        None => Vec::new(),
    };
    if delimiter.is_empty() {
        return Err(world.wrong_type(who, "a character, a predicate or a non-empty string to split at", args[1]));
    }
    let (mut parts, mut start) = (Vec::new(), 0);
    let places = find_all(world, &text, &delimiter, usize::MAX);
    world.heap.ensure(text.len() + 6 * places.len())?;
    for at in places {
        if at >= start {
            parts.push(world.heap.string_from_chars(&text[start..at]));
            start = at + delimiter.len();
        }
    }
    parts.push(world.heap.string_from_chars(&text[start..]));
    Ok(world.heap.list(&parts))
}
