//! Strings: making, taking apart, comparing, changing. Searching and padding are in `texts`.

use super::{Primitive, at_least, between, fixed};
use crate::world::World;
use dmci_value::{Error, Heap, Kind, Ref, Value};
use std::cmp::Ordering;
use std::ops::Range;

macro_rules! compare {
    ($name:literal, $fold:ident, $test:expr) => {
        at_least($name, 1, |w, a| compare(w, $name, a, $fold, $test))
    };
}

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    fixed("string?", 1, |w, a| Ok(Value::boolean(w.heap.as_kind(a[0], Kind::String).is_some()))),
    between("make-string", 1, 2, make_string),
    at_least("string", 0, |w, a| {
        let chars = a.iter().map(|&v| w.char("string", v)).collect::<Result<Vec<_>, _>>()?;
        Ok(w.heap.string_from_chars(&chars))
    }),
    fixed("string-length", 1, |w, a| Ok(Value::fixnum(w.string_length("string-length", a[0])? as i64))),
    fixed("string-ref", 2, string_ref),
    fixed("string-set!", 3, string_set),
    compare!("string=?", as_it_is, Ordering::is_eq),
    compare!("string<?", as_it_is, Ordering::is_lt),
    compare!("string>?", as_it_is, Ordering::is_gt),
    compare!("string<=?", as_it_is, Ordering::is_le),
    compare!("string>=?", as_it_is, Ordering::is_ge),
    compare!("string-ci=?", foldcase, Ordering::is_eq),
    compare!("string-ci<?", foldcase, Ordering::is_lt),
    compare!("string-ci>?", foldcase, Ordering::is_gt),
    compare!("string-ci<=?", foldcase, Ordering::is_le),
    compare!("string-ci>=?", foldcase, Ordering::is_ge),
    fixed("string-upcase", 1, |w, a| map_text(w, "string-upcase", a[0], |s| s.to_uppercase())),
    fixed("string-downcase", 1, |w, a| map_text(w, "string-downcase", a[0], |s| s.to_lowercase())),
    fixed("string-foldcase", 1, |w, a| map_text(w, "string-foldcase", a[0], |s| foldcase(s.to_string()))),
    between("substring", 2, 3, |w, a| copy(w, "substring", a)),
    between("string-copy", 1, 3, |w, a| copy(w, "string-copy", a)),
    fixed("string-head", 2, |w, a| copy(w, "string-head", &[a[0], Value::fixnum(0), a[1]])),
    fixed("string-tail", 2, |w, a| copy(w, "string-tail", a)),
    at_least("string-append", 0, string_append),
    between("string->list", 1, 3, |w, a| {
        let items = characters(w, "string->list", a)?;
        w.heap.ensure(3 * items.len())?;
        Ok(w.heap.list(&items))
    }),
    between("string->vector", 1, 3, |w, a| {
        let items = characters(w, "string->vector", a)?;
        Ok(w.heap.vector(&items))
    }),
    fixed("list->string", 1, |w, a| {
        let items = w.list("list->string", a[0])?;
        from_characters(w, "list->string", &items)
    }),
    fixed("%list->string", 2, |w, a| {
        let who = w.symbol_name("%list->string", a[0])?;
        let items = w.list(&who, a[1])?;
        from_characters(w, &who, &items)
    }),
    between("vector->string", 1, 3, |w, a| {
        let r = w.object("vector->string", "a vector", Kind::Vector, a[0])?;
        let (start, end) = w.range("vector->string", a, 1, w.heap.len(r))?;
        let items: Vec<Value> = w.heap.fields(r).take(end).skip(start).collect();
        from_characters(w, "vector->string", &items)
    }),
    between("string-copy!", 3, 5, string_copy_into),
    between("string-fill!", 2, 4, string_fill),
    fixed("string-null?", 1, |w, a| Ok(Value::boolean(w.string_length("string-null?", a[0])? == 0))),
    fixed("string-reverse", 1, |w, a| {
        let mut chars = w.text_chars("string-reverse", a[0])?;
        chars.reverse();
        Ok(w.heap.string_from_chars(&chars))
    }),
];

impl World {
    /// The length of a string argument.
    pub fn string_length(&self, who: &str, v: Value) -> Result<usize, Error> {
        let r = self.object(who, "a string", Kind::String, v)?;
        Ok(self.heap.raw(r)[0] as usize)
    }

    /// A string argument as characters; its length counts as work, and room for a copy is made sure.
    pub fn text_chars(&mut self, who: &str, v: Value) -> Result<Vec<char>, Error> {
        let chars = self.chars(who, v)?;
        self.heap.ensure(chars.len())?;
        self.spend(chars.len() / 8);
        Ok(chars)
    }

    /// The part of a string argument between the optional bounds from `args[from]` on.
    pub fn text_range(&mut self, who: &str, args: &[Value], from: usize) -> Result<Vec<char>, Error> {
        let (r, part) = self.string_part(who, args, from)?;
        Ok(part.map(|i| char_at(&self.heap, r, i)).collect())
    }

    /// The same as a string and the places of its characters.
    fn string_part(&mut self, who: &str, args: &[Value], from: usize) -> Result<(Ref, Range<usize>), Error> {
        let length = self.string_length(who, args[from - 1])?;
        let (start, end) = self.range(who, args, from, length)?;
        self.heap.ensure(end - start)?;
        self.spend((end - start) / 8);
        Ok((self.object(who, "a string", Kind::String, args[from - 1])?, start..end))
    }

    /// A new string; fails if there is no room for it.
    pub fn new_string(&mut self, text: &str) -> Result<Value, Error> {
        self.heap.ensure(text.len())?;
        self.spend(text.len() / 8);
        Ok(self.heap.string(text))
    }
}

/// The `i`th character of a string object.
pub fn char_at(heap: &Heap, string: Ref, i: usize) -> char {
    let word = heap.raw(string)[1 + i / 2];
    char::from_u32((word >> (32 * (i & 1))) as u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn make_string(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let n = world.index("make-string", args[0])?;
    let fill = args.get(1).map_or(Ok(' '), |&v| world.char("make-string", v))?;
    world.heap.ensure(n)?;
    world.spend(n / 8);
    Ok(world.heap.string_from_chars(&vec![fill; n]))
}

fn string_ref(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let length = world.string_length("string-ref", args[0])?;
    let i = world.index_below("string-ref", args[1], length)?;
    let r = world.object("string-ref", "a string", Kind::String, args[0])?;
    Ok(Value::char(char_at(&world.heap, r, i)))
}

fn string_set(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let length = world.string_length("string-set!", args[0])?;
    let i = world.index_below("string-set!", args[1], length)?;
    let c = world.char("string-set!", args[2])?;
    let r = world.object("string-set!", "a string", Kind::String, args[0])?;
    world.heap.store_char(r, i, c);
    Ok(Value::UNSPECIFIED)
}

fn as_it_is(text: String) -> String {
    text
}

/// Full case folding, as lower case of upper case: `ß` becomes `ss`, `ς` becomes `σ`.
fn foldcase(text: String) -> String {
    text.to_uppercase().chars().flat_map(char::to_lowercase).collect()
}

fn compare(
    world: &mut World,
    who: &str,
    args: &[Value],
    fold: fn(String) -> String,
    holds: fn(Ordering) -> bool,
) -> Result<Value, Error> {
    let mut texts = Vec::with_capacity(args.len());
    for &v in args {
        texts.push(fold(world.text_chars(who, v)?.into_iter().collect()));
    }
    // UTF-8 sorts as code points do.
    Ok(Value::boolean(texts.windows(2).all(|p| holds(p[0].cmp(&p[1])))))
}

fn map_text(world: &mut World, who: &str, v: Value, f: fn(&str) -> String) -> Result<Value, Error> {
    let text: String = world.text_chars(who, v)?.into_iter().collect();
    world.new_string(&f(&text))
}

fn copy(world: &mut World, who: &str, args: &[Value]) -> Result<Value, Error> {
    let part = world.string_part(who, args, 1)?;
    Ok(world.heap.string_of_parts(&[part]))
}

fn string_append(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let (mut parts, mut length) = (Vec::with_capacity(args.len()), 0);
    for &v in args {
        world.heap.ensure(length)?;
        let part = world.string_part("string-append", &[v], 1)?;
        length += part.1.len();
        parts.push(part);
    }
    Ok(world.heap.string_of_parts(&parts))
}

fn characters(world: &mut World, who: &str, args: &[Value]) -> Result<Vec<Value>, Error> {
    Ok(world.text_range(who, args, 1)?.into_iter().map(Value::char).collect())
}

fn from_characters(world: &mut World, who: &str, items: &[Value]) -> Result<Value, Error> {
    let chars = items.iter().map(|&v| world.char(who, v)).collect::<Result<Vec<_>, _>>()?;
    world.heap.ensure(chars.len())?;
    world.spend(chars.len());
    Ok(world.heap.string_from_chars(&chars))
}

/// `(string-copy! to at from [start end])`; the source is read first, so overlap is no problem.
fn string_copy_into(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let who = "string-copy!";
    let room = world.string_length(who, args[0])?;
    let at = world.index_below(who, args[1], room + 1)?;
    let chars = world.text_range(who, args, 3)?;
    world.range(who, &[args[1], Value::fixnum((at + chars.len()) as i64)], 0, room)?;
    let to = world.object(who, "a string", Kind::String, args[0])?;
    for (i, &c) in chars.iter().enumerate() {
        world.heap.store_char(to, at + i, c);
    }
    Ok(Value::fixnum((at + chars.len()) as i64))
}

fn string_fill(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let length = world.string_length("string-fill!", args[0])?;
    let fill = world.char("string-fill!", args[1])?;
    let (start, end) = world.range("string-fill!", args, 2, length)?;
    let r = world.object("string-fill!", "a string", Kind::String, args[0])?;
    world.spend(end - start);
    for i in start..end {
        world.heap.store_char(r, i, fill);
    }
    Ok(Value::UNSPECIFIED)
}
