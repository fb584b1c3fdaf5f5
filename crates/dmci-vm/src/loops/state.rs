//! The state of a loop: what differs from one round to the next.
//!
//! Numbers and booleans that differ are the state; structures that a round makes anew are looked into,
//! and anything else must be the very same. The state is taken apart into its numbers, and put
//! together again with others in their place.

use crate::world::World;
use dmci_ops::{Shape, Type};
use dmci_value::{Kind, Ref, Store, Value};
use rustc_hash::FxHashMap;

/// Numbers that a state has at most.
const MOST_NUMBERS: usize = 4096;

/// What is at a place of the state.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    /// Always the same.
    Same(Value),
    /// A number, by its place among the numbers.
    Number(usize),
    /// A structure, by its place among the structures.
    Object(usize),
}

#[derive(Clone, Debug)]
struct Object {
    /// The one that the round begins with.
    original: Ref,
    kind: Kind,
    items: Vec<Item>,
}

/// A number of the state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    /// At the start of the round.
    pub value: Value,
    pub ty: Type,
    pub shape: Shape,
}

/// The state of a loop.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    roots: Vec<Item>,
    /// Words of older objects that a round writes.
    words: Vec<(Store, Item)>,
    objects: Vec<Object>,
    pub numbers: Vec<Number>,
    /// Numbers by where they are at the start and at the end, if they are cells on the heap.
    known: FxHashMap<(Value, Value), usize>,
    pairs: FxHashMap<(Ref, Ref), usize>,
}

/// What a round passes on.
pub(super) struct End<'a> {
    pub values: &'a [Value],
    /// Words that it has written, with what it wrote.
    pub stores: &'a [Store],
    /// Objects from here on are its own.
    pub mark: usize,
}

/// The state at the end of a round.
pub(super) enum Found {
    /// Its numbers.
    Numbers(Vec<Value>),
    /// More differs than was known; it is known now.
    More,
}

/// What a number or boolean is on a tape.
fn tape_type(world: &World, v: Value) -> Option<(Type, Shape)> {
    let plain = world.plain(v);
    if plain.is_boolean() {
        return Some((Type::Bool, Shape::Scalar));
    }
    if plain.is_fixnum() {
        return Some((Type::Int, Shape::Scalar));
    }
    let shape = world.shape_of(plain)?;
    // Integers that do not fit on a tape are no state.
    (plain.is_real() || !shape.is_scalar()).then_some((Type::Real, shape))
}

impl State {
    /// What differs between the start of a round and its end; `None` if it cannot be a loop.
    pub fn compare(world: &World, start: &[Value], end: &End<'_>) -> Option<State> {
        let mut state = State::default();
        if start.len() != end.values.len() {
            return None;
        }
        for (&a, &b) in start.iter().zip(end.values) {
            let item = state.item(world, a, b, end.mark)?;
            state.roots.push(item);
        }
        for store in end.stores {
            state.word(world, store, end.mark)?;
        }
        state.settle(end.stores)
    }

    fn word(&mut self, world: &World, store: &Store, mark: usize) -> Option<()> {
        let before = world.heap.word(store.at);
        if before != store.old {
            if store.raw {
                return None;
            }
            let item = self.item(world, Value::from_bits(before), Value::from_bits(store.old), mark)?;
            self.words.push((*store, item));
        }
        Some(())
    }

    /// Structures that rounds make anew must not be written to: they stand for each other.
    fn settle(self, stores: &[Store]) -> Option<State> {
        let inside = |o: &Object, at: usize| at > o.original.index() && at <= o.original.index() + o.items.len();
        let written = |o: &Object| stores.iter().any(|s| inside(o, s.at as usize));
        (!self.objects.iter().any(written) && self.numbers.len() <= MOST_NUMBERS && !self.numbers.is_empty())
            .then_some(self)
    }

    fn number(&mut self, world: &World, a: Value, b: Value) -> Option<Item> {
        let (Some(x), Some(y)) = (tape_type(world, a), tape_type(world, b)) else { return None };
        if x != y {
            return None;
        }
        let next = self.numbers.len();
        // The same cell twice is one number, as long as it stays so.
        let shared = world.node_of(a).is_some() && world.node_of(b).is_some();
        let number = if shared { *self.known.entry((a, b)).or_insert(next) } else { next };
        if number == next {
            self.numbers.push(Number { value: a, ty: x.0, shape: x.1 });
        }
        Some(Item::Number(number))
    }

    /// Compares two values, however deep they are.
    fn item(&mut self, world: &World, a: Value, b: Value, mark: usize) -> Option<Item> {
        let mut todo: Vec<(usize, usize, Value, Value)> = Vec::new();
        let item = self.shallow(world, a, b, mark, &mut todo)?;
        while let Some((object, field, a, b)) = todo.pop() {
            self.objects[object].items[field] = self.shallow(world, a, b, mark, &mut todo)?;
        }
        Some(item)
    }

    fn shallow(
        &mut self,
        world: &World,
        a: Value,
        b: Value,
        mark: usize,
        todo: &mut Vec<(usize, usize, Value, Value)>,
    ) -> Option<Item> {
        if a == b {
            return Some(Item::Same(a));
        }
        if tape_type(world, a).is_some() {
            return self.number(world, a, b);
        }
        let (r, s) = (a.as_ref()?, b.as_ref()?);
        let heap = &world.heap;
        let kind = heap.kind(r);
        if kind != heap.kind(s) || heap.len(r) != heap.len(s) || s.index() < mark {
            return None;
        }
        if let Some(&object) = self.pairs.get(&(r, s)) {
            return Some(Item::Object(object));
        }
        match kind {
            Kind::String | Kind::Bytevector => (heap.raw(r) == heap.raw(s)).then_some(Item::Same(a)),
            Kind::Pair | Kind::Vector | Kind::Cell | Kind::Closure | Kind::Values | Kind::Record => {
                let object = self.objects.len();
                if object >= MOST_NUMBERS || self.pairs.keys().any(|k| k.0 == r || k.1 == s) {
                    return None;
                }
                let first = (kind == Kind::Closure) as usize;
                if (0..first).any(|i| heap.field(r, i) != heap.field(s, i)) {
                    return None;
                }
                let items = heap.fields(r).map(Item::Same).collect();
                self.pairs.insert((r, s), object);
                self.objects.push(Object { original: r, kind, items });
                todo.extend((first..heap.len(r)).map(|i| (object, i, heap.field(r, i), heap.field(s, i))));
                Some(Item::Object(object))
            }
            _ => None,
        }
    }

    /// The state with these numbers: its roots, and the words to write.
    pub fn with(&self, world: &mut World, numbers: &[Value]) -> (Vec<Value>, Vec<(Store, u64)>) {
        let mut objects = Vec::with_capacity(self.objects.len());
        for object in &self.objects {
            let fields: Vec<Value> = world.heap.fields(object.original).collect();
            objects.push(world.heap.alloc(object.kind, &fields));
        }
        let value = |item: &Item| match *item {
            Item::Same(v) => v,
            Item::Number(i) => numbers[i],
            Item::Object(i) => objects[i],
        };
        for (object, &copy) in self.objects.iter().zip(&objects) {
            let Some(r) = copy.as_ref() else { continue };
            for (i, item) in object.items.iter().enumerate() {
                if !matches!(item, Item::Same(_)) {
                    world.heap.store(r, i, value(item));
                }
            }
        }
        let words = self.words.iter().map(|(store, item)| (*store, value(item).bits())).collect();
        (self.roots.iter().map(value).collect(), words)
    }

    /// The numbers at the end of a round that began with these; `None` if it is not such a state.
    pub fn end(&mut self, world: &World, start: &[Value], roots: &[Value], end: &End<'_>) -> Option<Found> {
        let mut walk = Walk { ends: start.to_vec(), set: vec![false; start.len()], more: false, seen: Vec::new() };
        walk.seen.resize(self.objects.len(), None);
        for (i, (&a, &b)) in roots.iter().zip(end.values).enumerate() {
            let item = self.roots[i];
            self.roots[i] = self.follow(world, item, (a, b), end.mark, &mut walk)?;
        }
        for store in end.stores {
            let before = Value::from_bits(world.heap.word(store.at));
            match self.words.iter().position(|w| w.0.at == store.at) {
                Some(k) => {
                    let item = self.words[k].1;
                    let pair = (before, Value::from_bits(store.old));
                    self.words[k].1 = self.follow(world, item, pair, end.mark, &mut walk)?;
                }
                None if before.bits() == store.old => {}
                None => {
                    self.word(world, store, end.mark)?;
                    walk.more = true;
                }
            }
        }
        // What was not written stays as it is.
        if walk.more { Some(Found::More) } else { Some(Found::Numbers(walk.ends)) }
    }

    fn follow(
        &mut self,
        world: &World,
        item: Item,
        (a, b): (Value, Value),
        mark: usize,
        walk: &mut Walk,
    ) -> Option<Item> {
        let mut todo = Vec::new();
        let first = self.follow_one(world, item, (a, b), mark, walk, &mut todo)?;
        while let Some((object, field, a, b)) = todo.pop() {
            let item = self.objects[object].items[field];
            self.objects[object].items[field] = self.follow_one(world, item, (a, b), mark, walk, &mut todo)?;
        }
        Some(first)
    }

    fn follow_one(
        &mut self,
        world: &World,
        item: Item,
        (a, b): (Value, Value),
        mark: usize,
        walk: &mut Walk,
        todo: &mut Vec<(usize, usize, Value, Value)>,
    ) -> Option<Item> {
        match item {
            Item::Same(_) if a == b => Some(item),
            // It is a number that does differ after all.
            Item::Same(v) => {
                walk.more = true;
                tape_type(world, v)?;
                self.number(world, v, b)
            }
            Item::Number(i) => {
                let number = self.numbers.get(i)?;
                if tape_type(world, b)? != (number.ty, number.shape) {
                    return None;
                }
                let known = walk.set.get(i).copied().unwrap_or(true);
                if known && walk.ends.get(i).is_some_and(|&e| e != b) {
                    return None;
                }
                if let (Some(end), Some(set)) = (walk.ends.get_mut(i), walk.set.get_mut(i)) {
                    (*end, *set) = (b, true);
                }
                Some(item)
            }
            Item::Object(i) => {
                let (r, s) = (a.as_ref()?, b.as_ref()?);
                match walk.seen[i] {
                    Some(seen) if seen == s => return Some(item),
                    Some(_) => return None,
                    None => walk.seen[i] = Some(s),
                }
                let heap = &world.heap;
                // The very same structure, or one of the same kind that the round made.
                let fits = r == s || s.index() >= mark && heap.kind(r) == heap.kind(s) && heap.len(r) == heap.len(s);
                if !fits {
                    return None;
                }
                todo.extend((0..heap.len(r)).map(|f| (i, f, heap.field(r, f), heap.field(s, f))));
                Some(item)
            }
        }
    }
}

/// A walk over a state at the end of a round.
struct Walk {
    ends: Vec<Value>,
    set: Vec<bool>,
    more: bool,
    seen: Vec<Option<Ref>>,
}
