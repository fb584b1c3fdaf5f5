//! Hash values. They depend on content and on [`Heap::identity`] only, never on addresses, so a program
//! that prints them prints the same every time.

use super::{Primitive, between};
use crate::world::World;
use dmci_value::{Error, Heap, Kind, Value};

macro_rules! hash {
    ($name:literal, $deep:literal) => {
        between($name, 1, 2, |w, a| bounded(w, $name, a, $deep))
    };
}

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    hash!("hash", true),
    hash!("equal-hash", true),
    hash!("eq-hash", false),
    hash!("eqv-hash", false),
    hash!("hash-by-identity", false),
    hash!("symbol-hash", false),
    between("string-hash", 1, 2, |w, a| {
        w.string_length("string-hash", a[0])?;
        bounded(w, "string-hash", a, true)
    }),
    between("string-ci-hash", 1, 2, |w, a| {
        let text: String = w.chars("string-ci-hash", a[0])?.into_iter().collect();
        let folded = w.new_string(&text.to_uppercase().to_lowercase())?;
        bounded(w, "string-ci-hash", &[&[folded], &a[1..]].concat(), true)
    }),
];

/// Parts of a datum that count for its hash: enough to tell data apart, and an end on circular ones.
const MOST_PARTS: usize = 4096;

/// The hash of a value that agrees with `equal?` (deep) or with `eqv?`.
pub fn hash(heap: &mut Heap, v: Value, deep: bool) -> u64 {
    let mut state = 0;
    if !deep || v.as_object().is_none_or(|r| heap.kind(r) != Kind::Vector) && !v.is_pair() {
        hash_atom(heap, v, deep, &mut state);
        return finish(state);
    }
    let mut pending = vec![v];
    let mut parts = 0;
    while let Some(v) = pending.pop() {
        parts += 1;
        if parts > MOST_PARTS {
            break;
        }
        match v.as_ref() {
            Some(r) if matches!(heap.kind(r), Kind::Pair | Kind::Vector) => {
                let length = heap.len(r);
                mix(&mut state, heap.kind(r) as u64 ^ (length as u64) << 8);
                pending.extend(heap.fields(r).take(MOST_PARTS).rev());
            }
            _ => hash_atom(heap, v, true, &mut state),
        }
    }
    finish(state)
}

fn hash_atom(heap: &mut Heap, v: Value, deep: bool, state: &mut u64) {
    if let Some(symbol) = v.as_symbol() {
        // By name: symbol numbers depend on what else the evaluator has read.
        return heap.symbols.name(symbol).bytes().for_each(|b| mix(state, b.into()));
    }
    let Some(r) = v.as_ref() else {
        let bits = v.as_real().map_or(v.bits(), |x| Value::real(x).bits());
        return mix(state, bits);
    };
    match heap.kind(r) {
        Kind::Bignum => heap.raw(r).iter().for_each(|&w| mix(state, w)),
        Kind::String | Kind::Bytevector | Kind::Tensor if deep => heap.raw(r).iter().for_each(|&w| mix(state, w)),
        _ => {
            let identity = heap.identity(r);
            mix(state, identity.into());
        }
    }
}

fn mix(state: &mut u64, word: u64) {
    *state = (state.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
}

fn finish(state: u64) -> u64 {
    let state = (state ^ state >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    state ^ state >> 32
}

fn bounded(world: &mut World, who: &str, args: &[Value], deep: bool) -> Result<Value, Error> {
    let hash = hash(&mut world.heap, args[0], deep) >> 20;
    match args.get(1).map(|&v| world.index(who, v)).transpose()? {
        Some(0) => Err(world.wrong_type(who, "an exact positive integer", args[1])),
        Some(bound) => Ok(Value::fixnum((hash % bound as u64) as i64)),
        None => Ok(Value::fixnum(hash as i64)),
    }
}
